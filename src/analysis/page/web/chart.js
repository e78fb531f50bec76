// SPDX-License-Identifier: MIT
// Pictures: drawn to the size that they have, in the colours of the theme. Each has a label with its
// message, and a table that says the same stands on the page.
import { h } from './h.js';
import { ROLES, format, say, time } from './words.js';
import { columnOf } from './table.js';

/** A colour of page.css by its name. */
export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const drawn = new Set(); // of pictures on the page: they are drawn again when the theme changes
export function redrawAll() {
  for (const picture of drawn) picture.draw();
}

/** Of what is not on the page any more; not while a view is made, which is not on it yet. */
export function forgetPictures() {
  for (const picture of drawn) if (!picture.canvas.isConnected) drawn.delete(picture);
}

/** A canvas as wide as its place: paint(context, width, height), in px of the page. */
export function picture(label, height, paint, attributes = {}) {
  const canvas = h('canvas', { role: 'img', 'aria-label': label, class: 'picture', vars: { height: `${height}px` }, ...attributes });
  const view = {
    canvas,
    draw() {
      const width = canvas.clientWidth, ratio = devicePixelRatio;
      if (!width) return;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      const context = canvas.getContext('2d');
      context.scale(ratio, ratio);
      context.font = `12px ${color('font') || 'system-ui, sans-serif'}`;
      paint(context, width, height);
    },
  };
  new ResizeObserver(() => view.draw()).observe(canvas);
  drawn.add(view);
  return view;
}

/** Numbers that divide an axis well, from 0 to at least `most`. */
export function ticks(most, wanted = 4) {
  const rough = most / wanted, power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? power;
  const list = [];
  for (let v = 0; v <= most * 1.0001; v += step) list.push(v);
  return list;
}

function axis(context, width, height, left, most, kind) {
  const f = format(kind, [most], 1);
  const y = (v) => height - (v / most) * height;
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (const v of ticks(most / f.scale).map((n) => n * f.scale)) {
    const at = Math.round(y(v)) + 0.5;
    context.strokeStyle = color('line');
    context.beginPath();
    context.moveTo(left, at);
    context.lineTo(width, at);
    context.stroke();
    context.fillStyle = color('dim');
    if (at > 7 && at < height - 4) context.fillText(`${f.text(v)} ${f.unit}`, left - 8, at);
  }
}

const LEFT = 76;

/** Steps as bars of their roles; `open(index)`: a click. Where steps are narrower than pixels, each
 * column shows the longest of its steps. */
export function stepsChart(table, open) {
  const at = ROLES.map(([role]) => columnOf(table, role)), total = columnOf(table, 'Total');
  const rows = table.rows, most = rows.reduce((a, row) => Math.max(a, row[total]), 1e-9);
  const used = ROLES.filter((_, k) => rows.some((row) => row[at[k]] > 0));
  const readout = h('p', { class: 'readout dim', role: 'status' });
  let chosen = -1;
  const span = (w) => Math.min(w - LEFT, rows.length * 120); // a few steps are no walls
  const width = (w) => span(w) / rows.length;
  const paint = (context, w, height) => {
    const bottom = height - 18;
    axis(context, w, bottom, LEFT, most, 'time');
    const each = width(w), gap = each > 6 ? Math.min(3, each * 0.15) : 0;
    const columns = Math.min(rows.length, Math.ceil(span(w)));
    const colors = ROLES.map(([, cls]) => color(cls));
    for (let c = 0; c < columns; c++) {
      const from = Math.floor((c / columns) * rows.length), to = Math.max(from + 1, Math.floor(((c + 1) / columns) * rows.length));
      let row = rows[from];
      for (let i = from + 1; i < to; i++) if (rows[i][total] > row[total]) row = rows[i];
      const x = LEFT + (c / columns) * span(w) + gap / 2, wide = Math.max(span(w) / columns - gap, 1);
      let y = bottom;
      at.forEach((column, k) => {
        const tall = (row[column] / most) * bottom;
        if (!(tall > 0)) return;
        context.fillStyle = colors[k];
        context.fillRect(x, y - tall, wide, tall);
        y -= tall;
      });
      if (chosen >= from && chosen < to) {
        context.strokeStyle = color('accent');
        context.lineWidth = 2;
        context.strokeRect(x - 1, y - 1, wide + 2, bottom - y + 2);
        context.lineWidth = 1;
      }
    }
    context.fillStyle = color('dim');
    context.textAlign = 'center';
    context.textBaseline = 'alphabetic';
    const skip = Math.ceil(rows.length / Math.max(1, Math.floor(span(w) / 48)));
    for (let i = 0; i < rows.length; i += skip) context.fillText(rows[i][0], LEFT + (i + 0.5) * each, height - 4);
  };
  const place = (event) => Math.floor((event.offsetX - LEFT) / width(view.canvas.clientWidth));
  const tell = () => {
    const row = rows[chosen];
    readout.textContent = row ? `Step ${row[0]}: ${time(row[total])} – ${used.map(([role]) => [role, row[columnOf(table, role)]]).filter(([, v]) => v > 0).sort((a, b) => b[1] - a[1]).slice(0, 4).map(([role, v]) => `${role} ${time(v)}`).join(', ')}` : 'Point at a step, or walk with the arrow keys; Enter shows it in the timeline.';
  };
  const choose = (index) => {
    chosen = Math.max(-1, Math.min(rows.length - 1, index));
    tell();
    view.draw();
  };
  const view = picture(`Time of ${rows.length} steps by what it went into; the longest took ${time(most)}`, 190, paint, {
    tabindex: '0',
    role: 'application',
    onmousemove: (event) => { const i = place(event); if (i !== chosen && i >= 0 && i < rows.length) choose(i); },
    onmouseleave: () => choose(-1),
    onclick: () => rows[chosen] && open(chosen),
    onkeydown: (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by) choose(chosen + by);
      else if (event.key === 'Enter' && rows[chosen]) open(chosen);
      else return;
      event.preventDefault();
    },
  });
  tell();
  return h('figure', null, view.canvas, h('figcaption', { class: 'legend' }, used.map(([role, cls]) => h('span', null, h('i', { class: `swatch ${cls}` }), role)), readout));
}

