# SPDX-License-Identifier: MIT
"""A GPU's sensors beside what it did: a tree of files stands for sysfs, as the GPU is simulated."""
import json
import os
import re
import struct
import subprocess
import threading

import pytest

from support import BUILD

PLATE = BUILD / "samples/plate/plate"
KERNELS = BUILD / "samples/plate/plate_kernels.so"
HIPBOARD = BUILD / "tools/hipboard/hipboard"

pytestmark = pytest.mark.skipif(not KERNELS.exists() or not PLATE.exists(),
                                reason="needs hipcc and tools/simhsa")


def record(logdir, sysfs, *options):
    env = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "tools/simhsa"), HIPBOARD_SYSFS=str(sysfs),
               SIMHSA_KERNELS=str(KERNELS))
    done = subprocess.run([HIPBOARD, "record", "-q", *options, "-o", logdir, "--", PLATE, "20"],
                          env=env, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    [path] = logdir.glob("*.pt.trace.json")
    return path, json.loads(path.read_text())


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where HIP says that the GPU is; a trace tells it where there is no such card, also one of a
    run that ends before the second reading is due."""
    empty = tmp_path_factory.mktemp("empty")
    (empty / "class/drm").mkdir(parents=True)
    _, trace = record(tmp_path_factory.mktemp("none"), empty, "--telemetry", "60s")
    found = re.search(r"no card at PCI address (\S+)", trace["hipboard_gpu_0_sensors"])
    assert "hipboard_gpu_steps" not in trace
    return found.group(1)


def metrics(watts, joules, mhz, causes):
    table = bytearray(b"\xff" * 120)
    struct.pack_into("<HBB", table, 0, 120, 1, 3)
    struct.pack_into("<HQ", table, 22, watts, int(joules * 65536))
    struct.pack_into("<H", table, 54, mhz)
    struct.pack_into("<Q", table, 112, causes)
    return bytes(table)


class Card:
    """Takes 100 J with each look that is taken at its clock, so to say: a thread writes on."""

    def __init__(self, root, address, wraps_at=float("inf")):
        self.wraps_at = wraps_at
        self.device = root / "class/drm/card0/device"
        self.device.mkdir(parents=True)
        (self.device / "uevent").write_text(f"PCI_SLOT_NAME={address}\n")
        (self.device / "mem_info_vram_used").write_text("4096\n")
        self.over, self.joules = threading.Event(), 1000.0
        self.write()
        self.thread = threading.Thread(target=self.run)

    def write(self):
        new = self.device / "new"
        new.write_bytes(metrics(250, self.joules, 1900, 0))
        new.rename(self.device / "gpu_metrics")

    def run(self):
        while not self.over.wait(0.01):
            self.joules = self.joules + 2.5 if self.joules < self.wraps_at else 0
            self.write()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def test_power_and_clocks_stand_in_the_trace(tmp_path, address):
    with Card(tmp_path / "sys", address):
        path, trace = record(tmp_path / "runs", tmp_path / "sys", "--telemetry", "5ms")
    assert "hipboard_gpu_0_sensors" not in trace
    curves = {}
    for event in sorted((e for e in trace["traceEvents"] if e["ph"] == "C"), key=lambda e: e["ts"]):
        if event["name"].startswith("GPU 0 "):
            curves.setdefault(event["name"], []).append(event["args"])
    assert {a["W"] for a in curves["GPU 0 power"]} == {250}
    assert {a["MHz"] for a in curves["GPU 0 clock"]} == {1900}
    assert {a["bytes"] for a in curves["GPU 0 VRAM"]} == {4096}
    joules = [a["J"] for a in curves["GPU 0 energy"]]
    assert joules[0] == 0 and joules == sorted(joules)
    assert "GPU 0 temperature" not in curves
    steps = trace["hipboard_gpu_steps"]
    assert len(steps) == trace["hipboard_steps"]["steps"]
    assert all(step["watts"] == 250 and step["mhz"] == 1900 for step in steps)
    shown = subprocess.run([HIPBOARD, "view", "--view", "power", path], capture_output=True,
                           text=True, check=True).stdout
    assert "250" in shown and "1900" in shown.replace(",", "")


def test_a_counter_of_energy_that_begins_anew_takes_nothing_back(tmp_path, address):
    with Card(tmp_path / "sys", address, wraps_at=1005):
        _, trace = record(tmp_path / "runs", tmp_path / "sys", "--telemetry", "5ms")
    curve = sorted((e for e in trace["traceEvents"] if e["ph"] == "C" and e["name"] == "GPU 0 energy"),
                   key=lambda e: e["ts"])
    joules = [e["args"]["J"] for e in curve]
    assert joules[0] == 0 and joules == sorted(joules)
    assert all(step["joules"] >= 0 for step in trace["hipboard_gpu_steps"] if "joules" in step)


def test_sensors_need_not_be_read(tmp_path, address):
    with Card(tmp_path / "sys", address):
        _, trace = record(tmp_path / "runs", tmp_path / "sys", "--no-telemetry")
    assert not [e for e in trace["traceEvents"] if e["name"].startswith("GPU 0 ")]
    assert "hipboard_gpu_steps" not in trace
