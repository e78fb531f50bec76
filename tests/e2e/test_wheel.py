# SPDX-License-Identifier: MIT
"""The wheel of tools/wheel.py: pip takes it, all that it promises works without anything else of this
machine, and uninstalling leaves nothing. So does `ninja uninstall`."""
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
import zipfile

import pytest

import served_page
from server import TensorBoard
from support import BUILD, ROOT, alone_in, install, run
from test_report import TRACES
from test_tensorboard_tab import without_plugin  # noqa: F401: a fixture


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    directory = tmp_path_factory.mktemp("wheel")
    run(sys.executable, ROOT / "tools/wheel.py", directory)
    [path] = directory.glob("*.whl")
    return path


def files_below(directory):
    return {path for path in directory.rglob("*") if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A new environment with the wheel and nothing else in it; what was there before."""
    directory = tmp_path_factory.mktemp("environment") / "with blank"
    run("/usr/bin/python3", "-m", "venv", "--without-pip", directory)
    before = files_below(directory)
    run(sys.executable, "-m", "pip", "--python", directory / "bin/python", "install", "--quiet", "--no-index", wheel)
    return directory, before


@pytest.fixture(scope="module")
def hipboard(environment):
    return environment[0] / "bin/hipboard"


def test_nothing_of_hipboard_is_looked_for_elsewhere(environment):
    """Nor any library that not every Linux has."""
    directory, _ = environment
    elves = [path for path in files_below(directory) if path.is_file() and not path.is_symlink()
             and path.read_bytes()[:4] == b"\x7fELF"]
    assert len(elves) > 15
    for path in elves:
        for name, place in re.findall(r"^\s*(\S+) => (\S.*?) \(", run("ldd", path, env={}), re.M):
            system = re.match(r"(libc|libm|libdl|librt|libpthread|libz|ld-linux[\w-]*)\.so", name)
            assert system or place.startswith(str(directory)), f"{path.name}: {name} => {place}"


def test_licences_are_there(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    others = [name.rpartition("/")[2] for name in names if "/lib/hipboard/" in name and ".so." in name]
    [listing] = [name for name in names if name.endswith("licenses/OTHERS")]
    text = zipfile.ZipFile(wheel).read(listing).decode()
    assert others and all(f"{name}: package " in text for name in others)
    for copyright in re.findall(r"(\S+\.copyright)", text):
        assert any(name.endswith(f"licenses/{copyright}") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "libmicrohttpd.so.12" in others


def test_the_command_reports_views_and_records(hipboard, tmp_path):
    trace = TRACES["torch"]
    assert run(hipboard, "--version", env={}).startswith("hipboard ")
    assert "Average step" in run(hipboard, "view", trace, env={})
    run(hipboard, "report", "-o", tmp_path / "r.html", trace, env={})
    assert (tmp_path / "r.html").stat().st_size > 100000
    done = subprocess.run([hipboard, "record", "-o", tmp_path / "runs", "true"], text=True, capture_output=True, env={})
    assert "not found" not in done.stderr and "libhipboard" not in done.stderr


def test_the_command_serves(hipboard, monkeypatch):
    monkeypatch.setattr(served_page, "HIPBOARD", hipboard)
    with served_page.Server(TRACES["torch"]) as server:
        assert server.traces() == ["torch-2.13-cpu"]
        assert server.end() == 0


def test_the_tab_is_there(environment, without_plugin, tmp_path):  # noqa: F811
    directory, _ = environment
    (tmp_path / "runs").mkdir()
    shutil.copy(TRACES["torch"], tmp_path / "runs" / "w.1.pt.trace.json")
    with TensorBoard(tmp_path / "runs", tmp_path / "log", python=directory / "bin/python",
                     env={"PYTHONPATH": str(without_plugin), "PATH": "/usr/bin:/bin"}) as board:
        for name in "hipboard", "pytorch_profiler":
            with urllib.request.urlopen(f"{board.url}/data/plugin/{name}/hb/about", timeout=600) as reply:
                [trace] = json.load(reply)["traces"]
                assert trace["id"] == "runs/w/1"
        assert board.suspicious_log_lines() == []


def test_uninstalled_it_leaves_nothing(environment):
    directory, before = environment
    run(sys.executable, "-m", "pip", "--python", directory / "bin/python", "uninstall", "--quiet", "--yes", "hipboard")
    left = {path for path in files_below(directory) - before if not path.is_dir()}
    assert left == set()


def test_ninja_uninstall_leaves_nothing(tmp_path):
    with alone_in(BUILD):
        install(tmp_path / "to")
        assert any(tmp_path.rglob("libhipboard.so.0"))
        run("ninja", "-C", BUILD, "uninstall")
    assert [path for path in (tmp_path / "to").rglob("*") if not path.is_dir()] == []
