# SPDX-License-Identifier: MIT
"""What several test files use."""
import contextlib
import fcntl
import gzip
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HB_BUILD", ROOT / "build"))
PROGRAMS = ROOT / "tests/e2e/programs"
SLOW_TO_UNLOCK = BUILD / "tests/e2e/programs/slow_to_unlock.so"  # preloaded


def run(*command, timeout=600, **options):
    """Runs a command to its end and returns its standard output; fails with all that it said."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=timeout, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def copy_of_build(to):
    """The command with its libraries and tables, as a build directory holds them. Returns the command."""
    for place in ("tools/hipboard/hipboard", "tools/hipboard/libhipboard-capture.so",
                  "tools/hipboard/libhipboard-rocprofiler.so", "src/recorder/libhipboard.so.0",
                  "src/recorder/libhipboard-mpi.so.0", "src/recorder/libhipboard-openmp.so.0",
                  "src/analysis/libhipboard-analysis.so.0"):
        (to / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(BUILD / place, to / place)
    shutil.copytree(BUILD / "share", to / "share")
    return to / "tools/hipboard/hipboard"


@contextlib.contextmanager
def alone_in(directory):
    """Test files run side by side; what this guards does not."""
    held = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def install(destination):
    """As `ninja install` does. The build directory remembers the last one: see alone_in()."""
    run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", destination)


def limited(data_bytes, *command):
    """The command with so much memory. The shell sets the limit: between fork() and exec() it would
    hold for a copy of this Python, which has more than that once other tests have run."""
    return ["bash", "-c", f'ulimit -d {data_bytes >> 10} && exec "$@"', "bash", *map(str, command)]


def in_seconds(seconds, *command):
    """The command, ended when it has taken so much processor time, on however busy a machine."""
    return ["bash", "-c", f'ulimit -t {seconds} && exec "$@"', "bash", *map(str, command)]


def pkg_config(prefix, *arguments, package="hipboard"):
    """Words of pkg-config about a library of the hipboard installed below `prefix`, wherever that
    is."""
    [directory] = prefix.glob("lib*/**/pkgconfig")
    text = run("pkg-config", "--define-variable=prefix=" + str(prefix).replace(" ", r"\ "),
               *arguments, package, env=dict(os.environ, PKG_CONFIG_PATH=str(directory)))
    return [word.replace(r"\ ", " ") for word in re.findall(r"(?:\\ |\S)+", text)]


def recover_when_dead(logdir, *options):
    """Makes traces of what killed processes left. They may still be dying, and hold it."""
    until = time.monotonic() + 600
    while list(logdir.glob(".*.hbspool")):
        done = subprocess.run([BUILD / "tools/hipboard/hipboard", "recover", *options, logdir],
                              capture_output=True, text=True, timeout=600)
        assert time.monotonic() < until, done.stdout + done.stderr
        time.sleep(0.1)


def check_pftrace_beside(trace, into):
    """The .pftrace beside a trace has all that was recorded, at the same times; `into` is for its import."""
    done = subprocess.run([BUILD / "tools/hipboard/hipboard", "import", "--json", "-o", into,
                           trace.with_name(trace.name.removesuffix(".pt.trace.json") + ".pftrace")],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    [told] = done.stdout.splitlines()
    own, read = (sorted((e["cat"], e["name"], e["ts"], e["dur"]) for e in
                        json.loads(Path(path).read_text())["traceEvents"]
                        if e["ph"] == "X" and e.get("cat") not in (None, "Trace") and
                        e["args"].get("hipboard") != "inferred")
                 for path in (trace, json.loads(told)["file"]))
    assert own == read and own, (set(own) - set(read), set(read) - set(own))


def check_live_cycles(cycles, traces):
    """What live_cycle.c told of a program's cycles in memory is what it tells of their files, whose events make the
    same model without a file as with one."""
    told = [run(BUILD / "tests/e2e/programs/live_cycle", path) for path in traces]
    live = [path.read_text() for path in cycles.iterdir()]
    assert len(live) == len(told) > 0
    for before, after in zip(sorted(live), sorted(told)):
        assert before.splitlines() == after.splitlines() and before.count("\n") > 10
    run(BUILD / "tests/unit/test_cycle_trace", *traces)


def telling_cycles(directory):
    """The environment in which a program's cycles are told of into `directory`."""
    directory.mkdir()
    return {"CYCLES_DIR": str(directory), "LD_PRELOAD": str(BUILD / "tests/e2e/programs/live_cycle.so")}


class DigitsRun:
    """One training of samples/digits: its traces, and what the program itself counted."""

    def __init__(self, directory, *options, env=None):
        self.directory = directory
        report = directory.parent.parent / f"{directory.name}.report.json"
        self.output = run(BUILD / "samples/digits/digits", "--logdir", directory,
                          "--report", report, *options, env=env)
        self.report = json.loads(report.read_text())
        self.cycles = self.report["cycles"]
        self.files = sorted(directory.glob("*.pt.trace.json*"))

    def documents(self):
        for path in self.files:
            opener = gzip.open if path.suffix == ".gz" else open
            with opener(path, "rt") as file:
                yield json.load(file)


def held_before(events, device_type):
    """Bytes of each allocation that a trace tells of as older than its cycle, on such devices."""
    told = [event["args"] for event in events if "Allocated by" in event.get("args", {})]
    return [args["Bytes"] for args in told if (args["Device Type"] != 0) == (device_type != 0)]


def operator_calls(cycle):
    """Calls of every operator in a cycle, over all threads."""
    calls = {}
    for op in cycle["ops"]:
        calls[op["name"]] = calls.get(op["name"], 0) + op["calls"]
    return calls
