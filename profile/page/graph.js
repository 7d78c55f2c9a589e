/* The flame graph and its table: header.html and graph.html. startGraph() is called once.
 * A page with times sets graph.ranges and calls updateSelection(). */

const ROW = 19, MATCHES_MAX = 10000, ROWS_MAX = 300, OPTIONS_MAX = 500;
const graph = {
	meta: null, stacks: null, selection: null, view: null, views: new Map(),
	inverted: false, byThread: false, coloring: 'kind', zoom: 0, focus: 0, hover: -1,
	hit: null, threadHit: null, matchTest: null, matchedWeight: 0, matches: [], step: -1, selected: 0, tableSort: 'self', table: false,
	threadOk: null, labelOk: null,
	ranges: null, /* [test of the profile's samples, test of the compared ones]: by index of a sample in set 0 */
	extraState: () => ({}), onSelect: () => {}, onSearch: () => {}, onLoad: () => {},
};
const canvas = $('graph');
let width = 0, height = 0, context = null, rows = [];

/* ---- colours ---- */

/* Kinds of frames: text, hue, saturation, lightness in both themes. The hues and lightnesses differ also for
 * readers who do not see all colours. */
const KINDS = {
	own: ['program', 43, 84, 74, 34], library: ['library', 207, 58, 79, 35], interpreter: ['interpreter', 268, 30, 83, 36],
	kernel: ['kernel', 14, 76, 70, 36], script: ['script', 168, 42, 66, 29], scriptLibrary: ['script, library', 168, 30, 82, 37],
	java: ['Java', 152, 46, 66, 29], javaInlined: ['Java, inlined', 186, 42, 76, 36], javaLibrary: ['Java, library', 152, 30, 82, 37],
	thread: ['thread', 220, 12, 84, 30],
};
const HUES = [43, 62, 170, 190, 207, 225, 245, 268, 290, 315, 340];
function kindOf(stacks, frame) {
	const type = stacks.type(frame), category = CATEGORIES[stacks.category(frame)];
	if (stacks.isThread(frame)) return 'thread';
	if (type === KERNEL) return 'kernel';
	if (type >= SCRIPT) return category === 'own' ? 'script' : 'scriptLibrary';
	if (JAVA_TYPES.has(type)) return category !== 'own' ? 'javaLibrary' : type === INLINED ? 'javaInlined' : 'java';
	return category;
}
function hsl(hue, saturation, lightness) { return `hsl(${hue} ${saturation}% ${lightness}%)`; }
function kindColor(kind, shift = 0) {
	const [, hue, saturation, light, dark] = KINDS[kind];
	return hsl(hue, saturation, (theme.dark ? dark : light) + shift);
}
/* Ways to colour: text, colour of a frame, and legend as [colour, text]. */
const COLORINGS = {
	kind: {
		text: 'Colour by kind',
		/* The name varies the lightness, so that neighbours differ. */
		color: (stacks, f) => kindColor(kindOf(stacks, f), hash(stacks.name(f)) % 7 - 3),
		legend: () => Object.keys(KINDS).filter(k => graph.kinds.has(k)).map(k => [kindColor(k), KINDS[k][0]]),
	},
	module: {
		text: 'Colour by library',
		color: (stacks, f) => {
			const module = stacks.module(f);
			return hsl(HUES[hash(module) % HUES.length], module ? 52 : 8, (theme.dark ? 33 : 76) + hash(stacks.name(f)) % 7 - 3);
		},
		legend: () => [['none', 'a colour for each library, file or class']],
	},
	state: {
		text: 'Colour by state',
		exists: () => graph.stateByLabel.some(state => state >= 0),
		nodeColor: n => stateColor(STATE_NAMES[mainState(stateWeights(n))], n ? hash(graph.view.name(n)) % 5 - 2 : 0),
		/* The timeline has a legend of its own. */
		legend: () => graph.meta.timeline ? [] : STATE_NAMES.filter((k, i) => i === MIXED || graph.stateByLabel.includes(i)).map(k => [stateColor(k), STATES[k][0]])
			.concat(graph.guess ? [['none', graph.guess]] : []),
	},
};
function stateColor(state, shift = 0) {
	const [, hue, saturation, light, dark] = STATES[state];
	return hsl(hue, saturation, (theme.dark ? dark : light) + shift);
}
/* Weights of node N by state. */
function stateWeights(n) {
	const { selection, view } = graph;
	if (graph.statesOf !== selection) {
		graph.statesOf = selection;
		graph.states = new StateWeights(selection, graph.stateByLabel);
	}
	return graph.states.of(view, n, !graph.inverted && !graph.byThread);
}
function changeColor(change) {
	const c = Math.max(-1, Math.min(1, change * 8)), strength = Math.abs(c) * (theme.dark ? 45 : 38);
	return hsl(c > 0 ? 6 : 215, c > 0 ? 75 : 70, theme.dark ? 24 + strength / 2 : 93 - strength);
}
/* Share of the whole minus the share in the base: -1 to 1. */
function change(n) {
	const { total, baseTotal } = graph.view;
	return total[n] / (total[0] || 1) - baseTotal[n] / (baseTotal[0] || 1);
}
function hasBase() { return graph.selection.baseWhole > 0; }
const colors = new Map();
function boxColor(n) {
	const { view } = graph;
	if (!n) return theme.dark ? '#3a3c40' : '#dedbd3';
	if (isHit(view.frame[n])) return theme.dark ? '#9a3db8' : '#e3a5f5';
	if (hasBase()) return changeColor(change(n));
	if (COLORINGS[graph.coloring].nodeColor) return COLORINGS[graph.coloring].nodeColor(n);
	let color = colors.get(view.frame[n]);
	if (!color) colors.set(view.frame[n], color = COLORINGS[graph.coloring].color(graph.stacks, view.frame[n]));
	return color;
}
function drawLegend() {
	const items = hasBase()
		? [[changeColor(1), 'grown'], [changeColor(0.02), 'little change'], [changeColor(-1), 'shrunk'],
			['none', 'filled: now; pale and underlined: before; faint: room for changes below; numbers: change in percentage points']]
		: COLORINGS[graph.coloring].legend();
	showLegend($('legend'), items);
}
/* Fill BOX with ITEMS: [colour, text]. */
function showLegend(box, items) {
	box.replaceChildren(...items.map(([color, text]) => {
		const span = element('span'), mark = element('i');
		mark.style.background = color;
		mark.hidden = color === 'none';
		span.append(mark, text);
		return span;
	}));
}

