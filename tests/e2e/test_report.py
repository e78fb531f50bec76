# SPDX-License-Identifier: MIT
"""`hipboard report`: one file, whose page shows the numbers of `hipboard view`, offline, safely."""
import gzip
import json
import os
import random
import re
import subprocess

import pytest

import made_ranks
from report_page import BUT_CONTRAST, HIPBOARD, VIEWS, ReportPage, add_note, number, report
from support import BUILD, ROOT, run
from test_view_ranks import write_rank

DATA = ROOT / "tests/data"
TRACES = {"torch": DATA / "torch-2.13-cpu.pt.trace.json", "mi250": DATA / "mi250_minitoy.json.gz"}
# The page's view, and that of `hipboard view` with the same tables.
SAME = {"overview": "overview", "steps": "steps", "operators": "operator", "kernels": "kernel",
        "gpu": "gpu", "memory": "memory", "modules": "module"}

@pytest.fixture(scope="module", params=TRACES)
def page(request, browser, tmp_path_factory):
    file = report(tmp_path_factory.mktemp("report"), TRACES[request.param])
    with ReportPage(browser, file) as page:
        page.trace = TRACES[request.param]
        yield page


def shown_rows(table):
    return [{title: value if kind == "text" else number(value)
             for title, kind, value in zip(table["columns"], table["kinds"], row)}
            for row in table["rows"]]


def without_units(rows):
    return [{re.sub(r" \([^)]*\)$", "", title): value for title, value in row.items()}
            for row in rows]


def is_same(shown, told):
    """All that is shown of a row is told of it."""
    return all(value == told[title] if isinstance(value, (str, type(None)))
               else value == pytest.approx(told[title], abs=1e-9)
               for title, value in shown.items() if title in told)


@pytest.mark.parametrize("view", SAME)
def test_the_numbers_are_those_of_view(page, view):
    [line] = run(HIPBOARD, "view", "--view", SAME[view], "--json", "--top", 0,
                 page.trace).splitlines()
    told, tables, compared = json.loads(line), page.open(view).tables(), 0
    for title in told.keys() & tables.keys():
        rows = without_units(told[title])
        assert tables[title]["count"] == len(rows), title
        for shown in shown_rows(tables[title]):
            assert any(is_same(shown, row) for row in rows), (title, shown)
            compared += sum(column in rows[0] for column in shown)
    assert compared or not any(told[title] for title in told.keys() & tables.keys())
    assert page.errors == []


def test_only_the_file_is_asked_for_in_every_view(page):
    page.requests.clear()
    for view in VIEWS:
        page.open(view)
        assert page.violations() == []
    assert {url.split("#")[0] for url in page.requests} <= {page.file.as_uri(), "about:blank"}
    assert page.errors == []


def test_axe_finds_nothing(browser, digits, tmp_path):
    file = report(tmp_path, digits["workers0"].directory, TRACES["mi250"])
    with ReportPage(browser, file) as page:
        for view in VIEWS:
            assert page.open(view).axe_in_both_themes() == [], view
        assert page.open("everything").axe(**BUT_CONTRAST) == []


# ---- hostile names

CORPUS = ["<img src=x onerror=window.hacked=1>", "</script><script>window.hacked=1</script>",
          "--><script>window.hacked=1</script>", "\"'><svg onload=window.hacked=1>",
          "javascript:window.hacked=1", "\u202egnp.exe", "nul\x00byte", "lone \ud800 surrogate",
          "a&lt;b&amp;c", "${window.hacked=1}", "`window.hacked=1`", "line\nbreak\ttab", "x" * (1 << 20)]


def hostile_trace():
    events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1,
               "ts": 0, "dur": 1e6, "args": {}}]
    for i, name in enumerate(CORPUS):
        ts = 100 + 1000 * i
        events += [
            {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 500,
             "args": {"External id": i + 1, "Input Dims": [name]}},
            {"ph": "X", "cat": "python_function", "name": "nn.Module: " + name, "pid": 1, "tid": 2,
             "ts": ts, "dur": 600, "args": {"Python id": i + 1, "Python module id": i}},
            {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1,
             "ts": ts + 1, "dur": 5, "args": {"External id": i + 1, "correlation": i + 1}},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": name[:20], "ts": ts + 50,
             "dur": 300, "args": {"External id": i + 1, "correlation": i + 1, "device": 0}},
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1,
             "ts": ts + 2, "s": "t", "args": {"Bytes": 100 * i + 1, "Device Type": 0,
                                              "Device Id": -1, "Addr": i + 1,
                                              "Total Allocated": 100 * i + 1,
                                              "Total Reserved": 0}}]
    return {"traceEvents": events, "deviceProperties": [{"id": 0, "name": CORPUS[0]}],
            "hipboard_reason": CORPUS[1], "host_name": CORPUS[2],
            "hipboard_hip_notes": [CORPUS[1], CORPUS[5]]}


def test_names_stay_names(browser, tmp_path):
    run_directory = tmp_path / "runs" / "<b onmouseover=window.hacked=1>"
    run_directory.mkdir(parents=True)
    worker = "w<img src=x onerror=window.hacked=1>\u202e"
    (run_directory / f"{worker}.1.pt.trace.json").write_text(json.dumps(hostile_trace()))
    with ReportPage(browser, report(tmp_path, tmp_path / "runs")) as page:
        for view in VIEWS:
            page.open(view)
            assert page.page.evaluate("window.hacked") is None, view
            assert page.violations() == [] and page.dialogs == [], view
            # What was made is made of the page's own elements.
            assert page.page.locator("main img, main svg, header b, main iframe").count() == 0
        text = page.open("operators").text()
        assert CORPUS[0] in text and "\\u{202e}gnp.exe" in text
        assert "\u202e" not in page.page.content()
        assert worker[:-1] in page.text()
        assert page.errors == []
    with ReportPage(browser, page.file, script=False) as page:
        page.page.goto(page.file.as_uri())
        assert CORPUS[0] in page.text()
        assert page.page.locator("img, svg").count() == 0


# ---- the timeline

