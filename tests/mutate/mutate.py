#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts small faults into a copy of the tree, one at a time, and says which no test notices.

    python3 tests/mutate/mutate.py [--seed N] [--count N] [--minutes M] [--unit] [--sanitize]
                                    [--dir DIR] ROOM...

Rooms are folders of src/, and tools. A fault is a flipped comparison, a dropped statement, a wrong
constant and the like; one that does not compile, or changes nothing in the object file, does not
count, nor do those of which faults.py says that nobody could see them. The same seed tries the same
faults. What survived is printed with its place and what was done, and at the end each room's share
of those caught. Status 1 if that is below --least.
"""
import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from faults import places
from rooms import ROOMS, folder

ROOT = Path(__file__).resolve().parents[2]
# Tests of size are slow, and notice nothing else.
FAST = "not very_many and not little_that"


class Copy:
    """A copy of what git knows, with a build of its own."""

    def __init__(self, directory, sanitize):
        self.root = directory / "tree"
        self.build = self.root / "build"
        if self.root.exists():
            shutil.rmtree(self.root)
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
        for name in names.stdout.decode().split("\0"):
            if name and (ROOT / name).exists():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name, follow_symlinks=False)
        if (ROOT / ".venv").exists():
            (self.root / ".venv").symlink_to((ROOT / ".venv").resolve())
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        self.call(["meson", "setup", str(self.build), "-Doptimization=1",
                   "-Db_sanitize=" + ("address,undefined" if sanitize else "none")], check=True)
        built = self.introspect("--targets")
        files = {target["id"]: [self.relative(name) for name in target["filename"]]
                 for target in built}
        self.targets = {name for names in files.values() for name in names}
        self.tests = {}
        for test in self.introspect("--tests"):
            test["needs"] = [name for target in test["depends"] for name in files.get(target, [])]
            self.tests[test["name"]] = test

    def introspect(self, what):
        return json.loads(self.call(["meson", "introspect", what, str(self.build)], check=True)[1])

    def relative(self, name):
        return os.path.relpath(name, self.build)

    def call(self, command, check=False, timeout=1800, env=None):
        """Status and output; 124 when it took too long."""
        try:
            done = subprocess.run(command, cwd=self.root, stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                                  timeout=timeout, env=dict(os.environ, **(env or {})))
        except subprocess.TimeoutExpired:
            return 124, ""
        if check and done.returncode:
            sys.exit(f"{command}\n{done.stdout}")
        return done.returncode, done.stdout

    def ninja(self, targets):
        return self.call(["ninja", "-C", str(self.build), *targets])

    def object_of(self, source):
        """The object file's bytes, of the library or the tool."""
        name = source.relative_to(self.root).as_posix()
        flat = name.removeprefix("tools/hipboard/")
        if name.startswith("src/"):
            flat = "/".join(name.split("/")[2:])
        flat = flat.replace("/", "_") + ".o"
        found = [path for path in self.build.glob("*/**/*.o") if path.name == flat]
        return hashlib.sha256(b"".join(strip(path) for path in sorted(found))).hexdigest()


def strip(path):
    """Without line numbers, which change with every line."""
    copy = path.with_suffix(".stripped")
    subprocess.run(["objcopy", "-g", str(path), str(copy)], check=True)
    data = copy.read_bytes()
    copy.unlink()
    return data


class Room:
    def __init__(self, copy, name, unit):
        self.copy, self.name = copy, name
        names, files = ROOMS[name]
        self.files = [] if unit else files
        self.tests = [copy.tests[test] for test in names if test in copy.tests]
        for test in names:
            if test not in copy.tests:
                print(f"  {test} is not built here", flush=True)
        needs = {need for test in self.tests for need in test["needs"]}
        # What tests load and run; what else those of tests/e2e need is built once.
        loaded = ("src/", "tools/symbolizer/")
        if self.files:
            loaded += ("samples/digits/", "tools/hipboard/")
        needs.update(target for target in copy.targets if target.startswith(loaded))
        self.targets = sorted(needs)
        self.sources = sorted((copy.root / folder(name)).glob("*.c"))

    def test_commands(self):
        for test in self.tests:
            yield test["name"], test["cmd"], test["env"]
        python = str(self.copy.root / ".venv/bin/python")
        for file in self.files:
            if (self.copy.root / "tests/e2e" / file).exists():
                yield file, [python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", FAST,
                             f"tests/e2e/{file}"], {"HB_BUILD": str(self.copy.build)}

    def prepare(self):
        """Builds, and finds out which tests pass without a fault, and how long they take."""
        status, text = self.copy.ninja(["all"] if self.files else self.targets)
        if status:
            sys.exit(text)
        self.whole = {source: self.copy.object_of(source) for source in self.sources}
        self.passing = []
        for name, command, env in self.test_commands():
            begin = time.monotonic()
            status, text = self.copy.call(command, env=env, timeout=600)
            if status == 0:
                self.passing.append((name, command, env, time.monotonic() - begin))
            else:
                print(f"  {name} fails without a fault: left out\n{text[-300:]}", flush=True)
        self.passing.sort(key=lambda test: test[3])

    def who_notices(self):
        for name, command, env, seconds in self.passing:
            status, _ = self.copy.call(command, env=env, timeout=30 + 10 * seconds)
            if status:
                return name
        return None


