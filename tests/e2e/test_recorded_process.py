# SPDX-License-Identifier: MIT
"""What `hipboard record` makes of programs without HIP: their roctx ranges, however they are marked, and their traces, however
they end and whatever they become; what processes are told of it, rank by rank."""
import json
import os
import socket
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from support import BUILD

HIPBOARD = BUILD / "tools/hipboard/hipboard"
HEAD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int (*push)(const char *), (*pop)(void);
static void (*mark)(const char *), (*stop)(uint64_t), (*control)(int);
static uint64_t (*start)(const char *);
static void find(void)
{
    push = (int (*)(const char *))dlsym(RTLD_DEFAULT, "roctxRangePushA");
    pop = (int (*)(void))dlsym(RTLD_DEFAULT, "roctxRangePop");
    mark = (void (*)(const char *))dlsym(RTLD_DEFAULT, "roctxMarkA");
    start = (uint64_t (*)(const char *))dlsym(RTLD_DEFAULT, "roctxRangeStartA");
    stop = (void (*)(uint64_t))dlsym(RTLD_DEFAULT, "roctxRangeStop");
    control = (void (*)(int))dlsym(RTLD_DEFAULT, "hb_capture_control");
}
static void range(const char *name)
{
    push(name), usleep(200), pop();
}
"""


def compiled(directory, body):
    path = directory / "program"
    subprocess.run(["cc", "-x", "c", "-", "-pthread", "-o", path], input=HEAD + body, text=True, check=True)
    return path


def record(logdir, *arguments, env=None, options=()):
    return subprocess.run([HIPBOARD, "record", "-o", logdir, *options, "--", *map(str, arguments)], capture_output=True, text=True,
                          timeout=600, env=env)


def cycles(logdir):
    """The complete events of each trace, oldest first."""
    paths = sorted(logdir.glob("*.pt.trace.json"), key=lambda path: path.name.split(".")[-4])
    return [[e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X" and e.get("cat") != "Trace"] for path in paths]


def named(cycle, prefix):
    return sorted(e["name"] for e in cycle if e["name"].startswith(prefix))


# ---- ranges

DEEP = """int main(void)
{
    char name[20];
    find();
    printf("%d", pop());
    for (int i = 0; i < 70; i++)
        snprintf(name, sizeof name, "r%d", i), printf(" %d", push(name));
    for (int i = 0; i < 71; i++)
        printf(" %d", pop());
    mark("marked");
    range("ProfilerStep#7");
    range("last");
    return 0;
}
"""


@pytest.mark.parametrize("options", [(), ("--schedule", "active=1")])
def test_ranges_lie_within_each_other(options, tmp_path):
    """Also at depths of which not each is remembered. A step ends a schedule's cycle, and is none of the program's ranges then."""
    done = record(tmp_path / "out", compiled(tmp_path, DEEP), options=options)
    depths = [-1, *range(70), *reversed(range(70)), -1]
    assert (done.returncode, done.stdout, done.stderr) == (0, " ".join(map(str, depths)), "")
    found = [e for cycle in cycles(tmp_path / "out") for e in cycle]
    if options:
        assert named(found, "last") == ["last"] and named(found, "ProfilerStep#7") == ["ProfilerStep#7"]
        return
    spans = {e["name"]: (e["ts"], e["ts"] + e["dur"]) for e in found}
    for i in range(69):
        outer, inner = spans[f"r{i}"], spans[f"r{i + 1}"]
        assert outer[0] <= inner[0] <= inner[1] <= outer[1]
    assert {"marked", "last", "ProfilerStep#7", "r69"} <= spans.keys()


OPEN = """static uint64_t shared;
static void *stop_it(void *unused)
{
    usleep(3000);
    stop(shared);
    return unused;
}
int main(void)
{
    uint64_t ids[300];
    char name[20];
    pthread_t thread;
    find();
    shared = start("across");
    pthread_create(&thread, NULL, stop_it, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < 300; i++)
        snprintf(name, sizeof name, "open%d", i), ids[i] = start(name);
    for (int i = 1; i < 300; i++)
        if (ids[i] != ids[i - 1] + 1) return 1;
    for (int i = 0; i < 300; i++)
        stop(ids[i]);
    stop(ids[0]), stop(0), stop(ids[299] + 1);
    uint64_t again = start("again"), step = start("ProfilerStep#3");
    usleep(1000);
    stop(step), stop(again);
    return ids[0] == 2 ? 0 : 2;
}
"""


@pytest.mark.parametrize("options", [(), ("--schedule", "active=1")])
def test_ranges_that_any_thread_may_stop(options, tmp_path):
    """256 at a time, then there is room again."""
    done = record(tmp_path / "out", compiled(tmp_path, OPEN), options=options)
    assert done.returncode == 0  # that so many lie in each other is told
    found = [e for cycle in cycles(tmp_path / "out") for e in cycle]
    if options:  # the step's number begins the one cycle
        assert named(found, "ProfilerStep#3") == ["ProfilerStep#3"]
        return
    assert named(found, "open") == sorted(f"open{i}" for i in range(256))
    [across] = [e for e in found if e["name"] == "across"]
    [again] = [e for e in found if e["name"] == "again"]
    [step] = [e for e in found if e["name"] == "ProfilerStep#3"]
    assert across["dur"] >= 3000 and 1000 <= step["dur"] <= again["dur"]


# ---- how a process ends, and what it becomes

ENDS = """extern char **environ;
int main(int argc, char **argv)
{
    char *const words[] = {"sh", "-c", "echo $0 $MINE; exit 6", "it", NULL}, *const mine[] = {"MINE=own", NULL};
    const char *how = argv[1];
    (void)argc;
    find();
    if (!push) return puts("not recorded"), 9;
    range("before");
    if (strcmp(how, "_exit") == 0) _exit(5);
    if (strcmp(how, "_Exit") == 0) _Exit(5);
    if (strcmp(how, "quick_exit") == 0) quick_exit(5);
    if (strcmp(how, "execv") == 0) execv("/bin/sh", words);
    if (strcmp(how, "execvp") == 0) execvp("sh", words);
    if (strcmp(how, "execve") == 0) execve("/bin/sh", words, mine);
    if (strcmp(how, "execvpe") == 0) execvpe("sh", words, mine);
    if (strcmp(how, "execl") == 0) execl("/bin/sh", "sh", "-c", "echo $0 $MINE; exit 6", "it", (char *)NULL);
    if (strcmp(how, "execlp") == 0) execlp("sh", "sh", "-c", "echo $0 $MINE; exit 6", "it", (char *)NULL);
    if (strcmp(how, "execle") == 0) execle("/bin/sh", "sh", "-c", "echo $0 $MINE; exit 6", "it", (char *)NULL, mine);
    if (strcmp(how, "fexecve") == 0) fexecve(open("/bin/sh", O_RDONLY), words, mine);
    if (strcmp(how, "fails") == 0) {
        errno = 0;
        int results[] = {execv("/none", words), execvp("/none", words), execve("/none", words, environ),
                         execvpe("/none", words, environ), execl("/none", "x", (char *)NULL), execlp("/none", "x", (char *)NULL),
                         execle("/none", "x", (char *)NULL, environ), fexecve(-1, words, environ)};
        for (int i = 0; i < 8; i++)
            if (results[i] != -1) return 1;
        int last = errno;
        printf("%d ", last == EINVAL || last == EBADF);
        puts(execv("/none", words) == -1 && errno == ENOENT ? "1" : "0");
        range("after");
    }
    return 4;
}
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("ends"), ENDS)


