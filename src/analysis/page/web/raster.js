// SPDX-License-Identifier: MIT
// Lanes into pixels: each lane is one line of colours, in which the longest slice of a pixel wins,
// and which is then copied as often as the lane is high.
import { lowerBound } from './slices.js';

/** The parts of a colour of page.css, which may be one of the system's. */
export function parse(css) {
  let text = css;
  if (!css.startsWith('#')) {
    const context = document.createElement('canvas').getContext('2d');
    context.fillStyle = css;
    text = context.fillStyle;
  }
  const n = parseInt(text.slice(1), 16);
  return [n >> 16 & 255, n >> 8 & 255, n & 255];
}
const pack = ([r, g, b]) => (0xff000000 | Math.round(b) << 16 | Math.round(g) << 8 | Math.round(r)) >>> 0;
const mix = (a, b, share) => a.map((v, i) => v + (b[i] - v) * share);
const light = ([r, g, b]) => (0.299 * r + 0.587 * g + 0.114 * b) / 255;

function hash(text) {
  let sum = 2166136261;
  for (let i = 0; i < Math.min(text.length, 200); i++) sum = Math.imul(sum ^ text.charCodeAt(i), 16777619);
  return (sum >>> 0) / 4294967296;
}

/** Colours of names: of their class, a little lighter or darker each. `marked`: names that are lit, or
 * null; others fade. */
export function palette(names, colors, marked) {
  const paper = parse(colors.paper), ink = parse(colors.ink);
  const fill = new Uint32Array(names.length), edge = new Uint32Array(names.length), dark = new Uint8Array(names.length);
  names.forEach(([text, cls], i) => {
    const base = parse(colors[cls] ?? colors.other), shade = hash(text) - 0.5;
    let rgb = mix(base, shade > 0 ? [255, 255, 255] : [0, 0, 0], Math.abs(shade) * 0.45);
    if (marked && !marked[i]) rgb = mix(rgb, paper, 0.8);
    fill[i] = pack(rgb);
    edge[i] = pack(mix(rgb, paper, 0.55));
    dark[i] = light(rgb) > 0.55 ? 1 : 0;
  });
  return { fill, edge, dark, paper: pack(paper), band: pack(mix(paper, ink, 0.035)) };
}

/** Draws lanes into `image`. `lanes`: [{lane, y, height}] in pixels, only those that are seen. */
export function paintLanes(image, lanes, from, to, colors) {
  const width = image.width, pixels = new Uint32Array(image.data.buffer);
  const scale = width / (to - from), longest = new Float64Array(width), line = new Uint32Array(width);
  pixels.fill(colors.paper);
  for (const { lane, y, height } of lanes) {
    longest.fill(-1);
    line.fill(colors.paper);
    const last = lowerBound(lane.starts, to, lane.n);
    for (let i = lowerBound(lane.ends, from, lane.n); i < last; i++) {
      const start = lane.starts[i], end = lane.ends[i], name = lane.names[i], length = end - start;
      let x0 = (start - from) * scale | 0, x1 = Math.ceil((end - from) * scale);
      if (start < from) x0 = 0;
      if (x1 > width) x1 = width;
      if (x1 <= x0) x1 = x0 + 1;
      if (x1 - x0 === 1) {
        if (length > longest[x0]) { longest[x0] = length; line[x0] = colors.fill[name]; }
        continue;
      }
      const color = colors.fill[name];
      for (let x = x0; x < x1; x++) if (length > longest[x]) { longest[x] = length; line[x] = color; }
      if (x1 - x0 > 3 && start >= from) line[x0] = colors.edge[name];
    }
    const top = Math.max(0, y), bottom = Math.min(image.height, y + height);
    for (let row = top; row < bottom; row++) pixels.set(line, row * width);
  }
}
