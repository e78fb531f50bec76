# SPDX-License-Identifier: MIT
"""Random programs as the databases of the tools that record them: rocpd, RPD, rocprof and nsys.

Changing bytes or cells seldom leads to what matters behind the reading: the same calls again and
again, ranges in or across each other, kernels that wait, two of everything at one time. Here a
program is made up of few names and few lengths, so that this happens all the time, and one in
twenty tables is damaged."""
import contextlib
import dataclasses
import sqlite3

LAST = 2**63 - 1  # of what SQLite keeps in an integer
HIP = ["hipLaunchKernel", "hipExtModuleLaunchKernel", "hipModuleLaunchKernel", "hipMemcpyAsync", "hipMemcpy",
       "hipGraphLaunch", "hipDeviceSynchronize", "hipStreamSynchronize", "hipMalloc", "hipFree"]
CUDA = ["cudaLaunchKernel_v7000", "cuLaunchKernel", "cudaLaunchKernelExC_v11060", "cudaMemcpyAsync_v3020",
        "cudaMemcpy_v3020", "cudaGraphLaunch_v10000", "cudaDeviceSynchronize_v3020",
        "cudaStreamSynchronize_v3020", "cudaMalloc_v3020", "cudaFree_v3020"]
COPY, GRAPH, WAIT, MALLOC, FREE = 3, 5, 6, 8, 9  # places in both
KERNELS = ["gemm", "relu(float*)", "void k<float, 4>(float*)", "ncclDevKernel_AllReduce", "reduce.kd", "a", "b",
           "Cijk_Ailk_Bljk", "_ZN2at6native4addE", "optimizer_adam", "softmax", "conv2d", "miopenSp3Conv"]
RANGES = ["step %d", "iteration %d", "iter_%d", "ITER-%d", "step=%d", "step -%d", "step 9999999999999999%d", "step",
          "ProfilerStep#%d", "Step#%d", "epoch %d", "layer %d", "aten::mm, seq = %d", "model_run", "forward", "a", "b",
          "data_loading", "load batch", "DataLoader", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
          "nn.Module: L_0", "Optimizer.step#SGD.step", "aten::mm, sizes = [[2, 3], [3, 4]]"]
ARGUMENTS = ["gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ", "numBlocks", "gridDim",
             "dimBlocks", "blockDim", "sharedMemBytes", "stream", "hStream", "dst", "ptr", "src", "sizeBytes", "size",
             "kind", "other"]
NUMBERS = ["0", "1", "24", "4096", "0x10", "0xFf", "0x", "0xg", "x", "", "-1", "18446744073709551616", "12abc",
           "99999999999999999999999", "0x7f13d6a00000", "65536", "1048576"]
TRIPLES = ["{z=1, y=128, x=2}", "{z(1) y(2) x(3}", "{x=0, y=0, z=0}", "x=5", "{z=1}", "", "{w=1, x=3", "x", "x(",
           "{x=64, y=0, z=0}", "{x=0,y=2,z=2}"]
KINDS = ["0", "1", "2", "3", "4", "9", "hipMemcpyHostToDevice", "hipMemcpyDeviceToHost", "HostToHost", "Default", ""]
ODD = [None, 0, -1, 1, 2, 2**31, 2**32, 2**40, 2**55, 2**56, 2**63 - 1, -2**63, "", " ", "x", "7", "0x10", b"",
       b"\xff\x00", 1.5, -0.0, 1e300, float("inf"), "1e5", "{", "[]", "a" * 200, "\u00e9\u20ac"]
AGENTS = ["{}", "", '{"cu_count": "x", "wave_front_size": 1e9}',
          '{"cu_count": 0, "max_waves_per_simd": -1, "gfx_target_version": 90402, "lds_size_in_kb": 64, '
          '"workgroup_max_size": 1024, "mem_banks": [{"size_in_bytes": 206141652992}, 5]}',
          '{"cu_count": 304, "simd_per_cu": 4, "max_waves_per_simd": 8, "wave_front_size": 64}']