def slices_of(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    return [e for e in events if e.get("ph") == "X" and "ts" in e]


def test_all_slices_are_in_the_timeline(page):
    page.open("timeline")
    page.page.locator(".over").focus()
    page.key("t")
    table = next(t for title, t in page.tables().items() if title.startswith("What is seen"))
    expected = slices_of(page.trace)
    label = page.page.locator(".over").get_attribute("aria-label")
    assert f"Timeline of {len(expected):,} slices" in label
    durations = {}
    for event in expected:
        durations.setdefault(event["name"], []).append(event["dur"])
    name, duration = table["columns"].index("Name"), table["columns"].index("Duration")
    assert table["rows"]
    for row in table["rows"]:
        assert any(number(row[duration]) == pytest.approx(d, abs=2e-3) for d in durations[row[name]]), row


def counter_trace(path, points):
    """A counter with one peak, one with two curves, and what an allocator says."""
    events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0,
               "dur": 2 * points, "args": {}}]
    for i in range(points):
        events.append({"ph": "C", "name": "power", "pid": 1, "tid": 0, "ts": 2 * i,
                       "args": {"W": 500.5 if i == points // 3 else 50 + i % 7}})
    for i in range(20):
        events.append({"ph": "C", "name": "queue", "pid": 1, "tid": 0, "ts": 100 * i,
                       "args": {"rows": i, "free": 20 - i, "note": "no number"}})
        events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 100 * i,
                       "s": "t", "args": {"Bytes": 1, "Device Type": 1, "Device Id": 3, "Addr": i + 1,
                                          "Total Allocated": 1000 * i, "Total Reserved": 0}})
    path.write_text(json.dumps({"traceEvents": events}))


@pytest.mark.parametrize("points", [1000, 200000])
def test_no_peak_of_a_curve_vanishes(browser, tmp_path, points):
    counter_trace(tmp_path / "c.pt.trace.json", points)
    with ReportPage(browser, report(tmp_path, tmp_path / "c.pt.trace.json")) as page:
        page.open("timeline")
        page.page.locator(".over").focus()
        page.key("t")
        rows = {row["Curve"]: row for row in shown_rows(page.tables()["Curves in what is seen"])}
        assert [(row["Least"], row["Most"]) for row in rows.values()] == [(50, 500.5), (0, 19), (1, 20), (0, 19000)]
        assert list(rows) == ["power, W", "queue, rows", "queue, free", "Memory, GPU 3, bytes"]
        assert rows["power, W"]["At its end"] == 50 + (points - 1) % 7
        # Where the peak is, its line reaches the top of the curve.
        high = page.page.evaluate("""() => {
          const canvas = document.querySelector('.curves'), { data } = canvas.getContext('2d').getImageData(168, 2, canvas.width - 168, 3);
          const seen = [];
          for (let i = 3; i < data.length; i += 4) if (data[i]) seen.push((((i - 3) / 4) % (canvas.width - 168)) / (canvas.width - 168));
          return seen;
        }""")
        assert high and all(abs(x - 1 / 3) < 0.02 for x in high)
        assert page.errors == []


def test_what_is_not_drawn_of_many_curves_is_said(browser, tmp_path):
    events = [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 100}]
    events += [{"ph": "C", "name": f"counter {n}", "pid": 1, "tid": 1, "ts": 5, "args": {"x": n}}
               for n in range(60)]
    (tmp_path / "c.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    with ReportPage(browser, report(tmp_path, tmp_path / "c.pt.trace.json")) as page:
        page.open("timeline")
        assert "20 more curves not drawn; the table (T) has all." in page.page.locator(".counters").inner_text()
        page.page.locator(".over").focus()
        page.key("t")
        assert page.tables()["Curves in what is seen"]["count"] == 60
        assert page.errors == []


def test_no_picture_is_empty(page):
    page.open("timeline")
    page.page.locator(".over").focus()
    for key in ["w"] * 12 + ["d"] * 4 + ["s"] * 16 + ["0"]:
        page.key(key)
        page.page.evaluate("() => new Promise(requestAnimationFrame)")
        frames = page.page.locator(".timeline").get_attribute("data-frames")
        assert int(frames) > 0
    page.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert len(page.lanes()) > 3


def test_the_keyboard_is_enough(page):
    page.open()
    page.key("g", "t")
    page.wait("timeline")
    page.page.locator(".over").focus()
    page.key("ArrowRight")
    chosen = page.page.locator(".panel h2")
    chosen.wait_for()
    name = chosen.inner_text().strip()
    assert any(e["name"].startswith(name.split("…")[0]) for e in slices_of(page.trace))
    page.key("f")
    page.wait_for_address("to=")
    # What is found has an address, which shows the same again.
    page.key("/")
    page.page.keyboard.type("aten::")
    count = sum("aten::" in e["name"] for e in slices_of(page.trace))
    found = page.page.locator(".timeline .bar [role=status]")
    assert found.inner_text().startswith(f"{count:,} slice")
    hash_before = page.page.evaluate("location.hash")
    page.page.reload()
    page.wait("timeline")
    assert page.page.evaluate("location.hash") == hash_before
    assert f"{count:,} slice" in found.inner_text()


LETTERS = dict(zip("ospkfgtcmurda", VIEWS))


def test_a_tour_of_all_views_by_the_keyboard_alone(browser, tmp_path):
    def tab_to(selector, key="Tab"):
        for _ in range(60):
            if page.page.evaluate("(selector) => document.activeElement?.matches(selector)", selector):
                return
            page.key(key)
        raise AssertionError(f"Tab does not lead to {selector}")

    with ReportPage(browser, report(tmp_path, TRACES["mi250"], TRACES["torch"])) as page:
        page.open()
        for letter, view in LETTERS.items():
            page.key("g", letter)
            page.wait(view)
        page.key("?")
        page.page.locator("dialog[open] h2", has_text="Keys").wait_for()
        page.key("Escape")
        # A table: sorted by its head, filtered, walked through, opened.
        page.key("g", "p")
        page.wait("operators")
        tab_to("section.table input")
        page.page.keyboard.type("aten::mm")
        page.wait_for_address("ops.q=aten")
        tab_to("section.table thead button")
        page.key("Enter")
        page.wait_for_address("ops.sort=Operator")
        tab_to("section.table .scroll")
        page.key("ArrowDown", "Home", "Enter")
        page.wait("timeline")
        page.wait_for_address("find=aten")
        # A picture: a step is chosen in it, and shown.
        page.key("g", "s")
        page.wait("steps")
        tab_to("figure canvas")
        page.key("ArrowRight", "Enter")
        page.wait("timeline")
        page.wait_for_address("mark=")
        # Another trace, another theme, a note.
        page.page.locator(".over").focus()
        tab_to("header select", "Shift+Tab")
        page.key("ArrowDown")
        page.page.wait_for_selector("html[data-ready='timeline torch-2.13-cpu']")
        page.page.locator(".over").focus()
        page.key("n")
        page.page.keyboard.type("by keys")
        tab_to("dialog button")
        page.key("Enter")
        page.page.locator("header button", has_text="Notes (1)").wait_for()
        assert page.errors == []


def test_a_launch_leads_to_its_kernel(browser, tmp_path):
    with ReportPage(browser, report(tmp_path, TRACES["mi250"])) as page:
        page.open("timeline", find="hipLaunchKernel")
        page.page.locator(".panel dt", has_text="Launches").wait_for()
        page.page.locator(".panel dd button").first.click()
        page.page.locator(".panel dt", has_text="Launched by").wait_for()
        facts = page.page.locator(".panel .facts").inner_text()
        assert "kernel" in facts and "Stream" in facts


def test_what_is_chosen_has_an_address_and_the_way_closer_leads_back(browser, tmp_path):
    with ReportPage(browser, report(tmp_path, TRACES["mi250"])) as page:
        page.open("timeline", find="hipLaunchKernel")
        facts = page.page.locator(".panel .facts")
        page.page.locator(".panel dt", has_text="Launches").wait_for()
        page.wait_for_address("slice=")
        told, before = facts.inner_text(), page.page.evaluate("location.hash")
        page.page.reload()
        page.wait("timeline")
        page.page.locator(".panel dt", has_text="Launches").wait_for()
        assert facts.inner_text() == told and "slice=" in before
        # Closer and closer, then back to where one was first.
        trail, where = page.page.locator(".timeline .crumbs button"), page.page.locator(".timeline .where")
        first = where.inner_text()
        page.page.locator(".over").focus()
        page.key("f")
        trail.first.wait_for()
        page.key("w", "w", "f")
        assert trail.count() == 2
        trail.first.click()
        page.until(lambda: where.inner_text() == first, lambda: f"{where.inner_text()}, not {first}")
        assert trail.count() == 0
        page.page.locator(".over").focus()
        page.key("Escape")
        assert "slice=" not in page.page.evaluate("location.hash") and page.errors == []


def test_evidence_is_a_click_away(browser, tmp_path):
    with ReportPage(browser, report(tmp_path, TRACES["mi250"])) as page:
        page.open("overview")
        page.page.locator(".findings button", has_text="Show in the timeline").first.click()
        page.wait("timeline")
        page.wait_for_address("mark=")
        page.page.go_back()
        page.wait("overview")


# ---- calls and modules

def test_who_calls_a_name_and_what_it_calls(page):
    sums = {row["Name"]: row for row in shown_rows(page.open("calls").tables()["Host time by name"])}
    name = max(sums, key=lambda name: (sums[name]["Total"] < 100 and "::" in name, sums[name]["Total"]))
    page.page.locator("section.table button.link", has_text=name).first.click()
    page.wait_for_address("flame.H.of=")
    labels = [canvas.get_attribute("aria-label") for canvas in page.page.locator("figure canvas").all()[:2]]
    assert labels[0].startswith(f"Callers of {name}, ") and labels[1].startswith(f"What {name} calls, ")
    for label in labels:
        value, unit = re.search(r"([\d.,]+) (ns|µs|ms|s) in all$", label).groups()
        us = number(value) * {"ns": 1e-3, "µs": 1, "ms": 1e3, "s": 1e6}[unit]
        assert us == pytest.approx(sums[name]["Total"], rel=0.006), label
    page.page.reload()
    page.wait("calls")
    callers = page.page.locator("figure canvas").first
    callers.focus()
    page.key("ArrowUp", "ArrowUp")
    assert " % of all" in page.page.locator(".readout").first.inner_text()
    page.page.locator("main button", has_text="All calls").click()
    assert page.page.locator("figure canvas").first.get_attribute("aria-label").startswith("Host time by call stack")
    assert page.axe() == [] and page.errors == []


def test_what_is_looked_at_closer_among_calls_has_an_address(page):
    page.open("calls")
    boxes = page.page.locator("figure canvas").first
    boxes.focus()
    page.key("ArrowDown", "ArrowDown", "Enter")
    page.wait_for_address("flame.H.at=")
    path = page.page.locator("main .crumbs").first.inner_text()
    page.page.reload()
    page.wait("calls")
    assert path.startswith("all") and page.page.locator("main .crumbs").first.inner_text() == path
    page.page.locator("main .crumbs button").first.click()
    assert "flame.H.at=" not in page.page.evaluate("location.hash") and page.errors == []


def test_memory_by_call_stack(browser, tmp_path):
    told = {}
    for line in run(HIPBOARD, "stacks", "--scopes", "--folded", "--metric", "self_cpu_memory_usage",
                    TRACES["torch"]).splitlines():
        stack, _, amount = line.rpartition(" ")
        name = stack.split(";")[-1]
        told[name] = told.get(name, 0) + float(amount)
    with ReportPage(browser, report(tmp_path, TRACES["torch"])) as page:
        rows = shown_rows(page.open("calls").tables()["Memory of the host by name"])
        assert {row["Name"]: row["Self"] for row in rows if row["Self"]} == told and len(told) > 3
        assert page.page.locator("canvas[aria-label^='Memory of the host by call stack']").count() == 1
        assert page.axe() == [] and page.errors == []


def test_code_by_call_stack(browser, tmp_path):
    events = [{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 100 * i, "dur": 10 + i,
               "args": {"External id": i + 1, "Call stack": f"net.py({7 + i % 2}): layer;main.py(1): <module>;"}}
              for i in range(4)]
    (tmp_path / "s.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    with ReportPage(browser, report(tmp_path, tmp_path / "s.pt.trace.json")) as page:
        rows = shown_rows(page.open("calls").tables()["Code, the host’s time by name"])
        assert {row["Name"]: (row["Self"], row["Total"]) for row in rows} == {
            "main.py(1):_<module>": (0, 46), "net.py(7):_layer": (22, 22), "net.py(8):_layer": (24, 24)}
        # Who calls a line, and what it calls.
        page.page.locator("button.link", has_text="net.py(8)").first.click()
        page.wait_for_address("flame.C.of=net.py")
        assert page.page.locator("canvas[aria-label^='Callers of net.py(8)']").count() == 1
        assert page.axe() == [] and page.errors == []
    with ReportPage(browser, report(tmp_path, TRACES["mi250"])) as page:
        assert not [title for title in page.open("calls").tables() if title.startswith("Code")]


def test_modules_as_boxes(browser, tmp_path):
    with ReportPage(browser, report(tmp_path, TRACES["torch"])) as page:
        [table] = page.open("modules").tables().values()
        boxes = page.page.locator("figure canvas")
        assert boxes.get_attribute("aria-label").startswith("Modules by what they take, ")
        boxes.focus()
        page.key("ArrowDown", "ArrowDown")
        inner = page.page.locator(".readout").inner_text().split(":")[0]
        assert inner in [row[0] for row in table["rows"]]
        assert page.errors == []


# ---- memory

def test_who_held_memory_at_any_moment(browser, tmp_path):
    """Against what the trace's records sum up to, and, at the peak, who `hipboard memory` names."""
    with ReportPage(browser, report(tmp_path, TRACES["torch"])) as page:
        tables = page.open("memory").tables()
        curve = page.page.locator("figure canvas").first
        curve.focus()
        page.key("Home", "ArrowRight", "ArrowRight")
        page.wait_for_address("memory.cpu=")
        [(title, shown)] = [(t, table) for t, table in page.tables().items() if t.startswith("At ")]
        us = float(re.search(r"memory\.cpu=([\d.]+)", page.page.evaluate("location.hash"))[1])
        with open(TRACES["torch"]) as file:
            events = json.load(file)["traceEvents"]
        zero = min(e["ts"] for e in events if e.get("ph") == "X" and "ts" in e)
        records = sorted((e for e in events if e.get("name") == "[memory]"), key=lambda e: e["ts"])
        living = {}
        for record in records:
            if record["ts"] - zero > us:
                break
            args = record["args"]
            if args["Bytes"] > 0:
                living[args["Addr"]] = args["Bytes"]
            else:
                living.pop(args["Addr"], None)
        rows = shown_rows(shown)
        assert sum(row["Allocations"] for row in rows) == len(living) > 3
        assert sum(row["Bytes"] for row in rows) == sum(living.values())
        assert tables["Allocations"]["count"] == sum(e["args"]["Bytes"] > 0 for e in records)
        page.page.reload()
        page.wait("memory")
        assert title in page.tables() and page.axe() == [] and page.errors == []


def test_who_held_memory_is_told_of_many_allocations_too(browser, tmp_path):
    """More than are listed: the small ones, which are all of one operator, count as well."""
    events, total, number = [], 1000000, 100000
    events.append({"ph": "X", "cat": "cpu_op", "name": "large", "pid": 1, "tid": 1, "ts": 0, "dur": 10, "args": {}})
    events.append({"ph": "X", "cat": "cpu_op", "name": "small", "pid": 1, "tid": 1, "ts": 20, "dur": 2 * number,
                   "args": {}})
    def memory(ts, address, size, total):
        events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "s": "t",
                       "args": {"Bytes": size, "Device Type": 0, "Device Id": -1, "Addr": address,
                                "Total Allocated": total, "Total Reserved": 0}})
    memory(5, 1, total, total)
    for i in range(number):
        total += 100 + i % 2
        memory(30 + i, 2 + i, 100 + i % 2, total)
    (tmp_path / "m.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    with ReportPage(browser, report(tmp_path, tmp_path / "m.pt.trace.json")) as page:
        page.open("memory")
        assert "50,000 smaller ones are left out here." in page.text()
        page.page.locator("figure canvas").first.focus()
        page.key("End", "Home", "ArrowRight")
        page.wait_for_address("memory.cpu=")
        us = float(re.search(r"memory\.cpu=([\d.]+)", page.page.evaluate("location.hash"))[1])
        [shown] = [table for title, table in page.tables().items() if title.startswith("At ")]
        rows = {row["Holder"]: row for row in shown_rows(shown)}
        span = 2 * number + 20
        at = min(((k + 0.5) * span / 256 for k in range(256)), key=lambda at: abs(at - us))
        there = min(number, int(at - 30) + 1)
        assert rows["large"]["Bytes"] == 1000000 and rows["small"]["Allocations"] == there > 10000
        assert rows["small"]["Bytes"] == 100 * there + there // 2 and page.errors == []


# ---- notes

def test_notes_go_along_in_a_copy(browser, tmp_path):
    file = report(tmp_path, TRACES["mi250"])
    text = "Look <b>here</b>: \u202e late & \"idle\" </script>"
    with ReportPage(browser, file) as page:
        page.open("timeline", mark="1000-2000")
        page.page.locator(".over").focus()
        page.key("n")
        page.page.locator("dialog textarea").fill(text)
        page.page.locator("dialog button", has_text="Add").click()
        page.page.locator("header button", has_text="Notes (1)").wait_for()
        with page.page.expect_download() as download:
            page.page.locator("dialog button", has_text="Save a copy").click()
        copy = tmp_path / "copy.html"
        download.value.save_as(copy)
        assert download.value.suggested_filename == "report.html"
        assert page.errors == [] and page.violations() == []
    with ReportPage(browser, copy) as page:
        page.open("overview")
        assert page.text().count("operator") and page.violations() == []
        page.page.locator("header button", has_text="Notes (1)").click()
        shown = page.page.locator(".notes li")
        assert text.replace("\u202e", "\\u{202e}") in shown.inner_text()
        assert page.axe() == []
        shown.locator("button", has_text="Show").click()
        page.wait("timeline")
        assert "mark=1000-2000" in page.page.evaluate("location.hash")
        assert page.errors == []
    with ReportPage(browser, copy, script=False) as page:
        page.page.goto(copy.as_uri())
        assert "need JavaScript" in page.text()


def show_note(page, text):
    page.page.locator("header button", has_text="Notes").click()
    page.page.locator(".notes li", has_text=text).locator("button", has_text="Show").click()


def test_a_note_and_an_address_lead_on_within_a_view(browser, tmp_path):
    with ReportPage(browser, report(tmp_path, TRACES["mi250"])) as page:
        page.open("operators")
        filtered = page.page.locator("section.table input").first
        count = page.page.locator("section.table").first.get_by_role("status")
        shows = lambda text: page.until(lambda: filtered.count() and filtered.input_value() == text, page.text)
        filtered.fill("aten::add")
        of_note = count.inner_text()
        add_note(page.page, "additions")
        filtered.evaluate("element => { element.mark = 'same'; }")
        filtered.fill("aten::mm")
        assert count.inner_text() != of_note and filtered.evaluate("element => element.mark") == "same"
        show_note(page, "additions")
        shows("aten::add")
        assert count.inner_text() == of_note
        page.page.evaluate("location.hash = location.hash.replace('add', 'mul')")
        shows("aten::mul")
        page.page.go_back()
        shows("aten::add")
        page.page.locator("nav a", has_text="Operators").click()
        shows("")
        assert page.errors == []


def test_a_note_and_an_address_lead_on_within_the_timeline(browser, tmp_path):
    with ReportPage(browser, report(tmp_path, TRACES["mi250"])) as page:
        page.open("timeline")
        search, panel = page.page.locator(".timeline input[type=search]"), page.page.locator(".panel")
        where, over = page.page.locator(".timeline .where"), page.page.locator(".over")

        def seen():
            """Once it is drawn, and the address, which waits for 150 ms, says so."""
            page.page.evaluate("""() => new Promise((done) =>
              setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 200))""")
            return where.inner_text(), search.input_value(), panel.inner_text()

        comes = lambda wanted: page.until(lambda: seen() == wanted, lambda: f"{seen()}, not {wanted}")
        over.evaluate("element => { element.mark = 'same'; }")
        plain = seen()
        search.fill("hipLaunchKernel")
        over.focus()
        page.key("]", "f")
        panel.locator("dt", has_text="Launches").wait_for()
        launch = seen()
        add_note(page.page, "a launch")
        search.fill("aten::")
        over.focus()
        page.key("0", "m")
        panel.locator("section.table").wait_for()
        marked = seen()
        add_note(page.page, "a range")
        for text, wanted in ("a launch", launch), ("a range", marked), ("a launch", launch):
            show_note(page, text)
            comes(wanted)
        page.page.go_back()
        comes(marked)
        page.page.evaluate("location.hash = location.hash.replace(/&mark=[^&]*/, '')")
        comes((marked[0], marked[1], ""))
        page.page.locator("nav a", has_text="Timeline").click()
        comes(plain)
        # The address that one leaves by moving on is not followed.
        over.focus()
        page.key("w", "w", "d")
        moved = seen()
        assert seen() == moved != plain and over.evaluate("element => element.mark") == "same"
        assert page.errors == []


# ---- sizes

def big_trace(path, events):
    random.seed(1)
    rows = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{s}", "pid": 1, "tid": 1,
             "ts": s * events, "dur": events - 1, "args": {}} for s in range(10)]
    rows += [{"ph": "X", "cat": "cpu_op", "name": f"op{i * 7 % 97}", "pid": 1, "tid": 1 + i % 4,
              "ts": (i // 4) * 40 + 3, "dur": 1 + random.random() * 30, "args": {"External id": i + 1}}
             for i in range(events)]
    path.write_text(json.dumps({"traceEvents": rows}))


def test_what_does_not_fit_is_said(browser, tmp_path):
    trace = tmp_path / "big.pt.trace.json"
    big_trace(trace, 60000)
    small, full = tmp_path / "small.html", tmp_path / "full.html"
    run(HIPBOARD, "report", "--max-size", "300K", "-o", small, trace)
    run(HIPBOARD, "report", "-o", full, trace)
    assert small.stat().st_size < 300 << 10 < full.stat().st_size
    with ReportPage(browser, small) as page:
        page.open("timeline", **{"from": 200_000_000, "to": 201_000_000})
        page.page.locator(".timeline .note", has_text="an outline").wait_for()
        assert len(page.lanes()) > 3
        page.page.locator(".timeline .note button").first.click()
        page.page.locator(".timeline .note", has_text="an outline").wait_for(state="detached")
    with ReportPage(browser, full) as page:
        page.open("timeline")
        assert "outline" not in page.page.locator(".timeline").inner_text()
        # Tables of any length draw the rows that are seen.
        page.page.locator(".over").focus()
        page.key("t")
        [table] = [t for t in page.tables().values() if t["title"].startswith("What is seen")]
        assert table["count"] > 10000 > 200 > len(table["rows"]) > 10


def test_many_steps(browser, tmp_path):
    """More than a call may have arguments."""
    steps = 130000
    events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
               "ts": step * 100, "dur": 99 if step == 77777 else 90, "args": {}} for step in range(steps)]
    (tmp_path / "s.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    with ReportPage(browser, report(tmp_path, tmp_path / "s.pt.trace.json")) as page:
        for view in "overview", "steps":
            label = page.open(view).page.locator("canvas[aria-label^='Time of']").get_attribute("aria-label")
            assert label.startswith(f"Time of {steps} steps") and label.endswith("the longest took 99.0 µs"), view
        assert page.tables()["Steps"]["count"] == steps
        assert page.errors == []


def long_trace(path, names=100000):
    """A step's operators, each of another name, the later the longer."""
    events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
               "ts": step * 10 * names, "dur": 10 * names, "args": {}} for step in range(2)]
    events += [{"ph": "X", "cat": "cpu_op", "name": f"name,{i}", "pid": 1, "tid": 1, "ts": 10 * i + 1,
                "dur": 1 + 8 * i / names, "args": {}} for i in range(names)]
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_a_long_table_sorts_filters_and_copies(browser, tmp_path):
    """100,000 rows, of which the page holds those that are seen."""
    file = report(tmp_path, long_trace(tmp_path / "long.pt.trace.json"))
    with ReportPage(browser, file) as page:
        table = page.open("operators").tables()["Operators"]
        assert table["count"] == 100000 and len(table["rows"]) < 100
        assert table["rows"][0][0] == "name,99999"  # by own time, the longest first
        section = page.page.locator("section.table").first
        section.get_by_role("button", name="Operator").first.click()
        page.wait_for_address("ops.sort=Operator")
        assert page.tables()["Operators"]["rows"][0][0] == "name,0"
        section.get_by_role("searchbox").fill("^name,4242")
        shown = page.tables()["Operators"]["rows"]
        assert [row[0] for row in shown] == ["name,4242"] + [f"name,4242{i}" for i in range(10)]
        page.page.reload()
        page.wait("operators")  # the address keeps both
        assert page.tables()["Operators"]["rows"] == shown
        page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        section.locator(".scroll").focus()
        page.key("c")
        section.get_by_role("status").get_by_text("11 rows copied").or_(section.locator("textarea")).first.wait_for()
        area = section.locator("textarea")
        text = area.input_value() if area.count() else page.page.evaluate("navigator.clipboard.readText()")
        lines = text.splitlines()
        assert lines[0].startswith("Operator,Calls,") and len(lines) == 12
        assert lines[1].startswith('"name,4242",1,') and page.errors == []


