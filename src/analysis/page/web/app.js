// SPDX-License-Identifier: MIT
// The frame around the views: what there is to choose, where one is, keys that hold everywhere.
import { clean, fill, h, named } from './h.js';
import { many } from './words.js';
import { about, ask, embedded } from './source.js';
import { addressOf, chosenTheme, followTheme, get, go, isDark, onChange, put } from './state.js';
import { redrawAll } from './chart.js';
import { viewAdvice, viewCalls, viewCompare, viewGpu, viewKernels, viewMemory, viewModules, viewOperators, viewOverview, viewRanks, viewSteps, warnings } from './views.js';
import { viewTimeline } from './timeline.js';

// In the order of a diagnosis; the letter behind g leads there.
const VIEWS = [
  ['overview', 'Overview', viewOverview, 'o'],
  ['steps', 'Steps', viewSteps, 's'],
  ['operators', 'Operators', viewOperators, 'p'],
  ['kernels', 'Kernels', viewKernels, 'k'],
  ['gpu', 'GPU time', viewGpu, 'g'],
  ['timeline', 'Timeline', viewTimeline, 't'],
  ['calls', 'Calls', viewCalls, 'c'],
  ['memory', 'Memory', viewMemory, 'm'],
  ['modules', 'Modules', viewModules, 'u'],
  ['ranks', 'Ranks', viewRanks, 'r'],
  ['compare', 'Compare', viewCompare, 'd'],
  ['advice', 'Advice', viewAdvice, 'a'],
];

const KEYS = [
  ['g, then a letter', VIEWS.map(([, title, , letter]) => `${letter} ${title.toLowerCase()}`).join(', ')],
  ['?', 'this help'], ['In tables', 'arrows, Page keys, Home, End; Enter opens; c copies CSV; a head sorts'],
  ['In the timeline', 'W S or ctrl-wheel: closer and further; A D or shift-drag: along; drag: a range with its sums'],
  ['', 'arrows: slice before, after, caller, called; F or Enter: fill the view; B: back; 0: all; M: mark as range'],
  ['', '/ search, [ ] from hit to hit, T what is seen as a table, Escape nothing chosen'],
];

let known, shown = '', current = null, generation = 0;
const main = h('main', { id: 'main', tabindex: '-1' });
const rail = h('nav', { 'aria-label': 'Views' });
const bands = h('div', { class: 'bands' });
const chooser = h('div', { class: 'choose' });
const help = h('dialog', { 'aria-label': 'Keys' });

function traceOf() {
  return known.traces.find((trace) => trace.id === get('trace')) ?? known.traces[0];
}

// ---- what there is to choose: the run, of it a worker, of that a cycle

function select(label, names, value, change) {
  const list = h('select', { 'aria-label': label, onchange: () => change(list.value) }, names.map((name) => h('option', { value: name, selected: name === value }, name || '(none)')));
  return names.length > 1 ? h('label', null, h('span', { class: 'dim' }, label), list) : names[0] ? h('span', { class: 'only' }, h('span', { class: 'dim' }, label), named(names[0], 48)) : null;
}

const distinct = (list, key) => [...new Set(list.map((trace) => trace[key]))];

function drawChooser() {
  const now = traceOf();
  const to = (trace) => put({ trace: trace.id, from: '', to: '', mark: '' }, true);
  const runs = known.traces, workers = runs.filter((t) => t.run === now.run), spans = workers.filter((t) => t.worker === now.worker);
  const choose = (list, key) => (value) => to(list.find((t) => t[key] === value && t.worker === now.worker) ?? list.find((t) => t[key] === value));
  fill(chooser, select('Run', distinct(runs, 'run'), now.run, choose(runs, 'run')), select(now.run ? 'Worker' : 'Trace', distinct(workers, 'worker'), now.worker, choose(workers, 'worker')), select('Cycle', distinct(spans, 'span'), now.span, choose(spans, 'span')));
}

function drawRail(view) {
  fill(rail, VIEWS.map(([key, title]) => h('a', { href: addressOf({ view: key }), 'aria-current': key === view ? 'page' : undefined }, title)));
}

// ---- themes

function theme() {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
  redrawAll();
  current?.theme();
}

