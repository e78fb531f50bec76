# SPDX-License-Identifier: MIT
"""`hipboard check`: a trace for each way to break what the plugin needs. Whether a file or a run is
lost is asked of the plugin itself."""
import copy
import ctypes
import json
import subprocess

import pytest

import plugin_in_process
from support import BUILD, ROOT, in_seconds, run


def event(cat, name, ts, dur, tid=1, pid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": args}


def memory(ts, **args):
    return {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "s": "t",
            "args": {"Device Type": 1, "Device Id": 0, "Addr": 64, "Bytes": 512,
                     "Total Allocated": 512, "Total Reserved": 512, **args}}


STEP, OP, INNER, CALL, KERNEL, MEMORY, SPAN = range(7)
EVENTS = [
    event("user_annotation", "ProfilerStep#1", 100, 100),
    event("cpu_op", "aten::mm", 110, 50, **{"External id": 7, "Input Dims": [[2, 2]],
                                            "Input type": ["float"]}),
    event("cpu_op", "aten::add", 120, 10, **{"External id": 8}),
    event("Runtime", "hipLaunchKernel", 132, 3, **{"External id": 7, "correlation": 9}),
    event("kernel", "gemm", 140, 20, 7, 0, **{
        "External id": 7, "correlation": 9, "device": 0, "grid": [1, 1, 1], "block": [64, 1, 1],
        "blocks per SM": 1, "est. achieved occupancy %": 50}),
    memory(122),
    event("Trace", "PyTorch Profiler (0)", 90, 200, "a", "Spans"),
]
PROPERTIES = [{"id": 0, "name": "GPU", "totalGlobalMem": 1 << 30, "computeMajor": 9,
               "computeMinor": 0}]


def trace(events, **members):
    """The text, and where each event begins in it."""
    head = json.dumps({"schemaVersion": 1, "deviceProperties": PROPERTIES, **members})[:-1]
    text, offsets = head + ', "traceEvents": [', []
    for e in events:
        text += ", " if offsets else ""
        offsets.append(len(text.encode()))
        text += e if isinstance(e, str) else json.dumps(e)
    return text + "]}", offsets


def check(*paths):
    done = subprocess.run([BUILD / "tools/hipboard/hipboard", "check", "--json", *paths],
                          capture_output=True, text=True, timeout=600)
    assert not done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


def strict(path):
    return subprocess.run([BUILD / "tools/hipboard/hipboard", "check", "--strict", path],
                          capture_output=True, text=True, timeout=600)


def convert(directory, to):
    run(BUILD / "tools/hipboard/hipboard", "convert", "-o", to, directory)


def write(directory, text, name="host_1.1.pt.trace.json"):
    directory.mkdir(exist_ok=True)
    (directory / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return directory / name


def shown(directory):
    """Workers that the plugin shows of the only run."""
    plugin = plugin_in_process.Plugin(directory)
    runs = plugin.get("runs")[1]["runs"]
    return plugin.get(f"workers?run={runs[0]}&view=Overview")[1] if runs else None


def without(index, key):
    def change(events):
        del events[index][key]
    return change


def setting(index, **members):
    return lambda events: events[index].update(members)


def args(index, **members):
    return lambda events: events[index]["args"].update(
        {key.replace("_", " "): value for key, value in members.items()})


def adding(*more):
    return lambda events: events.extend(copy.deepcopy(list(more)))


def twice(*changes):
    def change(events):
        for one in changes:
            one(events)
    return change


def test_a_complete_trace_has_no_findings(tmp_path):
    path = write(tmp_path / "run", trace(EVENTS)[0])
    assert check(path) == ([], 0)
    assert shown(tmp_path / "run") == ["host_1"]
    assert strict(path).returncode == 0


# Rule, event that breaks it, how.
LOST = [
    ("NAME", OP, without(OP, "name")),
    ("NAME", KERNEL, setting(KERNEL, name=7)),
    ("NAME", CALL, without(CALL, "name")),
    ("CATEGORY", OP, without(OP, "cat")),
    ("CATEGORY", SPAN, setting(SPAN, cat=None)),
    ("ARGS", OP, setting(OP, args=None)),
    ("TS", CALL, setting(CALL, ts="132")),
    ("TS", MEMORY, without(MEMORY, "ts")),
    ("DUR", KERNEL, setting(KERNEL, dur=None)),
    ("TID", OP, setting(OP, tid="stream 7")),
    ("TID", STEP, without(STEP, "tid")),
    ("MEMORY_X", MEMORY, setting(MEMORY, ph="X", cat="memory", dur=1)),
    ("STEP_NUMBER", STEP, setting(STEP, name="ProfilerStep#one")),
    ("DEVICE", KERNEL, args(KERNEL, device="0")),
    ("DEVICE", KERNEL, args(KERNEL, device=64)),
    ("RATIO", KERNEL, args(KERNEL, blocks_per_SM="1")),
    ("RATIO", KERNEL, lambda events: events[KERNEL]["args"].update(
        {"est. achieved occupancy %": "50"})),
    ("BYTES", MEMORY, args(MEMORY, Bytes="512")),
    ("FLOW", 7, adding({"ph": "s", "cat": "forward_backward", "name": "f", "id": 1, "pid": 1,
                        "tid": 1})),
    ("PIDS", 7, adding(event("gpu_memcpy", "copy", 150, 1, 7, "GPU 1", correlation=9))),
    # What only the analysis of the whole finds:
    ("LOST", KERNEL, lambda events: events[KERNEL]["args"].pop("device")),
    ("LOST", None, setting(STEP, dur=0)),
    ("LOST", None, args(MEMORY, Device_Id=5)),
    ("LOST", 7, adding({**memory(125), "tid": "thread"})),
]


@pytest.mark.parametrize("rule, index, change", LOST)
def test_lost_files(rule, index, change, tmp_path):
    events = copy.deepcopy(EVENTS)
    change(events)
    text, offsets = trace(events)
    path = write(tmp_path / "run", text)
    found, status = check(path)
    assert status == 1
    [finding] = [f for f in found if f["rule"] == rule]
    assert finding["effect"] == "file lost" and finding["path"] == str(path)
    assert finding.get("event") == index
    if index is not None:
        assert finding["offset"] == offsets[index]
    assert not shown(tmp_path / "run")


LOSING = {rule for rule, _, _ in LOST}
# What Python's JSON has, of every kind; ABSENT: the member is not there.
ABSENT = object()
ODD = [ABSENT, None, True, False, 1, -1, 63, 64, -64, -65, 2.5, "", "9", " 0 ", "+7", "7_0", "7x", "/", ":", [], [7], {}]
PLACES = [(OP, key) for key in ("name", "cat", "ts", "dur", "tid", "pid", "args", "ph")]
PLACES += [(CALL, key) for key in ("name", "ts", "dur", "tid", "args")]
PLACES += [(KERNEL, key) for key in ("name", "ts", "dur", "pid", "tid")]
PLACES += [(MEMORY, key) for key in ("name", "ts", "tid", "args")]
PLACES += [(SPAN, key) for key in ("name", "cat", "ts", "dur")] + [(STEP, "name"), (STEP, "tid")]
ARGUMENTS = [(KERNEL, "device"), (KERNEL, "blocks per SM"), (KERNEL, "est. achieved occupancy %"),
             (KERNEL, "correlation"), (MEMORY, "Bytes"), (MEMORY, "Total Allocated"), (MEMORY, "Addr"),
             (MEMORY, "Total Reserved"), (MEMORY, "Device Type"), (MEMORY, "Device Id"), (OP, "External id"),
             (OP, "Input Dims"), (OP, "Input type"), (OP, "Call stack"), (CALL, "External id"), (CALL, "correlation"),
             (KERNEL, "External id"), (KERNEL, "grid"), (KERNEL, "block"), (KERNEL, "stream")]


@pytest.mark.parametrize("index, key, inside", [(*place, False) for place in PLACES] +
                         [(*place, True) for place in ARGUMENTS])
def test_what_is_lost_is_lost_to_the_plugin(index, key, inside, tmp_path):
    """Whatever stands where: `check` fails where the plugin does not show the file, and only there; and says
    which event that is. What `convert` makes of it is shown always, and converted for good."""
    (tmp_path / "odd").mkdir()
    for i, odd in enumerate(ODD):
        events = copy.deepcopy(EVENTS)
        place = events[index]["args"] if inside else events[index]
        place[key] = odd
        if odd is ABSENT:
            del place[key]
        place = tmp_path / "odd" / str(i)
        found, status = check(write(place, trace(events)[0]))
        lost = [f for f in found if f["effect"] == "file lost"]
        assert bool(shown(place)) == (status == 0) == (not lost), (odd, found)
        assert lost or not LOSING & {f["rule"] for f in found}, (odd, found)
        assert {f.get("event", index) for f in lost} <= {index}, (odd, found)
    convert(tmp_path / "odd", tmp_path / "mended")
    plugin = plugin_in_process.Plugin(tmp_path / "mended")
    for i, odd in enumerate(ODD):
        assert plugin.get(f"workers?run={i}&view=Overview")[1] == ["host_1"], odd
    convert(tmp_path / "mended", tmp_path / "again")
    for i, odd in enumerate(ODD):
        once, twice = ((tmp_path / name / str(i) / "host_1.1.pt.trace.json").read_bytes() for name in ("mended", "again"))
        assert once == twice, odd


NAN, INF = float("nan"), float("inf")
LAST = [event("cpu_op", "x", 400, 5), event("python_function", "nn.Module: x", 400, 5, **{"Python id": 1, "Python module id": 0}),
        event("Runtime", "x", 400, 5, correlation=5), event("kernel", "x", 400, 5, 7, 0, device=0, correlation=5),
        event("gpu_memcpy", "x", 400, 5, 7, 0, device=0, correlation=5), event("Trace", "x", 400, 5),
        event("user_annotation", "ProfilerStep#2", 400, 5), memory(400)]


@pytest.mark.parametrize("last", LAST, ids=lambda last: last.get("cat", last["name"]))
def test_times_that_are_not_finite(last, tmp_path):
    """Python reads NaN and Infinity as JSON. As the begin of an operator, a step, a kernel or a record of
    memory, and as a kernel's duration, they lose the file; else it depends on what stands beside: all are told.
    Converted, all are shown."""
    lose = {"kernel": ("ts", "dur"), "user_annotation": ("ts",), "cpu_op": ("ts",)}.get(last.get("cat"), ())
    for i, (key, value) in enumerate((key, value) for key in ("ts", "dur")[:2 if "dur" in last else 1]
                                     for value in (NAN, INF, -INF)):
        place = tmp_path / "odd" / str(i)
        place.parent.mkdir(exist_ok=True)
        found, status = check(write(place, trace([*EVENTS, {**last, key: value}])[0]))
        assert (key.upper(), 7) in [(f["rule"], f.get("event")) for f in found], (key, value)
        lost = not shown(place)
        if key in lose or last["name"] == "[memory]":
            assert lost and status, (key, value)
    convert(tmp_path / "odd", tmp_path / "mended")
    plugin = plugin_in_process.Plugin(tmp_path / "mended")
    assert all(plugin.get(f"workers?run={k}&view=Overview")[1] == ["host_1"] for k in range(i + 1))


@pytest.mark.parametrize("tid", [NAN, INF, -INF])
def test_a_record_of_memory_on_a_thread_that_is_none(tid, tmp_path):
    found, status = check(write(tmp_path / "run", trace([*EVENTS, {**memory(400), "tid": tid}])[0]))
    assert ([(f["rule"], f["event"]) for f in found if f["effect"] == "file lost"], status) == ([("LOST", 7)], 1)
    assert not shown(tmp_path / "run")


# The text itself: how it is broken, at which byte, whether the plugin lives with it.
TEXTS = [
    ("unescaped quote", lambda t: t.replace("aten::add", 'a "b" c'), b'"b" c', True),
    ("invalid backslash", lambda t: t.replace("aten::add", "C:\\\\dir").replace("\\\\", "\\"),
     b"\\dir", True),
    ("invalid UTF-8", lambda t: t.encode().replace(b"aten::add", b"a\xff"), b"\xff", True),
    ("ends too early", lambda t: t[:-20], None, True),
    ("text after the end", lambda t: t + " x", b" x", True),
    ("comma before", lambda t: t[:-2] + ",]}", b"]}", True),
    ("not JSON", lambda t: t.replace('"name": "aten::add"', '"name" "aten::add"'),
     b'"aten::add"', True),
    ("list of events", lambda t: t[t.index('[{"ph"'):-1], b'[{"ph"', True),
    ("control character", lambda t: t.replace("aten::add", "a\tb"), b"\tb", False),
    ("N/A without quotes", lambda t: t.replace('"aten::add"', "N/A"), b"N/A", False),
]


@pytest.mark.parametrize("what, change, at, lost", TEXTS)
def test_broken_texts(what, change, at, lost, tmp_path):
    text = change(trace(EVENTS)[0])
    text = text if isinstance(text, bytes) else text.encode()
    path = write(tmp_path / "run", text)
    found, status = check(path)
    [finding] = [f for f in found if f["rule"] == "TEXT" and what in f["text"]]
    if at is not None:
        assert finding["offset"] in (text.index(at), text.index(at) + 1, text.rindex(at))
    assert (finding["effect"] == "file lost") == lost and status == lost
    assert bool(shown(tmp_path / "run")) != lost
    for finding in (f for f in found if f["rule"] == "LOST" and f["text"].startswith("byte ")):
        with pytest.raises(json.JSONDecodeError) as stumbled:
            json.loads(text)
        assert finding["offset"] == stumbled.value.pos and finding["text"].startswith(f"byte {finding['offset']}: ")


# What the plugin mends one at a time: how it comes into the text, what it is called.
MENDED = [("aten::add", b"a\tb", "control character in a string"), ('"Spans"', b"N/A", "N/A without quotes"),
          ("aten::mm", b"a\xed\xa0\x80", "UTF-8 encoded surrogate"), ("gemm", b"has N/A in it", None)]


@pytest.mark.parametrize("kinds", range(1 << len(MENDED)))
def test_what_the_plugin_mends(kinds, tmp_path):
    """Each alone and beside each other: some it does not mend where there is a bare N/A as well. Then the file is
    told to be lost, by none of those that it mends alone; and so it is by what no reader takes."""
    text, told = trace(EVENTS)[0].encode(), set()
    for i, (old, new, name) in enumerate(MENDED):
        if kinds >> i & 1:
            text, told = text.replace(old.encode(), new), told | ({(name, "wrong")} if name else set())
    for broken, more in ((b"", set()), (b" x", {("text after the end", "file lost")})):
        found, status = check(write(tmp_path / "run", text + broken))
        lost = not shown(tmp_path)
        assert {(f["text"], f["effect"]) for f in found if f["rule"] == "TEXT"} == told | more
        assert [f["effect"] for f in found if f["rule"] == "LOST"] == ["file lost"] * lost and status == lost


def test_garbage(tmp_path):
    for text in ("", "hello", "{}", '{"traceEvents": 7}', "[" * 1000000, "{" * 1000):
        found, status = check(write(tmp_path / "run", text))
        assert status == 1 and found[0]["effect"] == "file lost"
    found, status = check(write(tmp_path / "run", "no gzip", "x.pt.trace.json.gz"))
    assert status == 1 and "gzip" in found[0]["text"]


COLLECTIVE = event("cpu_op", "nccl:all_reduce", 165, 5, **{
    "External id": 20, "Input Dims": [[4]], "Input type": ["float"]})

WRONG = [
    ("RUNTIME_CATEGORY", CALL, setting(CALL, cat="hip_runtime")),
    ("SCOPE_CATEGORY", 7, adding(event("user_annotation", "Optimizer.step#SGD.step", 170, 5))),
    ("GPU_STEP", 7, adding(event("gpu_user_annotation", "ProfilerStep#1", 101, 90, 7, 0))),
    ("MEMORY_TYPE", MEMORY, args(MEMORY, Device_Type=6)),
    ("MEMORY_TYPE", MEMORY, args(MEMORY, Device_Type=2)),
    ("MEMORY_TYPE", MEMORY, args(MEMORY, Device_Type="1")),
    ("MEMORY_ADDR", MEMORY, lambda events: events[MEMORY]["args"].pop("Addr")),
    ("COLLECTIVE", 7, adding(event("cpu_op", "nccl:all_to_all", 165, 5))),
    ("CROSSING", INNER, setting(INNER, dur=60)),
    ("NO_CALL", KERNEL, args(KERNEL, correlation=10)),
    ("NO_OPERATOR", CALL, args(CALL, External_id=99)),
    ("WRONG_OPERATOR", CALL, twice(args(CALL, External_id=9, correlation=9),
                                   adding(event("cpu_op", "late", 190, 5, **{"External id": 9})))),
    ("DOUBLE_ID", INNER, args(INNER, External_id=7)),
    ("DEVICE_PID", KERNEL, setting(KERNEL, pid=3)),
    ("SHARED_TID", INNER, setting(INNER, pid=2)),
]


@pytest.mark.parametrize("name, told", [
    ('a "q" \\ \u00e9 \U0001d11e', 'a "q" \\ \u00e9 \U0001d11e'), ("\u00e9" * 63 + "ab", "\u00e9" * 63 + "a"),
    ("\u00e9" * 64, "\u00e9" * 63), ("x" * 200, "x" * 127)])
def test_names_of_events_are_told_as_they_are(name, told, tmp_path):
    """Whole characters of the first 127 bytes."""
    events = copy.deepcopy(EVENTS)
    events[OP]["name"] = name
    del events[OP]["tid"]
    found, _ = check(write(tmp_path / "run", trace(events)[0]))
    assert told in [f.get("name") for f in found]


@pytest.mark.parametrize("rule, index, change", WRONG)
def test_what_is_ignored_or_counted_wrongly(rule, index, change, tmp_path):
    events = copy.deepcopy(EVENTS)
    change(events)
    text, offsets = trace(events)
    path = write(tmp_path / "run", text)
    found, status = check(path)
    [finding] = [f for f in found if f["rule"] == rule]
    assert status == 0 and strict(path).returncode == 1
    assert finding["effect"] == "wrong"
    assert (finding["event"], finding["offset"]) == (index, offsets[index])
    assert shown(tmp_path / "run") == ["host_1"]


NOTES = [
    ("ANNOTATION", 7, adding(event("user_annotation", "mine", 170, 5))),
    ("FLOWS", 7, adding({"ph": "s", "cat": "forward_backward", "name": "f", "id": 1, "pid": 1,
                         "tid": 1, "ts": 111})),
    ("FAR", 7, adding(event("Trace", "in 2100", 4102444800000000, 1))),
    ("FAR", 7, adding(event("Trace", "in 1800", -5364662400000000.5, 1))),
    ("ROUNDED", 7, adding(event("Trace", "late", 1795256296196340.25, 1))),
]


@pytest.mark.parametrize("rule, index, change", NOTES)
def test_notes(rule, index, change, tmp_path):
    events = copy.deepcopy(EVENTS)
    change(events)
    found, _ = check(write(tmp_path / "run", trace(events)[0]))
    [finding] = [f for f in found if f["rule"] == rule]
    assert finding["effect"] == "note" and finding["event"] == index


def test_brackets_behind_the_events(tmp_path):
    text = trace(EVENTS)[0][:-1] + ', "WARNING": ["late"]}'
    found, _ = check(write(tmp_path / "run", text))
    assert [(f["rule"], f["name"]) for f in found] == [("BRACKET", "WARNING")]


@pytest.mark.parametrize("broken", [{"Input type": None}, {"Input type": []},
                                    {"Input Dims": [[[4], [4]]]}])
def test_lost_runs(broken, tmp_path):
    events = copy.deepcopy(EVENTS) + [copy.deepcopy(COLLECTIVE)]
    assert check(write(tmp_path / "fine", trace(events)[0]))[1] == 0
    assert shown(tmp_path / "fine") == ["host_1"]
    events[7]["args"].update(broken)
    events[7]["args"] = {k: v for k, v in events[7]["args"].items() if v is not None}
    path = write(tmp_path / "run", trace(events)[0])
    found, status = check(tmp_path / "run")
    assert status == 1 and shown(tmp_path / "run") is None
    assert {f["rule"] for f in found if f["effect"] == "run lost"} == {"RUN_LOST", "INPUT_TYPE"}
    [finding] = [f for f in found if f["rule"] == "INPUT_TYPE"]
    assert finding["path"] == str(path) and finding["event"] == 7


# Of scopes: what the plugin has in its Distributed view, what it has not, and what is none.
COLLECTIVES = {"nccl:all_reduce": "known", "gloo:broadcast": "known", "nccl:all_to_all": "told", "nccl:send": "told",
               "rccl:x": "told", "mpi:wait": "told", "nccl:coalesced": "none", "c10d::allreduce_": "told", "all_reduce": "none",
               "nccl": "none"}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_that_the_plugin_knows(name, tmp_path):
    for worker in ("a_0", "a_1"):
        events = [*EVENTS, {**COLLECTIVE, "name": name}]
        write(tmp_path / "run", trace(events)[0], f"{worker}.pt.trace.json")
    found, status = check(tmp_path)
    told = {f["event"] for f in found if f["rule"] == "COLLECTIVE"}
    workers = plugin_in_process.Plugin(tmp_path).get("workers?run=run&view=Distributed")[1]
    assert (bool(told), workers == ["All"]) == (COLLECTIVES[name] == "told", COLLECTIVES[name] == "known")
    assert told <= {7} and status == 0


@pytest.mark.parametrize("depth, lost", [(195, False), (196, False), (197, True), (260, True)])
def test_deep_calls(depth, lost, tmp_path):
    events = copy.deepcopy(EVENTS) + [event("cpu_op", f"f{i}", 1000 + i, 1000 - 2 * i) for i in range(depth)]
    path = write(tmp_path / "run", trace(events)[0])
    for place in (path, tmp_path / "run"):
        found, status = check(place)
        assert (status, [f["effect"] for f in found if f["rule"] == "DEEP"]) == (lost, ["run lost"] * lost)


def test_names_of_files(tmp_path):
    text = trace(EVENTS + [COLLECTIVE])[0]
    run = tmp_path / "run"
    for name in ("All.pt.trace.json", ".pt.trace.json", "plain.pt.trace.json",
                 "host_1.100.pt.trace.json", "host_1.99.pt.trace.json", "host_2.json",
                 "host_3.trace.json.gz"):
        write(run, text, name)
    found, status = check(run)
    assert status == 1
    names = {(f["rule"], f["path"].rsplit("/", 1)[1]) for f in found if f["rule"] != "NO_VIEW"}
    assert names >= {("WORKER_ALL", "All.pt.trace.json"), ("WORKER_EMPTY", ".pt.trace.json"),
                     ("WORKER_NAME", "plain.pt.trace.json"), ("STRAY", "host_2.json"),
                     ("SPAN_ORDER", "host_1.99.pt.trace.json"), ("STRAY", "host_3.trace.json.gz")}
    assert ("WORKER_NAME", "host_1.100.pt.trace.json") not in names


@pytest.mark.parametrize("name", ["a", "a_", "_", "1", "a_b", "a_:", "a_-1", "a_1", "a_1_", "_1", "__0", "a_9_b_c",
                                  "a_b_2c"])
def test_names_of_workers_that_say_a_node(name, tmp_path):
    """The plugin has what stands before the last number, or the whole name."""
    for worker in (name, "host_9"):
        write(tmp_path / "run", trace(EVENTS + [COLLECTIVE])[0], f"{worker}.pt.trace.json")
    nodes = plugin_in_process.Plugin(tmp_path).get("distributed/gpuinfo?run=run&worker=All&span=default")[1]["data"]
    found, _ = check(tmp_path)
    told = [f["path"].rsplit("/", 1)[1] for f in found if f["rule"] == "WORKER_NAME"]
    assert told == [f"{name}.pt.trace.json"] * (name in nodes)


def test_spans_out_of_order(tmp_path):
    """As texts 1000 stands before 99: what has fewer digits than the one before it is told, of the same worker."""
    for name in ("a.1000", "a.99", "a.998", "b.1", "b.20", "c.3", "d", "e.10000", "e.2", "e.30"):
        write(tmp_path / "run", trace(EVENTS)[0], f"{name}.pt.trace.json")
    told = [f["path"].rsplit("/", 1)[1] for f in check(tmp_path)[0] if f["rule"] == "SPAN_ORDER"]
    assert told == ["a.99.pt.trace.json", "e.2.pt.trace.json"]


@pytest.mark.parametrize("ts, inside", [(189, False), (190, True), (195, True), (196, False)])
@pytest.mark.parametrize("correlation", [9, 10])
@pytest.mark.parametrize("tid", [1, 2])
def test_a_call_beside_its_operator(ts, inside, correlation, tid, tmp_path):
    """A call whose id is its own correlation must lie in the operator that has the id, to the microsecond and on its
    thread; an id that is none of its own may come from anywhere."""
    events = copy.deepcopy(EVENTS) + [event("cpu_op", "late", 190, 5, tid, **{"External id": 9}),
                                      event("Runtime", "hipLaunchKernel", ts, 0, 1, **{"External id": 9,
                                                                                      "correlation": correlation}),
                                      event("kernel", "gemm", 196, 1, 7, 0, **{"correlation": correlation, "device": 0})]
    del events[CALL:MEMORY]
    found, _ = check(write(tmp_path / "run", trace(events)[0]))
    told = [(f["rule"], f["event"]) for f in found if f["rule"] in ("WRONG_OPERATOR", "NO_OPERATOR", "NO_CALL")]
    assert told == [("WRONG_OPERATOR", 6)] * (correlation == 9 and not (inside and tid == 1))


@pytest.mark.parametrize("dims, types, lost", [
    ([[4]], ["float"], False), ([[4]], [], True), ([[4], [2]], ["float"], True), ([[4], [2]], ["float"] * 2, False),
    ([[4]], ["float"] * 2, False), ([], [], False), ([], None, False), (None, None, False), (None, ["float"], False),
    ([[4], []], ["float"], True)])
def test_types_of_a_collective_s_inputs(dims, types, lost, tmp_path):
    events = copy.deepcopy(EVENTS) + [copy.deepcopy(COLLECTIVE)]
    args = {"External id": 20, "Input Dims": dims, "Input type": types}
    events[7]["args"] = {key: value for key, value in args.items() if value is not None}
    write(tmp_path / "run", trace(events)[0])
    found, status = check(tmp_path)
    assert ([f["event"] for f in found if f["rule"] == "INPUT_TYPE"], status) == ([7] * lost, lost)
    assert (shown(tmp_path) is None) == lost


def test_two_files_of_one_worker_and_span(tmp_path):
    for name in ("w.1.pt.trace.json", "w.01.pt.trace.json"):
        write(tmp_path / "run", trace(EVENTS)[0], name)
    assert check(tmp_path / "run")[1] == 0
    import gzip
    write(tmp_path / "run", gzip.compress(trace(EVENTS)[0].encode()), "w.1.pt.trace.json.gz")
    found, status = check(tmp_path / "run")
    assert status == 1 and [f["rule"] for f in found if f["effect"] == "file lost"] == ["DOUBLE"]


def test_blank_views_and_no_runs(tmp_path):
    write(tmp_path / "run", trace(EVENTS[:3])[0])
    found, status = check(tmp_path)
    assert status == 0
    assert {f["name"] for f in found if f["rule"] == "NO_VIEW"} == {"Kernel", "Memory", "Module",
                                                                   "Distributed"}
    (tmp_path / "empty").mkdir()
    found, status = check(tmp_path / "empty")
    assert status == 1 and [f["rule"] for f in found] == ["NO_RUN"]
    done = subprocess.run([BUILD / "tools/hipboard/hipboard", "check", tmp_path / "absent",
                           tmp_path / "empty"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert done.stderr == (f"hipboard check: cannot open '{tmp_path}/absent': "
                           "No such file or directory\n")
    assert "no runs" in done.stdout, "the others are checked"


def run_check(*arguments):
    return subprocess.run([BUILD / "tools/hipboard/hipboard", "check", *arguments], capture_output=True, text=True,
                          timeout=600)


@pytest.mark.parametrize("count, all_of_them", [(1, False), (3, False), (4, False), (9, False), (9, True)])
def test_text_for_people(count, all_of_them, tmp_path):
    """Whole: of each kind the first three events, with their places, and how many more there are."""
    calls = range(7, 7 + count)
    events = copy.deepcopy(EVENTS) + [event("cuda_runtime", f"call {i}", 170 + i, 1) for i in calls]
    events[MEMORY]["args"].pop("Addr")
    text, offsets = trace(events)
    first = write(tmp_path / "run", text[:-1] + ', "WARNING": ["late"]}')
    events = copy.deepcopy(EVENTS)
    events[INNER]["tid"] = "x"
    text, lost = trace(events)
    second = write(tmp_path / "run", text, "host_2.1.pt.trace.json")
    listed = "".join(f"    event {i} at byte {offsets[i]}: call {i}\n" for i in calls if all_of_them or i < 10)
    expected = (
        f"{tmp_path}/run\n"
        "  note: no view Module: it needs python_function events with Python ids and module ids, inside the call "
        "trees\n    Module\n"
        "  note: no view Distributed: it needs the same collectives (nccl:... or gloo:...) in all workers of a span\n"
        "    Distributed\n"
        f"{first}\n"
        "  wrong: a memory record without Addr: missing from the curve and events\n"
        f"    event 5 at byte {offsets[MEMORY]}: [memory]\n"
        f"  wrong: {f'{count} times ' if count > 1 else ''}calls of a category that the plugin ignores: operators have "
        f"no device time\n{listed}"
        f"{f'    and {count - 3} more{chr(10)}' if count > 3 and not all_of_them else ''}"
        "  wrong: a bracket behind traceEvents breaks the Trace view of GPU runs\n    WARNING\n"
        f"{second}\n")
    done = run_check(*(["--all"] if all_of_them else []), tmp_path / "run")
    assert done.stdout[:len(expected)] == expected
    assert done.stdout.endswith("  file lost: tid of a call is no integer\n"
                                f"    event 2 at byte {lost[INNER]}: aten::add\n")
    assert (done.stderr, done.returncode) == ("", 1)
    done = run_check(*(["--all"] if all_of_them else []), first)
    assert done.stdout == expected[expected.index(str(first)):-len(f"{second}\n")]
    assert done.returncode == 0 and run_check("--strict", first).returncode == 1


def test_status_of_notes_alone(tmp_path):
    events = copy.deepcopy(EVENTS) + [event("user_annotation", "mine", 170, 5)]
    path = write(tmp_path / "run", trace(events)[0])
    done = run_check("--strict", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{path}\n  note: a user annotation")


OTHER = ROOT / "tests/data/rocprofv3_csv/decode_kernel_trace.csv.gz"


def test_another_tool_s_file_is_what_it_is_imported_as(tmp_path):
    """All its processes, under its own name."""
    run(BUILD / "tools/hipboard/hipboard", "import", "-o", tmp_path / "run", OTHER)
    made = sorted((tmp_path / "run").iterdir())
    found, status = check(OTHER)
    expected = [{**finding, "path": str(OTHER)} for path in made for finding in check(path)[0]]
    assert len(made) > 1 and len(expected) > 100 and status == 0
    for finding in [*found, *expected]:
        del finding["offset"]  # the written one has its name in it
    assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_who_has_seen_enough_is_told_no_more(most, tmp_path):
    """By a file, a log directory and another tool's file; with findings of events, texts and names of files."""
    events = copy.deepcopy(EVENTS) + [event("cuda_runtime", f"call {i}", 170 + i, 1) for i in range(9)]
    text = trace(events)[0][:-1] + ', "A": ["]"], "B": ["]"], "C": ["]"], "D": ["]"]}'
    path = write(tmp_path / "run", text.replace("aten::add", "a\\tb\\nc"))
    library, told = ctypes.CDLL(str(BUILD / "src/analysis/libhipboard-analysis.so.0")), []
    take = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)
    for place in (path, tmp_path / "run", OTHER):
        told.clear()
        result = library.hb_check(str(place).encode(), None, take(lambda *_: told.append(1) or len(told) < most), None)
        assert (result, len(told)) == (0, most), place


@pytest.mark.parametrize("tid", ["5", "-5", "+5", " 5", "5 ", " -5 ", "5_0", "-", "+", "", " ", "+-5", "x5", "5x", "5.0", "--5"])
def test_a_tid_in_quotes_is_what_python_makes_of_it(tid, tmp_path):
    text, offsets = trace([event("cpu_op", "a", 10, 5), {**event("cpu_op", "b", 20, 5), "tid": tid}])
    write(tmp_path / "run", text)
    findings, _ = check(tmp_path)
    lost = [(f["rule"], f.get("event"), f.get("offset")) for f in findings if f["effect"] in ("file lost", "run lost")]
    assert bool(shown(tmp_path)) != bool(lost) == ("TID" in [f["rule"] for f in findings])
    assert not lost or ("TID", 1, offsets[1]) in lost or ("LOST", 1, offsets[1]) in lost


def test_what_is_told_of_times(tmp_path):
    """What is no number is not far away, however it reads; rounded fractions are told once."""
    def rules_of(*times):
        text, _ = trace([*EVENTS, *({**event("Trace", "t", 0, 1), "ts": ts} for ts in times)])
        findings, _ = check(write(tmp_path / "run", text))
        return sorted((f["rule"], f["event"]) for f in findings if f["rule"] in ("TS", "FAR", "ROUNDED"))

    assert rules_of("4102444800000000", "1e300", True) == [("TS", 7), ("TS", 8)]
    assert rules_of(4102444800000000, 999, 1e300) == [("FAR", 7), ("FAR", 9), ("ROUNDED", 9)]
    assert rules_of(1795256296196340.25, 1795256296196341.5, 1e15 + .5) == [("ROUNDED", 7)]
    assert rules_of(1e15) == [("ROUNDED", 7)]
    assert rules_of(999999999999999.5, 1795256296196340) == []


def test_all_places_of_many_events(tmp_path):
    """Each was put behind those before it, from their first byte on: half a minute."""
    path = tmp_path / "many.pt.trace.json"
    text, _ = trace(EVENTS + [event("user_annotation", f"thing {i}", 100 + i, 1) for i in range(250000)])
    path.write_text(text)
    done = subprocess.run(in_seconds(10, BUILD / "tools/hipboard/hipboard", "check", "--all", path),
                          capture_output=True, text=True, timeout=600)
    status, lines = done.returncode, done.stdout.splitlines()
    assert status == 0
    shown = [line.partition(": ")[2] for line in lines if line.startswith("    event")]
    whole = shown == [f"thing {i}" for i in range(250000)]
    assert whole, (len(shown), shown[:3])
