#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts small faults into a copy of the tree, one at a time, and says which no test notices.

    python3 tests/mutate/mutate.py [--seed N] [--count N] [--minutes M] [--unit] [--plain]
                                    [--again] [--dir DIR] ROOM...
    python3 tests/mutate/mutate.py --not-executed [--dir DIR] ROOM...

Rooms are folders of src/, and tools. A fault is a flipped comparison, a dropped statement, a wrong
constant and the like; one that does not compile, or that an optimizer shows to change nothing, does
not count, nor do those of which faults.py says that nobody could see them, or changes_nothing.tsv, where
somebody has looked at one and says why. The same seed tries the same faults. What survived is printed with its place and what was done, and at the end each room's
share of those caught. Status 1 if that is below --least.

Only tests that execute the line are asked: each runs once without a fault, in a build that marks what
is executed (coverage.c). A line that none executes has survived at once. Of the others those are
asked first that noticed most of what they were asked in their time, and each is linked only when its
turn comes. Meson's tests are asked of every room, then single tests of the files of tests/e2e that
rooms.py names, without --unit. What they do not notice, meson's tests are asked once more with ASan
and UBSan, as tests/run.sh runs them, without --plain. The copy stays in DIR, so that another run builds only what has
changed, and runs only tests again that have changed, or that execute what has; --again runs all.

