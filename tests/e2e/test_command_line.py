# SPDX-License-Identifier: MIT
"""What commands say of command lines, whole: what is wrong with them, what was left out, defaults, one thing and many. It stands
in command_line.txt as `hipboard` printed it, and was read; what is printed of traces stands in whole_outputs.txt."""
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from support import BUILD
from test_page_whole import made
from test_texts import event, memory
from test_whole_outputs import HIPBOARD, ask, write

# "$ command", what it prints, "2> " in front of what it says on standard error, "= " and its exit status.
SAID = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", Path(__file__).with_name("command_line.txt").read_text(), re.M)


def put(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))


def older():
    """Memory that was there before, and whose operators are known or not."""
    events = [event("user_annotation", "ProfilerStep#1", 1, 1, 0, 1000), event("cpu_op", "aten::mm", 1, 1, 100, 300),
              memory(50, 16, 4096, 1, 9192), memory(150, 32, 1024, 1, 10216), memory(200, 64, -2048, 1, 8168),
              memory(500, 80, -1000, 1, 7168), memory(600, 16, -4096, 1, 3072), memory(700, 48, 512, -1, 512)]
    for at, address, size, owner in (1, 96, 1500, "resident"), (1, 112, 300, ""), (2, 128, 100, "resident"):
        events.append(memory(at, address, size, 1, 5096))
        events[-1]["args"]["Allocated by"] = owner
    return {"schemaVersion": 1, "traceEvents": events}


def both():
    """Of the host and two GPUs some memory was there before, of a third none."""
    events = [event("user_annotation", "ProfilerStep#1", 1, 1, 0, 1000)]
    for i, (device, before) in enumerate(((-1, 700), (0, 300), (2, 0), (1, 500))):
        events.append(memory(100 + i, 16 * (i + 1), 64, device, before + 64))
    return {"schemaVersion": 1, "traceEvents": events}


def steps(*lengths):
    at, events = 0, []
    for i, length in enumerate(lengths):
        events += [event("user_annotation", f"ProfilerStep#{i}", 1, 1, at, length), event("cpu_op", "a", 1, 1, at + 1, length - 2)]
        at += length
    return {"schemaVersion": 1, "traceEvents": events}


def stacked():
    """Two calls of each of two stacks, with memory; one that has none."""
    events = [event("user_annotation", "ProfilerStep#1", 1, 1, 0, 1000)]
    for i, stack in enumerate(("a.py(1): f;b.py(2): g;c.py(3): h", "b.py(2): g;c.py(3): h", None) * 2):
        args = {"External id": i + 1} | ({"Call stack": stack} if stack else {})
        events += [event("cpu_op", f"aten::op{i % 3}", 1, 1, 10 + 100 * i, 50 + i, **args), memory(20 + 100 * i, 16 * i + 16, 64 + i, -1, 64 + i)]
    return {"schemaVersion": 1, "traceEvents": events}


def contradicting(directory, collectives):
    """Two ranks that leave each collective before the other one has come, now this one and now that."""
    for rank in range(2):
        events = [event("user_annotation", "ProfilerStep#1", 1, 1, 0, 90000)]
        for i in range(collectives):
            events.append(event("cpu_op", "gloo:all_reduce", 1, 1, 10000 * i + (5000 if i % 2 == rank else 0), 100, **{
                "Collective name": "allreduce", "In msg nelems": 64, "dtype": "Float", "Group size": 2, "Process Group Name": "0",
                "Seq": i + 1}))
        put(directory / f"h{rank}_{rank}.1.pt.trace.json",
            {"schemaVersion": 1, "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": 2}, "traceEvents": events})


