# SPDX-License-Identifier: MIT
"""Programs under `hipboard record` in surroundings that are not as they were when it began, and
what other commands say of what killed processes left."""
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support import BUILD, ROOT, copy_of_build

HIPBOARD = BUILD / "tools/hipboard/hipboard"
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")
ROCTX = """
int roctxRangePushA(const char *text) { return text ? 0 : 1; }
int roctxRangePop(void) { return 0; }
"""
MARKS = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
int roctxRangePushA(const char *text);
int roctxRangePop(void);
static volatile int hangs;
/* In place of the C library's: the disk no longer answers. */
ssize_t write(int fd, const void *data, size_t size)
{
    struct stat st;
    while (hangs > 1 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        pause();
    return syscall(SYS_write, fd, data, size);
}
int main(int argc, char **argv)
{
    char *memory = malloc(10);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "chroot") == 0 && (chroot(argv[++i]) || chdir("/"))) return 2;
        if (strcmp(argv[i], "drop") == 0 && setuid(65534)) return 3;
        if (strcmp(argv[i], "overrun") == 0) memory[argc + 8] = 1;
        if (strcmp(argv[i], "hang") == 0) hangs = 1;
    }
    if (hangs) usleep(1500000);
    roctxRangePushA("work");
    roctxRangePop();
    free(memory);
    hangs *= 2;
    return 0;
}
"""
MOVES = """
#include <hipboard/hipboard.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    if (argc < 3 || chdir(argv[1]) != 0) return 2;
    o.with_stack = true;
    o.operators = "libraries";
    o.on_trace_ready = hb_tensorboard_trace_handler(argv[2], "w", HB_NO_EVENT_FILE);
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) return puts(hb_last_error());
    HB_RECORD_FUNCTION("moved") {}
    return hb_profiler_stop(prof) != HB_OK;
}
"""
# The n-th part of a spool that is read does not come: the disk, or the server, does not answer.
UNREAD = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
ssize_t pread64(int fd, void *to, size_t size, off64_t at)
{
    static int parts;
    char link[64], path[4096] = "";
    ssize_t (*real)(int, void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pread64");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) < 0 || !strstr(path, ".hbspool") || ++parts != atoi(getenv("UNREAD")))
        return real(fd, to, size, at);
    errno = EIO;
    return -1;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """marks, and the same with gcc's address checker."""
    where = tmp_path_factory.mktemp("programs")
    where.chmod(0o755)
    (where / "roctx.c").write_text(ROCTX)
    (where / "marks.c").write_text(MARKS)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", where / "libroctx64.so", where / "roctx.c"],
                   check=True)
    for name, flags in ("marks", []), ("checked", ["-fsanitize=address"]):
        subprocess.run(["gcc", "-g", "-rdynamic", *flags, "-o", where / name, where / "marks.c", f"-L{where}",
                        "-lroctx64", f"-Wl,-rpath,{where}"], check=True)
    return where


def hipboard(*arguments, env=None, tool=HIPBOARD):
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True,
                          timeout=600, env=env)


def traces(logdir):
    return list(logdir.glob("*.pt.trace.json"))


def test_a_program_with_address_checks_runs_and_is_recorded(programs, tmp_path):
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True,
                             text=True, check=True).stdout.strip()
    for n, env in enumerate([{}, {"LD_PRELOAD": library}, {"ASAN_OPTIONS": "exitcode=66"}]):
        done = hipboard("record", "-o", tmp_path / str(n), "--", programs / "checked",
                        env=dict(os.environ, **env))
        assert (done.returncode, done.stderr) == (0, "")
        assert len(traces(tmp_path / str(n))) == 1
    done = hipboard("record", "-o", tmp_path / "wrong", "--", programs / "checked", "overrun",
                    env=dict(os.environ, ASAN_OPTIONS="exitcode=66"))
    assert done.returncode == 66 and "heap-buffer-overflow" in done.stderr


@pytest.mark.parametrize("patience", ["soon", "-1", "5s", ""])
def test_a_patience_that_is_none_is_told(programs, tmp_path, patience):
    done = hipboard("record", "-o", tmp_path, "--", programs / "marks", env=dict(os.environ, HIPBOARD_GPU_PATIENCE=patience))
    told = f"HIPBOARD_GPU_PATIENCE is '{patience}', not a number of seconds: 30 is taken"
    assert done.returncode == 0 and (told in done.stderr if patience else done.stderr == "")
    assert len(traces(tmp_path)) == 1


