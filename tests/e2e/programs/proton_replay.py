# SPDX-License-Identifier: MIT
"""proton_replay.py LIBPROTON RECORDING OUT: does a recording of rocprofv3 again on the stand-ins, with
Triton's profiler as the client of rocprofiler-sdk. Its figures by kernel are in OUT.hatchet."""
import ctypes
import gzip
import importlib.util
import json
import sys

U32, U64, POINTER = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p


class Symbol(ctypes.Structure):
    _fields_ = [("kernel_id", U64), ("name", ctypes.c_char_p), ("group_bytes", U32),
                ("private_bytes", U32), ("sgprs", U32), ("arch_vgprs", U32), ("accum_vgprs", U32)]


class Dispatch(ctypes.Structure):
    _fields_ = [("kernel_id", U64), ("agent", U64), ("queue", U64), ("begin_ns", U64),
                ("end_ns", U64), ("private_bytes", U32), ("group_bytes", U32),
                ("workgroup", U32 * 3), ("grid", U32 * 3)]


def load_proton(path):
    spec = importlib.util.spec_from_file_location("libproton", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.proton


def symbol_of(s):
    return Symbol(s["kernel_id"], s["kernel_name"].encode(), s["group_segment_size"],
                  s["private_segment_size"], s["sgpr_count"], s["arch_vgpr_count"],
                  s["accum_vgpr_count"])


def dispatch_of(record):
    info = record["dispatch_info"]
    return Dispatch(info["kernel_id"], info["agent_id"]["handle"], info["queue_id"]["handle"],
                    record["start_timestamp"], record["end_timestamp"],
                    info["private_segment_size"], info["group_segment_size"])


def main(libproton, recording, out):
    proton = load_proton(libproton)
    hip = ctypes.CDLL("libamdhip64.so.7")
    hip.fake_load.restype = POINTER
    hip.hipExtModuleLaunchKernel.argtypes = [POINTER, *[U32] * 6, ctypes.c_size_t, *[POINTER] * 5, U32]
    session = proton.start(out, "shadow", "tree", "rocprofiler", "")
    with gzip.open(recording) as file:
        [tool] = json.load(file)["rocprofiler-sdk-tool"]
    symbols = {s["kernel_id"]: symbol_of(s) for s in tool["kernel_symbols"]}
    kernels = {i: hip.fake_load(ctypes.byref(symbol)) for i, symbol in symbols.items()}
    for record in tool["buffer_records"]["kernel_dispatch"]:
        info, dispatch = record["dispatch_info"], dispatch_of(record)
        extents = [info[e][axis] for e in ("grid_size", "workgroup_size") for axis in "xyz"]
        hip.fake_next_launch(ctypes.byref(dispatch))
        scope = proton.record_scope()
        proton.enter_scope(scope, "launch")
        hip.hipExtModuleLaunchKernel(kernels[info["kernel_id"]], *extents, 0, *[None] * 5, 0)
        proton.exit_scope(scope, "launch")
    proton.deactivate(session, True)
    proton.finalize(session, "hatchet")


main(*sys.argv[1:])
