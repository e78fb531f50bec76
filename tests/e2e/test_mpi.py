# SPDX-License-Identifier: MIT
"""`hipboard record` on programs of Open MPI and MPICH, by one library that knows no mpi.h."""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from plugin_in_process import Plugin
from support import BUILD, PROGRAMS, ROOT, SLOW_TO_UNLOCK

HIPBOARD = BUILD / "tools/hipboard/hipboard"
MPI_LIBRARY = BUILD / "src/recorder/libhipboard-mpi.so.0"
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1")
# A sanitizer in the recorder has to come first in a program that is not built with it.
needs_plain = pytest.mark.skipif("san" in BUILD.name, reason="needs a build without sanitizers")
pytestmark = needs_plain


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def mpi(request):
    if not shutil.which(f"mpicc.{request.param}"):
        pytest.skip(f"needs mpicc.{request.param}")
    return request.param


def build(mpi, compiler, *arguments):
    done = subprocess.run([f"{compiler}.{mpi}", "-w", *map(str, arguments)], capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def calls(mpi, tmp_path_factory):
    path = tmp_path_factory.mktemp(mpi) / "calls"
    build(mpi, "mpicc", PROGRAMS / "mpi_calls.c", "-o", path)
    return path


def mpirun(mpi, ranks, *command, **variables):
    """Where ranks end at once MPICH's launcher may die of SIGPIPE itself, of `sh -c "exit 2"` once in 400 times: then
    it is started again."""
    for _ in range(5):
        done = subprocess.run([f"mpirun.{mpi}", "-n", str(ranks), *map(str, command)],
                              capture_output=True, text=True, timeout=300,
                              env=dict(ENVIRONMENT, **variables))
        if done.returncode != -signal.SIGPIPE:
            break
    return done


def record(mpi, ranks, logdir, *command, options=(), **variables):
    return mpirun(mpi, ranks, HIPBOARD, "record", *options, "-o", logdir, "--", *command,
                  **variables)


def documents(logdir):
    """In the order of ranks."""
    found = [json.loads(path.read_text()) for path in logdir.glob("*.pt.trace.json")]
    return sorted(found, key=lambda document: document["distributedInfo"]["rank"])


def mpi_events(document):
    return sorted((e for e in document["traceEvents"]
                   if e["ph"] == "X" and e["name"].startswith("MPI_")), key=lambda e: e["ts"])


def told(event, *keys):
    return [event["name"]] + [event["args"].get(key) for key in keys]


@pytest.fixture(scope="module")
def recorded(mpi, calls, tmp_path_factory):
    logdir = tmp_path_factory.mktemp("log") / "run"
    done = record(mpi, 3, logdir, calls)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    return documents(logdir)


def test_each_rank_has_its_trace_and_says_which_mpi(recorded, mpi):
    assert [document["distributedInfo"]["rank"] for document in recorded] == [0, 1, 2]
    for document in recorded:
        assert document["hipboard_mpi"]["recorded"] is True
        assert document["hipboard_mpi"]["library"] == {"openmpi": "Open MPI", "mpich": "MPICH"}[mpi]


def test_collectives_say_what_they_move(recorded):
    for document in recorded:
        events = mpi_events(document)
        sums = [told(e, "dtype", "In msg nelems", "Out msg nelems", "bytes", "Seq")
                for e in events if e["name"] == "MPI_Allreduce"]
        assert sums[:2] == [["MPI_Allreduce", "Double", 1, 1, 8, 1],
                            ["MPI_Allreduce", "Float", 100, 100, 400, 2]]
        [gathered] = [e for e in events if e["name"] == "MPI_Allgatherv"]
        assert told(gathered, "dtype", "In msg nelems", "Out msg nelems", "bytes", "Group size") == [
            "MPI_Allgatherv", "Int", 1, 3, 12, 3]
        assert gathered["args"]["Process Group Ranks"] == "[0, 1, 2]"


def test_torch_s_keys_stand_in_torch_s_order(recorded):
    [first, *_] = [e for e in mpi_events(recorded[0]) if e["name"] == "MPI_Allreduce"]
    keys = [key for key in first["args"] if key not in ("External id", "Record function id")]
    assert keys == ["Collective name", "dtype", "In msg nelems", "Out msg nelems", "In split size",
                    "Out split size", "Group size", "Process Group Name", "Process Group Description",
                    "Process Group Ranks", "Rank", "Seq", "Comms Id", "Is asynchronized op", "bytes", "Ev Idx"]
    assert first["args"]["In split size"] == first["args"]["Out split size"] == "[]"


def test_parts_of_several_sizes_are_not_called_even(recorded):
    """torch's "[]" says that all ranks give and get as much; MPI's lists of counts are not recorded."""
    for document in recorded:
        [gathered] = [e for e in mpi_events(document) if e["name"] == "MPI_Allgatherv"]
        assert "In split size" not in gathered["args"] and "Out split size" not in gathered["args"]
        assert gathered["args"]["Out msg nelems"] == 3


def test_a_collective_has_one_number_on_all_its_ranks(recorded):
    numbers = [[e["args"]["Comms Id"] for e in mpi_events(document)
                if e["args"].get("Process Group Name") == "0" and "Comms Id" in e["args"]]
               for document in recorded]
    assert numbers[0] == numbers[1] == numbers[2] and len(set(numbers[0])) == len(numbers[0]) > 4
    assert max(numbers[0]) < 2**53  # JSON's readers count in doubles


def test_communicators_have_one_name_on_all_members(recorded):
    names = []
    for rank, document in enumerate(recorded):
        [bcast] = [e for e in mpi_events(document) if e["name"] == "MPI_Bcast"]
        [barrier] = [e for e in mpi_events(document) if e["name"] == "MPI_Barrier"]
        assert bcast["args"]["Process Group Description"] == ["even", "odd"][rank % 2]
        assert barrier["args"]["Process Group Description"] == ["even", "odd"][rank % 2] + "/dup#1"
        assert bcast["args"]["Process Group Ranks"] == ["[2, 0]", "[1]"][rank % 2]
        names.append((bcast["args"]["Process Group Name"], barrier["args"]["Process Group Name"]))
    assert names[0] == names[2] != names[1]
    assert names[0][0] != names[0][1]


def test_each_request_ends_once(recorded):
    for document in recorded:
        arrows = [e for e in document["traceEvents"] if e["ph"] in "sf"
                  and e["name"].startswith("MPI_")]
        begun = [e["id"] for e in arrows if e["ph"] == "s"]
        ended = [e["id"] for e in arrows if e["ph"] == "f"]
        assert len(begun) == 11 and sorted(begun) == sorted(ended)
        times = {(e["id"], e["ph"]): e["ts"] for e in arrows}
        assert all(times[number, "s"] <= times[number, "f"] for number in begun)


def test_derived_types_and_completions_are_counted_in_bytes(recorded):
    for document in recorded:
        events = mpi_events(document)
        columns = [e["args"]["bytes"] for e in events if e["name"] in ("MPI_Irecv", "MPI_Isend")]
        assert columns == [24] * 4
        waits = [e["args"]["bytes"] for e in events if e["name"] == "MPI_Waitall"]
        assert waits == [48, 8, 8, 8]


def test_a_receive_tells_what_came(recorded):
    received = [told(e, "Src Rank", "tag", "bytes") for e in mpi_events(recorded[0])
                if e["name"] == "MPI_Recv"]
    assert received == [["MPI_Recv", 2, 20, 12], ["MPI_Recv", 2, 21, 8]]


def test_only_collectives_of_all_ranks_are_placed_in_the_plugin_s_view(recorded):
    placed = [[e["name"] for e in sorted(document["traceEvents"], key=lambda e: e.get("ts", 0))
               if e["name"].startswith("gloo:")] for document in recorded]
    assert placed[0] == placed[1] == placed[2]
    assert placed[0][:2] == ["gloo:all_reduce"] * 2 and placed[0][-1] == "gloo:reduce"
    for document in recorded:
        by_times = {}
        for e in document["traceEvents"]:
            if e["ph"] == "X" and e["name"].startswith(("gloo:", "MPI_")):
                by_times.setdefault(e["ts"], []).append(e)
        for around in by_times.values():
            names = [e["name"] for e in around]
            if any(name.startswith("gloo:") for name in names):
                # the call within is drawn, and no computation to the plugin
                assert [e["cat"] for e in around] == ["cpu_op", "comm"], names


def test_what_the_plugin_cannot_place_is_counted(mpi, calls, tmp_path):
    """Of two halves each has a broadcast and a barrier; the gathering to one rank has no name that the plugin
    knows, and what goes on behind its call is no wait."""
    assert record(mpi, 3, tmp_path / "run", calls).returncode == 0
    done = subprocess.run([HIPBOARD, "check", tmp_path / "run"], capture_output=True, text=True, timeout=300)
    told = "  note: 4 times a collective call that the plugin's Distributed view cannot place"
    assert done.stdout.count(told) == done.stdout.count("cannot place") == 3, done.stdout


def test_kineto_s_dialect_has_the_names_of_torch_s_group_of_mpi(mpi, calls, tmp_path):
    assert record(mpi, 2, tmp_path, calls, options=["--dialect", "kineto"]).returncode == 0
    for document in documents(tmp_path):
        events = sorted((e for e in document["traceEvents"] if e["ph"] == "X"), key=lambda e: (e["ts"], -e["dur"]))
        annotations = [e for e in events if e["cat"] == "user_annotation" and e["name"].startswith("mpi:")]
        assert [e["name"] for e in annotations[:2]] == ["mpi:all_reduce"] * 2
        assert not [e for e in events if e["name"].startswith("gloo:")]
        for around in annotations:
            inside = [e["name"] for e in events if e["cat"] == "cpu_op" and e["ts"] == around["ts"]]
            assert len(inside) == 1 and inside[0].startswith("MPI_"), inside


@pytest.mark.parametrize("options, recorded", [
    (["--activities", "hip"], False), (["--activities", "comm"], True), (["--activities", "cpu"], True),
    (["--activities", "hip", "--comm", "mpi"], True), (["--activities", "comm", "--comm", "none"], False)])
def test_communication_is_an_activity(mpi, calls, tmp_path, options, recorded):
    done = record(mpi, 2, tmp_path, calls, options=options)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    found = documents(tmp_path)
    assert bool(found) == recorded
    assert all([e for e in mpi_events(document) if e["name"] == "MPI_Allreduce"] for document in found)


def test_the_distributed_view_knows_who_waits(mpi, tmp_path):
    source = tmp_path / "late.c"
    source.write_text("""
        #include <mpi.h>
        #include <unistd.h>
        int main(int argc, char **argv)
        {
            int rank; float in[256] = {0}, out[256];
            MPI_Init(&argc, &argv);
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            for (int i = 0; i < 5; i++) {
                usleep(rank == 1 ? 60000 : 1000);
                MPI_Allreduce(in, out, 256, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            }
            MPI_Finalize();
        }""")
    build(mpi, "mpicc", source, "-o", tmp_path / "late")
    done = record(mpi, 3, tmp_path / "runs/late", tmp_path / "late")
    assert done.returncode == 0, done.stderr
    answer = subprocess.run([HIPBOARD, "query", tmp_path / "runs",
                             "distributed/commops?run=late&worker=All&span=1"],
                            capture_output=True, text=True, timeout=300, check=True).stdout
    traced = [[(e["ts"], e["ts"] + e["dur"]) for e in document["traceEvents"]
               if e.get("cat") == "cpu_op" and e["name"] == "gloo:all_reduce"]
              for document in documents(tmp_path / "runs/late")]
    # However long a loaded machine lets anyone wait: nobody leaves before the late one came.
    for early in (traced[0], traced[2]):
        assert all(end >= late for (_, end), (late, _) in zip(early, traced[1]))
    took = [[end - begin for begin, end in calls] for calls in traced]
    transfer = sum(min(together) for together in zip(*took))
    for worker, table in json.loads(answer)["data"].items():
        names = [column["name"] for column in table["columns"]]
        [row] = [dict(zip(names, row)) for row in table["rows"]]
        assert (row["Name"], row["Calls"], row["Total Size (bytes)"]) == ("gloo:all_reduce", 5, 5120)
        assert row["Total Latency (us)"] == pytest.approx(sum(took[int(worker[-1])]), abs=10)
        assert row["Data Transfer Time (us)"] == pytest.approx(transfer, abs=10)


@pytest.mark.parametrize("module", ["mpi", "mpi_f08"])
def test_fortran_is_recorded_as_c_is(mpi, tmp_path, module):
    flags = ["-cpp", f"-DFORTRAN_MPI={module}"] + (["-DWITH_F08"] if module == "mpi_f08" else [])
    build(mpi, "mpif90", *flags, PROGRAMS / "mpi_calls.f90", "-o", tmp_path / "calls")
    done = record(mpi, 2, tmp_path / "log", tmp_path / "calls")
    assert (done.returncode, done.stdout.strip()) == (0, "ok"), done.stderr
    for rank, document in enumerate(documents(tmp_path / "log")):
        assert [told(e, "dtype", "bytes", "Seq", "Src Rank", "Dst Rank")
                for e in mpi_events(document)] == [
            ["MPI_Init"] + [None] * 5,
            ["MPI_Allreduce", "Double", 8, 1, None, None],
            ["MPI_Barrier", None, None, 2, None, None],
            ["MPI_Irecv", "Int", 4, None, 1 - rank, None],
            ["MPI_Isend", "Int", 4, None, None, 1 - rank],
            ["MPI_Waitall", None, 8, None, None, None],
            ["MPI_Finalize"] + [None] * 5]


def test_large_counts_are_counts(mpi, recorded):
    """Debian's Open MPI is of MPI 3.1, and has none."""
    for document in recorded:
        large = [told(e, "dtype", "bytes") for e in mpi_events(document)
                 if e["name"] == "MPI_Allreduce_c"]
        assert large == ([["MPI_Allreduce_c", "Int", 4]] if mpi == "mpich" else [])


def test_where_the_numbers_are_wrong_nothing_is_looked_into(mpi, calls, tmp_path):
    wrong = ["OMPI_COMM_WORLD_SIZE=7"] + (["OMPI_COMM_WORLD_RANK=0"] if mpi == "mpich" else [])
    done = mpirun(mpi, 2, "env", *wrong, HIPBOARD, "record", "-o", tmp_path, "--",
                  calls)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    found = documents(tmp_path)
    assert len(found) == 2
    for document in found:
        assert document["hipboard_mpi"] == {
            "recorded": False, "why": "MPI tells of another number of ranks than the launcher"}
        assert [e["name"] for e in mpi_events(document)] == ["MPI_Init_thread", "MPI_Finalize"]


def test_nobody_takes_calls_who_is_not_asked_to(mpi, calls, tmp_path):
    done = record(mpi, 2, tmp_path, calls, options=["--comm", "none"])
    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert "nothing was recorded" in done.stderr


def test_an_abort_leaves_what_was_recorded(mpi, calls, tmp_path):
    done = record(mpi, 2, tmp_path, calls, "abort")
    assert done.returncode != 0
    deadline = time.monotonic() + 60
    while list(tmp_path.glob(".*.hbspool")) and time.monotonic() < deadline:  # it may still be dying
        subprocess.run([HIPBOARD, "recover", tmp_path], capture_output=True, timeout=300)
        time.sleep(0.1)
    found = documents(tmp_path)
    assert [document["distributedInfo"]["rank"] for document in found] == [0, 1]
    assert all("MPI_Init_thread" in [e["name"] for e in mpi_events(d)] for d in found)


SEES = """
#include <dlfcn.h>
#include <stdio.h>
extern int MPI_Init(void) __attribute__((weak));
extern int ncclAllReduce(void) __attribute__((weak));
int main(void)
{
    int seen = MPI_Init || ncclAllReduce || dlsym(RTLD_DEFAULT, "MPI_Init") ||
               dlsym(RTLD_DEFAULT, "PMPI_Init") || dlsym(RTLD_DEFAULT, "MPI_Allreduce") ||
               dlsym(RTLD_DEFAULT, "ncclAllReduce");
    puts(seen ? "seen" : "nothing");
}
"""


@pytest.mark.parametrize("launched", [False, True])
def test_a_program_without_mpi_sees_nothing_of_it(tmp_path, launched):
    subprocess.run(["cc", "-x", "c", "-", "-o", tmp_path / "sees"], input=SEES, text=True,
                   check=True)
    rank = {"PMI_RANK": "0", "PMI_SIZE": "2"} if launched else {}
    done = subprocess.run([HIPBOARD, "record", "-o", tmp_path / "log", "--", tmp_path / "sees"],
                          capture_output=True, text=True, timeout=300, env=dict(os.environ, **rank))
    assert (done.returncode, done.stdout) == (0, "nothing\n")


OTHER_TOOL = """
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
static int calls;
int MPI_Allreduce(const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c)
{
    calls++;
    return PMPI_Allreduce(s, r, n, t, o, c);
}
int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) fprintf(stderr, "tool: %d\\n", calls);
    return PMPI_Finalize();
}
"""


@pytest.mark.parametrize("first", ["tool", "hipboard"])
def test_beside_another_tool_each_call_is_seen_once(mpi, calls, tmp_path, first):
    (tmp_path / "tool.c").write_text(OTHER_TOOL)
    tool = tmp_path / "tool.so"
    build(mpi, "mpicc", "-shared", "-fPIC", tmp_path / "tool.c", "-o", tool)
    if first == "hipboard":
        done = record(mpi, 2, tmp_path / "log", calls, LD_PRELOAD=str(tool))
    else:  # record puts its own in front: the program puts the tool before them
        script = f'LD_PRELOAD={tool}:$LD_PRELOAD exec "$0"'
        done = record(mpi, 2, tmp_path / "log", "sh", "-c", script, calls)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    assert "tool: 2\n" in done.stderr
    for document in documents(tmp_path / "log"):
        assert len([e for e in mpi_events(document) if e["name"] == "MPI_Allreduce"]) == 2


LINKED = """
#include <hipboard/hipboard.h>
#include <mpi.h>
int main(int argc, char **argv)
{
    double value = 1, sum;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.on_trace_ready = hb_tensorboard_trace_handler(argv[1], NULL, 0);
    hb_profiler *prof = hb_profiler_create(&o);
    hb_profiler_start(prof);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    hb_profiler_stop(prof);
    o.activities = HB_ACTIVITY_HIP;
    o.on_trace_ready = hb_tensorboard_trace_handler(argv[1], NULL, 0);
    hb_profiler *without = hb_profiler_create(&o);
    hb_profiler_start(without);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    hb_profiler_stop(without);
    hb_profiler_destroy(without);
    hb_profiler_start(prof);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
    MPI_Finalize();
}
"""


def build_linked(mpi, place):
    (place / "linked.c").write_text(LINKED)
    library = BUILD / "src/recorder"
    build(mpi, "mpicc", place / "linked.c", f"-I{ROOT / 'include'}", MPI_LIBRARY,
          f"-L{library}", "-lhipboard", f"-Wl,-rpath,{library}:{MPI_LIBRARY.parent}",
          "-o", place / "linked")


def test_a_program_that_is_linked_needs_no_change(mpi, tmp_path):
    build_linked(mpi, tmp_path)
    done = mpirun(mpi, 2, tmp_path / "linked", tmp_path / "log")
    assert done.returncode == 0, done.stderr
    numbers = sorted((document["distributedInfo"]["rank"], e["args"]["Seq"])
                     for document in documents(tmp_path / "log") for e in mpi_events(document))
    assert numbers == [(0, 1), (0, 3), (1, 1), (1, 3)]  # those between are counted, too


LATER = """
    #include <mpi.h>
    #include <stdio.h>
    int main(int argc, char **argv)
    {
        int rank, value[4], flag = 0;
        MPI_Comm copy, sub;
        MPI_Request request;
        MPI_Status status;
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(copy);
        MPI_Comm_dup(copy, &sub);
        MPI_Barrier(sub);
        MPI_Comm_free(&sub);
        MPI_Comm_free(&copy);
        MPI_Irecv(value, 4, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        if (rank == 0) puts(flag ? "cancelled" : "came");
        MPI_Finalize();
        return 0;
    }"""


def test_copies_that_come_later_and_what_is_cancelled(mpi, tmp_path):
    (tmp_path / "later.c").write_text(LATER)
    build(mpi, "mpicc", tmp_path / "later.c", "-o", tmp_path / "later")
    done = record(mpi, 2, tmp_path / "log", tmp_path / "later")
    assert (done.returncode, done.stdout) == (0, "cancelled\n"), done.stderr
    names = []
    for document in documents(tmp_path / "log"):
        events = mpi_events(document)
        barriers = [e for e in events if e["name"] == "MPI_Barrier"]
        assert [told(e, "Process Group Description", "Group size", "Seq")[1:] for e in barriers] == [
            ["world/dup#1", 2, 1], ["world/dup#1/dup#1", 2, 1]]
        names.append([e["args"]["Process Group Name"] for e in barriers])
        assert [e["name"] for e in events if e["name"] in ("MPI_Comm_idup", "MPI_Cancel")] == [
            "MPI_Comm_idup", "MPI_Cancel"]
        assert [e["args"].get("bytes") for e in events if e["name"] == "MPI_Wait"][-1] == 0
    assert names[0] == names[1]  # the same on both


SAMPLE = BUILD / "samples/digits/digits_mpi"


@pytest.mark.skipif(not SAMPLE.exists(), reason="needs an MPI that the build has found")
def test_the_sample_trains_on_ranks(tmp_path):
    """Built with the MPI that Debian takes for its own."""
    done = mpirun("openmpi", 2, SAMPLE, "--epochs", "1", "--slow-rank", "1", "--logdir", tmp_path / "runs")
    assert "epoch  1" in done.stdout and "accuracy on 359" in done.stdout, done.stderr
    assert done.stdout.count("epoch") == 1  # rank 0 speaks
    traces = documents(tmp_path / "runs")
    assert [document["distributedInfo"]["rank"] for document in traces] == [0, 0, 1, 1]
    for document in traces:
        calls = [e for e in mpi_events(document) if e["name"] == "MPI_Allreduce"]
        sizes = [e["args"]["In msg nelems"] for e in calls]
        assert len(sizes) == 6 * 8 and sizes == sizes[:8] * 6  # each parameter's gradient, in six steps
        assert {(e["args"]["Group size"], e["args"]["dtype"]) for e in calls} == {(2, "Float")}
        loaders = [e for e in document["traceEvents"] if "SlowDisk" in e.get("name", "")]
        assert len(loaders) == 6 * document["distributedInfo"]["rank"]


def test_a_program_says_what_is_recorded(mpi, tmp_path):
    """MPI_Pcontrol: 0 pauses, 1 goes on, 2 begins a new trace. Collectives are counted all the
    same, as by those who record them."""
    build(mpi, "mpicc", PROGRAMS / "mpi_pcontrol.c", "-o", tmp_path / "pcontrol")
    done = record(mpi, 2, tmp_path / "run", tmp_path / "pcontrol")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    found = {0: [], 1: []}
    for document in documents(tmp_path / "run"):
        sums = [e["args"] for e in mpi_events(document) if e["name"] == "MPI_Allreduce"]
        found[document["distributedInfo"]["rank"]].append(
            [(args["In msg nelems"], args["Seq"]) for args in sums])
    wanted = [[(1, 1)], [(2, 2), (2, 3)], [(4, n) for n in range(7, 11)]
              + [(5, n) for n in range(11, 16)]]
    for cycles in found.values():
        assert sorted(cycles) == wanted


@pytest.mark.parametrize("sessions", [1, 2])
def test_sessions_are_recorded(sessions, tmp_path):
    """MPI 4's way without MPI_Init, which Open MPI 4 does not have. Of groups of two sessions, which
    MPI does not let compare, the ranks stay unknown."""
    if not shutil.which("mpicc.mpich"):
        pytest.skip("needs mpicc.mpich")
    build("mpich", "mpicc", PROGRAMS / "mpi_sessions.c", "-o", tmp_path / "sessions")
    plain = mpirun("mpich", 3, tmp_path / "sessions", *["two"] * (sessions - 1))
    done = record("mpich", 3, tmp_path / "run", tmp_path / "sessions", *["two"] * (sessions - 1))
    assert plain.returncode == done.returncode == 0, done.stderr
    assert sorted(plain.stdout.splitlines()) == sorted(done.stdout.splitlines())
    names = {}
    for rank, document in enumerate(documents(tmp_path / "run")):
        assert document["hipboard_mpi"] == {"library": "MPICH", "recorded": True}
        sums = [e["args"] for e in mpi_events(document) if e["name"] == "MPI_Allreduce"]
        assert [(args["Process Group Description"], args["Group size"], args["bytes"])
                for args in sums] == [("all", 3, 24)] + [("even", 2, 24)] * (rank % 2 == 0) + [
                    ("again", 3, 24)] * (sessions - 1)
        for args in sums:
            names.setdefault(args["Process Group Description"], set()).add(
                args["Process Group Name"])
            if sessions == 1:
                assert args["Process Group Ranks"] in ("[0, 1, 2]", "[0, 2]")
    assert all(len(name) == 1 for name in names.values())


UNKNOWN = """
    #include <stdio.h>
    #include <string.h>
    int MPI_Init(int *argc, char ***argv) { (void)argc, (void)argv; return 0; }
    int MPI_Comm_size(long comm, int *size) { *size = (int)comm; return 0; }
    int MPI_Allreduce(const void *in, void *out, int n, long type, long op, long comm)
    {
        (void)n, (void)type, (void)op, (void)comm;
        memcpy(out, in, sizeof(int));
        return 0;
    }
    int MPI_Finalize(void) { return 0; }
    int PMPI_Get_library_version(char *text, int *length) { *length = sprintf(text, "Other MPI"); return 0; }
    """
ON_UNKNOWN = """
    #include <stdio.h>
    #include <unistd.h>
    int MPI_Init(int *, char ***), MPI_Comm_size(long, int *), MPI_Finalize(void);
    int MPI_Allreduce(const void *, void *, int, long, long, long);
    int main(int argc, char **argv)
    {
        int size, in = 7, out = 0;
        (void)argv;
        MPI_Init(NULL, NULL);
        if (argc > 1) usleep(100000);
        MPI_Comm_size(3, &size);
        MPI_Allreduce(&in, &out, 1, 0x123, 0x456, 3);
        MPI_Finalize();
        printf("%d %d\\n", size, out);
    }"""


def build_on_unknown(tmp_path):
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libothermpi.so.9", "-x", "c", "-", "-o",
                    tmp_path / "libothermpi.so.9"], input=UNKNOWN, text=True, check=True)
    subprocess.run(["cc", "-x", "c", "-", "-x", "none", tmp_path / "libothermpi.so.9", "-o", tmp_path / "program",
                    f"-Wl,-rpath,{tmp_path}"], input=ON_UNKNOWN, text=True, check=True)


