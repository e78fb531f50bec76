# SPDX-License-Identifier: MIT
"""The profiler plugin's page in a headless Chromium, without the internet."""
import os
import re
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "out"
CHARTS = HERE / "charts_standin.js"
# Debian's libjs-webcomponentsjs-custom-element-v0: the part of the polyfill that the trace viewer
# needs of the one it asks the internet for.
COMPONENTS = HERE / "components_standin.js"
CUSTOM_ELEMENTS = Path("/usr/lib/javascript/webcomponentsjs-custom-element-v0/CustomElements.js")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync"]

# How many times slower the scripts of pages are to be: a test that breaks then depends on a moment.
SLOWER = float(os.environ.get("HIPBOARD_TEST_BROWSER_SLOWER", "1"))

PATIENCE_MS = 300000  # with a page on a slow machine: more means that nothing comes any more

# The page's names of views are not always the plugin's.
TITLES = {"Kernel": "GPU Kernel"}


class Browser:
    def __init__(self):
        self.playwright = sync_playwright().start()
        self.chromium = self.playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=ARGUMENTS)

    def close(self):
        self.chromium.close()
        self.playwright.stop()

    def new_page(self, size=(1500, 1200), **options):
        """A page in a context of its own, which closing `page.context` ends."""
        page = self.chromium.new_context(viewport={"width": size[0], "height": size[1]}, **options).new_page()
        page.set_default_timeout(PATIENCE_MS)
        if SLOWER > 1:
            page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        return page

    def open(self, url):
        return ProfilerPage(self.new_page(), url)


class ProfilerPage:
    """One open page of the plugin. `errors` holds what its scripts threw."""

    def __init__(self, page, server_url):
        self.page = page
        self.errors = []
        page.on("pageerror", lambda error: self.errors.append(str(error.stack)))
        page.route(lambda url: not url.startswith(server_url), self._answer_internet)
        page.goto(server_url + "/data/plugin/pytorch_profiler/index.html")
        page.wait_for_selector("main .MuiCard-root")

    def close(self):
        self.page.context.close()

    @staticmethod
    def _answer_internet(route):
        url = route.request.url
        if url.endswith("/charts/loader.js"):
            route.fulfill(content_type="text/javascript", path=CHARTS)
        elif "webcomponents" in url:
            route.fulfill(content_type="text/javascript",
                          body=CUSTOM_ELEMENTS.read_text() + COMPONENTS.read_text())
        elif url.startswith(("data:", "blob:")):
            route.continue_()
        else:
            route.abort()

    def _choose(self, index, text):
        self.page.locator(".MuiSelect-root").nth(index).click()
        option = self.page.locator("li", has_text=re.compile(f"^{re.escape(text)}$"))
        option.first.click()
        self.page.wait_for_selector(".MuiPopover-root", state="detached")

    def choose_run(self, run, until=()):
        self._choose(0, run)
        self.settle(until)

    def choose_view(self, view, until=()):
        self._choose(1, TITLES.get(view, view))
        self.settle(until)

    def settle(self, until=()):
        """Waits until the page asks for nothing more and its text stays the same; or, which is sooner, until it
        has these words and waits for nothing."""
        for _ in range(PATIENCE_MS // 50 if until else 0):
            text = self.text()
            if not self.waits(text) and all(word in text for word in until):
                return
            self.page.wait_for_timeout(50)
        assert not until, f"no {until} in: {self.text()}"
        self.page.wait_for_load_state("networkidle")
        before = None
        for _ in range(PATIENCE_MS // 250):
            self.page.wait_for_timeout(250)
            text = self.text()
            if text == before and not self.waits(text):
                return
            before = text

    def waits(self, text):
        """Whether it says so: by a turning circle, or as the trace viewer does."""
        return "Importing..." in text or self.page.locator(".MuiCircularProgress-root").count() > 0

    def text(self):
        """All text of the view, that of frames too, its blanks collapsed."""
        texts = [self.page.locator("main").inner_text()]
        texts += [frame.locator("body").inner_text() for frame in self.page.frames[1:]]
        texts += self.page.locator("main svg text").all_text_contents()
        return re.sub(r"\s+", " ", " ".join(texts))

    def screenshot(self, name):
        OUT.mkdir(parents=True, exist_ok=True)
        path = OUT / f"{name}.png"
        self.page.screenshot(path=path)
        return path
