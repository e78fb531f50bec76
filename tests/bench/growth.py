# SPDX-License-Identifier: MIT
"""How the time of each command grows with whatever a trace can have many of.

    python3 tests/bench/growth.py BUILD_DIRECTORY [--size N] [--only WORD] [--limit SECONDS]

Traces are made of N and of 4 N things of one kind - steps, threads, names, calls within calls, kernels of one
call and so on - and each command is run on both. Printed are CPU seconds and the exponent: 1 is linear, 2
is four times as much work a thing. A command that takes longer than the limit is ended, and said to be."""
import argparse
import json
import math
import os
import resource
import signal
import subprocess
import tempfile
import time
from pathlib import Path


def op(name, ts, dur, tid=1, pid=1, **args):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def step(number, ts, dur, **where):
    return dict(op(f"ProfilerStep#{number}", ts, dur, **where), cat="user_annotation")


def call(ts, correlation, external=0, dur=1, name="hipLaunchKernel", tid=1, pid=1):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": {"correlation": correlation, "External id": external}}


def kernel(ts, correlation, external=0, dur=2, device=0, stream=7, name="gemm_kernel", grid=1):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, "ts": ts, "dur": dur,
            "args": {"correlation": correlation, "External id": external, "device": device, "stream": stream,
                     "grid": [grid, 1, 1], "block": [64, 1, 1], "registers per thread": 32, "shared memory": 0,
                     "blocks per SM": 0.5, "est. achieved occupancy %": 50}}


def memory(ts, address, size, total, device_type=0, device=-1, tid=1):
    return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": tid, "ts": ts,
            "args": {"Total Allocated": total, "Total Reserved": total, "Bytes": size, "Addr": address,
                     "Device Id": device, "Device Type": device_type}}


def function(name, ts, dur, python_id, parent, module=None):
    args = {"Python id": python_id, "Python parent id": parent}
    if module is not None:
        args["Python module id"] = module
    return {"ph": "X", "cat": "python_function", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
            "args": args}


# ---- one kind each: events of n things ----

def steps(n):
    for i in range(n):
        yield step(i, 100.0 * i, 99.0)
        yield op("aten::mm", 100.0 * i + 1, 50, **{"External id": i + 1})
        yield call(100.0 * i + 2, i + 1, i + 1)
        yield kernel(100.0 * i + 9, i + 1, i + 1, 30)


def threads(n):
    for i in range(n):
        yield op("aten::mm", 10.0 * i, 9, tid=i + 1, **{"External id": i + 1})
        yield op("aten::dot", 10.0 * i + 1, 2, tid=i + 1, **{"External id": n + i + 1})


def processes(n):
    for i in range(n):
        yield {"ph": "M", "name": "process_name", "pid": i + 1, "tid": 0, "ts": 0, "args": {"name": f"p{i}"}}
        yield op("aten::mm", 10.0 * i, 9, pid=i + 1, tid=i + 1, **{"External id": i + 1})


def devices(n):
    for i in range(n):
        yield call(10.0 * i, i + 1)
        yield kernel(10.0 * i + 3, i + 1, device=i % 60000)


def streams(n):
    for i in range(n):
        yield call(10.0 * i, i + 1)
        yield kernel(10.0 * i + 3, i + 1, stream=i + 1, dur=100)


def names(n):
    for i in range(n):
        yield op(f"aten::op{i}", 10.0 * i, 9, **{"External id": i + 1})
        yield call(10.0 * i + 1, i + 1, i + 1)
        yield kernel(10.0 * i + 3, i + 1, i + 1, name=f"kernel_{i}<float, {i}>(int)")


def shapes(n):
    for i in range(n):
        yield op("aten::mm", 10.0 * i, 9, **{"External id": i + 1, "Input Dims": [[i, 2], [2, i]],
                                             "Input type": ["float", "float"]})


def stacks(n):
    for i in range(n):
        yield op("aten::mm", 10.0 * i, 9, **{"External id": i + 1, "Call stack": f"a.py({i}): f;b.py(1): main"})


def depth(n):
    for i in range(n):
        yield op("aten::mm", float(i), 2.0 * (n - i) + n, **{"External id": i + 1})


