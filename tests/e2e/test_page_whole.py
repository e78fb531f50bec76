# SPDX-License-Identifier: MIT
"""All that the page is told of a trace made so that no two of its numbers are one by chance: whole answers. They
stand in page_whole.json as `hipboard` gave them, many of them worked out by hand as well; test_report holds the same tables to
those of `hipboard view`, which have texts of their own."""
import base64
import gzip
import itertools
import json
import re
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from support import BUILD
from test_page_answers import OK, Page
from test_page_timeline import varints
from test_texts import event, memory

ANSWERS = json.loads(Path(__file__).with_name("page_whole.json").read_text())
ROUTES = ["overview", "plugin", "steps", "operators", "kernels", "roofline", "gpu", "memory", "modules", "stacks", "timeline",
          "timeline/counters"]
STEPS = [10000, 12000, 9000, 15000]
# Operator, when in its step, how long; what it launches: kernel, GPU, stream, when, how long; its inputs; occupancy.
WORK = [("aten::mm", 1000, 1500, "Cijk_gemm_MFMA", 0, 7, 2000, 1700, [[512, 256], [256, 128]], 50),
        ("aten::relu", 2600, 300, "relu_kernel", 0, 8, 3000, 900, [[4096]], 20),
        ("aten::mm", 3000, 700, "Cijk_other_gemm", 1, 7, 3600, 800, [[64, 64], [64, 64]], 80),
        ("nccl:all_reduce", 4000, 200, "ncclDevKernel_AllReduce_Sum_f32", 0, 9, 4500, 1300, [[262144]], 10),
        ("aten::copy_", 5000, 400, "Memcpy HtoD (Host -> Device)", 0, 7, 5800, 260, [[1000]], None),
        ("aten::zero_", 6000, 150, "Memset (Device)", 1, 7, 6100, 90, [[77]], None)]
GPUS = [{"id": 0, "name": "AMD Instinct MI210 (simulated)", "totalGlobalMem": 1 << 24, "numSms": 104, "computeMajor": 9,
         "computeMinor": 0, "gcnArchName": "gfx90a:sramecc+:xnack-", "clockRate": 1700000, "memoryClockRate": 1600000,
         "memoryBusWidth": 4096},
        {"id": 1, "name": "AMD Instinct MI100", "totalGlobalMem": 1 << 25, "numSms": 120, "computeMajor": 9,
         "computeMinor": 0, "gcnArchName": "gfx908:sramecc+:xnack-", "clockRate": 1502000, "memoryClockRate": 1200000,
         "memoryBusWidth": 4096}]
METADATA = {"hipboard_hip_notes": ["a note"], "hipboard_reason": "signal", "hipboard_lost": {"events": 3},
            "hipboard_lost_by_kill": 2, "hipboard_recovered": True, "hipboard_kernel_sampling": 8, "hipboard_ring_seconds": 30,
            "hipboard_hip_backend": "hook", "hip_runtime_version": 50221153, "hip_driver_version": 50221152,
            "host_name": "node7", "with_stack": 1, "profile_memory": 1, "record_shapes": 1, "with_modules": 1, "with_flops": 1}


def function(name, ts, dur, number, parent, **more):
    return event("python_function", name, 1, 1, ts, dur, **{"Python id": number, "Python parent id": parent, **more})


def launched(kind, kernel, gpu, stream, at, took, ids, occupancy):
    more = {"device": gpu, "stream": stream}
    if kind == "kernel":
        more |= {"est. achieved occupancy %": occupancy, "blocks per SM": occupancy / 16, "warps per SM": 4.5, "grid": [8, 1, 1],
                 "block": [64, 1, 1], "registers per thread": 32, "shared memory": 1024}
    else:
        more |= {"bytes": 4000 + took, "memory bandwidth (GB/s)": 1.5}
    return event({"kernel": "kernel", "Memcpy": "gpu_memcpy", "Memset": "gpu_memset"}[kind], kernel, gpu, stream, at, took,
                 **more, **ids)


