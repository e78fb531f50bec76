# SPDX-License-Identifier: MIT
"""What is named like a trace and is none, and what stands in a trace and cannot be: a clear error or
a number less, never a wait, never a crash."""
import json
import os
import socket
import subprocess
import zlib

import pytest

from support import BUILD, ROOT, limited

HIPBOARD = BUILD / "tools/hipboard/hipboard"
TRACE = ROOT / "tests/data/torch-2.13-cpu.pt.trace.json"
READERS = ["view", "table", "stacks", "memory", "steps", "check", "compare", "convert"]


def ask(*words, **options):
    return subprocess.run([HIPBOARD, *map(str, words)], capture_output=True, text=True, timeout=600,
                          stdin=subprocess.DEVNULL, **options)


def words_of(command, path, tmp_path):
    return {"compare": ["compare", path, path], "convert": ["convert", "-o", tmp_path / "out", path],
            "stacks": ["stacks", "--scopes", path]}.get(command, [command, path])


def make_fifo(path):
    os.mkfifo(path)
    return "a FIFO"


def make_socket(path):
    server = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's path is short
    server.bind(path.name)
    os.chdir(here)
    server.close()
    return "a socket"


def link_to_device(path):
    path.symlink_to("/dev/zero")
    return "a device"


def link_to_itself(path):
    path.symlink_to(path.name)
    return "Too many levels of symbolic links"


KINDS = [make_fifo, make_socket, link_to_device, link_to_itself]


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("command", READERS)
def test_what_is_no_file_is_refused(command, make, tmp_path):
    path = tmp_path / "odd.pt.trace.json"
    what = make(path)
    done = ask(*words_of(command, path, tmp_path))
    told = done.stdout + done.stderr
    assert done.returncode == (3 if command == "compare" else 1)
    assert str(path) in told and what in told
    assert command in ("check", "compare") or told == done.stderr


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("command", [*READERS[:1], *READERS[2:], "query"])  # no table of directories
def test_beside_it_in_a_log_directory_others_are_shown(command, make, tmp_path):
    logdir = tmp_path / "runs"
    (logdir / "run").mkdir(parents=True)
    make(logdir / "run/odd.pt.trace.json")
    (logdir / "run/good.pt.trace.json").write_bytes(TRACE.read_bytes())
    if command == "query":
        done = ask("query", logdir, "workers?run=run&view=Overview")
        assert json.loads(done.stdout) == ["good"]
        return
    done = ask(*words_of(command, logdir, tmp_path))
    told = done.stdout + done.stderr
    if command == "convert":
        assert "good.pt.trace.json: " in told
    else:
        assert len(told) > 300
    assert done.returncode == (3 if command == "compare" else 1) or "odd" not in told


def test_a_pipe_from_the_shell_is_read(tmp_path):
    """As bash's <(zcat trace.json.gz) is handed over."""
    alone = ask("table", TRACE)
    script = f'{HIPBOARD} table <(cat "{TRACE}")'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, alone.stdout)
    script = f'cat "{TRACE}" | {HIPBOARD} table /dev/stdin'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, alone.stdout)


def test_what_can_be_read_once_only_is_not_converted_by_half(tmp_path):
    script = f'{HIPBOARD} convert -o "{tmp_path}/out" <(cat "{TRACE}")'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and "standard input, -" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", READERS + ["query"])
def test_directories_that_lead_to_themselves_are_entered_once(command, tmp_path):
    """Two such links are 2^40 paths."""
    run = tmp_path / "runs/run"
    run.mkdir(parents=True)
    (run / "a.pt.trace.json").write_bytes(TRACE.read_bytes())
    for name in ("up", "round"):
        (run / name).symlink_to("..")
    if command == "query":
        assert json.loads(ask("query", tmp_path / "runs", "runs").stdout)["runs"] == ["run"]
    else:
        done = ask(*words_of(command, tmp_path / "runs", tmp_path))
        assert done.returncode in (0, 3 if command == "compare" else 1), done.stderr


def test_rules_and_code_are_files_too(tmp_path):
    make_fifo(tmp_path / "fifo")
    for option in ("--classes", "--code"):
        done = ask("view", option, tmp_path / "fifo", TRACE)
        assert done.returncode == 1 and "is a FIFO, not a file" in done.stderr


