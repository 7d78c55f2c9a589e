// Opens flame graphs in Chromium, and uses them with mouse and keyboard.
// node flamegraph.js BROWSER DIR: DIR has plain.html, base.html, vanished.html, big.html, labels.html and hostile.html.
'use strict';
const { runPageTest, check } = require('./browser.js');
const [browser, dir] = process.argv.slice(2);

const pixel = 'canvas.getContext("2d").getImageData';
const named = name => `view().frame.findIndex((f, n) => n && graph.stacks.name(f) === ${JSON.stringify(name)})`;

runPageTest(browser, dir + '/profile', async page => {
	const { value, text, key } = page;
	const open = async (name, fragment) => {
		await page.open(`${dir}/${name}.html`, fragment);
		await value('window.view = () => graph.view');
	};
	await plain();
	await fragment();
	await table();
	await themes();
	await difference();
	await vanished();
	await labels();
	await hostile();
	await merged();
	await states();
	await big();
	await old();

	async function states() {
		await open('wall');
		const state = name => value(`STATE_NAMES[mainState(stateWeights(${named(name)}))]`);
		check('states are coloured', await value(`$('coloring').value`) === 'state', await value(`$('coloring').value`));
		check('their legend', /running.*waits for a condition.*idle.*mixed.*guessed/.test(await text('legend')), await text('legend'));
		check('a thread that computes', await state('burn_hot') === 'running', await state('burn_hot'));
		check('a thread that sleeps', await state('__clock_nanosleep') === 'idle', await state('__clock_nanosleep'));
		check('filters', await value(`[...$('label').options].filter(o => /^(state|cause)=/.test(o.value)).length`) >= 3,
			await value(`[...$('label').options].map(o => o.value).join()`));
		const whole = await value('graph.view.total[0]');
		await value(`($('label').value = 'cause=sleep', $('label').onchange(), 1)`);
		check('only sleeps', await value('graph.view.total[0]') < whole && await state('__clock_nanosleep') === 'idle', await text('status'));
		await value(`($('invert').click(), 1)`);
		check('inverted', await value('STATE_NAMES[mainState(stateWeights(graph.view.kids(0)[0]))]') === 'idle', await text('status'));
		await value(`($('threads').click(), 1)`);
		check('by thread', await value('STATE_NAMES[mainState(stateWeights(graph.view.kids(0)[0]))]') === 'idle', await text('status'));
		await open('plain');
		check('none without states', await value(`[...$('coloring').options].map(o => o.value).join()`) === 'kind,module',
			await value(`[...$('coloring').options].map(o => o.value).join()`));
	}

	async function plain() {
		await open('plain');
		check('title', (await text('title')).startsWith('cpu:'), await text('title'));
		check('facts', /^594 samples · \d{4}-\d\d-\d\d \d\d:\d\d:\d\d to \d\d:\d\d:\d\d UTC \(3\.002 s\)$/.test(await text('facts')), await text('facts'));
		check('legend', /program.*library.*kernel/.test(await text('legend')), await text('legend'));
		const colors = await value(`(() => { const d = ${pixel}(0, 0, 1280, 400).data, s = new Set();
			for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; })()`);
		check('colours on the canvas', colors > 5, colors);

		const at = await value(`(() => { const n = ${named('burn_hot')}, s = nodeSpan(n), b = canvas.getBoundingClientRect();
			return [b.left + s[0] + s[1] / 2, b.top + view().depth(n) * ROW + ROW / 2 - $('scroll').scrollTop]; })()`);
		await page.mouse('mouseMoved', at[0], at[1]);
		check('tooltip', /burn_hot.*work.*self433 samples73%, 69–77%total435 samples73%, 69–77%.*95% confidence/.test(await text('tip')), await text('tip'));
		await page.click(at[0], at[1]);
		check('a click zooms', await value('view().name(graph.zoom)') === 'burn_hot', await text('status'));
		check('and fills the width', await value('Math.round(nodeSpan(graph.zoom)[1])') === 1280, await value('nodeSpan(graph.zoom)[1]'));
		await key('Escape');
		check('Escape shows all', await value('graph.zoom') === 0, await text('status'));

		await key('/');
		await page.type('burn_(hot|cool)');
		check('matches', await text('match') === '2 matches: 99%, 98–100%', await text('match'));
		await key('Enter');
		check('next match', await text('match') === '1 of 2: 99%, 98–100%' && (await text('status')).startsWith('burn_hot'), await text('status'));
		await page.clickElement('#next');
		check('the one after it', (await text('status')).startsWith('burn_cool'), await text('match'));
		await page.clickElement('#previous');
		check('and back', (await text('status')).startsWith('burn_hot'), await text('match'));
		await page.clickElement('#graph');
		await key('Escape');
		check('and forgotten', await text('match') === '', JSON.stringify(await text('match')));

		await key('ArrowDown'); await key('ArrowDown'); await key('Enter');
		check('keys zoom', await value('view().depth(graph.zoom)') === 2, await text('status'));
		await key('Escape');
		await key('i');
		check('inverted', await value('view().name(view().kids(0)[0])') === 'burn_hot', await value('view().name(view().kids(0)[0])'));
		check('with the callers', await value('view().name(view().kids(view().kids(0)[0])[0])') === 'outer', 'outer');
		await page.clickElement('#invert');
		await page.clickElement('#threads');
		const threads = await value('view().kids(0).map(k => [view().name(k), view().total[k]])');
		check('by thread', threads.length === 3 && threads.every(t => /^\[.*tid=\d+\]$/.test(t[0])), JSON.stringify(threads));
		await page.clickElement('#invert');
		check('by thread and inverted', await value('view().kids(0).length') === 3 &&
			await value('view().name(view().kids(view().kids(0)[0])[0])') === 'burn_hot', 'burn_hot');
		await page.clickElement('#invert');
		await page.clickElement('#threads');

		// One thread: the sum is that of its box.
		await value(`{ $('thread').value = 'id ' + ${JSON.stringify(threads[0][0])}; $('thread').dispatchEvent(new Event('change')); }`);
		check('one thread', await value('view().total[0]') === threads[0][1] && (await text('facts')).includes("of 594 samples"), await text('facts'));
		await open('plain');
	}

	// A link opens the same view.
	async function fragment() {
		await value(`zoomTo(${named('burn_cool')})`);
		await value("$('search').value = 'cool'; changeSearch(); toggle('table')");
		const hash = await value('location.hash');
		await open('plain', hash);
		check('a link', await value('view().name(graph.zoom)') === 'burn_cool' && await text('match') !== '' &&
			await value('!$("side").hidden'), hash);
		await open('plain', '#i=1&t=1&q=burn_hot');
		check('a link to another view', await value('graph.inverted && graph.byThread && graph.matches.length > 0'), await text('match'));
		await open('plain', '#z=9999.1&f=x&th=none&l=1&c=__proto__&i=7');
		check('a wrong link', await value('graph.zoom === 0 && graph.coloring') === 'kind', await value('location.hash'));
	}

	async function table() {
		await open('plain');
		await page.clickElement('#table');
		const rows = await value("[...document.querySelectorAll('#side tbody tr')].map(r => [...r.cells].map(c => c.textContent).join(' '))");
		check('functions by self', rows[0] === '73% 73% burn_hot' && rows[1] === '26% 26% burn_cool', rows.slice(0, 3).join('; '));
		await page.clickElement('#side th:nth-child(2) button');
		const first = await value("document.querySelector('#side tbody tr').textContent");
		check('by total', /100%/.test(first), first);
		await page.clickElement('#side th:nth-child(1) button');
		await page.clickElement('#side tbody tr:first-child td button');
		const side = await text('side');
		check('callers and callees', /burn_hot.*self 433 samples.*Callers100%outer.*Callees/.test(side), side);
		check('marked in the graph', (await text('match')).startsWith('1 match: 73%'), await text('match'));
		await page.clickElement('#side tbody td button');
		check('a caller is selected', /^‹ All functionsouter/.test(await text('side')), (await text('side')).slice(0, 40));
	}

	// The canvas has the theme's background, and prints in light colours.
	async function themes() {
		const ground = `(() => { const d = ${pixel}(2, canvas.height - 2, 1, 1).data; return d[0] + d[1] + d[2]; })()`;
		await open('plain');
		const light = await value(ground);
		await page.scheme('dark');
		await open('plain');
		const dark = await value(ground);
		check('light and dark', light - dark > 300, `${light}, ${dark}`);
		await value('startPrinting()');
		check('printed light', await value(ground) > 600 && await value('rows.length * ROW * 2 === canvas.height'), await value(ground));
		await value('endPrinting()');
		await page.scheme('light');
		await page.size(420, 700);
		await open('plain', '#v=1');
		check('narrow', await value('document.documentElement.scrollWidth <= 420 && $("scroll").clientHeight > 100'), await value('$("scroll").clientHeight'));
		await page.size(1280, 720);
	}

	// What grew is red, what shrank is blue, as the numbers in the page say.
	async function difference() {
		await open('base');
		const seen = await value(`(() => {
			const seen = { grown: 0, shrunk: 0, wrong: 0 };
			rows.forEach((row, depth) => { for (const n of row) {
				const [x, w] = nodeSpan(n), c = change(n), y = depth * ROW;
				if (!n || w < 12 || Math.abs(c) < 0.001 || y + ROW > 400) continue;
				const p = ${pixel}(x + w - 3, y + 2, 1, 1).data;
				seen[c > 0 ? 'grown' : 'shrunk']++;
				if (c > 0 ? p[0] <= p[2] : p[2] <= p[0]) seen.wrong++;
			} });
			return seen; })()`);
		check('red grew, blue shrank', seen.grown > 0 && seen.shrunk > 0 && !seen.wrong, JSON.stringify(seen));
		const faint = await value(`(() => {
			const sum = (x, depth) => ${pixel}(x, depth * ROW + 2, 1, 1).data.slice(0, 3).reduce((a, b) => a + b);
			for (let depth = 1; depth < rows.length; depth++) for (const n of rows[depth]) {
				const [x, w] = nodeSpan(n), end = Math.max(...comparedWidths(n, w));
				if (end < w - 12) return [x + w - 3, x + 1].map(at => sum(1, rows.length) - sum(at, depth));
			} })()`);
		check('what is in neither is faint', faint && faint[0] < 0.35 * faint[1], JSON.stringify(faint));
		const told = await value(`describe(${named('burn_hot')})`);
		check('the base is named', /base [0-9,]+ samples \([0-9]+%, [0-9]+–[0-9]+%\), [+-][0-9.]+ points/.test(told), told);
		check('legend of a difference', /grown.*shrunk/.test(await text('legend')), await text('legend'));
	}

	// What is in the base alone is drawn, as wide as it was, and blue.
	async function vanished() {
		await open('vanished');
		const seen = await value(`(() => {
			const n = ${named('burn_hot')}, [x, w] = nodeSpan(n), [now, before] = comparedWidths(n, w);
			const at = (dx, dy) => [...${pixel}(x + dx, view().depth(n) * ROW + dy, 1, 1).data].slice(0, 3);
			const sum = p => p[0] + p[1] + p[2];
			return { total: view().total[n], base: view().baseTotal[n], share: w / width, now, before: Math.abs(before - w) < 1,
				blue: at(w - 3, 2)[2] > at(w - 3, 2)[0], line: Math.abs(sum(at(w / 2, ROW - 3)) - sum(at(w - 3, 2))) }; })()`);
		check('a vanished function', seen.total === 0 && seen.base > 0 && seen.share > 0.02 && seen.blue && seen.now === 0 &&
			seen.before && seen.line > 100, JSON.stringify(seen));
		await page.clickElement('#invert');
		const turned = await value(`(() => { const n = view().kids(0).find(k => view().name(k) === 'burn_hot');
			return [n && view().total[n], n && nodeSpan(n)[1] > 8]; })()`);
		check('also inverted', turned[0] === 0 && turned[1], JSON.stringify(turned));
	}

	async function labels() {
		await open('labels');
		const options = await value("[...$('label').options].map(o => o.value)");
		check('labels', options.some(o => o.startsWith('host=')), options.join(' '));
		// Of the stacks that match a search, the share of each value.
		await value("$('search').value = 'burn_hot'; changeSearch(); $('label').focus()");
		const texts = await value("[...$('label').options].map(o => o.textContent).join('; ')");
		check('labels of a search', /one 100%/.test(texts) && !/two/.test(texts), texts);
		await value("$('search').value = ''; changeSearch(); $('threads').focus(); $('label').focus()");
		const whole = await value('view().total[0]');
		await value("{ $('label').value = [...$('label').options].find(o => o.value.startsWith('host=')).value; $('label').dispatchEvent(new Event('change')); }");
		const part = await value('view().total[0]');
		check('samples of a label', part > 0 && part < whole, `${part} of ${whole}`);
		check('hosts', /hosts? /.test(await text('facts')), await text('facts'));
	}

	async function hostile() {
		await open('hostile', '#v=1&q=script');
		const side = await text('side');
		check('names are data', await value('window.owned === undefined') && side.includes('</script><b id=owned'), side.slice(0, 120));
		check('so is the title', (await text('title')).includes('<script>owned = 1</script>'), await text('title'));
	}

	async function merged() {
		await open('merged');
		const seen = await value(`[view().total[0], ${named('[small frames]')} > 0, document.querySelector('.notice')?.textContent]`);
		check('merged frames', seen[0] === 108 && seen[1] && /merged/.test(seen[2]), JSON.stringify(seen));
	}

	// A browser that is too old says so.
	async function old() {
		const { identifier } = await page.call('Page.addScriptToEvaluateOnNewDocument', { source: 'delete window.DecompressionStream' });
		await page.call('Page.navigate', { url: `file://${dir}/plain.html` });
		let notice;
		for (let i = 0; i < 200 && !notice; i++) {
			notice = await value("[...document.querySelectorAll('p.notice[role]')].map(p => p.textContent).join()");
			await new Promise(r => setTimeout(r, 50));
		}
		check('an old browser', /cannot show the page: DecompressionStream/.test(notice), notice);
		page.errors.length = 0;
		await page.call('Page.removeScriptToEvaluateOnNewDocument', { identifier });
	}

	// Durations are printed, not judged: the machine may be busy.
	async function big() {
		const start = Date.now();
		await open('big');
		console.log(`time: opened in ${Date.now() - start} ms`);
		check('frames', await value('view().frame.length') > 100000, await value('view().frame.length'));
		const time = async (what, expression) => {
			const ms = await value(`(async () => { const t = performance.now(); ${expression};
				await new Promise(r => requestAnimationFrame(r)); return performance.now() - t; })()`);
			console.log(`time: ${what} in ${ms.toFixed(1)} ms`);
		};
		await time('zoomed', 'zoomTo(view().kids(0)[0])');
		await time('searched', "$('search').value = 'function_1.*call'; changeSearch()");
		await time('table', "toggle('table')");
		await time('inverted', "toggle('inverted')");
		await time('by thread', "toggle('inverted'); toggle('byThread')");
	}
});
