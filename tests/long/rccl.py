# SPDX-License-Identifier: MIT
"""rccl.py OUT: OUT/calls with AMD's own RCCL on the simulated GPU, by `hipboard record`. Each call must be there as it
was made, and each kernel belong to its call, or to its group."""
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("MESON_BUILD_ROOT", ROOT / "build"))
CALLED = [
    ("allreduce", "Float", 4096, 4096, 1), ("broadcast", "Long", 100, 100, 2), ("allgather", "Half", 10, 20, 3),
    ("_reduce_scatter_base", "BFloat16", 20, 10, 4), ("allreduce", "Float", 7, 7, 5), ("coalesced", None, None, None, 6),
    ("send", "Char", 64, 64, None), ("recv", "Char", 64, 64, None), ("allreduce", "Float", 8, 8, 6)]
OWNERS = ["allreduce", "broadcast", "allgather", "_reduce_scatter_base", "allreduce", "coalesced"]
ANNOTATIONS = ["nccl:all_reduce", "nccl:broadcast", "nccl:all_gather", "nccl:reduce_scatter", "nccl:all_reduce",
               "nccl:coalesced"]
KEYS = ("Collective name", "dtype", "In msg nelems", "Out msg nelems", "Seq")


def start(logdir, gpus, *command, **variables):
    environment = dict(os.environ, SIMHSA_LIBRARY_DIR=str(BUILD / "tools/simhsa"), SIMHSA_GPUS=str(gpus), **variables)
    return subprocess.Popen([ROOT / "tools/simhsa/in_suite", "rccl", BUILD / "tools/hipboard/hipboard", "record", "-o",
                             logdir, "--", *map(str, command)], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    out, error = process.communicate(timeout=300)
    if process.returncode == 77:
        sys.exit(error)
    assert (process.returncode, out) == (0, "ok\n"), error


def documents(logdir):
    return [json.loads(path.read_text()) for path in sorted(logdir.glob("*.pt.trace.json"))]


def calls(trace):
    found = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] in ("cpu_op", "comm")
             and "Collective name" in e["args"]]
    return sorted(found, key=lambda e: (e["ts"], e["args"]["External id"]))


def kernels(trace):
    return sorted((e for e in trace["traceEvents"] if e.get("cat") == "kernel"), key=lambda e: e["ts"])


def two_processes(out):
    logdir, identity = out / "two", out / "id"
    ranks = [start(logdir, 2, out / "calls", 2, rank, identity, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
                   RCCL_CALLS_DEVICES="1", NCCL_P2P_DISABLE="1") for rank in range(2)]
    for process in ranks:
        finish(process)
    traces, groups = documents(logdir), set()
    assert len(traces) == 2
    for trace in traces:
        found = calls(trace)
        assert [tuple(e["args"].get(key) for key in KEYS) for e in found] == CALLED
        groups |= {e["args"]["Process Group Name"] for e in found}
        annotations = {e["args"]["External id"]: e["name"] for e in trace["traceEvents"]
                       if e["ph"] == "X" and e["name"].startswith("nccl:")}
        assert [annotations[e["args"]["External id"]] for e in kernels(trace)] == ANNOTATIONS
        assert [e["args"]["Collective name"] for e in kernels(trace)] == OWNERS
        assert all(e["name"].startswith("ncclKernel") for e in kernels(trace))
        assert trace["distributedInfo"]["backend"] == "nccl" and trace["hipboard_rccl"]["recorded"]
    assert len(groups) == 1
    return traces[0]["hipboard_rccl"]["version"]


def one_process(out, ranks):
    finish(start(out / f"one{ranks}", ranks, out / "calls", ranks))
    [trace] = documents(out / f"one{ranks}")
    [end, *parts] = calls(trace)
    assert (end["name"], end["args"]["Group size"]) == ("ncclGroupEnd", ranks)
    assert [(e["name"], e["args"]["In msg nelems"], e["args"]["Seq"]) for e in parts] == [
        ("ncclAllReduce", 4096, 1)] * ranks
    assert len({e["args"]["Process Group Name"] for e in [end, *parts]}) == 1
    devices = [e["args"]["device"] for e in kernels(trace) if e["args"].get("Collective name") == "coalesced"]
    assert sorted(devices) == list(range(ranks))


out = Path(sys.argv[1])
version = two_processes(out)
for count in (2, 8):
    one_process(out, count)
print(f"RCCL {version}: 2 ranks in two processes, 2 and 8 in one: all calls and kernels as they were made")