/* ---- layout and drawing ---- */

/* Position and width of a node in the view. The zoomed node and its callers have the full width. */
function nodeSpan(n) {
	const { view, zoom } = graph, scale = width / (view.width[zoom] || 1);
	if (n === zoom || isAncestor(n, zoom)) return [0, width];
	return [(view.x[n] - view.x[zoom]) * scale, view.width[n] * scale];
}
function isAncestor(n, of) {
	while (of >= 0 && of !== n) of = graph.view.parent[of];
	return of === n;
}
/* Nodes by row that are wide enough to be seen. */
function layout() {
	const { view, zoom } = graph, scale = width / (view.width[zoom] || 1);
	rows = [];
	for (let n = zoom; n >= 0; n = view.parent[n]) rows.unshift([n]);
	for (let row = rows[rows.length - 1]; row.length;) {
		const below = [];
		for (const n of row)
			for (const k of view.kids(n)) {
				if (view.width[k] * scale < 0.6) break; /* the next ones are narrower */
				below.push(k);
			}
		if (below.length) rows.push(below);
		row = below;
	}
	$('space').style.height = rows.length * ROW + 'px';
	draw();
}
function draw() {
	if (!graph.view || !width) return;
	const top = theme.printing ? 0 : $('scroll').scrollTop, ink = css('--ink'), focus = css('--focus');
	const zoomDepth = graph.view.depth(graph.zoom), shownHeight = theme.printing ? rows.length * ROW : height;
	context = startDrawing(canvas, width, shownHeight);
	const letter = context.measureText('m').width, focused = document.activeElement === canvas && !theme.printing;
	for (let row = Math.floor(top / ROW); row <= (top + shownHeight) / ROW; row++)
		for (const n of rows[row] || []) {
			const [x, w] = row <= zoomDepth ? [0, width] : nodeSpan(n), y = row * ROW - top;
			context.globalAlpha = (row < zoomDepth ? 0.55 : 1) * (hasHits() && n && !isHit(graph.view.frame[n]) ? 0.5 : 1);
			context.fillStyle = boxColor(n);
			drawBox(n, x, y, w, ink);
			context.globalAlpha = row < zoomDepth ? 0.7 : 1;
			if (w > letter * 3) drawText(n, x, y, w, letter, ink);
			if (n === graph.focus && focused || n === graph.hover) {
				context.globalAlpha = 1;
				context.strokeStyle = n === graph.focus ? focus : ink;
				context.lineWidth = n === graph.focus ? 2 : 1;
				context.strokeRect(x + 1, y + 1, Math.max(w - 3, 1), ROW - 3);
			}
		}
	context.globalAlpha = 1;
}
/* A box: solid for the profile's weight, pale up to the base's weight, which has a line below. If some stacks of the node have
 * grown and others have shrunk, both are narrower than W: the rest is faint. */
