# SPDX-License-Identifier: MIT
"""`hipboard ranks`: who makes the others wait, by traces in which that is known."""
import contextlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

import made_ranks
from support import BUILD, PROGRAMS, in_seconds, recover_when_dead
import test_mpi
from test_launch import rank_environment
from test_mpi import build, mpirun, record
from test_view_ranks import write_rank

HIPBOARD = BUILD / "tools/hipboard/hipboard"


def ranks(*arguments):
    return subprocess.run([HIPBOARD, "ranks", *map(str, arguments)], capture_output=True, text=True,
                          timeout=600)


def study(*arguments):
    done = ranks("--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_of_a_thousand_ranks_the_late_one_is_named_first(tmp_path):
    caused = made_ranks.write(tmp_path, 1000, late=17)
    done = ranks(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) <= 60
    who = done.stdout.split("Who makes the others wait\n")[1]
    assert who.startswith("rank 17 on node2: the last one at 50 of 50 collectives")
    found = study(tmp_path)
    [late] = found["late"]
    assert late["caused_us"] == pytest.approx(caused[17], rel=0.02)
    assert late["because"] == "compute" and late["operator_name"] == "work"
    # Without it the second last one is the last: about 60 us in place of about 95.
    assert 300 < late["gain_us"] < 400
    assert found["efficiency"]["parallel"] == pytest.approx(
        found["efficiency"]["load_balance"] * found["efficiency"]["communication"])
    assert found["places"][0]["name"] == "node2" and found["places"][0]["deviations"] > 5


def write_unmarked(directory, sizes):
    """Two ranks whose program marks no steps: collectives of so many elements, one after the other."""
    directory.mkdir()
    for rank in range(2):
        events, at = [], 1000.0
        for number, size in enumerate(sizes):
            inputs = f',"Input Dims":[[{size}]],"Input type":["float"]'
            at += 500 if size == 7 else 100
            events.append(made_ranks.EVENT % ("user_annotation", "gloo:all_reduce", 1 + rank, at, 40, number + 1, inputs))
        (directory / f"n_{rank}.1.pt.trace.json").write_text(
            '{"schemaVersion":1,"distributedInfo":{"backend":"gloo","rank":%d,"world_size":2},"traceEvents":[%s]}' % (
                rank, ",".join(events)))
    return directory


def test_steps_of_ranks_without_marks_are_found_by_the_rules_of_all_others(tmp_path):
    """By the collectives; where they come in no order, or as layers do within one pass, there are none."""
    found = study(write_unmarked(tmp_path / "training", [7, 64, 64, 32, 128] * 12))
    assert (found["steps_found"], found["steps_by"]) == (12, "collectives")
    chance = random.Random(3)
    found = study(write_unmarked(tmp_path / "random", [chance.choice([7, 32, 64, 128]) for _ in range(60)]))
    assert (found["steps_found"], found["steps_by"]) == (0, "nothing")
    found = study(write_unmarked(tmp_path / "alike", [64] * 60))
    assert (found["steps_found"], found["steps_by"]) == (0, "nothing")
    # Rounds of an inner loop are none. A step begins behind the longest pause: the first one's is not there.
    found = study(write_unmarked(tmp_path / "inner", ([64, 32] * 6 + [7]) * 10))
    assert (found["steps_found"], found["steps_by"]) == (9, "collectives")


def test_communication_in_kernels_is_told_from_other_kernels(tmp_path):
    for rank, lag in enumerate((0, 50)):
        write_rank(tmp_path / f"w{rank}.1.pt.trace.json", rank, lag)
    found = study(tmp_path)
    assert found["ranks_found"] == 2 and found["collectives_found"] == 1
    [collective] = found["collectives"]
    assert collective["collective"] == "ncclDevKernel" and collective["skew_us"] == 50


def test_who_is_late_at_one_collective_of_each_step_is_named(tmp_path):
    """As with gradients in buckets: at the others the ranks come together, and chance tells who is last."""
    made_ranks.write(tmp_path, 4, late=2, lateness=60, steps=12, collectives=8, late_at={0})
    [late] = study(tmp_path)["late"]
    assert (late["rank"], late["because"]) == (2, "compute")


def test_where_nobody_is_late_nobody_is_named(tmp_path):
    for seed in range(10):
        made_ranks.write(tmp_path / str(seed), 200, seed=seed, collectives=20)
        found = study(tmp_path / str(seed))
        assert found["late"] == [] and found["inconclusive"] is None


def test_the_smallest_lateness_that_is_found(tmp_path):
    """Of normally distributed work; printed, since there is no limit that it must be below."""
    smallest = None
    for tenth in range(50, 0, -5):
        chance = random.Random(tenth)
        made_ranks.write(tmp_path / str(tenth), 64, late=5, lateness=tenth / 10, collectives=40,
                         noise=lambda: chance.gauss(50, 1))
        named = [late["rank"] for late in study(tmp_path / str(tenth))["late"]]
        assert named in ([], [5])
        if named:
            smallest = tenth / 10
    print(f"the smallest lateness that is found: {smallest} standard deviations")
    assert smallest is not None and smallest <= 3


def test_two_ranks(tmp_path):
    made_ranks.write(tmp_path, 2, late=1)
    assert [late["rank"] for late in study(tmp_path)["late"]] == [1]


def test_one_bad_moment_names_nobody(tmp_path):
    made_ranks.write(tmp_path, 40, late=7, late_steps=[2], steps=6)
    assert study(tmp_path)["late"] == []


def test_fewer_than_three_steps_are_inconclusive(tmp_path):
    made_ranks.write(tmp_path, 20, late=7, steps=2)
    found = study(tmp_path)
    assert found["late"] == [] and found["inconclusive"] == "fewer than 3 steps"
    assert "inconclusive: fewer than 3 steps" in ranks(tmp_path).stdout


def test_clocks_that_contradict_the_collectives_are_not_believed(tmp_path):
    """A node's clock is 1 ms ahead: who stays shortest came last, whatever clocks say."""
    made_ranks.write(tmp_path, 32, late=5, clock=lambda node: 1000.0 if node == 2 else 0.0)
    found = study(tmp_path)
    assert found["clocks"]["by_durations"] is True
    assert found["clocks"]["worst_us"] > 900
    assert [late["rank"] for late in found["late"]] == [5]
    [ahead] = [node for node in found["nodes"] if node["clock_at_least_us"] > 0]
    assert ahead["name"] == "node2"
    assert ahead["clock_at_least_us"] <= 1000 <= ahead["clock_at_most_us"]
    assert "Clocks of nodes do not agree" in ranks(tmp_path).stdout


def test_who_is_last_by_nanoseconds_is_not_named_beside_who_matters(tmp_path):
    """Rank 5 is late once in a step; at all other collectives rank 2 is the last one, by next to nothing."""
    for steps, named in ((5, []), (12, [5])):  # five are too few for rank 5
        chance, calls = random.Random(4), itertools.count()
        made_ranks.write(tmp_path / str(steps), 8, late=5, late_at={0}, steps=steps, collectives=10, noise=lambda: (
            60.021 if next(calls) // (10 * steps) == 2 else chance.uniform(60, 60.02)))
        assert [late["rank"] for late in study(tmp_path / str(steps))["late"]] == named


def test_clocks_are_corrected_by_the_collectives_where_these_tell_enough(tmp_path):
    """A node's clock is 1 ms ahead, and now and then a rank of each comes just before all leave."""
    chance = random.Random(3)
    made_ranks.write(tmp_path, 16, collectives=40, noise=lambda: chance.uniform(5, 119),
                     clock=lambda node: 1000.0 if node == 1 else 0.0)
    found = study(tmp_path)
    assert found["clocks"]["corrected"] and not found["clocks"]["by_durations"]
    assert found["clocks"]["worst_us"] > 900 and found["clocks"]["bound_us"] < 20
    assert found["late"] == []
    [collective] = found["collectives"]
    assert 50 < collective["skew_us"] < 200
    assert "corrected by them, to within" in ranks(tmp_path).stdout


def test_a_clock_that_no_collective_contradicts_makes_nobody_late(tmp_path):
    made_ranks.write(tmp_path, 2, per_node=1, collectives=20, clock=lambda node: 30.0 * node)
    found = study(tmp_path)
    assert found["clocks"]["contradicted_by"] == 0 and found["clocks"]["bound_us"] > 30
    assert found["late"] == [] and found["clocks"]["by_durations"]
    assert "ranks are not that far apart: only how long they stayed" in ranks(tmp_path).stdout


def test_who_waits_for_messages(tmp_path):
    made_ranks.write_messages(tmp_path / "late")
    found = study(tmp_path / "late")
    assert (found["messages"], found["unmatched_messages"]) == (6, 0)
    [wait] = found["waits"]
    assert (wait["kind"], wait["waits"], wait["time_us"], wait["longest_us"], wait["bytes_up_to"]) == (
        "late sender", 6, 6 * 400, 400, 64)
    assert found["late_senders"] == [{"from": 0, "to": 1, "waits": 6, "time_us": 6 * 400}]
    assert "rank 1 waited 2.400 ms for messages of rank 0" in ranks(tmp_path / "late").stdout
    made_ranks.write_messages(tmp_path / "early", sender_works=100.0, receiver_works=100.0)
    assert study(tmp_path / "early")["late_senders"] == []


def test_long_names_are_cut_between_characters(tmp_path):
    made_ranks.write(tmp_path / "job", 4, late=1)
    for path in list((tmp_path / "job").iterdir()):
        path.write_text(path.read_text().replace('"work"', json.dumps("w" + "\u2603" * 40, ensure_ascii=False)))
        path.rename(path.with_name(path.name.replace("node", "n\u00f6de" * 15)))
    for form in [[], ["--markdown"], ["--hang"]]:
        done = subprocess.run([HIPBOARD, "ranks", *form, tmp_path / "job"], capture_output=True, check=True)
        assert "\ufffd" not in done.stdout.decode()
    lines = ranks(tmp_path / "job").stdout.splitlines()
    assert any(line.startswith("    why: compute; w" + "\u2603" * 19 + " takes ") for line in lines)


def test_limits_hold_for_what_keeps_the_digests_too(tmp_path):
    made_ranks.write(tmp_path / "job", 4, late=1)
    kept = ["-o", tmp_path / "kept.hbranks", tmp_path / "job"]
    failed = ranks("--fail-if", "late_ranks > 0", *kept)
    assert (failed.returncode, failed.stdout, failed.stderr) == (
        1, "", "hipboard ranks: late_ranks > 0: late_ranks is 1\n")
    assert ranks("--fail-if", "late_ranks > 1", *kept).returncode == 0
    assert ranks("--fail-if", "nonsense", *kept).returncode == 2
    share = ranks("--fail-if", "late_ranks > 10%", *kept)
    assert share.returncode == 2 and "is a number of ranks" in share.stderr
    part = ranks("--fail-if", "late_ranks > 0", "--part", "1/2", *kept)
    assert part.returncode == 2 and "a part of the ranks tells nothing" in part.stderr


def test_names_are_read_as_json_writes_them(tmp_path):
    made_ranks.write(tmp_path, 4, late=1)
    for path in tmp_path.iterdir():
        told = ',"Collective name":"all\\u0072educe","Process Group Name":"\\u0031","Process Group Description":"a\\"b"'
        text = path.read_text().replace('"work"', '"a\\"b \\u2603 \\\\ c"').replace(made_ranks.INPUTS, told)
        path.write_text(text.replace('{"schemaVersion":1', '{"schemaVersion":1,"host_name":"\\u006eode"'))
    found = study(tmp_path)
    [late], [collective] = found["late"], found["collectives"]
    assert (late["operator_name"], late["node"]) == ('a"b \u2603 \\ c', "node")
    assert (collective["collective"], collective["communicator"]) == ("allreduce", 'a"b')


def test_names_that_are_no_text(tmp_path):
    made_ranks.write(tmp_path, 4, late=1)
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes().replace(b'"work"', b'"w\xff"'))
    assert "why: compute; w\ufffd" in ranks(tmp_path).stdout


@pytest.mark.parametrize("left_out", ["sender", "receiver"])
def test_messages_of_a_rank_that_is_missing(tmp_path, left_out):
    made_ranks.write_messages(tmp_path)
    (tmp_path / f"node_{int(left_out == 'receiver')}.1.pt.trace.json").unlink()
    found = study(tmp_path)
    assert (found["messages"], found["unmatched_messages"]) == (0, 6)
    assert "6 messages have no other end in these traces" in ranks(tmp_path).stdout


def test_collectives_that_are_missing_in_one_of_many_communicators(tmp_path):
    made_ranks.write_unnumbered(tmp_path / "one", 70, [69])
    found = study(tmp_path / "one")
    assert found["partial_collectives"] == 10 and found["late"][0]["share"] == 1
    [note] = found["notes"]
    assert note == ("1 rank took part in another number of collectives of g69 than most, as rank 2 in 9 of 10: "
                    "without numbers (Seq) not to be matched, left out")
    made_ranks.write_unnumbered(tmp_path / "most", 70, range(69))
    found = study(tmp_path / "most")
    assert found["partial_collectives"] == 690 and len(found["notes"]) == 65
    assert found["notes"][-1] == "so it is with 5 more communicators"


def test_many_communicators(tmp_path):
    """As jobs of ten thousand ranks have them: kinds that are compared one by one would take half a minute."""
    made_ranks.write_pairs(tmp_path, 64, 2500, steps=2)
    done = subprocess.run(in_seconds(10, HIPBOARD, "ranks", "--json", tmp_path), capture_output=True, text=True,
                          timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["collectives_found"], found["communicators"], len(found["collectives"])) == (160000, 80000, 80000)
    assert {c["calls"] for c in found["collectives"]} == {2} == {w["waits"] for w in found["waits"]}
    assert sorted(c["communicator"] for c in found["collectives"]) == sorted(
        f"{pair}.{c}" for pair in range(32) for c in range(2500))


def test_bandwidth_on_the_bus(tmp_path):
    """Of 4,096 bytes among four ranks, of which each sends and gets three quarters twice."""
    made_ranks.write(tmp_path, 4, noise=lambda: 50.0)
    [collective] = study(tmp_path)["collectives"]
    assert (collective["bytes_up_to"], collective["median_us"], collective["skew_us"]) == (4096, 70, 0)
    assert collective["bus_GB_per_s"] == pytest.approx(2 * 3 / 4 * 4096 / 70e3, rel=1e-3)


def test_missing_ranks_are_said(tmp_path):
    made_ranks.write(tmp_path, 24, late=5, leave_out=(3, 17, 18, 19, 20))
    done = ranks(tmp_path)
    assert "Missing: 5 of 24 ranks: 3, 17-20\n" in done.stdout
    assert study(tmp_path)["late"][0]["rank"] == 5
    failed = ranks("--fail-if", "missing_ranks > 4", tmp_path)
    assert failed.returncode == 1 and "missing_ranks is 5" in failed.stderr


def test_limits(tmp_path):
    made_ranks.write(tmp_path, 16, late=5)
    assert ranks("--fail-if", "parallel_efficiency < 10%", tmp_path).returncode == 0
    failed = ranks("--fail-if", "parallel_efficiency < 90%", "--fail-if", "late_ranks > 0", tmp_path)
    assert failed.returncode == 1
    assert "parallel_efficiency < 90%: parallel_efficiency is 4" in failed.stderr
    assert "late_ranks is 1" in failed.stderr
    for wrong in ("speed < 3", "late_ranks", "late_ranks = 3", "late_ranks > 3 apples"):
        assert ranks("--fail-if", wrong, tmp_path).returncode == 2


def read_by(tmp_path, logdir):
    """What is said of a log directory, and the traces that are opened for it."""
    done = subprocess.run(["strace", "-f", "-o", tmp_path / "opened", "-e", "trace=openat", HIPBOARD, "ranks", logdir],
                          capture_output=True, text=True, timeout=600)
    opened = re.findall(r'openat\([^"]*"[^"]*/([^"/]+\.pt\.trace\.json)"', (tmp_path / "opened").read_text())
    return done.stdout, sorted(opened)


def test_parts_are_the_same_as_the_whole(tmp_path):
    made_ranks.write(tmp_path / "run", 30, late=5)
    assert ranks("-o", tmp_path / "all.hbranks", tmp_path / "run").returncode == 0
    parts = []
    for i in range(1, 5):
        parts.append(tmp_path / f"p{i}.hbranks")
        assert ranks("--part", f"{i}/4", "-o", parts[-1], tmp_path / "run").returncode == 0
    assert ranks("-o", tmp_path / "merged.hbranks", *reversed(parts)).returncode == 0
    assert (tmp_path / "merged.hbranks").read_bytes() == (tmp_path / "all.hbranks").read_bytes()
    direct = ranks(tmp_path / "run")
    assert ranks(*parts).stdout == direct.stdout and direct.stdout
    # Beside the traces they are what is read.
    shutil.copy(tmp_path / "all.hbranks", tmp_path / "run")
    assert read_by(tmp_path, tmp_path / "run") == (direct.stdout, [])


def test_a_trace_that_has_changed_since_is_read_again(tmp_path):
    made_ranks.write(tmp_path, 8, late=5)
    traces = sorted(tmp_path.glob("*.json"))
    assert ranks("-o", tmp_path / "ranks.hbranks", tmp_path).returncode == 0
    before = ranks(tmp_path).stdout
    text, times = traces[3].read_text(), (traces[3].stat().st_atime_ns, traces[3].stat().st_mtime_ns)
    traces[3].write_text("{}")  # of another size, as old as before
    os.utime(traces[3], ns=times)
    said = ranks(tmp_path)
    assert "7 traces" in said.stdout + said.stderr, said.stdout + said.stderr
    # Changed before others added their digests to the file: it is older than that, and as large as before.
    traces[3].write_text(text)
    os.utime(traces[3], ns=(times[0], times[1] + 1))
    later = traces[3].stat().st_mtime + 5
    os.utime(tmp_path / "ranks.hbranks", (later, later))
    assert read_by(tmp_path, tmp_path) == (before, [traces[3].name])
    os.utime(traces[3], ns=times)
    assert read_by(tmp_path, tmp_path) == (before, [])


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_programs_that_profile_themselves_leave_digests(tmp_path, mpi):
    """Of each cycle, made by a helper that the writing thread starts: the same as are made of the traces."""
    if "san" in BUILD.name:
        pytest.skip("sanitizers find fault with MPI")
    if not shutil.which(f"mpicc.{mpi}"):
        pytest.skip(f"needs mpicc.{mpi}")
    test_mpi.build_linked(mpi, tmp_path)
    done = mpirun(mpi, 2, tmp_path / "linked", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    traces = sorted((tmp_path / "run").glob("*.pt.trace.json"))
    assert len(traces) == 6
    for path, of in (("stored.hbranks", [tmp_path / "run/ranks.hbranks"]), ("read.hbranks", traces)):
        assert ranks("-o", tmp_path / path, *of).returncode == 0
    assert (tmp_path / "read.hbranks").read_bytes() == (tmp_path / "stored.hbranks").read_bytes()
    said, opened = read_by(tmp_path, tmp_path / "run")
    assert said.startswith("2 ranks") and not opened
    # Elsewhere, or none, on request.
    (tmp_path / "digests").mkdir()
    for where, there in ((tmp_path / "digests", tmp_path / "digests"), ("none", None)):
        run = tmp_path / Path(where).name / "run"
        assert mpirun(mpi, 2, tmp_path / "linked", run, HIPBOARD_DIGESTS=str(where)).returncode == 0
        assert not list(run.glob("*.hbranks")) and len(list(run.glob("*.json"))) == 6
        assert not there or (there / "ranks.hbranks").is_file()


def test_a_killed_rank_has_one_digest_of_each_trace(tmp_path):
    """Made by the program of what it had written, by `hipboard record` of what it left."""
    if "san" in BUILD.name:
        pytest.skip("sanitizers find fault with what is loaded into programs")
    program, library = tmp_path / "killed", BUILD / "src/recorder"
    subprocess.run(["cc", "-x", "c", "-", "-o", program, f"-I{BUILD.parent / 'include'}", f"-L{library}", "-lhipboard",
                    f"-Wl,-rpath,{library}"], text=True, check=True, input="""
        #include <hipboard/hipboard.h>
        #include <signal.h>
        int main(int argc, char **argv)
        {
            hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
            o.schedule = hb_schedule_make(.active = 1);
            o.on_trace_ready = hb_tensorboard_trace_handler(argv[1], NULL, 0);
            hb_profiler *prof = hb_profiler_create(&o);
            hb_profiler_start(prof);
            for (int i = 0; i < 3; i++) {
                HB_RECORD_FUNCTION("work") {}
                hb_profiler_step(prof);
            }
            hb_profiler_flush(prof);
            HB_RECORD_FUNCTION("work") {}
            raise(SIGKILL);
        }""")
    for rank in range(2):
        done = subprocess.run([HIPBOARD, "record", "-o", tmp_path / "run", "--", program, tmp_path / "run"],
                              text=True, capture_output=True, timeout=600, env=rank_environment(rank, 2))
        assert done.returncode == -signal.SIGKILL, done.stderr
    traces = sorted((tmp_path / "run").glob("*.pt.trace.json"))
    assert len(traces) == 8
    told = study(tmp_path / "run/ranks.hbranks")
    assert told["traces"] == 8 and "twice" not in ranks(tmp_path / "run/ranks.hbranks").stderr
    assert read_by(tmp_path, tmp_path / "run")[1] == []


def test_recorded_ranks_leave_their_digests(tmp_path):
    """By whatever launcher: the same bytes as of the traces."""
    if "san" in BUILD.name:
        pytest.skip("sanitizers find fault with MPI")
    if not shutil.which("mpicc.openmpi"):
        pytest.skip("needs mpicc.openmpi")
    build("openmpi", "mpicc", PROGRAMS / "mpi_rounds.c", "-o", tmp_path / "rounds")
    done = record("openmpi", 3, tmp_path / "run", tmp_path / "rounds")
    assert done.returncode == 0, done.stderr
    stored = tmp_path / "run" / "ranks.hbranks"
    assert stored.read_bytes().startswith(b"hbranks\n")
    assert ranks("-o", tmp_path / "stored.hbranks", stored).returncode == 0
    traces = sorted((tmp_path / "run").glob("*.pt.trace.json"))
    assert len(traces) == 3 and ranks("-o", tmp_path / "read.hbranks", *traces).returncode == 0
    assert (tmp_path / "read.hbranks").read_bytes() == (tmp_path / "stored.hbranks").read_bytes()
    # The next run's come behind them, not behind what somebody left who was killed amid its own,
    # and what is no such file is left alone.
    whole = stored.read_bytes()
    stored.write_bytes(whole + whole[16:400])
    assert "its end is missing" in ranks(stored).stderr
    assert record("openmpi", 3, tmp_path / "run", tmp_path / "rounds").returncode == 0
    assert stored.read_bytes()[16:len(whole)] == whole[16:]
    traces = sorted((tmp_path / "run").glob("*.pt.trace.json"))
    for path, of in (("two.hbranks", [stored]), ("read.hbranks", traces)):
        done = ranks("-o", tmp_path / path, *of)
        assert done.returncode == 0 and "missing" not in done.stderr
    assert len(traces) == 6
    assert (tmp_path / "read.hbranks").read_bytes() == (tmp_path / "two.hbranks").read_bytes()
    assert re.search(r"3 traces of other runs in the same directory: left out; this is the one of 20\d\d-",
                     ranks(tmp_path / "run").stderr)
    stored.write_text("my own ranks, as it happens")
    assert record("openmpi", 3, tmp_path / "run", tmp_path / "rounds").returncode == 0
    assert stored.read_text() == "my own ranks, as it happens"


HANGING = '''
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 5; i++) MPI_Barrier(MPI_COMM_WORLD);
    printf("arrived\\n");
    fflush(stdout);
    if (rank == 2) MPI_Recv(&got, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
'''


def running(program):
    """The processes that run it."""
    found = []
    for link in Path("/proc").glob("[0-9]*/exe"):
        with contextlib.suppress(OSError):
            found += [int(link.parent.name)] * (link.resolve() == program)
    assert len(found) == 3
    return found


def wait_until_they_hang(processes):
    """They are before the call. MPICH waits in a loop, so who has taken much time since is in it."""
    def taken(process):
        return sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]))

    much = os.sysconf("SC_CLK_TCK") // 4
    begun, deadline = [taken(process) for process in processes], time.monotonic() + 600
    while any(taken(process) < before + much for process, before in zip(processes, begun)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("end", ["ended by its launcher", "killed"])
def test_who_keeps_a_hanging_job_from_going_on(tmp_path, end):
    if not shutil.which("mpicc.mpich"):
        pytest.skip("needs mpicc.mpich")
    if "san" in BUILD.name:
        pytest.skip("sanitizers find fault with MPI")
    (tmp_path / "hanging.c").write_text(HANGING)
    subprocess.run(["mpicc.mpich", "-w", tmp_path / "hanging.c", "-o", tmp_path / "hanging"],
                   check=True)
    job = subprocess.Popen(["mpirun.mpich", "-n", "3", HIPBOARD, "record", "-o", tmp_path / "log",
                            "--", tmp_path / "hanging"], stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.DEVNULL)
    said = ""  # lines of several ranks may mix
    while said.count("arrived") < 3:
        more = job.stdout.read(1)
        assert more, said
        said += more
    processes = running(tmp_path / "hanging")
    wait_until_they_hang(processes)
    assert not list((tmp_path / "log").glob("*.json*"))
    if end == "killed":  # each rank, before its launcher can tell it anything
        for process in processes:
            os.kill(process, signal.SIGKILL)
    job.terminate()
    job.wait(600)
    # Which of them `hipboard record` has not recovered before it was killed, too.
    recover_when_dead(tmp_path / "log")
    done = ranks("--hang", tmp_path / "log")
    assert "MPI_Barrier number 6 of default_pg: 2 of 3 ranks are in it" in done.stdout
    assert "has come to number 5, and has been in MPI_Recv for" in done.stdout
    [stand] = study(tmp_path / "log")["hang"]
    assert [rank["rank"] for rank in stand["behind"]] == [2]
    assert (stand["behind"][0]["reached"], stand["behind"][0]["in"]) == (5, "MPI_Recv")


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_several_processes_find_out_the_same(tmp_path, mpi):
    if not shutil.which(f"mpirun.{mpi}"):
        pytest.skip(f"needs mpirun.{mpi}")
    if "san" in BUILD.name:
        pytest.skip("sanitizers find fault with MPI")
    made_ranks.write(tmp_path / "run", 30, late=5)
    expected = ranks(tmp_path / "run")
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1")

    def mpirun(*arguments):
        return subprocess.run([f"mpirun.{mpi}", "-n", "3", HIPBOARD, "ranks",
                               *map(str, arguments)], capture_output=True, text=True, timeout=600,
                              env=environment)

    done = mpirun(tmp_path / "run")
    assert (done.returncode, done.stdout) == (0, expected.stdout), done.stderr
    assert "work" not in done.stderr
    files = sorted((tmp_path / "run").iterdir())
    assert mpirun(*files).stdout == expected.stdout
    assert mpirun("-o", tmp_path / "m.hbranks", tmp_path / "run").returncode == 0
    assert ranks("-o", tmp_path / "s.hbranks", tmp_path / "run").returncode == 0
    assert (tmp_path / "m.hbranks").read_bytes() == (tmp_path / "s.hbranks").read_bytes()


def test_each_way_to_give_traces_is_one(tmp_path):
    made_ranks.write(tmp_path / "run", 8, late=5)
    files = sorted((tmp_path / "run").iterdir())
    expected = ranks(tmp_path / "run").stdout
    assert ranks(*files).stdout == expected
    subprocess.run([HIPBOARD, "pack", tmp_path / "run", "-o", tmp_path / "run.hbpack"], check=True,
                   capture_output=True)
    assert ranks(tmp_path / "run.hbpack").stdout == expected
    subprocess.run(["gzip", "-k", files[0]], check=True)
    assert ranks(f"{files[0]}.gz", *files[1:]).stdout == expected
    assert "counted once" in ranks(*files, files[0]).stderr


def test_damaged_files_leave_the_others(tmp_path):
    made_ranks.write(tmp_path, 12, late=5)
    (tmp_path / "node0_1003.1700000000000000000.pt.trace.json").write_bytes(b"\0\1\2 no JSON")
    done = ranks(tmp_path)
    assert done.returncode == 1 and "left out:" in done.stderr and "node0_1003" in done.stderr
    assert "rank 5 on node0" in done.stdout
    assert "Missing: 1 of 12 ranks: 3" in done.stdout


def test_digests_are_checked(tmp_path):
    made_ranks.write(tmp_path / "run", 6, late=5)
    path = tmp_path / "d.hbranks"
    assert ranks("-o", path, tmp_path / "run").returncode == 0
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    assert "its end is missing or damaged" in ranks(path).stderr
    assert "5 ranks on" in ranks(path).stdout
    # One that is damaged hides none of those behind it; where its length is, they cannot be found.
    path.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    done = ranks(path)
    assert "digests that are damaged: 1; the others are taken" in done.stderr
    assert "5 ranks on" in done.stdout
    path.write_bytes(whole[:16] + b"\xff" + whole[17:])
    assert ranks(path).returncode == 1
    path.write_bytes(whole[:12] + struct.pack("<I", len(whole) + 1) + whole[16:])
    assert "its end is missing" in ranks(path).stderr
    path.write_bytes(whole[:8] + b"\x63" + whole[9:])
    done = ranks(path)
    assert done.returncode == 1 and "version 99, and this hipboard reads 2" in done.stderr
    path.write_bytes(b"something else")
    assert "no digest of ranks" in ranks(path).stderr


def test_without_distributed_info_names_tell_the_order(tmp_path):
    made_ranks.write(tmp_path, 6, late=3, info=False)
    done = ranks(tmp_path)
    assert "numbered in the order of names" in done.stderr
    assert study_without_notes(done, tmp_path) == [3]


def study_without_notes(done, path):
    assert done.returncode == 0
    return [late["rank"] for late in study(path)["late"]]


def spoil(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def lose_collectives(document):
    """Every sixth one, as a recorder does that drops some."""
    events = document["traceEvents"]
    document["traceEvents"] = [e for i, e in enumerate(events) if not (e["name"].startswith("gloo") and i % 6 == 0)]


def turn_the_clock_back(document):
    events = document["traceEvents"]
    for e in events[len(events) // 2:]:
        e["ts"] -= 5e5


def use_nccl(document):
    document["distributedInfo"]["backend"] = "nccl"
    for e in document["traceEvents"]:
        e["name"] = e["name"].replace("gloo:", "nccl:")


@pytest.mark.parametrize("change, said", [
    (lose_collectives, "1 rank took part in another number of collectives of default than most, as rank 5 in 41 of 50: "
                       "without numbers (Seq) not to be matched, left out"),
    (turn_the_clock_back, "the clock of rank 5 runs backwards: later steps begin before earlier ones"),
    (use_nccl, "backends differ: mpi of rank 0, nccl of rank 5; collectives are matched all the same")])
def test_what_is_odd_is_said_in_one_line(tmp_path, change, said):
    made_ranks.write(tmp_path, 8, late=3)
    spoil(next(tmp_path.glob("*_1005.*")), change)
    done = ranks(tmp_path)
    assert done.returncode == 0 and done.stderr == f"hipboard ranks: {said}\n"
    assert [late["rank"] for late in study(tmp_path)["late"]] == [3]  # answered for what is there


def test_a_rank_that_is_there_twice_and_a_file_that_is_being_written(tmp_path):
    made_ranks.write(tmp_path, 8, late=3)
    shutil.copy(next(tmp_path.glob("*_1002.*")), tmp_path / "node0_5555.1700000000000000000.pt.trace.json")
    cut = next(tmp_path.glob("*_1004.*"))
    cut.write_text(cut.read_text()[:cut.stat().st_size // 2])
    done = ranks(tmp_path)
    assert sorted(done.stderr.splitlines()) == [
        f"hipboard ranks: {line}" for line in sorted([
            f"{cut} ends in the middle, still being written or cut off: what is whole is taken",
            "1 trace of a rank that is there twice at a time, as rank 2: left out",
            "1 rank recorded another number of steps than the others' 5, as rank 4 3",
            "1 rank took part in another number of collectives of default than most, as rank 4 in 24 of 50"])]
    assert done.stdout.startswith("8 ranks")
    assert [late["rank"] for late in study(tmp_path)["late"]] == [3]


def test_two_runs_in_one_directory(tmp_path):
    made_ranks.write(tmp_path, 8, late=3)
    for path in list(tmp_path.iterdir()):
        text, start = path.read_text(), '"baseTimeNanoseconds":'
        assert start + "0," in text
        path.write_text(text.replace(start + "0,", start + "1700000000000000000,"))
        path.with_name(path.name.replace("1700000000", "1700005000")).write_text(
            text.replace(start + "0,", start + "1700005000000000000,"))
    (tmp_path / "node0_1007.1700005000000000000.pt.trace.json").unlink()  # was in the first run only
    done = ranks(tmp_path)
    assert re.search(r"two runs in one directory, of 2023-11-14 22:13:\d\d UTC and of 2023-11-14 23:36:\d\d UTC, "
                     "this is the last one", done.stderr)
    assert done.stdout.startswith("7 ranks")
    alone = ranks(*tmp_path.glob("*.17000050*")).stdout
    assert done.stdout.split("Who makes")[1] == alone.split("Who makes")[1]
    assert ranks(*tmp_path.glob("*.17000000*")).stdout.startswith("8 ranks")


def record_other_steps(document):
    for e in document["traceEvents"]:
        if e["name"].startswith("ProfilerStep#"):
            e["name"] = f"ProfilerStep#{int(e['name'].split('#')[1]) + 10}"


def record_an_hour_later(document):
    for e in document["traceEvents"]:
        e["ts"] += 3600e6


@pytest.mark.parametrize("change, said", [
    (record_other_steps, "1 trace of other steps than the others' 0 to 4, as of rank 5 10 to 14"),
    (record_an_hour_later, "1 rank recorded at another time than the others, or by a clock that is far away, as rank 5 "
                           "from 1970-01-01 01:00:00 UTC, most from 1970-01-01 00:00:00 UTC")])
def test_ranks_of_different_spans_are_told(tmp_path, change, said):
    made_ranks.write(tmp_path, 8, late=3)
    spoil(next(tmp_path.glob("*_1005.*")), change)
    done = ranks(tmp_path)
    assert done.returncode == 0 and done.stderr == f"hipboard ranks: {said}\n"
    assert done.stdout.startswith("8 ranks")


def test_groups_that_cannot_be_read_are_an_error(tmp_path):
    made_ranks.write(tmp_path / "job", 4)
    for groups, said in (tmp_path, f"'{tmp_path}'"), (tmp_path / "none", "none"):
        done = ranks("--by", "switch", "--groups", groups, tmp_path / "job")
        assert done.returncode == 1 and said in done.stderr and not done.stdout


@pytest.mark.parametrize("steps", [(4, 4, 6), (6, 4, 4), (4, 6, 6), (5, 6, 4), (4, 5, 5, 6, 6)])
def test_of_most_ranks_is_what_most_have(steps, tmp_path):
    """Of numbers that equally many have it is the largest."""
    for rank, count in enumerate(steps):
        made_ranks.write(tmp_path / "all", len(steps), steps=count, leave_out=set(range(len(steps))) - {rank})
    most = max(sorted(set(steps), reverse=True), key=steps.count)
    others = [rank for rank, count in enumerate(steps) if count != most]
    said = (f"{len(others)} rank{'s' * (len(others) > 1)} recorded another number of steps than the others' {most}, as rank "
            f"{others[0]} {steps[others[0]]}")
    assert f"hipboard ranks: {said}" in ranks(tmp_path / "all").stderr.splitlines()


def test_the_last_of_several_runs(tmp_path):
    made_ranks.write(tmp_path / "one", 4, late=1)
    made_ranks.write(tmp_path / "two", 6, late=2)
    for path in (tmp_path / "one").iterdir():
        path.rename(path.with_name(path.name.replace("17000", "16000")))
    done = ranks(tmp_path)
    assert "of 2 runs in the directory this is 'two'" in done.stderr
    assert done.stdout.startswith("6 ranks")


def test_one_rank_and_markdown(tmp_path):
    made_ranks.write(tmp_path, 10, late=5)
    one = ranks("--rank", "5", tmp_path).stdout
    assert "Rank 5\n" in one and "CPU Exec: " in one
    assert "it is not in these traces" in ranks("--rank", "99", tmp_path).stdout
    assert "| " in ranks("--markdown", tmp_path).stdout


def test_switches(tmp_path):
    made_ranks.write(tmp_path / "run", 16, late=9, per_node=2)
    (tmp_path / "switches").write_text("".join(f"node{n} switch{n // 4}\n" for n in range(8)))
    done = ranks("--by", "switch", "--groups", tmp_path / "switches", tmp_path / "run")
    assert "Switches, the latest of 2" in done.stdout
    first = done.stdout.split("Switches")[1].splitlines()[2]
    assert first.split()[-1] == "switch1"
    assert ranks("--by", "switch", tmp_path / "run").returncode == 2
    assert "rank % 2 = 1" in ranks("--by", "modulo", tmp_path / "run").stdout


def test_nothing_is_said_to_be_nothing(tmp_path):
    done = ranks(tmp_path)
    assert done.returncode == 1 and "no traces" in done.stderr
    assert ranks("--part", "5/4", "-o", tmp_path / "x", tmp_path).returncode == 2
    assert ranks("--part", "1/4", tmp_path).returncode == 2
