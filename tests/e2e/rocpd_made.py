# SPDX-License-Identifier: MIT
"""A rocpd database as rocprofv3 of ROCm 7 writes it, by AMD's published schema 3.0.0 with its constraints. No
real one may be copied: their licences are not stated."""
import json
import sqlite3
from pathlib import Path

GUID = "_00000b0a_0000_7000_8000_0123456789ab"
SCHEMA = Path(__file__).resolve().parent.parent / "data/rocpd_3.0.0"
GPU = {"cu_count": 304, "simd_per_cu": 4, "max_waves_per_simd": 8, "wave_front_size": 64,
       "lds_size_in_kb": 64, "gfx_target_version": 90402, "workgroup_max_size": 1024,
       "mem_banks": [{"size_in_bytes": 206141652992}]}


def published(name, suffix=GUID):
    """AMD's SQL, for tables whose names end so."""
    text = (SCHEMA / f"{name}.sql").read_text()
    return text.replace("{{uuid}}", suffix).replace("{{guid}}", suffix[1:].replace("_", "-"))


class Rocpd:
    """Rows by the names of their columns; what is left out is what the schema has for it."""

    def __init__(self, path, pid=4711):
        self.db = sqlite3.connect(path)
        self.strings = {}
        self.stack = 0
        self.db.executescript(published("rocpd_tables"))  # turns on foreign keys
        self.add("info_node", id=7, hash=77, machine_id="a1b2", hostname="node7")
        self.add("info_process", id=1, nid=7, pid=pid, start=0, end=10**10, fini=10**10,
                 command="/opt/train --key=hunter2", environment=json.dumps({"TOKEN": "hunter2"}))
        self.add("info_thread", id=1, nid=7, pid=1, tid=pid, name="main")
        self.add("info_agent", id=0, nid=7, pid=1, type="CPU", type_index=0, name="EPYC")
        self.add("info_agent", id=1, nid=7, pid=1, type="GPU", absolute_index=1, type_index=0, name="gfx942",
                 product_name="AMD Instinct MI300X", extdata=json.dumps(GPU))
        for queue in (0, 16, 17):
            self.add("info_queue", id=queue, nid=7, pid=1, name=f"Queue {queue}")
        self.add("info_stream", id=0, nid=7, pid=1, name="Default Stream")
        self.add("info_code_object", id=1, nid=7, pid=1, agent_id=1, uri="memory://1#offset=0x10&size=64")

    def symbol(self, name, **registers):
        return self.add("info_kernel_symbol", nid=7, pid=1, code_object_id=1, kernel_name=f"{name}.kd",
                        display_name=name, **registers)

    def add(self, table, **values):
        columns = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" * len(values))
        return self.db.execute(f"INSERT INTO rocpd_{table}{GUID} ({columns}) VALUES ({marks})",
                               tuple(values.values())).lastrowid

    def text(self, string):
        if string not in self.strings:
            self.strings[string] = self.add("string", string=string)
        return self.strings[string]

    def event(self, category, stack, extdata="{}"):
        return self.add("event", category_id=self.text(category), stack_id=stack, correlation_id=0,
                        extdata=extdata)

    def region(self, category, name, start, end, **extdata):
        """A call or a range; returns its number, by which work finds it."""
        self.stack += 1
        event = self.event(category, self.stack, json.dumps(extdata))
        self.add("region", nid=7, pid=1, tid=1, start=start, end=end, name_id=self.text(name), event_id=event)
        return self.stack

    def kernel(self, kernel, stack, start, end, grid=(512, 128, 1), lds=65536):
        self.add("kernel_dispatch", nid=7, pid=1, tid=1, agent_id=1, kernel_id=kernel, dispatch_id=stack,
                 queue_id=16, stream_id=0, start=start, end=end, private_segment_size=0,
                 group_segment_size=lds, workgroup_size_x=256, workgroup_size_y=1, workgroup_size_z=1,
                 grid_size_x=grid[0], grid_size_y=grid[1], grid_size_z=grid[2], region_name_id=self.text(""),
                 event_id=self.event("KERNEL_DISPATCH", stack))

    def copy(self, stack, start, end, size):
        self.add("memory_copy", nid=7, pid=1, tid=1, start=start, end=end, dst_agent_id=1, src_agent_id=0, size=size,
                 name_id=self.text("MEMORY_COPY_HOST_TO_DEVICE"), queue_id=17, stream_id=0,
                 event_id=self.event("MEMORY_COPY", stack))

    def memory(self, kind, start, end, address, size):
        self.add("memory_allocate", nid=7, pid=1, tid=1, agent_id=1 if kind == "ALLOC" else None, type=kind,
                 level="REAL", start=start, end=end, address=address, size=size,
                 event_id=self.event("MEMORY_ALLOCATION", 0))

    def close(self):
        self.db.commit()
        self.db.close()