function comparedWidths(n, w) {
	const { view, selection } = graph, full = view.width[n] || 1;
	return [w * view.total[n] / full, w * view.baseTotal[n] * selection.baseScale / full];
}
function drawBox(n, x, y, w, ink) {
	const gap = w > 3 ? 1 : 0, whole = Math.max(w - gap, 0.5), alpha = context.globalAlpha;
	if (!hasBase() || !n) { context.fillRect(x, y, whole, ROW - 1); return; }
	const [current, base] = comparedWidths(n, w);
	for (const [part, end] of [[0.12, whole], [0.35, Math.max(current, base)], [1, current]]) {
		context.globalAlpha = alpha * part;
		context.fillRect(x, y, Math.min(end, whole), ROW - 1);
	}
	context.globalAlpha = alpha * 0.6;
	context.fillStyle = ink;
	context.fillRect(x, y + ROW - 4, Math.min(base, whole), 2);
	context.globalAlpha = alpha;
}
/* A change of a share, in percentage points. */
function pointsText(c) {
	const text = (Math.abs(c) * 100).toFixed(Math.abs(c) < 0.0995 ? 1 : 0);
	return +text ? (c < 0 ? '−' : '+') + text : '0';
}
function drawText(n, x, y, w, letter, ink) {
	const room = Math.floor((w - 8) / letter), { view } = graph, name = view.name(n);
	const share = hasBase() ? pointsText(change(n)) : shortPercent(view.total[n], view.total[0]), alpha = context.globalAlpha;
	let text = name.length > room + 200 ? name.slice(0, room + 200) : name;
	context.fillStyle = ink;
	if (text.length + share.length + 2 <= room && n) {
		context.globalAlpha = alpha * 0.65;
		context.textAlign = 'right';
		context.fillText(share, x + w - 5, y + ROW / 2);
		context.textAlign = 'left';
		context.globalAlpha = alpha;
	}
	if (text.length > room) text = text.slice(0, Math.max(room - 1, 1)) + '…';
	context.fillText(text, x + 4, y + ROW / 2);
}

/* ---- the selection of samples, and the view of it ---- */

/* Returns a test of the samples of SET by index: the filters, and TEST. */
function sampleTest(set, test) {
	const { threadOk, labelOk } = graph, { thread, label } = set;
	if (!threadOk && !labelOk) return test || (() => true);
	return i => (!threadOk || threadOk[thread[i]]) && (!labelOk || labelOk[label[i]]) && (!test || test(i));
}
function updateSelection() {
	const [set, baseSet] = graph.stacks.sets, [test, baseTest] = graph.ranges || [];
	const zoom = graph.view ? graph.view.pathText(graph.zoom) : '';
	graph.selection = new Selection(graph.stacks, [[set, sampleTest(set, test), false],
		baseTest ? [set, sampleTest(set, baseTest), true] : [baseSet, sampleTest(baseSet), true]]);
	graph.views.clear();
	showView(zoom);
	graph.onSelect();
}
function forwardView() {
	if (!graph.views.has('plain')) graph.views.set('plain', new Forward(graph.selection, false));
	return graph.views.get('plain');
}
function showView(path = '') {
	const key = `${graph.inverted} ${graph.byThread}`;
	if (!graph.inverted && !graph.byThread) graph.view = forwardView();
	else {
		if (!graph.views.has(key)) graph.views.set(key, new (graph.inverted ? Inverted : Forward)(graph.selection, graph.byThread));
		graph.view = graph.views.get(key);
	}
	$('threads').setAttribute('aria-pressed', graph.byThread);
	$('invert').setAttribute('aria-pressed', graph.inverted);
	graph.hover = -1;
	graph.zoom = graph.focus = graph.view.findPath(path);
	showFacts();
	drawLegend();
	search();
	zoomTo(graph.zoom);
	showTable();
}
function zoomTo(n) {
	graph.zoom = graph.focus = n;
	layout();
	$('scroll').scrollTop = Math.max(0, Math.min($('scroll').scrollTop, graph.view.depth(n) * ROW));
	draw();
	updateStatus();
	saveState();
}

/* ---- search ---- */

