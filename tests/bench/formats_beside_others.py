# SPDX-License-Identifier: MIT
"""Reading rocpd, CSV and rocprofv3's JSON: hipboard beside Python's own modules, on the same files in one run.

    python3 tests/bench/formats_beside_others.py BUILD_DIRECTORY [MILLION_EVENTS]

bench_formats writes the files and reads them; then Python walks the rows of the same tables without
making anything of them."""
import csv
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path


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
    """Of the shape of rocprofv3's results, since nobody but the tool writes such."""
    path = Path(directory, "bench_results.json")
    kernel = {"size": 144, "kind": 11, "operation": 3, "thread_id": 7, "correlation_id": {"internal": 1, "external": 0},
              "start_timestamp": 1000, "end_timestamp": 2000, "stream_id": {"handle": 1}, "dispatch_info": {
                  "size": 128, "agent_id": {"handle": 2}, "queue_id": {"handle": 1}, "kernel_id": 1, "dispatch_id": 1,
                  "private_segment_size": 0, "group_segment_size": 1024,
                  "workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size": {"x": 4096, "y": 1, "z": 1}}}
    kernels = [dict(kernel, start_timestamp=1000 * k, end_timestamp=1000 * k + 900) for k in range(200_000)]
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 7}, "agents": [{"id": {"handle": 2}, "type": 2, "name": "gfx942", "node_id": 1}],
        "kernel_symbols": [{"kernel_id": 1, "formatted_kernel_name": "gemm"}],
        "strings": {"buffer_records": []}, "callback_records": {}, "buffer_records": {"kernel_dispatch": kernels}}]}))
    size = path.stat().st_size / 1e6
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = subprocess.run([f"{build}/tools/hipboard/hipboard", "import", "--explain", "--json", path], check=True,
                          capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert json.loads(told)["kernels"] == len(kernels)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{'hipboard import --explain':34} {len(kernels):10,} rows {size / cpu:8.1f} MB/s")
    start = time.process_time()
    json.loads(path.read_text())
    cpu = time.process_time() - start
    print(f"{'Python json.loads':34} {len(kernels):10,} rows {size / cpu:8.1f} MB/s")


def main(build, millions="1"):
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([f"{build}/tests/bench/bench_formats", directory, millions], check=True)
        walk_database(f"{directory}/bench.db")
        walk_tables(Path(directory, "bench_csv"))
        read_json(build, directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
