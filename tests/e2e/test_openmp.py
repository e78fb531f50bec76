# SPDX-License-Identifier: MIT
"""`hipboard record` on programs of OpenMP: regions and waits, where the runtime tells of them."""
import json
import os
import subprocess

import pytest

from support import BUILD

HIPBOARD = BUILD / "tools/hipboard/hipboard"
PROGRAM = """
    #include <omp.h>
    #include <stdio.h>
    #include <unistd.h>
    int main(void)
    {
        double sum = 0;
        for (int round = 0; round < 3; round++) {
    #pragma omp parallel for reduction(+ : sum) num_threads(3) schedule(static)
            for (int i = 0; i < 3000; i++)
                sum += i;
        }
    #pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num() == 1) usleep(20000);
    #pragma omp barrier
        }
        printf("%g\\n", sum);
    }"""
pytestmark = pytest.mark.skipif("san" in BUILD.name, reason="needs a build without sanitizers")


@pytest.fixture(scope="module", params=["clang", "gcc"])
def compiler(request):
    return request.param


def build(compiler, path):
    subprocess.run([compiler, "-fopenmp", "-x", "c", "-", "-o", path], input=PROGRAM, text=True, check=True,
                   timeout=300)
    return path


@pytest.fixture(scope="module")
def program(compiler, tmp_path_factory):
    return build(compiler, tmp_path_factory.mktemp(compiler) / "regions")


def record(logdir, program, *options):
    done = subprocess.run([HIPBOARD, "record", "-o", logdir, *options, "--", program], capture_output=True, text=True,
                          timeout=300, env=dict(os.environ, OMP_DYNAMIC="false"))
    assert (done.returncode, done.stdout) == (0, "1.34955e+07\n"), done.stderr
    return [json.loads(path.read_text()) for path in logdir.glob("*.pt.trace.json")]


def operators(document, name):
    return sorted((e for e in document["traceEvents"] if e["ph"] == "X" and e["name"] == name), key=lambda e: e["ts"])


def end(event):
    return event["ts"] + event["dur"]


def test_regions_and_waits_are_operators(compiler, program, tmp_path):
    """gcc's OpenMP tells nothing; clang's answers to gcc's calls, too, where that is asked for."""
    found = record(tmp_path, program, *(["--openmp", "swap"] if compiler == "gcc" else []))
    [document] = found
    regions = operators(document, "omp parallel")
    main = regions[0]["tid"]
    own = [e for e in regions if e["tid"] == main]
    assert [e["args"]["threads"] for e in own] == [3, 3, 3, 2]
    assert all(e["cat"] == "cpu_op" and e["args"]["place"].startswith("regions+0x") for e in own)
    names = {e["tid"]: e["args"]["name"] for e in document["traceEvents"] if e["name"] == "thread_name"}
    workers = {e["tid"] for e in regions} - {main}
    assert sorted(names[tid].split("(")[1].rstrip(")") for tid in workers) == ["OpenMP 1", "OpenMP 2"]
    waits = operators(document, "omp barrier")
    for region in own:  # what its workers do lies within it
        parts = [e for e in regions if e["tid"] != main and region["ts"] <= e["ts"] < end(region)]
        assert len({e["tid"] for e in parts}) == region["args"]["threads"] - 1
        last = max(end(e) for e in waits if e["tid"] == main and e["ts"] < end(region))
        assert all(e["ts"] < last for e in parts)
    # who sleeps is waited for
    [asleep] = [e for e in regions if e["tid"] != main and e["ts"] >= own[3]["ts"] and e["dur"] >= 20000]
    [waited] = [e for e in waits if e["tid"] == main and own[3]["ts"] <= e["ts"] < asleep["ts"] + 20000
                and end(e) >= asleep["ts"] + 20000]
    assert waited["cat"] == "cpu_op"


def test_gcc_s_openmp_is_left_as_it_is(compiler, program, tmp_path):
    """So is any, where nothing is asked of it: then nothing is recorded of these programs."""
    if compiler == "clang":
        assert record(tmp_path, program, "--openmp", "none") == []
    else:
        assert record(tmp_path, program) == []


def test_another_tool_comes_first(tmp_path):
    program = build("clang", tmp_path / "regions")
    (tmp_path / "tool.c").write_text("""
        #include <stdio.h>
        static int begin(void *look_up, int device, void *data) { return 1; }
        static void end(void *data) { }
        void *ompt_start_tool(unsigned version, const char *runtime)
        {
            static struct { void *begin, *end, *data; } tool = {begin, end, 0};
            fputs("the other tool\\n", stderr);
            return &tool;
        }""")
    subprocess.run(["cc", "-w", "-shared", "-fPIC", tmp_path / "tool.c", "-o", tmp_path / "tool.so"], check=True)
    done = subprocess.run([HIPBOARD, "record", "-o", tmp_path / "log", "--", program], capture_output=True, text=True,
                          timeout=300, env=dict(os.environ, OMP_TOOL_LIBRARIES=str(tmp_path / "tool.so")))
    assert done.returncode == 0 and "the other tool" in done.stderr
