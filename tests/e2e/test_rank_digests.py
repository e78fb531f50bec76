# SPDX-License-Identifier: MIT
"""What `steps`, `view`, `compare` and `query` answer of digests is what they answer of the traces."""
import json
import subprocess
from urllib.parse import urlencode

import pytest

import made_ranks
from support import BUILD

RANKS, LATE = 40, 17


def hipboard(*arguments, status=0):
    done = subprocess.run([BUILD / "tools/hipboard/hipboard", *map(str, arguments)], capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A log directory with one run, and the digests of its traces by the same name elsewhere."""
    work = tmp_path_factory.mktemp("digests")
    made_ranks.write(work / "job", RANKS, late=LATE)
    (work / "kept").mkdir()
    digests = work / "kept/job.hbranks"
    hipboard("ranks", "-o", digests, work / "job")
    return work / "job", digests


def same(a, b):
    """Equal but for the last digits of sums and where a recording's own clock begins."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            if key != "start_us":
                same(a[key], b[key])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, (int, float)):
        assert a == pytest.approx(b, abs=2e-3)
    else:
        assert a == b


def test_steps(job):
    traces, digests = (json.loads(hipboard("steps", "--json", "--top", 0, path).stdout) for path in job)
    assert len(digests["slowest"]) == 5 * RANKS and len(digests["groups"]) > RANKS

    def in_order(steps):  # of equally long ones rounding decides who is first
        return sorted(steps, key=lambda s: (s["rank"], int(s["step"])))
    same(traces["groups"], digests["groups"])
    same(in_order(traces["slowest"]), in_order(digests["slowest"]))


def test_the_late_rank_is_first_on_one_screen(job):
    for path in job:
        for command in (["steps"], ["view"], ["view", "--view", "steps"]):
            lines = hipboard(*command, path).stdout.splitlines()
            head = next(i for i, line in enumerate(lines) if line.startswith("Ranks that communicate least"))
            assert lines[head + 2].startswith(f"rank {LATE}, ") and len(lines) <= 60
            assert f"({RANKS - 10} more)" in lines


def test_digests_beside_many_traces_are_told_of(tmp_path):
    made_ranks.write(tmp_path / "job", 33, collectives=1)
    assert hipboard("steps", tmp_path / "job").stderr == ""
    hipboard("ranks", "-o", tmp_path / "job/ranks.hbranks", tmp_path / "job")
    for command in ("steps", "view"):
        assert "job/ranks.hbranks has digests of the ranks, which are read at once" in \
            hipboard(command, tmp_path / "job").stderr


def test_views_of_one_rank(job):
    for view, table in (("overview", "Average step"), ("steps", "Steps")):
        shown = [json.loads(hipboard("view", "--json", "--view", view, "--rank", LATE, path).stdout) for path in job]
        assert len(shown[0][table]) >= 5
        same(shown[0][table], shown[1][table])
    one = [json.loads(hipboard("view", "--json", "--rank", LATE, "--step", 2, path).stdout) for path in job]
    same(one[0]["Average step"], one[1]["Average step"])


def test_the_plugins_answers(job):
    def ask(path, route, **parameters):
        return json.loads(hipboard("query", path, f"{route}?{urlencode(parameters)}").stdout)
    for path in job:
        assert ask(path, "runs") == {"runs": ["job"], "loading": False}
        assert ask(path, "spans", run="job", worker="node2_1017") == ["1"]
    assert ask(job[1], "views", run="job") == ["Overview"]
    workers = [ask(path, "workers", run="job", view="Overview") for path in job]
    assert workers[0] == workers[1] and len(workers[0]) == RANKS
    answers = [ask(path, "overview", run="job", worker="node2_1017", span="1") for path in job]
    for answer in answers:  # a tooltip has the numbers beside it once more
        answer["steps"]["rows"] = [row[:1] + row[1::2] for row in answer["steps"]["rows"]]
    same(answers[0]["steps"], answers[1]["steps"])
    same(answers[0]["performance"], answers[1]["performance"])
    assert answers[0]["environments"] == answers[1]["environments"]
    assert len(answers[0]["steps"]["rows"]) == 5


def test_compared(job):
    done = json.loads(hipboard("compare", "--by", "step", "--json", *job).stdout)
    assert {row["name"] for row in done["steps"]} >= {"step_time", "communication", "cpu", "other"}
    for row in done["steps"]:
        assert row["after"]["median"] == pytest.approx(row["before"]["median"], abs=2e-3)
    assert any("digests: compared are steps" in note for note in done["notes"])


