// Drives Chromium over its debugging pipe, for tests of pages.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');

// Returns a browser with one page of 1280 x 720. Failures of the page's scripts are in `errors`, what it loads in `requests`.
async function startBrowser(path, profile) {
	const chromium = spawn(path, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
		'--disable-background-networking', '--disable-component-update', '--disable-sync', '--hide-scrollbars',
		`--user-data-dir=${profile}`, '--window-size=1280,720', '--remote-debugging-pipe', 'about:blank'],
	{ stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
	const waiting = new Map(), requests = [], errors = [];
	let next = 1, rest = '';
	chromium.stdio[4].on('data', chunk => {
		rest += chunk;
		for (let end; (end = rest.indexOf('\0')) >= 0; rest = rest.slice(end + 1)) receive(JSON.parse(rest.slice(0, end)));
	});
	function receive(message) {
		const { method, params } = message;
		if (message.id) waiting.get(message.id)(message);
		else if (method === 'Network.requestWillBeSent') requests.push(params.request.url);
		else if (method === 'Runtime.exceptionThrown') errors.push(JSON.stringify(params.exceptionDetails));
		else if (method === 'Log.entryAdded' && params.entry.level === 'error') errors.push(params.entry.text);
		else if (method === 'Page.javascriptDialogOpening') errors.push('dialog: ' + params.message);
	}
	function send(method, params = {}, sessionId) {
		return new Promise((resolve, reject) => {
			waiting.set(next, m => m.error ? reject(new Error(method + ': ' + m.error.message)) : resolve(m.result));
			chromium.stdio[3].write(JSON.stringify({ id: next++, method, params, sessionId }) + '\0');
		});
	}
	const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
	const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
	const call = (method, params) => send(method, params, sessionId);
	for (const domain of ['Network', 'Page', 'Runtime', 'Log']) await call(domain + '.enable');
	const page = {
		call, errors, requests,
		async value(expression) {
			const r = await call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
			if (r.exceptionDetails) throw new Error(expression + ': ' + JSON.stringify(r.exceptionDetails));
			return r.result.value;
		},
		text: id => page.value(`document.getElementById('${id}').textContent`),
		async key(k, modifiers = 0) {
			await call('Input.dispatchKeyEvent', { type: 'keyDown', key: k, modifiers, text: k.length === 1 ? k : k === 'Enter' ? '\r' : undefined });
			await call('Input.dispatchKeyEvent', { type: 'keyUp', key: k, modifiers });
		},
		type: text => call('Input.insertText', { text }),
		mouse: (type, x, y, more = {}) => call('Input.dispatchMouseEvent', { type, x, y, ...more }),
		async click(x, y, modifiers = 0) {
			await page.mouse('mouseMoved', x, y);
			for (const type of ['mousePressed', 'mouseReleased'])
				await page.mouse(type, x, y, { button: 'left', clickCount: 1, modifiers });
		},
		async drag(x, y, x2, y2, modifiers = 0) {
			await page.mouse('mouseMoved', x, y);
			await page.mouse('mousePressed', x, y, { button: 'left', clickCount: 1, modifiers });
			await page.mouse('mouseMoved', x2, y2, { button: 'left', buttons: 1, modifiers });
			await page.mouse('mouseReleased', x2, y2, { button: 'left', clickCount: 1, modifiers });
		},
		// The middle of an element.
		async clickElement(selector) {
			const [x, y] = await page.value(`(() => { const e = document.querySelector(${JSON.stringify(selector)});
				e.scrollIntoView({ block: 'nearest' });
				const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()`);
			await page.click(x, y);
		},
		size: (width, height, deviceScaleFactor = 1) => call('Emulation.setDeviceMetricsOverride',
			{ width, height, deviceScaleFactor, mobile: false }),
		scheme: value => call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] }),
		// Open a file, and wait until its page shows a graph.
		async open(file, fragment = '') {
			await call('Page.navigate', { url: 'about:blank' });
			await call('Page.navigate', { url: 'file://' + file + fragment });
			for (let i = 0; i < 600; i++) {
				if (await page.value("document.readyState === 'complete' && typeof graph === 'object' && graph.view !== null && !graph.loading")) return;
				await new Promise(r => setTimeout(r, 50));
			}
			throw new Error(`${file} shows nothing: ${errors.join('; ')}`);
		},
		async screenshot(file) {
			const shot = await call('Page.captureScreenshot', { format: 'png' });
			fs.writeFileSync(file, Buffer.from(shot.data, 'base64'));
		},
		async print(file) {
			const pdf = await call('Page.printToPDF', { printBackground: true, preferCSSPageSize: true });
			fs.writeFileSync(file, Buffer.from(pdf.data, 'base64'));
		},
		close(status) {
			chromium.on('exit', () => process.exit(status));
			chromium.kill('SIGKILL');
		},
	};
	await page.size(1280, 720);
	await page.scheme('light');
	return page;
}

// Print a check that passed, and throw if it did not.
function check(what, good, seen) {
	if (!good) throw new Error(`${what}: ${seen}`);
	console.log(`ok: ${what}: ${seen}`);
}

// Run TEST(page, check) in the browser at PATH, and exit.
function runPageTest(path, profile, test) {
	let page;
	const limit = setTimeout(() => { console.log('no answer within two minutes'); page?.close(1); }, 120000);
	startBrowser(path, profile).then(p => { page = p; return test(p, check); })
		.then(() => check('no script failed', !page.errors.length, page.errors.join('; ')))
		.then(() => check('only the page was loaded', page.requests.every(u => /^(file|data|blob|about):/.test(u)), page.requests.length))
		.then(() => 0, e => { console.log(String(e.stack || e)); return 1; })
		.then(status => { clearTimeout(limit); page ? page.close(status) : process.exit(status); });
}

module.exports = { startBrowser, runPageTest, check };
