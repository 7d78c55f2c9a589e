/* The timeline: a lane for each thread, coloured by state, the CPU time above, and marks. Positions in time are
 * milliseconds since the first sample. */

const lanes = $('lanes'), cpu = $('cpu'), NAMES = 210, LANE = 15, CPU_HEIGHT = 52, TIME_AXIS = 18, IDLE_SHARE = 0.001, LEAST_MS = 4, WAIT_DEPTH = 10;
const time = {
	lanes: [], rows: [], from: 0, to: 1, length: 1, row: 1, interval: 1, range: null, cursor: 0, lane: 0,
	anchor: null, dragging: false, idle: false, width: 0, ratio: 1, colors: [],
};
/* States: text, hue, saturation, lightness in both themes. A wait is named by the innermost functions. */
const LANE_STATES = {
	own: ['runs: program', 43, 90, 55, 50], script: ['runs: script', 168, 55, 40, 42], java: ['runs: Java', 140, 50, 42, 42],
	library: ['runs: library', 207, 65, 55, 48], interpreter: ['runs: interpreter', 268, 40, 62, 55], kernel: ['runs: kernel', 14, 80, 55, 52],
	lock: ['waits: lock', 330, 75, 48, 55], condition: ['waits: condition', 330, 25, 84, 32], io: ['waits: input, output', 195, 30, 80, 30], sleep: ['sleeps', 220, 8, 90, 24], wait: ['waits', 220, 12, 83, 30],
};
const LANE_STATE_NAMES = Object.keys(LANE_STATES), FIRST_WAIT = LANE_STATE_NAMES.indexOf('lock');
const WAITS = [['lock', /lll_lock|mutex_lock|mutex_timedlock|rwlock|spin_lock|monitor_?enter|complete_monitor|ObjectMonitor::enter|acquire_lock|take_gil/i],
	['sleep', /sleep|^(__)?(libc_)?pause|sigwait|sigsuspend/i],
	['condition', /cond_|condvar|sem_|semaphore|park|Monitor::wait|Object\.wait|future/i],
	['io', /^(__)?(p?read|p?write|recv|send|accept|connect|e?poll|p?select|epoll_p?wait|fsync|open|io_)/i]];
const MARK_HUES = [0, 35, 350, 280, 220, 100, 130, 185];
function laneStateColor(state) {
	const [, hue, saturation, light, dark] = LANE_STATES[LANE_STATE_NAMES[state]];
	return hsl(hue, saturation, theme.dark ? dark : light);
}
function markColor(kind) { return hsl(MARK_HUES[kind], 75, theme.dark ? 65 : 42); }

/* ---- lanes ---- */