function themeButton() {
  const button = h('button', { title: 'Light, dark, or as the system has it', onclick: () => {
    const next = { '': isDark() ? 'light' : 'dark', light: 'dark', dark: '' }[chosenTheme()];
    put({ theme: next });
    theme();
    button.textContent = label();
  } });
  const label = () => `Theme: ${chosenTheme() || 'system'}`;
  button.textContent = label();
  return button;
}

// ---- views

function fail(error) {
  console.error(error);
  return h('div', { class: 'empty' }, h('p', null, 'This view cannot be shown.'), h('p', { class: 'dim' }, named(error.message, 2000)));
}

async function drawBands(trace) {
  try {
    const overview = await ask('hb/overview', { trace });
    if (traceOf().id === trace) fill(bands, warnings(overview).map((text) => h('p', { class: 'warning' }, named(text, 400))));
  } catch { fill(bands); }
}

async function show() {
  const trace = traceOf(), wanted = VIEWS.find(([key]) => key === get('view')) ?? VIEWS[0];
  const key = `${wanted[0]} ${trace.id}`;
  drawChooser();
  drawRail(wanted[0]);
  const moved = key === shown && wanted[0] === 'timeline' && current;
  if (key === shown && !moved) return;
  if (moved) { follow(); return; }
  shown = key;
  const mine = ++generation;
  current = null;
  document.title = `${wanted[1]} · ${clean(trace.id)} · hipboard`;
  document.documentElement.removeAttribute('data-ready');
  const waiting = setTimeout(() => mine === generation && fill(main, h('p', { class: 'dim loading' }, `Reading ${clean(trace.file)} …`)), 150);
  let made, timeline = null;
  try {
    if (trace.error) throw new Error(`It was left out: ${trace.error}`);
    made = await wanted[2](trace.id, known, (view) => { timeline = view; });
  } catch (error) {
    made = fail(error);
  }
  clearTimeout(waiting);
  if (mine !== generation) return;
  fill(main, h('h1', { class: ['overview', 'timeline'].includes(wanted[0]) ? 'hidden' : undefined }, wanted[1]), made);
  main.dataset.view = wanted[0];
  window.scrollTo(0, 0);
  current = timeline;
  drawBands(trace.id);
  if (timeline) {
    try { await timeline.start(); } catch (error) { fill(main, fail(error)); }
  }
  document.documentElement.dataset.ready = clean(key);
}

/** The address has another window of the same timeline: the way back was taken. */
function follow() {
  const [from, to] = [Number(get('from')), Number(get('to'))];
  if (to && (Math.abs(from - Math.max(0, current.from)) > 2 || Math.abs(to - current.to) > 2) && !current.saving) current.goTo(from, to);
}

// ---- keys

let leading = false;
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  if (leading) {
    leading = false;
    const view = VIEWS.find(([, , , letter]) => letter === event.key);
    if (view) { go({ view: view[0] }); event.preventDefault(); }
    return;
  }
  if (event.key === 'g') leading = true;
  else if (event.key === '?') help.showModal();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function drawHelp() {
  fill(help, h('h2', null, 'Keys'), h('dl', { class: 'facts' }, KEYS.map(([key, what]) => [h('dt', null, key), h('dd', null, what)])), h('form', { method: 'dialog' }, h('button', null, 'Close')));
}

async function begin() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token && !embedded) { sessionStorage.setItem('hipboard-token', token); put({ token: '' }); }
  document.getElementById('plain')?.remove();
  theme();
  known = await about();
  drawHelp();
  document.body.append(h('a', { href: '#main', class: 'skip', onclick: (event) => { event.preventDefault(); main.focus(); } }, 'To the content'),
    h('header', null, h('span', { class: 'brand' }, 'hipboard'), chooser, h('span', { class: 'push' }), h('button', { onclick: () => help.showModal(), title: 'Keys (?)' }, 'Keys'), themeButton()),
    rail, h('div', { class: 'page' }, bands, main, h('footer', { class: 'dim' }, `hipboard ${known.version} · ${many(known.traces.length, 'trace')}${embedded ? ' in this file, which asks for nothing from any network' : ''}`)), help);
  document.addEventListener('keydown', onKey, true);
  onChange(show);
  followTheme(theme);
  await show();
}

begin().catch((error) => { document.body.append(fail(error)); document.documentElement.dataset.ready = 'error'; });
