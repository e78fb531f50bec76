# SPDX-License-Identifier: MIT
"""`hipboard record`: unchanged programs leave traces, and notice nothing."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from server import TensorBoard
from support import BUILD, ROOT, SLOW_TO_UNLOCK, check_pftrace_beside, copy_of_build, recover_when_dead, run

HIPBOARD = BUILD / "tools/hipboard/hipboard"
PLAIN = BUILD / "tests/hip/plain"
STEPS = BUILD / "tests/hip/steps"  # COUNT INIT_MS STEP_MS [roctx] END
ROUNDS = BUILD / "tests/hip/rounds"  # KERNELS STEPS [UNTIL COUNT [IDLE_MS]]
KERNELS = ROOT / "tests/hip/kernels_gfx90a.co"
PLATE = BUILD / "samples/plate/plate"
WITH_GPU = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "tools/simhsa"),
                SIMHSA_LIBRARY_DIR=str(BUILD / "tools/simhsa"))
needs_gpu = pytest.mark.skipif(not PLAIN.exists(), reason="needs the HIP runtime and tools/simhsa")


IN_SUITE = ROOT / "tools/simhsa/in_suite"


@pytest.fixture(scope="module", params=["5.2", "5.7", "6.4", "7.2"])
def release(request):
    return request.param


@pytest.fixture(scope="module")
def hip(release):
    """What puts a command on that HIP runtime: the installed one, or another Debian suite's."""
    suites = {"5.7": "trixie", "6.4": "sid", "7.2": "experimental"}
    if release not in suites:
        return []
    prefix = [IN_SUITE, suites[release]]
    done = subprocess.run([*prefix, "true"], capture_output=True, text=True, timeout=600, env=WITH_GPU)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    return prefix


def record(*arguments, env=None, hip=()):
    return subprocess.run([*hip, HIPBOARD, "record", *map(str, arguments)], capture_output=True,
                          text=True, timeout=600, env=env)


def traces(logdir):
    """The complete events of each file, oldest file first."""
    by_time = sorted(logdir.glob("*.pt.trace.json"), key=lambda path: path.name.split(".")[-4])
    return [[e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]
            for path in by_time]


def events(logdir):
    """By process: (category, name) of each complete event."""
    return [{(e.get("cat"), e["name"]) for e in trace} for trace in traces(logdir)]


def steps(trace):
    return [int(e["name"].split("#")[1]) for e in trace if e["name"].startswith("ProfilerStep#")
            and e["cat"] == "user_annotation"]


@needs_gpu
def test_a_hip_program_and_its_child_leave_a_trace_each(tmp_path, hip, release):
    done = record("-o", tmp_path, "--", PLAIN, env=WITH_GPU, hip=hip)
    assert (done.returncode, done.stdout, done.stderr) == (42, "filled\n", "")
    parent, child = sorted(events(tmp_path), key=lambda found: ("cpu_op", "child") in found)
    assert ("Runtime", "hipMemset") in parent
    assert ("gpu_memset", "Memset (Device)") in parent
    assert ("cpu_op", "fill") in parent  # a roctx range
    assert ("cpu_op", "child") in child
    assert not any(category == "Runtime" for category, _ in child)
    versions = [json.loads(path.read_text()).get("hip_runtime_version")
                for path in tmp_path.glob("*.pt.trace.json")]
    version = max(filter(None, versions))
    assert f"{version // 10000000}.{version // 100000 % 100}" == release
    assert not list(tmp_path.glob(".*")), "spools are left behind"


LAST_THREAD = """
#include <pthread.h>
#include <unistd.h>
static void *outlive(void *arg) { usleep(100000); return arg; }
int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc > 1) pthread_create(&thread, NULL, outlive, argv);
    pthread_exit(NULL);
}
"""


@pytest.mark.parametrize("options", [[], ["--on-demand"], ["--delay", "1000s"]],
                         ids=["all", "on-demand", "delayed"])
@pytest.mark.parametrize("arguments", [[], ["thread"]], ids=["alone", "outlived"])
def test_a_main_that_leaves_by_pthread_exit_ends_the_program(tmp_path, options, arguments):
    subprocess.run(["cc", "-x", "c", "-", "-pthread", "-o", tmp_path / "last"], input=LAST_THREAD,
                   text=True, check=True)
    done = record(*options, "-o", tmp_path / "log", "--", tmp_path / "last", *arguments)
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "log").glob(".*")), "something is left behind"


