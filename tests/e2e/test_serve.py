# SPDX-License-Identifier: MIT
"""`hipboard serve`: the page of the report, live, for nobody but the user."""
import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import time

import pytest

import made_ranks
import plugin_in_process
from browser import PATIENCE_MS
from report_page import HIPBOARD, VIEWS, ReportPage, add_note, number, report
from served_page import ServedPage, Server
from support import ROOT, run
from test_report import TRACES, big_trace
from test_view_insights import distributed_trace, random_gpu_trace

TORCH, MI250 = TRACES["torch"], TRACES["mi250"]


@pytest.fixture
def logdir(tmp_path):
    (tmp_path / "runs" / "one").mkdir(parents=True)
    shutil.copy(TORCH, tmp_path / "runs" / "one" / "a.1.pt.trace.json")
    return tmp_path / "runs"


def add_cycle(run, number, source=TORCH):
    """As it is written: it appears whole."""
    name = f"a.{number}.pt.trace.json"
    shutil.copy(source, run / f".{name}.part")
    os.rename(run / f".{name}.part", run / name)


# ---- the page is the report's

def shown(page, view):
    page.open(view)
    return page.page.locator("main").inner_text(), page.tables()


def test_it_shows_what_the_report_shows(browser, tmp_path):
    source = tmp_path / "runs" / "m"
    source.mkdir(parents=True)
    (source / "a.1.pt.trace.json").write_bytes(gzip.decompress(MI250.read_bytes()))
    (tmp_path / "runs" / "n").mkdir()
    shutil.copy(TORCH, tmp_path / "runs" / "n" / "a.1.pt.trace.json")
    file = report(tmp_path, tmp_path / "runs")
    with Server(tmp_path / "runs") as server, ServedPage(browser, server) as served:
        with ReportPage(browser, file) as page:
            for view in VIEWS:
                assert shown(served, view) == shown(page, view), view
                assert served.violations() == [], view
        assert served.hosts() == {f"127.0.0.1:{server.port}"}
        assert served.errors == []
        assert "token" not in served.page.evaluate("location.href")


def test_every_finding_has_a_place_in_the_timeline(tmp_path):
    """The longest gap, kernel or collective, the peak of memory, what GPUs did."""
    distributed_trace(tmp_path / "one.1.pt.trace.json", "DataParallel.forward", "aten::mm", 60 << 30)
    distributed_trace(tmp_path / "many.1.pt.trace.json", "DistributedDataParallel.forward", "gloo:all_reduce", 1)
    communicating = random_gpu_trace(3)
    for event in communicating["traceEvents"]:
        if event["cat"] in ("gpu_memcpy", "gpu_memset"):
            event.update(cat="kernel", name="ncclDevKernel_AllReduce_Sum_f32")
    (tmp_path / "comm.1.pt.trace.json").write_text(json.dumps(communicating))
    places = {}
    with Server(tmp_path, TRACES["mi250"]) as server:
        for trace in server.traces():
            for rule, _, _, evidence, view, start, end in server.ask("hb/overview", trace=trace)["findings"]["rows"]:
                assert start is not None and 0 <= start <= end, (trace, rule, evidence)
                assert view in VIEWS
                places.setdefault(rule, (start, end))
    assert places.keys() >= {"idle", "one-process", "full-memory", "host-collectives", "exposed-communication",
                             "single-precision", "launch-bound"}
    assert places["host-collectives"] == (600, 700) and places["one-process"] == (100, 901)
    assert places["full-memory"][0] <= 50 <= places["full-memory"][1]


def words_of(html):
    return re.sub(r"<[^>]*>", " ", html).split()


