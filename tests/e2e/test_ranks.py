# SPDX-License-Identifier: MIT
"""Several processes of one training in one run, and a process that was killed while recording."""
import json
import signal
import subprocess

import pytest

from server import TensorBoard
from support import BUILD, run

RANK = BUILD / "tests/e2e/programs/rank"
HIPBOARD = BUILD / "tools/hipboard/hipboard"
STEPS, GRADIENT_BYTES = 6, 4000


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("ranks") / "runs"
    processes = [subprocess.Popen([RANK, logdir / "ddp", str(rank), "2", str(STEPS)])
                 for rank in range(2)]
    assert [process.wait(600) for process in processes] == [0, 0]
    with TensorBoard(logdir, tmp_path_factory.mktemp("log") / "log") as board:
        yield board.wait_until_loaded()


def test_the_trace_names_rank_and_world(board):
    for rank in range(2):
        [path] = board.logdir.glob(f"ddp/rank_{rank}.*.pt.trace.json")
        information = json.loads(path.read_text())["distributedInfo"]
        assert list(information) == ["backend", "rank", "world_size", "pg_count", "pg_config"]
        assert (information["backend"], information["rank"], information["world_size"]) == (
            "gloo", rank, 2)


def test_the_plugin_sees_two_workers(board):
    assert board.visit_all() == {"ddp": ["Overview", "Operator", "Trace", "Distributed"]}
    assert board.get("workers", run="ddp", view="Overview") == ["rank_0", "rank_1"]
    for profile in board.profiles("ddp"):
        environments = board.get("overview", **profile)["environments"]
        assert {"title": "Number of Worker(s)", "value": "2"} in environments


def test_communication_is_what_was_reduced(board):
    operations = board.get("distributed/commops", run="ddp", worker="All", span="1")["data"]
    assert set(operations) == {"rank_0", "rank_1"}
    for table in operations.values():
        names = [column["name"] for column in table["columns"]]
        [row] = [dict(zip(names, row)) for row in table["rows"]]
        assert row["Name"] == "gloo:all_reduce"
        assert row["Calls"] == STEPS
        assert row["Total Size (bytes)"] == STEPS * GRADIENT_BYTES
        assert row["Total Latency (us)"] > STEPS * 1000
    for route in ("overlap", "waittime"):
        data = board.get(f"distributed/{route}", run="ddp", worker="All", span="1")["data"]
        assert set(data) == {"all", *map(str, range(STEPS))}


def test_the_page_shows_it(board, browser):
    page = browser.open(board.url)
    page.choose_view("Distributed")
    page.screenshot("ranks_Distributed")
    text = page.text()
    for word in ("Communication Operations Stats", "gloo:all_reduce", "rank_0", "rank_1"):
        assert word in text, text
    assert page.errors == []
    page.close()


def test_nothing_suspicious(board):
    assert board.suspicious_log_lines() == []


def test_a_killed_process_is_recovered(tmp_path):
    logdir = tmp_path / "runs"
    process = subprocess.Popen([RANK, logdir / "killed", "0", "1", "0"], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"recording\n"
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert list(logdir.glob("killed/*.pt.trace.json")) == []
    run(HIPBOARD, "recover", logdir)
    with TensorBoard(logdir, tmp_path / "log") as board:
        views = board.visit_all()
        assert views["killed"][:3] == ["Overview", "Operator", "Trace"]
        [profile] = board.profiles("killed")
        steps = [row[0] for row in board.get("overview", **profile)["steps"]["rows"]]
        assert steps[:10] == [str(step) for step in range(10)]
        calls = {row["name"]: row["calls"] for row in
                 board.get("operation/table", group_by="Operation", **profile)["data"]}
        assert calls["aten::mm"] >= 10
        assert board.suspicious_log_lines() == []
