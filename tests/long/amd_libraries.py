# SPDX-License-Identifier: MIT
"""amd_libraries.py OUT SUITE PROGRAM [CALLS]: a program of tests/long/amd_calls.c with AMD's own libraries on the
simulated GPU. Each call must be one operator with the shapes, types and FLOPs that it was given, its kernels
below it, and give the same as without hipboard."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "tests/out/amd/miopen-cache"
BUILD = Path(os.environ.get("MESON_BUILD_ROOT", ROOT / "build"))
# Of each suite the GPU that it has kernels for.
GPUS = {"llama": "gfx1030", "fft": "gfx1030", "math": "gfx90a", "miopen": "gfx1030"}
# What makes a library tell of its calls in roctx ranges, and whose calls these are.
TELLING = {
    "llama": ("rocblas_", {"ROCBLAS_LAYER": "1", "ROCBLAS_LOG_PATH": "/dev/null"}),
    "miopen": ("miopen", {"MIOPEN_ENABLE_LOGGING_ROCTX": "1"}),
}
F16, F32, C64 = "c10::Half", "float", "c10::complex<float>"

# name: [(shapes, type, FLOPs in the trace)]
EXPECTED = {
    "llama": {
        "rocblas_sgemm": [([[256, 64], [64, 128]], F32, 2 * 256 * 128 * 64), ([[64, 40], [40, 48]], F32, 0)],
        "rocblas_gemm_ex": [([[96, 32], [32, 64]], F16, 2 * 96 * 64 * 32)],
        "rocblas_sgemm_strided_batched": [([[5, 32, 8], [5, 8, 16]], F32, 2 * 5 * 32 * 16 * 8)],
        "rocblas_saxpy": [([[32768], [32768]], F32, 2 * 32768)],
        "rocblas_sgemv": [([[24, 40], [40]], F32, 2 * 40 * 24), ([[40, 24], [24]], F32, 2 * 40 * 24)],
        "rocblas_sgemv_strided_batched": [([[3, 24, 40], [3, 40]], F32, 2 * 3 * 40 * 24)],
        "rocblas_strsm": [([[40, 40], [40, 24]], F32, 40 * 40 * 24), ([[24, 24], [40, 24]], F32, 40 * 24 * 24)],
        "hipblasSgemm": [([[64, 40], [40, 48]], F32, 2 * 64 * 48 * 40)],
    },
    "graph": {
        "rocblas_sgemm": [([[64, 64], [64, 64]], F32, 2 * 64 ** 3)],
    },
    "fft": {
        "rocfft_plan_create": None,
        "rocfft_execute": [([[4, 1024]], C64, 5 * 1024 * 10 * 4)] * 2,
        "hipfftExecC2C": [([[16, 512]], C64, 5 * 512 * 9 * 16)],
        "rocrand_generate_uniform": [([[65536]], F32, 0)],
        "rocrand_generate_normal": [([[4096]], F32, 0)],
    },
    "miopen": {
        "miopenActivationForward": [([[8, 16, 32, 32]], F32, 8 * 16 * 32 * 32)],
        "miopenSoftmaxForward": [([[8, 16, 32, 32]], F32, 5 * 8 * 16 * 32 * 32)],
        "miopenFindConvolutionForwardAlgorithm": [([[8, 16, 32, 32], [32, 16, 3, 3]], F32, 0)],
        "miopenConvolutionForward": [([[8, 16, 32, 32], [32, 16, 3, 3]], F32, 2 * 8 * 32 ** 3 * 16 * 9)],
        "miopenConvolutionForwardImmediate": [([[8, 16, 32, 32], [32, 16, 3, 3]], F32, 2 * 8 * 32 ** 3 * 16 * 9)],
        "miopenConvolutionBackwardData": [([[8, 32, 32, 32], [32, 16, 3, 3]], F32, 2 * 8 * 32 ** 3 * 16 * 9)],
        "miopenConvolutionBackwardWeights": [([[8, 32, 32, 32], [8, 16, 32, 32]], F32, 2 * 8 * 32 ** 3 * 16 * 9)],
        "miopenOpTensor": [([[8, 16, 32, 32]] * 2, F32, 8 * 16 * 32 * 32)],
    },
    "math": {
        "rocsolver_sgetrf": [([[96, 96]], F32, 2 * 96 ** 3 // 3)],
        "rocsparse_scsrmv": [([[50]], F32, 2 * 200)],
        "rocsparse_spmv": [(None, None, 2 * 200)],
        "hipblasLtMatmulAlgoGetHeuristic": None,
        "hipblasLtMatmul": [([[512, 128], [128, 256]], F16, 2 * 512 * 256 * 128)] * 2,
    },
}


def run(suite, *command, **environment):
    found = tempfile.mkdtemp(prefix="hipboard-miopen-")  # what MIOpen finds is found anew, and compiled once
    environment = dict(os.environ, MIOPEN_USER_DB_PATH=found, MIOPEN_CUSTOM_CACHE_DIR=str(CACHE), SIMHSA_LIBRARY_DIR=str(BUILD / "tools/simhsa"), SIMHSA_ARCH=GPUS[suite],
                       **environment)
    done = subprocess.run([ROOT / "tools/simhsa/in_suite", suite, *map(str, command)], env=environment,
                          capture_output=True, text=True, timeout=600)
    shutil.rmtree(found, ignore_errors=True)
    if done.returncode == 77:
        sys.exit(done.stderr)
    return done


def operators(trace):
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and e.get("cat") == "cpu_op"]


def inside(inner, outer):
    end = outer["ts"] + outer["dur"]
    return inner["tid"] == outer["tid"] and outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= end


def launches_in(trace, op):
    calls = {e["args"]["correlation"] for e in trace["traceEvents"] if e.get("cat") == "Runtime" and inside(e, op)}
    return [e for e in trace["traceEvents"] if e.get("cat") == "kernel" and e["args"].get("correlation") in calls]


def faults(trace, suite):
    for name, calls in EXPECTED[suite].items():
        found = [e for e in operators(trace) if e["name"] == name]
        if calls is None:
            if not found:
                yield f"{name} is no operator"
            continue
        outermost = [e for e in found if not any(o is not e and o["name"] == name and inside(e, o) for o in found)]
        if len(outermost) < len(calls):
            yield f"{name}: {len(found)} operators, {len(calls)} calls"
        for shapes, dtype, flops in calls:
            like = [e for e in found if e["args"].get("Input Dims") == shapes and e["args"].get("flops", 0) == flops]
            if not like:
                told = [(e["args"].get("Input Dims"), e["args"].get("flops")) for e in found]
                yield f"{name}: no {shapes} of {flops} FLOPs, but {told}"
                continue
            if shapes and like[0]["args"]["Input type"][0] != dtype:
                yield f"{name}: {like[0]['args']['Input type']}, not {dtype}"
            if not launches_in(trace, like[0]):
                yield f"{name}: no kernel"


def graph_faults(trace):
    """One product as it is, three in a graph that runs four times: as many FLOPs as were done."""
    done = sum(e["args"].get("flops", 0) for e in operators(trace))
    runs = [e for e in operators(trace) if e["name"] == "hipGraphLaunch"]
    if done != 2 * 64 ** 3 * 13:
        yield f"{done} FLOPs, not {2 * 64 ** 3 * 13}"
    for run in runs:
        kernels = sum(e.get("cat") == "kernel" and e["args"].get("External id") == run["args"]["External id"]
                      for e in trace["traceEvents"])
        if run["args"].get("operators") != "rocblas_sgemm x3" or kernels != 3:
            yield f"a run of a graph: {run['args']}, {kernels} kernels"
    of = [e["args"].get("captured operator") for e in trace["traceEvents"] if e.get("cat") == "kernel"]
    if len(runs) != 4 or of.count("rocblas_sgemm") != 12:
        yield f"{len(runs)} runs, whose kernels are of {of}"


def only_told(out, own):
    """The rows of a library, of which no call is taken: what is told of them has the row's meaning."""
    table = Path(out) / "told.ops"
    rows = (ROOT / "share/hipboard/rocm.ops.in").read_text().splitlines()
    with table.open("w") as file:
        for row in rows:
            if row.startswith("map "):
                print(row, file=file)
            elif row.startswith(own):
                parts = row.split("|")[:4]
                print("|".join(parts + ["|"] * (4 - len(parts)) + ["lib=nobody"]), file=file)
    return table


