# SPDX-License-Identifier: MIT
"""Exports are read back to what they were made of, whatever it was."""
import json
import os
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
    done = subprocess.run([HIPBOARD, *map(str, arguments)], capture_output=True, text=True, timeout=600)
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


def as_amd_reads_it(path):
    """Its rows in tables of AMD's published schema, whose constraints and keys hold, with AMD's views over them."""
    db = sqlite3.connect(":memory:")
    db.execute("ATTACH ? AS ours", [str(path)])
    suffixes = [name.removeprefix("rocpd_metadata") for name, in db.execute(
        "SELECT name FROM ours.sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_metadata%'")]
    for suffix in suffixes:
        db.executescript(rocpd_made.published("rocpd_tables", suffix))
        db.execute(f"DELETE FROM rocpd_metadata{suffix}")
        tables = [name for name, in db.execute("SELECT name FROM main.sqlite_master WHERE type = 'table' AND "
                                               "name LIKE 'rocpd%' || ?", [suffix])]
        for table in tables:
            columns = ", ".join(f'"{row[1]}"' for row in db.execute(f"PRAGMA main.table_info('{table}')"))
            db.execute(f'INSERT INTO main."{table}" ({columns}) SELECT {columns} FROM ours."{table}"')
    db.commit()
    db.execute("DETACH ours")
    for table in tables:  # of several processes, as AMD's `rocpd merge` has them
        name = table.removesuffix(suffix)
        db.execute(f"CREATE VIEW {name} AS " + " UNION ALL ".join(f'SELECT * FROM "{name}{s}"' for s in suffixes))
    for name in ("data_views", "summary_views"):
        db.executescript(rocpd_made.published(name, suffix))
    return db


AMD_VIEWS = {"kernels": "rocpd_kernel_dispatch", "regions": "rocpd_region", "memory_copies": "rocpd_memory_copy",
             "memory_allocations": "rocpd_memory_allocate", "events_args": "rocpd_arg", "samples": "rocpd_sample"}


@pytest.mark.parametrize("source", ["training", "batched_gemm", "matmul_result.rpd.gz", "rocprofv3_mi350x.json.gz",
                                    "rocprofv3_csv/decode_kernel_trace.csv.gz", "torch-2.13-cpu.pt.trace.json"])
def test_amds_own_tables_and_views_take_it(source, tmp_path):
    path = DATA / source
    if not path.exists():
        path = tmp_path / "r.db"
        getattr(rocpd_made, source)(path)
    hipboard("export", path, "-o", tmp_path / "out.db")
    db = as_amd_reads_it(tmp_path / "out.db")
    ask = lambda question: db.execute(question).fetchall()
    for [view] in ask("SELECT name FROM sqlite_master WHERE type = 'view'"):
        ask(f"SELECT * FROM {view}")
    for view, table in AMD_VIEWS.items():  # what their views join, each row of ours has
        assert ask(f"SELECT count(*) FROM {view}") == ask(f"SELECT count(*) FROM {table}"), view
    lines = hipboard("import", "--explain", "--json", tmp_path / "out.db").stdout.splitlines()
    told = {key: sum(json.loads(line)[key] for line in lines) for key in ("kernels", "kernel_us", "linked")}
    assert ask("SELECT count(*) FROM kernels") == [(told["kernels"],)]
    assert ask("SELECT coalesce(sum(duration), 0) FROM kernels") == [(round(1000 * told["kernel_us"]),)]
    linked = ask("SELECT count(*) FROM (SELECT stack_id FROM kernels UNION ALL SELECT stack_id FROM memory_copies) "
                 "WHERE stack_id > 0 AND stack_id IN (SELECT stack_id FROM regions)")
    assert linked == [(told["linked"],)]
    assert ask("SELECT sum(total_calls) FROM top_kernels") == [(told["kernels"] or None,)]