@needs_root
def test_after_chroot_the_trace_is_where_it_was_to_be(programs, tmp_path):
    jail = tmp_path / "jail"
    jail.mkdir()
    done = hipboard("record", "-o", tmp_path / "runs", "--", programs / "marks", "chroot", jail)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(traces(tmp_path / "runs")) == 1 and not list(jail.iterdir())


@needs_root
def test_a_program_that_drops_root_says_so_and_is_recorded(programs, tmp_path):
    done = hipboard("record", "-o", tmp_path / "runs", "--", programs / "marks", "drop")
    assert done.returncode == 0
    assert "Permission denied" in done.stderr and "records stay in" in done.stderr
    assert len(traces(tmp_path / "runs")) == 1
    assert not list((tmp_path / "runs").glob(".*"))


@pytest.mark.parametrize("options", [[], ["--schedule", "active=100", "--slice", "500ms"]],
                         ids=["all", "slices"])
def test_a_disk_that_hangs_keeps_no_program_from_its_end(programs, tmp_path, options):
    """What is not written after two seconds without progress is left to recovery, by the command."""
    done = hipboard("record", *options, "-o", tmp_path, "--", "timeout", "600", programs / "marks",
                    "hang")
    assert done.returncode == 0
    assert "work" in "".join(path.read_text() for path in traces(tmp_path))


def test_a_blank_in_the_own_path_does_not_matter_after_the_end(programs, tmp_path):
    """The shell ends, what it left begins another program."""
    tool = copy_of_build(tmp_path / "with blank")
    script = (f"(until [ -e {tmp_path / 'ended'} ]; do sleep 0.1; done; {programs / 'marks'};"
              f" echo $KOKKOS_TOOLS_LIBS > {tmp_path / 'path'}; mv {tmp_path / 'path'} {tmp_path / 'done'})"
              f" > /dev/null 2> {tmp_path / 'said'} &")
    done = hipboard("record", "--comm", "mpi", "-o", tmp_path / "runs", "--", "bash", "-c", script, tool=tool)
    assert done.returncode == 0 and "ld.so" not in done.stderr
    (tmp_path / "ended").touch()
    until = time.monotonic() + 600
    while not (tmp_path / "done").exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert len(traces(tmp_path / "runs")) == 1 and "ld.so" not in (tmp_path / "said").read_text()
    shutil.rmtree(Path((tmp_path / "done").read_text()).parents[1])  # links stay for what was left


def test_all_libraries_of_a_path_that_lists_cannot_hold_are_loaded(programs, tmp_path):
    tool, own = copy_of_build(tmp_path / "a b:c;d"), dict(os.environ, LD_LIBRARY_PATH=str(tmp_path))
    subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", tmp_path / "librocprofiler-sdk.so"], check=True)
    done = hipboard("record", "--comm", "mpi", "-o", tmp_path / "runs", "--", "sh", "-c",
                    f"cat /proc/self/maps; env; {programs / 'marks'}", tool=tool, env=own)
    assert (done.returncode, done.stderr) == (0, "")
    for place in ("tools/hipboard/libhipboard-capture.so", "tools/hipboard/libhipboard-rocprofiler.so",
                  "src/recorder/libhipboard-mpi.so.0"):
        assert f"{tmp_path}/a b:c;d/{place}\n" in done.stdout
    told = dict(line.split("=", 1) for line in done.stdout.splitlines() if re.match(r"\w+=", line))
    named = [told["KOKKOS_TOOLS_LIBS"], told["OMP_TOOL_LIBRARIES"], *told["LD_PRELOAD"].split(":")]
    assert [path for path in named if re.search(r"[ :;]", path)] == [] and len(named) == 5
    assert not any(Path(path).parents[1].exists() for path in named)


