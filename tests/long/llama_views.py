# SPDX-License-Identifier: MIT
"""llama_views.py OUT COMMAND...: a program that nobody has marked, llama.cpp as Debian built it, with the table of
samples/llama.ops: its steps, its operators' shapes and FLOPs and the kernels below them, in the real plugin. Pictures
in tests/out. Without HIP graphs, in which a batch has one launch for all its operators."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e")]
from browser import OUT, Browser  # noqa: E402
from server import TensorBoard  # noqa: E402

BUILD = ROOT / "build"
# What llama-bench decodes: a batch of 64 to warm up and one for its round, then a token and four. The first
# batch loads the kernels and is left out.
PROMPT, TOKENS, STEPS = 64, 4, [f"ProfilerStep#{n}" for n in range(1, 6)]


def record(logdir, command):
    shutil.rmtree(logdir, ignore_errors=True)
    environment = dict(os.environ, SIMHSA_LIBRARY_DIR=str(BUILD / "tools/simhsa"), SIMHSA_ARCH="gfx1030",
                       GGML_CUDA_DISABLE_GRAPHS="1")
    done = subprocess.run(
        [ROOT / "tools/simhsa/in_suite", "llama", BUILD / "tools/hipboard/hipboard", "record", "-o",
         logdir / "llama", "--ops", ROOT / "samples/llama.ops", "--slice", "1h", "--schedule",
         f"wait=0,warmup=1,active={len(STEPS)},repeat=1", "--", *command, "-p", str(PROMPT), "-n", str(TOKENS), "-r", "1"],
        env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(done.stderr)
    print(*[line for line in done.stderr.splitlines() if line.startswith("hipboard")], sep="\n")
    [path] = (logdir / "llama").glob("*.pt.trace.json")
    return json.loads(path.read_text())


def of(trace, category):
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and e.get("cat") == category]


def within(e, outer):
    return e["tid"] == outer["tid"] and outer["ts"] <= e["ts"] <= e["ts"] + e["dur"] <= outer["ts"] + outer["dur"]


def kernels_of(trace, scope):
    calls = {e["args"]["correlation"] for e in of(trace, "Runtime") if within(e, scope)}
    return [e for e in of(trace, "kernel") if e["args"]["correlation"] in calls]


def faults(trace):
    steps = [e for e in of(trace, "user_annotation") if e["name"].startswith("ProfilerStep#")]
    if sorted(e["name"] for e in steps) != STEPS:
        yield f"steps {sorted(e['name'] for e in steps)}, not {STEPS}"
    for step in steps:
        if not kernels_of(trace, step):
            yield f"{step['name']} has no kernel"
    products = [e for e in of(trace, "cpu_op") if e["name"] == "hipblasGemmEx"]
    if not products:
        yield "no hipblasGemmEx"
    for e in products:
        (m, k), (k_again, n) = e["args"]["Input Dims"]
        if k != k_again or n != PROMPT or e["args"]["flops"] != 2 * m * n * k:
            yield f"{e['args']['Input Dims']} with {e['args'].get('flops')} FLOPs"
        if e["args"]["Input Strides"] != [[k, 1], [1, k]]:
            yield f"strides {e['args']['Input Strides']}: A lies transposed, B does not"
        if not kernels_of(trace, e):
            yield "hipblasGemmEx without a kernel"
    known = {e["args"]["External id"] for e in of(trace, "cpu_op")}
    alone = [e for e in of(trace, "kernel") if e["args"]["External id"] not in known]
    if alone:
        yield f"{len(alone)} kernels without an operator, such as {alone[0]['name']}"


def photograph(logdir, log):
    with TensorBoard(logdir, log) as board:
        board.wait_until_loaded()
        browser = Browser()
        page = browser.open(board.url)
        page.choose_run("llama")
        for view, words in {"Overview": ["GPU Summary", "(simulated)", "Step Time Breakdown"],
                            "Operator": ["hipblasGemmEx", "[[256, 256], [256, 64]]"],
                            "Kernel": ["Cijk_", "rms_norm"],
                            "Trace": ["llama-bench", "GPU 0", "stream 1"]}.items():
            page.choose_view(view)
            if view == "Operator":
                group = page.page.locator(".MuiSelect-root").count() - 1
                page._choose(group, "Operator + Input Shape")
                page.settle()
                page.page.locator("input[type=search], input[type=text]").last.fill("gemm")
                page.settle()
                page.page.locator(".ant-table-wrapper").first.screenshot(path=OUT / "llama_shapes.png")
            print(page.screenshot(f"llama_{view}"))
            text = page.text()
            missing = [word for word in words if word not in text]
            if missing:
                yield f"{view}: no {missing} in {text[:300]}"
        yield from page.errors
        page.close()
        browser.close()


def main(out, *command):
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    trace = record(out / "views", command)
    found = [*faults(trace), *photograph(out / "views", out / "tensorboard.log")]
    for fault in found:
        print(f"FAULT: {fault}")
    return not found


if __name__ == "__main__":
    sys.exit(0 if main(*sys.argv[1:]) else 1)