def trace_on(device):
    """Two steps of a kernel on GPU 0 and one on `device`."""
    events = []
    for step in range(2):
        start = 1000 * step
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1,
                       "tid": 1, "ts": start, "dur": 1000, "args": {}})
        for k, (gpu, name) in enumerate([(0, "gemm"), (device, "relu")]):
            i = step * 2 + k + 1
            ids = {"External id": i, "correlation": i}
            at = start + 100 + 300 * k
            events += [
                {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at,
                 "dur": 200, "args": {"External id": i}},
                {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1,
                 "ts": at + 10, "dur": 5, "args": ids},
                {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 50,
                 "dur": 100, "args": {**ids, "device": gpu, "stream": 7}}]
    return {"deviceProperties": [{"id": 0, "name": "AMD", "totalGlobalMem": 1}],
            "traceEvents": events}


DEVICES = [64, 65, 127, 128, 493459, "493459", -65, 2**31, 2**53, 2**64, -2**63, 1e30, "64"]


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_beyond_all_lists_costs_no_other_its_numbers(device, tmp_path):
    path = tmp_path / "t.pt.trace.json"
    path.write_text(json.dumps(trace_on(device)))
    done = ask("view", path)
    assert done.returncode == 0, done.stderr
    alone = [line for line in done.stdout.splitlines() if line.startswith("0 ")]
    # 200 us of the 2,000, but where the device is no integer: GPU 0 then has both kernels.
    assert alone[0].split()[1] == ("20.0" if device in (2**64, -2**63, 1e30) else "10.0")
    for command in ("steps", "stacks", "table", "memory", "check"):
        assert ask(*words_of(command, path, tmp_path)).returncode in (0, 1)
    done = ask("compare", "--json", path, path)
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)["steps"]}
    assert "gpu_utilization" not in rows or rows["gpu_utilization"]["before"]["median"] <= 1


def test_the_plugin_still_loses_a_file_with_such_a_device(tmp_path):
    path = tmp_path / "t.pt.trace.json"
    path.write_text(json.dumps(trace_on(64)))
    done = ask("check", path)
    assert done.returncode == 1 and "a kernel's device is not below 64" in done.stdout


@pytest.mark.parametrize("command", ["memory", "check", "view", "query"])
def test_very_many_devices_are_told_apart(command, tmp_path):
    """As ids that count allocations make them. What takes time by their square does not end here."""
    count = 100_000
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0,
               "dur": 10 * count, "args": {"External id": 1}}]
    events += [{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 10 * i,
                "args": {"Addr": 16 + i, "Bytes": 512 + i, "Device Type": 1, "Device Id": i,
                         "Total Allocated": 512 + i, "Total Reserved": 512 + i}}
               for i in range(count)]
    events += [{"ph": "X", "cat": "kernel", "name": "k", "pid": i, "tid": 7, "ts": 10 * i, "dur": 5,
                "args": {"correlation": i + 1, "device": 0}} for i in range(count)]
    path = tmp_path / "run/t.pt.trace.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"traceEvents": events}))
    if command == "query":
        rows = json.loads(ask("query", tmp_path, "memory?run=run&worker=t&span=default").stdout)
        assert len(rows["rows"]) == count
        assert rows["rows"]["GPU777"][0][:3] == ["aten::mm", 1, 1.26]
    elif command == "memory":
        devices = json.loads(ask("memory", "--json", path).stdout)["devices"]
        assert [d["peak_bytes"] for d in devices] == [512 + i for i in range(count)]
        assert [d["held_at_end"][0]["bytes"] for d in devices[-3:]] == [
            512 + i for i in range(count - 3, count)]
    elif command == "check":
        assert ask("check", path).returncode in (0, 1)
    else:
        assert "k" in ask("view", "--view", "kernel", path).stdout


def test_memory_of_many_operators_on_many_devices_takes_what_there_is(tmp_path):
    """Not operators times devices: that was 1.6 GB for this file of 1.6 MB."""
    count = 5000
    events = []
    for i in range(count):
        events += [{"ph": "X", "cat": "cpu_op", "name": f"op{i % 100}", "pid": 1, "tid": 1,
                    "ts": 100 * i, "dur": 90, "args": {"External id": i + 1}},
                   {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": i * 100 + 10,
                    "args": {"Addr": 16 + i, "Bytes": 1024, "Device Type": 1, "Device Id": i,
                             "Total Allocated": 1024, "Total Reserved": 1024}}]
    run = tmp_path / "run"
    run.mkdir()
    (run / "t.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    command = limited(384 << 20, HIPBOARD, "query", tmp_path,
                      "memory?run=run&worker=t&span=default")
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    rows = json.loads(done.stdout)["rows"]
    assert rows["GPU123"] == [["op23", 50, 1.0, 1.0, 1, 1, 1.0, 1.0]] and len(rows) == count


