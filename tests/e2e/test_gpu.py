# SPDX-License-Identifier: MIT
"""A program on AMD's HIP runtime, on the simulated GPU of tools/simhsa: the plugin's GPU views show
what it did. Durations on that GPU mean nothing; what ran, where and for whom is real."""
import json
import os

import pytest
from tensorboard.plugins.hparams import metadata

from event_files import values
from schemas import complaints, load
from server import TensorBoard
from support import BUILD, run

PROGRAM = BUILD / "tests/hip/gpu"
STEPS, BYTES = 4, 4096 * 4
KERNELS = {("vadd", "aten::add"): 2 * STEPS, ("scale", "aten::mul"): STEPS}
VIEWS = ["Overview", "Operator", "Kernel", "Trace", "Memory"]

pytestmark = pytest.mark.skipif(not PROGRAM.exists(),
                                reason="needs the HIP runtime and tools/simhsa")


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("gpu") / "runs"
    environment = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "tools/simhsa"))
    tables = {name: run(PROGRAM, logdir / name, flags, env=environment)
              for name, flags in [("gpu", 0), ("gpu_gz", 1)]}
    # Half of each step's work is left when the next begins: much, for a host that is stopped at times.
    run(PROGRAM, logdir / "gpu_ahead", 0, "ahead",
        env=dict(environment, SIMHSA_KERNEL_NS="20000000"))
    with TensorBoard(logdir, tmp_path_factory.mktemp("log") / "log") as board:
        board.logdir, board.tables = logdir, tables
        yield board.wait_until_loaded()


@pytest.fixture(params=["gpu", "gpu_gz"])
def profile(request, board):
    [profile] = board.profiles(request.param)
    return profile


def rows(table):
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row)) for row in table["rows"]]


@pytest.mark.parametrize("name", ["gpu", "gpu_gz"])
def test_the_program_s_own_table_is_its_file_s(board, name):
    [path] = (board.logdir / name).glob("*.pt.trace.json*")
    table = run(BUILD / "tools/hipboard/hipboard", "table", path)
    assert board.tables[name] == table
    assert "Self CUDA %" in table and "vadd" in table and "CUDA Mem" in table


def test_every_route_answers(board):
    assert board.visit_all() == {"gpu": VIEWS, "gpu_ahead": VIEWS, "gpu_gz": VIEWS}


def test_overview_has_a_gpu(board, profile):
    overview = board.get("overview", **profile)
    assert {"title": "Device Type", "value": "GPU"} in overview["environments"]
    roles = [column["name"] for column in overview["steps"]["columns"][1::2]]
    assert roles == ["Kernel", "Memcpy", "Memset", "Runtime", "DataLoader", "CPU Exec", "Other"]
    for name, *cells in overview["steps"]["rows"]:
        step = dict(zip(roles, cells[::2]))
        assert min(step[role] for role in ("Kernel", "Memcpy", "Runtime", "CPU Exec")) > 0, name
    summary = {row["title"]: row["value"] for row in overview["gpu_metrics"]["data"]}
    assert summary["Name"].endswith("(simulated)")
    assert float(summary["GPU Utilization"].split()[0]) > 0
    assert {"Est. SM Efficiency", "Est. Achieved Occupancy"} <= set(summary)


def test_view_says_that_the_gpu_is_simulated(board, tmp_path):
    """And not of a real one."""
    [path] = (board.logdir / "gpu").glob("*.json")
    note = "the GPU is simulated: its durations mean nothing"
    assert note in run(BUILD / "tools/hipboard/hipboard", "view", path)
    (tmp_path / "real.pt.trace.json").write_text(path.read_text().replace(" (simulated)", ""))
    assert note not in run(BUILD / "tools/hipboard/hipboard", "view", tmp_path / "real.pt.trace.json")


def test_roofline_by_flops_inputs_and_the_gpu_s_clocks(board):
    """An MI250X's half at its highest clock, as HIP tells it."""
    [path] = (board.logdir / "gpu").glob("*.json")
    view = [BUILD / "tools/hipboard/hipboard", "view", "--view", "roofline"]
    roof = json.loads(run(*view, "--json", path))
    rows = {row["Operator"]: row for row in roof["Operators"]}
    add = rows["aten::add"]
    assert (add["Calls"], add["Type"], add["Bound by"]) == (STEPS, "f32", "memory")
    seconds = add["Time (us)"] / 1e6
    assert add["FLOP/s"] == pytest.approx(STEPS * 4096 / seconds)
    assert add["GB/s"] == pytest.approx(STEPS * 2 * BYTES / seconds / 1e9)
    assert add["Of the roof (%)"] == pytest.approx(100 * add["GB/s"] / 1638.4)
    peaks = {row["Type"]: row for row in roof["Peaks"]}
    assert peaks["f16"]["Matrix FLOP/s"] == pytest.approx(110 * 1.7e9 * 1024)
    assert peaks["f32"]["Clock"] == "the highest"
    assert "simulated" in run(*view, path)


