# SPDX-License-Identifier: MIT
"""Lets the n-th call fail that hipboard makes to the system in programs that know nothing of it: a
process of threads, of forks, of HIP on the simulated GPU, under `hipboard record`.

    python3 tests/fault/failing.py --build build --every 7

A program may end only as it does without failures: with its own output and exit status. Or it was
not begun, and `hipboard record` says why."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PATIENCE_S = 120
REFUSED = "record refuses"


def environment(build, **more):
    return dict(os.environ, LD_LIBRARY_PATH=str(build / "tools/simhsa"), **more)


def programs(build):
    """Name, command (with {} for the log directory), and what must be installed for it."""
    tool = build / "tools/hipboard/hipboard"
    hip = build / "tests/hip/plain"
    whole = build / "tests/fault/whole_program"
    record = [str(tool), "record", "-o", "{}", "--"]
    children = "import os, subprocess; subprocess.run(['true']); os.fork(); exit(3)"
    yield "record a process with children", [*record, sys.executable, "-c", children], tool
    yield "record HIP and a fork", [*record, str(hip)], hip
    yield "record by a schedule", [str(tool), "record", "--schedule", "active=1", "--slice", "5ms",
                                   "-o", "{}", "--", str(hip)], hip
    yield "the whole interface: threads, handlers, event files, a fork", [str(whole), "{}"], whole
    yield "record the same", [*record, str(whole), "{}/own"], whole


def run_once(build, command, scratch, mode, nth):
    logdir = scratch / "runs"
    said = scratch / "said"
    said.unlink(missing_ok=True)
    shutil.rmtree(logdir, ignore_errors=True)
    env = environment(build, LD_PRELOAD=str(build / "tests/fault/libfailcalls.so"),
                      FAIL_CALLS_SAY=str(said), **{mode: str(nth)})
    words = [word.replace("{}", str(logdir)) for word in command]
    try:
        done = subprocess.run(words, env=env, capture_output=True, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        return "hangs", True
    lines = said.read_text().split("\n")[:-1] if said.exists() else []
    failed = any(line.split()[2] != "-" for line in lines)
    refused = (done.returncode, done.stdout) == (1, b"") and done.stderr.startswith(b"hipboard record: ")
    return REFUSED if refused else (done.returncode, done.stdout), failed


def attempt(build, name, command, scratch, every):
    """All calls of a program; how many were tried, and what went wrong."""
    tried, wrong = 0, []
    expected, _ = run_once(build, command, scratch, "FAIL_CALL", 0)
    for mode in "FAIL_CALL", "FAIL_CALLS":
        nth = 1
        while True:
            found, failed = run_once(build, command, scratch, mode, nth)
            tried += 1
            if found not in (expected, REFUSED):
                wrong.append(f"{name}: {mode}={nth}: {found} instead of {expected}")
            if not failed and found == expected:
                break
            nth += every
    return tried, wrong


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--build", type=Path, default=Path("build"))
    options.add_argument("--every", type=int, default=7)
    given = options.parse_args()
    all_wrong = []
    for name, command, needs in programs(given.build.resolve()):
        if not needs.exists():
            print(f"{name}: left out, {needs} is not built")
            continue
        with tempfile.TemporaryDirectory(prefix="hipboard-failing-") as scratch:
            tried, wrong = attempt(given.build.resolve(), name, command, Path(scratch), given.every)
        print(f"{name}: {tried} failures tried, {len(wrong)} wrong", flush=True)
        all_wrong += wrong
    print("\n".join(all_wrong[:40]))
    sys.exit(bool(all_wrong))


if __name__ == "__main__":
    main()