/* State of a sample by its stack, cached by node. */
function makeStates(stacks) {
	const runs = new Int8Array(stacks.parent.length).fill(-1), waits = runs.slice();
	const kinds = { scriptLibrary: 'script', javaInlined: 'java', javaLibrary: 'java' };
	const run = node => {
		const kind = kindOf(stacks, stacks.frame[node]);
		return LANE_STATE_NAMES.indexOf(kinds[kind] || kind);
	};
	const wait = node => {
		const names = [];
		for (; node > 0 && names.length < WAIT_DEPTH; node = stacks.parent[node]) names.push(stacks.name(stacks.frame[node]));
		const found = WAITS.find(([, pattern]) => names.some(name => pattern.test(name)));
		return LANE_STATE_NAMES.indexOf(found ? found[0] : 'wait');
	};
	return (node, isWait) => {
		const cache = isWait ? waits : runs;
		if (cache[node] < 0) cache[node] = Math.max(0, (isWait ? wait : run)(node));
		return cache[node];
	};
}
/* A lane for each thread of each process. Its samples are in the order of time. */
function makeLanes(stacks) {
	const set = stacks.sets[0], stateOf = makeStates(stacks), known = new Map();
	const names = stacks.labels.map(lines => labelValue(lines, 'process')), processes = [...new Set(names)];
	const processOf = Uint32Array.from(names, name => processes.indexOf(name)), used = new Uint8Array(LANE_STATE_NAMES.length);
	const waits = stacks.labels.map(lines => labelValue(lines, 'state') === 'waits');
	time.states = new Uint8Array(set.count);
	for (let i = 0; i < set.count; i++) {
		const process = processOf[set.label[i]], key = process * stacks.threads.length + set.thread[i];
		let lane = known.get(key);
		if (!lane) {
			lane = { process: processes[process], name: stacks.threads[set.thread[i]] || '(no thread)', samples: [], runs: 0, marks: [] };
			known.set(key, lane);
		}
		const state = time.states[i] = stateOf(set.node[i], waits[set.label[i]]);
		used[state] = 1;
		lane.samples.push(i);
		if (state < FIRST_WAIT) lane.runs += set.value[i];
	}
	time.used = [...used.keys()].filter(state => used[state]);
	time.lanes = [...known.values()].sort((a, b) => a.process < b.process ? -1 : a.process > b.process ? 1 : b.runs - a.runs);
	const whole = time.lanes.reduce((sum, lane) => sum + lane.runs, 0);
	for (const lane of time.lanes) lane.idle = lane.runs <= IDLE_SHARE * whole;
	if (time.lanes.every(lane => lane.idle)) for (const lane of time.lanes) lane.idle = false;
}
function addMarks(meta) {
	time.marks = meta.marks.map(([kind, at, duration, thread, labels, text]) =>
		({ kind, at, duration, thread, process: labelValue(labels.split('\n'), 'process'), text }));
	const known = new Map(time.lanes.map(lane => [lane.process + '\0' + lane.name, lane]));
	time.free = [];
	for (const mark of time.marks) {
		const lane = mark.thread && known.get(mark.process + '\0' + mark.thread);
		(lane ? lane.marks : time.free).push(mark);
		if (lane) lane.idle = false;
	}
}
/* Shown rows: names of processes if there are several, and lanes. */
function makeRows() {
	const several = new Set(time.lanes.map(lane => lane.process)).size > 1;
	const shown = time.lanes.filter(lane => time.idle || !lane.idle);
	time.rows = [];
	shown.forEach((lane, i) => {
		if (several && (!i || shown[i - 1].process !== lane.process)) time.rows.push({ title: lane.process || '(unknown process)' });
		time.rows.push({ lane });
	});
	const idle = time.lanes.filter(lane => lane.idle).length;
	$('idle').hidden = !idle;
	$('idle').textContent = `${time.idle ? 'Hide' : 'Show'} ${idle} idle thread${idle === 1 ? '' : 's'}`;
	$('idle').setAttribute('aria-pressed', time.idle);
	time.lane = Math.min(time.lane, time.rows.length - 1);
}

/* ---- drawing ---- */

