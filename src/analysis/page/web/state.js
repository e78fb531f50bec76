// SPDX-License-Identifier: MIT
// What is shown is what the address says: view, trace, filters, window. Inside TensorBoard that is
// the outer address, which leaves alone what stands in it as p.<plugin>.<key>=<value>.

const inside = window.parent !== window;
let place = window, prefix = '';
try {
  if (inside && window.parent.location.hash !== undefined) {
    place = window.parent;
    prefix = `p.${location.pathname.split('/').at(-2)}.`;
  }
} catch { /* a frame of somebody else's: it keeps its own address */ }

const listeners = [];
const tell = (arrived) => listeners.forEach((each) => each(arrived));
const read = () => new URLSearchParams(place.location.hash.slice(1));

/** As TensorBoard reads it: a blank is no +, and nothing but its tab's name, the first word, stands without a =. */
function textOf(hash) {
  const text = hash.toString().replace(/\+/g, '%20'), bare = /^#[^=&]+(&|$)/.test(place.location.hash);
  return `#${bare ? text.replace(/^([^=&]+)=(?=&|$)/, '$1') : text}`;
}

export const get = (key) => read().get(prefix + key) ?? '';

/** All that the address says, but for the theme. */
export function where() {
  const here = {};
  for (const [key, value] of read()) if (key.startsWith(prefix) && key !== `${prefix}theme`) here[key.slice(prefix.length)] = value;
  return here;
}

/** Changes several keys at once; '' takes one out. `push`: the way back leads to what was before. */
export function put(changes, push = false) {
  const hash = read();
  for (const [key, value] of Object.entries(changes)) {
    if (value === '' || value === undefined || value === null) hash.delete(prefix + key);
    else hash.set(prefix + key, value);
  }
  const text = textOf(hash);
  if (text === place.location.hash) return;
  place.history[push ? 'pushState' : 'replaceState'](place.history.state, '', text);
  tell(false);
}

function hashOf(changes) {
  const hash = read();
  for (const key of [...hash.keys()])
    if (key.startsWith(prefix) && !['trace', 'theme'].includes(key.slice(prefix.length))) hash.delete(key);
  for (const [key, value] of Object.entries(changes)) hash.set(prefix + key, value);
  return textOf(hash);
}

function arrive(hash) {
  if (hash !== place.location.hash) place.history.pushState(place.history.state, '', hash);
  tell(true);
}

/** Goes there: what belonged to the last view is left behind. */
export const go = (changes) => arrive(hashOf(changes));

/** An address that leads there, for links. */
export const addressOf = (changes) => (place === window ? '' : place.location.href.split('#')[0]) + hashOf(changes);

// A link within a frame leads the frame astray, and one to where one is would do nothing.
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href*="#"]');
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.defaultPrevented) return;
  event.preventDefault();
  arrive(link.hash);
});

/** `listener(arrived)`: whether the address came from elsewhere, or the page wrote what it shows. */
export function onChange(listener) {
  if (!listeners.length) for (const event of ['hashchange', 'popstate']) place.addEventListener(event, () => tell(true));
  listeners.push(listener);
}

/** 'dark', 'light' or '': as the system, or TensorBoard, has it. */
export const chosenTheme = () => get('theme');

export function followTheme(apply) {
  if (place !== window) new MutationObserver(apply).observe(place.document.body, { attributeFilter: ['class'] });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', apply);
}

export function isDark() {
  if (chosenTheme()) return chosenTheme() === 'dark';
  if (place !== window) return place.document.body.classList.contains('dark-mode');
  return matchMedia('(prefers-color-scheme: dark)').matches;
}
