# SPDX-License-Identifier: MIT
"""What people read: whole texts, worked out by hand, of a trace small enough for that. JSON has its
own tests; a share times 1000, a KiB of 1000 bytes or a column of another's numbers shows here only."""
import json
import re
import subprocess

import pytest

from support import BUILD

HIPBOARD = BUILD / "tools/hipboard/hipboard"


def event(cat, name, pid, tid, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": args}


def memory(ts, addr, size, device, total):
    return {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts,
            "args": {"Addr": addr, "Bytes": size, "Device Type": int(device >= 0),
                     "Device Id": device, "Total Allocated": total, "Total Reserved": 4 << 20}}


def two_gpus():
    """Three steps of 10 ms; in each, an operator launches 1 ms on GPU 0 and one 2 ms on GPU 1."""
    events = []
    for step in range(3):
        start = 10000 * step
        events.append(event("user_annotation", f"ProfilerStep#{step}", 1, 1, start, 10000))
        for gpu, kernel in enumerate(("gemm", "relu_kernel")):
            i, at = 2 * step + gpu + 1, start + 1000 + 3000 * gpu
            ids = {"External id": i, "correlation": i}
            work = {"device": gpu, "stream": 7, "est. achieved occupancy %": 50 * (gpu + 1),
                    "blocks per SM": 4, "grid": [8, 1, 1], "block": [64, 1, 1],
                    "registers per thread": 32, "shared memory": 0}
            events += [
                event("cpu_op", "aten::mm", 1, 1, at, 2000, **{"External id": i,
                                                              "Input Dims": [[8, 8]]}),
                event("cuda_runtime", "hipLaunchKernel", 1, 1, at + 100, 100, **ids),
                event("kernel", kernel, gpu, 7, at + 500, 1000 * (gpu + 1), **ids, **work)]
    events += [memory(1200, 16, 3 << 20, 1, 3 << 20), memory(1250, 64, 1536, -1, 1536),
               memory(1300, 32, 1 << 20, 1, 4 << 20), memory(4300, 32, -1 << 20, 1, 3 << 20)]
    devices = [{"id": 0, "name": "First", "totalGlobalMem": 1 << 30, "computeMajor": 9,
                "computeMinor": 0, "numSms": 104},
               {"id": 1, "name": "Second", "totalGlobalMem": 2 << 30, "computeMajor": 9,
                "computeMinor": 4, "numSms": 110}]
    return {"deviceProperties": devices, "traceEvents": events,
            "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("texts")
    (directory / "run").mkdir()
    text = json.dumps(two_gpus())
    (directory / "two.pt.trace.json").write_text(text)
    (directory / "run/w.pt.trace.json").write_text(text)
    return directory


def ask(directory, *words):
    done = subprocess.run([HIPBOARD, *words], cwd=directory, capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


TEXTS = {}
TEXTS["memory"] = (['memory'], """\
cuda:1: 2 allocations of 4.00 MiB, 1 freed (1.00 MiB); 0 B at its start, 3.00 MiB at its end

Peak: 4.00 MiB after 1.300 ms, of which 4.00 MiB were allocated within the trace
    Bytes               Share  Allocations    Largest  Operator
4.000 MiB  100.0 % ##########            2  3.000 MiB  aten::mm

Still there at the end: 1 allocations of 3.00 MiB
    Bytes               Share  Allocations    Largest  Scopes
3.000 MiB  100.0 % ##########            1  3.000 MiB  ProfilerStep*;aten::mm

cpu: 1 allocations of 1.50 KiB, 0 freed (0 B); 0 B at its start, 1.50 KiB at its end

Peak: 1.50 KiB after 1.250 ms, of which 1.50 KiB were allocated within the trace
    Bytes               Share  Allocations    Largest  Operator
1.500 KiB  100.0 % ##########            1  1.500 KiB  aten::mm

Still there at the end: 1 allocations of 1.50 KiB
    Bytes               Share  Allocations    Largest  Scopes
1.500 KiB  100.0 % ##########            1  1.500 KiB  ProfilerStep*;aten::mm
""")
TEXTS["steps"] = (['steps'], """\
3 steps in 1 trace
              Mean               Share    Median       p95       Min       Max
Step      10.00 ms  100.0 % ##########  10.00 ms  10.00 ms  10.00 ms  10.00 ms
Kernel    3.000 ms   30.0 % ###         3.000 ms  3.000 ms  3.000 ms  3.000 ms
Runtime     200 us    2.0 %               200 us    200 us    200 us    200 us
CPU Exec  1.300 ms   13.0 % #           1.300 ms  1.300 ms  1.300 ms  1.300 ms
Other     5.500 ms   55.0 % ######      5.500 ms  5.500 ms  5.500 ms  5.500 ms

Slowest steps
Step      Time      Of the slowest    Kernel  Runtime  CPU Exec     Other  Where
0     10.00 ms  100.0 % ##########  3.000 ms   200 us  1.300 ms  5.500 ms  rank 0, two.pt.trace.json
1     10.00 ms  100.0 % ##########  3.000 ms   200 us  1.300 ms  5.500 ms  rank 0, two.pt.trace.json
2     10.00 ms  100.0 % ##########  3.000 ms   200 us  1.300 ms  5.500 ms  rank 0, two.pt.trace.json
""")
TEXTS["overview"] = (['view'], """\
Average step      Time               Share
Total         10.00 ms  100.0 % ##########
Kernel        3.000 ms   30.0 % ###
Runtime         200 us    2.0 %
CPU Exec      1.300 ms   13.0 % #
Other         5.500 ms   55.0 % ######

GPUs
GPU        Utilization      SM efficiency           Occupancy
0    10.0 % #           10.0 % #            50.0 % #####
1    20.0 % ##          20.0 % ##          100.0 % ##########

GPU time: from each GPU's first work to its last
GPU      Span               Busy  Computation      Idle  Gaps  Largest gap
0    21.00 ms  14.3 % #              3.000 ms  18.00 ms     2     9.000 ms
1    22.00 ms  27.3 % ###            6.000 ms  16.00 ms     2     8.000 ms

Kernel classes
Class        Kernels  Calls     Total              Share           Not known
elementwise        1      3  6.000 ms  66.7 % #######
gemm               1      3  3.000 ms  33.3 % ###         100.0 % ##########

The plugin's advice
- GPU 0and 1 have low utilization. You could try to increase batch size to improve. Note: Increasing
  batch size may affect the speed and stability of model convergence.
- Kernels with 100% time are launched by Tensor Cores eligible operators. You could enable Automatic
  Mixed Precision to speedup by using FP16.

Findings, with their share of the time and their evidence
- idle, 79 %: GPUs are idle for 79.1 % of their time. See --view gpu for what the host did then.
  gaps: 4, 34.000 ms; because the host launched late: 34.000 ms; behind most of it: nothing that was
  recorded, 18.000 ms in gaps: 2
- no-matrix-cores, 33 %: Most of the time goes into matrix products, of whose kernels none is known
  to use the matrix cores; whether they could is worth a look.
  GEMM, convolution and attention take 33.3 % of the kernels' time; of that 0.0 % use matrix cores,
  0.0 % do not, 100.0 % is unknown; the longest: gemm
""")
TEXTS["kernel"] = (['view', '--view', 'kernel'], """\
Kernel       Calls     Total      Mean       Max       Min              Share  Blocks per SM
relu_kernel      3  6.000 ms  2.000 ms  2.000 ms  2.000 ms  66.7 % #######              4.00
gemm             3  3.000 ms  1.000 ms  1.000 ms  1.000 ms  33.3 % ###                  4.00
""")
TEXTS["operator"] = (['view', '--view', 'operator'], """\
Operator  Calls  Device self  Device total  Host self  Host total        Device share          Host share
aten::mm      6     9.000 ms      9.000 ms   11.40 ms    12.00 ms  100.0 % ##########  100.0 % ##########
""")
TEXTS["view memory"] = (['view', '--view', 'memory'], """\
Operator  Device  Calls  Self increase   Increase  Self allocated  Allocated  Self allocations
aten::mm  GPU1        2      3.000 MiB  3.000 MiB       4.000 MiB  4.000 MiB                 2
aten::mm  CPU         2      1.500 KiB  1.500 KiB       1.500 KiB  1.500 KiB                 1
""")
TEXTS["gpu"] = (['view', '--view', 'gpu'], """\
GPU time: from each GPU's first work to its last
GPU      Span               Busy  Computation      Idle  Gaps  Largest gap
0    21.00 ms  14.3 % #              3.000 ms  18.00 ms     2     9.000 ms
1    22.00 ms  27.3 % ###            6.000 ms  16.00 ms     2     8.000 ms

Streams: idle because the next work was launched late, or waited in the queue
GPU  Stream  Work      Busy      Late  Gaps  Largest gap
0    7          3  3.000 ms  18.00 ms     2     9.000 ms
1    7          3  6.000 ms  16.00 ms     2     8.000 ms

Idle: what the host did most of each gap
Operator            GPU  Why   Gaps     Total   Largest              Share
(nothing recorded)  0    late     2  18.00 ms  9.000 ms  52.9 % #####
(nothing recorded)  1    late     2  16.00 ms  8.000 ms  47.1 % #####

Gaps
Next work    Operator            GPU  Why      Start       Gap
gemm         (nothing recorded)  0    late  2.500 ms  9.000 ms
gemm         (nothing recorded)  0    late  12.50 ms  9.000 ms
relu_kernel  (nothing recorded)  1    late  6.500 ms  8.000 ms
relu_kernel  (nothing recorded)  1    late  16.50 ms  8.000 ms
""")
TEXTS["classes"] = (['view', '--view', 'classes'], """\
Kernel classes
Class        Kernels  Calls     Total              Share           Not known
elementwise        1      3  6.000 ms  66.7 % #######
gemm               1      3  3.000 ms  33.3 % ###         100.0 % ##########

Kernels
Kernel       Class        Matrix   Calls     Total              Share           Occupancy
relu_kernel  elementwise  unknown      3  6.000 ms  66.7 % #######     100.0 % ##########
gemm         gemm         unknown      3  3.000 ms  33.3 % ###          50.0 % #####
""")


@pytest.mark.parametrize("name", TEXTS)
def test_the_whole_text(name, directory):
    words, expected = TEXTS[name]
    text = ask(directory, *words, "two.pt.trace.json")
    assert text.partition("\nNote: ")[0].rstrip("\n") == expected.rstrip("\n")


LOOPS = [
    {"loop": 1, "level": 0, "rounds": 3, "launches": 600, "coverage": 0.995, "round_us": 2510, "steps": True,
     "from": "/src/train.py(42): main", "launch": "gemm"},
    {"loop": 2, "level": 1, "rounds": 30, "launches": 300, "coverage": 0.5, "round_us": 80,
     "from": "layers.cc(7): Net::forward(int)", "launch": "relu"},
    {"loop": 3, "level": 2, "rounds": 60, "launches": 60, "coverage": 0.1, "round_us": 1.5,
     "from": "/lib/libm.so(0): f", "launch": "gemm2"},
    {"loop": 4, "level": 0, "rounds": 5, "launches": 9, "coverage": 0.25, "round_us": 1, "from": "0x12", "launch": "last"}]
NO_LOOPS = "No loops: they are seen in call stacks, `hipboard record --with-stack`\n"
# What a recorder told of a program: its loops, what its GPUs took. The words, the members of the trace, the text.
TOLD = [
    (["--view", "loops"], {"hipboard_loops": LOOPS}, """\
Loop   Rounds   A round  Launches              Share  Steps  Begins with  In
1           3  2.510 ms       600  99.5 % ##########  yes    gemm         main, train.py:42
  2        30     80 us       300  50.0 % #####              relu         Net::forward(int), layers.cc:7
    3      60  1.500 us        60  10.0 % #                  gemm2        f, libm.so
4           5      1 us         9  25.0 % ###                last         0x12
"""),
    (["--view", "loops", "--name", "gemm", "--sort-by", "Launches"], {"hipboard_loops": LOOPS}, """\
Loop  Rounds   A round  Launches              Share  Steps  Begins with  In
1          3  2.510 ms       600  99.5 % ##########  yes    gemm         main, train.py:42
3         60  1.500 us        60  10.0 % #                  gemm2        f, libm.so
"""),
    (["--view", "loops", "--csv"], {"hipboard_loops": LOOPS[:1]}, """\
Loop,Rounds,A round (us),Launches,Share (%),Steps,Begins with,In
1,3,2510,600,99.5,yes,gemm,"main, train.py:42"
"""),
    (["--view", "loops", "--name", "none"], {"hipboard_loops": LOOPS}, "(nothing to show)\n"),
    (["--view", "loops"], {}, f"{NO_LOOPS}(nothing to show)\n"),
    (["--view", "power"], {"hipboard_gpu_steps": [
        {"gpu": 1, "step": 3, "joules": 2.5, "watts": 100, "degrees": 60.25, "mhz": 1500, "least_mhz": 1200, "throttled": 15},
        {"gpu": 0, "step": 2}, {"gpu": 0, "step": 12, "watts": 0, "throttled": 9}]}, """\
GPU    Step  Energy (J)  Power (W)  Hottest (C)  Clock (MHz)  Least (MHz)  Throttled by
GPU 1  3           2.50     100.00        60.25      1500.00      1200.00  power, heat, current, other
GPU 0  2
GPU 0  12                     0.00                                         power, other
"""),
    (["--view", "power", "--csv", "--name", "GPU 0"], {"hipboard_gpu_steps": [
        {"gpu": i % 2, "step": i, "throttled": throttled} for i, throttled in enumerate((1, 1, 2, 1, 4, 1, 8, 1, 16, 0, 0))]}, """\
GPU,Step,Energy (J),Power (W),Hottest (C),Clock (MHz),Least (MHz),Throttled by
GPU 0,0,,,,,,power
GPU 0,2,,,,,,heat
GPU 0,4,,,,,,current
GPU 0,6,,,,,,other
GPU 0,8,,,,,,
GPU 0,10,,,,,,
"""),
]


@pytest.mark.parametrize("words, members, expected", TOLD, ids=[" ".join(told[0]) for told in TOLD])
def test_what_a_recorder_told(words, members, expected, tmp_path):
    events = [event("cpu_op", "aten::mm", 1, 1, 10, 10)]
    (tmp_path / "t.pt.trace.json").write_text(json.dumps({**members, "traceEvents": events}))
    shown = ask(tmp_path, "view", *words, "t.pt.trace.json")
    assert [line.rstrip() for line in shown.splitlines()] == expected.splitlines()


def test_each_gpu_has_its_own_properties(directory):
    query = "overview?run=run&worker=w&span=default"
    answer = json.loads(ask(directory, "query", directory / "run", query))
    data = [(entry["title"], entry["value"]) for entry in answer["gpu_metrics"]["data"]]
    second = data.index(("GPU 1:", ""))
    assert data[:second] == [
        ("GPU 0:", ""), ("Name", "First"), ("Memory", "1.0 GB"), ("Compute Capability", "9.0"),
        ("GPU Utilization", "10.0 %"), ("Est. SM Efficiency", "10.0 %"),
        ("Est. Achieved Occupancy", "50.0 %"), ("<hr/>", "")]
    assert data[second:second + 7] == [
        ("GPU 1:", ""), ("Name", "Second"), ("Memory", "2.0 GB"), ("Compute Capability", "9.4"),
        ("GPU Utilization", "20.0 %"), ("Est. SM Efficiency", "20.0 %"),
        ("Est. Achieved Occupancy", "100.0 %")]


def compared(directory, *options):
    """Seven steps of 1,000 us and little noise beside seven that are `more` slower."""
    for name, more in (("a", 0), ("b", 6)):
        at, events = 0, []
        for step in range(7):
            length = 1000 + 3 * (step % 3) + more
            events += [event("user_annotation", f"ProfilerStep#{step}", 1, 1, at, length),
                       event("cpu_op", "aten::mm", 1, 1, at + 10, length - 20)]
            at += length
        (directory / f"{name}.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    return ask(directory, "compare", "a.pt.trace.json", "b.pt.trace.json", *options)


def test_a_difference_is_sure_at_99_percent_unless_told_otherwise(directory, tmp_path):
    answer = json.loads(compared(tmp_path, "--json"))
    assert answer["confidence"] == 0.99
    assert "99 %" in compared(tmp_path)
    rows = {row["name"]: row for row in answer["steps"]}
    assert rows["step_time"]["p"] < 0.01 and "noise" in rows["step_time"]["verdict"]
    assert "99.9" in compared(tmp_path, "--confidence", "99.9")


@pytest.mark.parametrize("member", ['"x": N/A', '"x": [1, N/A]', '"x": {"y": N/A}', '"x": NaN'])
def test_what_convert_writes_is_json_whatever_stood_at_the_top(member, tmp_path):
    source = tmp_path / "t.json"
    events = json.dumps(two_gpus()["traceEvents"])
    for text in (f'{{{member}, "traceEvents": {events}}}', f'{{"traceEvents": {events}, {member}}}'):
        source.write_text(text)
        ask(tmp_path, "convert", "--force", "-o", tmp_path / "out", source)
        [path] = (tmp_path / "out").glob("*")
        made = json.loads(path.read_text())
        assert len(made["traceEvents"]) == len(json.loads(events))
        assert [p.name for p in (tmp_path / "out").iterdir()] == [path.name]


SAID = [
    (["export", "two.pt.trace.json", "-o", "out/x.pftrace"], """\
two.pt.trace.json -> out/x.pftrace: 25 events
  6 operators whose inputs, stack and pairing with others are left out
"""),
    (["import", "out/x.pftrace", "-o", "out/log"], """\
out/x.pftrace: Perfetto, a program, process 1, rank 0 -> out/log/process_1.N.pt.trace.json
  6 kernels, 6 calls, 9 ranges, 4 allocations
  kernels took 9.000 ms; the call is known of 6 of 6 kernels and copies
  steps: the program's own
  time of day: told by the file
"""),
    (["convert", "two.pt.trace.json", "-o", "out/converted"], """\
two.pt.trace.json: 25 events -> out/converted/two.pt.trace.json
  6 runtime and driver calls got the category Runtime
  1 members were moved before traceEvents
"""),
    (["check", "two.pt.trace.json"], """\
two.pt.trace.json
  wrong: 6 times calls of a category that the plugin ignores: operators have no device time
    event 2 at byte 529: hipLaunchKernel
    event 5 at byte 1133: hipLaunchKernel
    event 9 at byte 1870: hipLaunchKernel
    and 3 more
"""),
    (["check", "out/converted/two.pt.trace.json"], ""),
    (["query", "out/log", "runs"], """\
{"runs": ["log"], "loading": false}
"""),
]


def test_what_commands_say_of_the_files_that_they_write(directory):
    for words, expected in SAID:
        done = subprocess.run([HIPBOARD, *words], cwd=directory, capture_output=True, text=True,
                              timeout=600)
        text = re.sub(r"\.\d{19}\.", ".N.", done.stdout)
        assert (text, done.returncode) == (expected, 0), done.stderr
