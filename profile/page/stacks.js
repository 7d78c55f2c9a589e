/* Decoder of page_stacks.h, and trees of stacks: as recorded, by thread, and inverted. */

/* Returns the value of KEY in LINES of "key=value", or "". */
function labelValue(lines, key) {
	return (lines.find(line => line.startsWith(key + '=')) || '').slice(key.length + 1);
}

/* A profile. Node 0 is the root of all stacks, with frame 0; the nodes are in preorder. Frames after the last
 * one are the threads. */
class Stacks {
	constructor(reader, hasTimes) {
		this.texts = reader.texts();
		let count = reader.number();
		this.frames = count + 1;
		const columns = [0, 0, 3, 0].map(root => {
			const list = new Uint32Array(count + 1);
			list.set(reader.column(count), 1);
			list[0] = root;
			return list;
		});
		[this.frameName, this.frameModule, this.frameType, this.frameCategory] = columns;
		this.readNodes(reader);
		this.threads = [''].concat(reader.texts().all());
		this.labels = [''].concat(reader.texts().all()).map(text => text.split('\n').filter(line => line));
		this.sets = [this.readSamples(reader, hasTimes), this.readSamples(reader, false)];
	}
	/* Frames of one function, which may be inlined in places, have one number: that of the first one. */
	get functionOf() { return this.functionNumbers = this.functionNumbers || this.numberFunctions(); }
	numberFunctions() {
		/* A hash table of frames, 0: free. A Map of a million keys would need a second. */
		const { frameName, frameModule } = this, mask = 2 ** Math.ceil(Math.log2(this.frames + 1) + 1) - 1;
		const known = new Int32Array(mask + 1), functionOf = new Uint32Array(this.frames);
		for (let f = 1; f < this.frames; f++) {
			const mixed = Math.imul(frameName[f], 0x9e3779b1) + Math.imul(frameModule[f], 0x85ebca6b);
			let at = (mixed ^ mixed >>> 15) & mask;
			while (known[at] && (frameName[known[at]] !== frameName[f] || frameModule[known[at]] !== frameModule[f])) at = at + 1 & mask;
			functionOf[f] = known[at] = known[at] || f;
		}
		return functionOf;
	}
	readNodes(reader) {
		const count = reader.number(), ups = reader.column(count);
		this.parent = new Int32Array(count + 1);
		this.frame = new Uint32Array(count + 1);
		this.frame.set(reader.column(count), 1);
		this.parent[0] = -1;
		for (let i = 1; i <= count; i++) {
			let up = ups[i - 1], p = i - 1;
			while (up--) p = this.parent[p];
			this.parent[i] = p;
		}
	}
	readSamples(reader, hasTimes) {
		const count = reader.number();
		const set = { count, row: hasTimes ? reader.column(count) : null, node: new Uint32Array(count) };
		for (let i = 1; set.row && i < count; i++) set.row[i] += set.row[i - 1];
		for (let i = 0, node = 0; i < count; i++) set.node[i] = node += reader.signed();
		set.thread = reader.column(count);
		set.label = reader.column(count);
		set.value = reader.column(count, Float64Array);
		return set;
	}
	/* Strings of frames: 0 is the root's, the others are `texts`. */
	string(i) { return i ? this.texts.at(i - 1) : 'all'; }
	strings() { return ['all'].concat(this.texts.all()); }
	name(frame) { return frame < this.frames ? this.string(this.frameName[frame]) : this.threads[frame - this.frames]; }
	module(frame) { return frame < this.frames && this.frameModule[frame] ? this.string(this.frameModule[frame]) : ''; }
	type(frame) { return frame < this.frames ? this.frameType[frame] : 3; }
	category(frame) { return frame < this.frames ? this.frameCategory[frame] : 0; }
	isThread(frame) { return frame >= this.frames; }

	/* Returns the distinct values of KEY in the labels that are USED. */
	labelValues(key, used) {
		const values = new Set(this.labels.map((lines, i) => used[i] ? labelValue(lines, key) : ''));
		values.delete('');
		return [...values].sort();
	}
}

/* Weights of a selection of samples: `self` and `base` by node, and the samples themselves. WANTED(set, i, base) decides,
 * for the profile's samples and the base's. */
