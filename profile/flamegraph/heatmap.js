/* The heatmap: columns of time, rows within a column. A range of time has the flame graph below; a second range is
 * compared with it. Positions in time are numbers of rows since the first sample. */

const cells = $('cells'), GUTTER = 46, AXIS = 18, SUMS = 26, GAP = 4;
const heat = {
	counts: null, sums: null, cap: 1, perColumn: 1, columns: 1, from: 0, to: 1, /* shown columns */
	a: null, b: null, /* ranges as [first row, row after the last] */
	cursor: 0, anchor: -1, dragging: false, comparing: false, hover: -1, width: 0, cellHeight: 4,
};
const VIRIDIS = [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];
function heatColor(t) {
	const at = (theme.dark ? t : 1 - t) * (VIRIDIS.length - 1), i = Math.min(Math.floor(at), VIRIDIS.length - 2), part = at - i;
	return `rgb(${VIRIDIS[i].map((v, k) => Math.round(v + (VIRIDIS[i + 1][k] - v) * part)).join()})`;
}
function rangeColors() { return theme.dark ? ['#ff7b72', '#79c0ff'] : ['#c4261d', '#0b57d0']; }

/* ---- counts: of the samples that the filters and the search select ---- */

function countCells() {
	const [set] = graph.stacks.sets, match = graph.matchTest, test = sampleTest(set, match && (i => match(set, i)));
	const { counts, sums, perColumn } = heat;
	counts.fill(0);
	sums.fill(0);
	for (let i = 0; i < set.count; i++) if (test(i)) counts[set.row[i]] += set.value[i];
	for (let i = 0; i < counts.length; i++) sums[Math.floor(i / perColumn)] += counts[i];
	const filled = counts.filter(v => v > 0).sort();
	heat.cap = filled.length ? filled[Math.min(filled.length - 1, Math.floor(filled.length * 0.995))] : 1;
}
function rangeSum(range) {
	let sum = 0;
	for (let i = range[0]; i < Math.min(range[1], heat.counts.length); i++) sum += heat.counts[i];
	return sum;
}

/* ---- drawing ---- */

