# SPDX-License-Identifier: MIT
"""`hipboard compare` on trainings, on traces of real PyTorch, and as CI calls it."""
import csv
import io
import json
import os
import pty
import re
import shutil
import subprocess
from bisect import bisect_left

import pytest

from support import BUILD, ROOT, limited

DATA = ROOT / "tests/data"
TORCH = DATA / "torch-2.13-cpu.pt.trace.json"


def hipboard(*arguments, **options):
    return subprocess.run([BUILD / "tools/hipboard/hipboard", *map(str, arguments)],
                          capture_output=True, text=True, timeout=600, **options)


def compare(*arguments, status=0):
    done = hipboard("compare", *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def as_json(*arguments, status=0):
    return json.loads(compare(*arguments, "--json", status=status).stdout)


def slow_down(source, target, operator, us):
    """Copies a run with each call of `operator` longer by `us`, and all that follows later."""
    target.mkdir(parents=True)
    for path in source.glob("*.pt.trace.json"):
        document = json.loads(path.read_text())
        events = document["traceEvents"]
        starts = sorted(e["ts"] for e in events if e.get("name") == operator)
        assert starts
        for event in events:
            if "ts" not in event:
                continue
            end = event["ts"] + event.get("dur", 0)
            event["ts"] += us * bisect_left(starts, event["ts"])
            if "dur" in event:
                event["dur"] = end + us * bisect_left(starts, end) - event["ts"]
        (target / path.name).write_text(json.dumps(document))


@pytest.fixture(scope="module")
def slowed(digits, tmp_path_factory):
    """The training without workers, and the same with an aten::im2col that is slower than any noise
    of a busy machine."""
    before = digits["workers0"].directory
    after = tmp_path_factory.mktemp("compare") / "slowed"
    slow_down(before, after, "aten::im2col", 50_000)
    return before, after


def test_the_slowed_operator_is_on_top(slowed):
    result = as_json(*slowed)
    assert [run["steps"] for run in result["runs"]] == [12, 12]
    top = result["operators"][0]
    assert (top["name"], top["measure"], top["verdict"]) == ("aten::im2col", "self_host",
                                                             "beyond_noise")
    assert top["before"]["calls"] == top["after"]["calls"] == 2
    assert top["change"] == pytest.approx(100_000, rel=1e-3)
    assert top["low"] < top["change"] < top["high"]
    others = [row for row in result["operators"] if row["name"] != "aten::im2col"]
    assert all(abs(row["change"]) < 1 for row in others)
    [step] = [row for row in result["steps"] if row["name"] == "step_time"]
    assert step["change"] == pytest.approx(100_000, rel=0.01)


def test_the_module_and_the_shapes_are_told(slowed):
    rows = as_json(*slowed, "--by", "operator")["operators"]
    assert {row["module"] for row in rows[:2]} == {"Conv2d_0", "Conv2d_1"}
    assert all(row["shape"].startswith("[[32, ") for row in rows[:2])
    modules = as_json(*slowed, "--by", "module", "--metric", "host")["modules"]
    assert modules[0]["name"] == "DigitNet_0" and modules[0]["change"] == pytest.approx(100_000, rel=.01)


def test_the_tree_says_where(slowed):
    text = compare(*slowed, "--tree", "--top", 2).stdout
    lines = [line for line in text.splitlines() if "nn.Module" in line or "aten::" in line]
    names = [re.search(r"(nn\.Module: \w+|aten::\w+)$", line)[1] for line in lines]
    assert names.count("aten::im2col") == 2
    assert names[:3] == ["nn.Module: DigitNet_0", "nn.Module: Conv2d_0", "aten::conv2d"]
    assert re.search(r"^\(\d+ calls are not shown\)$", text, re.M)
    only = compare(*slowed, "--tree", "--name", "^aten::mm$").stdout
    assert "aten::im2col" not in only
    nodes = as_json(*slowed, "--tree")["tree"]
    assert nodes[0]["name"] == "step" and nodes[0]["calls"] == [1, 1]
    assert all(a["depth"] + 1 >= b["depth"] for a, b in zip(nodes, nodes[1:]))


def test_numbers_are_the_plugins(digits):
    """Means over the steps, times the steps, are the totals that the plugin's tables show."""
    path = digits["workers0"].files[0]
    plugin = {row["Operator"]: row for row in csv.DictReader(io.StringIO(
        hipboard("view", "--view", "operator", "--csv", "--top", 0, path).stdout))}
    result = as_json(path, path, "--by", "operator", "--group", "name", "--metric", "self_host,host")
    seen = set()
    for row in result["operators"]:
        side, column = row["before"], {"self_host": "Host self", "host": "Host total"}
        total = side["mean"] * side["n"]
        assert total == pytest.approx(float(plugin[row["name"]][column[row["measure"]] + " (us)"]))
        assert side["calls"] * 6 == pytest.approx(float(plugin[row["name"]]["Calls"]))
        seen.add(row["name"])
    assert seen == set(plugin)


def test_a_run_is_like_itself(digits):
    path = digits["workers0"].directory
    result = as_json(path, path)
    rows = sum((result[kind] for kind in ("steps", "operators", "memory", "modules")), [])
    assert len(rows) > 50 and all(row["change"] == 0 for row in rows)
    assert {row["verdict"] for row in rows} == {"within_noise", "counted"}
    assert "Not alike" not in compare(path, path).stdout


def test_a_logdir_is_its_runs(digits):
    logdir = digits["workers0"].directory.parent
    result = as_json(logdir, "--baseline", logdir / "workers2")
    assert result["baseline"] == "workers2"
    assert [run["name"] for run in result["runs"]] == ["workers0", "workers2"]
    assert as_json(logdir, "--baseline", "workers2")["steps"] == result["steps"]
    loader = next(row for row in result["steps"] if row["name"] == "data_loader")
    assert loader["change"] > 100
    assert {"what": "recorded with", "run": "workers0", "before": "shapes, memory, stacks, FLOPs, modules",
            "after": "shapes, memory, FLOPs, modules"} in result["contrasts"]


def test_other_hardware_dialect_and_age_are_told(digits):
    result = as_json(DATA / "triton_example.json.gz", DATA / "mi250_minitoy.json.gz",
                     digits["workers0"].directory)
    told = {(row["run"], row["what"]): (row["before"], row["after"]) for row in result["contrasts"]}
    before, after = told["mi250_minitoy.json.gz", "devices"]
    assert before.startswith("8 x NVIDIA A100") and after == "4 x AMD Radeon Graphics, 104 CUs, 63.98 GiB"
    assert told["workers0", "devices"][1] == "none"
    assert told["mi250_minitoy.json.gz", "recorded on"] == ("2024-10-28", "2025-02-17")
    assert told["workers0", "steps"] == ("1", "12")
    assert {row["verdict"] for row in result["steps"] if row["before"] and row["after"]} <= {
        "too_few_steps", "counted"}


def test_both_dialects_have_the_same_numbers(tmp_path):
    """What PyTorch writes today, and the same converted for the plugin."""
    source = DATA / "mi250_minitoy.json.gz"
    assert hipboard("convert", source, "-o", tmp_path / "run").returncode == 0
    result = as_json(source, tmp_path / "run")
    assert {"run": "run", "what": "dialect", "before": "kineto", "after": "tensorboard"} in \
        result["contrasts"]
    assert len(result["kernels"]) > 5
    assert all(row["change"] == 0 for row in result["kernels"] + result["steps"])
    assert any(row["measure"] == "self_device" for row in result["operators"])
    assert all(row["change"] == 0 for row in result["operators"])


# ---- as CI calls it ----

def test_limits_decide_the_exit_status(slowed):
    done = compare(*slowed, "--fail-if", "step_time > +5%", "--fail-if", "operator:aten::mm > +1s",
                   "--beyond-noise", status=1)
    assert re.search(r"limit passed: slowed: step_time .* -> .*, \+[\d.]+ % \(beyond noise, p = .*, "
                     r"12 and 12 steps\); limit: step_time > \+5%", done.stderr)
    assert "EXCEEDED: slowed: step_time" in done.stdout and "fine: slowed: operator:aten::mm" in done.stdout
    compare(*slowed, "--fail-if", "step_time > +10s")
    compare(*reversed(slowed), "--fail-if", "step_time > +5%")
    result = as_json(*slowed, "--fail-if", "step_time > 1us", status=1)
    assert [limit["exceeded"] for limit in result["limits"]] == [True]


def test_trouble_is_no_passed_limit(slowed, tmp_path):
    done = compare(*slowed, "--fail-if", "kernel:gemm > 2ms", status=3)
    assert "nothing of that kind" in done.stderr
    done = compare(*slowed, "--fail-if", "operator:conv > 2ms", status=3)
    assert "aten::im2col" in done.stderr
    done = compare(*slowed, "--fail-if", "speed > 2ms", status=2)
    assert "gpu_utilization" in done.stderr and not done.stdout
    shutil.copytree(slowed[1], tmp_path / "run")
    (tmp_path / "run" / "x.1.pt.trace.json").write_text("{\"traceEvents\": 5")
    done = compare(slowed[0], tmp_path / "run", status=3)
    assert "left out" in done.stderr and "x.1.pt.trace.json" in done.stderr and "aten::im2col" in done.stdout


@pytest.mark.parametrize("arguments, status", [
    ([], 2), (["--nonsense", TORCH], 2), (["--by", "colour", TORCH], 2), (["--metric", "x", TORCH], 2),
    (["--by", "kernel", "--metric", "host", TORCH], 2), (["--name", "(", TORCH], 2),
    (["--confidence", "100", TORCH], 2), (["--fail-if", "step_time > 5", TORCH], 2),
    ([TORCH], 3), (["/nowhere", TORCH], 3), ([TORCH, "--baseline", "nobody"], 3),
    ([TORCH, TORCH, TORCH, "--tree"], 3),
])
def test_wrong_usage_and_missing_runs(arguments, status):
    done = compare(*arguments, status=status)
    assert done.stderr.startswith("hipboard compare: ") and not done.stdout
    assert ("--help" in done.stderr) == (status == 2)


def made_trace(path, names, us, steps=6):
    """One operator of each name in every step."""
    ts, events = 1000, []
    for step in range(steps):
        begin = ts
        for name in names:
            events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1,
                           "ts": ts + 1, "dur": us, "args": {"External id": len(events) + 1}})
            ts += us + 2
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}",
                       "pid": 1, "tid": 1, "ts": begin, "dur": ts - begin, "args": {}})
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_a_cut_trace_is_compared_and_said(tmp_path):
    whole = made_trace(tmp_path / "whole.json", ["aten::mm"], 100)
    cut = tmp_path / "cut.json"
    cut.write_bytes(whole.read_bytes()[:-200])
    done = compare(whole, cut)
    for text in (done.stdout, done.stderr):
        assert re.search(r"cut.json: byte \d+: the text ends too early; compared is what", text)
    result = as_json(whole, cut)
    assert len(result["notes"]) == 1 and result["problems"] == []
    assert [run["steps"] for run in result["runs"]] == [6, 5]


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '{"traceEvents": 5}', '{"traceEvents": []}',
                                  "\0" * 100, '{"traceEvents": [{"ph": "M", "name": "x"}]}'])
