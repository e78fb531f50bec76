# SPDX-License-Identifier: MIT
"""What `hipboard ranks` says of jobs made for one thing each: where one hung, which places are unlike others, what clocks
are worth, how large a collective is, what is odd."""
import ctypes
import json
import statistics
import struct

import pytest

import made_ranks
from support import BUILD
from test_rank_study import ranks, study


def span(name, start, took, number=1, cat="cpu_op", tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": start, "dur": took,
            "args": {"External id": number, **args}}


def collective(start, took, group="0", sequence=None, name="MPI_Allreduce", word="allreduce", dtype="Float", elements=64,
               size=4, **more):
    told = {"Collective name": word, "dtype": dtype, "In msg nelems": elements, "Out msg nelems": elements, "Group size": size,
            "Process Group Name": group, **more}
    return span(name, start, took, **(told if sequence is None else {**told, "Seq": sequence}))


def write(directory, jobs, world=None, host=lambda rank: "node", **more):
    """`jobs`: the events of each rank; None: it has no trace."""
    directory.mkdir(exist_ok=True)
    for rank, events in enumerate(jobs):
        if events is not None:
            (directory / f"{host(rank)}_{rank}.1.pt.trace.json").write_text(json.dumps({
                "schemaVersion": 1, "distributedInfo": {"backend": "mpi", "rank": rank, "world_size": world or len(jobs)},
                **more, "traceEvents": events}))
    return directory


def text_of(directory, *options):
    done = ranks(*options, directory)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- a job that hung ----

def hung():
    """Of 16 ranks 14 have traces. In the world 0 and 1 are in the 6th collective, rank 1 for longer; 2 is in a receive
    within a step of its own, the others in nothing. Each of eight pairs hangs in a communicator of its own, too."""
    jobs = []
    for rank in range(14):
        events = [collective(1000 * n, 100, sequence=n, size=16) for n in range(1, 6 - (rank == 5))]
        if rank < 2:
            events.append(collective(10000 - 500 * rank, 2000000 + 500 * rank, sequence=6, size=16, finished=False))
        if rank == 2:
            events += [span("solve", 7000, 2003000, finished=False), span("MPI_Recv", 9000, 1500250, finished=False)]
        if rank in (6, 7):
            pair = f"p{rank}"
            events.append(collective(8000, 900, group=pair, sequence=1, word="barrier", name="MPI_Barrier",
                                     **{"Process Group Description": f"pair {rank}"}))
        if rank == 8:
            events += [collective(20000 + k, 5, group=f"g{k}", sequence=2, name="MPI_Bcast", word="broadcast", finished=False)
                       for k in range(7)]
        jobs.append(events)
    return jobs


HANG = """\
Where 14 ranks stood in the end (2 of 16 left no trace)
MPI_Allreduce number 6 of 0: 2 of 14 ranks are in it, and wait for these:
    rank 2 on node has come to number 5, and has been in MPI_Recv for 2.001 s
    rank 3 on node has come to number 5, and is in no call that is recorded
    rank 4 on node has come to number 5, and is in no call that is recorded
    rank 5 on node has come to number 4, and is in no call that is recorded
    rank 6 on node has come to number 5, and is in no call that is recorded
    rank 7 on node has come to number 5, and is in no call that is recorded
    rank 8 on node has come to number 5, and has been in MPI_Bcast for 0.000 s
    rank 9 on node has come to number 5, and is in no call that is recorded
    and 4 more ranks
MPI_Bcast number 2 of g0: 1 of 1 ranks are in it
MPI_Bcast number 2 of g1: 1 of 1 ranks are in it
MPI_Bcast number 2 of g2: 1 of 1 ranks are in it
MPI_Bcast number 2 of g3: 1 of 1 ranks are in it
MPI_Bcast number 2 of g4: 1 of 1 ranks are in it
and 2 more communicators
"""


