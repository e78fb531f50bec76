# SPDX-License-Identifier: MIT
"""TensorBoard's own tabs in a real browser."""
from contextlib import contextmanager

from browser import OUT, PATIENCE_MS

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


class Tab:
    def __init__(self, browser, server, name, pictures="event_log", size=(1500, 1000)):
        self.name = name
        self.pictures = pictures
        self.errors = []
        self.page = browser.new_page(size)
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

    def parallel_coordinates(self):
        """The number of axes of the HParams tab's plot."""
        self.page.get_by_text("Parallel Coordinates View").click()
        self.name = "hparams_parallel"
        self.page.locator("tf-hparams-parallel-coords-plot svg .axis").first.wait_for()
        return self.page.locator("tf-hparams-parallel-coords-plot svg .axis").count()

    def wait_for(self, *parts):
        """Waits until the page says all of it, then keeps a picture."""
        for _ in range(PATIENCE_MS // 250):
            self.page.wait_for_timeout(250)
            text = self.text()
            if all(part in text for part in parts):
                break
        missing = [part for part in parts if part not in text]
        assert not missing, f"{self.name} does not show {missing}: {text[:3000]}"
        OUT.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=OUT / f"{self.pictures}_{self.name}.png")
        assert self.errors == []


@contextmanager
def opened(browser, server, **defaults):
    """Opens tabs by name and closes them all at the end."""
    tabs = []

    def open_tab(name, **options):
        tabs.append(Tab(browser, server, name, **defaults, **options))
        return tabs[-1]
    yield open_tab
    for each in tabs:
        each.page.context.close()
