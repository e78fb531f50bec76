# SPDX-License-Identifier: MIT
"""samples/digits on a GPU, the simulated one of tools/simhsa under AMD's HIP runtime: it learns
what it learns on the processor, and the plugin's GPU views show what it launched. Durations there
mean nothing, but all views must tell of the same ones."""
import hashlib
import json
import os
import shutil
import subprocess

import pytest

from schemas import complaints, load
from server import TensorBoard
from support import BUILD, ROOT, DigitsRun, check_live_cycles, held_before, operator_calls, run, telling_cycles

SAMPLE = ROOT / "samples/digits"
DIGITS = BUILD / "samples/digits/digits"
SIMULATOR = BUILD / "tools/simhsa"
KERNELS = BUILD / "samples/digits/digits_kernels.so"
ON_GPU = dict(os.environ, LD_LIBRARY_PATH=str(SIMULATOR), SIMHSA_KERNELS=str(KERNELS))
VIEWS = ["Overview", "Operator", "Kernel", "Trace", "Memory", "Module"]
STEPS = 6
GPU_WORK = {"kernel", "gpu_memcpy", "gpu_memset"}

needs_simulator = pytest.mark.skipif(not KERNELS.exists(), reason="needs tools/simhsa")


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("digits_hip") / "runs"
    logdir.mkdir()
    return DigitsRun(logdir / "hip", "--device", "hip", env=ON_GPU)


@pytest.fixture(scope="module")
def board(gpu, tmp_path_factory):
    with TensorBoard(gpu.directory.parent, tmp_path_factory.mktemp("log") / "log") as board:
        yield board.wait_until_loaded()


@pytest.fixture(params=[0, 1])
def cycle(request, board, gpu):
    """A cycle: the plugin's parameters, what the program counted, and its trace's events."""
    profiles = sorted(board.profiles("hip"), key=lambda profile: int(profile["span"]))
    assert len(profiles) == len(gpu.cycles) == 2
    events = list(gpu.documents())[request.param]["traceEvents"]
    return profiles[request.param], gpu.cycles[request.param], events


def rows(table):
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row)) for row in table["rows"]]


def losses(report):
    return [step["loss"] for cycle in report["cycles"] for step in cycle["steps"]]


def assert_the_same_learning(report, on_processor):
    """Sums in another order differ in a float's last digits, which training does not make grow."""
    assert losses(report) == pytest.approx(losses(on_processor), rel=1e-3)
    trained, expected = report["training"], on_processor["training"]
    assert trained["final_loss"] == pytest.approx(expected["final_loss"], rel=0.02)
    assert report["evaluation"]["accuracy"] >= 0.97
    assert abs(report["evaluation"]["correct"] - on_processor["evaluation"]["correct"]) <= 3


@needs_simulator
def test_it_learns_what_it_learns_on_the_processor(gpu, digits):
    assert gpu.report["device"] == "simhsa gfx90a (simulated)"
    assert "computing on simhsa gfx90a (simulated)\n" in gpu.output
    assert_the_same_learning(gpu.report, digits["workers0"].report)


@needs_simulator
def test_a_cycle_in_memory_is_what_its_file_is(tmp_path):
    traces = DigitsRun(tmp_path / "runs/hip", "--device", "hip",
                       env=ON_GPU | telling_cycles(tmp_path / "cycles")).files
    check_live_cycles(tmp_path / "cycles", traces)


@needs_simulator
def test_it_does_not_depend_on_the_order_of_threads(gpu, tmp_path):
    """On a GPU there is none: what threads tell each other without waiting would differ."""
    backwards = KERNELS.with_name("digits_kernels_backwards.so")
    other = DigitsRun(tmp_path / "runs/backwards", "--device", "hip",
                      env=dict(ON_GPU, SIMHSA_KERNELS=str(backwards)))
    assert losses(other.report) == losses(gpu.report)
    assert other.report["training"]["final_loss"] == gpu.report["training"]["final_loss"]


@needs_simulator
@pytest.mark.parametrize("suite", ["trixie", "sid"])
def test_so_it_does_on_newer_runtimes(suite, tmp_path, digits):
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    runtimes = os.environ.get("SIMHSA_RUNTIMES", f"{cache}/hipboard/runtimes")
    if not os.path.exists(f"{runtimes}/{suite}/complete"):
        pytest.skip(f"no HIP runtime of {suite}: tools/simhsa/fetch_runtimes.sh {suite}")
    report = tmp_path / "report.json"
    run(ROOT / "tools/simhsa/run", "--runtime", suite, DIGITS, "--device", "hip", "--workers", 2,
        "--data", SAMPLE / "digits.csv.gz", "--kernels", DIGITS.parent / "kernels.hipfb",
        "--logdir", tmp_path / "runs", "--report", report,
        env=dict(os.environ, SIMHSA_LIBRARY_DIR=str(SIMULATOR), SIMHSA_KERNELS=str(KERNELS)))
    report = json.loads(report.read_text())
    assert_the_same_learning(report, digits["workers0"].report)
    for cycle in report["cycles"]:
        assert sum(kernel["trace_launches"] for kernel in cycle["kernels"]) == 60 * STEPS


