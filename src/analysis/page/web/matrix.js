// SPDX-License-Identifier: MIT
// Values in rows and columns, as cells that are darker the larger they are. A table says the same.
import { h } from './h.js';
import { color, picture } from './chart.js';
import { parse } from './raster.js';

/** How dark a value is: from the least to the most, where these differ by more than a little. */
function darkness(values, most) {
  const least = values.reduce((a, b) => (b > 0 && b < a ? b : a), most), low = least < 0.9 * most ? 0 : 0.98 * least;
  return (value) => (value > 0 ? 0.08 + (0.92 * (value - low)) / (most - low || 1) : 0.03);
}

/** A pixel a cell, to be stretched: there may be a quarter of a million. */
function cellImage(values, wide, high, most) {
  const canvas = document.createElement('canvas');
  canvas.width = wide;
  canvas.height = high;
  const image = new ImageData(wide, high), [r, g, b] = parse(color('accent')), dark = darkness(values, most);
  values.forEach((value, i) => image.data.set([r, g, b, Math.round(255 * dark(value))], 4 * i));
  canvas.getContext('2d').putImageData(image, 0, 0);
  return canvas;
}

/** `rows`, `columns`: their names; `brief`: of rows that are too low for these; `words(i)`: a cell's,
 * row after row; `open(i)`: where it leads to. `help`: what stands below before a cell is chosen. */
export function matrixOf({ values, rows, columns, brief, label, words, help, open }) {
  const wide = columns.length, high = rows.length, most = values.reduce((a, b) => Math.max(a, b), 1e-9), top = values.indexOf(most);
  const tall = Math.max(1, Math.min(22, Math.floor(520 / high))), left = tall >= 12 ? 148 : 56, bottom = high * tall;
  const readout = h('p', { class: 'readout dim', role: 'status' }, help(words(top)));
  let chosen = -1;
  const point = (i) => { chosen = i; readout.textContent = words(i); view.draw(); };
  const place = (event) => {
    const x = Math.floor(((event.offsetX - left) / (view.canvas.clientWidth - left)) * wide), y = Math.floor(event.offsetY / tall);
    return x >= 0 && x < wide && y >= 0 && y < high ? y * wide + x : -1;
  };
  const short = (name, most) => (name.length > most ? `…${name.slice(1 - most)}` : name);
  const view = picture(label(most), bottom + 20, (context, width) => {
    const each = (width - left) / wide, gap = each > 8 && tall > 4;
    context.imageSmoothingEnabled = false;
    context.drawImage(cellImage(values, wide, high, most), left, 0, width - left, bottom);
    context.fillStyle = color('paper');
    for (let x = 1; gap && x < wide; x++) context.fillRect(left + x * each - 1, 0, 1, bottom);
    for (let y = 1; gap && y < high; y++) context.fillRect(left, y * tall - 1, width - left, 1);
    context.fillStyle = color('dim');
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    const skip = Math.ceil(14 / tall);
    for (let y = 0; y < high; y += skip) context.fillText(tall >= 12 ? short(rows[y], 18) : brief[y], left - 8, Math.max(7, (y + 0.5) * tall));
    context.textAlign = 'center';
    const longest = columns.reduce((a, b) => Math.max(a, b.length), 1), room = Math.max(48, Math.min(7 * longest + 10, 190));
    const every = Math.ceil(wide / Math.max(1, Math.floor((width - left) / room)));
    for (let x = 0; x < wide; x += every) context.fillText(short(columns[x], Math.floor((every * each - 8) / 6.5)), left + (x + 0.5) * each, bottom + 10);
    if (chosen < 0) return;
    context.strokeStyle = color('ink');
    context.strokeRect(left + (chosen % wide) * each - 0.5, Math.floor(chosen / wide) * tall - 0.5, Math.max(each, 2), Math.max(tall, 2));
  }, {
    tabindex: '0',
    onmousemove: (event) => { const i = place(event); if (i >= 0 && i !== chosen) point(i); },
    onclick: (event) => { const i = place(event); if (i >= 0) open(i); },
    onkeydown: (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -wide, ArrowDown: wide }[event.key];
      if (by) point(chosen < 0 ? top : Math.max(0, Math.min(values.length - 1, chosen + by)));
      else if (event.key === 'Enter' && chosen >= 0) open(chosen);
      else return;
      event.preventDefault();
    },
  });
  return h('figure', null, view.canvas, h('figcaption', { class: 'legend' }, readout));
}