ENVIRONMENTS = [None, '{"RANK": "1", "WORLD_SIZE": "8"}', '{"SLURM_PROCID": "3", "SLURM_NTASKS": "x"}',
                '{"OMPI_COMM_WORLD_RANK": "0"}', '{"RANK": 1, "WORLD_SIZE": ""}', '{"RANK": "1234567890"}', "["]


@dataclasses.dataclass
class Event:
    kind: str  # "call", "range", "kernel", "copy" or "memory"
    start: int  # ns, as the end
    end: int
    thread: int = 1
    name: object = 0  # of a range; else a number that chooses one
    correlation: int = 0
    launches: bool = False
    gpu: int = 0
    stream: int = 0
    size: int = 0  # bytes
    address: int = 0
    frees: bool = False
    fills: bool = False


class Program:
    """What one process did: a few calls, again and again."""

    def __init__(self, r):
        self.r = r
        self.events = []
        self.unit = r.choice([1, 10, 100, 1000, 10**4, 10**5, 10**6])
        self.now = r.choice([0, 1, 1000, 10**6, 10**9, 1790000000000000000, r.randrange(10**7)])
        self.busy_until = self.now  # the device
        self.correlation = r.choice([1, 1, 1, 0, 100, 2**32 + 5, 2**63 - 300])
        self.gpus, self.streams = r.choice([1, 1, 1, 2, 3]), r.choice([1, 1, 2, 3])
        self.kernel_length, self.call_length = r.choice([0, 1, 1, 2, 5, 30]), r.choice([0, 1, 1, 2])
        self.early = r.random() < .2  # kernels that begin at any time, before their calls too
        self.noise = r.choice([0, 0, 0, .1, .3])
        self.names, self.inner = r.choice(RANGES), r.choice(RANGES).replace("%d", "0")
        self.run()
        if r.random() < .15:
            self.spoil()
        if r.random() < .1:
            r.shuffle(self.events)

    def add(self, kind, start, end, **more):
        self.events.append(Event(kind, start, max(start, end), **more))

    def name_of(self, number):
        r = self.r
        return self.names.replace("%d", str(number if r.random() > .05 else r.choice([0, number - 1, 7, 10**15])))

    def work(self, kind, name, correlation):
        """On the device, behind what is there, for a call that ends now."""
        r = self.r
        start = self.now + r.randrange(-3, 9) * self.unit if self.early else max(self.now, self.busy_until)
        end = start + r.choice([self.kernel_length, self.kernel_length, 1, 0, 7]) * self.unit
        self.busy_until = end
        self.add(kind, start, end, name=name, correlation=correlation, gpu=r.randrange(self.gpus),
                 stream=r.randrange(self.streams), size=r.choice([0, 1, 4096, 1 << 20, 1 << 33, -1]),
                 fills=r.random() < .3)

    def call(self, action, number, thread):
        r = self.r
        start = self.now
        self.now += r.choice([self.call_length, self.call_length, self.call_length, 0, 1, 3]) * self.unit
        self.correlation += 1
        own = self.correlation if r.random() > .05 else r.choice([0, self.correlation - 1, 1, -1, 2**31])
        if action == "loader":
            return self.add("range", start, self.now, thread=thread,
                            name=r.choice(["DataLoader", "load batch", "data_loading", "x"]))
        if action == "range":
            return self.add("range", start, self.now + r.choice([0, 1, 2]) * self.unit, thread=thread, name=self.inner)
        if action == "wait" and r.random() < .7:
            self.now = max(self.now, self.busy_until)
        frees = r.random() < .4
        place = {"launch": number % 3, "graph": GRAPH, "copy": COPY + number % 2, "wait": WAIT + number % 2,
                 "memory": FREE if frees else MALLOC}[action]
        self.add("call", start, self.now, thread=thread, name=place, correlation=own,
                 launches=action in ("launch", "graph", "copy"))
        if action == "memory":
            self.add("memory", start, self.now, thread=thread, frees=frees, gpu=r.randrange(self.gpus),
                     address=r.choice([4096, 8192, 0, 1 << 40]), size=r.choice([1 << 20, 0, 512, 1 << 34]))
        for _ in range({"launch": 1, "copy": 1, "graph": r.randrange(4)}.get(action, 0)):
            self.work("copy" if action == "copy" else "kernel", number, own)

    def act(self, action, number, thread=1):
        r = self.r
        if r.random() < self.noise:
            action, number = r.choice(["launch", "launch", "copy", "memory", "wait", "loader"]), r.randrange(6)
        self.call(action, number, thread)
        self.now += r.choice([0, 1, 1, 2]) * self.unit

    def actions(self, count):
        kinds = ["launch"] * 4 + ["copy", "memory", "wait", "loader", "graph", "range"]
        names = self.r.choice([1, 2, 3, 6])
        return [(self.r.choice(kinds), self.r.randrange(names)) for _ in range(count)]

    def run(self):
        r = self.r
        period = self.actions(r.choice([1, 1, 2, 2, 3, 4, 5, 7]))
        style = r.choice(["none", "none", "none", "each", "each", "some", "outer", "inside"])
        nested, across = r.random() < .3, r.random() < .15
        pause = r.choice([0, 0, 0, 1, 5, 50])
        for action in self.actions(r.choice([0, 0, 1, 2, 4])):
            self.act(*action)
        begin = self.now
        for turn in range(r.choice([1, 2, 3, 3, 4, 5, 6, 8, 12])):
            start, thread = self.now, r.choice([1] * 9 + [2])
            for action in period:
                self.act(*action, thread)
            if style == "each" or (style == "some" and r.random() < .6):
                self.add("range", start, self.now + r.choice([0, 0, 0, 1, -1, 5, -3]) * self.unit,
                         thread=thread if r.random() < .95 else 2, name=self.name_of(turn))
            if style == "inside":
                self.add("range", start + r.choice([0, 1]) * self.unit, (start + self.now) // 2, thread=thread,
                         name=self.inner)
            for _ in range(r.choice([1, 1, 2]) if across else 0):
                self.add("range", start + r.choice([-2, -1, 0, 0, 1]) * self.unit,
                         self.now + r.choice([-2, -1, 0, 0, 1, 4]) * self.unit, thread=r.choice([1, 1, 2]),
                         name=self.name_of(turn + r.choice([0, 0, 1, -1])))
            if nested:
                self.add("range", start + r.choice([-1, 0, 1]) * self.unit, self.now, thread=thread, name=self.inner)
            self.now += pause * self.unit * r.choice([1, 1, 1, 1, 3])
        if style == "outer" or r.random() < .1:
            self.add("range", begin - r.choice([0, 1]) * self.unit, self.now, name=self.name_of(0))
        for action in self.actions(r.choice([0, 0, 1, 2, 4])):
            self.act(*action)

    def spoil(self):
        r = self.r
        for _ in range(r.choice([1, 2, 5])):
            e = r.choice(self.events)
            time = r.choice([0, e.start, e.end, e.start - self.unit, min(e.end + self.unit, LAST), LAST, -1, 2**62])
            setattr(e, r.choice(["start", "end"]), time)