def made():
    events, numbers, start = [], itertools.count(1), 0
    for step, took in enumerate(STEPS):
        events += [event("user_annotation", f"ProfilerStep#{step}", 1, 1, start, took),
                   event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 1, start + 100,
                         400 + 50 * step),
                   function("train.py(12): step", start + 900, 6000, 10 * step + 1, None),
                   function("nn.Module: Net_0", start + 950, 4000, 10 * step + 2, 10 * step + 1, **{"Python module id": 0}),
                   function("nn.Module: Linear_0", start + 980, 1600, 10 * step + 3, 10 * step + 2, **{"Python module id": 1})]
        for name, at, dur, kernel, gpu, stream, begin, duration, dims, occupancy in WORK:
            ids = {"External id": next(numbers)}
            ids["correlation"] = ids["External id"]
            kind = kernel.split()[0] if kernel.startswith("Mem") else "kernel"
            call = {"kernel": "hipLaunchKernel", "Memcpy": "hipMemcpyAsync", "Memset": "hipMemsetAsync"}[kind]
            events += [
                event("cpu_op", name, 1, 1, start + at, dur + step, **{"External id": ids["External id"], "Input Dims": dims,
                                                                      "Input type": ["float"] * len(dims)}),
                event("cuda_runtime", call, 1, 1, start + at + 20, 30 + step, **ids),
                launched(kind, kernel, gpu, stream, start + begin, duration + 10 * step, ids, occupancy)]
        events.append(event("cuda_runtime", "hipDeviceSynchronize", 1, 1, start + 7000, 500, correlation=900 + step))
        events.append({"ph": "C", "name": "power", "pid": 1, "tid": 0, "ts": start + 10, "args": {"W": 100 + step, "value": step}})
        start += took
    events += [memory(1200, 16, 3 << 20, 1, 3 << 20), memory(1250, 64, 1536, -1, 1536), memory(2700, 32, 1 << 20, 1, 4 << 20),
               memory(13010, 48, 7 << 20, 0, 7 << 20), memory(15010, 16, -(3 << 20), 1, 1 << 20),
               memory(33005, 80, 512, -1, 2048), memory(37000, 48, -(7 << 20), 0, 0), memory(38600, 96, 2 << 20, 0, 2 << 20)]
    return {"schemaVersion": 1, "deviceProperties": GPUS, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
            **METADATA, "traceEvents": events}