def test_what_has_no_place_is_told(tmp_path):
    told = json.loads(hipboard("export", "--json", DATA / "torch-2.13-cpu.pt.trace.json", "-o",
                               tmp_path / "x.pftrace").stdout)
    assert any("inputs" in text for text in told["left_out"])
    assert "exists" in hipboard("export", DATA / "torch-2.13-cpu.pt.trace.json", "-o", tmp_path / "x.pftrace",
                                status=1).stderr
    assert "where to" in hipboard("export", tmp_path / "x.pftrace", status=2).stderr


def test_a_database_is_not_put_in_a_pipe_s_place(tmp_path):
    os.mkfifo(tmp_path / "fifo.db")
    for options in [], ["--force"]:
        said = hipboard("export", *options, DATA / "torch-2.13-cpu.pt.trace.json", "-o", tmp_path / "fifo.db", status=1).stderr
        assert said == (f"hipboard export: '{tmp_path}/fifo.db': a database can be written into a file only, not into a device, "
                        "a FIFO or the like\n")
        assert (tmp_path / "fifo.db").is_fifo() and len(list(tmp_path.iterdir())) == 1


def one_of_each():
    """Two annotations, four operators, three of which have something more, and a call, work and memory of
    each kind."""
    def slice_of(category, name, at, tid=1, pid=1, **arguments):
        return {"ph": "X", "cat": category, "name": name, "ts": at, "dur": 5, "pid": pid, "tid": tid, "args": arguments}

    def work(category, name, at, **arguments):
        return slice_of(category, name, at, tid=7, pid=0, device=0, stream=7, **arguments)

    made = [slice_of("user_annotation", "ProfilerStep#0", 0), slice_of("user_annotation", "mine", 10),
            slice_of("cpu_op", "bare", 20),
            slice_of("cpu_op", "shaped", 30, **{"Input Dims": [[2, 3]], "Input type": ["float"]}),
            slice_of("cpu_op", "paired", 40, **{"Sequence number": 7, "Fwd thread id": 0}),
            slice_of("cpu_op", "stacked", 50, **{"Call stack": "a.py(1): f"}),
            slice_of("cuda_runtime", "hipLaunchKernel", 60, correlation=1, grid=[2, 1, 1], block=[64, 1, 1]),
            slice_of("cuda_runtime", "hipMemcpyAsync", 70, correlation=2, bytes=4096, ptr="0x10"),
            slice_of("cuda_runtime", "hipMemsetAsync", 80, correlation=3),
            slice_of("cuda_runtime", "hipDeviceSynchronize", 90, correlation=4),
            work("kernel", "k", 100, correlation=1, grid=[2, 1, 1], block=[64, 1, 1]),
            work("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 130, correlation=2, bytes=4096),
            work("gpu_memset", "Memset (Device)", 150, correlation=3, bytes=64),
            {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 1, "tid": 1, "ts": 65,
             "args": {"Addr": 16, "Bytes": 100, "Total Allocated": 100, "Total Reserved": 0, "Device Type": 1,
                      "Device Id": 0}}]
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "gfx90a"}], "traceEvents": made}


@pytest.mark.parametrize("form, written, left_out", [
    ("pftrace", 14, {"inputs": 3}), ("rocpd", 14, {"inputs": 3, "annotations": 2}),
    ("csv", 13, {"inputs": 3, "annotations": 2, "fills": 1, "size is": 1, "arguments": 2})])
def test_what_is_written_and_left_out_is_counted(form, written, left_out, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(one_of_each()))
    output = tmp_path / FORMATS[form]
    told = json.loads(hipboard("export", "--json", "--format", form, tmp_path / "t.json", "-o", output).stdout)
    assert (told["events"], told["processes"], len(told["left_out"])) == (written, 1, len(left_out))
    for word, count in left_out.items():
        assert [number for text, number in told["left_out"].items() if word in text] == [count], word
    [first, *lines] = hipboard("export", "--force", "--format", form, tmp_path / "t.json", "-o",
                               output).stdout.splitlines()
    assert first.endswith(f": {written} events")
    assert sorted(line.strip() for line in lines) == sorted(f"{n} {text}" for text, n in told["left_out"].items())