LEAVES_SLOWLY = """
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static const char *ending;
static void wait_for_a_signal(void)
{
    close(open(ending, O_WRONLY | O_CREAT, 0600));
    for (;;) pause();
}
int main(int argc, char **argv)
{
    ending = argv[1];
    atexit(wait_for_a_signal);
    pthread_exit(NULL);
}
"""


@pytest.mark.parametrize("options", [[], ["--on-demand"]], ids=["all", "on-demand"])
def test_after_pthread_exit_in_main_a_program_obeys_sigterm(tmp_path, options):
    """The last thread, in which the exit handlers run, is one that takes signals."""
    subprocess.run(["cc", "-x", "c", "-", "-pthread", "-o", tmp_path / "last"],
                   input=LEAVES_SLOWLY, text=True, check=True)
    ending = tmp_path / "ending"
    command = [HIPBOARD, "record", *options, "-o", tmp_path / "log", "--", tmp_path / "last", ending]
    with subprocess.Popen(command, start_new_session=True) as program:
        try:
            while program.poll() is None and not ending.exists():
                time.sleep(0.02)
            program.send_signal(signal.SIGTERM)
            assert program.wait(600) in (-signal.SIGTERM, 128 + signal.SIGTERM)
        finally:
            program.poll() is None and os.killpg(program.pid, signal.SIGKILL)


def until_stopped(pid):
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.01)


@pytest.mark.parametrize("number, status, said", [(signal.SIGCONT, 3, b"on\n"), (signal.SIGKILL, -signal.SIGKILL, b"")],
                         ids=["continued", "killed"])
def test_a_program_that_stops_is_followed_and_its_end_too(tmp_path, number, status, said):
    """Who lets the program go on, or kills it, need not know of the recorder, which the shell saw stop."""
    with subprocess.Popen([HIPBOARD, "record", "-o", tmp_path, "--", "sh", "-c",
                           "echo $$; kill -STOP $$; echo on; exit 3"], stdout=subprocess.PIPE) as recorder:
        try:
            program = int(recorder.stdout.readline())
            until_stopped(program)
            until_stopped(recorder.pid)
            os.kill(program, number)
            assert recorder.wait(600) == status
            assert recorder.stdout.read() == said
        finally:
            recorder.poll() is None and recorder.kill()


def test_a_program_without_hip_keeps_its_output_and_status_and_is_explained(tmp_path):
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    done = record("-o", tmp_path, "--", sys.executable, "-c", script)
    assert (done.returncode, done.stdout) == (3, "out\n")
    own, said = done.stderr.splitlines()
    assert own == "err"
    assert said.startswith("hipboard: nothing was recorded of ") and "no HIP call" in said
    assert not list(tmp_path.iterdir())


def test_a_program_has_the_signals_that_its_caller_gave_it(tmp_path):
    program = ["grep", "^Sig[BIC]", "/proc/self/status"]

    def block_and_ignore():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    for given in None, block_and_ignore:
        said = [subprocess.run([*before, *program], capture_output=True, text=True, timeout=600, preexec_fn=given, check=True).stdout
                for before in ([], [HIPBOARD, "record", "-o", tmp_path, "--"])]
        # Two are the C library's own, in programs with threads.
        alone, recorded = [{line.split()[0]: int(line.split()[1], 16) & ~(3 << 31) for line in text.splitlines()}
                           for text in said]
        assert recorded == alone and alone["SigBlk:"] == (0x4200 if given else 0)


RANGES = """#include <dlfcn.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int (*push)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "roctxRangePushA");
    int (*pop)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "roctxRangePop");
    for (int i = 1; i < argc; i++)
        push(argv[i]), usleep(1000), pop();
    return 0;
}
"""


def test_ranges_are_steps_by_a_number_alone(tmp_path):
    """Of a program that marks by roctx, and has no HIP."""
    subprocess.run(["cc", "-x", "c", "-", "-o", tmp_path / "ranges"], input=RANGES, text=True, check=True)
    names = ["ProfilerStep#", "ProfilerStep#5x", "ProfilerStep# x", "Profiler", "ProfilerStep#5", "a", "ProfilerStep#6"]
    done = record("-o", tmp_path / "out", "--", tmp_path / "ranges", *names)
    assert (done.returncode, done.stderr) == (0, "")
    [trace] = traces(tmp_path / "out")
    shown = {e["name"]: e["cat"] for e in trace if e["ph"] == "X" and e["name"] in names}
    assert list(shown) == names
    assert [name for name in names if shown[name] == "user_annotation"] == ["ProfilerStep#5", "ProfilerStep#6"]


