/* What threads did, from the labels `state` and `cause` of wall-clock samples: a colouring of the flame graph. */

/* Groups, with the classes of causes among them (CAUSE_CLASSES, from page.c): text, hue, saturation, lightness in both themes. */
const STATES = {
	running: ['running', 152, 46, 66, 29], runnable: ['in the run queue', 43, 84, 70, 34], lock: ['waits for a lock', 14, 76, 70, 38],
	io: ['waits for a file, socket or pipe', 207, 58, 76, 36], condition: ['waits for a condition', 320, 20, 87, 29],
	idle: ['idle or asleep', 220, 8, 84, 30], other: ['other waits', 268, 34, 82, 37], mixed: ['mixed', 60, 20, 86, 26],
};
const STATE_NAMES = Object.keys(STATES), MIXED = STATE_NAMES.indexOf('mixed');
/* Returns the group of a sample with LINES of labels; -1: unknown. */
function stateOfLabels(lines) {
	const state = labelValue(lines, 'state'), cause = labelValue(lines, 'cause');
	if (state !== 'waiting') return state === 'running' || state === 'runnable' ? STATE_NAMES.indexOf(state) : -1;
	return STATE_NAMES.indexOf(CAUSE_CLASSES[cause] || 'other');
}
/* Text for the legend if causes are guesses, as in recordings of async-profiler; else "". */
function guessText(stacks) {
	const known = stacks.labels.filter(lines => labelValue(lines, 'cause')), guessed = known.filter(lines => labelValue(lines, 'cause-from'));
	if (!guessed.length) return '';
	return `${guessed.length < known.length ? 'some causes' : 'causes'} of waits are guessed by names of functions`;
}
function statesByLabel(stacks) { return Int8Array.from(stacks.labels, stateOfLabels); }

/* Weights of the profile's samples by group, for each node of the stacks and for each frame. */
class StateWeights {
	constructor(selection, byLabel) {
		const { stacks } = selection, { parent, frame } = stacks, [set, wanted] = selection.parts[0];
		this.nodes = STATE_NAMES.map(() => new Float64Array(parent.length));
		this.frames = STATE_NAMES.map(() => new Float64Array(stacks.frames));
		this.threads = STATE_NAMES.map(() => new Float64Array(stacks.threads.length));
		for (let i = 0; i < set.count; i++) {
			const state = byLabel[set.label[i]];
			if (state < 0 || !wanted(i)) continue;
			this.nodes[state][set.node[i]] += set.value[i];
			this.threads[state][set.thread[i]] += set.value[i];
		}
		this.nodes.forEach((weights, state) => {
			for (let n = parent.length - 1; n > 0; n--) {
				weights[parent[n]] += weights[n];
				this.frames[state][frame[n]] += weights[n];
			}
		});
	}
	/* Returns the weights of node N of VIEW by group. Other views than the plain one have only those of the frame. */
	of(view, n, isPlain) {
		const f = view.frame[n], { stacks } = view;
		if (isPlain) return this.nodes.map(weights => weights[n]);
		if (stacks.isThread(f)) return this.threads.map(weights => weights[f - stacks.frames]);
		return this.frames.map(weights => weights[f]);
	}
}
/* Returns the group with three quarters of WEIGHTS, or the one of mixed weights. A thread that computes is running or in
 * the run queue: the two together are not mixed. */
function mainState(weights) {
	const sum = weights.reduce((a, b) => a + b, 0), largest = weights.indexOf(Math.max(...weights));
	const share = weights[largest] + (largest < 2 ? weights[1 - largest] : 0);
	return share >= 0.75 * sum ? largest : MIXED;
}
