# SPDX-License-Identifier: MIT
"""Runs the fuzz targets beside each other, keeps what they learn, and says what that came to.

    python3 tests/long/fuzz.py [--minutes 30] [TARGET...]

A target ends early when a third of its time brought no new edge. The exit status is 1 when one
of them fell over, 2 when there is nothing to run."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build-fuzz/tests/fuzz"
SEEDS = ROOT / "tests/fuzz/corpus"
KEPT = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "hipboard/fuzz"
# Whose inputs they begin with, as tests/fuzz/meson.build has it.
SEED_OF = {"compare": "read", "convert": "read"}
LEAST_S = 60


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
    return corpus


def run(target, seconds):
    """Until its time is over, or nothing new came for long. Weighing inputs by how rare what they
    reach is ("entropic") took four fifths of the time of targets that reach much."""
    corpus = seed(target)
    command = [BUILD / f"fuzz_{target}", f"-max_total_time={seconds}", "-max_len=8192", "-timeout=60",
               "-entropic=0", "-rss_limit_mb=4096", "-print_final_stats=1",
               f"-artifact_prefix={KEPT / f'{target}-findings'}/",
               f"-dict={ROOT / 'tests/fuzz/trace.dict'}", corpus]
    process = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, errors="replace")
    started = newest = time.monotonic()
    edges, tail = 0, []
    for line in process.stderr:
        tail = (tail + [line])[-60:]
        found = re.search(r"^#\d+\s+\S+\s+cov: (\d+)", line)
        if found and int(found[1]) > edges:
            edges, newest = int(found[1]), time.monotonic()
        waited = time.monotonic() - newest
        if waited > max(seconds / 3, LEAST_S) and newest > started:
            process.terminate()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    text = "".join(tail)
    executed = re.search(r"number_of_executed_units: (\d+)", text) or re.search(r"(?s).*^#(\d+)", text, re.M)
    findings = sorted((KEPT / f"{target}-findings").iterdir())
    return {"target": target, "executions": int(executed[1]) if executed else 0, "edges": edges,
            "cpu_s": round(usage.ru_utime + usage.ru_stime),
            "quiet_s": round(time.monotonic() - newest), "findings": findings,
            "why": [line.strip() for line in tail if "ERROR" in line or "runtime error" in line]}


def note(result):
    history = KEPT / "history.tsv"
    fields = ["target", "executions", "edges", "cpu_s", "quiet_s"]
    if not history.exists():
        history.write_text("\t".join(["at", *fields, "findings"]) + "\n")
    with history.open("a") as file:
        file.write("\t".join([time.strftime("%FT%TZ", time.gmtime()),
                              *(str(result[field]) for field in fields),
                              str(len(result["findings"]))]) + "\n")


def total_cpu():
    lines = (KEPT / "history.tsv").read_text().splitlines()[1:]
    return sum(int(line.split("\t")[4]) for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=30, help="of all targets together")
    parser.add_argument("target", nargs="*")
    given = parser.parse_args()
    chosen = given.target or targets()
    unknown = [target for target in chosen if target not in targets()]
    if unknown:
        print(f"no target {', '.join(unknown)}; there are: {' '.join(targets())}", file=sys.stderr)
        return 2
    subprocess.run(["ninja", "-C", BUILD.parents[1], *(f"tests/fuzz/fuzz_{t}" for t in chosen)],
                   check=True, stdout=subprocess.DEVNULL)
    workers = min(os.cpu_count() or 1, len(chosen))
    seconds = max(1, int(given.minutes * 60 * workers / len(chosen)))
    print(f"{'target':12} {'executions':>11} {'edges':>7} {'CPU s':>6} {'no new edge for':>16}  findings", flush=True)
    failed = False
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for result in concurrent.futures.as_completed([pool.submit(run, t, seconds) for t in chosen]):
            result = result.result()
            note(result)
            print(f"{result['target']:12} {result['executions']:11,} {result['edges']:7,} "
                  f"{result['cpu_s']:6,} {result['quiet_s']:14,} s  {len(result['findings'])}", flush=True)
            for text in [*result["why"], *map(str, result["findings"])]:
                print(f"    {text}", flush=True)
            failed |= bool(result["findings"])
    print(f"{total_cpu() / 3600:.2f} CPU hours in all, with the runs before ({KEPT}/history.tsv)")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