def test_why_nothing_was_recorded_of_a_program(tmp_path):
    """Of a script that is shorter than an ELF file's head, of static programs and of one that is none."""
    source, static, plain = tmp_path / "a.c", tmp_path / "static", tmp_path / "plain"
    source.write_text("int main(void) { return 3; }")
    run("cc", "-static", source, "-o", static)
    run("cc", source, "-o", plain)
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    for program, why in [(script, "no HIP call"), (plain, "no HIP call"), (static, "it is statically linked")]:
        done = record("-o", tmp_path / "out", "--", program)
        assert done.returncode == 3
        assert done.stderr.startswith(f"hipboard: nothing was recorded of {program}: ") and why in done.stderr
        assert done.stderr.count("statically") == why.count("statically")


@needs_gpu
@pytest.mark.parametrize("backend", ["", "interposition"])
def test_a_runtime_that_is_loaded_later_is_found(tmp_path, hip, release, backend):
    done = record("-o", tmp_path, "--", BUILD / "tests/hip/late",
                  env=WITH_GPU | {"HIPBOARD_HIP_BACKEND": backend}, hip=hip)
    way = "by dlsym\n" if release < "6.1" else "by hipGetProcAddress\n"
    assert (done.returncode, done.stdout) == (0, way)
    [found] = events(tmp_path)
    assert {("Runtime", "hipMalloc"), ("Runtime", "hipMemset"), ("Runtime", "hipFree"),
            ("gpu_memset", "Memset (Device)")} <= found


@needs_gpu
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_pipes_between_forked_processes_are_left_alone(tmp_path, shell):
    script = "echo one | cat; echo two | (read x; echo $x); echo three | cat | (cat; echo four)"
    done = record("-o", tmp_path, "--", shell, "-c", script)
    assert (done.returncode, done.stdout) == (0, "one\ntwo\nthree\nfour\n")


def test_processes_of_a_script_that_do_nothing_leave_nothing(tmp_path, hip):
    script = f"(true); ls / >/dev/null; '{PLAIN}'; exit 9"
    done = record("-o", tmp_path, "--", "bash", "-c", script, env=WITH_GPU, hip=hip)
    assert (done.returncode, done.stdout, done.stderr) == (9, "filled\n", "")
    assert len(events(tmp_path)) == 2  # the program and its child
    assert not list(tmp_path.glob(".*"))


@needs_gpu
@pytest.mark.parametrize("end, status", [("exit", 0), ("_exit", 5), ("exec", 6)])
def test_a_trace_is_whole_however_a_program_ends(tmp_path, hip, end, status):
    done = record("-o", tmp_path, "--", STEPS, 3, 0, 1, end, env=WITH_GPU, hip=hip)
    assert (done.returncode, done.stdout, done.stderr) == (status, "done\n", "")
    [trace] = traces(tmp_path)
    assert sum(e["cat"] == "gpu_memset" for e in trace) == 3
    assert not list(tmp_path.glob(".*"))


@needs_gpu
def test_a_signal_reaches_the_program_and_what_it_did_becomes_a_trace(tmp_path, hip):
    with subprocess.Popen([*hip, HIPBOARD, "record", "-o", tmp_path, "--", STEPS, "3", "0", "1",
                           "hang"], stdout=subprocess.PIPE, env=WITH_GPU) as running:
        assert running.stdout.readline() == b"done\n"
        running.send_signal(signal.SIGTERM)
        assert running.wait(600) == -signal.SIGTERM
    [trace] = traces(tmp_path)
    assert sum(e["cat"] == "gpu_memset" for e in trace) == 3
    assert not list(tmp_path.glob(".*"))


