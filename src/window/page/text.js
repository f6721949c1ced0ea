// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors
// Everything that is shown goes through here as text, never as markup.

const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
const marked = (c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Text in which characters that one can't see are code points. */
export const plainText = (text) => (hidden.test(text) ? Array.from(text, (c) => (hidden.test(c) ? marked(c) : c)).join('') : text);

/** Cuts the middle out of a long name: both ends matter. */
export function cut(text, most = 300) {
  if (text.length <= most)
    return text;
  const all = Array.from(text);
  if (all.length <= most)
    return text;
  const half = Math.floor(most / 2);
  return `${all.slice(0, half).join('')}…${all.slice(-half).join('')}`;
}

/** Puts text into an element, with characters that one can't see as marked code points. */
export function show(element, text) {
  if (!hidden.test(text)) {
    element.textContent = text;
    return element;
  }
  element.replaceChildren();
  let plain = '';
  for (const c of text) {
    if (!hidden.test(c)) {
      plain += c;
      continue;
    }
    element.append(plain);
    plain = '';
    element.append(make('span', { class: 'hidden-character' }, marked(c)));
  }
  element.append(plain);
  return element;
}

/** An element with attributes; children are elements or text, in which what can't be seen is marked, too.
 * Functions are listeners. */
export function make(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function')
      e.addEventListener(key, value);
    else if (value !== undefined && value !== false)
      e.setAttribute(key, value === true ? '' : key === 'aria-label' ? plainText(value) : value);
  }
  e.append(...children.filter((c) => c !== undefined && c !== null).map((c) => (typeof c === 'string' ? plainText(c) : c)));
  return e;
}

/** An element that shows text of a command: escaped, and cut. */
export function named(name, attributes, text, most) {
  return show(make(name, attributes), cut(text ?? '', most));
}

/** What a command printed: its lines stay lines. Buckle escapes names before it prints them. */
export function printed(name, attributes, text, most = 8000) {
  const e = make(name, { ...attributes, class: `printed ${attributes.class ?? ''}` });
  for (const line of cut(text ?? '', most).trimEnd().split('\n')) {
    if (e.hasChildNodes())
      e.append('\n');
    const one = show(make('span'), line);
    e.append(...one.childNodes);
  }
  return e;
}

export function note(text, bad = false) {
  const e = document.getElementById('note');
  e.replaceChildren(printed('span', {}, text, 600));
  e.className = bad ? 'bad' : '';
}

async function post(where, body) {
  const answer = await fetch(where, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok)
    return { status: 2, out: '', err: await answer.text() };
  return answer.json();
}

export const act = (name, values = {}) => post('act', { ...values, do: name });
export const answer = (pid, number, consent) => post('answer', { pid, number, consent });

/** A part of a view, with its heading. */
export const card = (title, ...children) => make('section', { class: 'card', 'aria-label': title }, make('h2', {}, title), ...children);

/** Rows of elements or text below headings. Scrolls by itself in narrow windows. */
export function table(heads, rows) {
  return make('div', { class: 'table', tabindex: '0', role: 'group', 'aria-label': heads.join(', ') }, make('table', {},
    make('thead', {}, make('tr', {}, ...heads.map((h) => make('th', { scope: 'col' }, h)))),
    make('tbody', {}, ...rows.map((r) => make('tr', {}, ...r.map((c) => make('td', {}, c)))))));
}

export function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export function words(result) {
  return (result.err || result.out || 'done').trim().replace(/^buckle: /, '');
}
