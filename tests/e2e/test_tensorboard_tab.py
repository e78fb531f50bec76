# SPDX-License-Identifier: MIT
"""The tab of tools/tensorboard in a real TensorBoard: beside torch-tb-profiler, and in its place."""
import gzip
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from werkzeug.test import Client

import plugin_in_process
from browser import OUT, PATIENCE_MS
from report_page import CONTRAST, VIEWS, ReportPage, broken_rules, report
from server import TensorBoard
from support import BUILD, ROOT, run
from test_report import TRACES

LIBRARY = BUILD / "src/analysis/libhipboard-analysis.so.0"
SYSTEM_PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """What pip installs from the checkout."""
    source = tmp_path_factory.mktemp("source") / "tensorboard"
    shutil.copytree(ROOT / "tools/tensorboard", source, ignore=shutil.ignore_patterns("build", "*.egg-info"))
    to = tmp_path_factory.mktemp("package")
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
        "--target", to, source)
    return to


@pytest.fixture(scope="module")
def without_plugin(tmp_path_factory):
    """All packages of this Python but torch-tb-profiler."""
    site = tmp_path_factory.mktemp("site")
    for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not path.name.startswith("torch_tb_profiler"):
            (site / path.name).symlink_to(path)
    return site


@pytest.fixture(scope="module")
def logdir(tmp_path_factory, digits):
    logdir = tmp_path_factory.mktemp("tab") / "runs"
    shutil.copytree(digits["workers0"].directory, logdir / "digits")
    shutil.copytree(digits["workers2"].directory, logdir / "packed")
    for name in TRACES:
        (logdir / name).mkdir()
    shutil.copy(TRACES["torch"], logdir / "torch" / "w.1.pt.trace.json")
    (logdir / "mi250" / "w.1.pt.trace.json").write_bytes(gzip.decompress(TRACES["mi250"].read_bytes()))
    return logdir


def add_run(logdir, name):
    (logdir / name).mkdir(parents=True)
    shutil.copy(TRACES["torch"], logdir / name / "w.1.pt.trace.json")


def start(logdir, log, package, site=None, arguments=(), library=LIBRARY):
    path = os.pathsep.join(str(part) for part in (package, site) if part)
    return TensorBoard(logdir, log, arguments=("--load_fast=false", *arguments),
                       python=SYSTEM_PYTHON if site else sys.executable,
                       env={"PYTHONPATH": path, "HIPBOARD_LIBRARY": str(library)})


@pytest.fixture(scope="module", params=["alone", "beside"])
def board(request, logdir, package, without_plugin, tmp_path_factory):
    site = without_plugin if request.param == "alone" else None
    with start(logdir, tmp_path_factory.mktemp("log") / "log", package, site) as board:
        board.alone = bool(site)
        yield board


