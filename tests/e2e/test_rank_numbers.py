# SPDX-License-Identifier: MIT
"""`hipboard ranks --json` of small random jobs beside the same numbers computed here from what the ranks did, by the
definitions of share/doc/hipboard/ranks.md alone."""
import collections
import json
import math
import random
import statistics
import subprocess
from urllib.parse import quote

import pytest

import made_ranks
from support import BUILD
from test_page_answers import Page

RANKS = 4
SIZES = {"Float": 4, "Half": 2}
# Call, word, who waits, what of its bytes a rank's links carry among n.
CALLS = {"MPI_Allreduce": ("allreduce", "all", lambda n: 2 * (n - 1) / n),
         "MPI_Allgather": ("allgather", "all", lambda n: (n - 1) / n),
         "MPI_Barrier": ("barrier", "barrier", lambda n: 0),
         "MPI_Reduce": ("reduce", "root", lambda n: 1),
         "MPI_Gather": ("gather", "root", lambda n: (n - 1) / n),
         "MPI_Bcast": ("broadcast", None, lambda n: 1)}
GROUPS = {"0": ("world", [0, 1, 2, 3]), "7": ("pair", [1, 3])}

Came = collections.namedtuple("Came", "rank start end")
Meeting = collections.namedtuple("Meeting", "call group elements dtype came step")
Message = collections.namedtuple("Message", "sent got size step")


class Job:
    """What the ranks did: meetings and messages, and each rank's events."""

    def __init__(self, seed):
        chance = random.Random(seed)
        self.meetings, self.messages, self.steps = [], [], []
        self.events = [[] for _ in range(RANKS)]
        self.sequence = collections.Counter()
        self.now = [1000] * RANKS
        for step in range(5):
            self.begin = list(self.now)
            for _ in range(chance.randint(2, 5)):
                self.meet(chance, step)
                if chance.random() < .7:
                    self.send(chance, step)
            end = max(self.now) + 5
            self.steps.append([end - begin for begin in self.begin])
            for rank in range(RANKS):
                self.add(rank, "user_annotation", f"ProfilerStep#{step}", self.begin[rank], end)
            self.now = [end + 1 + rank for rank in range(RANKS)]

    def add(self, rank, cat, name, start, end, more=""):
        self.events[rank].append(made_ranks.EVENT % (cat, name, 1000 + rank, start, end - start,
                                                     len(self.events[rank]) + 1, more))

    def work(self, chance, rank):
        """Some, of a length that no other has; returns when the rank has done it."""
        until = self.now[rank] + 1 + chance.randrange(200) * RANKS + rank
        self.add(rank, "cpu_op", "work", self.now[rank], until)
        self.now[rank] = until
        return until

    def meet(self, chance, step):
        call, group = chance.choice(sorted(CALLS)), chance.choice(sorted(GROUPS))
        word, waits, _ = CALLS[call]
        description, members = GROUPS[group]
        dtype, elements = chance.choice(sorted(SIZES)), 0 if waits == "barrier" else chance.choice([64, 100])
        self.sequence[group] += 1
        starts = {rank: self.work(chance, rank) for rank in members}
        last, root = max(starts.values()), chance.choice(members)
        came = []
        for rank in members:
            everybody = waits in ("all", "barrier") or (waits == "root" and rank == root)
            end = (last + 2000 * (waits == "root") if everybody else starts[rank]) + chance.randint(1, 9)
            came.append(Came(rank, starts[rank], end))
            self.add(rank, "cpu_op", call, starts[rank], end, (
                f',"Collective name":"{word}","dtype":"{dtype}","In msg nelems":{elements},"Out msg nelems":{elements},'
                f'"Group size":{len(members)},"Process Group Name":"{group}","Seq":{self.sequence[group]},'
                f'"Process Group Description":"{description}","Process Group Ranks":"{members}"'))
            self.now[rank] = end
        self.meetings.append(Meeting(call, description, elements, dtype, came, step))

    def send(self, chance, step):
        size, ends = chance.choice([8, 64, 100]), []
        starts = [self.work(chance, rank) for rank in (0, 1)]
        waits = chance.random() < .5  # the sender, for the receiver
        for rank, peer in ((0, "Dst Rank"), (1, "Src Rank")):
            late = starts[0] if rank else starts[1] if waits else 0
            ends.append(max(starts[rank], late) + chance.randint(1, 5))
            self.add(rank, "cpu_op", ("MPI_Send", "MPI_Recv")[rank], starts[rank], ends[rank], (
                f',"Collective name":"{("send", "recv")[rank]}","dtype":"Byte","Group size":{RANKS},"tag":3,"bytes":{size},'
                f'"Process Group Name":"0","Process Group Description":"world","{peer}":{1 - rank}'))
            self.now[rank] = ends[rank]
        self.messages.append(Message(Came(0, starts[0], ends[0]), Came(1, starts[1], ends[1]), size, step))

    def write(self, directory):
        directory.mkdir()
        for rank in range(RANKS):
            (directory / f"node_{1000 + rank}.1.pt.trace.json").write_text(
                '{"schemaVersion":1,"distributedInfo":{"backend":"mpi","rank":%d,"world_size":%d},"traceEvents":[%s]}' % (
                    rank, RANKS, ",".join(self.events[rank])))
        return directory


