// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors

import { List } from './list.js';
import { act, answer, make, named, note, words } from './text.js';

const base = (path) => (path ?? '').split('/').pop();

function kindOf(event) {
  if (event.operation.startsWith('network'))
    return 'net';
  return event.operation.startsWith('file-write') ? 'write' : 'read';
}

export class Now {
  constructor(panel) {
    this.sources = new Map();
    this.questions = new Map();
    this.tree = make('ul', { role: 'tree', 'aria-label': 'Runs and sessions' });
    this.asked = make('div', { 'aria-live': 'assertive' });
    this.detail = make('div', { class: 'detail', hidden: true });
    this.list = new List('Denials', drawEvent, (item) => this.choose(item));
    this.filter = make('input', { type: 'search', input: () => this.refilter() });
    this.all = [];
    panel.append(make('div', { class: 'now' }, this.asked,
      make('div', { class: 'columns' },
        make('div', { class: 'side' }, make('h2', {}, 'Running'), this.tree),
        make('div', { class: 'feed' },
          make('form', { submit: (e) => e.preventDefault() },
            make('label', { class: 'wide' }, 'Filter denials', this.filter)),
          this.list.element, this.detail))));
    this.drawTree();
  }

  reset() {
    this.detail.hidden = true;
    this.sources.clear();
    this.questions.clear();
    this.all = [];
    this.list.set([]);
    this.drawTree();
    this.drawQuestions();
  }

  take(items) {
    const events = [];
    let tree = false, asked = false;
    for (const item of items) {
      if (item.event) {
        events.push(item);
      } else if (item.question) {
        this.questions.set(`${item.source}:${item.number}`, item);
        asked = true;
      } else if (item.withdrawn) {
        asked = this.questions.delete(`${item.source}:${item.withdrawn}`) || asked;
      } else if (item.gone) {
        this.sources.delete(item.gone);
        for (const [key, q] of this.questions)
          if (q.source === item.gone)
            asked = this.questions.delete(key);
        tree = true;
      } else if (item.source) {
        this.sources.set(item.source, item);
        tree = true;
      } else if (item.denied !== undefined) {
        document.getElementById('denied').textContent = item.denied;
        document.title = item.denied ? `(${item.denied}) Buckle` : 'Buckle';
      }
    }
    if (events.length) {
      this.all.push(...events);
      if (this.all.length > 10000)
        this.all.splice(0, this.all.length - 10000);
      this.list.add(events.filter((e) => this.matches(e)));
    }
    if (tree && !this.treeWaits) {
      this.treeWaits = true;
      requestAnimationFrame(() => { this.treeWaits = false; this.drawTree(); });
    }
    if (asked)
      this.drawQuestions();
  }

  matches(item) {
    const text = this.filter.value;
    return !text || `${item.event.line} ${item.command}`.includes(text);
  }

  refilter() {
    this.list.set(this.all.filter((e) => this.matches(e)).reverse());
  }

  drawTree() {
    this.tree.replaceChildren();
    for (const s of this.sources.values()) {
      const runs = s.runs.map((r) => make('li', { role: 'treeitem', 'aria-selected': 'false' },
        named('span', { class: 'path' }, r.command, 120),
        make('span', { class: 'quiet' }, r.background ? ' in the background' : '')));
      this.tree.append(make('li', { role: 'treeitem', 'aria-selected': 'false',
                                    'aria-expanded': s.session ? 'true' : undefined },
        named('span', { class: 'path' }, s.command, 160),
        make('div', { class: 'quiet' }, `${s.session ? 'session' : 'run'} ${s.source}, `,
          make('span', { class: 'count' }, `${s.denied} denied`)),
        runs.length ? make('ul', { role: 'group' }, ...runs) : undefined));
    }
    if (!this.sources.size)
      this.tree.append(make('li', { role: 'treeitem', 'aria-selected': 'false', class: 'quiet' },
                            'Nothing runs.'));
  }

  drawQuestions() {
    this.asked.replaceChildren();
    for (const [key, q] of this.questions) {
      const what = q.question.where ?? q.question.path;
      const say = (label, consent) => make('button', {
        click: async () => {
          const r = await answer(q.source, q.number, consent);
          note(r.status ? 'Nobody waits for this answer any more.' : `Answered: ${label}`);
          this.questions.delete(key);
          this.drawQuestions();
        },
      }, label);
      this.asked.append(make('div', { class: 'question', role: 'group', 'aria-label': 'Question' },
        make('p', {}, named('strong', {}, base(q.question.program) || 'A program'),
          q.question.rule ? ' wants to run ' : q.question.class ? ' wants to change ' : ' wants to connect to ',
          named('span', { class: 'path' }, what)),
        named('p', { class: 'quiet' }, [q.question.class && `class ${q.question.class}`, q.command].filter(Boolean).join(' · ')),
        make('div', { class: 'acts' }, say('Allow once', 'once'), say('Allow for this run', 'run'),
             say('Allow always', 'always'), say('Deny', 'deny'))));
    }
  }