def rated(trace):
    """External id of each outermost operator with FLOPs -> them and its kernels' us."""
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    scopes = [event for event in events if event["cat"] in ("cpu_op", "user_annotation")]
    owners, us, ends = {}, {}, {}
    for event in sorted(scopes, key=lambda event: (event["tid"], event["ts"], -event["dur"])):
        args, (end, owner) = event["args"], ends.get(event["tid"], (0, None))
        if event["ts"] >= end and "flops" in args:
            end, owner = ends[event["tid"]] = event["ts"] + event["dur"], args["External id"]
            us[owner] = [args["flops"], 0]
        if event["ts"] < end:
            owners[args["External id"]] = owner
    for event in events:
        if event["cat"] == "kernel" and event["args"].get("External id") in owners:
            us[owners[event["args"]["External id"]]][1] += event["dur"]
    return us


@needs_simulator
def test_rates_of_operators_are_their_flops_over_their_kernels(gpu):
    for trace in gpu.documents():
        args = {event["args"]["External id"]: event["args"] for event in trace["traceEvents"]
                if "flops" in event.get("args", {})}
        expected = {id: flops / us / 1e6 for id, (flops, us) in rated(trace).items() if us}
        assert {id: a["TFLOP/s"] for id, a in args.items() if "TFLOP/s" in a} == pytest.approx(
            expected, rel=1e-6)
        assert len(expected) >= 20 * STEPS
        for id in expected:  # of a half of an MI250X, in f32
            assert args[id]["% of peak"] == pytest.approx(args[id]["TFLOP/s"] / 47.872 * 100)
        product = next(a for a in args.values() if a.get("Input Dims") == [[32, 10], [10, 64]])
        assert product["FLOP/byte"] == 40960 / ((320 + 640 + 2048) * 4)


def launches_by_step(trace):
    """Correlations of each step's kernels, by when they were launched."""
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    kernels = {event["args"]["correlation"] for event in events if event["cat"] == "kernel"}
    calls = [(event["ts"], event["args"]["correlation"]) for event in events
             if event["cat"] == "Runtime" and event["args"]["correlation"] in kernels]
    steps = [event for event in events if event["cat"] == "user_annotation" and
             event["name"].startswith("ProfilerStep#")]
    return [{id for ts, id in calls if step["ts"] <= ts < step["ts"] + step["dur"]}
            for step in sorted(steps, key=lambda step: step["ts"])]


@needs_simulator
def test_its_steps_are_found_without_its_marks(gpu, tmp_path):
    """Each with the kernels of the one that the program marked."""
    for number, trace in enumerate(gpu.documents()):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(dict(trace, traceEvents=[
            event for event in trace["traceEvents"]
            if not event["name"].startswith("ProfilerStep#")])))
        said = json.loads(run(BUILD / "tools/hipboard/hipboard", "convert", "--find-steps", "--json",
                              path, "-o", tmp_path / "found"))
        found = json.loads((tmp_path / f"found/{number}.pt.trace.json").read_text())
        assert said["changed"]["found_steps"] == STEPS
        assert launches_by_step(found) == launches_by_step(trace)
        assert found["hipboard_steps"]["method"] == "sequence"


@needs_simulator
def test_every_route_answers(board):
    assert board.visit_all() == {"hip": VIEWS}
    assert board.suspicious_log_lines() == []


@needs_simulator
def test_files_follow_their_schema(gpu):
    for path in gpu.files:
        assert complaints(load(path), "tensorboard") == []


@needs_simulator
def test_events_and_the_trace_time_the_same_launches(cycle):
    """Two events have the kernel between them and what passes before it: they can't tell less."""
    _, counted, _ = cycle
    assert len(counted["kernels"]) == 16
    for kernel in counted["kernels"]:
        assert kernel["launches"] == kernel["trace_launches"] > 0
        assert kernel["event_us"] >= kernel["trace_us"] - 0.01 * kernel["launches"], kernel