function xOf(ms) { return NAMES + (ms - time.from) / (time.to - time.from) * (time.width - NAMES); }
function msAt(x) { return time.from + (x - NAMES) / (time.width - NAMES) * (time.to - time.from); }
/* Index in LIST of the first sample at MS or later. */
function firstSample(list, ms) {
	const row = graph.stacks.sets[0].row;
	let low = 0, high = list.length;
	while (low < high) {
		const middle = low + high >> 1;
		if (row[list[middle]] * time.row < ms) low = middle + 1;
		else high = middle;
	}
	return low;
}
function drawTime() {
	if (!graph.selection || time.width <= NAMES) return;
	time.colors = LANE_STATE_NAMES.map((_, i) => laneStateColor(i));
	time.test = sampleTest(graph.stacks.sets[0]);
	drawCpu();
	drawLanes();
	drawStates();
}
/* Threads that run, and threads that wait for a lock, at the same time: averaged over a few pixels and intervals. */
function countThreads(count) {
	const { row, value } = graph.stacks.sets[0], running = new Float64Array(count), locked = new Float64Array(count);
	const perBin = (time.to - time.from) / count, scale = (time.weight || 1) / (time.weight ? perBin : 1);
	for (const lane of time.lanes)
		for (let k = firstSample(lane.samples, time.from); k < lane.samples.length; k++) {
			const i = lane.samples[k], at = row[i] * time.row, bins = time.states[i] < FIRST_WAIT ? running : time.states[i] === FIRST_WAIT && locked;
			if (at >= time.to) break;
			if (bins && time.test(i)) bins[Math.floor((at - time.from) / perBin)] += value[i] * scale;
		}
	return [running, locked];
}
function chartText(bins, what) {
	const threads = +Math.max(...bins).toPrecision(2);
	return time.weight ? `${what}, at most ${threads} thread${threads === 1 ? '' : 's'}` : what;
}
function drawCpu() {
	const context = startDrawing(cpu, time.width, CPU_HEIGHT + TIME_AXIS, css('--bar')), plot = time.width - NAMES;
	const [running, locked] = countThreads(Math.max(1, Math.floor(Math.min(plot / 2, (time.to - time.from) / (4 * time.interval)))));
	const most = Math.max(...running, ...locked) || 1, w = plot / running.length;
	context.fillStyle = laneStateColor(0);
	running.forEach((v, b) => context.fillRect(NAMES + b * w, CPU_HEIGHT * (1 - v / most), w + 0.3, CPU_HEIGHT * v / most));
	const waits = time.used.includes(FIRST_WAIT);
	if (waits) {
		context.strokeStyle = laneStateColor(FIRST_WAIT);
		context.lineWidth = 1.5;
		context.beginPath();
		locked.forEach((v, b) => {
			const y = (CPU_HEIGHT - 1) * (1 - v / most) + 1;
			context.lineTo(NAMES + b * w, y);
			context.lineTo(NAMES + (b + 1) * w, y);
		});
		context.stroke();
	}
	context.font = '12px system-ui, "DejaVu Sans", sans-serif';
	context.textAlign = 'right';
	context.fillStyle = css('--soft');
	context.fillText(chartText(running, 'running'), NAMES - 8, 9);
	context.fillStyle = laneStateColor(FIRST_WAIT);
	if (waits) context.fillText(chartText(locked, 'lock'), NAMES - 8, 25);
	drawFreeMarks(context);
	drawShade(context, CPU_HEIGHT);
	drawTimeAxis(context);
}
/* Marks of no thread: reports, lost samples, pauses of a virtual machine. */
function drawFreeMarks(context) {
	for (const mark of time.free) {
		if (mark.at + mark.duration < time.from || mark.at > time.to) continue;
		drawMark(context, mark, 0);
	}
}
/* A mark with a duration is a bar at the upper edge, another one a triangle. */
function drawMark(context, mark, y) {
	const x = Math.max(NAMES, xOf(mark.at));
	context.fillStyle = markColor(mark.kind);
	if (mark.duration) context.fillRect(x, y, Math.max(2, xOf(mark.at + mark.duration) - x), 4);
	else {
		context.beginPath();
		context.moveTo(x - 4, y);
		context.lineTo(x + 4, y);
		context.lineTo(x, y + 8);
		context.fill();
	}
}
function drawTimeAxis(context) {
	const length = time.to - time.from, least = 90 * length / (time.width - NAMES);
	const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 15000, 30000, 60000, 120000, 300000, 600000, 1800000, 3600000, 21600000];
	const step = steps.find(s => s >= least) || Math.ceil(least / 86400000) * 86400000;
	context.textAlign = 'left';
	context.fillStyle = css('--soft');
	for (let t = Math.ceil((time.start + time.from) / step) * step; t < time.start + time.to; t += step) {
		const x = xOf(t - time.start);
		if (x + 60 > time.width) break;
		context.fillRect(Math.floor(x), CPU_HEIGHT, 1, 5);
		context.fillText(timeText(t, step % 1000 ? 3 : 0), x + 3, CPU_HEIGHT + 10);
	}
}
function drawLanes() {
	time.back = css('--hover');
	const context = startDrawing(lanes, time.width, time.rows.length * LANE + 1, css('--bar')), inks = [css('--soft'), css('--ink')];
	context.font = '12px system-ui, "DejaVu Sans", sans-serif';
	time.rows.forEach(({ title, lane }, r) => {
		const y = r * LANE;
		context.textAlign = 'left';
		context.fillStyle = inks[title ? 1 : 0];
		context.save();
		context.beginPath();
		context.rect(0, y, NAMES - 6, LANE);
		context.clip();
		context.fillText(title || lane.name.replace(/^\[|\]$/g, ''), title ? 0 : 8, y + LANE / 2);
		context.restore();
		if (!lane) return;
		drawLane(context, lane, y);
		drawLaneMarks(context, lane, y);
	});
	drawShade(context, time.rows.length * LANE);
	if (document.activeElement === lanes && time.rows.length) {
		context.strokeStyle = css('--focus');
		context.strokeRect(NAMES - 0.5, time.lane * LANE + 0.5, time.width - NAMES, LANE);
		context.fillStyle = css('--focus');
		context.fillRect(xOf(time.cursor), time.lane * LANE, 2, LANE);
	}
}
/* State of each pixel of the device: a short run stays visible among waits. A state lasts until the next sample, but
 * at most two intervals. */
