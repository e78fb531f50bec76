# SPDX-License-Identifier: MIT
"""The trace writer's files: by the schemas of plugin_format/, and in a real TensorBoard."""
import copy

import pytest
from jsonschema import Draft202012Validator

from schemas import SCHEMAS, complaints, load, validator
from server import TensorBoard
from support import BUILD, ROOT, run


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    directory = tmp_path_factory.mktemp("samples")
    run(BUILD / "tests/e2e/programs/write_samples", directory)
    return directory


@pytest.mark.parametrize("dialect", SCHEMAS)
def test_schemas_are_schemas(dialect):
    Draft202012Validator.check_schema(SCHEMAS[dialect])


@pytest.mark.parametrize("dialect", SCHEMAS)
def test_written_files_follow_their_schema(samples, dialect):
    files = sorted((samples / dialect).rglob("*.pt.trace.json*"))
    assert {path.suffix for path in files} == {".json", ".gz"}
    for path in files:
        assert complaints(load(path), dialect) == [], path


def test_a_trainings_files_follow_the_schema(digits):
    for training in digits.values():
        for path in training.files:
            assert complaints(load(path), "tensorboard") == [], path


def test_pytorch_follows_the_kineto_schema(tmp_path):
    """A trace that PyTorch 2.13 writes here and now, with all options on."""
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function, schedule

    path = tmp_path / "torch.pt.trace.json"
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
                 with_stack=True, with_flops=True, with_modules=True,
                 schedule=schedule(wait=0, warmup=1, active=1),
                 on_trace_ready=lambda prof: prof.export_chrome_trace(str(path))) as prof:
        for _ in range(2):
            with record_function("train_batch"):
                model(torch.ones(2, 8)).sum().backward()
                optimizer.step()
            prof.step()
    trace = load(path)
    kinds = {event.get("cat") for event in trace["traceEvents"]}
    assert {"cpu_op", "user_annotation", "python_function", "fwdbwd",
            "cpu_instant_event"} <= kinds
    assert complaints(trace, "kineto") == []


def test_kept_pytorch_trace_follows_the_kineto_schema():
    assert complaints(load(ROOT / "tests/data/torch-2.13-cpu.pt.trace.json"), "kineto") == []


def first(trace, **wanted):
    return next(event for event in trace["traceEvents"]
                if all(event.get(key) == value for key, value in wanted.items()))


DAMAGE = {
    "no name": lambda t: first(t, cat="cpu_op").pop("name"),
    "no args": lambda t: first(t, cat="cpu_op").pop("args"),
    "text as time": lambda t: first(t, cat="kernel").update(ts="1.5"),
    "an unknown member": lambda t: first(t, cat="kernel")["args"].update(colour="red"),
    "no index": lambda t: first(t, name="[memory]")["args"].pop("Ev Idx"),
    "half of the inputs": lambda t: first(t, name="aten::mm")["args"].pop("Input type"),
    "an unknown category": lambda t: first(t, cat="cpu_op").update(cat="operator"),
    "an unbound flow end": lambda t: first(t, ph="f").pop("bp"),
    "no events": lambda t: t.pop("traceEvents"),
}
DAMAGE_TO_TENSORBOARD = {
    "an empty step": lambda t: first(t, name="ProfilerStep#1").update(dur=0),
    "a step of the GPU": lambda t: first(t, cat="gpu_user_annotation").update(
        name="ProfilerStep#1"),
    "a step without number": lambda t: first(t, name="ProfilerStep#1").update(
        name="ProfilerStep#x"),
    "a call that the plugin ignores": lambda t: first(t, cat="Runtime").update(
        cat="cuda_runtime"),
    "a user annotation": lambda t: first(t, name="train_batch").update(cat="user_annotation"),
    "HIP memory": lambda t: first(t, name="[memory]")["args"].update({"Device Type": 6}),
    "an unlinked call without id": lambda t: first(t, cat="Runtime")["args"].pop("External id"),
}


@pytest.mark.parametrize("dialect, damage", [
    *((dialect, name) for dialect in SCHEMAS for name in DAMAGE),
    *(("tensorboard", name) for name in DAMAGE_TO_TENSORBOARD),
])
def test_schemas_refuse(samples, dialect, damage):
    path = next((samples / dialect).rglob("vm_100.1.pt.trace.json"))
    trace = copy.deepcopy(load(path))
    (DAMAGE | DAMAGE_TO_TENSORBOARD)[damage](trace)
    assert not validator(dialect).is_valid(trace)


def test_nothing_with_a_bracket_follows_the_events(samples):
    for path in (samples / "tensorboard").rglob("*.json"):
        assert list(load(path))[-1] == "traceEvents"


