# SPDX-License-Identifier: MIT
"""Traces of many ranks with a late one that is known, as no writer of ours makes them."""
import random

EVENT = ('{"ph":"X","cat":"%s","name":"%s","pid":%d,"tid":1,"ts":%.3f,"dur":%.3f,'
         '"args":{"External id":%d%s}}')
INPUTS = ',"Input Dims":[[1024]],"Input type":["float"]'
PERIOD = 120.0  # us between the ends of two collectives


def write(directory, ranks, late=None, lateness=40.0, steps=5, collectives=10, seed=1, per_node=8,
          clock=lambda node: 0.0, leave_out=(), noise=None, info=True, late_steps=None,
          late_at=None):
    """The truth: how long the others wait for the last one to come, by who that is, in us."""
    directory.mkdir(parents=True, exist_ok=True)
    chance = random.Random(seed)
    noise = noise or (lambda: chance.uniform(50, 60))
    work = [[noise() + (lateness if r == late and (late_steps is None or c // collectives in late_steps)
                        and (late_at is None or c % collectives in late_at) else 0)
             for c in range(steps * collectives)] for r in range(ranks)]
    for rank in range(ranks):
        if rank not in leave_out:
            path = directory / f"node{rank // per_node}_{1000 + rank}.1700000000000000000.pt.trace.json"
            path.write_text(trace(rank, ranks, work[rank], steps, collectives,
                                  clock(rank // per_node), info))
    caused = {}
    for c in range(steps * collectives):
        column = [work[r][c] for r in range(ranks) if r not in leave_out]
        last = max((r for r in range(ranks) if r not in leave_out), key=lambda r: work[r][c])
        caused[last] = caused.get(last, 0) + sum(work[last][c] - w for w in column)
    return caused


def trace(rank, ranks, work, steps, collectives, clock, info):
    events, number, pid = [], 1, 1000 + rank
    for step in range(steps):
        begin = 1000.0 + clock + step * (collectives * PERIOD + 5)
        events.append(EVENT % ("user_annotation", f"ProfilerStep#{step}", pid, begin - .5,
                               collectives * PERIOD + 1, number, ""))
        number += 1
        for c in range(collectives):
            at, took = begin + c * PERIOD, work[step * collectives + c]
            events.append(EVENT % ("cpu_op", "work", pid, at, took, number, ""))
            events.append(EVENT % ("user_annotation", "gloo:all_reduce", pid, at + took,
                                   PERIOD - took, number + 1, INPUTS))
            number += 2
    told = f'"distributedInfo":{{"backend":"mpi","rank":{rank},"world_size":{ranks}}},' if info else ""
    return '{"schemaVersion":1,%s"baseTimeNanoseconds":0,"traceEvents":[%s]}' % (
        told, ",\n".join(events))


def write_messages(directory, steps=6, sender_works=500.0, receiver_works=100.0):
    """Rank 0 sends one message a step to rank 1, which waits for it from when its own work is done."""
    directory.mkdir(parents=True, exist_ok=True)
    keys = ',"Collective name":"%s","dtype":"Byte","Group size":2,"Process Group Name":"0","tag":7,"bytes":64,"%s":%d'
    come = max(sender_works, receiver_works) + 10
    for rank, works, name, word, peer in [(0, sender_works, "MPI_Send", "send", "Dst Rank"),
                                          (1, receiver_works, "MPI_Recv", "recv", "Src Rank")]:
        events = []
        for step in range(steps):
            begin, number = 1000.0 + step * 1000, 1 + step * 3
            took = come - works if rank else 10
            events += [
                EVENT % ("user_annotation", f"ProfilerStep#{step}", 1, begin - 1, 900, number, ""),
                EVENT % ("cpu_op", "work", 1, begin, works, number + 1, ""),
                EVENT % ("cpu_op", name, 1, begin + works, took, number + 2, keys % (word, peer, 1 - rank))]
        (directory / f"node_{rank}.1.pt.trace.json").write_text(
            '{"schemaVersion":1,"distributedInfo":{"backend":"mpi","rank":%d,"world_size":2},"traceEvents":[%s]}' % (
                rank, ",".join(events)))


def write_unnumbered(directory, communicators, holes, steps=10, ranks=4):
    """A collective in each communicator of all a step, later by rank; rank 2 lost that of a step in some of them."""
    directory.mkdir(parents=True, exist_ok=True)
    keys = ',"Collective name":"allreduce","dtype":"Float","In msg nelems":4,"Group size":%d,"Process Group Name":"g%d"'
    for rank in range(ranks):
        events = []
        for step in range(steps):
            begin = 1000.0 + step * (communicators * 100 + 200)
            events.append(EVENT % ("user_annotation", f"ProfilerStep#{step}", 1, begin - 1,
                                   communicators * 100 + 1, 1, ""))
            events += [EVENT % ("cpu_op", "MPI_Allreduce", 1, begin + c * 100 + rank, 50 - rank, 1, keys % (ranks, c))
                       for c in range(communicators) if (rank, step) != (2, 4) or c not in holes]
        (directory / f"node_{rank}.1.pt.trace.json").write_text(
            '{"schemaVersion":1,"distributedInfo":{"backend":"mpi","rank":%d,"world_size":%d},"traceEvents":[%s]}' % (
                rank, ranks, ",\n".join(events)))


def write_pairs(directory, ranks, communicators, steps=4):
    """Each two ranks have so many communicators of their own, and a collective in each of them a step."""
    directory.mkdir(parents=True, exist_ok=True)
    keys = (',"Collective name":"allreduce","dtype":"Float","In msg nelems":4,"Group size":2,'
            '"Process Group Name":"%d.%d","Seq":%d')
    for rank in range(ranks):
        events, number = [], 1
        for step in range(steps):
            begin = 1000.0 + step * (communicators * 10 + 10)
            events.append(EVENT % ("user_annotation", f"ProfilerStep#{step}", 1, begin - 1,
                                   communicators * 10 + 2, number, ""))
            events += [EVENT % ("cpu_op", "MPI_Allreduce", 1, begin + c * 10 + rank % 2, 5 - rank % 2,
                                number + 1 + c, keys % (rank // 2, c, step + 1))
                       for c in range(communicators)]
            number += communicators + 1
        (directory / f"node_{rank:02}.1.pt.trace.json").write_text(
            '{"schemaVersion":1,"distributedInfo":{"backend":"mpi","rank":%d,"world_size":%d},"traceEvents":[%s]}' % (
                rank, ranks, ",\n".join(events)))