--not-executed puts no fault in, and prints the lines that none of the tests executes.
"""
import argparse
import csv
import hashlib
import json
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import executed
from faults import places
from rooms import ROOMS, folder

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
# The same tests once more with a HIP of another release: slow, and asked of by tests/run.sh.
OTHER_SUITES = ("_trixie", "_sid", "_experimental")
# But of the rooms that look at the release, or at what it tells: 5.7 reports work when a step is over,
# and has pools of memory, and the newest has what no other has.
ASK_RELEASES, RELEASES = {"hip", "replay"}, ("_trixie", "_experimental")
SLOWEST = 90 # seconds: what takes longer is not asked
STARTS = 1.5 # seconds that a test takes to be linked, or pytest to begin
TOGETHER = 8 # seconds of tests of one file that are asked at once
NOT_ASKED = (None, set())
# Each with its file, its line without blanks around it, what is done to it, and why nobody can see that.
CHANGES_NOTHING = HERE / "changes_nothing.tsv"
SANITIZERS = {"ASAN_OPTIONS": "detect_stack_use_after_return=1",
              "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"} # as tests/run.sh has them
# Tests of size are slow, and notice nothing else, nor do those in which a browser shows the same in TensorBoard.
FAST = "not very_many and not little_that and not the_plugin_shows and not its_pages_show"


class Copy:
    """A copy of what git knows, with a build of its own."""

    def __init__(self, directory):
        self.directory, self.root = directory, directory / "tree"
        self.build, self.sanitized = self.root / "build", self.root / "build-asan"
        self.bring_up_to_date()
        self.marks = directory / "marks"
        runtime = directory / "coverage.o"
        self.call(["cc", "-O2", "-mgeneral-regs-only", "-fPIC", f'-DMARKS_DIR="{self.marks}"', "-c",
                   str(HERE / "coverage.c"), "-o", str(runtime)], check=True)
        if not (self.build / "build.ninja").exists():
            self.call(["meson", "setup", str(self.build), "-Doptimization=0", "-Ddebug=false",
                       "-Dc_args=-g1 -fsanitize-coverage=trace-pc", f"-Dc_link_args={runtime}",
                       f"-Dcpp_link_args={runtime}"], check=True)
        self.must(*self.ninja(["all"]))
        built = self.introspect("--targets")
        self.files = {target["id"]: [self.relative(name) for name in target["filename"]]
                      for target in built}
        self.modules = [self.build / name for names in self.files.values() for name in names
                        if (self.build / name).is_file()]
        self.objects = {}
        for command in json.loads((self.build / "compile_commands.json").read_text()):
            source = (self.build / command["file"]).resolve()
            self.objects.setdefault(source, []).append(command)
        self.watch = executed.Marks(self.marks, self.modules)
        self.forget_what_has_changed()

    def functions(self):
        """{(file, function): size} of the sources' objects: what a test executes is known by places in them."""
        return {(file, name): size for source, commands in self.objects.items()
                if not source.is_relative_to(self.root / "tests")
                for command in commands
                for _, size, file, name, _ in executed.functions(self.build / command["output"])}

    def forget_what_has_changed(self):
        """Tests that executed a function which is another one by now run again, or none might be asked of it."""
        path, now = self.directory / "functions.pickle", self.functions()
        before = pickle.loads(path.read_bytes()) if path.exists() else {}
        changed = {key for key in {*before, *now} if before.get(key) != now.get(key)}
        for test in (self.directory / "executed").glob("*.pickle"):
            value = pickle.loads(test.read_bytes())[1]
            tests = value if isinstance(value, list) else [{"blocks": value[1]}]
            blocks = {(file, name.partition("@")[0]) for test_of in tests for file, name, _ in test_of["blocks"]}
            if not before or blocks & changed:
                test.unlink()
        path.write_bytes(pickle.dumps(now))

    def bring_up_to_date(self):
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
        wanted = {name for name in names.stdout.decode().split("\0") if (ROOT / name).is_file()}
        for path in (self.root / folder for folder in ("src", "tests")):
            for old in path.rglob("*.[ch]") if path.exists() else ():
                if old.relative_to(self.root).as_posix() not in wanted:
                    old.unlink()
        for name in wanted:
            old, new = self.root / name, ROOT / name
            if not old.is_symlink() and old.exists() and old.read_bytes() == new.read_bytes():
                continue
            old.parent.mkdir(parents=True, exist_ok=True)
            old.unlink(missing_ok=True)
            shutil.copy(new, old, follow_symlinks=False)
        if (ROOT / ".venv").exists() and not (self.root / ".venv").exists():
            (self.root / ".venv").symlink_to((ROOT / ".venv").resolve())
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def introspect(self, what):
        return json.loads(self.call(["meson", "introspect", what, str(self.build)], check=True)[1])

    def absolute(self, part):
        """Of a command that meson would call in the build's folder."""
        path = self.build / part
        return str(path) if "/" in part and path.is_file() else part

    def relative(self, name):
        return os.path.relpath(name, self.build)

    def call(self, command, check=False, timeout=1800, env=None):
        """Status and output; 124 when it took too long: then all that it started is killed."""
        with subprocess.Popen(command, cwd=self.root, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                              start_new_session=True, env=dict(os.environ, **(env or {}))) as done:
            try:
                text, _ = done.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(done.pid, signal.SIGKILL)
                return 124, ""
        if check:
            self.must(done.returncode, text)
        return done.returncode, text

    @staticmethod
    def must(status, text):
        if status:
            sys.exit(text)

    def ninja(self, targets, build=None):
        return self.call(["ninja", "-C", str(build or self.build), *targets])

    def set_up_sanitized(self):
        if not (self.sanitized / "build.ninja").exists():
            self.call(["meson", "setup", str(self.sanitized), "-Doptimization=1",
                       "-Db_sanitize=address,undefined"], check=True)

    def outputs(self, source):
        return [command["output"] for command in self.objects.get(source, [])]

    def object_of(self, source):
        """The bytes of all objects made of it, without line numbers, which change with every line."""
        return digest(self.build / name for name in self.outputs(source))

    def optimized(self, source):
        """The same of an optimizer's objects, which show what changes nothing."""
        made = []
        for command in self.objects[source]:
            path = self.directory / f"optimized{len(made)}.o"
            text = command["command"].replace(f"-o {command['output']} ", f"-o {path} ")
            text = text.replace("-fsanitize-coverage=trace-pc", "").replace(" -O0 ", " -O2 ")
            subprocess.run(text, shell=True, cwd=self.build, check=True, capture_output=True)
            made.append(path)
        return digest(made)


def digest(paths):
    total = hashlib.sha256()
    for path in sorted(paths):
        copy = path.with_suffix(".stripped")
        subprocess.run(["objcopy", "-g", str(path), str(copy)], check=True)
        total.update(copy.read_bytes())
        copy.unlink()
    return total.hexdigest()


def alike(name):
    """What one test of a file of tests/e2e notices, others of it may as well."""
    return name.partition("::")[0]


