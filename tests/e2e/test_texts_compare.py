# SPDX-License-Identifier: MIT
"""What `hipboard compare` prints for people, whole, of two runs that are small enough to be worked
out by hand: the second one's larger product and its sum take 200 us more, on the device and on the
host, and one operator is another. 8 values beside 8 that are all larger have a p of 2 / 12870."""
import json
import subprocess

import pytest

from support import BUILD
from test_texts import event, memory

HIPBOARD = BUILD / "tools/hipboard/hipboard"


def run_of(slow, only, gpu, git):
    """Eight steps of about 10 ms: a product of two shapes, a sum, and an operator of its own."""
    events, at, number = [], 0, 0
    for step in range(8):
        length = 10000 + 10 * (step % 3) + 3 * slow
        events.append(event("user_annotation", f"ProfilerStep#{step}", 1, 1, at, length))
        begin = at + 100
        for name, dims, host, kernel, work in (
                ("aten::mm", [[8, 8]], 1000, "gemm", 900 + slow),
                ("aten::mm", [[16, 16]], 500, "gemm", 400),
                ("aten::sum", [[8]], 300 + slow, "reduce_kernel", 100), (only, [[4]], 200, None, 0)):
            number += 1
            ids = {"External id": number, "correlation": number}
            events.append(event("cpu_op", name, 1, 1, begin, host,
                                **{"External id": number, "Input Dims": dims}))
            if kernel:
                events += [event("cuda_runtime", "hipLaunchKernel", 1, 1, begin + 10, 20, **ids),
                           event("kernel", kernel, 0, 7, begin + 1100, work, device=0, stream=7,
                                 grid=[8, 1, 1], block=[64, 1, 1], **ids)]
            begin += 2000
        events += [memory(at + 150, 16, 4096 + slow, 0, 4096 + slow),
                   memory(at + 9000, 16, -4096 - slow, 0, 0)]
        at += length
    return {"deviceProperties": [{"id": 0, "name": gpu, "totalGlobalMem": 1 << 30, "numSms": 104}],
            "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}, "git_commit": git,
            "traceEvents": events}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("compared")
    for name, run in (("before", run_of(0, "aten::copy_", "First", "aaaa")),
                      ("after", run_of(200, "aten::fill_", "Second", "bbbb"))):
        (directory / f"{name}.pt.trace.json").write_text(json.dumps(run))
    return directory


def compare(directory, *options):
    return subprocess.run([HIPBOARD, "compare", "before.pt.trace.json", "after.pt.trace.json",
                           *options], cwd=directory, capture_output=True, text=True, timeout=600)