def test_a_click_is_not_lost_amid_a_scroll(browser, tmp_path):
    """Pressed, other rows drawn, let go: the row is still the one that was pressed."""
    file = report(tmp_path, long_trace(tmp_path / "long.pt.trace.json", 1000))
    with ReportPage(browser, file) as page:
        page.open("operators")
        scroll = page.page.locator("section.table .scroll").first
        rows = scroll.locator("tr[aria-rowindex]")
        scroll.evaluate("element => { element.scrollTop = 27 * 300 + 26; }")
        page.page.locator("tr[aria-rowindex='294']").first.wait_for(state="attached")
        link = page.page.locator("tr[aria-rowindex='305'] button.link").first
        name, box = link.inner_text(), link.bounding_box()
        page.page.mouse.move(box["x"] + 5, box["y"] + box["height"] / 2)
        page.page.mouse.down()
        scroll.evaluate("element => { element.scrollTop += 3; }")
        page.page.locator("tr[aria-rowindex='294']").first.wait_for(state="detached")
        page.page.mouse.up()
        page.wait("timeline")
        page.wait_for_address("find=" + name.replace(",", "%2C"))
        # All rows between are there, each once, and what lies outside takes its room.
        page.open("operators")
        height = scroll.evaluate("element => element.scrollHeight")
        for top in 0, 100, 5000, 5300, 4900, 1e6, 0:
            first = scroll.evaluate("(element, top) => { element.scrollTop = top; return Math.floor(element.scrollTop / 27); }", top)
            drawn = lambda: rows.evaluate_all("list => list.map((row) => Number(row.getAttribute('aria-rowindex')))")
            page.until(lambda: drawn()[:1] == [max(first - 8, 0) + 2], lambda: f"row {first} is the first in sight, drawn: {drawn()}")
            numbers = drawn()
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            assert len(numbers) < 100 and abs(scroll.evaluate("element => element.scrollHeight") - height) < 27
        assert page.errors == []