def test_kernels_belong_to_their_operators(board, profile):
    table = board.get("kernel/table", group_by="KernelNameAndOpName", **profile)["data"]
    assert {(row["Name"], row["Operator"]): row["Calls"] for row in rows(table)} == KERNELS
    assert {(row["Grid"], row["Block"]) for row in rows(table)} == {("[16, 1, 1]", "[256, 1, 1]")}
    operators = {row["name"]: row for row in
                 board.get("operation/table", group_by="Operation", **profile)["data"]}
    for name, calls in {"aten::add": STEPS, "aten::mul": STEPS, "aten::copy_": STEPS}.items():
        assert operators[name]["calls"] == calls
        assert operators[name]["device_total_duration"] > 0


def test_memory_is_the_gpu_s(board, profile):
    curve = board.get("memory_curve", memory_metric="B", **profile)
    assert curve["metadata"]["default_device"] == "GPU0"
    assert max(row[1] for row in curve["rows"]["GPU0"]) == BYTES
    events = board.get("memory_events", memory_metric="B", **profile)["rows"]["GPU0"]
    assert [(row[0], row[1]) for row in events] == [
        (f"ProfilerStep#{step} (aten::empty)", BYTES) for step in range(1, 1 + STEPS)]


def test_pages_show_it(board, browser):
    page = browser.open(board.url)
    page.choose_run("gpu")
    for view, words in {"Overview": ["GPU Summary", "(simulated)", "Kernel", "Memcpy"],
                        "Kernel": ["vadd", "scale", "Mean Blocks Per SM"],
                        "Trace": ["GPU 0", "stream ", "GPU 0 Utilization"],
                        "Memory": ["Peak Memory Usage", "GPU0"]}.items():
        page.choose_view(view)
        page.screenshot(f"gpu_{view}")
        text = page.text()
        assert not [word for word in words if word not in text], (view, text[:2000])
    assert page.errors == []
    page.close()


ROLES = {"Kernel": "kernel", "Memcpy": "memcpy", "Memset": "memset", "Runtime": "runtime",
         "DataLoader": "data_loader", "CPU Exec": "cpu", "Other": "other"}
GPU_NUMBERS = {"GPU Utilization": "utilization", "Est. SM Efficiency": "sm_efficiency",
               "Est. Achieved Occupancy": "occupancy"}


@pytest.mark.parametrize("name", ["gpu", "gpu_gz", "gpu_ahead"])
def test_scalars_are_the_overview_s(board, name):
    """Also where device work runs on after its step: its time is the step's, and the next step's
    begins after it."""
    [profile] = board.profiles(name)
    overview = board.get("overview", **profile)
    logged = values(board.logdir / name)
    roles = [column["name"] for column in overview["steps"]["columns"][1::2]]
    assert set(roles) == set(ROLES)
    shown = [int(row[0]) for row in overview["steps"]["rows"]]
    for role, *microseconds in zip(roles, *(row[1::2] for row in overview["steps"]["rows"])):
        by_step = {step: 1000 * value.simple_value
                   for step, value in logged[f"hipboard_time/{ROLES[role]}_ms"]}
        assert [by_step[step] for step in shown] == pytest.approx(microseconds, rel=1e-6, abs=0.02)
    [(_, average)] = logged["hipboard_cycle/step_ms"]
    assert 1000 * average.simple_value == pytest.approx(
        overview["performance"][0]["value"], abs=0.51)
    summary = {row["title"]: row["value"] for row in overview["gpu_metrics"]["data"]}
    for title, number in GPU_NUMBERS.items():
        for tag in (f"hipboard_cycle/{number}_percent", f"hipboard_cycle/GPU0_{number}_percent"):
            [(_, value)] = logged[tag]
            assert value.simple_value == pytest.approx(float(summary[title].split()[0]), abs=0.02)


