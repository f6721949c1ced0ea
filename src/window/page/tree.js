// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors
// Runs and sessions as a tree. Choosing one shows its denials alone.

import { make, named } from './text.js';

export class Tree {
  constructor(choose) {
    this.choose = choose;
    this.chosen = 'all'; // the key of an item: "all", a source's number, or SOURCE:RUN
    this.at = 'all';     // the one that Tab leads to
    this.element = make('ul', { role: 'tree', 'aria-label': 'Runs and sessions',
      keydown: (e) => this.key(e), click: (e) => this.pick(e.target.closest('[role=treeitem]')) });
  }

  item(key, content, children) {
    return make('li', { role: 'treeitem', 'data-key': key, tabindex: key === this.at ? '0' : '-1',
        'aria-selected': key === this.chosen ? 'true' : 'false', 'aria-expanded': children?.length ? 'true' : undefined },
      make('div', {}, ...content), children?.length ? make('ul', { role: 'group' }, ...children) : undefined);
  }

  draw(sources) {
    const focused = this.element.contains(document.activeElement);
    this.keys = new Map([['all', null]]);
    const items = [...sources.values()].map((s) => {
      const key = String(s.source);
      this.keys.set(key, { source: s.source });
      const runs = s.runs.map((r) => {
        const inner = `${key}:${r.number}`;
        this.keys.set(inner, { source: s.source, command: r.command });
        return this.item(inner, [named('span', { class: 'path' }, r.command, 200),
          make('span', { class: 'about' }, `run ${r.pid ?? r.number}${r.background ? ', in the background' : ''}`)]);
      });
      return this.item(key, [named('span', { class: 'path' }, s.command, 200),
        make('span', { class: 'about' }, `${s.session ? 'session' : 'run'} ${s.source}, `,
          make('span', { class: 'count' }, `${s.denied} denied`))], runs);
    });
    if (!this.keys.has(this.chosen))
      this.set('all');
    if (!this.keys.has(this.at))
      this.at = 'all';
    this.element.replaceChildren(this.item('all', [sources.size ? 'Everything' : 'Nothing runs.']), ...items);
    if (focused)
      this.element.querySelector('[tabindex="0"]').focus();
  }

  set(key) {
    this.chosen = key;
    this.choose(this.keys.get(key));
  }

  pick(item) {
    if (!item)
      return;
    this.lead(item);
    this.set(item.dataset.key);
    for (const one of this.element.querySelectorAll('[role=treeitem]'))
      one.setAttribute('aria-selected', one === item);
  }

  /** Tab and the next drawing lead to this item. */
  lead(item) {
    this.at = item.dataset.key;
    for (const one of this.element.querySelectorAll('[role=treeitem]'))
      one.tabIndex = one === item ? 0 : -1;
  }

  key(e) {
    const all = [...this.element.querySelectorAll('[role=treeitem]')], at = all.indexOf(e.target);
    const to = { ArrowDown: all[at + 1], ArrowUp: all[at - 1], Home: all[0], End: all.at(-1),
      ArrowLeft: e.target.parentElement.closest('[role=treeitem]'), ArrowRight: e.target.querySelector('[role=treeitem]') };
    if (e.key === 'Enter' || e.key === ' ') {
      e.preventDefault();
      this.pick(e.target);
    } else if (e.key in to) {
      e.preventDefault();
      if (to[e.key]) {
        this.lead(to[e.key]);
        to[e.key].focus();
      }
    }
  }
}
