# SPDX-License-Identifier: MIT
"""The Debian packages of tools/deb.sh: dpkg takes them, and what is in them works."""
import os
import re
import shutil
import subprocess

import pytest

from support import PROGRAMS, ROOT, run

NAMES = ["hipboard", "libhipboard-analysis0", "libhipboard-dev", "libhipboard0"]


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    directory = tmp_path_factory.mktemp("packages")
    run("bash", ROOT / "tools/deb.sh", directory)
    return {path.name.split("_")[0]: path for path in directory.glob("*.deb")}


@pytest.fixture(scope="module")
def dpkg(tmp_path_factory):
    """dpkg with this machine's list of packages, into a directory of its own."""
    root, admin = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("dpkg") / "admin"
    shutil.copytree("/var/lib/dpkg", admin, symlinks=True)

    def call(*arguments):
        run("dpkg", f"--instdir={root}", f"--admindir={admin}", "--no-triggers", "--force-not-root",
            "--log=/dev/null", *arguments)
    return root, call


@pytest.fixture(scope="module")
def installed(packages, dpkg):
    root, call = dpkg
    call("--install", *packages.values())
    return root


def field(package, name):
    return run("dpkg-deb", "--field", package, name).strip()


def test_there_are_four(packages):
    assert sorted(packages) == NAMES


def test_the_recorder_needs_little(packages):
    """The library packages without what the tool needs; stacks' names are a recommendation."""
    names = {re.match(r"\S+", part.strip())[0] for part in field(packages["libhipboard0"], "Depends").split(",")}
    assert names == {"libc6", "libprotobuf-c1", "zlib1g"}
    assert "libdw1" in field(packages["libhipboard0"], "Recommends")
    version = field(packages["libhipboard0"], "Version")
    assert f"libhipboard0 (= {version})" in field(packages["libhipboard-analysis0"], "Depends")


def test_the_command_runs(installed, packages):
    version = field(packages["hipboard"], "Version")
    assert version in run(installed / "usr/bin/hipboard", "--version")


def test_serve_finds_its_library(installed, packages, tmp_path):
    assert "libmicrohttpd12" in field(packages["hipboard"], "Recommends")
    done = subprocess.run([installed / "usr/bin/hipboard", "serve", tmp_path / "nowhere"],
                          text=True, capture_output=True)
    assert "No such file" in done.stderr


def test_a_program_is_built_recorded_and_its_stacks_named(installed, tmp_path):
    [libdir] = {path.parent for path in installed.glob("usr/lib/*/libhipboard.so.0")}
    environment = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=str(installed),
                       PKG_CONFIG_PATH=str(libdir / "pkgconfig"), LD_LIBRARY_PATH=str(libdir))
    flags = run("pkg-config", "--cflags", "--libs", "hipboard", env=environment).split()
    run("cc", "-g", PROGRAMS / "stacks.c", "-o", tmp_path / "stacks", *flags)
    run(tmp_path / "stacks", tmp_path / "runs", env=environment)
    [trace] = (tmp_path / "runs").glob("*.json")
    assert re.search(r"\blayer\b", run(installed / "usr/bin/hipboard", "table", trace))
    assert re.search(r"/stacks\.c\(\d+\): layer;", trace.read_text())


def test_record_finds_its_library(installed, tmp_path):
    done = subprocess.run([installed / "usr/bin/hipboard", "record", "-o", tmp_path / "runs", "true"],
                          text=True, capture_output=True)
    assert "not found" not in done.stderr and "libhipboard" not in done.stderr, done.stderr


def test_removed_they_leave_nothing(dpkg, installed):
    root, call = dpkg
    call("--purge", *NAMES)
    assert [path for path in root.glob("**/*") if path.is_file()] == []
