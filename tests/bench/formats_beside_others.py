# SPDX-License-Identifier: MIT
"""Reading rocpd, CSV and rocprofv3's JSON: hipboard beside Python's own modules, on the same files in one run.

    python3 tests/bench/formats_beside_others.py BUILD_DIRECTORY [MILLION_EVENTS]

bench_formats writes the files and reads them; then Python walks the rows of the same tables without
making anything of them."""
import csv
import gzip
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def say(what, rows, start):
    cpu = time.process_time() - start
    print(f"{what:34} {rows:10,} rows {rows / cpu / 1e6:8.2f} M rows/s")


def walk_database(path):
    start, count = time.process_time(), 0
    database = sqlite3.connect(path)
    tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for table, in tables:
        for _ in database.execute(f'SELECT * FROM "{table}"'):
            count += 1
    say("Python's sqlite3", count, start)


def walk_tables(directory):
    start, count = time.process_time(), 0
    for path in directory.rglob("*.csv"):
        with path.open(newline="") as file:
            for _ in csv.DictReader(file):
                count += 1
    say("Python's csv.DictReader", count, start)


def read_json(build, directory):
    """Kernels of rocprofv3's own, a hundred times one behind the other, since nobody but the tool writes such."""
    path = Path(directory, "bench_results.json")
    with gzip.open(ROOT / "tests/data/rocprofv3_mi350x.json.gz") as file:
        results = json.load(file)
    records = results["rocprofiler-sdk-tool"][0]["buffer_records"]
    once = records["kernel_dispatch"]
    span = max(k["end_timestamp"] for k in once) - min(k["start_timestamp"] for k in once)
    records["kernel_dispatch"] = [dict(k, start_timestamp=k["start_timestamp"] + n * span,
                                       end_timestamp=k["end_timestamp"] + n * span) for n in range(100) for k in once]
    path.write_text(json.dumps(results, separators=(",", ":")))
    size, kernels = path.stat().st_size / 1e6, len(records["kernel_dispatch"])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = subprocess.run([f"{build}/tools/hipboard/hipboard", "import", "--explain", "--json", path], check=True,
                          capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert json.loads(told)["kernels"] == kernels
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{'hipboard import --explain, json':34} {kernels:10,} rows {size / cpu:8.1f} MB/s")
    start = time.process_time()
    json.loads(path.read_text())
    cpu = time.process_time() - start
    print(f"{'Python json.loads':34} {kernels:10,} rows {size / cpu:8.1f} MB/s")


def main(build, millions="1"):
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([f"{build}/tests/bench/bench_formats", directory, millions], check=True)
        walk_database(f"{directory}/bench.db")
        walk_tables(Path(directory, "bench_csv"))
        read_json(build, directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
