// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors

import { List } from './list.js';
import { act, answer, make, named, note, printed, words } from './text.js';
import { Tree } from './tree.js';

const MOST = 10000;
const base = (path) => (path ?? '').split('/').pop();
const clock = (time) => (time ?? '').slice(11, 19);

/** What an act on it is called, or nothing if neither settings nor a grant could allow it. */
function kindOf(event) {
  if (event.operation.startsWith('file-write'))
    return 'write';
  if (event.operation.startsWith('file-read'))
    return 'read';
  const host = event.operation === 'network-outbound' && !(event.path ?? event.target ?? '/').startsWith('/');
  return host ? 'net' : undefined;
}

export class Now {
  constructor(panel) {
    this.sources = new Map();
    this.questions = new Map();
    this.all = [];
    this.held = null; // events that came while the list is paused
    this.only = null;
    this.tree = new Tree((only) => { this.only = only; this.refilter(); });
    this.asked = make('div', { 'aria-live': 'assertive' });
    this.drawn = new Map(); // questions that are shown
    this.detail = make('div', { class: 'detail', role: 'region', 'aria-label': 'The chosen denial', tabindex: '-1', hidden: true });
    this.list = new List('Denials', drawEvent, (item) => this.choose(item));
    this.filter = make('input', { type: 'search', placeholder: 'part of a path, host, program or rule', input: () => this.refilter() });
    this.hold = make('button', { type: 'button', 'aria-pressed': 'false', click: () => this.pause() }, 'Pause');
    this.empty = make('p', { class: 'empty' });
    panel.append(make('div', { class: 'now' }, this.asked,
      make('div', { class: 'columns' },
        make('div', { class: 'side' }, make('h2', {}, 'Running'), this.tree.element),
        make('div', { class: 'feed' },
          make('form', { submit: (e) => e.preventDefault() },
            make('label', { class: 'wide' }, 'Filter denials', this.filter), this.hold),
          this.list.element, this.empty, this.detail))));
    this.tree.draw(this.sources);
    this.say();
  }

  reset() {
    this.detail.hidden = true;
    this.sources.clear();
    this.questions.clear();
    this.all = [];
    this.held = this.held && [];
    this.list.set([]);
    this.tree.draw(this.sources);
    this.drawQuestions();
    this.say();
  }

  /** Takes one message about a source. Returns what has to be drawn. */
  note(item) {
    if (item.question) {
      this.questions.set(`${item.source}:${item.number}`, item);
      return 'questions';
    }
    if (item.withdrawn)
      return this.questions.delete(`${item.source}:${item.withdrawn}`) && 'questions';
    if (item.gone) {
      this.sources.delete(item.gone);
      for (const [key, q] of this.questions)
        if (q.source === item.gone)
          this.questions.delete(key);
      return 'both';
    }
    this.sources.set(item.source, item);
    return 'tree';
  }

  take(items) {
    const events = [], draw = new Set();
    for (const item of items)
      if (item.event)
        events.push(item);
      else if (item.source || item.gone)
        draw.add(this.note(item));
    this.takeEvents(events);
    if ((draw.has('tree') || draw.has('both')) && !this.treeWaits) {
      this.treeWaits = true;
      requestAnimationFrame(() => { this.treeWaits = false; this.tree.draw(this.sources); this.showEnd(); });
    }
    if (draw.has('questions') || draw.has('both'))
      this.drawQuestions();
  }

  takeEvents(events) {
    if (!events.length)
      return;
    const into = this.held ?? this.all;
    into.push(...events);
    if (into.length > MOST)
      into.splice(0, into.length - MOST);
    if (!this.held)
      this.list.add(events.filter((e) => this.matches(e)));
    this.say();
  }

  pause() {
    const more = this.held ?? [];
    this.held = this.held ? null : [];
    this.hold.setAttribute('aria-pressed', this.held !== null);
    this.takeEvents(more);
    this.say();
  }

  say() {
    const held = this.held?.length ?? 0;
    this.hold.textContent = held ? `Continue (${held} new)` : this.held ? 'Continue' : 'Pause';
    this.empty.hidden = this.list.items.length > 0;
    this.empty.textContent = this.all.length ? 'No denial matches.'
      : 'Nothing was denied yet. Denials appear here as they happen.';
  }

  matches(item) {
    const text = this.filter.value, only = this.only;
    return (!only || (item.source === only.source && (!only.command || item.command === only.command))) &&
      (!text || `${item.event.line} ${item.command} ${ruleText(item.event)}`.includes(text));
  }

  refilter() {
    this.list.set(this.all.filter((e) => this.matches(e)).reverse());
    this.say();
  }

  /** Those that are there already stay, with the focus. After an answer it goes to the next question as a
   * whole, where a key that was typed twice does nothing. */
  drawQuestions() {
    const focused = this.asked.contains(document.activeElement);
    for (const [key, shown] of this.drawn)
      if (!this.questions.has(key)) {
        shown.remove();
        this.drawn.delete(key);
      }
    for (const [key, q] of this.questions)
      if (!this.drawn.has(key)) {
        this.drawn.set(key, this.drawQuestion(key, q));
        this.asked.append(this.drawn.get(key));
      }
    if (focused && !this.asked.contains(document.activeElement))
      (this.asked.firstElementChild ?? this.list.element).focus();
  }