function columnWidth() { return Math.min((heat.width - GUTTER) / (heat.to - heat.from), 64); }
function plotHeight() { return heat.perColumn * heat.cellHeight; }
function drawHeat() {
	if (!graph.selection || heat.width <= GUTTER) return;
	const w = columnWidth(), context = startDrawing(cells, heat.width, SUMS + GAP + plotHeight() + AXIS, css('--bar'));
	drawSums(context, w);
	drawCells(context, w);
	for (const [range, color] of [[heat.b, rangeColors()[1]], [heat.a, rangeColors()[0]]])
		if (range) drawRange(context, w, range, color);
	if (document.activeElement === cells && !heat.dragging) drawCursor(context, w);
	drawAxes(context, w);
	drawScale();
}
/* Columns that share a pixel are drawn as one: the largest of them is visible. */
function eachColumn(w, visit) {
	const step = w >= 1 ? 1 : Math.ceil(1 / w);
	for (let c = Math.floor(heat.from); c < heat.to; c += step)
		visit(c, Math.min(c + step, heat.columns), GUTTER + (c - heat.from) * w, w * step);
}
function drawCells(context, w) {
	const { counts, perColumn, cellHeight, cap } = heat, top = SUMS + GAP;
	context.fillStyle = css('--hover');
	context.fillRect(GUTTER, top, w * (heat.to - heat.from), plotHeight());
	const gap = w >= 5 ? 1 : 0, rowGap = cellHeight >= 4 && w >= 5 ? 1 : 0;
	eachColumn(w, (first, end, x, size) => {
		for (let r = 0; r < perColumn; r++) {
			let v = 0;
			for (let c = first; c < end; c++) v = Math.max(v, counts[c * perColumn + r] || 0);
			if (!v) continue;
			context.fillStyle = heatColor(Math.min(v / cap, 1));
			context.fillRect(x, top + r * cellHeight, Math.max(size - gap, 0.7), cellHeight - rowGap);
		}
	});
}
/* The sum of each column, above it. */
function drawSums(context, w) {
	const most = heat.sums.reduce((a, b) => Math.max(a, b), 1);
	context.fillStyle = css('--soft');
	eachColumn(w, (first, end, x, size) => {
		let v = 0;
		for (let c = first; c < end; c++) v = Math.max(v, heat.sums[c]);
		const h = Math.max(v ? 1 : 0, Math.round(SUMS * v / most));
		context.fillRect(x, SUMS - h, Math.max(size - (w >= 5 ? 1 : 0), 0.7), h);
	});
}
/* The outline of a range: from a row in one column to a row in another. */
function drawRange(context, w, [start, end], color) {
	const { perColumn, cellHeight, from, to } = heat, top = SUMS + GAP, last = end - 1;
	const first = Math.floor(start / perColumn), final = Math.floor(last / perColumn);
	context.save();
	context.beginPath();
	context.rect(GUTTER - 1, top - 2, w * (to - from) + 2, plotHeight() + 4);
	context.clip();
	const x = c => GUTTER + (c - from) * w, y = row => top + row * cellHeight;
	const y0 = y(start % perColumn), y1 = y(last % perColumn + 1), bottom = y(perColumn);
	context.beginPath();
	if (first === final) context.rect(x(first), y0, w, y1 - y0);
	else if (first + 1 === final) {
		context.rect(x(first), y0, w, bottom - y0);
		context.rect(x(final), top, w, y1 - top);
	} else {
		const points = [[x(first), y0], [x(first + 1), y0], [x(first + 1), top], [x(final + 1), top], [x(final + 1), y1],
			[x(final), y1], [x(final), bottom], [x(first), bottom]];
		points.forEach(([px, py], i) => i ? context.lineTo(px, py) : context.moveTo(px, py));
		context.closePath();
	}
	context.fillStyle = color;
	context.globalAlpha = 0.16;
	context.fill();
	context.globalAlpha = 1;
	context.strokeStyle = color;
	context.lineWidth = 2;
	context.stroke();
	context.restore();
}
function drawCursor(context, w) {
	const { cursor, perColumn, cellHeight, from } = heat;
	context.strokeStyle = css('--focus');
	context.lineWidth = 2;
	context.strokeRect(GUTTER + (Math.floor(cursor / perColumn) - from) * w - 1, SUMS + GAP + cursor % perColumn * cellHeight - 1,
		Math.max(w, 2) + 1, cellHeight + 1);
}
function rowMs(row) { return heat.start + row * heat.row; }
function drawAxes(context, w) {
	const { perColumn, cellHeight, row, from, to } = heat, top = SUMS + GAP, columnMs = perColumn * row;
	context.font = '11px system-ui, "DejaVu Sans", sans-serif';
	context.fillStyle = css('--soft');
	context.textAlign = 'right';
	const parts = perColumn % 5 ? 4 : 5;
	for (let i = 0; i < parts; i++) {
		const r = Math.floor(i * perColumn / parts);
		context.fillText(r ? amount(r * row * 1e6, 'nanoseconds') : '0', GUTTER - 5, top + r * cellHeight + 5);
	}
	context.textAlign = 'left';
	const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400].map(s => s * 1000);
	const least = 74 * columnMs / w, step = steps.find(s => s >= least) || Math.ceil(least / 86400000) * 86400000;
	const days = dayText(rowMs(from * perColumn)) !== dayText(rowMs(to * perColumn));
	for (let t = Math.ceil(rowMs(from * perColumn) / step) * step; t < rowMs(to * perColumn); t += step) {
		const x = GUTTER + ((t - heat.start) / columnMs - from) * w;
		if (x + 50 > heat.width) break;
		context.fillRect(Math.floor(x), top + plotHeight(), 1, 5);
		context.fillText(days && step >= 3600000 ? dayText(t).slice(5) + ' ' + timeText(t).slice(0, 5) : timeText(t), x + 3, top + plotHeight() + 10);
	}
}
function drawScale() {
	const scale = $('scale'), context = scale.getContext('2d');
	for (let x = 0; x < scale.width; x++) {
		context.fillStyle = heatColor(x / scale.width);
		context.fillRect(x, 0, 1, scale.height);
	}
	$('least').textContent = '0';
	$('most').textContent = `${countText(heat.cap)} in ${amount(heat.row * 1e6, 'nanoseconds')}`;
}

/* ---- ranges ---- */

