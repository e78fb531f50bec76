# SPDX-License-Identifier: MIT
"""A running `hipboard serve`, and its page in a headless Chromium."""
import http.client
import json
import re
import subprocess
from urllib.parse import quote, urlsplit

from report_page import HIPBOARD, ReportPage


class Server:
    """`hipboard serve` at a free port until closed."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [HIPBOARD, "serve", "--port", "0", *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"(http://127\.0\.0\.1:(\d+)/)#token=(\w+)\n", line)
        assert found, line + self.process.stderr.read()
        self.url, self.port, self.token = found[1], int(found[2]), found[3]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        self.process.stdout.close()
        self.process.stderr.close()

    def end(self):
        """The exit status after an interrupt."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(600)

    def request(self, path, method="GET", **headers):
        """(status, headers, body); headers by names with _ for -."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        sent = {"X-Hipboard-Token": self.token,
                **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection.request(method, path, headers=sent)
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        return reply.status, reply.headers, body

    def ask(self, route, **parameters):
        query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in parameters.items())
        status, _, body = self.request(f"/{route}?{query}")
        assert status == 200, body
        return json.loads(body)

    def traces(self):
        return [trace["id"] for trace in self.ask("hb/about")["traces"]]


class ServedPage(ReportPage):
    def __init__(self, browser, server, scheme="light"):
        self.address = server.url
        self._begin(browser, scheme, True, 1280)
        self.page.goto(f"{server.url}#token={server.token}")
        self.page.wait_for_selector("html[data-ready]")

    def hosts(self):
        return {urlsplit(url).netloc for url in self.requests if not url.startswith("about:")}
