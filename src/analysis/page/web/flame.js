// SPDX-License-Identifier: MIT
// Calls, merged by their stacks: widest first; of one name who calls it and what it calls; and as a
// table of what each name takes by itself and with all that it calls.
import { clean, cut, fill, h, named } from './h.js';
import { count, say } from './words.js';
import { get, put } from './state.js';
import { color, picture } from './chart.js';
import { columnOf, tableOf } from './table.js';

const BOX = 20, MOST_BOXES = 40; // px; of depth

/** {name, time, children: Map, parent} of what is below `name`, by [names, µs]. */
function grow(name, rows) {
  const root = { name, time: 0, children: new Map() };
  for (const [names, us] of rows) {
    root.time += us;
    let node = root;
    for (const part of names) {
      let child = node.children.get(part);
      if (!child) node.children.set(part, (child = { name: part, time: 0, children: new Map(), parent: node }));
      child.time += us;
      node = child;
    }
  }
  return root;
}

/** Self and total of each name; what calls itself counts once. */
function byName(rows) {
  const sums = new Map();
  for (const [names, us] of rows) {
    for (const name of new Set(names)) {
      const sum = sums.get(name) ?? [0, 0];
      sum[1] += us;
      sums.set(name, sum);
    }
    sums.get(names[names.length - 1])[0] += us;
  }
  return sums;
}

/** Boxes lane by lane; in time's order where the tree is of calls one by one, else widest first. */
function layout(root, inOrder, lanes = [], depth = 0, start = 0) {
  (lanes[depth] ??= []).push({ node: root, start });
  const children = [...root.children.values()];
  for (const child of inOrder ? children : children.sort((a, b) => b.time - a.time)) {
    layout(child, inOrder, lanes, depth + 1, start);
    start += child.time;
  }
  return lanes;
}

function hue(name) {
  let sum = 0;
  for (let i = 0; i < name.length; i++) sum = (sum * 31 + name.charCodeAt(i)) >>> 0;
  return sum % 6;
}

const pathOf = (node) => (node.parent ? [...pathOf(node.parent), node.name] : []);

/** The node at the end of a path of names, as far as there is one. */
function descend(root, names) {
  const [name, ...rest] = names, next = [...root.children.values()].find((child) => child.name === name);
  return next ? descend(next, rest) : root;
}

/** A tree as boxes below, or `up`, above their caller. `hint`: what stands where nothing is pointed at. `key`:
 * the address keeps there what was looked at more closely. */
export function icicle(all, label, { key = '', kind = 'time', up = false, inOrder = false, hint = 'A click looks closer; a click on the widest bar goes back. Arrow keys walk, Enter looks closer.' } = {}) {
  let root = all, lanes, chosen = null;
  const readout = h('p', { class: 'readout dim', role: 'status' }, hint), path = h('p', { class: 'crumbs' });
  const deep = Math.min(Math.max(layout(all, inOrder).length, 2), MOST_BOXES), lineOf = (depth) => (up ? deep - 1 - depth : depth);
  const find = (event) => {
    const x = (event.offsetX / view.canvas.clientWidth) * root.time;
    return lanes[lineOf(Math.floor(event.offsetY / BOX))]?.find((box) => x >= box.start && x < box.start + box.node.time)?.node;
  };
  const point = (node) => {
    if (node === chosen) return;
    chosen = node ?? null;
    if (node) readout.textContent = `${cut(clean(node.name), 120)}: ${say(kind, node.time)}, ${((100 * node.time) / (all.time || 1)).toFixed(1)} % of all`;
    view.draw();
  };
  const settle = () => {
    lanes = layout(root, inOrder);
    const steps = [];
    for (let at = root; at; at = at.parent) steps.unshift(at);
    fill(path, root !== all && steps.map((step, i) => [i ? ' › ' : '', h('button', { class: 'link', onclick: () => look(step) }, named(step.name, 40))]));
  };
  const look = (node) => {
    root = node ?? all;
    settle();
    if (key) put({ [key]: pathOf(root).join(';') });
    view.draw();
  };
  const beside = (by) => {
    const lane = lanes.find((boxes) => boxes.some((box) => box.node === chosen)) ?? [];
    return lane[lane.findIndex((box) => box.node === chosen) + by]?.node ?? chosen;
  };
  const inner = (node) => [...node.children.values()].reduce((a, b) => (a && a.time >= b.time ? a : b), null) ?? node;
  const walk = { ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), [up ? 'ArrowUp' : 'ArrowDown']: () => inner(chosen), [up ? 'ArrowDown' : 'ArrowUp']: () => (chosen === root ? root : chosen.parent) };
  const view = picture(`${label}, ${say(kind, all.time)} in all`, deep * BOX, (context, width) => {
    const scale = width / (root.time || 1);
    context.textBaseline = 'middle';
    lanes.slice(0, deep).forEach((lane, depth) => {
      for (const { node, start } of lane) {
        const wide = node.time * scale, y = lineOf(depth) * BOX;
        if (wide < 0.5) continue;
        context.fillStyle = node === chosen ? color('accent') : depth === 0 ? color('line') : color(`flame${hue(node.name)}`);
        context.fillRect(start * scale, y, Math.max(wide - 1, 0.5), BOX - 1);
        if (wide < 36) continue;
        context.fillStyle = node === chosen ? color('on-accent') : color('ink');
        context.fillText(cut(clean(node.name), Math.floor((wide - 8) / 7.1)), start * scale + 5, y + BOX / 2);
      }
    });
  }, {
    tabindex: '0',
    onmousemove: (event) => point(find(event)),
    onclick: (event) => { const node = find(event); if (node) look(node === root ? root.parent : node); },
    onkeydown: (event) => {
      if (event.key === 'Enter' && chosen) look(chosen === root ? root.parent : chosen);
      else if (event.key === 'Escape') look(all);
      else if (walk[event.key]) point(chosen && lanes.some((lane) => lane.some((box) => box.node === chosen)) ? walk[event.key]() : root);
      else return;
      event.preventDefault();
    },
  });
  if (key && get(key)) root = descend(all, get(key).split(';'));
  settle();
  return [path, h('figure', null, view.canvas, h('figcaption', { class: 'legend' }, readout))];
}