@needs_gpu
@pytest.mark.parametrize("by", ["record", "recover"])
def test_a_killed_programs_trace_has_its_pftrace_beside_it(tmp_path, by):
    logdir = tmp_path / "runs"
    with subprocess.Popen([HIPBOARD, "record", "--pftrace", "-o", logdir, "--", STEPS, "3", "0", "1", "hang"],
                          stdout=subprocess.PIPE, env=WITH_GPU) as running:
        assert running.stdout.readline() == b"done\n"
        if by == "recover":
            running.kill()  # takes the program with it, and nobody is left to write
        else:
            os.kill(int(Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text()), signal.SIGKILL)
        running.wait(600)
        assert running.stdout.read() == b""
    recover_when_dead(logdir, "--pftrace")
    [trace] = logdir.glob("*.pt.trace.json")
    assert json.loads(trace.read_text())["hipboard_recovered"]
    check_pftrace_beside(trace, tmp_path / "read")


@needs_gpu
def test_a_killed_recorder_takes_the_program_with_it(tmp_path, hip):
    with subprocess.Popen([*hip, HIPBOARD, "record", "-o", tmp_path, "--", STEPS, "3", "0", "1",
                           "hang"], stdout=subprocess.PIPE, env=WITH_GPU) as running:
        assert running.stdout.readline() == b"done\n"
        running.kill()
        running.wait(600)
        assert running.stdout.read() == b""  # nobody has the other end any more
    recover_when_dead(tmp_path)
    assert len(traces(tmp_path)) == 1


@needs_gpu
@pytest.mark.skipif(not PLATE.exists(), reason="needs hipcc")
def test_a_device_that_is_lost_leaves_what_was_before(tmp_path, hip, release):
    """HIP before 7 ends the program then."""
    done = record("-o", tmp_path, "--", PLATE, env=WITH_GPU | {"SIMHSA_FAULTS": "queue:30"}, hip=hip)
    [path] = tmp_path.glob("*.pt.trace.json")
    trace = json.loads(path.read_text())
    calls = [e for e in trace["traceEvents"] if e.get("cat") == "Runtime"]
    assert sum(e["name"] == "hipLaunchKernel" for e in calls) >= 30
    if release < "7":
        assert done.returncode == -signal.SIGABRT and trace["hipboard_recovered"]
    else:
        assert "a device failed" in " ".join(trace["hipboard_hip_notes"])
    assert not list(tmp_path.glob(".*"))


# ---- steps ----

@needs_gpu
def test_ranges_named_as_steps_are_the_steps(tmp_path, hip):
    assert record("-o", tmp_path, "--", STEPS, 5, 0, 1, "roctx", "exit", env=WITH_GPU,
                  hip=hip).returncode == 0
    [trace] = traces(tmp_path)
    assert steps(trace) == [100, 101, 102, 103, 104]


@needs_gpu
@pytest.mark.parametrize("ranges", [["roctx"], []])
def test_the_operator_page_of_programs_without_operators_is_not_blank(tmp_path, ranges):
    """The plugin's page wants an operator that has host time beside its calls of the runtime."""
    logdir = tmp_path / "logdir"
    assert record("-o", logdir / "run", "--", STEPS, 3, 0, 1, *ranges, "exit", env=WITH_GPU).returncode == 0
    with TensorBoard(logdir, tmp_path / "tensorboard.log") as board:
        board.wait_until_loaded()
        [profile] = board.profiles("run")
        pies = board.get("operation", group_by="Operation", **profile)
    assert all(pies[f"{where}_{which}_time"]["rows"] for where in ("host", "device") for which in ("self", "total"))
    assert "no operator was recorded" in {row[0] for row in pies["host_self_time"]["rows"]}
    assert {"hipMalloc", "hipMemset"} <= {row[0] for row in pies["host_total_time"]["rows"]}


@needs_gpu
def test_without_steps_there_are_slices_of_time(tmp_path):
    done = record("-o", tmp_path, "--slice", "20ms", "--", STEPS, 5, 0, 20, "exit", env=WITH_GPU)
    assert (done.returncode, done.stderr) == (0, "")
    [trace] = traces(tmp_path)
    assert steps(trace) == list(range(len(steps(trace)))) and len(steps(trace)) >= 5
    assert {round(e["dur"] / 1000) for e in trace if e["name"] == "ProfilerStep#1"} == {20}