def argument(r):
    name = r.choice(ARGUMENTS)
    triple = name in ("numBlocks", "gridDim", "dimBlocks", "blockDim")
    return name, r.choice(TRIPLES if triple else KINDS if name == "kind" else NUMBERS)


def arguments(r, between, form):
    return between.join(form % argument(r) for _ in range(r.choice([1, 2, 3, 6])))


class Database:
    """Of a program; each tool's own makes its tables."""

    def __init__(self, r, program):
        self.r, self.texts = r, {}
        self.db = sqlite3.connect(":memory:")
        self.db.execute("pragma page_size = 512")
        self.write(program.events)

    def text(self, text):
        return self.texts.setdefault(text, len(self.texts) + 1)

    def damage(self, columns, rows):
        r = self.r
        rows = [list(row) for row in rows]
        if r.random() < .05 and len(columns) > 2:
            gone = r.randrange(len(columns))
            columns = columns[:gone] + columns[gone + 1:]
            rows = [row[:gone] + row[gone + 1:] for row in rows]
        if r.random() < .05 and rows:
            for _ in range(r.choice([1, 1, 3])):
                row = r.choice(rows)
                row[r.randrange(len(row))] = r.choice(ODD)
            rows += [r.choice(rows)] if r.random() < .3 else []
        return columns, rows

    def table(self, name, columns, rows, needed=False):
        if not rows and not needed and self.r.random() < .5:
            return
        columns, rows = (columns.split(), rows) if needed else self.damage(columns.split(), rows)
        types = ", ".join('"%s"%s' % (c, " INTEGER PRIMARY KEY" if c == "id" else "") for c in columns)
        self.db.execute(f"CREATE TABLE {name} ({types})")  # without quotes: rocprof's is known by this text
        for row in rows:
            with contextlib.suppress(sqlite3.IntegrityError): # what is odd may be no id
                self.db.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", tuple(row))

    def grid(self):
        return self.r.choice([(1, 1, 1), (64, 2, 1), (1024, 1, 1), (100000, 3, 7)])

    def block(self):
        return self.r.choice([(64, 1, 1), (256, 1, 1), (1, 1, 1), (1024, 1, 1), (0, 0, 0), (32, 4, 2)])

    def bytes(self):
        self.db.commit()
        content = self.db.serialize()
        self.db.close()
        return content