class Selection {
	constructor(stacks, parts) {
		const n = stacks.parent.length;
		this.stacks = stacks;
		this.parts = parts; /* [set, wanted(i), is base] */
		this.self = new Float64Array(n);
		this.base = new Float64Array(n);
		this.labels = new Uint8Array(stacks.labels.length); /* 1: of a selected sample */
		this.whole = this.baseWhole = 0;
		for (const [set, wanted, isBase] of parts) {
			const into = isBase ? this.base : this.self;
			let sum = 0;
			for (let i = 0; i < set.count; i++) {
				if (!wanted(i)) continue;
				into[set.node[i]] += set.value[i];
				this.labels[set.label[i]] = 1;
				sum += set.value[i];
			}
			if (isBase) this.baseWhole += sum;
			else this.whole += sum;
		}
		/* In a comparison, the width of a stack is the larger of its shares in the profile and in the base, so
		 * stacks that exist only in the base are visible. */
		this.baseScale = this.whole && this.baseWhole ? this.whole / this.baseWhole : 1;
	}
	width(self, base) { return Math.max(self, base * this.baseScale); }
}

/* Returns LIST with twice its length. */
function grow(list) {
	const larger = new list.constructor(list.length * 2);
	larger.set(list);
	return larger;
}
/* The samples of SELECTION, sorted by thread: those of thread t are at starts[t] to starts[t + 1], each with its index in the
 * set of its part. */
function samplesByThread(selection) {
	const starts = new Uint32Array(selection.stacks.threads.length + 1);
	for (const [set, wanted] of selection.parts)
		for (let i = 0; i < set.count; i++) if (wanted(i)) starts[set.thread[i] + 1]++;
	for (let t = 1; t < starts.length; t++) starts[t] += starts[t - 1];
	const next = starts.slice(), count = starts[starts.length - 1], index = new Uint32Array(count), part = new Uint8Array(count);
	selection.parts.forEach(([set, wanted], p) => {
		for (let i = 0; i < set.count; i++) {
			if (!wanted(i)) continue;
			const at = next[set.thread[i]]++;
			index[at] = i;
			part[at] = p;
		}
	});
	return { starts, index, part };
}

/* Tree of drawn boxes. Subclasses fill frame, parent, total, baseTotal, width by node; selfOf, list children. */
class View {
	constructor(selection) {
		this.selection = selection;
		this.stacks = selection.stacks;
		this.sorted = new Map();
	}
	name(n) { return n ? this.stacks.name(this.frame[n]) : 'all'; }
	depth(n) {
		let d = 0;
		while ((n = this.parent[n]) >= 0) d++;
		return d;
	}
	/* Children, widest first; their x is set. Equal ones stay in their order. */
	kids(n) {
		let list = this.sorted.get(n);
		if (list) return list;
		list = this.children(n).filter(k => this.width[k] > 0);
		list.sort((a, b) => this.width[b] - this.width[a]);
		let x = this.x[n];
		for (const k of list) { this.x[k] = x; x += this.width[k]; }
		this.sorted.set(n, list);
		return list;
	}
	/* Path of N as text for the URL, and the node of such a text. */
	pathText(n) {
		const path = [];
		for (; n > 0; n = this.parent[n]) path.unshift(this.frame[n]);
		return path.join('.');
	}
	findPath(text) {
		let n = 0;
		for (const frame of text ? text.split('.') : []) {
			const k = this.kids(n).find(k => this.frame[k] === +frame);
			if (k === undefined) break;
			n = k;
		}
		return n;
	}
}

