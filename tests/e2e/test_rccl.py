# SPDX-License-Identifier: MIT
"""`hipboard record` on programs that use RCCL: a librccl of the tests' own that launches kernels as RCCL does, on
the simulated GPU. `tests/long.sh rccl` does the like with AMD's own."""
import json
import os
import subprocess

import pytest

from event_files import values
from plugin_in_process import Plugin
from support import BUILD, ROOT

HIPBOARD = BUILD / "tools/hipboard/hipboard"
CALLS = BUILD / "tests/hip/rccl/rccl_calls"
# A sanitizer in the recorder has to come first in a program that is not built with it.
pytestmark = [
    pytest.mark.skipif(not CALLS.exists(), reason="needs the HIP runtime and tools/simhsa"),
    pytest.mark.skipif("san" in BUILD.name, reason="needs a build without sanitizers")]


def record(logdir, *command, rank=None, options=(), **variables):
    job = {} if rank is None else {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    environment = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "tools/simhsa"), SIMHSA_GPUS="2", **job, **variables)
    done = subprocess.run([HIPBOARD, "record", "-o", logdir, *options, "--", *map(str, command)],
                          capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def documents(logdir):
    return [json.loads(path.read_text()) for path in sorted(logdir.glob("*.pt.trace.json"))]


def spans(document, *names):
    """Those whose names begin so, in the order of their beginning, the longer one first."""
    return sorted((e for e in document["traceEvents"] if e["ph"] == "X" and e["name"].startswith(names)),
                  key=lambda e: (e["ts"], -e["dur"], e["args"].get("External id", 0)))


def told(event, *keys):
    return [event["name"]] + [event["args"].get(key) for key in keys]


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("rccl") / "runs/two"
    for rank in range(2):
        assert record(logdir, CALLS, 2, rank, rank=rank) == "ok\n"
    return logdir


@pytest.fixture(scope="module")
def kineto(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("rccl") / "kineto"
    record(logdir, CALLS, 2, 0, rank=0, options=["--dialect", "kineto"], RCCL_STANDIN_ERROR="1")
    [document] = documents(logdir)
    return document


@pytest.fixture(scope="module")
def kineto_job(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("rccl") / "kineto_job"
    for rank in range(2):
        record(logdir, CALLS, 2, rank, rank=rank, options=["--dialect", "kineto"])
    return logdir


CALLED = [
    ["allreduce", "Float", 4096, 4096, 1], ["broadcast", "Long", 100, 100, 2],
    ["allgather", "Half", 10, 20, 3], ["_reduce_scatter_base", "BFloat16", 20, 10, 4],
    ["allreduce", "Float", 7, 7, 5], ["coalesced", None, None, None, 6],
    ["send", "Char", 64, 64, None], ["recv", "Char", 64, 64, None],
    ["allreduce", "Float", 8, 8, 6]]
KEYS = ("Collective name", "dtype", "In msg nelems", "Out msg nelems", "Seq")
NAMES = ["ncclAllReduce", "ncclBroadcast", "ncclAllGather", "ncclReduceScatter", "ncclAllReduce", "ncclGroupEnd",
         "ncclSend", "ncclRecv", "ncclAllReduce"]


@pytest.mark.parametrize("number, version", [(2804, "2.8.4"), (9999, "9.9.99"), (20900, "2.9.0"), (22703, "2.27.3")])
def test_versions_are_numbered_in_two_ways(tmp_path, number, version):
    record(tmp_path, CALLS, 2, 0, rank=0, RCCL_STANDIN_VERSION=str(number))
    [document] = documents(tmp_path)
    assert document["hipboard_rccl"]["version"] == version


def test_calls_have_torch_s_keys(logdir):
    groups = set()
    for rank, document in enumerate(documents(logdir)):
        calls = [e for e in spans(document, "nccl") if "Collective name" in e["args"] and e["cat"] != "kernel"]
        assert [told(e, *KEYS) for e in calls] == [[name, *row] for name, row in zip(NAMES, CALLED)]
        assert {(e["args"]["Group size"], e["args"]["Process Group Ranks"], e["args"]["Rank"]) for e in calls} == {
            (2, "[0, 1]", rank)}
        groups |= {e["args"]["Process Group Name"] for e in calls}
        [sent] = [e for e in calls if e["name"] == "ncclSend"]
        [received] = [e for e in calls if e["name"] == "ncclRecv"]
        assert (sent["args"]["Dst Rank"], received["args"]["Src Rank"]) == (1 - rank, 1 - rank)
        assert document["hipboard_rccl"] == {"version": "2.13.4", "recorded": True}
        assert document["distributedInfo"]["backend"] == "nccl"
    assert len(groups) == 1  # of what all ranks were given: the same on all


OWNERS = ["allreduce", "broadcast", "allgather", "_reduce_scatter_base", "allreduce", "coalesced"]
ANNOTATIONS = ["nccl:all_reduce", "nccl:broadcast", "nccl:all_gather", "nccl:reduce_scatter", "nccl:all_reduce",
               "nccl:coalesced"]


def kernels(document):
    return [e for e in spans(document, "ncclDevKernel") if e["cat"] == "kernel"]


def test_kernels_belong_to_what_the_plugin_looks_for(logdir):
    """Calls alone in a group are themselves; of several the group's end is the communication."""
    for document in documents(logdir):
        annotations = {e["args"]["External id"]: e["name"] for e in spans(document, "nccl:")}
        assert list(annotations.values()) == ANNOTATIONS
        assert [annotations[e["args"]["External id"]] for e in kernels(document)] == ANNOTATIONS
        assert [e["args"]["Collective name"] for e in kernels(document)] == OWNERS


# What AMD's TraceLens looks for in a kernel: without one of these a collective is not matched, or its size unknown.
TRACELENS_NAMES = {"allreduce", "allreduce_coalesced", "reducescatter", "_reduce_scatter_base",
                   "reduce_scatter_tensor_coalesced", "allgather", "all_gather", "_allgather_base",
                   "all_gather_into_tensor_coalesced", "allgather_into_tensor_coalesced", "all_to_all", "all_to_allv"}
TRACELENS_TYPES = {"Float", "Int", "Long", "BFloat16", "Bool", "Byte", "Double", "Half", "Short"}


def test_kernels_have_what_tracelens_matches_ranks_by(logdir):
    """By the group's name and the order in time; all else of a collective has to be equal on all ranks."""
    matched = []
    for document in documents(logdir):
        found = []
        for kernel in kernels(document):
            args = kernel["args"]
            assert "correlation" in args and "External id" in args and "stream" in args
            assert ("In msg nelems" in args) == ("Out msg nelems" in args)
            if args["Collective name"] in TRACELENS_NAMES:
                assert args["dtype"] in TRACELENS_TYPES
                assert args["In split size"] == args["Out split size"] == "[]"
                found.append([args[key] for key in ("Process Group Name", "Process Group Ranks", "Collective name",
                                                    "Group size", "dtype", "In msg nelems", "Out msg nelems")])
        matched.append(found)
    assert matched[0] == matched[1] and len(matched[0]) == 4  # a broadcast and several in one it leaves out


def test_hta_tells_communication_from_computation(kineto_job):
    """All its kernels are communication, which overlaps with nothing."""
    hta = pytest.importorskip("hta.trace_analysis")
    analysis = hta.TraceAnalysis(trace_dir=str(kineto_job))
    overlap = analysis.get_comm_comp_overlap(visualize=False)
    assert list(overlap["rank"]) == [0, 1] and list(overlap["comp_comm_overlap_pctg"]) == [0, 0]
    by_kind, by_name = analysis.get_gpu_kernel_breakdown(visualize=False)
    assert list(by_kind["kernel_type"]) == ["COMMUNICATION"] and list(by_kind["percentage"]) == [100]
    assert sorted(by_name["rank"]) == [0, 1]
    took = [sum(e["dur"] for e in kernels(document)) for document in documents(kineto_job)]
    assert by_kind["sum"][0] == pytest.approx(sum(took), abs=2 * len(OWNERS))  # it rounds to microseconds
    assert sorted(analysis.get_temporal_breakdown(visualize=False)["rank"]) == [0, 1]


def test_kernels_belong_to_torch_s_scope_in_kineto_s_dialect(kineto):
    scopes = spans(kineto, "record_param_comms")
    assert [told(e, *KEYS) for e in scopes] == [["record_param_comms", *row] for row in CALLED]
    by_id = {e["args"]["External id"]: e for e in scopes}
    for kernel, annotation in zip(kernels(kineto), spans(kineto, "nccl:"), strict=True):
        scope = by_id[kernel["args"]["External id"]]
        assert (annotation["ts"], annotation["dur"]) == (scope["ts"], scope["dur"])
        assert annotation["cat"] == "user_annotation"
        keys = [key for key in scope["args"] if key in KEYS or key.startswith("Process Group")]
        assert [kernel["args"][key] for key in keys] == [scope["args"][key] for key in keys]


@pytest.mark.parametrize("version", ["4", "5"])
def test_a_plugin_tells_what_only_rccl_knows(tmp_path, version):
    """In a category of its own: kernels stay with the calls that were interposed."""
    options = ["--rccl-plugin"]
    assert record(tmp_path, CALLS, 2, 0, rank=0, options=options, RCCL_STANDIN_PLUGIN=version) == "ok\n"
    [document] = documents(tmp_path)
    own = [e for e in spans(document, "RCCL ") if e["cat"] == "rccl" and not e["name"].startswith("RCCL kernel")]
    keys = ("sequence", "algorithm", "protocol", "type", "count", "peer", "channels", "communicator")
    ring = ("RING", "SIMPLE")
    assert [told(e, *keys) for e in own] == [
        ["RCCL AllReduce", 0, *ring, "ncclFloat32", 4096, None, 2, "0000000000abcdef"],
        ["RCCL Broadcast", 1, *ring, "ncclInt8", 100, None, 2, "0000000000abcdef"],
        ["RCCL AllGather", 2, *ring, "ncclInt8", 10, None, 2, "0000000000abcdef"],
        ["RCCL ReduceScatter", 3, *ring, "ncclInt8", 10, None, 2, "0000000000abcdef"],
        ["RCCL AllReduce", 4, *ring, "ncclFloat32", 7, None, 2, "0000000000abcdef"],
        ["RCCL Send", None, None, None, "ncclInt8", 64, 1, 2, "0000000000abcdef"],
        ["RCCL Recv", None, None, None, "ncclInt8", 64, 1, 2, "0000000000abcdef"],
        ["RCCL AllReduce", 5, *ring, "ncclFloat32", 8, None, 2, "0000000000abcdef"]]
    ended = spans(document, "RCCL kernel of ")
    assert sorted(e["name"][15:] for e in ended) == sorted(e["name"][5:] for e in own)
    assert {(e["args"]["GPU ticks"], e["args"]["GPU ticks of the slowest channel"]) for e in ended} == {(200, 200)}
    arrows = [e for e in document["traceEvents"] if e["ph"] in "sf" and e["name"] == "RCCL"]
    assert sorted(e["id"] for e in arrows if e["ph"] == "s") == sorted(e["id"] for e in arrows if e["ph"] == "f")
    annotations = {e["args"]["External id"]: e["name"] for e in spans(document, "nccl:")}
    assert [annotations[e["args"]["External id"]] for e in kernels(document)] == ANNOTATIONS


def test_rccl_loads_one_plugin(tmp_path):
    done = subprocess.run([HIPBOARD, "record", "--rccl-plugin", "-o", tmp_path, "--", CALLS, "2", "0"],
                          capture_output=True, text=True, timeout=600,
                          env=dict(os.environ, NCCL_PROFILER_PLUGIN="inspector"))
    assert done.returncode == 2 and "NCCL_PROFILER_PLUGIN names another one" in done.stderr


def test_launches_stand_within(kineto):
    launches = spans(kineto, "hipModuleLaunchKernel")
    for launch, annotation in zip(launches, spans(kineto, "nccl:"), strict=True):
        assert annotation["ts"] <= launch["ts"]
        assert launch["ts"] + launch["dur"] <= annotation["ts"] + annotation["dur"]


def test_an_asynchronous_error_is_told_once(kineto):
    [error] = spans(kineto, "rccl error")
    assert told(error, "call", "error", "text") == ["rccl error", "ncclCommGetAsyncError", 2, "unhandled system error"]
    [group] = {e["args"]["Process Group Name"] for e in spans(kineto, "record_param_comms")}
    assert told(error, "communicator", "collectives so far") == ["rccl error", group, 6]


QUESTION = "distributed/commops?run=two&worker=All&span=1"


def test_the_plugin_s_distributed_view_has_them(logdir):
    """The real plugin's, and hipboard's answer is the same."""
    status, answer = Plugin(logdir.parent).get(QUESTION)
    assert status == 200
    for table in answer["data"].values():
        names = [column["name"] for column in table["columns"]]
        rows = {row[0]: dict(zip(names, row)) for row in table["rows"]}
        assert {name: row["Calls"] for name, row in rows.items()} == {
            "nccl:all_reduce": 2, "nccl:broadcast": 1, "nccl:all_gather": 1, "nccl:reduce_scatter": 1}
        assert rows["nccl:all_reduce"]["Total Size (bytes)"] == 4 * (4096 + 7)
        assert rows["nccl:all_reduce"]["Total Latency (us)"] > 0
    ours = subprocess.run([HIPBOARD, "query", logdir.parent, QUESTION], capture_output=True, text=True, timeout=600)
    assert json.loads(ours.stdout) == answer, ours.stderr


def test_ranks_in_one_process(tmp_path):
    """Each with a communicator of its own, of one group."""
    assert record(tmp_path, CALLS, 2) == "ok\n"
    [document] = documents(tmp_path)
    calls = [e for e in spans(document, "ncclAllReduce", "ncclGroupEnd")]
    assert [told(e, "Collective name", "Group size", "Seq") for e in calls] == [
        ["ncclGroupEnd", "coalesced", 2, 1], ["ncclAllReduce", "allreduce", 2, 1],
        ["ncclAllReduce", "allreduce", 2, 1]]
    assert len({e["args"]["Process Group Name"] for e in calls}) == 1
    assert "distributedInfo" not in document


def test_numbers_of_a_cycle_are_means_over_its_gpus(tmp_path):
    """Those in TensorBoard's own tabs: of two GPUs, one of which did more."""
    assert record(tmp_path, CALLS, 2, RCCL_CALLS_EACH="1") == "ok\n"
    logged = {tag: [value.simple_value for _, value in found] for tag, found in values(tmp_path).items()}
    for place in ("hipboard_gpu", "hipboard_cycle"):
        for number in ("utilization_percent", "sm_efficiency_percent"):
            [first], [second], [mean] = (logged[f"{place}/{gpu}{number}"] for gpu in ("GPU0_", "GPU1_", ""))
            assert first != second and mean == pytest.approx((first + second) / 2, rel=1e-5)
    exposed, communication = logged["hipboard_communication/exposed_ms"], logged["hipboard_time/communication_ms"]
    assert exposed == communication and all(ms > 0 for ms in exposed)


def split_rows(document):
    keys = ("In msg nelems", "Group size", "Process Group Name", "Process Group Description", "Seq")
    return [told(e, *keys)[1:] for e in spans(document, "ncclAllReduce") if e["args"]["In msg nelems"] in (5, 6)]


def test_parts_of_a_communicator_have_one_name_on_their_members(tmp_path):
    """By what all of them know: the parent's name, which part of it that is, and the color."""
    names = []
    for rank in range(4):
        logdir = tmp_path / str(rank)
        assert record(logdir, CALLS, 4, rank, RCCL_CALLS_SPLIT="1", RANK=str(rank), LOCAL_RANK=str(rank),
                      WORLD_SIZE="4") == "ok\n"
        [document] = documents(logdir)
        rows = split_rows(document)
        first, second = rows[0][2], rows[2][2]
        assert rows == [[5, 2, first, "rccl#1/split#1", 1], [6, 2, first, "rccl#1/split#1", 2],
                        [5, 2, second, "rccl#1/split#2", 1]]
        names.append([spans(document, "ncclAllReduce")[0]["args"]["Process Group Name"], first, second])
        annotated = [e for e in spans(document, "nccl:all_reduce")]
        assert len(annotated) == 2, "only collectives of all ranks are the plugin's"
    assert names[0] == names[2] and names[1] == names[3]
    assert names[0][0] == names[1][0] and len({name for row in names for name in row}) == 5


@pytest.mark.parametrize("options, recorded", [
    (["--comm", "none"], False), (["--comm", "mpi"], False), (["--comm", "rccl"], True),
    (["--comm", "none", "--no-library-ops"], False), (["--no-library-ops"], True)])
def test_it_is_asked_for_by_itself(tmp_path, options, recorded):
    assert record(tmp_path, CALLS, 2, options=options) == "ok\n"
    [document] = documents(tmp_path)
    assert bool([e for e in spans(document, "ncclAllReduce")]) == recorded
    assert ("hipboard_rccl" in document) == recorded


def test_a_program_that_profiles_itself(tmp_path):
    """And whose first call fails."""
    done = subprocess.run([CALLS.with_name("rccl_profiled"), "2", "0"], capture_output=True, text=True, timeout=600,
                          env=dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "tools/simhsa"), RCCL_CALLS_LOGDIR=tmp_path))
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    [document] = documents(tmp_path)
    [error] = spans(document, "rccl error")
    assert told(error, "call", "error", "communicator") == ["rccl error", "ncclAllReduce", 4, ""]
    assert [e["args"].get("Seq") for e in spans(document, "ncclAllReduce")] == [None, 1, 5, 6]


WITHOUT = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <stdio.h>
    __attribute__((weak)) int ncclAllReduce(void);
    __attribute__((weak)) int ncclGroupEnd(void);
    __attribute__((weak)) int MPI_Init(int *, char ***);
    int main(void)
    {
        printf("%d %d %d", !ncclAllReduce, !ncclGroupEnd, !MPI_Init);
        printf(" %d", !dlsym(RTLD_DEFAULT, "ncclAllReduce"));
        printf(" %d\\n", !dlsym(RTLD_DEFAULT, "MPI_Init"));
        return 0;
    }"""


def test_a_program_without_rccl_sees_none(tmp_path):
    (tmp_path / "without.c").write_text(WITHOUT)
    subprocess.run(["cc", tmp_path / "without.c", "-o", tmp_path / "without"], check=True)
    assert record(tmp_path / "runs", tmp_path / "without") == "1 1 1 1 1\n"


def test_every_export_is_recorded_or_has_a_reason():
    lines = [line.split(None, 1) for line in (ROOT / "tests/data/rccl_exports.txt").read_text().splitlines()
             if not line.startswith("#")]
    recorded = {line.split()[0] for line in (ROOT / "share/hipboard/rccl.ops.in").read_text().splitlines()
                if line.startswith(("nccl", "msccl"))}
    assert {name for name, *reason in lines if not reason} == recorded
    assert {name for name, *reason in lines if reason}.isdisjoint(recorded)


def test_ranks_match_their_collectives(logdir):
    """By their kernels, which are the communication."""
    answer = subprocess.run([HIPBOARD, "ranks", "--json", logdir], capture_output=True, text=True, timeout=600)
    assert answer.returncode == 0, answer.stderr
    study = json.loads(answer.stdout)
    assert (study["collectives_found"], study["communicators"]) == (6, 1)
    assert sorted((row["collective"], row["calls"], row["ranks"]) for row in study["collectives"]) == [
        ("_reduce_scatter_base", 1, 2), ("allgather", 1, 2), ("allreduce", 1, 2), ("allreduce", 1, 2),
        ("broadcast", 1, 2), ("coalesced", 1, 2)]
