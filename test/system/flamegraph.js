// Opens a flame graph in Chromium, uses it as a person would, and looks at what it shows.
// node flamegraph.js BROWSER PAGE PROFILE_DIR [SCREENSHOT [light|dark]]
// BASE_PAGE in the environment names one that shows a difference, BIG_PAGE one of 100,000 frames.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');

const [browser, page, profile, screenshot, theme] = process.argv.slice(2);
const chromium = spawn(browser, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
	'--no-first-run', '--disable-background-networking', '--disable-component-update',
	'--disable-sync', '--hide-scrollbars', `--user-data-dir=${profile}`, '--window-size=1280,720',
	'--remote-debugging-pipe', 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const waiting = new Map();
const requests = [];
let next = 1, rest = '';

chromium.stdio[4].on('data', chunk => {
	rest += chunk;
	for (let end; (end = rest.indexOf('\0')) >= 0; rest = rest.slice(end + 1)) {
		const message = JSON.parse(rest.slice(0, end));
		if (message.id) waiting.get(message.id)(message);
		else if (message.method === 'Network.requestWillBeSent') requests.push(message.params.request.url);
	}
});
function send(method, params = {}, sessionId) {
	return new Promise((resolve, reject) => {
		waiting.set(next, m => m.error ? reject(new Error(method + ': ' + m.error.message)) : resolve(m.result));
		chromium.stdio[3].write(JSON.stringify({ id: next++, method, params, sessionId }) + '\0');
	});
}
function check(what, good, seen) {
	if (!good) throw new Error(`${what}: ${seen}`);
	console.log(`ok: ${what}: ${seen}`);
}

async function main() {
	const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
	const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
	const call = (method, params) => send(method, params, sessionId);
	const value = async expression => {
		const r = await call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
		if (r.exceptionDetails) throw new Error(expression + ': ' + JSON.stringify(r.exceptionDetails));
		return r.result.value;
	};
	const text = id => value(`document.getElementById('${id}').textContent`);
	const key = async (k, code) => {
		await call('Input.dispatchKeyEvent', { type: 'keyDown', key: k, code: code || k });
		await call('Input.dispatchKeyEvent', { type: 'keyUp', key: k, code: code || k });
	};

	await call('Network.enable');
	await call('Emulation.setDeviceMetricsOverride',
		{ width: 1280, height: 720, deviceScaleFactor: 1, mobile: false });
	await call('Emulation.setEmulatedMedia',
		{ features: [{ name: 'prefers-color-scheme', value: theme || 'light' }] });
	await call('Page.enable');
	const open = async path => {
		await call('Page.navigate', { url: 'file://' + path });
		for (let i = 0; i < 200 && !await value("document.readyState === 'complete' && typeof tree === 'object'"); i++)
			await new Promise(r => setTimeout(r, 50));
	};
	await open(page);

	check('title', (await text('title')).startsWith('cpu:'), await text('title'));
	check('weight', await text('weight') === '594 samples', await text('weight'));
	const theGraph = 'document.getElementById("graph")';
	const colors = `(() => { const d = ${theGraph}.getContext('2d').getImageData(0, 0, 1280, 400).data, s = new Set();
		for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; })()`;
	check('colours on the canvas', await value(colors) > 5, await value(colors));

	// The frame burn_hot, found by its place, is clicked.
	const at = await value(`(() => { const n = tree.name.findIndex(x => names[x] === 'burn_hot'), s = nodeSpan(n),
		b = ${theGraph}.getBoundingClientRect();
		return [b.left + s[0] + s[1] / 2, b.top + tree.depth[n] * ROW + ROW / 2 - document.getElementById('scroll').scrollTop]; })()`);
	await call('Input.dispatchMouseEvent', { type: 'mouseMoved', x: at[0], y: at[1] });
	check('tooltip', /burn_hot.*work.*self433 samples73%, 69–77%total435 samples73%, 69–77%.*95% confidence/.test(await text('tip')), await text('tip'));
	for (const type of ['mousePressed', 'mouseReleased'])
		await call('Input.dispatchMouseEvent', { type, x: at[0], y: at[1], button: 'left', clickCount: 1 });
	check('a click zooms', await value('names[tree.name[state.zoom]]') === 'burn_hot', await text('status'));
	check('and fills the width', await value('Math.round(nodeSpan(state.zoom)[1])') === 1280, await value('nodeSpan(state.zoom)[1]'));
	await key('Escape');
	check('Escape shows all', await value('state.zoom') === 0, await text('status'));

	// Search by keyboard.
	await key('/', 'Slash');
	await call('Input.insertText', { text: 'burn_(hot|cool)' });
	check('share found', await text('match') === '99%, 98–100% matched', await text('match'));
	await key('Escape');
	check('and forgotten', await text('match') === '', JSON.stringify(await text('match')));

	// Arrow keys and Enter.
	await key('ArrowDown'); await key('ArrowDown'); await key('Enter');
	check('keys zoom', await value('tree.depth[state.zoom]') === 2, await text('status'));
	await key('Escape');

	await value("document.getElementById('reverse').click()");
	check('reversed', /^burn_hot/.test(await value('names[tree.name[tree.kids[0][0]]]')), await value('names[tree.name[tree.kids[0][0]]]'));
	await value("document.getElementById('reverse').click()");
	await value("document.getElementById('threads').click()");
	check('by thread', /^\[.*tid=\d+\]$/.test(await value('names[tree.name[tree.kids[0][0]]]')), await value('names[tree.name[tree.kids[0][0]]]'));
	await value("document.getElementById('threads').click()");

	// Light and dark: the page's ground is bright, and dark where the system is.
	const ground = `(() => { const g = ${theGraph}, d = g.getContext('2d').getImageData(2, g.height - 2, 1, 1).data;
		return d[0] + d[1] + d[2]; })()`;
	const first = await value(ground);
	await call('Emulation.setEmulatedMedia',
		{ features: [{ name: 'prefers-color-scheme', value: theme === 'dark' ? 'light' : 'dark' }] });
	await open(page);
	const second = await value(ground);
	check('light and dark', Math.abs(first - second) > 300 && first > second === (theme !== 'dark'), `${first}, ${second}`);
	await call('Emulation.setEmulatedMedia',
		{ features: [{ name: 'prefers-color-scheme', value: theme || 'light' }] });
	await open(page);

	if (process.env.BASE_PAGE) await lookAtDifference(process.env.BASE_PAGE);
	if (process.env.VANISHED_PAGE) await lookForVanished(process.env.VANISHED_PAGE);
	if (process.env.BIG_PAGE) await lookAtBigOne(process.env.BIG_PAGE);

	// What grew is red, what shrank is blue, as the numbers in the page say.
	async function lookAtDifference(path) {
		await open(path);
		const seen = JSON.parse(await value(`(() => {
			const d = ${theGraph}.getContext('2d'), seen = { grown: 0, shrunk: 0, wrong: 0 };
			for (const n of shown) {
				const [x, w] = nodeSpan(n), c = change(n), row = tree.depth[n] * ROW;
				if (!n || w < 8 || Math.abs(c) < 0.001 || row + ROW > 400) continue;
				const p = d.getImageData(x + w - 3, row + 2, 1, 1).data;
				seen[c > 0 ? 'grown' : 'shrunk']++;
				if (c > 0 ? p[0] <= p[2] : p[2] <= p[0]) seen.wrong++;
			}
			return JSON.stringify(seen); })()`));
		check('red grew, blue shrank', seen.grown > 0 && seen.shrunk > 0 && !seen.wrong, JSON.stringify(seen));
		const told = await value("describe(tree.name.findIndex(x => names[x] === 'burn_hot'))");
		check('the base is told', /base [0-9,]+ samples \([0-9]+%, [0-9]+–[0-9]+%\), [+-][0-9.]+ points/.test(told), told);
	}

	// What is in the base alone is drawn, as wide as it was, and blue.
	async function lookForVanished(path) {
		await open(path);
		const seen = JSON.parse(await value(`(() => {
			const n = tree.name.findIndex(x => names[x] === 'burn_hot'), [x, w] = nodeSpan(n);
			const p = ${theGraph}.getContext('2d').getImageData(x + w - 3, tree.depth[n] * ROW + 2, 1, 1).data;
			return JSON.stringify({ total: tree.total[n], base: tree.baseTotal[n], drawn: shown.includes(n),
				share: w / width, blue: p[2] > p[0] }); })()`));
		check('what has vanished is shown', seen.total === 0 && seen.base > 0 && seen.drawn && seen.blue &&
			seen.share > 0.02, JSON.stringify(seen));
		// It has no width now, and all of it in the base: pale, with a line below as long as it was.
		const drawn = JSON.parse(await value(`(() => {
			const n = tree.name.findIndex(x => names[x] === 'burn_hot'), [x, w] = nodeSpan(n), [now, was] = comparedWidths(n, w);
			const at = (dx, dy) => [...${theGraph}.getContext('2d').getImageData(x + dx, tree.depth[n] * ROW + dy, 1, 1).data];
			const stays = tree.name.findIndex((x, i) => tree.total[i] > 0 && tree.baseTotal[i] === 0 && nodeSpan(i)[1] > 8);
			const [sx, sw] = nodeSpan(stays), s = ${theGraph}.getContext('2d').getImageData(sx + sw / 2, tree.depth[stays] * ROW + ROW - 3, 1, 1).data;
			const plain = ${theGraph}.getContext('2d').getImageData(sx + sw / 2, tree.depth[stays] * ROW + 2, 1, 1).data;
			return JSON.stringify({ now, was: Math.abs(was - w) < 1, line: at(w / 2, ROW - 3), box: at(w - 3, 2),
				none: s[0] === plain[0] && s[2] === plain[2] }); })()`));
		const dark = drawn.line.slice(0, 3).reduce((a, b) => a + b), pale = drawn.box.slice(0, 3).reduce((a, b) => a + b);
		check('both widths are drawn', drawn.now === 0 && drawn.was && Math.abs(dark - pale) > 100 && drawn.none,
			JSON.stringify(drawn));
		await value("document.getElementById('reverse').click()");
		const turned = JSON.parse(await value(`(() => {
			const n = tree.kidsOf(0).find(k => names[tree.name[k]] === 'burn_hot');
			return JSON.stringify([n && tree.total[n], n && nodeSpan(n)[1] > 8]); })()`));
		check('likewise the other way round', turned[0] === 0 && turned[1], JSON.stringify(turned));
	}

	// How long 100,000 frames take to be drawn is told, not judged: the machine may be busy.
	async function lookAtBigOne(path) {
		await open(path);
		const count = await value('tree.name.length');
		check('frames', count > 100000, count);
		const time = async (what, expression) => {
			const ms = await value(`(async () => { const t = performance.now(); ${expression}; layout();
				await new Promise(r => requestAnimationFrame(r)); return performance.now() - t; })()`);
			console.log(`time: ${what} in ${ms.toFixed(1)} ms`);
		};
		await time('drawn', '');
		await time('zoomed in', 'state.zoom = tree.kidsOf(0)[0]');
		await time('zoomed out', 'state.zoom = 0');
		await time('searched', "document.getElementById('search').value = 'function_1.*call'; search()");
		await time('reversed', "document.getElementById('reverse').click()");
	}
	check('nothing but the page was asked for', requests.every(u => u.startsWith('file://') || u.startsWith('data:')), requests.join(' '));
	if (screenshot) {
		await value("document.getElementById('search').value = 'irq|sched'; search()");
		await call('Input.dispatchMouseEvent', { type: 'mouseMoved', x: at[0], y: at[1] });
		const shot = await call('Page.captureScreenshot', { format: 'png' });
		fs.writeFileSync(screenshot, Buffer.from(shot.data, 'base64'));
	}
}

const limit = setTimeout(() => { console.log('no answer within a minute'); chromium.kill('SIGKILL'); process.exit(1); }, 60000);
main().then(() => 0, e => { console.log(String(e.stack || e)); return 1; })
	.then(status => { clearTimeout(limit); chromium.on('exit', () => process.exit(status)); chromium.kill('SIGKILL'); });
