# SPDX-License-Identifier: MIT
"""Beside the traces, each cycle's numbers stand in TensorBoard's own tabs, under the same run name
and with the program's own step numbers."""
import json
import math
import os
import re
import subprocess

import pytest

from event_files import Server, on_small_disk, read, values
from schemas import load
from support import BUILD, DigitsRun, run

ROLES = {"DataLoader": "data_loader_ms", "CPU Exec": "cpu_ms", "Other": "other_ms"}
COLUMNS = {**ROLES, "Total": "step_ms", "Kernel": "kernel_ms", "Memcpy": "memcpy_ms", "Memset": "memset_ms",
           "Comm": "communication_ms", "Runtime": "runtime_ms"}
RUNS = ["workers0", "workers2"]


def steps_of(digits, run):
    return [step["number"] for cycle in digits[run].cycles for step in cycle["steps"]]


def plugin_steps(board, run):
    """{step: {role: microseconds}} of the plugin's overview, over both cycles."""
    found = {}
    for profile in board.profiles(run):
        steps = board.get("overview", **profile)["steps"]
        roles = [column["name"] for column in steps["columns"][1::2]]
        for row in steps["rows"]:
            found[int(row[0])] = dict(zip(roles, row[1::2]))
    return found


def scalar(board, run, tag):
    """{step: value}, as the Scalars tab gets it."""
    return {step: value for _, step, value in
            Server.ask(board, "plugin/scalars/scalars", run=run, tag=tag)}


@pytest.mark.parametrize("run", RUNS)
def test_a_steps_roles_are_the_plugins(board, digits, run):
    """The same run, asked of the scalars tab and of the profiler tab."""
    Server.wait_for(board, lambda: Server.ask(board, "runs"), lambda found: set(RUNS) <= set(found))
    scalars = {name: scalar(board, run, f"hipboard_time/{tag}") for name, tag in ROLES.items()}
    plugin = plugin_steps(board, run)
    assert sorted(plugin) == steps_of(digits, run)
    for name, by_step in scalars.items():
        assert sorted(by_step) == sorted(plugin)
        for step, milliseconds in by_step.items():
            # float32 on one side, nanoseconds cut to fit on the other
            assert math.isclose(1e3 * milliseconds, plugin[step][name], rel_tol=1e-6, abs_tol=0.02)


@pytest.mark.parametrize("device", ["cpu", "hip"])
def test_beside_kinetos_dialect_stand_the_numbers_of_its_trace(device, tmp_path):
    """Where annotations of the program are none of its operators: all nine numbers of each step as `hipboard view`
    has them of the trace."""
    simulated = BUILD / "samples/digits/digits_kernels.so"
    if device == "hip" and not simulated.exists():
        pytest.skip("needs tools/simhsa")
    gpu = dict(LD_LIBRARY_PATH=str(BUILD / "tools/simhsa"), SIMHSA_KERNELS=str(simulated)) if device == "hip" else {}
    digits = DigitsRun(tmp_path / "runs/kineto", "--workers", 2, "--with-stack", "--dialect", "kineto", "--device", device,
                       env=dict(os.environ, **gpu))
    steps = {}
    for path in digits.files:
        shown = json.loads(run(BUILD / "tools/hipboard/hipboard", "view", "--view", "steps", "--json", path))
        steps |= {int(step["Step"]): step for step in shown["Steps"]}
    assert sorted(steps) == [step["number"] for cycle in digits.cycles for step in cycle["steps"]] and len(steps) == 12
    logged = values(digits.directory)
    for column, tag in COLUMNS.items():
        logged_of = {step: value.simple_value for step, value in logged[f"hipboard_time/{tag}"]}
        assert sorted(logged_of) == sorted(steps), tag
        for step, shown in steps.items():
            # Doubles of the view have steps of 0.001 us at such times.
            assert math.isclose(1e3 * logged_of[step], shown[f"{column} (us)"], rel_tol=1e-6, abs_tol=0.02), (tag, step)
    assert "hipboard_communication/exposed_ms" not in logged  # there was none
    assert all(step["CPU Exec (us)"] > 0 for step in steps.values())
    assert all((step["Kernel (us)"] > 0) == (device == "hip") for step in steps.values())


