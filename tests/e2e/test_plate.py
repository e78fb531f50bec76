# SPDX-License-Identifier: MIT
"""samples/plate, which hipcc built and which knows nothing of hipboard, recorded as it is on the
simulated GPU."""
import json
import os
import re
import subprocess
from collections import Counter

import pytest

from schemas import complaints, load
from server import TensorBoard
from support import BUILD

PLATE = BUILD / "samples/plate/plate"
KERNELS = BUILD / "samples/plate/plate_kernels.so"
HIPBOARD = BUILD / "tools/hipboard/hipboard"
ON_GPU = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "tools/simhsa"),
              SIMHSA_KERNELS=str(KERNELS))
RELAX = "void relax<float>(float*, float const*, int)"
LARGEST_CHANGE = "largest_change(unsigned int*, float const*, float const*, int)"
SIDE = 20

pytestmark = pytest.mark.skipif(not KERNELS.exists() or not PLATE.exists(),
                                reason="needs hipcc and tools/simhsa")


def start(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=600, env=ON_GPU)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The log directory, and what the program said."""
    logdir = tmp_path_factory.mktemp("plate") / "runs"
    done = start(HIPBOARD, "record", "--quiet", "-o", logdir / "plate", "--", PLATE, SIDE)
    return logdir, done


@pytest.fixture(scope="module")
def board(recorded, tmp_path_factory):
    with TensorBoard(recorded[0], tmp_path_factory.mktemp("log") / "log") as board:
        yield board.wait_until_loaded()


def sweeps(said):
    found = re.fullmatch(rf"(\d+) sweeps over {SIDE} x {SIDE} points; largest error (\S+)\n", said)
    assert float(found.group(2)) < 1e-3
    return int(found.group(1))


def test_the_program_is_right_and_notices_nothing(recorded):
    plain = start(PLATE, SIDE)
    _, done = recorded
    assert plain.returncode == 0 and sweeps(plain.stdout) > 0
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, "")


def test_every_launch_and_copy_is_there(recorded):
    logdir, done = recorded
    [path] = logdir.glob("plate/*.pt.trace.json")
    assert complaints(load(path), "tensorboard") == []
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]
    kernels = Counter(e["name"] for e in events if e["cat"] == "kernel")
    looks = kernels[LARGEST_CHANGE]
    assert kernels == {RELAX: sweeps(done.stdout), LARGEST_CHANGE: sweeps(done.stdout) // 50}
    copies = Counter(e["name"][:11] for e in events if e["cat"] == "gpu_memcpy")
    assert copies == {"Memcpy HtoD": 1, "Memcpy DtoD": 1, "Memcpy DtoH": looks + 1}
    assert sum(e["cat"] == "gpu_memset" for e in events) == looks


def rows(table):
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row)) for row in table["rows"]]


def test_the_plugin_shows_it(board, recorded):
    assert board.visit_all()
    [profile] = board.profiles("plate")
    table = rows(board.get("kernel/table", group_by="Kernel", **profile)["data"])
    assert {row["Name"]: row["Calls"] for row in table}[RELAX] == sweeps(recorded[1].stdout)
    events = board.get("memory_events", memory_metric="B", **profile)["rows"]["GPU0"]
    assert sorted(row[1] for row in events) == [4, SIDE * SIDE * 4, SIDE * SIDE * 4]
    # Slices after the last kernel are no steps to the plugin, which it says.
    said = board.suspicious_log_lines()
    assert [line for line in said if "Remove the last" not in line] == []


def test_its_calls_are_its_operators(board, recorded):
    """What a program does not mark is named after HIP's functions."""
    [profile] = board.profiles("plate")
    table = {row["name"]: row for row in
             board.get("operation/table", group_by="Operation", **profile)["data"]}
    work = sum(event["dur"] for path in recorded[0].glob("plate/*.pt.trace.json")
               for event in json.loads(path.read_text())["traceEvents"]
               if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
    assert sum(row["device_self_duration"] for row in table.values()) == pytest.approx(work, abs=5)
    launches, steps = table["hipLaunchKernel"]["calls"], sweeps(recorded[1].stdout)
    assert launches == steps + steps // 50
    allocations = board.get("memory_events", memory_metric="B", **profile)["rows"]
    assert {row[0] for row in allocations["GPU0"]} == {"hipMalloc"}
    assert {row[0] for row in allocations["CPU"]} == {"hipHostMalloc"}


def test_every_page_shows_something(board, browser, recorded):
    page = browser.open(board.url)
    page.choose_run("plate")
    for view, words in {"Overview": ["GPU Summary", "(simulated)"],
                        "Operator": ["hipLaunchKernel", "hipMemcpyAsync"],
                        "Kernel": ["relax<float>", "largest_change"],
                        "Trace": ["time slices", "GPU 0", "stream 1"],
                        "Memory": ["GPU0", "hipMalloc", "hipFree"]}.items():
        page.choose_view(view)
        page.screenshot(f"plate_{view}")
        text = page.text()
        assert not [word for word in words if word not in text], (view, text[:2000])
    assert page.errors == []
    page.close()


def test_wrong_arguments_are_named():
    done = start(PLATE, "2")
    assert done.returncode == 2 and "usage: plate [SIDE]" in done.stderr
