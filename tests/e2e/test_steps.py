# SPDX-License-Identifier: MIT
"""`hipboard steps`: its figures are numpy's of the step times that the plugin gives."""
import csv
import io
import json
import re
import subprocess

import numpy
import pytest

import made_ranks
from support import BUILD, ROOT, run

HIPBOARD = BUILD / "tools/hipboard/hipboard"
PARTS = ["Step", "Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec",
         "Other"]


def ours(*words):
    return run(HIPBOARD, "steps", *words)


def write(path, steps, rank=None):
    """A trace with steps of these lengths, each with a load, an operator and, now and then, a call
    with a kernel."""
    events, at, calls = [], 1000.0, iter(range(1, 10 ** 6))

    def add(cat, name, ts, dur, tid=7, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 7,
                       "tid": tid, "ts": ts, "dur": dur, "args": args})
    for number, length in steps:
        add("user_annotation", f"ProfilerStep#{number}", at, length, **{"External id": 1000 + number})
        add("cpu_op", "enumerate(DataLoader)#x.__next__", at + 1, length / 10,
            **{"External id": 2000 + number})
        add("cpu_op", "aten::mm", at + length / 5, length / 2, **{"External id": 3000 + number})
        if number % 3 == 2:  # the plugin drops steps behind the last kernel
            call = next(calls)
            add("Runtime", "hipLaunchKernel", at + length / 4, length / 50, correlation=call,
                **{"External id": 3000 + number})
            add("kernel", "gemm", at + length / 3, length / 8, tid=1, correlation=call, device=0,
                stream=1, **{"External id": 3000 + number})
        at += length + 0.5
    trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": events}
    if rank is not None:
        trace["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(trace))


@pytest.fixture
def logdir(tmp_path):
    """Two runs; the first of two ranks, each with two cycles."""
    rng = numpy.random.default_rng(7)
    for rank in (0, 1):
        for span in (1, 2):
            lengths = rng.integers(500, 9000, size=span * 5)
            write(tmp_path / f"logs/ddp/w{rank}.{span}.pt.trace.json",
                  [(span * 100 + i, float(length)) for i, length in enumerate(lengths)], rank)
    write(tmp_path / "logs/one/w.1.pt.trace.json", [(1, 777.25)])
    return tmp_path / "logs"


def check(parts, steps):
    for part in PARTS:
        values = [step["us"][part] for step in steps]
        expected = {"steps": len(values), "sum_us": numpy.sum(values),
                    "mean_us": numpy.mean(values), "median_us": numpy.median(values),
                    "p95_us": numpy.quantile(values, 0.95), "min_us": min(values),
                    "max_us": max(values), "std_us": numpy.std(values)}
        assert parts[part] == pytest.approx(expected, rel=1e-9, abs=1e-6), part


def test_groups_are_numpys(logdir):
    answer = json.loads(ours("--json", "--top", "0", logdir))
    steps = answer["slowest"]
    times = [step["us"]["Step"] for step in steps]
    assert len(steps) == 31 and times == sorted(times, reverse=True)
    kinds = {"all": [], "run": ["run"], "rank": ["run", "worker"],
             "cycle": ["run", "worker", "span"]}
    assert [g["group"] for g in answer["groups"]] == \
        ["all"] + 2 * ["run"] + 3 * ["rank"] + 5 * ["cycle"]
    for group in answer["groups"]:
        members = [step for step in steps
                   if all(step[key] == group[key] for key in kinds[group["group"]])]
        check(group["parts"], members)
        assert ("rank" in group) == (group["group"] in ("rank", "cycle") and group["run"] == "ddp")
    assert max(step["us"]["Kernel"] for step in steps) > 0


def test_steps_are_the_views(logdir):
    """The same steps as `hipboard view` shows of one file."""
    path = logdir / "ddp/w1.2.pt.trace.json"
    rows = list(csv.DictReader(io.StringIO(
        run(HIPBOARD, "view", "--view", "steps", "--csv", "--top", "0", path))))
    steps = {step["step"]: step["us"] for step in
             json.loads(ours("--json", "--top", "0", path))["slowest"]}
    assert len(rows) == 10
    for row in rows:
        assert float(row["Total (us)"]) == steps[row["Step"]]["Step"]
        assert float(row["Kernel (us)"]) == steps[row["Step"]]["Kernel"]
        assert float(row["Other (us)"]) == steps[row["Step"]]["Other"]


def test_csv(logdir):
    rows = list(csv.DictReader(io.StringIO(ours("--csv", logdir))))
    answer = json.loads(ours("--json", logdir))
    assert len(rows) == len(answer["groups"]) * len(PARTS)
    for i, group in enumerate(answer["groups"]):
        for row, part in zip(rows[i * len(PARTS):], PARTS):
            assert (row["group"], row["run"], row["part"]) == (group["group"], group["run"], part)
            assert row["rank"] == str(group.get("rank", ""))
            for name, value in group["parts"][part].items():
                assert float(row[name]) == value


def test_text(logdir):
    text = ours("--top", "3", logdir)
    assert text.startswith("31 steps in 5 traces\n")
    for title in ("\nRuns\n", "\nRanks\n", "\nCycles\n", "\nSlowest steps\n"):
        assert title in text
    assert "rank 1, ddp, w1, span 2" in text and "(2 more)" in text
    assert re.search("^Other ", text, re.M)  # all parts, whatever --top says
    assert "Memset" not in text  # nothing was
    one = ours(logdir / "one/w.1.pt.trace.json")
    assert "1 steps in 1 trace\n" in one and "777.2" in one and "Cycles" not in one


def test_ranks_in_the_order_of_numbers(tmp_path):
    """As texts 10 and 11 come before 2."""
    made_ranks.write(tmp_path, 12, per_node=20)
    for path in tmp_path.iterdir():
        rank = int(path.name.split(".")[0].split("_")[1]) - 1000
        path.rename(path.with_name(f"host_{rank}.1700000000000000000.pt.trace.json"))
    for grouping in ("rank", "cycle"):
        groups = [g for g in json.loads(ours("--json", tmp_path))["groups"] if g["group"] == grouping]
        assert [g["rank"] for g in groups] == list(range(12))


def test_of_many_ranks_the_one_that_is_waited_for_is_shown(tmp_path):
    """All take as long as the last one: it is the one that communicates least."""
    made_ranks.write(tmp_path, 30, late=23)
    text = ours(tmp_path).split("Ranks that communicate least")[1]
    assert text.splitlines()[2].startswith("rank 23, ")
    assert "(20 more)" in text


def test_real_traces():
    for name in ("mi250_minitoy.json.gz", "torch-2.13-cpu.pt.trace.json"):
        answer = json.loads(ours("--json", "--top", "0", ROOT / "tests/data" / name))
        assert answer["slowest"]
        check(answer["groups"][0]["parts"], answer["slowest"])


def test_what_cannot_be_read_is_said(logdir, tmp_path):
    (logdir / "one/bad.2.pt.trace.json").write_text("{")
    done = subprocess.run([HIPBOARD, "steps", logdir], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout.startswith("31 steps in 5 traces")
    assert "byte 1" in done.stderr
    empty = tmp_path / "empty.json"
    empty.write_text('{"traceEvents": []}')
    done = subprocess.run([HIPBOARD, "steps", empty], capture_output=True, text=True)
    assert done.stdout == "" and done.stderr


@pytest.mark.parametrize("words, status, message", [
    ([], 2, "no file or log directory"), (["--top", "x", "y"], 2, "--top 'x': expected a number"),
    (["--bogus"], 2, "'--bogus' is unknown"), (["/nowhere"], 1, "/nowhere"),
])
def test_what_it_says(words, status, message):
    done = subprocess.run([HIPBOARD, "steps", *words], capture_output=True, text=True)
    assert done.returncode == status and message in done.stderr and done.stdout == ""
