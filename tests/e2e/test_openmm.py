# SPDX-License-Identifier: MIT
"""OpenMM from PyPI, a program that nobody here has written or changed, on AMD's HIP 7.2 over the simulated
GPU: its trace has what the simulated GPU counted."""
import importlib.util
import os
import re
import subprocess
import sys
import time
from collections import Counter

import pytest

from schemas import complaints, load
from server import TensorBoard
from support import BUILD, ROOT

HIPBOARD = BUILD / "tools/hipboard/hipboard"
SIMULATOR = BUILD / "tools/simhsa"
PROGRAM = ROOT / "tests/e2e/programs/openmm_steps.py"
STEPS = 100
ON_GPU = dict(os.environ, SIMHSA_LIBRARY_DIR=str(SIMULATOR), SIMHSA_TRACE="1")

pytestmark = [
    pytest.mark.skipif(not (SIMULATOR / "libhsa-runtime64.so.1").exists(), reason="needs tools/simhsa"),
    pytest.mark.skipif(importlib.util.find_spec("openmm") is None,
                       reason="no openmm: PyPI did not have what tests/requirements-openmm.txt pins"),
]


def on_7_2(*command):
    done = subprocess.run([ROOT / "tools/simhsa/in_suite", "experimental", *map(str, command)],
                          capture_output=True, text=True, timeout=600, env=ON_GPU)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    return done


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("openmm") / "runs"
    started = time.monotonic()
    plain = on_7_2(sys.executable, PROGRAM, STEPS)
    between = time.monotonic()
    done = on_7_2(HIPBOARD, "record", "-o", logdir / "openmm", "--", sys.executable, PROGRAM, STEPS)
    print(f"{STEPS} steps of OpenMM: {between - started:.2f} s, recorded {time.monotonic() - between:.2f} s")
    assert (plain.returncode, plain.stdout) == (0, "stepped\n"), plain.stderr
    assert (done.returncode, done.stdout) == (0, "stepped\n"), done.stderr
    return logdir, done.stderr


@pytest.fixture(scope="module")
def trace(recorded):
    [path] = recorded[0].glob("openmm/*.pt.trace.json")
    assert complaints(load(path), "tensorboard") == []
    return load(path)


@pytest.fixture(scope="module")
def board(recorded, tmp_path_factory):
    with TensorBoard(recorded[0], tmp_path_factory.mktemp("log") / "log") as board:
        yield board.wait_until_loaded()


def events(trace, category):
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] == category]


def test_it_is_heard_by_the_hook_without_a_word(recorded, trace):
    assert trace["hipboard_hip_backend"] == "tracer-hook"
    assert trace["hip_runtime_version"] // 100000 == 702
    assert "hipboard_hip_notes" not in trace
    assert not [line for line in recorded[1].splitlines() if line.startswith("hipboard")]


def test_all_that_the_gpu_did_is_there_once(recorded, trace):
    packets = Counter(re.findall(r"^simhsa: GPU 0 queue \d+: (\S+) grid", recorded[1], re.M))
    dma = len(re.findall(r"^simhsa: copy of ", recorded[1], re.M))
    kernels = Counter(e["name"] for e in events(trace, "kernel"))
    transfers = len(events(trace, "gpu_memcpy")) + len(events(trace, "gpu_memset"))
    own = sum(n for name, n in packets.items() if not name.startswith("__amd_rocclr"))
    assert own > 2 * STEPS
    assert sum(kernels.values()) == own
    assert sum(kernels.values()) + transfers == sum(packets.values()) + dma


def test_operators_have_the_time_of_what_they_launched(board):
    [view] = [v for v in board.get("views", run="openmm") if v == "Operator"]
    [profile] = board.profiles("openmm", view)
    table = board.get("operation/table", group_by="Operation", **profile)["data"]
    device = {row["name"]: row["device_total_duration"] for row in table}
    assert device["hipModuleLaunchKernel"] > 0


def test_pages_show_it(board, browser):
    page = browser.open(board.url)
    page.choose_run("openmm")
    for view, words in {"Overview": ["GPU Summary", "(simulated)"],
                        "Operator": ["hipModuleLaunchKernel"],
                        "Kernel": ["integrateLangevinMiddlePart1", "computeNonbonded"],
                        "Trace": ["GPU 0", "stream 1"]}.items():
        page.choose_view(view)
        page.screenshot(f"openmm_{view}")
        text = page.text()
        assert not [word for word in words if word not in text], (view, text[:2000])
    assert page.errors == []
    page.close()


def test_every_view_answers(board):
    assert {"Overview", "Operator", "Kernel", "Trace"} <= set(board.visit_all()["openmm"])
    # Recorded without steps, it has slices of time; the last ones may be without kernels.
    assert [line for line in board.suspicious_log_lines() if "Remove the last" not in line] == []