/* Outermost frames first. */
class Forward extends View {
	constructor(selection, byThread) {
		super(selection);
		if (byThread) this.split();
		else {
			this.parent = this.stacks.parent;
			this.frame = this.stacks.frame;
			this.self = selection.self;
			this.base = selection.base;
		}
		this.sum();
	}
	/* Copy the nodes of each thread's stacks below a node of that thread. */
	split() {
		const { stacks, selection } = this, { starts, index, part } = samplesByThread(selection), path = [];
		const copy = new Int32Array(stacks.parent.length), owner = new Int32Array(stacks.parent.length).fill(-1);
		let count = 1, parent = new Int32Array(1024).fill(-1, 0, 1), frame = new Uint32Array(1024);
		let self = new Float64Array(1024), base = new Float64Array(1024);
		const add = (p, f) => {
			if (count === parent.length) [parent, frame, self, base] = [parent, frame, self, base].map(grow);
			parent[count] = p;
			frame[count] = f;
			return count++;
		};
		for (let t = 0; t < stacks.threads.length; t++) {
			if (starts[t] === starts[t + 1]) continue;
			copy[0] = add(0, stacks.frames + t);
			owner[0] = t;
			for (let at = starts[t]; at < starts[t + 1]; at++) {
				const [set, , isBase] = selection.parts[part[at]], i = index[at];
				for (let n = set.node[i]; owner[n] !== t; n = stacks.parent[n]) path.push(n);
				while (path.length) {
					const k = path.pop();
					copy[k] = add(copy[stacks.parent[k]], stacks.frame[k]);
					owner[k] = t;
				}
				(isBase ? base : self)[copy[set.node[i]]] += set.value[i];
			}
		}
		[this.parent, this.frame, this.self, this.base] = [parent, frame, self, base].map(list => list.slice(0, count));
	}
	/* Parents have smaller numbers than their children. */
	sum() {
		const n = this.parent.length, { parent, base } = this, { baseScale, baseWhole } = this.selection;
		const total = this.total = this.self.slice();
		const baseTotal = this.baseTotal = baseWhole ? base.slice() : base;
		const width = this.width = baseWhole ? this.self.map((v, i) => Math.max(v, base[i] * baseScale)) : total;
		for (let i = n - 1; i > 0; i--) {
			const p = parent[i];
			total[p] += total[i];
			if (!baseWhole) continue;
			baseTotal[p] += baseTotal[i];
			width[p] += width[i];
		}
		const first = this.first = new Int32Array(n), next = this.next = new Int32Array(n);
		for (let i = n - 1; i > 0; i--) {
			next[i] = first[parent[i]];
			first[parent[i]] = i;
		}
		this.x = new Float64Array(n);
	}
	selfOf(n) { return this.self[n]; }
	children(n) {
		const list = [];
		for (let k = this.first[n]; k; k = this.next[k]) list.push(k);
		return list;
	}
	/* Calls VISIT(n) for all nodes. */
	each(visit) { for (let i = 1; i < this.parent.length; i++) visit(i); }
}

/* Innermost frames first. Such a tree can be many times larger than the data, so children are created on demand. Each
 * node has a range of `at`: positions in stacks, from the innermost frame outwards, and their weights. */
class Inverted extends View {
	constructor(selection, byThread) {
		super(selection);
		Object.assign(this, { frame: [0], parent: [-1], total: [0], baseTotal: [0], width: [0], x: [0], selfs: [0], range: [null] });
		this.threadRoots = null;
		if (byThread) this.fillByThread();
		else this.fill();
	}
	allocate(count) {
		this.at = new Int32Array(count);
		this.entrySelf = new Float64Array(count);
		this.entryBase = new Float64Array(count);
	}
	fill() {
		const { self, base } = this.selection;
		let count = 0, end = 0;
		for (let i = 0; i < self.length; i++) if (self[i] || base[i]) count++;
		this.allocate(count);
		for (let i = 0; i < self.length; i++) {
			if (!self[i] && !base[i]) continue;
			this.at[end] = i;
			this.entrySelf[end] = self[i];
			this.entryBase[end++] = base[i];
		}
		this.range[0] = [0, count];
		this.weigh(0, 0, count);
	}
	fillByThread() {
		const { selection, stacks } = this, { starts, index, part } = samplesByThread(selection);
		this.allocate(index.length);
		for (let at = 0; at < index.length; at++) {
			const [set, , isBase] = selection.parts[part[at]];
			this.at[at] = set.node[index[at]];
			(isBase ? this.entryBase : this.entrySelf)[at] = set.value[index[at]];
		}
		this.threadRoots = [];
		for (let t = 0; t < stacks.threads.length; t++)
			if (starts[t] < starts[t + 1]) this.threadRoots.push(this.add(0, stacks.frames + t, starts[t], starts[t + 1]));
		this.weigh(0, 0, index.length);
	}
	weigh(n, start, end) {
		let self = 0, base = 0, width = 0;
		for (let i = start; i < end; i++) {
			self += this.entrySelf[i];
			base += this.entryBase[i];
			width += this.selection.width(this.entrySelf[i], this.entryBase[i]);
		}
		this.total[n] = self; this.baseTotal[n] = base; this.width[n] = width;
	}
	add(parent, frame, start, end) {
		const n = this.frame.length;
		this.frame.push(frame); this.parent.push(parent); this.x.push(0);
		this.range.push([start, end]);
		this.weigh(n, start, end);
		this.selfs.push(0);
		return n;
	}
	/* Sort the node's entries by the next frame: each child gets a part of the range. */
	children(n) {
		if (n === 0 && this.threadRoots) return this.threadRoots;
		const [start, end] = this.range[n], { at, entrySelf, entryBase, stacks } = this, isRoot = !n || stacks.isThread(this.frame[n]);
		const group = new Int32Array(end - start), numbers = new Map(), frames = [], ends = [];
		for (let i = start; i < end; i++) {
			if (!isRoot) at[i] = stacks.parent[at[i]];
			if (at[i] <= 0) { group[i - start] = -1; continue; } /* end of the stack */
			const f = stacks.frame[at[i]];
			let g = numbers.get(f);
			if (g === undefined) {
				numbers.set(f, g = frames.length);
				frames.push(f);
				ends.push(0);
			}
			group[i - start] = g;
			ends[g]++;
		}
		const next = ends.map(() => 0);
		for (let g = 1; g < ends.length; g++) next[g] = next[g - 1] + ends[g - 1];
		const sorted = [at, entrySelf, entryBase].map(list => list.slice(start, end));
		const list = frames.map((f, g) => [f, start + next[g], start + next[g] + ends[g]]);
		for (let i = 0; i < group.length; i++) {
			if (group[i] < 0) continue;
			const to = start + next[group[i]]++;
			at[to] = sorted[0][i];
			entrySelf[to] = sorted[1][i];
			entryBase[to] = sorted[2][i];
		}
		return list.map(([f, from, to]) => {
			const k = this.add(n, f, from, to);
			if (isRoot) this.selfs[k] = this.total[k];
			return k;
		});
	}
	selfOf(n) { return this.selfs[n]; }
	/* Only the nodes that exist so far. */
	each(visit) { for (let i = 1; i < this.frame.length; i++) visit(i); }
}