function countText(sum) { return unitAmount(sum) + (graph.matchTest ? ' that match' : ''); }
function rangeText([start, end], sum) {
	const decimals = heat.row % 1000 ? 3 : 0;
	return `${timeText(rowMs(start), decimals)} to ${timeText(rowMs(end), decimals)} (${amount((end - start) * heat.row * 1e6, 'nanoseconds')}): ` +
		countText(sum);
}
function showRanges() {
	const { a, b, comparing } = heat;
	let text = a ? rangeText(a, rangeSum(a)) : 'Drag over the heatmap to see the flame graph of a range of time. A click selects a column.';
	if (a && b) text += `, compared with ${rangeText(b, rangeSum(b))}`;
	else if (a && comparing) text += '. Now select the range to compare with.';
	$('range').textContent = text;
	$('range').classList.toggle('hint', !a);
	$('compare').setAttribute('aria-pressed', comparing);
	$('compare').disabled = !a;
	$('whole').disabled = !a && heat.from === 0 && heat.to === heat.columns;
}
/* Show the flame graph of the ranges. */
function applyRanges() {
	const { a, b } = heat, row = graph.stacks.sets[0].row, inside = r => r && (i => row[i] >= r[0] && row[i] < r[1]);
	graph.ranges = a ? [inside(a), inside(b)] : null;
}
function setRange(range, compare) {
	if (compare && heat.a) heat.b = range;
	else [heat.a, heat.b] = [range, null];
	heat.comparing = !!compare && !!heat.a;
}
function finishRange() {
	applyRanges();
	updateSelection();
	saveState();
}
function clearRanges() {
	Object.assign(heat, { a: null, b: null, comparing: false, from: 0, to: heat.columns, anchor: -1 });
	finishRange();
}

/* ---- mouse and keyboard ---- */

function rowAt(event) {
	const box = cells.getBoundingClientRect(), { perColumn } = heat;
	const column = Math.floor(heat.from + (event.clientX - box.left - GUTTER) / columnWidth());
	const row = Math.floor((event.clientY - box.top - SUMS - GAP) / heat.cellHeight);
	const at = Math.max(0, Math.min(heat.columns - 1, column)) * perColumn + Math.max(0, Math.min(perColumn - 1, row));
	return Math.min(at, heat.counts.length - 1);
}
/* A narrow column is hard to hit: ROW, or the nearest one within four pixels whose column has samples. */
function nearRow(row) {
	const column = Math.floor(row / heat.perColumn);
	for (let away = 0; away * columnWidth() <= 4; away++)
		for (const c of [column - away, column + away]) if (heat.sums[c] > 0) return row + (c - column) * heat.perColumn;
	return row;
}
function columnRange(row) {
	const start = Math.floor(row / heat.perColumn) * heat.perColumn;
	return [start, start + heat.perColumn];
}
function between(a, b) { return [Math.min(a, b), Math.max(a, b) + 1]; }
function onHeatDown(event) {
	if (event.button) return;
	cells.setPointerCapture(event.pointerId);
	heat.anchor = heat.cursor = rowAt(event);
	heat.dragging = true;
	heat.moved = false;
	heat.second = event.shiftKey || heat.comparing;
}
function onHeatMove(event) {
	const row = rowAt(event), { perColumn } = heat;
	if (heat.dragging && (heat.moved || row !== heat.anchor)) {
		heat.moved = true;
		setRange(between(heat.anchor, row), heat.second);
		showRanges();
		drawHeat();
		return;
	}
	const column = Math.floor(row / perColumn);
	showTip(event, element('b', timeText(rowMs(row), 3)), facts([['cell', unitAmount(heat.counts[row])],
		['column', unitAmount(heat.sums[column])]]));
}
function onHeatUp(event) {
	if (!heat.dragging) return;
	heat.dragging = false;
	if (!heat.moved) setRange(columnRange(nearRow(rowAt(event))), heat.second);
	finishRange();
}
function zoomHeat(factor, at = (heat.from + heat.to) / 2) {
	const length = Math.min(heat.columns, Math.max(5, (heat.to - heat.from) * factor));
	const from = Math.round(Math.max(0, Math.min(heat.columns - length, at - (at - heat.from) * length / (heat.to - heat.from))));
	heat.from = from;
	heat.to = Math.min(heat.columns, Math.ceil(from + length));
	showRanges();
	drawHeat();
	saveState();
}
function onHeatWheel(event) {
	const box = cells.getBoundingClientRect();
	event.preventDefault();
	zoomHeat(event.deltaY > 0 ? 1.25 : 0.8, heat.from + (event.clientX - box.left - GUTTER) / columnWidth());
}
function onHeatKey(event) {
	const { perColumn } = heat, step = { ArrowLeft: -perColumn, ArrowRight: perColumn, ArrowUp: -1, ArrowDown: 1 }[event.key];
	const column = columnRange(heat.cursor);
	if (step) {
		const to = heat.cursor + step;
		if (event.shiftKey && heat.anchor < 0) heat.anchor = heat.cursor;
		if (!event.shiftKey) heat.anchor = -1;
		if (to >= 0 && to < heat.counts.length) heat.cursor = to;
		if (event.shiftKey) { setRange(between(heat.anchor, heat.cursor), heat.comparing); finishRange(); }
		followCursor();
	} else if (event.key === 'Enter' || event.key === ' ') { setRange(column, heat.comparing || event.shiftKey); finishRange(); }
	else if (event.key === 'c') toggleComparing();
	else if (event.key === '+' || event.key === '=') zoomHeat(0.5, heat.cursor / perColumn);
	else if (event.key === '-') zoomHeat(2, heat.cursor / perColumn);
	else if (event.key === 'Escape' && heat.a) { clearRanges(); event.stopPropagation(); }
	else return;
	event.preventDefault();
	showRanges();
	if (!event.shiftKey && step) $('range').textContent = `${timeText(rowMs(heat.cursor), 3)}: ${unitAmount(heat.counts[heat.cursor])}, ` +
		`column: ${unitAmount(heat.sums[Math.floor(heat.cursor / perColumn)])}`;
	drawHeat();
}
function followCursor() {
	const column = Math.floor(heat.cursor / heat.perColumn), length = heat.to - heat.from;
	if (column < heat.from) heat.from = column;
	if (column >= heat.to) heat.from = column - length + 1;
	heat.to = heat.from + length;
}
function toggleComparing() {
	heat.comparing = !heat.comparing && !!heat.a;
	heat.anchor = -1;
	showRanges();
}

