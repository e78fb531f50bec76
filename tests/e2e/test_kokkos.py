# SPDX-License-Identifier: MIT
"""Kokkos' names of what a program does, through the interface that it has for tools. A program that
calls it as Kokkos does stands for Kokkos, which Debian 12 does not have."""
import json
import os
import subprocess
from collections import Counter

import pytest

from support import BUILD

HIPBOARD = BUILD / "tools/hipboard/hipboard"
PROGRAM = BUILD / "tests/e2e/programs/kokkos_calls"


def record(logdir, **environment):
    plain = {name: value for name, value in os.environ.items() if name != "KOKKOS_TOOLS_LIBS"}
    done = subprocess.run([HIPBOARD, "record", "-q", "-o", logdir, "--", PROGRAM],
                          env=plain | environment, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    [path] = logdir.glob("*.pt.trace.json")
    return done.stdout, json.loads(path.read_text())


@pytest.mark.parametrize("others", ["", "/a/tool.so"])
def test_regions_and_copies_have_their_names(tmp_path, others):
    environment = {"KOKKOS_TOOLS_LIBS": others} if others else {}
    said, trace = record(tmp_path, **environment)
    assert said.split("\n")[:2] == ["others before it" if others else "alone", "does not wait"]
    scopes = [e for e in trace["traceEvents"] if e["ph"] == "X" and e.get("cat") == "cpu_op"]
    names = Counter(e["name"] for e in scopes)
    assert names["timestep"] == names["advect"] == 3
    assert names["deep_copy pressure (HIP) <- velocity (Host)"] == 3
    assert not [name for name in names if "Tool Fence" in name]
    assert said.split("\n")[2] == "10 10 10 10 "
    for kind in "parallel_for", "parallel_reduce", "parallel_scan", "fence":
        assert names[f"my {kind}"] == 1
    memory = [(e["args"]["Bytes"], e["args"]["Device Type"]) for e in trace["traceEvents"] if e["name"] == "[memory]"]
    assert memory == [(1000, 0), (-1000, 0)]  # a GPU's is told by HIP, and what is pinned is no plain memory of the host
    for what in "allocate", "deallocate":
        assert {name for name in names if name.startswith(what)} == {f"{what} field (Host)", f"{what} field (HIP)",
                                                                     f"{what}  (HostPinned)"}
    [inner, *_] = [e for e in scopes if e["name"] == "advect"]
    [outer, *_] = [e for e in scopes if e["name"] == "timestep"]
    assert outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
