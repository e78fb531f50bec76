# SPDX-License-Identifier: MIT
"""What <hipboard/page.h> answers, asked from Python: the page of a server is that of a report."""
import ctypes
import http.server
import threading
from urllib.parse import quote

import pytest

from browser import PATIENCE_MS
from report_page import ReportPage, report
from support import BUILD
from test_report import TRACES, big_trace

OK, INVALID, NOT_FOUND = 0, 1, 7


class Answer(ctypes.Structure):
    _fields_ = [("body", ctypes.c_void_p), ("size", ctypes.c_size_t), ("type", ctypes.c_char_p)]


class Page:
    """An hb_page; asked by one thread at a time."""

    def __init__(self, *paths):
        self.library = ctypes.CDLL(str(BUILD / "src/analysis/libhipboard-analysis.so.0"))
        self.library.hb_last_error.restype = ctypes.c_char_p
        self.library.hb_free.argtypes = [ctypes.c_void_p]
        self.page = ctypes.c_void_p()
        self.lock = threading.Lock()
        list_of = (ctypes.c_char_p * len(paths))(*(str(path).encode() for path in paths))
        assert self.library.hb_page_open(list_of, ctypes.c_size_t(len(paths)), None,
                                         ctypes.byref(self.page)) == OK

    def ask(self, address):
        """(the result, its bytes or why there are none, their type)"""
        answer = Answer()
        with self.lock:
            result = self.library.hb_page_ask(self.page, address.encode(), ctypes.byref(answer))
            if result != OK:
                return result, self.library.hb_last_error(), None
            body = ctypes.string_at(answer.body, answer.size)
            self.library.hb_free(answer.body)
            return result, body, answer.type

    def close(self):
        self.library.hb_page_close(self.page)


class Server:
    """The least that serves the page."""

    def __init__(self, page):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                result, body, kind = page.ask(self.path)
                self.send_response(200 if result == OK else 404)
                self.send_header("Content-Type", (kind or b"text/plain").decode())
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def as_uri(self):
        return self.url

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def mi250():
    page = Page(TRACES["mi250"])
    yield page
    page.close()


def test_a_server_shows_what_a_report_shows(browser, mi250, tmp_path):
    server = Server(mi250)
    with ReportPage(browser, report(tmp_path, TRACES["mi250"])) as file, \
            ReportPage(browser, server) as served:
        for view in "overview", "kernels", "gpu", "timeline":
            texts = [page.open(view).page.locator("main").inner_text() for page in (file, served)]
            assert texts[0] == texts[1], view
        assert served.errors == [] and served.violations() == []
        assert {url for url in served.requests if not url.startswith(server.url)} <= {"about:blank"}
    server.close()


def test_a_server_is_asked_for_what_is_looked_at(browser, tmp_path):
    trace = tmp_path / "big.pt.trace.json"
    big_trace(trace, 420000)
    page = Page(trace)
    server = Server(page)
    with ReportPage(browser, server) as served:
        served.open("timeline", **{"from": 1_000_000_000, "to": 1_000_050_000})
        for _ in range(PATIENCE_MS // 100):
            windows = [url for url in served.requests if "slices" in url and "from=" in url]
            if windows and len(served.lanes()) > 3:
                break
            served.page.wait_for_timeout(100)
        assert windows and len(served.lanes()) > 3
        assert served.errors == []
    server.close()
    page.close()


@pytest.mark.parametrize("address, result, why", [
    ("hb/nothing?trace=mi250_minitoy", NOT_FOUND, b"no route"),
    ("hb/steps", INVALID, b"trace is missing"),
    ("hb/steps?trace=" + quote("../../etc/passwd"), NOT_FOUND, b"there is no trace"),
    ("hb/timeline/slices?trace=mi250_minitoy&from=-1", INVALID, b"from=-1"),
    ("hb/timeline/slices?trace=mi250_minitoy&cell=x", INVALID, b"cell=x"),
    ("hb/timeline/slices?trace=mi250_minitoy&from=5&to=4", INVALID, b"before it begins"),
    ("etc/passwd", NOT_FOUND, b"no file"),
])
def test_odd_addresses_are_refused(mi250, address, result, why):
    told, text, _ = mi250.ask(address)
    assert told == result and why in text


def test_every_file_of_the_page_is_there(mi250):
    for name, kind in ("", b"text/html"), ("page.js", b"text/javascript"), ("page.css", b"text/css"):
        result, body, told = mi250.ask(name)
        assert result == OK and told.startswith(kind) and len(body) > 300
