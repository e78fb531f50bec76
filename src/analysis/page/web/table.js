// SPDX-License-Identifier: MIT
// A table of any length: it sorts, filters as one types, copies as CSV, draws the rows that are seen.
import { fill, h, named } from './h.js';
import { count, exactly, format, many } from './words.js';
import { get, put } from './state.js';

const ROW = 27; // px, as page.css has it
const FULL = 40; // rows up to which all are drawn
const PRINTED = 50; // rows of a long table on paper
const BARS = ' ▁▂▃▄▅▆▇█';
const isText = (kind) => kind === 'text' || kind === 'spark';

let printing = false;
const onPaper = new Set(); // tables that are drawn again for it
function turn(on) {
  printing = on;
  onPaper.forEach((table) => table.redraw());
}
matchMedia('print').addEventListener('change', (event) => turn(event.matches));
window.addEventListener('beforeprint', () => turn(true));
window.addEventListener('afterprint', () => turn(false));

/** Of what is not on the page any more; not while a view is made, which is not on it yet. */
export function forgetTables() {
  for (const table of onPaper) if (!table.element.isConnected) onPaper.delete(table);
}

function csvField(value) {
  const text = value === null ? '' : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The table as CSV, all digits. */
export function toCsv(columns, rows) {
  return [columns.map(([title]) => title), ...rows].map((row) => row.map(csvField).join(',')).join('\n');
}

const isEmpty = (rows, i, kind) => rows.every((row) => row[i] === null || row[i] === '' || (row[i] === 0 && !isText(kind)));

/** A text by which names are in order: 9 before 10, whatever their capitals. */
const orderKey = (text) => text.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(16, '0'));

const MANY = 5000; // rows whose keys are made before anybody asks for them

/** Calls `done` with the keys of a column, made while nothing else is to be done. */
function prepareKeys(rows, column, done) {
  const keys = [];
  const go = (deadline) => {
    while (keys.length < rows.length && deadline.timeRemaining() > 1)
      for (const end = Math.min(rows.length, keys.length + 500); keys.length < end;) keys.push(orderKey(rows[keys.length][column]));
    if (keys.length < rows.length) requestIdleCallback(go);
    else done(keys);
  };
  window.requestIdleCallback?.(go);
}

/** Rows by a column; those that are equal as they were. Keys are made once, not for each comparison. */
function sortedBy(rows, column, kind, down, made) {
  const keys = made ?? (isText(kind) ? rows.map((row) => orderKey(row[column])) : Float64Array.from(rows, (row) => row[column] ?? -Infinity));
  const order = Uint32Array.from(rows, (_, i) => i), sign = down ? -1 : 1;
  const by = (a, b) => (keys[a] < keys[b] ? -sign : keys[a] > keys[b] ? sign : a - b);
  if (order.every((i) => i === 0 || by(i - 1, i) <= 0)) return rows; // as answers often come
  order.sort(by);
  return Array.from(order, (i) => rows[i]);
}

function pattern(text) {
  try {
    return new RegExp(text, 'i');
  } catch {
    return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
  }
}

const LETTER = 7.8, NARROW = 740; // px; of the page's font, and of tables with few columns
const OTHERS = 48; // letters of texts behind the first column

