# SPDX-License-Identifier: MIT
"""Traces that need more memory than a command may take: what is over HIPBOARD_MEMORY lies in
temporary files, and nobody sees a difference but in the memory that is used."""
import hashlib
import os
import resource
import subprocess
import sys

import pytest

from support import BUILD

HIPBOARD = BUILD / "tools/hipboard/hipboard"

OPERATOR = ('{{"ph":"X","cat":"cpu_op","name":"aten::{0}","pid":1,"tid":{1},"ts":{2},"dur":{3},'
            '"args":{{"External id":{4},"Input Dims":[[{5}]],"Input type":["float"]}}}}')
CALL = ('{{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":1,"tid":{0},"ts":{1},'
        '"dur":2,"args":{{"correlation":{2},"External id":{2}}}}}')
KERNEL = ('{{"ph":"X","cat":"kernel","name":"gemm_{0}","pid":0,"tid":7,"ts":{1},"dur":5,"args":'
          '{{"correlation":{2},"External id":{2},"device":0,"stream":7,"grid":[{3},1,1],'
          '"block":[64,1,1]}}}}')
MEMORY = ('{{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":{0},'
          '"args":{{"Total Allocated":{1},"Bytes":{1},"Addr":{0},"Device Id":-1,"Device Type":0}}}}')
STEP = ('{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{0}","pid":1,"tid":1,"ts":{1},'
        '"dur":{2},"args":{{"External id":0}}}}')


def events(groups):
    """Of two threads; ids and times are those of no other group."""
    for i in range(groups):
        at, tid = 40 * i, 1 + i % 2
        if i % 10000 == 0:
            yield STEP.format(i // 10000, at, 399990)
        yield OPERATOR.format("linear", tid, at + 1, 38, 2 * i + 1, i % 50)
        yield OPERATOR.format("mm", tid, at + 3, 20, 2 * i + 2, i % 70)
        yield CALL.format(tid, at + 5, 2 * i + 2)
        yield KERNEL.format(i % 30, at + 30, 2 * i + 2, i % 9 + 1)
        if i % 20 == 0:
            yield MEMORY.format(at + 6, 64)


def write(path, groups):
    with open(path, "w") as out:
        out.write('{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"GPU","numSms":104}],'
                  '"traceEvents":[\n')
        out.write(",\n".join(events(groups)))
        out.write("\n]}\n")
    return path


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return write(tmp_path_factory.mktemp("large") / "host_1.1.pt.trace.json", 100000)


# The test's own memory would count as its child's; that of this little is none.
MEASURE = """import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w") as told:
    told.write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run(command, memory, tmp_path, prepare=None):
    """Its status, what it printed, and the most KiB that were resident of it."""
    environment = {name: value for name, value in os.environ.items() if name != "HIPBOARD_MEMORY"}
    if memory:
        environment["HIPBOARD_MEMORY"] = memory
    most = tmp_path / "most"
    done = subprocess.run([sys.executable, "-c", MEASURE, most, HIPBOARD, *command], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, preexec_fn=prepare)
    return done.returncode, done.stdout, int(most.read_text())


COMMANDS = [["view"], ["view", "--json"], ["view", "--view", "overview"], ["steps"], ["table"],
            ["stacks"], ["memory"], ["check"], ["view", "--json", "--as-plugin"]]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_answers_are_the_same_from_temporary_files(command, trace, tmp_path):
    status, said, most = run([*command, trace], None, tmp_path)
    status_from_files, said_from_files, less = run([*command, trace], "1M", tmp_path)
    assert said == said_from_files
    assert said or command == ["check"]
    assert status == status_from_files
    print(most, less)
    assert less < most


def test_a_conversion_is_the_same_from_temporary_files(trace, tmp_path):
    found = set()
    for memory in (None, "1M"):
        out = tmp_path / str(memory)
        status, said, _ = run(["convert", trace, "-o", out], memory, tmp_path)
        assert status == 0, said
        [made] = out.iterdir()
        found.add(hashlib.sha256(made.read_bytes()).digest())
    assert len(found) == 1


def test_more_events_need_little_more_memory(trace, tmp_path):
    """What stays in memory is what is distinct."""
    longer = write(tmp_path / "host_1.2.pt.trace.json", 400000)
    for command in (["view", "--view", "overview"], ["check"]):
        grown = {memory: run([*command, longer], memory, tmp_path)[2] - run([*command, trace], memory, tmp_path)[2]
                 for memory in ("8M", None)}
        print(command, grown)
        assert grown["8M"] < grown[None] / 2


def no_large_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


@pytest.mark.parametrize("command", ["view", "steps", "check", "convert"])
def test_without_room_for_temporary_files_nothing_is_half_done(command, trace, tmp_path):
    out = tmp_path / "out"
    options = ["-o", out] if command == "convert" else []
    status, said, _ = run([command, trace, *options], "1M", tmp_path, no_large_files)
    said = said.decode()
    assert status == 1, said
    assert said.startswith(f"hipboard {command}: {trace}: ")
    assert said.endswith("out of memory: over 1 MiB are needed, and no temporary file can take the rest (TMPDIR "
                         "names another directory, HIPBOARD_MEMORY allows more memory): File too large\n")
    assert not out.exists() or not list(out.iterdir())


def test_who_asked_for_no_limit_needs_no_disk(trace, tmp_path):
    assert run(["steps", trace], None, tmp_path, no_large_files)[:2] == run(["steps", trace], None, tmp_path)[:2]


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