def test_an_mpi_that_is_not_known_is_left_alone(tmp_path):
    """Of which nobody knows what its handles mean: the program runs, and the trace says why there is no more."""
    build_on_unknown(tmp_path)
    done = subprocess.run([HIPBOARD, "record", "--comm", "mpi", "-o", tmp_path / "run", "--", tmp_path / "program"],
                          capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "3 7\n"), done.stderr
    [trace] = (tmp_path / "run").glob("*.pt.trace.json")
    document = json.loads(trace.read_text())
    assert document["hipboard_mpi"]["recorded"] is False
    assert "is none that hipboard knows: Open MPI" in document["hipboard_mpi"]["why"]
    assert {e["name"] for e in mpi_events(document)} <= {"MPI_Init", "MPI_Finalize"}


@pytest.mark.parametrize("options", [(), ("--schedule", "wait=0,active=9", "--slice", "20ms")],
                         ids=["at once", "slices"])
def test_the_end_waits_for_who_looks_at_the_times(options, tmp_path):
    """What is said of MPI at the end is said, though another thread holds the lock at that moment."""
    build_on_unknown(tmp_path)
    done = subprocess.run([HIPBOARD, "record", "--comm", "mpi", *options, "-o", tmp_path / "run", "--",
                           tmp_path / "program", "slowly"],
                          capture_output=True, text=True, timeout=300,
                          env={**os.environ, "LD_PRELOAD": str(SLOW_TO_UNLOCK)})
    assert (done.returncode, done.stdout) == (0, "3 7\n"), done.stderr
    [trace] = (tmp_path / "run").glob("*.pt.trace.json")
    assert json.loads(trace.read_text())["hipboard_mpi"]["recorded"] is False


