// SPDX-License-Identifier: MIT
// Numbers as they are read: one unit a column, three digits that mean something.

const TIMES = [['ns', 1e-3], ['µs', 1], ['ms', 1e3], ['s', 1e6]];
const SIZES = [['B', 1], ['KiB', 1024], ['MiB', 1024 ** 2], ['GiB', 1024 ** 3], ['TiB', 1024 ** 4]];
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** The largest unit in which `value` is at least `least`. */
function unitFor(units, value, least) {
  const size = Math.abs(value);
  return units.findLast(([, factor]) => size >= least * factor) ?? units[0];
}

/** Three digits: 12345, 1,234, 123, 12.3, 1.23, 0.123. */
export function digits(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 99.95) return whole.format(value);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  return size < 0.0005 ? value.toExponential(1) : value.toFixed(3);
}

/** How a column of that kind writes its values: {unit, text(value)}. Its largest one has two digits or
 * more, so that small ones keep theirs. */
export function format(kind, values, least = 10) {
  const most = values.reduce((a, b) => Math.max(a, Math.abs(b ?? 0)), 0);
  if (kind === 'time') {
    const [unit, factor] = unitFor(TIMES, most, least);
    return { unit, text: (v) => digits(v / factor), scale: factor };
  }
  if (kind === 'bytes') {
    const [unit, factor] = unitFor(SIZES, most, least);
    return { unit, text: (v) => (factor === 1 ? whole.format(v) : digits(v / factor)), scale: factor };
  }
  if (kind === 'percent') return { unit: '%', scale: 1, text: (v) => (v >= 99.95 ? v.toFixed(0) : v.toFixed(1)) };
  if (kind === 'count') return { unit: '', scale: 1, text: (v) => whole.format(v) };
  return { unit: '', scale: 1, text: digits };
}

/** A single quantity with its unit. */
export function say(kind, value) {
  if (value === null || value === undefined) return 'not known';
  const f = format(kind, [value], 1);
  return f.unit ? `${f.text(value)} ${f.unit}` : f.text(value);
}

/** A time with as many digits as tell it from one that is `step` µs later. */
export function moment(us, step) {
  const [unit, factor] = unitFor(TIMES, us, 1);
  const more = Math.ceil(-Math.log10(step / factor) - 1e-9);
  return `${(us / factor).toFixed(Math.max(0, Math.min(more, 9)))} ${unit}`;
}

export const time = (us) => say('time', us);
export const bytes = (n) => say('bytes', n);
export const count = (n) => whole.format(n);
export const many = (n, one, more = `${one}s`) => `${whole.format(n)} ${n === 1 ? one : more}`;

/** All digits, as an element's title. */
export function exactly(kind, value) {
  if (value === null) return 'not known';
  return { time: `${value} µs`, bytes: `${whole.format(value)} bytes`, percent: `${value} %` }[kind] ?? String(value);
}

/** A role of a step, in the order in which it is stacked, and the class that has its colour. */
export const ROLES = [
  ['Kernel', 'kernel', 'in kernels'],
  ['Memcpy', 'memcpy', 'in copies'],
  ['Memset', 'memset', 'in fills'],
  ['Comm', 'comm', 'in communication'],
  ['Runtime', 'runtime', 'in calls of the GPU’s runtime'],
  ['DataLoader', 'loader', 'in data loading'],
  ['CPU Exec', 'cpu', 'on the processor'],
  ['Other', 'other', 'elsewhere'],
];
export const roleClass = (name) => ROLES.find(([role]) => role === name || (role === 'Comm' && name === 'Communication'))?.[1];
export const roleWords = (name) => ROLES.find(([, cls]) => cls === roleClass(name))?.[2] ?? name;

/** A round step, of which about so many make the span. */
export function nice(span, wanted) {
  const rough = span / wanted, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= rough);
}

/** Capitals of A to Z are no difference, as a server has it. */
export const fold = (text) => text.replace(/[A-Z]/g, (c) => c.toLowerCase());
