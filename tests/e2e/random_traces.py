# SPDX-License-Identifier: MIT
"""Random log directories: every kind of event that the plugin knows, in every state that its rules
tell apart, and now and then what it cannot digest."""
import gzip
import json

OPS = ["aten::mm", "aten::add", "aten::empty", "aten::empty_strided", "aten::conv2d", "MmBackward",
       "a\"b'c\\", "Ünï ☃ 𝄞", "x###[1]", "", "DataParallel.forward", "DistributedDataParallel.forward",
       "Optimizer.zero_grad#SGD.zero_grad", "Optimizer.step#SGD.step",
       "enumerate(DataLoader)#_Single.__next__", "enumerate(DataPipe)#x", "aten::linear"]
COLLECTIVES = ["nccl:all_reduce", "nccl:broadcast", "gloo:all_reduce", "nccl:_all_gather_base"]
KERNELS = ["gemm", "ampere_h884gemm", "xmma_gemm_f16", "ncclKernel", "elementwise"]
MODULES = ["nn.Module: Net_0", "nn.Module: Linear_0", "nn.Module: Linear_1", "nn.Module: ReLU_0"]
ENGINE = "autograd::engine::evaluate_function: "


class Trace:
    """One file's events. Times of one file are all integers, all fractions, or mixed."""

    def __init__(self, rng, seed_shape):
        self.rng = rng
        self.shape = seed_shape
        self.events = []
        self.ids = iter(range(1, 10**9))
        self.correlations = []
        self.times = rng.choice(["int", "float", "mixed"])
        self.python_ids = iter(range(1, 10**9))

    def time(self, value):
        if self.times == "int":
            return round(value)
        if self.times == "mixed" and self.rng.random() < 0.5:
            return round(value)
        return round(value * 8) / 8 + (0.123 if self.rng.random() < 0.1 else 0)

    def add(self, cat, name, ts, dur, tid=1, pid=100, ph="X", **args):
        event = {"ph": ph, "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": self.time(ts),
                 "dur": self.time(dur)}
        if args or self.rng.random() < 0.9:
            event["args"] = args
        self.events.append(event)
        return event

    def operator_args(self):
        rng = self.rng
        args = {}
        if rng.random() < 0.9:
            args[rng.choice(["External id", "External id", "external id"])] = next(self.ids)
        if rng.random() < 0.5:
            count = rng.randint(0, 2)
            args[rng.choice(["Input Dims", "Input dims"])] = [
                [rng.randint(0, 9) for _ in range(rng.randint(0, 2))] for _ in range(count)]
            args["Input type"] = [rng.choice(["float", "int", "long int", "c10::Half", "odd"])
                                  for _ in range(count)]
        if rng.random() < 0.1:
            args["Input Dims"] = rng.choice([None, "text", 7, [1.5, "a'b", None, True], {"a": [1]}])
        if rng.random() < 0.2:
            args["Call stack"] = rng.choice(["a.py(1): f;b.py(2): g", "c.py(3): h", "", None])
        return args

    def calls(self, start, end, tid, depth=0):
        """Nested operators, with what they launch."""
        rng = self.rng
        at = start
        while at < end and rng.random() < 0.85:
            length = min(end - at, rng.choice([0, 1, 5, 10, 20, 40]))
            if rng.random() < 0.05:
                length += rng.randint(1, 5)  # sticks out: the plugin drops it
            name = rng.choice(OPS)
            cat = rng.choice(["cpu_op"] * 8 + ["Operator", "python", "user_annotation", "cpu_OP"])
            if rng.random() < 0.08:
                name = rng.choice(COLLECTIVES)
                cat = rng.choice(["cpu_op", "user_annotation", "gpu_user_annotation"])
            event = self.add(cat, name, at, length, tid, **self.operator_args())
            if depth < 4 and length > 1:
                inside = rng.random()
                if inside < 0.15:  # the plugin merges a call with its only child of that name
                    self.add("cpu_op", name, at, length, tid, **self.operator_args())
                elif inside < 0.7:
                    self.calls(at + rng.choice([0, 1]), at + length, tid, depth + 1)
            if self.shape["gpu"] and rng.random() < 0.6:
                self.launch(at, length, tid, event)
            if self.shape["memory"] and rng.random() < 0.4:
                self.memory(at + rng.choice([0, 0, length / 2, length]), tid)
            at += length + rng.choice([0, 1, 3])

    def launch(self, at, length, tid, operator):
        rng = self.rng
        args = operator.get("args", {})
        external = args.get("External id", args.get("external id"))
        link = {}
        if external is not None and rng.random() < 0.9:
            link["External id"] = external
        if rng.random() < 0.05:
            link["External id"] = 0
        correlation = {"correlation": len(self.correlations)}
        self.correlations.append(correlation)
        if rng.random() < 0.05:
            correlation = {}
        if rng.random() < 0.85:
            self.add(rng.choice(["Runtime"] * 9 + ["cuda_runtime"]), "hipLaunchKernel", at,
                     min(length, 2), tid, **correlation, **link)
        device = rng.choice(self.shape["devices"])
        for _ in range(rng.choice([1, 1, 1, 2, 0])):
            kind = rng.choice(["kernel"] * 5 + ["gpu_memcpy", "gpu_memset", "Memcpy"])
            more = {}
            if kind == "kernel":
                more = self.kernel_args(device)
            self.add(kind, rng.choice(KERNELS), at + rng.choice([-3, 1, 5, 60]),
                     rng.choice([0, 1, 7, 30]), rng.choice([7, "stream 7"]), device, **correlation,
                     **link, **more)

    def kernel_args(self, device):
        rng = self.rng
        more = {"device": device}
        if rng.random() < 0.8:
            more["grid"] = rng.choice([[1, 2, 3], "g'", None, [1.0]])
            more["block"] = [64, 1, 1]
            more["registers per thread"] = rng.choice([0, 32, None, 16.5])
            more["shared memory"] = rng.choice([0, 1024, None])
        if self.shape["metrics"] and rng.random() < 0.8:
            more["blocks per SM"] = rng.choice([0.1, 0.5, 2, 0, -1, 1.5])
            more["est. achieved occupancy %"] = rng.choice([0, 12, 99.5, -1])
        return more

    def memory(self, ts, tid):
        rng = self.rng
        address = rng.choice(self.shape["addresses"])
        size = rng.choice([512, 4096, 1 << 20, -512, -4096, 0, 7])
        args = {"Device Type": rng.choice(self.shape["device_types"]),
                "Device Id": rng.choice([-1, 0, 0, 1]), "Bytes": size}
        if rng.random() < 0.95:
            args["Addr"] = address
        if rng.random() < 0.95:
            args["Total Allocated"] = rng.randint(0, 1 << 24)
            args["Total Reserved"] = rng.choice([0, 1 << 24, 2.5])
        self.events.append({"ph": "i", "s": "t", "name": "[memory]", "pid": 100, "tid": tid,
                            "ts": self.time(ts), "args": args})

    def modules(self, start, end, tid, parent=None, depth=0):
        rng = self.rng
        at = start
        for _ in range(rng.randint(1, 2)):
            length = (end - at) // 2
            if length < 4:
                return
            own = next(self.python_ids)
            ids = {"Python id": own, "Python parent id": parent}
            if rng.random() < 0.7:
                ids["Python module id"] = rng.choice([0, 0, 1])
                name = rng.choice(MODULES)
            else:
                name = "file.py(3): forward"
            self.add("python_function", name, at, length, tid, **ids)
            if depth < 3 and rng.random() < 0.6:
                self.modules(at + 1, at + length, tid, own, depth + 1)
            else:
                self.add("cpu_op", "aten::linear", at + 1, 2, tid, **self.operator_args())
            at += length + 1

    def backward(self, start, tid):
        """Forward operators in modules and the engine's nodes that go with them."""
        rng = self.rng
        at = start
        for flow in range(rng.randint(1, 3)):
            own = next(self.python_ids)
            self.add("python_function", MODULES[flow], at, 10, tid,
                     **{"Python id": own, "Python parent id": None, "Python module id": flow})
            self.add("cpu_op", "aten::linear", at + 1, 5, tid, **self.operator_args())
            far = at + 300
            self.add("cpu_op", ENGINE + "AddmmBackward0", far, 10, tid, **self.operator_args())
            self.add("cpu_op", "AddmmBackward0", far + 1, 5, tid, **self.operator_args())
            if rng.random() < 0.5:
                self.add("cpu_op", ENGINE + "torch::autograd::AccumulateGrad", far + 11, 2, tid,
                         **self.operator_args())
            if rng.random() < 0.9:
                forward, back = self.events[-1], self.events[-1]
                for event in self.events[-6:]:
                    if event["name"] == "aten::linear":
                        forward = event
                    if event["name"] == "AddmmBackward0":
                        back = event
                for ph, event in (("s", forward), ("f", back)):
                    self.events.append({"ph": ph, "cat": "forward_backward", "id": flow, "pid": 100,
                                        "tid": tid, "ts": event["ts"], "name": "fb"})
            at += 20

    def spoil(self):
        """One thing that the plugin may not digest."""
        rng = self.rng
        if not self.events:
            return
        event = rng.choice(self.events)
        kind = rng.randint(0, 9)
        if kind == 0:
            event.pop(rng.choice(list(event)))
        elif kind == 1:
            event[rng.choice(["ts", "dur", "tid", "pid", "name", "cat", "args"])] = rng.choice(
                [None, "text", "12", " 1_2 ", 3.7, [], {}, True, -5, [1]])
        elif kind == 2 and event.get("args"):
            event["args"][rng.choice(list(event["args"]))] = rng.choice(
                [None, "text", 3.5, [], {}, True, -1, 64, 63])
        elif kind == 3:
            event["cat"] = rng.choice(["memory", "", "trace", "unknown", "KERNEL"])
        elif kind == 4:
            self.events.append(rng.choice([7, None, [], "text", {}]))
        elif kind == 5:
            event["name"] = rng.choice(["ProfilerStep#", "ProfilerStep# +0_7 #x", "ProfilerStep#-0"])
        elif kind == 6:
            event["ts"] = rng.choice([0, -100, 10**7])
        elif kind == 7:
            self.events.append(dict(event))
        elif kind == 8:
            self.events.append({"ph": "i", "name": "Record Window End", "ts": rng.choice(
                [2000, 86400000 + 2000, None])})
        else:
            self.events.append({"ph": "X", "cat": "memory", "name": "m", "ts": 1, "dur": 1})


