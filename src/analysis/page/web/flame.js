// SPDX-License-Identifier: MIT
// Calls, merged by their stacks: widest first, and as a table of what each name takes by itself and
// with all that it calls.
import { clean, cut, h, named } from './h.js';
import { count, say, time } from './words.js';
import { color, picture } from './chart.js';
import { tableOf } from './table.js';

const BOX = 20;

function grow(rows) {
  const root = { name: 'all', time: 0, children: new Map() };
  for (const [stack, us] of rows) {
    root.time += us;
    let node = root;
    for (const name of stack.split(';')) {
      let child = node.children.get(name);
      if (!child) node.children.set(name, (child = { name, time: 0, children: new Map(), parent: node }));
      child.time += us;
      node = child;
    }
  }
  return root;
}

/** Self and total of each name; what calls itself counts once. */
function byName(rows) {
  const sums = new Map();
  for (const [stack, us] of rows) {
    const names = stack.split(';');
    for (const name of new Set(names)) {
      const sum = sums.get(name) ?? [0, 0];
      sum[1] += us;
      sums.set(name, sum);
    }
    sums.get(names[names.length - 1])[0] += us;
  }
  return sums;
}

function layout(root, lanes = [], depth = 0, start = 0) {
  (lanes[depth] ??= []).push({ node: root, start });
  for (const child of [...root.children.values()].sort((a, b) => b.time - a.time)) {
    layout(child, lanes, depth + 1, start);
    start += child.time;
  }
  return lanes;
}

function hue(name) {
  let sum = 0;
  for (let i = 0; i < name.length; i++) sum = (sum * 31 + name.charCodeAt(i)) >>> 0;
  return sum % 6;
}

export function flameOf(table, title, cutShort) {
  const all = grow(table.rows);
  let root = all, lanes = layout(all), chosen = null;
  const readout = h('p', { class: 'readout dim', role: 'status' }, 'A click looks closer; a click on the lowest bar goes back.');
  const path = h('p', { class: 'crumbs' });
  const find = (event) => {
    const lane = Math.floor(event.offsetY / BOX), x = (event.offsetX / view.canvas.clientWidth) * root.time;
    return lanes[lane]?.find((box) => x >= box.start && x < box.start + box.node.time)?.node;
  };
  const look = (node) => {
    root = node ?? all;
    lanes = layout(root);
    const steps = [];
    for (let up = root; up; up = up.parent) steps.unshift(up);
    path.replaceChildren(...steps.flatMap((step, i) => [i ? ' › ' : '', h('button', { class: 'link', onclick: () => look(step) }, named(step.name, 40))]));
    view.draw();
  };
  const deepest = lanes.length;
  const view = picture(`${title} by call stack, ${time(all.time)} in all`, Math.min(Math.max(deepest, 3), 40) * BOX, (context, width) => {
    const scale = width / (root.time || 1);
    context.textBaseline = 'middle';
    lanes.forEach((lane, depth) => {
      for (const { node, start } of lane) {
        const wide = node.time * scale;
        if (wide < 0.5) continue;
        context.fillStyle = node === chosen ? color('accent') : depth === 0 ? color('line') : color(`flame${hue(node.name)}`);
        context.fillRect(start * scale, depth * BOX, Math.max(wide - 1, 0.5), BOX - 1);
        if (wide < 36) continue;
        context.fillStyle = node === chosen ? color('on-accent') : color('ink');
        context.fillText(cut(clean(node.name), Math.floor((wide - 8) / 6.6)), start * scale + 5, depth * BOX + BOX / 2);
      }
    });
  }, {
    onmousemove: (event) => {
      const node = find(event);
      if (node === chosen) return;
      chosen = node ?? null;
      if (node) readout.textContent = `${cut(clean(node.name), 120)}: ${time(node.time)}, ${((100 * node.time) / all.time).toFixed(1)} % of all`;
      view.draw();
    },
    onclick: (event) => look(find(event) === root ? root.parent : find(event)),
  });
  const sums = [...byName(table.rows)].map(([name, [self, total]]) => [name, self, (100 * self) / (all.time || 1), total, (100 * total) / (all.time || 1)]);
  const twin = { title: `${title} by name`, columns: [['Name', 'text'], ['Self', 'time'], ['Self share', 'percent'], ['Total', 'time'], ['Total share', 'percent']], rows: sums };
  return h('section', null, h('h2', null, title),
    cutShort && h('p', { class: 'note' }, `Only the first ${count(table.rows.length)} different stacks are shown.`),
    table.rows.length ? [path, h('figure', null, view.canvas, h('figcaption', { class: 'legend' }, readout))] : h('p', { class: 'dim' }, 'Nothing of this was recorded.'),
    tableOf(twin, { id: `flame.${title[0]}`, sort: 'Self:down', optional: true, title: `${title} by name: ${say('time', all.time)}` }));
}
