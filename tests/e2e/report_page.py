# SPDX-License-Identifier: MIT
"""hipboard's own page in a headless Chromium: what it shows, asks for and stumbles over."""
import re
from pathlib import Path
from urllib.parse import urlencode

import axe_core_python

from browser import PATIENCE_MS
from support import BUILD, run

HIPBOARD = BUILD / "tools/hipboard/hipboard"
VIEWS = ["overview", "steps", "operators", "kernels", "roofline", "gpu", "timeline", "calls", "memory",
         "modules", "ranks", "compare", "advice"]
AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()

# Each drawn table: its title, columns without units, and rows: texts, and of numbers all digits.
READ_TABLES = """() => [...document.querySelectorAll('section.table')].map((section) => {
  const grid = section.querySelector('table');
  const title = (button) => button.firstChild.textContent;
  return {
    title: grid.getAttribute('aria-label'), count: Number(grid.getAttribute('aria-rowcount')) - 1,
    columns: [...grid.querySelectorAll('thead button')].map(title),
    kinds: [...grid.querySelectorAll('thead th')].map((cell) => cell.className),
    rows: [...grid.querySelectorAll('tbody tr[aria-rowindex]')].map((row) => [...row.children].map((cell) =>
      cell.classList.contains('text') ? cell.querySelector('bdi').title || cell.textContent : cell.title)),
  };
})"""

WATCH = """window.violations = [];
document.addEventListener('securitypolicyviolation', (e) => window.violations.push(e.violatedDirective + ' ' + e.blockedURI));"""


def report(path, *options):
    to = path / "report.html"
    run(HIPBOARD, "report", "-o", to, *options)
    return to


def number(text):
    """Of a cell's title; None where it is not known."""
    found = re.match(r"-?[\d.,e+-]+", text)
    return float(found[0].replace(",", "")) if found else None


CONTRAST = {"runOnly": ["color-contrast"]}  # all that another theme changes
BUT_CONTRAST = {"rules": {"color-contrast": {"enabled": False}}}


def broken_rules(page, **options):
    """Rules of axe that a page or frame breaks, with the first place of each."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE)
    # What holds is not written down at length, which takes longer than to find it out.
    options["resultTypes"] = ["violations"]
    found = page.evaluate("(options) => axe.run(options)", options)["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found]


def add_note(tab, text):
    tab.locator("header button", has_text="Notes").click()
    tab.locator("dialog textarea").fill(text)
    tab.locator("dialog[open] button", has_text="Add").click()
    tab.locator("dialog[open] button", has_text="Close").click()


class ReportPage:
    def __init__(self, browser, file, scheme="light", script=True, width=1280):
        self.file = file
        self.address = file.as_uri()
        self._begin(browser, scheme, script, width)

    def _begin(self, browser, scheme, script, width):
        self.page = browser.new_page((width, 800), color_scheme=scheme, java_script_enabled=script,
                                     reduced_motion="reduce")  # no colour on its way to another
        self.errors, self.requests, self.dialogs = [], [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error.stack)))
        self.page.on("console", lambda line: self.errors.append(line.text)
                     if line.type == "error" else None)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message),
                                               dialog.dismiss()))
        self.page.add_init_script(WATCH)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.page.context.close()

    def open(self, view="overview", **state):
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#{urlencode({'view': view, **state})}")
        return self.wait(view)

    def wait(self, view):
        self.page.wait_for_selector(f"html[data-ready^='{view} ']")
        return self

    def until(self, holds, what):
        """Asks holds() again and again; the page's policy forbids playwright's own wait_for_function()."""
        for _ in range(PATIENCE_MS // 100):
            if holds():
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(what())

    def wait_for_address(self, part):
        address = lambda: self.page.evaluate("location.hash")
        self.until(lambda: part in address(), lambda: f"no {part} in {address()}")

    def tables(self):
        return {table["title"]: table for table in self.page.evaluate(READ_TABLES)}

    def text(self):
        return self.page.locator("body").inner_text()

    def violations(self):
        return self.page.evaluate("window.violations")

    def axe(self, **options):
        return broken_rules(self.page, **options)

    def axe_in_both_themes(self):
        found = []
        for scheme, options in ("light", {}), ("dark", CONTRAST):
            self.page.emulate_media(color_scheme=scheme)
            self.page.locator(f"html[data-theme={scheme}]").wait_for()
            found += [f"{scheme}: {rule}" for rule in self.axe(**options)]
        return found

    def key(self, *names):
        for name in names:
            self.page.keyboard.press(name)

    def lanes(self):
        """Colours of the timeline's lanes: how many pixels each has."""
        return self.page.evaluate("""() => {
          const canvas = document.querySelector('.lanes'), counts = {};
          const { data } = canvas.getContext('2d').getImageData(170, 24, canvas.width - 170, canvas.height - 24);
          const pixels = new Uint32Array(data.buffer);
          for (const p of pixels) counts[p] = (counts[p] ?? 0) + 1;
          return counts;
        }""")
