# SPDX-License-Identifier: MIT
"""`hipboard ranks` of traces that PyTorch's profiler wrote, of ranks over gloo."""
import json
import subprocess

import pytest

import torch_ranks
from support import BUILD

RANKS = 4
LATE = {"last": 3, "first": 0}


def hipboard(*arguments):
    done = subprocess.run([BUILD / "tools/hipboard/hipboard", *map(str, arguments)], capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """The late rank comes to a collective when all others have said that they do."""
    work = tmp_path_factory.mktemp("torch")
    torch_ranks.run(RANKS, [{"directory": str(work / name), "late": late, "behind": True, "steps": 5}
                            for name, late in LATE.items()], work)
    return work


@pytest.mark.parametrize("name", LATE)
def test_the_late_rank_of_pytorchs_own_traces_is_named(jobs, name):
    found = hipboard("ranks", "--json", jobs / name)
    assert len(found["ranks"]) == RANKS and not found["missing"] and found["inconclusive"] is None
    late = found["late"][0]
    assert late["rank"] == LATE[name] and late["collectives"] == 5 * torch_ranks.COLLECTIVES
    assert late["times_last"] > late["collectives"] / 2 and late["caused_us"] > 0


def test_their_digests_have_the_same_steps(jobs, tmp_path):
    digests = tmp_path / "last.hbranks"
    subprocess.run([BUILD / "tools/hipboard/hipboard", "ranks", "-o", digests, jobs / "last"], check=True)
    traces, kept = (hipboard("steps", "--json", path)["groups"] for path in (jobs / "last", digests))
    assert len(traces) == len(kept) > RANKS
    for a, b in zip(traces, kept):
        assert (a["rank"], a["cycles"]) == (b["rank"], b["cycles"]) if "rank" in a else a["group"] == b["group"]
        for part, numbers in a["parts"].items():
            assert numbers["sum_us"] == pytest.approx(b["parts"][part]["sum_us"], abs=0.1), part
