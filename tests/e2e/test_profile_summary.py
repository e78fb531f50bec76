# SPDX-License-Identifier: MIT
"""A profile's numbers in TensorBoard's own tabs: texts as they were, charts with the right lines."""
import re
from html.parser import HTMLParser

import pytest

from event_files import BACKENDS, Server
from support import BUILD, run

NAMES = ["void gemm<float, 4>(float*, int const&)", "a|b", "`c`", "_d_ __e__ *f* **g**", "[h](i)",
         "j\\k", "&lt;l&gt;", "#m", "~~n~~", "Cijk_Ailk_Bljk_HHS_BH_MT128x128", "o\tp", "é日本", "$q$",
         "<script>alert(1)</script>", "std::vector<int, std::allocator<int> >::~vector()"]
ROLES = ["kernel", "memcpy", "memset", "communication", "runtime", "data_loader", "cpu", "other"]


class Cells(HTMLParser):
    """The texts of the innermost cells and list items."""

    def __init__(self, html):
        super().__init__()
        self.cells = []
        self.open = []
        self.feed(html)

    def handle_starttag(self, tag, _):
        if tag in ("td", "li"):
            self.open = [None] * len(self.open) + [""]

    def handle_endtag(self, tag):
        if tag in ("td", "li") and (text := self.open.pop()) is not None:
            self.cells.append(text)

    def handle_data(self, data):
        if self.open and self.open[-1] is not None:
            self.open[-1] += data


@pytest.fixture(scope="module", params=BACKENDS)
def server(request, tmp_path_factory):
    logdir = tmp_path_factory.mktemp("profile")
    run(BUILD / "tests/e2e/programs/log_profile", logdir / "run", *NAMES)
    with Server(logdir, tmp_path_factory.mktemp("server") / "log",
                arguments=BACKENDS[request.param]) as server:
        server.wait_for(lambda: server.ask("plugin/text/tags"), lambda tags: tags.get("run"))
        yield server


def text(server, tag):
    [found] = server.ask("plugin/text/text", run="run", tag=f"hipboard/{tag}/text_summary")
    return found["text"]


def test_names_are_shown_as_they_are(server):
    cells = Cells(text(server, "top_kernels")).cells
    rows = [cells[i:i + 5] for i in range(0, len(cells), 5)]
    assert [row[0] for row in rows] == [name.replace("\t", " ") for name in NAMES]
    assert rows[0][1:] == ["2", "2.000", "1000.000", "2.0"]


def test_advice_is_shown_as_it_is(server):
    assert "Use num_workers > 0 & pinned <memory>." in Cells(text(server, "advice")).cells


def test_charts_have_the_lines_that_belong_together(server):
    layout = server.ask("plugin/custom_scalars/layout")
    assert [category["title"] for category in layout["category"]] == [
        "Time", "Memory", "Communication"]
    lines = {}
    for category in layout["category"]:
        for chart in category["chart"]:
            [expression] = chart["multiline"]["tag"]
            found = server.ask("plugin/custom_scalars/scalars", run="run", tag=expression)
            assert found["regex_valid"]
            lines[chart["title"]] = sorted(found["tag_to_events"])
    assert lines == {
        "Step time, ms": ["hipboard_time/step_ms"],
        "Where a step's time goes, ms": sorted(f"hipboard_time/{role}_ms" for role in ROLES),
        "GPU, %": [f"hipboard_gpu/{gpu}{what}_percent" for gpu in ("GPU0_", "GPU1_", "")
                   for what in ("occupancy", "sm_efficiency", "utilization")],
        "Peak, MiB": ["hipboard_memory/GPU0_peak_mib", "hipboard_memory/GPU1_peak_mib"],
        "At the step's end, MiB": ["hipboard_memory/GPU0_current_mib",
                                   "hipboard_memory/GPU1_current_mib"],
        "Copied, MiB": [f"hipboard_copies/{what}_mib" for what in
                        ("device_to_device", "device_to_host", "host_to_device")],
        "Communication, all and exposed, ms": ["hipboard_communication/exposed_ms",
                                               "hipboard_time/communication_ms"],
    }


def test_steps_are_the_programs(server):
    assert server.scalars("run", "hipboard_time/step_ms") == [(5, 500), (6, 600), (7, 700)]
    assert server.scalars("run", "hipboard_memory/GPU1_peak_mib") == [(5, 3), (6, 3), (7, 3)]
    assert server.scalars("run", "hipboard_cycle/step_ms") == [(7, 1000)]
    assert server.scalars("run", "hipboard_cycle/GPU1_peak_mib") == [(7, 3)]
    for tag in server.scalar_tags("run"):
        assert re.fullmatch(r"hipboard_\w+/\w+", tag)


def test_runs_compare_by_settings(server):
    answer = server.ask("plugin/hparams/session_groups", body={
        "experimentName": "", "colParams": [], "startIndex": 0, "sliceSize": 10,
        "allowedStatuses": ["STATUS_SUCCESS"]})
    [group] = answer["sessionGroups"]
    assert group["hparams"] == {"arch": "gfx90a", "batch": 64, "workers": 2}
    assert {metric["name"]["tag"]: metric["value"] for metric in group["metricValues"]} == {
        "hipboard_cycle/step_ms": 1000, "hipboard_cycle/utilization_percent": 1010,
        "hipboard_cycle/GPU0_peak_mib": 1}