def test_what_is_no_trace_is_left_out(tmp_path, text):
    """Nothing is made up for it: no step, no time."""
    whole = made_trace(tmp_path / "whole.json", ["aten::mm"], 100)
    (tmp_path / "odd.json").write_text(text)
    result = as_json(whole, tmp_path / "odd.json", status=3)
    [problem] = result["problems"]
    assert problem.startswith(str(tmp_path / "odd.json: "))
    assert {row["after"] for row in result["steps"] + result["operators"]} == {None}
    assert result["runs"][1]["files"] == 0
    done = compare(whole, tmp_path / "odd.json", "--fail-if", "step_time > +5%", status=3)
    assert "have no step_time" in done.stderr


def test_a_thousand_runs(tmp_path):
    for i in range(1000):
        (tmp_path / f"logs/{i:03}").mkdir(parents=True)
        made_trace(tmp_path / f"logs/{i:03}/x.pt.trace.json", ["aten::mm"], 100 + (i == 700))
    done = compare(tmp_path / "logs", "--fail-if", "step_time > +0.5us", status=1)
    [line] = done.stderr.splitlines()
    assert line.startswith("hipboard compare: limit passed: 700: step_time 102 us -> 103 us")
    assert "+1 us" in done.stdout and "998 unchanged" in done.stdout
    assert "  EXCEEDED: 700: " in done.stdout and done.stdout.count("  fine: ") == 11
    for rest in ("  969 runs more", "  fine: 988 more", "(989 more)"):
        assert rest in done.stdout
    assert len(as_json(tmp_path / "logs", "--by", "step", "--metric", "step_time")["steps"]) == 999