def short(value):
    """Lists of equal neighbours as how many there are of each, so that curves can be read."""
    if isinstance(value, dict):
        return {key: short(v) for key, v in value.items()}
    if isinstance(value, list) and len(value) > 100 and not isinstance(value[0], (dict, list)):
        return [[len(list(same)), first] for first, same in itertools.groupby(value)]
    return [short(v) for v in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "t.pt.trace.json"
    path.write_text(json.dumps(made()))
    page = Page(path)
    yield page
    page.close()


def ask(page, route):
    result, body, _ = page.ask(f"hb/{route}?trace=t")
    assert result == OK, body
    return short(json.loads(body))


@pytest.mark.parametrize("route", ROUTES)
def test_the_whole_answer(page, route):
    assert ask(page, route) == ANSWERS[route]


STEP = [event("user_annotation", "ProfilerStep#1", 1, 1, 0, 100), event("cpu_op", "a", 1, 1, 10, 50)]


def lay(directory, *names):
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": STEP}))


def listed(*paths):
    page = Page(*paths)
    traces = json.loads(page.ask("hb/about")[1])["traces"]
    page.close()
    return [(t["id"], t["run"], t["worker"], t["span"], t["file"]) for t in traces]


def test_traces_have_names_of_their_own(tmp_path):
    lay(tmp_path, "logs/one/w.5.pt.trace.json", "logs/one/w.7.pt.trace.json", "logs/two/v.pt.trace.json", "x/a.json",
        "y/a.json", "y/a.pt.trace.json", "y/.json", "z/a#2.json", "y/odd \xff&.json")
    assert listed(tmp_path / "logs") == [
        ("one/w/1", "one", "w", "1", "w.5.pt.trace.json"), ("one/w/2", "one", "w", "2", "w.7.pt.trace.json"),
        ("two/v/default", "two", "v", "default", "v.pt.trace.json")]
    names = [tmp_path / name for name in ("x/a.json", "y/a.json", "z/a#2.json", "y/a.pt.trace.json", "y/.json", "y/odd \xff&.json")]
    assert [one[0] for one in listed(*names)] == ["a", "a#2", "a#2#2", "a#3", ".json", "odd \xff&"]
    assert listed(names[0], names[0]) == [("a", "", "a", "", "a.json"), ("a#2", "", "a", "", "a.json")]


def blocks(text):
    return {name: gzip.decompress(base64.b64decode(data, validate=True)) for name, data in re.findall(
        r'<script type="application/octet-stream" data-block="([^"]*)">([^<]*)</script>', text)}


def test_a_report_holds_the_pages_answers(page, tmp_path):
    """Byte for byte, with the timeline in full where it is small; and the main numbers for who has no JavaScript."""
    (tmp_path / "t.pt.trace.json").write_text(json.dumps(made()))
    subprocess.run([BUILD / "tools/hipboard/hipboard", "report", tmp_path / "t.pt.trace.json", "-o", tmp_path / "r.html"],
                   check=True, timeout=600)
    text = (tmp_path / "r.html").read_text()
    held = blocks(text)
    binary = {"hb/timeline/slices#0.0": "timeline/slices", "hb/timeline/launches#0": "timeline/launches"}
    assert sorted(held) == sorted([f"hb/{route}#0" for route in ROUTES] + [*binary, "hb/about"])
    for route in ROUTES:
        assert held[f"hb/{route}#0"] == page.ask(f"hb/{route}?trace=t")[1]
    for name, route in binary.items():
        assert held[name] == page.ask(f"hb/{route}?trace=t")[1]
    plain = text.partition("<h2>")[2].partition("</div>")[0]
    assert "<title>t - hipboard</title>" in text
    assert plain == PLAIN


PLAIN = """t</h2><p>4 steps of 11.500 ms on average</p>
<table><tr><th>Average step</th><th>ms</th><th>%</th></tr>
<tr><td>Kernel</td><td>2.415</td><td>21.0</td></tr>
<tr><td>Memcpy</td><td>0.275</td><td>2.4</td></tr>
<tr><td>Memset</td><td>0.105</td><td>0.9</td></tr>
<tr><td>Communication</td><td>1.300</td><td>11.3</td></tr>
<tr><td>Runtime</td><td>0.531</td><td>4.6</td></tr>
<tr><td>DataLoader</td><td>0.475</td><td>4.1</td></tr>
<tr><td>CPU Exec</td><td>0.994</td><td>8.6</td></tr>
<tr><td>Other</td><td>5.405</td><td>47.0</td></tr>
</table>
<ul>
<li>GPUs are idle for 74.3 % of their time. See --view gpu for what the host did then. gaps: 14, 51.070 ms; because the host \
launched late: 51.070 ms; behind most of it: nothing that was recorded, 13.870 ms in gaps: 2</li>
</ul>
<table><tr><th>Operator</th><th>Calls</th><th>Host self, ms</th><th>Device self, ms</th></tr>
<tr><td>aten::mm</td><td>8</td><td>8.560</td><td>10.120</td></tr>
<tr><td>nccl:all_reduce</td><td>4</td><td>0.680</td><td>5.260</td></tr>
<tr><td>aten::relu</td><td>4</td><td>1.080</td><td>3.660</td></tr>
<tr><td>aten::copy_</td><td>4</td><td>1.480</td><td>1.100</td></tr>
<tr><td>aten::zero_</td><td>4</td><td>0.480</td><td>0.420</td></tr>
</table>
"""


def test_a_report_of_many_slices_has_an_outline_and_windows(tmp_path):
    """The whole in cells, then in full the slowest step, the median one, the first and the longest gap, each with a tenth
    of its length around it."""
    events, at, begins = [], 0, []
    lengths = [3000, 9000, 5000, *range(4000, 4330, 30)]
    for step, took in enumerate(lengths):
        begins.append(at)
        events.append(event("user_annotation", f"ProfilerStep#{step}", 1, 1, at, took))
        for i in range(took // 3):
            events.append(event("cpu_op", f"op{i % 7}", 1, 1, at + 3 * i, 2))
        at += took
    for name, told, more in (("frame", events[:2], []), ("t", events, None)):
        (tmp_path / f"{name}.pt.trace.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": told}))
        if more is None:  # 14,000 slices of 20,894
            more = ["--max-size", str((tmp_path / "frame.html").stat().st_size + 9 * 14000)]
        subprocess.run([BUILD / "tools/hipboard/hipboard", "report", tmp_path / f"{name}.pt.trace.json", "-o",
                        tmp_path / f"{name}.html", *more], check=True, timeout=600)
    held = blocks((tmp_path / "t.html").read_text())
    windows = [varints(held[name])[:3] for name in sorted(held) if "slices#" in name]
    begin, length, cell = windows[0]
    assert (begin, length) == (0, 1000 * at + 1) and cell > 1
    shown = [lengths.index(took) for took in (9000, sorted(lengths)[7], 3000)]
    assert windows[1:] == [[max(0, 1000 * begins[i] - 100 * lengths[i]), (1200 if i else 1100) * lengths[i], 0] for i in shown]