class TableView {
  /** `open(row)`: what a row leads to; `swatch(row)`: a role's class; `indent`: column of depths. */
  constructor(table, options) {
    this.options = { id: 't', top: 0, ...options };
    this.table = table;
    this.all = table.rows;
    const hidden = new Set(this.options.hide ?? []);
    const left = (i) => hidden.has(table.columns[i][0]) || i === this.options.indent ||
      (this.all.length && !this.options.keep && i > 0 && isEmpty(this.all, i, table.columns[i][1]));
    this.shown = table.columns.map((_, i) => i).filter((i) => !left(i));
    const leftOut = table.columns.map((_, i) => i).filter((i) => !this.shown.includes(i) && !hidden.has(table.columns[i][0]) && i !== this.options.indent && !isText(table.columns[i][1]));
    const [unknown, zero] = [true, false].map((none) => leftOut.filter((i) => this.all.every((row) => row[i] === null) === none).map((i) => table.columns[i][0]));
    this.empty = [unknown.length && `Not known: ${unknown.join(', ')}.`, zero.length && `Nothing but zeros in ${zero.join(', ')}.`].filter(Boolean).join(' ');
    this.formats = table.columns.map(([, kind], i) => (isText(kind) ? null : format(kind, this.all.map((row) => row[i]))));
    this.active = 0;
    if (this.all.length > MANY && table.columns[0][1] === 'text') prepareKeys(this.all, 0, (keys) => { this.keys = keys; });
    this.element = this.build();
    this.apply();
  }

  key(name) {
    return `${this.options.id}.${name}`;
  }

