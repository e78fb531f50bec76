# SPDX-License-Identifier: MIT
"""`hipboard info`: what can be captured here, and why not more."""
import json
import os
import re
import subprocess

import pytest

from support import BUILD, ROOT

HIPBOARD = BUILD / "tools/hipboard/hipboard"
SIMHSA = BUILD / "tools/simhsa"
pytestmark = pytest.mark.skipif(not (BUILD / "tests/hip/plain").exists(),
                                reason="needs libamdhip64-dev and tools/simhsa")


def info(*arguments, suite=None, **env):
    """With the HIP runtime of this machine, or of another suite of Debian."""
    keep = {k: v for k, v in os.environ.items() if not k.endswith("_VISIBLE_DEVICES")}
    in_suite = [ROOT / "tools/simhsa/in_suite", suite] if suite else []
    ran = subprocess.run([*in_suite, HIPBOARD, "info", *arguments], capture_output=True, text=True, timeout=600,
                         env=dict(keep, LD_LIBRARY_PATH=str(SIMHSA), SIMHSA_LIBRARY_DIR=str(SIMHSA)) | env)
    if suite and ran.returncode == 77:
        pytest.skip(ran.stderr.strip())
    assert ran.returncode == 0 and ran.stderr == ""
    return ran.stdout


def test_devices_and_the_way_that_record_would_take():
    told = json.loads(info("--json", SIMHSA_GPUS="2"))
    assert [d["id"] for d in told["devices"]] == [0, 1]
    first = told["devices"][0]
    assert first["simulated"] and first["arch"].startswith("gfx90a") and first["num_cus"] == 110
    assert first["memory_bytes"] == 64 << 30
    assert told["runtime_version"] > 0 and told["runtime_path"].startswith("/")
    usable = [b["name"] for b in told["backends"] if b["usable"]]
    assert told["backend"] == usable[0]
    assert all(b["usable"] == (b["why_not"] == "") for b in told["backends"])
    text = info(SIMHSA_GPUS="2")
    assert "simulated" in text and "durations mean nothing" in text
    before, after = text.split("`hipboard record` and HB_ACTIVITY_HIP would use this one")
    assert before.rstrip().splitlines()[-2].split()[0] == told["backend"]


@pytest.mark.parametrize("suite", [None, "trixie", "sid", "experimental"])
def test_each_way_has_its_releases(suite):
    """Every way that cannot be taken says why."""
    told = json.loads(info("--json", suite=suite))
    major, minor = told["runtime_version"] // 10**7, told["runtime_version"] // 10**5 % 100
    old = (major, minor) < (5, 3)
    assert {b["name"]: b["why_not"] for b in told["backends"]} == {
        "rocprofiler-sdk": "librocprofiler-sdk.so.1 is not installed",
        "tracer-hook": f"HIP {major}.{minor} has no such hook" if old else "",
        "activity-hooks": "" if old else f"HIP {major}.{minor} reports its work in another way",
        "interposition": "",
    }
    assert told["backend"] == ("activity-hooks" if old else "tracer-hook")


def test_variables_that_hide_devices():
    told = json.loads(info("--json", SIMHSA_GPUS="2", HIP_VISIBLE_DEVICES="1"))
    assert len(told["devices"]) == 1
    assert told["environment"]["HIP_VISIBLE_DEVICES"] == "1"
    assert told["environment"]["ROCR_VISIBLE_DEVICES"] is None
    assert "HIP_VISIBLE_DEVICES=1" in info(HIP_VISIBLE_DEVICES="1")


def test_no_device_has_a_reason():
    told = json.loads(info("--json", SIMHSA_GPUS="0"))
    assert told["devices"] == [] and "hipErrorNoDevice" in told["why_no_device"]
    assert "/dev/kfd" in info(SIMHSA_GPUS="0")


def test_a_way_by_name():
    for backend in json.loads(info("--json"))["backends"]:
        told = json.loads(info("--json", HIPBOARD_HIP_BACKEND=backend["name"]))
        assert told["backend"] == (backend["name"] if backend["usable"] else "")
        others = [b for b in told["backends"] if b["name"] != backend["name"]]
        assert all(backend["name"] in b["why_not"] for b in others)


def test_an_unknown_name_lists_those_that_there_are():
    told = json.loads(info("--json", HIPBOARD_HIP_BACKEND='no"such'))
    assert told["backend"] == "" and 'no"such' in told["why_no_backend"]
    assert all(b["name"] in told["why_no_backend"] for b in told["backends"])
    assert told["why_no_backend"] in info(HIPBOARD_HIP_BACKEND='no"such')


def test_the_releases_that_were_run_are_those_of_the_tests():
    """Debian 12's, and what the runtimes of other suites are pinned to."""
    pins = re.findall(r"libamdhip64-\d=([0-9.]+)\*", (ROOT / "tools/simhsa/fetch_runtimes.sh").read_text())
    run = {"5.2.3", *pins}
    assert run == set(re.findall(r"\d\.\d\.\d", " ".join(
        backend["summary"] for backend in json.loads(info("--json"))["backends"])))
    [told] = re.findall(r"run\s+with\s+AMD's\s+([^;]*);", (ROOT / "share/doc/hipboard/limits.md").read_text())
    assert run == set(re.findall(r"\d\.\d\.\d", told))


def test_wrong_usage():
    ran = subprocess.run([HIPBOARD, "info", "here"], capture_output=True, text=True, timeout=600)
    assert ran.returncode == 2 and "'here'" in ran.stderr


def test_why_nothing_was_captured_stands_in_the_summary_too(tmp_path):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(SIMHSA), HIPBOARD_HIP_BACKEND="magic")
    ran = subprocess.run([HIPBOARD, "record", "-o", tmp_path, "--", BUILD / "tests/hip/plain"],
                         capture_output=True, text=True, timeout=600, env=environment)
    assert ran.returncode == 42
    why = "HIP is not captured: HIPBOARD_HIP_BACKEND is 'magic', which is no back-end; there are"
    assert f"hipboard: {why}" in ran.stderr
    view = [HIPBOARD, "view", *tmp_path.glob("*.pt.trace.json")]
    shown = subprocess.run(view, capture_output=True, text=True, timeout=600)
    assert f"\nNote: {why}" in shown.stdout
    shown = subprocess.run([*view, "--csv"], capture_output=True, text=True, timeout=600)
    assert why not in shown.stdout and why in shown.stderr