class Asked:
    """Tests, what each executes, and how good each was at noticing."""

    def __init__(self, copy, again):
        self.copy, self.again = copy, again
        self.seconds, self.executed, self.command, self.needs, self.env = {}, {}, {}, {}, {}
        self.asked, self.noticed = {}, {} # by alike()
        # What tests of tests/e2e load and run; what else they need is built once.
        self.loaded = sorted({name for names in copy.files.values() for name in names
                              if name.startswith(("src/", "tools/symbolizer/", "tools/hipboard/"))})

    def remembered(self, name, key, run):
        """What run() gives of a test: seconds (None when it fails without a fault) and blocks."""
        path = self.copy.directory / "executed" / (name.replace("/", "_") + ".pickle")
        if path.exists() and not self.again:
            known, value = pickle.loads(path.read_bytes())
            if known == key:
                return value
        value = run()
        path.parent.mkdir(exist_ok=True)
        if value != NOT_ASKED: # which a machine that is busy for a while may have made it
            path.write_bytes(pickle.dumps((key, value)))
        return value

    def hash_of(self, pattern):
        """Of the sources of a test."""
        total = hashlib.sha256()
        for path in sorted((self.copy.root / "tests").glob(pattern)):
            total.update(path.read_bytes())
        return total.hexdigest()

    def add(self, name, seconds, blocks, command, needs, env):
        # A library's public functions have versions in it, and none in their objects.
        blocks = {(file, function.partition("@")[0], offset) for file, function, offset in blocks}
        self.seconds[name], self.executed[name] = seconds, blocks
        self.command[name], self.needs[name], self.env[name] = command, needs, env
        self.asked[alike(name)], self.noticed[alike(name)] = 1, 0.5

    def meson_tests(self, rooms):
        others = [suite for suite in OTHER_SUITES if suite not in RELEASES or not ASK_RELEASES & set(rooms)]
        for test in self.copy.introspect("--tests"):
            name, env = test["name"], test["env"]
            if name.endswith(tuple(others)) or not {"unit", "hip"} & {
                    suite.split(":")[-1] for suite in test["suite"]}:
                continue
            command = [self.copy.absolute(part) for part in test["cmd"]]
            needs = [file for target in test["depends"] for file in self.copy.files.get(target, [])]
            # A program's own file is not among what it depends on.
            needs = sorted({*needs, *(self.copy.relative(part) for part in command
                                      if part.startswith(str(self.copy.build)) and Path(part).is_file())})

            def run():
                self.copy.watch.forget()
                begin = time.monotonic()
                status, text = self.copy.call(command, env=env, timeout=SLOWEST)
                if status:
                    why = "takes long" if status == 124 else "fails without a fault"
                    print(f"  {name} {why}: left out\n{text[-300:]}", flush=True)
                    return NOT_ASKED
                return time.monotonic() - begin, self.copy.watch.blocks()

            seconds, blocks = self.remembered(name, self.hash_of(f"*/*{name}.c"), run)
            if seconds is not None:
                self.add(name, seconds, blocks, command, needs, env)

    def e2e_file(self, file):
        if not (self.copy.root / "tests/e2e" / file).exists() or f"e2e {file}" in self.seconds:
            return
        python = [str(self.copy.root / ".venv/bin/python"), "-m", "pytest", "-q", "-x", "-p",
                  "no:cacheprovider"]
        # Without an optimizer libraries have more of each thread's memory than Python leaves room for.
        env = {"HB_BUILD": str(self.copy.build),
               "GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=16384"}

        def run():
            out, modules = self.copy.directory / "e2e.json", self.copy.directory / "modules"
            modules.write_text("\n".join(map(str, self.copy.modules)))
            self.copy.call([*python[:3], "-q", "-p", "no:cacheprovider", "-p", "watched",
                            "-k", FAST, f"tests/e2e/{file}"], timeout=1500,
                           env={**env, "MUTATE_MARKS": str(self.copy.marks),
                                "MUTATE_OUT": str(out), "MUTATE_MODULES": str(modules),
                                "PYTHONPATH": str(HERE)})
            return json.loads(out.read_text())

        key = self.hash_of(f"e2e/{file}")
        whole, seconds = set(), 0
        for test in self.remembered(f"e2e_{file}", key, run):
            blocks = {tuple(block) for block in test["blocks"]}
            seconds += test["seconds"]
            if test["phase"] == "setup":
                whole |= blocks
            elif test["passed"]:
                self.add(test["test"], test["seconds"], blocks, [*python, test["test"]],
                         self.loaded, env)
        # What several tests are made of: any of them may notice.
        self.add(f"e2e {file}", 1 + seconds, whole,
                 [*python, "-k", FAST, f"tests/e2e/{file}"], self.loaded, env)

    def together(self, names):
        """What is asked at once: one of meson's tests, or some of a file of tests/e2e, since pytest itself takes
        a second or two."""
        lists = []
        for name in sorted(names, key=lambda name: (alike(name), self.seconds[name])):
            last = lists[-1] if lists else []
            more = last and "::" in name and alike(last[0]) == alike(name)
            if more and sum(map(self.seconds.get, last)) + self.seconds[name] < TOGETHER:
                last.append(name)
            else:
                lists.append([name])
        return lists

    def who_notices(self, names, patience):
        """The first of the tests that does, those first that notice most in their time; and how many
        of them were asked before patience ended."""
        until = time.monotonic() + patience
        lists, count = self.together(names), 0

        def cost(some):
            kind = alike(some[0])
            return (STARTS + sum(map(self.seconds.get, some))) * self.asked[kind] / self.noticed[kind]

        for some in sorted(lists, key=cost):
            if time.monotonic() > until:
                return None, count
            status, text = self.copy.ninja(self.needs[some[0]])
            if "unknown target" in text: # else it would pass for a fault that was noticed
                sys.exit(text)
            if not status:
                status, text = self.copy.call([*self.command[some[0]], *some[1:]], env=self.env[some[0]],
                                              timeout=30 + 6 * sum(map(self.seconds.get, some)))
            count += len(some)
            self.asked[alike(some[0])] += 1
            self.noticed[alike(some[0])] += bool(status)
            if status:
                said = re.search(r"^(?:FAILED|ERROR) (tests/e2e/\S+)", text, re.M)
                return said[1] if said else some[0], count
        return None, len(names)

    def fails_sanitized(self, name):
        """Whether one of meson's tests does in a build with sanitizers; None when it can't be built."""
        copy = self.copy
        if copy.ninja(self.needs[name], copy.sanitized)[0]:
            return None

        def there(text):
            return text.replace(str(copy.build), str(copy.sanitized))

        env = {key: there(value) for key, value in self.env[name].items()}
        status, _ = copy.call([there(part) for part in self.command[name]], timeout=60 + 10 * self.seconds[name],
                              env={**env, **SANITIZERS})
        return bool(status)

    def sanitizers_notice(self, names, patience, with_fault, without_fault):
        """The first of meson's tests that fails with the fault in a build with sanitizers, and does not without."""
        until = time.monotonic() + patience
        self.copy.set_up_sanitized()
        for name in sorted((name for name in names if "tests/e2e" not in " ".join(self.command[name])),
                           key=self.seconds.get):
            if time.monotonic() > until:
                return None
            with_fault()
            if self.fails_sanitized(name):
                without_fault()
                if self.fails_sanitized(name) is False:
                    return f"{name} with sanitizers"
        return None