@pytest.mark.parametrize("form", FORMATS)
def test_an_allocation_that_failed_is_none(form, tmp_path):
    """It stays one that failed, or is left out."""
    made = one_of_each()
    failed = {"ph": "i", "s": "t", "name": "[OutOfMemory]", "cat": "cpu_instant_event", "pid": 1, "tid": 1, "ts": 66,
              "args": {"Bytes": 40000000000, "Total Allocated": 100, "Total Reserved": 0, "Device Type": 1, "Device Id": 0}}
    (tmp_path / "t.json").write_text(json.dumps({**made, "traceEvents": made["traceEvents"] + [failed]}))
    output = tmp_path / FORMATS[form]
    told = json.loads(hipboard("export", "--json", "--format", form, tmp_path / "t.json", "-o", output).stdout)
    left_out = [count for text, count in told["left_out"].items() if "failed" in text]
    [trace] = imported(output, tmp_path / "log").values()
    [memory] = [e for e in trace["traceEvents"] if e["name"] == "[memory]"]
    found = [e["args"] for e in trace["traceEvents"] if e["name"] == "[OutOfMemory]"]
    assert memory["args"]["Bytes"] == 100
    assert left_out == ([] if form == "pftrace" else [1])
    assert [(a["Bytes"], "Addr" in a) for a in found] == ([(40000000000, False)] if form == "pftrace" else [])


def test_a_kernel_with_counters_is_one_event(tmp_path):
    """Each counter has a line in a table of its own."""
    source = DATA / "rocprofv3_csv/decode_stall_counter_collection.csv.gz"
    told = json.loads(hipboard("export", "--json", "--format", "csv", source, "-o", tmp_path / "tables").stdout)
    lines = {path.name: len(path.read_text().splitlines()) - 1 for path in (tmp_path / "tables").iterdir()}
    counters = [count for name, count in lines.items() if name.endswith("counter_collection.csv")]
    assert sum(counters) == 340 and not [name for name in lines if name.endswith("agent_info.csv")]
    assert told["events"] == sum(lines.values()) - 340


def test_what_is_no_counter_is_none(tmp_path):
    """Where there are more streams than 32 rows are queues, and the stream is a number beside a kernel's others."""
    source = tmp_path / "r.db"
    rocpd_made.training(source, 20)
    with sqlite3.connect(source) as db:
        db.execute(f"UPDATE rocpd_kernel_dispatch{rocpd_made.GUID} SET stream_id = id")
    [trace] = imported(source, tmp_path / "log").values()
    assert len({e["args"]["hip stream"] for e in trace["traceEvents"] if e.get("cat") == "kernel"}) == 40
    for how in "csv", "rocpd":
        hipboard("export", "--format", how, source, "-o", tmp_path / how)
    assert not list((tmp_path / "csv").glob("*counter*")) and list((tmp_path / "csv").glob("*kernel_trace.csv"))
    [[count]] = sqlite3.connect(tmp_path / "rocpd").execute("SELECT count(*) FROM rocpd_pmc_event")
    assert count == 0


@pytest.mark.parametrize("command", [["view"], ["view", "--view", "kernel"], ["steps"], ["check"]])
def test_exports_are_read_directly(command, tmp_path):
    rocpd_made.training(tmp_path / "r.db", 3)
    for form, name in FORMATS.items():
        hipboard("export", "--format", form, tmp_path / "r.db", "-o", tmp_path / name)
        output = tmp_path / name
        hipboard(*command, sorted(output.iterdir())[0] if output.is_dir() else output)


# ---- several files ----

def files_of(pattern):
    return sorted(pattern.parent.glob(pattern.name))