@needs_gpu
def test_a_schedule_counts_the_programs_steps_and_gives_a_file_a_cycle(tmp_path, hip):
    done = record("-o", tmp_path, "--schedule", "wait=1,warmup=1,active=2,repeat=2", "--",
                  STEPS, 12, 0, 5, "roctx", "exit", env=WITH_GPU, hip=hip)
    assert (done.returncode, done.stderr) == (0, "")
    cycles = traces(tmp_path)
    assert [steps(trace) for trace in cycles] == [[102, 103], [106, 107]]
    for trace in cycles:
        assert sum(e["cat"] == "gpu_memset" for e in trace) == 2


@needs_gpu
def test_no_step_is_passed_over_while_the_times_are_looked_at(tmp_path):
    """A thread that held a lock for that cost a program its first steps: all of these, as it is held here."""
    done = record("-o", tmp_path, "--no-telemetry", "--slice", "600s", "--schedule", "wait=1,warmup=1,active=2,repeat=2",
                  "--", STEPS, 12, 0, 5, "roctx", "exit", env={**WITH_GPU, "LD_PRELOAD": str(SLOW_TO_UNLOCK)})
    assert (done.returncode, done.stderr) == (0, "")
    assert [steps(trace) for trace in traces(tmp_path)] == [[102, 103], [106, 107]]


def record_until_traced(logdir, *options, within_s=600):
    """Of a program that goes on; whether there was a trace within that time."""
    with subprocess.Popen([HIPBOARD, "record", "-o", logdir, *options, "--", STEPS, "1000000", "0", "10",
                           "exit"], env=WITH_GPU) as running:
        end = time.monotonic() + within_s
        while not list(logdir.glob("*.pt.trace.json")) and time.monotonic() < end:
            assert running.poll() is None
            time.sleep(0.05)
        running.terminate()
        assert running.wait(600) == -signal.SIGTERM
    return len(list(logdir.glob("*.pt.trace.json"))) == 1


@needs_gpu
def test_a_schedule_counts_slices_when_there_are_no_steps(tmp_path):
    assert record_until_traced(tmp_path, "--schedule", "wait=1,active=2,repeat=1", "--slice", "50ms")
    [trace] = traces(tmp_path)
    assert steps(trace) == [1, 2]


def found_steps(logdir):
    """Of the traces whose steps were found while the program ran: their steps with the launches in each."""
    found = []
    for path in sorted(logdir.glob("*.pt.trace.json")):
        trace = json.loads(path.read_text())
        if trace.get("hipboard_steps", {}).get("method") not in ("call stacks", "sequence"):
            continue
        calls = [e for e in trace["traceEvents"] if e.get("cat") == "Runtime" and "Launch" in e["name"]]
        shown = [e for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep#")
                 and e.get("cat") == "user_annotation"]
        found.append([(int(e["name"].split("#")[1]),
                       sum(e["ts"] <= c["ts"] < e["ts"] + e["dur"] for c in calls)) for e in shown])
    return found


@needs_gpu
@pytest.mark.parametrize("backend", ["", "interposition"])
def test_a_schedule_counts_the_steps_that_are_found(tmp_path, hip, backend):
    """Until they are seen slices of time count: a slow machine has traces of those, too."""
    stop, logdir = tmp_path / "stop", tmp_path / "log"
    command = [*hip, HIPBOARD, "record", "-o", logdir, "--schedule", "wait=2,warmup=1,active=2,repeat=100", "--",
               ROUNDS, KERNELS, "100000000", stop, "1"]
    with subprocess.Popen(list(map(str, command)), env=WITH_GPU | {"HIPBOARD_HIP_BACKEND": backend},
                          stdout=subprocess.PIPE, text=True) as running:
        while len(found_steps(logdir)) < 3:
            assert running.poll() is None
            time.sleep(0.05)
        stop.touch()
        assert running.communicate() == ("done\n", None)
        assert running.returncode == 0
    found = found_steps(logdir)[:3]
    assert [len(shown) for shown in found] == [2] * 3, [
        (path.name, json.loads(path.read_text()).get("hipboard_steps"),
         [(e["name"], e["ts"], e.get("dur")) for e in json.loads(path.read_text())["traceEvents"]
          if e["name"].startswith("ProfilerStep#") or "Launch" in e["name"] or "Synchronize" in e["name"]])
        for path in sorted(logdir.glob("*.pt.trace.json"))[:5]]
    for (first, few), (second, many) in found:
        assert (second, many) == (first + 1, 5)
        assert few == 5 or (backend or not hip) and few == 4  # where launches are interposed