@pytest.mark.parametrize("how, status, said", [
    ("return", 4, ""), ("_exit", 5, ""), ("_Exit", 5, ""), ("quick_exit", 5, ""),
    ("execv", 6, "it theirs\n"), ("execvp", 6, "it theirs\n"), ("execl", 6, "it theirs\n"), ("execlp", 6, "it theirs\n"),
    ("execve", 6, "it own\n"), ("execvpe", 6, "it own\n"), ("execle", 6, "it own\n"), ("fexecve", 6, "it own\n")])
def test_what_was_recorded_before_a_process_ended_or_became_another_is_a_trace(how, status, said, ends, tmp_path):
    done = record(tmp_path, ends, how, env=dict(os.environ, MINE="theirs"))
    assert (done.returncode, done.stdout, done.stderr) == (status, said, "")
    [cycle] = cycles(tmp_path)
    assert named(cycle, "before") == ["before"]
    assert not list(tmp_path.glob(".*"))


def test_who_fails_to_become_another_is_recorded_on(ends, tmp_path):
    """Each call ended a trace, of which those without anything are none."""
    done = record(tmp_path, ends, "fails")
    assert (done.returncode, done.stdout, done.stderr) == (4, "1 1\n", "")
    before, after = cycles(tmp_path)
    assert named(before, "before") == ["before"] and named(after, "after") == ["after"]


