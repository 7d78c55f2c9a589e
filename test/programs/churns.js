'use strict';
/* Runs functions that are created and dropped, in many workers, until FOLDER/stop exists or so many
 * seconds are over.
 *
 * usage: churns.js FOLDER WORKERS SECONDS
 *
 * Its functions follow a rule: made_L_I is in the lines 2 * I + 1 and 2 * I + 2 of lotL.js. */
const { Worker, isMainThread, parentPort, threadId, workerData } = require('worker_threads');
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const LOT = 20;
const pool = [];
let lots = 0, kept = [];
const still = new Int32Array(new SharedArrayBuffer(4));

const below = (n) => Math.floor(Math.random() * n);
const one = (all) => all[below(all.length)];

/* ---- Steps: each calls the first of the remaining steps with the rest ---- */

function plain(rest) {
	const x = rest.length;
	return rest[0](rest.slice(1)) || x;
}

function recurses(rest, depth = 8) {
	if (depth)
		return recurses(rest, depth - 1);
	return rest[0](rest.slice(1));
}

function generates(rest) {
	function* yields() {
		yield 1;
		yield rest[0](rest.slice(1));
		yield 2;
	}
	let sum = 0;
	for (const x of yields())
		sum += x | 0;
	return sum;
}

function fails(rest) {
	try {
		try {
			throw new Error('on the way');
		} catch (error) {
			rest[0](rest.slice(1));
			throw new TypeError(error.message);
		}
	} catch {
		return 1;
	} finally {
		below(1);
	}
}

function sorts(rest) {
	let done = false;
	return [3, 1, 2, 5].sort((a, b) => {
		if (!done) {
			done = true;
			rest[0](rest.slice(1));
		}
		return a - b;
	})[0];
}

function maps(rest) {
	return [1].map(function maps_one() {
		return rest[0](rest.slice(1));
	}).reduce((a, b) => a + b, 0);
}

function replaces(rest) {
	return 'abc'.replace(/b/, (match) => String(rest[0](rest.slice(1)) || match)).length;
}

function revives(rest) {
	return JSON.parse('{"a":1}', (key, value) => key === 'a' ? rest[0](rest.slice(1)) : value) ? 1 : 0;
}

function passes_on(rest) {
	return new Proxy({}, { get: (target, name) => rest[0](rest.slice(1)) || name }).a ? 1 : 0;
}

function binds(rest) {
	return Reflect.apply(plain.bind(null, rest), null, []);
}

function closes(rest) {
	let held = below(10);
	const next = () => held++ + (rest[0](rest.slice(1)) | 0);
	return next();
}

class Shop {
	#rest;
	static opened = 0;
	constructor(rest) {
		this.#rest = rest;
	}
	sells() {
		return this.#rest[0](this.#rest.slice(1));
	}
	get price() {
		return this.sells();
	}
	set price(value) {
		this.sells();
	}
	static of(rest) {
		return new this(rest).price;
	}
	*[Symbol.iterator]() {
		yield this.sells();
	}
	toString() {
		return String(this.sells());
	}
}

class Corner extends Shop {
	at = below(3);
	sells() {
		return super.sells();
	}
}

function iterates(rest) {
	return [...new Corner(rest)].length;
}

function says(rest) {
	return `${new Corner(rest)}`.length;
}

function sets(rest) {
	new Corner(rest).price = 1;
}

/* Code that was compiled for small integers becomes invalid; it is made again each time. */
const ADDS = '\n(function adds(a, b) {\n\treturn a + b;\n})';

function changes(rest) {
	const adds = vm.runInThisContext(ADDS, { filename: 'adds.js' });
	for (const kind of [1, 1.5, 'x', 10n, [2], { valueOf: () => 3 }])
		for (let i = 0; i < 300; i++)
			adds(kind, kind);
	return rest[0](rest.slice(1));
}

/* Compiled with inlined callees, and deoptimized while it runs. */
function taken_in(x) {
	return (Math.imul(x, 31) + 7) | 0;
}

function runs_hot(rest) {
	let x = below(10), o = { a: 1 };
	for (let i = 0; i < 20000; i++) {
		x = taken_in(x) + o.a;
		if (i === 15000)
			o = { b: 1, a: 2 };
	}
	return rest[0](rest.slice(1)) + (x & 1);
}

/* ---- Ends of a chain ---- */

function burn(work) {
	let total = 0;
	for (let i = 0; i < work; i++)
		total = (Math.imul(total, 31) + i) | 0;
	return total;
}

function burns() {
	return burn(below(20000)) & 1;
}

