// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors

import { act, make, named, note, show, words } from './text.js';

const operations = ['file-read-data', 'file-write-data', 'file-write-create', 'file-write-unlink',
                    'process-exec', 'network-outbound'];

export class Policy {
  constructor(panel) {
    this.settings = make('div');
    this.answer = make('div', { 'aria-live': 'polite' });
    this.checked = make('p', { class: 'quiet', 'aria-live': 'polite' });
    this.plan = make('div');
    this.operation = make('select', {}, ...operations.map((o) => make('option', {}, o)));
    this.argument = make('input', { required: true });
    this.key = make('select');
    this.value = make('input', { input: () => this.check() });
    this.layer = make('select', {}, ...['user', 'project', 'local'].map((l) => make('option', {}, l)));
    this.command = make('input', { value: 'true' });
    panel.append(
      make('h2', {}, 'What would a path or host get?'),
      make('form', { submit: (e) => { e.preventDefault(); this.ask(); } },
        make('label', {}, 'Operation', this.operation),
        make('label', { class: 'wide' }, 'Path or host', this.argument),
        make('button', {}, 'Ask')),
      this.answer,
      make('h2', {}, 'Settings in force'), this.settings,
      make('h2', {}, 'Change a setting'),
      make('form', { submit: (e) => { e.preventDefault(); this.change(); } },
        make('label', {}, 'Key', this.key),
        make('label', { class: 'wide' }, 'Value to add or set', this.value),
        make('label', {}, 'Layer', this.layer),
        make('button', {}, 'Write'),
        make('button', { type: 'button', click: () => this.undo() }, 'Undo the last change')),
      this.checked,
      make('h2', {}, 'How this host enforces it'),
      make('form', { submit: (e) => { e.preventDefault(); this.showPlan(); } },
        make('label', { class: 'wide' }, 'Program', this.command),
        make('button', {}, 'Show the plan')),
      this.plan);
  }

  async open() {
    const [settings, keys] = await Promise.all([act('settings'), act('keys')]);
    if (!this.keys && keys.status === 0) {
      this.keys = JSON.parse(keys.out);
      this.key.replaceChildren(...this.keys.map((k) => make('option', { title: k.brief }, k.key)));
    }
    this.settings.replaceChildren(settings.status === 0
      ? table(JSON.parse(settings.out)) : named('pre', {}, settings.err));
  }

  async ask() {
    const r = await act('reasons', { operation: this.operation.value, argument: this.argument.value });
    this.answer.replaceChildren(named('pre', {}, r.out || r.err, 6000));
  }

  get request() {
    const k = this.keys?.find((one) => one.key === this.key.value);
    const list = /^(a )?list|^strings|^paths|map/.test(k?.takes ?? '');
    return [list ? 'add' : 'set', { key: this.key.value, value: this.value.value,
                                    layer: this.layer.value }];
  }

  async check() {
    const [how, values] = this.request;
    const mine = this.checking = {};
    const r = values.value ? await act(`try-${how}`, values) : null;
    if (mine !== this.checking)
      return;
    show(this.checked, r ? words(r) : '');
    this.checked.className = r?.status ? 'bad' : 'quiet';
  }

  async change() {
    const [how, values] = this.request;
    const r = await act(how, values);
    note(r.status ? words(r) : `${values.key} is changed in the ${values.layer} settings`, r.status !== 0);
    this.open();
  }

  async undo() {
    const r = await act('undo');
    note(words(r), r.status > 1);
    this.open();
  }

  async showPlan() {
    const r = await act('plan', { command: this.command.value });
    this.plan.replaceChildren(named('pre', {}, r.out || r.err, 20000));
  }
}

function table(document_) {
  const rows = [];
  const settings = document_.settings ?? document_;
  for (const s of Array.isArray(settings) ? settings : Object.entries(settings).map(([key, v]) => ({ key, values: v })))
    for (const v of Array.isArray(s.values) ? s.values : [s.values ?? s])
      rows.push(make('tr', {}, named('td', {}, s.key ?? ''),
        named('td', { class: 'path' }, typeof v === 'object' && v ? JSON.stringify(v.value ?? v) : String(v)),
        named('td', { class: 'quiet' }, v?.file ? `${v.file}${v.line ? `:${v.line}` : ''}` : v?.layer ?? '')));
  return make('table', {}, make('thead', {}, make('tr', {}, make('th', { scope: 'col' }, 'Key'),
    make('th', { scope: 'col' }, 'Value'), make('th', { scope: 'col' }, 'From'))), make('tbody', {}, ...rows));
}