def siblings(n):
    yield op("aten::all", 0.0, 10.0 * n + 10, **{"External id": n + 1})
    for i in range(n):
        yield op("aten::mm", 10.0 * i + 1, 5, **{"External id": i + 1})


def same_time(n):
    for i in range(n):
        yield op("aten::mm", 5.0, 9, **{"External id": i + 1})


def same_id(n):
    for i in range(n):
        yield op("aten::mm", 10.0 * i, 9, **{"External id": 1})
        yield call(10.0 * i + 1, i + 1, 1)
        yield kernel(10.0 * i + 3, i + 1, 1)


def same_correlation(n):
    yield op("aten::mm", 0.0, 9, **{"External id": 1})
    yield call(1.0, 1, 1)
    for i in range(n):
        yield kernel(10.0 * i + 3, 1, 1)


def without_call(n):
    for i in range(n):
        yield op("aten::mm", 10.0 * i, 9, **{"External id": i + 1})
        yield kernel(10.0 * i + 3, i + 1, i + 1)


def crossing(n):
    for i in range(n):
        yield op("aten::mm", 10.0 * i, 15, **{"External id": i + 1})


def all_crossing(n):
    for i in range(n):
        yield op("aten::mm", float(i), n, **{"External id": i + 1})


def overlapping_kernels(n):
    for i in range(n):
        yield call(float(i), i + 1)
        yield kernel(float(n + i), i + 1, dur=2.0 * n, stream=i % 50)


def modules(n):
    for i in range(n):
        yield function(f"nn.Module: Linear_{i}", 10.0 * i, 9, i + 1, None, i)
        yield op("aten::mm", 10.0 * i + 1, 5, **{"External id": i + 1})


def nested_modules(n):
    for i in range(n):
        yield function(f"nn.Module: Block_{i}", float(i), 2.0 * (n - i) + n, i + 1, i or None, i)


def functions(n):
    for i in range(n):
        yield function(f"a.py({i}): f", float(i), 2.0 * (n - i) + n, i + 1, i or None)


def allocations(n):
    for i in range(n):
        yield op("aten::empty", 10.0 * i, 9, **{"External id": i + 1})
        yield memory(10.0 * i + 1, 4096 * (i + 1), 64, 64 * (i + 1))


def frees_late(n):
    for i in range(n):
        yield memory(10.0 * i, 4096 * (i + 1), 64, 64 * (i + 1))
    for i in range(n):
        yield memory(10.0 * (n + i), 4096 * (i + 1), -64, 64 * (n - i - 1))


def memory_devices(n):
    for i in range(n):
        yield memory(10.0 * i, 4096 * (i + 1), 64, 64, device_type=1, device=i)


def flows(n):
    for i in range(n):
        yield op("aten::mm", 20.0 * i, 9, **{"External id": i + 1, "Sequence number": i, "Fwd thread id": 0})
        yield op("autograd::engine::evaluate_function: MmBackward0", 20.0 * i + 10, 9, tid=2,
                 **{"External id": n + i + 1, "Sequence number": i, "Fwd thread id": 1})
        for phase, ts, tid in (("s", 20.0 * i, 1), ("f", 20.0 * i + 10, 2)):
            yield {"ph": phase, "id": i + 1, "pid": 1, "tid": tid, "ts": ts, "cat": "fwdbwd", "name": "fwdbwd",
                   "bp": "e"}


def counters(n):
    for i in range(n):
        yield {"ph": "C", "cat": "c", "name": f"curve {i}", "pid": 1, "tid": 1, "ts": 10.0 * i, "args": {"v": i}}


def counter_values(n):
    for i in range(n):
        yield {"ph": "C", "cat": "c", "name": "curve", "pid": 1, "tid": 1, "ts": 10.0 * i, "args": {"v": i}}


def collectives(n):
    for i in range(n):
        yield op("nccl:all_reduce", 100.0 * i, 50, **{"External id": i + 1, "Input Dims": [[1024]],
                                                      "Input type": ["float"]})
        yield call(100.0 * i + 1, i + 1, i + 1)
        yield kernel(100.0 * i + 5, i + 1, i + 1, 40, name="ncclDevKernel_AllReduce")


def copies(n):
    for i in range(n):
        yield call(10.0 * i, i + 1, name="hipMemcpyAsync")
        yield {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7,
               "ts": 10.0 * i + 3, "dur": 2, "args": {"correlation": i + 1, "device": 0, "stream": 7, "bytes": 64}}