def test_each_step_is_a_bar(browser, tmp_path):
    events = []
    for step in range(8):
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1,
                       "tid": 1, "ts": step * 1000, "dur": 999, "args": {}})
        for name, dur in ("grows", 10 * (step + 1)), ("once", 50 if step == 4 else 0):
            if dur:
                events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1,
                               "ts": step * 1000 + (10 if name == "grows" else 500), "dur": dur, "args": {}})
    trace = tmp_path / "steps.pt.trace.json"
    trace.write_text(json.dumps({"traceEvents": events}))
    with ReportPage(browser, report(tmp_path, trace)) as page:
        page.open("operators")
        sparks = {row.locator("th").inner_text().strip(): row.locator(".spark span") for row in
                  page.page.locator("section.table").first.locator("tbody tr").all()}
        assert sparks["grows"].inner_text() == "▁▂▃▄▅▆▇█"
        assert sparks["once"].inner_text() == "    █   "
        assert sparks["once"].get_attribute("aria-label") == "most in step 5 of 8, nothing in 7"
        assert page.axe() == [] and page.errors == []


@pytest.mark.parametrize("how", [{"forced_colors": "active"}, {"contrast": "more"}])
def test_high_contrast(browser, tmp_path, how):
    """Pictures keep their colours where the browser takes all others; axe finds nothing."""
    file = report(tmp_path, TRACES["mi250"])
    with ReportPage(browser, file) as page:
        page.page.emulate_media(**how)
        for view in VIEWS:
            page.open(view)
            assert page.axe() == [], view
        page.open("overview")
        swatches = page.page.locator(".shares .swatch").evaluate_all(
            "list => list.map((element) => getComputedStyle(element).backgroundColor)")
        assert len(set(swatches)) == len(swatches) > 2 and page.errors == []
        paper = page.open("timeline").lanes()
        assert 0xffffffff == int(max(paper, key=paper.get))  # as the system's is: mostly nothing


