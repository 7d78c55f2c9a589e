// Prints how long Chromium takes to show two pages, in seconds: the best of three, alternating.
// node pages.js BROWSER PROFILE OURS THEIRS
'use strict';
const { startBrowser } = require('../system/browser.js');
const [browser, profile, ours, theirs] = process.argv.slice(2);
const shown = `document.readyState === 'complete' &&
	(typeof Stacks === 'function' ? graph.view !== null && !graph.loading : document.querySelector('canvas') !== null)`;

async function main() {
	const page = await startBrowser(browser, profile), best = { ours: Infinity, theirs: Infinity };
	for (let i = 0; i < 3; i++)
		for (const [name, file] of [['ours', ours], ['theirs', theirs]]) {
			await page.call('Page.navigate', { url: 'about:blank' });
			const start = performance.now();
			await page.call('Page.navigate', { url: 'file://' + file });
			while (!await page.value(shown)) await new Promise(r => setTimeout(r, 5));
			await page.value('new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))');
			best[name] = Math.min(best[name], performance.now() - start);
		}
	for (const [name, ms] of Object.entries(best)) console.log(name, (ms / 1000).toFixed(2));
	page.close(0);
}
main().catch(e => { console.log(String(e)); process.exit(1); });