/** Who calls a name, above, and what it calls, below: of each stack from its outermost call of it. */
function sandwich(rows, name, kind, close) {
  const callers = [], callees = [];
  for (const [names, us] of rows) {
    const at = names.indexOf(name);
    if (at < 0) continue;
    callers.push([names.slice(0, at).reverse(), us]);
    callees.push([names.slice(at + 1), us]);
  }
  return [h('p', { class: 'bar' }, h('b', null, named(name, 90)), h('span', { class: 'push' }), h('button', { onclick: close }, 'All calls')),
    h('h3', null, 'Who calls it'), icicle(grow(name, callers), `Callers of ${clean(name)}`, { kind, up: true, hint: 'Above each its callers.' }),
    h('h3', null, 'What it calls'), icicle(grow(name, callees), `What ${clean(name)} calls`, { kind })];
}

const withoutRepeats = ([names, us]) => [names.filter((name, i) => name !== names[i - 1]), us];

export function flameOf(table, title, cutShort) {
  const id = `flame.${title[0]}`, kind = table.columns[1][1], stacks = table.rows.map(([stack, us]) => [stack.split(';'), us]);
  const shown = h('div'), all = stacks.reduce((sum, [, us]) => sum + us, 0);
  const folded = () => get(`${id}.fold`) === '1';
  const toggle = h('button', { title: 'A name that calls itself is one box', onclick: () => { put({ [`${id}.fold`]: folded() ? '' : '1' }); draw(); } }, '');
  const choose = (name) => { put({ [`${id}.of`]: name }); draw(); shown.scrollIntoView({ block: 'nearest' }); };
  const draw = () => {
    const name = get(`${id}.of`), rows = folded() ? stacks.map(withoutRepeats) : stacks;
    toggle.textContent = folded() ? 'Show recursion' : 'Fold recursion';
    fill(shown, rows.some(([names]) => names.includes(name)) ? sandwich(rows, name, kind, () => choose('')) : icicle(grow('all', rows), `${title} by call stack`, { kind, key: `${id}.at` }));
  };
  const sums = [...byName(stacks)].map(([name, [self, total]]) => [name, self, (100 * self) / (all || 1), total, (100 * total) / (all || 1)]);
  const twin = { title: `${title} by name`, columns: [['Name', 'text'], ['Self', kind], ['Self share', 'percent'], ['Total', kind], ['Total share', 'percent']], rows: sums };
  if (stacks.length) draw();
  return h('section', null, h('div', { class: 'bar' }, h('h2', null, title), h('span', { class: 'push' }), stacks.some(([names]) => names.some((name, i) => i && name === names[i - 1])) && toggle),
    cutShort && h('p', { class: 'note' }, `Only the first ${count(table.rows.length)} different stacks are shown.`),
    stacks.length ? shown : h('p', { class: 'dim' }, 'Nothing of this was recorded.'),
    tableOf(twin, { id, sort: 'Self:down', optional: true, title: `${title} by name: ${say(kind, all)}`, open: (row) => choose(row[0]) }));
}

/** Modules of a table whose rows stand behind those that hold them, by what they take; null: nothing. */
export function moduleIcicle(table) {
  const depth = columnOf(table, 'Depth'), device = columnOf(table, 'Device total'), host = columnOf(table, 'Host total');
  const by = table.rows.some((row) => row[device] > 0) ? device : host, root = { name: 'all', time: 0, children: new Map() }, above = [root];
  table.rows.forEach((row, i) => {
    const parent = above[row[depth]] ?? root, node = { name: row[0], time: row[by] ?? 0, children: new Map(), parent };
    parent.children.set(i, node);
    if (parent === root) root.time += node.time;
    above[row[depth] + 1] = node;
    above.length = row[depth] + 2;
  });
  return root.time > 0 && h('section', null, h('h2', null, by === device ? 'Device time of modules' : 'Host time of modules'), icicle(root, 'Modules by what they take', { inOrder: true, key: 'module.at' }));
}
