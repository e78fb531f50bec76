# SPDX-License-Identifier: MIT
"""`hipboard memory`: timelines against torch 2.13's export_memory_timeline(), peaks and what is left
against a count in Python."""
import gzip
import json
import random
import re
import subprocess
import warnings
import xml.etree.ElementTree
from decimal import Decimal
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
from torch._C._profiler import _EventType  # noqa: E402
from torch.profiler import ProfilerActivity, profile  # noqa: E402
from torch.profiler._memory_profiler import MemoryProfile, MemoryProfileTimeline  # noqa: E402

from support import BUILD, ROOT, run  # noqa: E402

HIPBOARD = BUILD / "tools/hipboard/hipboard"
TORCH = ROOT / "tests/data/torch-2.13-cpu.pt.trace.json"


def ours(*words):
    return run(HIPBOARD, "memory", *words)


# ---- timelines ----

class Allocations:
    """What torch's MemoryProfile asks for, of a trace in which no tensor is known."""
    TYPES = {0: "cpu", 1: "cuda", 6: "cuda"}

    def __init__(self, trace):
        base = trace.get("baseTimeNanoseconds", 0)
        events = [e for e in trace["traceEvents"] if e.get("name") == "[memory]"]
        self.events = [self.event(e, base) for e in sorted(events, key=lambda e: e["ts"])]
        self._op_tree = SimpleNamespace(dfs=lambda: self.events)
        self._data_flow_graph = SimpleNamespace(flow_nodes=[])
        self._category_snapshot = dict
        self._size_map = {}

    def event(self, e, base):
        args = e["args"]
        kind = self.TYPES[args["Device Type"]]
        device = torch.device(kind, args["Device Id"]) if kind == "cuda" else torch.device(kind)
        fields = SimpleNamespace(alloc_size=args["Bytes"], ptr=args["Addr"], device=device,
                                 id=None, allocation_id=None)
        return SimpleNamespace(typed=(_EventType.Allocation, fields),
                               start_time_ns=base + round(Decimal(repr(e["ts"])) * 1000))

    def timeline(self):
        made = MemoryProfileTimeline.__new__(MemoryProfileTimeline)
        made.timeline = MemoryProfile.timeline.fget(self)
        made.categories = None
        return made


def random_trace(path, seed):
    """Allocations and frees, also of what was there before, twice at one address, of no bytes."""
    rng = random.Random(seed)
    events, live = [], {}
    for i in range(400):
        device = rng.choice([(0, -1), (1, 0), (1, 1)])
        address = rng.randrange(1, 60) * 512
        size = rng.choice([0, 1, 512, 10 ** rng.randrange(1, 13)])
        if rng.random() < 0.45:
            size = -live.pop((device, address), rng.randrange(5000))
        elif size and (device, address) not in live:
            live[device, address] = size
        elif rng.random() < 0.9:
            continue
        events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]",
                       "pid": 1, "tid": 1, "ts": 2100000000000 + i // 3 * rng.choice([0.25, 1.0]) +
                       rng.randrange(1000) / 1000,
                       "args": {"Addr": address, "Bytes": size, "Device Type": device[0],
                                "Device Id": device[1]}})
    trace = {"schemaVersion": 1, "baseTimeNanoseconds": 1790000000123456789,
             "traceEvents": events}
    path.write_text(json.dumps(trace))
    return trace


def compare_timelines(tmp_path, trace, path, device):
    timeline = Allocations(trace).timeline()
    for name, export in [("t.json", timeline.export_memory_timeline),
                         ("raw.json", timeline.export_memory_timeline_raw)]:
        export(str(tmp_path / "theirs"), device)
        mine = tmp_path / (name + (".gz" if "raw" in name else ""))
        ours("--timeline", mine, "--device", device, path)
        text = gzip.decompress(mine.read_bytes()) if mine.suffix == ".gz" else mine.read_bytes()
        assert text == (tmp_path / "theirs").read_bytes()
    return json.loads(text)


@pytest.mark.parametrize("seed", range(20))
def test_timeline_is_torch_s(tmp_path, seed):
    path = tmp_path / "m.json"
    trace = random_trace(path, seed)
    for device in ("cpu", "cuda:0", "cuda:1", "cuda:2"):
        records = compare_timelines(tmp_path, trace, path, device)
        assert (len(records) > 20) == (device != "cuda:2")
    ours("--timeline", tmp_path / "first.json.gz", path)
    ours("--timeline", tmp_path / "zero.json", "--device", "hip:0", path)
    first = gzip.decompress((tmp_path / "first.json.gz").read_bytes())
    zero = (tmp_path / "zero.json").read_bytes()
    kinds = [e["args"]["Device Id"] for e in sorted(trace["traceEvents"], key=lambda e: e["ts"])
             if e["args"]["Device Type"]]
    assert (first == zero) == (kinds[0] == 0)


