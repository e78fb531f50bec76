# SPDX-License-Identifier: MIT
"""What the page is told of a timeline - windows, places, sums, launches, curves - beside the plainest way to find it
out, of a random trace."""
import json
import random
from urllib.parse import quote

import pytest

from test_page_answers import INVALID, OK, Page

NAMES = ["aten::mm", "Aten::MM_out", "relu", "step/a", "x"]


def make(seed):
    """Threads with calls in each other, and streams with what they launch; times in us."""
    chance, events = random.Random(seed), []
    for tid in (1, 2):
        at = 0
        for _ in range(60):
            at += chance.randrange(1, 30)
            took = chance.randrange(3, 40)
            number = len(events) + 1
            ids = {"External id": number, "correlation": number}
            events.append({"ph": "X", "cat": "cpu_op", "name": chance.choice(NAMES), "pid": 1, "tid": tid, "ts": at,
                           "dur": took, "args": {"External id": number}})
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": tid, "ts": at + 1,
                           "dur": 1, "args": ids})
            if chance.random() < .7:
                events.append({"ph": "X", "cat": "kernel", "name": chance.choice(["k", "relu"]), "pid": 0, "tid": 6 + tid,
                               "ts": at + 5, "dur": chance.randrange(1, 9), "args": {"device": 0, "stream": 6 + tid, **ids}})
            at += took
    order = list(range(len(events)))
    chance.shuffle(order)
    return [events[i] for i in order]


class Told:
    """The page's answers of one trace, in ns."""

    def __init__(self, path):
        self.page = Page(path)
        self.name = json.loads(self.page.ask("hb/about")[1])["traces"][0]["id"]

    def bytes_of(self, route, **more):
        result, body, _ = self.page.ask(f"{route}?trace={quote(self.name, safe='')}" + "".join(
            f"&{key}={quote(str(value))}" for key, value in more.items()))
        assert result == OK, body
        return body

    def ask(self, route, **more):
        return json.loads(self.bytes_of(route, **more))

    def refused(self, route, **more):
        result, why, _ = self.page.ask(f"{route}?trace={quote(self.name, safe='')}" + "".join(
            f"&{key}={quote(str(value))}" for key, value in more.items()))
        assert result == INVALID
        return why.decode()

    def slices(self, **more):
        """(window, for each lane (start, end, name, count, row))"""
        numbers = varints(self.bytes_of("hb/timeline/slices", **more))
        window, lanes = numbers[:3], []
        at = 4
        for _ in range(numbers[3]):
            n = numbers[at]
            gaps, times, names, counts, rows = (numbers[at + 1 + k * n:at + 1 + (k + 1) * n] for k in range(5))
            at += 1 + 5 * n
            end = row = 0
            lane = []
            for i in range(n):
                start = end + gaps[i]
                end = start + times[i]
                row += zigzag(rows[i])
                lane.append((start, end, names[i], counts[i] + 1, row))
            lanes.append(lane)
        assert at == len(numbers)
        return window, lanes


def varints(data):
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    return numbers


def zigzag(n):
    return n // 2 if n % 2 == 0 else -(n + 1) // 2


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("timeline") / "t.pt.trace.json"
    events = make(4)
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    told = Told(path)
    yield events, told
    told.page.close()


def whole(made):
    """Of each lane what lies in it: (start, end, row), and what a name of a row is."""
    events, told = made
    names = told.ask("hb/timeline")["names"]
    window, lanes = told.slices()
    assert sorted(row for lane in lanes for *_, row in lane) == list(range(len(events)))
    first = min(e["ts"] for e in events)
    assert window == [0, 1000 * (max(e["ts"] + e["dur"] for e in events) - first) + 1, 0]
    for lane in lanes:
        for start, end, name, count, row in lane:
            e = events[row]
            assert (start, end, count) == (1000 * (e["ts"] - first), 1000 * (e["ts"] + e["dur"] - first), 1)
            assert names[name] == [e["name"], {"cpu_op": "op", "cuda_runtime": "runtime", "kernel": "kernel"}[e["cat"]]]
        assert all(a[1] <= b[0] for a, b in zip(lane, lane[1:]))
    return lanes


def test_tracks_are_threads_then_streams(made):
    events, told = made
    lanes, answer = whole(made), told.ask("hb/timeline")
    assert (answer["lanes"], answer["slices"], answer["span"]) == (
        len(lanes), len(events), max(s[1] for lane in lanes for s in lane))
    assert sorted((t["kind"], t["pid"], t["tid"]) for t in answer["tracks"]) == [
        ("stream", "0", "7"), ("stream", "0", "8"), ("thread", "1", "1"), ("thread", "1", "2")]
    assert [t["kind"] for t in answer["tracks"]] == ["thread"] * 2 + ["stream"] * 2
    for track in answer["tracks"]:
        inside = [s for lane in lanes[track["first"]:track["first"] + track["lanes"]] for s in lane]
        assert len(inside) == track["slices"]
        assert {(str(events[row]["pid"]), str(events[row]["tid"])) for *_, row in inside} == {(track["pid"], track["tid"])}


