// SPDX-License-Identifier: Apache-2.0
// Drives the page of `buckle ui` in Chromium, for e2e-window.py: window.mjs ADDRESS MODULES SHOTS
// Reads one order per line as JSON, and answers each with a line.
import { createRequire } from 'node:module';
import readline from 'node:readline';
import fs from 'node:fs';

const [address, modules, executable] = process.argv.slice(2);
const require = createRequire(`${modules}/x.js`);
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const words = ['--disable-gpu', '--host-resolver-rules=MAP rebound.example 127.0.0.1', ...(process.getuid() ? [] : ['--no-sandbox'])];
const browser = await chromium.launch({ executablePath: executable, args: words, chromiumSandbox: process.getuid() !== 0 });
const context = await browser.newContext();
const page = await context.newPage();
const errors = [];
page.on('pageerror', (e) => errors.push(String(e)));
page.on('console', (m) => { if (m.type() === 'error') errors.push(m.text()); });
page.on('request', (r) => { if (!r.url().startsWith(new URL(address).origin)) errors.push(`asks ${r.url()}`); });

const orders = {
  open: async () => { await page.goto(address); await page.waitForSelector('[role=treeitem]'); return page.url(); },
  text: ({ of }) => page.locator(of).innerText(),
  wait: async ({ of, has }) => { await page.locator(of).filter({ hasText: has }).first().waitFor({ timeout: 30000 }); return true; },
  click: async ({ of, has }) => { const l = page.locator(of); await (has ? l.filter({ hasText: has }) : l).first().click({ timeout: 10000 }); return true; },
  fill: async ({ of, value }) => { await page.locator(of).first().fill(value); return true; },
  select: async ({ of, value }) => { await page.locator(of).first().selectOption(value); return true; },
  visit: async ({ at }) => { // in another tab
    const other = await context.newPage();
    await other.goto(at);
    const text = await other.locator('body').innerText();
    await other.close();
    return text;
  },
  press: async ({ key }) => { await page.keyboard.press(key); return true; },
  count: ({ of }) => page.locator(of).count(),
  eval: ({ code }) => page.evaluate(code),
  focus: () => page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute('role')),
  memory: async () => { // of the page's objects, without garbage
    const client = await context.newCDPSession(page);
    await client.send('HeapProfiler.collectGarbage');
    return (await client.send('Runtime.getHeapUsage')).usedSize;
  },
  scroll: async ({ of, steps }) => { // milliseconds of script, style and layout for each step
    const client = await context.newCDPSession(page);
    await client.send('Performance.enable');
    const spent = async () => (await client.send('Performance.getMetrics')).metrics
      .filter((m) => ['ScriptDuration', 'LayoutDuration', 'RecalcStyleDuration'].includes(m.name)).reduce((s, m) => s + m.value, 0);
    const before = await spent();
    await page.locator(of).evaluate(async (e, n) => {
      for (let i = 0; i < n; i++) {
        e.scrollTop = (e.scrollHeight - e.clientHeight) * i / n;
        await new Promise((done) => requestAnimationFrame(done));
      }
    }, steps);
    return (await spent() - before) * 1000 / steps;
  },
  dark: async ({ on }) => { await page.emulateMedia({ colorScheme: on ? 'dark' : 'light' }); return true; },
  size: async ({ width, height }) => { await page.setViewportSize({ width, height }); return true; },
  shot: async ({ path }) => { await page.screenshot({ path }); return true; },
  axe: async () => {
    const client = await context.newCDPSession(page); // the page's CSP has no place for another script
    await client.send('Runtime.evaluate', { expression: axe });
    const r = await client.send('Runtime.evaluate', { awaitPromise: true, returnByValue: true,
      expression: 'axe.run().then((r) => r.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`))' });
    return r.result.value;
  },
  foreign: async ({ at, port }) => { // another site, in the same browser
    const other = await context.newPage();
    await other.goto(at);
    const got = await other.evaluate(async ({ url, frame }) => {
      const say = (p) => p.then((r) => `answered ${r.status ?? r.type}`, (e) => `failed: ${e.name}`);
      const cookie = document.body.innerText;
      const read = await say(fetch(url, { credentials: 'include' }));
      const post = await say(fetch(url + 'act', { method: 'POST', credentials: 'include', headers: { 'Content-Type': 'application/json' }, body: '{"do": "undo"}' }));
      const plain = await say(fetch(url + 'act', { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"do": "undo"}' }));
      for (const src of [frame, location.href]) {
        const f = document.createElement('iframe');
        f.src = src;
        document.body.append(f);
        await new Promise((r) => { f.onload = r; setTimeout(r, 2000); });
      }
      return { post, plain, read, cookie };
    }, { url: page.url(), frame: page.url() });
    got.frames = other.mainFrame().childFrames().map((f) => f.url()).sort(); // an error's page where it was refused
    await other.close();
    return got;
  },
  named: async ({ at }) => { // the page by another name of this machine, and what a script there gets
    const other = await context.newPage();
    const status = (await other.goto(at)).status();
    const got = await other.evaluate(async () => {
      const of = (p) => p.then((r) => r.status, (e) => e.name);
      return { cookie: document.cookie, read: await of(fetch(location.href)), events: await of(fetch('events', { signal: AbortSignal.timeout(2000) })),
        post: await of(fetch('act', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"do": "doctor"}' })) };
    }).catch((e) => ({ failed: String(e) })); // a page that was opened leads elsewhere
    await other.close();
    return { status, ...got };
  },
  roles: async () => { // what a screen reader gets: how many of each role, and controls that have no name
    const client = await context.newCDPSession(page);
    const { nodes } = await client.send('Accessibility.getFullAXTree');
    const roles = {}, nameless = [];
    for (const n of nodes.filter((one) => !one.ignored)) {
      const role = n.role?.value;
      roles[role] = (roles[role] ?? 0) + 1;
      if (['button', 'textbox', 'searchbox', 'combobox', 'tab', 'tabpanel', 'tree', 'treeitem', 'listbox', 'option', 'link', 'region', 'image'].includes(role) && !n.name?.value)
        nameless.push(role);
    }
    return { roles, nameless };
  },
  doctor: async ({ answer }) => { // what another host would have
    await page.route('**/act', (route) => (JSON.parse(route.request().postData()).do === 'doctor'
      ? route.fulfill({ contentType: 'application/json', body: answer }) : route.continue()));
    return true;
  },
  clipboard: async () => { await context.grantPermissions(['clipboard-read']); return page.evaluate(() => navigator.clipboard.readText()); },
  errors: () => errors.splice(0),
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  let got;
  try { got = { ok: await orders[order.do](order) }; } catch (e) { got = { failed: String(e).slice(0, 600) }; }
  process.stdout.write(`${JSON.stringify(got)}\n`);
}
await browser.close();