def cycles_of_rounds(logdir, stop, idle_ms):
    """Of the first four cycles, of two steps each: whether their steps were found. They are all slices or none is."""
    command = [HIPBOARD, "record", "-o", logdir, "--schedule", "wait=0,warmup=0,active=2,repeat=100", "--",
               ROUNDS, KERNELS, "100000000", stop, "1", idle_ms]
    with subprocess.Popen(list(map(str, command)), env=WITH_GPU, stdout=subprocess.PIPE, text=True) as running:
        while len(list(logdir.glob("*.pt.trace.json"))) < 4:
            assert running.poll() is None
            time.sleep(0.05)
        stop.touch()
        assert running.communicate() == ("done\n", None)
        assert running.returncode == 0
    cycles = []
    for path in sorted(logdir.glob("*.pt.trace.json"))[:4]:
        trace = json.loads(path.read_text())
        shown = {(e["name"], e["tid"]) for e in trace["traceEvents"]
                 if e["name"].startswith("ProfilerStep#") and e.get("cat") == "user_annotation"}
        launches = {e["tid"] for e in trace["traceEvents"] if e.get("cat") == "Runtime" and "Launch" in e["name"]}
        [found] = {tid in launches for _, tid in shown}
        assert len(shown) == 2
        assert ("hipboard_steps" in trace) == found
        cycles.append(found)
    return cycles


@needs_gpu
def test_slices_count_a_cycle_to_its_end(tmp_path):
    """Step 0, which no cycle has, and each slice are a second long: what begins to run amid one is found amid a cycle
    of slices, on a machine that is fast enough, and counts from the next cycle on."""
    tried = []
    while not any(not cycles[0] and cycles[-1] for cycles in tried) and len(tried) < 10:
        directory = tmp_path / str(len(tried))
        directory.mkdir()
        tried.append(cycles_of_rounds(directory / "log", directory / "stop", 1500 + 500 * len(tried)))
        assert tried[-1] == sorted(tried[-1])
    assert any(not cycles[0] and cycles[-1] for cycles in tried), tried


@needs_gpu
def test_delay_and_duration_bound_what_is_recorded(tmp_path):
    """Real time: a machine on which the program has not come to its second step by then gets more."""
    seconds, recorded = 0.3, 0
    while recorded < 2 and seconds < 300:
        seconds *= 2
        logdir, began = tmp_path / str(seconds), time.time_ns()
        if record_until_traced(logdir, "--delay", f"{seconds}s", "--duration", f"{2 * seconds}s",
                               within_s=3 * seconds + 10):
            [path] = logdir.glob("*.pt.trace.json")
            document = json.loads(path.read_text())
            recorded = sum(e.get("cat") == "gpu_memset" for e in document["traceEvents"])
    assert recorded > 1
    times = [document["baseTimeNanoseconds"] + 1000 * e["ts"] for e in document["traceEvents"]
             if e["ph"] == "X"]
    assert min(times) > began + 1e9 * seconds - 1e6