def gzipped(path, *parts):
    """Writes (text, times) after each other, as one member."""
    deflate = zlib.compressobj(1, zlib.DEFLATED, 31)
    with open(path, "wb") as file:
        for text, times in parts:
            for _ in range(times):
                file.write(deflate.compress(text))
        file.write(deflate.flush())


MIB = 1 << 20
BOMBS = {
    "blanks": [(b'{"traceEvents": [{"ph": "X"}', 1), (b" " * MIB, 160), (b"]}", 1)],
    "a text": [(b'{"traceEvents": [{"ph": "X", "name": "', 1), (b"a" * MIB, 160), (b'"}]}', 1)],
    "a member": [(b'{"x": "', 1), (b"a" * MIB, 160), (b'", "traceEvents": []}', 1)],
    "brackets": [(b"[" * MIB, 160)],
    "zeros": [(b"\0" * MIB, 160)],
    "events": [(b'{"traceEvents": [{}', 1), (b",{}" * (MIB // 3), 24), (b"]}", 1)],
}


@pytest.mark.parametrize("name", BOMBS)
def test_little_that_becomes_much_is_told_and_takes_no_more_than_there_is(name, tmp_path):
    path = tmp_path / "bomb.pt.trace.json.gz"
    gzipped(path, *BOMBS[name])
    assert path.stat().st_size < 2 * MIB
    for command in ("view", "check", "convert"):
        words = words_of(command, path, tmp_path)
        done = subprocess.run(limited(128 * MIB, HIPBOARD, *words), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=600)
        assert done.returncode in (0, 1), done.returncode
        assert done.returncode == 0 or done.stderr or "lost" in done.stdout
        left = [p.name for p in tmp_path.rglob("*") if p.is_file() and p != path]
        assert left == [] or done.returncode == 0


@pytest.mark.parametrize("words", [["view", "--view", "operator"], ["table"]])
def test_json_is_utf_8_whatever_a_name_is(words, tmp_path):
    """Python writes the bytes of odd file names as lone surrogates, by escapes; others write them as they are."""
    path = tmp_path / "odd.json"
    names = [b"a\\udcffb", b"a\xed\xb3\xbfb", b"a\xe0\x80\x80b", b"a\xf0\x80\x80\x80b", b"a\xf4\x90\x80\x80b"]
    path.write_bytes(b'{"traceEvents": [%s]}' % b",".join(
        b'{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 1, "tid": 1, "ts": %d, "dur": 5}' % (name, 9 * i)
        for i, name in enumerate(names)))
    done = subprocess.run([HIPBOARD, words[0], "--json", *words[1:], path], capture_output=True, timeout=600)
    rows = json.loads(done.stdout.decode())[{"view": "Operators", "table": "groups"}[words[0]]]
    assert rows and {row.get("Operator", row.get("key")).strip("ab") for row in rows} <= {
        "\ufffd" * n for n in range(1, 5)}


def test_sizes_beyond_64_bits_are_none(tmp_path):
    """Two such are more than a double holds, and JSON has no words for that."""
    path = tmp_path / "odd.json"
    memory = [{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 12 + i, "args": {
        "Device Type": device, "Device Id": device - 1, "Addr": 64 * i, "Bytes": size, "Total Allocated": size}}
              for device in (0, 1) for i, size in enumerate([1.7e308, 1.7e308, -1.7e308, 512])]
    path.write_text(json.dumps({"profile_memory": 1, "with_flops": 1, "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "mine", "pid": 1, "tid": 1, "ts": ts, "dur": 10, "args": {"flops": 1.7e308}}
        for ts in (10, 30)] + memory}))
    [group] = json.loads(ask("table", "--json", path).stdout)["groups"]
    assert (group["cpu_memory_usage"], group["device_memory_usage"], group["flops"]) == (512, 512, None)
    for device in json.loads(ask("memory", "--json", path).stdout)["devices"]:
        assert (device["peak_bytes"], device["allocated_bytes"], device["end_bytes"]) == (512, 512, 512)
    assert json.loads(ask("memory", "--timeline", "-", path).stdout)[1][-1][-1] == 512
