// SPDX-License-Identifier: MIT
// The views that are tables and pictures; each gets the trace's id and gives elements.
import { clean, cut, h, later, named } from './h.js';
import { bytes, count, many, roleClass, roleWords, time } from './words.js';
import { ask, has } from './source.js';
import { addressOf, go } from './state.js';
import { columnOf, tableOf, valuesOf } from './table.js';
import { shares, stepsChart } from './chart.js';
import { flameOf, moduleIcicle } from './flame.js';

const median = (values) => { const s = [...values].sort((a, b) => a - b); return s.length % 2 ? s[(s.length - 1) / 2] : (s[s.length / 2 - 1] + s[s.length / 2]) / 2; };
const percent = (part, whole) => (whole > 0 ? (100 * part) / whole : 0);

/** Shows a time of a trace; `name`: only slices of that name are lit. */
export function goTimeline(fromUs, toUs, name) {
  const room = Math.max((toUs - fromUs) * 0.1, 0.05);
  go({ view: 'timeline', from: Math.max(0, Math.round((fromUs - room) * 1e3)), to: Math.round((toUs + room) * 1e3), ...(name ? { find: name } : { mark: `${Math.round(fromUs * 1e3)}-${Math.round(toUs * 1e3)}` }) });
}
const goName = (row) => go({ view: 'timeline', find: row[0] });

function stepWords(steps) {
  const total = columnOf(steps, 'Total'), middle = median(valuesOf(steps, 'Total'));
  const slowest = steps.rows.reduce((a, b) => (b[total] > a[total] ? b : a));
  if (steps.rows.length < 3 || !(slowest[total] > 1.05 * middle)) return '';
  const grown = steps.columns.map(([title, kind], i) => [title, kind === 'time' && i > total ? slowest[i] - median(steps.rows.map((row) => row[i])) : 0]).reduce((a, b) => (b[1] > a[1] ? b : a));
  const why = grown[1] > 0.3 * (slowest[total] - middle) ? `, mostly ${roleWords(grown[0])}` : '';
  return `; the slowest was step ${slowest[0]}, ${percent(slowest[total] - middle, middle).toFixed(0)} % over the median${why}`;
}

/** What one reads first. */
function headline(overview, steps) {
  if (!steps?.rows.length) return `${many(overview.events, 'event')} in ${time(overview.span_us)}, and no steps.`;
  const roles = overview.roles.rows.slice(1).filter((row) => row[1] > 0).sort((a, b) => b[1] - a[1]);
  const top = roles[0];
  const where = top ? `; ${top[2].toFixed(0)} % of it ${roleWords(top[0])}` : '';
  return `${many(steps.rows.length, 'step')} of ${time(median(valuesOf(steps, 'Total')))}${where}${stepWords(steps)}.`;
}

function json(text) {
  try { return JSON.parse(text); } catch { return undefined; }
}

/** Sentences about what was not understood, or is not what it seems. */
export function warnings(overview, { lost } = {}) {
  const m = overview.metadata ?? {};
  const said = [];
  if (overview.simulated) said.push('The GPU is simulated: its durations mean nothing, and neither does what follows from them.');
  if (overview.lost ?? lost) said.push(`The TensorBoard plugin loses this file: ${overview.lost ?? lost}`);
  const damage = (overview.notes ?? []).filter(([, at]) => at !== null);
  if (damage.length) said.push(`The file is damaged: ${damage.slice(0, 3).map(([what, at]) => `${what} (byte ${count(at)})`).join('; ')}${damage.length > 3 ? `; and ${damage.length - 3} more` : ''}. What could be read is shown.`);
  for (const [what, at] of overview.notes ?? []) if (at === null) said.push(`${what}.`);
  if (m.hipboard_lost && json(m.hipboard_lost)) said.push(`Records were lost while it was made: ${m.hipboard_lost.replace(/[{}"]/g, '')}.`);
  if (m.hipboard_lost_by_kill) said.push(`The program was killed: up to ${m.hipboard_lost_by_kill} records are lost.`);
  if (Number(m.hipboard_kernel_sampling) > 1) said.push(`Kernels were timed in one of ${m.hipboard_kernel_sampling} launches: sums over kernels are of those.`);
  for (const note of json(m.hipboard_hip_notes) ?? []) said.push(String(note));
  return said;
}

