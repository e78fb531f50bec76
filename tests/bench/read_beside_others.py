# SPDX-License-Identifier: MIT
"""Reading and analysing one trace: hipboard beside torch-tb-profiler and HolisticTraceAnalysis.

    python3 tests/bench/read_beside_others.py BUILD_DIRECTORY FILE.pt.trace.json[.gz]

Run with a Python that has torch-tb-profiler; HolisticTraceAnalysis is left out when it is not there.
The plugin's figures are of its own parse and of making all views, in one process, without TensorBoard
and its waiting; HTA's of reading the trace and of one question, its temporal breakdown. Each runs
in a process of its own, so that its largest memory is its own."""
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")


def plugin(path):
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.profiler.run_generator import RunGenerator
    with tempfile.TemporaryDirectory() as cache:
        data = RunProfileData.parse("worker", None, path, cache)
        RunGenerator("worker", None, data).generate_run_profile()


def hta(path):
    from hta.trace_analysis import TraceAnalysis
    TraceAnalysis(trace_files={0: path}, trace_dir=os.path.dirname(path)).get_temporal_breakdown(visualize=False)


TOOLS = {"torch-tb-profiler": plugin, "HolisticTraceAnalysis": hta}


def alone(name, path):
    """In a process of its own: imports first, which are not counted."""
    import importlib.util
    module = "hta" if name == "HolisticTraceAnalysis" else "torch_tb_profiler"
    if importlib.util.find_spec(module) is None:
        print(f"{name:24} is not installed")
        return
    __import__(module)
    start, cpu = time.monotonic(), time.process_time()
    try:
        TOOLS[name](path)
    except Exception as error:  # say so: it is a result as well
        print(f"{name:24} fails: {type(error).__name__}: {error}"[:160])
        return
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:24} {time.monotonic() - start:8.2f} s  CPU {time.process_time() - cpu:8.2f} s  "
          f"{memory:6.0f} MB")


def main(build, path):
    subprocess.run([f"{build}/tests/bench/bench_read", path], check=True)
    for name in TOOLS:
        subprocess.run([sys.executable, __file__, "--alone", name, os.path.abspath(path)],
                       stderr=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    if sys.argv[1] == "--alone":
        alone(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
