# SPDX-License-Identifier: MIT
"""The samples: they do what their READMEs say, and what they record is what they did."""
import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
from collections import Counter

import pytest

from server import TensorBoard
from support import BUILD, ROOT, check_live_cycles, run, telling_cycles

SAMPLES = BUILD / "samples"
DIGITS = SAMPLES / "digits/digits"


def start(*arguments, cwd):
    return subprocess.run([str(part) for part in arguments], cwd=cwd, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=600)


def load_traces(directory):
    """The traces of one run in order of time."""
    paths = sorted(directory.glob("*.pt.trace.json*"))
    return [json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz"
                       else path.read_bytes()) for path in paths]


class Training:
    """One run of digits: what it said, what it counted, what it recorded."""

    def __init__(self, directory, *arguments):
        report = directory / "report.json"
        done = start(DIGITS, "--report", report, *arguments, cwd=directory)
        assert done.returncode == 0, done.stdout + done.stderr
        self.output = done.stdout
        self.logdir = directory / "runs"
        [self.run] = list(self.logdir.iterdir())
        self.traces = load_traces(self.run)
        self.report = json.loads(report.read_text())


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    return {
        "workers 0": Training(tmp_path_factory.mktemp("w0"), "--workers", 0),
        "workers 2": Training(tmp_path_factory.mktemp("w2"), "--workers", 2, "--gzip"),
        "kineto": Training(tmp_path_factory.mktemp("kineto"), "--dialect", "kineto",
                           "--batch-size", 24, "--seed", 3, "--with-stack"),
    }


@pytest.fixture(params=["workers 0", "workers 2", "kineto"])
def training(request, trainings):
    return trainings[request.param]


def spans(trace, *categories):
    return [event for event in trace["traceEvents"]
            if event.get("ph") == "X" and event["cat"] in categories]


def instants(trace, name):
    return [event for event in trace["traceEvents"]
            if event.get("ph") == "i" and event["name"] == name]


def step_spans(trace):
    return {int(event["name"].partition("#")[2]): event
            for event in spans(trace, "user_annotation")
            if event["name"].startswith("ProfilerStep#")}


def test_digits_learns_and_says_so(training):
    [accuracy] = re.findall(r"^accuracy on 359 held-back digits: ([\d.]+) %$",
                            training.output, re.M)
    assert float(accuracy) >= 95
    counted = training.report["evaluation"]
    assert counted["digits"] == 359
    assert f"{100 * counted['correct'] / 359:.2f}" == accuracy


def test_digits_says_where_the_traces_are(trainings):
    assert "2 traces in runs/digits_workers2" in trainings["workers 2"].output
    assert [path.suffix for path in trainings["workers 2"].run.glob("*.pt.trace.*")] == [".gz", ".gz"]


def test_digits_computes_the_same_with_and_without_workers(trainings):
    without, with_two = trainings["workers 0"].report, trainings["workers 2"].report
    assert without["training"]["final_loss"] == with_two["training"]["final_loss"]
    assert without["evaluation"] == with_two["evaluation"]


def test_a_cycle_has_the_steps_of_the_schedule(training):
    assert len(training.traces) == len(training.report["cycles"]) == 2
    for first, trace, cycle in zip((12, 20), training.traces, training.report["cycles"]):
        numbers = [step["number"] for step in cycle["steps"]]
        assert numbers == list(range(first, first + 6))
        assert sorted(step_spans(trace)) == numbers


def microseconds(steps, key):
    return [1e6 * step[key] for step in steps]


