# SPDX-License-Identifier: MIT
"""How results are counted, and that everybody runs the same tests."""
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tally(*arguments):
    done = subprocess.run([sys.executable, ROOT / "tests/tally.py", *map(str, arguments)],
                          capture_output=True, text=True)
    return done.stdout.strip(), done.stderr, done.returncode


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "build-asan/meson-logs/testlog.json"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(test) + "\n" for test in [
        {"name": "hipboard:unit / limits", "result": "OK",
         "stdout": "[       OK ] a\n[  SKIPPED ] b\n[  SKIPPED ] c\n[  SKIPPED ] b\n"},
        {"name": "hipboard:hip / whole", "result": "SKIP"},
        {"name": "hipboard:unit / plain", "result": "OK", "stdout": ""},
        {"name": "hipboard:unit / died", "result": "FAIL",
         "stdout": "[       OK ] a\nwhat it said\n"}]))
    return path


FAILURE = "failed:\n    build-asan:died\n    [       OK ] a\n    what it said\n"


def test_a_skip_is_counted(log):
    assert tally(log) == ("3 1 3", FAILURE, 0)


def test_a_skip_without_a_reason_is_a_failure(log, tmp_path):
    allowed = tmp_path / "allowed"
    allowed.write_text("# why\n\nbuild-*:limits:b: it may\n")
    counted, told, _ = tally("--strict", allowed, log)
    assert counted == "3 3 1"
    assert "build-asan:limits:c\n" in told and "build-asan:whole\n" in told and ":b" not in told
    allowed.write_text("build-asan:limits:?: both\nbuild-asan:whole: it too\n")
    assert tally("--strict", allowed, log) == ("3 1 3", FAILURE, 0)


def test_pytest_results_are_counted(tmp_path):
    xml = tmp_path / "pytest.xml"
    xml.write_text('<testsuites><testsuite><testcase classname="tests.e2e.test_x" name="test_a"/>'
                   '<testcase classname="tests.e2e.test_x" name="test_b[1]"><skipped/></testcase>'
                   '<testcase classname="tests.e2e.test_x" name="test_c"><failure>because</failure></testcase>'
                   '</testsuite></testsuites>')
    allowed = tmp_path / "allowed"
    allowed.write_text("pytest:test_x:test_a: another\n")
    counted, told, _ = tally("--strict", allowed, xml)
    assert counted == "1 2 0" and "pytest:test_x:test_b[1]" in told
    assert "failed:\n    pytest:test_x:test_c\n    because\n" in told
    allowed.write_text("pytest:test_x:test_b*: this one\n")
    assert tally("--strict", allowed, xml)[0] == "1 1 1"


def test_each_reason_is_given(log, tmp_path):
    allowed = tmp_path / "allowed"
    allowed.write_text("build-asan:limits:b\n")
    assert "gives no reason" in tally("--strict", allowed, log)[1]
    assert tally("--strict", ROOT / "tests/allowed_skips.txt", log)[2] == 0


def test_a_newcomer_runs_what_the_machine_runs():
    [command] = re.findall(r"^exec (.*)$", (ROOT / ".ci/run").read_text(), re.M)
    assert "--strict" in command
    for name in ("README.md", "CONTRIBUTING.md"):
        lines = re.findall(r"^    (bash tests/run\.sh[^#\n]*?) +#", (ROOT / name).read_text(), re.M)
        assert lines[0] == command, name
