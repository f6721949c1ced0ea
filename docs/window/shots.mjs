// SPDX-License-Identifier: Apache-2.0
// For shots.sh: shots.mjs ADDRESS MODULES FOLDER
import { createRequire } from 'node:module';

const [address, modules, out] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/x.js`)('playwright-core');
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const page = await (await browser.newContext({ viewport: { width: 1180, height: 760 } })).newPage();
const shot = (name) => page.screenshot({ path: `${out}/${name}.png` });
const press = (name) => page.getByRole('button', { name, exact: true }).click();

await page.goto(address);
await page.locator('.question').waitFor();
await page.locator('.row', { hasText: 'post-commit' }).first().click();
await press('Allow for good…');
await page.locator('.detail pre').waitFor();
await page.waitForTimeout(500);
await shot('now-light');
await page.emulateMedia({ colorScheme: 'dark' });
await shot('now-dark');
await page.setViewportSize({ width: 400, height: 760 });
await page.waitForTimeout(300);
await shot('now-narrow');

await page.setViewportSize({ width: 1180, height: 760 });
await page.emulateMedia({ colorScheme: 'light' });
await page.click('#tab-policy');
await page.getByLabel('May', { exact: true }).fill('node');
await page.getByLabel('Path or host').fill('~/.npmrc');
await press('Ask');
await page.locator('#policy pre').first().waitFor();
await page.waitForTimeout(500);
await page.getByText('May a program do this?').scrollIntoViewIfNeeded();
await shot('policy-light');
await page.emulateMedia({ colorScheme: 'dark' });
await press('Draw');
await page.getByLabel('Search the graph').fill('npmrc');
await page.getByLabel('Search the graph').fill('shop');
await page.locator('.picture').scrollIntoViewIfNeeded();
await page.waitForTimeout(500);
await shot('graph-dark');
await page.emulateMedia({ colorScheme: 'light' });

await page.click('#tab-history');
await page.locator('#history .row').first().waitFor();
await press('Compare the runs');
await page.getByText('Compare two runs').scrollIntoViewIfNeeded();
await page.waitForTimeout(500);
await shot('history-light');
await page.click('#tab-compare');
await page.locator('#compare select').nth(0).selectOption('here');
await page.locator('#compare input').nth(1).fill('default');
await press('Compare');
await page.locator('#compare table, #compare .good, #compare .bad').first().waitFor();
await page.waitForTimeout(500);
await shot('compare-light');
await page.setViewportSize({ width: 400, height: 760 });
await page.click('#tab-doctor');
await page.locator('#doctor table').first().waitFor();
await shot('doctor-narrow');
await browser.close();