function pixelStates(lane) {
	const { row } = graph.stacks.sets[0], { samples } = lane, { from, to, interval, test, states } = time;
	const pixels = new Int8Array(Math.max(1, Math.round((time.width - NAMES) * time.ratio))).fill(-1), scale = pixels.length / (to - from);
	for (let k = firstSample(samples, from - 2 * interval); k < samples.length; k++) {
		const i = samples[k], at = row[i] * time.row, state = states[i];
		if (at >= to) break;
		if (!test(i)) continue;
		const next = k + 1 < samples.length ? row[samples[k + 1]] * time.row : Infinity;
		const end = Math.min(Math.max(next, at + time.row), at + 2 * interval);
		let x = Math.max(0, Math.round((at - from) * scale));
		const last = Math.min(pixels.length, Math.max(x + 1, Math.round((end - from) * scale)));
		for (; x < last; x++) if (state < FIRST_WAIT || pixels[x] < 0 || pixels[x] >= FIRST_WAIT) pixels[x] = state;
	}
	return pixels;
}
function drawLane(context, lane, y) {
	const pixels = pixelStates(lane);
	context.fillStyle = time.back;
	context.fillRect(NAMES, y + 1, time.width - NAMES, LANE - 2);
	for (let start = 0, end; start < pixels.length; start = end) {
		for (end = start + 1; end < pixels.length && pixels[end] === pixels[start]; end++);
		if (pixels[start] < 0) continue;
		context.fillStyle = time.colors[pixels[start]];
		context.fillRect(NAMES + start / time.ratio, y + 1, (end - start) / time.ratio, LANE - 2);
	}
}
function drawLaneMarks(context, lane, y) {
	for (const mark of lane.marks) {
		if (mark.at + mark.duration < time.from || mark.at > time.to) continue;
		drawMark(context, mark, y);
	}
}
function drawShade(context, height) {
	if (!time.range) return;
	const x = Math.max(NAMES, xOf(time.range[0])), end = Math.min(time.width, xOf(time.range[1]));
	if (end <= x) return;
	context.fillStyle = css('--focus');
	context.globalAlpha = 0.18;
	context.fillRect(x, 0, end - x, height);
	context.globalAlpha = 1;
	context.fillRect(x, 0, 1, height);
	context.fillRect(end - 1, 0, 1, height);
}
/* Legend of the states and the marks that occur. */
function drawStates() {
	const marks = new Set(time.marks.map(mark => mark.kind));
	const items = time.used.map(i => [laneStateColor(i), LANE_STATES[LANE_STATE_NAMES[i]][0]])
		.concat(time.kinds.map((name, kind) => [markColor(kind), name, kind]).filter(([, , kind]) => marks.has(kind)).map(([color, name]) => [color, 'mark: ' + name]));
	$('states').replaceChildren(...items.map(([color, text]) => {
		const span = element('span'), mark = element('i');
		mark.style.background = color;
		span.append(mark, text);
		return span;
	}));
}

/* ---- ranges, stacks ---- */