  drawQuestion(key, q) {
    const what = q.question.where ?? q.question.path;
    const say = (label, consent, look) => make('button', {
      class: look,
      click: async () => {
        const r = await answer(q.source, q.number, consent);
        note(r.status ? 'Nobody waits for this answer any more.' : `Answered: ${label}`);
        this.questions.delete(key);
        this.drawQuestions();
      },
    }, label);
    return make('div', { class: 'question', role: 'group', 'aria-label': 'Question', tabindex: '-1' },
      make('p', {}, named('strong', {}, base(q.question.program) || 'A program'),
        q.question.rule ? ' wants to run ' : q.question.class ? ' wants to change ' : ' wants to connect to ',
        named('span', { class: 'path' }, what)),
      named('p', { class: 'quiet' }, [q.question.class && `class ${q.question.class}`, q.command].filter(Boolean).join(' · ')),
      make('div', { class: 'acts' }, say('Allow once', 'once', 'main'), say('Allow for this run', 'run'),
           say('Allow always', 'always'), say('Deny', 'deny', 'danger')));
  }

  /** The run of the chosen denial has ended: what only it could get is not offered any more. */
  showEnd() {
    if (this.chosen && !this.detail.hidden && !this.sources.has(this.chosen.source))
      for (const e of this.detail.querySelectorAll('.living')) {
        const focused = e.contains(document.activeElement);
        e.replaceWith(make('span', { class: 'quiet' }, 'The run has ended. '));
        if (focused)
          this.detail.focus();
      }
  }

  choose(item) {
    const e = item.event, kind = kindOf(e), what = e.path ?? e.target ?? '';
    const source = this.sources.get(item.source), cwd = source?.cwd;
    const where = { [source?.session ? 'session' : 'run']: String(item.source) };
    const [name, values] = e.class ? ['protected', { what: e.class, cwd }] : [kind, { what, cwd }];
    const button = (label, fn, look) => make('button', { click: fn, class: look }, label);
    const now = async (more) => {
      const r = await act(`grant-${name}`, { ...values, ...where, ...more });
      note(r.status ? words(r) : `allowed${more ? ' for a minute' : ''}: ${values.what}`, r.status > 1);
    };
    this.chosen = item;
    this.preview = make('div', { 'aria-live': 'polite' });
    this.detail.hidden = false;
    this.detail.replaceChildren(
      make('p', { class: 'title' }, named('strong', {}, e.operation), ' ', named('span', { class: 'path' }, what, 600)),
      make('div', { class: 'acts' },
        ...(name ? [make('div', { class: 'acts living' },
          button('Allow for a minute', () => now({ seconds: '60' }), 'main'),
          button(source?.session ? 'Allow for the session' : 'Allow for this run', () => now())),
        button('Allow for good…', () => this.offer(`allow-${name}`, values))] : []),
        kind ? button('Deny for good…', () => this.offer(`deny-${kind}`, { what, cwd }), 'danger') : undefined,
        button('Ignore…', () => this.ignore(`${e.operation} ${what}`, cwd)),
        button('Explain', () => this.explain(e, what, cwd))),
      make('p', { class: 'quiet' }, name ? 'This was denied already, so “once” is too late: a minute lets you try again. '
        + 'With --ask, Buckle asks first.' : 'Neither a grant nor a list of paths or hosts allows this. The rule below decides.'),
      this.preview, make('dl', {}, ...facts(item)));
    this.showEnd();
  }

  /** Shows the line that settings would get, and writes it only when asked again. */
  async offer(name, values) {
    const from = document.activeElement;
    const r = await act(`try-${name}`, values);
    if (r.status) {
      note(words(r), true);
      return;
    }
    const close = () => {
      this.preview.replaceChildren();
      from.focus();
    };
    const write = make('button', {
      class: 'main',
      click: async () => {
        const done = await act(name, values);
        note(words(done), done.status !== 0);
        close();
      },
    }, 'Write this');
    this.preview.replaceChildren(printed('pre', {}, r.out, 2000), make('div', { class: 'acts' }, write,
      make('button', { click: close }, 'Cancel')));
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
    this.preview.replaceChildren(printed('pre', { tabindex: '0' }, r.out || r.err));
  }
}

function facts(item) {
  const e = item.event, rule = e.rule ?? {};
  const rows = [['Verdict', e.verdict === 'allow' ? 'allowed' : 'denied'], ['Program', `${e.exe ?? ''} (process ${e.pid})`], ['Command', item.command],
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
    make('div', {}, make('span', { class: 'op' }, e.operation),
      named('span', { class: 'path grow' }, e.path ?? e.target ?? '', 160), make('span', { class: 'when' }, clock(e.time))),
    make('div', { class: 'under' }, named('span', { class: 'grow' }, `${base(e.exe)} (${e.pid}) · ${ruleText(e)}`, 200)));
}