function environment(overview) {
  const m = overview.metadata ?? {}, devices = json(m.deviceProperties) ?? [];
  const facts = [['Events', count(overview.events)], ['Recorded', time(overview.span_us)], ['Text of the trace', bytes(overview.text_bytes)]];
  const names = devices.map((device) => String(device.name ?? `device ${device.id}`));
  for (const name of new Set(names)) facts.push(['GPU', `${names.filter((n) => n === name).length > 1 ? `${names.filter((n) => n === name).length} × ` : ''}${name}`]);
  if (overview.rank !== undefined) facts.push(['Rank', String(overview.rank)]);
  const labels = { hipboard_reason: 'Recorded because', hipboard_hip_backend: 'HIP captured by', hip_runtime_version: 'HIP runtime', host_name: 'Host', hipboard_ring_seconds: 'Window' };
  for (const [key, label] of Object.entries(labels)) if (m[key]) facts.push([label, String(json(m[key]) ?? m[key])]);
  const options = [['record_shapes', 'shapes'], ['with_stack', 'stacks'], ['profile_memory', 'memory'], ['with_flops', 'FLOPs'], ['with_modules', 'modules']];
  const on = options.filter(([key]) => /^(1|true)$/.test(m[key] ?? '')).map(([, word]) => word);
  if (on.length) facts.push(['Recorded with', on.join(', ')]);
  return h('section', null, h('h2', null, 'Recording'), h('dl', { class: 'facts' }, facts.map(([label, value]) => [h('dt', null, label), h('dd', null, named(value, 60))])));
}

function findingItem(row) {
  const [rule, share, advice, evidence, view, from, to] = row;
  const place = from !== null && h('button', { class: 'link', onclick: () => goTimeline(from, to) }, 'Show in the timeline');
  return h('li', null, h('div', { class: 'rule' }, h('b', null, rule), share > 0 && h('span', { class: 'dim' }, ` ${share.toFixed(0)} % of the time`)),
    h('p', null, advice.replace('--view gpu', 'GPU time')), h('p', { class: 'dim' }, named(evidence, 400)), h('p', null, place, place && ' · ', h('a', { href: addressOf({ view }) }, `Open ${view === 'gpu' ? 'GPU time' : view}`)));
}

/** What the plugin makes of the file as it is, where that differs, and why. */
function plugin(overview, operators, seen) {
  if (seen.plugin_loses) return h('section', null, h('h2', null, 'In the TensorBoard plugin'), h('p', null, `torch-tb-profiler loses this file: ${seen.plugin_loses}`));
  if (!seen.plugin_roles || !overview.roles) return null;
  const theirs = new Map(seen.plugin_roles.rows.map((row) => [row[0], row]));
  const rows = overview.roles.rows.map(([name, us]) => [name, us, theirs.get(name)?.[1] ?? null]).filter((row) => row[1] || row[2]);
  if (rows.every((row) => row[1] === row[2])) return null;
  const device = operators ? valuesOf(operators.operators, 'Device self').reduce((sum, us) => sum + us, 0) : null;
  if (device !== null && (device || seen.plugin_operators_device_us)) rows.push(['Device time of all operators', device, seen.plugin_operators_device_us]);
  const steps = seen.plugin_steps !== overview.steps && ` It counts ${many(seen.plugin_steps, 'step')}, here there ${overview.steps === 1 ? 'is 1' : `are ${count(overview.steps)}`}.`;
  const table = { title: 'Average step, here and in the plugin', columns: [['Part', 'text'], ['Here', 'time'], ['torch-tb-profiler', 'time']], rows };
  return h('section', null, tableOf(table, { id: 'plugin', keep: true }),
    h('p', { class: 'dim note' }, `Its last release does not know categories that PyTorch writes since 2022; ${many(overview.mended, 'event is', 'events are')} read here as what they mean.`, steps, ` \`hipboard convert\` writes the file so that the plugin shows these numbers, too.`));
}

