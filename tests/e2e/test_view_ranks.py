# SPDX-License-Identifier: MIT
"""`hipboard view --view distributed` has the numbers of the plugin's Distributed view."""
import json
import os
import random
import subprocess
from collections import defaultdict
from urllib.parse import quote

import pytest

import made_ranks
import random_traces
from support import BUILD


def hipboard(*arguments):
    return subprocess.run([BUILD / "tools/hipboard/hipboard", *map(str, arguments)],
                          capture_output=True, timeout=600)


def query(logdir, route, run, span):
    done = hipboard("query", logdir, f"distributed/{route}?run={quote(run)}&worker=All&span={span}"
                                     "&view=Distributed")
    return json.loads(done.stdout) if done.returncode == 0 else None


def view(path, *options):
    done = hipboard("view", "--view", "distributed", "--json", "--top", 0, *options, path)
    return [json.loads(line) for line in done.stdout.splitlines()], done


def write_rank(path, rank, lag):
    """A step with a kernel and a collective that starts `lag` late, beside the kernel at first. Its
    call, 20 us long, is communication to the plugin as well."""
    def event(cat, name, ts, dur, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
                "args": args}
    events = [event("user_annotation", "ProfilerStep#1", 0, 1000),
              event("cpu_op", "nccl:all_reduce", 10, 20, **{
                  "External id": 7, "Input Dims": [[256]], "Input type": ["float"]}),
              event("Runtime", "hipLaunchKernel", 12, 5, **{"External id": 7, "correlation": 70}),
              event("cpu_op", "aten::mm", 40, 20, **{"External id": 8}),
              event("Runtime", "hipLaunchKernel", 42, 5, **{"External id": 8, "correlation": 80}),
              event("kernel", "Cijk_mm", 100, 300, **{
                  "External id": 8, "correlation": 80, "device": 0, "stream": 0}),
              event("kernel", "ncclDevKernel", 300 + lag, 300 - lag, **{
                  "External id": 7, "correlation": 70, "device": 0, "stream": 1})]
    path.write_text(json.dumps({"traceEvents": events, "distributedInfo": {
        "backend": "nccl", "rank": rank, "world_size": 2}}))


