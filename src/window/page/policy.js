// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors

import { Graph, failure } from './graph.js';
import { act, card, make, named, note, parse, printed, show, table, words } from './text.js';

const verbs = { write: 'file-write-data', create: 'file-write-create', remove: 'file-write-unlink',
                read: 'file-read-data', run: 'process-exec', 'connect to': 'network-outbound' };
const tiers = { walled: 'wall', judged: 'judged', sentry: 'sentry', masked: 'masked', denied: 'denied', free: 'free' };

/** What decided, and what was tried before it. */
function reasons(text) {
  const at = text.indexOf('\n\nTried before it');
  const pre = (part) => printed('pre', { tabindex: '0' }, part);
  return at < 0 ? [pre(text)] : [pre(text.slice(0, at)),
    make('details', {}, make('summary', {}, 'Rules that were tried before it'), pre(text.slice(at + 2)))];
}

export class Policy {
  constructor(panel) {
    this.folder = make('input', { placeholder: 'where buckle ui was started', change: () => this.open() });
    this.settings = make('div');
    this.answer = make('div', { 'aria-live': 'polite' });
    this.checked = make('pre', { class: 'check', 'aria-live': 'polite', hidden: true });
    this.plan = make('div');
    this.verb = make('select', {}, ...Object.keys(verbs).map((o) => make('option', {}, o)));
    this.argument = make('input', { required: true, placeholder: '~/.npmrc, example.com:443' });
    this.program = make('input', { placeholder: 'any program' });
    this.key = make('select', { change: () => this.check() });
    this.brief = make('p', { class: 'quiet' });
    this.value = make('input', { input: () => this.check() });
    this.layer = make('select', { change: () => this.check() }, ...['user', 'project', 'local'].map((l) => make('option', {}, l)));
    this.command = make('input', { value: 'sh' });
    this.graph = new Graph();
    this.drawn = make('div');
    this.operation = make('select', {}, ...Object.values(verbs).map((o) => make('option', {}, o)));
    panel.append(
      card('Where', this.form(() => this.open(), make('label', { class: 'wide' }, 'Folder', this.folder))),
      card('May a program do this?',
        this.form(() => this.ask(), make('label', {}, 'May', this.program), make('label', {}, 'do this', this.verb),
          make('label', { class: 'wide' }, 'Path or host', this.argument), make('button', { class: 'main' }, 'Ask')),
        this.answer),
      card('Settings in force', this.settings),
      card('Change a setting',
        this.form(() => this.change(), make('label', {}, 'Key', this.key),
          make('label', { class: 'wide' }, 'Value to add or set', this.value),
          make('label', {}, 'Layer', this.layer), make('button', { class: 'main' }, 'Write'),
          make('button', { type: 'button', click: () => this.undo() }, 'Undo the last change')),
        this.brief, this.checked),
      card('How this host enforces it',
        this.form(() => this.showPlan(), make('label', { class: 'wide' }, 'Command', this.command),
          make('button', {}, 'Show the plan')),
        this.plan),
      card('The rules as a graph',
        this.form(() => this.draw(), make('label', {}, 'Operation', this.operation), make('button', {}, 'Draw')),
        this.drawn, this.graph.element));
  }

  form(submit, ...children) {
    return make('form', { submit: (e) => { e.preventDefault(); submit(); } }, ...children);
  }

  get cwd() { return this.folder.value || undefined; }

  async open() {
    const mine = this.opening = {};
    const [settings, keys] = await Promise.all([act('settings', { cwd: this.cwd }), act('keys')]);
    if (mine !== this.opening)
      return; // a later question was answered sooner
    if (!this.keys && keys.status === 0) {
      this.keys = JSON.parse(keys.out);
      this.key.replaceChildren(...this.keys.map((k) => make('option', {}, k.key)));
      this.key.value = 'filesystem.allowWrite';
      this.check();
    }
    this.settings.replaceChildren(settings.status === 0 ? this.table(JSON.parse(settings.out)) : failure(settings));
  }

  /** Every value with the file and line that has it, and a button that removes it. */
  table(settings) {
    const rows = [];
    for (const [key, values] of Object.entries(settings))
      for (const v of values) {
        const text = (v.name ? `${v.name}: ` : '') + (typeof v.value === 'string' ? v.value : JSON.stringify(v.value));
        rows.push([named('code', {}, key), named('span', { class: 'path' }, text),
          make('span', {}, named('span', { class: 'quiet' }, v.file ? `${v.file}:${v.line}` : v.layer),
            v.counts ? '' : named('span', { class: 'bad' }, ` ignored: ${v.why ?? v.ignored ?? 'not trusted'}`)),
          v.file && ['user', 'project', 'local'].includes(v.layer) && !v.name
            ? make('button', { class: 'small', 'aria-label': `Remove ${text} from ${key}`,
                click: () => this.remove(key, v) }, 'Remove') : '']);
      }
    return table(['Key', 'Value', 'From', 'Change'], rows);
  }

