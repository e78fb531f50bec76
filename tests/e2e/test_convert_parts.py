# SPDX-License-Identifier: MIT
"""`hipboard convert`, files of a part of a trace: which event comes into which, beside the plainest way to say it."""
import json
import math
import random
import subprocess
from pathlib import Path

import pytest

from support import BUILD, run

HIPBOARD = BUILD / "tools/hipboard/hipboard"

INF = math.inf


def x(cat, name, ts, dur, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def training(steps=6):
    """Steps of a millisecond, whose work runs when they are over; names are told once."""
    events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}},
              x("Trace", "PyTorch Profiler (0)", 400, 8000, tid="PyTorch Profiler")]
    for i in range(1, steps + 1):
        at = 1000 * i
        events += [x("user_annotation", f"ProfilerStep#{i}", at, 900),
                   x("cpu_op", f"op{i}", at + 10, 300, **{"External id": i}),
                   x("cuda_runtime", f"launch{i}", at + 20, 5, **{"External id": i, "correlation": i}),
                   {"ph": "s", "cat": "ac2g", "name": f"out{i}", "id": i, "pid": 1, "tid": 1, "ts": at + 20},
                   {"ph": "f", "bp": "e", "cat": "ac2g", "name": f"in{i}", "id": i, "pid": 0, "tid": 7, "ts": at + 1400},
                   x("kernel", f"kernel{i}", at + 1400, 50, tid=7, device=0, stream=7, correlation=i),
                   x("kernel", f"alone{i}", at + 950, 5, tid=7, device=0, stream=7, correlation=1000 + i),
                   {"ph": "s", "cat": "forward_backward", "name": f"flow{i}", "id": 50 + i, "pid": 1, "tid": 1, "ts": at + 30},
                   x("cpu_op", f"other{i}", at + 890.5, 300, tid=2)]
    return events


def is_everywhere(event):
    return "ts" not in event or event["cat"] == "Trace"


def time_of(event, calls):
    number = event["id"] if event.get("cat") == "ac2g" else event.get("args", {}).get("correlation")
    return calls.get(number, event["ts"])


def window(events, steps, time):
    start, end = -INF, INF
    first = min(event["ts"] for event in events if not is_everywhere(event))
    if time:
        start, end = first + time[0] if time[0] else start, first + time[1] if time[1] else end
    if steps:
        chosen = [e for e in events if e["name"].startswith("Prof") and steps[0] <= int(e["name"].split("#")[1]) <= steps[1]]
        start = max(start, min(event["ts"] for event in chosen))
        end = min(end, max(event["ts"] + event["dur"] for event in chosen))
    return start, end