def device_properties(rng):
    kind = rng.randint(0, 9)
    if kind < 3:
        return []
    if kind == 9:
        return rng.choice([None, {}, {"a": 1}, 7, [7], "text", [{}], [{"totalGlobalMem": "text"}],
                           [{"computeMajor": "7", "computeMinor": 0}]])
    return [{"id": i, "name": f"GPU {i}", "totalGlobalMem": rng.choice([1 << 24, 1 << 34, "17179869184"])
             if rng.random() < 0.2 else 1 << 24, "computeMajor": rng.choice([7, 9, 3]),
             "computeMinor": rng.choice([0, 5])} for i in range(rng.randint(1, 3))]


def make_trace(rng):
    shape = {"gpu": rng.random() < 0.7, "memory": rng.random() < 0.5, "metrics": rng.random() < 0.6,
             "devices": rng.choice([[0], [0, 1], [1, 3], [2]]), "addresses": list(range(1000, 1006)),
             "device_types": rng.choice([[0], [1], [0, 1], [0, 1, 1], [0, 6]])}
    t = Trace(rng, shape)
    tids = rng.choice([[1], [1], [1, 2], [3, 1, 2]])
    lightning = rng.random() < 0.05
    steps = rng.choice([0, 1, 2, 3, 4])
    start = 1000
    for step in range(max(steps, 1)):
        length = rng.choice([100, 200, 60])
        if steps:
            t.add(rng.choice(["user_annotation", "cpu_op"]), f"ProfilerStep#{step + 3}", start, length,
                  tids[0], **({"External id": next(t.ids)} if rng.random() < 0.8 else {}))
        for tid in tids:
            t.calls(start + rng.choice([0, 1]), start + length, tid)
        if rng.random() < 0.4:
            t.modules(start, start + length, tids[0])
        start += length + rng.choice([0, 1, 10])
    if lightning:
        t.add("cpu_op", "[pl][profile]run_training", 1000, 500, 1)
        t.add("cpu_op", "[pl][module]torch.nn.Linear: net.layer", 1001, 5, 1)
        t.add("cpu_op", "[pl][module]Net: net", 1001, 50, 1)
        t.add("cpu_op", "[pl][module]nothing", 1060, 5, 1)
    if rng.random() < 0.15:
        t.backward(start, tids[0])
    if rng.random() < 0.6:
        t.add("Trace", "PyTorch Profiler (0)", 990, start - 980, "PyTorch Profiler", "Spans")
    if rng.random() < 0.5:
        t.events.append({"ph": "i", "s": "g", "name": "Iteration Start: PyTorch Profiler",
                         "pid": "Traces", "tid": "x", "ts": 990})
        t.events.append({"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "",
                         "ts": start + (10**8 if rng.random() < 0.3 else 50)})
    t.events.append({"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "ts": 0,
                     "args": {"name": "python"}})
    if rng.random() < 0.3:
        t.spoil()
    if rng.random() < 0.3:
        rng.shuffle(t.events)
    document = {"schemaVersion": 1, "deviceProperties": device_properties(rng)}
    if lightning:
        document["Framework"] = "pytorch-lightning"
    if rng.random() < 0.1:
        del document["deviceProperties"]
    document["traceEvents"] = t.events
    return document


