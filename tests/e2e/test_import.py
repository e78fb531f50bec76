# SPDX-License-Identifier: MIT
"""Other tools' traces in TensorBoard's plugin and in the terminal, by `hipboard import` and directly."""
import collections
import gzip
import json
import os
import sqlite3
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

import rocpd_made
from schemas import complaints, load
from server import TensorBoard
from support import BUILD, ROOT

HIPBOARD = BUILD / "tools/hipboard/hipboard"
STEPS = 4

DATA, CORPUS = ROOT / "tests/data", ROOT / "tests/fuzz/corpus"
SAMPLES = {"decode": DATA / "rocprofv3_csv/decode_kernel_trace.csv.gz",
           "prefill": DATA / "rocprofv3_csv/prefill_kernel_trace.csv.gz",
           "matmul": DATA / "matmul_result.rpd.gz", "jax": DATA / "jax_mi300x.xplane.pb.gz",
           "training": DATA / "rocprofv3_mi350x.json.gz",
           **{path.name: path for path in CORPUS.glob("import_*/*") if not path.name.startswith("damaged_")}}

pytestmark = pytest.mark.skipif(b"libsqlite3" not in (BUILD / "src/analysis/libhipboard-analysis.so").read_bytes(),
                                reason="built without libsqlite3")


def hipboard(*arguments, status=0):
    done = subprocess.run([HIPBOARD, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("rocpd") / "4711_results.db"
    rocpd_made.training(path, STEPS)
    return path


@pytest.fixture(scope="module")
def imported(database, tmp_path_factory):
    logdir = tmp_path_factory.mktemp("import") / "runs"
    told = json.loads(hipboard("import", database, "-o", logdir / "rocm", "--json").stdout)
    return logdir, told


@pytest.fixture(scope="module")
def trace(imported):
    return load(Path(imported[1]["file"]))


@pytest.fixture(scope="module")
def board(imported, tmp_path_factory):
    with TensorBoard(imported[0], tmp_path_factory.mktemp("log") / "log") as board:
        yield board.wait_until_loaded()


def test_damaged_databases_are_refused_at_once(tmp_path):
    """Pages that several lead to, an overflow page that leads to itself, a table that code makes."""
    damaged = sorted((CORPUS / "import_database").glob("damaged_*"))
    assert len(damaged) == 4
    for path in damaged:
        done = subprocess.run([HIPBOARD, "import", path, "-o", tmp_path], capture_output=True, text=True, timeout=20)
        assert done.returncode == 1, (path, done)
        assert f"{path}: " in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert "damaged: " in done.stderr or "nothing is in it" in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())


def test_gpus_are_told_as_hip_tells_them(database, tmp_path):
    """Clocks and bus, and since gfx10 two CUs as one; back in the other tool's format all are CUs again."""
    rdna = tmp_path / "1_results.db"
    rdna.write_bytes(database.read_bytes())
    agent = {"cu_count": 96, "simd_per_cu": 2, "max_waves_per_simd": 16, "wave_front_size": 32,
             "max_engine_clk_fcompute": 2500,
             "mem_banks": [{"size_in_bytes": 1 << 34, "width": 384, "mem_clk_max": 1249}]}
    with sqlite3.connect(rdna) as db:
        [[table]] = db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'rocpd_info_agent%' AND type = 'table'")
        db.execute(f"UPDATE {table} SET name = 'gfx1100', extdata = ? WHERE type = 'GPU'", [json.dumps(agent)])
    db.close()
    trace = load(Path(json.loads(hipboard("import", rdna, "-o", tmp_path, "--json").stdout)["file"]))
    [gpu] = [d for d in trace["deviceProperties"] if d.get("gcnArchName") == "gfx1100"]
    assert [gpu[key] for key in ("numSms", "clockRate", "memoryClockRate", "memoryBusWidth")] == [
        48, 2500000, 1249000, 384]
    assert gpu["maxThreadsPerMultiprocessor"] == 2 * 2 * 16 * 32
    peaks = json.loads(hipboard("view", "--view", "roofline", "--json", rdna).stdout)
    assert "12288" in json.dumps(peaks)  # TFLOP/s of f16, as AMD tells


def test_what_is_said_is_what_is_written(imported, trace):
    told = imported[1]
    assert (told["kernels"], told["copies"], told["ranges"]) == (2 * STEPS, STEPS, 2 * STEPS)
    assert told["calls"] == 1 + 5 * STEPS and told["linked"] == 3 * STEPS
    assert told["kernel_us"] == 120 * STEPS
    assert told["steps"] == "ranges whose names count steps"
    assert complaints(trace, "tensorboard") == []
    assert trace["hipboard_import"]["linked"] == 3 * STEPS
    kernels = [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]
    assert len(kernels) == 2 * STEPS and sum(e["dur"] for e in kernels) == 120 * STEPS
    made = [e for e in trace["traceEvents"] if e.get("args", {}).get("hipboard") == "inferred"]
    assert [e["name"] for e in made] == [f"ProfilerStep#{n}" for n in range(STEPS)]


def test_the_environment_stays_where_it_was(imported, database):
    assert b"hunter2" in database.read_bytes()
    assert b"hunter2" not in Path(imported[1]["file"]).read_bytes()


def with_secret(kind, tmp_path):
    """A sample in whose places for the environment, settings and the like a secret is planted."""
    path = tmp_path / f"planted_{kind}"
    if kind == "rocpd_training":
        rocpd_made.training(path, 2)
        return path
    path.write_bytes(SAMPLES[kind].read_bytes())
    if kind in ("nsys", "rpd", "rocprof1_db"):
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE IF NOT EXISTS TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT)")
            db.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV (name, value) VALUES ('TOKEN', 'hunter2')")
        db.close()
    elif kind == "xplane":  # a plane called so, with a text
        plane = b"\x12\x10Task Environment\x32\x0b\x08\x01\x2a\x07hunter2"
        path.write_bytes(path.read_bytes() + b"\x0a" + bytes([len(plane)]) + plane)
    elif kind == "perfetto":  # the trace's settings
        path.write_bytes(path.read_bytes() + b"\x0a\x0c\x8a\x02\x09\x0a\x07hunter2")
    elif kind == "chrome":
        trace = json.loads(path.read_text())
        path.write_text(json.dumps({**trace, "otherData": {"environ": "TOKEN=hunter2"}}))
    return path