function naps() {
	Atomics.wait(still, 0, 0, below(40));
	return 1;
}

function allocates() {
	kept = Array.from({ length: 200 }, (_, i) => ({ i, text: 'x'.repeat(below(100)), more: [i] }));
	return 1;
}

function counts_words() {
	const words = new Map();
	for (const word of 'a b c a b a'.split(' '))
		words.set(word, (words.get(word) ?? 0) + 1);
	return words.size;
}

/* ---- Created and dropped functions ---- */

function keep(made) {
	if (pool.length < 400)
		pool.push(made);
	else
		pool[below(400)] = made;
}

function makes_lot() {
	const lot = `${process.pid}${String(threadId).padStart(4, '0')}${String(++lots).padStart(6, '0')}`;
	const lines = Array.from({ length: LOT }, (_, i) => `function made_${lot}_${i}(rest) {\n\treturn rest[0](rest.slice(1)); }`);
	lines.push(`function twin(rest) {\n\treturn made_${lot}_0(rest) + 1; }`);
	const text = `(() => { ${lines.join('\n')}\nreturn [twin, ${lines.slice(1).map((_, i) => `made_${lot}_${i}`)}]; })()`;
	if (lots % 3)
		vm.runInThisContext(text, { filename: `lot${lot}.js` }).forEach(keep);
	else if (lots % 2)
		vm.runInNewContext(text, {}, { filename: `lot${lot}.js` }).forEach(keep);
	else
		eval(`${text}\n//# sourceURL=lot${lot}.js`).forEach(keep);
}

/* A file with two texts in turn, and modules of node that are loaded again. */
const ODD = 'exports.odd = function odd(rest) {\n\treturn rest[0](rest.slice(1));\n};\n';
const EVEN = '\n\n\nexports.even = function even(rest) {\n\treturn rest[0](rest.slice(1));\n};\n';

function reloads() {
	const folder = path.join(workerData.folder, `${process.pid}-${threadId}`), file = path.join(folder, 'comes_and_goes.js');
	fs.mkdirSync(folder, { recursive: true });
	for (const text of [ODD, EVEN]) {
		fs.writeFileSync(file, text);
		delete require.cache[file];
		Object.values(require(file)).forEach(keep);
	}
	fs.rmSync(folder, { recursive: true });
}

/* The generated text, as files, for the check of names. */
function tell_texts(folder) {
	for (const [name, text] of [['odd/comes_and_goes.js', ODD], ['even/comes_and_goes.js', EVEN], ['made/adds.js', ADDS]]) {
		const file = path.join(folder, name);
		fs.mkdirSync(path.dirname(file), { recursive: true });
		fs.writeFileSync(file, text);
	}
}

function chain(ends) {
	const some = Array.from({ length: below(6) }, () => one(steps));
	for (let i = below(12); i > 0 && pool.length; i--)
		some.push(one(pool));
	some.sort(() => Math.random() - 0.5);
	some.push(one(ends));
	return some[0](some.slice(1));
}

async function awaits() {
	await null;
	chain(run);
	await new Promise((done) => setImmediate(done));
	chain(run);
}

const steps = [plain, recurses, generates, fails, sorts, maps, replaces, revives, passes_on, binds, closes, Shop.of.bind(Corner), iterates, says,
	sets, changes, runs_hot];
const run = [burns, allocates, counts_words];
const stand = [naps];

async function works({ how, seconds }) {
	const end = Date.now() + 1000 * seconds;
	makes_lot();
	for (let turn = 1; Date.now() < end; turn++) {
		if (how === 'stands') {
			chain(stand);
			continue;
		}
		makes_lot();
		for (let i = 0; i < 20; i++)
			chain(run);
		await awaits();
		if (turn % 10 === 0)
			globalThis.gc?.();
		if (turn % 25 === 0)
			reloads();
	}
}

async function main([folder, workers, seconds]) {
	const stop = path.join(folder, 'stop');
	const end = Date.now() + 1000 * seconds;
	const begin = (how, seconds) => new Worker(__filename, { workerData: { how, seconds, folder } });
	const brief = () => begin('churns', 0.2).on('exit', () => Date.now() < end && !fs.existsSync(stop) && brief());
	tell_texts(folder);
	begin('churns', seconds);
	brief();
	for (let i = 2; i < workers; i++)
		begin('stands', seconds);
	while (Date.now() < end && !fs.existsSync(stop))
		await new Promise((done) => setTimeout(done, 100));
	process.reallyExit(0);
}

if (isMainThread)
	main(process.argv.slice(2));
else
	works(workerData);
