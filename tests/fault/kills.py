# SPDX-License-Identifier: MIT
"""Kills recording programs at random moments and counts what is left of what they recorded.

After `hipboard recover`, each scope that a thread completed must stand in exactly one trace, no file
under a final name may be broken, and nothing of the killed process may be left beside the traces.

    python3 tests/fault/kills.py --build build --kills 300 --seed 1
"""
import argparse
import collections
import gzip
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GZIP = 1  # HB_GZIP
KINETO = 2  # HB_DIALECT_KINETO
SCOPE = re.compile(r"thread (\d+)$")


def events_of(path):
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)["traceEvents"]


def counters_of(path, threads):
    numbers = struct.unpack_from(f"<{2 * threads}Q", path.read_bytes())
    return list(zip(numbers[::2], numbers[1::2]))  # (begun, completed)


def in_memory(path):
    """The most records that recovery says were in memory only."""
    data = path.read_bytes()
    trace = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return trace.get("hipboard_lost_by_kill", 0)


def scopes_in(logdir):
    """Scopes by thread over all traces; raises if one of them is broken."""
    found, traces = collections.Counter(), 0
    for path in logdir.iterdir():
        if ".pt.trace.json" not in path.name or path.name.startswith("."):
            continue
        traces += 1
        for event in events_of(path):
            name = SCOPE.match(event.get("name", "")) if event.get("ph") == "X" else None
            if name:
                found[int(name[1])] += 1
    return found, traces


def lives_in(group):
    """Whether a process of the group is not dead yet; who waits for it has nothing to do with that."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it is gone
            continue
        if of == str(group) and state not in "ZX":
            return True
    return False


class Victim:
    def __init__(self, build, rng, under_record):
        self.dir = Path(tempfile.mkdtemp(prefix="kills."))
        self.logdir, self.counters = self.dir / "log", self.dir / "counters"
        self.threads = rng.choice([1, 2, 4, 8])
        self.hipboard = str(build / "tools/hipboard/hipboard")
        command = [str(build / "tests/fault/victim"), str(self.logdir), str(self.counters),
                   str(self.threads), str(rng.choice([1, 10, 100, 1000])),
                   str(rng.choice([0, GZIP, KINETO]))]
        if under_record:
            command = [self.hipboard, "record", "-o", str(self.dir / "outer"), "--", *command]
        self.process = subprocess.Popen(command, start_new_session=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def kill_after(self, seconds):
        deadline = time.monotonic() + 60
        while not self.has_recorded() and time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError("it ended by itself: " + self.process.stderr.read().decode())
            time.sleep(0.002)
        time.sleep(seconds)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        # What `record` ran may be still dying: no one recovers from a process that lives.
        while lives_in(self.process.pid):
            time.sleep(0.002)

    def has_recorded(self):
        return self.counters.exists() and self.counters.stat().st_size > 0 and \
            any(begun for begun, _ in counters_of(self.counters, self.threads))

    def recover(self):
        # Temporary files of the last minute might be just being made by another process.
        for path in self.logdir.glob(".hipboard-*"):
            os.utime(path, (time.time() - 3600,) * 2)
        done = subprocess.run([self.hipboard, "recover", str(self.logdir)], capture_output=True,
                              text=True, timeout=300)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"recover ended with {done.returncode}: {done.stderr}")

    def faults(self):
        """What is wrong after recovery, as texts."""
        found, traces = scopes_in(self.logdir)
        wrong = []
        for thread, (begun, completed) in enumerate(counters_of(self.counters, self.threads)):
            # Killed between a call of hipboard and the counter that follows it: one more.
            if not completed <= found[thread] <= begun + 1:
                wrong.append(f"thread {thread}: {completed} scopes completed, {begun} begun, "
                             f"{found[thread]} in {traces} traces")
        if wrong:
            told = sum(in_memory(path) for path in self.logdir.glob("*.pt.trace.json*"))
            wrong.append(f"told: at most {told} records were in memory only")
        left = [path.name for path in self.logdir.iterdir() if path.name.startswith(".")]
        if left:
            wrong.append("left over: " + ", ".join(sorted(left)))
        return wrong, sum(found.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=0.4, help="seconds until the kill")
    options = parser.parse_args()
    failed, scopes = 0, 0
    for n in range(options.kills):
        rng = random.Random(f"{options.seed}:{n}")
        under_record = rng.random() < 0.2
        victim = Victim(options.build.resolve(), rng, under_record)
        try:
            victim.kill_after(rng.random() ** 2 * options.longest)
            victim.recover()
            wrong, found = victim.faults()
            scopes += found
        except (RuntimeError, ValueError, OSError, subprocess.TimeoutExpired) as error:
            wrong = [f"{type(error).__name__}: {error}"]
        if wrong:
            failed += 1
            print(f"kill {n} of seed {options.seed}{' under record' if under_record else ''}: "
                  + "; ".join(wrong) + f" ({victim.dir} is kept)", flush=True)
        else:
            shutil.rmtree(victim.dir)
    print(f"{options.kills} kills, {scopes} scopes found again, {failed} kills with a fault")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