def check_durations(inner, outer, tolerance=100):
    """Of pairs of intervals, in µs, each of the first lies in the second. Both are about the same,
    but for those between whose ends the thread lost its processor: on a busy machine most."""
    gaps = sorted(long - short for short, long in zip(inner, outer, strict=True))
    assert gaps[0] > -20  # two clocks
    assert gaps[len(gaps) // 4] < tolerance


def test_steps_last_as_long_as_measured(training):
    for trace, cycle in zip(training.traces, training.report["cycles"]):
        recorded = step_spans(trace)
        check_durations(microseconds(cycle["steps"], "seconds"),
                        [recorded[number]["dur"] for number in sorted(recorded)])


# Once a step, by the main thread. The plugin understands some of them as operators only, so the
# dialect made for it writes all as such.
ANNOTATIONS = {"enumerate(DataLoader)#DigitsLoader.__next__", "Optimizer.zero_grad#SGD.zero_grad",
               "forward", "backward", "Optimizer.step#SGD.step"}


def test_operators_were_called_as_counted(training):
    for trace, cycle in zip(training.traces, training.report["cycles"]):
        [main] = {event["tid"] for event in step_spans(trace).values()}
        recorded = Counter((event["name"], "main" if event["tid"] == main else "loader")
                           for event in spans(trace, "cpu_op")
                           if event["name"] not in ANNOTATIONS)
        assert recorded == {(op["name"], op["thread"]): op["calls"] for op in cycle["ops"]}


def test_parts_of_a_step_are_annotated(training):
    for trace in training.traces:
        recorded = Counter(event["name"] for event in spans(trace, "cpu_op", "user_annotation"))
        assert {name: recorded[name] for name in ANNOTATIONS} == dict.fromkeys(ANNOTATIONS, 6)


def test_backward_operators_belong_to_forward_ones(training):
    for trace in training.traces:
        forward, backward = set(), []
        for event in spans(trace, "cpu_op"):
            number = event["args"].get("Sequence number")
            if number is not None and event["name"].endswith("Backward0"):
                backward.append(number)
            elif number is not None:
                forward.add(number)
        assert len(backward) == 6 * 12  # ten layers and the two halves of the loss
        assert len(set(backward)) == len(backward)
        assert set(backward) <= forward


def tree_of(trace):
    """{module: (calls, {child: ...})} from the ids of the frames."""
    frames = {event["args"]["Python id"]: event for event in spans(trace, "python_function")
              if event["args"].get("Python module id") is not None}
    calls, parents = Counter(), {}
    for event in frames.values():
        name = event["name"].removeprefix("nn.Module: ")
        parent = frames.get(event["args"].get("Python parent id"))
        calls[name] += 1
        parents.setdefault(name, set()).add(
            parent and parent["name"].removeprefix("nn.Module: "))
    return {name: (calls[name], parents[name]) for name in calls}


def test_modules_nest_as_called(training):
    for trace, cycle in zip(training.traces, training.report["cycles"]):
        expected = {}
        for module in cycle["modules"]:
            expected[module["name"]] = (module["calls"], {None})
            for child in module["children"]:
                expected[child["name"]] = (child["calls"], {module["name"]})
        assert len(expected) == 12
        assert tree_of(trace) == expected


def test_memory_is_what_the_allocator_says(training):
    for trace, cycle in zip(training.traces, training.report["cycles"]):
        told = [event["args"] for event in instants(trace, "[memory]")]
        events = [args for args in told if "Allocated by" not in args]  # older than the cycle
        assert 0 < len(events) < len(told)
        allocated = [args["Bytes"] for args in events if args["Bytes"] > 0]
        freed = [-args["Bytes"] for args in events if args["Bytes"] < 0]
        assert cycle["memory"] == {
            "allocations": len(allocated), "frees": len(freed),
            "bytes_allocated": sum(allocated), "bytes_freed": sum(freed),
            "peak_allocated": max(args["Total Allocated"] for args in events),
            "peak_reserved": max(args["Total Reserved"] for args in events),
        }
        assert len(allocated) > 100
        assert all(args["Device Type"] == 0 for args in events)


def loader_spans(trace):
    return [event for event in spans(trace, "cpu_op", "user_annotation")
            if event["name"].startswith("enumerate(DataLoader)#")]


def test_time_in_the_loader_is_as_measured(training):
    for trace, cycle in zip(training.traces, training.report["cycles"]):
        assert cycle["data_loader"]["calls"] == 6
        recorded = sorted(loader_spans(trace), key=lambda event: event["ts"])
        check_durations([event["dur"] for event in recorded],
                        microseconds(cycle["steps"], "loader_seconds"))


def test_metadata_describes_each_cycle(training):
    for trace in training.traces:
        assert trace["model"] == "DigitNet"
        assert trace["hyperparameters"]["seed"] == training.report["options"]["seed"]


@pytest.fixture(scope="module")
def shown(trainings, tmp_path_factory):
    """TensorBoard over the runs with and without workers."""
    logdir = tmp_path_factory.mktemp("logdir")
    for name in ("workers 0", "workers 2"):
        (logdir / name).symlink_to(trainings[name].run)
    with TensorBoard(logdir, tmp_path_factory.mktemp("log") / "log") as server:
        yield server.wait_until_loaded()


def overview_shares(server, name):
    """The data loader's share of each step, cycle by cycle."""
    shares = []
    for profile in server.profiles(name):
        steps = server.get("overview", **profile)["steps"]
        assert [column["name"] for column in steps["columns"][1::2]][0] == "DataLoader"
        shares.append([row[1] / sum(row[1::2]) for row in steps["rows"]])
    return shares


@pytest.mark.parametrize("name", ["workers 0", "workers 2"])
def test_overview_shows_the_time_in_the_loader(shown, trainings, name):
    for shares, trace in zip(overview_shares(shown, name), trainings[name].traces):
        steps = step_spans(trace)
        recorded = sorted(loader_spans(trace), key=lambda event: event["ts"])
        assert shares == [pytest.approx(wait["dur"] / steps[number]["dur"], abs=0.001)
                          for number, wait in zip(sorted(steps), recorded, strict=True)]


def loading_on_the_main_thread(trace):
    [main] = {event["tid"] for event in step_spans(trace).values()}
    return {event["name"] for event in spans(trace, "cpu_op")
            if event["tid"] == main and "augment" in event["name"]}


def test_workers_take_the_loading_over(shown, trainings):
    """Without them the plugin recommends some, as it does from 5 per cent of the typical step on.
    What share is left with them is a matter of free processors; that it is all waiting is not."""
    shares = sum(overview_shares(shown, "workers 0"), [])
    assert statistics.median(shares) > 0.05
    assert all(map(loading_on_the_main_thread, trainings["workers 0"].traces))
    assert not any(map(loading_on_the_main_thread, trainings["workers 2"].traces))


def test_every_view_of_a_cpu_program_is_there(shown):
    for name in ("workers 0", "workers 2"):
        assert shown.get("views", run=name) == ["Overview", "Operator", "Trace", "Memory", "Module"]


def test_little_training_is_a_failure_with_a_reason(tmp_path):
    done = start(DIGITS, "--epochs", 1, cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(r"digits: [\d.]+ % is below the 95 % .*try more --epochs", done.stderr)


def test_too_high_a_rate_is_a_failure_with_a_reason(tmp_path):
    done = start(DIGITS, "--lr", "1e30", cwd=tmp_path)
    assert done.returncode == 1
    assert "digits: training has diverged" in done.stderr and "smaller --lr" in done.stderr


def test_a_trace_that_cannot_be_written_is_a_failure_after_training(tmp_path):
    (tmp_path / "taken").write_text("")
    done = start(DIGITS, "--logdir", "taken", cwd=tmp_path)
    assert done.returncode == 1
    assert "digits: profiler: " in done.stderr and "taken" in done.stderr
    assert "accuracy on 359" in done.stdout and "see them with" not in done.stdout


def test_few_steps_make_no_trace_and_that_is_said(tmp_path):
    done = start(DIGITS, "--epochs", 1, "--batch-size", 1000, cwd=tmp_path)
    assert "no trace: 2 steps are too few to reach a recorded one" in done.stdout


@pytest.mark.parametrize("arguments, complaint", [
    (["--epochs", "0"], '--epochs: "0" is not a whole number from 1 to 1000'),
    (["--epochs", "1x"], '--epochs: "1x" is not a whole number from 1 to 1000'),
    (["--batch-size", "99999999999999999999"], "--batch-size: "),
    (["--workers", "-1"], '--workers: "-1" is not a whole number from 0 to 64'),
    (["--lr", "nan"], '--lr: "nan" is not a number above 0'),
    (["--device", "cuda"], '--device: "cuda" is not cpu or hip'),
    (["--dialect", "perfetto"], '--dialect: "perfetto" is not tensorboard or kineto'),
    (["--logdir", ""], '--logdir: "" is not a path'),
    (["--frobnicate"], "unrecognized option '--frobnicate'"),
    (["--seed"], "option '--seed' requires an argument"),
    (["twice"], 'unexpected argument "twice"'),
])
def test_wrong_arguments_are_named(tmp_path, arguments, complaint):
    done = start(DIGITS, *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert not done.stdout and not list(tmp_path.iterdir())


@pytest.mark.parametrize("text, complaint", [
    (None, "No such file or directory"),
    (b"1,2,3\n", ":1: not 64 pixels of 0 to 16 and a label of 0 to 9"),
    (b"0," * 64 + b"3\n" + b"17," * 64 + b"3\n", ":2: not 64 pixels"),
    (b"0," * 64 + b"3\n", "1 digits are too few"),
])
def test_bad_data_is_named(tmp_path, text, complaint):
    data = tmp_path / "data.csv.gz"
    if text is not None:
        data.write_bytes(gzip.compress(text))
    done = start(DIGITS, "--data", data, cwd=tmp_path)
    assert done.returncode == 1
    assert str(data) in done.stderr and complaint in done.stderr


def test_help_lists_every_option(tmp_path):
    done = start(DIGITS, "--help", cwd=tmp_path)
    assert done.returncode == 0
    for option in ("device", "kernels", "check-device", "epochs", "batch-size", "workers", "lr", "seed", "logdir", "gzip", "dialect",
                   "with-stack", "report", "data", "help"):
        assert f"--{option} " in done.stdout


@pytest.mark.parametrize("program, arguments, traces", [
    ("digits/digits", ["--workers", 2, "--with-stack", "--logdir", "runs/a"], 2),
    ("digits/digits", ["--dialect", "kineto", "--gzip", "--logdir", "runs/a"], 2),
    ("minimal", [], 1), ("per_cycle", [], 3), ("own_transport", [], 2),
], ids=["tensorboard", "kineto", "minimal", "per_cycle", "own_transport"])
def test_a_cycle_in_memory_is_what_its_file_is(program, arguments, traces, tmp_path):
    run(SAMPLES / program, *arguments, cwd=tmp_path, env=dict(os.environ, **telling_cycles(tmp_path / "cycles")))
    written = sorted(tmp_path.glob("runs/*/*.pt.trace.json*"))
    assert len(written) == traces
    check_live_cycles(tmp_path / "cycles", written)


def test_minimal_makes_a_trace_of_three_steps(tmp_path):
    run(SAMPLES / "minimal", cwd=tmp_path)
    [trace] = load_traces(tmp_path / "runs/minimal")
    assert sorted(step_spans(trace)) == [2, 3, 4]
    products = [event for event in spans(trace, "cpu_op") if event["name"] == "aten::mm"]
    assert [event["args"]["Input Dims"] for event in products] == [[[200, 200], [200, 200]]] * 3


def test_per_cycle_prints_and_exports_each_cycle(tmp_path):
    output = run(SAMPLES / "per_cycle", cwd=tmp_path)
    traces = load_traces(tmp_path / "runs/per_cycle")
    cycles = re.findall(r"^cycle (\d+), complete at step (\d+)\n(-(?:.|\n)*?)"
                        r"slowest diffuse: ([\d.]+) us$", output, re.M)
    assert [cycle[:2] for cycle in cycles] == [("0", "6"), ("1", "12"), ("2", "18")]
    assert len(traces) == 3
    files = sorted((tmp_path / "runs/per_cycle").glob("*.pt.trace.json"))
    for (_, _, table, slowest), path, trace in zip(cycles, files, traces):
        assert table == run(BUILD / "tools/hipboard/hipboard", "table", "--group-by-input-shape",
                            "--sort-by", "self_cpu_time_total", path)
        [row] = [line.split() for line in table.splitlines() if " diffuse " in line]
        assert row[6] == "60" and row[7:] == ["[[256,", "256]]"]
        diffusions = [event["dur"] for event in spans(trace, "cpu_op")
                      if event["name"] == "diffuse"]
        assert float(slowest) == pytest.approx(max(diffusions), abs=0.1)


@pytest.mark.parametrize("sample, libraries", [
    ("minimal", []), ("per_cycle", ["-lhipboard-analysis", "-lm"]), ("event_log", ["-lm"]),
    ("digits", ["-lz", "-lm", "-pthread"]),
])
def test_each_sample_is_a_whole_project(sample, libraries, prefix, tmp_path):
    """As samples/README.md says: one line, with hipboard installed."""
    folder = ROOT / "samples" / sample
    [library] = prefix.glob("lib*/**/libhipboard.so")
    run("cc", "-Wall", "-Wextra", "-Werror", "-O2", "-o", tmp_path / sample,
        *sorted(folder.glob("*.c")), "-I", prefix / "include", "-L", library.parent, "-lhipboard",
        *libraries)
    if sample == "digits":
        shutil.copy(folder / "digits.csv.gz", tmp_path)
    run(tmp_path / sample, cwd=tmp_path, env=dict(os.environ, LD_LIBRARY_PATH=str(library.parent)))
    made = "*tfevents*" if sample == "event_log" else "*.pt.trace.json"
    assert list((tmp_path / "runs").glob("*/" + made))


def test_ranks_with_a_transport_of_their_own(tmp_path):
    """What is marked is written as MPI's calls are, and the late rank is the one that sleeps longer."""
    done = start(SAMPLES / "own_transport", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    logdir = tmp_path / "runs/own_transport"
    for rank, trace in enumerate(load_traces(logdir)):
        assert trace["distributedInfo"]["rank"] == rank
        sums = [e for e in trace["traceEvents"] if e["name"] == "own:all_reduce"]
        assert [(e["args"]["Collective name"], e["args"]["dtype"], e["args"]["In msg nelems"], e["args"]["Seq"])
                for e in sums] == [("allreduce", "Float", 4096, n) for n in range(1, 7)]
        assert len([e for e in trace["traceEvents"] if e["name"] == "gloo:all_reduce"]) == 6
        [word] = {e["name"] for e in trace["traceEvents"] if e["name"] in ("send", "recv")}
        assert word == ("send", "recv")[rank]
    study = json.loads(run(BUILD / "tools/hipboard/hipboard", "ranks", "--json", logdir))
    assert (study["collectives_found"], study["communicators"]) == (6, 1)