def training(path, steps=4):
    """Steps that are ranges called "iteration N", each with a copy and two kernels."""
    file = Rocpd(path)
    kernels = [file.symbol(name, sgpr_count=48, arch_vgpr_count=96, accum_vgpr_count=4)
               for name in ("gemm(float*)", "reduce(float*)")]
    file.region("HIP_RUNTIME_API_EXT", "hipMalloc", 1_000_000, 1_100_000)
    file.memory("ALLOC", 1_010_000, 1_090_000, 4096, 1 << 20)
    for step in range(steps):
        at = 2_000_000 + step * 1_000_000
        file.region("MARKER_CORE_RANGE_API", "roctxThreadRangeA", at, at + 900_000,
                    message=f"iteration {step}")
        file.region("MARKER_CORE_RANGE_API", "roctxThreadRangeA", at + 10_000, at + 700_000, message="forward")
        call = file.region("HIP_RUNTIME_API_EXT", "hipMemcpyAsync", at + 20_000, at + 30_000)
        file.copy(call, at + 40_000, at + 60_000, 65536)
        for kernel in kernels:
            begin = at + 100_000 * kernel
            file.region("HIP_COMPILER_API_EXT", "__hipPushCallConfiguration", begin, begin + 500)
            call = file.region("HIP_RUNTIME_API_EXT", "hipLaunchKernel", begin + 1000, begin + 6000)
            file.kernel(kernel, call, begin + 10_000, begin + 10_000 + 40_000 * kernel)
    file.memory("FREE", 9_000_000, 9_100_000, 4096, 0)
    file.close()


def batched_gemm(path):
    """As many of each as a real run had: a fill, and 150 launches of one kernel whose name has 1,823 bytes."""
    file = Rocpd(path, pid=28)
    fill = file.symbol("__amd_rocclr_fillBufferAligned", sgpr_count=48, arch_vgpr_count=12, accum_vgpr_count=4)
    gemm = file.symbol("void ck_tile::kentry<1, " + "ck_tile::sequence<256, 256, 64>, " * 54 + "\"half\">(Argument)",
                       sgpr_count=112, arch_vgpr_count=128, accum_vgpr_count=384)
    others = {"hipMemcpy": 3, "hipMalloc": 3, "hipGetDevicePropertiesR0600": 3, "hipGetDevice": 3, "hipFree": 3,
              "__hipRegisterFunction": 3, "hipEventRecord": 2, "hipEventDestroy": 2, "hipEventCreate": 2,
              "hipStreamSynchronize": 1, "hipEventSynchronize": 1, "hipEventElapsedTime": 1, "__hipRegisterFatBinary": 1}
    now = 1_071_420_602_503_774  # since boot, as the real one's

    def call(name):
        nonlocal now
        now += 10_000
        category = "HIP_COMPILER_API_EXT" if name.startswith("__") else "HIP_RUNTIME_API_EXT"
        return file.region(category, name, now, now + 5000)

    for name, count in others.items():
        for _ in range(count):
            call(name)
    file.kernel(fill, call("hipMemset"), now + 6000, now + 6000 + 24_175, grid=(77824, 1, 1), lds=0)
    durations = [17_202] * 149 + [2_580_371 - 149 * 17_202]
    for duration in durations:
        call("__hipPushCallConfiguration")
        call("__hipPopCallConfiguration")
        launch = call("hipLaunchKernel")
        file.kernel(gemm, launch, now + 50_000, now + 50_000 + duration)
        call("hipPeekAtLastError")
    file.close()