@pytest.mark.parametrize("name", ["gpu", "gpu_gz", "gpu_ahead"])
def test_a_steps_gpu_was_busy_with_its_kernels(board, name):
    """Also where kernels of several streams are on it, and where they reach into the next step."""
    logged = values(board.logdir / name)
    [path] = (board.logdir / name).glob("*.json*")
    ran = [(event["ts"], event["ts"] + event["dur"]) for event in load(path)["traceEvents"]
           if event.get("cat") == "kernel"]
    busy = {step: value.simple_value
            for step, value in logged["hipboard_gpu/GPU0_utilization_percent"]}
    milliseconds = {step: value.simple_value for step, value in logged["hipboard_time/step_ms"]}
    kernel_ms = {step: value.simple_value for step, value in logged["hipboard_time/kernel_ms"]}
    assert list(busy) == list(milliseconds) and ran
    for step, percent in busy.items(): # kernels come first of all roles
        assert percent == pytest.approx(100 * kernel_ms[step] / milliseconds[step], rel=1e-4)
    total = sum(percent * milliseconds[step] / 100 for step, percent in busy.items())
    assert 0 < total <= sum(end - start for start, end in ran) / 1000 * (1 + 1e-5)
    assert {step for step, _ in logged["hipboard_gpu/occupancy_percent"]} == set(busy)


def test_steps_of_a_program_that_runs_ahead_are_longer_than_on_its_host(board):
    logged = values(board.logdir / "gpu_ahead")
    [path] = (board.logdir / "gpu_ahead").glob("*.json")
    on_host = {int(event["name"].split("#")[1]): event["dur"] / 1000
               for event in load(path)["traceEvents"]
               if event["name"].startswith("ProfilerStep#") and event["ph"] == "X"}
    assert [step for step, value in logged["hipboard_time/step_ms"]
            if value.simple_value > 1.05 * on_host[step]]


def test_copies_and_memory_are_what_the_program_did(board):
    logged = values(board.logdir / "gpu")
    for way in ("host_to_device", "device_to_host"):
        [(step, value)] = logged[f"hipboard_cycle/{way}_mib"]
        assert (step, value.simple_value) == (STEPS, STEPS * BYTES / 2**20)
        assert [(step, value.simple_value) for step, value in logged[f"hipboard_copies/{way}_mib"]
                ] == [(step, BYTES / 2**20) for step in range(1, STEPS + 1)]
    [(_, peak)], [(_, current)] = (logged[f"hipboard_cycle/GPU0_{what}_mib"]
                                   for what in ("peak", "current"))
    assert (peak.simple_value, current.simple_value) == (BYTES / 2**20, 0)
    for what, bytes in (("peak", BYTES), ("current", 0)):
        assert [(step, value.simple_value) for step, value
                in logged[f"hipboard_memory/GPU0_{what}_mib"]
                ] == [(step, bytes / 2**20) for step in range(1, STEPS + 1)]


def test_settings_name_the_gpu(board):
    logged = values(board.logdir / "gpu")
    [(_, start)] = logged[metadata.SESSION_START_INFO_TAG]
    hparams = metadata.parse_session_start_info_plugin_data(
        start.metadata.plugin_data.content).hparams
    device = load(next((board.logdir / "gpu").glob("*.json")))["deviceProperties"][0]
    assert hparams["arch"].string_value == "gfx90a"
    assert hparams["compute_units"].number_value == device["numSms"]
    major, minor, _ = map(int, hparams["rocm_version"].string_value.split("."))
    assert (major, minor) >= (5, 2) and minor < 100
    [(_, experiment)] = logged[metadata.EXPERIMENT_TAG]
    assert [info.name.tag for info in metadata.parse_experiment_plugin_data(
        experiment.metadata.plugin_data.content).metric_infos] == [
            "hipboard_cycle/step_ms", "hipboard_cycle/utilization_percent",
            "hipboard_cycle/GPU0_peak_mib"]
    [(_, text)] = logged["hipboard/environment/text_summary"]
    assert b"| architecture | gfx90a:sramecc+" in text.tensor.string_val[0]
    [(_, kernels)] = logged["hipboard/top_kernels/text_summary"]
    assert b"| vadd |" in kernels.tensor.string_val[0]
    [(_, histogram)] = logged["hipboard_gpu/kernels_us"]
    assert histogram.histo.num == sum(KERNELS.values())


def test_nothing_suspicious(board):
    assert board.suspicious_log_lines() == []


def test_files_follow_their_schema(board):
    for path in board.logdir.rglob("*.pt.trace.json*"):
        assert complaints(load(path), "tensorboard") == []
