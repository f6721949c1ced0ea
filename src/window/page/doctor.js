// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors

import { act, make, named } from './text.js';

export class Doctor {
  constructor(panel) {
    this.out = make('div', { 'aria-live': 'polite' });
    panel.append(make('h2', {}, 'What this host can enforce'), this.out);
  }

  async open() {
    const r = await act('doctor');
    let found;
    try { found = JSON.parse(r.out); } catch { found = null; }
    const features = found?.abilities;
    if (!Array.isArray(features)) {
      this.out.replaceChildren(named('pre', {}, r.out || r.err, 20000));
      return;
    }
    this.out.replaceChildren(named('p', {}, found.summary, 2000), make('table', {},
      make('thead', {}, make('tr', {}, ...['', 'Feature', 'For', 'Remedy'].map((t) => make('th', { scope: 'col' }, t || 'Works')))),
      make('tbody', {}, ...features.map((f) => {
        const since = f.good || !f.since ? '' : `Linux ${f.since} or newer`;
        return make('tr', {}, make('td', { class: f.good ? 'good' : 'bad' }, f.good ? 'yes' : 'no'),
          named('td', {}, f.words), named('td', { class: 'quiet' }, f.use ?? ''),
          named('td', {}, f.fix ?? f.remedy ?? since));
      }))));
  }
}