# ---- the plugin ----

@pytest.fixture(scope="module")
def board(samples, tmp_path_factory):
    log = tmp_path_factory.mktemp("log") / "tensorboard.log"
    with TensorBoard(samples / "tensorboard", log) as board:
        board.views = board.visit_all()
        yield board


FULL = {"run": "full", "worker": "vm_100", "span": "1"}
DEEP = {"run": "deep", "worker": "vm_102", "span": "1"}


def test_plugin_shows_every_view(board):
    assert board.views == {
        "full": ["Overview", "Operator", "Kernel", "Trace", "Distributed", "Memory", "Module"],
        "deep": ["Overview", "Operator", "Trace", "Module"],
        "touching": ["Overview", "Operator", "Trace"],
    }
    assert board.get("workers", run="full", view="Overview") == ["vm_100", "vm_101"]
    assert board.suspicious_log_lines() == []


def test_plugin_sees_the_steps_that_it_survives(board):
    overview = board.get("overview", **FULL)
    columns = [column["name"] for column in overview["steps"]["columns"] if "name" in column]
    rows = {row[0]: dict(zip(columns[1:], row[1::2])) for row in overview["steps"]["rows"]}
    assert list(rows) == ["0", "1", "2", "4"]
    assert rows["1"]["DataLoader"] == 90
    assert rows["1"]["Kernel"] == 90
    assert rows["1"]["Memcpy"] == 4
    # The second mm's kernel; its last 100 us and the fill are in step 4.
    assert rows["2"]["Kernel"] == 2500


def test_plugin_links_kernels_to_operators(board):
    operators = {row["name"]: row for row in board.get("operation/table", **FULL)["data"]}
    assert operators["aten::mm"]["calls"] == 2
    assert operators["aten::mm"]["device_total_duration"] == 90 + 4 + 2500
    assert operators["train_batch"]["device_total_duration"] == 94
    assert "CallTreeRoot" not in operators
    kernels = board.get("kernel/table", group_by="KernelNameAndOpName", **FULL)["data"]["rows"]
    assert [row[:6] for row in kernels] == [
        ["kernel", "aten::mm", "None", "None", "0", "0"],
        ["void gemm<float>(float const*)", "aten::mm", "[141, 1, 1]", "[512, 1, 1]", "64", "1024"],
        ["deep kernel", "deep", "None", "None", "0", "0"],  # launched too deep for the tree
    ]


def test_plugin_shows_memory_of_every_device(board):
    memory = board.get("memory_curve", **FULL)
    assert memory["metadata"]["devices"] == ["CPU", "GPU0", "GPU2"]
    assert memory["metadata"]["peaks"]["GPU0"] == "Peak Memory Usage: 1.0MB"


def test_plugin_shows_the_module_tree(board):
    [net] = board.get("module", **FULL)["data"]
    assert (net["name"], net["occurences"], net["host_duration"]) == ("Net_0", 1, 700)
    assert [child["name"] for child in net["children"]] == ["Linear_0"]
    assert net["children"][0]["operators"] == 1


def test_plugin_sums_the_sizes_of_a_collective_over_a_list(board):
    tables = board.get("distributed/commops", run="full", span="1", worker="All")["data"]
    [[name, calls, size, *_]] = tables["vm_100"]["rows"]
    assert (name, calls, size) == ("nccl:all_gather", 1, 32 * 64 * 4 * 2 + 2)


def test_plugin_survives_what_is_too_deep(board):
    """40 module frames and 110 scopes, the step among them, stay in the tree."""
    operators = board.get("operation/table", **DEEP)["data"]
    assert {row["name"] for row in operators} == {f"scope {i}" for i in range(109)}
    names = []
    level = board.get("module", **DEEP)["data"]
    while level:
        names.append(level[0]["name"])
        level = level[0]["children"]
    assert names == [f"Layer_{i}" for i in range(40)]


def test_plugin_loses_no_scope_that_touches_another(board):
    """It compares ends as doubles, which are coarser than nanoseconds here."""
    table = board.get("operation/table", run="touching", worker="vm_103", span="1")["data"]
    assert {row["name"]: row["calls"] for row in table} == {
        "outer": 1000, "inner": 1000, "innermost": 1000}


def test_plugin_hands_the_whole_trace_to_the_viewer(board, samples):
    trace = board.get("trace", **FULL)
    written = load(samples / "tensorboard/full/vm_100.1.pt.trace.json")["traceEvents"]
    assert trace["traceEvents"][:len(written)] == written
    assert {event["name"] for event in trace["traceEvents"][len(written):]} == {
        "GPU 0 Utilization", "GPU 0 Est. SM Efficiency"}