function isHit(frame) {
	return graph.hit && (graph.hit[frame] || graph.threadHit[frame - graph.stacks.frames]) || graph.selected && graph.stacks.functionOf[frame] === graph.selected;
}
function hasHits() { return graph.hit || graph.selected; }
function search() {
	const text = $('search').value, { stacks, view } = graph;
	graph.hit = graph.threadHit = null;
	graph.matches = [];
	graph.step = -1;
	if (text) {
		const test = matcher(text), hits = stacks.strings().map(test);
		graph.hit = Uint8Array.from(stacks.frameName, (name, f) => f && hits[name] ? 1 : 0);
		graph.threadHit = Uint8Array.from(stacks.threads, name => graph.byThread && test(name) ? 1 : 0);
	}
	if (hasHits()) {
		if (graph.inverted) layout();
		view.each(n => { if (isHit(view.frame[n]) && view.width[n] > 0) graph.matches.push(n); });
		graph.matchCount = graph.matches.length;
		graph.matches = widest(graph.matches).sort((a, b) => view.width[b] - view.width[a]);
	}
	$('previous').disabled = $('next').disabled = !graph.matches.length;
	graph.matchTest = hasHits() ? matchTest(stacks, Uint8Array.from(stacks.functionOf, (_, f) => isHit(f) ? 1 : 0), graph.threadHit) : null;
	graph.matchedWeight = graph.matchTest ? matchedWeight(graph.selection, graph.matchTest) : 0;
	showMatches();
	graph.onSearch();
}
/* The widest MATCHES_MAX of many nodes. */
function widest(nodes) {
	if (nodes.length <= MATCHES_MAX) return nodes;
	const { width } = graph.view, widths = Float64Array.from(nodes, n => width[n]).sort(), least = widths[widths.length - MATCHES_MAX];
	return nodes.filter(n => width[n] >= least).slice(0, MATCHES_MAX);
}
function showMatches() {
	const count = graph.matches.length && graph.matchCount, { selection } = graph;
	let text = '';
	if (hasHits() && !count) text = 'no match';
	else if (hasHits()) {
		const part = graph.matchedWeight;
		text = (graph.step < 0 ? `${count.toLocaleString('en')} ${count === 1 ? 'match' : 'matches'}`
			: `${graph.step + 1} of ${count.toLocaleString('en')}`) + `: ${shareText(part, selection.whole, false)}`;
	}
	$('match').textContent = text;
}
/* Show the next match, widest first. */
function stepMatch(step) {
	const count = graph.matches.length;
	if (!count) return;
	graph.step = graph.step < 0 ? (step > 0 ? 0 : count - 1) : (graph.step + step + count) % count;
	reveal(graph.matches[graph.step]);
	showMatches();
}
/* Focus a node; zoom to its caller if it is outside of the view or narrow. */
function reveal(n) {
	const { view } = graph, path = [];
	for (let k = n; k >= 0; k = view.parent[k]) path.unshift(k);
	for (const k of path) view.kids(k);
	if (!isAncestor(graph.zoom, n) && !isAncestor(n, graph.zoom) || nodeSpan(n)[1] < 12) zoomTo(Math.max(0, view.parent[n]));
	graph.focus = n;
	scrollTo(n);
	updateStatus();
	draw();
}
function scrollTo(n) {
	const y = graph.view.depth(n) * ROW, box = $('scroll');
	if (y < box.scrollTop) box.scrollTop = y;
	if (y + ROW > box.scrollTop + height) box.scrollTop = y + ROW - height;
}

/* ---- texts ---- */

