# SPDX-License-Identifier: MIT
"""`hipboard trigger`: running programs record some steps when they are asked to."""
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from support import BUILD, check_live_cycles, check_pftrace_beside, run, telling_cycles

HIPBOARD = BUILD / "tools/hipboard/hipboard"
SAMPLE = BUILD / "samples/on_demand"
LOCKSTEP = BUILD / "tests/e2e/programs/lockstep"
STEPS = BUILD / "tests/hip/steps"
needs_gpu = pytest.mark.skipif(not STEPS.exists(), reason="needs the HIP runtime and tools/simhsa")
PATIENCE_S = 600


@pytest.fixture(autouse=True)
def runtime_directory(tmp_path_factory, monkeypatch):
    """As the system makes one for each user."""
    directory = tmp_path_factory.mktemp("run")
    directory.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(directory))
    return directory


def until(condition):
    """What `condition` returns once it is true."""
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


@contextmanager
def running(*command, **options):
    program = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    try:
        yield program
    finally:
        program.kill()
        program.wait()


def trigger(*arguments):
    return subprocess.run([HIPBOARD, "trigger", *map(str, arguments)], capture_output=True,
                          text=True, timeout=PATIENCE_S)


# A program that has just begun may not have its profiler yet. On a busy machine a step that took long
# may be recorded just then, or come in between.
ASK_AGAIN = "no profiler", "still being recorded", "another request came"


def trigger_when_it_can(*arguments):
    def ask():
        done = trigger(*arguments)
        return None if done.returncode and any(why in done.stderr for why in ASK_AGAIN) else done
    done = until(ask)
    assert done.returncode == 0, done.stderr
    return done


def steps(trace):
    return sorted(int(event["name"].split("#")[1]) for event in trace["traceEvents"]
                  if event["ph"] == "X" and event["name"].startswith("ProfilerStep#"))


def written_by_a_signal(program, directory):
    """On a busy machine a step that took long may be the first reason of what is written."""
    def found():
        return set(directory.glob("*.pt.trace.json"))

    before = found()
    program.send_signal(signal.SIGUSR2)
    return any(json.loads(path.read_text())["hipboard_reason"].startswith("signal")
               for path in until(lambda: found() - before))


def test_a_program_is_asked_for_steps_and_the_trace_says_why(tmp_path):
    with running(SAMPLE, cwd=tmp_path) as program:
        done = trigger_when_it_can("--wait", "--steps", 2, "--roundup", 7, "--reason", "a *look*",
                                   program.pid)
        path = Path(done.stdout.strip())
        trace = json.loads(path.read_text())
        first, second = steps(trace)
        assert first % 7 == 0 and second == first + 1
        assert trace["hipboard_reason"] == "hipboard trigger: a *look*"
        assert {"load", "compute"} <= {event["name"] for event in trace["traceEvents"]}
        assert "Recorded because: hipboard trigger: a *look*\n" in run(HIPBOARD, "view", path)
        assert program.poll() is None
        until(lambda: written_by_a_signal(program, path.parent))
        [events] = path.parent.glob("*tfevents*")
        until(lambda: b"hipboard/reason" in events.read_bytes()
              and b"- signal" in events.read_bytes())


def test_a_step_that_takes_long_triggers(tmp_path):
    with running(SAMPLE, cwd=tmp_path):
        path = until(lambda: list((tmp_path / "runs/on_demand").glob("*.pt.trace.json")))[0]
        reason = json.loads(path.read_text())["hipboard_reason"]
    assert reason.startswith("step ") and "the median is" in reason


def test_where_there_is_no_runtime_directory_the_log_directory_leads_to_the_program(
        tmp_path, runtime_directory):
    runtime_directory.chmod(0o755)  # others may enter it: not used
    with running(LOCKSTEP, tmp_path, 0) as program:
        assert program.stdout.readline() == "ready\n"
        done = trigger("--steps", 1, program.pid)
        assert done.returncode == 1 and "log directory" in done.stderr
        done = trigger("--wait", "--seconds", "50ms", "--logdir", tmp_path, program.pid)
        assert done.returncode == 0, done.stderr
        assert Path(done.stdout.strip()).parent == tmp_path
        assert list(tmp_path.glob(".hipboard-*.sock"))
        program.communicate("")
        assert program.returncode == 0
    assert not list(tmp_path.glob(".*"))


def all_step(ranks, steps):
    """Together: none goes on before all are there."""
    for _ in range(steps):
        for rank in ranks:
            rank.stdin.write("s")
            rank.stdin.flush()
        for rank in ranks:
            assert rank.stdout.read(1) == "."