NOT_ALIKE = "git_commit: aaaa -> bbbb\n\n"
TEXTS = {}
TEXTS["all"] = ([], """\
Compared
  baseline before.pt.trace.json: 1 file, 8 steps
  run after.pt.trace.json: 1 file, 8 steps

Not alike
  devices: First, 104 CUs, 1 GiB -> Second, 104 CUs, 1 GiB
  git_commit: aaaa -> bbbb

Steps: median and 95th percentile over the steps
  before       p95      after        p95     change                      shift, 99 %  steps  is it noise?              metric
10.01 ms  10.02 ms   10.61 ms   10.62 ms    +600 us   +6.0 %      +590 us .. +610 us   8, 8  beyond noise (p 0.00016)  step_time
1.400 ms  1.400 ms   1.600 ms   1.600 ms    +200 us  +14.3 %      +200 us .. +200 us   8, 8  beyond noise (p 0.00016)  kernel
   60 us     60 us      40 us      40 us     -20 us  -33.3 %        -20 us .. -20 us   8, 8  beyond noise (p 0.00016)  runtime
1.940 ms  1.940 ms   1.960 ms   1.960 ms     +20 us   +1.0 %        +20 us .. +20 us   8, 8  beyond noise (p 0.00016)  cpu
6.610 ms  6.620 ms   7.010 ms   7.020 ms    +400 us   +6.1 %      +390 us .. +410 us   8, 8  beyond noise (p 0.00016)  other
 13.99 %   14.00 %    15.08 %    15.09 %  +1.094 pp   +7.8 %  +1.080 pp .. +1.108 pp   8, 8  beyond noise (p 0.00016)  gpu_utilization
   4 KiB     4 KiB  4.195 KiB  4.195 KiB     +200 B   +4.9 %                           8, 8  counted                   peak_memory

Operators: time a step, by the change
 change                          before       p95     after       p95   calls  is it noise?              what
-200 us  -100.0 %  ##########    200 us    200 us         -         -  1 -> 0  gone                      aten::copy_, host
+200 us            ##########         -         -    200 us    200 us  0 -> 1  new                       aten::fill_, host
+200 us   +15.4 %  ##########  1.300 ms  1.300 ms  1.500 ms  1.500 ms       2  beyond noise (p 0.00016)  aten::mm, device
+200 us   +71.4 %  ##########    280 us    280 us    480 us    480 us       1  beyond noise (p 0.00016)  aten::sum, host
(2 unchanged)

Kernels, copies and fills: time a step, by the change
 change                         before       p95     after       p95  calls  is it noise?              what
+200 us  +15.4 %  ##########  1.300 ms  1.300 ms  1.500 ms  1.500 ms      2  beyond noise (p 0.00016)  gemm
(1 unchanged)

Memory: bytes that operators allocate in a step, by the change
change                      before    p95      after        p95  calls  is it noise?              what
+200 B  +4.9 %  ##########   4 KiB  4 KiB  4.195 KiB  4.195 KiB      1  beyond noise (p 0.00016)  aten::mm GPU0
""")
TEXTS["by operator"] = (['--by', 'operator'], """\
Operators: time a step, by the change
 change                        before     p95     after       p95   calls  is it noise?              what
-200 us  -100.0 %  ##########  200 us  200 us         -         -  1 -> 0  gone                      aten::copy_ [[4]], host
+200 us            ##########       -       -    200 us    200 us  0 -> 1  new                       aten::fill_ [[4]], host
+200 us   +22.2 %  ##########  900 us  900 us  1.100 ms  1.100 ms       1  beyond noise (p 0.00016)  aten::mm [[8, 8]], device
+200 us   +71.4 %  ##########  280 us  280 us    480 us    480 us       1  beyond noise (p 0.00016)  aten::sum [[8]], host
(4 unchanged)
""")
TEXTS["tree"] = (['--tree'], """\
Call tree of the thread that runs the steps: mean time a step, loops folded; + new, - gone
   host              before     after   itself   device             before     after   calls    a step
+600 us    +6.0 %  10.01 ms  10.61 ms  +400 us  +200 us  +14.3 %  1.400 ms  1.600 ms       1    step
   0 us    +0.0 %  1.500 ms  1.500 ms     0 us  +200 us  +15.4 %  1.300 ms  1.500 ms       2      aten::mm
+200 us   +66.7 %    300 us    500 us  +200 us     0 us   +0.0 %    100 us    100 us       1      aten::sum
+200 us                0 us    200 us  +200 us     0 us               0 us      0 us  0 -> 1  +   aten::fill_
-200 us  -100.0 %    200 us      0 us  -200 us     0 us               0 us      0 us  1 -> 0  -   aten::copy_
""")
TEXTS["by kernel"] = (['--by', 'kernel'], """\
Kernels, copies and fills: time a step, by the change
 change                         before       p95     after       p95  calls  is it noise?              what
+200 us  +15.4 %  ##########  1.300 ms  1.300 ms  1.500 ms  1.500 ms      2  beyond noise (p 0.00016)  gemm grid [8, 1, 1], block [64, 1, 1]
(1 unchanged)
""")
TEXTS["two rows"] = (['--by', 'operator', '--top', '2'], """\
Operators: time a step, by the change
 change                        before     p95   after     p95   calls  is it noise?  what
-200 us  -100.0 %  ##########  200 us  200 us       -       -  1 -> 0  gone          aten::copy_ [[4]], host
+200 us            ##########       -       -  200 us  200 us  0 -> 1  new           aten::fill_ [[4]], host
(2 more, 4 unchanged)
""")
TEXTS["by step"] = (['--by', 'step', '--metric', 'step_time,cpu'], """\
Steps: median and 95th percentile over the steps
  before       p95     after       p95   change                 shift, 99 %  steps  is it noise?              metric
10.01 ms  10.02 ms  10.61 ms  10.62 ms  +600 us  +6.0 %  +590 us .. +610 us   8, 8  beyond noise (p 0.00016)  step_time
1.940 ms  1.940 ms  1.960 ms  1.960 ms   +20 us  +1.0 %    +20 us .. +20 us   8, 8  beyond noise (p 0.00016)  cpu
""")
TEXTS["names"] = (['--by', 'operator', '--name', 'mm|sum', '--group', 'name'], """\
Operators: time a step, by the change
 change                         before       p95     after       p95  calls  is it noise?              what
+200 us  +15.4 %  ##########  1.300 ms  1.300 ms  1.500 ms  1.500 ms      2  beyond noise (p 0.00016)  aten::mm, device
+200 us  +71.4 %  ##########    280 us    280 us    480 us    480 us      1  beyond noise (p 0.00016)  aten::sum, host
(2 unchanged)
""")