function unitAmount(v) { return amount(v, graph.meta.unit); }
/* Effective sample size of WHOLE, a part of the profile or of the base; null: shares are exact. */
function effectiveSize(whole, ofBase) {
	const { meta, all, allBase, ranges } = graph, base = ofBase && !ranges;
	const effective = base ? meta.base_effective : meta.effective, sum = base ? allBase : all;
	return effective && sum ? effective * whole / sum : null;
}
function shareText(part, whole, ofBase) { return percent(part, whole, effectiveSize(whole, ofBase)); }
function changeText(n) {
	const { total, baseTotal } = graph.view;
	const places = Math.min(digits(interval(total[n], total[0], effectiveSize(total[0], false))),
		digits(interval(baseTotal[n], baseTotal[0], effectiveSize(baseTotal[0], true))));
	return `${change(n) < 0 ? '' : '+'}${(change(n) * 100).toFixed(places)} points`;
}
function describe(n) {
	const { view } = graph, whole = view.total[0], module = graph.stacks.module(view.frame[n]);
	let text = `${view.name(n)}: total ${unitAmount(view.total[n])} (${shareText(view.total[n], whole)}), ` +
		`self ${unitAmount(view.selfOf(n))} (${shareText(view.selfOf(n), whole)})`;
	if (module) text += `, ${module}`;
	if (hasBase())
		text += `, base ${unitAmount(view.baseTotal[n])} (${shareText(view.baseTotal[n], view.baseTotal[0], true)}), ${changeText(n)}`;
	return text;
}
function updateStatus() { $('status').textContent = describe(graph.hover >= 0 ? graph.hover : graph.focus); }
function updateTip(event) {
	const n = graph.hover, { view } = graph;
	if (n < 0) return showTip(event);
	const f = view.frame[n], whole = view.total[0];
	const lines = [['self', unitAmount(view.selfOf(n)), shareText(view.selfOf(n), whole)],
		['total', unitAmount(view.total[n]), shareText(view.total[n], whole)]];
	if (graph.zoom) lines.push(['of the zoomed', unitAmount(view.total[n]), shareText(view.total[n], view.total[graph.zoom])]);
	if (hasBase()) lines.push(['base', unitAmount(view.baseTotal[n]), shareText(view.baseTotal[n], view.baseTotal[0], true)],
		['change', changeText(n), '']);
	const where = [graph.stacks.module(f), n && !graph.stacks.isThread(f) ? TYPE_NAMES[graph.stacks.type(f)] : ''].filter(s => s);
	if (graph.colorings.includes('state') && !hasBase())
		stateWeights(n).forEach((weight, state, all) => {
			if (weight) lines.push([STATES[STATE_NAMES[state]][0], '', shareText(weight, all.reduce((a, b) => a + b))]);
		});
	const content = [element('b', view.name(n)), element('div', where.join(', '), 'soft'), facts(lines)];
	if (lines.some(line => line[2].includes('–')))
		content.push(element('div', 'Ranges are 95% confidence intervals.', 'soft'));
	showTip(event, ...content);
}
function list(values, name) {
	if (!values.length) return '';
	return `${name}${values.length > 1 ? (name.endsWith('s') ? 'es' : 's') : ''} ${values.slice(0, 3).join(', ')}` +
		(values.length > 3 ? ` and ${values.length - 3} more` : '');
}
function showFacts() {
	const { meta, selection, stacks } = graph, texts = [unitAmount(selection.whole)];
	if (hasBase()) texts.push(`base: ${unitAmount(selection.baseWhole)}`);
	if (selection.whole < graph.all) texts[0] = texts[0].replace(' ' + meta.unit, '') + ` of ${unitAmount(graph.all)}`;
	if (meta.unit === 'nanoseconds' && stacks.threads.length > 2) texts[0] += ` in ${stacks.threads.length - 1} threads`;
	if (!meta.title.startsWith(meta.metric)) texts.unshift(meta.metric);
	for (const key of ['process', 'host']) texts.push(list(stacks.labelValues(key, selection.labels), key));
	if (meta.end_ms > meta.start_ms) {
		const sameDay = dayText(meta.start_ms) === dayText(meta.end_ms);
		texts.push(`${dayText(meta.start_ms)} ${timeText(meta.start_ms)} to ${sameDay ? '' : dayText(meta.end_ms) + ' '}` +
			`${timeText(meta.end_ms)} UTC (${amount((meta.end_ms - meta.start_ms) * 1e6, 'nanoseconds')})`);
	}
	$('facts').textContent = texts.filter(t => t).join(' · ');
}

/* ---- table ---- */

