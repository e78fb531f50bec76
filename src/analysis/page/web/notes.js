// SPDX-License-Identifier: MIT
// Notes about what is shown: each is a text and the address at which it was written. A report takes
// them along in a copy of itself; a server's page keeps them in this browser,
// and has a report made that takes them along.
import { clean, fill, h, letGo, named } from './h.js';
import { askBytes, decodeBase64, embedded } from './source.js';
import { go, where } from './state.js';

const KEPT = 'hipboard-notes', LETTERS = 4000; // letters of a note
const plainPart = document.getElementById('plain'); // what a copy shows without a script
let allNotes = [], changed = () => {}, saved = true, kept = !embedded; // by this browser

function isNote(note) {
  return typeof note?.text === 'string' && note.at && Object.values(note.at).every((value) => typeof value === 'string');
}

function readNotes() {
  try {
    const block = document.querySelector('script[data-notes]');
    const text = embedded ? block && new TextDecoder().decode(decodeBase64(block.textContent)) : localStorage.getItem(KEPT);
    return JSON.parse(text || '[]').filter(isNote);
  } catch { return []; }
}

/** `make(notes)`: of those that there are now, which another page of this browser may have changed. */
function change(make) {
  allNotes = make(kept ? readNotes() : allNotes);
  saved = false;
  if (!embedded) {
    try {
      localStorage.setItem(KEPT, JSON.stringify(allNotes));
      kept = true;
    } catch { kept = false; }
  }
  changed();
}

/** All but that one; of those that are alike one goes. */
function without(notes, gone) {
  const same = JSON.stringify(gone), at = notes.findIndex((note) => JSON.stringify(note) === same);
  return notes.filter((_, i) => i !== at);
}

async function hear(event) {
  if (embedded || (event.key !== KEPT && event.key !== null)) return; // null: all that was kept is gone
  await letGo();
  if (!kept) return;
  allNotes = readNotes();
  changed();
}

/** Ranges of the timeline that notes of a trace are about. */
export const notedRanges = (trace) => allNotes.filter((note) => note.at.trace === trace && note.at.view === 'timeline').map((note) => (/^\d+-\d+$/.test(note.at.mark) ? note.at.mark.split('-').map(Number) : [Number(note.at.from), Number(note.at.to)])).filter(([from, to]) => to >= from);

function toBase64(text) {
  let binary = '';
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** This file with its notes: its head, its blocks and its script as they are. */
export function copyWithNotes() {
  const copy = document.implementation.createHTMLDocument('');
  const root = copy.importNode(document.documentElement, false);
  for (const { name } of [...root.attributes]) if (name !== 'lang') root.removeAttribute(name);
  const head = copy.importNode(document.head, true), body = copy.createElement('body');
  const block = copy.createElement('script');
  block.type = 'application/octet-stream';
  block.dataset.notes = '';
  block.textContent = toBase64(JSON.stringify(allNotes));
  if (plainPart) body.append(copy.importNode(plainPart, true));
  for (const script of document.querySelectorAll('script:not([data-notes])')) {
    if (script.type === 'module') body.append(block);
    body.append(copy.importNode(script, true), '\n');
  }
  root.append(head, body);
  return `<!doctype html>\n${root.outerHTML}\n`;
}

/** A report of a server's traces with the notes about them: of one run, where all are of one. */
async function reportWithNotes(traces) {
  const runs = [...new Set([where().trace, ...allNotes.map((note) => note.at.trace)].map((id) => traces().find((trace) => trace.id === id)?.run))];
  const text = new TextDecoder().decode(await askBytes('hb/report', runs.length === 1 && runs[0] ? { run: runs[0] } : {}));
  const block = `<script type="application/octet-stream" data-notes="">${toBase64(JSON.stringify(allNotes))}<${'/'}script>\n`;
  const at = text.indexOf('<script type="module">');
  return text.slice(0, at) + block + text.slice(at);
}

function hand(text) {
  const own = embedded && decodeURIComponent(location.pathname.split('/').at(-1));
  const link = h('a', { href: URL.createObjectURL(new Blob([text], { type: 'text/html' })), download: own || 'report.html' });
  document.body.append(link);
  link.click();
  link.remove();
  saved = true;
  changed();
}

function placeWords({ at }) {
  return [at.view, at.trace, at.find && `find ${at.find}`].filter(Boolean).map((part) => clean(part)).join(' · ');
}

/** The button of the page's head and what it opens; `N` opens it as well. `settle` has the address say all
 * that it leaves open. */
export function notesButton(onChanged, settle, traces) {
  const button = h('button', { title: 'Notes about what is shown (N)', onclick: () => open() });
  const text = h('textarea', { 'aria-label': 'A note about what is shown', maxlength: LETTERS, rows: 3 });
  const list = h('ol', { class: 'notes' }), dialog = h('dialog', { 'aria-label': 'Notes' });
  const add = () => {
    const note = { text: text.value.trim(), at: where() };
    if (note.text) change((notes) => [...notes, note]);
    text.value = '';
  };
  const said = h('span', { class: 'dim', role: 'status' }), tell = (words) => { said.textContent = words; };
  const save = async () => {
    try {
      if (!embedded) tell('The report is being made …');
      hand(embedded ? copyWithNotes() : await reportWithNotes(traces));
      tell('');
    } catch (error) { tell(error.message); }
  };
  const draw = () => {
    button.textContent = allNotes.length ? `Notes (${allNotes.length})` : 'Notes';
    fill(list, allNotes.map((note) => h('li', null, h('p', null, named(note.text, LETTERS)), h('p', { class: 'dim' }, placeWords(note), ' · ',
      h('button', { class: 'link', onclick: () => { dialog.close(); go(note.at); } }, 'Show'), ' · ', h('button', { class: 'link', onclick: () => change((notes) => without(notes, note)) }, 'Remove')))));
    fill(foot, h('button', { onclick: add }, 'Add'), h('button', { onclick: save, disabled: embedded && !allNotes.length && saved }, embedded ? 'Save a copy with notes' : 'Save a report with notes'), h('button', { onclick: () => dialog.close() }, 'Close'),
      h('span', { class: 'dim' }, embedded ? 'A copy of this file takes them along.' : 'They are kept in this browser; a report takes them along.'), said);
  };
  const foot = h('div', { class: 'bar' });
  const open = () => { settle(); if (!dialog.open) dialog.showModal(); text.focus(); };
  fill(dialog, h('h2', null, 'Notes'), list, text, foot);
  allNotes = readNotes();
  changed = () => { draw(); onChanged(); };
  draw();
  window.addEventListener('storage', hear);
  window.addEventListener('beforeunload', (event) => { if (embedded && !saved) event.preventDefault(); });
  return { button, dialog, open };
}