def test_windows(made):
    lanes, chance = whole(made), random.Random(1)
    told = made[1]
    last = max(s[1] for lane in lanes for s in lane)
    edges = [t for lane in lanes for s in lane for t in s[:2]]
    for _ in range(60):
        begin, end = sorted(chance.choice([chance.randrange(last), chance.choice(edges)]) for _ in range(2))
        window, found = told.slices(**{"from": begin, "to": end})
        assert window == [begin, end - begin, 0]
        assert found == [[s for s in lane if s[0] < end and s[1] >= begin] for lane in lanes]


def test_cells_stand_for_all(made):
    lanes, told = whole(made), made[1]
    for cell in (1, 999, 1000, 1001, 5000, 50000, 10**9):
        window, found = told.slices(cell=cell)
        assert window[2] == cell
        for lane, drawn in zip(lanes, found, strict=True):
            assert sum(d[3] for d in drawn) == len(lane)
            at = 0
            for start, end, name, count, row in drawn:
                stood = lane[at:at + count]
                at += count
                assert (start, end) == (stood[0][0], stood[-1][1])
                longest = max(stood, key=lambda s: (s[1] - s[0], -s[0]))
                assert (row, name) == (longest[4], longest[2])
                assert count == 1 or all(s[1] - s[0] < cell for s in stood)
            assert all(b[0] // cell > a[0] // cell or max(a[1] - a[0], b[1] - b[0]) >= cell
                       for a, b in zip(drawn, drawn[1:]))


@pytest.mark.parametrize("text, exact", [("aten::mm", 0), ("ATEN::MM", 1), ("aten::mm", 1), ("E", 0), ("k", 1), ("k", 0),
                                         ("step/", 0), ("nothing", 0), ("hipLaunchKernel", 1), ("hiplaunchkernels", 0)])
def test_places_of_a_name(made, text, exact):
    events, told = made
    wanted = sorted((s[0], lane, s[1], s[2], s[4]) for lane, row in enumerate(whole(made)) for s in row if (
        events[s[4]]["name"] == text if exact else text.lower() in events[s[4]]["name"].lower()))
    places = [[lane, start, end, name, row] for start, lane, end, name, row in wanted]
    for most in (0, 1, len(places) or 1, 100000):
        assert told.ask("hb/timeline/find", text=text, exact=exact, most=most) == {
            "count": len(places), "hits": places[:most]}
    assert told.ask("hb/timeline/find", text=text, exact=exact)["hits"] == places
    assert told.refused("hb/timeline/find", text="") == told.refused("hb/timeline/find") == "parameter text is missing"
    assert told.refused("hb/timeline/find", text="a", most="-1") == "most=-1 is not a number"


def test_sums_of_windows(made):
    lanes, chance = whole(made), random.Random(2)
    told = made[1]
    last = max(s[1] for lane in lanes for s in lane)
    n = len(lanes)
    for text, chosen in [("0", [0]), (f"0-{n}", range(n)), (f"1,{n - 1}", [1, n - 1]), ("0-1,3", [0, 1, 3]), ("", []),
                         (f"{n}", []), (f"2-{n + 5}", range(2, n))]:
        for _ in range(6):
            begin, end = sorted(chance.randrange(last) for _ in range(2))
            sums = {}
            for lane in chosen:
                for s in lanes[lane]:
                    if s[0] < end and s[1] >= begin:
                        count, within, longest = sums.get(s[2], (0, 0, 0))
                        sums[s[2]] = (count + 1, within + min(s[1], end) - max(s[0], begin), max(longest, s[1] - s[0]))
            assert told.ask("hb/timeline/sums", lanes=text, **{"from": begin, "to": end}) == {
                "rows": [[name, *sums[name]] for name in sorted(sums)]}
    for odd in ("x", "1-", "1,,2", "1;2", "-1"):
        assert told.refused("hb/timeline/sums", lanes=odd).endswith("are not numbers")


def test_rows_have_places(made):
    lanes, told = whole(made), made[1]
    where = {s[4]: [lane, *s[:3], s[4]] for lane, slices in enumerate(lanes) for s in slices}
    for rows in ([0], [5, 3, 9], list(range(200)), [10**6], []):
        found = told.ask("hb/timeline/rows", rows=",".join(map(str, rows)))["places"]
        assert sorted(found) == sorted(where[row] for row in rows if row in where)
        assert found == sorted(found, key=lambda p: (p[0], p[1]))
    more = told.ask("hb/timeline/rows", rows=",".join(map(str, range(250))))["places"]
    assert sorted(p[4] for p in more) == list(range(200))
    assert told.refused("hb/timeline/rows", rows="1,x") == "rows=x are not numbers"


def test_launches_are_calls_of_work(made):
    events, told = made
    numbers = varints(told.bytes_of("hb/timeline/launches"))
    calls = {e["args"]["correlation"]: i for i, e in enumerate(events) if e["cat"] == "cuda_runtime"}
    wanted = {i: calls[e["args"]["correlation"]] for i, e in enumerate(events) if e["cat"] == "kernel"}
    n, found, row = numbers[0], {}, 0
    assert len(numbers) == 1 + 2 * n
    for gap, call in zip(numbers[1:1 + n], numbers[1 + n:]):
        row += gap
        found[row] = row + zigzag(call)
    assert found == wanted