function momentText(ms) { return timeText(time.start + ms, 3); }
function showRange() {
	const { range } = time;
	$('range').textContent = range
		? `${momentText(range[0])} to ${momentText(range[1])} (${amount((range[1] - range[0]) * 1e6, 'nanoseconds')}): ${unitAmount(graph.selection.whole)} in the flame graph`
		: 'Drag over the lanes to see the flame graph of a range. A click shows the stack of a thread. Wheel, + and - zoom.';
	$('whole').disabled = !range && time.from === 0 && time.to === time.length;
}
function applyRange() {
	const { range } = time, { row } = graph.stacks.sets[0];
	graph.ranges = range ? [i => row[i] * time.row >= range[0] && row[i] * time.row < range[1], null] : null;
}
/* Ranges are whole rows of the data. */
function selectRange(range) {
	const { row } = time;
	time.range = range && [Math.floor(range[0] / row) * row, Math.max(Math.ceil(range[1] / row), Math.floor(range[0] / row) + 1) * row];
	applyRange();
	updateSelection();
	saveState();
}
/* Index of LANE's sample that stands for MS, or the closest one within five pixels; -1: none. */
function sampleAt(lane, ms) {
	const { row } = graph.stacks.sets[0], next = firstSample(lane.samples, ms), near = 5 * (time.to - time.from) / (time.width - NAMES);
	let best = -1, least = Math.max(near, time.interval);
	for (const k of [next - 1, next]) {
		if (k < 0 || k >= lane.samples.length) continue;
		const away = Math.abs(row[lane.samples[k]] * time.row - ms);
		if (away <= least) [best, least] = [lane.samples[k], away];
	}
	return best;
}
function stackNames(i) {
	const { stacks } = graph, names = [];
	for (let node = stacks.sets[0].node[i]; node > 0; node = stacks.parent[node])
		names.push(stacks.name(stacks.frame[node]) + (stacks.module(stacks.frame[node]) ? ` [${stacks.module(stacks.frame[node])}]` : ''));
	return names;
}
function stateText(i) { return LANE_STATES[LANE_STATE_NAMES[time.states[i]]][0]; }
function showStack(lane, ms) {
	const i = sampleAt(lane, ms), box = $('stack');
	box.hidden = i < 0;
	if (i >= 0) {
		$('moment').textContent = `${momentText(graph.stacks.sets[0].row[i] * time.row)} ${lane.process} ${lane.name}: ${stateText(i)}`;
		$('frames').replaceChildren(...stackNames(i).map(name => element('li', name)));
	}
	resizeTime();
	resize();
}

/* ---- mouse and keyboard ---- */

function clamp(v, low, high) { return Math.max(low, Math.min(high, v)); }
function zoomTime(factor, at = (time.from + time.to) / 2) {
	const length = clamp((time.to - time.from) * factor, Math.min(LEAST_MS, time.length), time.length);
	time.from = clamp(at - (at - time.from) * length / (time.to - time.from), 0, time.length - length);
	time.to = time.from + length;
	showRange();
	drawTime();
	saveState();
}
function moveTime(ms) {
	const length = time.to - time.from;
	time.from = clamp(time.from + ms, 0, time.length - length);
	time.to = time.from + length;
	drawTime();
}
function eventMs(event, canvasElement) { return clamp(msAt(event.clientX - canvasElement.getBoundingClientRect().left), time.from, time.to); }
function rowOf(event) { return clamp(Math.floor((event.clientY - lanes.getBoundingClientRect().top) / LANE), 0, time.rows.length - 1); }
function onDown(event) {
	if (event.button) return;
	event.currentTarget.setPointerCapture(event.pointerId);
	Object.assign(time, { anchor: eventMs(event, event.currentTarget), startX: event.clientX, dragging: true, moved: false });
}
function onMove(event) {
	const ms = eventMs(event, event.currentTarget);
	if (time.dragging) {
		time.moved = time.moved || Math.abs(event.clientX - time.startX) > 3;
		if (time.moved) { time.range = [Math.min(time.anchor, ms), Math.max(time.anchor, ms)]; drawTime(); }
		return;
	}
	const { lane } = event.currentTarget === lanes && time.rows[rowOf(event)] || {};
	const near = 6 * (time.to - time.from) / (time.width - NAMES);
	const marks = (lane ? lane.marks : time.free).filter(m => ms >= m.at - near && ms <= m.at + m.duration + near).slice(0, 5);
	const i = lane ? sampleAt(lane, ms) : -1;
	const rows = marks.map(m => [time.kinds[m.kind], (m.duration ? amount(m.duration * 1e6, 'nanoseconds') + ' ' : '') + m.text]);
	if (i >= 0) rows.unshift([stateText(i), stackNames(i)[0] || '[no stack]']);
	if (event.clientX - event.currentTarget.getBoundingClientRect().left < NAMES) showTip(event, ...lane ? [element('b', `${lane.process} ${lane.name}`)] : []);
	else showTip(event, element('b', momentText(ms)), facts(rows));
}
function onUp(event) {
	if (!time.dragging) return;
	time.dragging = false;
	const ms = eventMs(event, event.currentTarget), { lane } = event.currentTarget === lanes && time.rows[rowOf(event)] || {};
	if (time.moved) selectRange(time.range);
	else if (lane) {
		Object.assign(time, { lane: rowOf(event), cursor: ms });
		showStack(lane, ms);
	}
}
function onWheel(event) {
	const box = $('lanebox');
	if (event.currentTarget === lanes && !event.ctrlKey && box.scrollHeight > box.clientHeight) return;
	event.preventDefault();
	zoomTime(event.deltaY > 0 ? 1.25 : 0.8, eventMs(event, event.currentTarget));
}
function onTimeKey(event) {
	const page = (time.to - time.from) / 20, step = { ArrowLeft: -page, ArrowRight: page }[event.key], { lane } = time.rows[time.lane] || {};
	if (step) {
		if (event.shiftKey && time.anchor === null) time.anchor = time.cursor;
		if (!event.shiftKey) time.anchor = null;
		time.cursor = clamp(time.cursor + step, 0, time.length);
		if (time.cursor < time.from) moveTime(time.cursor - time.from);
		if (time.cursor > time.to) moveTime(time.cursor - time.to);
		if (event.shiftKey) selectRange([Math.min(time.anchor, time.cursor), Math.max(time.anchor, time.cursor)]);
	} else if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
		time.lane = clamp(time.lane + (event.key === 'ArrowUp' ? -1 : 1), 0, time.rows.length - 1);
		$('lanebox').scrollTop = clamp($('lanebox').scrollTop, (time.lane + 1) * LANE - $('lanebox').clientHeight, time.lane * LANE);
	} else if (event.key === 'Enter' && lane) showStack(lane, time.cursor);
	else if (event.key === '+' || event.key === '=') zoomTime(0.5, time.cursor);
	else if (event.key === '-') zoomTime(2, time.cursor);
	else if (event.key === 'Escape' && (time.range || time.from || time.to < time.length)) { showAll(); event.stopPropagation(); }
	else return;
	event.preventDefault();
	drawTime();
}
function showAll() {
	Object.assign(time, { from: 0, to: time.length, anchor: null });
	$('stack').hidden = true;
	selectRange(null);
	drawTime();
}