@needs_simulator
def test_the_kernel_view_has_them(board, cycle):
    profile, counted, _ = cycle
    table = rows(board.get("kernel/table", group_by="Kernel", **profile)["data"])
    expected = {kernel["name"]: kernel for kernel in counted["kernels"]}
    assert {row["Name"] for row in table} == set(expected)
    for row in table:
        kernel = expected[row["Name"]]
        assert row["Calls"] == kernel["trace_launches"]
        assert row["Total Duration (us)"] == pytest.approx(kernel["trace_us"], abs=1)
        assert row["Mean Blocks Per SM"] > 0
    occupancy = {row["Name"]: row["Mean Est. Achieved Occupancy (%)"] for row in table}
    assert 0 < occupancy["log_softmax"] < occupancy["gemm"] <= 100
    by_operator = board.get("kernel/table", group_by="KernelNameAndOpName", **profile)["data"]
    launchers = {row["Operator"] for row in rows(by_operator) if row["Name"] == "gemm"}
    assert launchers == {"aten::_slow_conv2d_forward", "aten::_slow_conv2d_backward_weight",
                         "aten::_slow_conv2d_backward_input", "aten::addmm", "aten::mm"}


@needs_simulator
def test_device_times_of_operators_add_up_to_the_work(board, cycle):
    profile, counted, events = cycle
    table = board.get("operation/table", group_by="Operation", **profile)["data"]
    work = sum(event["dur"] for event in events if event.get("cat") in GPU_WORK)
    assert sum(row["device_self_duration"] for row in table) == pytest.approx(work, abs=len(table))
    of = {row["name"]: row for row in table}
    calls = operator_calls(counted)
    assert {name: of[name]["calls"] for name in calls} == calls
    conv, parts = of["aten::conv2d"], ["aten::im2col", "aten::_slow_conv2d_forward"]
    assert conv["device_total_duration"] == pytest.approx(
        conv["device_self_duration"] + sum(of[part]["device_total_duration"] for part in parts),
        abs=3)
    assert of["aten::flatten"]["device_total_duration"] == 0


@needs_simulator
def test_overview_sums_the_gpu_up(board, cycle):
    profile, counted, events = cycle
    overview = board.get("overview", **profile)
    assert {"title": "Device Type", "value": "GPU"} in overview["environments"]
    names, *_ = zip(*overview["steps"]["rows"])
    assert names == tuple(str(step["number"]) for step in counted["steps"])
    roles = [column["name"] for column in overview["steps"]["columns"][1::2]]
    kernels = [row[1::2][roles.index("Kernel")] for row in overview["steps"]["rows"]]
    assert sum(kernels) == pytest.approx(
        sum(event["dur"] for event in events if event.get("cat") == "kernel"), rel=0.01)
    summary = {row["title"]: row["value"] for row in overview["gpu_metrics"]["data"]}
    assert summary["Name"] == "simhsa gfx90a (simulated)"
    shares = [float(summary[name].split()[0]) for name in
              ("GPU Utilization", "Est. SM Efficiency", "Est. Achieved Occupancy")]
    assert all(0 < share <= 100 for share in shares) and shares[0] >= shares[1]


@needs_simulator
def test_memory_of_the_gpu_is_what_its_allocator_counted(board, cycle):
    profile, counted, trace_events = cycle
    memory = counted["device_memory"]
    held = held_before(trace_events, 1)
    curve = board.get("memory_curve", memory_metric="B", **profile)
    assert curve["metadata"]["default_device"] == "GPU0"
    _, allocated, reserved = zip(*curve["rows"]["GPU0"])
    assert max(allocated) == memory["peak_allocated"]
    assert max(reserved) == memory["peak_reserved"]
    events = board.get("memory_events", memory_metric="B", **profile)["rows"]["GPU0"]
    sizes = [row[1] for row in events if row[2] is not None]
    assert len(sizes) - len(held) == memory["allocations"]
    assert sum(sizes) - sum(held) == memory["bytes_allocated"]


@needs_simulator
def test_modules_are_those_of_the_processor(board, cycle):
    profile, _, _ = cycle
    [root, loss] = sorted(board.get("module", **profile)["data"],
                          key=lambda entry: -len(entry["children"]))
    assert root["name"].endswith("DigitNet_0") and loss["name"].endswith("CrossEntropyLoss_0")
    assert [child["occurences"] for child in root["children"]] == [STEPS] * 10


@needs_simulator
def test_batches_are_copied_in_a_stream_of_their_own(cycle):
    _, _, events = cycle
    copies = [event for event in events if event.get("cat") == "gpu_memcpy"]
    up = [event for event in copies if "HtoD" in event["name"]]
    down = [event for event in copies if "DtoH" in event["name"]]
    assert sorted(event["args"]["bytes"] for event in up) == sorted(
        STEPS * [32 * 8] + STEPS * [32 * 64 * 4])
    assert [event["args"]["bytes"] for event in down] == STEPS * [4]
    [uploads] = {event["args"]["stream"] for event in up}
    computing = {event["args"]["stream"] for event in events if event.get("cat") == "kernel"}
    assert len(computing) == 1 and uploads not in computing