export async function viewOverview(trace) {
  const overview = await ask('hb/overview', { trace });
  const steps = await ask('hb/steps', { trace }).catch(() => null);
  const whole = Promise.all(['hb/operators', 'hb/kernels'].map((route) => ask(route, { trace }).catch(() => null)));
  const roles = overview.roles?.rows.slice(1).filter((row) => row[1] > 0).sort((a, b) => b[1] - a[1]) ?? [];
  const start = steps && columnOf(steps.steps, 'Start'), total = steps && columnOf(steps.steps, 'Total');
  return [
    h('p', { class: 'headline' }, headline(overview, steps?.steps)),
    steps?.steps.rows.length > 0 && h('section', null, h('h2', null, 'Steps'), stepsChart(steps.steps, (i) => { const row = steps.steps.rows[i]; goTimeline(row[start], row[start] + row[total]); }),
      h('p', { class: 'dim note' }, h('a', { href: addressOf({ view: 'steps' }) }, 'As a table'))),
    h('div', { class: 'two' },
      roles.length > 0 && h('section', null, h('h2', null, 'Where an average step goes'), shares(roles.map(([name, us]) => [name, us, roleClass(name)]), 'time', overview.roles.rows[0][1])),
      h('section', null, h('h2', null, 'What to do about it'), overview.findings.rows.length ? h('ol', { class: 'findings' }, overview.findings.rows.slice(0, 3).map(findingItem)) : h('p', { class: 'dim' }, 'Nothing stands out.'),
        overview.findings.rows.length > 3 && h('p', null, h('a', { href: addressOf({ view: 'advice' }) }, `${overview.findings.rows.length - 3} more`)))),
    tableOf(overview.gpus, { id: 'gpus', optional: true }),
    later(whole, tops),
    later(whole.then(async ([operators]) => [operators, await ask('hb/plugin', { trace })]), ([operators, seen]) => [plugin(overview, operators, seen)]),
    environment(overview),
  ];
}

function tops([operators, kernels]) {
  const onDevice = operators?.operators.rows.some((row) => row[2] > 0);
  return [
    h('div', { class: 'two' },
      operators && tableOf(operators.operators, { id: 'topop', top: 10, cut: 46, title: 'Top operators', sort: onDevice ? 'Device self:down' : 'Host self:down', open: goName, hide: onDevice ? ['Host self', 'Host total', 'Host share', 'Device total'] : ['Host total', 'Device self', 'Device total', 'Device share'] }),
      kernels?.kernels.rows.length > 0 && tableOf(kernels.kernels, { id: 'topk', top: 10, cut: 46, title: 'Top kernels', sort: 'Total:down', open: goName, hide: ['Max', 'Min', 'Blocks per SM'] })),
  ];
}

export async function viewSteps(trace) {
  const { steps, parts } = await ask('hb/steps', { trace });
  const start = columnOf(steps, 'Start'), total = columnOf(steps, 'Total');
  if (!steps.rows.length) return [empty('No steps were recorded.', 'Mark them: hb_profiler_step() in C, prof.step() in PyTorch, or `hipboard record --schedule`.')];
  const open = (row) => goTimeline(row[start], row[start] + row[total]);
  return [stepsChart(steps, (i) => open(steps.rows[i])), tableOf(parts, { id: 'parts', title: 'What steps are made of', swatch: (row) => roleClass(row[0]) }), tableOf(steps, { id: 'steps', open })];
}

export async function viewOperators(trace) {
  const { operators, shapes } = await ask('hb/operators', { trace });
  if (!operators.rows.length) return [empty('No operators were recorded.', 'Mark them: HB_OP() in C; PyTorch records its own.')];
  const sort = operators.rows.some((row) => row[2] > 0) ? 'Device self:down' : 'Host self:down';
  return [tableOf(operators, { id: 'ops', sort, open: goName }), shapes.rows.some((row) => row[1] && row[1] !== '[]') && tableOf(shapes, { id: 'shapes', sort, open: goName })];
}