/* ---- start ---- */

function resizeHeat() {
	heat.width = theme.printing ? 1200 : cells.clientWidth;
	heat.cellHeight = Math.max(1, Math.min(12, Math.floor(200 / heat.perColumn)));
	drawHeat();
}
/* A range in the URL: milliseconds since the first sample. */
function readRange(text) {
	const found = /^(\d+)-(\d+)$/.exec(text || '');
	if (!found) return null;
	const [start, end] = [found[1], found[2]].map(ms => Math.min(Math.floor(ms / heat.row), heat.counts.length));
	return start < end ? [start, end] : null;
}
function writeRange(range) { return range ? `${range[0] * heat.row}-${range[1] * heat.row}` : ''; }
function startHeat(meta, stacks) {
	const { start_ms, row_ms, rows, column_ms } = meta.heat, perColumn = Math.max(1, Math.round(column_ms / row_ms));
	const columns = Math.max(1, Math.ceil(rows / perColumn));
	Object.assign(heat, { start: start_ms, row: row_ms, perColumn, columns, to: columns, counts: new Float64Array(Math.max(1, rows)),
		sums: new Float64Array(columns) });
	graph.onSelect = graph.onSearch = () => { countCells(); showRanges(); drawHeat(); };
	graph.extraState = () => ({ a: writeRange(heat.a), b: writeRange(heat.b),
		w: heat.from || heat.to < heat.columns ? `${heat.from}-${heat.to}` : '' });
	graph.onLoad = s => {
		const shown = /^(\d+)-(\d+)$/.exec(s.w || '');
		heat.a = readRange(s.a);
		heat.b = heat.a && readRange(s.b);
		heat.comparing = !!heat.b;
		[heat.from, heat.to] = shown && +shown[1] < +shown[2] && +shown[2] <= heat.columns ? [+shown[1], +shown[2]] : [0, heat.columns];
		applyRanges();
	};
	cells.addEventListener('pointerdown', onHeatDown);
	cells.addEventListener('pointermove', onHeatMove);
	cells.addEventListener('pointerup', onHeatUp);
	cells.addEventListener('pointercancel', () => { heat.dragging = false; });
	cells.addEventListener('pointerleave', e => showTip(e));
	cells.addEventListener('wheel', onHeatWheel, { passive: false });
	cells.addEventListener('keydown', onHeatKey);
	for (const type of ['focus', 'blur']) cells.addEventListener(type, drawHeat);
	$('compare').onclick = toggleComparing;
	$('wider').onclick = () => zoomHeat(0.5);
	$('narrower').onclick = () => zoomHeat(2);
	$('whole').onclick = clearRanges;
	addEventListener('resize', resizeHeat);
	theme.listeners.push(resizeHeat); /* also before and after printing */
	resizeHeat();
	startGraph(meta, stacks);
	resizeHeat();
}