/** Least and most over time, an area; `mark`: a place in 0..1 with its text. `pick(us)`: a click, or a
 * key: Home is the most, arrows go on from there; `picked()`: what was, or null. */
export function curve({ label, low, high, kind, span, mark, pick, picked }) {
  const most = Math.max(...high.map((v) => v ?? 0), 1);
  const readout = h('p', { class: 'readout dim', role: 'status' }, `Most: ${say(kind, most)}`);
  const view = picture(`${label}: up to ${say(kind, most)} within ${time(span)}`, 150, (context, width, height) => {
    const bottom = height - 18, x = (i) => LEFT + (i / high.length) * (width - LEFT), y = (v) => bottom - (v / most) * (bottom - 6);
    axis(context, width, bottom, LEFT, most, kind);
    context.fillStyle = color('area');
    context.strokeStyle = color('accent');
    context.beginPath();
    let begun = false;
    high.forEach((v, i) => {
      if (v === null) return;
      if (!begun) context.moveTo(x(i), bottom);
      begun = true;
      context.lineTo(x(i), y(v));
      context.lineTo(x(i + 1), y(v));
    });
    context.lineTo(width, bottom);
    context.fill();
    context.beginPath();
    high.forEach((v, i) => {
      if (v === null) return;
      context.moveTo(x(i), y(low[i]));
      context.lineTo(x(i), y(v));
      context.lineTo(x(i + 1), y(v));
    });
    context.stroke();
    context.fillStyle = color('dim');
    context.textBaseline = 'alphabetic';
    context.textAlign = 'left';
    for (const v of ticks(span, 8)) {
      const at = LEFT + (v / span) * (width - LEFT);
      context.fillText(time(v), Math.min(at, width - 48), height - 4);
    }
    const chosen = picked?.();
    if (chosen !== null && chosen !== undefined) {
      context.fillStyle = color('accent');
      context.fillRect(LEFT + (chosen / span) * (width - LEFT) - 1, 0, 2, bottom);
    }
    if (mark) {
      const at = LEFT + mark.at * (width - LEFT);
      context.strokeStyle = color('ink');
      context.setLineDash([3, 3]);
      context.beginPath();
      context.moveTo(at, 0);
      context.lineTo(at, bottom);
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = color('ink');
      context.textAlign = mark.at > 0.7 ? 'right' : 'left';
      context.fillText(mark.text, at + (mark.at > 0.7 ? -6 : 6), 12);
    }
  }, {
    ...(pick && { tabindex: '0', onclick: (event) => choose(((event.offsetX - LEFT) / (view.canvas.clientWidth - LEFT)) * span), onkeydown: (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -50, PageDown: 50 }[event.key], peak = (mark?.at ?? 0) * span;
      if (by) choose((picked() ?? peak) + (by * span) / high.length);
      else if (event.key === 'Home') choose(peak);
      else return;
      event.preventDefault();
    } }),
    onmousemove: (event) => {
      const i = Math.floor(((event.offsetX - LEFT) / (view.canvas.clientWidth - LEFT)) * high.length);
      if (high[i] === undefined || high[i] === null) return;
      const range = low[i] === high[i] ? '' : `${say(kind, low[i])} to `;
      readout.textContent = `At ${time((i / high.length) * span)}: ${range}${say(kind, high[i])}`;
    },
  });
  const choose = (us) => { pick(Math.max(0, Math.min(span, us))); view.draw(); };
  return h('figure', null, view.canvas, h('figcaption', { class: 'legend' }, readout));
}

/** Bars by length, each with its name and share: the longest first. `items`: [name, value, class]. */
export function shares(items, kind, whole) {
  const most = Math.max(...items.map(([, value]) => value), 1e-12);
  return h('table', { class: 'shares' }, h('tbody', null, items.map(([name, value, cls, link]) =>
    h('tr', null, h('th', { scope: 'row' }, cls && h('i', { class: `swatch ${cls}` }), link ? h('a', { href: link }, name) : name),
      h('td', { class: 'number' }, say(kind, value)),
      h('td', { class: 'number dim' }, whole > 0 ? `${((100 * value) / whole).toFixed(1)} %` : ''),
      h('td', { class: 'rest' }, h('div', { class: `amount ${cls ?? ''}`, vars: { '--long': `${(100 * value) / most}%` } }))))));
}
