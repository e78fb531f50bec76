# SPDX-License-Identifier: MIT
"""TensorBoard's own tabs in a real browser, fed by hipboard/event_log.h."""
import math

import pytest

import tabs
from event_files import BACKENDS, Server, log

RATES = {"slow": 0.001, "middle": 0.01, "fast": 0.1}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("events")
    for name, rate in RATES.items():
        log(logdir / name, [
            ("hparam", "lr", "number", rate), ("hparam", "kernel", "text", f"gemm_{name}"),
            ("metric", "loss"), ("metric", "step_ms"), ("hparams",),
            ("chart", "Time", "both at once", "lines", "loss", "step_ms"), ("layout",),
            *(("scalar", "loss", step, math.exp(-step * rate)) for step in range(100)),
            *(("scalar", "step_ms", step, 10 + rate * step) for step in range(100)),
            ("text", "environment", 3, f"# Machine\\n\\n| key | value |\\n|-|-|\\n| run | {name} |"),
            *(("histogram", "kernel_us", step, *(1 + step + 0.1 * i for i in range(30)))
              for step in range(5))])
    with Server(logdir, tmp_path_factory.mktemp("server") / "log",
                arguments=BACKENDS["python"]) as server:
        server.wait_for_runs(*RATES)
        server.wait_for(lambda: server.ask("plugin/text/tags"), lambda tags: len(tags) == 3)
        yield server


@pytest.fixture
def tab(browser, server):
    with tabs.opened(browser, server) as open_tab:
        yield open_tab


def test_scalars_draw_a_line_for_each_run(tab):
    page = tab("scalars")
    lines = page.lines("tf-scalar-card", 2 * len(RATES))
    assert all(line.count("L") > 80 for line in lines) # but for what is out of the chart
    page.wait_for("loss", "step_ms", *RATES)


def test_hparams_compare_the_runs(tab):
    page = tab("hparams")
    page.wait_for("Number of matching session groups: 3", "lr", "kernel", "loss", "step_ms",
                  *(f"gemm_{name}" for name in RATES))
    rows = page.rows("vaadin-grid-cell-content")
    assert ["Trial ID", "kernel", "lr", "loss", "step_ms"] == [
        cell for cell in rows[0] if cell and "Show" not in cell]
    for row in rows[1:]:
        name, kernel, *numbers = [cell for cell in row if cell]
        rate = RATES[name]
        assert kernel == f"gemm_{name}"
        assert [float(number) for number in numbers] == pytest.approx(
            [rate, math.exp(-99 * rate), 10 + 99 * rate], rel=1e-4)
    assert len(rows) == 1 + len(RATES)
    assert page.parallel_coordinates() == 4
    page.wait_for("Color by")


def test_texts_are_rendered_tables(tab):
    page = tab("text")
    page.wait_for("Machine", "environment", *RATES)
    cells = page.page.locator("tf-text-loader td td").all_inner_texts()
    assert sorted(set(cells) & set(RATES)) == sorted(RATES)


def test_histograms_show_each_step(tab):
    tab("histograms").wait_for("kernel_us", *RATES)


def test_custom_scalars_follow_the_layout(tab):
    page = tab("custom_scalars")
    page.lines("tf-custom-scalar-multi-line-chart-card", 2 * len(RATES))
    page.wait_for("Time", "both at once", "Matches (6)")


def test_time_series_show_all_kinds(tab):
    tab("timeseries").wait_for("kernel_us", "loss", "step_ms", "Pinned")
