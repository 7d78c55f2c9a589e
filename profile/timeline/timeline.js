/* The timeline: a lane for each thread, coloured by state, the CPU time above, and marks. Positions in time are
 * milliseconds since the first sample. */

const lanes = $('lanes'), cpu = $('cpu'), LANE = 15, CPU_HEIGHT = 52, TIME_AXIS = 18, IDLE_SHARE = 0.001, LEAST_MS = 1;
let NAMES = 210; /* width of the names; less in a narrow window */
const time = {
	lanes: [], rows: [], from: 0, to: 1, length: 1, row: 1, interval: 1, range: null, cursor: 0, lane: 0,
	anchor: null, dragging: false, idle: false, width: 0, ratio: 1, colors: [],
};
/* What a lane shows: states, or, for metrics other than wall-clock time, kinds of frames. States of short samples come
 * first: they are drawn from the lower edge on. */
const LANE_STATES = ['running', 'runnable', 'lock', 'io', 'other', 'condition', 'idle'], UNKNOWN = LANE_STATES.length;
const LANE_KINDS = Object.keys(KINDS), LANE_COUNT = UNKNOWN + 1 + LANE_KINDS.length;
const RUNNING = LANE_STATES.indexOf('running'), LOCK = LANE_STATES.indexOf('lock'), CONDITION = LANE_STATES.indexOf('condition');
const MARK_HUES = [0, 35, 335, 280, 220, 310, 60, 185];
/* Lanes have no text, so their colours are stronger than those of boxes. */
function laneColor(i) {
	const shift = theme.dark ? 16 : -14;
	if (i < UNKNOWN) return stateColor(LANE_STATES[i], i >= CONDITION ? shift / 4 : shift);
	return i === UNKNOWN ? hsl(60, 4, theme.dark ? 40 : 74) : kindColor(LANE_KINDS[i - UNKNOWN - 1], shift);
}
function laneText(i) {
	if (i < UNKNOWN) return STATES[LANE_STATES[i]][0];
	return i === UNKNOWN ? 'state not recorded' : KINDS[LANE_KINDS[i - UNKNOWN - 1]][0];
}
function isQuiet(i) { return i >= CONDITION && i <= UNKNOWN; }
function isWait(i) { return i > RUNNING && i <= UNKNOWN; }
function markColor(kind) { return hsl(MARK_HUES[kind], 75, theme.dark ? 65 : 42); }

/* ---- lanes ---- */