class Rpd(Database):
    def write(self, events):
        r, pid, first = self.r, self.r.choice([1560, 1, 0]), self.r.choice([4294967297, 1])
        calls, works, pairs, launches, copies, operators = [], [], [], [], [], []
        of_correlation = {}
        for e in events:
            if e.kind == "call":
                given = r.choice(["", "", arguments(r, r.choice([" | ", " ", "|"]), "%s=%s")])
                row = HIP[e.name], given
            elif e.kind == "range":
                row = "UserMarker", e.name
            else:
                continue
            call = first + len(calls)
            calls.append((call, pid, pid + e.thread, e.start, e.end, self.text(row[0]), self.text(row[1])))
            if e.kind == "range" and r.random() < .1:
                operators.append((call, self.text("aten::mm"), r.randrange(3), self.text("[[1]]")))
            if e.kind == "call":
                of_correlation[e.correlation] = call
                if e.launches and r.random() < .7:
                    launches.append((call, "0x0", *self.grid(), *self.block(), r.choice([0, 4096, ""]), ""))
        for e in events:
            if e.kind not in ("kernel", "copy"):
                continue
            work, call = first + len(works), of_correlation.get(e.correlation)
            name = KERNELS[e.name % len(KERNELS)] if e.kind == "kernel" else ""
            what = ["KernelExecution", "KernelExecution", "Task", "", "Barrier"] if e.kind == "kernel" else \
                   ["CopyHostToDevice", "CopyDeviceToHost", "CopyDeviceToDevice", "Copy", "FillBuffer", "Marker"]
            works.append((work, e.gpu + 2, e.stream, e.start, e.end, self.text(name), self.text(r.choice(what))))
            if call:
                pairs.append((None, call, work))
            if call and e.kind == "copy":
                copies.append((call, r.choice([e.size, ""]), r.choice(KINDS), r.choice(NUMBERS), r.choice(NUMBERS)))
        monitor = [(None, r.choice(["gpu", "", "a" * 30]), r.randrange(3),
                    r.choice(["sclk", "mclk", "temp", "x" * 100]), events[0].start, events[-1].end,
                    r.choice(["134", "1e3", "high", 7, 2.5, "", "nan", "-1"])) for _ in range(r.choice([0, 0, 3]))]
        self.table("rocpd_metadata", "id tag value", [(1, "schema_version", "2")], True)
        self.table("rocpd_api", "id pid tid start end apiName_id args_id", calls)
        self.table("rocpd_op", "id gpuId queueId start end description_id opType_id", works)
        self.table("rocpd_api_ops", "id api_id op_id", pairs, True)
        self.table("rocpd_kernelapi", "api_ptr_id stream gridX gridY gridZ workgroupX workgroupY workgroupZ "
                                      "groupSegmentSize privateSegmentSize", launches)
        self.table("rocpd_copyapi", "api_ptr_id size kind dst src", copies)
        self.table("ext_autogradapi", "api_ptr_id autogradName_id seq sizes", operators)
        self.table("rocpd_monitor", "id deviceType deviceId monitorType start end value", monitor)
        self.table("rocpd_string", "id string", [(i, text) for text, i in self.texts.items()], True)