def work_and_calls(trace):
    """What each process did, less what cutting changes: numbers that are counted anew, and made-up steps."""
    return sorted((e["cat"], e["name"], e["ts"], e["dur"]) for e in trace["traceEvents"]
                  if e.get("cat") in ("kernel", "gpu_memcpy", "Runtime", "cpu_op", "user_annotation") and
                  e.get("args", {}).get("hipboard") != "inferred")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("how", ["3steps", "2.5ms", {"pftrace": "3K", "rocpd": "122K", "csv": "6K"}])
def test_files_of_a_split_are_together_the_whole(form, how, tmp_path):
    rocpd_made.training(tmp_path / "r.db", 10)
    size = how[form] if isinstance(how, dict) else how
    ending = {"pftrace": "part.pftrace", "rocpd": "part.db", "csv": "part"}[form]
    told = json.loads(hipboard("export", "--json", "--format", form, "--split", size, tmp_path / "r.db", "-o",
                               tmp_path / ending).stdout)
    parts = files_of(tmp_path / "part.*")
    assert [Path(path) for path in told["files"]] == parts and len(parts) >= 2
    assert parts[0].name == ending.replace("part", "part.0001")
    [whole] = imported(tmp_path / "r.db", tmp_path / "whole").values()
    pieces = []
    for part in parts:
        [trace] = imported(part, tmp_path / "log").values()
        calls = {e["args"]["correlation"] for e in trace["traceEvents"] if e.get("cat") == "Runtime"}
        for event in trace["traceEvents"]:
            assert event.get("cat") not in ("kernel", "gpu_memcpy") or event["args"]["correlation"] in calls
        pieces += work_and_calls(trace)
    # What lies open at a cut is in the file in which it begins; a range that is no annotation there is an operator.
    plain = lambda rows: sorted((cat.replace("user_annotation", "cpu_op"), *rest) for cat, *rest in rows)
    assert plain(pieces) == plain(work_and_calls(whole))
    if how == "3steps":
        assert len(parts) == 4
    if isinstance(how, dict):
        most = int(size[:-1]) * 1024
        weights = [sum(f.stat().st_size for f in part.iterdir()) if part.is_dir() else part.stat().st_size
                   for part in parts]
        assert max(weights) <= most