@pytest.mark.parametrize("trace", [TORCH, MI250], ids=["torch", "mi250"])
def test_what_the_plugin_advises_is_what_it_advises(tmp_path, trace):
    """It reads the file as it is, the page a mended one."""
    (tmp_path / "runs" / "one").mkdir(parents=True)
    data = trace.read_bytes()
    (tmp_path / "runs" / "one" / "a.1.pt.trace.json").write_bytes(
        gzip.decompress(data) if trace.suffix == ".gz" else data)
    plugin = plugin_in_process.Plugin(tmp_path / "runs")
    _, overview = plugin.get(plugin_in_process.url("overview", run="one", worker="a", span="1",
                                                   view="Overview"))
    advice = words_of(overview["recommendations"])
    with Server(tmp_path / "runs") as server:
        seen = server.ask("hb/plugin", trace=server.traces()[0])
    assert words_of(" ".join(seen["plugin_advice"])) == ([] if advice == ["N/A"] else advice)


@pytest.mark.parametrize("trace", [TORCH, MI250, ROOT / "tests/data/triton_example.json.gz"],
                         ids=["torch", "mi250", "triton"])
def test_the_plugins_numbers_beside_ours_are_those_that_it_shows(browser, tmp_path, trace):
    (tmp_path / "runs" / "one").mkdir(parents=True)
    data = trace.read_bytes()
    (tmp_path / "runs" / "one" / "a.1.pt.trace.json").write_bytes(
        gzip.decompress(data) if trace.suffix == ".gz" else data)
    plugin = plugin_in_process.Plugin(tmp_path / "runs")
    profile = dict(run="one", worker="a", span="1")
    _, overview = plugin.get(plugin_in_process.url("overview", view="Overview", **profile))
    [total] = overview["performance"]
    theirs = {"Total": total["value"], **{part["name"]: part["value"] for part in total["children"]}}
    _, operators = plugin.get(plugin_in_process.url("operation/table", group_by="Operation", **profile))
    theirs["Device time of all operators"] = sum(row.get("device_self_duration", 0) for row in operators["data"])
    [told] = run(HIPBOARD, "view", "--view", "overview", "--json", tmp_path / "runs").splitlines()
    ours = {row["Average step"]: row["Time (us)"] for row in json.loads(told)["Average step"]}
    with Server(tmp_path / "runs") as server, ServedPage(browser, server) as page:
        table = page.open("overview").tables()["Average step, here and in the plugin"]
        shown = {part: (number(here), number(there)) for part, here, there in table["rows"]}
        assert {"Total", "CPU Exec", "Other"} <= shown.keys()
        for part, (here, there) in shown.items():
            assert round(there) == pytest.approx(theirs.get(part, 0), abs=1), part
            assert here == pytest.approx(ours.get(part, here)), part
        if trace == MI250:
            assert shown["Device time of all operators"][0] > 100 > shown["Device time of all operators"][1]


def test_axe_finds_nothing(browser, logdir):
    with Server(logdir) as server, ServedPage(browser, server) as page:
        for view in VIEWS:
            assert page.open(view).axe_in_both_themes() == [], view