function tableButton(text, title, onclick) {
	const b = element('button', text);
	b.title = title;
	b.onclick = onclick;
	return b;
}
function showTable() {
	const side = $('side');
	side.hidden = !graph.table;
	$('table').setAttribute('aria-pressed', graph.table);
	if (!graph.table) return;
	side.replaceChildren();
	if (graph.selected) showNeighbours(side);
	else showFunctions(side);
}
function tableRow(table, cells, frame) {
	const tr = table.insertRow();
	for (const text of cells) tr.append(element('td', text));
	const td = element('td');
	td.append(frame ? tableButton(graph.stacks.name(frame), graph.stacks.module(frame), () => selectFunction(frame)) : 'all');
	tr.append(td);
}
function showFunctions(side) {
	const { selection } = graph, test = matcher($('search').value), sort = graph.tableSort;
	const all = functionTable(forwardView()).filter(r => test(graph.stacks.name(r.frame)));
	const whole = selection.whole || 1, base = selection.baseWhole || 1;
	const keys = { self: r => r.self, total: r => r.total };
	const change = r => r.total / whole - r.baseTotal / base;
	if (hasBase()) keys.change = r => Math.abs(change(r));
	const by = keys[sort] || keys.self;
	all.sort((a, b) => by(b) - by(a) || b.total - a.total);
	const table = element('table'), head = table.createTHead().insertRow();
	for (const name of Object.keys(keys)) {
		const th = element('th');
		if (by === keys[name]) th.setAttribute('aria-sort', 'descending');
		th.append(tableButton(name, 'Sort', () => { graph.tableSort = name; showTable(); }));
		head.append(th);
	}
	head.append(element('th', 'function', 'soft'));
	const body = table.createTBody();
	for (const r of all.slice(0, ROWS_MAX)) {
		const cells = [shortPercent(r.self, whole), shortPercent(r.total, whole)];
		if (hasBase()) cells.push(pointsText(change(r)));
		tableRow(body, cells, r.frame);
	}
	side.append(table);
	if (all.length > ROWS_MAX)
		side.append(element('p', `… and ${(all.length - ROWS_MAX).toLocaleString('en')} more: search for a part of the name.`, 'soft'));
	if (!all.length) side.append(element('p', 'No function matches.', 'soft'));
}
function showNeighbours(side) {
	const { stacks, selected, selection } = graph, found = neighbours(forwardView(), selected), bar = element('div', '', 'bar');
	const row = functionTable(forwardView()).find(r => r.frame === selected) || { self: 0, total: 0 };
	bar.append(tableButton('‹ All functions', 'Back to the table', () => selectFunction(0)));
	side.append(bar, element('h2', stacks.name(selected)), element('p', stacks.module(selected), 'soft'));
	side.append(element('p', `self ${unitAmount(row.self)} (${shortPercent(row.self, selection.whole)}), ` +
		`total ${unitAmount(row.total)} (${shortPercent(row.total, selection.whole)})`));
	for (const [title, rows] of [['Callers', found.callers], ['Callees', found.callees]]) {
		const table = element('table'), body = table.createTBody();
		for (const [frame, v] of rows.slice(0, ROWS_MAX)) tableRow(body, [shortPercent(v, row.total)], frame);
		side.append(element('h2', title), rows.length ? table : element('p', 'none', 'soft'));
	}
}
/* Mark a function in the graph, and show its callers and callees; 0: none. */
function selectFunction(frame) {
	graph.selected = frame;
	search();
	showTable();
	draw();
	saveState();
}

/* ---- filters ---- */

function option(value, text, parent) {
	const o = element('option', text);
	o.value = value;
	parent.append(o);
	return o;
}
/* The sum of the profile's values by COLUMN, of the range and the stacks that match a search. */
function sumBy(column) {
	const [set] = graph.stacks.sets, keys = set[column], match = graph.matchTest, [inRange] = graph.ranges || [];
	const sums = new Float64Array(keys.reduce((a, b) => Math.max(a, b), 0) + 1).fill(-1);
	let whole = 0;
	for (let i = 0; i < set.count; i++) {
		if (match && !match(set, i) || inRange && !inRange(i)) continue;
		sums[keys[i]] = Math.max(sums[keys[i]], 0) + set.value[i];
		whole += set.value[i];
	}
	return [[...sums.entries()].filter(([, sum]) => sum >= 0), whole];
}
/* Add options of [value, text, weight], the heaviest first. */
function addOptions(parent, entries, whole) {
	entries.sort((a, b) => b[2] - a[2]);
	for (const [value, text, v] of entries.slice(0, OPTIONS_MAX)) option(value, `${text} ${shortPercent(v, whole)}`, parent);
	if (entries.length > OPTIONS_MAX) option('', `… and ${entries.length - OPTIONS_MAX} more`, parent).disabled = true;
}
function group(parent, text) {
	const g = element('optgroup');
	g.label = text;
	parent.append(g);
	return g;
}
/* Plain name of a thread: "[worker tid=12]" is "worker". */
function plainName(name) { return name.replace(/^\[(.*?)( tid=\d+)?\]$/, '$1'); }
function fillThreads(select) {
	const { threads } = graph.stacks, [sums, whole] = sumBy('thread'), pools = new Map();
	for (const [t, v] of sums) {
		const name = plainName(threads[t]), pool = pools.get(name) || [0, 0];
		pools.set(name, [pool[0] + v, pool[1] + 1]);
	}
	option('', `${(threads.length - 1).toLocaleString('en')} threads`, select);
	const shared = [...pools].filter(([, [, count]]) => count > 1);
	if (shared.length)
		addOptions(group(select, 'Threads of one name'), shared.map(([name, [v, count]]) => ['name ' + name, `${name} × ${count}`, v]), whole);
	addOptions(group(select, 'Threads'), [...sums].map(([t, v]) => ['id ' + threads[t], threads[t], v]), whole);
	select.hidden = threads.length < 3;
}
function fillLabels(select) {
	const { labels } = graph.stacks, [byLabel, whole] = sumBy('label'), keys = new Map();
	for (const [l, v] of byLabel)
		for (const line of new Set(labels[l])) {
			const key = line.split('=', 1)[0], values = keys.get(key) || new Map();
			keys.set(key, values.set(line, (values.get(line) || 0) + v));
		}
	option('', 'All labels', select);
	for (const [key, values] of keys)
		addOptions(group(select, key), [...values].map(([line, v]) => [line, line.slice(key.length + 1), v]), whole);
	select.hidden = labels.every(lines => !lines.length);
}
/* Fill a list again before it opens, as the shares depend on the range and the search. */
function fillFilter(id) {
	const select = $(id), { value } = select;
	select.replaceChildren();
	(id === 'thread' ? fillThreads : fillLabels)(select);
	if (value && ![...select.options].some(o => o.value === value)) option(value, value.replace(/^(id|name) /, ''), select);
	select.value = value;
}
function readFilters() {
	const { threads, labels } = graph.stacks, thread = $('thread').value, label = $('label').value;
	const wanted = thread.slice(thread.indexOf(' ') + 1);
	graph.threadOk = thread ? Uint8Array.from(threads, name => (thread.startsWith('id ') ? name : plainName(name)) === wanted ? 1 : 0) : null;
	graph.labelOk = label ? Uint8Array.from(labels, lines => lines.includes(label) ? 1 : 0) : null;
}

