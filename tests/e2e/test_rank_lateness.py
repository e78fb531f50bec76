# SPDX-License-Identifier: MIT
"""Who of a job's ranks is named as late, why, and what a step would take without: of random jobs beside the same
found here from what the ranks did, by the definitions of share/doc/hipboard/ranks.md."""
import math
import random
import statistics

import pytest

import made_ranks
from test_rank_numbers import study

KINDS = {"cpu": "compute", "loader": "data loading", "kernel": "device slow", "gap": "host late"}
NAMES = {"a": "cpu", "b": "cpu", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__": "loader",
         "gemm_kernel": "kernel", "": "gap"}


class Job:
    """Steps of collectives that all wait for all in; `pairs`: some are of one half of the ranks alone."""

    def __init__(self, ranks, steps, collectives, work, pairs=False):
        self.ranks, self.steps = range(ranks), steps
        self.events = [[] for _ in self.ranks]
        self.meetings = []  # (step, {rank: start}, end)
        self.roles = [dict.fromkeys(KINDS, 0) for _ in self.ranks]
        self.costs = [dict.fromkeys(NAMES, 0) for _ in self.ranks]
        now, sequence = [1000] * ranks, {"0": 0, "1": 0}
        for step in range(steps):
            begin = list(now)
            for collective in range(collectives):
                group = "1" if pairs and collective % 2 else "0"
                members = [rank for rank in self.ranks if group == "0" or rank < ranks // 2]
                sequence[group] += 1
                starts = {}
                for rank in members:
                    for name, took in work(rank, step, collective):
                        self.work(rank, name, now[rank], took)
                        now[rank] += took
                    starts[rank] = now[rank]
                end = max(starts.values()) + 10
                for rank in members:
                    self.add(rank, "cpu_op", "MPI_Allreduce", starts[rank], end - starts[rank], (
                        ',"Collective name":"allreduce","dtype":"Float","In msg nelems":64,"Out msg nelems":64,'
                        f'"Group size":{len(members)},"Process Group Name":"{group}","Seq":{sequence[group]}'))
                    now[rank] = end
                self.meetings.append((step, starts, end))
            for rank in self.ranks:
                self.add(rank, "user_annotation", f"ProfilerStep#{step}", begin[rank], max(now) - begin[rank])
            now = [max(now)] * ranks

    def add(self, rank, cat, name, start, took, more=""):
        self.events[rank].append(made_ranks.EVENT % (cat, name, 1000 + rank, start, took, len(self.events[rank]) + 1, more))

    def work(self, rank, name, start, took):
        kind = NAMES[name]
        self.roles[rank][kind] += took
        self.costs[rank][name] += took
        if kind == "kernel":
            self.events[rank].append('{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%d,"dur":%d,"args":{"device":0,'
                                     '"stream":7,"correlation":%d}}' % (name, start, took, len(self.events[rank]) + 1))
        elif kind != "gap" and took:
            self.add(rank, "cpu_op" if kind == "cpu" else "user_annotation", name, start, took)

    def write(self, directory):
        directory.mkdir()
        for rank in self.ranks:
            (directory / f"node_{1000 + rank}.1.pt.trace.json").write_text(
                '{"schemaVersion":1,"distributedInfo":{"backend":"mpi","rank":%d,"world_size":%d},"traceEvents":[%s]}' % (
                    rank, len(self.ranks), ",".join(self.events[rank])))
        return directory


def tail(hits, trials, p):
    """How likely so many are, or more."""
    return sum(math.comb(trials, k) * p ** k * (1 - p) ** (trials - k) for k in range(hits, trials + 1))


class Reference:
    def __init__(self, job):
        self.job, n = job, len(job.ranks)
        self.entered, self.last, self.expected, self.caused, self.late = ([0] * n for _ in range(5))
        self.last_in = [[0] * job.steps for _ in job.ranks]
        self.caused_in = [[0] * job.steps for _ in job.ranks]
        self.meetings_in = [0] * job.steps
        for step, starts, _ in job.meetings:
            last = max(starts, key=lambda rank: (starts[rank], -rank))
            middle = statistics.median(starts.values())
            for rank, start in starts.items():
                self.entered[rank] += 1
                self.expected[rank] += 1 / len(starts)
                self.late[rank] += start - middle
            cost = sum(starts[last] - start for start in starts.values())
            self.last[last] += 1
            self.caused[last] += cost
            self.last_in[last][step] += 1
            self.caused_in[last][step] += cost
            self.meetings_in[step] += 1

    def beyond_chance(self, rank):
        p, n = self.expected[rank] / self.entered[rank], len(self.job.ranks)
        if tail(self.last[rank], self.entered[rank], p) > 1e-4 / n:
            return False
        worst = sorted(range(self.job.steps), key=lambda step: -self.last_in[rank][step])[:2]
        rest = self.last[rank] - sum(self.last_in[rank][step] for step in worst)
        trials = max(rest, self.entered[rank] - sum(self.meetings_in[step] for step in worst if self.last_in[rank][step]))
        return rest > 0 and tail(rest, trials, p) < 1e-3 / n

    def worst_beyond_chance(self, rank):
        n = len(self.job.ranks)
        if any(len(starts) < n for _, starts, _ in self.job.meetings):
            return False
        worst = [max(self.job.ranks, key=lambda r, s=step: (self.caused_in[r][s], -r)) for step in range(self.job.steps)]
        times = worst.count(rank)
        return times * 4 >= len(worst) and tail(times, len(worst), 1 / n) < 1e-4 / n

    def named(self):
        found = [rank for rank in self.job.ranks if self.caused[rank] * 100 >= max(self.caused) and (
            self.beyond_chance(rank) or self.worst_beyond_chance(rank))]
        return sorted(found, key=lambda rank: -self.caused[rank])

    def why(self, rank):
        more = {}
        for kind, word in KINDS.items():
            more[word] = self.job.roles[rank][kind] - statistics.median(roles[kind] for roles in self.job.roles)
        word = max(more, key=more.get)
        return word if more[word] > self.late[rank] / 2 else "inconclusive"

    def operator(self, rank):
        costs = self.job.costs
        more = {name: costs[rank][name] - statistics.median(c[name] for c in costs) for name in NAMES if name}
        name = max(more, key=more.get)
        return (name, more[name] / self.job.steps) if more[name] > 0 else (None, None)

    def gain(self, late):
        """Each comes as much earlier as the one before it ended earlier; the late one when the median one does."""
        earlier = [0] * len(self.job.ranks)
        for _, starts, _ in self.job.meetings:
            at = {rank: start - earlier[rank] for rank, start in starts.items()}
            others = [start for rank, start in at.items() if rank != late]
            last = max(others)
            if late in at:
                last = max(last, min(at[late], statistics.median(others)))
            for rank in at:
                earlier[rank] = max(starts.values()) - last
        return statistics.median(earlier) / self.job.steps

    def told(self):
        found = []
        for rank in self.named()[:8]:
            name, took = self.operator(rank)
            one = {"rank": rank, "node": "node", "times_last": self.last[rank], "collectives": self.entered[rank],
                   "caused_us": self.caused[rank], "share": pytest.approx(self.caused[rank] / sum(self.caused)),
                   "gain_us": pytest.approx(self.gain(rank)), "because": self.why(rank)}
            if name:
                one |= {"operator_name": name, "operator_us": pytest.approx(took)}
            found.append(one)
        return found


def random_work(seed, late):
    """Each of the late ones is so now and then, by one of the kinds of work."""
    chance = random.Random(seed)
    often = {rank: chance.choice([.1, .3, .5, .8]) for rank in late}
    kind = {rank: chance.choice(sorted(NAMES)) for rank in late}

    def work(rank, _step, _collective):
        base = {name: 20 + chance.randrange(6) for name in NAMES}
        if rank in often and chance.random() < often[rank]:
            base[kind[rank]] += 10 + chance.randrange(30)
        return list(base.items())
    return work


@pytest.mark.parametrize("seed", range(12))
def test_who_is_late_and_why(seed, tmp_path):
    ranks, steps = [(8, 6), (8, 12), (5, 20), (12, 9)][seed % 4]
    late = random.Random(seed).sample(range(ranks), 1 + seed % 3)
    job = Job(ranks, steps, 4, random_work(seed, late), pairs=seed % 2 == 1)
    reference, found = Reference(job), study(job.write(tmp_path / "job"))
    assert found["inconclusive"] is None
    assert found["late"] == reference.told()
    assert found["late_found"] == len(reference.named())


@pytest.mark.parametrize("parts, why", [((10, 10, 10, 10), "inconclusive"), ((18, 8, 8, 6), "inconclusive"),
                                        ((24, 6, 6, 4), "compute"), ((4, 26, 6, 4), "data loading"),
                                        ((4, 6, 26, 4), "device slow"), ((4, 6, 4, 26), "host late")])
def test_what_makes_less_than_half_of_it_is_no_reason(parts, why, tmp_path):
    names = "a", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "gemm_kernel", ""

    def work(rank, _step, _collective):
        return [(name, 50 + (rank == 2) * part) for name, part in zip(names, parts)]
    job = Job(6, 8, 4, work)
    reference, found = Reference(job), study(job.write(tmp_path / "job"))
    assert [(late["rank"], late["because"]) for late in found["late"]] == [(2, why)] == [(2, reference.why(2))]
    assert found["late"] == reference.told()
