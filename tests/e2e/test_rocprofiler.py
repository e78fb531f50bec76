# SPDX-License-Identifier: MIT
"""rocprofiler-sdk, by the stand-ins of tests/hip/rocprofiler."""
import gzip
import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import test_rccl
from support import BUILD, PROGRAMS, ROOT, run

STAND_INS = BUILD / "tests/hip/rocprofiler"
RECORDING = ROOT / "tests/data/rocprofv3_mi350x.json.gz"
pytestmark = pytest.mark.skipif(not (STAND_INS / "late_hip").exists(), reason="needs HIP's headers")


def record(logdir, *program, **environment):
    done = subprocess.run([BUILD / "tools/hipboard/hipboard", "record", "-o", logdir, "--", *program],
                          capture_output=True, text=True, timeout=600,
                          env=dict(os.environ, LD_LIBRARY_PATH=str(STAND_INS), **environment))
    return done, [json.loads(path.read_text()) for path in logdir.glob("*.pt.trace.json")]


def count(trace):
    return Counter((event.get("cat"), event["name"]) for event in trace["traceEvents"])


@pytest.mark.parametrize("version", ["0.6.0", "1.0.0"])
def test_hip_is_captured_from_the_first_call_of_a_program_that_loads_it(tmp_path, version):
    done, [trace] = record(tmp_path, STAND_INS / "late_hip", FAKE_ROCPROFILER_VERSION=version)
    assert (done.returncode, done.stdout, done.stderr) == (7, "done\n", "")
    events = count(trace)
    assert events["kernel", "scale(float*, float)"] == 3
    assert events["Runtime", "hipLaunchKernel"] == 3
    assert events["Runtime", "hipDeviceSynchronize"] + events["cuda_sync", "hipDeviceSynchronize"] == 2
    assert trace["hipboard_hip_backend"] == "rocprofiler-sdk"
    assert trace["hipboard_hip_backend_version"] == version
    assert "hipboard_hip_notes" not in trace


def test_a_forked_child_that_loads_hip_is_captured(tmp_path):
    done, traces = record(tmp_path, STAND_INS / "late_hip", "fork")
    assert (done.returncode, done.stdout) == (7, "done\n")
    assert sum(count(trace)["kernel", "scale(float*, float)"] for trace in traces) == 3


def test_another_client_in_the_program_and_the_recorder_both_hear(tmp_path):
    """XLA's plugin makes itself a client when it is loaded; `hipboard record` was there before."""
    done, [trace] = record(tmp_path, STAND_INS / "late_hip", "client")
    assert (done.returncode, done.stdout, done.stderr) == (7, "heard 3 launches\ndone\n", "")
    assert trace["hipboard_hip_backend"] == "rocprofiler-sdk"
    assert count(trace)["kernel", "scale(float*, float)"] == 3
    assert "hipboard_hip_notes" not in trace


# Also where RCCL is seen by nobody but the module that calls it.
@pytest.mark.parametrize("version, program", [
    *((version, ["rccl_reported"]) for version in ("0.4.0", "0.6.0", "1.0.0")),
    ("1.0.0", ["in_module", STAND_INS / "librccl_reported.so"])])
def test_rccl_is_reported_in_place_of_being_interposed(tmp_path, version, program):
    """Each call once, with the same rows either way, also of calls in groups; 0.4 cannot report them."""
    rows = {}
    for reports in ("interposed", "reported"):
        variables = {"RCCL_STANDIN_REPORTS": "1"} if reports == "reported" else {}
        done, [trace] = record(tmp_path / reports, STAND_INS / program[0], *program[1:], "2", "1", RANK="1", WORLD_SIZE="2",
                               LOCAL_RANK="1", RCCL_STANDIN_ERROR="1", RCCL_CALLS_SPLIT="1", FAKE_ROCPROFILER_VERSION=version, **variables)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
        assert trace["hipboard_hip_backend"] == "rocprofiler-sdk"
        by = trace["hipboard_rccl"].pop("reported_by", None)
        assert by == ("rocprofiler-sdk" if reports == "reported" and version != "0.4.0" else None)
        assert trace["hipboard_rccl"] == {"version": "2.13.4", "recorded": True}
        # A call may be as long as its annotation.
        events = sorted(test_rccl.spans(trace, "nccl", "rccl"), key=lambda e: "Collective name" in e["args"])
        rows[reports] = [[e["cat"], e["name"], {key: value for key, value in e["args"].items()
                                                if key not in ("External id", "Record function id", "Ev Idx")}]
                         for e in events]
    calls = [[name, *(args.get(key) for key in test_rccl.KEYS)] for _, name, args in rows["reported"]
             if "Collective name" in args]
    assert calls[:-3] == [[name, *row] for name, row in zip(test_rccl.NAMES, test_rccl.CALLED, strict=True)]
    assert rows["reported"] == rows["interposed"]
    assert [name for _, name, _ in rows["reported"]].count("rccl error") == 1


def kernels_of(frame):
    """(name, count, ns) of the kernels below a frame of Proton's tree."""
    metrics = frame.get("metrics", {})
    if "time (ns)" in metrics:
        yield frame["frame"]["name"], metrics["count"], metrics["time (ns)"]
    for child in frame.get("children", []):
        yield from kernels_of(child)


def test_the_stand_in_serves_another_profiler_as_well(tmp_path):
    """Triton's Proton was built with ROCm's own headers: what it reads, they say."""
    triton = importlib.util.find_spec("triton")
    libproton = Path(triton.origin).parent / "_C/libproton.so" if triton else None
    if not libproton or b"rocprofiler_force_configure" not in libproton.read_bytes():
        pytest.skip("no triton that knows rocprofiler-sdk")
    run(sys.executable, PROGRAMS / "proton_replay.py", libproton, RECORDING, tmp_path / "proton",
        env=dict(os.environ, LD_LIBRARY_PATH=str(STAND_INS), FAKE_ROCPROFILER_VERSION="1.2.1"))
    read = {}
    for frame in json.loads((tmp_path / "proton.hatchet").read_text()):
        for name, count, ns in kernels_of(frame) if "frame" in frame else []:
            before = read.get(name, (0, 0))
            read[name] = (before[0] + count, before[1] + ns)
    with gzip.open(RECORDING) as file:
        [tool] = json.load(file)["rocprofiler-sdk-tool"]
    names = {s["kernel_id"]: s["kernel_name"].removesuffix(".kd") for s in tool["kernel_symbols"]}
    recorded = Counter()
    times = Counter()
    for record in tool["buffer_records"]["kernel_dispatch"]:
        name = names[record["dispatch_info"]["kernel_id"]]
        recorded[name] += 1
        times[name] += record["end_timestamp"] - record["start_timestamp"]
    assert {name: (n, times[name]) for name, n in recorded.items()} == \
        {name: figures for name, figures in read.items() if figures[0]}