class Nsys(Database):
    def write(self, events):
        r, process = self.r, 4711 << 24
        calls, kernels, copies, fills, memory, ranges = [], [], [], [], [], []
        for e in events:
            thread, device = process + 4711 + e.thread, (e.gpu, e.stream + 7, e.correlation, process)
            if e.kind == "call":
                calls.append((e.start, e.end, thread, e.correlation, self.text(CUDA[e.name])))
            elif e.kind == "range":
                named = r.random() < .9
                ranges.append((e.start, e.end if r.random() > .05 else None, r.choice([59, 59, 59, 60, 34, 75]),
                               e.name if named else None, None if named else self.text(e.name), thread))
            elif e.kind == "kernel":
                kernels.append((e.start, e.end, *device, self.text(KERNELS[e.name % len(KERNELS)]), self.text("k"),
                                r.choice([32, 0, 255]), *self.grid(), *self.block(), r.choice([0, 1024]), 0, 0))
            elif e.kind == "memory":
                memory.append((e.end, process, e.gpu, e.address, e.size, r.choice([2, 2, 0, 5]), int(e.frees)))
            elif e.fills:
                fills.append((e.start, e.end, *device, e.size))
            else:
                copies.append((e.start, e.end, *device, e.size, r.choice([1, 2, 3, 8, 10, 0, 5]),
                               r.choice([None, 0, 1]), r.choice([None, 0, 1])))
        device = "start end deviceId streamId correlationId globalPid "
        activity = "CUPTI_ACTIVITY_KIND_"
        self.table(activity + "RUNTIME", "start end globalTid correlationId nameId", calls)
        self.table(activity + "KERNEL", device + "demangledName shortName registersPerThread gridX gridY gridZ blockX "
                   "blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread", kernels)
        self.table(activity + "MEMCPY", device + "bytes copyKind srcDeviceId dstDeviceId", copies)
        self.table(activity + "MEMSET", device + "bytes", fills)
        self.table("CUDA_GPU_MEMORY_USAGE_EVENTS",
                   "start globalPid deviceId address bytes memKind memoryOperationType", memory)
        self.table("NVTX_EVENTS", "start end eventType text textId globalTid", ranges)
        self.table("TARGET_INFO_GPU", "id name totalMemory smCount computeMajor computeMinor threadsPerWarp "
                   "maxWarpsPerSm", [(i, "NVIDIA L4", 23 << 30, 58, 8, 9, 32, r.choice([48, 0, None]))
                                     for i in range(r.choice([0, 1, 2]))])
        self.table("TARGET_INFO_SESSION_START_TIME", "utcEpochNs utcTime", r.choice([[], [(1790000000000000000, "")]]))
        self.table("PROCESSES", "globalPid pid name", r.choice([[], [(process, 4711, "/usr/bin/train")]]))
        self.table("StringIds", "id value", [(i, text) for text, i in self.texts.items()], True)
        self.table("META_DATA_EXPORT", "name value", [("EXPORT_SCHEMA_VERSION", "3.24.14")], True)


