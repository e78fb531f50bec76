# SPDX-License-Identifier: MIT
"""Programs with libraries of others, as newer Debian releases have them: rocFFT, hipFFT and rocRAND on the simulated
GPU, and Kokkos on the processor."""
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support import BUILD, ROOT

HIPBOARD = BUILD / "tools/hipboard/hipboard"
RUNTIMES = Path(os.environ.get("SIMHSA_RUNTIMES") or
                Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hipboard/runtimes")
FFT = RUNTIMES / "fft"
LIBRARIES = FFT / "usr/lib/x86_64-linux-gnu"
WITH_GPU = dict(os.environ, SIMHSA_LIBRARY_DIR=str(BUILD / "tools/simhsa"))
needs_suite = pytest.mark.skipif(not (FFT / "complete").exists(),
                                 reason="needs Debian's rocFFT and Kokkos (tools/simhsa/fetch_runtimes.sh fft)")


def in_suite(*command):
    done = subprocess.run([ROOT / "tools/simhsa/in_suite", "fft", *map(str, command)], capture_output=True, text=True,
                          timeout=600, env=WITH_GPU)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    return done


@needs_suite
def test_ffts_and_random_numbers_have_shapes_flops_and_kernels(tmp_path):
    program = tmp_path / "ffts"
    subprocess.run(["cc", "-DFFT", ROOT / "tests/long/amd_calls.c", "-o", program, LIBRARIES / "librocfft.so.0",
                    LIBRARIES / "libhipfft.so.0", LIBRARIES / "librocrand.so.1", LIBRARIES / "libamdhip64.so.6",
                    "-Wl,--allow-shlib-undefined"], check=True)
    done = subprocess.run([sys.executable, ROOT / "tests/long/amd_libraries.py", tmp_path, "fft", program],
                          capture_output=True, text=True, timeout=600, env=dict(WITH_GPU, MESON_BUILD_ROOT=str(BUILD)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rocfft_execute" in done.stdout and "FAULT" not in done.stdout


KOKKOS = """
#include <Kokkos_Core.hpp>
#include <cstdio>
int main(int argc, char **argv)
{
    Kokkos::ScopeGuard guard(argc, argv);
    Kokkos::View<double *> pressure("pressure", 1000), velocity("velocity", 1000);
    double sum = 0;
    for (int step = 0; step < 3; step++) {
        Kokkos::Profiling::pushRegion("timestep");
        Kokkos::parallel_for("advect", 1000, [=](int i) { velocity(i) = i + step; });
        Kokkos::deep_copy(pressure, velocity);
        Kokkos::parallel_reduce("norm", 1000, [=](int i, double &s) { s += pressure(i); }, sum);
        Kokkos::Profiling::popRegion();
    }
    std::printf("%.0f\\n", sum);
}
"""


@needs_suite
def test_kokkos_itself_has_its_names_and_its_memory(tmp_path):
    source, program = tmp_path / "steps.cpp", tmp_path / "steps"
    source.write_text(KOKKOS)
    subprocess.run(["c++", "-std=c++20", "-O1", "-fopenmp", "-w", "-I", FFT / "usr/include/kokkos", "-I",
                    FFT / "usr/include", source, "-o", program, LIBRARIES / "libkokkoscore.so",
                    LIBRARIES / "libkokkoscontainers.so", "-Wl,--allow-shlib-undefined"], check=True)
    alone = in_suite(program)
    done = in_suite(HIPBOARD, "record", "-q", "-o", tmp_path / "log", "--", program)
    assert (done.returncode, done.stdout) == (0, alone.stdout) and alone.stdout == "501500\n", done.stderr
    [path] = (tmp_path / "log").glob("*.pt.trace.json")
    trace = json.loads(path.read_text())
    names = Counter(e["name"] for e in trace["traceEvents"] if e["ph"] == "X" and e.get("cat") == "cpu_op")
    assert (names["timestep"], names["advect"], names["norm"]) == (3, 3, 3)
    assert names["deep_copy pressure (Host) <- velocity (Host)"] == 3
    assert names["allocate pressure (Host)"] == names["deallocate pressure (Host)"] == 1
    assert not [name for name in names if "Tool Fence" in name]
    memory = [e["args"] for e in trace["traceEvents"] if e["name"] == "[memory]"]
    taken = [a["Bytes"] for a in memory if a["Bytes"] >= 8000]
    assert len(taken) >= 2 and sum(a["Bytes"] for a in memory) == 0
    shown = subprocess.run([HIPBOARD, "view", path, "--view", "memory"], capture_output=True, text=True, check=True).stdout
    assert "allocate pressure (Host)" in shown