@pytest.mark.parametrize("kind", ["rocpd_training", "rocprofv3_json", "nsys", "rpd", "rocprof1_db", "xplane", "perfetto",
                                  "chrome"])
def test_a_planted_secret_comes_out_in_no_format(kind, tmp_path):
    path = with_secret(kind, tmp_path)
    assert b"hunter2" in path.read_bytes()
    said = hipboard("import", path, "-o", tmp_path / "out/log").stdout + hipboard("view", path).stdout
    for form, name in {"pftrace": "x.pftrace", "rocpd": "x.db", "csv": "tables"}.items():
        said += hipboard("export", "--format", form, path, "-o", tmp_path / "out" / name).stdout
    hipboard("pack", tmp_path / "out/log", "-o", tmp_path / "out/x.hbpack")
    written = [file for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert len(written) >= 5 and "hunter2" not in said
    assert not [file for file in written if b"hunter2" in file.read_bytes()]


def test_the_plugin_has_all_views_of_it(board):
    views = board.visit_all()["rocm"]
    assert set(views) == {"Overview", "Operator", "Kernel", "Trace", "Memory"}
    [profile] = board.profiles("rocm")
    steps = board.get("overview", **profile)["steps"]["rows"]
    assert [row[0] for row in steps] == [str(n) for n in range(STEPS)]
    table = board.get("operation/table", group_by="Operation", **profile)["data"]
    device = {row["name"]: row["device_total_duration"] for row in table}
    assert device["forward"] == 140 * STEPS
    kernels = board.get("kernel/table", group_by="Kernel", **profile)["data"]["rows"]
    assert {row[0]: row[2:4] for row in kernels} == {"gemm(float*)": [STEPS, 40 * STEPS],
                                                     "reduce(float*)": [STEPS, 80 * STEPS]}
    assert board.suspicious_log_lines() == []


def test_its_pages_show_it(board, browser):
    page = browser.open(board.url)
    page.choose_run("rocm")
    for view, words in {"Overview": ["GPU Summary", "AMD Instinct MI300X"],
                        "Operator": ["forward"],
                        "Kernel": ["gemm(float*)", "reduce(float*)"],
                        "Trace": ["GPU 0", "stream 0"]}.items():
        page.choose_view(view)
        page.screenshot(f"import_{view}")
        text = page.text()
        assert not [word for word in words if word not in text], (view, text[:2000])
    assert page.errors == []
    page.close()


def test_check_has_nothing_to_say_but_what_the_import_said(imported, database):
    direct, written = (hipboard("check", "--json", path).stdout.splitlines()
                       for path in (database, imported[1]["file"]))
    rules = [[(v["rule"], v["text"]) for v in map(json.loads, lines)] for lines in (direct, written)]
    assert rules[0] == rules[1] == []
    missing = {json.loads(line)["name"] for line in
               hipboard("check", "--json", imported[0] / "rocm").stdout.splitlines()}
    assert missing == {"Module", "Distributed"}
    told = hipboard("import", "--explain", database).stdout
    assert "Module, Distributed: nothing" in told


@pytest.mark.parametrize("command", [
    ["view"], ["view", "--view", "kernel"], ["view", "--view", "operator"], ["view", "--view", "gpu"],
    ["table"], ["steps"], ["memory"], ["stacks", "--scopes"],
])
def test_commands_read_it_directly(command, database, imported):
    outputs = [hipboard(*command, path).stdout.replace(str(path), "PATH").replace(stem, "STEM")
               for path, stem in ((database, "node7_4711"),
                                  (Path(imported[1]["file"]), Path(imported[1]["file"]).name.split(".pt.")[0]))]
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 50


@pytest.mark.parametrize("sample", sorted(SAMPLES))
def test_each_format_is_the_same_directly_and_by_way_of_a_file(sample, tmp_path):
    made = [json.loads(line) for line in
            hipboard("import", SAMPLES[sample], "-o", tmp_path, "--json").stdout.splitlines()]
    for command in (["view", "--json"], ["view", "--view", "kernel"], ["view", "--view", "operator"], ["table"], ["steps"]):
        if command == ["steps"] and len(made) > 1:
            continue  # its columns are as wide as the files' names
        direct, written = (subprocess.run([HIPBOARD, *command, *paths], capture_output=True, text=True, timeout=600)
                           for paths in ([SAMPLES[sample]], [process["file"] for process in made if
                                                             process == made[0] or command != ["table"]]))
        said = [direct.stdout.replace(str(SAMPLES[sample]), "PATH"), written.stdout]
        for process in made:
            stem = Path(process["file"]).name.split(".pt.")[0]
            said[1] = said[1].replace(process["file"], "PATH").replace(stem, process["worker"])
        assert said[0] == said[1] and direct.returncode == written.returncode, command


def test_it_is_compared_and_queried_directly(database, imported):
    told = hipboard("compare", database, imported[1]["file"]).stdout
    assert "step" in told
    overview = json.loads(hipboard("query", database, "overview?run=r&worker=w&span=1").stdout)
    assert len(overview["steps"]["rows"]) == STEPS


def test_ranges_become_modules(database, tmp_path):
    told = json.loads(hipboard("import", "--modules", database, "-o", tmp_path, "--json").stdout)
    made = load(Path(told["file"]))
    assert complaints(made, "tensorboard") == []
    frames = [e for e in made["traceEvents"] if e["name"].startswith("nn.Module: ")]
    assert {e["name"] for e in frames} == {f"nn.Module: iteration {n}" for n in range(STEPS)} | {"nn.Module: forward"}
    by_id = {e["args"]["Python id"]: e for e in frames}
    for frame in frames:
        parent = by_id.get(frame["args"]["Python parent id"])
        assert (parent is None) == frame["name"].startswith("nn.Module: iteration")
        assert parent is None or parent["ts"] <= frame["ts"] and \
            frame["ts"] + frame["dur"] <= parent["ts"] + parent["dur"]
    assert "forward" in hipboard("view", "--view", "module", told["file"]).stdout
    assert "Module: the program's ranges" in hipboard("import", "--modules", "--explain", database).stdout


def test_kernels_without_calls_become_operators_where_that_is_asked(tmp_path):
    sample = ROOT / "tests/data/rocprofv3_mi350x.json.gz"
    told = json.loads(hipboard("import", "--operators", "kernel", sample, "-o", tmp_path, "--json").stdout)
    made = load(Path(told["file"]))
    operators = [e for e in made["traceEvents"] if e.get("cat") == "cpu_op"]
    assert len(operators) == told["kernels"] - told["linked"] > 0
    assert all(e["args"]["hipboard"] == "inferred" for e in operators)
    ends = {}
    for event in operators: # none crosses another
        assert event["ts"] >= ends.get(event["tid"], 0) - 0.002
        ends[event["tid"]] = event["ts"] + event["dur"]
    plain = json.loads(hipboard("import", sample, "-o", tmp_path / "plain", "--json").stdout)
    [only] = [e for e in load(Path(plain["file"]))["traceEvents"] if e.get("cat") == "cpu_op"]
    assert only["name"] == "no operator was recorded" and only["args"]["hipboard"] == "inferred"
    steps = [e for e in made["traceEvents"] if e["name"].startswith("ProfilerStep#")]
    made["traceEvents"] = [*steps, *operators[:20], only]  # what is made up is as valid as all else
    assert steps and complaints(made, "tensorboard") == []
    [device] = made["deviceProperties"]
    assert (device["computeMajor"], device["computeMinor"]) == (9, 5)
    assert 0 not in {value for key, value in device.items() if key != "id"}


def test_the_plugin_shows_what_other_tools_wrote(tmp_path, browser):
    """Every sample: all routes answer, no view leaves its page blank or waiting, and what the import says that
    views have, check and the plugin say too."""
    told = {}
    for run, sample in SAMPLES.items():
        lines = hipboard("import", sample, "-o", tmp_path / "runs" / run, "--json").stdout
        told[run] = [json.loads(line) for line in lines.splitlines()]
        for process in told[run]:
            trace = load(Path(process["file"]))
            trace["traceEvents"] = trace["traceEvents"][:60] + trace["traceEvents"][-60:]
            assert complaints(trace, "tensorboard") == [], run
    hipboard("export", SAMPLES["jax"], "-o", tmp_path / "jax.pftrace")
    hipboard("import", tmp_path / "jax.pftrace", "-o", tmp_path / "runs/again")
    with TensorBoard(tmp_path / "runs", tmp_path / "log") as board:
        views = board.wait_until_loaded().visit_all()
        assert set(views) == {*SAMPLES, "again"}
        for run, processes in told.items():
            expected = {"Overview", "Operator", "Trace"}
            expected |= {"Kernel"} if any(p["kernels"] for p in processes) else set()
            expected |= {"Memory"} if any(p["allocations"] for p in processes) else set()
            assert set(views[run]) == expected, run
            without, no_call, no_operator = found_by_check(tmp_path / "runs" / run)
            assert without == ALL_VIEWS - expected, run
            linked = [p for p in processes if p["calls"]]  # of files without calls check does not say it again
            assert (no_call, no_operator) == (count(linked, "without the call"), count(linked, "outside of all")), run
            explained = hipboard("import", "--explain", SAMPLES[run]).stdout
            assert "Module, Distributed: nothing" in explained
            assert ("Kernel: kernels" in explained, "Memory: allocations" in explained) == \
                ("Kernel" in expected, "Memory" in expected), run
            for told_of in processes if "Kernel" in expected else []:
                [profile, *_] = [p for p in board.profiles(run) if p["worker"] == told_of["worker"]]
                rows = board.get("kernel/table", group_by="Kernel", **profile)["data"]["rows"]
                assert sum(row[2] for row in rows) == told_of["kernels"]
            # Where a chart of the host has nothing to show, the whole page of the view goes blank.
            for profile in board.profiles(run):
                charts = board.get("operation", group_by="Operation", **profile)
                assert charts["host_total_time"] and charts["host_self_time"], profile
        page = browser.open(board.url)
        for run in told:
            page.choose_run(run)
            for view, words in SHOWN.items():
                if view in views[run] and (run in ALL_PAGES or view in ("Operator", "Memory")):
                    page.choose_view(view, until=words)
                    assert not page.errors, (run, view)
            page.screenshot(f"imported_{run}")
        page.close()
        assert board.suspicious_log_lines() == []


# What each view has once it is drawn, and no other has.
SHOWN = {"Overview": ["Step Time Breakdown"], "Operator": ["Host Self Time (us)"], "Kernel": ["Total Time (us)"],
         "Memory": ["Peak Memory Usage"], "Trace": ["Nothing selected"]}
ALL_PAGES = {"decode", "matmul", "jax", "training", "nsys", "tracy_csv", "onnx_runtime"}
ALL_VIEWS = {"Overview", "Operator", "Kernel", "Trace", "Memory", "Module", "Distributed"}


def found_by_check(run):
    """The views that the plugin will not have, and how often work has no call and a call no operator."""
    found = [json.loads(line) for line in hipboard("check", "--json", run).stdout.splitlines()]
    rules = collections.Counter(line["rule"] for line in found)
    assert set(rules) <= {"NO_VIEW", "NO_CALL", "NO_OPERATOR"}, found
    return {line["name"] for line in found if line["rule"] == "NO_VIEW"}, rules["NO_CALL"], rules["NO_OPERATOR"]


def count(processes, words):
    return sum(n for process in processes for text, n in process["unknown"].items() if words in text)


COUNTED = {"kernels": 2 * STEPS, "copies": STEPS, "calls": 1 + 5 * STEPS, "linked": 3 * STEPS, "ranges": 2 * STEPS,
           "allocations": 2}


@pytest.mark.parametrize("kinds, gone", [
    ("hip", {"calls": 0, "linked": 0}), ("hsa", {}), ("rccl", {}), ("ranges", {"ranges": 0}), ("counters", {}),
    ("copies", {"copies": 0, "linked": 2 * STEPS}), ("memory", {"allocations": 0}),
    ("ranges,memory,hip", {"ranges": 0, "allocations": 0, "calls": 0, "linked": 0})])
def test_kinds_that_are_left_out(kinds, gone, database):
    told = json.loads(hipboard("import", "--explain", "--json", "--drop", kinds, database).stdout)
    assert {key: told[key] for key in COUNTED} == COUNTED | gone
    left = sum(COUNTED[key] for key in gone if key != "linked")
    assert told["changed"].get("events left out as asked for", 0) == left


# Of each step the stream is busy from 40 us to 60, from 110 to 150 and from 210 to 290; then until the next one, at 1040.
@pytest.mark.parametrize("options, starts", [
    (["--step", "forward"], [10 + 1000 * i for i in range(STEPS)]),
    (["--step-launch", "hipMemcpyAsync"], [20 + 1000 * i for i in range(STEPS)]),
    (["--step-launch", "hipLaunchKernel"], [at + 1000 * i for i in range(STEPS) for at in (101, 201)]),
    (["--step-gap", "751us"], [40]),
    (["--step-gap", "750us"], [40 + 1000 * i for i in range(STEPS)]),
    (["--step-gap", "61us"], [40 + 1000 * i for i in range(STEPS)]),
    (["--step-gap", "60us"], [at + 1000 * i for i in range(STEPS) for at in (40, 210)]),
    (["--step-gap", "0.05ms"], [at + 1000 * i for i in range(STEPS) for at in (40, 110, 210)])])
def test_steps_as_asked_for(options, starts, database, tmp_path):
    told = json.loads(hipboard("import", "--json", *options, database, "-o", tmp_path / "log").stdout)
    events = load(Path(told["file"]))["traceEvents"]
    steps = sorted(e["ts"] for e in events if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep#"))
    [copy, *_] = sorted(e["ts"] for e in events if e.get("cat") == "gpu_memcpy")
    assert [round(ts - copy + 40, 3) for ts in steps] == starts


@pytest.mark.parametrize("rows, names", [("stream", {0}), ("queue", {16, 17})])
def test_rows_of_a_gpu(rows, names, database, tmp_path):
    told = json.loads(hipboard("import", "--json", "--rows", rows, database, "-o", tmp_path / "log").stdout)
    work = [e for e in load(Path(told["file"]))["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy")]
    assert {e["tid"] for e in work} == names and told["streams"] == len(names)


ODD = 'a "q" \\ \u00e9 \U0001d11e <b, float>'  # as Python's json and AMD's tools write it: with escapes


def told_and_written(source, directory):
    told = json.loads(hipboard("import", "--json", source, "-o", directory).stdout)
    return told, json.loads(Path(told["file"]).read_text())


def test_names_of_processes_stand_before_their_events_or_behind(tmp_path):
    events = [{"ph": "X", "cat": "mine", "name": "op", "pid": pid, "tid": 1, "ts": pid, "dur": 1, "args": {}} for pid in (5, 6)]
    names = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": f"{pid} {ODD}"}} for pid in (5, 6, 7)]
    for order in (names + events, events + names, [events[0], *names, events[1]]):
        path = tmp_path / "chrome.json"
        path.write_text(json.dumps(order))
        told = [json.loads(line) for line in hipboard("import", "--json", "--explain", path).stdout.splitlines()]
        assert [(p["pid"], p["program"]) for p in told] == [(5, f"5 {ODD}"), (6, f"6 {ODD}")]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_table_is_of_the_first_process(processes, tmp_path):
    events = [{"ph": "X", "cat": "mine", "name": f"op{pid}", "pid": pid, "tid": 1, "ts": pid, "dur": 1, "args": {}}
              for pid in (5, 6)[:processes]]
    path = tmp_path / "chrome.json"
    path.write_text(json.dumps(events))
    done = hipboard("table", path)
    assert "op5" in done.stdout and "op6" not in done.stdout
    assert done.stderr == ("" if processes == 1 else f"hipboard table: {path}: the first of 2 processes; "
                           "`hipboard import` makes a file of each\n")


@pytest.mark.parametrize("ending", ["pftrace", "db"])
def test_names_of_machines_are_the_same_behind_an_export(ending, tmp_path):
    program = ODD.replace(" ", "_")  # of a command line the first word
    events = [{"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "args": {"name": program}},
              {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 5, "tid": 1, "ts": 1, "dur": 1, "args": {}},
              {"ph": "X", "cat": "kernel", "name": ODD, "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {"device": 0, "stream": 7}}]
    source = tmp_path / "t.pt.trace.json"
    source.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": ODD, "numSms": 8}], "host_name": ODD, "traceEvents": events}))
    hipboard("export", source, "-o", tmp_path / f"x.{ending}")
    told, trace = told_and_written(tmp_path / f"x.{ending}", tmp_path / "log")
    assert (told["host"], told["program"], trace["deviceProperties"][0]["name"]) == (ODD, program, ODD)
    assert [e["name"] for e in trace["traceEvents"] if e.get("cat") == "kernel"] == [ODD]


def test_names_in_rocprofs_json(tmp_path):
    text = (CORPUS / "import_json/rocprofv3_json").read_text()
    path = tmp_path / "results.json"
    path.write_text(text.replace('"node7"', json.dumps(ODD)).replace('"AMD Instinct MI350X"', json.dumps(ODD))
                    .replace('"/opt/bin/train"', json.dumps(f"/opt/{ODD}")).replace('"gemm(float*)"', json.dumps(ODD)))
    told, trace = told_and_written(path, tmp_path / "log")
    assert (told["host"], told["program"], trace["deviceProperties"][0]["name"]) == (ODD, ODD, ODD)
    assert [e["name"] for e in trace["traceEvents"] if e.get("cat") == "kernel"] == [ODD]
    path.write_text((CORPUS / "import_json/rocprof1_json").read_text().replace('"Name":"gemm"', f'"Name":{json.dumps(ODD)}'))
    _, trace = told_and_written(path, tmp_path / "log1")
    assert [e["name"] for e in trace["traceEvents"] if e.get("cat") == "kernel"] == [ODD]


def test_calls_and_kernels_without_arrows_are_no_pairs(tmp_path):
    """Of rocprof's JSON: what has no correlation was 0, of a call as of a kernel, and of these the plugin makes pairs."""
    path = tmp_path / "results.json"
    document = json.loads((CORPUS / "import_json/rocprof1_json").read_text())
    document["traceEvents"] = [e for e in document["traceEvents"] if e.get("ph") == "X"]
    path.write_text(json.dumps(document))
    told, trace = told_and_written(path, tmp_path / "log")
    assert (told["kernels"], told["calls"], told["linked"]) == (1, 1, 0)
    kernels, calls = ([e["args"]["correlation"] for e in trace["traceEvents"] if e.get("cat") == cat]
                      for cat in ("kernel", "Runtime"))
    assert len(kernels) == len(calls) == 1 and not {*kernels} & {*calls}
    operators = [e["name"] for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]
    assert operators == ["hipMemcpy", "no operator was recorded"] # a call is one, whether or not it launched something


def last_end(directory):
    """The latest end of what a directory's traces have, in nanoseconds since 1970."""
    ends = []
    for path in directory.glob("*.pt.trace.json"):
        trace = json.loads(path.read_text(), parse_float=Decimal)
        ends += [trace["baseTimeNanoseconds"] + 1000 * (e["ts"] + e["dur"]) for e in trace["traceEvents"] if e["ph"] == "X"]
    return max(ends)


@pytest.mark.parametrize("text, ns", [
    ("2026-11-23T07:30:00", 1795419000 * 10**9), ("2026-11-23T07:30:00Z", 1795419000 * 10**9),
    ("1970-01-02T00:00:01.5", 86401500000000), ("2026-11-23T07:30:00.000065", 1795419000000065000),
    ("2024-02-29T23:59:59.999999999Z", 1709251199999999999), ("a_file", 1700000000123456789)])
def test_when_the_program_ended_can_be_said(text, ns, tmp_path):
    if text == "a_file":
        text = tmp_path / text
        text.touch()
        os.utime(text, ns=(0, ns))
    hipboard("import", "--time-of", text, SAMPLES["decode"], "-o", tmp_path / "log")
    assert last_end(tmp_path / "log") == ns


@pytest.mark.parametrize("text", ["2026-11-23", "2026-11-23T07:30", "2026-11-23T07:30:00x", "2026-11-23T07:30:00.",
                                  "2026-13-01T00:00:00", "1969-12-31T23:59:59", "FILE", "nothing"])
def test_what_is_neither_a_file_nor_a_time(text, tmp_path):
    done = hipboard("import", "--time-of", text, SAMPLES["decode"], "-o", tmp_path / "log", status=2)
    assert f"--time-of '{text}': neither a file nor a time from 1970 to 2043, as 2026-11-23T07:30:00" in done.stderr


def test_a_wrong_path_is_told(tmp_path):
    (tmp_path / "x").write_text("nothing")
    assert "of no format that is read" in hipboard("import", tmp_path / "x", "-o", tmp_path, status=1).stderr
    assert "-o LOGDIR" in hipboard("import", tmp_path / "x", status=2).stderr


def test_as_many_as_a_real_run_had(tmp_path):
    rocpd_made.batched_gemm(tmp_path / "28_results.db")
    told = json.loads(hipboard("import", tmp_path / "28_results.db", "-o", tmp_path, "--json").stdout)
    assert (told["kernels"], told["calls"], told["linked"], told["kernel_us"]) == (151, 629, 151, 2604.546)
    events = load(Path(told["file"]))["traceEvents"]
    calls = {e["args"]["correlation"]: e["name"] for e in events if e.get("cat") == "Runtime"}
    kernels = [e for e in events if e.get("cat") == "Kernel" or e.get("cat") == "kernel"]
    by_call = collections.Counter(calls[e["args"]["correlation"]] for e in kernels)
    assert by_call == {"hipLaunchKernel": 150, "hipMemset": 1}
    gemm = max(kernels, key=lambda e: len(e["name"]))
    assert len(gemm["name"]) == 1823 and '"half"' in gemm["name"]
    assert (gemm["args"]["grid"], gemm["args"]["block"], gemm["args"]["shared memory"]) == (
        [2, 128, 1], [256, 1, 1], 65536)


@pytest.mark.skipif("ROCPD_SAMPLE" not in os.environ, reason="no database of a real run is given")
def test_a_real_run(tmp_path):
    told = json.loads(hipboard("import", os.environ["ROCPD_SAMPLE"], "-o", tmp_path, "--json").stdout)
    assert (told["kernels"], told["calls"], told["linked"], told["kernel_us"]) == (151, 629, 151, 2604.546)


@pytest.mark.parametrize("kernels, counts", [(1, "1 kernel"), (2, "2 kernels")])
def test_one_kernel_is_not_said_to_be_many(kernels, counts, tmp_path):
    table = gzip.decompress(SAMPLES["decode"].read_bytes()).splitlines(keepends=True)
    path = tmp_path / "1_kernel_trace.csv"
    path.write_bytes(b"".join(table[:1 + kernels]))
    said = hipboard("import", path, "-o", tmp_path / "runs").stdout
    assert f"  {counts}\n" in said and f"the call is known of 0 of {kernels} kernels and copies" in said
