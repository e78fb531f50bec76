# SPDX-License-Identifier: MIT
"""torch-tb-profiler without TensorBoard, processes and waiting: its loader and its HTTP routes,
called in this process. What it answers is the truth that `hipboard query` is compared with."""
import collections
import gzip
import json
import logging
import math
import os
import queue
import tempfile
import threading
import urllib.parse
import warnings

warnings.filterwarnings("ignore")

from werkzeug.test import Client  # noqa: E402
from torch_tb_profiler import plugin as plugin_module  # noqa: E402
from torch_tb_profiler.profiler import loader as loader_module  # noqa: E402

logging.getLogger("pytorch_profiler").setLevel(logging.CRITICAL)
BASE = "/data/plugin/pytorch_profiler/"


class _Cache:
    """The part of torch_tb_profiler.io.Cache that a local directory needs."""

    def __init__(self, directory):
        self.cache_dir = directory

    def get_remote_cache(self, path):
        return path

    def add_file(self, source, local):
        pass

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()


class _Here:
    """Stands for multiprocessing.Process."""

    def __init__(self, target, args):
        self.run = lambda: target(*args)

    def start(self):
        self.run()


class Plugin:
    """Answers about a log directory as a TensorBoard that has loaded all of it."""

    def __init__(self, logdir):
        self.plugin = plugin = plugin_module.TorchProfilerPlugin.__new__(
            plugin_module.TorchProfilerPlugin)
        plugin.logdir = os.path.abspath(logdir)
        plugin._load_lock, plugin._runs_lock = threading.Lock(), threading.Lock()
        plugin._load_threads = []
        plugin.diff_run_cache, plugin.diff_run_flatten_cache = {}, {}
        runs = {}
        self.written = tempfile.TemporaryDirectory()  # traces with its own curves, which it serves
        plugin._cache, plugin._temp_dir = _Cache(self.written.name), self.written.name
        plugin._gpu_metrics_file_dict = {}
        for directory in plugin._get_run_dirs():
            run = self._load(plugin._get_run_name(directory), directory, self.written.name)
            if run is not None:
                runs[run.name] = run
        plugin._runs = collections.OrderedDict(sorted(runs.items()))
        self.routes = plugin.get_plugin_apps()

    @staticmethod
    def _load(name, directory, cache):
        loader = loader_module.RunLoader.__new__(loader_module.RunLoader)
        loader.run_name, loader.run_dir = name, directory
        loader.caches, loader.queue = _Cache(cache), queue.Queue()
        process, loader_module.Process = loader_module.Process, _Here
        try:
            return loader.load()
        except Exception:  # the plugin logs it and does not show the run
            return None
        finally:
            loader_module.Process = process

    def get(self, url):
        """(status, parsed JSON or None)"""
        route, _, query = url.partition("?")
        try:
            response = Client(self.routes["/" + route]).get(BASE + route, query_string=query)
        except Exception:  # the server answers 500
            return 500, None
        if response.status_code != 200:
            return response.status_code, None
        body = response.data
        return 200, parsed(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)


def parsed(text):
    """A Trace view is handed what stands in the file: control characters too, and even what is no JSON."""
    try:
        return json.loads(text, strict=False)
    except ValueError:
        return "no JSON"


def url(route, **parameters):
    return route + "?" + urllib.parse.urlencode(parameters) if parameters else route


def questions(plugin):
    """All that the browser would ask about the runs, and some that it would not."""
    yield "runs"
    runs = plugin.get("runs")[1]["runs"]
    profiles = []
    for run in runs:
        yield url("views", run=run)
        for view in ("Overview", "Kernel", "Memory", "Module", "Lightning", "Distributed", "None"):
            yield url("workers", run=run, view=view)
        workers = set()
        for view in ("Overview", "Distributed"):
            workers.update(plugin.get(url("workers", run=run, view=view))[1])
        for worker in sorted(workers):
            yield url("spans", run=run, worker=worker)
            for span in plugin.get(url("spans", run=run, worker=worker))[1]:
                profiles.append(dict(run=run, worker=worker, span=span))
    yield url("views", run="no such run")
    for profile in profiles:
        yield from about_profile(plugin, profile)
    for first, second in zip(profiles, profiles[1:] + profiles[:1]):
        other = {"exp_" + key: value for key, value in second.items()}
        yield url("diff", **first, **other)
        yield url("diffnode", **first, **other)
        for path in ("0-0", "0-1", "0-1-0", "1", "0-", "0-00"):
            yield url("diffnode", path=path, **first, **other)


def about_profile(plugin, profile):
    if profile["worker"] == "All":
        for route in ("gpuinfo", "overlap", "waittime", "commops"):
            yield url("distributed/" + route, run=profile["run"], span=profile["span"])
    yield url("overview", **profile)
    for group in ("Operation", "OperationAndInputShape"):
        yield url("operation", group_by=group, **profile)
        yield url("operation/table", group_by=group, **profile)
        table = plugin.get(url("operation/table", group_by=group, **profile))[1]
        for row in [row for row in (table or {}).get("data", []) if row["has_call_stack"]][:3]:
            yield url("operation/stack", group_by=group, op_name=row["name"],
                      input_shape=row.get("input_shape", ""), **profile)
    yield url("operation/stack", group_by="Operation", op_name="no such operator", **profile)
    for route in ("kernel", "kernel/tc_pie", "kernel/table", "module", "tree", "trace"):
        yield url(route, **profile)
    yield url("kernel/table", group_by="Kernel", **profile)
    for route in ("memory", "memory_curve", "memory_events"):
        yield url(route, **profile)
        yield url(route, memory_metric="B", time_metric="us", **profile)
        yield url(route, memory_metric="TB", **profile)
    for route in ("memory", "memory_events"):
        yield url(route, start_ts=1050, end_ts=1200, **profile)
        yield url(route, start_ts=" 1_100 ", **profile)
        yield url(route, end_ts="1100.5", **profile)


def same(a, b):
    """Equal up to the last digits of a number and to the order of equals, which has no rule."""
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b or a == b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-6)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        if len(a) != len(b):
            return False
        if all(same(x, y) for x, y in zip(a, b)):
            return True
        if a and isinstance(a[0], (list, dict)):
            def text(x):
                return json.dumps(x, sort_keys=True)
            return all(same(x, y) for x, y in zip(sorted(a, key=text), sorted(b, key=text)))
        return False
    return a == b
