// SPDX-License-Identifier: MIT
// The ranks of a job: who makes the others wait, each rank in each step, and what the plugin's
// distributed view tells.
import { clean, fill, h, named } from './h.js';
import { count, many, say, time } from './words.js';
import { ask, has } from './source.js';
import { get, go, put } from './state.js';
import { columnOf, tableOf, valuesOf } from './table.js';
import { matrixOf } from './matrix.js';
import { empty } from './views.js';

const MOST_ROWS = 100000; // of a table of each rank in each step
const MEASURES = [['caused', 'Time that others waited for it'], ['time', 'Step time'], ['communication', 'Time in communication']];

/** Ranks from above, steps from the left. `open(rank)`, by their places. */
function heatMap(cells, key, title, open) {
  const values = cells[key], wide = cells.steps.length;
  const words = (i) => `Rank ${cells.ranks[Math.floor(i / wide)]}, ${cells.workers[Math.floor(i / wide)]}, ${cells.marked ? 'step' : 'part'} ${cells.steps[i % wide]}: ${say('time', values[i])}`;
  return h('section', null, h('h2', null, `${title}, ranks × steps`), matrixOf({
    values, words, rows: cells.workers, brief: cells.ranks.map(String), columns: cells.steps.map(String),
    label: (most) => `${title} of ${many(cells.ranks.length, 'rank')} in ${many(wide, 'step')}, up to ${time(most)}`,
    help: (top) => `A stronger colour is longer; the strongest is ${top}. A click, or Enter after arrow keys, opens that rank.`,
    open: (i) => open(Math.floor(i / wide)),
  }));
}

// ---- who sends to whom

const MEASURED = [['bytes', 'Bytes'], ['time', 'Time']];

/** A choice that the address keeps. */
function measureChoice(key, now, redraw) {
  return h('label', null, h('span', { class: 'dim' }, 'Shown: '), h('select', { 'aria-label': 'What is shown', onchange: (event) => { put({ [key]: event.target.value }); redraw(); } },
    MEASURED.map(([name, title]) => h('option', { value: name, selected: name === now }, title.toLowerCase()))));
}

/** A table of pairs as a matrix; `names(row)`: its row's and its column's. */
function trafficMatrix(table, key, title, brief, names, columnWords, open) {
  if (!table.rows.length) return null;
  const [first, second] = [0, 1].map((side) => new Set(table.rows.map((row) => names(row)[side])));
  const ranks = [...new Set([...first, ...second])].sort((a, b) => a - b);
  const [rows, columns] = brief === 'rank' ? [ranks, ranks] : [[...first], [...second]];
  const [at, next] = [new Map(rows.map((name, i) => [name, i])), new Map(columns.map((name, i) => [name, i]))];
  const place = h('div');
  const calls = columnOf(table, 'Calls') < 0 ? columnOf(table, 'Messages') : columnOf(table, 'Calls');
  const draw = () => {
    const told = valuesOf(table, 'Bytes').some((v) => v > 0), kind = told && get(key) !== 'time' ? 'bytes' : 'time';
    const column = columnOf(table, MEASURED.find(([name]) => name === kind)[1]);
    const values = new Array(rows.length * columns.length).fill(0), counts = values.slice();
    for (const row of table.rows) {
      const [a, b] = names(row), i = at.get(a) * columns.length + next.get(b);
      values[i] += row[column];
      counts[i] += row[calls];
    }
    const words = (i) => `Rank ${rows[Math.floor(i / columns.length)]} ${columnWords} ${clean(columns[i % columns.length])}: ${say(kind, values[i])} in ${many(counts[i], 'call')}`;
    fill(place, h('div', { class: 'bar' }, h('h2', null, title), h('span', { class: 'push' }), told && measureChoice(key, kind, draw)), matrixOf({
      values, words, rows: rows.map((name) => `rank ${name}`), brief: rows, columns: columns.map(clean),
      label: (most) => `${title}: ${many(rows.length, 'rank')} by ${many(columns.length, brief)}, up to ${say(kind, most)}`,
      help: (top) => `A stronger colour is more; the strongest is ${top}.`, open: (i) => open(Number(rows[Math.floor(i / columns.length)])),
    }));
  };
  draw();
  return h('section', null, place);
}