def test_what_is_older_than_the_recording_is_told(tmp_path):
    def change(ts, size, total):
        return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1,
                "tid": 1, "ts": ts, "args": {"Device Type": 1, "Device Id": 0, "Addr": 64 + ts,
                                             "Bytes": size, "Total Allocated": total,
                                             "Total Reserved": 9000}}
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": [
        change(10, 500, 5500), change(20, -1000, 4500)]}))
    done = subprocess.run([HIPBOARD, "memory", "--timeline", "-", tmp_path / "t.json"],
                          capture_output=True, text=True, check=True, timeout=600)
    assert "5000 bytes of cuda:0 were allocated before the recording began" in done.stderr
    assert "(1 frees)" in done.stderr
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": [change(10, 500, 500)]}))
    done = subprocess.run([HIPBOARD, "memory", "--timeline", "-", tmp_path / "t.json"],
                          capture_output=True, text=True, check=True, timeout=600)
    assert done.stderr == ""


def test_timeline_of_a_file(tmp_path):
    assert len(compare_timelines(tmp_path, json.loads(TORCH.read_text()), TORCH, "cpu")) > 20
    assert ours("--timeline", "-", TORCH) == (tmp_path / "t.json").read_text()


def training():
    model = torch.nn.Sequential(torch.nn.Linear(50, 60), torch.nn.ReLU(), torch.nn.Linear(60, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=.1, momentum=.9)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(40, 50)).square().mean().backward()
        optimizer.step()