def up_to(size):
    return 1 << (size - 1).bit_length() if size > 0 else 0


class Reference:
    """The numbers, one collective and one message after the other."""

    def __init__(self, job):
        self.job = job
        self.waits = collections.defaultdict(list)
        self.ranks = [collections.Counter() for _ in range(RANKS)]
        self.classes = collections.defaultdict(list)
        self.pairs = collections.defaultdict(list)
        for meeting in job.meetings:
            self.meet(meeting)
        for message in job.messages:
            self.message(message)

    def meet(self, m):
        word, waits, _ = CALLS[m.call]
        size = m.elements * SIZES[m.dtype]
        starts = [c.start for c in m.came]
        first, last = min(m.came, key=lambda c: c.start), max(m.came, key=lambda c: c.start)
        self.classes[word, m.group, len(m.came), up_to(size), m.call].append(
            (size, min(c.end - c.start for c in m.came), last.start - first.start))
        key = word, m.group, up_to(size)
        if waits in ("all", "barrier"):
            caused = 0
            for c in m.came:
                wait = 0 if c is last else max(0, min(last.start, c.end) - c.start)
                if wait:
                    self.waits[waits, *key].append(wait)
                self.ranks[c.rank]["waited"] += wait
                self.ranks[c.rank]["collectives"] += 1
                self.ranks[c.rank]["late"] += c.start - first.start - statistics.median(
                    start - first.start for start in starts)
                self.ranks[c.rank]["transfer"] += min(x.end - x.start for x in m.came)
                caused += wait
            self.ranks[last.rank]["caused"] += caused
            self.ranks[last.rank]["times_last"] += 1
        if waits == "root":
            root = max(m.came, key=lambda c: c.end)
            if root is not last:
                self.waits["root", *key].append(last.start - root.start)
                self.ranks[root.rank]["waited"] += last.start - root.start

    def message(self, m):
        late = min(m.sent.start, m.got.end) - m.got.start
        if late > 0:
            self.waits["sender", "recv", "world", up_to(m.size)].append(late)
            self.ranks[1]["messages"] += late
            self.pairs[0, 1].append(late)
        elif m.sent.end >= m.got.start > m.sent.start:
            self.waits["receiver", "send", "world", up_to(m.size)].append(m.got.start - m.sent.start)
            self.ranks[0]["messages"] += m.got.start - m.sent.start

    def communicated(self, rank, step=None):
        return (sum(c.end - c.start for m in self.job.meetings for c in m.came
                    if c.rank == rank and step in (None, m.step)) +
                sum(c.end - c.start for m in self.job.messages for c in (m.sent, m.got)
                    if c.rank == rank and step in (None, m.step)))


KINDS = {"all": "wait for all", "barrier": "wait at barrier", "root": "early root", "sender": "late sender",
         "receiver": "late receiver"}