def test_a_cycle_in_memory_is_what_its_file_is(tmp_path):
    """Of a program that nothing triggers but who asks, and that removes no cycle, however busy the machine is."""
    logdir, cycles = tmp_path / "run", tmp_path / "cycles"
    with running(LOCKSTEP, logdir, 0, env=os.environ | telling_cycles(cycles)) as program:
        assert program.stdout.readline() == "ready\n"
        with running(HIPBOARD, "trigger", "--wait", "--steps", 3, program.pid) as asker:
            while asker.poll() is None:
                all_step([program], 1)
            assert asker.returncode == 0, asker.stderr.read()
        program.communicate("")
        assert program.returncode == 0
    check_live_cycles(cycles, list(logdir.glob("*.pt.trace.json")))


def now_ms():
    return int(time.time() * 1000)


LOOKS_EVERY_MS = 4000  # a profiler for request files


def traces_of_a_job(logdir):
    """Of three ranks, which are at step 95 when they are asked to begin with a multiple of 100 after
    a time, and at 125 when it comes. None if this machine could not do 30 steps in that time."""
    with running(LOCKSTEP, logdir, 0) as one, running(LOCKSTEP, logdir, 1) as two, \
            running(LOCKSTEP, logdir, 2) as three:
        ranks = one, two, three
        for rank in ranks:
            assert rank.stdout.readline() == "ready\n"
        all_step(ranks, 95)
        start_ms = now_ms() + 2 * LOOKS_EVERY_MS
        request = logdir / "new"
        request.write_text(f"PROFILE_START_TIME={start_ms}\nPROFILE_START_ITERATION_ROUNDUP=100\n"
                           "ACTIVITIES_ITERATIONS=3\nREQUEST_TRACE_ID=job\n")
        request.chmod(0o644)
        request.rename(logdir / "hipboard.request")
        all_step(ranks, 30)
        if now_ms() >= start_ms:
            return None
        until(lambda: now_ms() > start_ms + 1000)  # each has looked, and no rank goes on without another

        def recorded():
            time.sleep(0.02)
            all_step(ranks, 1)
            return len(found := list(logdir.glob("*.pt.trace.json"))) == 3 and found
        return [json.loads(path.read_text()) for path in until(recorded)]


def test_all_ranks_of_a_job_record_the_same_steps(tmp_path):
    for attempt in range(20):
        if found := traces_of_a_job(tmp_path / str(attempt)):
            break
    assert [steps(trace) for trace in found] == [[200, 201, 202]] * 3
    assert {trace["hipboard_request_id"] for trace in found} == {"job"}
    for trace in found: # a rank that a loaded machine kept from looking in time says so
        assert trace["hipboard_reason"].split(" (heard")[0] == "request file"


def test_trigger_all_writes_the_request_of_a_job(tmp_path):
    asked_ms = time.time() * 1000
    done = trigger("--all", tmp_path, "--steps", 5)
    assert done.returncode == 0 and "multiple of 10" in done.stdout
    request = dict(line.split("=") for line in (tmp_path / "hipboard.request").read_text().split())
    assert request["ACTIVITIES_ITERATIONS"] == "5"
    assert request["PROFILE_START_ITERATION_ROUNDUP"] == "10"
    assert int(request["PROFILE_START_TIME"]) > asked_ms
    assert not [path for path in tmp_path.iterdir() if path.name != "hipboard.request"]


def test_who_cannot_be_asked_is_told_of(tmp_path):
    done = trigger(os.getpid())
    assert done.returncode == 1 and f"process {os.getpid()} has no profiler" in done.stderr
    done = trigger(2 ** 22 + 1)
    assert done.returncode == 1 and "there is no process" in done.stderr
    done = trigger("--all", tmp_path / "none")
    assert done.returncode == 1 and "none" in done.stderr
    assert trigger().returncode == 2
    assert trigger("--steps", 1, "--seconds", 1, 1).returncode == 2
    assert trigger("me").returncode == 2


def child_of(pid, program):
    """Which runs it: `hipboard record` first asks the loader what the program will load."""
    def find():
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with suppress(OSError):
                if Path(f"/proc/{child}/exe").resolve() == program.resolve():
                    return int(child)
    return until(find)