function trafficParts({ messages, collectives, traffic_cut: cut }, openRank) {
  if (cut) return [h('p', { class: 'note dim' }, 'So many ranks send to so many others that no matrix of them is drawn.')];
  if (!messages) return [];
  return [trafficMatrix(messages, 'sent', 'Who sends to whom', 'rank', (row) => [String(row[0]), String(row[1])], 'to rank', openRank),
    tableOf(messages, { id: 'rmsg', sort: 'Bytes:down', optional: true, keep: true }),
    trafficMatrix(collectives, 'given', 'What each rank gives into collectives', 'collective', (row) => [String(row[0]), row[2] ? `${row[1]}, ${row[2]}` : row[1]], 'in', openRank),
    tableOf(collectives, { id: 'rgiven', sort: 'Bytes:down', optional: true, keep: true })];
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

/** Rows of what `hipboard ranks` says, by the names of its members. */
const tableFrom = (title, columns, list) => ({ title, columns: columns.map(([name, kind]) => [name, kind]), rows: (list ?? []).map((one) => columns.map(([, kind, key, scale = 1]) => (kind === 'text' ? String(one[key] ?? '') : one[key] === null || one[key] === undefined ? null : one[key] * scale))) });

/** Efficiencies, and the collectives, waits and nodes of the job. */
function jobParts({ report }) {
  if (!report) return [];
  const words = { parallel: 'Parallel efficiency', load_balance: 'Load balance', communication: 'Communication', serialization: 'Serialization', transfer: 'Transfer' };
  const efficiency = { title: 'Efficiency', columns: [['What', 'text'], ['Share', 'percent']], rows: Object.entries(words).filter(([key]) => typeof report.efficiency?.[key] === 'number').map(([key, word]) => [word, 100 * report.efficiency[key]]) };
  const classes = tableFrom('Collectives by size', [['Collective', 'text', 'collective'], ['Communicator', 'text', 'communicator'], ['Ranks', 'count', 'ranks'], ['Up to', 'bytes', 'bytes_up_to'], ['Calls', 'count', 'calls'], ['Median transfer', 'time', 'median_us'], ['Skew', 'time', 'skew_us'], ['Bus GB/s', 'number', 'bus_GB_per_s']], report.collectives);
  const waits = tableFrom('Waiting by its kind', [['Kind', 'text', 'kind'], ['Call', 'text', 'call'], ['Communicator', 'text', 'communicator'], ['Up to', 'bytes', 'bytes_up_to'], ['Waits', 'count', 'waits'], ['Time', 'time', 'time_us'], ['Longest', 'time', 'longest_us']], report.waits);
  const nodes = tableFrom('Nodes', [['Node', 'text', 'name'], ['Ranks', 'count', 'ranks'], ['Late on average', 'time', 'late_us'], ['Waited', 'time', 'waited_us'], ['Useful', 'time', 'useful_us']], report.places);
  return [tableOf(efficiency, { id: 'reff', optional: true, keep: true }), tableOf(classes, { id: 'rclass', optional: true }), tableOf(waits, { id: 'rwaits', optional: true, sort: 'Time:down' }), nodes.rows.length > 1 && tableOf(nodes, { id: 'rnodes' })];
}

function studyParts(study, group) {
  const { cells } = study;
  if (!cells?.ranks.length) return [];
  const open = (y) => { const trace = group.find((t) => t.worker === cells.workers[y]); if (trace) go({ view: 'steps', trace: trace.id }); };
  return [h('p', { class: 'headline' }, lateWords(study)),
    MEASURES.map(([key, title]) => cells[key].some((value) => value > 0) && heatMap(cells, key, title, open)),
    tableOf(study.late, { id: 'late', optional: true, keep: true, title: 'Who makes the others wait' }),
    jobParts(study),
    tableOf(rankTable(cells), { id: 'rank', open: (row) => open(cells.ranks.indexOf(Number(row[0]))) }),
    cells.time.length <= MOST_ROWS ? tableOf(cellTable(cells), { id: 'rcells' }) : h('p', { class: 'note dim' }, `${count(cells.time.length)} pairs of a rank and a step are drawn; hipboard ranks --rank N tells of one rank.`),
    trafficParts(study, (rank) => open(cells.ranks.indexOf(rank)))];
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
