# SPDX-License-Identifier: MIT
"""clients.py OUT SUITE NAME=VALUE... -- COMMAND: a program of others on the simulated GPU, with the HIP runtime
of that suite. Its trace must have every kernel and copy that the simulated GPU counted, once; then what
recording costs it is printed beside what a client of the runtime's hook costs that does nothing.

The program's own figure is the last `ns: NUMBER` that it writes, or the time that it takes."""
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IN_SUITE = ROOT / "tools/simhsa/in_suite"
TOOLS = ROOT / "build/tools"
ROUNDS = 5
# Nothing that the GPU does takes time: what is left is the host's.
AT_ONCE = {"SIMHSA_KERNEL_NS": "0", "SIMHSA_COPY_NS": "0"}


def run(suite, command, environment):
    started = time.monotonic()
    done = subprocess.run([IN_SUITE, suite, *map(str, command)], capture_output=True, text=True, errors="replace",
                          env=dict(os.environ, SIMHSA_LIBRARY_DIR=str(TOOLS / "simhsa"), **environment))
    if done.returncode:
        sys.exit(f"{command[0]} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done, 1e9 * (time.monotonic() - started)


def recorded(logdir, command):
    return [TOOLS / "hipboard/hipboard", "record", "-o", logdir, "--", *command]


def counted_below(said):
    packets = len(re.findall(r"^simhsa: GPU \d+ queue \d+: \S", said, re.M))
    return packets, len(re.findall(r"^simhsa: copy of ", said, re.M))


def read(logdir):
    [path] = logdir.glob("*.pt.trace.json")
    trace = json.loads(path.read_text())
    return trace, Counter(e.get("cat") for e in trace["traceEvents"] if e["ph"] == "X")


def faults(trace, events, packets, dma):
    shown = events["kernel"] + events["gpu_memcpy"] + events["gpu_memset"]
    print(f"below: {packets} packets + {dma} DMA copies; in the trace: {events['kernel']} kernels + "
          f"{events['gpu_memcpy']} copies + {events['gpu_memset']} fills")
    if shown != packets + dma:
        yield f"{shown} pieces of work in the trace, {packets + dma} on the GPU"
    if not events["kernel"]:
        yield "no kernel"
    if trace.get("hipboard_hip_backend") != "tracer-hook":
        yield f"recorded by {trace.get('hipboard_hip_backend')}: {trace.get('hipboard_hip_refused')}"
    if "hipboard_hip_notes" in trace:
        yield f"notes: {trace['hipboard_hip_notes']}"
    calls = {e["args"]["correlation"] for e in trace["traceEvents"] if e.get("cat") == "Runtime"}
    alone = [e["name"] for e in trace["traceEvents"]
             if e.get("cat") == "kernel" and e["args"].get("correlation") not in calls]
    if alone:
        yield f"{len(alone)} kernels without the call that launched them, such as {alone[0]}"


def is_whole(out, suite, command, environment):
    logdir = out / "runs"
    shutil.rmtree(logdir, ignore_errors=True)
    done, _ = run(suite, recorded(logdir, command), environment | {"SIMHSA_TRACE": "1"})
    trace, events = read(logdir)
    version = trace.get("hip_runtime_version", 0)
    print(f"HIP {version // 10000000}.{version // 100000 % 100}")
    found = list(faults(trace, events, *counted_below(done.stderr)))
    found += [line for line in done.stderr.splitlines() if line.startswith("hipboard: ")]
    for fault in found:
        print(f"FAULT: {fault}")
    return not found


def figure(done, ns):
    own = re.findall(r"^ns: ([0-9.]+)$", done.stdout, re.M)
    return float(own[-1]) if own else ns


def costs(out, suite, command, environment):
    """Best of some rounds, taken in turns, as the machine may be busy now and then."""
    client = out / "empty_client.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", ROOT / "tests/long/empty_client.c", "-o", client], check=True)
    ways = {"nobody listens": (command, {}),
            "the runtime's own part": (command, {"LD_PRELOAD": str(client.resolve())}),
            "recorded": (recorded(out / "timed", command), {})}
    best = {}
    for _ in range(ROUNDS):
        for way, (line, more) in ways.items():
            shutil.rmtree(out / "timed", ignore_errors=True)
            figures = figure(*run(suite, line, environment | AT_ONCE | more))
            best[way] = min(figures, best.get(way, figures))
    plain = best["nobody listens"]
    for way, ns in best.items():
        print(f"{way:26} {ns / 1e3:12.1f} us  {100 * (ns - plain) / plain:+6.1f} %")


def main():
    out, suite, *rest = sys.argv[1:]
    split = rest.index("--")
    environment = dict(setting.split("=", 1) for setting in rest[:split])
    command = rest[split + 1:]
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    whole = is_whole(out, suite, command, environment)
    costs(out, suite, command, environment)
    return 0 if whole else 1


sys.exit(main())
