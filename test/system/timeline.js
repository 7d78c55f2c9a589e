// Opens timelines in Chromium, and uses them with mouse and keyboard.
// node timeline.js BROWSER DIR: DIR has java.html, cut.html, cpu.html, recorded.html, blocked.html, heat.html, alloc.html, many.html and hostile.html.
'use strict';
const { runPageTest, check } = require('./browser.js');
const [browser, dir] = process.argv.slice(2);
const SHIFT = 8;

runPageTest(browser, dir + '/profile', async page => {
	const { value, text, key } = page, open = (name, fragment) => page.open(`${dir}/${name}.html`, fragment);
	// A place in the window: time in milliseconds, and the row of a lane.
	const place = (ms, row) => value(`(() => { const b = lanes.getBoundingClientRect();
		return [b.left + xOf(${ms}), b.top + (${row} + 0.5) * LANE]; })()`);
	const inside = (from, to) => value(`(() => { const { row, value } = graph.stacks.sets[0]; let sum = 0;
		for (let i = 0; i < row.length; i++) if (row[i] >= ${from} && row[i] < ${to}) sum += value[i]; return sum; })()`);

	await open('java');
	check('lanes', await value('time.lanes.length') === 25 && await value('time.rows.length') < 25, await value('time.rows.length'));
	check('states', /running.*waits for a lock.*mark: report.*causes of waits are guessed/.test(await text('states')), await text('states'));
	await page.clickElement('#idle');
	check('idle threads are shown', await value('time.rows.length') === 25, await text('idle'));
	await page.clickElement('#idle');
	await key('/');
	await page.type('ObjectMonitor::enter');
	check('a search hides lanes without a match', await value("time.rows.every(r => /pool-1/.test(r.lane.name)) && time.rows.length > 1 && $('idle').hidden"), await text('match'));
	await page.clickElement('#reset');
	check('without a search', await value('time.rows.length') === 6, await value('time.rows.length'));
	const colors = await value(`(() => { const d = lanes.getContext('2d').getImageData(NAMES, 0, 400, 60).data, s = new Set();
		for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; })()`);
	check('colours', colors >= 4, colors);

	// A click shows a stack, a drag the flame graph of the range.
	const [x, y] = await place(2000, 0), [x2] = await place(3000, 0);
	await page.mouse('mouseMoved', x, y);
	check('tooltip', /^\d\d:\d\d:\d\d\.\d+(running|waits|idle)/.test(await text('tip')), await text('tip'));
	await page.click(x, y);
	check('a click shows the stack', /pool-1-thread-\d.*(running|waits)/.test(await text('moment')) && await value("$('frames').children.length") > 5, await text('moment'));
	await page.drag(x, y, x2, y);
	const [from, to] = await value('time.range');
	check('a range has its flame graph', await value('graph.view.total[0]') === await inside(from, to) && to - from > 900, await text('range'));
	await page.clickElement('#wider');
	check('zoom around the range', await value('Math.abs(xOf(middle(time.range)) - NAMES - (time.width - NAMES) * middle(time.range) / time.length) < 1'), await value('time.from'));
	await page.clickElement('#narrower');
	const link = await value('location.hash');
	check('links', /a=/.test(link), link);
	await open('java', link);
	check('a link opens the range', await value('graph.view.total[0]') === await inside(from, to), await text('range'));

	// Keyboard: zoom to a millisecond, move, select, back.
	await value('lanes.focus()');
	for (let i = 0; i < 14; i++) await key('+');
	check('zoom', Math.abs(await value('time.to - time.from') - 1) < 1e-9, await value('time.to - time.from'));
	check('threads in a millisecond', await value('countThreads(1)[1][0]') > 1, await value('countThreads(1).join()'));
	await key('ArrowRight');
	await key('ArrowDown');
	check('the cursor moves', await value('time.cursor > 0 && time.lane === 1'), await value('time.cursor'));
	await key('Escape');
	check('a hint that is not printed', await value("$('range').classList.contains('hint')"), 'hint');
	check('the whole time', await value('time.from === 0 && time.to === time.length && !time.range'), await text('range'));
	await key('ArrowRight');
	await key('ArrowRight', SHIFT);
	check('a range by keys', await value('time.range[1] - time.range[0] > 0'), await text('range'));
	await key('Enter');
	check('a stack by keys', await value("!$('stack').hidden"), await text('moment'));

	// Themes, narrow windows, print.
	await page.scheme('dark');
	await page.size(420, 700);
	await open('java');
	check('narrow', await value('document.documentElement.scrollWidth <= 420'), await value('document.documentElement.scrollWidth'));
	await page.print(dir + '/java.pdf');
	await page.size(1280, 720);
	await open('cpu');
	check('CPU time only', /^program/.test(await text('states')) && !/waits|running/.test(await text('states')) && await value('graph.all') === 7.8e9, await text('states'));
	check('one mark for a report of several chunks', await value("time.marks.filter(m => time.kinds[m.kind] === 'report').length") === 1, 1);
	await open('recorded');
	check('recorded states', /running.*waits for a lock.*waits for a file, socket or pipe.*idle or asleep/.test(await text('states')) &&
		!/(?<!some )causes of waits|not recorded/.test(await text('states')), await text('states'));
	check('lanes have the states of the flame graph', await value(`(() => { const byLabel = statesByLabel(graph.stacks), set = graph.stacks.sets[0];
		return set.label.every((l, i) => byLabel[l] >= 0 && laneText(time.states[i]) === STATES[STATE_NAMES[byLabel[l]]][0]); })()`), 'equal');
	// The page's parts share its height, and the header has the processes of what is shown.
	check('the cursor is in a lane', await value('!!time.rows[0].title && !!time.rows[time.lane].lane'), await value('time.lane'));
	await value('lanes.focus()');
	for (let i = 0; i < 40; i++) { await key('ArrowDown'); if (await value('!time.rows[time.lane].lane')) throw new Error('the cursor is in a title'); }
	check('the last lane', await value('time.lane === time.rows.length - 1'), await value('time.lane'));
	check('two processes', /in \d+ threads · processes timeout_\d+, wait_causes_\d+/.test(await text('facts')), await text('facts'));
	const before = await value('height');
	await value(`(() => { const s = $('label'); s.value = [...s.options].find(o => /^process=timeout/.test(o.value)).value;
		s.dispatchEvent(new Event('change')); })()`);
	await new Promise(r => setTimeout(r, 200));
	check('one process', /· process timeout_\d+ ·/.test(await text('facts')), await text('facts'));
	check('fewer lanes, a larger graph', await value("height > " + before + " && height === $('scroll').clientHeight"), await value('height'));
	const all = await value('graph.all');
	for (const name of ['blocked', 'heat']) {
		await open(name);
		check('stacks of owners', await value(`(() => { const { stacks } = graph, set = stacks.sets[0];
			return set.node.some((n, i) => stacks.labels[set.label[i]].includes('cause=lock') && [...Array(99)].some(() =>
				(n = stacks.parent[n]) > 0 && /^.lock .*held by/.test(stacks.name(stacks.frame[n])))); })()`), name);
		if (name === 'blocked') check('the same time', await value('graph.all') === all, all);
	}
	await open('cut');
	check('omitted marks', await value("document.querySelector('.notice[role=note]').textContent.startsWith('1,234 marks are omitted')"), 1234);
	await open('alloc');
	check('memory', await value("graph.meta.unit === 'bytes'"), await text('facts'));
	await open('many');
	check('20,000 lanes', await value('time.rows.length') === 20000 && await value('lanes.height < 2000'), await value('lanes.height'));
	await value("$('lanebox').scrollTop = 1e6, 1");
	await new Promise(r => setTimeout(r, 200));
	check('the last lanes are drawn', await value(`(() => { const d = lanes.getContext('2d').getImageData(0, lanes.height - 2 * LANE, NAMES, LANE).data, s = new Set();
		for (let i = 0; i < d.length; i += 4) s.add(d[i]); return s.size; })()`) > 2, await value("$('lanebox').scrollTop"));
	const [bx, by] = await value('(() => { const b = lanes.getBoundingClientRect(); return [b.left + NAMES - 20, b.bottom - 5]; })()');
	await page.mouse('mouseMoved', bx, by);
	check('and named', /tid=\d+/.test(await text('tip')) && await value('time.rows.length') - +/tid=(\d+)/.exec(await text('tip'))[1] < 40, await text('tip'));
	await open('hostile');
	check('hostile names are text', await value("document.images.length === 0 && time.lanes.length === 2"), await value('time.lanes[0].name'));
	check('time goes backwards', await value('time.lanes[0].samples.every((s, i, l) => !i || graph.stacks.sets[0].row[s] >= graph.stacks.sets[0].row[l[i - 1]])'), 'sorted');
});
