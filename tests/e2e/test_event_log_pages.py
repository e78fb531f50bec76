# SPDX-License-Identifier: MIT
"""TensorBoard's own tabs in a real browser, fed by hipboard/event_log.h."""
import math

import pytest

from browser import OUT
from event_files import BACKENDS, Server, log

# What is inside shadow trees too, which TensorBoard's pages consist of.
DEEP_TEXT = """() => {
    const collect = node => {
        if (node.nodeType === Node.TEXT_NODE) return node.textContent;
        if (['STYLE', 'SCRIPT', 'TEMPLATE', 'DOM-MODULE'].includes(node.nodeName)) return '';
        const inside = [...(node.shadowRoot ? node.shadowRoot.childNodes : []),
                        ...node.childNodes];
        return inside.map(collect).join(' ');
    };
    return collect(document.body).replace(/\\s+/g, ' ');
}"""

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


class Tab:
    def __init__(self, browser, server, name):
        self.name = name
        self.errors = []
        self.page = browser.chromium.new_page(viewport={"width": 1500, "height": 1000})
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(f"{server.url}/#{name}")

    def text(self):
        return self.page.evaluate(DEEP_TEXT)

    def lines(self, card, number):
        """The paths of the curves in all charts of a kind, when there are `number` of them."""
        curves = self.page.locator(f"{card} .line-plot:not(.ghost) path.line[d]")
        curves.nth(number - 1).wait_for(state="attached")
        return [curve.get_attribute("d") for curve in curves.all()]

    def rows(self, cell):
        """The texts of a table's cells as they lie on the page."""
        rows = {}
        for each in self.page.locator(cell).all():
            box = each.bounding_box()
            if box and box["height"]:
                rows.setdefault(round(box["y"] + box["height"] / 2), []).append(
                    (box["x"], each.inner_text().strip()))
        return [[text for _, text in sorted(rows[y])] for y in sorted(rows)]

    def wait_for(self, *parts):
        """Waits until the page says all of it, then keeps a picture."""
        for _ in range(120):
            self.page.wait_for_timeout(250)
            text = self.text()
            if all(part in text for part in parts):
                break
        missing = [part for part in parts if part not in text]
        assert not missing, f"{self.name} does not show {missing}: {text[:3000]}"
        OUT.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=OUT / f"event_log_{self.name}.png")
        assert self.errors == []


@pytest.fixture
def tab(browser, server):
    tabs = []

    def open_tab(name):
        tabs.append(Tab(browser, server, name))
        return tabs[-1]
    yield open_tab
    for each in tabs:
        each.page.close()


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
    page.page.get_by_text("Parallel Coordinates View").click()
    page.name = "hparams_parallel"
    page.page.locator("tf-hparams-parallel-coords-plot svg .axis").first.wait_for()
    assert page.page.locator("tf-hparams-parallel-coords-plot svg .axis").count() == 4
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