@pytest.mark.parametrize("run", RUNS)
def test_a_cycles_numbers_are_the_programs(digits, run):
    logged = values(digits[run].directory)
    last_steps = [cycle["steps"][-1]["number"] for cycle in digits[run].cycles]
    peaks = [value.simple_value for _, value in logged["hipboard_cycle/CPU_peak_mib"]]
    counted = [cycle["memory"]["peak_allocated"] / 2**20 for cycle in digits[run].cycles]
    assert peaks == pytest.approx(counted, rel=1e-6)
    assert [step for step, _ in logged["hipboard_cycle/CPU_peak_mib"]] == last_steps
    assert [value.simple_value for _, value in logged["hipboard_cycle/lost_events"]] == [0, 0]
    overhead = [[value.simple_value for _, value in logged[f"hipboard_cycle/{part}_ms"]]
                for part in ("recording", "writing", "overhead")]
    for events, recording, writing, both in zip(logged["hipboard_cycle/events"], *overhead):
        assert recording + writing == pytest.approx(both, rel=1e-5)
        assert 5e-6 < recording / events[1].simple_value < 1e-3 # ns, not us, a record
        assert 0 < writing < 600000 # ms, not us


def memory_of_steps(events):
    """{step: (peak, last)} in MiB: of what was allocated when the step began, and since."""
    found = {}
    held = None
    for event in sorted((event for event in events if event["name"].startswith("ProfilerStep#")
                         and event["ph"] == "X" or event["name"] == "[memory]"),
                        key=lambda event: event["ts"]):
        if event["name"] != "[memory]":
            step = int(event["name"].split("#")[1])
            found[step] = None if held is None else [held, held]
            continue
        args = event["args"]
        before = args["Total Allocated"] - args["Bytes"] if held is None else held
        held = args["Total Allocated"]
        for earlier in [step for step, numbers in found.items() if numbers is None]:
            found[earlier] = [before, before]
        if found:
            found[step] = [max(found[step][0], held), held]
    return {step: tuple(value / 2**20 for value in numbers) for step, numbers in found.items()}


@pytest.mark.parametrize("run", RUNS)
def test_a_steps_memory_is_what_the_trace_shows(digits, run):
    logged = values(digits[run].directory)
    expected = {}
    for path in digits[run].directory.glob("*.pt.trace.json*"):
        expected |= memory_of_steps(load(path)["traceEvents"])
    peaks, last = ({step: value.simple_value for step, value
                    in logged[f"hipboard_memory/CPU_{what}_mib"]} for what in ("peak", "current"))
    assert sorted(peaks) == sorted(last) == sorted(expected) == steps_of(digits, run)
    for step, (peak, current) in expected.items():
        assert (peaks[step], last[step]) == pytest.approx((peak, current), rel=1e-6)


@pytest.mark.parametrize("run", RUNS)
def test_a_cycles_times_are_the_averages_of_its_steps(digits, run):
    logged = values(digits[run].directory)
    for name in ("step_ms", "cpu_ms", "data_loader_ms", "other_ms"):
        by_step = {step: value.simple_value for step, value in logged[f"hipboard_time/{name}"]}
        for cycle, (step, value) in zip(digits[run].cycles, logged[f"hipboard_cycle/{name}"]):
            steps = [step["number"] for step in cycle["steps"]]
            assert step == steps[-1]
            assert value.simple_value == pytest.approx(
                sum(by_step[step] for step in steps) / len(steps), rel=1e-5)
    for name in ("events", "recording_ms"):
        of_cycles = sum(value.simple_value for _, value in logged[f"hipboard_cycle/{name}"])
        of_steps = sum(value.simple_value for _, value in logged[f"hipboard_profiler/{name}"])
        assert 0.9 * of_cycles < of_steps <= of_cycles * (1 + 1e-5)