def test_all_views_are_printed(browser, tmp_path):
    file = report(tmp_path, long_trace(tmp_path / "long.pt.trace.json", 500), TRACES["mi250"])
    with ReportPage(browser, file, scheme="dark") as page:
        page.open("overview", trace="long").page.get_by_role("button", name="Print").click()
        page.wait("everything")
        titles = page.page.locator("h2.large").all_inner_texts()
        assert [title.split()[0].lower() for title in titles] == [view for view in VIEWS if view != "timeline"]
        page.page.emulate_media(media="print")
        page.page.get_by_text("and 450 rows more").first.wait_for()
        seen = page.page.evaluate("""() => ({
          paper: getComputedStyle(document.documentElement).backgroundColor,
          rail: getComputedStyle(document.querySelector('nav')).display,
          rows: Math.max(...[...document.querySelectorAll('tbody')].map((body) => body.children.length)) })""")
        assert seen["paper"] == "rgb(255, 255, 255)" and seen["rail"] == "none"
        assert seen["rows"] == 51
        assert page.page.pdf().startswith(b"%PDF") and page.errors == []


def test_the_page_is_small(tmp_path):
    file = report(tmp_path, TRACES["mi250"]).read_text()
    page = re.sub(r'<script type="application/octet-stream".*?</script>\n', "", file, flags=re.S)
    assert len(page) < 300_000
    assert len(gzip.compress(page.encode())) < 80_000


