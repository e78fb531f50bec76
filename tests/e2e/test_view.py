# SPDX-License-Identifier: MIT
"""`hipboard view` and `hipboard check` on the trace that real PyTorch wrote."""
import csv
import gzip
import io
import json
import shutil
import subprocess
import unicodedata
from collections import Counter

import pytest

from support import BUILD, ROOT

TORCH = ROOT / "tests/data/torch-2.13-cpu.pt.trace.json"


def hipboard(*arguments, stdin=None):
    return subprocess.run([BUILD / "tools/hipboard/hipboard", *map(str, arguments)],
                          capture_output=True, input=stdin, timeout=600)


def rows(*arguments):
    done = hipboard("view", "--csv", "--top", 0, *arguments)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout.decode())))


def query(tmp_path, route, trace=TORCH):
    """What the plugin answers about the trace."""
    run = tmp_path / "logs/run"
    run.mkdir(parents=True, exist_ok=True)
    shutil.copy(trace, run / "w.1.pt.trace.json")
    done = hipboard("query", run.parent, route + "?run=run&worker=w&span=1")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_operators_are_the_plugins(tmp_path):
    table = query(tmp_path, "operation/table")["data"]
    seen = {row["Operator"]: row for row in rows("--view", "operator", TORCH)}
    assert len(seen) == len(table) > 5
    for row in table:
        assert int(seen[row["name"]]["Calls"]) == row["calls"]
        assert round(float(seen[row["name"]]["Host total (us)"])) == row["host_total_duration"]


@pytest.mark.parametrize("view", ["overview", "steps", "operator", "kernel", "memory", "module"])
def test_a_pipe_gives_what_the_file_gives(view):
    from_file = hipboard("view", "--view", view, TORCH)
    from_pipe = hipboard("view", "--view", view, "-", stdin=gzip.compress(TORCH.read_bytes()))
    assert from_file.returncode == from_pipe.returncode == 0, from_file.stderr
    assert from_file.stdout == from_pipe.stdout


def test_filters():
    names = [row["Operator"] for row in rows("--view", "operator", "--name", "^aten::(mm|addmm)$",
                                             TORCH)]
    assert names and set(names) <= {"aten::mm", "aten::addmm"}
    text = hipboard("view", "--view", "operator", "--top", 2, TORCH).stdout.decode().splitlines()
    assert text[3].endswith("more)") and (len(text) == 4 or text[4].startswith("Note"))
    [step] = [row["Step"] for row in rows("--view", "steps", TORCH)][:1]
    for written in (step, f"0{step}"):
        assert [row["Step"] for row in rows("--view", "steps", "--step", written, TORCH)] == [step]