def test_a_large_trace_is_drawn_piece_by_piece(browser, tmp_path):
    trace = tmp_path / "big.pt.trace.json"
    big_trace(trace, 600000)
    with Server(trace) as server, ServedPage(browser, server) as page:
        page.open("timeline")
        assert len(page.lanes()) > 3
        page.page.locator(".over").focus()
        page.key(*["w"] * 70)
        for _ in range(PATIENCE_MS // 100):
            page.page.wait_for_timeout(100)
            if any(url.endswith("cell=0") for url in page.requests):
                break
        assert any(url.endswith("cell=0") for url in page.requests)
        assert len(page.lanes()) > 1, "the step, at least"
        assert "outline" not in page.page.locator(".timeline").inner_text()
        # What is found and summed up is all of it, though the page holds an outline.
        page.key("0", "/")
        page.page.keyboard.type("OP13")
        count = sum(i * 7 % 97 == 13 for i in range(600000))
        found = page.page.locator(".timeline .bar [role=status]", has_text=f"{count:,} slices")
        found.wait_for()
        page.key("Enter", "Enter")
        page.page.locator(".timeline .bar [role=status]", has_text=f"2 of {count:,} slices").wait_for()
        chosen = page.page.locator(".panel h2")
        chosen.wait_for()
        assert chosen.inner_text().strip() == "op13"
        page.page.locator(".over").focus()
        page.key("ArrowRight")
        page.page.locator(".panel h2", has_text="op").wait_for()
        page.open("timeline", mark="0-5999999999")
        page.page.locator(".panel section.table").wait_for()
        [table] = [t for title, t in page.tables().items() if "in the tracks that are seen" in title]
        shown = {row[0]: number(row[table["columns"].index("Slices")]) for row in table["rows"]}
        of_name = lambda name: sum(name == f"op{i * 7 % 97}" for i in range(600000))
        names = [name for name in shown if name.startswith("op")][:3]
        assert names and all(shown[name] == of_name(name) for name in names)
        assert page.errors == []


# ---- live

def test_new_cycles_appear_and_what_is_shown_stays(browser, logdir):
    with Server(logdir) as server, ServedPage(browser, server) as page:
        page.open("operators")
        page.page.locator("main").evaluate("element => { element.mark = 'same'; }")
        page.page.evaluate("scrollTo(0, 120)")
        add_cycle(logdir / "one", 2)
        begun = time.monotonic()
        link = page.page.locator(".news button", has_text="one/a/2")
        link.wait_for()
        print(f"seen after {time.monotonic() - begun:.1f} s")
        assert page.page.evaluate("scrollY") == 120
        assert page.page.locator("main h1").inner_text() == "Operators"
        assert "one%2Fa%2F1" in page.page.evaluate("location.hash")
        page.page.locator("header select[aria-label=Cycle]").select_option("2")
        page.wait_for_address("one%2Fa%2F2")
        page.page.wait_for_selector("html[data-ready='operators one/a/2']")
        assert page.errors == []


def test_a_directory_may_be_empty_first(browser, tmp_path):
    (tmp_path / "runs").mkdir()
    with Server(tmp_path / "runs") as server, ServedPage(browser, server) as page:
        assert "no trace here yet" in page.page.locator("main").inner_text()
        add_cycle(tmp_path / "runs", 1)
        page.page.wait_for_selector("html[data-ready='overview runs/a/1']")
        page.page.locator(".headline").wait_for()
        assert page.errors == []


def test_a_run_disappears_while_shown(browser, logdir):
    with Server(logdir) as server, ServedPage(browser, server) as page:
        page.open("steps")
        rows = page.tables()
        (logdir / "two").mkdir()
        add_cycle(logdir / "two", 1, TORCH)
        shutil.rmtree(logdir / "one")
        page.page.locator(".news p", has_text="not there any more").wait_for()
        assert page.tables() == rows, "what was read of it stays"
        page.page.locator("header select[aria-label=Run]").select_option("two")
        page.wait("steps")
        page.wait_for_address("two")
        assert page.tables() == rows
        assert page.errors == []
        assert server.request("/hb/steps?trace=one/a/1")[0] == 404
        shutil.rmtree(logdir)
        page.page.locator(".news p", has_text="not there any more").wait_for()
        assert server.traces() == []


def test_a_changed_file_is_read_again(browser, logdir):
    path = logdir / "one" / "a.1.pt.trace.json"
    whole = path.read_bytes()
    path.write_bytes(b"{")
    with Server(logdir) as server, ServedPage(browser, server) as page:
        page.open("steps")
        page.page.locator(".empty", has_text="cannot be shown").wait_for()
        path.write_bytes(whole)
        page.page.locator("section.table").first.wait_for()


def test_what_is_pressed_stays_until_it_is_let_go(browser, logdir):
    """A changed file is read again, but not under the pointer."""
    path = logdir / "one" / "a.1.pt.trace.json"
    with Server(logdir) as server, ServedPage(browser, server) as page:
        page.open("operators")
        link = page.page.locator("section.table button.link").first
        link.hover()
        page.page.mouse.down()
        page.requests.clear()
        path.write_bytes(path.read_bytes() + b"\n")
        while not any("hb/about" in url for url in page.requests):
            page.page.wait_for_timeout(50)
        name = link.inner_text()
        page.page.mouse.up()
        page.wait_for_address("view=timeline")
        page.wait_for_address("find=" + name.replace(":", "%3A"))
        page.wait("timeline")
        page.page.locator(".news", has_text="has changed").locator("p").wait_for()
        assert page.errors == []


def test_a_file_that_is_still_being_written(browser, logdir):
    """What is there shows with a word about the rest, and all of it once it is there."""
    whole = TORCH.read_bytes()
    path = logdir / "two" / "b.1.pt.trace.json"
    path.parent.mkdir()
    path.write_bytes(whole[:len(whole) // 2])
    with Server(logdir) as server, ServedPage(browser, server) as page:
        page.open("overview", trace="two/b/1")
        page.page.locator(".warning", has_text="The file is damaged").wait_for()
        before = int(page.page.locator(".facts dd").first.inner_text().replace(",", ""))
        path.write_bytes(whole)
        page.page.locator(".news", has_text="has changed").locator("p").wait_for()
        page.wait("overview")
        assert int(page.page.locator(".facts dd").first.inner_text().replace(",", "")) > before
        assert page.page.locator(".warning", has_text="damaged").count() == 0


def test_the_first_view_waits_for_no_call_trees(browser, logdir):
    """Steps are there before operators are."""
    with Server(logdir) as server, ServedPage(browser, server) as page:
        held = []
        page.page.route("**/hb/operators?*", lambda route: held.append(route))
        page.page.goto("about:blank")
        page.page.goto(page.address)
        page.page.wait_for_selector("html[data-seen^=overview]")
        assert page.page.locator("canvas[aria-label^='Time of']").count() == 1
        assert not page.page.locator("h2", has_text="Top operators").count()
        assert page.page.locator("html[data-ready]").count() == 0
        page.page.wait_for_timeout(0)
        while not held:
            page.page.wait_for_timeout(50)
        held[0].continue_()
        page.wait("overview")
        page.page.locator("h2", has_text="Top operators").wait_for()


def test_a_server_that_ends_is_said(browser, logdir):
    with Server(logdir) as server, ServedPage(browser, server) as page:
        page.open("steps")
        assert server.end() == 0
        page.page.locator(".news p", has_text="does not answer any more").wait_for()
        assert page.tables()


def test_a_change_that_could_not_be_asked_for_is_asked_for_again(browser, logdir):
    with Server(logdir) as server, ServedPage(browser, server) as page:
        page.open("steps")
        lost = []
        page.page.route("**/hb/about?*", lambda route: (lost.append(route.abort()), page.page.unroute("**/hb/about?*")))
        add_cycle(logdir / "one", 2)
        page.page.locator(".news button", has_text="one/a/2").wait_for()
        assert lost


def test_a_view_that_failed_is_tried_again_by_its_link(browser, logdir):
    with Server(logdir) as server, ServedPage(browser, server) as page:
        for view, route in ("steps", "**/hb/steps?*"), ("timeline", "**/hb/timeline/slices?*"):
            page.page.route(route, lambda route: route.abort())
            page.open(view).page.locator("main .empty", has_text="cannot be shown").wait_for()
            page.page.unroute(route)
            page.page.locator("nav a[aria-current=page]").click()
            page.page.locator("main .empty").wait_for(state="detached")
            page.wait(view).page.locator(".timeline, section.table").first.wait_for()


COUNT_LEFT = """function () {
  const left = (element) => { try { return !element.isConnected && element.matches('canvas, section.table'); } catch { return false; } };
  return this.filter(left).length;  // a prototype is no element
}"""


def left_in_memory(page):
    """Pictures and tables that are not on the page any more, but that something still leads to."""
    devtools = page.page.context.new_cdp_session(page.page)
    kind = devtools.send("Runtime.evaluate", {"expression": "HTMLElement.prototype"})["result"]["objectId"]
    found = devtools.send("Runtime.queryObjects", {"prototypeObjectId": kind})["objects"]["objectId"]
    counted = devtools.send("Runtime.callFunctionOn", {
        "objectId": found, "functionDeclaration": COUNT_LEFT, "returnByValue": True})["result"]["value"]
    devtools.detach()
    return counted


def test_a_page_that_stays_open_does_not_grow(browser, tmp_path):
    """With each change of a run its ranks are drawn anew."""
    runs = tmp_path / "runs"
    made_ranks.write(runs, 2, late=1, steps=60, collectives=3)
    changing = next(runs.glob("node0_1000.*"))
    with Server(runs) as server, ServedPage(browser, server) as page:
        page.open("ranks")
        for _ in range(3):
            first = page.page.locator("main figure canvas").first
            first.evaluate("element => { element.old = true; }")
            (runs / ".part").write_text(changing.read_text() + "\n")
            os.rename(runs / ".part", changing)
            page.until(lambda: first.count() and not first.evaluate("element => element.old"), page.text)
            page.wait("ranks")
            assert page.page.locator(".scroll.long").count() and left_in_memory(page) == 0
        assert page.errors == []


# ---- notes

def test_notes_go_along_in_a_report(browser, logdir, tmp_path):
    (logdir / "two").mkdir()
    add_cycle(logdir / "two", 1)
    text = "Late </script> & \"idle\""
    with Server(logdir) as server, ServedPage(browser, server) as page:
        page.open("timeline", trace="one/a/1", mark="1000-2000")
        page.page.locator(".over").focus()
        page.key("n")
        page.page.locator("dialog textarea").fill(text)
        page.page.locator("dialog button", has_text="Add").click()
        with page.page.expect_download() as download:
            page.page.locator("dialog button", has_text="Save a report").click()
        file = tmp_path / "noted.html"
        download.value.save_as(file)
        assert page.errors == [] and page.violations() == []
        assert server.request("/hb/report?run=three")[0] == 404
    with ReportPage(browser, file) as page:
        page.open("overview")
        assert page.page.locator("header select[aria-label=Run]").count() == 0, "of the noted run only"
        page.page.locator("header button", has_text="Notes (1)").click()
        assert text in page.page.locator(".notes li").inner_text()
        page.page.locator(".notes button", has_text="Show").click()
        page.wait("timeline")
        assert "mark=1000-2000" in page.page.evaluate("location.hash")
        assert page.errors == [] and page.violations() == []
        assert {url.split("#")[0] for url in page.requests} <= {file.as_uri(), "about:blank"}


def test_notes_of_two_open_pages_are_all_kept(browser, logdir):
    """Of which one hears of the other's, and one only sees them in the browser's store."""
    with Server(logdir) as server, ServedPage(browser, server) as page:
        hears, deaf = page.page, page.page.context.new_page()
        deaf.set_default_timeout(PATIENCE_MS)
        deaf.add_init_script("addEventListener('storage', (event) => event.stopImmediatePropagation())")
        deaf.goto(f"{server.url}#token={server.token}")
        deaf.wait_for_selector("html[data-ready]")
        for tab, text in (hears, "first"), (deaf, "second"), (hears, "third"), (deaf, "first"):
            add_note(tab, text)
        texts = lambda tab: tab.locator(".notes li > p:first-child").all_text_contents()
        hears.locator("header button", has_text="Notes (4)").wait_for()
        assert texts(hears) == ["first", "second", "third", "first"]
        hears.locator("header button", has_text="Notes").click()
        hears.locator(".notes li", has_text="second").locator("button", has_text="Remove").click()
        assert texts(hears) == ["first", "third", "first"]
        deaf.locator("header button", has_text="Notes").click()
        deaf.locator(".notes li", has_text="third").locator("button", has_text="Remove").click()
        deaf.locator(".notes li", has_text="first").first.locator("button", has_text="Remove").click()
        assert texts(deaf) == ["first"], "one of two that are alike"
        hears.locator("header button", has_text="Notes (1)").wait_for()
        for tab in hears, deaf:
            tab.reload()
            tab.locator("header button", has_text="Notes (1)").wait_for()
        assert page.errors == []


def test_notes_stay_on_a_page_whose_browser_keeps_nothing(browser, logdir):
    with Server(logdir) as server, ServedPage(browser, server) as page:
        page.page.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); }")
        page.page.reload()
        page.page.wait_for_selector("html[data-ready]")
        for text in "first", "second":
            add_note(page.page, text)
        page.page.locator("header button", has_text="Notes (2)").wait_for()
        assert page.errors == []


# ---- who may ask what

def test_only_who_knows_the_token_sees_traces(browser, logdir):
    with Server(logdir) as server, Server(logdir) as other:
        for token in "", other.token, server.token[:-1], server.token + "0":
            status, _, body = server.request("/hb/about", X_Hipboard_Token=token)
            assert status == 401 and b"one/a" not in body
            for path in "//hb/about", "/./hb/about", "/%68b/about", "/hb/about?x", "/index.html/../hb/about":
                assert server.request(path, X_Hipboard_Token=token)[0] == 401, path
        assert server.request("/index.html", X_Hipboard_Token="")[0] == 200
        with ServedPage(browser, server) as page:
            page.page.evaluate("sessionStorage.clear()")
            page.page.goto(server.url)
            page.page.reload()
            page.page.locator(".empty", has_text="address that hipboard serve printed").wait_for()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "",
                                  "localhost.evil.example", "[::1].evil.example", "1"])