def test_where_a_job_hung(tmp_path):
    job = write(tmp_path / "job", hung(), world=16)
    assert text_of(job, "--hang") == HANG
    found = study(job)
    head = text_of(job).splitlines()[1:4]
    assert head == ["7 collectives of 3 communicators, 0 messages, of 14 traces", "Missing: 2 of 16 ranks: 14-15",
                    "7 collectives are not of all members: what there is, is compared"]
    assert (found["collectives_found"], found["partial_collectives"], found["missing"]) == (7, 7, [14, 15])
    world, *others = found["hang"]
    assert {key: world[key] for key in ("communicator", "call", "number", "inside")} == {
        "communicator": "0", "call": "MPI_Allreduce", "number": 6, "inside": 2}
    assert world["behind"] == [
        {"rank": rank, "reached": 4 if rank == 5 else 5, **({"in": "MPI_Recv"} if rank == 2 else {"in": "MPI_Bcast"}
                                                            if rank == 8 else {})} for rank in range(2, 14)]
    assert others == [{"communicator": f"g{k}", "call": "MPI_Bcast", "number": 2, "inside": 1, "behind": [], "otherwise": []}
                      for k in range(7)]


def test_of_a_communicator_the_last_collective_counts(tmp_path):
    """Who is in an earlier one does not wait in it, but is behind; names are those of descriptions."""
    named = {"Process Group Description": "the pair"}
    jobs = [[collective(1000, 50, sequence=1, **named), collective(2000, 100, sequence=3, finished=False, **named)],
            [collective(1010, 50, sequence=1, **named), collective(1500, 900, sequence=2, finished=False, **named)],
            [collective(1010, 50, sequence=1, **named), collective(1900, 200, sequence=3, finished=False, **named)]]
    [stand] = study(write(tmp_path / "job", jobs))["hang"]
    assert stand == {"communicator": "the pair", "call": "MPI_Allreduce", "number": 3, "inside": 2,
                     "behind": [{"rank": 1, "reached": 2, "in": "MPI_Allreduce"}], "otherwise": []}


def mismatched(name, word, number, **more):
    return collective(1000 * number, 100, sequence=number, name=name, word=word, **more)


def test_ranks_that_call_different_collectives(tmp_path):
    """Of four ranks 2 and 3 broadcast as the others reduce, thrice in all; the pair that is alike is not told of."""
    jobs = []
    for rank in range(4):
        other = ("MPI_Bcast", "broadcast") if rank > 1 else ("MPI_Allreduce", "allreduce")
        events = [mismatched(*(other if n in (3, 5, 6) else ("MPI_Barrier", "barrier")), n) for n in range(1, 8)]
        events += [mismatched("MPI_Reduce", "reduce", n, group="alike", size=2) for n in range(1, 4)]
        if rank == 1:
            events += [mismatched("MPI_Gather", "gather", 4, group="two", **{"Process Group Description": "the pair"})]
        if rank == 3:
            events += [mismatched("MPI_Scatter", "scatter", 4, group="two", **{"Process Group Description": "the pair"})]
        jobs.append(events)
    job = write(tmp_path / "job", jobs)
    found = study(job)
    assert found["mismatches"] == [
        {"communicator": "0", "number": 3, "collective": "allreduce", "rank": 0, "ranks": 2, "other_collective": "broadcast",
         "other_rank": 2, "other_ranks": 2, "numbers": 3},
        {"communicator": "the pair", "number": 4, "collective": "gather", "rank": 1, "ranks": 1, "other_collective": "scatter",
         "other_rank": 3, "other_ranks": 1, "numbers": 1}]
    assert found["notes"] == [
        "ranks call different collectives: number 3 of 0 is allreduce of rank 0 (2 ranks), broadcast of rank 2 (2); 2 more like it",
        "ranks call different collectives: number 4 of the pair is gather of rank 1 (1 rank), scatter of rank 3 (1)"]
    assert [line for line in text_of(job).splitlines() if line.startswith("Note: ")] == [f"Note: {n}" for n in found["notes"]]


@pytest.mark.parametrize("own, other", [
    (("nccl:all_reduce", "allreduce"), ("nccl:all_reduce", "allreduce_coalesced")), # by two names
    (("MPI_Allreduce", "allreduce"), ("mine", "my_own_collective")),                # of which nobody knows
    (("MPI_Allreduce", "allreduce"), ("ncclGroupEnd", "coalesced"))])               # several