def study(directory):
    done = subprocess.run([BUILD / "tools/hipboard/hipboard", "ranks", "--json", directory], capture_output=True,
                          text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def check_head(job, found):
    assert (found["ranks_found"], found["world_size"], found["nodes_found"], found["traces"]) == (4, 4, 1, 4)
    assert (found["steps_found"], found["steps_by"], found["missing"], found["notes"]) == (5, "marks", [], [])
    assert (found["collectives_found"], found["partial_collectives"]) == (len(job.meetings), 0)
    assert (found["messages"], found["unmatched_messages"]) == (len(job.messages), 0)
    assert found["communicators"] == len({m.group for m in job.meetings} | ({"world"} if job.messages else set()))
    assert (found["clocks"]["contradicted_by"], found["clocks"]["by_durations"]) == (0, False)


def check_waits(reference, found):
    told = {(w["kind"], w["call"], w["communicator"], w["bytes_up_to"]): (w["waits"], w["time_us"], w["longest_us"])
            for w in found["waits"]}
    assert told == {(KINDS[kind], *key): (len(waits), sum(waits), max(waits))
                    for (kind, *key), waits in reference.waits.items()}
    times = [w["time_us"] for w in found["waits"]]
    assert times == sorted(times, reverse=True)
    assert found["late_senders"] == [{"from": a, "to": b, "waits": len(waits), "time_us": sum(waits)}
                                     for (a, b), waits in reference.pairs.items()]


def check_collectives(reference, found):
    told = {(c["collective"], c["communicator"], c["ranks"], c["bytes_up_to"]): c for c in found["collectives"]}
    assert len(told) == len(found["collectives"]) == len(reference.classes)
    for (word, group, ranks, size, call), calls in reference.classes.items():
        c, transfer = told[word, group, ranks, size], statistics.median(c[1] for c in calls)
        assert (c["calls"], c["median_us"], c["skew_us"]) == (
            len(calls), transfer, statistics.median(c[2] for c in calls))
        bandwidth = statistics.mean(c[0] for c in calls) * CALLS[call][2](ranks) / transfer / 1e3
        assert (c["bus_GB_per_s"] or 0) == pytest.approx(bandwidth)
    times = [c["median_us"] * c["calls"] for c in found["collectives"]]
    assert times == sorted(times, reverse=True)


def check_ranks(job, reference, found):
    for rank, (r, told) in enumerate(zip(reference.ranks, found["ranks"], strict=True)):
        time = sum(step[rank] for step in job.steps)
        assert told == {
            "rank": rank, "node": "node", "collectives": r["collectives"], "times_last": r["times_last"],
            "late_us": pytest.approx(r["late"] / max(1, r["collectives"])), "caused_us": r["caused"],
            "waited_us": r["waited"], "waited_for_messages_us": r["messages"],
            "useful_us": time - reference.communicated(rank), "time_us": time}


def check_efficiency(job, reference, found):
    def of(step=None):
        times = [sum(s[rank] for i, s in enumerate(job.steps) if step in (None, i)) for rank in range(RANKS)]
        useful = [times[rank] - reference.communicated(rank, step) for rank in range(RANKS)]
        return max(times), statistics.mean(useful), max(useful)

    longest, mean, most = of()
    communication = most / longest
    moved = statistics.mean(r["transfer"] for r in reference.ranks)
    transfer = max(communication, 1 - moved / longest)
    assert found["efficiency"] == {
        "parallel": pytest.approx(mean / longest), "load_balance": pytest.approx(mean / most),
        "communication": pytest.approx(communication), "transfer": pytest.approx(transfer),
        "serialization": pytest.approx(communication / transfer)}
    assert len(found["steps"]) == len(job.steps)
    for step, told in enumerate(found["steps"]):
        longest, mean, most = of(step)
        assert told == {"step": step, "time_us": longest, "parallel": pytest.approx(mean / longest),
                        "load_balance": pytest.approx(mean / most)}


@pytest.mark.parametrize("seed", range(1, 11))
def test_numbers(seed, tmp_path):
    job = Job(seed)
    reference, found = Reference(job), study(job.write(tmp_path / "job"))
    check_head(job, found)
    check_waits(reference, found)
    check_collectives(reference, found)
    check_ranks(job, reference, found)
    check_efficiency(job, reference, found)


def limit(directory, text):
    """What `--fail-if` says that the number is; None: it does not fail."""
    done = subprocess.run([BUILD / "tools/hipboard/hipboard", "ranks", "--fail-if", text, directory],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    name = text.split()[0]
    told = [line for line in (done.stdout + done.stderr).splitlines() if f"{name} is " in line]
    assert len(told) == done.returncode
    return float(told[0].split(f"{name} is ")[1].split()[0]) if told else None


def test_limits_are_of_the_numbers(tmp_path):
    job = Job(5)
    found, reference = study(job.write(tmp_path / "job")), Reference(job)
    waiting = sum(map(sum, reference.waits.values())) / sum(map(sum, job.steps))
    for name, value in [("parallel_efficiency", found["efficiency"]["parallel"]),
                        ("load_balance", found["efficiency"]["load_balance"]),
                        ("communication_efficiency", found["efficiency"]["communication"]), ("waiting", waiting)]:
        assert limit(tmp_path / "job", f"{name} > 0.1%") == pytest.approx(100 * value, abs=.06)
        assert limit(tmp_path / "job", f"{name} < 2") == pytest.approx(value, rel=1e-3)
        assert limit(tmp_path / "job", f"{name} > 1") is None
        assert limit(tmp_path / "job", f"{name} < 0%") is None
    assert limit(tmp_path / "job", "late_ranks < 1") == limit(tmp_path / "job", "missing_ranks < 1") == 0
    next((tmp_path / "job").glob("node_1002.*")).unlink()
    assert limit(tmp_path / "job", "missing_ranks > 0") == 1


def write_steps(directory, times):
    """Of each rank how long its steps take, from the fifth on."""
    directory.mkdir()
    for rank, own in enumerate(times):
        events = [made_ranks.EVENT % ("user_annotation", f"ProfilerStep#{step + 5}", rank, 1000 + 2000 * step, took, step + 1, "")
                  for step, took in enumerate(own)]
        (directory / f"node_{rank}.1.pt.trace.json").write_text(
            '{"schemaVersion":1,"distributedInfo":{"backend":"mpi","rank":%d,"world_size":2},"traceEvents":[%s]}' % (
                rank, ",".join(events)))


@pytest.mark.parametrize("more, at", [(0, None), (300, 6), (-300, 6), (300, 8), (300, 11)])
def test_where_steps_begin_to_take_another_time(more, at, tmp_path):
    """Of twelve; three at least have to be on each side."""
    chance = random.Random(2)
    times = [[1000 + chance.randrange(20) + (more if at is not None and step >= at else 0) for step in range(12)]
             for _ in range(2)]
    write_steps(tmp_path / "job", times)
    longest = [max(pair) for pair in zip(*times)]
    change = study(tmp_path / "job")["change"]
    if at in (None, 11):
        assert change is None
    else:
        assert change == {"step": at + 5, "before_us": statistics.median(longest[:at]),
                          "after_us": statistics.median(longest[at:])}


@pytest.mark.parametrize("apart, least", [(20, 5 * 1.4826 / math.sqrt(2) * 20), (2, .05 * 1001)])
def test_what_is_noise_is_no_change(apart, least, tmp_path):
    """Steps take turns: each is so far from the next. A change is five times that noise, as their differences tell
    it (1.4826: of a median to a standard deviation), and a twentieth of a step."""
    for name, more in ("less", int(least)), ("more", int(least) + 1):
        times = [[1000 + step % 2 * apart + (more if step >= 6 else 0) for step in range(12)]] * 2
        write_steps(tmp_path / name, times)
        change = study(tmp_path / name)["change"]
        assert (change and change["step"]) == (11 if name == "more" else None)


@pytest.mark.parametrize("other", ["gloo:all_gather", "gloo:gather"])
def test_who_is_in_something_else_is_not_in_it(other, tmp_path):
    """Of forty collectives one rank's eighth is another, whose name may be as long."""
    made_ranks.write(tmp_path / "job", 4, steps=4)
    [path] = (tmp_path / "job").glob("*_1002.*")
    parts = path.read_text().split("gloo:all_reduce")
    path.write_text("gloo:all_reduce".join(parts[:8]) + other + "gloo:all_reduce".join(parts[8:]))
    assert sorted((c["ranks"], c["calls"]) for c in study(tmp_path / "job")["collectives"]) == [(3, 1), (4, 39)]


def aligned(job, out, how):
    return subprocess.run([BUILD / "tools/hipboard/hipboard", "convert", "--align", how, "-o", out, job], capture_output=True, text=True)


def collectives_of(path):
    return [(e["ts"], e["ts"] + e["dur"]) for e in json.loads(path.read_text())["traceEvents"] if e["name"] == "gloo:all_reduce"]


def test_clocks_stand_where_collectives_leave_the_most_room(tmp_path):
    """A node three seconds ahead: nobody has left before all have come, so each collective bounds what it is."""
    made_ranks.write(tmp_path / "job", 4, per_node=2, clock=lambda node: 3e6 * node, steps=8)
    assert aligned(tmp_path / "job", tmp_path / "out", "collectives").returncode == 0
    ranks = [collectives_of(path) for path in sorted((tmp_path / "job").iterdir())]
    least = max(own[0] - other[1] for a in ranks[:2] for b in ranks[2:] for own, other in zip(a, b))
    most = min(own[1] - other[0] for a in ranks[:2] for b in ranks[2:] for own, other in zip(a, b))
    told = [json.loads(path.read_text()).get("hipboard_clock") for path in sorted((tmp_path / "out").iterdir())]
    assert told[:2] == [None, None] and told[2] == told[3] and least < -3e6 < most
    assert (told[2]["method"], told[2]["reference_rank"], told[2]["drift_ps_per_s"]) == ("collectives", 0, 0)
    assert told[2]["offset_ns"] == pytest.approx(500 * (least + most), abs=1.5)
    # A little more than if no clock could drift.
    assert 500 * (most - least) <= told[2]["bound_ns"] < 510 * (most - least)


def test_clocks_that_nothing_compares_are_refused(tmp_path):
    made_ranks.write(tmp_path / "job", 4, per_node=2, clock=lambda node: 3e6 * node)
    for path in (tmp_path / "job").glob("node1_*"):
        path.write_text(path.read_text().replace("gloo:all_reduce", "its own"))
    done = aligned(tmp_path / "job", tmp_path / "out", "collectives")
    assert done.returncode == 1 and not (tmp_path / "out").exists()
    assert "no blocking collective of all has ranks of both node1 and node0" in done.stderr
    assert aligned(tmp_path / "job", tmp_path / "out", "force").returncode == 0
    assert not [path for path in (tmp_path / "out").iterdir() if "hipboard_clock" in path.read_text()]


def test_cycles_of_a_rank_are_in_the_order_of_time(tmp_path):
    """Whatever their files are called: what has no number is the same one by its place in the same cycle."""
    tmp_path.joinpath("job").mkdir()
    for rank in range(2):
        for cycle in range(2):
            start = 1000 + 100_000 * cycle
            events = [made_ranks.EVENT % ("user_annotation", f"ProfilerStep#{cycle}", rank, start, 5000, 1, ""),
                      made_ranks.EVENT % ("user_annotation", "gloo:all_reduce", rank, start + 100 + 7 * rank, 50, 2,
                                          made_ranks.INPUTS)]
            (tmp_path / f"job/node_{rank}.{5 + cycle if rank else 9 - cycle}.pt.trace.json").write_text(
                '{"schemaVersion":1,"distributedInfo":{"backend":"gloo","rank":%d,"world_size":2},"traceEvents":[%s]}' % (
                    rank, ",".join(events)))
    found = study(tmp_path / "job")
    assert (found["traces"], found["ranks_found"], found["collectives_found"]) == (4, 2, 2)
    [collective] = found["collectives"]
    assert (collective["calls"], collective["skew_us"]) == (2, 7)


def test_digests_replace_those_that_were_there(tmp_path):
    for seed in 1, 2:
        job = Job(seed).write(tmp_path / str(seed))
        subprocess.run([BUILD / "tools/hipboard/hipboard", "ranks", "-o", tmp_path / "kept.hbranks", job], check=True,
                       capture_output=True, timeout=600)
        assert study(tmp_path / "kept.hbranks") == study(job)


def table(told):
    return sorted(map(tuple, told["rows"]))


def check_cells(job, reference, cells):
    assert (cells["marked"], cells["ranks"], cells["steps"]) == (True, list(range(RANKS)), list(range(5)))
    assert cells["workers"] == [f"node_{1000 + rank}" for rank in range(RANKS)]
    for i, (rank, step) in enumerate((rank, step) for rank in range(RANKS) for step in range(5)):
        assert cells["time"][i] == job.steps[step][rank]
        assert cells["communication"][i] == reference.communicated(rank, step)
        caused = 0
        for m in job.meetings:
            last = max(m.came, key=lambda c: c.start)
            if m.step == step and last.rank == rank and CALLS[m.call][1] in ("all", "barrier"):
                caused += sum(last.start - c.start for c in m.came if c is not last and c.end > last.start)
        assert cells["caused"][i] == caused


def check_traffic(job, told):
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for m in job.messages:
        sums[0, 1] = [a + b for a, b in zip(sums[0, 1], (1, m.size, m.sent.end - m.sent.start))]
    assert table(told["messages"]) == sorted((*key, *value) for key, value in sums.items())
    sums.clear()
    for m in job.meetings:
        for c in m.came:
            key = c.rank, CALLS[m.call][0], m.group
            sums[key] = [a + b for a, b in zip(sums[key], (1, m.elements * SIZES[m.dtype], c.end - c.start))]
    assert table(told["collectives"]) == sorted((*key, *value) for key, value in sums.items())


@pytest.mark.parametrize("seed", [3, 4, 11])
def test_numbers_of_the_page(seed, tmp_path):
    job = Job(seed)
    page = Page(job.write(tmp_path / "job"))
    name = json.loads(page.ask("hb/about")[1])["traces"][0]["id"]
    told = json.loads(page.ask(f"hb/ranks?trace={quote(name)}")[1])["study"]
    page.close()
    check_cells(job, Reference(job), told["cells"])
    check_traffic(job, told)
    assert told["report"] == study(tmp_path / "job") and told["notes"] == [] and not told["traffic_cut"]
