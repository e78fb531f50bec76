# SPDX-License-Identifier: MIT
"""The first command of the README, in a fresh clone, up to the line that it tells to copy."""
import json
import os
import re
import shlex
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from support import BUILD, ROOT, run


def git(*arguments, **options):
    return run("git", "-c", "safe.directory=*", *arguments, **options)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """What a commit of the tracked files would be. Its Python packages are there already."""
    directory = tmp_path_factory.mktemp("quickstart") / "a clone"
    git("clone", "--quiet", ROOT, directory)
    (directory / ".venv").symlink_to(ROOT / ".venv")
    for name in filter(None, git("ls-files", "-z", "--modified", cwd=ROOT).split("\0")):
        (directory / name).write_bytes((ROOT / name).read_bytes())
    return directory


def test_it_ends_with_a_tensorboard_to_start(clone):
    output = run("bash", clone / "tools/quickstart.sh", cwd="/", timeout=3600)
    accuracies = re.findall(r"accuracy on \d+ held-back digits: ([\d.]+) %", output)
    assert len(accuracies) == 3 and min(map(float, accuracies)) >= 95
    assert re.search(r"^hipboard: .*digits and plate run on (a simulated one|the AMD GPU)", output,
                     re.M)
    runs = {"digits_workers0": 2, "digits_workers2": 2, "digits_hip": 2, "plate": 1}
    for name, traces in runs.items():
        files = sorted((clone / "runs" / name).glob("*.pt.trace.json*"))
        assert len(files) == traces and all(path.name in output for path in files)
    assert git("status", "--porcelain", "--", "runs", "build", cwd=clone) == ""

    command = shlex.split(output.strip().splitlines()[-1])
    assert command[1:] == ["--logdir", str(clone / "runs")]
    board = subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
    try:
        address = next(found.group(1) for line in board.stderr
                       if (found := re.search(r"at (http://localhost:\d+/)", line)))
        url = f"{address}data/plugin/pytorch_profiler/index.html"
        with urllib.request.urlopen(url, timeout=600) as page:
            assert b"<html" in page.read()
    finally:
        os.killpg(board.pid, signal.SIGKILL)  # TensorBoard's data server too
        board.wait(600)

    # What the README has next.
    served = subprocess.Popen([clone / "build/tools/hipboard/hipboard", "serve", "--port", "0", clone / "runs"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address, _, token = served.stdout.readline().strip().partition("#token=")
        assert token, served.stderr.read()
        about = urllib.request.Request(f"{address}hb/about", headers={"X-Hipboard-Token": token})
        with urllib.request.urlopen(about, timeout=600) as answer:
            assert len(json.load(answer)["traces"]) == sum(runs.values())
    finally:
        served.kill()
        served.wait(600)


def test_all_that_the_command_looks_for_is_built():
    listing = run("ninja", "-C", BUILD, "-t", "query", "whole_command")
    parts = {Path(line.strip()).name.removesuffix(".so").split(".so.")[0] for line in listing.splitlines()}
    assert parts >= {"hipboard", "hipboard-digest", "hipboard-symbolizer", *(f"libhipboard-{part}" for part in (
        "capture", "rocprofiler", "mpi", "rccl", "openmp", "serve"))}