def test_a_program_that_profiles_itself_does_so_and_its_cycles_come_along(tmp_path):
    (tmp_path / "cwd").mkdir()
    done = subprocess.run([HIPBOARD, "record", "-o", tmp_path / "tool", "--",
                           BUILD / "samples/minimal"], cwd=tmp_path / "cwd", capture_output=True,
                          text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    own = [path for path in (tmp_path / "cwd").rglob("*.pt.trace.json")]
    also = list((tmp_path / "tool").glob("*.pt.trace.json"))
    assert len(own) == len(also) == 1
    own, also = (json.loads(path.read_text()) for path in own + also)
    assert own.pop("traceName") != also.pop("traceName")
    assert own == also


@needs_gpu
@pytest.mark.parametrize("folder", ["a b", "$LIB"]) # which the loader takes for lib/x86_64-linux-gnu
def test_a_path_that_the_loader_would_take_for_another_is_no_hindrance(tmp_path, hip, folder):
    tool = copy_of_build(tmp_path / folder)
    done = subprocess.run([*hip, tool, "record", "-o", tmp_path / "runs", "--", STEPS, "1", "0", "0", "exit"],
                          capture_output=True, text=True, timeout=600, env=WITH_GPU)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert len(traces(tmp_path / "runs")) == 1


def test_a_library_that_is_not_to_be_trusted_is_left_out_and_told(tmp_path):
    tool = copy_of_build(tmp_path / "build")
    library = tmp_path / "build/src/recorder/libhipboard-openmp.so.0"
    library.chmod(0o757)
    for rank, told in (("0", 1), ("1", 0)): # of a thousand ranks one says it
        done = subprocess.run([tool, "record", "-q", "-o", tmp_path / "runs", "--", "true"], capture_output=True, text=True,
                              timeout=600, env={**os.environ, "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2"})
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.count(
            "hipboard record: goes on without libhipboard-openmp.so.0: "
            f"{tmp_path}/build/src/recorder/libhipboard-openmp.so.0 may be written to by everybody (mode 0757): "
            "chmod o-w it, or install elsewhere\n") == told, done.stderr


@needs_gpu
def test_the_plugin_shows_slices_as_steps(tmp_path):
    """A long-running program without any marks still has an overview by step."""
    logdir = tmp_path / "logdir"
    logdir.mkdir()
    assert record("-o", logdir / "run", "--slice", "20ms", "--", STEPS, 5, 0, 20, "exit",
                  env=WITH_GPU).returncode == 0
    [trace] = traces(logdir / "run")
    with TensorBoard(logdir, tmp_path / "tensorboard.log") as board:
        board.wait_until_loaded()
        [profile] = board.profiles("run")
        shown = [int(row[0]) for row in board.get("overview", **profile)["steps"]["rows"]]
    assert len(shown) >= 5
    assert shown == steps(trace)[:len(shown)]  # the plugin leaves out the idle ones at the end


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 1024)
    end = time.monotonic() + 300
    while not os.path.exists(sys.argv[1]) and time.monotonic() < end:
        time.sleep(0.02)