class Rocprof(Database):
    def write(self, events):
        r = self.r
        calls, ranges, kernels, copies, below = [], [], [], [], []
        for e in events:
            times, device = (e.start, e.end), (e.gpu, e.stream, 517, 518, 1, e.correlation)
            given = r.choice(["( ", "("]) + arguments(r, " ", "%s(%s)") + r.choice([")", "", " ) ", "))"])
            if e.kind == "call":
                calls.append((*times, 517, 517 + e.thread, HIP[e.name], given, e.correlation))
                if r.random() < .05:
                    below.append((*times, 517, 517 + e.thread, "hsa_signal_wait_scacquire", given, e.correlation))
            elif e.kind == "range":
                ranges.append((*times, 517, 517 + e.thread, e.name))
            elif e.kind == "kernel":
                kernels.append((*times, *device, KERNELS[e.name % len(KERNELS)]))
            elif e.kind == "copy":
                copies.append((*times, *device, r.choice(["CopyHostToDevice", "CopyDeviceToHost", "FillBuffer"])))
        host, device = "BeginNs EndNs pid tid Name", "BeginNs EndNs dev-id queue-id pid tid stream-id Index Name"
        self.table("HIP", host + " args Index", calls)
        self.table("HSA", host + " args Index", below)
        self.table("ROCTX", host, ranges)
        self.table("OPS", device, kernels, True)
        self.table("COPY", device, copies)


