// SPDX-License-Identifier: MIT
// The timeline. Keys as in Perfetto: W S closer and further, A D along, F what is chosen, / search.
import { clean, cut, fill, h, named } from './h.js';
import { count, fold, many, moment, nice, time } from './words.js';
import { ask, embedded } from './source.js';
import { get, put } from './state.js';
import { color } from './chart.js';
import { Slices, lowerBound } from './slices.js';
import { Counters } from './counters.js';
import { paintLanes, palette } from './raster.js';
import { Strip, Trail } from './strip.js';
import { tableOf } from './table.js';

const LANE = 18, HEAD = 22, RULER = 24;
const CLASSES = ['step', 'op', 'kernel', 'memcpy', 'memset', 'runtime', 'function', 'annotation', 'other'];
const ns = (value) => time(value / 1e3);

export class Timeline {
  constructor(trace, tracks) {
    Object.assign(this, { trace, tracks, selected: null, range: null, hits: null, folded: new Set(), links: [] });
    this.slices = new Slices(trace, tracks, () => this.request());
    this.counters = new Counters(trace, this);
    this.trackOf = new Uint32Array(tracks.lanes);
    tracks.tracks.forEach((track, t) => { for (let i = 0; i < track.lanes; i++) this.trackOf[track.first + i] = t; });
    tracks.tracks.forEach((track, t) => { if (track.lanes > 24) track.limit = 24; if (tracks.tracks.length > 60 && t > 40 && track.kind === 'thread') this.folded.add(t); });
    this.from = 0;
    this.to = tracks.span || 1;
    this.element = this.build();
    this.theme();
  }

  // ---- the parts of the view

  build() {
    this.canvas = h('canvas', { class: 'lanes' });
    this.over = h('canvas', { class: 'over', tabindex: '0', role: 'application', 'aria-label': `Timeline of ${count(this.tracks.slices)} slices in ${many(this.tracks.tracks.length, 'track')}. Arrow keys walk from slice to slice, W and S zoom, A and D move, T lists what is seen as a table.` });
    this.strip = new Strip(this);
    this.space = h('div', { class: 'space' });
    this.pane = h('div', { class: 'pane', onscroll: () => this.request(), tabindex: '-1' }, h('div', { class: 'stick' }, this.canvas, this.over), this.space);
    this.search = h('input', { type: 'search', placeholder: 'Search  /', 'aria-label': 'Search slices by name', spellcheck: 'false' });
    this.search.addEventListener('keydown', (event) => { if (event.key === 'Enter') { this.step(event.shiftKey ? -1 : 1); event.preventDefault(); } if (event.key === 'Escape') this.over.focus(); });
    this.search.addEventListener('input', () => { put({ find: this.search.value }); this.look(); });
    this.found = h('span', { class: 'dim', role: 'status' });
    this.where = h('span', { class: 'dim where' });
    this.trail = new Trail((from, to) => { this.goTo(from, to); this.over.focus(); });
    this.note = h('p', { class: 'note dim' });
    this.panel = h('div', { class: 'panel', role: 'region', 'aria-label': 'What is chosen', 'aria-live': 'polite' });
    const button = (text, title, act) => h('button', { title, onclick: () => { act(); this.over.focus(); } }, text);
    const bar = h('div', { class: 'bar' }, this.search, button('‹', 'The one before ([)', () => this.step(-1)), button('›', 'The next one (])', () => this.step(1)), this.found, h('span', { class: 'push' }),
      this.trail.element, this.where, button('+', 'Closer (W)', () => this.zoom(0.5)), button('−', 'Further (S)', () => this.zoom(2)), button('All', 'All of it (0)', () => this.all()), button('Table', 'What is seen, as a table (T)', () => this.list()));
    this.listen();
    return h('div', { class: 'timeline' }, bar, this.strip.canvas, this.counters.element, this.pane, this.note, this.panel);
  }

  async start() {
    await Promise.all([this.slices.load(), this.counters.load()]);
    new ResizeObserver(() => this.request()).observe(this.pane);
    await this.take();
  }

  /** The address is another one; while slices still come, start() takes it. */
  follow() {
    if (this.slices.windows.length) this.take();
  }