export async function viewKernels(trace) {
  const { kernels, insights, classes } = await ask('hb/kernels', { trace });
  if (!kernels.rows.length && !insights.rows.length) return [empty('No kernels were recorded.', 'HB_ACTIVITY_HIP, or `hipboard record`, records them; `hipboard info` says what this machine can capture.')];
  return [tableOf(classes, { id: 'classes' }), tableOf(kernels, { id: 'kernels', open: goName }), tableOf(insights, { id: 'kins', open: goName })];
}

export async function viewGpu(trace) {
  const { gpus, streams, copies, causes, gaps, gaps_in_all: all } = await ask('hb/gpu', { trace });
  if (!gpus.rows.length) return [empty('No work of a GPU was recorded.', '`hipboard info` says what this machine can capture of HIP, and why not more.')];
  const start = columnOf(gaps, 'Start'), long = columnOf(gaps, 'Gap');
  return [tableOf(gpus, { id: 'gtime', title: 'GPU time, from each GPU’s first work to its last' }), tableOf(causes, { id: 'causes', sort: 'Total:down', title: 'Idle: what the host did meanwhile' }),
    tableOf(gaps, { id: 'gaps', open: (row) => goTimeline(row[start], row[start] + row[long]), title: all > gaps.rows.length ? `The ${count(gaps.rows.length)} longest of ${count(all)} gaps` : 'Gaps' }),
    tableOf(copies, { id: 'copies', optional: true, open: goName }), tableOf(streams, { id: 'streams' })];
}

export async function viewModules(trace) {
  const { modules } = await ask('hb/modules', { trace });
  if (!modules.rows.length) return [empty('No modules were recorded.', 'Record them: HB_MODULE() in C; in PyTorch with_modules=True or with_stack=True.')];
  return [moduleIcicle(modules), tableOf(modules, { id: 'modules', indent: columnOf(modules, 'Depth'), open: (row) => go({ view: 'timeline', find: `nn.Module: ${row[0]}` }) })];
}

export async function viewCalls(trace) {
  const stacks = await ask('hb/stacks', { trace });
  const more = [['device', 'Device time'], ['code', 'Code, the host’s time'], ['host_bytes', 'Memory of the host'], ['device_bytes', 'GPU memory']];
  const note = h('p', { class: 'note dim' }, 'Memory is what was allocated in a call, less what was freed there.');
  return [flameOf(stacks.host, 'Host time', stacks.host_cut), more.map(([key, title]) => stacks[key].rows.length > 0 && flameOf(stacks[key], title, stacks[`${key}_cut`])),
    (stacks.host_bytes.rows.length > 0 || stacks.device_bytes.rows.length > 0) && note];
}

// ---- runs side by side

const runName = (run) => cut(clean(run).replace(/\.pt\.trace\.json(\.gz)?$/, ''), 60);

/** What one reads first: of each run how long a step takes, beside the baseline's. */
function compareWords({ baseline, steps = [] }) {
  const told = steps.filter((d) => d.name === 'step_time' && d.before && d.after).map(({ run, before, after, change_percent: by, verdict }) =>
    `${runName(run)} ${time(after.per_step)} (${by > 0 ? '+' : by < 0 ? '−' : '±'}${Math.abs(by).toFixed(1)} %, ${verdict.replaceAll('_', ' ')})`);
  const before = steps.find((d) => d.name === 'step_time')?.before;
  return told.length && before ? `A step takes ${time(before.per_step)} in ${runName(baseline)}; ${told.slice(0, 4).join('; ')}${told.length > 4 ? `; and ${many(told.length - 4, 'more run')}` : ''}.` : '';
}