# ---- without a script, several traces, bad input

def test_without_javascript_the_main_numbers_are_there(browser, tmp_path):
    file = report(tmp_path, TRACES["torch"])
    with ReportPage(browser, file, script=False) as page:
        page.page.goto(file.as_uri())
        text = page.text()
        [told] = run(HIPBOARD, "view", "--json", "--view", "steps", TRACES["torch"]).splitlines()
        steps = json.loads(told)["Steps"]
        mean = sum(row["Total (us)"] for row in steps) / len(steps) / 1e3
        assert f"{len(steps)} steps of {mean:.3f} ms" in text
        assert "need JavaScript" in text and "aten::" in text


def test_an_old_browser_is_told_and_has_the_main_numbers(browser, tmp_path):
    with ReportPage(browser, report(tmp_path, TRACES["torch"])) as page:
        page.page.add_init_script("delete window.DecompressionStream")
        page.page.goto(page.address)
        page.page.wait_for_selector("html[data-ready=old]")
        text = page.text()
        assert "too old" in text and "Firefox 113" in text and re.search(r"\d+ steps of", text) and "aten::" in text
        assert page.errors == [] and page.violations() == []


def test_a_size_that_is_too_small_is_said(tmp_path):
    done = failing("--max-size", "1K", "-o", tmp_path / "r.html", TRACES["torch"])
    size = (tmp_path / "r.html").stat().st_size
    assert done.returncode == 0 and f"{size} bytes, more than --max-size" in done.stderr
    assert not failing("--max-size", "1M", "-o", tmp_path / "r.html", TRACES["torch"]).stderr