def test_ranks_are_cut_at_the_same_steps(tmp_path):
    """The second begins each step somewhat later."""
    events = []
    for rank in range(2):
        for step in range(6):
            at = 1000 * step + 300 * rank
            common = {"ph": "X", "pid": 70 + rank, "tid": 70 + rank}
            events.append({**common, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": at, "dur": 900})
            events.append({**common, "cat": "cpu_op", "name": f"op {step}", "ts": at + 10, "dur": 50})
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    hipboard("export", tmp_path / "t.json", "-o", tmp_path / "whole.pftrace")
    hipboard("export", "--split", "2steps", tmp_path / "whole.pftrace", "-o", tmp_path / "part.pftrace")
    for number, part in enumerate(files_of(tmp_path / "part.0*")):
        traces = imported(part, tmp_path / "log")
        assert traces
        for trace in traces.values():
            names = {e["name"] for e in trace["traceEvents"] if e["name"].startswith("op ")}
            assert names == {f"op {2 * number}", f"op {2 * number + 1}"}


def test_what_a_cut_divides_is_told(tmp_path):
    """A range over all, and a split in its midst."""
    events = [{"ph": "X", "cat": "cpu_op", "name": "all", "pid": 7, "tid": 7, "ts": 0, "dur": 1000, "args": {}}]
    events += [{"ph": "X", "cat": "cpu_op", "name": "part", "pid": 7, "tid": 7, "ts": at, "dur": 50, "args": {}}
               for at in range(0, 1000, 100)]
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    told = json.loads(hipboard("export", "--json", "--split", "500us", tmp_path / "t.json", "-o",
                               tmp_path / "x.pftrace").stdout)
    assert len(told["files"]) == 2 and told["left_out"]["ranges and calls that last beyond the file they begin in, "
                                                        "which alone has them"] == 1


@pytest.mark.parametrize("split, says", [("10", "a size as 100M"), ("0steps", "10steps"), ("1us", "longer times"),
                                         ("100", "a size as 100M"), ("1K", "split it into larger ones")])
def test_splits_that_cannot_be_are_refused(split, says, tmp_path):
    rocpd_made.training(tmp_path / "r.db", 20)
    status = 2 if "as" in says or "steps" in says else 1
    assert says in hipboard("export", "--split", split, tmp_path / "r.db", "-o", tmp_path / "x.db",
                            status=status).stderr
    assert not files_of(tmp_path / "x.*")


def test_convert_and_pack_split_as_export(tmp_path):
    rocpd_made.training(tmp_path / "r.db", 6)
    [line] = hipboard("import", tmp_path / "r.db", "-o", tmp_path / "log", "--json").stdout.splitlines()
    trace = json.loads(line)["file"]
    for how, count in (("2steps", 3), ("3ms", 3)):
        told = json.loads(hipboard("convert", "--json", "--split", how, trace, "-o", tmp_path / how).stdout)
        assert len(told["files"]) == count
        kernels = [sum(e.get("cat") == "kernel" for e in load(Path(path))["traceEvents"]) for path in told["files"]]
        assert sum(kernels) == 12 and all(kernels)
    hipboard("pack", "--split", "2steps", tmp_path / "log", "-o", tmp_path / "p.hbpack")
    hipboard("unpack", tmp_path / "p.hbpack", "-o", tmp_path / "unpacked")
    assert len(list((tmp_path / "unpacked").rglob("*.pt.trace.json"))) == 3


def test_reports_are_of_the_steps_asked_for(tmp_path):
    rocpd_made.training(tmp_path / "r.db", 6)
    hipboard("report", "--steps", "2:3", tmp_path / "r.db", "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "r.db" in page
    assert "none of these steps" in hipboard("report", "--steps", "77:", tmp_path / "r.db", "-o",
                                             tmp_path / "none.html", status=1).stderr
    assert not (tmp_path / "none.html").exists()


def test_arguments_of_calls_in_a_database(tmp_path):
    launch = {"correlation": 11, "grid": [4, 2, 3], "block": [5, 6, 7], "shared memory": 9}
    events = [{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 7, "tid": 7, "ts": 20, "dur": 5,
               "args": launch},
              {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 0, "ts": 100, "dur": 40,
               "args": {**launch, "device": 0}}]
    events += [{"ph": "X", "cat": "cuda_runtime", "name": "hipMemcpyAsync", "pid": 7, "tid": 7, "ts": 30 + kind, "dur": 1,
                "args": {"dst": "0x10", "src": "0x20", "bytes": 64 + kind, "kind": str(kind), "stream": "0x9"}}
               for kind in range(5)]
    (tmp_path / "in.json").write_text(json.dumps({"traceEvents": events}))
    hipboard("export", "-o", tmp_path / "out.db", tmp_path / "in.json")
    database = sqlite3.connect(tmp_path / "out.db")
    rows = database.execute("SELECT position, type, name, value FROM rocpd_arg ORDER BY event_id, position").fetchall()
    database.close()
    assert rows[:3] == [(0, "rocprofiler_dim3_t", "numBlocks", "{z=3, y=2, x=4}"),
                    (1, "rocprofiler_dim3_t", "dimBlocks", "{z=7, y=6, x=5}"),
                    (2, "unsigned long", "sharedMemBytes", "9")]
    kinds = ["HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice", "Default"]
    assert rows[3:] == [row for i, kind in enumerate(kinds) for row in [
        (0, "void*", "stream", "0x9"), (1, "void*", "dst", "0x10"), (2, "void*", "src", "0x20"),
        (3, "unsigned long", "sizeBytes", str(64 + i)), (4, "hipMemcpyKind", "kind", kind)]]
