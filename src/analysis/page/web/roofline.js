// SPDX-License-Identifier: MIT
// What operators and kernels achieved, beside what the GPU can do.
import { clean, h } from './h.js';
import { digits, say, time } from './words.js';
import { ask } from './source.js';
import { go } from './state.js';
import { columnOf, tableOf } from './table.js';
import { color, picture } from './chart.js';
import { empty } from './views.js';

const EDGE = { left: 84, right: 16, top: 10, bottom: 34 };

/** Whole powers of ten around the values. */
function decades(values) {
  const logs = values.filter((v) => v > 0).map(Math.log10);
  const low = Math.floor(logs.reduce((a, b) => Math.min(a, b), Infinity)), high = Math.ceil(logs.reduce((a, b) => Math.max(a, b), -Infinity));
  return [low, Math.max(high, low + 1)];
}

const power = (n) => (n < -2 || n > 5 ? `1e${n}` : digits(10 ** n));

/** Roofs by GPU and type: as flat as the most operations, as steep as memory is fast. */
function roofsOf(peaks) {
  const at = (title) => columnOf(peaks, title);
  return peaks.rows.map((row) => ({ gpu: row[at('GPU')], type: row[at('Type')], most: Math.max(row[at('Vector GFLOP/s')] ?? 0, row[at('Matrix GFLOP/s')] ?? 0), bandwidth: row[at('GB/s')] ?? 0 })).filter((roof) => roof.most > 0);
}

/** Points by operations a byte and a second, larger the more time they took. */
function chart(table, peaks) {
  const at = (title) => columnOf(table, title), [x, y, us] = [at('FLOP/byte'), at('GFLOP/s'), at('Time')];
  const points = table.rows.filter((row) => row[x] > 0 && row[y] > 0).sort((a, b) => b[us] - a[us]).slice(0, 2000);
  if (!points.length) return null;
  const used = new Set(points.map((row) => row[at('Type')])), roofs = roofsOf(peaks).filter((roof) => used.has(roof.type));
  const [x0, x1] = decades([...points.map((row) => row[x]), ...roofs.filter((r) => r.bandwidth).map((r) => r.most / r.bandwidth)]);
  const [y0, y1] = decades([...points.map((row) => row[y]), ...roofs.map((roof) => roof.most)]);
  const most = points[0][us];
  const words = (row) => `${clean(row[0])}: ${digits(row[y])} GFLOP/s, ${digits(row[x])} FLOP a byte, ${time(row[us])}${row[at('Of the roof')] === null ? '' : `, ${row[at('Of the roof')].toFixed(0)} % of the roof, bound by ${row[at('Bound by')] || 'neither'}`}`;
  const readout = h('p', { class: 'readout dim', role: 'status' }, 'Point at an operator, or walk with the arrow keys from the one that took most time; Enter shows it in the timeline.');
  let chosen = -1, places = [];
  const choose = (i) => { chosen = Math.max(0, Math.min(points.length - 1, i)); readout.textContent = words(points[chosen]); view.draw(); };
  const nearest = (event) => places.reduce((best, [px, py], i) => { const d = (px - event.offsetX) ** 2 + (py - event.offsetY) ** 2; return d < best[1] ? [i, d] : best; }, [-1, 400])[0];
  const open = () => chosen >= 0 && go({ view: 'timeline', find: points[chosen][0] });
  const view = picture(`Roofline: ${points.length} operators by operations a byte and a second; most time went into ${words(points[0])}`, 340, (context, width, height) => {
    const right = width - EDGE.right, bottom = height - EDGE.bottom;
    const px = (v) => EDGE.left + ((Math.log10(v) - x0) / (x1 - x0)) * (right - EDGE.left), py = (v) => bottom - ((Math.log10(v) - y0) / (y1 - y0)) * (bottom - EDGE.top);
    context.strokeStyle = color('line');
    context.fillStyle = color('dim');
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    const line = (ax, ay, bx, by) => { context.beginPath(); context.moveTo(ax, ay); context.lineTo(bx, by); context.stroke(); };
    for (let n = y0; n <= y1; n++) { line(EDGE.left, py(10 ** n), right, py(10 ** n)); context.fillText(power(n), EDGE.left - 6, py(10 ** n)); }
    context.textAlign = 'center';
    for (let n = x0; n <= x1; n++) { line(px(10 ** n), EDGE.top, px(10 ** n), bottom); context.fillText(power(n), Math.min(px(10 ** n), right - 12), bottom + 12); }
    context.textAlign = 'right';
    context.fillText('FLOP a byte', right, bottom + 26);
    context.textAlign = 'left';
    context.fillText('GFLOP/s', EDGE.left + 6, EDGE.top + 9);
    context.textAlign = 'right';
    context.strokeStyle = color('ink');
    roofs.forEach((roof, i) => {
      const ridge = roof.bandwidth ? roof.most / roof.bandwidth : 10 ** x0, start = Math.max(10 ** x0, roof.bandwidth ? 10 ** y0 / roof.bandwidth : 0);
      context.setLineDash(i % 2 ? [5, 3] : []);
      if (ridge > start) line(px(start), py(start * roof.bandwidth), px(ridge), py(roof.most));
      line(px(Math.max(ridge, 10 ** x0)), py(roof.most), right, py(roof.most));
      context.setLineDash([]);
      context.fillStyle = color('ink');
      context.fillText(`${clean(roof.type)}: ${digits(roof.most)} GFLOP/s`, right - 4, py(roof.most) - 8);
    });
    places = points.map((row) => [px(row[x]), py(row[y])]);
    for (let i = points.length - 1; i >= 0; i--) {
      context.beginPath();
      context.arc(...places[i], 3 + 9 * Math.sqrt(points[i][us] / most), 0, 7);
      context.globalAlpha = 0.55;
      context.fillStyle = color('kernel');
      context.fill();
      context.globalAlpha = 1;
      context.lineWidth = i === chosen ? 3 : 1;
      context.strokeStyle = color(i === chosen ? 'accent' : 'paper');
      context.stroke();
      context.lineWidth = 1;
    }
    const free = [];
    context.fillStyle = color('ink');
    context.textAlign = 'left';
    for (const [i, [ax, ay]] of places.slice(0, 12).entries()) {
      if (free.some(([bx, by]) => Math.abs(ax - bx) < 130 && Math.abs(ay - by) < 14)) continue;
      free.push([ax, ay]);
      const name = clean(points[i][0]), text = name.length > 22 ? `${name.slice(0, 21)}…` : name, long = ax + 150 > right;
      context.textAlign = long ? 'right' : 'left';
      context.fillText(text, ax + (long ? -1 : 1) * (8 + 9 * Math.sqrt(points[i][us] / most)), ay);
    }
  }, {
    tabindex: '0',
    role: 'application',
    onmousemove: (event) => { const i = nearest(event); if (i >= 0 && i !== chosen) choose(i); },
    onclick: (event) => { const i = nearest(event); if (i >= 0) { choose(i); open(); } },
    onkeydown: (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (by) choose(chosen < 0 ? 0 : chosen + by);
      else if (event.key === 'Enter') open();
      else return;
      event.preventDefault();
    },
  });
  return h('figure', null, view.canvas, h('figcaption', { class: 'legend' }, readout));
}

