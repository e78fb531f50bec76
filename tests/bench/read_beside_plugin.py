# SPDX-License-Identifier: MIT
"""Reading and analysing one trace: hipboard beside torch-tb-profiler, on the same file.

    python3 tests/bench/read_beside_plugin.py BUILD_DIRECTORY FILE.pt.trace.json[.gz]

Run with a Python that has torch-tb-profiler. The plugin's time is that of its own parse and of making
all views, in one process, without TensorBoard and its waiting."""
import resource
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")


def main(build, path):
    subprocess.run([f"{build}/tests/bench/bench_read", path], check=True)
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.profiler.run_generator import RunGenerator
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as cache:
        data = RunProfileData.parse("worker", None, path, cache)
        RunGenerator("worker", None, data).generate_run_profile()
    seconds = time.monotonic() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"torch-tb-profiler: {seconds:.1f} s, {megabytes:.0f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