  build() {
    const { table, options } = this;
    this.status = h('span', { class: 'dim', role: 'status' });
    this.filter = h('input', {
      type: 'search', placeholder: 'Filter', 'aria-label': `Filter ${table.title}`, spellcheck: 'false',
      oninput: () => { put({ [this.key('q')]: this.filter.value }); this.apply(); },
    });
    this.filter.value = get(this.key('q'));
    const copy = h('button', { onclick: () => this.copy(), title: 'Copies all rows that are shown, with all digits (key c)' }, 'Copy CSV');
    this.head = h('tr');
    this.body = h('tbody');
    const grid = h('table', { 'aria-label': table.title, 'aria-rowcount': this.all.length + 1 }, h('thead', null, this.head), this.body);
    this.scroll = h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `${table.title}, table`,
      onscroll: () => this.draw(), onkeydown: (event) => this.onKey(event) }, grid);
    const room = this.measure();
    if (this.shown.length > 4 || room < 0) grid.classList.add('wide');
    const long = this.all.length > FULL && !options.top;
    if (long) this.scroll.classList.add('long');
    if (long) onPaper.add(this);
    const note = this.empty && this.all.length > 0 && h('p', { class: 'dim note' }, this.empty);
    const bar = this.all.length > 8 ? [this.filter, this.status, copy] : [this.status, copy];
    const heading = options.title === '' ? null : h('h2', null, options.title ?? table.title);
    return h('section', { class: 'table' }, h('div', { class: 'bar' }, heading, h('span', { class: 'push' }), bar), this.scroll, note);
  }

  /** How long a name may be so that all columns are seen, in letters; how many a narrow table has left. */
  measure() {
    const texts = ([title], i) => this.all.slice(0, 100).reduce((most, row) => Math.max(most, String(row[i] ?? '').length), title.length);
    const lengths = this.shown.map((i) => {
      const column = this.table.columns[i];
      return column[1] === 'text' ? Math.min(texts(column, i), OTHERS) + 3 : Math.max(column[0].length + 6, column[1] === 'percent' ? 14 : 10);
    });
    const others = lengths.slice(1).reduce((sum, length) => sum + length, 0);
    this.most = Math.max(28, Math.min(90, Math.floor((innerWidth - 210) / LETTER) - others));
    return NARROW / LETTER - others - (lengths[0] ?? 0);
  }

  apply() {
    const { columns } = this.table;
    const query = this.filter.value && pattern(this.filter.value);
    const texts = columns.map(([, kind], i) => (kind === 'text' ? i : -1)).filter((i) => i >= 0);
    let rows = query ? this.all.filter((row) => texts.some((i) => query.test(row[i]))) : this.all;
    const [title, direction] = (get(this.key('sort')) || this.options.sort || '').split(':');
    this.sorted = columns.findIndex((column) => column[0] === title);
    this.down = direction !== 'up';
    if (this.sorted >= 0) rows = sortedBy(rows, this.sorted, columns[this.sorted][1], this.down, this.sorted === 0 && rows === this.all ? this.keys : undefined);
    this.rows = this.options.top ? rows.slice(0, this.options.top) : rows;
    this.status.textContent = query ? `${count(rows.length)} of ${many(this.all.length, 'row')}` : this.all.length > 8 ? many(this.all.length, 'row') : '';
    this.active = Math.min(this.active, Math.max(this.rows.length - 1, 0));
    this.drawHead();
    this.first = -1;
    this.draw();
  }

  drawHead() {
    fill(this.head, this.shown.map((i) => {
      const [title, kind] = this.table.columns[i];
      const sorted = i === this.sorted;
      const unit = this.formats[i]?.unit;
      const sort = () => {
        const down = sorted ? !this.down : kind !== 'text';
        put({ [this.key('sort')]: `${title}:${down ? 'down' : 'up'}` });
        this.apply();
        this.head.querySelectorAll('button')[this.shown.indexOf(i)]?.focus();
      };
      return h('th', { scope: 'col', class: kind, 'aria-sort': sorted ? (this.down ? 'descending' : 'ascending') : undefined },
        h('button', { onclick: sort }, title, unit && h('span', { class: 'unit' }, ` ${unit}`), h('span', { class: 'arrow', 'aria-hidden': 'true' }, sorted ? (this.down ? ' ↓' : ' ↑') : '')));
    }));
  }

  cell(row, i) {
    const [, kind] = this.table.columns[i];
    const value = row[i];
    if (kind === 'spark') return this.spark(value);
    if (kind === 'text') {
      const first = i === this.shown[0];
      const depth = first && this.options.indent !== undefined && this.sorted < 0 ? row[this.options.indent] : 0;
      const swatch = first && this.options.swatch?.(row);
      const text = named(value, first ? this.options.cut ?? this.most : OTHERS);
      const open = first && this.options.open;
      return h(first ? 'th' : 'td', { class: 'text', scope: first ? 'row' : undefined, vars: depth ? { '--depth': depth } : undefined },
        swatch && h('i', { class: `swatch ${swatch}` }), open ? h('button', { class: 'link', onclick: () => open(row) }, text) : text);
    }
    if (value === null) return h('td', { class: kind, title: 'not known' }, '–');
    const share = kind === 'percent' ? { '--share': `${Math.max(0, Math.min(100, value))}%` } : undefined;
    return h('td', { class: kind, title: exactly(kind, value), vars: share }, this.formats[i].text(value));
  }

  /** How much of each step: bars, the highest of which is the most. */
  spark(value) {
    const most = value.indexOf('8') + 1, many = value.length;
    const label = value ? `most in ${many < 32 ? 'step' : 'part'} ${most} of ${many}${value.includes('0') ? `, nothing in ${[...value].filter((c) => c === '0').length}` : ''}` : 'not known';
    return h('td', { class: 'spark', title: label }, value ? h('span', { role: 'img', 'aria-label': label }, [...value].map((c) => BARS[c]).join('')) : '–');
  }

  redraw() {
    this.first = -1;
    this.draw();
  }

  row(i) {
    return h('tr', { class: i === this.active && this.moved ? 'active' : undefined, 'aria-rowindex': i + 2 }, this.shown.map((c) => this.cell(this.rows[i], c)));
  }

  rowsOf(first, last) {
    return this.rows.slice(first, last).map((_, i) => this.row(first + i));
  }

  spacer() {
    return h('tr', { 'aria-hidden': 'true' }, h('td', { class: 'spacer', colspan: this.shown.length }));
  }

  /** The rows that are seen, and some around them. */
  draw() {
    const long = this.scroll.classList.contains('long') && !printing;
    const first = long ? Math.max(0, Math.min(this.rows.length, Math.floor(this.scroll.scrollTop / ROW)) - 8) : 0;
    const last = long ? Math.min(this.rows.length, first + Math.ceil((this.scroll.clientHeight || 600) / ROW) + 16) : Math.min(this.rows.length, printing && this.scroll.classList.contains('long') ? PRINTED : Infinity);
    if (first === this.first && last === this.last) return;
    if (long && this.first >= 0 && first < this.last && last > this.first) this.shift(first, last);
    else this.drawAll(long, first, last);
    this.first = first;
    this.last = last;
    if (!long) return;
    for (const [spacer, rows] of [[this.above, first], [this.below, this.rows.length - last]]) {
      spacer.hidden = rows === 0;
      spacer.firstChild.style.setProperty('--height', `${rows * ROW}px`);
    }
  }

  drawAll(long, first, last) {
    this.above = long && this.spacer();
    this.below = long && this.spacer();
    const rest = !long && last < this.rows.length && h('tr', null, h('td', { class: 'text dim', colspan: this.shown.length }, `and ${many(this.rows.length - last, 'row')} more`));
    fill(this.body, this.above, this.rowsOf(first, last), this.below, rest,
      this.rows.length === 0 && h('tr', null, h('td', { class: 'text dim', colspan: this.shown.length }, this.all.length ? 'No row has that in its names.' : 'Nothing of this was recorded.')));
  }

  /** Rows that stay seen stay the elements that they are: one may be pressed, or have the focus. */
  shift(first, last) {
    for (let i = this.first; i < first; i++) this.above.nextSibling.remove();
    for (let i = this.last; i > last; i--) this.below.previousSibling.remove();
    this.above.after(...this.rowsOf(first, Math.min(last, this.first)));
    this.below.before(...this.rowsOf(Math.max(first, this.last), last));
  }

  move(by) {
    this.moved = true;
    this.active = Math.max(0, Math.min(this.rows.length - 1, this.active + by));
    if (this.scroll.classList.contains('long')) {
      const y = this.active * ROW, height = this.scroll.clientHeight - 2 * ROW;
      if (y < this.scroll.scrollTop) this.scroll.scrollTop = y;
      else if (y > this.scroll.scrollTop + height) this.scroll.scrollTop = y - height;
    }
    this.first = -1;
    this.draw();
  }

  onKey(event) {
    if (event.target.tagName === 'INPUT' || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.floor(this.scroll.clientHeight / ROW) - 2;
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (by) this.move(by === Infinity ? this.rows.length : by === -Infinity ? -this.rows.length : by);
    else if (event.key === 'c') this.copy();
    else if (event.key === 'Enter' && event.target === this.scroll && this.options.open && this.rows[this.active]) this.options.open(this.rows[this.active]);
    else return;
    event.preventDefault();
  }

  async copy() {
    const kept = this.table.columns.map(([, kind], i) => (kind === 'spark' ? -1 : i)).filter((i) => i >= 0);
    const text = toCsv(kept.map((i) => [this.table.columns[i][0]]), this.rows.map((row) => kept.map((i) => row[i])));
    this.copied = text; // for who cannot reach the clipboard
    try {
      await navigator.clipboard.writeText(text);
      this.status.textContent = `${many(this.rows.length, 'row')} copied`;
    } catch {
      const area = h('textarea', { class: 'copied', 'aria-label': `${this.table.title} as CSV`, readonly: true });
      area.value = text;
      this.element.append(area);
      area.select();
      this.status.textContent = 'The browser does not give its clipboard away: copy the text below';
    }
  }
}

/** A section with the table; null when it has no rows and `options.optional` says so. */
export function tableOf(table, options = {}) {
  if (!table || (options.optional && !table.rows.length)) return null;
  return new TableView(table, options).element;
}

/** The column of that title, or of that number of rows' values. */
export const columnOf = (table, title) => table.columns.findIndex((column) => column[0] === title);
export const valuesOf = (table, title) => { const i = columnOf(table, title); return table.rows.map((row) => row[i]); };
