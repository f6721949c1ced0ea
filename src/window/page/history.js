// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors

import { failure } from './graph.js';
import { List } from './list.js';
import { act, card, make, named, parse, table } from './text.js';

const clock = (time) => (time ?? '').replace('T', ' ').replace(/\.\d+Z$/, '');
const about = (i) => (i.path ?? i.target ?? i.host ?? (Array.isArray(i.command) ? i.command.join(' ') : i.what ?? ''));

export class History {
  constructor(panel) {
    this.from = make('input', { placeholder: 'as the settings say' });
    this.grep = make('input', { type: 'search' });
    this.since = make('input', { placeholder: '7d, 2026-01-31' });
    this.by = make('select', {}, make('option', { value: '' }, 'nothing'),
      ...['operation', 'path', 'host', 'program', 'rule', 'day', 'run'].map((b) => make('option', {}, b)));
    this.said = make('div', { 'aria-live': 'polite' });
    this.parts = make('div');
    this.list = new List('Record of past runs', draw, (item) => this.choose(item));
    this.list.element.classList.add('fixed');
    this.detail = make('div', { 'aria-live': 'polite' });
    this.first = make('select');
    this.second = make('select');
    this.compared = make('div', { 'aria-live': 'polite' });
    this.parts.append(card('Runs and denials', this.list.element, this.detail),
      card('Compare two runs',
        make('form', { submit: (e) => { e.preventDefault(); this.compare(); } },
          make('label', { class: 'wide' }, 'First run', this.first),
          make('label', { class: 'wide' }, 'Second run', this.second),
          make('button', {}, 'Compare the runs')), this.compared));
    panel.append(card('Record of past runs', make('form', { submit: (e) => { e.preventDefault(); this.open(); } },
      make('label', { class: 'wide' }, 'Record', this.from),
      make('label', {}, 'Since', this.since),
      make('label', { class: 'wide' }, 'Contains', this.grep),
      make('label', {}, 'Group by', this.by),
      make('button', { class: 'main' }, 'Show')), this.said), this.parts);
  }

  async open() {
    const values = { from: this.from.value, since: this.since.value };
    const by = this.by.value, chosen = { ...values, grep: this.grep.value }, mine = this.opening = {};
    const [shown, all] = await Promise.all([by ? act('groups', { ...chosen, by }) : act('history', chosen),
      act('history', values)]);
    if (mine !== this.opening)
      return; // a later question was answered sooner
    const none = shown.status !== 0 && !this.from.value && /no record/.test(shown.err);
    this.said.replaceChildren(none ? make('p', {}, 'No record is kept yet. Set ', make('code', {}, 'record.path'),
      ' in Policy and every run is recorded, or name a file that ', make('code', {}, 'buckle run --record FILE'), ' wrote.')
      : shown.status ? failure(shown) : '');
    this.parts.hidden = shown.status !== 0;
    this.compared.replaceChildren();
    const items = lines(shown.out);
    this.list.set(by ? items : items.reverse());
    this.all = lines(all.out);
    const runs = this.all.filter((i) => i.kind === 'run').reverse().slice(0, 200);
    for (const s of [this.first, this.second])
      s.replaceChildren(...runs.map((r) => make('option', { value: r.run }, `${clock(r.time)}  ${about(r).slice(0, 80)}`)));
    if (runs.length > 1)
      this.first.value = runs[1].run;
  }

  choose(item) {
    this.detail.replaceChildren(table(['Field', 'Value'], Object.entries(item).map(([key, v]) =>
      [named('code', {}, key), named('span', { class: 'path' }, typeof v === 'string' ? v : JSON.stringify(v), 2000)])));
  }

  /** What was denied in one of them alone, and in both. */
  compare() {
    const of = (run) => new Map((this.all ?? []).filter((i) => i.run === run && i.kind === 'denial')
      .map((i) => [`${i.operation} ${about(i)}`, i]));
    const a = of(this.first.value), b = of(this.second.value);
    const part = (title, keys) => [make('h3', {}, `${title} (${keys.length})`),
      make('ul', { class: 'plain' }, ...keys.slice(0, 500).map((k) => named('li', { class: 'path' }, k)))];
    this.compared.replaceChildren(
      ...part('Denied only in the first', [...a.keys()].filter((k) => !b.has(k))),
      ...part('Denied only in the second', [...b.keys()].filter((k) => !a.has(k))),
      ...part('Denied in both', [...a.keys()].filter((k) => b.has(k))));
  }
}

const lines = (text) => text.split('\n').filter(Boolean).map(parse).filter(Boolean);

function draw(item) {
  const kind = item.count ? `${item.count}×` : item.operation ?? item.kind ?? '';
  const more = [item.exe ?? item.folder, item.rule?.place ?? (item.kind === 'end' ? `status ${item.status}, ${item.denied} denied` : '')];
  return make('div', { class: item.kind === 'denial' ? 'deny' : '' },
    make('div', {}, named('span', { class: 'op' }, kind), named('span', { class: 'path grow' }, String(about(item)), 160),
      make('span', { class: 'when' }, clock(item.time))),
    make('div', { class: 'under' }, named('span', { class: 'grow' }, more.filter(Boolean).join(' · '), 200)));
}
