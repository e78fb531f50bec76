// SPDX-License-Identifier: MIT
// Curves above the lanes, on the timeline's own scale: each from its least to its most, what lies in
// a pixel drawn from the least to the most of it, so that no peak is lost.
import { clean, cut, h } from './h.js';
import { bytes, digits, many } from './words.js';
import { ask, embedded } from './source.js';
import { color } from './chart.js';
import { lowerBound } from './slices.js';

const TALL = 34, MOST = 40;
const sayValue = (counter, value) => (counter.bytes ? bytes(value) : digits(value));

export class Counters {
  /** `view`: left, from, to, span, x(time), timeAt(x), size(canvas, width, height). */
  constructor(trace, view) {
    Object.assign(this, { trace, view, whole: null, fine: null });
    this.canvas = h('canvas', { class: 'curves', role: 'img' });
    this.canvas.addEventListener('pointermove', (event) => this.hover(event));
    this.element = h('div', { class: 'counters', hidden: true }, this.canvas);
  }

  async load() {
    try {
      this.whole = await ask('hb/timeline/counters', { trace: this.trace });
    } catch { return; } // a report of old has none
    const more = this.whole.counters.length - MOST;
    if (!this.whole.counters.length) return;
    this.element.hidden = false;
    if (more > 0) this.element.append(h('p', { class: 'note' }, `${many(more, 'more curve')} not drawn; the table (T) has all.`));
    this.canvas.setAttribute('aria-label', `Curves: ${this.whole.counters.slice(0, MOST).map((c) => `${clean(c.name)}, up to ${sayValue(c, c.high.reduce((a, b) => Math.max(a, b), -Infinity))}`).join('; ')}. T lists them.`);
  }

  /** Asks a server for what is seen, if it is not here as fine as a pixel. */
  want(from, to, pixel) {
    if (embedded || !this.whole?.counters.length || this.best(from, to).cell <= pixel) return;
    const size = 2 ** Math.ceil(Math.log2(Math.max(to - from, 1024))), start = Math.max(0, Math.floor(from / size) * size);
    const key = `${start}+${size}`;
    if (this.wanted === key) return;
    this.wanted = key;
    setTimeout(async () => {
      if (this.wanted !== key) return;
      try {
        const made = await ask('hb/timeline/counters', { trace: this.trace, from: start, to: start + 2 * size, cell: Math.floor(size / 2048) });
        this.fine = made;
        this.view.request();
      } catch { this.wanted = null; }
    }, 60);
  }

  best(from, to) {
    const { fine, whole } = this;
    return fine && fine.from <= Math.max(from, 0) && fine.to >= Math.min(to, whole.to) ? fine : whole;
  }

  draw(width) {
    if (!this.whole?.counters.length) return;
    const { view } = this, counters = this.best(view.from, view.to).counters.slice(0, MOST), height = counters.length * TALL;
    const context = view.size(this.canvas, width, height);
    context.clearRect(0, 0, width, height);
    counters.forEach((counter, i) => this.drawCurve(context, counter, this.whole.counters[i], i * TALL, width));
  }

  drawCurve(context, counter, all, top, width) {
    const { view } = this, { times } = counter;
    const least = all.low.reduce((a, b) => Math.min(a, b), 0), most = all.high.reduce((a, b) => Math.max(a, b), least + 1e-12);
    const y = (value) => top + 3 + (1 - (value - least) / (most - least)) * (TALL - 6);
    const zero = y(Math.max(least, 0));
    context.save();
    context.beginPath();
    context.rect(view.left, top, width - view.left, TALL);
    context.clip();
    for (let i = Math.max(0, lowerBound(times, view.from) - 1); i < times.length && times[i] < view.to; i++) {
      const x0 = view.x(times[i]), x1 = i + 1 < times.length ? view.x(times[i + 1]) : width;
      context.fillStyle = color('area');
      context.fillRect(x0, Math.min(y(counter.last[i]), zero), Math.max(x1 - x0, 1), Math.abs(zero - y(counter.last[i])));
      context.fillStyle = color('accent');
      context.fillRect(x0, y(counter.last[i]) - 0.5, Math.max(x1 - x0, 1), 1);
      context.fillRect(x0, y(counter.high[i]) - 0.5, 1, Math.max(1, y(counter.low[i]) - y(counter.high[i])));
    }
    context.restore();
    context.fillStyle = color('line');
    context.fillRect(0, top + TALL - 1, width, 1);
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    context.fillStyle = color('ink');
    context.font = `12px ${color('font')}`;
    context.fillText(cut(clean(counter.name), Math.floor((view.left - 16) / 6.6)), 8, top + 10);
    context.fillStyle = color('dim');
    context.font = `11px ${color('font')}`;
    context.fillText(`up to ${sayValue(counter, most)}`, 8, top + 24);
  }

  hover(event) {
    const counter = this.best(this.view.from, this.view.to).counters[Math.floor(event.offsetY / TALL)];
    const i = counter ? lowerBound(counter.times, this.view.timeAt(event.offsetX) + 1e-9) - 1 : -1;
    this.canvas.title = i < 0 ? '' : `${clean(counter.name)}: ${sayValue(counter, counter.last[i])}${counter.low[i] < counter.high[i] ? ` (${sayValue(counter, counter.low[i])} to ${sayValue(counter, counter.high[i])})` : ''}`;
  }

  /** The picture's twin: what each curve is between two times. */
  table(from, to) {
    const rows = (this.whole ? this.best(from, to).counters : []).map((counter) => {
      const first = Math.max(0, lowerBound(counter.times, from) - 1), end = lowerBound(counter.times, to);
      const low = counter.low.slice(first, end), high = counter.high.slice(first, end);
      return [`${counter.name}${counter.bytes ? ', bytes' : ''}`, low.reduce((a, b) => Math.min(a, b), Infinity), high.reduce((a, b) => Math.max(a, b), -Infinity), counter.last[end - 1]];
    }).filter((row) => row[3] !== undefined);
    return { title: 'Curves in what is seen', columns: [['Curve', 'text'], ['Least', 'number'], ['Most', 'number'], ['At its end', 'number']], rows };
  }
}
