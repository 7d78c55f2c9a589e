'use strict';
/* A program of JavaScript whose stacks are known: each part does as much work as another, but where it says so. */
const { Worker, isMainThread } = require('worker_threads');
const vm = require('vm');

const PART = 40e6;
const kept = [];

function burn(work) {
	let total = 0;
	for (let i = 0; i < work; i++)
		total = (Math.imul(total, 31) + i) | 0;
	return total; // burn ends
}

function three() {
	return burn((6 * PART) / 5); // three burns
}

function one() {
	return burn((2 * PART) / 5); // one burns
}

function deeper(depth) {
	if (depth)
		return deeper(depth - 1); // goes deeper
	return burn(PART); // at the bottom
}

class Shop {
	sell() {
		return burn(PART); // sells
	}
}

function* counts() {
	for (let i = 0; i < 10; i++)
		yield burn(PART / 10); // counts
}

async function fetches() {
	burn(PART); // fetches
	await null;
	burn(PART); // fetches later
}

async function serves() {
	await fetches(); // serves
}

function sorts() {
	return [3, 1, 2, 5, 4].sort((a, b) => {
		burn(PART / 5); // compares
		return a - b;
	});
}

function hoards() {
	for (let i = 0; i < 200; i++)
		kept.push(Buffer.allocUnsafeSlow(100000)); // hoards
}

function works() {
	return burn(PART); // works
}

/* A function that is forgotten once it has run. */
function made(name) {
	vm.runInThisContext(`\n(function ${name}(burn) {\n\treturn burn(${PART / 50});\n})`, { filename: 'made.js' })(burn);
}

async function main() {
	for (let i = 0; i < 300; i++)
		burn(PART / 300); // made fast
	for (let i = 0; i < 5; i++) {
		three();
		one();
	}
	deeper(60);
	new Shop().sell();
	for (const i of counts())
		kept.push(i);
	await serves();
	sorts();
	for (let i = 0; i < 50; i++)
		made(`made_${i}`);
	const worker = new Worker(__filename);
	await new Promise((resolve) => worker.on('exit', resolve));
	hoards();
	process.stdout.write(`ok ${kept.length}\n`);
	process.reallyExit(0); // or all would be freed in the end
}

if (isMainThread)
	main();
else
	works();