/* Returns a test of the samples of SET by index: whether a frame of the stack has HIT, an array by frame, or the thread
 * has THREAD_HIT, which may be null. */
function matchTest(stacks, hit, threadHit) {
	const n = stacks.parent.length, inside = new Uint8Array(n);
	for (let i = 1; i < n; i++) inside[i] = inside[stacks.parent[i]] || hit[stacks.frame[i]];
	return (set, i) => inside[set.node[i]] || threadHit && threadHit[set.thread[i]];
}
/* The weight of SELECTION's samples, without its base, that pass TEST(set, i). */
function matchedWeight(selection, test) {
	let sum = 0;
	for (const [set, wanted, isBase] of selection.parts)
		for (let i = 0; i < set.count && !isBase; i++) if (test(set, i) && wanted(i)) sum += set.value[i];
	return sum;
}

/* Functions with self and total weight. A recursive function counts once per stack. */
function functionTable(forward) {
	const { stacks, frame, self, base, total, baseTotal } = forward, { functionOf } = stacks;
	const rows = Array.from({ length: stacks.frames }, (_, f) => ({ frame: f, self: 0, total: 0, baseSelf: 0, baseTotal: 0 }));
	eachOutermost(forward, (n, outermost) => {
		const row = rows[functionOf[frame[n]]];
		row.self += self[n];
		row.baseSelf += base[n];
		if (outermost) { row.total += total[n]; row.baseTotal += baseTotal[n]; }
	});
	return rows.filter(r => r.frame && (r.total || r.baseTotal));
}
/* Calls VISIT(node, whether no caller is the same function) for all nodes of a Forward without threads. */
function eachOutermost(forward, visit) {
	const { parent, frame, stacks } = forward, { functionOf } = stacks, active = new Int32Array(stacks.frames), path = [0];
	for (let i = 1; i < parent.length; i++) {
		while (path[path.length - 1] !== parent[i]) active[functionOf[frame[path.pop()]]]--;
		path.push(i);
		visit(i, !active[functionOf[frame[i]]]++);
	}
}
/* Callers and callees of a function: weights by function, of its outermost calls. */
function neighbours(forward, wanted) {
	const { frame, total, parent } = forward, { functionOf } = forward.stacks, callers = new Map(), callees = new Map();
	const add = (map, n, v) => map.set(functionOf[frame[n]], (map.get(functionOf[frame[n]]) || 0) + v);
	eachOutermost(forward, (n, outermost) => {
		if (functionOf[frame[n]] !== wanted || !outermost || !total[n]) return;
		add(callers, parent[n], total[n]);
		for (const k of forward.children(n)) if (total[k]) add(callees, k, total[k]);
	});
	const sort = map => [...map].sort((a, b) => b[1] - a[1]);
	return { callers: sort(callers), callees: sort(callees) };
}