function differences(all, title, id, kind) {
  const list = all.filter((d) => d.before?.per_step || d.after?.per_step); // of nothing nothing has changed
  const rows = list.map((d) => [[d.name, d.shape, d.module].filter(Boolean).join('  '), d.run, d.measure, d.before?.per_step ?? null, d.after?.per_step ?? null, d.change, d.change_percent, d.verdict.replaceAll('_', ' ')]);
  const columns = [['Name', 'text'], ['Run', 'text'], ['Measure', 'text'], ['Before', kind], ['After', kind], ['Change', kind], ['Change %', 'number'], ['Verdict', 'text']];
  return tableOf({ title, columns, rows }, { id, optional: true, keep: true, hide: list.every((d) => d.measure === 'value') ? ['Measure'] : [] });
}

const UNIT_KINDS = { us: 'time', bytes: 'bytes', count: 'number', ratio: 'number' };

/** Calls of two runs in their places; those that changed most lead. */
function callChanges(tree, all) {
  if (!tree?.rows.length) return null;
  const change = columnOf(tree, 'By itself'), grown = [...tree.rows].sort((a, b) => Math.abs(b[change]) - Math.abs(a[change]))[0];
  const depth = columnOf(tree, 'Depth'), device = tree.rows.some((row) => row[columnOf(tree, 'Device after')] > 0 || row[columnOf(tree, 'Device before')] > 0);
  return h('section', null, h('p', { class: 'note dim' }, grown[change] ? ['By itself ', named(grown[0], 60), ` changed most: ${grown[change] > 0 ? '+' : '−'}${time(Math.abs(grown[change]))} a step. `] : '', `Calls that take a thousandth of a step or more${tree.rows.length < all ? `: ${count(tree.rows.length)} of ${count(all)}` : ''}.`),
    tableOf(tree, { id: 'ctree', title: 'Call tree: a step before and after', indent: depth, open: goName, keep: true, hide: ['Calls before', ...(device ? [] : ['Device before', 'Device after', 'Device change'])] }));
}

export async function viewCompare(_, about) {
  if (about.traces.length < 2 || !has('hb/compare')) return [empty('There is one run.', 'Give several: hipboard report runs/before runs/after')];
  const { comparison, tree, tree_nodes: all } = await ask('hb/compare');
  const kinds = ['steps', 'operators', 'kernels', 'memory', 'modules'];
  const contrasts = { title: 'What else differs', columns: [['Run', 'text'], ['What', 'text'], ['Before', 'text'], ['After', 'text']], rows: (comparison.contrasts ?? []).map((c) => [c.run, c.what, c.before, c.after]) };
  const runs = { title: 'Runs', columns: [['Run', 'text'], ['Workers', 'count'], ['Steps', 'count'], ['Files', 'count']], rows: comparison.runs.map((r) => [r.name + (r.name === comparison.baseline ? ' (baseline)' : ''), r.workers, r.steps, r.files]) };
  const words = compareWords(comparison);
  return [words && h('p', { class: 'headline' }, words), (comparison.problems ?? []).map((line) => h('p', { class: 'warning' }, String(line))), tableOf(runs, { id: 'cruns', keep: true }), tableOf(contrasts, { id: 'ccon', optional: true }),
    kinds.map((name) => {
      const list = comparison[name] ?? [];
      return [...new Set(list.map((d) => d.unit))].map((unit) => differences(list.filter((d) => d.unit === unit), `${name[0].toUpperCase()}${name.slice(1)}${unit === 'us' ? '' : `, ${unit}`}: what changed in a step`, `c.${name}.${unit}`, UNIT_KINDS[unit] ?? 'number'));
    }), callChanges(tree, all)];
}

export async function viewAdvice(trace) {
  const overview = await ask('hb/overview', { trace });
  const advice = ({ plugin_advice: said = [] }) => [said.length > 0 && h('section', null, h('h2', null, 'What torch-tb-profiler advises'), h('ul', null, said.map((text) => h('li', null, text))))];
  return [overview.findings.rows.length ? h('ol', { class: 'findings' }, overview.findings.rows.map(findingItem)) : empty('Nothing stands out.', 'No rule of hipboard applies to this trace.'),
    later(ask('hb/plugin', { trace }), advice)];
}

/** Why there is nothing, and what helps. */
export function empty(what, mend) {
  return h('div', { class: 'empty' }, h('p', null, what), h('p', { class: 'dim' }, mend));
}