class Room:
    def __init__(self, copy, asked, name, unit, plain):
        self.copy, self.asked, self.name, self.plain = copy, asked, name, plain
        self.sources = sorted(path for path in (copy.root / folder(name)).glob("*.c")
                              if copy.outputs(path.resolve()))
        self.whole = {source: copy.object_of(source) for source in self.sources}
        self.optimized = {}
        self.blocks = {source: executed.sites(source, [copy.build / file for file in copy.outputs(source)])
                       for source in self.sources}
        for file in [] if unit else ROOMS[name]:
            asked.e2e_file(file)

    def try_one(self, source, place, patience):
        """None: the fault does not count. Else who noticed it, how many were asked, and of how many."""
        text = source.read_text()
        _, begin, end, replacement = place
        if source not in self.optimized:
            self.optimized[source] = self.copy.optimized(source)
        faulty = text[:begin] + replacement + text[end:]
        source.write_text(faulty)
        try:
            status, _ = self.copy.ninja(self.copy.outputs(source))
            if status or self.copy.object_of(source) == self.whole[source]:
                return None
            names = executed.executing(text, place, self.blocks[source], self.asked.executed)
            who, count = self.asked.who_notices(names, patience)
            if not who and self.copy.optimized(source) == self.optimized[source]:
                return None
            if not who and not self.plain:
                who = self.asked.sanitizers_notice(names, patience, lambda: source.write_text(faulty),
                                                   lambda: source.write_text(text))
            return who or "", count, len(names)
        finally:
            source.write_text(text)


def choose(source, chance):
    """Of all kinds alike, since there are more constants than comparisons."""
    found = places(source.read_text())
    if not found:
        return None
    kind = chance.choice(sorted({place[0] for place in found}))
    return chance.choice([place for place in found if place[0] == kind])