def test_what_may_be_one_collective_is_not_told_of(own, other, tmp_path):
    jobs = [[mismatched(*(own if rank else other), n) for n in range(1, 4)] for rank in range(3)]
    assert study(write(tmp_path / "job", jobs))["mismatches"] == []
    for job in jobs: # nor where nobody numbered them
        for event in job:
            del event["args"]["Seq"]
            event["args"]["Collective name"] = "reduce" if job is jobs[0] else "gather"
    assert study(write(tmp_path / "numberless", jobs))["mismatches"] == []


def test_who_hangs_in_another_collective(tmp_path):
    """Which is waited for by those who are in it as by those who are in the right one."""
    jobs = [[mismatched("MPI_Allreduce", "allreduce", 1), mismatched(name, word, 2, finished=False)]
            for name, word in [("MPI_Allreduce", "allreduce"), ("MPI_Allreduce", "allreduce"), ("MPI_Barrier", "barrier"),
                               *[("MPI_Bcast", "broadcast")] * 9]]
    jobs[1].pop()
    job = write(tmp_path / "job", jobs)
    [stand] = study(job)["hang"]
    assert stand == {"communicator": "0", "call": "MPI_Allreduce", "number": 2, "inside": 1,
                     "behind": [{"rank": 1, "reached": 1}],
                     "otherwise": [{"rank": rank, "in": "MPI_Barrier" if rank == 2 else "MPI_Bcast"} for rank in range(2, 12)]}
    assert text_of(job, "--hang").splitlines()[1:] == [
        "MPI_Allreduce number 2 of 0: 1 of 12 ranks are in it, and wait for these:",
        "    rank 1 on node has come to number 1, and is in no call that is recorded",
        "    but rank 2 on node is in MPI_Barrier under that number",
        *[f"    but rank {rank} on node is in MPI_Bcast under that number" for rank in range(3, 10)],
        "    and 2 more ranks"]


def test_where_nobody_hung(tmp_path):
    job = write(tmp_path / "job", [[collective(1000, 50, sequence=1)] for _ in range(3)])
    assert text_of(job, "--hang") == "Where 3 ranks stood in the end\nno rank was in a collective\n"
    assert study(job)["hang"] == []


# ---- places ----

LATE = [0, 1, 2, 3, 40, 2, 1, 0, 3, 1, 2, 0]


def of_nodes(directory, late=LATE, steps=4, each=2):
    """Twelve ranks, two a node, of which each is late by so much at each collective; work differs by rank."""
    jobs = []
    for rank, more in enumerate(late):
        events = []
        for step in range(steps):
            events.append(span(f"ProfilerStep#{step}", 1000 * step, 900, cat="user_annotation"))
            for k in range(3):
                at = 1000 * step + 200 * k
                events += [span("work", at, 50 + more), collective(at + 50 + more, 100 - more, sequence=3 * step + k + 1, size=len(late))]
        jobs.append(events)
    return write(directory, jobs, host=lambda rank: f"n{rank // each}")


@pytest.mark.parametrize("ranks", [LATE, [0, 1, 2, 3, 40, 2, 1, 0, 3, 1, 8, 9], [9, 9, 0, 5, 40, 2, 1, 0, 3, 1]])
def test_nodes_unlike_the_others(ranks, tmp_path):
    found, nodes = study(of_nodes(tmp_path / "job", ranks)), len(ranks) // 2
    middle = statistics.median(ranks)
    late = [statistics.mean(ranks[2 * n:2 * n + 2]) - middle for n in range(nodes)]
    deviation = 1.4826 * statistics.median(abs(x - statistics.median(late)) for x in late)
    expected = sorted(range(nodes), key=lambda n: -late[n])
    assert [p["name"] for p in found["places"]] == [f"n{n}" for n in expected]
    for place, n in zip(found["places"], expected):
        ranks_of = range(2 * n, 2 * n + 2)
        assert place == {"name": f"n{n}", "ranks": 2, "late_us": pytest.approx(late[n]),
                         "waited_us": pytest.approx(12 * statistics.mean(40 - ranks[r] for r in ranks_of)),
                         "useful_us": pytest.approx(4 * 900 - 12 * statistics.mean(100 - ranks[r] for r in ranks_of)),
                         "deviations": pytest.approx((late[n] - statistics.median(late)) / deviation, rel=1e-3)}