def expected(events, steps=None, time=None, of_steps=0, of_us=0):
    """[(start, end, events)] of the files."""
    calls = {event["args"]["correlation"]: event["ts"] for event in events if event.get("cat") == "cuda_runtime"}
    start, end = window(events, steps, time)
    when = {event["name"]: time_of(event, calls) for event in events if not is_everywhere(event)}
    inside = sorted(at for at in when.values() if start <= at < end)
    cuts, counted = [], 0
    places = [(inside[0] + i * of_us, 0) for i in range(int((inside[-1] - inside[0]) // of_us) + 1)] if of_us else []
    begins = [e["ts"] for e in events if e["name"].startswith("ProfilerStep") and start <= e["ts"] < end]
    for at, is_step in sorted(places + [(at, 1) for at in begins]):
        if not is_step or (of_steps and counted >= of_steps):
            cuts.append(at)
            counted = 0
        counted += is_step
    bounds = [start]
    for at in cuts:
        if start < at < end and any(bounds[-1] <= t < at for t in inside) and any(at <= t for t in inside):
            bounds.append(at)
    bounds.append(end)
    return [(a, b, [e for e in events if is_everywhere(e) or (a <= when[e["name"]] < b and start <= when[e["name"]])])
            for a, b in zip(bounds, bounds[1:])]


def converted(events, directory, *options, **members):
    file = directory / "trace.json"
    file.write_text(json.dumps({**members, "traceEvents": events}))
    said = json.loads(run(HIPBOARD, "convert", file, "-o", directory / "out", "--json", "--force", *options))
    return [(Path(path).stat().st_size, json.loads(Path(path).read_text())["traceEvents"]) for path in said["files"]]


CHOICES = [
    ({}, []),
    ({"steps": (2, 4)}, ["--steps", "2:4"]),
    ({"steps": (2, INF)}, ["--steps", "2:"]),
    ({"steps": (-INF, 2)}, ["--steps", ":2"]),
    ({"steps": (3, 3)}, ["--steps", "3:3"]),
    ({"time": (2000, 0)}, ["--time", "0.002:"]),
    ({"time": (0, 2000)}, ["--time", ":0.002"]),
    ({"time": (0, 2000.001)}, ["--time", ":0.002000001"]),
    ({"time": (1010, 3020)}, ["--time", "0.00101:0.00302"]),
    ({"time": (7399.5, 0)}, ["--time", "0.0073995:"]), # of the profiler's own span less than a microsecond
    ({"steps": (2, 4), "time": (2500, 0)}, ["--steps", "2:4", "--time", "0.0025:"]),
    ({"steps": (2, 4), "time": (0, 2500)}, ["--steps", "2:4", "--time", ":0.0025"]),
    ({"of_steps": 1}, ["--split", "1steps"]),
    ({"of_steps": 2}, ["--split", "2steps"]),
    ({"of_steps": 4}, ["--split", "4steps"]),
    ({"of_steps": 6}, ["--split", "6steps"]),
    ({"of_us": 1000}, ["--split", "1ms"]),
    ({"of_us": 1500}, ["--split", "1.5ms"]),
    ({"of_us": 90}, ["--split", "0.09ms"]),
    ({"of_us": 10000}, ["--split", "10ms"]),
    ({"of_us": 2200, "of_steps": 2}, ["--split", "2.2ms", "--split", "2steps"]),
    ({"steps": (2, 5), "of_steps": 2}, ["--steps", "2:5", "--split", "2steps"]),
    ({"time": (900, 3900), "of_us": 800}, ["--time", "0.0009:0.0039", "--split", "0.8ms"]),
]


@pytest.mark.parametrize("choice, options", CHOICES, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_an_event_is_in_the_part_of_its_call(choice, options, tmp_path):
    events = training()
    parts = expected(events, **choice)
    files = converted(events, tmp_path, *options)
    assert [[event["name"] for event in file] for _, file in files] == \
           [[event["name"] for event in part] for _, _, part in parts]
    for (_, file), (start, end, part) in zip(files, parts):
        [span] = [event for event in file if event["cat" if "cat" in event else "ph"] == "Trace"]
        first, last = max(400, start), min(8400, end)
        assert (span["ts"], span["ts"] + span["dur"]) == pytest.approx((first, max(last, first + 1)))
        # Half a pair is none, and what is cut may have halves.
        flows = {event["cat"] for event in file if event["name"].startswith("flow")}
        whole = len(parts) == 1 and (start, end) == (-INF, INF)
        assert flows <= {"forward_backward" if whole else "fwdbwd"}
        assert [(e["ts"], e["dur"]) for e in file if e.get("cat") == "kernel"] == \
               [(e["ts"], e["dur"]) for e in part if e.get("cat") == "kernel"]


@pytest.mark.parametrize("choice, options", [CHOICES[i] for i in (0, 5, 6, 9, 13, 16)],
                         ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_parts_of_times_that_are_taken_back(choice, options, tmp_path):
    """Cut by the times that the file has; then all of them become what they were before a clock was corrected."""
    events = training()
    clock = {"method": "collectives", "reference_rank": 0, "applied": True, "at_ns": 0, "offset_ns": 250_500,
             "drift_ps_per_s": 0, "bound_ns": 10}
    files = converted(events, tmp_path, "--align", "none", *options, baseTimeNanoseconds=0, hipboard_clock=clock)
    parts = expected(events, **choice)
    assert len(files) == len(parts)
    for (_, file), (start, end, part) in zip(files, parts):
        for event, was in zip(file, part, strict=True):
            assert event["name"] == was["name"]
            if event.get("cat") == "Trace":
                first = max(400, start)
                last = max(min(8400, end), first + 1)
                assert (event["ts"], event["ts"] + event["dur"]) == pytest.approx((first - 250.5, last - 250.5))
            elif "ts" in was:
                assert (event["ts"], event.get("dur")) == pytest.approx((was["ts"] - 250.5, was.get("dur")))


@pytest.mark.parametrize("limit", [2000, 3500, 5000, 9000])
def test_a_file_begins_with_a_step_and_is_no_larger_than_it_may_be(limit, tmp_path):
    events = training(12)
    files = converted(events, tmp_path, "--max-size", str(limit))
    sizes, parts = zip(*files)
    names = [event["name"] for part in parts for event in part if not is_everywhere(event)]
    assert sorted(names) == sorted(event["name"] for event in events if not is_everywhere(event)) and len(files) > 1
    steps = [[event["ts"] for event in part if event["name"].startswith("ProfilerStep")] for part in parts]
    assert all(steps) and sum(steps, []) == [1000 * i for i in range(1, 13)]
    each = max(sizes) if all(len(some) == 1 for some in steps) else limit
    assert all(size <= each for size in sizes)
    # As many of them as fit: with one step more all but the last would be too large.
    step = (sum(sizes) - len(files) * 700) / 12
    assert all(size + step > 0.8 * limit for size in sizes[:-1])


def test_without_steps_a_file_begins_where_nothing_runs(tmp_path):
    """Operators that lie in others, of two threads that overlap now and then."""
    events = []
    for i in range(20):
        at = 1000 * i
        events += [x("cpu_op", f"outer{i}", at, 600), x("cpu_op", f"inner{i}", at + 10, 500), x("cpu_op", f"leaf{i}", at + 520, 10)]
        if i % 4 == 1: # from this one into the next
            events.append(x("cpu_op", f"bridge{i}", at + 550, 600, tid=2))
    files = converted(events, tmp_path, "--max-size", "900")
    free = {event["name"] for event in events
            if not any(other["ts"] < event["ts"] < other["ts"] + other["dur"] for other in events)}
    begins = [min(part, key=lambda event: event["ts"])["name"] for _, part in files]
    assert len(files) > 5 and set(begins) <= free
    # Where one may be cut, and none is larger than it must be.
    assert [name for _, part in files for name in (event["name"] for event in part)] == [event["name"] for event in events]


@pytest.mark.parametrize("options, message", [
    (["--steps", "9:"], "has none of these steps"),
    (["--steps", ":0"], "has none of these steps"),
    (["--split", "0.00001ms"], "split it by longer times"),
])
def test_a_part_that_is_not_there_is_told(options, message, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": training()}))
    done = subprocess.run([HIPBOARD, "convert", tmp_path / "t.json", "-o", tmp_path / "out", *options],
                          capture_output=True, text=True)
    assert done.returncode == 1 and message in done.stderr and not list(tmp_path.glob("out/*"))


def test_the_time_asked_for_may_be_empty(tmp_path):
    [(_, events)] = converted(training(), tmp_path, "--time", "100:")
    assert [event["name"] for event in events] == ["process_name", "PyTorch Profiler (0)"]


def profile(path):
    from torch_tb_profiler.profiler.data import RunProfileData
    return RunProfileData.parse("worker", "1", str(path), str(path.parent))


def random_steps(chance):
    """Of a few microseconds, so that what begins and ends together comes often."""
    events, at, number = [], 10, 0
    for i in range(chance.randint(1, 4)):
        took = chance.choice([0, 1, 2, 5])
        events.append(x("user_annotation", f"ProfilerStep#{i}", at, took))
        at += took + chance.choice([0, 0, 1, 3])
    for _ in range(chance.randint(0, 5)):
        number += 1
        call = chance.randint(5, at + 2)
        if chance.random() < .8:
            events.append(x("cuda_runtime", "hipLaunchKernel", call, chance.choice([.25, 1]), correlation=number))
        events.append(x("kernel", "k", call + chance.choice([-3, 0, 1, 4, 9]), chance.choice([0, 1, 4, 12]), tid=7, device=0,
                        stream=7, correlation=number))
    chance.shuffle(events)
    return events


def lengths_of_steps(events, file):
    """{number: length}, as the plugin has it; it leaves out the last ones that have no work."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"traceEvents": events}))
    shown = profile(file)
    return dict(zip(shown.steps_names, (cost.costs[-1] for cost in shown.steps_costs)))


def numbers_of(events):
    steps = [e for e in events if e["name"].startswith("ProfilerStep") and e["cat"] == "user_annotation"]
    return [e["name"].split("#")[1] for e in sorted(steps, key=lambda e: e["ts"])]


def test_the_plugin_finds_a_length_of_each_step(tmp_path):
    """It moves their borders to the end of the work that was begun in them, and divides by what is left: a step that
    is swallowed by the work of those before it is none, and no other is hidden."""
    chance, hidden, file = random.Random(5), 0, tmp_path / "r/w.1.pt.trace.json"
    for number in range(30):
        events = random_steps(chance)
        [(_, made)] = converted(events, tmp_path)
        lengths, kept = lengths_of_steps(made, file), numbers_of(made)
        assert list(lengths) == kept[:len(lengths)] and all(length > 0 for length in lengths.values()), (number, events)
        away = set(numbers_of(events)) - set(kept)
        if not away:
            continue
        hidden += len(away)
        for event in made:
            event["cat"] = "user_annotation" if event["name"].startswith("ProfilerStep") else event["cat"]
        lengths = lengths_of_steps(made, file)
        assert all(lengths.get(step, 0) <= 0 for step in away), (number, events)
    assert hidden > 4


def test_what_stands_in_all_files_is_changed_once(tmp_path):
    """The header, and events without a time."""
    device = {"id": 0, "name": "GPU", "totalGlobalMem": 1, "computeMajor": "9", "computeMinor": "4"}
    odd = {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "args": {"Device Type": 0, "Bytes": 1}}
    for e in (events := training() + [odd]):
        if e["name"] == "kernel6":
            e["args"]["device"] = 1
    (tmp_path / "t.json").write_text(json.dumps({"odd": "a\tb", "deviceProperties": [device], "traceEvents": events})
                                     .replace("\\t", "\t"))
    said = [json.loads(run(HIPBOARD, "convert", "--json", *options, "-o", tmp_path / str(len(options)),
                           tmp_path / "t.json")) for options in ([], ["--split", "1steps"])]
    assert [len(s["files"]) for s in said] == [1, 6]
    changed = [{key: s["changed"].get(key) for key in ("text_mended", "compute_text", "device_properties", "odd")}
               for s in said]
    assert changed[0] == changed[1] and None not in list(changed[0].values())[:3], said