CONTROL = """int main(void)
{
    find();
    static const int levels[] = {1, 0, 0, 2, 7, -1, 3, 0, 1, 1};
    char name[20];
    range("r0");
    for (int i = 0; i < 10; i++) {
        control(levels[i]);
        snprintf(name, sizeof name, "r%d", i + 1);
        range(name);
    }
    return 0;
}
"""


def test_a_program_may_pause_and_go_on(tmp_path):
    """As MPI_Pcontrol() says it: 0 pauses, 1 goes on, 2 begins anew; other levels are other tools'."""
    done = record(tmp_path / "out", compiled(tmp_path, CONTROL))
    assert (done.returncode, done.stderr) == (0, "")
    assert [named(cycle, "r") for cycle in cycles(tmp_path / "out")] == [["r0", "r1"], ["r4", "r5", "r6", "r7"], ["r10", "r9"]]


# ---- what processes are told

PLAIN = {key: value for key, value in os.environ.items()
         if not key.startswith(("HIPBOARD_", "OMPI_", "PMI", "SLURM_", "NCCL_", "OMP_TOOL", "KOKKOS_", "LD_PRELOAD", "ASAN_"))}
RANK = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
ALL = {"OMPI_NUM_APP_CTX": "1", "OMPI_COMMAND": "/usr/bin/hipboard"}


def told(tmp_path, *options, env=(), status=0):
    """The environment of the program, and what was said."""
    done = record(tmp_path / "out", "env", options=options, env=PLAIN | dict(env))
    assert done.returncode == status, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line), done.stderr


@pytest.mark.parametrize("options, env, align", [
    ([], {}, None), ([], RANK, None), ([], RANK | ALL, "measure"), ([], ALL, None),
    ([], RANK | ALL | {"OMPI_NUM_APP_CTX": "2"}, None), ([], RANK | ALL | {"OMPI_COMMAND": "/x/script"}, None),
    ([], RANK | ALL | {"OMPI_COMMAND": "hipboard"}, "measure"), ([], RANK | ALL | {"OMPI_COMMAND": "/hipboard/x"}, None),
    (["--align", "none"], RANK | ALL, None), (["--align", "none"], {"HIPBOARD_ALIGN": "force"}, None),
    (["--align", "measure"], {}, "measure"), (["--align", "force"], RANK, "force"), (["--align", "auto"], RANK | ALL, "measure"),
    (["--ranks", "1"], RANK | ALL, None), (["--ranks", "1", "--align", "none"], RANK | ALL, None)])
def test_clocks_are_measured_where_all_ranks_are_recorded(options, env, align, tmp_path):
    found, _ = told(tmp_path, *options, env=env)
    assert found.get("HIPBOARD_ALIGN") == align
    assert ("HIPBOARD_RANK_PROCESS" in found) == ("OMPI_COMM_WORLD_RANK" in env)


def test_libraries_are_named_to_who_loads_them(tmp_path):
    found, _ = told(tmp_path)
    capture = found["LD_PRELOAD"].split(":")
    assert Path(capture[-1]).name == "libhipboard-capture.so" and "libhipboard-mpi" not in found["LD_PRELOAD"]
    assert found["KOKKOS_TOOLS_LIBS"] == capture[-1]
    assert Path(found["OMP_TOOL_LIBRARIES"]).name == "libhipboard-openmp.so.0"
    assert found["ASAN_OPTIONS"] == "verify_asan_link_order=0" and "NCCL_PROFILER_PLUGIN" not in found
    found, _ = told(tmp_path, "--comm", "mpi", "--openmp", "none", "--rccl-plugin", env={"LD_PRELOAD": ""})
    assert [Path(path).name for path in found["LD_PRELOAD"].split(":")][-2:] == ["libhipboard-capture.so", "libhipboard-mpi.so.0"]
    assert "OMP_TOOL_LIBRARIES" not in found and Path(found["NCCL_PROFILER_PLUGIN"]).name == "libhipboard-rccl.so.0"