def choose(room, source, chance):
    """Of all kinds alike, since there are more constants than comparisons."""
    found = places(source.read_text())
    if not found:
        return None
    kind = chance.choice(sorted({place[0] for place in found}))
    return chance.choice([place for place in found if place[0] == kind])


def try_one(room, source, place):
    """None: the fault does not count. Else who noticed it, "" when nobody did."""
    text = source.read_text()
    _, begin, end, replacement = place
    source.write_text(text[:begin] + replacement + text[end:])
    try:
        status, _ = room.copy.ninja(room.targets)
        if status or room.copy.object_of(source) == room.whole[source]:
            return None
        return room.who_notices() or ""
    finally:
        source.write_text(text)


def attack(room, seed, count, until):
    """(caught, survived)"""
    chance = random.Random(f"{seed} {room.name}")
    weights = [len(source.read_text()) for source in room.sources]
    caught = survived = 0
    room.prepare()
    while caught + survived < count and time.monotonic() < until:
        [source] = chance.choices(room.sources, weights)
        place = choose(room, source, chance)
        if not place:
            continue
        text = source.read_text()
        who = try_one(room, source, place)
        if who is None:
            continue
        caught += bool(who)
        survived += not who
        line = text.count("\n", 0, place[1]) + 1
        old = " ".join(text[place[1]:place[2]].split())[:70]
        new = " ".join(place[3].split())[:70]
        where = f"{source.relative_to(room.copy.root)}:{line}"
        print(f"{'caught' if who else 'SURVIVED':9} {where:38} {place[0]}: {old} -> {new}"
              f"{'   by ' + who if who else ''}", flush=True)
        if not who:
            print(f"          {text.splitlines()[line - 1].strip()}", flush=True)
    return caught, survived


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rooms", nargs="+", choices=sorted(ROOMS), metavar="ROOM")
    parser.add_argument("--seed", default=str(random.randrange(10**6)))
    parser.add_argument("--count", type=int, default=10**9, help="faults that count, each room")
    parser.add_argument("--minutes", type=float, default=60, help="in all")
    parser.add_argument("--unit", action="store_true", help="meson's tests only, no tests/e2e")
    parser.add_argument("--sanitize", action="store_true",
                        help="with ASan and UBSan, which see what lies beyond an array")
    parser.add_argument("--dir", type=Path, default=ROOT / "tests/out/mutate")
    parser.add_argument("--least", type=float, default=0, help="%% that must be caught")
    o = parser.parse_args()
    o.dir.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    copy, results = Copy(o.dir.resolve(), o.sanitize), {}
    print(f"seed {o.seed}", flush=True)
    for i, name in enumerate(o.rooms):
        print(f"== {name}", flush=True)
        left = begin + o.minutes * 60 - time.monotonic()
        until = time.monotonic() + left / (len(o.rooms) - i)
        results[name] = attack(Room(copy, name, o.unit), o.seed, o.count, until)
    all_caught = sum(result[0] for result in results.values())
    everything = sum(map(sum, results.values()))
    for name, (caught, survived) in results.items():
        print(f"{name:10} {caught:4} of {caught + survived:4}")
    share = 100 * all_caught / everything if everything else 0
    print(f"{all_caught} of {everything} faults caught: {share:.0f} %")
    shutil.rmtree(copy.root)
    return int(not everything or share < o.least)


if __name__ == "__main__":
    sys.exit(main())
