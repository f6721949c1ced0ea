// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors

import { List } from './list.js';
import { act, make, named } from './text.js';

export class History {
  constructor(panel) {
    this.from = make('input', { placeholder: 'as the settings say' });
    this.grep = make('input', { type: 'search' });
    this.since = make('input', { placeholder: '7d, 2026-01-31' });
    this.by = make('select', {}, make('option', { value: '' }, 'nothing'),
      ...['operation', 'path', 'host', 'program', 'command', 'rule', 'day', 'run'].map((b) => make('option', {}, b)));
    this.said = make('div', { 'aria-live': 'polite' });
    this.list = new List('Record of past runs', draw, (item) => this.choose(item));
    this.list.element.style.height = '50vh';
    this.detail = make('div', { 'aria-live': 'polite' });
    panel.append(make('form', { submit: (e) => { e.preventDefault(); this.open(); } },
      make('label', { class: 'wide' }, 'Record', this.from),
      make('label', {}, 'Since', this.since),
      make('label', { class: 'wide' }, 'Contains', this.grep),
      make('label', {}, 'Group by', this.by),
      make('button', {}, 'Show')), this.said, this.list.element, this.detail);
  }

  async open() {
    const values = { from: this.from.value, since: this.since.value, grep: this.grep.value, by: this.by.value };
    const r = await act(this.by.value ? 'groups' : 'history', values);
    this.said.replaceChildren(r.status ? named('p', { class: 'bad' }, r.err, 600) : '');
    this.list.set(r.out.split('\n').filter(Boolean).map((l) => JSON.parse(l)).reverse());
  }

  choose(item) {
    this.detail.replaceChildren(named('pre', {}, JSON.stringify(item, null, 2), 6000));
  }
}

function draw(item) {
  const what = item.what ?? item.path ?? item.target ?? item.command ?? item.folder ?? '';
  return make('div', { class: item.verdict ?? '' },
    make('div', {}, make('span', { class: 'op' }, `${item.count ? `${item.count}× ` : ''}${item.operation ?? item.kind ?? ''} `),
      named('span', { class: 'path' }, Array.isArray(what) ? what.join(' ') : String(what), 160)),
    make('div', { class: 'under' }, item.time ?? ''));
}