@pytest.mark.parametrize("options, operators, activities", [
    (["--activities", "hip"], "libraries:without=communication", "2"), (["--activities", "hip", "--comm", "rccl"], "libraries", "6"),
    (["--activities", "hip", "--comm", "mpi"], "libraries:without=communication", "6"), (["--activities", "cpu"], "libraries", "1"),
    (["--activities", "comm"], "libraries", "4"), (["--activities", "cpu", "--comm", "none"], "libraries:without=communication", "1"),
    (["--activities", "hip,comm", "--no-library-ops", "--comm", "none"], "", "6"),
    (["--activities", "hip", "--no-library-ops"], None, "2"), (["--comm", "mpi", "--no-library-ops"], None, "0")])
def test_communication_is_an_activity_and_a_table(options, operators, activities, tmp_path):
    found, _ = told(tmp_path, *options)
    assert found.get("HIPBOARD_CAPTURE_OPERATORS") == operators and found["HIPBOARD_CAPTURE_ACTIVITIES"] == activities


REFUSED = [
    (["--ranks", "1", "--align", "measure"], RANK, "--align: clocks are measured by all ranks together; leave --ranks out"),
    (["--ranks", "1", "--align", "force"], RANK, "--align: clocks are measured by all ranks together; leave --ranks out"),
    (["--rccl-plugin"], {"NCCL_PROFILER_PLUGIN": "x"},
     "--rccl-plugin: RCCL loads one profiler plugin, and NCCL_PROFILER_PLUGIN names another one")]


@pytest.mark.parametrize("options, env, why", REFUSED)
def test_what_excludes_each_other(options, env, why, tmp_path):
    found, said = told(tmp_path, *options, env=env, status=2)
    assert not found and said == f"hipboard record: {why}; see `hipboard record --help`\n"
    assert not (tmp_path / "out").exists()


