# SPDX-License-Identifier: MIT
"""HolisticTraceAnalysis, an independent reader of Kineto traces, finds in a trace of the kineto
dialect what the program did."""
import statistics
import warnings

import pytest

from support import DigitsRun, operator_calls

hta = pytest.importorskip("hta.trace_analysis")


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    return DigitsRun(tmp_path_factory.mktemp("hta") / "runs" / "kineto",
                     "--workers", 2, "--gzip", "--dialect", "kineto")


@pytest.fixture(scope="module", params=[0, 1])
def cycle(request, training):
    """(HTA's table of a cycle's events, what the program counted in it, the JSON itself)."""
    path = training.files[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        analysis = hta.TraceAnalysis(trace_files={0: str(path)}, trace_dir=str(path.parent),
                                     include_last_profiler_step=True)
        analysis.t.decode_symbol_ids(use_shorten_name=False)
    document = list(training.documents())[request.param]
    return analysis.t.get_trace(0), training.cycles[request.param], document["traceEvents"]


def test_steps(cycle):
    table, counted, _ = cycle
    steps = table[table["s_name"].str.startswith("ProfilerStep#")].sort_values("ts")
    assert list(steps["s_name"]) == [f"ProfilerStep#{s['number']}" for s in counted["steps"]]
    # A busy machine may stop the program between two looks at the clock for once.
    off = [abs(duration - 1e6 * step["seconds"])
           for duration, step in zip(steps["dur"], counted["steps"])]
    assert statistics.median(off) < 500


def test_operators(cycle):
    table, counted, _ = cycle
    calls = table[table["s_cat"] == "cpu_op"].groupby("s_name").size().to_dict()
    assert calls == operator_calls(counted)


def test_durations_and_ids(cycle):
    table, _, events = cycle
    spans = [e for e in events if e["ph"] == "X" and e["cat"] in ("cpu_op", "user_annotation")]
    read = table[table["s_cat"].isin(["cpu_op", "user_annotation"])]
    assert len(read) == len(spans)
    # HTA cuts times down to whole microseconds.
    assert read["dur"].sum() == pytest.approx(sum(e["dur"] for e in spans), abs=2 * len(spans))
    assert set(read["external_id"]) == {e["args"]["External id"] for e in spans}
    assert set(read["tid"]) == {e["tid"] for e in spans}


def test_every_operator_lies_in_its_step(cycle):
    table, counted, _ = cycle
    numbers = {step["number"] for step in counted["steps"]}
    main = table[table["s_name"].str.startswith("ProfilerStep#")]["tid"].iloc[0]
    # Shorter ones may be moved out of their step by HTA's rounding.
    operators = table[(table["s_cat"] == "cpu_op") & (table["tid"] == main) & (table["dur"] > 2)]
    assert set(operators["iteration"]) == numbers