def test_a_foreign_name_is_refused(logdir, host):
    with Server(logdir) as server:
        assert server.request("/", Host=host)[0] == 421
        assert server.request("/hb/about", Host=host)[0] == 421
        for own in "localhost", "localhost:99", "127.0.0.1", "[::1]:8080", "192.0.2.1":
            assert server.request("/hb/about", Host=own)[0] == 200


def test_nothing_but_reading(logdir):
    with Server(logdir) as server:
        for method in "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE":
            status, headers, _ = server.request("/hb/about", method=method)
            assert status == 405 and headers["Allow"] == "GET, HEAD"
        status, headers, body = server.request("/index.html", method="HEAD")
        assert status == 200 and body == b"" and int(headers["Content-Length"]) > 100
        status, headers, _ = server.request("/hb/about", Sec_Fetch_Site="cross-site")
        assert status == 403 and not [name for name in headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/x", "//etc/passwd",
                                  "/hb/../page.js/", "/page.js%00", "/hb/steps?trace=../../x",
                                  "/hb/steps?trace=/etc/passwd", "/hb/nothing"])
def test_no_address_is_a_file(logdir, path):
    with Server(logdir) as server:
        status, _, body = server.request(path)
        assert status in (400, 404) and b"root:" not in body


def test_what_is_too_large_is_refused(logdir):
    with Server(logdir) as server:
        assert server.request("/" + "a" * 5000)[0] == 414
        assert server.request("/", Long="a" * 20000)[0] in (413, 431)
        assert server.request("/", Long="a" * 10000)[0] in (200, 413, 431)
        assert server.request("/hb/about")[0] == 200


