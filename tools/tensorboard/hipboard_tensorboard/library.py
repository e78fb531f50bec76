# SPDX-License-Identifier: MIT
"""libhipboard-analysis by ctypes: what a page asks for, and what torch-tb-profiler's page asked for."""

import ctypes
import ctypes.util
import os
import shutil
import threading
from pathlib import Path

NAME = "libhipboard-analysis.so.0"
MISSING = ("hipboard itself is not here: {} was not found. Install hipboard's wheel or build hipboard, and "
           "put `hipboard` on the PATH or its libraries' directory into HIPBOARD_LIBRARY.")

# hb_result, as a status of HTTP.
STATUS = {1: 400, 2: 503, 4: 503, 7: 404, 9: 503}


class Refused(Exception):
    """Why there is no answer, and the status that says so."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class _Answer(ctypes.Structure):
    _fields_ = [("body", ctypes.c_void_p), ("size", ctypes.c_size_t), ("type", ctypes.c_char_p)]


class _PageOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("open", ctypes.c_void_p),
                ("max_memory", ctypes.c_uint64), ("live", ctypes.c_bool)]


def _beside(directory):
    """In a library directory, or one that belongs to a machine's kind."""
    yield directory / NAME
    yield from sorted(directory.glob(f"*/{NAME}"))


def _candidates():
    given = os.environ.get("HIPBOARD_LIBRARY")
    if given:
        yield Path(given)
        yield Path(given) / NAME
    for above in Path(__file__).resolve().parents[:6]:  # in the same wheel
        yield from _beside(above / "lib")
    tool = shutil.which("hipboard")
    if tool:
        prefix = Path(tool).resolve().parents[1]
        for name in "lib", "lib64":
            yield from _beside(prefix / name)
    found = ctypes.util.find_library("hipboard-analysis")
    if found:
        yield Path(found)


def _load():
    for path in _candidates():
        if path.is_file() or not path.is_absolute():
            break
    else:
        raise Refused(503, MISSING.format(NAME))
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise Refused(503, f"hipboard's library cannot be loaded: {error}") from error
    library.hb_last_error.restype = ctypes.c_char_p
    library.hb_free.argtypes = [ctypes.c_void_p]
    library.hb_page_open.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    library.hb_page_ask.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    library.hb_page_num_traces.argtypes = [ctypes.c_void_p]
    library.hb_page_num_traces.restype = ctypes.c_size_t
    library.hb_logdir_open.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
    library.hb_logdir_query.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
    library.hb_logdir_close.argtypes = [ctypes.c_void_p]
    return library


_library = None
_loading = threading.Lock()


def library():
    """Loaded once; looked for anew while it is not there."""
    global _library
    with _loading:
        if _library is None:
            _library = _load()
        return _library


def _check(result):
    if result:
        reason = library().hb_last_error().decode(errors="replace")
        raise Refused(STATUS.get(result, 422), reason)


def _take(body, size):
    try:
        return ctypes.string_at(body, size)
    finally:
        library().hb_free(body)


class Page:
    """An hb_page of log directories. The library lets any number of threads ask it."""

    def __init__(self, paths):
        self._paths = [os.fsencode(path) for path in paths]
        self._page = None
        self._opening = threading.Lock()

    def _open(self):
        with self._opening:
            if self._page is None:
                page = ctypes.c_void_p()
                paths = (ctypes.c_char_p * len(self._paths))(*self._paths)
                options = _PageOptions(struct_size=ctypes.sizeof(_PageOptions), live=True)
                _check(library().hb_page_open(paths, len(self._paths), ctypes.byref(options),
                                              ctypes.byref(page)))
                self._page = page
        return self._page

    def ask(self, address):
        """(the body, its Content-Type); Refused."""
        answer = _Answer()
        _check(library().hb_page_ask(self._open(), address.encode(), ctypes.byref(answer)))
        return _take(answer.body, answer.size), answer.type.decode()

    def has_traces(self):
        """Now; the library looks at its directories once a second at most."""
        try:
            self.ask("hb/changes")
            return library().hb_page_num_traces(self._page) > 0
        except Refused:
            return False


class LogDirectory:
    """An hb_logdir, which answers as torch-tb-profiler; opened anew when `page` has other traces."""

    def __init__(self, path, page):
        self._path, self._page = os.fsencode(path), page
        self._lock = threading.Lock()  # an hb_logdir belongs to one thread at a time
        self._handle, self._seen, self._runs = None, None, None

    def _refresh(self):
        seen, _ = self._page.ask("hb/changes")
        if self._handle is not None and seen == self._seen:
            return
        if self._handle is not None:
            library().hb_logdir_close(self._handle)
        self._handle, self._runs, handle = None, None, ctypes.c_void_p()
        _check(library().hb_logdir_open(self._path, None, ctypes.byref(handle)))
        self._handle, self._seen = handle, seen

    def _query(self, address):
        text, size = ctypes.c_void_p(), ctypes.c_size_t()
        _check(library().hb_logdir_query(self._handle, address.encode(), ctypes.byref(text),
                                         ctypes.byref(size)))
        return _take(text, size.value)

    def query(self, address):
        """The JSON text; Refused."""
        with self._lock:
            self._refresh()
            if address.rstrip("?") != "runs":
                return self._query(address)
            if self._runs is None:  # every file is read for it, to know which are lost
                self._runs = self._query("runs")
            return self._runs
