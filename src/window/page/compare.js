// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors

import { failure } from './graph.js';
import { act, card, make, named, table } from './text.js';

const kinds = { profile: 'a profile', settings: 'a settings file', here: 'the settings in force' };

/** One side: what it is, and where. */
class Side {
  constructor(label) {
    this.kind = make('select', { change: () => this.changed() },
      ...Object.entries(kinds).map(([value, text]) => make('option', { value }, text)));
    this.path = make('input', { required: true, placeholder: 'a path, or the name of a shipped profile' });
    this.element = make('fieldset', {}, make('legend', {}, label), make('label', {}, 'What', this.kind),
      this.where = make('label', { class: 'wide' }, 'Where', this.path));
  }

  changed() {
    this.where.hidden = this.kind.value === 'here';
    this.path.required = this.kind.value !== 'here';
  }

  get name() { return this.kind.value === 'here' ? kinds.here : this.path.value; }

  /** { how: 'file' | 'text', value }, or { failed } */
  async read() {
    if (this.kind.value === 'profile')
      return { how: 'file', value: this.path.value };
    const r = this.kind.value === 'here' ? await act('profile') : await act('profile-of', { file: this.path.value });
    return r.status ? { failed: r } : { how: 'text', value: r.out };
  }
}

export class Compare {
  constructor(panel) {
    this.sides = [new Side('First'), new Side('Second')];
    this.out = make('div', { 'aria-live': 'polite' });
    panel.append(card('Compare two policies', make('form', { submit: (e) => { e.preventDefault(); this.run(); } },
      this.sides[0].element, this.sides[1].element, make('button', { class: 'main' }, 'Compare'))), this.out);
  }

  async run() {
    const mine = this.running = {};
    const [a, b] = await Promise.all(this.sides.map((s) => s.read()));
    const failed = a.failed ?? b.failed;
    if (failed)
      return this.out.replaceChildren(card('Result', failure(failed)));
    const r = await act(`compare-${a.how}-${b.how}`, { first: a.value, second: b.value });
    if (mine !== this.running)
      return undefined;
    if (r.status > 1 && !r.out)
      return this.out.replaceChildren(card('Result', failure(r)));
    if (r.status === 0)
      return this.out.replaceChildren(card('Result', make('p', { class: 'good' }, 'They allow and deny the same.')));
    let text = r.out;
    if (a.how === 'text')
      text = text.replaceAll('/dev/fd/30', this.sides[0].name);
    if (b.how === 'text')
      text = text.replaceAll(a.how === 'text' ? '/dev/fd/31' : '/dev/fd/30', this.sides[1].name);
    const found = read(text, this.sides.map((s) => s.name));
    return this.out.replaceChildren(
      ...part('The second allows more', found.filter((f) => f.before === 'deny' && f.after === 'allow')),
      ...part('The second allows less', found.filter((f) => f.before === 'allow' && f.after === 'deny')),
      ...part('Other differences', found.filter((f) => f.before === f.after)),
      named('p', { class: 'quiet' }, text.trimEnd().split('\n').pop(), 300));
  }
}

/** Each difference: an operation with an argument for which the two differ, and both verdicts. */
function read(text, names) {
  const rule = (side, said) => (said.startsWith(`${names[side]} (`) && said.endsWith(')')
    ? said.slice(names[side].length + 2, -1).replace(`${names[side]}:`, 'line ') : said);
  const lines = text.split('\n'), found = [];
  for (let i = 0; i + 2 < lines.length; i++) {
    const one = /^ {2}(allow|deny) +(.*)$/.exec(lines[i + 1]), two = /^ {2}(allow|deny) +(.*)$/.exec(lines[i + 2]);
    if (lines[i].startsWith(' ') || !one || !two)
      continue;
    const [, operation, witness] = /^(\S+) ?(.*)$/.exec(lines[i]);
    found.push({ operation, witness, before: one[1], after: two[1], first: rule(0, one[2]), second: rule(1, two[2]) });
  }
  return found;
}

const part = (title, found) => (found.length ? [card(`${title} (${found.length})`,
  table(['Operation', 'For example', 'First', 'Second'], found.map((f) => [named('code', {}, f.operation),
    named('span', { class: 'path' }, f.witness, 400), named('span', { class: `quiet ${f.before}` }, `${f.before}: ${f.first}`, 400),
    named('span', { class: `quiet ${f.after}` }, `${f.after}: ${f.second}`, 400)])))] : []);
