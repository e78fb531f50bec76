# SPDX-License-Identifier: MIT
"""Ranks of a job, as launchers start them: what their traces are called and say."""
import json
import os
import socket
import subprocess

import pytest

from support import BUILD

HIPBOARD = BUILD / "tools/hipboard/hipboard"
MARKS = """
#include <hipboard/hipboard.h>
int main(int argc, char **argv)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.wait = 1, .active = 2, .repeat = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(argv[1], NULL, 0);
    hb_profiler *prof = hb_profiler_create(&o);
    if (hb_profiler_start(prof) != HB_OK) return 1;
    for (int i = 0; i < 4; i++) {
        HB_RECORD_FUNCTION("work") {}
        hb_profiler_step(prof);
    }
    hb_result result = hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
    return result != HB_OK;
}
"""


def rank_environment(rank, size):
    """As Open MPI's mpirun leaves it."""
    return dict(os.environ, OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE=str(size))


def record(*arguments, env=None):
    return subprocess.run([HIPBOARD, "record", *map(str, arguments)], capture_output=True,
                          text=True, timeout=600, env=env)


@pytest.fixture(scope="module")
def marks(tmp_path_factory):
    """A program that profiles itself."""
    path = tmp_path_factory.mktemp("marks") / "marks"
    library = BUILD / "src/recorder"
    subprocess.run(["cc", "-x", "c", "-", "-o", path, f"-I{BUILD.parent / 'include'}",
                    f"-L{library}", "-lhipboard", f"-Wl,-rpath,{library}"],
                   input=MARKS, text=True, check=True)
    return path


def workers(logdir):
    return sorted(path.name.split(".")[0] for path in logdir.glob("*.pt.trace.json"))


def test_ranks_have_names_in_their_order_and_one_event_file(tmp_path, marks):
    host = socket.gethostname()
    for rank in (10, 2, 0):
        done = subprocess.run([marks, tmp_path], env=rank_environment(rank, 12), timeout=600)
        assert done.returncode == 0
    assert workers(tmp_path) == [f"{host}_00", f"{host}_02", f"{host}_10"]
    [last] = tmp_path.glob(f"{host}_10.*")
    told = json.loads(last.read_text())["distributedInfo"]
    assert (told["backend"], told["rank"], told["world_size"]) == ("mpi", 10, 12)
    assert len(list(tmp_path.glob("*tfevents*"))) == 1


@pytest.mark.parametrize("own", ["same", "own"])
def test_a_program_that_profiles_itself_leaves_one_trace_a_rank(tmp_path, marks, own):
    for rank in range(2):
        done = record("-o", tmp_path / "same", "--", marks, tmp_path / own,
                      env=rank_environment(rank, 2))
        assert (done.returncode, done.stderr) == (0, "")
    host = socket.gethostname()
    for directory in {own, "same"}:
        assert workers(tmp_path / directory) == [f"{host}_0", f"{host}_1"]


def test_a_rank_s_helpers_are_told_apart_and_are_no_ranks(tmp_path, marks):
    script = f"{marks} {tmp_path}; {marks} {tmp_path}; true"
    done = record("-o", tmp_path / "log", "--", "sh", "-c", script, env=rank_environment(1, 4))
    assert done.returncode == 0
    host = socket.gethostname()
    paths = list(tmp_path.glob("*.pt.trace.json"))
    assert len(paths) == 2
    for path in paths:
        assert path.name.startswith(f"{host}_1-"), path.name
        assert "distributedInfo" not in json.loads(path.read_text())


def test_only_chosen_ranks_are_recorded_and_the_others_see_nothing(tmp_path):
    for rank in range(4):
        done = record("--ranks", "1,3-9", "-o", tmp_path, "--", "sh", "-c", "env; exit 3",
                      env=rank_environment(rank, 4))
        assert done.returncode == 3
        assert ("HIPBOARD_" in done.stdout) == (rank in (1, 3)), done.stdout
        assert done.stderr == ""  # nothing was recorded: rank 0 would say so, and is not recorded


@pytest.mark.parametrize("words, rank, said", [
    (["--ranks", "1,3-"], 0, "expected ranks as 0,8-15, every:64 or node:0"),
    (["--ranks", "every:0"], 0, "expected ranks"),
    (["--ranks", "1"], None, "no launcher has told this process its rank"),
    (["--rank-from", "NOT_THERE"], 0, "no such environment variable"),
])
def test_what_is_wrong_is_said_before_the_program_runs(tmp_path, words, rank, said):
    env = rank_environment(rank, 4) if rank is not None else None
    done = record(*words, "-o", tmp_path, "--", "touch", tmp_path / "ran", env=env)
    assert done.returncode == 2 and said in done.stderr
    assert not (tmp_path / "ran").exists()


def test_of_a_job_rank_0_speaks(tmp_path):
    said = [record("-o", tmp_path, "--", "true", env=rank_environment(rank, 3)).stderr
            for rank in range(3)]
    assert said[0].startswith("hipboard: nothing was recorded of true") and said[1:] == ["", ""]


def test_an_mpirun_behind_record_is_told_of(tmp_path):
    (tmp_path / "mpirun").write_text("#!/bin/sh\n")
    (tmp_path / "mpirun").chmod(0o755)
    done = record("-o", tmp_path / "log", "--", tmp_path / "mpirun")
    assert "put it first" in done.stderr.splitlines()[0]