def test_without_its_runtime_openmp_is_not_swapped(tmp_path):
    (tmp_path / "libomp.so.5").write_text("")
    done = record(tmp_path / "out", "true", options=["--openmp", "swap"], env=PLAIN | {"LD_LIBRARY_PATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (
        2, "hipboard record: --openmp swap: there is no libomp.so.5 here; see `hipboard record --help`\n")
    assert not (tmp_path / "out").exists()


LINKED = """double cblas_ddot(int n, const double *x, int a, const double *y, int b) { return n + a + b + x[0] + y[0]; }
double cblas_dnrm2(int n, const double *x, int a) { return n + a + x[0]; }
int main(void)
{
    double x = 0;
    find();
    range("mine");
    return cblas_ddot(0, &x, 0, &x, 0) + cblas_dnrm2(0, &x, 0) != 0;
}
"""


@pytest.mark.parametrize("count, options", [(2, []), (1, []), (2, ["-q"]), (2, ["--no-library-ops"]), (0, [])])
def test_what_is_part_of_the_program_itself_is_said(count, options, tmp_path):
    source = LINKED.replace("cblas_dnrm2", "own_dnrm2" if count < 2 else "cblas_dnrm2")
    program = compiled(tmp_path, source.replace("cblas_ddot", "own_ddot") if count < 1 else source)
    done = record(tmp_path / "out", program, options=options)
    assert done.returncode == 0 and len(cycles(tmp_path / "out")) == 1
    words = "1 function whose calls are operators is" if count == 1 else "2 functions whose calls are operators are"
    said = (f"hipboard: {words} linked into {program} itself, as cblas_ddot: such calls are not seen (hipboard info --ops)\n")
    assert done.stderr.replace("as cblas_dnrm2", "as cblas_ddot") == (said if count and not options else "")


@pytest.mark.parametrize("env, packs", [({}, False), (RANK | {"OMPI_COMM_WORLD_SIZE": "4096"}, False),
                                        (RANK | {"OMPI_COMM_WORLD_SIZE": "4097"}, True), (RANK, False)])
def test_of_many_ranks_digests_stay_with_the_job(env, packs, tmp_path):
    found, said = told(tmp_path, "-q", env=dict(env) | {"TMPDIR": str(tmp_path)})
    assert (found.get("HIPBOARD_DIGESTS") == str(tmp_path / "out")) == packs
    assert ("-pack" in found["HIPBOARD_CAPTURE_DIR"]) == packs
    other, _ = told(tmp_path, "-q", env=dict(env) | {"TMPDIR": str(tmp_path), "HIPBOARD_DIGESTS": "/mine"})
    assert other["HIPBOARD_DIGESTS"] == "/mine"


def test_a_job_of_one_rank_packs_nothing(tmp_path):
    found, _ = told(tmp_path, "--pack", env=RANK | {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"})
    assert found["HIPBOARD_CAPTURE_DIR"] == str(tmp_path / "out")
    found, said = told(tmp_path, "--pack", env=RANK | {"OMPI_COMM_WORLD_RANK": "0", "TMPDIR": str(tmp_path)})
    assert "-pack" in found["HIPBOARD_CAPTURE_DIR"] and said.startswith("hipboard: traces are gathered in ")
    _, said = told(tmp_path, "--pack", env=RANK | {"TMPDIR": str(tmp_path)})
    assert said == ""  # the first rank alone says it
    _, said = told(tmp_path, "-q", "--pack", env=RANK | {"OMPI_COMM_WORLD_RANK": "0", "TMPDIR": str(tmp_path)})
    assert "gathered" not in said


# ---- where, and what is run

def test_options_end_where_the_program_begins(tmp_path):
    """With -- and without."""
    for dashes in [], ["--"]:
        done = subprocess.run([HIPBOARD, "record", "-q", "-o", tmp_path / "out", *dashes, "echo", "-q", "--help", "-o"],
                              capture_output=True, text=True, timeout=600)
        assert (done.returncode, done.stdout) == (0, "-q --help -o\n")


def test_directories_are_made_and_too_long_ones_refused(tmp_path):
    done = record(tmp_path / "a/b/c", "true")
    assert done.returncode == 0 and (tmp_path / "a/b/c").is_dir()
    done = subprocess.run([HIPBOARD, "record", "-o", "a//d/", "true"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and (tmp_path / "a/d").is_dir()
    (tmp_path / "file").write_text("")
    done = record(tmp_path / "file/x", "true")
    assert done.returncode == 1 and done.stderr == f"hipboard record: {tmp_path}/file/x: Not a directory\n"
    long = "x/" * 2100
    done = subprocess.run([HIPBOARD, "record", "-o", long, "true"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and done.stderr == f"hipboard record: {long}: File name too long\n"
    assert not list(tmp_path.glob("x/x/x/*/*.json"))


@pytest.mark.parametrize("chosen", [False, True])
def test_what_cannot_be_run(chosen, tmp_path):
    """Also of a rank that is not recorded."""
    options = ["--ranks", "7"] if chosen else []
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    for program, status, why in [("none", 127, "No such file or directory"), ("plain", 126, "Permission denied"),
                                 ("plain/x", 126, "Not a directory")]:
        done = record(tmp_path / "out", tmp_path / program, options=options, env=PLAIN | (RANK if chosen else {}))
        assert (done.returncode, done.stderr) == (status, f"hipboard record: {tmp_path / program}: {why}\n")


LAUNCHERS = ["mpirun", "mpiexec", "mpirun.openmpi", "orterun", "mpiexec.openmpi", "mpirun.mpich", "prterun", "mpiexec.mpich",
             "mpiexec.hydra", "prun", "srun", "jsrun", "aprun", "torchrun", "flux"]


def test_launchers_are_to_stand_in_front(tmp_path):
    for name in [*LAUNCHERS, "mpirunner", "run"]:
        (tmp_path / name).symlink_to("/bin/true")
        first = [record(tmp_path / "out", tmp_path / name, options=options, env=PLAIN | env).stderr.startswith(
            f"hipboard: {tmp_path / name} starts ranks on other machines without hipboard; for these put it first: "
            f"{tmp_path / name} ... hipboard record ... PROGRAM\n") for options, env in (((), {}), (("-q",), {}), ((), RANK))]
        assert first == [name in LAUNCHERS, False, False], name


def test_the_first_rank_alone_says_that_nothing_was_recorded(tmp_path):
    for rank, size, speaks in (0, 4, True), (1, 4, False), (3, 4, False):
        done = record(tmp_path / "out", "true", env=PLAIN | RANK | {"OMPI_COMM_WORLD_RANK": str(rank),
                                                                  "OMPI_COMM_WORLD_SIZE": str(size)})
        assert bool(done.stderr) == speaks


def test_traces_of_a_rank_have_its_number(ends, tmp_path):
    record(tmp_path, ends, "return", env=PLAIN | RANK)
    [path] = tmp_path.glob("*.pt.trace.json")
    assert path.name.startswith(f"{socket.gethostname()}_1.")
    assert Counter(p.suffix for p in tmp_path.iterdir())[".hbranks"] <= 1