def test_what_is_no_http_ends_alone(logdir):
    with Server(logdir) as server:
        for junk in b"\x00\xff" * 50, b"GET\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\x16\x03\x01\x02", b"":
            with socket.create_connection(("127.0.0.1", server.port), timeout=600) as client:
                client.sendall(junk + b"\r\n\r\n")
                client.shutdown(socket.SHUT_WR)
                while client.recv(4096):
                    pass
        assert server.request("/hb/about")[0] == 200


def test_slow_clients_and_many(logdir):
    """Those who say nothing, and 100 who ask at once."""
    with Server(logdir) as server:
        clients = [socket.create_connection(("127.0.0.1", server.port), timeout=600) for _ in range(150)]
        for client in clients[:50]:
            client.sendall(b"GET /hb/about HT") # and no more
        for client in clients[50:]:
            client.sendall(b"GET /hb/overview?trace=one/a/1 HTTP/1.1\r\nHost: localhost\r\n"
                           b"X-Hipboard-Token: " + server.token.encode() + b"\r\nConnection: close\r\n\r\n")
        for client in clients[50:]:
            text = b""
            while part := client.recv(65536):
                text += part
            assert text.startswith(b"HTTP/1.1 200 ") and b'"steps"' in text
        assert server.request("/hb/about")[0] == 200
        for client in clients:
            client.close()


