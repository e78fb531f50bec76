# SPDX-License-Identifier: MIT
"""All that commands print of a trace made so that no two of its numbers are one by chance: what stands in
whole_outputs.txt was printed by `hipboard` itself, and read in part. A change of what people see shows here; a column of another's
numbers, a unit, a default or an option that is forgotten shows here."""
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from support import BUILD, ROOT
from test_page_answers import Page
from test_page_whole import made

HIPBOARD = BUILD / "tools/hipboard/hipboard"
# "$ command", what it prints, "2> " in front of what it says on standard error, "= " and its exit status.
OUTPUTS = dict(re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", Path(__file__).with_name("whole_outputs.txt").read_text(), re.M))


def write(directory):
    """DATA: files of other tools, and of PyTorch; t: the trace; u: the same with more to do, a kernel less and another operator; job: both as ranks of one."""
    shutil.copytree(ROOT / "tests/data", directory / "DATA")
    for path in (directory / "DATA").rglob("*"):  # what has no time of day has its file's
        os.utime(path, ns=(0, 1700000100123456789))
    later = made()
    for e in later["traceEvents"]:
        if e["name"] == "relu_kernel":
            e["dur"] += 400
        if e["name"] == "aten::zero_":
            e["name"] = "aten::fill_"
        if e["name"] in ("aten::mm", "Cijk_other_gemm"):
            e["dur"] += 77
    later["traceEvents"] = [e for e in later["traceEvents"] if not e["name"].startswith("Memset")]
    for name, document in ("t", made()), ("u", later):
        (directory / f"{name}.pt.trace.json").write_text(json.dumps(document))
    (directory / "job").mkdir()
    for rank, document in enumerate((made(), later)):
        document["distributedInfo"] |= {"rank": rank, "world_size": 3}
        for e in document["traceEvents"]:
            if e["name"].startswith("nccl"):
                e["ts"] += 100 * rank
                e["dur"] -= 50 * rank
        (directory / f"job/w{rank}.pt.trace.json").write_text(json.dumps(document))
    return directory


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return write(tmp_path_factory.mktemp("outputs"))


def ask(directory, words):
    done = subprocess.run([HIPBOARD, *shlex.split(words)], cwd=directory, capture_output=True, text=True,
                          timeout=600)
    said = "".join(f"2> {line}\n" for line in done.stderr.replace(f"{directory}/", "").splitlines())
    return f"{done.stdout}{'' if done.stdout.endswith(chr(10)) else chr(10)}{said}= {done.returncode}\n"


@pytest.mark.parametrize("words", OUTPUTS)
def test_the_whole_output(words, directory):
    assert ask(directory, words) == OUTPUTS[words]


def test_the_page_has_the_ranks_as_view_has_them(directory):
    page = Page(directory / "job")
    [first, _] = json.loads(page.ask("hb/about")[1])["traces"]
    answer = json.loads(page.ask(f"hb/ranks?trace={quote(first['id'], safe='')}")[1])
    page.close()
    shown = json.loads(OUTPUTS["view --view distributed --json job"].splitlines()[0])
    for key, title in ("averages", "Average step"), ("operations", "Collectives"):
        assert answer[key]["title"] == title
        titles = [column[0] for column in answer[key]["columns"]]
        rows = [{name.partition(" (")[0]: value for name, value in row.items()} for row in shown[title]]
        assert [dict(zip(titles, row)) for row in answer[key]["rows"]] == rows
    assert len(answer["steps"]["rows"]) == 8 and answer["workers"] == 2 and answer["left_out"] == []
    for step in answer["steps"]["rows"]:
        _, _, _, computation, overlap, communication, other, _, _, exposed = step
        assert exposed == pytest.approx(100 * communication / (computation + overlap + communication + other))


@pytest.mark.parametrize("share, told", [(99, False), (100, True), (101, True)])
def test_findings_begin_at_their_limits(share, told, tmp_path):
    """A GPU that waits for the data loader, and idles, for a ten-thousandth of its time less than the limit, as much, and one more."""
    limits = {}
    for rule in ("data-loading", "idle"):
        text = (ROOT / "src/common/rules/advice.def").read_text()
        limits[rule] = float(re.search(rf'"{rule}",\s*([0-9.]+)', text)[1])
    for rule, limit in limits.items():
        gap = round(10000 * limit) + share - 100
        spans = [("kernel", "k", 0, 7, 0, 5000), ("kernel", "k", 0, 7, 5000 + gap, 5000 - gap)]
        events = [{"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
                   "args": {"device": 0, "stream": 7, "correlation": i + 1}} for i, (cat, name, pid, tid, ts, dur) in enumerate(spans)]
        events += [{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1, "ts": (0, 5000 + gap)[i] - 1,
                    "dur": 1, "args": {"correlation": i + 1, "External id": i + 1}} for i in range(2)]
        events.append({"ph": "X", "cat": "cpu_op", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "pid": 1,
                       "tid": 1, "ts": 5000, "dur": gap - 1, "args": {}})
        (tmp_path / "t.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
        found = json.loads(subprocess.run([HIPBOARD, "view", "--json", tmp_path / "t.pt.trace.json"], capture_output=True,
                                          text=True, timeout=600).stdout.splitlines()[0]).get("Findings", [])
        assert (rule in [f["Finding"] for f in found]) == told, (rule, found)