def print_not_executed(room):
    executed_blocks = set().union(*room.asked.executed.values())
    for source in room.sources:
        lines = {}
        for block, (line, _) in room.blocks[source].items():
            lines[line] = lines.get(line, False) or block in executed_blocks
        text = source.read_text().splitlines()
        for line in sorted(line for line, any_is in lines.items() if not any_is):
            print(f"{source.relative_to(room.copy.root)}:{line}: {text[line - 1].strip()}")


def changes_nothing():
    """(file, line, fault) of each that is known to."""
    with CHANGES_NOTHING.open(newline="") as file:
        return {tuple(row[:3]) for row in list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]}


def told(room, source, place):
    """Its file, line number, line, and what is done to it."""
    text = source.read_text()
    number = text.count("\n", 0, place[1]) + 1
    old, new = (" ".join(part.split())[:70] for part in (text[place[1]:place[2]], place[3]))
    return (str(source.relative_to(room.copy.root)), number, text.splitlines()[number - 1].strip(),
            f"{place[0]}: {old} -> {new}")


def report(room, source, place, who, count, names):
    file, number, line, what = told(room, source, place)
    where = f"{file}:{number}"
    if who:
        print(f"caught    {where:38} {what}   by {who}", flush=True)
    else:
        asked = f"{count} of {names} asked" if names else "not executed"
        print(f"SURVIVED  {where:38} {what}   ({asked})\n          {line}", flush=True)


def attack(room, seed, count, until, patience):
    """(caught, survived)"""
    chance = random.Random(f"{seed} {room.name}")
    weights = [len(source.read_text()) for source in room.sources]
    caught, tried, known = 0, set(), changes_nothing()
    survived = vain = 0
    # A small room has fewer faults than one may ask for.
    while caught + survived < count and time.monotonic() < until and vain < 200:
        [source] = chance.choices(room.sources, weights)
        place = choose(source, chance)
        if not place or (source, place) in tried:
            vain += 1
            continue
        tried.add((source, place))
        file, _, line, what = told(room, source, place)
        if (file, line, what) in known:
            continue
        result = room.try_one(source, place, patience)
        if result is None:
            continue
        caught += bool(result[0])
        survived += not result[0]
        report(room, source, place, *result)
    return caught, survived


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rooms", nargs="+", choices=sorted(ROOMS), metavar="ROOM")
    parser.add_argument("--seed", default=str(random.randrange(10**6)))
    parser.add_argument("--count", type=int, default=10**9, help="faults that count, each room")
    parser.add_argument("--minutes", type=float, default=60, help="in all")
    parser.add_argument("--patience", type=float, default=120, help="seconds of asking, each fault")
    parser.add_argument("--unit", action="store_true", help="meson's tests only, no tests/e2e")
    parser.add_argument("--again", action="store_true", help="find out anew what tests execute")
    parser.add_argument("--not-executed", action="store_true", help="only print what no test executes")
    parser.add_argument("--plain", action="store_true",
                        help="without ASan and UBSan, which see what lies beyond an array")
    parser.add_argument("--dir", type=Path, default=ROOT / "tests/out/mutate")
    parser.add_argument("--least", type=float, default=0, help="%% that must be caught")
    o = parser.parse_args()
    o.dir.mkdir(parents=True, exist_ok=True)
    copy, results = Copy(o.dir.resolve()), {}
    asked = Asked(copy, o.again)
    asked.meson_tests(o.rooms)
    begin = time.monotonic()
    if not o.not_executed:
        print(f"seed {o.seed}", flush=True)
    for i, name in enumerate(o.rooms):
        print(f"== {name}", flush=True)
        room = Room(copy, asked, name, o.unit, o.plain)
        if o.not_executed:
            print_not_executed(room)
            continue
        shutil.rmtree(copy.marks, ignore_errors=True) # from here on nothing is marked
        left = begin + o.minutes * 60 - time.monotonic()
        until = time.monotonic() + left / (len(o.rooms) - i)
        results[name] = attack(room, o.seed, o.count, until, o.patience)
        print("{}: {} of {} caught".format(name, results[name][0], sum(results[name])), flush=True)
    if o.not_executed:
        return 0
    all_caught = sum(result[0] for result in results.values())
    everything = sum(map(sum, results.values()))
    for name, (caught, survived) in results.items():
        print(f"{name:10} {caught:4} of {caught + survived:4}")
    share = 100 * all_caught / everything if everything else 0
    print(f"{all_caught} of {everything} faults caught: {share:.0f} %")
    return int(not everything or share < o.least)


if __name__ == "__main__":
    sys.exit(main())
