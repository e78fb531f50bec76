# SPDX-License-Identifier: MIT
"""Event files written by hipboard, read by TensorBoard's own reader and shown by its server."""
import json
import shutil
import subprocess
import time
import urllib.parse
import urllib.request

import pytest
from google.protobuf.json_format import MessageToDict
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event

from server import TensorBoard
from support import BUILD

LOG_EVENTS = BUILD / "tests/e2e/programs/log_events"
# All that is logged, not a sample of it.
KEEP_ALL = ("--samples_per_plugin", "scalars=1000000,text=1000,histograms=1000",
            "--reload_interval", "1")
BACKENDS = {"python": ("--load_fast=false", *KEEP_ALL), "fast": ("--load_fast=true", *KEEP_ALL)}


def start(run):
    return subprocess.Popen([LOG_EVENTS, run], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def script(*calls):
    """Calls as lines of tabbed arguments; bytes and texts may be mixed."""
    def piece(part):
        return part if isinstance(part, bytes) else str(part).encode()
    return b"".join(b"\t".join(map(piece, call)) + b"\n" for call in calls)


def finish(process, calls):
    """Lets a started program make its calls and end; returns its output and its errors."""
    out, errors = process.communicate(script(*calls), timeout=600)
    assert process.returncode == 0, errors
    return out.decode().split(), errors.decode()


def log(run, calls):
    out, errors = finish(start(run), calls)
    assert (out[0], out[-1], errors) == ("open", "success", "")


def on_small_disk(directory, options, command, calls=()):
    """Runs a shell command with a file system of its own on `directory`."""
    if not shutil.which("unshare"):
        pytest.skip("no unshare")
    mount = f'mount -t tmpfs -o {options} none "{directory}"'
    probe = subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True)
    if probe.returncode != 0:
        pytest.skip(f"may not mount: {probe.stderr.decode()}")
    return subprocess.run(["unshare", "-rm", "sh", "-c", f"{mount} && {command}"],
                          input=script(*calls), capture_output=True, timeout=600)


def read(path):
    """Every event of a file, as TensorBoard's reader finds it, CRCs checked."""
    return [Event.FromString(record) for record in RawEventFileLoader(str(path)).Load()]


def values(run):
    """{tag: [(step, value message)]} of the one file of a run."""
    [path] = run.glob("*tfevents*")
    found = {}
    for event in read(path):
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value))
    return found


def as_dict(message):
    return MessageToDict(message, preserving_proto_field_name=True)


class Server(TensorBoard):
    """TensorBoard's own tabs instead of the profiler plugin's."""

    def ask(self, route, body=None, **parameters):
        url = f"{self.url}/data/{route}?{urllib.parse.urlencode(parameters)}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as reply:
            return json.loads(reply.read())

    def wait_for(self, question, answer, timeout=600):
        """Asks until the answer is as expected; the last one."""
        deadline = time.monotonic() + timeout
        while not answer(found := question()):
            assert time.monotonic() < deadline, f"still {found}\n{self.log()}"
            time.sleep(0.2)
        return found

    def wait_for_runs(self, *runs):
        return self.wait_for(lambda: self.ask("runs"), lambda found: set(runs) <= set(found))

    def scalars(self, run, tag):
        """[(step, value)]"""
        found = self.ask("plugin/scalars/scalars", run=run, tag=tag)
        return [(step, value) for _, step, value in found]

    def scalar_tags(self, run):
        return set(self.ask("plugin/scalars/tags").get(run, {}))
