// SPDX-License-Identifier: MIT
// The ranks of a job: who makes the others wait, each rank in each step, and what the plugin's
// distributed view tells.
import { h, named } from './h.js';
import { count, many, say, time } from './words.js';
import { ask, has } from './source.js';
import { go } from './state.js';
import { columnOf, tableOf } from './table.js';
import { color, picture } from './chart.js';
import { parse } from './raster.js';
import { empty } from './views.js';

const MOST_ROWS = 100000; // of a table of each rank in each step
const MEASURES = [['caused', 'Time that others waited for it'], ['time', 'Step time'], ['communication', 'Time in communication']];

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

/** Ranks from above, steps from the left. `open(rank)`, by their places. */
function heatMap(cells, key, title, open) {
  const values = cells[key], wide = cells.steps.length, high = cells.ranks.length;
  const most = values.reduce((a, b) => Math.max(a, b), 1e-9), top = values.indexOf(most);
  const tall = Math.max(1, Math.min(22, Math.floor(520 / high))), left = tall >= 12 ? 148 : 56, bottom = high * tall;
  const words = (i) => `Rank ${cells.ranks[Math.floor(i / wide)]}, ${cells.workers[Math.floor(i / wide)]}, ${cells.marked ? 'step' : 'part'} ${cells.steps[i % wide]}: ${say('time', values[i])}`;
  const readout = h('p', { class: 'readout dim', role: 'status' }, `Darker is longer; the darkest is ${words(top)}. A click, or Enter after arrow keys, opens that rank.`);
  let chosen = -1;
  const point = (i) => { chosen = i; readout.textContent = words(i); view.draw(); };
  const place = (event) => {
    const x = Math.floor(((event.offsetX - left) / (view.canvas.clientWidth - left)) * wide), y = Math.floor(event.offsetY / tall);
    return x >= 0 && x < wide && y >= 0 && y < high ? y * wide + x : -1;
  };
  const view = picture(`${title} of ${many(high, 'rank')} in ${many(wide, 'step')}, up to ${time(most)}`, bottom + 20, (context, width) => {
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
    for (let y = 0; y < high; y += skip) {
      const name = cells.workers[y];
      context.fillText(tall >= 12 ? (name.length > 18 ? `…${name.slice(-17)}` : name) : String(cells.ranks[y]), left - 8, Math.max(7, (y + 0.5) * tall));
    }
    context.textAlign = 'center';
    const every = Math.ceil(wide / Math.max(1, Math.floor((width - left) / 48)));
    for (let x = 0; x < wide; x += every) context.fillText(String(cells.steps[x]), left + (x + 0.5) * each, bottom + 10);
    if (chosen < 0) return;
    context.strokeStyle = color('ink');
    context.strokeRect(left + (chosen % wide) * each - 0.5, Math.floor(chosen / wide) * tall - 0.5, Math.max(each, 2), Math.max(tall, 2));
  }, {
    tabindex: '0',
    onmousemove: (event) => { const i = place(event); if (i >= 0 && i !== chosen) point(i); },
    onclick: (event) => { const i = place(event); if (i >= 0) open(Math.floor(i / wide)); },
    onkeydown: (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -wide, ArrowDown: wide }[event.key];
      if (by) point(chosen < 0 ? top : Math.max(0, Math.min(values.length - 1, chosen + by)));
      else if (event.key === 'Enter' && chosen >= 0) open(Math.floor(chosen / wide));
      else return;
      event.preventDefault();
    },
  });
  return h('section', null, h('h2', null, `${title}, ranks × steps`), h('figure', null, view.canvas, h('figcaption', { class: 'legend' }, readout)));
}

/** What one reads first. */
function lateWords({ late, inconclusive }) {
  const text = (row, title) => row[columnOf(late, title)];
  if (inconclusive) return `Whether a rank makes the others wait cannot be told: ${inconclusive}.`;
  if (!late?.rows.length) return 'No rank makes the others wait more than chance does.';
  const row = late.rows[0], others = late.rows.length > 1 ? `; ${many(late.rows.length - 1, 'more does', 'more do')}` : '';
  const without = text(row, 'A step without') < 0 ? ` Without that a step takes ${time(-text(row, 'A step without'))} less.` : '';
  const operator = text(row, 'Operator') ? `, above all ${text(row, 'Operator')}` : '';
  return `Rank ${text(row, 'Rank')} makes the others wait, ${time(text(row, 'Others waited'))} in all${others}: ${text(row, 'Because')}${operator}.${without}`;
}