@needs_simulator
def test_pages_show_it(board, browser, gpu):
    page = browser.open(board.url)
    page.choose_run("hip")
    for view, words in {
            "Overview": ["GPU Summary", "simhsa gfx90a", "(simulated)", "GPU Utilization",
                         "Est. SM Efficiency", "Est. Achieved", "Kernel", "Memcpy", "Memset"],
            "Operator": ["Device Self Duration (us)", "aten::_slow_conv2d_forward"],
            "Kernel": ["gemm", "im2col", "sum_channels", "Mean Blocks Per SM"],
            "Trace": ["GPU 0", "stream 1", "stream 2", "GPU 0 Utilization",
                      "GPU 0 Est. SM Efficiency"],
            "Memory": ["GPU0", "Peak Memory Usage: 1.1MB", "aten::im2col"],
            "Module": ["DigitNet_0", "CrossEntropyLoss_0", "Device Total Time"]}.items():
        page.choose_view(view)
        page.screenshot(f"digits_hip_{view}")
        text = page.text()
        assert not [word for word in words if word not in text], (view, text[:2000])
    assert page.errors == []
    page.close()


def check_device(*arguments, **env):
    return subprocess.run([DIGITS, "--check-device", *arguments], capture_output=True, text=True,
                          timeout=600, env=dict(os.environ, **env))


def test_without_a_gpu_it_says_so(tmp_path):
    done = subprocess.run([DIGITS, "--device", "hip"], capture_output=True, text=True, timeout=600,
                          cwd=tmp_path, env=dict(os.environ, HIP_VISIBLE_DEVICES="-1"))
    assert done.returncode == 1 and "digits: no AMD GPU" in done.stderr
    assert not done.stdout and not list(tmp_path.iterdir())


@needs_simulator
def test_a_simulated_gpu_without_its_kernels_is_told_from_one_that_computes():
    done = check_device(LD_LIBRARY_PATH=str(SIMULATOR), SIMHSA_KERNELS="")
    assert done.returncode == 1 and "SIMHSA_KERNELS must name digits_kernels.so" in done.stderr
    done = check_device(**ON_GPU)
    assert (done.returncode, done.stdout) == (0, "simhsa gfx90a (simulated)\n")


@needs_simulator
def test_code_for_other_gpus_is_refused_with_a_reason(tmp_path):
    nothing = tmp_path / "nothing"
    done = check_device("--kernels", nothing, **ON_GPU)
    assert done.returncode == 1
    assert f"cannot read the kernels in {nothing}: No such file" in done.stderr
    nothing.write_bytes(b"nothing")
    done = check_device("--kernels", nothing, **ON_GPU)
    assert done.returncode == 1 and f"{nothing} cannot be used on simhsa gfx90a" in done.stderr


@needs_simulator
def test_the_code_in_the_tree_is_of_the_kernels_in_the_tree():
    for line in (SAMPLE / "hip/kernels.sha256").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((SAMPLE / "hip" / name).read_bytes()).hexdigest() == digest, (
            f"{name} has changed: make hip/kernels.hipfb.gz anew, as samples/digits/README.md says")
    done = check_device("--kernels", SAMPLE / "hip/kernels.hipfb.gz", **ON_GPU)
    assert done.returncode == 0, done.stderr


@needs_simulator
def test_it_is_a_whole_project(prefix, tmp_path):
    """As samples/README.md says: one line, with hipboard and HIP's headers installed."""
    [library] = prefix.glob("lib*/**/libhipboard.so")
    run("cc", "-Wall", "-Wextra", "-Werror", "-O2", "-o", tmp_path / "digits",
        *sorted(SAMPLE.glob("*.c")), *sorted(SAMPLE.glob("hip/*.c")), "-D__HIP_PLATFORM_AMD__",
        "-I", prefix / "include", "-L", library.parent, "-lhipboard", "-lz", "-lm", "-pthread")
    shutil.copy(SAMPLE / "hip/kernels.hipfb.gz", tmp_path / "kernels.hipfb")
    libraries = f"{library.parent}:{SIMULATOR}"
    said = run(tmp_path / "digits", "--check-device", env=dict(ON_GPU, LD_LIBRARY_PATH=libraries))
    assert said == "simhsa gfx90a (simulated)\n"