"""


def test_processes_that_outlive_the_program_are_left_alone(tmp_path):
    done = record("-o", tmp_path, "--", sys.executable, "-c", DAEMON, tmp_path / "end")
    assert (done.returncode, done.stdout) == (0, "")
    assert "has ended, and left processes" in done.stderr
    assert len(list(tmp_path.glob(".*.hbspool"))) == 1
    (tmp_path / "end").touch()
    for _ in range(6000):  # does nothing that is recorded
        time.sleep(0.1)
        if not list(tmp_path.glob(".*.hbspool")):
            return
    pytest.fail("a spool is left behind")


def test_many_recorders_may_share_a_directory(tmp_path):
    many = [subprocess.Popen([HIPBOARD, "record", "-o", tmp_path, "--", "true"],
                             stderr=subprocess.PIPE, text=True) for _ in range(40)]
    for one in many:
        error = one.communicate()[1]
        assert one.returncode == 0
        assert error.count("\n") == 1 and "nothing was recorded of true" in error
    assert not list(tmp_path.glob(".*"))


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to make a file another user's")
def test_a_program_with_other_rights_says_why_it_is_not_recorded(tmp_path):
    program = tmp_path / "sleep"
    shutil.copy(shutil.which("sleep"), program)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    done = record("-o", tmp_path / "runs", "--", program, "0")
    assert done.returncode == 0
    assert "runs with other rights than yours" in done.stderr


@needs_gpu
def test_kernels_are_sampled_when_asked_for_and_where_that_is_possible(tmp_path):
    for backend, said in ("interposition", 8), ("activity-hooks", None):
        done = record("-o", tmp_path / backend, "--kernel-sampling", 8, "--", PLAIN,
                      env=WITH_GPU | {"HIPBOARD_HIP_BACKEND": backend})
        assert done.returncode == 42
        whole = [json.loads(path.read_text()) for path in (tmp_path / backend).glob("*.json")]
        [parent] = [trace for trace in whole if "hip_runtime_version" in trace]
        assert parent.get("hipboard_kernel_sampling") == said
        assert ("not possible by" in str(parent["hipboard_hip_notes"])) == (said is None)
    wrong = record("-o", tmp_path, "--kernel-sampling", 0, "--", PLAIN, env=WITH_GPU)
    assert wrong.returncode == 2 and "from 1 on" in wrong.stderr


CAPTURE = "HIPBOARD_CAPTURE_"
# What the processes are told for an option, and nothing else: numbers of nanoseconds, bits of <hipboard/hipboard.h>.
ASKED = {
    ("--delay", "2s"): {"DELAY": "2000000000"},
    ("--duration", "500ms"): {"DURATION": "500000000"},
    ("--schedule", "wait=1,warmup=2,active=3,repeat=4,skip_first=5"): {"SCHEDULE": "1,2,3,4,5"},
    ("--on-demand",): {"ON_DEMAND": "1"},
    ("--ring", "30s"): {"RING": "30000000000,0,0"},
    ("--ring", "100steps"): {"RING": "0,100,0"},
    ("--ring", "64MiB"): {"RING": f"0,0,{64 << 20}"},
    ("--on-demand", "--trigger-signal", "USR1"): {"ON_DEMAND": "1", "SIGNAL": str(int(signal.SIGUSR1))},
    ("--on-demand", "--trigger-slow-step", "2.5"): {"ON_DEMAND": "1", "SLOW_STEP": "250"},
    ("--on-demand", "--trigger-hip-errors"): {"ON_DEMAND": "1", "HIP_ERRORS": "1"},
    ("--on-demand", "--trigger-metric", "loss > 2"): {"ON_DEMAND": "1", "METRIC": "loss > 2"},
    ("--max-cycles", "4"): {"MAX_CYCLES": "4"},
    ("--slice", "3s"): {"SLICE": "3000000000"},
    ("--telemetry", "20ms"): {"TELEMETRY": "20000000"},
    ("--no-telemetry",): {"TELEMETRY": "0"},
    ("--with-stack",): {"STACK": "1"},
    ("--sample", "100"): {"SAMPLE_HZ": "100"},
    ("--modules", "a(b)"): {"MODULES": '"a(b)"', "STACK": "1"},
    ("--no-auto-steps",): {"STEPS": "0"},
    ("--with-stack", "--step-loop", "3"): {"STACK": "1", "STEPS": "4"},
    ("--activities", "cpu"): {"ACTIVITIES": "1"},
    ("--activities", "hip,comm"): {"ACTIVITIES": "6"},
    ("--kernel-sampling", "8"): {"KERNEL_SAMPLING": "8"},
    ("--comm", "none"): {"OPERATORS": "libraries:without=communication"},
    ("--loaders",): {"OPERATORS": "libraries:loaders"},
    ("--op-names", "torch"): {"OPERATORS": "libraries:names=torch"},
    ("--no-library-ops",): {"OPERATORS": "communication"},
    ("--gzip",): {"FLAGS": "1"},
    ("--dialect", "kineto"): {"FLAGS": "2"},
    ("--pftrace",): {"FLAGS": str(1 << 5)},
    ("--pftrace", "--gzip", "--dialect", "kineto"): {"FLAGS": str(1 | 2 | 1 << 5)},
}
OTHERWISE = {"ACTIVITIES": "0", "DELAY": "0", "DURATION": "0", "FLAGS": "0", "HIP_ERRORS": "0", "KERNEL_SAMPLING": "0",
             "MAX_CYCLES": "0", "ON_DEMAND": "0", "OPERATORS": "libraries", "SAMPLE_HZ": "0", "SIGNAL": "0", "SLICE": "0",
             "SLOW_STEP": "0", "STACK": "0", "STEPS": "1", "TELEMETRY": "100000000"}


def test_each_option_reaches_the_processes(tmp_path):
    plain = {key: value for key, value in os.environ.items() if not key.startswith("HIPBOARD_")}
    for options, asked in {(): {}, **ASKED}.items():
        lines = record("-o", tmp_path, *options, "--", "env", env=plain).stdout.splitlines()
        told = dict(line.removeprefix(CAPTURE).split("=", 1) for line in lines if line.startswith(CAPTURE))
        assert told.pop("DIR") == str(tmp_path) and int(told.pop("MAIN")) and told.pop("RUN")
        assert told == OTHERWISE | asked, options
    assert not list(tmp_path.glob("*.json*"))


def test_missing_programs_and_wrong_options_are_told_apart(tmp_path):
    assert record("-o", tmp_path, "--", tmp_path / "nothing").returncode == 127
    assert record("--activities", "cpu,gpu", "--", "true").returncode == 2
    assert record("-o", tmp_path).returncode == 2
    for wrong in (["--delay", "soon"], ["--duration", "-1s"], ["--slice", "0"],
                  ["--schedule", "wait=1"], ["--schedule", "active=1,often=2"]):
        done = record(*wrong, "--", "true")
        assert done.returncode == 2 and wrong[1] in done.stderr
