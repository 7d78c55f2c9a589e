/* Shared by all pages: elements, data, amounts, themes, the state in the URL. Scripts of a page are one script
 * element, so they share their top level. */
const $ = id => document.getElementById(id);

/* Returns a new element. Text is never HTML. */
function element(tag, text = '', className = '') {
	const e = document.createElement(tag);
	e.textContent = text;
	if (className) e.className = className;
	return e;
}
function json(id) { return JSON.parse($(id).textContent); }

/* Reader of page_data.h. */
class Reader {
	constructor(bytes) { this.bytes = bytes; this.at = 0; }
	number() {
		const bytes = this.bytes;
		let byte = bytes[this.at++], value = byte & 127;
		for (let scale = 128; byte > 127; scale *= 128) {
			byte = bytes[this.at++];
			value += (byte & 127) * scale;
		}
		return value;
	}
	signed() {
		const n = this.number();
		return n % 2 ? -(n + 1) / 2 : n / 2;
	}
	/* A column of COUNT numbers, as an ARRAY type. */
	column(count, ArrayType = Uint32Array) {
		const list = new ArrayType(count), bytes = this.bytes;
		let at = this.at;
		for (let i = 0; i < count; i++) {
			let byte = bytes[at++], value = byte & 127;
			for (let scale = 128; byte > 127; scale *= 128) {
				byte = bytes[at++];
				value += (byte & 127) * scale;
			}
			list[i] = value;
		}
		this.at = at;
		return list;
	}
	texts() {
		const count = this.number(), size = this.number();
		this.at += size;
		return new Texts(this.bytes.subarray(this.at - size, this.at), count);
	}
}

/* COUNT texts in BYTES, each with a zero at its end. A million strings would take as long as the rest of the page. */
class Texts {
	constructor(bytes, count) {
		this.bytes = bytes;
		this.count = count;
		this.starts = new Uint32Array(count + 1);
		for (let i = 0, found = 0; found < count; i++) if (!bytes[i]) this.starts[++found] = i + 1;
	}
	at(i) { return this.list ? this.list[i] : DECODER.decode(this.bytes.subarray(this.starts[i], this.starts[i + 1] - 1)); }
	all() { return this.list = this.list || DECODER.decode(this.bytes).split('\0', this.count); }
}
const DECODER = new TextDecoder();

/* Returns a reader of the data in element ID. */
async function unpack(id) {
	const text = atob($(id).textContent), bytes = new Uint8Array(text.length);
	for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
	$(id).remove();
	const { readable, writable } = new DecompressionStream('gzip'), writer = writable.getWriter();
	for (const done of [writer.write(bytes), writer.close()]) done.catch(() => {}); /* the reader fails, too */
	return new Reader(new Uint8Array(await new Response(readable).arrayBuffer()));
}