def test_timeline_of_a_training(tmp_path):
    """torch itself, with tensors and categories: the bytes are the same, only the categories are
    not known from a trace, nor changes of a tensor's version, which change no bytes."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
                 with_stack=True) as p:
        training()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p.export_memory_timeline(str(tmp_path / "t.json"), "cpu")
        p.export_memory_timeline(str(tmp_path / "t.raw.json.gz"), "cpu")
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    for name in ("o.json", "o.raw.json.gz"):
        ours("--timeline", tmp_path / name, tmp_path / "trace.json")

    def bytes_by_time(name):
        times, sizes = json.loads((tmp_path / name).read_text())
        return dict(zip(times, map(sum, sizes)))
    theirs, mine = bytes_by_time("t.json"), bytes_by_time("o.json")
    assert len(mine) > 50
    assert mine == {us: theirs[us] for us in mine}

    def changes(name):
        with gzip.open(tmp_path / name) as file:
            return sorted(record[:3] for record in json.load(file) if record[1] != 3)
    assert changes("o.raw.json.gz") == changes("t.raw.json.gz")


# ---- who held it ----

def program(path):
    """An outer operator and two inner ones that allocate on the CPU and on a GPU."""
    events = []

    def scope(name, ts, dur, cat="cpu_op", **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": 7, "ts": ts,
                       "dur": dur, "args": args})

    def memory(ts, address, size, gpu=None, tid=7, **args):
        events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]",
                       "pid": 7, "tid": tid, "ts": ts,
                       "args": {"Addr": address, "Bytes": size, **args,
                                "Device Type": 0 if gpu is None else 1,
                                "Device Id": -1 if gpu is None else gpu}})
    scope("ProfilerStep#1", 100, 900, "user_annotation")
    scope("outer", 110, 400)
    scope("aten::a", 120, 100, **{"Call stack": "f(1): x;main(2): y"})
    scope("aten::b", 300, 100)
    scope("hipMalloc", 130, 5, "cuda_runtime", cid=1)
    memory(121, 16, 1000)
    memory(132, 32, 3000, 0)
    memory(150, 48, 500, 0)
    memory(310, 64, 2000, 0)
    memory(320, 48, -500, 0)
    memory(330, 16, -1000)
    memory(340, 999, -70)  # from before
    memory(600, 80, 40)  # in the step, but in no operator
    memory(700, 32, -3000, 0)
    memory(710, 64, -2000, 0)
    memory(720, 96, 10, 0)
    memory(2000, 0, 24)  # in nothing; no address
    memory(2001, 0, 24)
    memory(2002, 0, -24)
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))


def holders(device, moment):
    return [(h["name"], h["bytes"], h["allocations"]) for h in device["held_at_" + moment]]


def test_who_held_it(tmp_path):
    path = tmp_path / "m.json"
    program(path)
    cpu, gpu = json.loads(ours("--json", path))["devices"]
    assert (cpu["device"], gpu["device"]) == ("cpu", "cuda:0")
    assert (gpu["start_bytes"], gpu["peak_bytes"], gpu["peak_held_bytes"]) == (0, 5500, 5500)
    assert gpu["peak_us"] == 210
    assert holders(gpu, "peak") == [("aten::a", 3500, 2), ("aten::b", 2000, 1)]
    assert holders(gpu, "end") == [("ProfilerStep*", 10, 1)]
    assert (cpu["start_bytes"], cpu["peak_bytes"], cpu["peak_held_bytes"]) == (70, 1070, 1000)
    assert (cpu["unknown_frees"], cpu["allocations"], cpu["frees"]) == (1, 4, 3)
    assert holders(cpu, "peak") == [("aten::a", 1000, 1)]
    assert holders(cpu, "end") == [("ProfilerStep*", 40, 1), ("", 24, 1)]
    assert (cpu["end_bytes"], cpu["left"], cpu["left_bytes"]) == (64, 2, 64)


def test_grouping(tmp_path):
    path = tmp_path / "m.json"
    program(path)
    [gpu] = json.loads(ours("--json", "--by", "stack", "--device", "cuda:0", path))["devices"]
    first, second = gpu["held_at_peak"]
    assert first["scopes"] == "ProfilerStep*;outer;aten::a"
    assert first["stack"] == ["f(1): x", "main(2): y"]
    assert first["largest_bytes"] == 3000 and first["first_us"] == 32
    assert second["scopes"] == "ProfilerStep*;outer;aten::b" and second["stack"] == []
    [gpu] = json.loads(ours("--json", "--by", "operator", "--device", "cuda:0", "--top", "1",
                            path))["devices"]
    assert [h["scopes"] for h in gpu["held_at_peak"]] == [""]


def test_text(tmp_path):
    path = tmp_path / "m.json"
    program(path)
    text = ours(path)
    for line in ["cuda:0: 4 allocations of 5.38 KiB, 3 freed (5.37 KiB); 0 B at its start",
                 "1 of them from before the trace; 70 B at its start, 64 B at its end",
                 "Peak: 5.37 KiB after 0.210 ms, of which 5.37 KiB were allocated within",
                 "Still there at the end: 2 allocations of 64 B",
                 "(outside of all operators)"]:
        assert line in text, text
    assert "(1 more)" in ours("--top", "1", path)


def test_files_are_named_where_there_are_several(tmp_path):
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    for path in first, second:
        path.write_bytes(TORCH.read_bytes())
    alone = ours(first)
    assert str(tmp_path) not in alone and alone == ours(second)
    assert ours(first, second) == f"{first}\n{alone}\n{second}\n{alone}"
    (tmp_path / "log").mkdir()
    kept = tmp_path / "log/a.pt.trace.json"
    kept.write_bytes(TORCH.read_bytes())
    assert ours(tmp_path / "log") == f"{kept}\n{alone}"


def test_a_file_without_memory(tmp_path):
    path = tmp_path / "none.json"
    path.write_text('{"traceEvents": []}')
    assert ours(path) == f"{path}: no memory events\n"
    assert json.loads(ours("--json", path))["devices"] == []
    ours("--timeline", tmp_path / "t.json", path)
    assert (tmp_path / "t.json").read_text() == "[[], []]"
    ours("--timeline", tmp_path / "t.html", path)
    assert "no memory events" in (tmp_path / "t.html").read_text()


def test_the_page_needs_nothing_else(tmp_path):
    page = tmp_path / "t.html"
    path = tmp_path / "m.json"
    program(path)
    ours("--timeline", page, path)
    text = page.read_text()
    assert "Memory of cuda:0" in text and "aten::a" in text and "5.37 KB" in text
    assert "http" not in text and "<script" not in text
    assert text.count("<path ") == 3  # two operators and the step


def test_the_page_shows_names_as_they_are(tmp_path):
    page = tmp_path / "t.html"
    path = tmp_path / "m.json"
    program(path)
    path.write_text(path.read_text().replace('"aten::a"', json.dumps('op<a & "b">\0')))
    ours("--timeline", page, path)
    shown = {title.text for title in xml.etree.ElementTree.fromstring(
        re.search(r"<svg.*</svg>", page.read_text(), re.S)[0]).iter() if title.text}
    assert any('op<a & "b">\ufffd' in text for text in shown), shown


@pytest.mark.parametrize("words, status, message", [
    (["--by", "colour"], 2, "--by 'colour': expected operator|stack"),
    (["--top", "-1"], 2, "--top '-1': expected a number"),
    (["--bogus"], 2, "'--bogus' is unknown"),
    (["--timeline", "/proc/none/x.json"], 1, "/proc/none"),
    (["none.json"], 1, "none.json"),
])
def test_what_it_says(tmp_path, words, status, message):
    path = tmp_path / "m.json"
    program(path)
    done = subprocess.run([HIPBOARD, "memory", path, *words], capture_output=True, text=True)
    assert done.returncode == status and message in done.stderr
