// SPDX-License-Identifier: MIT
// Where answers come from: blocks of this file (a report), or a server. Nothing else knows which.

const blocks = new Map();
for (const element of document.querySelectorAll('script[data-block]')) blocks.set(element.dataset.block, element);
export const embedded = blocks.size > 0;

const TOKEN = 'hipboard-token', LOOK_EVERY = 1200; // ms; a server looks at its directory every second
const answers = new Map();
let places = new Map(); // of traces in a report, by id

export function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const data = new Uint8Array(binary.length);
  for (let i = 0; i < data.length; i++) data[i] = binary.charCodeAt(i);
  return data;
}

async function unpack(element) {
  const packed = decodeBase64(element.textContent);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

function blockOf(route, { trace, part }) {
  const place = trace === undefined ? '' : `#${places.get(trace) ?? 0}`;
  return `${route}${place}${part === undefined ? '' : `.${part}`}`;
}

async function fromServer(route, parameters) {
  const query = new URLSearchParams(Object.entries(parameters).map(([k, v]) => [k, String(v)]));
  const answer = await fetch(`${route}?${query}`, { headers: { 'X-Hipboard-Token': sessionStorage.getItem(TOKEN) ?? '' } }).catch(() => {
    throw new Error('The server does not answer any more. Start hipboard serve again, and open the address that it prints.');
  });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.arrayBuffer();
}

/** The server's word of admission: out of the address, before anything is asked. */
export function admit(token) {
  sessionStorage.setItem(TOKEN, token);
}

async function fetchBytes(route, parameters) {
  if (!embedded) return fromServer(route, parameters);
  const element = blocks.get(blockOf(route, parameters));
  if (!element) throw new Error('This report does not hold it.');
  return unpack(element);
}

/** Whether a report has it; a server may always be asked. */
export const has = (route, parameters = {}) => !embedded || blocks.has(blockOf(route, parameters));

/** The bytes at an address; asked for once, kept by whoever asked. */
export const askBytes = fetchBytes;

const key = (route, parameters) => `${route}?${JSON.stringify(parameters)}`;

/** The JSON at an address, kept. An answer that says why there is none is thrown. */
export function ask(route, parameters = {}) {
  const place = key(route, parameters);
  if (!answers.has(place)) {
    answers.set(place, fetchBytes(route, parameters).then((data) => {
      const made = JSON.parse(new TextDecoder().decode(data));
      if (made.error) throw new Error(made.error);
      return made;
    }));
    answers.get(place).catch(() => !embedded && answers.delete(place));
  }
  return answers.get(place);
}

/** What there is to show. */
export async function about() {
  answers.delete(key('hb/about', {}));
  const made = await ask('hb/about');
  places = new Map(made.traces.map((trace, i) => [trace.id, i]));
  return made;
}

/** Answers about traces that `isSame` is not true of may have changed, and those about all of them. */
export function forget(isSame) {
  for (const place of [...answers.keys()]) {
    const { trace } = JSON.parse(place.slice(place.indexOf('?') + 1));
    if (trace === undefined || place.startsWith('hb/ranks') || !isSame(trace)) answers.delete(place);
  }
}

/** Calls `changed` when a server has other traces than it had, again where that failed, and `lost` with
 * why, or '', when it does not answer, or does again and has what it had. Nobody looks while nobody sees it. */
export function watch({ generation, live }, changed, lost) {
  if (embedded || !live) return;
  let last = generation, well = true;
  const look = async () => {
    try {
      if (!document.hidden) {
        const now = JSON.parse(new TextDecoder().decode(await fromServer('hb/changes', {})));
        if (now.generation !== last) {
          await changed(); // which tells what is new in place of what was lost
          last = now.generation;
        } else if (!well) lost('');
        well = true;
      }
    } catch (error) {
      if (well) lost(error.message);
      well = false;
    }
    setTimeout(look, LOOK_EVERY);
  };
  setTimeout(look, LOOK_EVERY);
}

/** How far the reading of a trace is, in words; '' where nobody knows. */
export async function progress(trace) {
  if (embedded) return '';
  try {
    const { done, size } = JSON.parse(new TextDecoder().decode(await fromServer('hb/progress', { trace })));
    return !done ? '' : size > done ? `${Math.floor((100 * done) / size)} %` : `${Math.round(done / 1e6)} MB`;
  } catch { return ''; }
}
