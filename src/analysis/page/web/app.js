// SPDX-License-Identifier: MIT
// The frame around the views: what there is to choose, where one is, keys that hold everywhere.
import { clean, fill, h, isHeld, letGo, named, settled } from './h.js';
import { many } from './words.js';
import { about, admit, ask, embedded, forget, progress, watch } from './source.js';
import { addressOf, chosenTheme, followTheme, get, go, isDark, onChange, put, where } from './state.js';
import { forgetPictures, redrawAll } from './chart.js';
import { forgetTables } from './table.js';
import { notesButton } from './notes.js';
import { empty, viewAdvice, viewCalls, viewCompare, viewGpu, viewKernels, viewModules, viewOperators, viewOverview, viewSteps, warnings } from './views.js';
import { viewMemory } from './memory.js';
import { viewRanks } from './ranks.js';
import { viewRoofline } from './roofline.js';
import { viewTimeline } from './timeline.js';

// In the order of a diagnosis; the letter behind g leads there.
const VIEWS = [
  ['overview', 'Overview', viewOverview, 'o'],
  ['steps', 'Steps', viewSteps, 's'],
  ['operators', 'Operators', viewOperators, 'p'],
  ['kernels', 'Kernels', viewKernels, 'k'],
  ['roofline', 'Roofline', viewRoofline, 'f'],
  ['gpu', 'GPU time', viewGpu, 'g'],
  ['timeline', 'Timeline', viewTimeline, 't'],
  ['calls', 'Calls', viewCalls, 'c'],
  ['memory', 'Memory', viewMemory, 'm'],
  ['modules', 'Modules', viewModules, 'u'],
  ['ranks', 'Ranks', viewRanks, 'r'],
  ['compare', 'Compare', viewCompare, 'd'],
  ['advice', 'Advice', viewAdvice, 'a'],
];

/** All views but the timeline, one below the other: what is printed. */
async function viewEverything(trace, about) {
  const parts = [];
  for (const [key, title, view] of VIEWS) {
    if (key === 'timeline') continue;
    const made = await view(trace, about).catch((error) => [h('p', { class: 'dim' }, named(error.message, 400))]);
    const part = h('section', { class: 'part' }, h('h2', { class: 'large' }, title), made);
    for (const table of part.querySelectorAll('[role=region]')) table.setAttribute('aria-label', `${title}: ${table.getAttribute('aria-label')}`);
    parts.push(part);
  }
  return [h('p', { class: 'screen' }, h('button', { onclick: () => print() }, 'Print'), ' All views but the timeline; of long tables the first 50 rows, as they are sorted.'), parts];
}
const EVERYTHING = ['everything', 'Everything', viewEverything];

const KEYS = [
  ['g, then a letter', VIEWS.map(([, title, , letter]) => `${letter} ${title.toLowerCase()}`).join(', ')],
  ['?', 'this help'], ['N', 'notes about what is shown'], ['In tables', 'arrows, Page keys, Home, End; Enter opens; c copies CSV; a head sorts'],
  ['In the timeline', 'W S or ctrl-wheel: closer and further; A D or shift-drag: along; drag: a range with its sums'],
  ['', 'arrows: slice before, after, caller, called; F or Enter: fill the view; B: back; 0: all; M: mark as range'],
  ['', '/ search, [ ] from hit to hit, T what is seen as a table, Escape nothing chosen'],
];

let notes, known, shown = '', written = '', failed = false, current = null, generation = 0, gone = null;
const main = h('main', { id: 'main', tabindex: '-1' });
const rail = h('nav', { 'aria-label': 'Views' });
const bands = h('div', { class: 'bands' }), news = h('div', { class: 'news', role: 'status' });
const chooser = h('div', { class: 'choose' });
const help = h('dialog', { 'aria-label': 'Keys' });