def test_ranks_and_runs(browser, tmp_path):
    for name, lag in ("one", 50), ("two", 80), ("three", 90):
        (tmp_path / name).mkdir()
        write_rank(tmp_path / name / "b.1.pt.trace.json", 0, 0)
        write_rank(tmp_path / name / "a.1.pt.trace.json", 1, lag)
    with ReportPage(browser, report(tmp_path, tmp_path)) as page:
        told = run(HIPBOARD, "view", "--view", "distributed", "--json", tmp_path / "one")
        [expected] = [json.loads(line) for line in told.splitlines()]
        tables = page.open("ranks").tables()
        shown, told = shown_rows(tables["Average step"]), without_units(expected["Average step"])
        assert len(shown) == 2 and all(map(is_same, shown, told))
        assert any(row["Wait"] for row in shown)
        assert "ranks × steps" in page.text()
        page.open("compare")
        assert page.tables()["Runs"]["count"] == 3
        told = json.loads(run(HIPBOARD, "compare", "--json", tmp_path, "--baseline", tmp_path / "one"))
        assert len({d["run"] for d in told["steps"]}) == 2
        steps = page.tables()["Steps: what changed in a step"]
        assert {row[steps["columns"].index("Run")] for row in steps["rows"]} == {d["run"] for d in told["steps"]}
        # The chooser leads from run to run, and the address follows.
        page.page.locator("header select[aria-label=Run]").select_option("two")
        page.wait_for_address("two")
        assert page.errors == []


# Accent's part in each row of the first heat map, where its cells are.
READ_ROWS = """(ranks) => {
  const canvas = document.querySelector('figure canvas'), tall = Math.max(1, Math.min(22, Math.floor(520 / ranks)));
  const { data } = canvas.getContext('2d').getImageData(300, 0, 1, ranks * tall);
  return Array.from({ length: ranks }, (_, y) => data[4 * Math.floor((y + 0.5) * tall) + 3]);
}"""


def test_a_late_rank_among_many_is_seen(browser, tmp_path):
    """By digests: more ranks than are read together, and one whose trace is gone."""
    ranks, runs = 66, tmp_path / "runs"
    caused = made_ranks.write(runs, ranks, late=23, steps=4)
    run(HIPBOARD, "ranks", "-o", runs / "all.hbranks", runs)
    [trace] = runs.glob("node2_1023.*")
    was = trace.stat()
    trace.write_text("{".ljust(was.st_size)) # one that has another size or time since is read again
    os.utime(trace, ns=(was.st_atime_ns, was.st_mtime_ns))
    done = failing("-o", tmp_path / "r.html", runs)
    assert "left out" in done.stderr and "node2_1023" in done.stderr
    with ReportPage(browser, tmp_path / "r.html") as page:
        page.open("ranks")
        assert page.page.locator(".headline").inner_text().startswith("Rank 23 makes the others wait")
        tables = page.tables()
        [late] = shown_rows(tables["Late ranks"])
        assert late["Rank"] == 23 and late["Others waited"] == pytest.approx(caused[23], rel=0.02)
        told = json.loads(run(HIPBOARD, "ranks", "--json", runs))
        [shown], [collective] = shown_rows(tables["Collectives by size"]), told["collectives"]
        assert shown["Bus GB/s"] == pytest.approx(collective["bus_GB_per_s"]) and shown["Calls"] == collective["calls"]
        assert shown["Skew"] == pytest.approx(collective["skew_us"])
        parallel = next(row for row in shown_rows(tables["Efficiency"]) if row["What"] == "Parallel efficiency")
        assert parallel["Share"] == pytest.approx(100 * told["efficiency"]["parallel"])
        assert sum(row["Time"] for row in shown_rows(tables["Waiting by its kind"])) == pytest.approx(
            sum(wait["time_us"] for wait in told["waits"]))
        assert tables["Nodes"]["count"] == len(told["places"]) > 1
        assert tables["Ranks"]["count"] == ranks and tables["Each rank in each step"]["count"] == 4 * ranks
        assert "made of their digests" in page.text() and "Average step" not in tables
        rows = page.page.evaluate(READ_ROWS, ranks)
        assert rows[23] > 100 and all(row < 100 for rank, row in enumerate(rows) if rank != 23)
        assert page.axe() == [] and page.errors == []
        page.page.locator("figure canvas").first.focus()
        page.key("ArrowDown")
        assert "Rank 23, node2_1023, step " in page.page.locator(".readout").first.inner_text()
        page.key("ArrowDown", "Enter")
        page.wait("steps")
        page.wait_for_address("node3_1024")


def failing(*arguments):
    return subprocess.run([HIPBOARD, "report", *map(str, arguments)], capture_output=True, text=True,
                          timeout=600, stdin=subprocess.DEVNULL)


def test_who_sends_to_whom(browser, tmp_path):
    made_ranks.write_messages(tmp_path / "job", steps=6)
    with ReportPage(browser, report(tmp_path, tmp_path / "job")) as page:
        tables = page.open("ranks").tables()
        [row] = shown_rows(tables["Messages"])
        assert (row["From"], row["To"], row["Messages"]) == (0, 1, 6)
        matrix = page.page.locator("canvas[aria-label^='Who sends to whom']")
        assert "2 ranks by 2 ranks" in matrix.get_attribute("aria-label")
        matrix.focus()
        page.key("ArrowDown")  # onto the darkest
        said = page.page.locator("figure", has=matrix).locator(".readout")
        assert f"Rank 0 to rank 1: {row['Bytes']:.0f} B in 6 calls" in said.inner_text()
        page.page.get_by_label("What is shown").first.select_option("time")
        page.wait_for_address("sent=time")
        assert f"up to {row['Time']:.1f} µs" in matrix.get_attribute("aria-label")
        assert page.axe() == [] and page.errors == []


def test_what_each_rank_gives_into_collectives(browser, tmp_path):
    made_ranks.write(tmp_path / "job", 4, steps=4, collectives=10)
    with ReportPage(browser, report(tmp_path, tmp_path / "job")) as page:
        rows = shown_rows(page.open("ranks").tables()["Collectives of each rank"])
        assert [(row["Rank"], row["Calls"]) for row in sorted(rows, key=lambda row: row["Rank"])] == \
            [(rank, 40) for rank in range(4)]
        assert page.page.locator("canvas[aria-label^='What each rank gives']").count() == 1


