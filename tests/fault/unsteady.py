# SPDX-License-Identifier: MIT
"""Runs tests again and again on a machine that is worse than any: processors are busy, and processes
freeze for up to seconds at any moment. Says which tests break, and how often. A test that breaks
here, and not otherwise, depends on a moment.

    python3 tests/fault/unsteady.py --times 5 tests/e2e/test_trigger.py test_ring

A word with a slash is a file of pytest, others are programs of `meson test`. What the tests that
broke said is in tests/out/unsteady/."""
import argparse
import collections
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/out/unsteady"
PR_SET_CHILD_SUBREAPER = 36
sys.path.insert(0, str(ROOT / "tests"))
import tally  # noqa: E402


def stat_of(pid):
    """Its state and its parent; None when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[1])


def descendants(root):
    children = collections.defaultdict(list)
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := stat_of(name)) and stat[0] not in "ZXT":
            children[stat[1]].append(int(name))
    found, left = [], [root]
    while left:
        more = children[left.pop()]
        found += more
        left += more
    return found


class Unrest:
    """Until it is left: `busy` processes use processors, and what descends from this process freezes."""

    def __init__(self, seed, busy, frozen_at_once, longest_s):
        self.chance = random.Random(seed)
        self.busy = busy
        self.frozen_at_once = frozen_at_once
        self.longest_s = longest_s
        self.over = threading.Event()
        self.freezes = 0

    def __enter__(self):
        self.burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                        for _ in range(self.busy)]
        self.spared = {burner.pid for burner in self.burners}
        self.freezers = [threading.Thread(target=self._freeze) for _ in range(self.frozen_at_once)]
        for freezer in self.freezers:
            freezer.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for freezer in self.freezers:
            freezer.join()
        for burner in self.burners:
            burner.kill()
            burner.wait()

    def _freeze(self):
        while not self.over.wait(self.chance.uniform(0.02, 0.2)):
            if not (candidates := [pid for pid in descendants(os.getpid()) if pid not in self.spared]):
                continue
            pid = self.chance.choice(candidates)
            try:
                handle = os.pidfd_open(pid)
            except OSError:
                continue
            try:
                if (stat := stat_of(pid)) and stat[0] not in "ZXT":
                    signal.pidfd_send_signal(handle, signal.SIGSTOP)
                    self.freezes += 1
                    self.over.wait(0.05 * (self.longest_s / 0.05) ** self.chance.random())
                    signal.pidfd_send_signal(handle, signal.SIGCONT)
            except ProcessLookupError:
                pass
            finally:
                os.close(handle)


def reap_orphans(children):
    """They come to this process, which keeps them among its descendants."""
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in children:
            return
        os.waitpid(found.si_pid, 0)


def run(command, log):
    with open(log, "wb") as to:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=to, stderr=to)
        while process.poll() is None:
            reap_orphans({process.pid})
            time.sleep(0.1)


def pytest_results(files, words, log):
    result = log.with_suffix(".xml")
    result.unlink(missing_ok=True)
    run([sys.executable, "-m", "pytest", "-q", "--tb=short", "-o", "cache_dir=tests/.cache/pytest",
         f"--junitxml={result}", *words, *files], log)
    cases = list(ElementTree.parse(result).iter("testcase")) if result.exists() else []
    return {"pytest itself": not cases} | {f"{case.get('classname')}::{case.get('name')}":
            any(child.tag in ("failure", "error") for child in case)
            for case in cases}


def meson_results(programs, build, log):
    result = build / "meson-logs/testlog.json"
    result.unlink(missing_ok=True)
    run(["meson", "test", "-C", str(build), "--no-rebuild", "--timeout-multiplier", "10",
         "--print-errorlogs", *programs], log)
    if not result.exists():
        return {"meson itself": True}
    found = {}
    for line in result.read_text().splitlines():
        test = json.loads(line)
        program, text = test["name"].split(" / ")[-1], test.get("stdout", "") + test.get("stderr", "")
        failed = set(tally.names_in(text, "  FAILED  "))
        found.update({f"{program}:{name}": name in failed
                      for name in set(tally.names_in(text, "       OK ")) | failed})
        if tally.of_program("", test)[1] and not failed:
            found[f"{program} (died or hangs)"] = True
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--times", type=int, default=3)
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--busy", type=int, default=os.cpu_count(), help="processes that burn")
    options.add_argument("--frozen", type=int, default=2, help="processes that are frozen at once")
    options.add_argument("--longest", type=float, default=2, help="seconds that one is frozen")
    options.add_argument("--build", type=Path, default=ROOT / "build")
    options.add_argument("-k", default="", help="pytest's expression")
    options.add_argument("tests", nargs="+")
    given = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    OUT.mkdir(parents=True, exist_ok=True)
    files = [test for test in given.tests if "/" in test]
    programs = [test for test in given.tests if "/" not in test]
    ran, broke = collections.Counter(), collections.Counter()
    for turn in range(given.times):
        log = OUT / f"{given.seed}-{turn}.log"
        with Unrest(given.seed + turn, given.busy, given.frozen, given.longest) as unrest:
            results = {}
            if files:
                results |= pytest_results(files, ["-k", given.k] if given.k else [], log)
            if programs:
                results |= meson_results(programs, given.build, log.with_suffix(".unit.log"))
            left = [pid for pid in descendants(os.getpid()) if pid not in unrest.spared]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        ran.update(results)
        broken = sorted(name for name, failed in results.items() if failed)
        broke.update(broken)
        print(f"{turn + 1} of {given.times}: {len(results)} tests, {unrest.freezes} times a process froze, "
              f"{len(broken)} broke {' '.join(broken)}", flush=True)
        if not broken:
            for path in log, log.with_suffix(".unit.log"), log.with_suffix(".xml"):
                path.unlink(missing_ok=True)
    for name, times in broke.most_common():
        print(f"broke {times} of {ran[name]} times: {name}")
    print(f"seed {given.seed}: {len(ran)} tests, {len(broke)} of them broke")
    return 1 if broke else 0


if __name__ == "__main__":
    sys.exit(main())