/* Returns a function of a sample's index in SET: what its lane shows. */
function laneStates(stacks, set, hasStates) {
	const byLabel = statesByLabel(stacks).map(state => state < 0 ? UNKNOWN : LANE_STATES.indexOf(STATE_NAMES[state]));
	if (hasStates) return i => byLabel[set.label[i]];
	const byFrame = Uint8Array.from({ length: stacks.frames }, (_, f) => UNKNOWN + 1 + LANE_KINDS.indexOf(kindOf(stacks, f)));
	return i => byFrame[stacks.frame[set.node[i]]];
}
/* A lane for each thread of each process. Its samples are in the order of time. */
function makeLanes(stacks, hasStates) {
	const set = stacks.sets[0], stateOf = laneStates(stacks, set, hasStates), known = new Map();
	const names = stacks.labels.map(lines => labelValue(lines, 'process')), processes = [...new Set(names)], numbers = new Map(processes.map((name, i) => [name, i]));
	const processOf = Uint32Array.from(names, name => numbers.get(name)), used = new Uint8Array(LANE_COUNT);
	time.states = new Uint8Array(set.count);
	for (let i = 0; i < set.count; i++) {
		const process = processOf[set.label[i]], key = process * stacks.threads.length + set.thread[i];
		let lane = known.get(key);
		if (!lane) {
			lane = { process: processes[process], name: stacks.threads[set.thread[i]] || '(no thread)', samples: [], busy: 0, marks: [] };
			known.set(key, lane);
		}
		const state = time.states[i] = stateOf(i);
		used[state] = 1;
		lane.samples.push(i);
		if (!isWait(state) || state === LOCK) lane.busy += set.value[i];
	}
	time.used = [...used.keys()].filter(state => used[state]);
	time.lanes = [...known.values()].sort((a, b) => a.process < b.process ? -1 : a.process > b.process ? 1 : b.busy - a.busy);
	const whole = time.lanes.reduce((sum, lane) => sum + lane.busy, 0);
	for (const lane of time.lanes) lane.idle = lane.busy <= IDLE_SHARE * whole / time.lanes.length;
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
/* Show samples that pass the filters and the search. */
function applyFilters() {
	const [set] = graph.stacks.sets, { matchTest } = graph;
	time.test = sampleTest(set, matchTest && (i => matchTest(set, i)));
	makeRows();
	drawTime();
}
/* Shown rows: names of processes if there are several, and lanes. Filters and a search hide lanes without a match
 * in the selected range. */
function makeRows() {
	const several = new Set(time.lanes.map(lane => lane.process)).size > 1;
	const { threadOk, labelOk, matchTest } = graph, isFiltered = threadOk || labelOk || matchTest;
	const [inRange] = graph.ranges || [], isShown = i => time.test(i) && (!inRange || inRange(i));
	const shown = time.lanes.filter(lane => isFiltered ? lane.samples.some(isShown) : time.idle || !lane.idle);
	time.rows = [];
	shown.forEach((lane, i) => {
		if (several && (!i || shown[i - 1].process !== lane.process)) time.rows.push({ title: lane.process || '(unknown process)' });
		time.rows.push({ lane });
	});
	const idle = time.lanes.filter(lane => lane.idle).length;
	$('idle').hidden = !idle || isFiltered;
	$('idle').textContent = `${time.idle ? 'Hide' : 'Show'} ${idle} idle thread${idle === 1 ? '' : 's'}`;
	$('idle').setAttribute('aria-pressed', time.idle);
	time.lane = Math.min(time.lane, time.rows.length - 1);
	if (time.rows[time.lane]?.title) time.lane++;
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
	time.colors = Array.from({ length: LANE_COUNT }, (_, i) => laneColor(i));
	drawCpu();
	drawLanes();
	drawStates();
}
/* Threads that run, and threads that wait for a lock, at the same time: averaged over a few pixels and intervals. A shorter
 * time than these intervals is averaged with what is around it. */
function countThreads(count) {
	const { row, value } = graph.stacks.sets[0], running = new Float64Array(count), locked = new Float64Array(count);
	const around = Math.max(0, 4 * time.interval - (time.to - time.from)) / 2, from = time.from - around, to = time.to + around;
	const perBin = (to - from) / count, scale = (time.weight || 1) / (time.weight ? perBin : 1);
	for (const lane of time.lanes)
		for (let k = firstSample(lane.samples, from); k < lane.samples.length; k++) {
			const i = lane.samples[k], at = row[i] * time.row, bins = !isWait(time.states[i]) ? running : time.states[i] === LOCK && locked;
			if (at >= to) break;
			if (bins && time.test(i)) bins[Math.floor((at - from) / perBin)] += value[i] * scale;
		}
	return [running, locked];
}
function chartText(bins, what) {
	const threads = +Math.max(...bins).toPrecision(2);
	if (!time.weight) return what;
	return NAMES < 200 ? `${what} ≤ ${threads}` : `${what}, at most ${threads} thread${threads === 1 ? '' : 's'}`;
}
function drawCpu() {
	const context = startDrawing(cpu, time.width, CPU_HEIGHT + TIME_AXIS, css('--bar')), plot = time.width - NAMES;
	const [running, locked] = countThreads(Math.max(1, Math.floor(Math.min(plot / 2, (time.to - time.from) / (4 * time.interval)))));
	const most = Math.max(...running, ...locked) || 1, w = plot / running.length;
	context.fillStyle = laneColor(time.used.includes(RUNNING) ? RUNNING : time.used[0] ?? UNKNOWN);
	const left = b => Math.round((NAMES + b * w) * time.ratio) / time.ratio;
	running.forEach((v, b) => context.fillRect(left(b), CPU_HEIGHT * (1 - v / most), left(b + 1) - left(b), CPU_HEIGHT * v / most));
	const waits = time.used.includes(LOCK);
	if (waits) {
		context.strokeStyle = laneColor(LOCK);
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
	context.fillStyle = laneColor(LOCK);
	if (waits) context.fillText(chartText(locked, 'lock'), NAMES - 8, 25);
	drawFreeMarks(context);
	drawShade(context, CPU_HEIGHT);
	drawTimeAxis(context);
}
/* Marks of no thread: reports, lost samples, pauses of a virtual machine. Most garbage collections are in a safepoint, so
 * these are in a second row. */
function drawFreeMarks(context) {
	for (const mark of time.free) {
		if (mark.at + mark.duration < time.from || mark.at > time.to) continue;
		drawMark(context, mark, time.kinds[mark.kind] === 'safepoint' ? 5 : 0);
	}
}
/* A mark with a duration is a bar at the upper edge, another one a triangle. */
function drawMark(context, mark, y) {
	const x = Math.max(NAMES, xOf(mark.at));
	context.fillStyle = markColor(mark.kind);
	if (mark.duration) context.fillRect(x, y, Math.max(2, xOf(mark.at + mark.duration) - x), 4);
	else if (time.kinds[mark.kind] === 'report') context.fillRect(x, y, 1, 5);
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
/* Only the rows that are visible. */
function drawLanes() {
	const box = $('lanebox'), whole = time.rows.length * LANE + 1;
	$('lanespace').style.height = whole + 'px';
	const top = theme.printing ? 0 : box.scrollTop, height = theme.printing ? whole : Math.min(whole, box.clientHeight);
	time.back = css('--hover');
	const context = startDrawing(lanes, time.width, height, css('--bar')), inks = [css('--soft'), css('--ink')];
	context.font = '12px system-ui, "DejaVu Sans", sans-serif';
	for (let r = Math.floor(top / LANE); r < Math.min(time.rows.length, (top + height) / LANE); r++) {
		const { title, lane } = time.rows[r], y = r * LANE - top;
		context.textAlign = 'left';
		context.fillStyle = inks[title ? 1 : 0];
		context.save();
		context.beginPath();
		context.rect(0, y, NAMES - 6, LANE);
		context.clip();
		context.fillText(title || lane.name.replace(/^\[|\]$/g, ''), title ? 0 : 8, y + LANE / 2);
		context.restore();
		if (!lane) continue;
		drawLane(context, lane, y);
		drawLaneMarks(context, lane, y);
	}
	drawShade(context, height);
	if (document.activeElement === lanes && time.rows.length) {
		context.strokeStyle = css('--focus');
		context.strokeRect(NAMES - 0.5, time.lane * LANE - top + 0.5, time.width - NAMES, LANE);
		context.fillStyle = css('--focus');
		context.fillRect(xOf(time.cursor), time.lane * LANE - top, 2, LANE);
	}
}
/* Time of each state in each pixel of the device, as parts of the pixel's time: state by state. A state lasts until the next
 * sample, but at most twice the sample's time. */
function pixelShares(lane) {
	const { row, value } = graph.stacks.sets[0], { samples } = lane, { from, to, interval, weight, test, states } = time;
	const count = Math.max(1, Math.round((time.width - NAMES) * time.ratio)), scale = count / (to - from);
	const size = count * LANE_COUNT, shares = time.shares?.length === size ? time.shares.fill(0) : time.shares = new Float32Array(size);
	for (let k = firstSample(samples, from - time.longest); k < samples.length; k++) {
		const i = samples[k], at = row[i] * time.row, first = states[i] * count;
		if (at >= to) break;
		if (!test(i)) continue;
		const next = k + 1 < samples.length ? row[samples[k + 1]] * time.row : Infinity;
		const start = Math.max(0, (at - from) * scale), end = Math.min(count, (Math.min(Math.max(next, at + time.row), at + 2 * (weight ? Math.max(time.row, weight * value[i]) : interval)) - from) * scale);
		for (let x = Math.floor(start); x < end; x++) shares[first + x] += Math.min(x + 1, end) - Math.max(x, start);
	}
	return [shares, count];
}
/* A column of a lane for each pixel: the states from the lower edge on, each as high as its part of the time. Even a short
 * one is visible, except that of a thread without work. */
function drawLane(context, lane, y) {
	const [shares, count] = pixelShares(lane), whole = (LANE - 2) * time.ratio, heights = time.used.map(() => 0);
	context.fillStyle = time.back;
	context.fillRect(NAMES, y + 1, time.width - NAMES, LANE - 2);
	const read = x => {
		let same = true, left = whole;
		time.used.forEach((state, u) => {
			const share = shares[state * count + x], least = isQuiet(state) ? 0 : 2;
			const h = share > 0 ? Math.min(left, Math.max(Math.round(share * whole), least)) : 0;
			left -= h;
			same = same && heights[u] === h;
			heights[u] = h;
		});
		return same;
	};
	const draw = (from, to, list) => {
		let bottom = whole;
		list.forEach((h, u) => {
			bottom -= h;
			if (!h) return;
			context.fillStyle = time.colors[time.used[u]];
			context.fillRect(NAMES + from / time.ratio, y + 1 + bottom / time.ratio, (to - from) / time.ratio, h / time.ratio);
		});
	};
	let start = 0, drawn = heights.slice();
	for (let x = 0; x < count; x++)
		if (!read(x)) {
			draw(start, x, drawn);
			start = x;
			drawn = heights.slice();
		}
	draw(start, count, drawn);
}
function drawLaneMarks(context, lane, y) {
	for (const mark of lane.marks) {
		if (mark.at + mark.duration < time.from || mark.at > time.to) continue;
		drawMark(context, mark, y);
	}
}
/* The time outside of the range is pale. */
function drawShade(context, height) {
	if (!time.range) return;
	const inside = ms => Math.max(NAMES, Math.min(time.width, xOf(ms))), x = inside(time.range[0]), end = inside(time.range[1]);
	context.fillStyle = css('--bar');
	context.globalAlpha = 0.65;
	context.fillRect(NAMES, 0, x - NAMES, height);
	context.fillRect(end, 0, time.width - end, height);
	context.fillStyle = css('--focus');
	context.globalAlpha = 1;
	for (const edge of [x, end - 2]) context.fillRect(edge, 0, 2, height);
}
/* Legend of the states and the marks that occur. */
function drawStates() {
	const marks = new Set(time.marks.map(mark => mark.kind));
	const items = time.used.map(i => [laneColor(i), laneText(i)])
		.concat(time.kinds.map((name, kind) => [markColor(kind), name, kind]).filter(([, , kind]) => marks.has(kind)).map(([color, name]) => [color, 'mark: ' + name]));
	if (graph.colorings.includes('state')) items.push([stateColor('mixed'), 'flame graph: mixed']);
	if (graph.guess) items.push(['none', graph.guess]);
	showLegend($('states'), items);
}

/* ---- ranges, stacks ---- */

function momentText(ms) { return timeText(time.start + ms, 3); }
function showRange() {
	const { range } = time;
	$('range').textContent = range
		? `${momentText(range[0])} to ${momentText(range[1])} (${amount((range[1] - range[0]) * 1e6, 'nanoseconds')}): ${unitAmount(graph.selection.whole)} in the flame graph`
		: 'Drag over the lanes to see the flame graph of a range. A click shows the stack of a thread. Wheel, + and - zoom.';
	$('range').classList.toggle('hint', !range);
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
function stateText(i) { return laneText(time.states[i]); }
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
function middle([from, to]) { return (from + to) / 2; }
/* Around the selected range, if there is one. */
function zoomTime(factor, at = middle(time.range || [time.from, time.to])) {
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
function rowOf(event) { return clamp(Math.floor((event.clientY - lanes.getBoundingClientRect().top + $('lanebox').scrollTop) / LANE), 0, time.rows.length - 1); }
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
		const next = event.key === 'ArrowUp' ? -1 : 1, skip = time.rows[time.lane + next]?.title ? 2 * next : next;
		if (time.rows[time.lane + skip]) time.lane += skip;
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
	NAMES = Math.min(210, Math.round(0.3 * time.width));
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
	const { value, count } = stacks.sets[0], weight = meta.unit === 'nanoseconds' ? 1e-6 : 0; /* milliseconds of a sample; 0: unknown */
	Object.assign(time, { start: t.start_ms, row: t.row_ms, kinds: t.kinds, weight,
		interval: Math.max(t.row_ms, weight ? weight * value.reduce((a, b) => a + b, 0) / count : t.interval_ns / 1e6) });
	time.longest = 2 * Math.max(time.interval, weight * value.reduce((a, b) => Math.max(a, b), 0));
	time.length = Math.max(1, t.rows * t.row_ms + (t.interval_ns / 1e6 || 0));
	time.to = time.length;
	makeLanes(stacks, statesByLabel(stacks).some(state => state >= 0));
	addMarks(t);
	if (t.marks_cut) addNotice(`${t.marks_cut.toLocaleString('en')} marks are omitted: the page has limits.`);
	time.test = () => true;
	makeRows();
	graph.onSelect = () => { showRange(); applyFilters(); };
	graph.onSearch = applyFilters;
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
	$('lanebox').addEventListener('scroll', drawLanes);
	lanes.addEventListener('keydown', onTimeKey);
	for (const type of ['focus', 'blur']) lanes.addEventListener(type, drawTime);
	$('idle').onclick = () => { time.idle = !time.idle; makeRows(); drawTime(); resize(); };
	$('wider').onclick = () => zoomTime(0.5);
	$('narrower').onclick = () => zoomTime(2);
	$('whole').onclick = showAll;
	addEventListener('resize', resizeTime);
	theme.listeners.push(resizeTime); /* also before and after printing */
	resizeTime();
	startGraph(meta, stacks);
	resizeTime();
}
