// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors
// A list of up to 10,000 rows, of which only those in view are elements.

import { make } from './text.js';

const ROW = 46;
const MOST = 10000;
const REST_MS = 60; // between two drawings of what came: every one moves all rows

export class List {
  constructor(label, draw, choose) {
    this.items = [];
    this.draw = draw;
    this.choose = choose;
    this.chosen = null;
    this.rows = new Map();
    this.inner = make('div', { role: 'presentation' });
    this.element = make('div', {
      class: 'list', role: 'listbox', 'aria-label': label, tabindex: '0',
      scroll: () => this.later(), keydown: (e) => this.key(e),
    }, this.inner);
    new ResizeObserver(() => this.later()).observe(this.element);
  }

  /** Newest first. Keeps what is in view in place while somebody has scrolled down. */
  add(items) {
    this.items.unshift(...items.reverse());
    if (this.items.length > MOST)
      this.items.length = MOST;
    if (this.element.scrollTop > 0)
      this.element.scrollTop += items.length * ROW;
    const rest = REST_MS - (performance.now() - (this.drawn ?? 0));
    if (rest <= 0)
      this.later();
    else
      this.resting ??= setTimeout(() => { this.resting = undefined; this.later(); }, rest);
  }

  set(items) {
    this.items = items.slice(0, MOST);
    this.later();
  }

  later() {
    if (this.waiting)
      return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.render(); });
  }

  render() {
    this.drawn = performance.now();
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - 5);
    const last = Math.min(this.items.length, Math.ceil((scrollTop + clientHeight) / ROW) + 5);
    this.inner.style.height = `${this.items.length * ROW}px`;
    const seen = new Set(), shown = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
    const chosen = this.chosen ? this.items.indexOf(this.chosen) : -1;
    if (chosen >= 0 && (chosen < first || chosen >= last))
      shown.push(chosen); // screen readers follow it
    for (const i of shown) {
      const item = this.items[i];
      seen.add(item);
      let row = this.rows.get(item);
      if (!row) {
        row = this.draw(item);
        row.classList.add('row');
        row.setAttribute('role', 'option');
        row.id = `row-${List.next = (List.next ?? 0) + 1}`;
        row.addEventListener('click', () => this.pick(item));
        this.rows.set(item, row);
        this.inner.append(row);
      }
      row.style.top = `${i * ROW}px`;
      row.setAttribute('aria-setsize', this.items.length);
      row.setAttribute('aria-posinset', i + 1);
      row.setAttribute('aria-selected', item === this.chosen);
      if (item === this.chosen)
        this.element.setAttribute('aria-activedescendant', row.id);
    }
    for (const [item, row] of this.rows)
      if (!seen.has(item)) {
        row.remove();
        this.rows.delete(item);
      }
    if (!this.rows.has(this.chosen))
      this.element.removeAttribute('aria-activedescendant');
  }

  pick(item) {
    this.chosen = item;
    this.choose(item);
    this.later();
  }

  key(e) {
    const at = this.items.indexOf(this.chosen);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: this.items.length - 1,
                 PageDown: at + 10, PageUp: at - 10 }[e.key];
    if (to === undefined || !this.items.length)
      return;
    e.preventDefault();
    const i = Math.min(this.items.length - 1, Math.max(0, to));
    const top = i * ROW, { scrollTop, clientHeight } = this.element;
    if (top < scrollTop)
      this.element.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight)
      this.element.scrollTop = top + ROW - clientHeight;
    this.pick(this.items[i]);
  }
}
