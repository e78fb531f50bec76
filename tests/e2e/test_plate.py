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
from support import BUILD, run

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
    run(BUILD / "tests/unit/test_cycle_trace", path)  # its model with a file and without


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
    assert board.suspicious_log_lines() == []


def test_its_steps_are_found(recorded):
    """Sweeps between two looks at the largest change, which the host waits for."""
    logdir, done = recorded
    [path] = logdir.glob("plate/*.pt.trace.json")
    trace = json.loads(path.read_text())
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    steps = [e for e in events if e["name"].startswith("ProfilerStep#")
             and e["cat"] == "user_annotation"]
    assert len(steps) == sweeps(done.stdout) // 50
    assert all(e["args"]["hipboard"] == "inferred" for e in steps)
    calls = [e for e in events if e["name"] == "hipLaunchKernel" and e["cat"] == "Runtime"]
    for step in steps:
        begin, end = step["ts"], step["ts"] + step["dur"]
        assert sum(begin <= call["ts"] < end for call in calls) == 51
    how = trace["hipboard_steps"]
    assert how["method"] == "sequence" and how["inferred"] is True
    assert how["agreement"] > 0.99 and how["coverage"] > 0.9


def test_steps_need_not_be_looked_for(tmp_path):
    done = start(HIPBOARD, "record", "--no-auto-steps", "-o", tmp_path, "--", PLATE, "20")
    assert done.returncode == 0, done.stderr
    [path] = tmp_path.glob("*.pt.trace.json")
    trace = json.loads(path.read_text())
    assert "hipboard_steps" not in trace
    assert sum(e["name"].startswith("ProfilerStep#") for e in trace["traceEvents"]) > 9


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
                        "Trace": ["GPU 0", "stream 1"],
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


@pytest.fixture(scope="module")
def with_stacks(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("stacks")
    done = start(HIPBOARD, "record", "--with-stack", "-q", "-o", logdir, "--", PLATE, SIDE)
    assert done.returncode == 0, done.stderr
    [path] = logdir.glob("*.pt.trace.json")
    return path, json.loads(path.read_text()), done


def frames(event):
    return [frame.rpartition(": ")[2] for frame in event["args"]["Call stack"].split(";")[:-1]]


def test_calls_have_the_stack_of_who_called(with_stacks):
    """Neither hipboard's frames nor HIP's stand before the program's."""
    _, trace, done = with_stacks
    callers = Counter()
    for event in trace["traceEvents"]:
        if event.get("cat") == "cpu_op" and event["name"].startswith("hip"):
            assert "main" in frames(event) and "_start" in frames(event)
            callers[event["name"], frames(event)[0]] += 1
    looks = sweeps(done.stdout) // 50
    assert callers["hipLaunchKernel", "Solver::sweep()"] == looks * 50
    assert callers["hipLaunchKernel", "Solver::change()"] == looks
    assert callers["hipMalloc", "Solver::Solver(int)"] == 3
    assert complaints(trace, "tensorboard") == []


def test_loops_are_shown(with_stacks):
    path, trace, done = with_stacks
    looks = sweeps(done.stdout) // 50
    assert trace["hipboard_steps"]["method"] == "call stacks"
    shown = start(HIPBOARD, "view", "--view", "loops", path).stdout
    assert "Loop" in shown and "yes" in shown and "main" in shown
    told = json.loads(start(HIPBOARD, "view", "--json", "--view", "loops", path).stdout)
    [loop] = [row for row in told["Loops"] if row["Steps"] == "yes"]
    assert loop["Rounds"] == looks and loop["Share (%)"] > 80
    assert "by the call stacks" in start(HIPBOARD, "view", path).stdout


def test_a_loop_is_chosen(tmp_path):
    done = start(HIPBOARD, "record", "--step-loop", "1", "-q", "-o", tmp_path, "--", PLATE, SIDE)
    assert done.returncode == 0, done.stderr
    [path] = tmp_path.glob("*.pt.trace.json")
    assert "as asked for" in json.loads(path.read_text())["hipboard_steps"]["rule"]
    wrong = start(HIPBOARD, "record", "--step-loop", "x", "-o", tmp_path, "--", PLATE, SIDE)
    assert wrong.returncode == 2 and "expected a loop's number" in wrong.stderr
