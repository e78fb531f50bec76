# SPDX-License-Identifier: MIT
"""A program that records what it should not: strange names, 200 nested scopes, scopes never ended,
threads that die in one, steps without length, nonsense numbers. Its files are valid in both dialects
and the real plugin shows every view of them, without a complaint."""
import pytest

from schemas import complaints, load
from server import TensorBoard
from support import BUILD, run

KINETO, GZIP = 2, 1
RUNS = {"plain": 0, "gzipped": GZIP}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("hostile") / "runs"
    for name, flags in {**RUNS, "kineto": KINETO}.items():
        directory = logdir / name if flags != KINETO else logdir.with_name("kineto")
        run(BUILD / "tests/e2e/programs/hostile", directory, flags)
    return logdir


def test_files_follow_their_schema(logdir):
    for dialect, directory in (("tensorboard", logdir / "plain"),
                               ("kineto", logdir.with_name("kineto"))):
        paths = sorted(directory.glob("*.pt.trace.json"))
        assert len(paths) == 2
        for path in paths:
            assert complaints(load(path), dialect) == []


def test_what_was_recorded_is_there(logdir):
    for path in (logdir / "plain").glob("*.pt.trace.json"):
        events = load(path)["traceEvents"]
        names = {event["name"] for event in events}
        assert {'quote"back\\slash', "snow \u2603 and \U0001f600", "ended elsewhere",
                "left by its thread", "pushed and never popped", "(unnamed)"} <= names
        assert max(map(len, names)) == 1 << 20
        assert sum(event["name"] == "deep" for event in events) == 3 * 200


def test_the_plugin_shows_all_of_it(logdir, browser, tmp_path):
    with TensorBoard(logdir, tmp_path / "log") as board:
        views = board.visit_all()
        assert views == {run: ["Overview", "Operator", "Trace", "Memory"] for run in RUNS}
        for run_name in RUNS:
            profiles = board.profiles(run_name)
            steps = [row[0] for profile in profiles
                     for row in board.get("overview", **profile)["steps"]["rows"]]
            assert sorted(map(int, steps)) == list(range(10))
        page = browser.open(board.url)
        page.choose_run("plain")
        for view in views["plain"]:
            page.choose_view(view)
            assert page.text(), view
        assert page.errors == []
        page.close()
        # It is: the program frees what it never allocated.
        assert [line for line in board.suspicious_log_lines()
                if "freed multiple times" not in line] == []
