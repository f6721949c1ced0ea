// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors

import { failure } from './graph.js';
import { act, card, make, named, note, parse, printed, table } from './text.js';

/** What would mend it; a command in it can be copied. */
function mend(remedy) {
  const text = remedy?.trim() ?? '';
  const command = /\b(sudo|docker run|systemd-run) [^]*?(?=\. | \(|\n(?!-|seccomp=|systempaths=)|$)/.exec(text)?.[0].replaceAll('\n', ' ');
  return make('div', {}, printed('span', {}, text, 3000), command ? make('div', { class: 'acts' },
    named('code', { class: 'command' }, command), make('button', {
      class: 'small', 'aria-label': `Copy: ${command}`,
      click: () => navigator.clipboard.writeText(command).then(() => note('copied'), () => note('the browser does not let the page copy', true)),
    }, 'Copy')) : '');
}

/** Some things are good because they are not there. */
const works = (f) => (f.good ? (f.value === false ? 'no, which is good' : 'yes') : 'no');

export class Doctor {
  constructor(panel) {
    this.out = make('div', { 'aria-live': 'polite' });
    panel.append(this.out);
  }

  async open() {
    const r = await act('doctor');
    const found = parse(r.out);
    if (!Array.isArray(found?.abilities))
      return this.out.replaceChildren(card('What this host can enforce', failure(r)));
    const missing = found.abilities.filter((f) => !f.good);
    const rows = (list) => table(['Works', 'Feature', 'For'], list.map((f) => [
      make('span', { class: f.good ? 'good' : 'bad' }, works(f)), named('span', {}, f.words), named('span', { class: 'quiet' }, f.use ?? '')]));
    const gaps = missing.flatMap((f) => [make('h3', {}, named('span', {}, f.words), ': ', named('span', { class: 'quiet' }, f.use ?? '')), mend(f.remedy)]);
    return this.out.replaceChildren(
      card('What this host can enforce',
        make('p', {}, make('strong', { class: found.full ? 'good' : 'bad' }, found.full ? 'Everything works here. ' : 'Something is missing. '),
          named('span', {}, found.summary, 2000)),
        make('ul', { class: 'plain' }, ...(found.notes ?? []).map((n) => named('li', {}, n, 600)))),
      ...(missing.length ? [card(found.full ? 'Missing, but not needed by default' : 'What is missing', ...gaps)] : []),
      card('What works', rows(found.abilities.filter((f) => f.good))));
  }
}