LEFT = """
    #include <mpi.h>
    #include <stdlib.h>
    int main(int argc, char **argv)
    {
        MPI_Init(&argc, &argv);
        MPI_Barrier(MPI_COMM_WORLD);
        exit(0);
    }"""


def test_who_leaves_without_finalize_has_a_trace(mpi, tmp_path):
    """mpirun kills the others, or complains, as it does without hipboard."""
    (tmp_path / "left.c").write_text(LEFT)
    build(mpi, "mpicc", tmp_path / "left.c", "-o", tmp_path / "left")
    record(mpi, 2, tmp_path / "run", tmp_path / "left")
    deadline = time.monotonic() + 60
    while list((tmp_path / "run").glob(".*.hbspool")) and time.monotonic() < deadline:
        subprocess.run([HIPBOARD, "recover", tmp_path / "run"], capture_output=True, timeout=300)
        time.sleep(0.1)
    for document in documents(tmp_path / "run"):
        assert "MPI_Barrier" in [e["name"] for e in mpi_events(document)]
    assert [document["distributedInfo"]["rank"] for document in documents(tmp_path / "run")] == [0, 1]


LATE = """
    #include <mpi.h>
    #include <unistd.h>
    int main(int argc, char **argv)
    {
        int rank;
        float in[64] = {0}, out[64];
        MPI_Comm half;
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_split(MPI_COMM_WORLD, rank / 3, 0, &half); /* of three ranks and of one */
        for (int i = 0; i < 3; i++) {
            if (rank == 2) usleep(50000);
            MPI_Allreduce(in, out, 64, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            if (rank != 3) MPI_Allreduce(in, out, 8, MPI_FLOAT, MPI_SUM, half);
        }
        MPI_Finalize();
    }"""


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """Four ranks, of which rank 2 is late; in both dialects."""
    place = tmp_path_factory.mktemp("four")
    (place / "late.c").write_text(LATE)
    build("openmpi", "mpicc", place / "late.c", "-o", place / "late")
    for dialect in ("tensorboard", "kineto"):
        done = record("openmpi", 4, place / dialect / "late", place / "late", options=["--dialect", dialect])
        assert done.returncode == 0, done.stderr
    return place