@pytest.mark.parametrize("there", ["nothing", "another"])
def test_parts_are_found_from_another_directory(tmp_path, there):
    """The loader keeps the library's path as it was found, from the directory that the program began in. What has
    that path from the new one, as another release or something worse, is not asked for anything."""
    place = tmp_path / "place/src/recorder"
    place.mkdir(parents=True)
    if there == "another":
        (place / "libhipboard.so.0").touch()
        (place / "hipboard-symbolizer").write_text(f"#!/bin/sh\ntouch {tmp_path / 'started'} # hipboard-part 0.1.0\n")
        (place / "hipboard-symbolizer").chmod(0o755)
    subprocess.run(["gcc", "-g", "-x", "c", "-", f"-I{ROOT}/include", "-o", tmp_path / "moves", f"-L{BUILD}/src/recorder",
                    "-lhipboard"], input=MOVES, text=True, check=True)
    done = subprocess.run([tmp_path / "moves", place.parents[1], tmp_path / "runs"], cwd=BUILD, capture_output=True, text=True,
                          env=dict(os.environ, LD_LIBRARY_PATH="src/recorder"), timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    [trace] = traces(tmp_path / "runs")
    [stack] = [e["args"]["Call stack"] for e in json.loads(trace.read_text())["traceEvents"] if e.get("name") == "moved"]
    assert re.search(r"<stdin>\(\d+\): main;", stack) and not (tmp_path / "started").exists()


def test_a_share_where_everybody_may_write_is_told(tmp_path):
    tool, refused = copy_of_build(tmp_path / "share"), "may be written to by everybody (mode 0777): chmod o-w it, or install elsewhere"
    serve = tmp_path / "share/tools/hipboard/libhipboard-serve.so"
    done = hipboard("serve", tmp_path, tool=tool)
    assert done.returncode == 1 and "libhipboard-serve.so is neither in" in done.stderr
    assert "`ninja -C build`" in done.stderr and "libmicrohttpd-dev" in done.stderr
    serve.touch()
    for path in tmp_path.rglob("*"):
        path.chmod(0o777)
    done = hipboard("serve", tmp_path, tool=tool)
    assert done.returncode == 1 and refused in done.stderr and "libmicrohttpd" not in done.stderr
    done = hipboard("record", "-o", tmp_path / "runs", "--", "true", tool=tool)
    assert done.returncode == 1 and done.stderr.endswith(f"libhipboard-capture.so {refused}\n")


def begin_to_record(logdir):
    """A group of processes, one of which has made its spool."""
    program = subprocess.Popen([HIPBOARD, "record", "-o", logdir, "--", "sleep", "1000"], start_new_session=True)
    until = time.monotonic() + 600
    while not any(any(path.read_bytes()[:8]) for path in logdir.glob(".*.hbspool")) and time.monotonic() < until:
        time.sleep(0.1)
    return program


def test_records_of_killed_processes_are_told_where_one_looks(tmp_path):
    """By the commands that show a directory, until they are traces."""
    program = begin_to_record(tmp_path)
    for command in "view", "steps", "check":
        assert "hipboard recover" not in hipboard(command, tmp_path).stderr  # it lives
    os.killpg(program.pid, signal.SIGKILL)
    program.wait()
    until = time.monotonic() + 600  # the other process of the group may take longer to end
    while "1 killed process" not in hipboard("check", tmp_path).stderr and time.monotonic() < until:
        time.sleep(0.1)
    for command in "view", "steps", "check":
        told = hipboard(command, tmp_path).stderr
        assert "1 killed process left records" in told and f"hipboard recover {tmp_path}" in told
    assert hipboard("recover", tmp_path).returncode == 0
    for command in "view", "steps", "check":
        assert "hipboard recover" not in hipboard(command, tmp_path).stderr


@pytest.mark.parametrize("part", [1, 2, 3])
def test_what_the_disk_does_not_give_stays_until_it_does(tmp_path, part):
    logdir, unread = tmp_path / "runs", tmp_path / "unread.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", unread], input=UNREAD, text=True, check=True)
    logdir.mkdir()
    program = begin_to_record(logdir)
    time.sleep(0.5)  # until it has begun to record
    os.killpg(program.pid, signal.SIGKILL)
    program.wait()
    until = time.monotonic() + 600
    while "1 killed process" not in hipboard("check", logdir).stderr and time.monotonic() < until:
        time.sleep(0.1)
    [spool] = logdir.glob(".*.hbspool")
    done = hipboard("recover", logdir, env=dict(os.environ, LD_PRELOAD=str(unread), UNREAD=str(part)))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"hipboard recover: {spool}: can't be read: Input/output error\n"
    assert spool.exists() and not traces(logdir)
    done = hipboard("recover", logdir)
    assert done.returncode == 0 and f"{spool}: " in done.stdout and not spool.exists() and len(traces(logdir)) == 1