def text_of(rng, document):
    """The file's bytes, sometimes in a way that only some readers accept."""
    text = json.dumps(document, ensure_ascii=rng.random() < 0.5,
                      indent=rng.choice([None, None, 2]))
    kind = rng.randint(0, 39)
    data = text.encode()
    if kind == 0:
        data = data.replace(b"gemm", b"ge\tmm")
    elif kind == 1:
        data = data.replace(b'"grid": null', b'"grid": N/A')
    elif kind == 2:
        data = data.replace(b"gemm", b"ge\xffmm")
    elif kind == 3:
        data = data[:-rng.randint(1, 40)]
    elif kind == 4:
        data = data.replace(b"aten::mm", b"C:\\dir")
    elif kind == 5:
        data = data.replace(b'"block": [', b'"block": N/A, "more": [', 1).replace(
            b"elementwise", rng.choice([b"N/A", b"a N/A b", b"elementwise"]))
    elif kind == 6:
        data += rng.choice([b"\n", b" x", b"\0", b"]"])
    elif kind == 7:
        data = b"\xef\xbb\xbf" + data
    elif kind == 8:
        data = data.replace(b"1.5", b"NaN", 1)
    elif kind == 9:
        data = text.encode(rng.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"]))
    elif kind == 10:
        data = b"\xef\xbb\xbf" + data.replace(b'"grid": null', b'"grid": N/A')
    return data


def make(rng):
    """The bytes of one trace."""
    return text_of(rng, make_trace(rng))


def make_logdir(rng, path):
    """One or two runs with one to three workers of one or two spans."""
    for run in range(rng.randint(1, 2)):
        directory = path / rng.choice(["", f"run{run}", f"a/b c{run}", f".hidden{run}"])
        directory.mkdir(parents=True, exist_ok=True)
        alike = make_trace(rng) if rng.random() < 0.4 else None
        for worker in range(rng.choice([1, 1, 2, 3])):
            for span in range(rng.choice([1, 1, 2])):
                document = alike or make_trace(rng)
                data = text_of(rng, document)
                name = rng.choice([f"host_{worker}.{span + 9}.pt.trace.json",
                                   f"w{worker}.{span + 9}.pt.trace.json",
                                   f"w{worker}.pt.trace.json", f"All.{span}.pt.trace.json"]
                                  if rng.random() < 0.9 else ["x.trace.json", ".pt.trace.json"])
                if rng.random() < 0.3:
                    name += ".gz"
                    data = gzip.compress(data)
                (directory / name).write_bytes(data)
