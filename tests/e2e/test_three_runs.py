# SPDX-License-Identifier: MIT
"""The digits sample trained three times with different settings: TensorBoard's own tabs compare the
runs, by values and on their pages."""

import pytest

import tabs
from event_files import BACKENDS, Server, values
from support import ROOT, run

SETTINGS = {
    "plain": {"batch": 32, "gemm": "plain", "workers": 0, "lr": 0.02},
    "ordered": {"batch": 32, "gemm": "ordered", "workers": 0, "lr": 0.02},
    "ahead": {"batch": 64, "gemm": "ordered", "workers": 2, "lr": 0.04},
}
COLUMNS = ["batch", "gemm", "lr", "workers", "step ms", "peak MiB", "loss", "accuracy"]
METRICS = ["hipboard_cycle/step_ms", "hipboard_cycle/CPU_peak_mib", "loss", "accuracy"]


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("three") / "settings"
    run("bash", ROOT / "samples/digits/three_runs.sh", logdir)
    return logdir


@pytest.fixture(scope="module")
def server(logdir, tmp_path_factory):
    with Server(logdir, tmp_path_factory.mktemp("server") / "log",
                arguments=BACKENDS["fast"]) as server:
        server.wait_for_runs(*SETTINGS)
        server.wait_for(lambda: server.ask("plugin/text/tags"), lambda tags: len(tags) == 3)
        yield server


@pytest.fixture
def tab(browser, server):
    with tabs.opened(browser, server, pictures="three_runs") as open_tab:
        yield open_tab


def last(logdir, run, tag):
    return values(logdir / run)[tag][-1][1].simple_value


def test_hparams_compare_settings_and_results(server, logdir):
    answer = server.ask("plugin/hparams/session_groups", body={
        "experimentName": "", "colParams": [], "startIndex": 0, "sliceSize": 10,
        "allowedStatuses": ["STATUS_SUCCESS"]})
    found = {group["sessions"][0]["name"]: group for group in answer["sessionGroups"]}
    assert set(found) == set(SETTINGS)
    for name, settings in SETTINGS.items():
        hparams = found[name]["hparams"]
        assert {key: hparams[key] for key in settings} == settings
        assert hparams["ranks"] == 1
        metrics = {metric["name"]["tag"]: metric["value"] for metric in found[name]["metricValues"]}
        assert metrics == {tag: last(logdir, name, tag) for tag in METRICS}
        assert metrics["accuracy"] >= 0.95


def test_the_ordered_product_is_faster_and_the_same(server, logdir):
    """What the comparison is for. A busy machine stops programs, but not in all of twelve steps."""
    def quickest(name):
        return min(value.simple_value for _, value in values(logdir / name)["hipboard_time/cpu_ms"])
    assert quickest("ordered") < quickest("plain")
    losses = {name: [(step, value.simple_value) for step, value in values(logdir / name)["loss"]]
              for name in SETTINGS}
    assert [step for step, _ in losses["plain"]] == [step for step, _ in losses["ordered"]]
    assert losses["plain"][0][1] == pytest.approx(losses["ordered"][0][1], rel=1e-4)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_route_gives_what_the_file_has(server, logdir, name):
    """TensorBoard's server on one side, TensorBoard's reader of files on the other."""
    logged = values(logdir / name)
    plugins = {tag: found[0][1].metadata.plugin_data.plugin_name for tag, found in logged.items()}
    scalars = {tag for tag, found in logged.items() if found[0][1].HasField("simple_value")}
    assert server.scalar_tags(name) == scalars and len(scalars) > 15
    for tag in scalars:
        assert server.scalars(name, tag) == [
            (step, value.simple_value) for step, value in logged[tag]]
    histograms = {tag for tag, found in logged.items() if found[0][1].HasField("histo")}
    assert set(server.ask("plugin/histograms/tags")[name]) == histograms == {
        "hipboard_time/steps_ms"}
    found = server.ask("plugin/histograms/histograms", run=name, tag="hipboard_time/steps_ms")
    assert [(step, sum(count for _, _, count in buckets)) for _, step, buckets in found] == [
        (step, value.histo.num) for step, value in logged["hipboard_time/steps_ms"]]
    texts = {tag for tag, plugin in plugins.items() if plugin == "text"}
    assert set(server.ask("plugin/text/tags")[name]) == texts == {
        f"hipboard/{text}/text_summary" for text in ("environment", "advice", "top_operators")}
    for tag in texts:
        shown = server.ask("plugin/text/text", run=name, tag=tag)
        assert [text["step"] for text in shown] == [step for step, _ in logged[tag]]
    layout = server.ask("plugin/custom_scalars/layout")
    assert [part["title"] for part in layout["category"]] == ["Time", "Memory", "Communication"]


def test_both_plugins_show_the_same_run_names(server):
    server.wait_for(lambda: server.ask("plugin/pytorch_profiler/runs"),
                    lambda found: found["runs"] == sorted(SETTINGS) and not found["loading"])
    assert sorted(server.ask("runs")) == sorted(SETTINGS)


def test_the_hparams_pages(tab):
    page = tab("hparams", size=(1560, 420))
    page.wait_for("Number of matching session groups: 3", *SETTINGS, *COLUMNS)
    rows = page.rows("vaadin-grid-cell-content")
    table = [[cell for cell in row if cell and "Show" not in cell] for row in rows]
    assert [cell for cell in table[0] if cell != "git"] == ["Trial ID", *COLUMNS]
    for name, *cells in table[1:]:
        batch, gemm, *_ = cells
        assert (float(batch), gemm) == (SETTINGS[name]["batch"], SETTINGS[name]["gemm"])
    assert sorted(row[0] for row in table[1:]) == sorted(SETTINGS)


def test_parallel_coordinates_have_a_line_for_each_run(tab):
    page = tab("hparams", size=(1560, 760))
    page.wait_for("Number of matching session groups: 3")
    assert page.parallel_coordinates() in (len(COLUMNS), len(COLUMNS) + 1) # with git or without
    page.wait_for("Color by", *COLUMNS)
    lines = page.page.locator("tf-hparams-parallel-coords-plot g.foreground path[d]")
    assert lines.count() == len(SETTINGS)
    assert all("NaN" not in line.get_attribute("d") for line in lines.all())


def test_the_scalars_page(tab):
    page = tab("scalars")
    page.wait_for("loss", "accuracy", "hipboard_time", "hipboard_memory", *SETTINGS)
    for group in ("accuracy", "hipboard_memory", "loss", "hipboard_time"): # folds, unfolds
        page.page.locator("tf-category-paginated-view").filter(
            has=page.page.get_by_text(group, exact=True)).first.locator("button").first.click()
    page.lines("tf-scalar-card", 3 * 5)
    page.page.wait_for_timeout(1000)
    page.wait_for("step_ms", "data_loader_ms")


def test_the_text_page(tab):
    page = tab("text")
    page.wait_for("hipboard/advice", "hipboard/environment", "hipboard/top_operators", *SETTINGS)
    for text in ("git commit", "operator", "calls"): # they come one by one
        page.page.locator("tf-text-loader").get_by_text(text, exact=True).first.wait_for(timeout=300000)
    cells = page.page.locator("tf-text-loader td td").all_inner_texts()
    assert {"program", "digits", "git commit", "operator", "calls"} <= set(cells) | set(
        page.page.locator("tf-text-loader th").all_inner_texts())


def test_the_histograms_and_custom_scalars_pages(tab):
    tab("histograms").wait_for("hipboard_time/steps_ms", *SETTINGS)
    tab("custom_scalars").wait_for("Time", "Memory", "Communication")
