# SPDX-License-Identifier: MIT
"""Exports are read back to what they were made of, whatever it was."""
import json
import random
import sqlite3
import subprocess
from pathlib import Path

import pytest

import rocpd_made
from support import BUILD, ROOT
from schemas import load

HIPBOARD = BUILD / "tools/hipboard/hipboard"
DATA = ROOT / "tests/data"
FORMATS = {"pftrace": "out.pftrace", "rocpd": "out.db", "csv": "tables"}

pytestmark = pytest.mark.skipif(b"libsqlite3" not in (BUILD / "src/analysis/libhipboard-analysis.so").read_bytes(),
                                reason="built without libsqlite3")


def hipboard(*arguments, status=0):
    done = subprocess.run([HIPBOARD, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done


def imported(path, logdir):
    """The traces of a file's processes, by pid."""
    traces = {}
    for line in hipboard("import", path, "-o", logdir, "--json", "--force").stdout.splitlines():
        traces[json.loads(line)["pid"]] = load(Path(json.loads(line)["file"]))
    return traces


# Numbers that are given anew whenever a trace is written.
COUNTED = {"External id", "Ev Idx", "Record function id", "Python id", "Total Reserved"}


# What a format has no place for, as it says: args of categories, and events.
LOST_ARGS = {"pftrace": {}, "rocpd": {},
             "csv": {"gpu_memcpy": {"bytes", "memory bandwidth (GB/s)"},
                     "Runtime": {"grid", "block", "shared memory", "bytes", "src", "dst", "kind", "ptr", "stream"}}}
LOST_EVENTS = {"csv": {"gpu_memset", "scalar", "ac2g"}}
CLOCKS = {"clockRate", "memoryClockRate", "memoryBusWidth"}
LOST_OF_DEVICES = {"csv": CLOCKS | {"totalGlobalMem", "regsPerBlock", "sharedMemPerBlock",
                                    "maxSharedMemoryPerMultiProcessor"},
                   "rocpd": CLOCKS | {"regsPerBlock"}}


def events(trace, form="pftrace"):
    """Its events, without what an export may change, in an order of their own."""
    kept = []
    for event in trace["traceEvents"]:
        category = event.get("cat")
        if event.get("ph") == "M" or category in ("Trace", "__metadata") or event.get("pid") == "Traces" or \
                "Record Window" in event["name"]:
            continue
        if category in LOST_EVENTS.get(form, ()):
            continue
        if form == "csv" and event.get("args", {}).get("hipboard") == "inferred":
            continue  # it begins with the first value of a counter
        lost = COUNTED | LOST_ARGS[form].get(category, set())
        args = {key: value for key, value in event.get("args", {}).items() if key not in lost}
        event = {key: value for key, value in event.items() if key not in ("args", "id")}
        if form != "pftrace" and category == "user_annotation" and "hipboard" not in args:
            event["cat"] = "cpu_op"
        kept.append(json.dumps({**event, "args": args}, sort_keys=True))
    return sorted(kept)


def devices(trace, form):
    return [{key: value for key, value in device.items() if key not in LOST_OF_DEVICES.get(form, ())}
            for device in trace.get("deviceProperties", [])]


def check_back(source, tmp_path, form):
    output = tmp_path / FORMATS[form]
    hipboard("export", "--format", form, source, "-o", output)
    before, after = imported(source, tmp_path / "before"), imported(output, tmp_path / "after")
    assert before.keys() == after.keys()
    for pid, trace in before.items():
        first, second = events(trace, form), events(after[pid], form)
        assert first == second, [(set(first) - set(second)), set(second) - set(first)]
        assert devices(trace, form) == devices(after[pid], form)
        if form != "csv":
            assert trace.get("distributedInfo") == after[pid].get("distributedInfo")
    return before


@pytest.mark.parametrize("form", FORMATS)
def test_a_training(form, tmp_path):
    rocpd_made.training(tmp_path / "r.db", 5)
    [trace] = check_back(tmp_path / "r.db", tmp_path, form).values()
    assert len(events(trace)) > 50


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("source", ["matmul_result.rpd.gz", "rocprofv3_mi350x.json.gz",
                                    "rocprofv3_csv/decode_kernel_trace.csv.gz",
                                    "rocprofv3_csv/prefill_kernel_trace.csv.gz"])
def test_real_traces(form, source, tmp_path):
    check_back(DATA / source, tmp_path, form)


def random_json(chance):
    """Slices within each other, kernels that overlap, of one call or none, with long and odd names."""
    names = ["a", 'quote " and \\ back', "ünï", "x" * 2000, "void f<int, (g)3>(float*)", "tab\tnew\nline"]
    made, correlation = [], 0

    def ranges(start, end, depth):
        nonlocal correlation
        while end - start > 10 and depth < 5:
            first, last = sorted(chance.sample(range(start, end + 1), 2))
            made.append({"ph": "X", "cat": chance.choice(["cpu_op", "user_annotation"]), "name": chance.choice(names),
                         "pid": 7, "tid": 8 + chance.randrange(2), "ts": first, "dur": last - first, "args": {}})
            for _ in range(chance.randrange(3)):
                correlation += 1
                made.append({"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 7, "tid": 8,
                             "ts": first, "dur": chance.randrange(max(1, last - first)),
                             "args": {"correlation": correlation}})
                for _ in range(chance.randrange(3)):
                    made.append({"ph": "X", "cat": "kernel", "name": chance.choice(names), "pid": 0,
                                 "tid": chance.randrange(3), "ts": first + chance.randrange(5),
                                 "dur": chance.randrange(1, 30),
                                 "args": {"device": chance.randrange(2), "stream": chance.randrange(3),
                                          "correlation": chance.choice([correlation, 0]),
                                          "grid": [chance.randrange(1, 9), 2, 1], "block": [64, 1, 1],
                                          "registers per thread": chance.randrange(9), "shared memory": 7}})
            ranges(first + 1, last - 1, depth + 1)
            start = last + chance.randrange(4)

    ranges(0, 2000, 0)
    return {"baseTimeNanoseconds": 1700000000000000000, "deviceProperties": [], "traceEvents": made}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(4))
def test_random_traces(form, seed, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(random_json(random.Random(seed))))
    hipboard("export", tmp_path / "t.json", "-o", tmp_path / "first.pftrace")
    check_back(tmp_path / "first.pftrace", tmp_path, form)


def test_steps_and_times_are_chosen(tmp_path):
    rocpd_made.training(tmp_path / "r.db", 5)
    for options, count in ([["--steps", "1:2"], 2], [["--time", "0:0.0005"], None], [["--steps", "3:"], 2]):
        output = tmp_path / "part.pftrace"
        hipboard("export", "--force", *options, tmp_path / "r.db", "-o", output)
        [trace] = imported(output, tmp_path / "log").values()
        kernels = [e for e in trace["traceEvents"] if e.get("cat") == "Kernel" or e.get("cat") == "kernel"]
        assert count is None or len(kernels) == 2 * count
        assert len(kernels) < 10
    assert "no step" in hipboard("export", "--steps", "77:", tmp_path / "r.db", "-o", tmp_path / "none.pftrace",
                                 status=1).stderr
    assert not (tmp_path / "none.pftrace").exists()


def test_a_database_has_the_views_that_queries_know(tmp_path):
    rocpd_made.training(tmp_path / "r.db", 4)
    hipboard("export", tmp_path / "r.db", "-o", tmp_path / "out.db")
    db = sqlite3.connect(tmp_path / "out.db")
    ask = lambda question: db.execute(question).fetchall()
    assert ask("SELECT value FROM rocpd_metadata WHERE tag = 'schema_version'") == [("3",)]
    assert ask("SELECT name, count(*), sum(duration) FROM kernels GROUP BY name ORDER BY name") == [
        ("gemm(float*)", 4, 160000), ("reduce(float*)", 4, 320000)]
    assert ask("SELECT count(*) FROM regions WHERE category = 'MARKER_CORE_API'") == [(8,)]
    assert ask("SELECT count(*) FROM memory_copies") == [(4,)]
    # A call and what it started have one stack_id.
    assert ask("SELECT count(*) FROM kernels k JOIN regions r ON r.stack_id = k.stack_id WHERE k.stack_id > 0") == [(8,)]
    assert ask("PRAGMA integrity_check") == [("ok",)]


def test_what_has_no_place_is_told(tmp_path):
    told = json.loads(hipboard("export", "--json", DATA / "torch-2.13-cpu.pt.trace.json", "-o",
                               tmp_path / "x.pftrace").stdout)
    assert any("inputs" in text for text in told["left_out"])
    assert "exists" in hipboard("export", DATA / "torch-2.13-cpu.pt.trace.json", "-o", tmp_path / "x.pftrace",
                                status=1).stderr
    assert "where to" in hipboard("export", tmp_path / "x.pftrace", status=2).stderr


@pytest.mark.parametrize("command", [["view"], ["view", "--view", "kernel"], ["steps"], ["check"]])
def test_exports_are_read_directly(command, tmp_path):
    rocpd_made.training(tmp_path / "r.db", 3)
    for form, name in FORMATS.items():
        hipboard("export", "--format", form, tmp_path / "r.db", "-o", tmp_path / name)
        output = tmp_path / name
        hipboard(*command, sorted(output.iterdir())[0] if output.is_dir() else output)
