// SPDX-License-Identifier: Apache-2.0
// Copyright The Buckle Authors

import { Now } from './now.js';
import { Policy } from './policy.js';
import { History } from './history.js';
import { Compare } from './compare.js';
import { Doctor } from './doctor.js';

const views = {};
for (const [name, View] of Object.entries({ now: Now, policy: Policy, history: History,
                                            compare: Compare, doctor: Doctor }))
  views[name] = new View(document.getElementById(name));

const tabs = [...document.querySelectorAll('[role=tab]')];

function open(tab, focus) {
  for (const t of tabs) {
    const on = t === tab;
    t.setAttribute('aria-selected', on);
    t.tabIndex = on ? 0 : -1;
    document.getElementById(t.getAttribute('aria-controls')).hidden = !on;
  }
  if (focus)
    tab.focus();
  views[tab.getAttribute('aria-controls')].open?.();
}

for (const tab of tabs) {
  tab.addEventListener('click', () => open(tab));
  tab.addEventListener('keydown', (e) => {
    const at = tabs.indexOf(tab), n = tabs.length;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + n, Home: 0, End: n - 1 }[e.key];
    if (to === undefined)
      return;
    e.preventDefault();
    open(tabs[to % n], true);
  });
}

const events = new EventSource('events');
const link = document.getElementById('link');
events.onopen = () => { link.textContent = ''; views.now.reset(); };
events.onerror = () => { link.textContent = 'not connected'; };

/** All denials, and how many there are in a second. */
const seen = [];
function total(denied) {
  const now = performance.now();
  seen.push([now, denied]);
  while (seen.length > 2 && now - seen[0][0] > 5000)
    seen.shift();
  const rate = (denied - seen[0][1]) / Math.max(1, (now - seen[0][0]) / 1000);
  document.getElementById('denied').textContent = denied;
  document.getElementById('rate').textContent = now - seen[0][0] > 1000 && rate > 0 ? `${Math.ceil(rate)}/s` : '';
  document.title = denied ? `(${denied}) Buckle` : 'Buckle';
}

events.onmessage = (m) => {
  const items = JSON.parse(m.data), last = items.findLast((i) => i.denied !== undefined && !i.source);
  views.now.take(items);
  if (last)
    total(last.denied);
};