/* ---- state in the URL ---- */

/* A switch that differs from the page's default. */
function stateOf(what, initial) { return graph[what] === graph.meta[initial] ? '' : graph[what] ? '1' : '0'; }
function saveState() {
	if (graph.loading) return;
	writeFragment({ q: $('search').value, z: graph.view.pathText(graph.zoom), i: stateOf('inverted', 'reverse'), t: stateOf('byThread', 'threads'),
		v: graph.table ? 1 : '', f: graph.selected || '', th: $('thread').value, l: $('label').value,
		c: graph.coloring === graph.firstColoring ? '' : graph.coloring, ...graph.extraState() });
}
function loadState() {
	const s = readFragment(), { meta } = graph;
	graph.loading = true;
	$('search').value = s.q || '';
	for (const [id, value] of [['thread', s.th], ['label', s.l]]) {
		$(id).value = value || '';
		if ($(id).selectedIndex < 0) $(id).value = '';
	}
	graph.inverted = s.i ? s.i === '1' : meta.reverse;
	graph.byThread = s.t ? s.t === '1' : meta.threads;
	graph.table = s.v === '1';
	graph.selected = s.f && graph.stacks.functionOf[s.f] || 0;
	graph.coloring = graph.colorings.includes(s.c) ? s.c : graph.firstColoring;
	$('coloring').value = graph.coloring;
	colors.clear();
	readFilters();
	graph.onLoad(s);
	graph.view = null;
	updateSelection();
	zoomTo(graph.view.findPath(s.z));
	graph.loading = false;
}

/* ---- events ---- */

function nodeAt(event) {
	const box = canvas.getBoundingClientRect(), x = event.clientX - box.left;
	for (const n of rows[Math.floor((event.clientY - box.top + $('scroll').scrollTop) / ROW)] || []) {
		const [left, w] = nodeSpan(n);
		if (x >= left && x < left + w) return n;
	}
	return -1;
}
function sibling(n, step) {
	const row = [...rows[graph.view.depth(n)] || []].sort((a, b) => nodeSpan(a)[0] - nodeSpan(b)[0]);
	return row[Math.max(0, Math.min(row.length - 1, row.indexOf(n) + step))] ?? n;
}
function onKey(event) {
	const { view, focus } = graph;
	const step = { ArrowLeft: () => sibling(focus, -1), ArrowRight: () => sibling(focus, 1),
		ArrowUp: () => Math.max(0, view.parent[focus]), ArrowDown: () => view.kids(focus)[0] ?? focus }[event.key];
	if (step) {
		const n = step();
		if ((rows[view.depth(n)] || []).includes(n)) graph.focus = n;
		scrollTo(graph.focus);
	} else if (event.key === 'Enter' || event.key === ' ') zoomTo(focus);
	else if (event.key === 'Backspace') zoomTo(Math.max(0, view.parent[graph.zoom]));
	else return;
	event.preventDefault();
	graph.hover = -1;
	showTip(event);
	updateStatus();
	draw();
}
function resize() {
	width = theme.printing ? 1200 : $('scroll').clientWidth;
	height = $('scroll').clientHeight;
	if (graph.view) layout();
}
function toggle(what) {
	graph[what] = !graph[what];
	if (what === 'table') { showTable(); resize(); } else showView();
	saveState();
}
function changeSearch() { search(); if (graph.table && !graph.selected) showTable(); draw(); saveState(); }
/* The whole graph, without a search and a selected function. */
function reset() {
	$('search').value = '';
	graph.selected = 0;
	search();
	showTable();
	zoomTo(0);
	canvas.focus();
}
function startPrinting() {
	theme.before = theme.dark;
	theme.printing = true;
	setTheme(false);
	resize();
}
function endPrinting() {
	theme.printing = false;
	setTheme(theme.before);
	resize();
}
const KEYS = { '/': () => $('search').focus(), i: () => toggle('inverted'), r: () => toggle('inverted'), t: () => toggle('byThread'),
	v: () => toggle('table'), d: () => $('theme').click(), n: () => stepMatch(1), N: () => stepMatch(-1), p: () => stepMatch(-1) };
