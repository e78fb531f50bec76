# SPDX-License-Identifier: MIT
"""torch's table of one profile: `hipboard table` beside key_averages().table(), the same text.

    python3 tests/bench/table_beside_torch.py BUILD_DIRECTORY [OPERATORS [FILE]]

Run with a Python that has torch. Torch's time is that of key_averages() and table() in the process
that recorded, without the recording; hipboard's is the whole command, reading the file included. The
trace stays in FILE when that is given."""
import os
import subprocess
import sys
import tempfile
import time


def record(operators):
    import torch
    from torch.profiler import ProfilerActivity, profile
    torch.set_num_threads(1)
    a = torch.ones(4)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        for _ in range(operators // 7):
            b = torch.addmm(torch.ones(1), a[None], a[:, None])
            torch.relu(b)
    return prof


def best(command, runs=5):
    times = []
    for _ in range(runs):
        before, start = os.times(), time.monotonic()
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        seconds, after = time.monotonic() - start, os.times()
        cpu = sum(after[2:4]) - sum(before[2:4])
        times.append((seconds, cpu))
    return text, min(t[0] for t in times), min(t[1] for t in times)


def main(build, operators="1000000", keep=None):
    prof = record(int(operators))
    start, cpu = time.monotonic(), time.process_time()
    text = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10)
    theirs, their_cpu = time.monotonic() - start, time.process_time() - cpu
    with tempfile.TemporaryDirectory() as folder:
        path = keep or os.path.join(folder, "x.pt.trace.json")
        prof.export_chrome_trace(path)
        size = os.path.getsize(path) / 1e6
        ours, seconds, ours_cpu = best([f"{build}/tools/hipboard/hipboard", "table", path, "--sort-by",
                                        "self_cpu_time_total", "--row-limit", "10"])
    print(f"{len(prof.events())} events, {size:.0f} MB of JSON; the texts are "
          f"{'equal' if ours.strip() == text.strip() else 'DIFFERENT'}")
    print(f"torch     {theirs:8.2f} s  CPU {their_cpu:8.2f} s")
    print(f"hipboard  {seconds:8.2f} s  CPU {ours_cpu:8.2f} s  "
          f"{theirs / seconds:.0f}x, by CPU time {their_cpu / ours_cpu:.0f}x")


if __name__ == "__main__":
    main(*sys.argv[1:])
