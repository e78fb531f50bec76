# SPDX-License-Identifier: MIT
"""What several test files use."""
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HB_BUILD", ROOT / "build"))
PROGRAMS = ROOT / "tests/e2e/programs"


def run(*command, timeout=300, **options):
    """Runs a command to its end and returns its standard output; fails with all that it said."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=timeout, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
