# SPDX-License-Identifier: MIT
"""Runs the fuzz targets beside each other, keeps what they learn, and says what that came to.

    python3 tests/long/fuzz.py [--minutes 30] [--quiet 30] [--share] [--random N] [--save] [TARGET...]

A target that brought no new edge in --quiet minutes of CPU, its runs before counted, is done: it
ends, and is not begun again. Where threads meet, and at which address something lies, makes edges
that no input brings again: those of a place in the source that a run before came to are not new,
and those of the target itself are none of hipboard's.

--share gives targets of one language each other's inputs, --random so many that a program made up,
where there is one: what structure at large brings, changed bytes come to seldom. What reaches
something new is kept.

--save puts what was learned into the tree, for the next machine: as few and short inputs as reach
all edges, a target's in tests/fuzz/learned/TARGET.tar.xz, and the history of runs. The exit status is 1 when
one of them fell over, 2 when there is nothing to run."""
import argparse
import concurrent.futures
import csv
import hashlib
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/fuzz"), str(ROOT / "tests/e2e")]

import random_databases  # noqa: E402
import random_traces  # noqa: E402

BUILD = ROOT / "build-fuzz/tests/fuzz"
SEEDS = ROOT / "tests/fuzz/corpus"
LEARNED = ROOT / "tests/fuzz/learned"
KEPT = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "hipboard/fuzz"
# Whose inputs they begin with, as tests/fuzz/meson.build has it.
SEED_OF = {"compare": "read", "convert": "read"}
READERS = ["compare", "convert", "read"]  # of one language: what one learned is new to the others
# Who makes up the bytes of an input, of a random.Random.
MADE_UP = {"import_database": random_databases.make, **dict.fromkeys(READERS, random_traces.make)}
# of a run, one line each in history.tsv; "quiet_s" is CPU time since the last new edge
FIELDS = ["at", "target", "executions", "edges", "cpu_s", "quiet_s", "findings", "new_edges"]
# No input knows of another: what is freed need not stay longer than one takes.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": f"quarantine_size_mb=16:{os.environ.get('ASAN_OPTIONS', '')}"}
CLOCK_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
# Whether the system puts memory at a multiple of 2 MB is no input's doing.
BY_CHANCE = ("in map_memory ",)
# Of an input's name, which is the SHA-1 of its bytes, so much stands in the tree: no archive can make
# less of a hash.
NAME_SIZE = 10


def targets():
    return sorted(path.stem.removeprefix("fuzz_") for path in (ROOT / "tests/fuzz").glob("fuzz_*.c"))


def seed(target):
    """Its inputs so far, with those of the tree."""
    corpus = KEPT / target
    corpus.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{target}-findings").mkdir(exist_ok=True)
    for path in (SEEDS / SEED_OF.get(target, target)).glob("*"):
        if not (corpus / path.name).exists():
            shutil.copy(path, corpus / path.name)
    archive = LEARNED / f"{target}.tar.xz"
    if archive.exists():
        here = {path.name[:NAME_SIZE] for path in corpus.iterdir()}
        with tarfile.open(archive) as learned:
            learned.extractall(corpus, [member for member in learned if member.isfile()
                                        and member.name[:NAME_SIZE] not in here])
    return corpus


def fuzzer(target, *arguments):
    """Its command, with the limits of an input; what it falls over is a finding."""
    return [*map(str, [BUILD / f"fuzz_{target}", f"-max_len={most_bytes(target)}", "-timeout=60", "-rss_limit_mb=4096",
                       f"-artifact_prefix={KEPT / f'{target}-findings'}/", *arguments])]


def merge(target, *arguments):
    """Into the first directory, of the others."""
    subprocess.run(fuzzer(target, *arguments), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=ENVIRONMENT)


def add(target, whose, directories):
    """Of inputs, to those of a target, what reaches something new."""
    corpus = seed(target)
    before = len(list(corpus.iterdir()))
    merge(target, "-merge=1", corpus, *directories)
    print(f"{target}: {len(list(corpus.iterdir())) - before:,} {whose} reach something new", flush=True)