def test_a_cut_file_is_shown_and_the_cut_is_told(tmp_path):
    cut = tmp_path / "cut.json"
    cut.write_bytes(TORCH.read_bytes()[:TORCH.stat().st_size // 2])
    done = hipboard("view", "--view", "operator", cut)
    assert done.returncode == 0 and b"aten::" in done.stdout
    assert b"the text ends too early" in done.stderr


def test_one_step_of_every_view():
    trace = json.loads(TORCH.read_text())["traceEvents"]
    steps = {e["name"].partition("#")[2]: (e["ts"], e["ts"] + e["dur"]) for e in trace
             if e.get("name", "").startswith("ProfilerStep#") and e["ph"] == "X"}
    operators = [(e["name"], e["ts"]) for e in trace if e.get("cat") == "cpu_op"
                 and not e["name"].startswith(("ProfilerStep", "Optimizer", "enumerate"))]
    checked = 0
    for step, (start, end) in steps.items():
        inside = Counter(name for name, ts in operators if start <= ts < end)
        seen = {row["Operator"]: int(row["Calls"])
                for row in rows("--view", "operator", "--step", step, TORCH)}
        assert {name: seen.get(name) for name in inside} == inside
        checked += len(inside)
        assert len(rows("--view", "module", "--step", step, TORCH)) <= len(
            rows("--view", "module", TORCH))
    assert len(steps) > 1 and checked > 5
    for name in ("overview", "operator", "steps"):
        missing = hipboard("view", "--view", name, "--step", 777, TORCH)
        assert (missing.returncode, missing.stdout) == (1, b"") and b"the trace has no step 777" in missing.stderr


def test_sorted_by_any_column():
    calls = [float(row["Calls"]) for row in rows("--view", "operator", "--sort-by", "calls", TORCH)]
    assert calls == sorted(calls, reverse=True) and len(set(calls)) > 1
    names = [row["Operator"] for row in rows("--view", "operator", "--sort-by=operator", TORCH)]
    assert names == sorted(names)
    wrong = hipboard("view", "--view", "operator", "--sort-by", "kernel", TORCH)
    assert wrong.returncode == 2 and b"Host self" in wrong.stderr and not wrong.stdout


@pytest.mark.parametrize("view", ["overview", "steps", "operator", "kernel", "memory", "module"])
def test_json_has_the_rows_of_csv(view):
    text = hipboard("view", "--view", view, "--json", "--top", 0, TORCH).stdout
    assert text.count(b"\n") == 1
    tables = json.loads(text)
    assert tables.pop("file") == str(TORCH)
    parts = hipboard("view", "--view", view, "--csv", "--top", 0, TORCH).stdout.decode()
    for table, part in zip(tables.values(), parts.split("\n\n")):
        expected = list(csv.DictReader(io.StringIO(part)))
        assert len(table) == len(expected)
        for row, cells in zip(table, expected):
            assert {k: "" if v is None else str(v) for k, v in row.items()}.keys() == cells.keys()
            for key, value in row.items():
                number = isinstance(value, (int, float))
                assert value == (float(cells[key]) if number else cells[key] or value)


def test_a_host_only_trace_shows_no_columns_of_a_gpu():
    text = hipboard("view", "--view", "operator", TORCH).stdout
    assert b"Host self" in text and b"Device" not in text
    assert b"Memcpy" not in hipboard("view", TORCH).stdout
    assert "Device self (us)" in rows("--view", "operator", TORCH)[0]


def columns(text):
    """That a terminal needs for it."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF"
               else 1 for c in text)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_fit(width, tmp_path):
    trace = json.loads(TORCH.read_text())
    operators = [e for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]
    operators[0]["name"] = "演算子::畳み込み" * 40  # two columns a character
    operators[1]["name"] = "\x1b[31mred\n" + "e\u0301" * 50
    (tmp_path / "t.json").write_text(json.dumps(trace))
    text = hipboard("view", "--view", "operator", "--top", 0, "--width", width,
                    tmp_path / "t.json").stdout.decode()
    lines = text.splitlines()
    assert "\x1b" not in text and len(lines) > 20
    assert max(map(columns, lines)) <= width
    assert len({columns(line.partition("%")[0]) for line in lines if "%" in line}) == 1


def test_ranks(tmp_path):
    trace = json.loads(TORCH.read_text())
    for rank in range(3):
        trace["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 3}
        (tmp_path / f"r{rank}.1.pt.trace.json").write_text(json.dumps(trace))
    assert hipboard("view", tmp_path).stdout.count(b", worker r") == 3
    one = hipboard("view", "--rank", 1, tmp_path).stdout
    assert one.count(b", worker r") == 1 and b"worker r1" in one
    files = {row["File"] for row in rows("--view", "operator", tmp_path)}
    assert len(files) == 3


@pytest.mark.parametrize("arguments", [["--view", "nothing"], ["--name", "("], ["--top", "x"], [], ["--rank", "-1"],
                                       ["--width", "wide"], ["--step", "x"],
                                       ["--nonsense"]])
def test_wrong_usage(arguments):
    done = hipboard("view", *arguments, *([TORCH] if arguments else []))
    assert done.returncode == 2 and b"--help" in done.stderr and not done.stdout


def test_check_passes_what_the_plugin_shows(tmp_path):
    shutil.copy(TORCH, tmp_path / "w_1.1.pt.trace.json")
    done = hipboard("check", tmp_path)
    assert done.returncode == 0, done.stdout
    assert b"no view Kernel" in done.stdout and b"lost" not in done.stdout


def test_check_tells_what_is_lost(tmp_path):
    shutil.copy(TORCH, tmp_path / "w_1.1.pt.trace.json")
    (tmp_path / "w_2.1.pt.trace.json").write_bytes(TORCH.read_bytes()[:-10])
    done = hipboard("check", tmp_path)
    assert done.returncode == 1
    assert b"w_2.1.pt.trace.json\n  file lost: byte" in done.stdout
    assert hipboard("check", tmp_path / "nothing").returncode == 1


def event(cat, name, ts, dur, tid=1, pid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": {key.replace("_", " "): value for key, value in args.items()}}


TODAY = [  # what the plugin ignores or counts wrongly in traces since 2022, and odd events
    event("user_annotation", "ProfilerStep#1", 100, 400, External_id=900),
    event("gpu_user_annotation", "ProfilerStep#1", 130, 300, 7, 0),
    event("user_annotation", "enumerate(DataLoader)#X.__next__", 101, 9, External_id=12),
    event("user_annotation", "Optimizer.step#SGD.step", 300, 50),
    event("cpu_op", "aten::mm", 110, 50, External_id=12),
    event("cuda_runtime", "hipLaunchKernel", 120, 5, correlation=3, External_id=3),
    event("kernel", "gemm", 140, 40, 7, 0, correlation=3, External_id=3, device=0, grid=[8, 2, 1],
          block=[64, 1, 1]),
    event("cpu_op", "aten::add", 310, 30, External_id=3),
    event("cuda_driver", "hipModuleLaunchKernel", 312, 5, correlation=4),
    event("kernel", "add", 330, 10, 7, 0, correlation=4),
]
ODD = [{"ph": "X", "name": "no category", "pid": 1, "tid": 1, "ts": 150, "dur": 1}, "no object",
       {"ph": "i", "ts": 7}, event("cpu_op", "no time", None, 5), event("memory", "m", 150, 1),
       {**event("cpu_op", "odd args", 360, 5), "args": None}]


@pytest.mark.parametrize("events", [TODAY, TODAY + ODD, None])
def test_a_trace_is_shown_as_its_conversion(events, tmp_path):
    if events:
        path = tmp_path / "in.json"
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events, "deviceProperties":
                                    [{"id": 0, "name": "AMD", "numSms": 4}]}))
    else:
        path = ROOT / "tests/data/triton_example.json.gz"
    assert hipboard("convert", path, "-o", tmp_path / "run").returncode == 0
    [converted] = (tmp_path / "run").iterdir()
    for view in ("overview", "steps", "operator", "kernel", "memory", "module", "gpu", "classes"):
        one, other = (hipboard("view", "--view", view, "--csv", "--top", 0, p)
                      for p in (path, converted))
        assert one.returncode == other.returncode == 0 and one.stdout == other.stdout, view
    times = {row["Operator"]: float(row["Device self (us)"])
             for row in rows("--view", "operator", path)}
    assert b"(--as-plugin)" in hipboard("view", "--width", 0, path).stdout
    assert b"(--as-plugin)" not in hipboard("view", "--width", 0, converted).stdout
    if events:
        assert times.pop("odd args", 0) == 0
        assert times == {"aten::mm": 40, "aten::add": 10}


def test_or_as_the_plugin_shows_it(tmp_path):
    path = tmp_path / "w_1.1.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": TODAY}))
    as_plugin = {row["Operator"]: float(row["Device self (us)"])
                 for row in rows("--view", "operator", "--as-plugin", path)}
    table = query(tmp_path, "operation/table", path)["data"]
    assert as_plugin == {row["name"]: row.get("device_self_duration", 0) for row in table}
    assert as_plugin and set(as_plugin.values()) == {0}
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": TODAY + ODD}))
    lost = hipboard("view", "--as-plugin", path)
    assert lost.returncode == 1 and path.name.encode() in lost.stderr


def test_a_trace_without_operators_is_a_step_as_long_as_its_kernels(tmp_path):
    path = tmp_path / "gpu.json"
    path.write_text(json.dumps({"traceEvents": [
        event("kernel", "k", 100, 30, 7, 0, device=0, correlation=1),
        event("kernel", "k", 150, 30, 7, 0, device=0, correlation=2)]}))
    [step] = rows("--view", "steps", path)
    assert (float(step["Total (us)"]), float(step["Kernel (us)"])) == (80, 60)


def test_a_trace_of_something_else_is_told(tmp_path):
    """Of PyTorch's form with nothing of it; a list of a browser's own categories is another tool's file."""
    events = [event("v8", "compile", 1, 2), {"ph": "B", "name": "x", "ts": 1}]
    path = tmp_path / "browser.json"
    path.write_text(json.dumps(events))
    assert {row["Operator"] for row in rows("--view", "operator", path)} == {"x", "compile"}
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    for view in ("overview", "steps", "operator"):
        done = hipboard("view", "--view", view, path)
        assert done.returncode == 1 and not done.stdout
        assert b"none of the events is of a kind that PyTorch's profiler writes" in done.stderr


def test_an_id_that_is_by_accident_the_correlation_changes_nothing(tmp_path):
    path = tmp_path / "in.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
        event("cpu_op", "aten::mm", 110, 50, External_id=5),
        event("Runtime", "hipLaunchKernel", 120, 5, correlation=5, External_id=5),
        event("kernel", "gemm", 140, 40, 7, 0, correlation=5, External_id=5, device=0)]}))
    assert b"--as-plugin" not in hipboard("view", "--width", 0, path).stdout
    assert [row["Device self (us)"] for row in rows("--view", "operator", path)] == ["40"]


def test_what_counts_as_a_scope_is_what_convert_takes_for_one(tmp_path):
    names = ["enumerate(DataLoader)#X", "enumerate(DataPipe)#Y", "Optimizer.zero_grad#SGD.zero_grad",
             "DistributedDataParallel.forward", "DataParallel.forward", "my own"]
    path = tmp_path / "in.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
        event("user_annotation", "ProfilerStep#1", 100, 900),
        *(event("user_annotation", name, 110 + 20 * i, 10) for i, name in enumerate(names)),
        event("cpu_op", "aten::mm", 800, 50)]}))
    assert hipboard("convert", path, "-o", tmp_path / "run").returncode == 0
    [converted] = (tmp_path / "run").iterdir()
    for view in ("steps", "operator"):
        assert rows("--view", view, path) == rows("--view", view, converted)
