# SPDX-License-Identifier: MIT
"""Programs of other releases run with today's libraries. tests/data/abi/README.md says what is
stored of each release, and how that is changed."""
import json
import os
import re

import pytest

import abi
from support import PROGRAMS, ROOT, pkg_config, run
from test_install import libdir  # noqa: F401 (a fixture)

STORED = ROOT / "tests/data/abi"
RELEASES = sorted(path.name for path in STORED.iterdir() if path.is_dir())
EXCEPTIONS = {line.split(":")[0] for line in re.findall(
    r"^- `([^`]+)`: \S.{20,}$", (STORED / "README.md").read_text(), re.M)}


def rules():
    """{struct: rule}, sorted, a struct a line."""
    lines = (STORED / "rules.txt").read_text().splitlines()
    pairs = [line.split() for line in lines]
    assert lines == sorted(lines) and len(dict(pairs)) == len(pairs)
    meant = re.findall(r"^\| \*\*(\w+)\*\* \|", (ROOT / "CONTRIBUTING.md").read_text(), re.M)
    assert {rule for _, rule in pairs} == set(meant)
    return dict(pairs)


def as_table(lines):
    return {" ".join(line.split()[:2]) if line.startswith("struct ") else line.split()[0]: line
            for line in lines}


def test_each_public_struct_has_a_rule_and_keeps_it():
    structs, rule_of = abi.structs(ROOT / "include"), rules()
    assert set(structs) == set(rule_of)
    for struct, members in structs.items():
        assert (members[0] == "struct_size") == (rule_of[struct] == "sized"), struct


def changes(old, new, rule_of):
    """What a program compiled with the old headers would find changed."""
    for key, line in old.items():
        kind, *_ = key.split()
        if kind == "struct":
            struct, size = line.split()[1:]
            now = int(new.get(key, "struct x 0").split()[2])
            grows = rule_of.get(struct) in ("sized", "given")
            if now < int(size) or (now > int(size) and not grows):
                yield f"struct {struct}: {size} bytes became {now}"
        elif new.get(key) != line:
            yield f"{key}: {line} became {new.get(key)}"


@pytest.mark.parametrize("release", RELEASES)
def test_layouts_are_those_of_each_release(release):
    old = as_table((STORED / release / "layout.txt").read_text().splitlines())
    new = as_table(abi.layout(ROOT / "include", run))
    found = [text for text in changes(old, new, rules()) if text.split(":")[0] not in EXCEPTIONS]
    assert not found, "\n".join(found)


def test_the_comparison_itself():
    old = as_table(["struct hb_a 8", "hb_a.x 0 4", "HB_ONE 1"])
    rule_of = {"hb_a": "frozen"}
    assert not list(changes(old, old, rule_of))
    grown = old | as_table(["struct hb_a 16", "hb_a.y 8 8"])
    assert list(changes(old, grown, rule_of)) == ["struct hb_a: 8 bytes became 16"]
    assert not list(changes(old, grown, {"hb_a": "sized"}))
    for line in ["hb_a.x 4 4", "hb_a.x 0 8", "HB_ONE 2", "struct hb_a 4"]:
        assert len(list(changes(old, old | as_table([line]), {"hb_a": "sized"}))) == 1
    assert len(list(changes(old, {}, rule_of))) == 3


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("library", ["libhipboard", "libhipboard-analysis"])
def test_no_export_vanishes(libdir, release, library):  # noqa: F811
    old = (STORED / release / f"{library}.exports.txt").read_text().splitlines()
    gone = set(old) - set(abi.exports(libdir / f"{library}.so", run)) - EXCEPTIONS
    assert not gone, "\n".join(sorted(gone))


@pytest.mark.parametrize("release", RELEASES)
def test_what_is_stored_of_a_release_is_one(release):
    assert abi.layout(STORED / release / "include", run) == (
        STORED / release / "layout.txt").read_text().splitlines()


def build_and_run(program, include, prefix, libdir, tmp_path, *arguments):  # noqa: F811
    links = pkg_config(prefix, "--libs", package="hipboard-analysis")
    compiler = ["c++", "-std=c++17"] if program.endswith(".cpp") else ["cc", "-std=gnu11"]
    run(*compiler, "-Wall", "-Wextra", "-Werror", "-I", include, PROGRAMS / program,
        "-o", tmp_path / "program", *links)
    return run(tmp_path / "program", *arguments, cwd=tmp_path,
               env=dict(os.environ, LD_LIBRARY_PATH=str(libdir)))


@pytest.mark.parametrize("release", RELEASES)
def test_a_program_of_an_earlier_release_runs(prefix, libdir, tmp_path, release):  # noqa: F811
    path = tmp_path / "trace.json"
    said = build_and_run("older.c", STORED / release / "include", prefix, libdir, tmp_path, path)
    events = json.loads(path.read_text())["traceEvents"]
    names = [event["name"] for event in events if event.get("cat") == "cpu_op"
             and event["args"].get("hipboard") != "inferred"]
    assert sorted(names) == sorted(
        2 * ["guard", "work", "statement", "aten::mm", "range", "by hand"])
    [mm, _] = [event for event in events if event["name"] == "aten::mm"]
    assert mm["args"]["Input Dims"] == [[2, 3], [3, 4], []]
    assert mm["args"]["Concrete Inputs"] == ["", "", "7"] and mm["args"]["flops"] == 48
    assert [e["args"]["value"] for e in events if e["ph"] == "C"] == [0.5, 0.5]
    # Of the step that was not recorded an allocation was freed again: nothing is held.
    assert [e["args"]["Bytes"] for e in events if e["name"] == "[memory]"] == [4096, -4096] * 2
    assert {e["name"] for e in events if e.get("cat") == "python_function"} == {
        "nn.Module: Linear_0"}
    assert [e["name"] for e in events if e["name"].startswith("ProfilerStep#")] == [
        "ProfilerStep#1", "ProfilerStep#2"]
    assert "aten::mm 2\n" in said, "the analysis of that release counts them, too"


@pytest.mark.parametrize("release", RELEASES)
def test_a_cxx_program_of_an_earlier_release_runs(prefix, libdir, tmp_path, release):  # noqa: F811
    path = tmp_path / "trace.json"
    build_and_run("user.cpp", STORED / release / "include", prefix, libdir, tmp_path, path)
    names = [event["name"] for event in json.loads(path.read_text())["traceEvents"]]
    assert {"outer", "inner"} <= set(names)


def test_a_newer_program_runs_and_what_is_unknown_is_refused(prefix, libdir, tmp_path):  # noqa: F811
    build_and_run("newer.c", ROOT / "include", prefix, libdir, tmp_path)
    build_and_run("newer.c", ROOT / "include", prefix, libdir, tmp_path, "set")