def test_places_on_nodes_and_switches(tmp_path):
    job = of_nodes(tmp_path / "job")
    (tmp_path / "switches").write_text("".join(f"n{n} s{n % 2}\n" for n in range(5)))
    middle, by = statistics.median(LATE), {}
    for rank, late in enumerate(LATE):
        by.setdefault(f"rank % 2 = {rank % 2}", []).append(late - middle)
        by.setdefault(f"s{rank // 2 % 2}" if rank < 10 else "n5", []).append(late - middle)
    for options, names in ((["--by", "modulo"], ["rank % 2 = 0", "rank % 2 = 1"]),
                           (["--by", "switch", "--groups", tmp_path / "switches"], ["s0", "s1", "n5"])):
        found = study(*options, job)
        assert sorted((p["name"], p["ranks"], round(p["late_us"], 6)) for p in found["places"]) == sorted(
            (name, len(by[name]), round(statistics.mean(by[name]), 6)) for name in names)
        late = [p["late_us"] for p in found["places"]]
        assert late == sorted(late, reverse=True) and {p["deviations"] for p in found["places"]} == {0}


TWELVE = """\
12 ranks on 6 nodes, 4 steps
12 collectives of 1 communicator, 0 messages, of 12 traces
Clocks are known to 99.23 us, and ranks are not that far apart: only how long they stayed in collectives is compared

Who makes the others wait
rank 4 on n2: the last one at 12 of 12 collectives; others waited 5.100 ms for it, 100.0 % of all waiting
    why: compute; work takes 115.5 us longer than of the median rank, in a step; without that a step takes 111 us less

Efficiency
parallel 68.2 % = load balance 85.2 % x communication 80.0 % (serialization 100.0 % x transfer 80.0 %)
steps take 900 us (step 0) to 900 us (step 0)

Waiting, of all ranks' time
    time  of all  waits  longest  size      communicator  call       what
5.100 ms  11.8 %    132    40 us  <= 256 B  0             allreduce  wait for all

Collectives: once all have come; skew: the last behind the first
calls  ranks  size      median   skew           bus  communicator  collective
   12     12  <= 256 B   60 us  40 us  0.00782 GB/s  0             allreduce

Nodes, the latest of 6: behind the median at a collective
     late   waits    useful  ranks     unlike others
 19.50 us  228 us  2.652 ms      2  by 13 deviations  n2
     1 us  450 us  2.430 ms      2                    n1
 0.500 us  456 us  2.424 ms      2                    n4
-0.500 us  468 us  2.412 ms      2                    n5

Ranks that wait least, the median one, those that wait most
     late  last    caused  waited  useful  node  rank
 38.50 us    12  5.100 ms    0 us  80.0 %  n2    4
 1.500 us     0      0 us  444 us  67.7 %  n1    3
 1.500 us     0      0 us  444 us  67.7 %  n4    8
-0.500 us     0      0 us  468 us  67.0 %  n0    1
-1.500 us     0      0 us  480 us  66.7 %  n0    0
-1.500 us     0      0 us  480 us  66.7 %  n3    7
-1.500 us     0      0 us  480 us  66.7 %  n5    11
"""
ONE = """\
Rank 4
    late  last    caused  waited  useful  node  rank
38.50 us    12  5.100 ms    0 us  80.0 %  n2    4
Communication: 720 us
CPU Exec: 1.080 ms
Other: 1.800 ms
"""


def test_the_text_of_twelve_ranks(tmp_path):
    """A rank is 38.5 us behind the median rank at each of 12 collectives, where eleven others wait 40 us less what they are
    late by themselves; without it each of three collectives of a step is entered 37 us earlier, when rank 3 comes."""
    lines = [line.rstrip() for line in text_of(of_nodes(tmp_path / "job")).splitlines()]
    assert lines == TWELVE.splitlines()
    one = [line.rstrip() for line in text_of(tmp_path / "job", "--rank", "4").splitlines()]
    assert one == TWELVE.partition("\nRanks that")[0].splitlines() + [""] + ONE.splitlines()