@needs_gpu
def test_an_unchanged_program_records_hip_when_it_is_asked_to(tmp_path):
    simulated = BUILD / "tools/simhsa"
    command = [HIPBOARD, "record", "--on-demand", "-o", tmp_path, "--", STEPS, 100000, 0, 5,
               "roctx", "return"]
    with running(*command, env=dict(os.environ, LD_LIBRARY_PATH=str(simulated))) as recorder:
        program = child_of(recorder.pid, STEPS)
        done = trigger_when_it_can("--wait", "--steps", 3, program)
        trace = json.loads(Path(done.stdout.strip()).read_text())
        first = steps(trace)[0]
        assert steps(trace) == [first, first + 1, first + 2]
        assert "hipMemset" in {event["name"] for event in trace["traceEvents"]}
        assert "gpu_memset" in {event.get("cat") for event in trace["traceEvents"]}
        os.kill(program, signal.SIGTERM)
        recorder.wait(PATIENCE_S)
    assert len(list(tmp_path.glob("*.pt.trace.json"))) == 1


def test_a_program_that_is_not_asked_leaves_nothing(tmp_path):
    done = subprocess.run([HIPBOARD, "record", "--on-demand", "-o", tmp_path, "--", sys.executable,
                           "-c", "print('out')"], capture_output=True, text=True,
                          timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (0, "out\n")
    assert "see `hipboard trigger`" in done.stderr
    assert not list(tmp_path.iterdir())


@needs_gpu
def test_an_unchanged_programs_last_steps_are_kept_until_they_are_asked_for(tmp_path):
    """The dump is a cycle like any other to the plugin, and the program records on."""
    import plugin_in_process

    command = [HIPBOARD, "record", "--pftrace", "--ring", "5steps", "--trigger-signal", "USR2", "-o", tmp_path,
               "--", STEPS, 100000, 0, 5, "roctx", "return"]
    simulated = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "tools/simhsa"))
    with running(*command, env=simulated) as recorder:
        program = child_of(recorder.pid, STEPS)
        # the steps that are asked for come into it first
        done = trigger_when_it_can("--wait", "--steps", 20, "--reason", "a look", program)
        path = Path(done.stdout.strip())
        trace = json.loads(path.read_text())
        found = steps(trace)
        assert 6 <= len(found) <= 12 and found == list(range(found[0], found[-1] + 1))
        assert found[0] > 105
        assert trace["hipboard_reason"] == "hipboard trigger: a look"
        assert 0 < trace["hipboard_ring_seconds"] < PATIENCE_S
        assert "gpu_memset" in {event.get("cat") for event in trace["traceEvents"]}
        assert trace["deviceProperties"]
        assert "Recorded because: hipboard trigger: a look\n" in run(HIPBOARD, "view", path)
        os.kill(program, signal.SIGUSR2)
        # a trace stands there before the .pftrace that is made of it
        until(lambda: len(list(tmp_path.glob("*.pftrace"))) == 2)
        os.kill(program, signal.SIGKILL)  # what was kept is recovered
        recorder.wait(PATIENCE_S)
    traces = sorted(tmp_path.glob("*.pt.trace.json"))
    assert len(traces) == 3
    reasons = [json.loads(trace.read_text())["hipboard_reason"] for trace in traces]
    assert sorted(reasons) == ["hipboard trigger: a look", "recovered: its process was killed",
                               "signal"]
    for trace in traces:
        check_pftrace_beside(trace, tmp_path.with_name("read"))
    for other in traces:
        if other != path:
            other.unlink()
    plugin = plugin_in_process.Plugin(tmp_path)
    [name] = plugin.get("runs")[1]["runs"]
    [worker] = plugin.get(plugin_in_process.url("workers", run=name, view="Overview"))[1]
    status, overview = plugin.get(plugin_in_process.url("overview", run=name, worker=worker,
                                                        span="1"))
    rows = overview["steps"]["rows"]
    assert status == 200 and [int(row[0]) for row in rows] == found[:len(rows)] and len(rows) >= 5


def test_a_ring_of_a_program_that_is_not_asked_leaves_nothing(tmp_path):
    done = subprocess.run([HIPBOARD, "record", "--ring", "1s", "-o", tmp_path, "--", sys.executable,
                           "-c", "print('out')"], capture_output=True, text=True,
                          timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (0, "out\n")
    assert "see `hipboard trigger`" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words, said", [
    (["--ring", "soon"], "30s, 100steps or 64MiB"), (["--ring", "0steps"], "1 step"),
    (["--ring", "5s", "--on-demand"], "--ring"), (["--trigger-hip-errors"], "--ring")])
def test_a_ring_that_makes_no_sense_is_refused(words, said):
    done = subprocess.run([HIPBOARD, "record", *words, "--", "true"], capture_output=True,
                          text=True)
    assert done.returncode == 2 and said in done.stderr