def test_what_digests_do_not_have_is_said(job):
    _, digests = job
    for command, said in (
            (["view", "--view", "kernel", digests], "digests have the views overview and steps; for kernel give the traces"),
            (["view", "--view", "distributed", digests], "give the traces, or ask `hipboard ranks`"),
            (["query", digests, "operation?run=job&worker=node2_1017&span=1"], "a digest has the overview; 'operation'"),
            (["query", digests, "distributed/overlap?run=job&span=1"], "of digests `hipboard ranks` answers this"),
            (["table", digests], "digests of ranks: this is in the traces"),
            (["memory", digests], "digests of ranks: this is in the traces")):
        assert said in hipboard(*command, status=1).stderr
    assert "operators, kernels and memory are in the traces" in hipboard("steps", digests).stderr


def test_of_many_traces_other_views_show_the_extremes(job):
    traces, _ = job
    shown = hipboard("view", "--view", "operator", traces).stdout
    assert len(shown.splitlines()) <= 60
    assert "Of the traces these two, with the least and the most communication:" in shown
    assert "job, worker node2_1017, span 1" in shown and shown.count(", worker ") == 2
    assert hipboard("view", "--view", "operator", "--top", 0, traces).stdout.count(", worker ") == RANKS


def test_cycles_of_a_rank(tmp_path):
    made_ranks.write(tmp_path / "job", 2)
    for path in sorted((tmp_path / "job").iterdir()):  # the same again, a second later
        later = path.read_text().replace('"ts":', '"ts":1')
        (path.parent / path.name.replace(".1700000000000000000", ".1700000001000000000")).write_text(later)
    digests = tmp_path / "job.hbranks"
    hipboard("ranks", "-o", digests, tmp_path / "job")
    spans = [[(g["worker"], g["span"], g["parts"]["Step"]["steps"])
              for g in json.loads(hipboard("steps", "--json", path).stdout)["groups"] if g["group"] == "cycle"]
             for path in (tmp_path / "job", digests)]
    assert sorted(spans[0]) == sorted(spans[1]) and len(spans[0]) == 4


def test_without_steps_the_whole_is_one(tmp_path):
    made_ranks.write(tmp_path / "job", 3)
    for path in (tmp_path / "job").iterdir():
        path.write_text(path.read_text().replace("ProfilerStep#", "phase "))
    digests = tmp_path / "job.hbranks"
    hipboard("ranks", "-o", digests, tmp_path / "job")
    steps = json.loads(hipboard("steps", "--json", digests).stdout)["slowest"]
    assert [s["step"] for s in steps] == ["0"] * 3 and all(s["us"]["Step"] > 0 for s in steps)


def test_views_of_digests(job):
    """They know steps, and nothing that stands in them."""
    traces, digests = job
    for view in "overview", "steps":
        text = hipboard("view", "--view", view, digests).stdout
        assert text == hipboard("view", digests).stdout and text.startswith(f"{5 * RANKS} steps in {RANKS} traces")
    assert hipboard("view", "--view", "steps", traces).stdout.count(" steps in ") == 1
    assert hipboard("view", "--view", "operator", traces).stdout.count("\nOperator") >= 1
    for view in "operator", "kernel", "memory", "module", "gpu", "classes":
        done = hipboard("view", "--view", view, digests, status=1)
        assert done.stderr == ("hipboard view: digests have the views overview and steps; for "
                               f"{view} give the traces\n") and not done.stdout
    done = hipboard("view", "--view", "distributed", digests, status=1)
    assert done.stderr.endswith("for distributed give the traces, or ask `hipboard ranks`\n")


def test_damaged_digests_are_said(job, tmp_path):
    _, digests = job
    cut = tmp_path / "cut.hbranks"
    cut.write_bytes(digests.read_bytes()[:-100])
    done = hipboard("steps", "--json", "--top", 0, cut)
    assert "its end is missing or damaged: the digests before it are taken" in done.stderr
    assert len({s["rank"] for s in json.loads(done.stdout)["slowest"]}) == RANKS - 1
    no = tmp_path / "no.hbranks"
    no.write_text("{}")
    for command in (["steps", no], ["view", no], ["query", no, "runs"]):
        assert "no digest of ranks" in hipboard(*command, status=1).stderr
    assert "no digest of ranks" in hipboard("compare", no, digests, status=3).stderr
