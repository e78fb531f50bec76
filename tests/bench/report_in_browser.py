# SPDX-License-Identifier: MIT
"""How long a report of so many slices takes to write, to open and to move about in, in Chromium; or
what `hipboard serve` shows of them, from its cold start on; or the first picture of their timeline beside
torch-tb-profiler's in TensorBoard, both from the cold start of their servers on; or of a table of so many rows.

    python3 tests/bench/report_in_browser.py BUILD [SLICES [serve|beside|table]]
    python3 tests/bench/report_in_browser.py BUILD SLICES write bench.pt.trace.json

Instead of SLICES a file that `write` has made does.
"""
import json
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

ARGUMENTS = ["--no-sandbox", "--disable-gpu"]
MOVE = """async () => {
  const over = document.querySelector('.over'), frames = [], painted = [];
  over.focus();
  let last = performance.now();
  for (let i = 0; i < 240; i++) {
    const key = i % 60 < 24 ? 'w' : i % 60 < 36 ? 'd' : 's';
    over.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    await new Promise(requestAnimationFrame);
    frames.push(performance.now() - last);
    last = performance.now();
    painted.push(Number(document.querySelector('.timeline').dataset.painted));
  }
  const at = (list, share) => list.sort((a, b) => a - b)[Math.floor(share * (list.length - 1))];
  return [at(frames, 0.5), at(frames, 0.95), at(frames, 1), at(painted, 0.5), at(painted, 0.95)];
}"""


def write_trace(path, slices, threads=16):
    """Calls that nest two deep, end to end, in 20 steps on the first of the threads."""
    random.seed(1)
    span = slices / threads * 12
    with open(path, "w") as out:
        out.write('{"traceEvents": [\n')
        for step in range(20):
            out.write('{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 1, '
                      '"tid": 0, "ts": %.3f, "dur": %.3f, "args": {}},\n'
                      % (step, step * span / 20, span / 20 - 0.01))
        for thread in range(threads):
            ts = 0.0
            for _ in range(slices // threads // 4):
                parts = [random.uniform(1, 16) for _ in range(3)]
                for name, start, dur in [("outer", ts, sum(parts) + 2)] + [
                        ("inner", ts + 0.5 + sum(parts[:i]), parts[i] - 0.1) for i in range(3)]:
                    out.write('{"ph": "X", "cat": "cpu_op", "name": "%s_%d", "pid": 1, "tid": %d, '
                              '"ts": %.3f, "dur": %.3f, "args": {}},\n'
                              % (name, random.randrange(200), 100 + thread, start, dur))
                ts += sum(parts) + 2.5
        out.write('{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "bench"}}]}\n')


def look_at(address, tiles=None):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium",
                                             args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1500, "height": 900})
        begun = time.monotonic()
        page.goto(address)
        page.wait_for_selector("html[data-seen^=overview]", timeout=300000)
        print(f"first view      {time.monotonic() - begun:8.2f} s")
        begun = time.monotonic()
        page.evaluate("location.hash = 'view=timeline'")
        page.wait_for_selector("html[data-ready^=timeline]", timeout=120000)
        print(f"timeline        {time.monotonic() - begun:8.2f} s")
        median, p95, most, painted, painted95 = page.evaluate(MOVE)
        print(f"frames          {median:8.1f} ms median, {p95:.1f} p95, {most:.1f} longest")
        print(f"drawing         {painted:8.1f} ms median, {painted95:.1f} p95")
        cdp = page.context.new_cdp_session(page)
        cdp.send("HeapProfiler.collectGarbage")
        usage = cdp.send("Runtime.getHeapUsage")
        total = usage["usedSize"] + usage.get("backingStorageSize", 0)
        if tiles:
            tiles()
        print(f"JavaScript heap {total / 1e6:8.1f} MB, typed arrays included")
        browser.close()


TABLE = """async () => {
  const frame = () => new Promise(requestAnimationFrame), took = [];
  const timed = async (act) => { const begun = performance.now(); act(); await frame(); await frame(); took.push(performance.now() - begun); };
  const section = document.querySelector('section.table'), scroll = section.querySelector('.scroll');
  await new Promise((go) => setTimeout(go, 500)); // nobody reads and clicks in less
  await timed(() => section.querySelector('thead button').click());
  const filter = section.querySelector('input');
  await timed(() => { filter.value = '99$'; filter.dispatchEvent(new Event('input')); });
  filter.value = '';
  filter.dispatchEvent(new Event('input'));
  const frames = [];
  let last = performance.now();
  for (let i = 0; i < 240; i++) {
    scroll.scrollTop += i % 60 < 50 ? 200 : 200000;
    await frame();
    frames.push(performance.now() - last);
    last = performance.now();
  }
  frames.sort((a, b) => a - b);
  return [...took, frames[120], frames[228], frames[239]];
}"""


def write_names(path, rows):
    """As many operators, each of another name."""
    with open(path, "w") as out:
        out.write('{"traceEvents": [\n')
        for i in range(rows):
            out.write('{"ph": "X", "cat": "cpu_op", "name": "name %d", "pid": 1, "tid": 1, "ts": %d, "dur": %.3f, '
                      '"args": {}},\n' % (i, 10 * i, 1 + 8 * random.random()))
        out.write('{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "bench"}}]}\n')


