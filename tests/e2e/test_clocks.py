# SPDX-License-Identifier: MIT
"""Ranks whose clocks are not one: measured while recording, corrected, and told."""
import os
import shutil
import subprocess

import pytest

from support import PROGRAMS
from test_mpi import HIPBOARD, build, documents, mpirun, needs_plain

pytestmark = needs_plain
SHIFT_S = 777
WALL_NS = 3_000_000_000


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def mpi(request):
    if not shutil.which(f"mpicc.{request.param}"):
        pytest.skip(f"needs mpicc.{request.param}")
    return request.param


@pytest.fixture(scope="module")
def rounds(mpi, tmp_path_factory):
    path = tmp_path_factory.mktemp(mpi) / "rounds"
    build(mpi, "mpicc", PROGRAMS / "mpi_rounds.c", "-o", path)
    return path


@pytest.fixture(scope="module")
def odd_clock(tmp_path_factory):
    path = tmp_path_factory.mktemp("odd") / "odd_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", PROGRAMS / "odd_clock.c", "-o", path],
                   check=True, timeout=300)
    return path


def on_another_node(folder, command):
    """A script that runs its arguments, on odd ranks behind `command`."""
    script = folder / "node.sh"
    script.write_text('#!/bin/sh\nr=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}\n'
                      f'[ $((r % 2)) = 1 ] && exec {command} "$@"\nexec "$@"\n')
    script.chmod(0o755)
    return script


def own_time(folder):
    options = "-T" if os.geteuid() == 0 else "-rT"
    return on_another_node(folder, f"unshare {options} --monotonic {SHIFT_S}")


def collectives(document):
    """(start, end) in Unix ns."""
    base = int(document["baseTimeNanoseconds"])
    times = [(e["ts"], e["dur"]) for e in document["traceEvents"]
             if e["name"] == "MPI_Allreduce"]
    return [(base + round(ts * 1000), base + round((ts + dur) * 1000))
            for ts, dur in sorted(times)]


def assert_in_order(first, second, wrong_by):
    """Nobody leaves before all have come."""
    assert len(first) == len(second) == 100
    for a, b in zip(first, second):
        assert max(a[0], b[0]) <= min(a[1], b[1]) + wrong_by


def test_two_namespaces_of_times_are_measured(mpi, rounds, tmp_path):
    logdir = tmp_path / "run"
    done = mpirun(mpi, 2, own_time(tmp_path), HIPBOARD, "record", "--align", "force", "-o", logdir,
                  "--", rounds)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    reference, other = documents(logdir)
    told = other["hipboard_clock"]
    assert (told["method"], told["reference_rank"], told["applied"]) == ("measured", 0, True)
    assert len(told["points"]) == 2
    for point in told["points"]:
        assert abs(point["offset_ns"] + SHIFT_S * 10**9) <= point["bound_ns"]
    # One kernel has one wall clock: what is added to Unix times is all wrong.
    assert abs(told["offset_ns"]) <= told["bound_ns"]
    print(f"{mpi}: residual {abs(told['offset_ns'])} ns, bound {told['bound_ns']} ns")
    assert_in_order(collectives(reference), collectives(other),
                    told["bound_ns"] + reference["hipboard_clock"]["bound_ns"])


def test_a_wrong_wall_clock_that_drifts_is_corrected(mpi, rounds, odd_clock, tmp_path):
    """It takes a namespace of times, too: else it is known to be the same node."""
    node = on_another_node(tmp_path, own_time(tmp_path).read_text().split("exec ")[1].split(' "')[0]
                           + f" env LD_PRELOAD={odd_clock}")
    logdir = tmp_path / "run"
    done = mpirun(mpi, 2, node, HIPBOARD, "record", "--align", "measure", "-o", logdir, "--", rounds,
                  ODD_WALL_NS=str(WALL_NS), ODD_DRIFT_PPM="50")
    assert done.returncode == 0, done.stderr
    reference, other = documents(logdir)
    told = other["hipboard_clock"]
    assert told["applied"] is True and reference["hipboard_clock"]["offset_ns"] == 0
    assert abs(told["offset_ns"] + WALL_NS) <= told["bound_ns"]
    assert_in_order(collectives(reference), collectives(other),
                    told["bound_ns"] + reference["hipboard_clock"]["bound_ns"])
    said = subprocess.run([HIPBOARD, "ranks", "--json", logdir], capture_output=True, text=True,
                          timeout=120)
    assert said.returncode == 0, said.stderr


def test_one_clock_is_left_as_it_is(mpi, rounds, tmp_path):
    logdir = tmp_path / "run"
    done = mpirun(mpi, 2, HIPBOARD, "record", "--align", "measure", "-o", logdir, "--", rounds)
    assert done.returncode == 0, done.stderr
    for document in documents(logdir):
        told = document["hipboard_clock"]
        assert (told["method"], told["offset_ns"], len(told["points"])) == ("shared", 0, 1)


def test_ranks_that_are_not_all_recorded_are_not_waited_for(mpi, rounds, tmp_path):
    """Who records rank 0 alone gets no message of ours, and no deadlock."""
    script = tmp_path / "first.sh"
    script.write_text('#!/bin/sh\nr=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}\n'
                      f'[ $r = 0 ] && exec {HIPBOARD} record -q -o {tmp_path}/run -- "$@"\n'
                      'exec "$@"\n')
    script.chmod(0o755)
    done = mpirun(mpi, 2, script, rounds)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    [document] = documents(tmp_path / "run")
    assert "hipboard_clock" not in document
    done = mpirun(mpi, 2, HIPBOARD, "record", "--ranks", "0", "--align", "measure", "-o",
                  tmp_path / "none", "--", rounds)
    assert done.returncode != 0 and "leave --ranks out" in done.stderr


def test_open_mpi_tells_that_all_are_recorded(mpi, rounds, tmp_path):
    logdir = tmp_path / "run"
    done = mpirun(mpi, 2, HIPBOARD, "record", "-o", logdir, "--", rounds)
    assert done.returncode == 0, done.stderr
    told = ["hipboard_clock" in document for document in documents(logdir)]
    assert told == [mpi == "openmpi"] * 2