  /** Shows what the address says. */
  async take() {
    clearTimeout(this.saving); // of what was seen before
    this.search.value = get('find');
    [this.from, this.to] = get('from') && get('to') ? [Number(get('from')), Number(get('to'))] : [0, this.tracks.span];
    this.range = /^\d+-\d+$/.test(get('mark')) ? get('mark').split('-').map(Number) : null;
    this.selected = null;
    this.links = [];
    fill(this.panel);
    this.clamp();
    this.look(true);
    this.request();
    if (this.range) this.tellRange();
    const slice = get('slice');
    if (!/^\d+$/.test(slice)) return;
    const [place] = await this.slices.places([Number(slice)]);
    if (place && get('slice') === slice) this.choose(this.slices.at(place), !get('from'));
  }

  theme() {
    this.colors = Object.fromEntries([...CLASSES.map((name) => [name, color(`t-${name}`)]), ['paper', color('paper')], ['ink', color('ink')]]);
    this.palette = palette(this.tracks.names, this.colors, this.marked ?? null);
    this.request();
  }

  // ---- where things are

  get left() {
    return this.pane.clientWidth < 700 ? 96 : 168;
  }

  /** [{track, y, lanes}] from the top of all tracks, in px. */
  layout() {
    let y = RULER;
    const rows = this.tracks.tracks.map((track, t) => {
      const shown = this.folded.has(t) ? 0 : Math.min(track.lanes, track.limit ?? Infinity);
      const row = { track, t, y, shown };
      y += HEAD + shown * LANE + 4;
      return row;
    });
    return { rows, height: y };
  }

  x(at) {
    return this.left + ((at - this.from) / (this.to - this.from)) * (this.pane.clientWidth - this.left);
  }

  timeAt(x) {
    return this.from + ((x - this.left) / (this.pane.clientWidth - this.left)) * (this.to - this.from);
  }

  clamp() {
    const span = this.tracks.span || 1;
    let length = Math.min(Math.max(this.to - this.from, 20), span * 1.04);
    if (!Number.isFinite(length)) length = span;
    this.from = Math.max(-0.02 * span, Math.min(Number.isFinite(this.from) ? this.from : 0, span * 1.02 - length));
    this.to = this.from + length;
  }

