# SPDX-License-Identifier: MIT
"""Samples of call stacks that the kernel takes: off by default, and said where they are not to be had."""
import json
import subprocess

import pytest

from support import BUILD

HIPBOARD = BUILD / "tools/hipboard/hipboard"

BUSY = """
    #include <math.h>
    #include <pthread.h>
    #include <stdio.h>
    static volatile double sum, difference;
    __attribute__((noinline)) void inner(long n) { for (long i = 0; i < n; i++) sum += sqrt((double)i); }
    __attribute__((noinline)) void outer(long n) { inner(n); sum += 1; }
    __attribute__((noinline)) void other(long n) { for (long i = 0; i < n; i++) difference -= sqrt((double)i); }
    static void *work(void *arg) { for (int i = 0; i < 20; i++) other(4000000); return arg; }
    int main(void)
    {
        pthread_t thread;
        pthread_create(&thread, NULL, work, NULL);
        for (int i = 0; i < 20; i++) outer(4000000);
        pthread_join(thread, NULL);
        puts("done");
        return 3;
    }"""

# Runs a command that may not call perf_event_open(), as most containers have it.
FORBID = """
    #include <errno.h>
    #include <linux/filter.h>
    #include <linux/seccomp.h>
    #include <stddef.h>
    #include <sys/prctl.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    int main(int argc, char **argv)
    {
        struct sock_filter f[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        struct sock_fprog program = {4, f};
        if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program)) return 99;
        execv(argv[1], argv + 1);
        return 98;
    }"""


def compiled(tmp_path, name, text):
    source, program = tmp_path / f"{name}.c", tmp_path / name
    source.write_text(text)
    subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", source, "-o", program,
                    "-lm", "-lpthread"], check=True)
    return program


def recorded(tmp_path, *options, before=()):
    program = compiled(tmp_path, "busy", BUSY)
    table = tmp_path / "busy.ops"
    table.write_text("sqrt | x:f\npthread_join | thread to\n")
    done = subprocess.run([*map(str, before), HIPBOARD, "record", "-o", tmp_path / "log", "--ops", table, *options, "--",
                           program], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (3, "done\n"), done.stderr
    [path] = (tmp_path / "log").glob("*.pt.trace.json")
    return done.stderr, path, json.loads(path.read_text())


def test_threads_are_sampled_by_their_time(tmp_path):
    _, path, trace = recorded(tmp_path, "--sample", "500")
    told = trace["hipboard_samples"]
    if "refused" in told:
        pytest.skip(f"the kernel does not let programs be sampled here: {told['refused']}")
    assert told["hz"] == 500 and told["taken"] >= 10 and told["lost"] == 0
    frames = [e for e in trace["traceEvents"] if e.get("cat") == "cpu_sample"]
    by_row = {}
    for e in frames:
        by_row.setdefault(e["tid"], {}).setdefault(e["name"], []).append((e["ts"], e["ts"] + e["dur"]))
    [main] = [row for row in by_row.values() if "outer" in row]
    [other] = [row for row in by_row.values() if "other" in row]
    assert main is not other and "inner" in main and "inner" not in other
    for start, end in main["inner"]:
        assert any(s <= start and end <= e for s, e in main["outer"])
    names = {e["args"]["name"] for e in trace["traceEvents"] if e.get("name") == "thread_name"}
    assert sum("samples of thread" in name for name in names) == len(by_row)
    shown = subprocess.run([HIPBOARD, "view", path, "--view", "operator"], capture_output=True, text=True, check=True).stdout
    assert "pthread_join" in shown and "inner" not in shown


def test_none_are_taken_unless_asked_for(tmp_path):
    said, _, trace = recorded(tmp_path)
    assert "hipboard_samples" not in trace and "sampled" not in said
    assert not [e for e in trace["traceEvents"] if e.get("cat") == "cpu_sample"]


def test_where_the_kernel_forbids_it_that_is_said(tmp_path):
    said, _, trace = recorded(tmp_path, "--sample", "100", before=[compiled(tmp_path, "forbid", FORBID)])
    assert "the program is not sampled: the kernel does not let this process" in said
    assert "perf_event_paranoid" in trace["hipboard_samples"]["refused"]
    assert not [e for e in trace["traceEvents"] if e.get("cat") == "cpu_sample"]


@pytest.mark.parametrize("hz", ["0", "1001", "x"])
def test_odd_rates_are_refused(hz):
    done = subprocess.run([HIPBOARD, "record", "--sample", hz, "true"], capture_output=True, text=True)
    assert done.returncode == 2 and "expected a number from 1 to 1000" in done.stderr
