# SPDX-License-Identifier: MIT
"""Two tabs of one page: `hipboard` always, and `pytorch_profiler`, torch-tb-profiler's name and address,
where that is not installed. TensorBoard refuses to start with two plugins of one name."""

import gzip
import html
import importlib.util
import os
from pathlib import Path

from tensorboard.plugins import base_plugin
from werkzeug import wrappers

from .library import LogDirectory, Page, Refused

ENTRY = Path(__file__).with_name("entry.js").read_bytes()
# TensorBoard warns of anything but 'self', 'none', https: and sha256-, blob: and data: of images.
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
          "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'")
SORRY = ('<!doctype html><html lang="en"><meta charset="utf-8"><title>hipboard</title>'
         "<h1>hipboard cannot show this</h1><p>{}</p></html>")
JSON = "application/json"
LEAST_TO_COMPRESS = 1024

_pages = {}


def _paths(context):
    """What `--logdir`, or `--logdir_spec name:path,...`, names on this machine."""
    if context.logdir:
        return [os.path.abspath(os.path.expanduser(context.logdir))]
    spec = getattr(context.flags, "logdir_spec", "") or ""
    named = [part.split(":", 1)[-1] if "/" not in part.split(":", 1)[0] else part
             for part in spec.split(",") if part]
    return [os.path.abspath(os.path.expanduser(path)) for path in named]


def _answer(request, body, kind, status=200):
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    if kind.startswith("text/html"):
        headers["Content-Security-Policy"] = POLICY
    if len(body) >= LEAST_TO_COMPRESS:
        headers["Vary"] = "Accept-Encoding"
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(body, 1)
    return wrappers.Response(body, status=status, headers=headers, content_type=kind)


class HipboardPlugin(base_plugin.TBPlugin):
    plugin_name = "hipboard"
    tab_name = "hipboard"

    def __init__(self, context):
        paths = tuple(_paths(context))
        self._page = _pages.setdefault(paths, Page(paths))  # the tabs read each trace once
        self._paths = paths

    def is_active(self):
        return self._page.has_traces()

    def frontend_metadata(self):
        return base_plugin.FrontendMetadata(es_module_path="/entry.js", tab_name=self.tab_name,
                                            disable_reload=True)

    def get_plugin_apps(self):
        return {"/entry.js": self._entry, "/*": self._ask}

    def _find(self, address):
        """(the body, its type) of an address below the plugin's."""
        return self._page.ask(address)

    @wrappers.Request.application
    def _entry(self, request):
        return _answer(request, ENTRY, "text/javascript; charset=utf-8")

    @wrappers.Request.application
    def _ask(self, request):
        if request.method not in ("GET", "HEAD"):
            return _answer(request, b"Traces can only be read here.", "text/plain", 405)
        # As it was sent: names in it may hold anything.
        address = request.environ.get("PATH_INFO", "").split(f"/plugin/{self.plugin_name}/", 1)[-1]
        query = request.environ.get("QUERY_STRING", "")
        try:
            body, kind = self._find(f"{address}?{query}" if query else address)
        except Refused as error:
            if address == "index.html":
                return _answer(request, SORRY.format(html.escape(str(error))).encode(),
                               "text/html; charset=utf-8", error.status)
            return _answer(request, str(error).encode(), "text/plain; charset=utf-8", error.status)
        return _answer(request, body, kind)


class DropInPlugin(HipboardPlugin):
    plugin_name = "pytorch_profiler"
    tab_name = "PyTorch Profiler (hipboard)"

    def __init__(self, context):
        super().__init__(context)
        self._logdir = LogDirectory(self._paths[0], self._page)

    def _find(self, address):
        if address.startswith("hb/") or address in ("index.html", "page.js", "page.css"):
            return self._page.ask(address)
        return self._logdir.query(address), JSON


def _load(kind, context):
    """Once for each TensorBoard: hipboard's wheel and this package by itself may both be installed."""
    loaded = vars(context).setdefault("_hipboard_tabs", set())
    if kind.plugin_name in loaded or not _paths(context):
        return None
    loaded.add(kind.plugin_name)
    return kind(context)


class HipboardLoader(base_plugin.TBLoader):
    def load(self, context):
        return _load(HipboardPlugin, context)


class DropInLoader(base_plugin.TBLoader):
    def load(self, context):
        return None if importlib.util.find_spec("torch_tb_profiler") else _load(DropInPlugin, context)
