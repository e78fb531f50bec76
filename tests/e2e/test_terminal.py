# SPDX-License-Identifier: MIT
"""Names in traces, of files, workers and hosts do not steer the terminal that a command prints them
on; what is no terminal gets every byte."""
import json
import os
import pty
import re
import subprocess
import threading

import pytest

from support import BUILD

HIPBOARD = BUILD / "tools/hipboard/hipboard"

# Clears the screen; sets its title; U+009b and a byte 0x9b are C1's start of a sequence; goes back.
NAME = "evil\x1b[2J\x1b]0title\x07\u009b31mred\r\x7f"
OWN_STYLES = re.compile(rb"\x1b\[(0|1|31|32)m")


def on_terminal(*words, env=None):
    """Its exit status and all that it prints on a terminal, standard error too."""
    leader, follower = pty.openpty()
    read = bytearray()

    def reader():
        while True:
            try:
                chunk = os.read(leader, 1 << 16)
            except OSError:  # the other end is closed
                return
            if not chunk:
                return
            read.extend(chunk)

    thread = threading.Thread(target=reader)
    thread.start()
    process = subprocess.Popen([HIPBOARD, *words], stdin=subprocess.DEVNULL, stdout=follower,
                               stderr=follower, env={**os.environ, "TERM": "xterm", **(env or {})})
    os.close(follower)
    status = process.wait(timeout=600)
    thread.join()
    os.close(leader)
    return status, bytes(read).replace(b"\r\n", b"\n")


def steers(text):
    """Whether there is a control character other than hipboard's own bold and colours."""
    rest = OWN_STYLES.sub(b"", text)
    return re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", rest) is not None or any(
        0x80 <= byte < 0xa0 for byte in rest.decode(errors="ignore").encode("latin1", "ignore"))


def write_trace(path, duration=500):
    events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1,
               "tid": 1, "ts": 1000 * step, "dur": 1000, "args": {}} for step in range(2)]
    for step in range(2):
        events += [
            {"ph": "X", "cat": "cpu_op", "name": NAME, "pid": 1, "tid": 1, "ts": 1000 * step + 100,
             "dur": duration, "args": {"External id": step + 1, "Input Dims": [[NAME]],
                                  "Call stack": NAME + ";main"}},
            {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel" + NAME, "pid": 1, "tid": 1,
             "ts": 1000 * step + 110, "dur": 5,
             "args": {"External id": step + 1, "correlation": step + 1}},
            {"ph": "X", "cat": "kernel", "name": NAME, "pid": 0, "tid": 7, "ts": 1000 * step + 150,
             "dur": 50, "args": {"External id": step + 1, "correlation": step + 1, "device": NAME}},
            {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1000 * step + 200,
             "args": {"Addr": 16, "Bytes": 512, "Device Type": 1, "Device Id": NAME,
                      "Total Allocated": 512, "Total Reserved": 512}},
            {"ph": "X", "cat": "python_function", "name": "nn.Module: " + NAME, "pid": 1, "tid": 1,
             "ts": 1000 * step + 50, "dur": 700,
             "args": {"Python id": step + 1, "Python module id": 0}}]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"traceEvents": events, "deviceProperties": [{"name": NAME}]},
                               ensure_ascii=False))
    return path


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    directory = tmp_path_factory.mktemp("terminal") / NAME
    write_trace(directory / "run" / f"{NAME}.pt.trace.json")
    write_trace(directory / "run2" / f"{NAME}_1.pt.trace.json", duration=600)
    return directory


@pytest.mark.parametrize("words", [
    ["table"], ["table", "--json"], ["stacks"], ["stacks", "--scopes"], ["check"],
    ["check", "--json"], ["view"], ["view", "--json"], ["view", "--csv"], ["view", "--view", "operator"], ["view", "--view", "kernel"],
    ["view", "--view", "memory"], ["view", "--view", "module"],
    ["memory"], ["steps"], ["compare"], ["compare", "--tree"], ["convert", "-o"], ["recover"]],
    ids=" ".join)
def test_nothing_in_a_trace_steers_the_terminal(words, logdir, tmp_path):
    files = sorted(logdir.rglob("*.json"))
    if words[0] == "compare":
        words = [*words, logdir / "run", logdir / "run2"]
    elif words[0] == "convert":
        words = [*words, tmp_path / NAME, *files]
    else:
        words = [*words, *(files if words[0] == "table" else [logdir])]
    status, text = on_terminal(*words)
    assert text and b"evil" in text
    assert not steers(text), text


@pytest.mark.parametrize("command", ["table", "view", "stacks", "memory", "steps", "check",
                                     "compare", "query", "recover", "convert"])
def test_no_name_in_a_message_steers_the_terminal(command, tmp_path):
    words = {"compare": [tmp_path / NAME, tmp_path / NAME], "query": [tmp_path / NAME, "runs"],
             "convert": ["-o", tmp_path / "out", tmp_path / NAME]}
    status, text = on_terminal(command, *words.get(command, [tmp_path / NAME]))
    assert status != 0 and b"evil" in text
    assert not steers(text), text


def test_escapes_name_the_character(logdir):
    [path] = (logdir / "run").glob("*")
    status, text = on_terminal("stacks", path)
    assert status == 0
    name = "evil\\u001b[2J\\u001b]0title\\u0007\\u009b31mred\\u000d\\u007f"
    assert name in text.decode()


def test_valid_text_and_own_styles_pass(tmp_path):
    path = tmp_path / "t.pt.trace.json"
    names = ["\u00e9\u00df\u00bf", "\u4e2d\u6587", "\U0001f600", "\u201b"]
    path.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 100 * i, "dur": 50,
         "args": {}} for i, name in enumerate(names)]}, ensure_ascii=False))
    status, text = on_terminal("table", path)
    assert status == 0 and all(name in text.decode() for name in names)
    status, text = on_terminal("view", path)
    assert status == 0 and b"\x1b[1m" in text and b"\x1b[0m" in text


@pytest.mark.parametrize("words", [["table"], ["stacks"]])
def test_what_is_no_terminal_gets_every_byte(words, logdir):
    [path] = (logdir / "run").glob("*")
    done = subprocess.run([HIPBOARD, *words, path], capture_output=True, timeout=600)
    assert done.returncode == 0
    assert NAME.encode() in done.stdout


def test_broken_characters_hide_no_control(tmp_path):
    """Bytes that begin a character and do not go on, before what would steer."""
    name = b"".join(begin + end for begin in (b"\xc2", b"\xe2\x82", b"\xf0", b"\xe0", b"")
                    for end in (b"\x1b", b"\x99", b"\x1b\x99", b"\xc2\x99", b"\r", b"\x1b[\x9b"))
    path = tmp_path / "t.pt.trace.json"
    path.write_bytes(b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "' + name +
                     b'", "pid": 1, "tid": 1, "ts": 1, "dur": 50, "args": {}}]}')
    status, text = on_terminal("stacks", "--scopes", path)
    assert status == 0 and not steers(text), text
    status, text = on_terminal("view", os.fsencode(tmp_path) + b"/" + name)
    assert status == 1 and not steers(text), text