  goTo(from, to, keep = false) {
    if (keep) this.trail.push(this.from, this.to);
    this.from = from;
    this.to = to;
    this.clamp();
    this.request();
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.element.isConnected && put({ from: Math.round(Math.max(0, this.from)), to: Math.round(this.to) }), 150);
  }

  all() {
    this.trail.clear();
    this.goTo(0, this.tracks.span);
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.goTo(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  pan(share) {
    const by = (this.to - this.from) * share;
    this.goTo(this.from + by, this.to + by);
  }

  /** What is drawn at a place of the canvas: {window, lane, index}, or null. */
  pick(px, py) {
    if (px < this.left) return null;
    const y = py + this.pane.scrollTop, row = this.layout().rows.findLast((r) => y >= r.y);
    if (!row) return null;
    const l = Math.floor((y - row.y - HEAD) / LANE);
    if (l < 0 || l >= row.shown) return null;
    const window = this.slices.best(this.from, this.to), lane = window.lanes[row.track.first + l];
    const at = this.timeAt(px), slack = (this.to - this.from) / (this.pane.clientWidth - this.left) * 2;
    for (let i = lowerBound(lane.ends, at - slack, lane.n); i < lane.n && lane.starts[i] <= at + slack; i++) if (lane.ends[i] >= at - slack) return { window, lane: row.track.first + l, index: i };
    return null;
  }

  // ---- drawing

  request() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; if (this.element.isConnected && this.slices.windows.length) this.draw(); });
  }

  size(canvas, width, height) {
    const ratio = devicePixelRatio, w = Math.round(width * ratio), tall = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    if (canvas.width !== w || canvas.height !== tall) { canvas.width = w; canvas.height = tall; }
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }

  draw() {
    const { rows, height: all } = this.layout();
    this.pane.style.setProperty('--all', `${all + 2}px`);
    const width = this.pane.clientWidth, height = this.pane.clientHeight, ratio = devicePixelRatio;
    this.space.style.height = `${Math.max(0, all - height)}px`;
    const scroll = this.pane.scrollTop, window = this.slices.best(this.from, this.to);
    this.slices.want(this.from, this.to, (this.to - this.from) / (width - this.left));
    this.counters.want(this.from, this.to, (this.to - this.from) / (width - this.left));
    this.counters.draw(width);
    const context = this.size(this.canvas, width, height);
    const lanes = [], labels = [];
    for (const row of rows) {
      for (let l = 0; l < row.shown; l++) {
        const y = row.y + HEAD + l * LANE - scroll;
        if (y > height || y + LANE < RULER) continue;
        lanes.push({ lane: window.lanes[row.track.first + l], y: Math.round(y * ratio), height: Math.round((LANE - 1) * ratio) });
        labels.push([window.lanes[row.track.first + l], y]);
      }
    }
    const begun = performance.now();
    const pixels = Math.max(1, Math.round((width - this.left) * ratio));
    if (!this.image || this.image.width !== pixels || this.image.height !== this.canvas.height) this.image = new ImageData(pixels, Math.max(1, this.canvas.height));
    paintLanes(this.image, lanes, this.from, this.to, this.palette);
    context.putImageData(this.image, Math.round(this.left * ratio), 0);
    context.fillStyle = this.colors.paper;
    context.fillRect(0, 0, this.left, height);
    this.drawNames(context, labels, width);
    this.drawHeads(context, rows, scroll, width, height);
    this.drawRuler(context, width, height);
    this.drawOver();
    this.strip.draw();
    this.painted = performance.now() - begun;
    this.where.textContent = `From ${moment(Math.max(0, this.from) / 1e3, (this.to - this.from) / 1e4)}, ${ns(this.to - this.from)} wide`;
    this.tellOutline(window, width);
    this.element.dataset.painted = this.painted.toFixed(1);
    this.element.dataset.frames = Number(this.element.dataset.frames ?? 0) + 1;
  }

  drawNames(context, labels, width) {
    const scale = (width - this.left) / (this.to - this.from);
    let left = 500;
    context.font = `11px ${color('font')}`;
    this.letter ??= context.measureText('aten::convolution_backward').width / 26;
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    for (const [lane, y] of labels) {
      for (let i = lowerBound(lane.ends, this.from, lane.n); i < lane.n && lane.starts[i] < this.to && left > 0; i++) {
        const wide = (Math.min(lane.ends[i], this.to) - Math.max(lane.starts[i], this.from)) * scale;
        if (wide < 36) {
          // What is too narrow for a text is passed over together.
          const next = lowerBound(lane.ends, lane.starts[i] + 36 / scale, lane.n);
          if (next > i + 1) i = next - 1;
          continue;
        }
        const name = lane.names[i];
        context.fillStyle = this.palette.dark[name] ? '#111418' : '#ffffff';
        context.fillText(cut(clean(this.tracks.names[name][0].slice(0, 300)), Math.max(1, Math.floor((wide - 7) / this.letter))), Math.max(this.x(lane.starts[i]), this.left) + 4, y + (LANE - 1) / 2);
        left--;
      }
    }
  }

  title(track) {
    if (track.kind === 'thread') return /^\d+$/.test(track.tid) ? [`Thread ${track.tid}`, `process ${track.pid}`] : [track.tid, track.pid];
    return [`${track.kind === 'stream' ? 'Stream' : 'Annotations'} ${track.tid}`, `GPU ${track.pid}`];
  }

  drawHeads(context, rows, scroll, width, height) {
    for (const row of rows) {
      const y = row.y - scroll;
      if (y > height || y + HEAD + row.shown * LANE < 0) continue;
      context.fillStyle = color('line');
      context.fillRect(0, y, width, 1);
      const [title, where] = this.title(row.track);
      context.fillStyle = color('ink');
      context.font = `600 12px ${color('font')}`;
      context.textBaseline = 'middle';
      context.textAlign = 'left';
      const hidden = row.track.lanes - row.shown;
      context.fillText(`${this.folded.has(row.t) ? '▸' : '▾'} ${cut(clean(title), Math.floor((this.left - 24) / 7.6))}`, 8, y + HEAD / 2 + 1);
      context.fillStyle = color('dim');
      context.font = `11px ${color('font')}`;
      if (row.shown > 0) context.fillText(cut(clean(where), Math.floor((this.left - 26) / 6.4)), 22, y + HEAD + LANE / 2);
      if (hidden > 0) context.fillText(`${hidden} more ${hidden === 1 ? 'lane' : 'lanes'}: click`, this.left + 8, y + HEAD / 2);
      else if (!this.folded.has(row.t) && row.shown > 1) context.fillText(`${count(row.track.slices)} slices`, 22, y + HEAD + LANE * 1.5);
    }
  }

  drawRuler(context, width, height) {
    context.fillStyle = this.colors.paper;
    context.fillRect(0, 0, width, RULER);
    const step = nice(this.to - this.from, Math.max(2, (width - this.left) / 110));
    context.font = `11px ${color('font')}`;
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) {
      const x = Math.round(this.x(at)) + 0.5;
      context.fillStyle = color('line');
      context.fillRect(x - 0.5, RULER - 8, 1, 8);
      context.globalAlpha = 0.35;
      context.fillRect(x - 0.5, RULER, 1, height);
      context.globalAlpha = 1;
      context.fillStyle = color('dim');
      if (x < width - 40) context.fillText(at < step / 2 ? '0' : moment(at / 1e3, step / 1e3), x + 4, RULER / 2);
    }
    context.fillStyle = color('line');
    context.fillRect(0, RULER - 1, width, 1);
    context.fillRect(this.left - 1, 0, 1, height);
  }

  rectOf(lane, start, end) {
    const t = this.trackOf[lane], row = this.layout().rows[t], l = lane - row.track.first;
    const y = l < row.shown ? row.y + HEAD + l * LANE - this.pane.scrollTop : row.y + 4 - this.pane.scrollTop;
    return { x0: this.x(start), x1: this.x(end), y };
  }

  drawOver() {
    const width = this.pane.clientWidth, height = this.pane.clientHeight;
    const context = this.size(this.over, width, height);
    context.clearRect(0, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(this.left, RULER, width - this.left, height);
    context.clip();
    const range = this.dragging ?? this.range;
    if (range) {
      const x0 = this.x(Math.min(...range)), x1 = this.x(Math.max(...range));
      context.fillStyle = color('accent');
      context.globalAlpha = 0.12;
      context.fillRect(x0, 0, Math.max(x1 - x0, 1), height);
      context.globalAlpha = 1;
      context.fillRect(x0, 0, 1, height);
      context.fillRect(x1, 0, 1, height);
    }
    context.strokeStyle = color('accent');
    context.lineWidth = 2;
    if (this.selected) {
      const { window, lane, index } = this.selected, r = this.rectOf(lane, window.lanes[lane].starts[index], window.lanes[lane].ends[index]);
      context.strokeRect(r.x0 - 1, r.y - 1, Math.max(r.x1 - r.x0, 2) + 2, LANE + 1);
      for (const link of this.links) {
        const to = this.rectOf(link.lane, link.start, link.end), x = link.incoming ? to.x0 : r.x1, back = link.incoming ? r.x0 : to.x0;
        context.lineWidth = 1.5;
        context.beginPath();
        context.moveTo(link.incoming ? to.x1 : x, (link.incoming ? to.y : r.y) + LANE / 2);
        const bend = Math.max(20, Math.abs(back - x) / 2);
        context.bezierCurveTo(x + bend, (link.incoming ? to.y : r.y) + LANE / 2, back - bend, (link.incoming ? r.y : to.y) + LANE / 2, back, (link.incoming ? r.y : to.y) + LANE / 2);
        context.stroke();
      }
    }
    context.restore();
  }

  tellOutline(window, width) {
    const pixel = (this.to - this.from) / (width - this.left), details = this.slices.windows.filter((w) => w.cell === 0);
    const outline = embedded && window.cell > 0 && window.cell > 1.5 * pixel;
    if (this.outlined === outline) return;
    this.outlined = outline;
    fill(this.note, outline && [`This report holds an outline here: slices shorter than ${ns(window.cell)} are drawn together. `, details.length > 0 && ['In full: ', details.map((w, i) => [i ? ', ' : '', h('button', { class: 'link', onclick: () => this.goTo(w.from, w.to, true) }, `${ns(w.from)} + ${ns(w.to - w.from)}`)]), '. '], 'More: hipboard report --max-size 100M']);
  }

  // ---- what is asked

  async look(first = false) {
    const text = this.search.value.trim(), mine = this.looking = (this.looking ?? 0) + 1;
    this.marked = null;
    this.hits = null;
    this.at = -1;
    if (text) {
      const lower = fold(text), exactly = this.tracks.names.map(([name]) => name === text), exact = first && exactly.includes(true);
      this.marked = exact ? exactly : this.tracks.names.map(([name]) => fold(name).includes(lower));
      this.theme();
      const hits = await this.slices.find(this.marked, text, exact);
      if (this.looking !== mine) return;
      this.hits = hits;
    }
    this.found.textContent = this.hits ? this.countHits() : '';
    this.theme();
    if (first && this.hits?.count && !get('from') && !get('slice')) this.step(1);
  }

  countHits() {
    return `${many(this.hits.count, 'slice')}${this.hits.outline ? ' of the outline' : ''}`;
  }

  step(by) {
    if (!this.hits?.hits.length) return;
    this.at = (this.at + by + this.hits.hits.length) % this.hits.hits.length;
    this.choose(this.slices.at(this.hits.hits[this.at]), true);
    this.found.textContent = `${count(this.at + 1)} of ${this.countHits()}`;
  }

  /** Shows a slice, and says all that is known of it. */
  async choose(at, show = false) {
    this.selected = at;
    this.links = [];
    this.range = null;
    const alone = at && at.window.lanes[at.lane].counts[at.index] === 1;
    put({ mark: '', slice: alone ? at.window.lanes[at.lane].rows[at.index] : '' });
    if (!at) { fill(this.panel); this.request(); return; }
    if (show) this.reveal(at);
    this.request();
    const data = at.window.lanes[at.lane], row = data.rows[at.index], name = data.names[at.index];
    const [text, cls] = this.tracks.names[name];
    const start = data.starts[at.index], length = data.ends[at.index] - start, merged = data.counts[at.index];
    const [title, where] = this.title(this.tracks.tracks[this.trackOf[at.lane]]);
    const facts = [['Start', ns(start)], [merged > 1 ? 'From first to last' : 'Duration', ns(length)], ['Kind', cls], ['Where', `${title}, ${where}`]];
    if (merged > 1) facts.push(['Slices', `${count(merged)}, drawn together: zoom in`]);
    const tell = (links) => fill(this.panel, h('div', { class: 'chosen' }, h('h2', null, h('i', { class: `swatch t-${cls}` }), ' ', named(text, 160)),
      h('dl', { class: 'facts' }, facts.map(([label, value]) => [h('dt', null, label), h('dd', null, clean(value))]), links),
      h('p', null, h('button', { class: 'link', onclick: () => { this.search.value = text; put({ find: text }); this.look(true); } }, 'Find all of this name'), ' · ',
        h('button', { class: 'link', onclick: () => this.goTo(start - length * 0.2, start + length * 1.2, true) }, 'Fill the view (F)'))));
    tell();
    const { call, launched } = await this.slices.linked(row);
    if (this.selected !== at) return;
    const made = async (label, others, incoming) => {
      const places = await this.slices.places(others);
      this.links.push(...places.map((place) => ({ ...place, incoming })));
      return places.length > 0 && [h('dt', null, label), h('dd', null, places.slice(0, 6).map((place, i) => [i ? ', ' : '', h('button', { class: 'link', onclick: () => this.choose(this.slices.at(place), true) }, named(this.tracks.names[place.name][0], 60))]), places.length > 6 && ` and ${places.length - 6} more`)];
    };
    const linked = [await made('Launched by', call === null ? [] : [call], true), await made('Launches', launched, false)];
    if (this.selected !== at) return;
    tell(linked);
    this.request();
  }

  reveal({ window, lane, index }) {
    const data = window.lanes[lane], start = data.starts[index], end = data.ends[index];
    const seen = this.to - this.from, length = end - start;
    if (length < seen / 400 || length > seen || start < this.from || end > this.to) {
      const span = length < seen / 400 || length > seen ? Math.max(length * 12, 20) : seen;
      this.goTo((start + end - span) / 2, (start + end + span) / 2);
    }
    const t = this.trackOf[lane];
    this.folded.delete(t);
    if (lane - this.tracks.tracks[t].first >= (this.tracks.tracks[t].limit ?? Infinity)) delete this.tracks.tracks[t].limit;
    const row = this.layout().rows[t], y = row.y + HEAD + (lane - row.track.first) * LANE;
    const { height } = this.layout();
    this.space.style.height = `${Math.max(0, height - this.pane.clientHeight)}px`;
    if (y < this.pane.scrollTop + RULER || y > this.pane.scrollTop + this.pane.clientHeight - 2 * LANE) this.pane.scrollTop = Math.max(0, y - this.pane.clientHeight / 3);
  }

  seenLanes() {
    const top = this.pane.scrollTop, bottom = top + this.pane.clientHeight, lanes = [];
    for (const row of this.layout().rows) for (let l = 0; l < row.shown; l++) { const y = row.y + HEAD + l * LANE; if (y + LANE > top && y < bottom) lanes.push(row.track.first + l); }
    return lanes;
  }

  async tellRange() {
    const range = this.range, [from, to] = [Math.min(...range), Math.max(...range)];
    put({ mark: `${Math.round(from)}-${Math.round(to)}`, slice: '' });
    const { rows, exact } = await this.slices.sums(from, to, this.seenLanes());
    if (this.range !== range) return;
    const table = { title: `${ns(to - from)} from ${ns(from)}, in the tracks that are seen`, columns: [['Name', 'text'], ['Kind', 'text'], ['Slices', 'count'], ['Time within', 'time'], ['Share of range', 'percent'], ['Mean', 'time'], ['Longest', 'time']],
      rows: rows.map(([name, n, within, longest]) => [...this.tracks.names[name], n, within / 1e3, (100 * within) / (to - from || 1), within / 1e3 / n, longest / 1e3]) };
    fill(this.panel, tableOf(table, { id: 'range', sort: 'Time within:down', keep: true, swatch: (row) => `t-${row[1]}`, open: (row) => { this.search.value = row[0]; put({ find: row[0] }); this.look(true); } }),
      !exact && h('p', { class: 'note' }, 'Of an outline: slices that are drawn together count under the longest one’s name.'));
  }

  /** What is seen, as a table: the picture's twin. */
  list() {
    const window = this.slices.best(this.from, this.to), rows = [], most = 20000;
    for (const l of this.seenLanes()) {
      const lane = window.lanes[l], [title, where] = this.title(this.tracks.tracks[this.trackOf[l]]);
      for (let i = lowerBound(lane.ends, this.from, lane.n); i < lane.n && lane.starts[i] < this.to && rows.length < most; i++) rows.push([this.tracks.names[lane.names[i]][0], `${title}, ${where}`, lane.starts[i] / 1e3, (lane.ends[i] - lane.starts[i]) / 1e3, lane.counts[i], l, i]);
    }
    const table = { title: `What is seen: ${many(rows.length, 'slice')}${rows.length === most ? ', the first ones' : ''}`, columns: [['Name', 'text'], ['Track', 'text'], ['Start', 'time'], ['Duration', 'time'], ['Slices', 'count'], ['lane', 'count'], ['index', 'count']], rows };
    const curves = this.counters.table(this.from, this.to);
    fill(this.panel, curves.rows.length > 0 && tableOf(curves, { id: 'curves', keep: true }), tableOf(table, { id: 'seen', sort: 'Start:up', hide: ['lane', 'index'], open: (row) => this.choose({ window, lane: row[5], index: row[6] }, true) }));
    this.panel.scrollIntoView({ block: 'nearest' });
  }

  // ---- hands

  listen() {
    const at = (event) => { const box = this.over.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    let down = null;
    this.over.addEventListener('pointerdown', (event) => {
      down = { x: at(event)[0], y: at(event)[1], from: this.from, to: this.to, pan: event.shiftKey || event.button === 1, top: this.pane.scrollTop };
      this.over.setPointerCapture(event.pointerId);
      this.over.focus();
      event.preventDefault();
    });
    this.over.addEventListener('pointermove', (event) => {
      const [x, y] = at(event);
      if (!down) { this.hover(x, y); return; }
      if (Math.abs(x - down.x) < 4 && !this.dragging && !down.moved) return;
      down.moved = true;
      if (down.pan) {
        const by = ((down.x - x) / (this.pane.clientWidth - this.left)) * (down.to - down.from);
        this.goTo(down.from + by, down.to + by);
        this.pane.scrollTop = down.top + (down.y - y);
      } else { this.dragging = [this.timeAt(down.x), this.timeAt(x)]; this.drawOver(); }
    });
    this.over.addEventListener('pointerup', (event) => {
      const [x, y] = at(event);
      if (this.dragging) {
        this.range = this.dragging.map((t) => Math.max(0, t));
        this.selected = null;
        this.dragging = null;
        this.tellRange();
      } else if (down && !down.moved) this.click(x, y);
      down = null;
      this.request();
    });
    this.over.addEventListener('wheel', (event) => {
      if (event.ctrlKey || event.metaKey) {
        this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.01), this.timeAt(at(event)[0]));
        event.preventDefault();
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        this.pan((event.deltaX || event.deltaY) / 1000);
        event.preventDefault();
      }
    }, { passive: false });
    this.over.addEventListener('keydown', (event) => this.onKey(event));
  }

  hover(x, y) {
    const at = this.pick(x, y);
    this.over.style.cursor = at || x < this.left ? 'pointer' : 'crosshair';
    const data = at && at.window.lanes[at.lane];
    this.over.title = at ? `${clean(this.tracks.names[data.names[at.index]][0]).slice(0, 300)}\n${ns(data.ends[at.index] - data.starts[at.index])}` : '';
  }

  click(x, y) {
    const row = this.layout().rows.findLast((r) => y + this.pane.scrollTop >= r.y);
    if (y > RULER && row && y + this.pane.scrollTop < row.y + HEAD) {
      if (x > this.left && row.track.limit) delete row.track.limit;
      else if (this.folded.has(row.t)) this.folded.delete(row.t);
      else this.folded.add(row.t);
      return;
    }
    this.choose(this.pick(x, y));
  }

  /** What was chosen alone, in what is drawn around it. */
  settle(at) {
    if (!at?.window.alone) return at;
    const window = this.slices.best(this.from, this.to), lane = window.lanes[at.lane], { starts } = at.window.lanes[at.lane];
    const index = lowerBound(lane.ends, starts[0] + 1e-9, lane.n);
    return index < lane.n ? { window, lane: at.lane, index } : at;
  }

  /** Along the lane, to the caller above it or to what is called below. */
  walk(key) {
    const at = this.settle(this.selected);
    if (!at) {
      const lanes = this.seenLanes(), window = this.slices.best(this.from, this.to);
      for (const lane of lanes) {
        const index = lowerBound(window.lanes[lane].ends, this.from, window.lanes[lane].n);
        if (index < window.lanes[lane].n && window.lanes[lane].starts[index] < this.to) { this.choose({ window, lane, index }); return; }
      }
      return;
    }
    const data = at.window.lanes[at.lane], track = this.tracks.tracks[this.trackOf[at.lane]];
    if (key === 'ArrowLeft' || key === 'ArrowRight') {
      const index = at.index + (key === 'ArrowRight' ? 1 : -1);
      if (index >= 0 && index < data.n) this.choose({ ...at, index }, true);
      return;
    }
    const lane = at.lane + (key === 'ArrowDown' ? 1 : -1);
    if (lane < track.first || lane >= track.first + track.lanes) return;
    const other = at.window.lanes[lane], start = data.starts[at.index];
    const index = Math.min(lowerBound(other.ends, key === 'ArrowDown' ? start : start + 1e-9, other.n), other.n - 1);
    if (index >= 0 && other.starts[index] < data.ends[at.index]) this.choose({ ...at, lane, index }, true);
  }

  fit() {
    const data = this.selected && this.selected.window.lanes[this.selected.lane];
    const range = data ? [data.starts[this.selected.index], data.ends[this.selected.index]] : this.range;
    if (!range) return;
    const length = Math.max(Math.abs(range[1] - range[0]), 10), start = Math.min(...range);
    this.goTo(start - length * 0.1, start + length * 1.1, true);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const fast = event.shiftKey ? 3 : 1, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key.startsWith('Arrow')) this.walk(key);
    else {
      const act = {
        w: () => this.zoom(0.8 ** fast), s: () => this.zoom(1.25 ** fast), a: () => this.pan(-0.1 * fast), d: () => this.pan(0.1 * fast),
        f: () => this.fit(), 0: () => this.all(), t: () => this.list(), '[': () => this.step(-1), ']': () => this.step(1),
        '/': () => this.search.focus(), b: () => this.trail.back(),
        Enter: () => this.fit(), Escape: () => this.choose(null),
        m: () => { const data = this.selected?.window.lanes[this.selected.lane]; if (data) { this.range = [data.starts[this.selected.index], data.ends[this.selected.index]]; this.selected = null; this.tellRange(); this.request(); } },
      }[key];
      if (!act) return;
      act();
    }
    event.preventDefault();
  }
}

export async function viewTimeline(trace, about, ready) {
  const tracks = await ask('hb/timeline', { trace });
  if (!tracks.slices) return [h('div', { class: 'empty' }, h('p', null, 'There is nothing with a beginning and an end in this trace.'))];
  const timeline = new Timeline(trace, tracks);
  ready(timeline);
  return [timeline.element];
}