@pytest.mark.parametrize("name", TEXTS)
def test_the_whole_text(name, directory):
    options, expected = TEXTS[name]
    done = compare(directory, *options)
    assert (done.returncode, done.stderr) == (0, "")
    if options:  # what both are, and how they are not alike, is the same in all of them
        assert done.stdout.partition(NOT_ALIKE)[2] == expected
    else:
        assert done.stdout == expected


def test_the_same_tables_for_a_pull_request(directory):
    text = compare(directory, "--markdown").stdout
    for row in ("| step&#95;time | 10.01 ms | 10.02 ms | 10.61 ms | 10.62 ms | +600 us | +6.0 % | "
                "+590 us .. +610 us | 8, 8 | beyond noise (p 0.00016) |",
                "| aten::copy&#95;, host | -200 us | -100.0 % | 200 us | 200 us | - | - | "
                "1 -&#62; 0 | gone |",
                "| aten::mm GPU0 | +200 B | +4.9 % | 4 KiB | 4 KiB | 4.195 KiB | 4.195 KiB | 1 | "
                "beyond noise (p 0.00016) |"):
        assert row in text.splitlines()


@pytest.mark.parametrize("limit, status", [
    ("step_time > +5%", 1), ("step_time > +6.1%", 0), ("step_time > 10.5ms", 1),
    ("step_time > 10.62ms", 0), ("kernel:gemm > +199us", 1), ("kernel:gemm > +201us", 0),
    ("gpu_utilization < 15%", 0), ("gpu_utilization < 16%", 1), ("runtime < -30%", 1),
    ("runtime < -34%", 0), ("peak_memory > 4.2KiB", 0), ("peak_memory > 4.19KiB", 1),
    ("operator.host:aten::sum > +66%", 1), ("operator.host:aten::sum > +67%", 0),
    ("operator:aten::mm > +15%", 1), ("operator:aten::mm > +16%", 0),
    ("operator.self_host:aten::sum > +0.19ms", 1), ("operator:aten::nothing > +1%", 3)])
def test_limits_are_where_they_are_said_to_be(limit, status, directory):
    done = compare(directory, "--fail-if", limit)
    assert done.returncode == status, done.stdout[-300:] + done.stderr


def test_what_several_runs_have_alike_is_said_once(directory, tmp_path):
    """With the names of the first four."""
    commits = {"a": "aaaa", "b": "bbbb", "c": "cccc", "d": "bbbb", "e": "bbbb", "f": "bbbb", "g": "bbbb"}
    for name, commit in commits.items():
        trace = run_of(0, "aten::copy_", "First", commit)
        if name == "c":
            del trace["distributedInfo"]
        (tmp_path / f"{name}.pt.trace.json").write_text(json.dumps(trace))
    done = subprocess.run([HIPBOARD, "compare", *sorted(path.name for path in tmp_path.iterdir())],
                          cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    _, part = done.stdout.split("Not alike\n")
    assert sorted(part.split("\n\n")[0].splitlines()) == [
        "  git_commit: aaaa -> bbbb (b.pt.trace.json, d.pt.trace.json, e.pt.trace.json, f.pt.trace.json and 1 more)",
        "  git_commit: aaaa -> cccc (c.pt.trace.json)",
        "  ranks: 1 by nccl -> - (c.pt.trace.json)"]
