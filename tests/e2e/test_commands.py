# SPDX-License-Identifier: MIT
"""What holds for every command of `hipboard`."""
import subprocess

import pytest

from support import BUILD, ROOT

HIPBOARD = BUILD / "tools/hipboard/hipboard"
DATA = ROOT / "tests/data"
TRACE = DATA / "mi250_minitoy.json.gz"


@pytest.mark.parametrize("command", [
    ["view", TRACE], ["check", TRACE], ["info"], ["compare", TRACE, TRACE], ["table", TRACE],
    ["memory", TRACE], ["steps", TRACE], ["stacks", "--scopes", TRACE], ["query", DATA, "runs"]])
def test_output_that_cannot_be_written_is_a_failure(command):
    """What a full disk takes from a report must not look like success to a script."""
    with open("/dev/full", "w") as full:
        done = subprocess.run([HIPBOARD, *command], stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=60)
    assert done.returncode == (3 if command[0] == "compare" else 1)
    assert f"hipboard {command[0]}: cannot write: No space left on device" in done.stderr
