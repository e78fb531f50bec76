# SPDX-License-Identifier: MIT
"""`hipboard view` and `hipboard check` on the trace that real PyTorch wrote."""
import csv
import gzip
import io
import json
import shutil
import subprocess

import pytest

from support import BUILD, ROOT

TORCH = ROOT / "tests/data/torch-2.13-cpu.pt.trace.json"


def hipboard(*arguments, stdin=None):
    return subprocess.run([BUILD / "tools/hipboard/hipboard", *map(str, arguments)],
                          capture_output=True, input=stdin, timeout=60)


def rows(*arguments):
    done = hipboard("view", "--csv", "--top", 0, *arguments)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout.decode())))


def test_operators_are_the_plugins():
    table = json.loads(hipboard("view", "--view", "operator", "--json", TORCH).stdout)["data"]
    seen = {row["Operator"]: row for row in rows("--view", "operator", TORCH)}
    assert len(seen) == len(table) > 5
    for row in table:
        assert int(seen[row["name"]]["Calls"]) == row["calls"]
        assert round(float(seen[row["name"]]["Host total (us)"])) == row["host_total_duration"]


@pytest.mark.parametrize("view", ["overview", "steps", "operator", "kernel", "memory", "module"])
def test_a_pipe_gives_what_the_file_gives(view):
    from_file = hipboard("view", "--view", view, TORCH)
    from_pipe = hipboard("view", "--view", view, "-", stdin=gzip.compress(TORCH.read_bytes()))
    assert from_file.returncode == from_pipe.returncode == 0, from_file.stderr
    assert from_file.stdout == from_pipe.stdout


def test_filters():
    names = [row["Operator"] for row in rows("--view", "operator", "--name", "^aten::(mm|addmm)$",
                                             TORCH)]
    assert names and set(names) <= {"aten::mm", "aten::addmm"}
    text = hipboard("view", "--view", "operator", "--top", 2, TORCH).stdout.decode().splitlines()
    assert len(text) == 4 and text[-1].endswith("more)")
    [step] = [row["Step"] for row in rows("--view", "steps", TORCH)][:1]
    assert [row["Step"] for row in rows("--view", "steps", "--step", step, TORCH)] == [step]


def test_a_cut_file_is_shown_and_the_cut_is_told(tmp_path):
    cut = tmp_path / "cut.json"
    cut.write_bytes(TORCH.read_bytes()[:TORCH.stat().st_size // 2])
    done = hipboard("view", "--view", "operator", cut)
    assert done.returncode == 0 and b"aten::" in done.stdout
    assert b"the text ends too early" in done.stderr


@pytest.mark.parametrize("arguments", [["--view", "nothing"], ["--name", "("], ["--top", "x"], [],
                                       ["--nonsense"]])
def test_wrong_usage(arguments):
    done = hipboard("view", *arguments, *([TORCH] if arguments else []))
    assert done.returncode == 2 and b"--help" in done.stderr and not done.stdout


def test_check_passes_what_the_plugin_shows(tmp_path):
    shutil.copy(TORCH, tmp_path / "w_1.1.pt.trace.json")
    done = hipboard("check", tmp_path)
    assert done.returncode == 0, done.stdout
    assert b"no view Kernel" in done.stdout and b"lost" not in done.stdout


def test_check_tells_what_is_lost(tmp_path):
    shutil.copy(TORCH, tmp_path / "w_1.1.pt.trace.json")
    (tmp_path / "w_2.1.pt.trace.json").write_bytes(TORCH.read_bytes()[:-10])
    done = hipboard("check", tmp_path)
    assert done.returncode == 1
    assert b"w_2.1.pt.trace.json: byte" in done.stdout
    assert hipboard("check", tmp_path / "nothing").returncode == 1