class Rocpd(Database):
    """Its tables name each other's rows by an event."""

    def event(self, category, correlation=0, extra="{}"):
        self.events.append((len(self.events) + 1, self.text(category), correlation, extra))
        return len(self.events)

    def own_table(self, name, columns, rows, needed=False):
        self.table(f"rocpd_{name}{self.suffix}", columns, rows, needed)

    def add_host(self, e, process):
        r = self.r
        if e.kind == "call":
            category = r.choice(["HIP_RUNTIME_API_EXT"] * 9 + ["HSA_CORE_API", "RCCL_API", "HIP_COMPILER_API"])
            event, name = self.event(category, e.correlation), HIP[e.name]
            if r.random() < self.share_with_arguments:
                self.arguments += [(None, event, r.choice(["int", "void*", "void**", None]), *argument(r))
                                   for _ in range(r.choice([1, 2, 4]))]
        else:
            told = r.random() < .5
            event = self.event("MARKER_CORE_RANGE_API", 0, '{"message": "%s"}' % e.name if told else "{}")
            name = "roctxRangePushA" if told else e.name
        self.regions.append((None, process, e.thread, e.start, e.end, self.text(name),
                             event if r.random() > .05 else None))

    def add_kernel(self, e, process):
        r = self.r
        event, block = self.event("KERNEL_DISPATCH", e.correlation), self.block()
        row = [None, process, e.gpu + 1, 1 + e.name % 4, 1 + e.stream, 1 + r.randrange(2), e.start, e.end, 0,
               r.choice([0, 65536]), *block, *(a * b for a, b in zip(self.grid(), block)), event, len(self.kernels), 1]
        self.kernels.append(row)
        if r.random() < self.share_with_counters:
            self.values += [(None, event, r.choice([1, 1, 2, 3, 9]), r.choice([0, 1.5, 1e300, 7, "x", None]))
                            for _ in range(r.choice([1, 2, 3]))]
        for number in range(r.choice([0, 1, 2]) if self.passes else 0):
            again = self.event("KERNEL_DISPATCH", e.correlation)
            self.kernels.append(row[:-3] + [again, row[-2], number + 2])
            self.values.append((None, again, r.choice([1, 2]), 5))

    def add(self, e):
        r, process = self.r, 1 + self.r.randrange(self.processes)
        if e.kind in ("call", "range"):
            self.add_host(e, process)
        elif e.kind == "kernel":
            self.add_kernel(e, process)
        elif e.kind == "copy":
            name = "FILL" if e.fills else "MEMORY_COPY_" + r.choice(["HOST_TO_DEVICE", "DEVICE_TO_HOST"])
            self.copies.append((None, process, e.start, e.end, self.text(name), r.choice([0, 1, 2]),
                                r.choice([0, 1, 2]), e.size, 1 + e.stream, 1,
                                self.event("MEMORY_COPY", e.correlation)))
        else:
            what = ["FREE", "FREE", "RECLAIM"] if e.frees else ["ALLOC", "ALLOC", "REALLOC", ""]
            self.memory.append((None, process, e.thread, e.start, e.end, r.choice(what),
                                r.choice(["REAL"] * 19 + ["SCRATCH"]), r.choice([1, 1, 0, None]), e.size, e.address))

    def add_samples(self, events):
        r = self.r
        tracks = [(1, 1, r.choice([1, None, 9]), self.text("track")), (2, r.choice([1, 9]), 1, None)]
        samples = []
        for i in range(r.choice([1, 3])):
            event = self.event("SAMPLE")
            samples.append((None, r.choice([1, 2, 7]), events[0].start - i, r.choice([event, event, None]),
                            r.choice([None, self.text("sample")])))
            self.values.append((None, event, r.choice([1, 2]), r.choice([1, 2.5, -1])))
        self.own_table("track", "id pid tid name_id", tracks)
        self.own_table("sample", "id track_id timestamp event_id name_id", samples)

    def describe(self, end):
        r = self.r
        self.own_table("metadata", "id tag value", [(1, "schema_version", "3")], True)
        self.own_table("info_process", "id nid pid fini end command environment",
                       [(i + 1, r.choice([7, 8]), 4711 + i, r.choice([None, end]), r.choice([0, end]),
                         r.choice(["/opt/train", "train --x /y", "a b/c", ""]), r.choice(ENVIRONMENTS))
                        for i in range(self.processes)], True)
        self.own_table("info_node", "id hostname machine_id", [(7, "node7", r.choice(["a1", "", "000"]))])
        self.own_table("info_thread", "id tid name", [(i, 4710 + i, f"t{i}") for i in (1, 2, 3)])
        self.own_table("info_agent", "id pid type type_index name product_name extdata",
                       [(i, 1, "GPU", i - 1, "gfx942", "AMD MI300X", r.choice(AGENTS)) for i in (1, 2, 3)], True)
        self.own_table("info_kernel_symbol", "id kernel_name display_name sgpr_count arch_vgpr_count accum_vgpr_count",
                       [(i + 1, r.choice(KERNELS) + r.choice([".kd", ""]), r.choice(KERNELS + ["", None]),
                         r.choice([48, None]), 96, 4) for i in range(4)])

    def write(self, events):
        r = self.r
        self.suffix, self.passes, self.processes = r.choice(["", "_0", "_0b0a"]), r.random() < .15, r.choice([1, 1, 2])
        self.share_with_arguments, self.share_with_counters = r.choice([0, 0, .2, .6]), r.choice([0, 0, 0, .3, 1])
        self.events, self.regions, self.kernels, self.copies, self.memory = [], [], [], [], []
        self.arguments, self.values = [], []
        for e in events:
            self.add(e)
        self.describe(events[-1].end)
        if r.random() < .1:
            self.add_samples(events)
        self.own_table("arg", "id event_id type name value", self.arguments)
        self.own_table("info_pmc", "id symbol name units", [(1, r.choice(["SQ_WAVES", "GRBM_COUNT", ""]), "n", "bytes"),
                                                            (2, "GRBM_GUI_ACTIVE", "n", ""), (3, "x", "", "ns")])
        self.own_table("pmc_event", "id event_id pmc_id value", self.values)
        self.own_table("region", "id pid tid start end name_id event_id", self.regions)
        replayed = " replay_pass" if self.passes else ""
        self.own_table("kernel_dispatch", "id pid agent_id kernel_id queue_id stream_id start end private_segment_size "
                       "group_segment_size workgroup_size_x workgroup_size_y workgroup_size_z grid_size_x grid_size_y "
                       "grid_size_z event_id dispatch_id" + replayed,
                       [row if replayed else row[:-1] for row in self.kernels])
        self.own_table("memory_copy", "id pid start end name_id dst_agent_id src_agent_id size queue_id stream_id "
                       "event_id", self.copies)
        self.own_table("memory_allocate", "id pid tid start end type level agent_id size address", self.memory)
        self.own_table("event", "id category_id stack_id extdata", self.events)
        self.own_table("string", "id string", [(i, text) for text, i in self.texts.items()], True)


def make(r):
    """The bytes of one database; none of a program that did nothing."""
    program = Program(r)
    if not program.events:
        return b""
    return r.choice([Rocpd, Rocpd, Rocpd, Rpd, Rpd, Nsys, Rocprof, Rocprof])(r, program).bytes()