def test_what_does_not_fit_in_memory_is_read_again(logdir):
    add_cycle(logdir / "one", 2, TORCH)
    with Server(logdir, "--max-memory", "1K") as server:
        first = server.request("/hb/operators?trace=one/a/1")
        for _ in range(3):
            assert server.request("/hb/operators?trace=one/a/2")[2] == first[2]
            assert server.request("/hb/operators?trace=one/a/1")[2] == first[2]


def test_answers_are_compressed_for_who_asks(logdir):
    with Server(logdir) as server:
        _, plain_headers, plain = server.request("/hb/operators?trace=one/a/1")
        _, headers, packed = server.request("/hb/operators?trace=one/a/1", Accept_Encoding="gzip")
        assert headers["Content-Encoding"] == "gzip" and "Content-Encoding" not in plain_headers
        assert gzip.decompress(packed) == plain and len(packed) < len(plain) / 2
        # Pieces of the timeline are there sooner as they are, on the same machine.
        _, headers, _ = server.request("/hb/timeline/slices?trace=one/a/1", Accept_Encoding="gzip")
        assert "Content-Encoding" not in headers
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_what_a_browser_has_is_not_sent_again(logdir):
    with Server(logdir) as server:
        for path in "/page.js", "/hb/operators?trace=one/a/1":
            _, headers, body = server.request(path)
            tag = headers["ETag"]
            assert headers["Cache-Control"] == "private, no-cache"
            for wanted in tag, f'"other", {tag}', f"W/{tag}":
                status, again, nothing = server.request(path, If_None_Match=wanted)
                assert (status, nothing, again["ETag"]) == (304, b"", tag)
            assert server.request(path, If_None_Match='"other"')[::2] == (200, body)
        assert server.request("/hb/nothing")[1]["Cache-Control"] == "no-store"
        assert server.request("/hb/steps?trace=one/a/1", If_None_Match=tag)[1]["ETag"] != tag
        status, _, body = server.request("/hb/operators?trace=one/a/1", X_Hipboard_Token="", If_None_Match=tag)
        assert status == 401 and b"aten" not in body


def failing(*arguments):
    return subprocess.run([HIPBOARD, "serve", *map(str, arguments)], capture_output=True, text=True,
                          timeout=600, stdin=subprocess.DEVNULL)


def test_what_cannot_be_served_is_said(logdir, tmp_path):
    with Server(logdir) as server:
        for arguments, why in [((tmp_path / "nowhere",), "No such file"),
                               (("--port", server.port, logdir), "--port"),
                               (("--host", "no.such.host.invalid", logdir), "no.such.host")]:
            done = failing(*arguments)
            assert done.returncode == 1 and why in done.stderr and not done.stdout
    assert failing("--port", 65536, logdir).returncode == 2
    assert failing().returncode == 2