# ---- clocks ----

def of_clocks(directory, ahead, info=lambda rank: {}, stays=(30, 30), calls=40):
    """Two nodes of a rank each; the second one's clock is ahead. Each in turn comes `stays` before they leave."""
    for rank in range(2):
        events = []
        for n in range(calls):
            leave = 1000 * (n + 1)
            stay = stays[(n + rank) % 2]
            events.append(collective(leave - stay + ahead * rank, stay, sequence=n + 1, size=2))
        steps = [span(f"ProfilerStep#{k}", 10000 * k + ahead * rank + 500, 9900, cat="user_annotation") for k in range(calls // 10 + 1)]
        write(directory, [None] * rank + [events + steps], world=2, host=lambda _: f"n{rank}", **info(rank))
    return directory


def told(method="tsc", bound=5000):
    return lambda rank: {"hipboard_clock": {"method": method, "offset_ns": 0, "bound_ns": bound * rank}}


@pytest.mark.parametrize("ahead, stays, info, clocks, line", [
    # 100 us by what the last collectives tell at 38.9 ms, and then a drift of 0.0005 at most until 50.4 ms; and a nanosecond.
    (0, (700, 100), None, {"told": False, "corrected": False, "bound_us": 100 + 5e-4 * 11500 + .001, "contradicted_by": 0, "worst_us": 0,
                           "by_durations": False}, "Clocks as they were written, which collectives prove to within 105.8 us"),
    (0, (700, 100), told(), {"told": True, "corrected": False, "bound_us": 5, "contradicted_by": 0, "worst_us": 0,
                             "by_durations": False}, "Clocks of nodes agree within 5 us"),
    (0, (110, 100), told(bound=20000), {"told": True, "corrected": False, "bound_us": 20, "contradicted_by": 0, "worst_us": 0,
                                        "by_durations": True},
     "Clocks are known to 20 us, and ranks are not that far apart: only how long they stayed in collectives is compared"),
    (250, (700, 100), told(), {"told": True, "corrected": False, "bound_us": 5, "contradicted_by": 20, "worst_us": 150,
                               "by_durations": True},
     "Clocks of nodes do not agree: 20 collectives were left before all had come, by up to 150 us; only how long ranks stayed "
     "is compared"),
])
def test_what_clocks_are_worth(ahead, stays, info, clocks, line, tmp_path):
    job = of_clocks(tmp_path / "job", ahead, info or (lambda rank: {}), stays)
    found = study(job)
    assert found["clocks"] == {**clocks, "bound_us": pytest.approx(clocks["bound_us"], abs=1e-6)}
    assert line in text_of(job).splitlines()
    nodes = {node["name"]: (node["clock_at_least_us"], node["clock_at_most_us"]) for node in found["nodes"]}
    # What a node is ahead of the others: it came after they left less, and left after they came.
    low, high = ahead - min(stays), ahead + min(stays)
    assert nodes == {"n0": (-high, -low), "n1": (low, high)}


# ---- how large collectives are ----

SIZES = {"Double": 8, "Float": 4, "Int": 4, "Long": 8, "BFloat16": 2, "Half": 2, "Bool": 1, "Byte": 1, "Char": 1, "Short": 2,
         "double": 8, "float": 4, "int": 4, "long int": 8, "c10::Half": 2, "c10::BFloat16": 2, "bool": 1, "short": 2,
         "signed char": 1, "unheard of": 1}
BUS = {"allreduce": lambda n: 2 * (n - 1) / n, "allgather": lambda n: (n - 1) / n, "reduce": lambda n: 1,
       "reduce_scatter": lambda n: (n - 1) / n, "all_to_all": lambda n: (n - 1) / n, "broadcast": lambda n: 1, "barrier": None}


def one_collective(directory, annotation=None, **told_of):
    jobs = []
    for rank in range(3):
        if annotation:
            jobs.append([span(annotation, 1000 + rank, 50 - rank, cat="user_annotation", **told_of)])
        else:
            jobs.append([collective(1000 + rank, 50 - rank, sequence=1, size=3, **told_of)])
    [found] = study(write(directory, jobs))["collectives"]
    return found


@pytest.mark.parametrize("dtype", SIZES)
def test_sizes_of_types(dtype, tmp_path):
    size = SIZES[dtype]
    for elements in (0, 1, 100, 128, 129):
        found = one_collective(tmp_path / str(elements), dtype=dtype, elements=elements)
        up_to = 1 << (elements * size - 1).bit_length() if elements else 0
        assert (found["bytes_up_to"], found["median_us"], found["skew_us"]) == (up_to, 48, 2)
        assert (found["bus_GB_per_s"] or 0) == pytest.approx(4 / 3 * elements * size / 48 / 1e3)
    named = one_collective(tmp_path / "named", annotation="gloo:all_reduce", **{
        "Input Dims": [[100, 3], [], [7]], "Input type": [dtype, "float", "float"]})
    assert named["bytes_up_to"] == 1 << ((300 + 1 + 7) * size - 1).bit_length()
    if dtype == "Half":
        for odd in ({}, {"Input Dims": "none"}, {"Input type": ["Half"]}):
            assert one_collective(tmp_path / f"odd{len(odd)}{len(str(odd))}", annotation="gloo:all_reduce", **odd)[
                "bytes_up_to"] is None
        assert one_collective(tmp_path / "no type", annotation="gloo:all_reduce", **{"Input Dims": [[100]]})["bytes_up_to"] == 128
        assert one_collective(tmp_path / "none", annotation="gloo:all_reduce", **{"Input Dims": [[-5]]})["bytes_up_to"] == 0


@pytest.mark.parametrize("word", BUS)
def test_the_bus(word, tmp_path):
    found = one_collective(tmp_path / "job", word=word, name=f"MPI_{word}", elements=300)
    expected = BUS[word](3) * 1200 / 48 / 1e3 if BUS[word] else None
    assert found["bus_GB_per_s"] == (pytest.approx(expected) if expected else None)


@pytest.mark.parametrize("kernel, word", [
    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "allreduce"), ("ncclKernel_AllGather_RING_LL_Sum", "allgather"),
    ("ncclDevKernel_Broadcast_RING", "broadcast"), ("ncclDevKernel_SendRecv", "send"), ("ncclDevKernel_Generic_3", "Generic"),
    ("ncclDevKernel", "ncclDevKernel")])
def test_what_a_kernel_is_called_is_its_collective(kernel, word, tmp_path):
    jobs = [[span(kernel, 1000 + rank, 50 - rank, cat="kernel", tid=7, device=0, stream=7)] for rank in range(2)]
    found = study(write(tmp_path / "job", jobs))
    assert [c["collective"] for c in found["collectives"]] == ([] if word == "send" else [word])


# ---- what is odd ----

def job_of(directory, change=None, number=6):
    made_ranks.write(directory, number, late=3)
    for rank, path in enumerate(sorted(directory.iterdir())):
        document = json.loads(path.read_text())
        if change:
            change(rank, document)
        path.write_text(json.dumps(document))
    return directory


def less_steps(rank, document):
    lacks = {1: ["ProfilerStep#4", "ProfilerStep#3"], 4: ["ProfilerStep#4"]}.get(rank, [])
    document["traceEvents"] = [e for e in document["traceEvents"] if e["name"] not in lacks]


def backwards(rank, document):
    if rank in (2, 5):
        for e in document["traceEvents"]:
            if e["name"] == "ProfilerStep#3":
                e["name"] = "ProfilerStep#0"
            elif e["name"] == "ProfilerStep#0":
                e["name"] = "ProfilerStep#3"


def no_rank(rank, document):
    if rank == 2:
        del document["distributedInfo"]


def lost(rank, document):
    """By reasons, or as one number; what is none counts nothing."""
    document["hipboard_lost"] = [0, {"full": 3, "late": 4, "odd": -5, "text": "x"}, 2, {}, "9", {"full": 7}][rank]


def lost_once(rank, document):
    if rank == 5:
        document["hipboard_lost"] = 1


def half(rank, document):
    """Recordings that ended earlier lack the last ones only."""
    if rank == 4:
        document["traceEvents"] = [e for e in document["traceEvents"] if e["ts"] < 4000 or "Step" in e["name"]]


@pytest.mark.parametrize("change, said", [
    (None, []),
    (less_steps, ["2 ranks recorded another number of steps than the others' 5, as rank 1 3"]),
    (backwards, ["the clock of rank 2 runs backwards, and those of others: later steps begin before earlier ones"]),
    (no_rank, ["1 trace of no known rank (no distributedInfo): left out"]),
    (lost, ["3 traces lost records, most of them that of rank 1: 7"]),
    (lost_once, ["1 trace lost records, most of them that of rank 5: 1"]),
    (half, ["1 rank took part in another number of collectives of default than most, as rank 4 in 25 of 50"])])
def test_odd_jobs(change, said, tmp_path):
    done = ranks(job_of(tmp_path / "job", change))
    assert done.stderr == "".join(f"hipboard ranks: {line}\n" for line in said)
    assert done.stdout.count("Note: ") == len(said)
    assert study(tmp_path / "job")["notes"] == said


# ---- digests that are added to a file ----

HEAD, END_AT = 16, 12  # the magic, a version, and where what is whole ends (0: with the file)


class Study:
    def __init__(self, *paths):
        self.library = ctypes.CDLL(str(BUILD / "src/analysis/libhipboard-analysis.so.0"))
        self.study = ctypes.c_void_p()
        self.library.hb_last_error.restype = ctypes.c_char_p
        assert self.library.hb_rank_study_create(None, ctypes.byref(self.study)) == 0
        for path in paths:
            assert self.library.hb_rank_study_add(self.study, str(path).encode()) == 0

    def append(self, path):
        """Why not; None: it was done."""
        result = self.library.hb_rank_study_append(self.study, str(path).encode())
        why = self.library.hb_last_error().decode() if result else None
        self.library.hb_rank_study_destroy(self.study)
        return why


def test_digests_of_one_rank_after_the_other(tmp_path):
    made_ranks.write(tmp_path / "job", 4, late=2)
    traces = sorted((tmp_path / "job").iterdir())
    kept = tmp_path / "kept.hbranks"
    whole = study(tmp_path / "job")
    for n, trace in enumerate(traces):
        before = kept.read_bytes() if n else b""
        assert Study(trace).append(kept) is None
        now = kept.read_bytes()
        assert struct.unpack_from("<I", now, END_AT)[0] == len(now)
        assert now[HEAD:len(before)] == before[HEAD:] and len(now) > max(HEAD, len(before))
        assert study(kept)["ranks_found"] == n + 1
    assert study(kept) == whole
    nothing = kept.read_bytes()
    assert Study().append(kept) is None and kept.read_bytes() == nothing


def test_what_was_not_added_whole_is_written_over(tmp_path):
    made_ranks.write(tmp_path / "job", 2)
    first, second = sorted((tmp_path / "job").iterdir())
    kept, other = tmp_path / "kept.hbranks", tmp_path / "other.hbranks"
    for rest in (b"", b"x", b"x" * 100, b"x" * 100000):
        other.unlink(missing_ok=True)
        assert Study(first).append(other) is None
        kept.write_bytes(other.read_bytes() + rest)  # as who was killed leaves it
        assert Study(second).append(kept) is None and Study(second).append(other) is None
        assert kept.read_bytes() == other.read_bytes() and study(kept)["ranks_found"] == 2


def test_a_file_that_is_none_of_digests_is_left_as_it_is(tmp_path):
    made_ranks.write(tmp_path / "job", 2)
    first, second = sorted((tmp_path / "job").iterdir())
    kept = tmp_path / "kept.hbranks"
    assert Study(first).append(kept) is None
    fine = kept.read_bytes()
    for at in range(HEAD):
        odd = fine[:at] + bytes([fine[at] ^ 0x40]) + fine[at + 1:]
        kept.write_bytes(odd)
        why = Study(second).append(kept)
        if at < END_AT:
            assert why == f"{kept}: no digests of ranks of this version: left as it is" and kept.read_bytes() == odd
        elif at > END_AT + 1:
            assert why == f"{kept}: its end is missing: left as it is" and kept.read_bytes() == odd
    for size in (1, HEAD - 1):
        kept.write_bytes(fine[:size])
        assert "no digests of ranks of this version" in Study(second).append(kept)
        assert kept.read_bytes() == fine[:size]
    kept.write_bytes(fine[:END_AT] + struct.pack("<I", len(fine) + 1) + fine[HEAD:])
    assert "its end is missing" in Study(second).append(kept)
    kept.write_bytes(fine[:END_AT] + b"\0\0\0\0" + fine[HEAD:])  # all of it was written at once
    assert Study(second).append(kept) is None and study(kept)["ranks_found"] == 2


# ---- what is a collective, and once ----

def test_of_several_under_one_number_the_first_counts(tmp_path):
    jobs = [[collective(1000 * n + 10 * rank, 100, sequence=n, size=3) for n in (1, 2, 3)] for rank in range(3)]
    jobs[1].insert(2, collective(2600, 300, sequence=2, size=3))
    found = study(write(tmp_path / "job", jobs))
    [one] = found["collectives"]
    assert (one["ranks"], one["calls"], one["median_us"], one["skew_us"]) == (3, 3, 100, 20)
    assert [r["collectives"] for r in found["ranks"]] == [3, 3, 3] and found["collectives_found"] == 3


def test_what_completes_a_request_is_told_once(tmp_path):
    """Of those without numbers the second would be one more; of a group's messages nobody waits for all."""
    for name, word, waits, count in [("MPI_Iallreduce", "allreduce", "MPI_Wait", 1), ("MPI_Iallreduce", "allreduce", "MPI_Waitall", 1),
                                     ("MPI_Iallreduce", "allreduce", "MPI_Testsome", 1), ("MPI_Iallreduce", "allreduce", "MPI_Probe", 2),
                                     ("nccl:coalesced", "coalesced", "MPI_Wait", 0)]:
        jobs = [[collective(1000 + rank, 10, name=name, word=word, size=2), collective(2000, 50, name=waits, word=word, size=2)]
                for rank in range(2)]
        found = study(write(tmp_path / f"{word} {waits}", jobs))
        assert found["collectives_found"] == count, (word, waits)


def test_what_is_given_twice_is_counted_once(tmp_path):
    made_ranks.write(tmp_path / "job", 3, late=1)
    assert ranks("-o", tmp_path / "d.hbranks", tmp_path / "job").returncode == 0
    once, twice = ranks(tmp_path / "d.hbranks"), ranks(tmp_path / "d.hbranks", tmp_path / "d.hbranks")
    said = "3 digests were given twice: counted once"
    assert (once.stderr, twice.stderr) == ("", f"hipboard ranks: {said}\n")
    assert twice.stdout == once.stdout.replace("\n\nWho makes", f"\nNote: {said}\n\nWho makes", 1)


@pytest.mark.parametrize("name, nodes", [("node7", 1), ("ranks", 1), ("my_rank", 1), ("rank", 2), ("Rank", 2), ("worker", 2),
                                         ("trainer", 2), ("process", 2), ("proc", 2), ("GPU", 2)])
def test_a_worker_that_is_called_by_its_rank_is_on_a_node_of_its_own(name, nodes, tmp_path):
    """Nobody knows where rank_3 was: by its clock no other's lateness is told."""
    jobs = [[collective(1000 * n, 100, sequence=n, size=2) for n in range(1, 4)]] * 2
    told = study(write(tmp_path / "job", jobs, host=lambda rank: name))
    assert told["nodes_found"] == nodes
    assert [rank["node"] for rank in told["ranks"]] == [name if nodes == 1 else f"{name}_{rank}" for rank in range(2)]
