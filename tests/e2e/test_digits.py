# SPDX-License-Identifier: MIT
"""What the real TensorBoard plugin says of the digits sample's traces is what the program did, by
its own count (digits --report)."""
import gzip
import json
import re
import statistics
import zlib

import pytest

from support import held_before, operator_calls

VIEWS = ["Overview", "Operator", "Trace", "Memory", "Module"]
RUNS = ["workers0", "workers2"]
MB = 1024 * 1024


@pytest.fixture(scope="module")
def spans(board):
    """{run: the plugin's parameters for each cycle, in order}."""
    return {run: sorted(board.profiles(run), key=lambda profile: int(profile["span"]))
            for run in RUNS}


def each_cycle(digits, spans, run):
    assert len(spans[run]) == len(digits[run].cycles) == 2
    return list(zip(spans[run], digits[run].cycles))


def test_training_learns(digits):
    for run in digits.values():
        assert run.report["evaluation"]["accuracy"] >= 0.95


def test_every_route_answers(board):
    assert board.visit_all() == {run: VIEWS for run in RUNS}
    assert len(board.answers) > 50
    for (route, _), answer in board.answers.items():
        assert answer.status == 200 and answer.text, route


def assert_measured(shown, measured):
    """What the plugin shows, in microseconds, is what the program's clock said, in seconds. A busy
    machine may stop the program between the two, but hardly in every step."""
    differences = [us - 1e6 * seconds for us, seconds in zip(shown, measured)]
    assert min(map(abs, differences)) < 150, differences


@pytest.mark.parametrize("run", RUNS)
def test_overview_is_what_the_program_measured(board, digits, spans, run):
    for profile, cycle in each_cycle(digits, spans, run):
        overview = board.get("overview", **profile)
        roles = [column["name"] for column in overview["steps"]["columns"][1::2]]
        assert roles == ["DataLoader", "CPU Exec", "Other"]
        names, *_ = zip(*overview["steps"]["rows"])
        assert names == tuple(str(step["number"]) for step in cycle["steps"])
        rows = [row[1::2] for row in overview["steps"]["rows"]]
        assert_measured(map(sum, rows), [step["seconds"] for step in cycle["steps"]])
        assert_measured([loader for loader, _, _ in rows],
                        [step["loader_seconds"] for step in cycle["steps"]])
        assert statistics.median(computing / (computing + other) for _, computing, other in rows) > 0.1
        assert {"title": "Device Type", "value": "CPU"} in overview["environments"]


def test_average_is_that_of_the_steps(board, spans):
    for profile in spans["workers0"] + spans["workers2"]:
        overview = board.get("overview", **profile)
        rows = [row[1::2] for row in overview["steps"]["rows"]]
        [average] = overview["performance"]
        assert average["value"] == pytest.approx(statistics.mean(map(sum, rows)), abs=1)
        shares = {child["name"]: child["extra"] for child in average["children"]}
        loading = sum(row[0] for row in rows) / sum(map(sum, rows))
        assert shares["DataLoader"] == pytest.approx(100 * loading, abs=0.02)


# Whether the share falls depends on free processors; who does the work does not.
def test_workers_take_the_loading_off_the_main_thread(digits):
    for cycle in digits["workers0"].cycles:
        assert {op["thread"] for op in cycle["ops"] if "augment" in op["name"]} == {"main"}
    for cycle in digits["workers2"].cycles:  # in six steps there may be no need to load anything
        assert {op["thread"] for op in cycle["ops"] if "augment" in op["name"]} <= {"loader"}


@pytest.mark.parametrize("run", RUNS)
def test_operators_are_those_called(board, digits, spans, run):
    for profile, cycle in each_cycle(digits, spans, run):
        table = board.get("operation/table", group_by="Operation", **profile)["data"]
        calls = {row["name"]: row["calls"] for row in table}
        expected = operator_calls(cycle)
        assert {name: calls.get(name) for name in expected} == expected
        assert all(row["host_total_duration"] >= row["host_self_duration"] >= 0 for row in table)
        by_shape = board.get("operation/table", group_by="OperationAndInputShape",
                             **profile)["data"]
        shapes = {row["input_shape"] for row in by_shape if row["name"] == "aten::conv2d"}
        assert shapes and all(re.match(r"\[\[\d+, \d+, \d+, \d+\], \[", text) for text in shapes)