class Tab:
    """The tab in a browser: TensorBoard's page, and in it the frame of ours."""

    def __init__(self, browser, url):
        self.page = browser.new_page((1400, 900), bypass_csp=True, reduced_motion="reduce")
        self.errors, self.hosts = [], set()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: self.errors.append(line.text)
                     if line.type == "error" and "Failed to load resource" not in line.text else None)
        self.page.on("response", lambda reply: self.errors.append(f"{reply.status} {reply.url}")
                     if reply.status >= 400 and "/plugin/" in reply.url else None)
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        self.page.goto(url)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.page.context.close()

    def frame(self, ready):
        """Once it shows that."""
        for _ in range(PATIENCE_MS // 100):
            for frame in self.page.frames:
                if not urlsplit(frame.url).path.endswith("/index.html"):
                    continue
                try:
                    if (frame.evaluate("document.documentElement.dataset.ready") or "").startswith(ready):
                        return frame
                except Exception:  # it is on its way elsewhere
                    pass
            self.page.wait_for_timeout(100)
        raise AssertionError(f"no frame shows {ready}: {[frame.url for frame in self.page.frames]} {self.errors}")

    def until(self, holds):
        for _ in range(PATIENCE_MS // 100):
            if holds():
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(self.page.url)


def test_the_tab_shows_the_page(browser, board):
    with Tab(browser, f"{board.url}/#hipboard") as tab:
        frame = tab.frame("overview digits/")
        assert frame.locator(".headline").inner_text()
        frame.locator("nav a", has_text="Timeline").click()
        frame = tab.frame("timeline digits/")
        assert "p.hipboard.view=timeline" in tab.page.url
        OUT.mkdir(parents=True, exist_ok=True)
        tab.page.screenshot(path=OUT / f"tab-{'alone' if board.alone else 'beside'}.png")
        tabs = tab.page.locator(".mat-mdc-tab, .mat-tab-label").all_inner_texts()
        assert [text for text in tabs if "hipboard" == text.strip().lower()]
        profilers = [text.strip().lower() for text in tabs if "pytorch" in text.lower()]
        assert profilers == ["pytorch profiler (hipboard)" if board.alone else "pytorch_profiler"]
        assert tab.errors == [] and tab.hosts == {urlsplit(board.url).netloc}
    assert board.suspicious_log_lines() == []
    if board.alone:  # torch-tb-profiler itself makes TensorBoard warn
        assert "In 3.0" not in board.log()


def test_the_tab_shows_what_a_report_shows(browser, board, logdir, tmp_path):
    """To the word, in as large a window; half of the views in either way to be installed."""
    trace = "mi250/w/1"
    with Tab(browser, f"{board.url}/#hipboard&p.hipboard.trace={trace.replace('/', '%2F')}") as tab, \
            ReportPage(browser, report(tmp_path, logdir)) as page:
        frame = tab.frame(f"overview {trace}")
        wide, tall = frame.evaluate("[innerWidth, innerHeight]")
        page.page.set_viewport_size({"width": wide, "height": tall})
        for view in VIEWS[board.alone::2]:
            frame.locator(f"nav a[href*='view={view}']").click()
            told = tab.frame(f"{view} {trace}").locator("main").inner_text()
            assert told == page.open(view, trace=trace).page.locator("main").inner_text() and told.strip(), view
        assert tab.errors == [] and page.errors == []


def test_axe_finds_nothing_in_any_view_and_theme(browser, board):
    """Of what is on the page of ours; half of the views in either way to be installed."""
    with Tab(browser, f"{board.url}/#hipboard&p.hipboard.trace=mi250%2Fw%2F1") as tab:
        frame = tab.frame("overview mi250/")
        for view in VIEWS[board.alone::2]:
            frame.locator(f"nav a[href*='view={view}']").click()
            frame = tab.frame(f"{view} ")
            for theme, options in ("light", {}), ("dark", CONTRAST):
                tab.page.evaluate("(dark) => document.body.classList.toggle('dark-mode', dark)", theme == "dark")
                frame.locator(f"html[data-theme={theme}]").wait_for()
                assert broken_rules(frame, **options) == [], (view, theme)
        assert tab.errors == []


def test_a_link_survives_and_the_theme_follows(browser, board):
    link = f"{board.url}/#hipboard&p.hipboard.view=steps&p.hipboard.trace=torch%2Fw%2F1"
    with Tab(browser, link) as tab:
        tab.frame("steps torch/w/1")
        tab.page.reload()
        frame = tab.frame("steps torch/w/1")
        assert frame.evaluate("document.documentElement.dataset.theme") == "light"
        tab.page.evaluate("document.body.classList.add('dark-mode')")
        frame.locator("html[data-theme=dark]").wait_for()
        frame.locator("header select[aria-label=Run]").select_option("mi250")
        tab.frame("steps mi250/w/1")
        assert "p.hipboard.trace=mi250" in tab.page.url
        tab.page.go_back()
        tab.frame("steps torch/w/1")
        assert tab.errors == []


def test_later_runs_show_without_a_restart(browser, logdir, board):
    late = logdir / "zlate"
    with Tab(browser, f"{board.url}/#hipboard") as tab:
        frame = tab.frame("overview")
        late.mkdir()
        try:
            shutil.copy(TRACES["torch"], late / ".part")
            os.rename(late / ".part", late / "w.1.pt.trace.json")
            frame.locator(".news button", has_text="zlate/w/1").click()
            tab.frame("overview zlate/w/1")
        finally:
            shutil.rmtree(late)
        frame.locator(".news p", has_text="not there any more").wait_for()
        assert tab.errors == []


def test_a_page_that_outlives_tensorboard_shows_what_the_next_one_has(browser, package, without_plugin, tmp_path):
    logdir = tmp_path / "runs"
    add_run(logdir, "alpha")
    with start(logdir, tmp_path / "log", package, without_plugin) as board, Tab(browser, f"{board.url}/#hipboard") as tab:
        frame = tab.frame("overview alpha/")
        board.close()
        frame.locator(".news p", has_text="does not answer any more").wait_for()
        add_run(logdir, "beta")
        with start(logdir, tmp_path / "again", package, without_plugin, ("--port", str(urlsplit(board.url).port))):
            frame.locator(".news button", has_text="beta/w/1").click()
            tab.frame("overview beta/w/1")


def test_below_a_prefix_and_of_several_directories(browser, logdir, package, without_plugin, tmp_path):
    spec = f"a:{logdir / 'digits'},b:{logdir / 'torch'}"
    log = tmp_path / "log"
    environment = dict(os.environ, PYTHONUNBUFFERED="1", HIPBOARD_LIBRARY=str(LIBRARY.parent),
                       PYTHONPATH=f"{package}{os.pathsep}{without_plugin}")
    with open(log, "wb") as to:
        process = subprocess.Popen([SYSTEM_PYTHON, "-m", "tensorboard.main", "--logdir_spec", spec, "--port", "0",
                                    "--path_prefix", "/a/b", "--load_fast=false"], stdout=to, stderr=to,
                                   env=environment)
    try:
        for _ in range(PATIENCE_MS // 100):
            found = [word for word in log.read_text().split() if word.startswith("http://localhost")]
            if found:
                break
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        with Tab(browser, f"{found[0].rstrip('/')}/#hipboard&p.hipboard.view=steps") as tab:
            frame = tab.frame("steps ")
            assert frame.locator("header select[aria-label=Run] option").all_inner_texts() == ["digits", "torch"]
            assert tab.errors == []
    finally:
        process.terminate()
        process.wait(600)


def test_what_is_shown_is_still_there_after_another_tab(browser, package, without_plugin, tmp_path):
    """TensorBoard reads the address on its way and writes it again: a + in it is a plus, a word alone the tab's name."""
    for name in "alpha", "resnet 50+":
        add_run(tmp_path / "runs", name)
    others = "tagFilter=train%20loss&p.other.note=&p.other.sum=a%2Bb"
    with start(tmp_path / "runs", tmp_path / "log", package, without_plugin) as board, \
            Tab(browser, f"{board.url}/#hipboard&{others}") as tab:
        frame = tab.frame("overview alpha/")
        frame.locator("header select[aria-label=Run]").select_option("resnet 50+")
        frame = tab.frame("overview resnet 50+/w/1")
        frame.locator("nav a", has_text="Operators").click()
        frame = tab.frame("operators resnet 50+/w/1")
        head = lambda: frame.locator("section.table").first.locator("thead th", has_text="Host total")
        head().locator("button").click()
        filtered = frame.locator("section.table input").first
        filtered.fill("aten::a d+")
        assert head().get_attribute("aria-sort") == "descending"
        assert f"#hipboard&{others}&" in tab.page.url
        tabs = tab.page.locator(".mat-mdc-tab, .mat-tab-label")
        tabs.filter(has_text="PyTorch Profiler").click()
        tab.until(lambda: "#hipboard" not in tab.page.url)
        tabs.filter(has_text="hipboard").filter(has_not_text="PyTorch").click()
        tab.until(lambda: "#hipboard&" in tab.page.url)
        frame = tab.frame("operators resnet 50+/w/1")
        assert frame.locator("header select[aria-label=Run]").input_value() == "resnet 50+"
        frame.locator("nav a", has_text="Overview").click()
        tab.frame("overview resnet 50+/w/1")
        tab.page.go_back()
        frame = tab.frame("operators resnet 50+/w/1")
        assert head().get_attribute("aria-sort") == "descending"
        assert filtered.input_value() == "aten::a d+"
        assert f"&{others}&" in tab.page.url
        assert tab.errors == []


# ---- in torch-tb-profiler's place

class Cache:
    @staticmethod
    def read(path):
        return Path(path).read_bytes()


def plugin_bytes(plugin, url):
    route, _, query = url.partition("?")
    try:
        response = Client(plugin.routes["/" + route]).get(plugin_in_process.BASE + route, query_string=query)
    except Exception:  # its server answers 500
        return 500, None
    body = response.data
    return response.status_code, gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body


def board_bytes(board, url):
    try:
        with urllib.request.urlopen(board.url + plugin_in_process.BASE + url, timeout=600) as reply:
            assert reply.headers.get_content_type() == "application/json"
            return reply.status, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, None


def test_it_answers_as_torch_tb_profiler(logdir, package, without_plugin, tmp_path):
    """Byte for byte, `trace` with its counters included."""
    plugin = plugin_in_process.Plugin(logdir)
    plugin.plugin._cache, plugin.plugin._temp_dir = Cache(), str(tmp_path)
    plugin.plugin._gpu_metrics_file_dict = {}
    urls = list(plugin_in_process.questions(plugin))
    urls += [url.replace("overview?", "trace?") for url in urls if url.startswith("overview?")]
    compared = set()
    with start(logdir, tmp_path / "log", package, without_plugin) as board:
        for url in urls:
            status, expected = plugin_bytes(plugin, url)
            answered, body = board_bytes(board, url)
            assert (answered == 200) == (status == 200), url
            if status == 200:
                assert body == expected, url
                compared.add(url.partition("?")[0])
        assert compared >= {"runs", "views", "overview", "operation/table", "kernel/table", "trace", "module",
                            "memory_curve", "diffnode", "operation/stack"}
        request = urllib.request.Request(board.url + plugin_in_process.BASE + "runs", data=b"x")
        with pytest.raises(urllib.error.HTTPError, match="405"):
            urllib.request.urlopen(request, timeout=600)
        assert board.suspicious_log_lines() == []


def test_without_hipboard_it_says_what_to_install(browser, logdir, package, without_plugin, tmp_path):
    with start(logdir, tmp_path / "log", package, without_plugin, library=tmp_path / "none") as board:
        try:
            with urllib.request.urlopen(board.url + "/data/plugin/hipboard/index.html", timeout=600):
                pytest.skip("a hipboard is installed on this machine")
        except urllib.error.HTTPError as error:
            assert error.code == 503 and b"Install hipboard" in error.read()
