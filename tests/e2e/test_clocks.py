# SPDX-License-Identifier: MIT
"""Ranks whose clocks are not one: measured while recording, corrected, and told."""
import json
import os
import re
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


def unshare(namespace):
    """The command that gives a program its own namespace of that letter."""
    command = ["unshare", f"-{namespace}" if os.geteuid() == 0 else f"-r{namespace}"]
    if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        pytest.skip(f"{' '.join(command)} is not allowed here")
    return " ".join(command)


def own_time(folder):
    return on_another_node(folder, f"{unshare('T')} --monotonic {SHIFT_S}")


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


# ---- by the collectives alone ----

def hipboard(*arguments):
    return subprocess.run([HIPBOARD, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120)


@pytest.fixture(scope="module")
def odd_nodes(mpi, rounds, odd_clock, tmp_path_factory):
    """Two nodes' traces, as nobody corrected them: the second is 3 s ahead and drifts."""
    folder = tmp_path_factory.mktemp("nodes")
    node = on_another_node(folder, f"{unshare('u')} env LD_PRELOAD={odd_clock} "
                                   "sh -c 'hostname odd-node; exec \"$@\"' sh")
    done = mpirun(mpi, 2, node, HIPBOARD, "record", "--align", "none", "-o", folder / "run", "--",
                  rounds, ODD_WALL_NS=str(WALL_NS), ODD_DRIFT_PPM="50")
    assert done.returncode == 0, done.stderr
    return folder / "run"


def test_collectives_alone_tell_of_clocks(odd_nodes, tmp_path):
    said = hipboard("ranks", odd_nodes)
    assert re.search("Clocks of nodes d(o|id) not agree: ", said.stdout)
    done = hipboard("convert", "--align", "collectives", "-o", tmp_path / "aligned", odd_nodes)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("times were corrected to another rank's clock") == 1
    reference, other = documents(tmp_path / "aligned")
    told = other["hipboard_clock"]
    assert "hipboard_clock" not in reference
    assert (told["method"], told["reference_rank"], told["applied"]) == ("collectives", 0, True)
    [recorded] = [e["ts"] for e in documents(odd_nodes)[1]["traceEvents"]
                  if e["name"].startswith("Iteration Start")]  # when 3 s was all
    start = int(other["baseTimeNanoseconds"]) + round(recorded * 1000)
    truth = -WALL_NS - 50e-6 * (told["at_ns"] - start)
    assert abs(told["offset_ns"] - truth) <= told["bound_ns"] + 1000
    print(f"offset {told['offset_ns']}, drift {told['drift_ps_per_s']}, bound {told['bound_ns']}")
    assert_in_order(collectives(reference), collectives(other), told["bound_ns"])
    said = hipboard("ranks", tmp_path / "aligned")
    assert "of nodes do" not in said.stdout and "of nodes did" not in said.stdout
    undone = hipboard("convert", "--align", "none", "-o", tmp_path / "undone",
                      tmp_path / "aligned")
    assert undone.returncode == 0, undone.stderr
    for before, after in zip(documents(odd_nodes), documents(tmp_path / "undone")):
        for one, two in zip(before["traceEvents"], after["traceEvents"]):
            assert one["name"] == two["name"]
            assert "ts" not in one or abs(one["ts"] - two["ts"]) < 0.0025
            assert "dur" not in one or abs(one["dur"] - two["dur"]) < 0.0045


def test_what_no_line_explains_is_refused(odd_nodes, tmp_path):
    forged = tmp_path / "forged"
    shutil.copytree(odd_nodes, forged)
    [path] = forged.glob("odd-node*.pt.trace.json")
    document = json.loads(path.read_text())
    starts = sorted(e["ts"] for e in document["traceEvents"] if e["name"] == "MPI_Allreduce")
    for event in document["traceEvents"]:
        if starts[30] <= event.get("ts", 0) <= starts[60]:
            event["ts"] += 100_000
    path.write_text(json.dumps(document))
    refused = hipboard("convert", "--align", "collectives", "-o", tmp_path / "out", forged)
    assert refused.returncode == 1 and not (tmp_path / "out").exists()
    assert "collectives contradict them" in refused.stderr and "odd-node" in refused.stderr
    assert hipboard("convert", "--align", "force", "-o", tmp_path / "out",
                    forged).returncode == 0
    [told] = [d["hipboard_clock"] for d in documents(tmp_path / "out") if "hipboard_clock" in d]
    assert told["bound_ns"] > 10_000_000


def test_one_trace_alone_tells_nothing(odd_nodes, tmp_path):
    [path] = odd_nodes.glob("odd-node*.pt.trace.json")
    shutil.copy(path, tmp_path / path.name)
    done = hipboard("convert", "--align", "collectives", "-o", tmp_path / "out", tmp_path / path.name)
    assert done.returncode == 0 and "nothing to change" in done.stdout