def test_names_of_any_kind_stay_in_their_row(tmp_path):
    names = ["", "a|b`c`<b>", "\x01\x1b[31mred", "\ud800lone", "日本\n\nnew\tline", "$x$ @user #1",
             "\x9b2Jclear", "a" * 5000]
    runs = [made_trace(tmp_path / f"{us}.json", names, us) for us in (5, 9)]
    assert {row["name"] for row in as_json(*runs)["operators"]} >= {"", "a" * 5000, names[4]}
    for options in ([], ["--markdown"], ["--tree"]):
        text = compare(*runs, *options).stdout
        assert not re.search(r"[\x00-\x09\x0b-\x1f]", text)
        assert "--markdown" in options or not re.search(r"[\x7f-\x9f]", text)
        assert all(sum(word in line for line in text.splitlines()) == 1
                   for word in ("31mred", "lone", "日本", "user", "aaa"))


def test_a_metric_that_there_is_not_is_wrong_usage(tmp_path):
    run = made_trace(tmp_path / "run.json", ["aten::mm"], 100)
    for metric in ("step_tme", "step_time,", "<", "operator:aten::mm", "step_time>"):
        status = 0 if metric == "step_time," else 2
        done = compare(run, run, "--by", "step", "--metric", metric, status=status)
        assert ("has no metric" in done.stderr) == (status == 2)