@pytest.fixture
def two_ranks(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    write_rank(run / "b.1.pt.trace.json", 0, 0)
    write_rank(run / "a.1.pt.trace.json", 1, 50)
    return tmp_path


def test_figures(two_ranks):
    [tables], done = view(two_ranks)
    assert done.returncode == 0 and not done.stderr
    late, early = tables["Average step"]
    assert (late["Worker"], late["Rank"], early["Worker"], early["Rank"]) == ("a", 1, "b", 0)
    assert early["Overlap (us)"] == 100 and early["Communication (us)"] == 220
    assert early["Transfer (us)"] == 270 and early["Wait (us)"] == 50 and late["Wait (us)"] == 0
    parts = ("Computation", "Overlap", "Communication", "Other")
    assert sum(early[part + " (us)"] for part in parts) == 1000
    assert early["Exposed (%)"] == pytest.approx(22)
    assert [row["Mean size (bytes)"] for row in tables["Collectives"]] == [1024, 1024]


def test_files_without_a_log_directory(two_ranks):
    [whole], _ = view(two_ranks)
    done = hipboard("view", "--view", "distributed", "--json", *sorted(two_ranks.glob("run/*")))
    files = json.loads(done.stdout)
    assert [row.pop("Worker") for row in files["Average step"]] == ["a.1", "b.1"]
    for row in whole["Average step"]:
        del row["Worker"]
    assert files["Average step"] == whole["Average step"]


def test_one_rank_and_one_step(two_ranks):
    [tables], _ = view(two_ranks, "--rank", 0, "--step", 1)
    assert [row["Worker"] for row in tables["Steps"]] == ["b"]
    assert [row["Worker"] for row in tables["Collectives"]] == ["b"]
    [same], _ = view(two_ranks, "--rank", 0, "--step", "01")
    assert same == tables
    tables, done = view(two_ranks, "--step", 2)
    assert (tables, done.returncode) == ([], 1) and done.stderr.endswith(b"its traces have no step 2\n")


def test_a_rank_that_is_not_there(two_ranks):
    tables, done = view(two_ranks, "--rank", 9)
    assert (tables, done.returncode) == ([], 1)
    assert done.stderr == b"hipboard view: there is no trace of rank 9\n"


def test_ranks_that_do_not_match(two_ranks):
    path = two_ranks / "run/b.1.pt.trace.json"
    path.write_text(path.read_text().replace("nccl:all_reduce", "aten::add"))
    [tables], done = view(two_ranks)
    assert b"waiting is not known: b has no collectives" in done.stderr
    assert len(tables["Average step"]) == 2 and not tables["Collectives"]
    assert all(row["Wait (us)"] is None for row in tables["Average step"])


def steps_of(logdir, run, span, names):
    for name in names:
        for tables in view(logdir, f"--step={name}")[0]:
            if (tables["run"], tables["span"]) == (run, span):
                for row in tables["Steps"]:
                    yield name, row


def check_span(logdir, tables):
    run, span = tables["run"], tables["span"]
    overlap, wait = (query(logdir, route, run, span) for route in ("overlap", "waittime"))
    if overlap is None:
        return False
    averages = {row["Worker"]: row for row in tables["Average step"]}
    for worker, (computation, both, communication, other) in overlap["data"]["all"].items():
        row = averages[worker]
        assert [int(row[key + " (us)"]) for key in ("Computation", "Overlap", "Communication",
                                                    "Other")] == [computation, both, communication,
                                                                  other]
        assert [int(row["Transfer (us)"]), int(row["Wait (us)"])] == wait["data"]["all"][worker]
    by_step = defaultdict(list)
    for name, row in steps_of(logdir, run, span, set(overlap["data"]) - {"all"}):
        by_step[name, row["Worker"]].append([row["Computation (us)"], row["Overlap (us)"],
                                             row["Communication (us)"], row["Other (us)"]])
    for name, workers in overlap["data"].items():
        for worker, numbers in workers.items():
            assert name == "all" or numbers in by_step[name, worker]
    operations = query(logdir, "commops", run, span)["data"]
    expected = {(worker, *row) for worker, table in operations.items() for row in table["rows"]}
    for row in tables["Collectives"]:
        expected.remove((row["Worker"], row["Collective"], row["Calls"], row["Total size (bytes)"],
                         round(row["Mean size (bytes)"]), row["Total time (us)"],
                         round(row["Mean time (us)"]), row["Transfer (us)"],
                         round(row["Mean transfer (us)"])))
    assert not expected
    return True


def test_numbers_are_the_plugins(tmp_path):
    checked = 0
    for seed in range(40):
        logdir = tmp_path / str(seed)
        logdir.mkdir()
        random_traces.make_logdir(random.Random(seed), logdir)
        converted = tmp_path / f"{seed} converted"
        hipboard("convert", logdir, "-o", converted)
        checked += sum(check_span(converted, tables) for tables in view(converted)[0])
    assert checked >= 5


def distributed(path):
    done = hipboard("view", path, "--view", "distributed")
    assert done.returncode == 0
    return done.stdout.decode()


def rows(done):
    lines = done.split("Average step\n")[1].splitlines()[1:]
    return [line.split() for line in lines[:lines.index("") if "" in lines else None]]


def test_ranks_stand_in_the_order_of_numbers(tmp_path):
    """As texts 10 and 11 come before 2."""
    made_ranks.write(tmp_path, 12, per_node=20)
    for path in tmp_path.iterdir():
        rank = int(path.name.split(".")[0].split("_")[1]) - 1000
        path.rename(path.with_name(f"host_{rank}.1700000000000000000.pt.trace.json"))
    assert [int(row[1]) for row in rows(distributed(tmp_path))] == list(range(12))


def test_of_many_ranks_the_late_one_is_on_the_screen(tmp_path):
    made_ranks.write(tmp_path, 200, late=117)
    first, *others = rows(distributed(tmp_path))
    assert first[1] == "117"
    assert len(others) < 25


@pytest.mark.skipif("san" in BUILD.name, reason="sanitizers take memory of their own")
def test_memory_does_not_grow_as_traces_do(tmp_path):
    """Of each trace what is compared is kept: a hundred add less than 100 KB each."""
    made_ranks.write(tmp_path / "few", 2, collectives=100)
    made_ranks.write(tmp_path / "many", 102, collectives=100)
    used = []
    for name in ("few", "many"):
        process = subprocess.Popen([BUILD / "tools/hipboard/hipboard", "view", tmp_path / name,
                                    "--view", "distributed"], stdout=subprocess.DEVNULL)
        used.append(os.wait4(process.pid, 0)[2].ru_maxrss)
    assert used[1] - used[0] < 100 * 100
