# SPDX-License-Identifier: MIT
"""What torch.profiler costs, for comparison: nanoseconds a scope and an operator, off and on, and
the time and size of an export. Prints one JSON object.

usage: bench_torch.py [EVENTS]
"""
import contextlib
import gzip
import json
import os
import sys
import tempfile
import time

import torch
from torch._C._profiler import _RecordFunctionFast
from torch.profiler import ProfilerActivity, profile, record_function

CALLS, ROUNDS = 20000, 9


def empty(calls):
    for _ in range(calls):
        pass


def record_function_fast(calls):
    for _ in range(calls):
        with _RecordFunctionFast("bench_scope"):
            pass


def record_function_context(calls):
    for _ in range(calls):
        with record_function("bench_scope"):
            pass


def operator(calls, x=torch.ones(1)):
    for _ in range(calls):
        x.add_(x)


def best_of(body, **options):
    """Nanoseconds a call, profiled when there are options."""
    best = float("inf")
    for _ in range(ROUNDS):
        with profile(**options) if options else contextlib.nullcontext():
            start = time.perf_counter_ns()
            body(CALLS)
            best = min(best, time.perf_counter_ns() - start)
    return best / CALLS


def cost(body):
    cpu = [ProfilerActivity.CPU]
    return {"off": best_of(body), "on": best_of(body, activities=cpu),
            "shapes": best_of(body, activities=cpu, record_shapes=True),
            "memory": best_of(body, activities=cpu, profile_memory=True)}


def cycle(events, suffix):
    """One cycle of `events` operators: seconds that its end and its export take, and its size."""
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        operator(events)
        stop_from = time.perf_counter()
    stop = time.perf_counter() - stop_from
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "trace.json" + suffix)
        start = time.perf_counter()
        prof.export_chrome_trace(path)
        seconds = time.perf_counter() - start
        opener = gzip.open if suffix else open
        with opener(path, "rt") as file:
            written = file.read().count('"cat": "cpu_op"')
        return {"events": written, "stop_seconds": stop, "export_seconds": seconds,
                "bytes": os.path.getsize(path)}


def main(events):
    # torch tells of its probes on standard error; this program's output is the numbers.
    torch.set_num_threads(1)
    print(json.dumps({
        "version": torch.__version__,
        "loop": best_of(empty),
        "_RecordFunctionFast": cost(record_function_fast),
        "record_function": cost(record_function_context),
        "cpu_op": cost(operator),
        "json": cycle(events, ""),
        "gz": cycle(events, ".gz"),
    }, indent=1))


main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1000000)