def told_otherwise(out, suite, program, trace):
    """The operators by what the library says of its calls in roctx ranges are those by the calls."""
    own, switches = TELLING[suite]
    logdir = Path(out) / "told"
    shutil.rmtree(logdir, ignore_errors=True)
    run(suite, BUILD / "tools/hipboard/hipboard", "record", "-q", "-o", logdir, "--no-library-ops", "--ops",
        only_told(out, own), "--", program, **switches)
    [path] = logdir.glob("*.pt.trace.json")

    def calls(events):
        return [(e["name"], e["args"].get("Input Dims"), e["args"].get("Input Strides"))
                for e in sorted(operators(events), key=lambda e: e["ts"]) if e["name"] in EXPECTED[suite]
                and e["name"].startswith(own)]
    told, taken = calls(json.loads(path.read_text())), calls(trace)
    print(f"{len(told)} calls of {own}... told by the library, {len(taken)} taken")
    if told != taken or not told:
        yield f"told: {told}, taken: {taken}"


def main(out, suite, program, calls=None):
    calls = calls or suite
    plain = run(suite, program)
    logdir = Path(out) / "runs"
    shutil.rmtree(logdir, ignore_errors=True)
    done = run(suite, BUILD / "tools/hipboard/hipboard", "record", "-q", "-o", logdir, "--", program)
    found = []
    if (done.returncode, done.stdout) != (0, plain.stdout) or plain.returncode:
        found.append(f"recorded it says {done.stdout}{done.stderr}, alone {plain.stdout}{plain.stderr}")
    # Some compile their kernels in processes of their own, which leave traces of that.
    traces = [json.loads(path.read_text()) for path in logdir.glob("*.pt.trace.json")]
    [trace] = [t for t in traces if any(e.get("cat") in ("Kernel", "kernel") for e in t["traceEvents"])]
    for op in operators(trace):
        if not op["name"].startswith("hip") or "blas" in op["name"] or "fft" in op["name"]:
            a = op["args"]
            print(f"{op['name']:32} {str(a.get('Input Dims', '')):32} {str(a.get('Input type', '')):20.20} "
                  f"{a.get('flops', 0):>10} FLOPs, {len(launches_in(trace, op))} kernels")
    found += faults(trace, calls)
    if calls == "graph":
        found += graph_faults(trace)
    if calls in TELLING:
        found += told_otherwise(out, suite, program, trace)
    for fault in found:
        print(f"FAULT: {fault}")
    return not found


if __name__ == "__main__":
    sys.exit(0 if main(*sys.argv[1:]) else 1)