def table(build, rows, directory):
    trace, to = Path(directory) / "names.pt.trace.json", Path(directory) / "report.html"
    write_names(trace, rows)
    subprocess.run([build / "tools/hipboard/hipboard", "report", "-o", to, trace], check=True, stdout=subprocess.DEVNULL)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1500, "height": 900})
        page.goto(f"{to.as_uri()}#view=calls")
        page.wait_for_selector("html[data-ready^=calls]", timeout=120000)
        page.goto(f"{to.as_uri()}#view=overview")
        page.wait_for_selector("html[data-ready^=overview]", timeout=120000)  # what is read of the file is read
        opened = page.evaluate("""async () => {
          const begun = performance.now();
          location.hash = 'view=operators';
          while (!document.documentElement.dataset.ready?.startsWith('operators')) await new Promise(requestAnimationFrame);
          return performance.now() - begun;
        }""")
        by, filtered, median, p95, most = page.evaluate(TABLE)
        print(f"table           {opened:8.0f} ms until {rows} rows are there, {by:.0f} to sort, {filtered:.0f} to filter")
        print(f"scrolling       {median:8.1f} ms median, {p95:.1f} p95, {most:.1f} longest")
        browser.close()


def serve(build, trace):
    process = subprocess.Popen([build / "tools/hipboard/hipboard", "serve", "--port", "0", trace],
                               stdout=subprocess.PIPE, text=True)
    address = process.stdout.readline().strip()
    base, token = address.split("#token=")

    def tiles():
        """Windows of all sizes, as the page asks for them."""
        times, span = [], 0
        def ask(route):
            request = urllib.request.Request(base + route, headers={"X-Hipboard-Token": token})
            begun = time.monotonic()
            with urllib.request.urlopen(request, timeout=300) as reply:
                body = reply.read()
            return time.monotonic() - begun, body
        span = json.loads(ask("hb/timeline?trace=bench")[1])["span"]
        whole = sorted(ask(f"hb/timeline/slices?trace=bench&cell={span // 2048}")[0] for _ in range(5))[2]
        for _ in range(200):
            size = span / 2 ** random.uniform(1, 16)
            start = random.uniform(0, span - size)
            times.append(ask(f"hb/timeline/slices?trace=bench&from={start:.0f}&to={start + size:.0f}"
                             f"&cell={size / 2048:.0f}")[0])
        times.sort()
        print(f"windows         {1e3 * times[100]:8.1f} ms median, {1e3 * times[190]:.1f} p95; "
              f"the whole span {1e3 * whole:.1f}")
        status = Path(f"/proc/{process.pid}/status").read_text()
        print(f"server          {int(status.split('VmRSS:')[1].split()[0]) / 1e3:8.0f} MB")
    try:
        look_at(address, tiles)
    finally:
        process.terminate()
        process.wait()


def first_picture(build, directory):
    begun = time.monotonic()
    process = subprocess.Popen([build / "tools/hipboard/hipboard", "serve", "--port", "0", directory],
                               stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip() + "&view=timeline"
        started = time.monotonic() - begun
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 1500, "height": 900})
            begun = time.monotonic()
            page.goto(address)
            page.wait_for_selector("html[data-ready^=timeline]", timeout=300000)
            took = time.monotonic() - begun
            browser.close()
    finally:
        process.terminate()
        process.wait()
    return started + took


def plugin_picture(directory):
    """Until TensorBoard has read the run; from then until its page's trace view has its tracks."""
    from browser import Browser  # as the tests look at the plugin
    from server import TensorBoard
    begun = time.monotonic()
    with TensorBoard(directory, directory.parent / "tensorboard.log") as board:
        known = {"runs": []}
        while not known["runs"] or known["loading"]:
            time.sleep(0.1)
            with urllib.request.urlopen(board.url + "/data/plugin/pytorch_profiler/runs", timeout=300) as reply:
                known = json.load(reply)
        read = time.monotonic() - begun
        browser = Browser()
        page = browser.open(board.url)
        begun = time.monotonic()
        page._choose(1, "Trace")
        while not any(frame.locator("tr-ui-b-heading").count() for frame in page.page.frames[1:]):
            page.page.wait_for_timeout(50)
        drawn = time.monotonic() - begun
        page.close()
        browser.close()
    return read, drawn


def beside(build, trace):
    directory = trace.parent / "runs"
    (directory / "bench").mkdir(parents=True)
    trace.rename(directory / "bench" / trace.name)
    ours = first_picture(build, directory)
    read, drawn = plugin_picture(directory)
    print(f"first picture   {ours:8.2f} s by hipboard serve; {read + drawn:.2f} s by TensorBoard with "
          f"torch-tb-profiler\n                ({read:.2f} to start and read, {drawn:.2f} to draw): "
          f"{(read + drawn) / ours:.1f} times as long")


def main():
    build, slices = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "1000000"
    if sys.argv[3:4] == ["write"]:
        write_trace(sys.argv[4], int(slices))
        return
    with tempfile.TemporaryDirectory() as directory:
        trace, to = Path(directory) / "bench.pt.trace.json", Path(directory) / "report.html"
        if sys.argv[3:] == ["table"]:
            table(build, int(slices), directory)
            return
        if slices.isdigit():
            write_trace(trace, int(slices))
        else:
            trace.symlink_to(Path(slices).resolve())
        if sys.argv[3:] == ["beside"]:
            beside(build, trace)
            return
        if sys.argv[3:] == ["serve"]:
            serve(build, trace)
            return
        begun = time.monotonic()
        subprocess.run([build / "tools/hipboard/hipboard", "report", "-o", to, trace],
                       check=True, stdout=subprocess.DEVNULL)
        print(f"written         {time.monotonic() - begun:8.2f} s, {trace.stat().st_size / 1e6:.0f} "
              f"MB of text into {to.stat().st_size / 1e6:.1f} MB")
        look_at(to.as_uri())


main()