/* V in UNIT: 'bytes', 'nanoseconds', or the name of a count. */
function amount(v, unit) {
	const scale = units => {
		for (const [size, name] of units)
			if (Math.abs(v) >= size) return (v / size).toPrecision(4).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') + ' ' + name;
		return Math.round(v) + ' ' + units[units.length - 1][1];
	};
	if (unit === 'bytes') return scale([[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']]);
	if (unit === 'nanoseconds') return scale([[3.6e12, 'h'], [6e10, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']]);
	const n = Math.round(v);
	return n.toLocaleString('en') + ' ' + (n === 1 ? unit.replace(/s$/, '') : unit);
}

const Z = 1.959964; /* two-sided 95% quantile of the normal distribution */
/* Wilson's score interval, in percent, of a share of N samples of equal weight; N null: exact. */
function interval(part, whole, n) {
	const p = whole ? part / whole : 0;
	if (!n) return [100 * p, 100 * p];
	const divisor = 1 + Z * Z / n, center = (p + Z * Z / (2 * n)) / divisor;
	const half = Z / divisor * Math.sqrt(Math.max(p * (1 - p), 0) / n + Z * Z / (4 * n * n));
	return [100 * Math.max(center - half, 0), 100 * Math.min(center + half, 1)];
}
/* Number of decimals that an interval allows. */
function digits([low, high]) { return high - low > 1 ? 0 : high - low > 0.1 ? 1 : 2; }
/* A share with its significant digits, and its 95% interval if it is wider than a percentage point. */
function percent(part, whole, n) {
	const range = interval(part, whole, n);
	const share = (whole ? 100 * part / whole : 0).toFixed(digits(range)) + '%';
	return digits(range) ? share : `${share}, ${Math.floor(range[0])}–${Math.ceil(range[1])}%`;
}
/* A share for a small space. */
function shortPercent(part, whole) {
	const p = whole ? 100 * part / whole : 0;
	return p >= 9.95 ? Math.round(p) + '%' : p >= 0.095 ? p.toFixed(1) + '%' : p > 0 ? '<0.1%' : '0%';
}

/* UTC times, as the commands accept them. */
function dayText(ms) {
	const t = new Date(ms);
	return isNaN(t) ? '?' : t.toISOString().slice(0, 10);
}
function timeText(ms, decimals = 0) {
	const t = new Date(ms);
	return isNaN(t) ? '?' : t.toISOString().slice(11, decimals ? 20 + decimals : 19);
}

/* A regular expression without case, or a part of the name if TEXT is none. */
function matcher(text) {
	try {
		const r = new RegExp(text, 'i');
		return s => r.test(s);
	} catch (e) {
		return s => s.toLowerCase().includes(text.toLowerCase());
	}
}

function hash(text) {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return h >>> 0;
}

/* Themes: the system's, until the user selects one. Each listener draws again. */
const theme = { dark: false, listeners: [] };
function setTheme(dark) {
	theme.dark = dark;
	document.documentElement.dataset.theme = dark ? 'dark' : 'light';
	for (const draw of theme.listeners) draw();
}
function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name); }
{
	const prefersDark = matchMedia('(prefers-color-scheme: dark)');
	setTheme(prefersDark.matches);
	prefersDark.addEventListener('change', e => setTheme(e.matches));
}

const CANVAS_MAX = 16000; /* larger canvases are blank in some browsers */
/* Set CANVAS to a size in CSS pixels. Returns its context, which is scaled to device pixels, and filled with BACK. */
function startDrawing(canvas, width, height, back = css('--back')) {
	const ratio = Math.min(theme.printing ? 2 : window.devicePixelRatio || 1, CANVAS_MAX / Math.max(1, width, height)), context = canvas.getContext('2d');
	const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
		canvas.style.height = height + 'px';
	}
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.globalAlpha = 1;
	context.fillStyle = back;
	context.fillRect(0, 0, width, height);
	context.textBaseline = 'middle';
	context.font = '12px "DejaVu Sans Mono", "Cascadia Mono", Menlo, monospace';
	return context;
}

/* State of the page in the URL's fragment: a shared link opens the same view. Empty values are omitted. */
function readFragment() { return Object.fromEntries(new URLSearchParams(location.hash.slice(1))); }
function writeFragment(values) {
	const p = new URLSearchParams();
	for (const [k, v] of Object.entries(values)) if (v) p.set(k, v);
	try { history.replaceState(null, '', '#' + p); } catch (e) { location.hash = p; }
}

/* Tooltip at a mouse event; no content hides it. */
function showTip(event, ...content) {
	const box = $('tip');
	box.hidden = !content.length;
	box.replaceChildren(...content);
	if (box.hidden) return;
	const x = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
	let y = event.clientY + 18;
	if (y + box.offsetHeight > innerHeight - 8) y = event.clientY - box.offsetHeight - 12;
	box.style.left = Math.max(4, x) + 'px';
	box.style.top = Math.max(4, y) + 'px';
}
function facts(rows) {
	const table = document.createElement('table');
	for (const row of rows) {
		const tr = table.insertRow();
		row.forEach((text, i) => { tr.append(element('td', text, i ? '' : 'soft')); });
	}
	return table;
}