def with_peaks(path):
    """The MI250's trace, with what its writer did not tell of it."""
    trace = json.loads(gzip.decompress(TRACES["mi250"].read_bytes()))
    for device in trace["deviceProperties"]:
        device.update(gcnArchName="gfx90a:sramecc+:xnack-", clockRate=1700000,
                      memoryClockRate=1600000, memoryBusWidth=4096)
    path.write_text(json.dumps(trace))
    return path


def test_a_roofline(browser, tmp_path):
    trace = with_peaks(tmp_path / "peaks.pt.trace.json")
    [line] = run(HIPBOARD, "view", "--view", "roofline", "--json", trace).splitlines()
    told = {row["Operator"]: row for row in without_units(json.loads(line)["Operators"])}
    with ReportPage(browser, report(tmp_path, trace)) as page:
        rows = shown_rows(page.open("roofline").tables()["Operators"])
        assert {row["Operator"] for row in rows} == told.keys()
        for row in rows:
            of = told[row["Operator"]]
            assert row["Of the roof"] == pytest.approx(of["Of the roof"])
            assert row["GB/s"] == pytest.approx(of["GB/s"])
            if row["GFLOP/s"]:
                assert row["GFLOP/s"] == pytest.approx(of["FLOP/s"] / 1e9)
        chart = page.page.locator("canvas[aria-label^=Roofline]")
        costliest = max((row for row in rows if row["GFLOP/s"]), key=lambda row: row["Time"])
        assert costliest["Operator"] in chart.get_attribute("aria-label")
        chart.focus()
        page.key("ArrowRight")
        assert "of the roof, bound by memory" in page.page.locator(".readout").inner_text()
        page.key("Enter")
        page.wait("timeline")
        page.wait_for_address("find=" + costliest["Operator"].replace(":", "%3A"))
        assert page.errors == []


def test_a_trace_of_the_processor_alone_has_rates(tmp_path):
    """Where the first operator with FLOPs is nobody's kernel."""
    [line] = run(HIPBOARD, "view", "--view", "roofline", "--json", TRACES["torch"]).splitlines()
    assert {row["GPU"] for row in json.loads(line)["Operators"]} == {"CPU"}


def test_two_runs_as_a_tree_of_calls(browser, tmp_path):
    def trace(name, inner):
        events, outer = [], 400 + inner
        for step in range(4):
            at = step * 2000
            for what, start, duration in [(f"ProfilerStep#{step}", at, outer + 100),
                                          ("outer", at + 10, outer), ("inner", at + 20, inner),
                                          ("same", at + 30 + inner, 100)]:
                events.append({"ph": "X", "cat": "user_annotation" if what[0] == "P" else "cpu_op",
                               "name": what, "pid": 1, "tid": 1, "ts": start, "dur": duration, "args": {}})
        path = tmp_path / f"{name}.pt.trace.json"
        path.write_text(json.dumps({"traceEvents": events}))
        return path

    file = report(tmp_path, trace("before", 200), trace("after", 350))
    with ReportPage(browser, file) as page:
        rows = shown_rows(page.open("compare").tables()["Call tree"])
        assert [row["Call"] for row in rows] == ["step", "outer", "inner", "same"]
        change = {row["Call"]: (row["Host change"], row["By itself"]) for row in rows}
        assert change == {"step": (150, 0), "outer": (150, 0), "inner": (150, 150), "same": (0, 0)}
        depths = page.page.locator("section.table", has_text="Call tree").locator("tbody th").evaluate_all(
            "cells => cells.map((cell) => Number(cell.style.getPropertyValue('--depth') || 0))")
        assert depths == [0, 1, 2, 2]
        assert "inner changed most: +150 µs a step" in page.text()
        assert "A step takes 700 µs in before; after 850 µs (+21.4 %, " in page.page.locator(".headline").inner_text()
        assert page.axe() == [] and page.errors == []


def test_what_cannot_be_read_is_left_out_and_said(browser, tmp_path):
    (tmp_path / "bad.pt.trace.json").write_text("{")
    (tmp_path / "good.pt.trace.json").write_bytes(TRACES["torch"].read_bytes())
    done = failing("-o", tmp_path / "r.html", tmp_path)
    assert done.returncode == 1 and "left out" in done.stderr and "bad.pt.trace.json" in done.stderr
    with ReportPage(browser, tmp_path / "r.html") as page:
        text = page.open().text()
        assert "left out" in text and "bad.pt.trace.json" in text
        page.page.locator("header select").first.select_option("good")
        page.page.locator(".headline").wait_for()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"traceEvents": []}', "no json"])
def test_nothing_is_written_of_nothing(tmp_path, content):
    (tmp_path / "x.pt.trace.json").write_text(content)
    done = failing("-o", tmp_path / "r.html", tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("hipboard report: ")
    assert not (tmp_path / "r.html").exists()


def test_no_trace_no_report(tmp_path):
    (tmp_path / "empty").mkdir()
    for path, why in ("nowhere", "No such file"), ("empty", "no file in it or below"):
        done = failing("-o", tmp_path / "r.html", tmp_path / path)
        assert done.returncode == 1 and why in done.stderr
    done = failing("-o", tmp_path / "not" / "r.html", TRACES["torch"])
    assert done.returncode == 0, "missing directories are made"


def test_a_damaged_file_says_so(browser, tmp_path):
    text = TRACES["torch"].read_bytes()
    (tmp_path / "cut.pt.trace.json").write_bytes(text[:len(text) * 2 // 3])
    with ReportPage(browser, report(tmp_path, tmp_path / "cut.pt.trace.json")) as page:
        page.open()
        page.page.locator(".warning", has_text="damaged").wait_for()


def test_a_simulated_gpu_says_so(browser, tmp_path):
    document = json.loads(gzip.decompress(TRACES["mi250"].read_bytes()))
    document["deviceProperties"] = [{"id": 0, "name": "simhsa gfx90a (simulated)"}]
    (tmp_path / "s.pt.trace.json").write_text(json.dumps(document))
    with ReportPage(browser, report(tmp_path, tmp_path / "s.pt.trace.json")) as page:
        for view in "overview", "timeline":
            page.open(view)
            page.page.locator(".warning", has_text="durations mean nothing").wait_for()