def add_random(target, count):
    r, most = random.Random(), most_bytes(target)
    with tempfile.TemporaryDirectory() as made:
        while count > len(os.listdir(made)):
            content = MADE_UP[target](r)
            if 0 < len(content) <= most:
                (pathlib.Path(made) / hashlib.sha1(content).hexdigest()).write_bytes(content)
        add(target, f"of {count:,} inputs made up", [made])


def most_bytes(target):
    """Longer inputs would be cut: none of the tree's is."""
    sizes = [path.stat().st_size for path in (SEEDS / SEED_OF.get(target, target)).glob("*")]
    return max([8192, *(size + size // 4 for size in sizes)])


def words(target):
    """Of a target's own language, or of traces."""
    own = ROOT / f"tests/fuzz/{target}.dict"
    return own if own.exists() else ROOT / "tests/fuzz/trace.dict"


def save(target):
    """Of its inputs as few and short ones as reach all edges, beside those of the tree, as an archive
    that is the same for the same inputs."""
    corpus = seed(target) # else what another machine learned would be lost
    LEARNED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as least:
        seeds = SEEDS / SEED_OF.get(target, target)
        # The shortest first. How often each edge is taken, too, would need several times as many bytes.
        merge(target, "-merge=1", "-use_counters=0", least, *([seeds] if seeds.exists() else []), corpus)
        known = {path.read_bytes() for path in seeds.glob("*")}
        paths = [path for path in sorted(pathlib.Path(least).iterdir()) if path.read_bytes() not in known]
        with tarfile.open(LEARNED / f"{target}.tar.xz", "w:xz", preset=9) as archive:
            for path in sorted(paths, key=lambda path: (path.stat().st_size, path.name)):
                member = tarfile.TarInfo(path.name[:NAME_SIZE])
                member.size = path.stat().st_size
                with path.open("rb") as file:
                    archive.addfile(member, file)
        return len(paths)


def cpu_seconds(process):
    """What it has taken so far; 0 once it has ended."""
    try:
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) * CLOCK_TICK_S


def places(target):
    """Where in the source its runs came to an edge that none of the inputs they began with reached."""
    return KEPT / f"{target}-places"


def run(target, seconds, quiet_cpu_s, left_cpu_s):
    """Until its time is over, or nothing new came for so much CPU time, of which so much is left
    while its runs before count. Weighing inputs by how rare what they reach is ("entropic") took
    four fifths of the time of targets that reach much."""
    corpus = seed(target)
    reached = set(places(target).read_text().splitlines()) if places(target).exists() else set()
    command = fuzzer(target, f"-max_total_time={seconds}", "-report_slow_units=60", "-entropic=0",
                     "-print_final_stats=1", "-print_pcs=1", f"-dict={words(target)}", corpus)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, errors="replace", env=ENVIRONMENT)
    edges = None
    newest = now = new_edges = 0
    tail = []
    for line in process.stderr:
        tail = (tail + [line])[-60:]
        now = max(now, cpu_seconds(process))
        if (found := re.search(r"^#\d+\s+(\S+)\s+cov: (\d+)", line)) and (edges is not None or found[1] == "INITED"):
            newest = now if edges is None else newest # what it begins with is read
            edges = int(found[2])
        if (found := re.search(r"^\s*NEW_PC: 0x[0-9a-f]+ (.+)", line)) and found[1] not in reached and \
                "/tests/" not in found[1] and not found[1].startswith(BY_CHANCE):
            reached.add(found[1])
            new_edges, newest, left_cpu_s = new_edges + 1, now, quiet_cpu_s
        if edges is not None and now - newest > left_cpu_s:
            process.terminate()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    text = "".join(tail)
    executed = re.search(r"number_of_executed_units: (\d+)", text) or re.search(r"(?s).*^#(\d+)", text, re.M)
    places(target).write_text("".join(f"{place}\n" for place in sorted(reached)))
    findings = sorted((KEPT / f"{target}-findings").iterdir())
    cpu_s = usage.ru_utime + usage.ru_stime
    return {"target": target, "executions": int(executed[1]) if executed else 0, "edges": edges or 0,
            "cpu_s": round(cpu_s), "quiet_s": round(cpu_s - newest) if edges is not None else 0,
            "new_edges": new_edges, "findings": findings,
            "why": [line.strip() for line in tail if "ERROR" in line or "runtime error" in line]}


def history():
    """The fields of each run; "new_edges" is None where it was not counted yet."""
    path = KEPT / "history.tsv"
    if not path.exists() and (LEARNED / "history.tsv").exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        shutil.copy(LEARNED / "history.tsv", path)
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file, FIELDS, delimiter="\t"))[1:]


