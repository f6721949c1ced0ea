// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors

import { failure } from './graph.js';
import { act, heading, make, named, parse, table } from './text.js';

export class Doctor {
  constructor(panel) {
    this.out = make('div', { 'aria-live': 'polite' });
    panel.append(heading('What this host can enforce'), this.out);
  }

  async open() {
    const r = await act('doctor');
    const found = parse(r.out);
    if (!Array.isArray(found?.abilities))
      return this.out.replaceChildren(failure(r));
    return this.out.replaceChildren(
      make('p', {}, make('strong', { class: found.full ? 'good' : 'bad' }, found.full ? 'Everything works here. ' : 'Something is missing. '),
        named('span', {}, found.summary, 2000)),
      make('ul', { class: 'plain' }, ...(found.notes ?? []).map((n) => named('li', {}, n, 600))),
      table(['Works', 'Feature', 'For', 'To mend it'], found.abilities.map((f) => [
        make('span', { class: f.good ? 'good' : 'bad' }, f.good ? 'yes' : 'no'),
        named('span', {}, f.words), named('span', { class: 'quiet' }, f.use ?? ''),
        named('code', {}, f.remedy?.trim() ?? '', 600)])));
  }
}
