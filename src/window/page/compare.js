// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors

import { act, make, named } from './text.js';

export class Compare {
  constructor(panel) {
    this.first = make('input', { required: true });
    this.second = make('input', { required: true });
    this.out = make('div', { 'aria-live': 'polite' });
    panel.append(make('form', { submit: (e) => { e.preventDefault(); this.run(); } },
      make('label', { class: 'wide' }, 'First profile', this.first),
      make('label', { class: 'wide' }, 'Second profile', this.second),
      make('button', {}, 'Compare')), this.out);
  }

  async run() {
    const r = await act('compare', { first: this.first.value, second: this.second.value });
    this.out.replaceChildren(
      make('p', {}, { 0: 'They are equal.', 1: 'They differ.' }[r.status] ?? 'That was not possible.'),
      r.out || r.err ? named('pre', {}, r.out || r.err, 50000) : '');
  }
}
