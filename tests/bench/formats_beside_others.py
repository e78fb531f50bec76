# SPDX-License-Identifier: MIT
"""Reading rocpd and CSV: hipboard beside Python's own modules, on the same files in one run.

    python3 tests/bench/formats_beside_others.py BUILD_DIRECTORY [MILLION_EVENTS]

bench_formats writes the files and reads them; then Python walks the rows of the same tables without
making anything of them."""
import csv
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


def main(build, millions="1"):
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([f"{build}/tests/bench/bench_formats", directory, millions], check=True)
        walk_database(f"{directory}/bench.db")
        walk_tables(Path(directory, "bench_csv"))


if __name__ == "__main__":
    main(*sys.argv[1:])