def test_four_ranks_in_the_real_plugin(four):
    """Each waits for the last one, also where there are communicators of some ranks."""
    status, answer = Plugin(four / "tensorboard").get("distributed/commops?run=late&worker=All&span=1")
    assert status == 200 and len(answer["data"]) == 4
    took = [[e["dur"] for e in document["traceEvents"] if e.get("cat") == "cpu_op" and e["name"] == "gloo:all_reduce"]
            for document in documents(four / "tensorboard/late")]
    transfer = sum(min(together) for together in zip(*took, strict=True))
    waits = []
    for worker, table in sorted(answer["data"].items()):
        names = [column["name"] for column in table["columns"]]
        [row] = [dict(zip(names, row)) for row in table["rows"]]
        assert (row["Name"], row["Calls"], row["Total Size (bytes)"]) == ("gloo:all_reduce", 3, 3 * 256)
        waits.append(row["Total Latency (us)"] - row["Data Transfer Time (us)"])
    assert waits == pytest.approx([sum(own) - transfer for own in took], abs=10)
    assert max(waits) > 0


def test_hta_finds_four_ranks(four):
    hta = pytest.importorskip("hta.trace_analysis")
    analysis = hta.TraceAnalysis(trace_dir=str(four / "kineto/late"), include_last_profiler_step=True)
    assert sorted(analysis.t.get_all_traces()) == [0, 1, 2, 3]
    analysis.t.decode_symbol_ids(use_shorten_name=False)
    for rank in range(4):
        table = analysis.t.get_trace(rank)
        assert (table["s_name"] == "mpi:all_reduce").sum() == 3
        assert (table["s_name"] == "MPI_Allreduce").sum() == (3 if rank == 3 else 6)
