# SPDX-License-Identifier: MIT
"""Scopes with categories and values, arrows and counters: the plugin shows all that it shows
without them, and every tool of hipboard lives with them."""
import json
import os

import pytest

import plugin_in_process
from schemas import complaints, load
from server import TensorBoard
from support import BUILD, PROGRAMS, pkg_config, run

OWN = {"rows": 64, "ratio": 0.5, "shuffled": True, "file": 'a "b".npz', "External id_": 1}


@pytest.fixture(scope="module")
def annotated(tmp_path_factory):
    directory = tmp_path_factory.mktemp("annotated") / "runs/annotated"
    run(BUILD / "tests/e2e/programs/annotated", directory, "more")
    [path] = directory.glob("*.pt.trace.json")
    return path


def is_annotation(event):
    return event.get("cat") in ("io", "flow") or event["ph"] == "C"


def test_it_is_all_there_and_follows_the_schema(annotated):
    trace = load(annotated)
    assert complaints(trace, "tensorboard") == []
    events = trace["traceEvents"]
    loads = [event for event in events if event["name"] == "load"]
    assert len(loads) == 3 and all(OWN.items() <= event["args"].items() for event in loads)
    assert {e["args"]["tile"] for e in events if e["name"] == "aten::mm"} == {16}
    assert [e["args"]["bytes"] for e in events if e.get("cat") == "io"] == [4096] * 3
    assert [e["args"] for e in events if e["ph"] == "C"] == [{"rows": 64}] * 3
    flows = sorted((e["id"], e["ts"], e["ph"]) for e in events if e.get("cat") == "flow")
    assert [(number, phase) for number, _, phase in flows] == [
        (number, phase) for number in (1, 2, 3) for phase in "stf"]


def without_annotations(trace):
    plain = dict(trace, traceEvents=[e for e in trace["traceEvents"] if not is_annotation(e)])
    for event in plain["traceEvents"]:
        if event["ph"] == "X" and "args" in event:
            event["args"] = {key: value for key, value in event["args"].items()
                             if key not in OWN and key != "tile"}
    return plain


@pytest.fixture(scope="module")
def both(annotated):
    """The plugin's answers to the recording, and to it without all that was added."""
    logdir = annotated.parents[2]
    twin = logdir / "plain/annotated" / annotated.name
    twin.parent.mkdir(parents=True)
    twin.write_text(json.dumps(without_annotations(load(annotated))))
    return [plugin_in_process.Plugin(directory) for directory in (logdir / "runs", logdir / "plain")]


def test_the_plugins_views_are_those_without(both):
    with_all, without = both
    count = 0
    for url in plugin_in_process.questions(with_all):
        if url.startswith("trace?"):  # shows what there is
            continue
        expected, answer = without.get(url), with_all.get(url)
        assert answer[0] == expected[0] and plugin_in_process.same(answer[1], expected[1]), url
        count += answer[0] == 200
    assert count > 20


def test_hipboard_answers_as_the_plugin(annotated, both):
    logdir = annotated.parents[1]
    compared = 0
    for url in plugin_in_process.questions(both[0]):
        status, expected = both[0].get(url)
        if status != 200 or url.startswith("diff"):
            continue
        answer = json.loads(run(BUILD / "tools/hipboard/hipboard", "query", logdir, url))
        assert plugin_in_process.same(answer, expected), url
        compared += 1
    assert compared > 15


def test_tensorboard_shows_every_view(annotated, browser, tmp_path):
    with TensorBoard(annotated.parents[1], tmp_path / "log") as board:
        assert board.visit_all() == {"annotated": ["Overview", "Operator", "Trace", "Memory",
                                                   "Module"]}
        assert board.suspicious_log_lines() == []
        page = browser.open(board.url)
        page.choose_run("annotated")
        page.choose_view("Trace")
        page.screenshot("annotated_Trace")
        missing = [word for word in ("Flow events", "queue", "thread ") if word not in page.text()]
        assert not missing and page.errors == []
        page.close()


@pytest.mark.parametrize("dialect", ["tensorboard", "kineto"])
def test_a_conversion_keeps_it(annotated, tmp_path, dialect):
    run(BUILD / "tools/hipboard/hipboard", "convert", annotated, "-o", tmp_path,
        *(["--dialect", "kineto"] if dialect == "kineto" else []))
    [path] = tmp_path.glob("*.json")
    events, before = (load(p)["traceEvents"] for p in (path, annotated))
    assert [e for e in events if is_annotation(e)] == [e for e in before if is_annotation(e)]
    assert [e["args"] for e in events if e["name"] in ("load", "aten::mm")] == [
        e["args"] for e in before if e["name"] in ("load", "aten::mm")]


@pytest.mark.parametrize("arguments", [["check"], ["view"], ["table"], ["steps"], ["stacks"]])
def test_the_tools_take_it(annotated, arguments):
    run(BUILD / "tools/hipboard/hipboard", *arguments, annotated)


@pytest.mark.parametrize("compiler, standard", [("g++", "c++17"), ("clang++", "c++20")])
def test_a_cxx_program_says_it_in_its_own_words(prefix, tmp_path, compiler, standard):
    [library] = prefix.glob("lib*/**/libhipboard.so")
    run(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wshadow", "-Werror",
        PROGRAMS / "annotated.cpp", "-o", tmp_path / "user", *pkg_config(prefix, "--cflags", "--libs"))
    run(tmp_path / "user", tmp_path / "trace.json",
        env=dict(os.environ, LD_LIBRARY_PATH=str(library.parent)))
    events = load(tmp_path / "trace.json")["traceEvents"]
    [read] = [event for event in events if event.get("cat") == "io"]
    own = {"bytes": 4096, "ratio": 0.25, "cached": True, "path": "a b", "kind": "npz",
           "offset": -7, "most": 2**64 - 1, "way": 7, "level": 200}
    assert own.items() <= read["args"].items()
    [plain] = [event for event in events if event["name"] == "plain"]
    assert plain["cat"] == "user_annotation" and plain["args"]["rows"] == 2
    assert [e["args"] for e in events if e["ph"] == "C"] == [{"rows": 3}]