@pytest.mark.parametrize("run", RUNS)
def test_memory_is_what_the_allocator_counted(board, digits, spans, run):
    for (profile, cycle), document in zip(each_cycle(digits, spans, run),
                                          digits[run].documents()):
        memory = cycle["memory"]
        held = held_before(document["traceEvents"], 0)
        assert held
        curve = board.get("memory_curve", memory_metric="B", **profile)
        _, allocated, reserved = zip(*curve["rows"]["CPU"])
        assert max(allocated) == memory["peak_allocated"]
        assert max(reserved) == memory["peak_reserved"]
        assert curve["metadata"]["peaks"]["CPU"] == (
            f"Peak Memory Usage: {memory['peak_allocated']:.1f}B")
        events = board.get("memory_events", memory_metric="B", **profile)["rows"]["CPU"]
        sizes = [row[1] for row in events if row[2] is not None]
        assert len(sizes) - len(held) == memory["allocations"]
        assert sum(sizes) - sum(held) == memory["bytes_allocated"]
        assert sum(row[3] is not None for row in events) == memory["frees"]


def plugin_modules(entries):
    return sorted((entry["name"], entry["occurences"], plugin_modules(entry["children"]))
                  for entry in entries)


def program_modules(entries):
    return sorted((entry["name"], entry["calls"], program_modules(entry["children"]))
                  for entry in entries)


@pytest.mark.parametrize("run", RUNS)
def test_modules_are_the_network(board, digits, spans, run):
    for profile, cycle in each_cycle(digits, spans, run):
        modules = plugin_modules(board.get("module", **profile)["data"])
        assert modules == program_modules(cycle["modules"])
        assert json.dumps(modules).count("Conv2d_") >= 1


@pytest.mark.parametrize("run", RUNS)
def test_trace_is_the_file(board, digits, spans, run):
    for profile, document in zip(spans[run], digits[run].documents()):
        assert board.get("trace", **profile) == document


def test_stacks_name_the_sample_s_functions(board, spans):
    profile = spans["workers2"][0]
    table = board.get("operation/stack", group_by="Operation", op_name="aten::conv2d",
                      input_shape="", **profile)["data"]
    assert any(re.search(r"model\.c\(\d+\): \w+", row["call_stack"]) for row in table)


def test_names_are_those_of_torch(digits):
    import socket
    for run in digits.values():
        pattern = (rf"{re.escape(socket.gethostname())}_{run.report['pid']}\.\d{{19}}"
                   rf"\.pt\.trace\.json(\.gz)?")
        assert [path.name for path in run.files if not re.fullmatch(pattern, path.name)] == []


def test_gzip_is_one_ordinary_member(digits):
    for path in digits["workers2"].files:
        data = path.read_bytes()
        stream = zlib.decompressobj(wbits=31)
        text = stream.decompress(data)
        assert stream.eof and not stream.unused_data
        assert gzip.decompress(data) == text
        assert json.loads(text)


# What each view must show of a run, in the page's own words.
def words_of_view(view, cycle):
    if view == "Overview":
        return ["Average Step Time", "DataLoader", "CPU Exec", "Performance Recommendation",
                *[str(step["number"]) for step in cycle["steps"]]]
    if view == "Operator":
        return ["Host Self Time (us)", "aten::conv2d", "aten::addmm", "Calls"]
    if view == "Trace":
        return ["PyTorch Profiler", "thread ", "Flow events"]
    if view == "Memory":
        return [f"Peak Memory Usage: {cycle['memory']['peak_allocated'] / MB:.1f}MB",
                "Allocated (MB)", "Reserved (MB)", "aten::conv2d"]
    return ["Module View", *[module["name"] for module in cycle["modules"]]]


@pytest.mark.parametrize("run", RUNS)
def test_pages_show_it(board, browser, digits, run):
    page = browser.open(board.url)
    page.choose_run(run)
    for view in VIEWS:
        page.choose_view(view)
        page.screenshot(f"digits_{run}_{view}")
        text = page.text()
        missing = [word for word in words_of_view(view, digits[run].cycles[0])
                   if word not in text]
        assert not missing, f"{view} lacks {missing}: {text[:2000]}"
    assert page.errors == []
    page.close()


def test_tensorboard_logged_nothing_suspicious(board):
    assert board.suspicious_log_lines() == []