  choose(item) {
    const e = item.event, kind = kindOf(e), what = e.path ?? e.target ?? '';
    const source = this.sources.get(item.source);
    const cwd = source?.cwd;
    const where = { [source?.session ? 'session' : 'run']: String(item.source) };
    const grant = e.class ? ['grant-protected', { what: e.class, ...where }] : [`grant-${kind}`, { what, ...where }];
    const button = (label, fn) => make('button', { click: fn }, label);
    const now = async ([name, values], more) => {
      const r = await act(name, { ...values, ...more });
      note(r.status ? words(r) : `${more ? 'allowed for a minute' : 'allowed'}: ${values.what}`, r.status > 1);
    };
    const gone = source ? undefined : make('p', { class: 'quiet' }, 'It has ended.');
    this.preview = make('div');
    this.detail.hidden = false;
    this.detail.replaceChildren(
      make('dl', {}, ...facts(item, what)), ...(gone ? [gone] : []),
      make('div', { class: 'acts' },
        ...(source ? [button('Allow once (a minute)', () => now(grant, { seconds: '60' })),
          button(source.session ? 'Allow for the session' : 'Allow for this run', () => now(grant))] : []),
        button('Allow for good…', () => this.offer(`allow-${kind}`, { what, cwd })),
        kind === 'net' ? undefined
          : button('Deny for good…', () => this.offer(`deny-${kind}`, { what, cwd })),
        button('Ignore…', () => this.ignore(`${e.operation} ${what}`, cwd)),
        button('Explain', () => this.explain(e, what, cwd))),
      this.preview);
  }

  /** Shows the line that settings would get, and writes it only when asked again. */
  async offer(name, values) {
    const r = await act(`try-${name}`, values);
    if (r.status) {
      note(words(r), true);
      return;
    }
    const write = make('button', {
      click: async () => {
        const done = await act(name, values);
        note(words(done), done.status !== 0);
        this.preview.replaceChildren();
      },
    }, 'Write this');
    this.preview.replaceChildren(named('pre', {}, r.out, 2000), make('div', { class: 'acts' }, write,
      make('button', { click: () => this.preview.replaceChildren() }, 'Cancel')));
    write.focus();
  }

  /** The user's list for every command, with one more. */
  async ignore(text, cwd) {
    const r = await act('settings', { cwd });
    const map = {};
    for (const one of r.status ? [] : JSON.parse(r.out).ignoreViolations ?? [])
      if (one.layer === 'user')
        Object.assign(map, { [one.name]: one.value });
    map['*'] = [...(map['*'] ?? []), text];
    return this.offer('ignore', { what: JSON.stringify(map), cwd });
  }

  async explain(e, what, cwd) {
    const r = await act('reasons', { operation: e.operation, argument: what, cwd });
    this.preview.replaceChildren(named('pre', {}, r.out || r.err, 4000));
  }
}

function facts(item, what) {
  const e = item.event, rule = e.rule ?? {};
  const rows = [[e.verdict === 'allow' ? 'Allowed' : 'Denied', e.operation], [e.path === undefined ? 'Target' : 'Path', what],
    ['Program', `${e.exe ?? ''} (process ${e.pid})`], ['Command', item.command],
    ['Rule', [rule.file && `${rule.file}:${rule.line}`, rule.text].filter(Boolean).join('  ') || rule.place],
    ['Class', e.class], ['Because', e.message], ['Detail', e.detail], ['Times', e.count && String(e.count)], ['At', e.time]];
  return rows.filter(([, value]) => value).flatMap(([key, value]) => [make('dt', {}, key), named('dd', { class: 'path' }, value, 600)]);
}

function ruleText(e) {
  const rule = e.rule ?? {};
  const where = rule.place ?? (rule.file ? `${rule.file}:${rule.line}` : rule.kind ?? '');
  return [where, e.message ?? rule.text, e.class && `class ${e.class}`].filter(Boolean).join(' · ');
}

function drawEvent(item) {
  const e = item.event;
  return make('div', { class: e.verdict === 'allow' ? 'allow' : 'deny' },
    make('div', {}, make('span', { class: 'op' }, `${e.operation} `),
         named('span', { class: 'path' }, e.path ?? e.target ?? '', 160)),
    make('div', { class: 'under' }, named('span', {}, base(e.exe), 40), `(${e.pid})  `,
         named('span', {}, ruleText(e), 120)));
}