def categories(n):
    for i in range(n):
        yield {"ph": "X", "cat": f"category {i}", "name": "x", "pid": 1, "tid": 1, "ts": 10.0 * i, "dur": 5,
               "args": {}}


def backwards(n):
    for i in range(n):
        yield op("aten::mm", 10.0 * (n - i), 9, **{"External id": i + 1})


def loaders(n):
    for i in range(n):
        yield op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 10.0 * i, 9, **{"External id": i + 1})
        yield op("Optimizer.step#SGD.step", 10.0 * i + 1, 2, **{"External id": n + i + 1})


KINDS = [steps, threads, processes, devices, streams, names, shapes, stacks, depth, siblings, same_time, same_id,
         same_correlation, without_call, crossing, all_crossing, overlapping_kernels, modules, nested_modules,
         functions, allocations, frees_late, memory_devices, flows, counters, counter_values, collectives, copies,
         categories, backwards, loaders]

COMMANDS = {
    "view": ["view", "--json", "{file}"],
    "view text": ["view", "{file}"],
    "as plugin": ["view", "--json", "--as-plugin", "{file}"],
    "steps": ["steps", "{file}"],
    "table": ["table", "{file}"],
    "table events": ["table", "--events", "{file}"],
    "stacks": ["stacks", "{file}"],
    "memory": ["memory", "{file}"],
    "loops": ["view", "--view", "loops", "{file}"],
    "check": ["check", "{file}"],
    "check all": ["check", "--all", "{file}"],
    "convert": ["convert", "{file}", "-o", "{out}/converted.json", "--force"],
    "find steps": ["convert", "--find-steps", "{file}", "-o", "{out}/found.json", "--force"],
    "compare": ["compare", "{file}", "{file}"],
    "ranks": ["ranks", "{file}"],
    "report": ["report", "{file}", "-o", "{out}/report.html"],
    "pack": ["pack", "{dir}", "-o", "{out}/p.hbpack", "--redact", "--force"],
    "pftrace": ["export", "--format", "pftrace", "{file}", "-o", "{out}/t.pftrace", "--force"],
    "csv": ["export", "--format", "csv", "{file}", "-o", "{out}/csv", "--force"],
    "rocpd": ["export", "--format", "rocpd", "{file}", "-o", "{out}/t.db", "--force"],
}


def write(path, events):
    with open(path, "w") as out:
        out.write('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [\n')
        for i, event in enumerate(events):
            out.write((",\n" if i else "") + json.dumps(event))
        out.write("\n]}\n")


def seconds(command, limit):
    """Of processor time; None where it was ended; and what it said where that is a crash."""
    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limits, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None, ""
    crashed = f"signal {-done.returncode}" if done.returncode < 0 else ""
    return used, crashed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--size", type=int, default=20000)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=int, default=60)
    given = parser.parse_args()
    tool = Path(given.build).resolve() / "tools/hipboard/hipboard"
    started = time.monotonic()
    print(f"{'many':20} {'command':13} {given.size:>9} {4 * given.size:>9}   exponent")
    for kind in KINDS:
        for name, command in COMMANDS.items():
            if given.only and given.only not in f"{kind.__name__} {name}":
                continue
            with tempfile.TemporaryDirectory() as folder:
                used, crash = [], ""
                for n in (given.size, 4 * given.size):
                    path = Path(folder) / str(n) / "host_1.1.pt.trace.json"
                    path.parent.mkdir()
                    write(path, kind(n))
                    out = Path(folder) / f"out{n}"
                    out.mkdir()
                    took, said = seconds([str(tool)] + [part.format(file=path, dir=path.parent, out=out)
                                                        for part in command], given.limit)
                    used.append(took)
                    crash = crash or said
                grown = math.log(used[1] / used[0], 4) if all(used) else math.nan
                texts = [f"{s:9.3f}" if s is not None else f">{given.limit:8}" for s in used]
                worth = " !" if crash or None in used or (grown > 1.3 and used[1] > 0.1) else ""
                print(f"{kind.__name__:20} {name:13} {' '.join(texts)}   {grown:6.2f}{worth} {crash}", flush=True)
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    os.nice(1)
    main()
