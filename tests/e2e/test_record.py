# SPDX-License-Identifier: MIT
"""`hipboard record`: unchanged programs leave traces, and notice nothing."""
import json
import os
import subprocess
import sys

import pytest

from support import BUILD

HIPBOARD = BUILD / "tools/hipboard/hipboard"
PLAIN = BUILD / "tests/hip/plain"
WITH_GPU = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "tools/simhsa"))


def record(*arguments, env=None):
    return subprocess.run([HIPBOARD, "record", *map(str, arguments)], capture_output=True,
                          text=True, timeout=60, env=env)


def events(logdir):
    """By process: (category, name) of each complete event."""
    return [{(e.get("cat"), e["name"]) for e in json.loads(path.read_text())["traceEvents"]
             if e["ph"] == "X"}
            for path in sorted(logdir.glob("*.pt.trace.json"))]


@pytest.mark.skipif(not PLAIN.exists(), reason="needs the HIP runtime and tools/simhsa")
def test_a_hip_program_and_its_child_leave_a_trace_each(tmp_path):
    done = record("-o", tmp_path, "--", PLAIN, env=WITH_GPU)
    assert (done.returncode, done.stdout, done.stderr) == (42, "filled\n", "")
    parent, child = sorted(events(tmp_path), key=len, reverse=True)
    assert ("Runtime", "hipMemset") in parent
    assert ("gpu_memset", "Memset (Device)") in parent
    assert ("cpu_op", "fill") in parent  # a roctx range
    assert ("cpu_op", "child") in child
    assert not any(category == "Runtime" for category, _ in child)
    assert not list(tmp_path.glob(".*")), "spools are left behind"


def test_a_program_without_hip_keeps_its_output_and_status(tmp_path):
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    done = record("-o", tmp_path, "--", sys.executable, "-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert len(events(tmp_path)) == 1


@pytest.mark.parametrize("end, status", [
    ("os.kill(os.getpid(), 15)", -15),
    ("os._exit(5)", 5),
])
def test_what_a_sudden_end_leaves_can_be_recovered(tmp_path, end, status):
    assert record("-o", tmp_path, "--", sys.executable, "-c", f"import os; {end}").returncode == status
    left = list(tmp_path.glob(".*.hbspool"))
    assert len(left) == 1
    subprocess.run([HIPBOARD, "recover", tmp_path], check=True, capture_output=True, timeout=60)
    assert len(events(tmp_path)) == 1


def test_missing_programs_and_wrong_options_are_told_apart(tmp_path):
    assert record("-o", tmp_path, "--", tmp_path / "nothing").returncode == 127
    assert record("--activities", "cpu,gpu", "--", "true").returncode == 2
    assert record("-o", tmp_path).returncode == 2
