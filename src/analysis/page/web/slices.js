// SPDX-License-Identifier: MIT
// Slices as they come: windows of lanes in columns of numbers, never an object a slice. Times are ns
// since the trace began.
import { ask, askBytes, embedded, has } from './source.js';

/** Reads unsigned LEB128 numbers. */
class Reader {
  constructor(buffer) {
    this.data = new Uint8Array(buffer);
    this.at = 0;
  }

  next() {
    let byte = this.data[this.at++];
    if (byte < 0x80) return byte;
    let value = byte & 0x7f, scale = 128;
    do {
      byte = this.data[this.at++];
      value += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte >= 0x80);
    return value;
  }

  signed() {
    const value = this.next();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
}

function decodeLane(reader) {
  const n = reader.next();
  const lane = { n, starts: new Float64Array(n), ends: new Float64Array(n), names: new Uint32Array(n), counts: new Uint32Array(n), rows: new Uint32Array(n) };
  for (let i = 0; i < n; i++) lane.starts[i] = reader.next();
  let end = 0;
  for (let i = 0; i < n; i++) {
    lane.starts[i] += end;
    end = lane.ends[i] = lane.starts[i] + reader.next();
  }
  for (let i = 0; i < n; i++) lane.names[i] = reader.next();
  for (let i = 0; i < n; i++) lane.counts[i] = reader.next() + 1;
  let row = 0;
  for (let i = 0; i < n; i++) lane.rows[i] = row += reader.signed();
  return lane;
}

export function decodeSlices(buffer) {
  const reader = new Reader(buffer);
  const from = reader.next(), to = from + reader.next(), cell = reader.next();
  const lanes = Array.from({ length: reader.next() }, () => decodeLane(reader));
  return { from, to, cell, lanes };
}

/** Each piece of device work with the call that launched it, by the rows of the trace. */
function decodeLaunches(buffer) {
  const reader = new Reader(buffer);
  const n = reader.next(), works = new Uint32Array(n), calls = new Uint32Array(n);
  let row = 0;
  for (let i = 0; i < n; i++) works[i] = row += reader.next();
  for (let i = 0; i < n; i++) calls[i] = works[i] + reader.signed();
  return { works, calls };
}

/** The first index whose value is not less. */
export function lowerBound(values, key, n = values.length) {
  let low = 0, high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

const toPlace = ([lane, start, end, name, row]) => ({ lane, start, end, name, row });

/** "0-3,7": numbers in order. */
function inRanges(numbers) {
  const parts = [];
  numbers.forEach((n, i) => {
    if (i && n === numbers[i - 1] + 1) parts.at(-1)[1] = n;
    else parts.push([n, n]);
  });
  return parts.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join();
}

const OUTLINE = 400000; // slices that a server is asked for at once

/** All that is known of a trace's slices. The first window is of the whole, so that there is always
 * something to draw; finer ones are used where they cover what is seen. */
export class Slices {
  constructor(trace, tracks, changed) {
    Object.assign(this, { trace, tracks, changed, windows: [], wanted: null });
  }

  async load() {
    if (!embedded) {
      const cell = this.tracks.slices > OUTLINE ? 2 ** Math.ceil(Math.log2(this.tracks.span / 2048)) : 0;
      this.windows.push(decodeSlices(await askBytes('hb/timeline/slices', { trace: this.trace, cell })));
      return;
    }
    for (let part = 0; has('hb/timeline/slices', { trace: this.trace, part }); part++)
      this.windows.push(decodeSlices(await askBytes('hb/timeline/slices', { trace: this.trace, part })));
  }

  get whole() {
    return this.windows[0];
  }

  /** The finest window that covers these times. */
  best(from, to) {
    let best = this.whole;
    for (const w of this.windows) if (w.cell < best.cell && w.from <= Math.max(from, 0) && w.to >= Math.min(to, this.tracks.span)) best = w;
    return best;
  }

  /** Asks a server for what is seen, if it is not there as fine as a pixel. */
  want(from, to, pixel) {
    if (embedded || this.best(from, to).cell <= pixel) return;
    const size = 2 ** Math.ceil(Math.log2(Math.max(to - from, 1024)));
    const start = Math.max(0, Math.floor((from - size / 2) / (size / 2)) * (size / 2));
    const key = `${start}+${size}`;
    if (this.wanted === key) return;
    this.wanted = key;
    setTimeout(async () => {
      if (this.wanted !== key) return; // what is seen has moved on
      const cell = Math.max(0, Math.floor(size / 4096));
      try {
        const made = decodeSlices(await askBytes('hb/timeline/slices', { trace: this.trace, from: start, to: start + 2.5 * size, cell }));
        this.windows.push(made);
        if (this.windows.length > 8) this.windows.splice(1, 1);
        this.changed();
      } catch { this.wanted = null; }
    }, 40);
  }

  /** Whether a server knows more than is here. */
  get partial() {
    return !embedded && this.whole.cell > 0;
  }

  /** Slices of names that have a mark: {count, hits: places by time, outline}. A place is {lane, start,
   * end, name, row}. A server is told by `text` and `exact` what `marked` says. */
  async find(marked, text, exact, most = 20000) {
    if (this.partial) {
      const made = await ask('hb/timeline/find', { trace: this.trace, text, exact: Number(exact), most });
      return { count: made.count, hits: made.hits.map(toPlace) };
    }
    const hits = [];
    let count = 0;
    this.whole.lanes.forEach((lane, l) => {
      for (let i = 0; i < lane.n; i++) {
        if (!marked[lane.names[i]]) continue;
        count++;
        if (hits.length < most) hits.push(this.placeOf(l, i));
      }
    });
    hits.sort((x, y) => x.start - y.start);
    return { count, hits, outline: this.whole.cell > 0 };
  }

  placeOf(l, i) {
    const lane = this.whole.lanes[l];
    return { lane: l, start: lane.starts[i], end: lane.ends[i], name: lane.names[i], row: lane.rows[i] };
  }

  /** A place as what can be chosen: {window, lane, index}. */
  at({ lane, start, end, name, row }) {
    const here = this.whole.lanes[lane], index = lowerBound(here.starts, start, here.n);
    if (here.starts[index] === start && here.rows[index] === row && here.counts[index] === 1) return { window: this.whole, lane, index };
    const alone = { n: 1, starts: [start], ends: [end], names: [name], counts: [1], rows: [row] };
    return { window: { ...this.whole, cell: 0, alone: true, lanes: { [lane]: alone } }, lane, index: 0 };
  }

  /** By name, what lies between two times: [name, slices, time within, longest]. */
  async sums(from, to, lanes) {
    if (!embedded && this.best(from, to).cell > 0) {
      const made = await ask('hb/timeline/sums', { trace: this.trace, from: Math.round(Math.max(0, from)), to: Math.round(to), lanes: inRanges(lanes) });
      return { rows: made.rows, exact: true };
    }
    const w = this.best(from, to), sums = new Map();
    for (const l of lanes) {
      const lane = w.lanes[l];
      for (let i = lowerBound(lane.ends, from, lane.n); i < lane.n && lane.starts[i] < to; i++) {
        const sum = sums.get(lane.names[i]) ?? [0, 0, 0];
        const within = Math.min(lane.ends[i], to) - Math.max(lane.starts[i], from);
        sum[0] += lane.counts[i];
        sum[1] += within;
        sum[2] = Math.max(sum[2], lane.ends[i] - lane.starts[i]);
        sums.set(lane.names[i], sum);
      }
    }
    return { rows: [...sums].map(([name, sum]) => [name, ...sum]), exact: w.cell === 0 };
  }

  /** Where rows of the trace are drawn: places, of those that there are. */
  async places(rows) {
    if (!rows.length) return [];
    if (this.partial) return (await ask('hb/timeline/rows', { trace: this.trace, rows: rows.join() })).places.map(toPlace);
    if (!this.index) {
      let most = 0;
      for (const lane of this.whole.lanes) for (let i = 0; i < lane.n; i++) if (lane.rows[i] > most) most = lane.rows[i];
      this.index = { lanes: new Int32Array(most + 1).fill(-1), at: new Int32Array(most + 1) };
      this.whole.lanes.forEach((lane, l) => {
        for (let i = 0; i < lane.n; i++) {
          this.index.lanes[lane.rows[i]] = l;
          this.index.at[lane.rows[i]] = i;
        }
      });
    }
    return rows.filter((row) => (this.index.lanes[row] ?? -1) >= 0).map((row) => this.placeOf(this.index.lanes[row], this.index.at[row]));
  }

  /** Rows that a row launched, and the one that launched it. */
  async linked(row) {
    this.launches ??= askBytes('hb/timeline/launches', { trace: this.trace }).then(decodeLaunches).catch(() => ({ works: new Uint32Array(0), calls: new Uint32Array(0) }));
    const { works, calls } = await this.launches;
    const at = lowerBound(works, row);
    const launched = [];
    for (let i = 0; i < calls.length && launched.length < 200; i++) if (calls[i] === row) launched.push(works[i]);
    return { call: works[at] === row ? calls[at] : null, launched };
  }
}
