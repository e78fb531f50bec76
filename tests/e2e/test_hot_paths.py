# SPDX-License-Identifier: MIT
"""Instructions of the paths that are gone most often: counted, so that a busy machine makes no
difference, and no more than 5 % above what tests/bench/hot_paths.txt says. Who makes one longer
stores the new count and says in the commit why it is worth that."""
import os
import subprocess

import pytest

from support import BUILD, ROOT

STORED = dict(line.rsplit(None, 1) for line in
              (ROOT / "tests/bench/hot_paths.txt").read_text().splitlines()
              if line and not line.startswith("#"))


def instructions(path, directory):
    """Of one time that the path is gone, on one processor: how threads share a file is chance."""
    counts = directory / "counts"
    one = {min(os.sched_getaffinity(0))}
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}",
                           "--toggle-collect=counted", BUILD / "tests/bench/hot_paths", path,
                           directory], capture_output=True, text=True, check=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, one))
    total = next(line for line in counts.read_text().splitlines() if line.startswith("totals:"))
    return int(total.split()[1]) / int(done.stdout)


@pytest.mark.parametrize("path", STORED)
def test_a_hot_path_takes_no_more_instructions(path, tmp_path):
    count = instructions(path, tmp_path)
    print(f"{path}: {count:.1f} instructions")
    assert 0 < count <= float(STORED[path]) * 1.05
