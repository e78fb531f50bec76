// SPDX-License-Identifier: MIT
// Where one is in a timeline: the strip of the whole trace above it, and the way by which one came closer.
import { fill, h } from './h.js';
import { many, time } from './words.js';
import { color } from './chart.js';
import { notedRanges } from './notes.js';

const STRIP = 30, MOST_CRUMBS = 5; // px; the last ones

/** The whole trace with its steps, notes and what was found; the frame is what is seen below. */
export class Strip {
  constructor(view) {
    this.view = view;
    this.canvas = h('canvas', { class: 'strip', role: 'img', 'aria-label': 'The whole trace, with its steps; the frame is what is seen below', title: 'The whole trace: drag to look elsewhere' });
    const jump = (event) => {
      const box = this.canvas.getBoundingClientRect(), middle = ((event.clientX - box.left - view.left) / (box.width - view.left)) * view.tracks.span, half = (view.to - view.from) / 2;
      view.goTo(middle - half, middle + half);
    };
    this.canvas.addEventListener('pointerdown', (event) => { this.canvas.setPointerCapture(event.pointerId); jump(event); });
    this.canvas.addEventListener('pointermove', (event) => { if (event.buttons) jump(event); });
  }

  draw() {
    const { view } = this, width = view.pane.clientWidth, context = view.size(this.canvas, width, STRIP), span = view.tracks.span || 1;
    context.clearRect(0, 0, width, STRIP);
    context.fillStyle = color('line');
    const x = (at) => view.left + (at / span) * (width - view.left);
    this.steps ??= this.findSteps();
    this.steps.forEach(([start, end], i) => {
      context.globalAlpha = i % 2 ? 0.55 : 1;
      context.fillRect(x(start), 8, Math.max(1, x(end) - x(start)), STRIP - 12);
    });
    context.globalAlpha = 1;
    context.fillStyle = color('warn');
    for (const [from, to] of notedRanges(view.trace)) context.fillRect(x(from), 0, Math.max(3, x(to) - x(from)), 4);
    if (view.hits) {
      context.fillStyle = color('accent');
      for (const { start } of view.hits.hits) context.fillRect(x(start), 4, 1, STRIP - 4);
    }
    context.fillStyle = color('accent');
    context.globalAlpha = 0.18;
    context.fillRect(x(view.from), 0, Math.max(2, x(view.to) - x(view.from)), STRIP);
    context.globalAlpha = 1;
    context.fillRect(x(view.from), 0, 1.5, STRIP);
    context.fillRect(Math.max(x(view.to), x(view.from) + 2) - 1.5, 0, 1.5, STRIP);
    context.fillStyle = color('dim');
    context.font = `11px ${color('font')}`;
    context.textBaseline = 'middle';
    context.fillText(this.steps.length ? many(this.steps.length, 'step') : 'Whole trace', 8, STRIP / 2 + 1);
  }

  findSteps() {
    const { slices, tracks } = this.view, steps = [];
    for (const lane of slices.whole.lanes) {
      for (let i = 0; i < lane.n; i++) if (tracks.names[lane.names[i]][1] === 'step') steps.push([lane.starts[i], lane.ends[i]]);
      if (steps.length) break;
    }
    return steps;
  }
}

/** What was seen before one jumped closer, each a way back to it: breadcrumbs. */
export class Trail {
  /** `go(from, to)`: shows that. */
  constructor(go) {
    Object.assign(this, { go, crumbs: [] });
    this.element = h('span', { class: 'crumbs' });
  }

  push(from, to) {
    const [before, until] = this.crumbs.at(-1) ?? [];
    if (before !== from || until !== to) this.crumbs.push([from, to]);
    this.draw();
  }

  /** To the last one, or to that one. */
  back(i = this.crumbs.length - 1) {
    const [crumb] = this.crumbs.splice(Math.max(i, 0));
    if (crumb) this.go(...crumb);
    this.draw();
  }

  clear() {
    this.crumbs = [];
    this.draw();
  }

  draw() {
    const first = Math.max(0, this.crumbs.length - MOST_CRUMBS);
    fill(this.element, first > 0 && '… ', this.crumbs.slice(first).map(([from, to], i) => [h('button', { class: 'link', title: 'Back to what was seen there (B: to the last one)', onclick: () => this.back(first + i) }, time((to - from) / 1e3)), ' › ']));
  }
}