export async function viewRoofline(trace) {
  const { operators, inputs, kernels, peaks, kernels_us: all, rated_us: rated } = await ask('hb/roofline', { trace });
  if (!operators.rows.length && !kernels.rows.length) return [empty('No operator tells its operations or its inputs.', 'Record them: record_shapes=True and with_flops=True in PyTorch; hipboard record --ops for libraries’ calls, HB_OP() in C.')];
  const name = (row) => go({ view: 'timeline', find: row[0] });
  return [chart(operators, peaks),
    h('section', null, h('p', { class: 'note dim' }, 'Bytes are those of the inputs, each once, and of a matrix product’s result: the least that has to be moved, so that GB/s and the share of the roof are lower bounds. Far from it: time below 30 % of the roof.'),
    kernels.rows.length > 0 && !peaks.rows.length && h('p', { class: 'note dim' }, 'The GPU’s peaks are not known: the trace does not tell its architecture and clocks (gcnArchName, clockRate in deviceProperties).'),
    rated < all && h('p', { class: 'note dim' }, `${say('percent', 100 * (1 - rated / all))} of the kernels’ time is in no operator that tells operations or inputs.`)),
    tableOf(operators, { id: 'roofop', sort: 'Time:down', open: name }), tableOf(inputs, { id: 'roofin', sort: 'Time:down', optional: true, open: name, title: 'Operators by inputs' }),
    tableOf(kernels, { id: 'roofk', sort: 'Time:down', optional: true, open: name }), tableOf(peaks, { id: 'peaks', optional: true, title: 'What the GPU can do' })];
}
