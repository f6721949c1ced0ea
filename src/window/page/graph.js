// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors
// The graph of one operation as a picture: tests from the top down, decisions in colour. A test that
// does not hold leads straight down, one that holds to the right.

import { cut, make, plainText, printed, words } from './text.js';

const WIDTH = 220, HEIGHT = 44, ACROSS = 250, DOWN = 90;
const space = 'http://www.w3.org/2000/svg';

function shape(name, attributes, ...children) {
  const e = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes))
    e.setAttribute(key, value);
  e.append(...children);
  return e;
}

/** Where each node is: its row is the longest way from the top, its column the leftmost that a parent wishes. */
function place(graph) {
  const nodes = new Map(graph.nodes.map((n) => [n.id, { ...n, row: 0, parents: [] }]));
  const after = (n) => [n.match, n.unmatch].filter((i) => i !== undefined && nodes.has(i));
  const order = [], seen = new Set();
  for (const root of Object.values(graph.entries)) {
    const stack = [[root, false]]; // depth first, without recursion
    while (stack.length) {
      const [id, done] = stack.pop();
      if (done) {
        order.push(id);
      } else if (!seen.has(id) && nodes.has(id)) {
        seen.add(id);
        stack.push([id, true], ...after(nodes.get(id)).map((i) => [i, false]));
      }
    }
  }
  for (const id of order.reverse())
    for (const to of after(nodes.get(id))) {
      const next = nodes.get(to);
      next.row = Math.max(next.row, nodes.get(id).row + 1);
      next.parents.push([id, to === nodes.get(id).match ? ACROSS : 0]);
    }
  const rows = [];
  for (const id of order)
    (rows[nodes.get(id).row] ??= []).push(nodes.get(id));
  for (const row of rows) {
    for (const n of row)
      n.wish = n.parents.length ? Math.min(...n.parents.map(([p, right]) => nodes.get(p).x + right)) : 0;
    row.sort((a, b) => a.wish - b.wish);
    row.forEach((n, i) => { n.x = Math.max(n.wish, i ? row[i - 1].x + ACROSS : 0); n.y = n.row * DOWN; });
  }
  return { nodes: order.map((id) => nodes.get(id)), of: nodes };
}

export class Graph {
  constructor() {
    this.found = [];
    this.search = make('input', { type: 'search', input: () => this.find(), keydown: (e) => {
      if (e.key === 'Enter') { e.preventDefault(); this.next(); } } });
    this.count = make('span', { class: 'quiet', role: 'status' });
    this.picture = make('div', { class: 'picture', tabindex: '0', role: 'group',
      'aria-label': 'Graph: + and - zoom, arrows move', keydown: (e) => this.key(e) });
    this.picture.addEventListener('wheel', (e) => {
      if (e.ctrlKey) { e.preventDefault(); this.zoom(e.deltaY < 0 ? 1.2 : 1 / 1.2); }
    }, { passive: false });
    const button = (text, label, by) => make('button', { type: 'button', 'aria-label': label, click: by }, text);
    this.element = make('div', { hidden: true },
      make('form', { submit: (e) => e.preventDefault() },
        make('label', { class: 'wide' }, 'Search the graph', this.search),
        button('−', 'Smaller', () => this.zoom(1 / 1.25)), button('+', 'Larger', () => this.zoom(1.25)),
        button('Fit', 'Fit the window', () => this.fit()), this.count),
      this.picture,
      make('p', { class: 'quiet' }, 'Straight down, dashed: the test does not hold. To the right: it holds. '
        + 'Ctrl and the wheel, or + and −, zoom.'));
  }

  draw(graph) {
    const { nodes, of } = place(graph);
    const lines = [], boxes = [];
    this.boxes = [];
    for (const n of nodes) {
      for (const [to, kind] of [[n.match, 'holds'], [n.unmatch, 'else']]) {
        const end = of.get(to);
        if (!end)
          continue;
        const x = n.x + WIDTH * (kind === 'holds' ? 0.75 : 0.25), y = n.y + HEIGHT, tx = end.x + WIDTH * (kind === 'holds' ? 0.5 : 0.25);
        lines.push(shape('path', { class: `line ${kind}`,
          d: `M${x},${y} C${x},${y + 30} ${tx},${end.y - 30} ${tx},${end.y}` }));
      }
      const rule = graph.rules.find((r) => r.id === n.rule);
      const test = n.test === undefined ? null : graph.tests[n.test];
      const text = plainText(test ? test.sbpl : n.decision);
      const where = plainText(rule?.file ? `${rule.file}:${rule.line}` : rule?.text ?? '');
      const line = (content, y, cls) => { const t = shape('text', { x: 10, y, class: cls }); t.textContent = content; return t; };
      const title = shape('title', {});
      title.textContent = `${text}\n${where}`;
      const box = shape('g', { class: `node ${n.decision ?? 'test'}`, transform: `translate(${n.x},${n.y})` }, title,
        shape('rect', { width: WIDTH, height: HEIGHT, rx: n.decision ? 22 : 6 }),
        line(cut(text, 28), 19, ''), line(cut(where, 34), 35, 'small'));
      boxes.push(box);
      this.boxes.push({ box, text: `${text} ${where} ${rule?.text ?? ''}`.toLowerCase(), n });
    }
    this.width = Math.max(...nodes.map((n) => n.x)) + WIDTH + 40;
    this.height = Math.max(...nodes.map((n) => n.y)) + HEIGHT + 40;
    this.svg = shape('svg', { viewBox: `-20 -20 ${this.width} ${this.height}`, role: 'img' }, ...lines, ...boxes);
    this.svg.setAttribute('aria-label', `${nodes.length} tests and decisions`);
    this.picture.replaceChildren(this.svg);
    this.element.hidden = false;
    this.scale = Math.min(1, Math.max(0.8, this.picture.clientWidth / this.width));
    this.zoom(1);
    this.find();
  }

  zoom(by) {
    this.scale = Math.min(4, Math.max(0.05, this.scale * by));
    this.svg.setAttribute('width', this.width * this.scale);
    this.svg.setAttribute('height', this.height * this.scale);
  }

  fit() {
    this.zoom(Math.min(this.picture.clientWidth / this.width, this.picture.clientHeight / this.height) * 0.98 / this.scale);
  }

  key(e) {
    const by = { '+': 1.25, '=': 1.25, '-': 1 / 1.25 }[e.key];
    if (by && this.svg) {
      e.preventDefault();
      this.zoom(by);
    }
  }

  find() {
    const text = this.search.value.toLowerCase();
    this.found = text ? this.boxes.filter((b) => b.text.includes(text)) : [];
    for (const b of this.boxes)
      b.box.classList.toggle('found', this.found.includes(b));
    this.count.textContent = text ? `${this.found.length} found` : '';
    this.at = -1;
    this.next();
  }

  next() {
    if (!this.found.length)
      return;
    this.at = (this.at + 1) % this.found.length;
    const { n } = this.found[this.at], p = this.picture;
    p.scrollTo({ left: (n.x + WIDTH / 2 + 20) * this.scale - p.clientWidth / 2, top: (n.y + 40) * this.scale - p.clientHeight / 2 });
    for (const b of this.found)
      b.box.classList.toggle('at', b === this.found[this.at]);
  }
}

export const failure = (r) => printed('p', { class: 'bad' }, words(r), 800);
