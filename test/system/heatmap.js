// Opens heatmaps in Chromium, and uses them with mouse and keyboard.
// node heatmap.js BROWSER DIR: DIR has plain.html, coarse.html, live.html, far.html, sparse.html and, if there is a converter,
// ours.METRIC.html and theirs.METRIC.html.
'use strict';
const fs = require('fs');
const { runPageTest, check } = require('./browser.js');
const [browser, dir] = process.argv.slice(2);
const SHIFT = 8;

runPageTest(browser, dir + '/profile', async page => {
	const { value, text, key } = page, open = (name, fragment) => page.open(`${dir}/${name}.html`, fragment);
	// The middle of a cell in the window.
	const place = (column, row) => value(`(() => { const b = cells.getBoundingClientRect();
		return [b.left + GUTTER + (${column} - heat.from + 0.5) * columnWidth(), b.top + SUMS + GAP + (${row} + 0.5) * heat.cellHeight]; })()`);
	const sum = (from, to) => value(`heat.counts.slice(${from}, ${to}).reduce((a, b) => a + b, 0)`);

	await open('plain');
	check('counts', await sum(0, 1e9) === 594 && await value('heat.perColumn') === 50 && await value('heat.columns') === 3, await sum(0, 1e9));
	const colors = await value(`(() => { const d = cells.getContext('2d').getImageData(GUTTER, 30, 200, 200).data, s = new Set();
		for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; })()`);
	check('colours', colors > 4, colors);

	// A range within a column, then one to another column.
	const [x, y] = await place(0, 10), [, y2] = await place(0, 19), [x3, y3] = await place(1, 4);
	await page.mouse('mouseMoved', x, y);
	check('tooltip', /^\d\d:\d\d:\d\d\.\d+.*cell\d+ samples?column\d+ samples/.test(await text('tip')), await text('tip'));
	await page.drag(x, y, x, y2);
	check('a range has its flame graph', await value('graph.view.total[0]') === await sum(10, 20), await text('range'));
	check('and its time', /\(200 ms\): \d+ samples$/.test(await text('range')), await text('range'));
	await page.drag(x, y, x3, y3);
	check('over two columns', await value('graph.view.total[0]') === await sum(10, 55), await text('range'));
	const [x4, y4] = await place(2, 20);
	await page.click(x4, y4);
	check('a click selects a column', await value('graph.view.total[0]') === await sum(100, 150), await text('range'));

	// Comparison: with Shift, and by the button.
	await page.click(x, y, SHIFT);
	check('a second range', await value('graph.view.baseTotal[0]') === await sum(0, 50) && /compared with/.test(await text('range')), await text('range'));
	check('is a difference', /grown.*shrunk/.test(await text('legend')), await text('legend'));
	const link = await value('location.hash');
	await page.clickElement('#whole');
	check('whole time', await value('graph.view.total[0]') === 594 && !/grown/.test(await text('legend')), await text('range'));
	await page.click(x4, y4);
	await page.clickElement('#compare');
	await page.drag(x, y, x, y2);
	check('compared by the button', await value('graph.view.baseTotal[0]') === await sum(10, 20), await text('range'));

	// A link opens the same ranges; a wrong one opens the page.
	await open('plain', link);
	check('a link', await value('graph.view.total[0]') === await sum(100, 150) && await value('graph.view.baseTotal[0]') === await sum(0, 50), link);
	await open('plain', '#a=9-1&b=x&w=7-99');
	check('a wrong link', await value('graph.view.total[0] === 594 && heat.to === heat.columns'), await value('location.hash'));

	// A click next to a narrow column.
	await open('sparse');
	const [x5, y5] = await place(400, 10);
	await page.click(x5 + 3, y5);
	check('a click near a narrow column', await value('graph.view.total[0]') === 1 && /^00:08:20/.test(await text('range')), await text('range'));
	await page.click(x5 + 30, y5);
	check('and far from it', await value('graph.view.total[0]') === 0, await text('range'));
	await open('plain');

	// Keyboard alone.
	await value('cells.focus()');
	for (let i = 0; i < 3; i++) await key('ArrowDown');
	check('the cursor is described', /^\d\d:\d\d:\d\d\.\d+: \d+ samples?, column: \d+ samples$/.test(await text('range')), await text('range'));
	for (let i = 0; i < 4; i++) await key('ArrowDown', SHIFT);
	check('Shift and arrows', await value('graph.view.total[0]') === await sum(3, 8), await text('range'));
	await key('ArrowRight'); await key('Enter');
	check('Enter selects a column', await value('graph.view.total[0]') === await sum(50, 100), await text('range'));
	await key('c'); await key('ArrowLeft'); await key('Enter');
	check('c compares', await value('graph.view.baseTotal[0]') === await sum(0, 50), await text('range'));
	await key('Escape');
	check('Escape shows the whole time', await value('graph.view.total[0]') === 594, await text('range'));

	// A search and a filter change the counts.
	await value("$('search').value = 'burn_hot'; changeSearch()");
	check('a search', await sum(0, 1e9) === 435 && /that match/.test(await text('most')), await text('most'));
	await page.clickElement('#reset');
	check('and without', await sum(0, 1e9) === 594, await text('most'));
	await value("{ $('thread').selectedIndex = 1; $('thread').dispatchEvent(new Event('change')); }");
	check('one thread', await sum(0, 1e9) === await value('graph.view.total[0]') && await sum(0, 1e9) < 594, await text('facts'));

	await open('coarse');
	check('other rows and columns', await value('heat.row === 100 && heat.perColumn === 5'), await value('heat.columns'));
	const shown = await value('heat.to - heat.from');
	await page.clickElement('#wider');
	check('zoom', await value('heat.to - heat.from') < shown, await value('location.hash'));
	await page.size(420, 700);
	await open('coarse', '#a=0-500');
	check('narrow', await value('document.documentElement.scrollWidth <= 420'), await value('document.documentElement.scrollWidth'));
	await value('startPrinting(); resizeHeat(); endPrinting()');
	await page.size(1280, 720);
	await open('live');
	check('live memory', /[KM]iB/.test(await text('facts')), await text('facts'));
	await open('wall');
	check('wall-clock events of several samples', await sum(0, 1e9) === 1987, await sum(0, 1e9));
	await open('far');
	const notice = await value("document.querySelector('.notice')?.textContent");
	check('long rows', /Rows are \d+ ms instead of 20 ms/.test(notice), notice);
	for (const metric of ['cpu', 'wall', 'lock']) if (fs.existsSync(`${dir}/theirs.${metric}.html`)) await compare(metric);


	// The converter's cells begin at its first event. So our counts by millisecond equal its counts for one such time.
	async function compare(metric) {
		await open(`ours.${metric}`);
		const ours = await value('[...heat.counts]');
		await page.call('Page.navigate', { url: `file://${dir}/theirs.${metric}.html` });
		const ready = "document.readyState === 'complete' && typeof currentHeatmap === 'object'";
		for (let i = 0; i < 600 && !await value(ready); i++) await new Promise(r => setTimeout(r, 50));
		const theirs = await value('[...currentHeatmap.blocksData.counts].map((v, i, a) => v - (i ? a[i - 1] : 0))');
		const equals = start => {
			const counts = new Map();
			ours.forEach((v, ms) => { if (v) { const c = Math.trunc((ms - start) / 20); counts.set(c, (counts.get(c) || 0) + v); } });
			const first = Math.min(...counts.keys());
			return theirs.every((v, i) => v === (counts.get(first + i) || 0)) && Math.max(...counts.keys()) - first < theirs.length;
		};
		const start = ours.findIndex((v, ms) => v && equals(ms));
		check(`counts of the converter, ${metric}`, start >= 0, `${theirs.reduce((a, b) => a + b)} samples in ${theirs.length} cells, its first event at ${start} ms`);
	}
});