function onPageKey(event) {
	if (event.key === 'Escape') return reset();
	if (event.ctrlKey || event.metaKey || event.altKey) return;
	if (event.target === $('search') && event.key === 'Enter') { stepMatch(event.shiftKey ? -1 : 1); return; }
	if (event.target.matches('input, select') || !Object.hasOwn(KEYS, event.key)) return;
	KEYS[event.key]();
	event.preventDefault();
}
function addListeners() {
	$('invert').onclick = () => toggle('inverted');
	$('threads').onclick = () => toggle('byThread');
	$('table').onclick = () => toggle('table');
	$('reset').onclick = reset;
	$('theme').onclick = () => setTheme(!theme.dark);
	$('next').onclick = () => stepMatch(1);
	$('previous').onclick = () => stepMatch(-1);
	$('search').oninput = changeSearch;
	for (const id of ['thread', 'label']) {
		$(id).onchange = () => { readFilters(); updateSelection(); saveState(); };
		for (const type of ['pointerdown', 'focus']) $(id).addEventListener(type, () => fillFilter(id));
	}
	$('coloring').onchange = e => { graph.coloring = e.target.value; colors.clear(); drawLegend(); draw(); saveState(); };
	canvas.addEventListener('mousemove', e => { graph.hover = nodeAt(e); updateTip(e); updateStatus(); draw(); });
	canvas.addEventListener('mouseleave', e => { graph.hover = -1; showTip(e); updateStatus(); draw(); });
	canvas.addEventListener('click', e => { const n = nodeAt(e); canvas.focus(); if (n >= 0) zoomTo(n); });
	canvas.addEventListener('keydown', onKey);
	for (const type of ['focus', 'blur']) canvas.addEventListener(type, draw);
	$('scroll').addEventListener('scroll', draw);
	new ResizeObserver(resize).observe($('scroll')); /* what is above may grow, too */
	addEventListener('hashchange', loadState);
	addEventListener('keydown', onPageKey);
	addEventListener('beforeprint', startPrinting);
	addEventListener('afterprint', endPrinting);
	theme.listeners.push(() => { colors.clear(); if (graph.view) { drawLegend(); draw(); } });
}
function addNotice(text) {
	if (!text) return;
	const p = element('p', text, 'notice');
	p.setAttribute('role', 'note');
	$('facts').after(p);
}

/* Show the profile STACKS with META: title, metric, unit, effective, base_effective, threads, reverse, start_ms, end_ms, losses, notice. */
function startGraph(meta, stacks) {
	const sum = set => set.value.reduce((a, b) => a + b, 0);
	Object.assign(graph, { meta, stacks, all: sum(stacks.sets[0]), allBase: sum(stacks.sets[1]) });
	document.title = $('title').textContent = meta.title;
	for (const text of [meta.losses, meta.notice]) addNotice(text);
	graph.kinds = new Set();
	for (let f = 1; f < stacks.frames; f++) graph.kinds.add(kindOf(stacks, f));
	for (const id of ['thread', 'label']) fillFilter(id);
	graph.stateByLabel = statesByLabel(stacks);
	graph.guess = guessText(stacks);
	graph.colorings = Object.keys(COLORINGS).filter(name => !COLORINGS[name].exists || COLORINGS[name].exists());
	graph.firstColoring = graph.colorings.includes('state') ? 'state' : 'kind';
	for (const name of graph.colorings) option(name, COLORINGS[name].text, $('coloring'));
	$('coloring').hidden = stacks.sets[1].count > 0;
	addListeners();
	resize();
	loadState();
	resize();
	canvas.focus({ preventScroll: true });
}