def note(result):
    path = KEPT / "history.tsv"
    if not path.exists():
        path.write_text("\t".join(FIELDS) + "\n")
    row = {**result, "at": time.strftime("%FT%TZ", time.gmtime()), "findings": len(result["findings"])}
    with path.open("a") as file:
        file.write("\t".join(str(row[field]) for field in FIELDS) + "\n")


def quiet_so_far(target):
    """Seconds of CPU since its last new edge."""
    quiet = 0
    for row in history():
        if row["target"] == target and row["new_edges"] is not None:
            quiet = int(row["quiet_s"]) + (quiet if row["new_edges"] == "0" else 0)
    return quiet


def total_cpu():
    return sum(int(row["cpu_s"]) for row in history())


def run_all(chosen, left, minutes, quiet_cpu_s):
    """Whether one of them fell over."""
    workers = min(os.cpu_count() or 1, len(chosen))
    seconds = max(1, int(minutes * 60 * workers / len(chosen)))
    print(f"{'target':12} {'executions':>11} {'edges':>7} {'CPU s':>6} {'no new edge for':>20}  findings", flush=True)
    failed = False
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        runs = [pool.submit(run, target, seconds, quiet_cpu_s, left[target]) for target in chosen]
        for result in concurrent.futures.as_completed(runs):
            result = result.result()
            note(result)
            print(f"{result['target']:12} {result['executions']:11,} {result['edges']:7,} "
                  f"{result['cpu_s']:6,} {quiet_so_far(result['target']):14,} CPU s  "
                  f"{len(result['findings'])}", flush=True)
            for text in [*result["why"], *map(str, result["findings"])]:
                print(f"    {text}", flush=True)
            failed |= bool(result["findings"])
    print(f"{total_cpu() / 3600:.2f} CPU hours in all, with the runs before ({KEPT}/history.tsv)")
    return failed


def save_all(asked):
    for target in asked:
        count = save(target)
        size = (LEARNED / f"{target}.tar.xz").stat().st_size
        print(f"{target:12} {count:,} inputs, {size:,} bytes", flush=True)
    if history():
        shutil.copy(KEPT / "history.tsv", LEARNED / "history.tsv")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=30, help="of all targets together")
    parser.add_argument("--quiet", type=float, default=30,
                        help="minutes of CPU without a new edge after which a target is done")
    parser.add_argument("--share", action="store_true", help="begin with what others of one language learned, too")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="inputs made up to begin with")
    parser.add_argument("--save", action="store_true", help="what was learned, into the tree")
    parser.add_argument("target", nargs="*")
    given = parser.parse_args()
    asked = given.target or targets()
    unknown = [target for target in asked if target not in targets()]
    if unknown:
        print(f"no target {', '.join(unknown)}; there are: {' '.join(targets())}", file=sys.stderr)
        return 2
    left = {target: given.quiet * 60 - quiet_so_far(target) for target in asked}
    done = [target for target in asked if left[target] <= 0]
    chosen = [target for target in asked if left[target] > 0]
    if done:
        print(f"nothing new in {given.quiet:g} minutes of CPU: {' '.join(done)}")
    wanted = asked if given.save else chosen
    if wanted:
        subprocess.run(["ninja", "-C", BUILD.parents[1], *(f"tests/fuzz/fuzz_{t}" for t in wanted)],
                       check=True, stdout=subprocess.DEVNULL)
    for target in chosen:
        if given.share and target in READERS:
            add(target, "inputs of the others", [seed(other) for other in READERS if other != target])
        if given.random and target in MADE_UP:
            add_random(target, given.random)
    failed = bool(chosen) and run_all(chosen, left, given.minutes, given.quiet * 60)
    if given.save:
        save_all(asked)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