# ---- looks ----

def test_markdown_is_tables(slowed):
    text = compare(*slowed, "--markdown", "--top", 3).stdout
    lines = text.splitlines()
    assert lines[0] == "### Compared"
    head = next(i for i, line in enumerate(lines) if line.startswith("| what | change |"))
    assert lines[head + 2].startswith("| aten::im2col, host | +")
    assert len({line.count("|") for line in lines[head:] if line.startswith("|")}) == 1
    assert "\033" not in text and "##########" not in text


def test_colours_only_on_a_terminal(slowed):
    assert "\033" not in compare(*slowed).stdout
    command = [BUILD / "tools/hipboard/hipboard", "compare", *slowed]
    for plain in (False, True):
        ours, theirs = pty.openpty()
        with subprocess.Popen(command, stdout=theirs,
                              env=dict(os.environ, **({"NO_COLOR": "1"} if plain else {}))) as process:
            os.close(theirs)
            seen = b""
            try:
                while part := os.read(ours, 65536):
                    seen += part
            except OSError:  # the terminal's end, when the program has left
                pass
            assert process.wait(600) == 0
        os.close(ours)
        assert (b"\033[31m" in seen) != plain


def test_filters(slowed):
    rows = as_json(*slowed, "--by", "operator", "--name", "^aten::(mm|addmm)$")["operators"]
    assert {row["name"] for row in rows} == {"aten::mm", "aten::addmm"}
    steps = as_json(*slowed, "--by", "step", "--metric", "step_time,cpu")["steps"]
    assert [row["name"] for row in steps] == ["step_time", "cpu"]
    assert len(as_json(*slowed, "--by", "operator", "--top", 4)["operators"]) == 4


def write_many_names(path, first, count):
    """A trace of three steps in which no two operators have the same name."""
    path.parent.mkdir()
    events = [{"ph": "X", "cat": "cpu_op", "name": f"op::of_a_longish_name_{first + i:07}", "pid": 1,
               "tid": 1, "ts": 1000 + 20 * i, "dur": 5 + i % 7,
               "args": {"External id": i + 1, "Input Dims": [[64, i % 50]], "Input type": ["float"]}}
              for i in range(count)]
    part = 20 * (count // 3 + 1)
    events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1,
                "tid": 1, "ts": 999 + step * part, "dur": part, "args": {}} for step in range(3)]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))


@pytest.fixture(scope="module")
def many_names(tmp_path_factory):
    directory = tmp_path_factory.mktemp("names")
    write_many_names(directory / "a/a.pt.trace.json", 0, 100_000)
    write_many_names(directory / "b/b.pt.trace.json", 50_000, 100_000)
    return directory / "a", directory / "b"


@pytest.mark.parametrize("options", [[], ["--by", "operator"], ["--json"], ["--tree"]])
def test_very_many_names_take_bounded_memory(many_names, options):
    # The JSON alone takes 250 MB: its text, and what held the traces until then.
    command = limited(384 << 20, BUILD / "tools/hipboard/hipboard", "compare", *many_names, *options)
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    if "--json" in options:
        names = [row["name"] for row in json.loads(done.stdout)["operators"]]
        assert len(names) == 150_000 == len(set(names))
    elif "--tree" not in options:
        assert f"({150_000 - (20 if options else 10)} more)" in done.stdout
