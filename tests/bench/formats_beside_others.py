# SPDX-License-Identifier: MIT
"""Reading rocpd, CSV and rocprofv3's JSON: hipboard beside Python's own modules, on the same files in one run, and
beside AMD's TraceLens where a checkout of it is given (it is not on PyPI; what has its name there is another).

    python3 tests/bench/formats_beside_others.py BUILD_DIRECTORY [MILLION_EVENTS [TRACELENS]]

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


def write_json(path):
    """Kernels of rocprofv3's own, a hundred times one behind the other, since nobody but the tool writes such;
    returns how many."""
    with gzip.open(ROOT / "tests/data/rocprofv3_mi350x.json.gz") as file:
        results = json.load(file)
    records = results["rocprofiler-sdk-tool"][0]["buffer_records"]
    once = records["kernel_dispatch"]
    span = max(k["end_timestamp"] for k in once) - min(k["start_timestamp"] for k in once)
    records["kernel_dispatch"] = [dict(k, start_timestamp=k["start_timestamp"] + n * span,
                                       end_timestamp=k["end_timestamp"] + n * span) for n in range(100) for k in once]
    path.write_text(json.dumps(results, separators=(",", ":")))
    return len(records["kernel_dispatch"])


def cpu_of(command):
    """A command's output and CPU time, the least of three."""
    least = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return told, least


# What TraceLens does of such a file before it makes tables; the package as a whole asks for much more.
TRACELENS = """
import json, sys, types
for name in ("", ".Reporting", ".PerfModel"):
    module = types.ModuleType("TraceLens" + name)
    module.__path__ = [sys.argv[1] + "/TraceLens" + name.replace(".", "/")]
    sys.modules["TraceLens" + name] = module
from TraceLens.util import RocprofParser
data = RocprofParser.load_rocprof_data(sys.argv[2])
print(json.dumps({"kernels": len(RocprofParser.extract_kernel_events(data))}))
"""


def read_json(build, directory, tracelens):
    path = Path(directory, "bench_results.json")
    kernels = write_json(path)
    size = path.stat().st_size / 1e6
    readers = {"hipboard import --explain, JSON": [f"{build}/tools/hipboard/hipboard", "import", "--explain", "--json", path],
               "Python's json.load": [sys.executable, "-c", "import json, sys; d = json.load(open(sys.argv[1])); print("
                                      "json.dumps({'kernels': len(d['rocprofiler-sdk-tool'][0]['buffer_records']"
                                      "['kernel_dispatch'])}))", path]}
    if tracelens:
        readers["TraceLens' RocprofParser"] = [sys.executable, "-c", TRACELENS, tracelens, path]
    for name, command in readers.items():
        told, cpu = cpu_of(command)
        assert json.loads(told)["kernels"] == kernels
        print(f"{name:34} {kernels:10,} rows {size / cpu:8.1f} MB/s")


def main(build, millions="1", tracelens=None):
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([f"{build}/tests/bench/bench_formats", directory, millions], check=True)
        walk_database(f"{directory}/bench.db")
        walk_tables(Path(directory, "bench_csv"))
        read_json(build, directory, tracelens)


if __name__ == "__main__":
    main(*sys.argv[1:])