function rankTable(cells) {
  const wide = cells.steps.length;
  const rows = cells.ranks.map((rank, y) => {
    const of = (key) => cells[key].slice(y * wide, (y + 1) * wide), sum = (list) => list.reduce((a, b) => a + b, 0);
    const steps = of('time').filter((value) => value > 0), all = sum(steps), communication = sum(of('communication'));
    return [String(rank), cells.workers[y], steps.length ? all / steps.length : null, steps.length ? Math.max(...steps) : null, all > 0 ? (100 * communication) / all : null, sum(of('caused'))];
  });
  return { title: 'Ranks', columns: [['Rank', 'text'], ['Worker', 'text'], ['Mean step', 'time'], ['Longest step', 'time'], ['In communication', 'percent'], ['Others waited', 'time']], rows };
}

function cellTable(cells) {
  const wide = cells.steps.length;
  const rows = cells.time.map((value, i) => [String(cells.steps[i % wide]), String(cells.ranks[Math.floor(i / wide)]), value, cells.communication[i], cells.caused[i]]);
  return { title: 'Each rank in each step', columns: [[cells.marked ? 'Step' : 'Part', 'text'], ['Rank', 'text'], ['Time', 'time'], ['In communication', 'time'], ['Others waited', 'time']], rows };
}

function studyParts(study, group) {
  const { cells } = study;
  if (!cells?.ranks.length) return [];
  const open = (y) => { const trace = group.find((t) => t.worker === cells.workers[y]); if (trace) go({ view: 'steps', trace: trace.id }); };
  return [h('p', { class: 'headline' }, lateWords(study)),
    MEASURES.map(([key, title]) => cells[key].some((value) => value > 0) && heatMap(cells, key, title, open)),
    tableOf(study.late, { id: 'late', optional: true, keep: true, title: 'Who makes the others wait' }),
    tableOf(rankTable(cells), { id: 'rank', open: (row) => open(cells.ranks.indexOf(Number(row[0]))) }),
    cells.time.length <= MOST_ROWS ? tableOf(cellTable(cells), { id: 'rcells' }) : h('p', { class: 'note dim' }, `${count(cells.time.length)} pairs of a rank and a step are drawn; hipboard ranks --rank N tells of one rank.`)];
}

/** The traces of one run and cycle; the first of them has the answer. */
export async function viewRanks(trace, about) {
  const mine = about.traces.find((t) => t.id === trace);
  const group = about.traces.filter((t) => t.run === mine.run && t.span === mine.span);
  const first = group.find((t) => has('hb/ranks', { trace: t.id }));
  if (group.length < 2 || !first) return [empty('This run has one worker.', 'A distributed run has a trace of each rank in one directory.')];
  const ranks = await ask('hb/ranks', { trace: first.id });
  const together = !ranks.many && [ranks.mismatch && h('p', { class: 'warning' }, `Waiting and transferring cannot be told apart: ${ranks.mismatch}`),
    ranks.left_out.map(([id, why]) => h('p', { class: 'warning' }, named(id), ` is left out: ${why}`)),
    ranks.averages && [tableOf(ranks.averages, { id: 'ravg', title: 'Average step of each rank' }), tableOf(ranks.operations, { id: 'rcoll', sort: 'Total time:down', optional: true }), tableOf(ranks.steps, { id: 'rsteps', title: 'Steps of each rank' })]];
  return [studyParts(ranks.study, group), together,
    ranks.study.notes.map((note) => h('p', { class: 'note dim' }, named(note, 400))),
    ranks.many && h('p', { class: 'note dim' }, 'Of so many ranks, or such long traces, this is made of their digests. hipboard view --view distributed prints the plugin’s table of overlaps and collectives.')];
}