  async remove(key, v) {
    const list = this.isList(key);
    const r = await act(list ? 'remove' : 'clear', { key, layer: v.layer, cwd: this.cwd,
      value: typeof v.value === 'string' ? v.value : JSON.stringify(v.value) });
    note(r.status ? words(r) : `removed from ${key}; “Undo the last change” brings it back`, r.status !== 0);
    await this.open(); // the button is gone
    if (document.activeElement === document.body)
      this.settings.firstElementChild.focus();
  }

  async ask() {
    const operation = verbs[this.verb.value], mine = this.asking = {};
    const r = await act('reasons', { operation, argument: this.argument.value, program: this.program.value, cwd: this.cwd });
    if (mine !== this.asking)
      return;
    const verdict = /^(allow|deny)/.exec(r.out)?.[1];
    this.answer.replaceChildren(r.status ? failure(r) : make('div', {},
      make('p', { class: `verdict ${verdict === 'allow' ? 'good' : 'bad'}` }, make('strong', {}, verdict === 'allow' ? 'Yes.' : 'No.')),
      ...reasons(r.out)));
  }

  isList(key) {
    return /list/.test(this.keys?.find((one) => one.key === key)?.takes ?? '');
  }

  get request() {
    return [this.isList(this.key.value) ? 'add' : 'set',
            { key: this.key.value, value: this.value.value, layer: this.layer.value, cwd: this.cwd }];
  }

  async check() {
    const [how, values] = this.request, k = this.keys?.find((one) => one.key === values.key);
    const mine = this.checking = {};
    show(this.brief, k ? `${k.brief}; takes ${k.takes}` : '');
    const r = values.value ? await act(`try-${how}`, values) : null;
    if (mine !== this.checking)
      return;
    this.checked.hidden = !r;
    this.value.setAttribute('aria-invalid', r?.status ? 'true' : 'false');
    this.checked.replaceChildren(printed('span', {}, r ? words(r) : ''));
    this.checked.classList.toggle('bad', Boolean(r?.status));
  }

  async change() {
    const [how, values] = this.request;
    const r = await act(how, values);
    note(r.status ? words(r) : `${values.key} is changed in the ${values.layer} settings`, r.status !== 0);
    if (!r.status) {
      this.value.value = '';
      this.check();
    }
    this.open();
  }

  async undo() {
    const r = await act('undo', { cwd: this.cwd });
    note(words(r), r.status > 1);
    this.open();
  }

  async showPlan() {
    const r = await act('plan', { command: this.command.value, cwd: this.cwd });
    const plan = parse(r.out);
    if (!plan?.operations)
      return this.plan.replaceChildren(failure(r));
    const order = Object.keys(tiers);
    const rows = [...plan.operations].sort((a, b) => order.indexOf(a.tier) - order.indexOf(b.tier));
    const counts = order.map((t) => `${rows.filter((o) => o.tier === t).length} ${tiers[t]}`).join(', ');
    return this.plan.replaceChildren(
      make('p', {}, counts),
      make('p', { class: 'quiet' }, 'wall: the kernel alone decides; judged: Buckle looks at each call; '
        + 'sentry: the kernel asks only about paths that matter; masked: an empty mount hides it; free: always allowed.'),
      table(['Operation', 'How', 'By', 'Rule', 'Note'], rows.map((o) => [named('code', {}, o.operation),
        make('span', { class: `tier ${o.tier}` }, tiers[o.tier] ?? o.tier), o.wall ?? '',
        named('span', { class: 'quiet' }, o.rule?.file ? `${o.rule.file}:${o.rule.line}` : ''), named('span', { class: 'quiet' }, o.note ?? '')])));
  }

  async draw() {
    const profile = await act('profile', { cwd: this.cwd });
    const r = profile.status ? profile
      : await act('graph-text', { profile: profile.out, operation: this.operation.value, cwd: this.cwd });
    const graph = parse(r.out.replaceAll('/dev/fd/30', 'policy'));
    this.drawn.replaceChildren(graph?.nodes ? '' : failure(r));
    if (graph?.nodes)
      this.graph.draw(graph);
  }
}
