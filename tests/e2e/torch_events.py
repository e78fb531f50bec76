# SPDX-License-Identifier: MIT
"""A GPU's trace for torch's own classes: no GPU is needed to have torch look at what Kineto would
give it."""
import json

import pytest
import torch
from torch.autograd import DeviceType, profiler, profiler_util

from torch.profiler import ProfilerActivity, profile


def record_with_stacks(path, program, capture_overload_names=False, profile_all_threads=False,
                       **settings):
    """Now and then torch 2.13 has freed a name of a stack before it is asked for it."""
    config = torch._C._profiler._ExperimentalConfig(
        verbose=True, capture_overload_names=capture_overload_names,
        profile_all_threads=profile_all_threads)
    for _ in range(10):
        with profile(activities=[ProfilerActivity.CPU], with_stack=True,
                     experimental_config=config, **settings) as p:
            program()
        try:
            p.events()
        except UnicodeDecodeError:
            continue
        p.export_chrome_trace(str(path))
        return p
    pytest.fail("torch could not read its own recording ten times")


class Event:
    """What torch's parser asks a Kineto event for, from an element of traceEvents."""
    CPU = {"cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver",
           "cpu_instant_event", "overhead"}
    MEMORY = {0: DeviceType.CPU, 1: DeviceType.CUDA, 6: DeviceType.HIP}

    def __init__(self, event, ending_thread=None):
        self.event, self.args, self.cat = event, event.get("args", {}), event.get("cat")
        self.ending_thread = ending_thread
        self.start = round(event["ts"] * 1000)
        self.end = self.start + round(event.get("dur", 0) * 1000)
        if self.cat == "gpu_user_annotation":  # Kineto draws them wider
            self.start, self.end = self.start + 1, self.end - 1
        self.own = self.cat in ("cpu_op", "user_annotation", "gpu_user_annotation")

    def shapes(self):  # of a list of tensors, torch keeps none
        return [[] if dims and isinstance(dims[0], list) else dims
                for dims in self.args.get("Input Dims", [])]

    def stack(self):
        return [frame for frame in self.args.get("Call stack", "").split(";") if frame]

    def __getattr__(self, name):  # more, that these traces have not
        return lambda: {"is_async": False, "sequence_nr": -1, "scope": 0, "flops": 0,
                        "overload_name": "", "fwd_thread_id": 0}.get(name, [])

    def name(self):
        return self.event["name"]

    def device_type(self):
        if self.event["name"] == "[memory]":
            return self.MEMORY[self.args["Device Type"]]
        return DeviceType.CPU if self.cat in self.CPU else DeviceType.CUDA

    def nbytes(self):
        return self.args["Bytes"]

    def start_ns(self):
        return self.start

    def end_ns(self):
        return self.end

    def start_thread_id(self):  # calls outside of all operators have the thread that ended the recording
        return self.event["tid"] if self.own or self.cat == "cpu_instant_event" else self.ending_thread

    end_thread_id = start_thread_id

    def correlation_id(self):
        return self.args.get("External id", 0) if self.own else 10 ** 6

    def linked_correlation_id(self):
        return 0 if self.own else self.args.get("External id", 0)

    def cuda_elapsed_us(self):
        return -1

    def is_user_annotation(self):
        return "user_annotation" in self.cat

    def extra_meta(self):
        return {}

    def is_hidden_event(self):
        return False


class Result:
    def __init__(self, events, start):
        self._events, self._start = events, start

    def events(self):
        return self._events

    def trace_start_ns(self):
        return self._start


def torch_events(trace):
    """torch's list of FunctionEvents for a trace file."""
    operators = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] in ("cpu_op", "user_annotation")]
    ending = [e["tid"] for e in operators if e["name"].startswith("ProfilerStep#")] or \
        [e["tid"] for e in operators if e["tid"] == e["pid"]] or [-1]
    complete = [Event(e, ending[-1]) for e in trace["traceEvents"]
                if e["ph"] == "X" and e["cat"] not in ("Trace", "ac2g")]
    memory = [Event(e) for e in trace["traceEvents"] if e["name"] == "[memory]"]
    [span] = [e for e in trace["traceEvents"] if e.get("cat") == "Trace"]
    p = profiler.profile.__new__(profiler.profile)
    p.use_device = "cuda"
    parsed = p._parse_kineto_results(Result(complete + memory, round(span["ts"] * 1000)))
    events = profiler_util.EventList(parsed, use_device="cuda",
                                     profile_memory=bool(trace.get("profile_memory")))
    events._build_tree()
    return events


def gpu_trace(path, memory):
    """Two operators that launch kernels, with calls in and outside of them, copies, annotations."""
    events = [{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans",
               "tid": "PyTorch Profiler", "ts": 1000.001, "dur": 9000}]

    def add(cat, name, ts, dur, tid=7, pid=7, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts,
                       "dur": dur, "args": {k.replace("_", " "): v for k, v in args.items()}})
    add("user_annotation", "ProfilerStep#3", 1001.5, 8000.25, External_id=1)
    for i in range(40):
        at = 1010 + i * 150.037
        add("cpu_op", "aten::linear", at, 120.123, External_id=10 * i + 10)
        add("cpu_op", "aten::addmm", at + 10.001, 90.777, External_id=10 * i + 11)
        add("cuda_runtime", "hipLaunchKernel", at + 20, 5.5, External_id=10 * i + 11,
            correlation=i * 3)
        add("cuda_runtime", "hipMemcpyAsync", at + 112, 3.25, External_id=10 * i + 10,
            correlation=i * 3 + 1)
        add("kernel", f"gemm_{i % 3}", at + 60, 33.333 + i, tid=0, pid=2,
            External_id=10 * i + 11, correlation=i * 3, device=2, stream=0)
        add("gpu_memcpy", "Memcpy HtoD (Host -> Device)", at + 125, 4.567, tid=0, pid=2,
            External_id=10 * i + 10, correlation=i * 3 + 1)
    add("kernel", "stray", 7200, 11.5, tid=3, pid=2, correlation=999)
    add("cuda_runtime", "hipDeviceSynchronize", 7300, 500.5, correlation=1000)
    add("gpu_user_annotation", "ProfilerStep#3", 1070, 5000.125, tid=0, pid=2, External_id=1)
    if memory:
        sizes = [3000, 70000, 9000, -6000, -2000]
        for i, kind in enumerate([0, 1, 6, 1, 0]):
            events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]",
                           "pid": 7, "tid": 7, "ts": 1030 + i * 150.037 + 2500 * (i == 4) * 4,
                           "args": {"Bytes": sizes[i], "Device Type": kind,
                                    "Device Id": 0 if kind else -1, "Addr": i}})
    trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": events}
    if memory:
        trace["profile_memory"] = 1
    path.write_text(json.dumps(trace))
    return trace
