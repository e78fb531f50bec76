// SPDX-License-Identifier: MIT
// Memory over time, and who held it: at its peak, in the end, and at any moment that is chosen.
import { fill, h } from './h.js';
import { bytes, count, many, time } from './words.js';
import { ask } from './source.js';
import { get, put } from './state.js';
import { columnOf, tableOf } from './table.js';
import { curve } from './chart.js';
import { empty, goTimeline } from './views.js';

/** torch's name of a device that the plugin calls "GPU0". */
const torchName = (device) => (/^cpu$/i.test(device) ? 'cpu' : `cuda:${/\d+/.exec(device)?.[0] ?? 0}`);

/** What lives at a moment, by holder: largest first. */
function holdersAt(allocations, device, us) {
  const [from, until, size] = ['From', 'Until', 'Bytes'].map((title) => columnOf(allocations, title)), sums = new Map();
  for (const row of allocations.rows) {
    if (row[1] !== device || (row[from] !== null && row[from] > us) || (row[until] !== null && row[until] <= us)) continue;
    const sum = sums.get(row[0]) ?? [0, 0, 0];
    sums.set(row[0], [sum[0] + row[size], Math.max(sum[1], row[size]), sum[2] + 1]);
  }
  const all = [...sums.values()].reduce((total, sum) => total + sum[0], 0);
  const rows = [...sums].map(([name, [sum, most, n]]) => [name, sum, all > 0 ? (100 * sum) / all : 0, most, n]).sort((a, b) => b[1] - a[1]);
  return { title: `At ${time(us)}, ${device}: ${bytes(all)} in ${many(rows.reduce((n, row) => n + row[4], 0), 'allocation')}`, columns: [['Holder', 'text'], ['Bytes', 'bytes'], ['Share', 'percent'], ['Largest', 'bytes'], ['Allocations', 'count']], rows };
}

/** Of more allocations than are listed: what lived at the nearest of the moments that are kept. */
function holdersNear(moments, device, us) {
  const own = moments.rows.filter((row) => row[0] === device);
  if (!own.length) return null;
  const at = own.reduce((best, row) => (Math.abs(row[1] - us) < Math.abs(best - us) ? row[1] : best), own[0][1]);
  const rows = own.filter((row) => row[1] === at), all = rows.reduce((total, row) => total + row[3], 0);
  return { title: `At ${time(at)}, ${device}: ${bytes(all)} in ${many(rows.reduce((n, row) => n + row[4], 0), 'allocation')}`, columns: [['Holder', 'text'], ['Bytes', 'bytes'], ['Share', 'percent'], ['Allocations', 'count']], rows: rows.map((row) => [row[2], row[3], all > 0 ? (100 * row[3]) / all : 0, row[4]]) };
}

function momentOf(memory, made) {
  const device = torchName(made.device), key = `memory.${device}`, top = made.high.reduce((best, v, i) => ((v ?? -1) > (made.high[best] ?? -1) ? i : best), 0);
  const picked = () => (get(key) === '' ? null : Number(get(key))), shown = h('div', { 'aria-live': 'polite' });
  const draw = () => fill(shown, picked() === null ? h('p', { class: 'dim note' }, 'A click, or arrow keys, tell who held it at that moment.') : tableOf(holdersNear(memory.moments, device, picked()) ?? holdersAt(memory.allocations, device, picked()), { id: key, keep: true }));
  const pick = (us) => { put({ [key]: us.toFixed(3) }); draw(); };
  draw();
  return h('section', null, h('h2', null, `${made.device}: allocated over time`),
    curve({ label: made.device, low: made.low, high: made.high, kind: 'bytes', span: memory.span_us, mark: { at: (top + 0.5) / made.high.length, text: `peak ${bytes(made.high[top])}` }, pick, picked }), shown);
}

export async function viewMemory(trace) {
  const memory = await ask('hb/memory', { trace });
  const { curves, devices, peak, end, operators, allocations, allocations_left_out: left } = memory;
  if (!devices.rows.length && !operators.rows.length) return [empty('No memory was recorded.', 'Record it: profile_memory in the profiler’s options, and hb_memory_alloc() where the program allocates.')];
  const from = columnOf(allocations, 'From'), until = columnOf(allocations, 'Until');
  return [curves.filter((made) => made.high.some((v) => v !== null)).map((made) => momentOf(memory, made)),
    tableOf(devices, { id: 'mdev' }), tableOf(peak, { id: 'mpeak' }), tableOf(end, { id: 'mend', optional: true }), tableOf(operators, { id: 'mops', sort: 'Self allocated:down', title: 'Who allocated' }),
    tableOf(allocations, { id: 'mall', optional: true, sort: 'Bytes:down', open: (row) => goTimeline(row[from] ?? 0, row[until] ?? memory.span_us) }),
    left > 0 && h('p', { class: 'note dim' }, `${count(left)} smaller ones are left out here. Who held memory is told with them, at the nearest of 256 moments.`)];
}
