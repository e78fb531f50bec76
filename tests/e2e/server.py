# SPDX-License-Identifier: MIT
"""A real TensorBoard with torch-tb-profiler, and everything that it answers about a log directory."""
import gzip
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

TRACE_NAME = re.compile(r"^(.*?)(\.\d+)?\.pt\.trace\.json(?:\.gz)?$")
BASE = "/data/plugin/pytorch_profiler/"

# What TensorBoard 2.21 and the plugin say on every start or page, whatever they are shown.
HARMLESS = re.compile(r"Logging before flag parsing goes to stderr"
                      r"|security_validator.py:\d+\] In 3.0, this warning will become an error"
                      r"|Pandas4Warning")
SUSPICIOUS = re.compile(r"Traceback|Error|error|Exception|Warning|WARN|^[WEC]\d{4} |fail", re.M)


@dataclass
class Answer:
    status: int
    content_type: str
    body: object  # parsed JSON; None when the status is not 200
    text: bytes


class TensorBoard:
    """Serves `logdir` on a free port until closed. `arguments`: more of TensorBoard's own; `python`, `env`:
    by which it runs."""

    def __init__(self, logdir, log_path, start_timeout=600, arguments=("--load_fast=false",),
                 python=sys.executable, env={}):
        self.logdir = Path(logdir)
        self.log_path = Path(log_path)
        self.answers = {}
        with open(log_path, "wb") as log:
            self.process = subprocess.Popen(
                [python, "-m", "tensorboard.main", "--logdir", str(logdir), "--port", "0",
                 *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=dict(os.environ, PYTHONUNBUFFERED="1", **env))
        self.url = self._wait_for(
            lambda: re.search(r"at (http://localhost:\d+)/", self.log()), start_timeout).group(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _wait_for(self, condition, timeout):
        deadline = time.monotonic() + timeout
        while not (result := condition()):
            assert self.process.poll() is None, f"TensorBoard ended:\n{self.log()}"
            assert time.monotonic() < deadline, f"TensorBoard is not ready:\n{self.log()}"
            time.sleep(0.2)
        return result

    def log(self):
        return self.log_path.read_text(errors="replace")

    def suspicious_log_lines(self):
        return [line for line in self.log().splitlines()
                if SUSPICIOUS.search(line) and not HARMLESS.search(line)]

    def run_names(self):
        """What the plugin should call the runs below the log directory."""
        names = set()
        for directory, _, files in os.walk(self.logdir, followlinks=True):
            if any(TRACE_NAME.match(name) for name in files):
                relative = os.path.relpath(directory, self.logdir)
                names.add(self.logdir.name if relative == "." else relative)
        return names

    def wait_until_loaded(self, timeout=600):
        def loaded():
            runs = self.fetch("runs").body
            return not runs["loading"] and set(runs["runs"]) >= self.run_names()
        self._wait_for(loaded, timeout)
        return self

    def fetch(self, route, **parameters):
        path = route + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
        try:
            with urllib.request.urlopen(self.url + BASE + path, timeout=600) as reply:
                text = reply.read()
                if reply.headers.get("Content-Encoding") == "gzip":
                    text = gzip.decompress(text)
                return Answer(reply.status, reply.headers.get_content_type(), json.loads(
                    text, parse_constant=_refuse_constant), text)
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.headers.get_content_type(), None, error.read())

    def get(self, route, **parameters):
        """The body of a route that must answer; kept in `answers`."""
        answer = self.fetch(route, **parameters)
        self.answers[route, tuple(sorted(parameters.items()))] = answer
        assert answer.status == 200, f"{route} {parameters}: {answer.status} {answer.text[:500]}"
        assert answer.content_type == "application/json"
        return answer.body

    def profiles(self, run, view="Overview"):
        """Every (worker, span) of a run that has the view, as parameters of the other routes."""
        return [{"run": run, "worker": worker, "span": span}
                for worker in self.get("workers", run=run, view=view)
                for span in self.get("spans", run=run, worker=worker)]

    def visit_all(self):
        """Asks every route of every run, view, worker and span; returns {run: views}."""
        self.wait_until_loaded()
        views = {}
        for run in self.get("runs")["runs"]:
            views[run] = self.get("views", run=run)
            for view in views[run]:
                for profile in self.profiles(run, view):
                    self._visit(view, profile)
        runs = sorted(views)
        for left, right in zip(runs, runs[1:]):
            self._visit_diff(self.profiles(left)[0], self.profiles(right)[0])
        return views

    def _visit(self, view, profile):
        if view == "Overview":
            self.get("overview", **profile)
        elif view == "Operator":
            self._visit_operators(profile)
        elif view == "Kernel":
            self.get("kernel", **profile)
            self.get("kernel/tc_pie", **profile)
            for group in ("Kernel", "KernelNameAndOpName"):
                self.get("kernel/table", group_by=group, **profile)
        elif view == "Trace":
            self.get("trace", **profile)
        elif view == "Distributed":
            for table in ("gpuinfo", "overlap", "waittime", "commops"):
                self.get("distributed/" + table, **profile)
        elif view == "Memory":
            for route in ("memory", "memory_curve", "memory_events"):
                self.get(route, **profile)
            self.get("memory", memory_metric="B", **profile)
            self.get("memory_curve", time_metric="us", memory_metric="GB", **profile)
        elif view == "Module":
            self.get("module", **profile)
            self.get("tree", **profile)

    def _visit_operators(self, profile):
        for group in ("Operation", "OperationAndInputShape"):
            self.get("operation", group_by=group, **profile)
            table = self.get("operation/table", group_by=group, **profile)
            for row in table["data"]:
                # A name that makes the address longer than the server takes can't be asked for.
                if row["has_call_stack"] and len(row["name"]) < 10000:
                    self.get("operation/stack", group_by=group, op_name=row["name"],
                             input_shape=row.get("input_shape", ""), **profile)

    def _visit_diff(self, left, right):
        pair = dict(left, exp_run=right["run"], exp_worker=right["worker"],
                    exp_span=right["span"])
        self.get("diff", **pair)
        self.get("diffnode", path="0", **pair)


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")
