// SPDX-License-Identifier: MIT
// Where answers come from: blocks of this file (a report), or a server. Nothing else knows which.

const blocks = new Map();
for (const element of document.querySelectorAll('script[data-block]')) blocks.set(element.dataset.block, element);
export const embedded = blocks.size > 0;

const answers = new Map();
let places = new Map(); // of traces in a report, by id

function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const data = new Uint8Array(binary.length);
  for (let i = 0; i < data.length; i++) data[i] = binary.charCodeAt(i);
  return data;
}

async function unpack(element) {
  const packed = decodeBase64(element.textContent);
  element.textContent = ''; // it is kept once
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

function blockOf(route, { trace, part }) {
  const place = trace === undefined ? '' : `#${places.get(trace) ?? 0}`;
  return `${route}${place}${part === undefined ? '' : `.${part}`}`;
}

async function fromServer(route, parameters) {
  const query = new URLSearchParams(Object.entries(parameters).map(([k, v]) => [k, String(v)]));
  const answer = await fetch(`${route}?${query}`, { headers: { 'X-Hipboard-Token': sessionStorage.getItem('hipboard-token') ?? '' } });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.arrayBuffer();
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

/** The JSON at an address, kept. An answer that says why there is none is thrown. */
export function ask(route, parameters = {}) {
  const key = `${route}?${JSON.stringify(parameters)}`;
  if (!answers.has(key)) {
    answers.set(key, fetchBytes(route, parameters).then((data) => {
      const made = JSON.parse(new TextDecoder().decode(data));
      if (made.error) throw new Error(made.error);
      return made;
    }));
    answers.get(key).catch(() => !embedded && answers.delete(key));
  }
  return answers.get(key);
}

/** What there is to show. */
export async function about() {
  const made = await ask('hb/about');
  places = new Map(made.traces.map((trace, i) => [trace.id, i]));
  return made;
}

/** Answers may have changed. */
export function forget() {
  if (!embedded) answers.clear();
}