def ranks(directory, world, late=0):
    """Of each rank three steps with a collective that lasts until all have come; the clock of the last rank is `late` us late."""
    for rank in range(world):
        events = []
        for step in range(3):
            at = 10000 * step + (late if rank == world - 1 else 0)
            events += [event("user_annotation", f"ProfilerStep#{step}", 1, 1, at, 9000),
                       event("cpu_op", "aten::mm", 1, 1, at + 10, 1000 + 300 * rank),
                       event("cpu_op", "gloo:all_reduce", 1, 1, at + 1200 + 300 * rank, 3000 - 300 * rank,
                             **{"Collective name": "allreduce", "In msg nelems": 64, "dtype": "Float", "Group size": world,
                                "Process Group Name": "0", "Seq": step + 1})]
        put(directory / f"h{rank % 2}_{rank}.1.pt.trace.json",
            {"schemaVersion": 1, "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": world}, "traceEvents": events})


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """As for whole_outputs.txt; runs: a log directory of two runs and three spans; many: 33 ranks; beside them odd files."""
    d = write(tmp_path_factory.mktemp("line"))
    for name in "one/w.1", "one/w.2", "two/v.1":
        put(d / f"runs/{name}.pt.trace.json", (d / "t.pt.trace.json").read_text())
    put(d / "steps.json", {"traceEvents": [event("user_annotation", "ProfilerStep#0", 1, 1, 0, 100)]})
    put(d / "old.json", older())
    put(d / "both.json", both())
    put(d / "stacked.json", stacked())
    put(d / "left/.h_1.5.hbspool", "nothing of ours")
    contradicting(d / "against", 6)
    contradicting(d / "silent", 0)
    for name, s in ("future", 2500000000), ("past", -5):
        put(d / name, "")
        os.utime(d / name, (s, s))
    for name in [f"alike/h_{i}" for i in range(33)] + ["r/h_1"]:
        put(d / f"{name}.1.pt.trace.json", steps(100, 100))
    for name, lengths in ("many", (100, 120, 110)), ("long", (200,)):
        put(d / f"means/{name}/h_1.1.pt.trace.json", steps(*lengths))
    put(d / "empty.json", '{"traceEvents": []}')
    put(d / "cut.json", (d / "u.pt.trace.json").read_text()[:-900])
    put(d / "unsampled.json", made() | {"hipboard_kernel_sampling": 1})
    put(d / "sampled.json", made() | {"hipboard_kernel_sampling": 2})
    put(d / "text.json", '{"traceEvents": 5}')
    put(d / "odd/a.1.pt.trace.json", '{"traceEvents": 5}')
    put(d / "odd/b.1.pt.trace.json", (d / "t.pt.trace.json").read_text())
    for name in "none", "ask1", "ask2", "ask3", "ask4":
        (d / name).mkdir()
    for name in "kept.pftrace", "kept.hbpack", "kept/t.pt.trace.json", "kept/one/w.1.pt.trace.json":
        put(d / name, "of another day")
    ranks(d / "many", 33)
    ranks(d / "few", 3)
    ranks(d / "late", 4, 700)
    ranks(d / "mixed", 2)
    put(d / "mixed/x.1.pt.trace.json", (d / "steps.json").read_text())
    put(d / "alone/x.1.pt.trace.json", (d / "steps.json").read_text())
    for words in (["ranks", "-o", "few.hbranks", "few"], ["pack", "runs", "-o", "p.hbpack"], ["pack", "runs/two", "-o", "single.hbpack"],
                  ["pack", "t.pt.trace.json", "-o", "nothing.hbpack", "--steps", "9:9"], ["export", "t.pt.trace.json", "-o", "rocpd.db"],
                  ["export", "job/w0.pt.trace.json", "-o", "rank.pftrace"], ["export", "steps.json", "-o", "host.pftrace"]):
        subprocess.run([HIPBOARD, *words], cwd=d, check=True, capture_output=True, timeout=600)
    return d


def plain(text, directory):
    """Without what the day, the machine and its libraries change."""
    text = text.replace(f"{directory}/", "")
    if ".hbpack" in text:
        text = re.sub(r'("(?:bytes|stored)": )\d+', r"\1N", text)
    return re.sub(r"has \d{6} bytes", "has N bytes", re.sub(r"\.\d{19}\.", ".N.", text))


@pytest.mark.parametrize("words, said", SAID, ids=[words for words, _ in SAID])
def test_what_is_said_of_a_command_line(words, said, directory):
    """Each by itself, in any order: what they write has a name of its own."""
    assert plain(ask(directory, words), directory) == said