/** The trace that the address names, or the first; of one that is gone what was known of it. */
function traceOf() {
  const wanted = get('trace');
  if (gone && (!wanted || wanted === gone.id)) return gone;
  return known.traces.find((trace) => trace.id === wanted) ?? known.traces[0];
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
  const runs = gone ? [gone, ...known.traces] : known.traces, workers = runs.filter((t) => t.run === now.run), spans = workers.filter((t) => t.worker === now.worker);
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

/** Of a timeline that is on the page already. */
function giveUp(error) {
  fill(main, fail(error));
  current = null;
  failed = true;
}

/** What is said of a trace in every view; what the plugin makes of it is known later. */
async function drawBands(trace) {
  const draw = async (all) => { await letGo(); return traceOf().id === trace && fill(bands, all.map((text) => h('p', { class: 'warning' }, named(text, 400)))); };
  try {
    const overview = await ask('hb/overview', { trace });
    await draw(warnings(overview));
    await draw(warnings(overview, await ask('hb/plugin', { trace })));
  } catch { draw([]); }
}

/** `arrived`: the address is a link's, a note's, or was typed. The page's own changes of it show already. */
async function show(arrived = false) {
  const now = JSON.stringify(Object.entries(where()).sort()), elsewhere = arrived && (now !== written || failed);
  written = now;
  if (!known.traces.length && !gone) { showNothing(); return; }
  const trace = traceOf(), wanted = [...VIEWS, EVERYTHING].find(([key]) => key === get('view')) ?? VIEWS[0];
  const key = `${wanted[0]} ${trace.id}`;
  if (gone && trace !== gone) { gone = null; sayNews(); }
  drawChooser();
  drawRail(wanted[0]);
  if (key === shown && !elsewhere) return;
  if (key === shown && current) { current.follow(); return; }
  shown = key;
  failed = false;
  const mine = ++generation;
  current = null;
  document.title = `${wanted[1]} · ${clean(trace.id)} · hipboard`;
  for (const state of ['ready', 'seen']) delete document.documentElement.dataset[state];
  const far = h('span', { class: 'dim' });
  const waiting = setTimeout(() => mine === generation && !isHeld() && fill(main, h('p', { class: 'dim loading' }, `Reading ${clean(trace.file)} … `, far)), 150);
  const telling = setInterval(async () => { far.textContent = await progress(trace.id); }, 300);
  let made, timeline = null, broken = false;
  try {
    if (trace.error) throw new Error(`It was left out: ${trace.error}`);
    made = await wanted[2](trace.id, known, (view) => { timeline = view; });
  } catch (error) {
    made = fail(error);
    broken = true;
  }
  clearTimeout(waiting);
  clearInterval(telling);
  await letGo();
  if (mine !== generation) return;
  failed = broken;
  fill(main, h('h1', { class: ['overview', 'timeline'].includes(wanted[0]) ? 'hidden' : undefined }, wanted[1]), made);
  forgetPictures();
  forgetTables();
  main.dataset.view = wanted[0];
  window.scrollTo(0, 0);
  current = timeline;
  drawBands(trace.id);
  if (timeline) {
    try { await timeline.start(); } catch (error) { if (mine === generation) giveUp(error); }
    if (!document.hidden) await new Promise(requestAnimationFrame); // it draws then
  }
  document.documentElement.dataset.seen = clean(key);
  await settled();
  if (mine === generation) document.documentElement.dataset.ready = clean(key);
}

function showNothing() {
  fill(rail);
  fill(chooser);
  document.title = 'hipboard';
  fill(main, empty('There is no trace here yet.', 'What is recorded into the directory shows within seconds: hipboard record -o DIRECTORY PROGRAM'));
  document.documentElement.dataset.ready = 'empty';
}

// ---- what comes, changes and goes while it is looked at

const sayNews = (...parts) => fill(news, parts.some(Boolean) && h('p', null, parts));

/** Of traces that came: the last one, and a way to it. */
function newest(before) {
  const old = new Set(before.traces.map((trace) => trace.id)), fresh = known.traces.filter((trace) => !old.has(trace.id));
  if (!fresh.length || !before.traces.length) return null;
  const last = fresh.at(-1);
  return ['New: ', h('button', { class: 'link', onclick: () => { sayNews(); put({ trace: last.id, from: '', to: '', mark: '' }, true); } }, named(last.id, 80)), fresh.length > 1 && ` and ${many(fresh.length - 1, 'more', 'more')}`];
}

/** What is shown stays as it is, unless it has changed itself. */
async function update() {
  const before = known, now = before.traces.length || gone ? traceOf() : null;
  const next = await about();
  await letGo();
  known = next;
  const stamps = new Map(before.traces.map((trace) => [trace.id, trace.stamp]));
  const same = now && known.traces.find((trace) => trace.id === now.id);
  gone = now && !same ? now : null;
  forget((id) => gone?.id === id || known.traces.some((trace) => trace.id === id && trace.stamp === stamps.get(id)));
  if (gone) sayNews(named(now.id), ' is not there any more. What has been read of it still shows; other traces are chosen above.');
  else if (same && same.stamp !== now.stamp) sayNews(named(now.id), ' has changed, and was read again.');
  else sayNews(newest(before));
  if (same && same.stamp === now.stamp && !['ranks', 'compare'].includes(get('view'))) {
    if (!get('trace')) put({ trace: now.id }); // the first one may be another one now
    drawChooser();
  } else if (gone) drawChooser();
  else { shown = ''; await show(); }
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
  else if (event.key === 'n' && !document.querySelector('dialog[open]')) notes.open();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function drawHelp() {
  fill(help, h('h2', null, 'Keys'), h('dl', { class: 'facts' }, KEYS.map(([key, what]) => [h('dt', null, key), h('dd', null, what)])), h('form', { method: 'dialog' }, h('button', null, 'Close')));
}

/** What a browser lacks that is too old for this page; '' for none. One that does not know modules leaves
 * the plain page as it is. */
function lacking() {
  if (!Array.prototype.findLast || !window.ResizeObserver) return 'It lacks parts of JavaScript.';
  return embedded && !window.DecompressionStream ? 'It cannot unpack the data of this file.' : '';
}

function sayOld(what) {
  document.body.prepend(h('p', { class: 'warning', role: 'alert' }, `This browser is too old for the whole page. ${what} Open it in Chromium 97, Firefox 113, Safari 16.4 or later. ${embedded ? 'Until then this holds its main numbers.' : 'hipboard view has the same numbers in a terminal.'}`));
  document.documentElement.dataset.ready = 'old';
}

async function begin() {
  const what = lacking();
  if (what) { sayOld(what); return; }
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token && !embedded) { admit(token); put({ token: '' }); }
  document.getElementById('plain')?.remove();
  theme();
  known = await about();
  drawHelp();
  notes = notesButton(() => current?.request(), () => put({ view: get('view') || VIEWS[0][0], trace: traceOf()?.id }), () => known.traces);
  document.body.append(h('a', { href: '#main', class: 'skip', onclick: (event) => { event.preventDefault(); main.focus(); } }, 'To the content'),
    h('header', null, h('span', { class: 'brand' }, 'hipboard'), chooser, h('span', { class: 'push' }), notes.button, h('button', { onclick: () => go({ view: 'everything' }), title: 'All views below one another' }, 'Print'), h('button', { onclick: () => help.showModal(), title: 'Keys (?)' }, 'Keys'), themeButton()),
    rail, h('div', { class: 'page' }, bands, news, main, h('footer', { class: 'dim' }, `hipboard ${known.version}${embedded ? ` · ${many(known.traces.length, 'trace')} in this file, which asks for nothing from any network` : ''}`)), help, notes.dialog);
  document.addEventListener('keydown', onKey, true);
  onChange(show);
  followTheme(theme);
  watch(known, update, (why) => sayNews(why));
  await show();
}

begin().catch((error) => { document.body.append(fail(error)); document.documentElement.dataset.ready = 'error'; });