/* ---- start ---- */

function resizeTime() {
	time.width = theme.printing ? 1200 : cpu.clientWidth;
	time.ratio = theme.printing ? 2 : devicePixelRatio || 1;
	drawTime();
}
function readPair(text) {
	const found = /^([\d.]+)-([\d.]+)$/.exec(text || '');
	return found && +found[1] < +found[2] && +found[2] <= time.length ? [+found[1], +found[2]] : null;
}
function writePair(pair) { return pair ? pair.map(v => Math.round(v * 1000) / 1000).join('-') : ''; }
function startTimeline(meta, stacks) {
	const t = meta.timeline;
	Object.assign(time, { start: t.start_ms, row: t.row_ms, kinds: t.kinds, interval: Math.max(t.row_ms, t.interval_ns / 1e6),
		weight: meta.unit === 'nanoseconds' ? 1e-6 : t.interval_ns / 1e6 }); /* milliseconds of a sample; 0: unknown */
	time.length = Math.max(1, t.rows * t.row_ms + (t.interval_ns / 1e6 || 0));
	time.to = time.length;
	makeLanes(stacks);
	addMarks(t);
	makeRows();
	graph.onSelect = () => { showRange(); drawTime(); };
	graph.extraState = () => ({ a: writePair(time.range), w: time.from || time.to < time.length ? writePair([time.from, time.to]) : '' });
	graph.onLoad = s => {
		time.range = readPair(s.a);
		[time.from, time.to] = readPair(s.w) || [0, time.length];
		applyRange();
	};
	for (const c of [cpu, lanes]) {
		c.addEventListener('pointerdown', onDown);
		c.addEventListener('pointermove', onMove);
		c.addEventListener('pointerup', onUp);
		c.addEventListener('pointerleave', e => showTip(e));
		c.addEventListener('wheel', onWheel, { passive: false });
	}
	lanes.addEventListener('keydown', onTimeKey);
	for (const type of ['focus', 'blur']) lanes.addEventListener(type, drawTime);
	$('idle').onclick = () => { time.idle = !time.idle; makeRows(); drawTime(); resize(); };
	$('wider').onclick = () => zoomTime(0.5);
	$('narrower').onclick = () => zoomTime(2);
	$('whole').onclick = showAll;
	for (const type of ['resize', 'beforeprint', 'afterprint']) addEventListener(type, resizeTime);
	theme.listeners.push(drawTime);
	resizeTime();
	startGraph(meta, stacks);
	resizeTime();
}