@pytest.mark.parametrize("run", RUNS)
def test_what_the_program_gave_to_hb_scalar_is_there(digits, run):
    """In every step, recorded or not, and when the training is over."""
    logged = values(digits[run].directory)
    losses = {step: value.simple_value for step, value in logged["loss"]}
    steps = digits[run].report["training"]["steps"]
    assert list(losses) == list(range(steps)) and len(logged["loss"]) == steps
    for cycle in digits[run].cycles:
        for step in cycle["steps"]:
            assert losses[step["number"]] == pytest.approx(step["loss"], rel=1e-6)
    [(step, accuracy)] = logged["accuracy"]
    assert step == steps
    assert accuracy.simple_value == pytest.approx(digits[run].report["evaluation"]["accuracy"])


def test_texts_settings_and_layout_are_there_once(digits):
    logged = values(digits["workers0"].directory)
    [(_, environment)] = logged["hipboard/environment/text_summary"]
    assert b"| program | digits |" in environment.tensor.string_val[0]
    assert len(logged["hipboard/top_operators/text_summary"]) == 2
    assert len(logged["hipboard/advice/text_summary"]) == 2
    for once in ("custom_scalars__config__", "_hparams_/experiment",
                 "_hparams_/session_start_info", "_hparams_/session_end_info"):
        assert len(logged[once]) == 1


def test_another_reader_finds_the_same(digits):
    reader = pytest.importorskip("tbparse").SummaryReader(str(digits["workers0"].directory))
    found = {}
    for row in reader.scalars.itertuples(index=False):
        found.setdefault(row.tag, []).append((row.step, row.value))
    logged = values(digits["workers0"].directory)
    assert found == {tag: [(step, value.simple_value) for step, value in pairs]
                     for tag, pairs in logged.items() if pairs[0][1].HasField("simple_value")}
    assert len(found) > 30
    texts = {(row.tag, row.step): row.value for row in reader.text.itertuples(index=False)}
    assert texts == {(tag.removesuffix("/text_summary"), step):
                     value.tensor.string_val[0].decode()
                     for tag, pairs in logged.items() if tag.endswith("/text_summary")
                     for step, value in pairs}


DIGITS = BUILD / "samples/digits/digits"


def train_on(directory, options, copy=None):
    disk = directory / "disk"
    disk.mkdir()
    keep = f'; status=$?; cp -r "{disk}" "{copy}"; exit $status' if copy else ""
    done = on_small_disk(disk, options, f'"{DIGITS}" --epochs 12 --logdir "{disk}/run"{keep}')
    assert "accuracy on 359 held-back digits: 9" in done.stdout.decode() # it went on to the end
    assert done.returncode == 1 # traces are missing
    return [line for line in done.stderr.decode().splitlines() if line.startswith("hipboard: ")]


def test_training_goes_on_when_the_disk_is_full(tmp_path):
    said = train_on(tmp_path, "size=16k", tmp_path / "copy")
    [of_events] = [line for line in said if "tfevents" in line]
    assert "No space left on device" in of_events
    [path] = (tmp_path / "copy/run").glob("*tfevents*")
    losses = [event.step for event in read(path) if event.summary.value
              and event.summary.value[0].tag == "loss"]
    assert losses == list(range(len(losses))) and len(losses) > 100


def test_training_goes_on_when_nothing_may_be_written(tmp_path):
    *reasons, cycles, events = train_on(tmp_path, "ro")
    assert reasons and all("Read-only file system" in line for line in reasons)
    assert re.fullmatch(r"hipboard: \d+ cycles in all could not be written", cycles)
    assert re.fullmatch(r"hipboard: event log in '.*/run': \d+ records are lost", events)


def run_driver(directory, *options):
    subprocess.run([DIGITS, "--epochs", "12", "--logdir", directory,
                    *options], check=True, stdout=subprocess.DEVNULL)
    return sorted(path.name for path in directory.iterdir() if "tfevents" in path.name)


def test_two_processes_in_one_run_have_a_file_each(tmp_path):
    assert len(run_driver(tmp_path / "run")) == 1
    assert len(run_driver(tmp_path / "run", "--gzip")) == 2
