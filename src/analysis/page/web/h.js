// SPDX-License-Identifier: MIT
// Elements. Texts become text nodes and nothing else: what a trace calls itself is never markup.

/** An element with attributes, listeners (onclick: ...) and children: texts, elements, lists. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'vars') for (const [name, v] of Object.entries(value)) element.style.setProperty(name, v);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Characters that are not seen, or that turn what follows around, are shown by their number.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** A name as it may be shown. */
export function clean(text) {
  return String(text).replace(UNSEEN, (c) => `\\u{${c.charCodeAt(0).toString(16)}}`);
}

/** Cut in the middle: both ends of a C++ name tell something. */
export function cut(text, most) {
  if (text.length <= most) return text;
  const head = Math.ceil((most - 1) * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}

/** A name of a trace: isolated, cut, in full as its title. */
export function named(text, most = 80) {
  const full = clean(text);
  const short = cut(full, most);
  return h('bdi', { title: short === full ? undefined : full.slice(0, 4000) }, short);
}

// What is pressed must still be there when the pointer is let go: else its click is nobody's.
const PRESSED = 'button, a, input, select, label, tbody, canvas';
let held = false, waiting = [];
function release() {
  setTimeout(() => { // the click comes first
    held = false;
    waiting.splice(0).forEach((go) => go());
  }, 50); // a finger's comes a little later
}
document.addEventListener('pointerdown', (event) => { held = Boolean(event.target.closest?.(PRESSED)); }, true);
for (const end of ['pointerup', 'pointercancel', 'dragend']) document.addEventListener(end, release, true);
window.addEventListener('blur', release);

export const isHeld = () => held;

/** When no pointer is down on something: before what is seen is replaced by what came meanwhile. */
export const letGo = () => (held ? new Promise((go) => { waiting.push(go); }) : Promise.resolve());

let coming = [];

/** A place that is filled once `promise` is kept: what takes longer holds up nothing else. */
export function later(promise, build) {
  const place = h('div', { class: 'later' });
  const keep = async (made) => { await letGo(); fill(place, build(made)); };
  coming.push(promise.then(keep, () => place.remove()));
  return place;
}

/** When all places are filled that there are by now. */
export function settled() {
  const all = coming;
  coming = [];
  return Promise.all(all);
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}
