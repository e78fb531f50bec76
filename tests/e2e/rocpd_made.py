# SPDX-License-Identifier: MIT
"""A rocpd database as rocprofv3 of ROCm 7 writes it, by the columns of AMD's published schema 3.0.0. No
real one may be copied: their licences are not stated."""
import json
import sqlite3

GUID = "_00000b0a_0000_7000_8000_0123456789ab"
TABLES = {
    "metadata": "tag, value",
    "string": "guid, string",
    "info_node": "guid, hash, machine_id, system_name, hostname",
    "info_process": "guid, nid, ppid, pid, init, fini, start, end, command, environment, extdata",
    "info_thread": "guid, nid, ppid, pid, tid, name, start, end, extdata",
    "info_agent": "guid, nid, pid, type, absolute_index, logical_index, type_index, name, product_name,"
                  " extdata",
    "info_kernel_symbol": "guid, nid, pid, code_object_id, kernel_name, display_name,"
                          " group_segment_size, private_segment_size, sgpr_count, arch_vgpr_count,"
                          " accum_vgpr_count, extdata",
    "event": "guid, category_id, stack_id, parent_stack_id, correlation_id, call_stack, line_info, extdata",
    "arg": "guid, event_id, position, type, name, value, extdata",
    "region": "guid, nid, pid, tid, start, end, name_id, event_id, extdata",
    "kernel_dispatch": "guid, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start,"
                       " end, private_segment_size, group_segment_size, workgroup_size_x,"
                       " workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z,"
                       " region_name_id, event_id, extdata",
    "memory_copy": "guid, nid, pid, tid, start, end, name_id, dst_agent_id, dst_address, src_agent_id,"
                   " src_address, size, queue_id, stream_id, region_name_id, event_id, extdata",
    "memory_allocate": "guid, nid, pid, tid, agent_id, type, level, start, end, address, size, queue_id,"
                       " stream_id, event_id, extdata",
}
GPU = {"cu_count": 304, "simd_per_cu": 4, "max_waves_per_simd": 8, "wave_front_size": 64,
       "lds_size_in_kb": 64, "gfx_target_version": 90402, "workgroup_max_size": 1024,
       "mem_banks": [{"size_in_bytes": 206141652992}]}


class Rocpd:
    """Rows by the names of their columns; what is left out is NULL."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.strings = {}
        self.stack = 0
        for name, columns in TABLES.items():
            self.db.execute(f"CREATE TABLE rocpd_{name}{GUID} (id INTEGER PRIMARY KEY AUTOINCREMENT, {columns})")
        self.add("metadata", tag="schema_version", value="3")
        self.add("info_node", id=7, machine_id="a1b2", hostname="node7")
        self.add("info_process", id=1, nid=7, pid=4711, start=0, end=10**10, fini=10**10,
                 command="/opt/train --key=hunter2", environment=json.dumps({"TOKEN": "hunter2"}))
        self.add("info_thread", id=1, pid=1, tid=4711, name="main")
        self.add("info_agent", id=0, pid=1, type="CPU", type_index=0, name="EPYC", extdata="{}")
        self.add("info_agent", id=1, pid=1, type="GPU", absolute_index=1, type_index=0, name="gfx942",
                 product_name="AMD Instinct MI300X", extdata=json.dumps(GPU))
        for kernel, name in enumerate(("gemm(float*)", "reduce(float*)"), 1):
            self.add("info_kernel_symbol", id=kernel, kernel_name=f"{name}.kd", display_name=name,
                     sgpr_count=48, arch_vgpr_count=96, accum_vgpr_count=4)

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
        self.add("region", pid=1, tid=1, start=start, end=end, name_id=self.text(name), event_id=event)
        return self.stack

    def kernel(self, kernel, stack, start, end):
        self.add("kernel_dispatch", pid=1, tid=1, agent_id=1, kernel_id=kernel, dispatch_id=stack,
                 queue_id=16, stream_id=0, start=start, end=end, private_segment_size=0,
                 group_segment_size=65536, workgroup_size_x=256, workgroup_size_y=1, workgroup_size_z=1,
                 grid_size_x=512, grid_size_y=128, grid_size_z=1, event_id=self.event("KERNEL_DISPATCH", stack))

    def copy(self, stack, start, end, size):
        self.add("memory_copy", pid=1, tid=1, start=start, end=end, dst_agent_id=1, src_agent_id=0, size=size,
                 name_id=self.text("MEMORY_COPY_HOST_TO_DEVICE"), queue_id=17, stream_id=0,
                 event_id=self.event("MEMORY_COPY", stack))

    def memory(self, kind, start, end, address, size):
        self.add("memory_allocate", pid=1, tid=1, agent_id=1 if kind == "ALLOC" else None, type=kind,
                 level="REAL", start=start, end=end, address=address, size=size)

    def close(self):
        self.db.commit()
        self.db.close()


def training(path, steps=4):
    """Steps that are ranges called "iteration N", each with a copy and two kernels."""
    file = Rocpd(path)
    call = file.region("HIP_RUNTIME_API_EXT", "hipMalloc", 1_000_000, 1_100_000)
    file.memory("ALLOC", 1_010_000, 1_090_000, 4096, 1 << 20)
    for step in range(steps):
        at = 2_000_000 + step * 1_000_000
        file.region("MARKER_CORE_RANGE_API", "roctxThreadRangeA", at, at + 900_000,
                    message=f"iteration {step}")
        file.region("MARKER_CORE_RANGE_API", "roctxThreadRangeA", at + 10_000, at + 700_000, message="forward")
        call = file.region("HIP_RUNTIME_API_EXT", "hipMemcpyAsync", at + 20_000, at + 30_000)
        file.copy(call, at + 40_000, at + 60_000, 65536)
        for kernel in (1, 2):
            begin = at + 100_000 * kernel
            file.region("HIP_COMPILER_API_EXT", "__hipPushCallConfiguration", begin, begin + 500)
            call = file.region("HIP_RUNTIME_API_EXT", "hipLaunchKernel", begin + 1000, begin + 6000)
            file.kernel(kernel, call, begin + 10_000, begin + 10_000 + 40_000 * kernel)
    file.memory("FREE", 9_000_000, 9_100_000, 4096, 0)
    file.close()
