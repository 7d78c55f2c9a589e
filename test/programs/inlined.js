'use strict';
/* The work is in a loop without calls. V8 inlines it into node's function that runs what setImmediate() was given. */
const points = Array.from({ length: 50 }, (_, i) => ({ x: i * 1.5, y: (i * i) / 7 }));
let left = 5000;
let sum = 0;

function pairs(all, rounds) {
	let total = 0;
	for (let k = 0; k < rounds; k++)
		for (const p of all)
			for (const q of all)
				total += 1 / Math.sqrt((p.x - q.x) * (p.y - q.y) + 1e4);
	return total;
}

function step() {
	sum += pairs(points, 60);
	if (--left)
		setImmediate(step);
	else
		console.log(`ok ${sum > 0}`);
}

setImmediate(step);
