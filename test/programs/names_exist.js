'use strict';
/* Reads frames of JavaScript, one a line on standard input (name, file, line, separated by tabs),
 * and prints the frames that no source has.
 *
 * usage: node --expose-internals names_exist.js FILE... <FRAMES
 *
 * If a frame has no file, its function must be one of V8's own. The sources are the FILEs, and
 * node's built-in modules; a parser finds the functions, not V8. V8 names a function without a name
 * after the variable or property that it is assigned to, as far as V8 can tell. Each part of such a
 * name must be a word of the file. A line must be in a function of that name. The variable
 * LEAVE_OUT is the name of a function that is reported as missing. */
const fs = require('fs');
const path = require('path');
const acorn = require('internal/deps/acorn/acorn/dist/acorn');
const walk = require('internal/deps/acorn/acorn-walk/dist/walk');

/* By node's name of each file, and by the end of that name, which frames show. */
const sources = new Map();
for (const [name, text] of Object.entries(process.binding('natives')))
	add(`node:${name}`, text);
add('v8/gc', ''); // from --expose-gc
for (const file of process.argv.slice(2))
	add(file, fs.readFileSync(file, 'utf8'));

function add(file, text) {
	const known_as = path.basename(file);
	if (!sources.has(known_as))
		sources.set(known_as, []);
	sources.get(known_as).push({ text, functions: undefined });
}

function key_of(node) {
	if (node.computed)
		return undefined;
	return node.key.type === 'PrivateIdentifier' ? `#${node.key.name}` : String(node.key.name ?? node.key.value);
}

function functions_of(source) {
	if (source.functions)
		return source.functions;
	const all = source.functions = [];
	const options = { ecmaVersion: 'latest', locations: true, allowReturnOutsideFunction: true, allowAwaitOutsideFunction: true,
		allowHashBang: true, allowSuperOutsideMethod: true };
	let tree;
	try {
		tree = acorn.parse(source.text, { ...options, sourceType: 'script' });
	} catch {
		tree = acorn.parse(source.text, { ...options, sourceType: 'module' });
	}
	const names = new Map();
	const give = (node, ...called) => node && names.set(node, [...names.get(node) ?? [], ...called]);
	const put = (node, called) => all.push({ names: called, from: node.loc.start.line, to: node.loc.end.line });
	source.words = new Set(source.text.match(/[\p{ID_Start}$_#][\p{ID_Continue}$]*/gu));
	walk.full(tree, (node) => {
		switch (node.type) {
		case 'VariableDeclarator':
			give(node.init, node.id.name);
			break;
		case 'AssignmentExpression':
		case 'AssignmentPattern':
			give(node.right, node.left.name);
			break;
		case 'Property':
		case 'MethodDefinition':
		case 'PropertyDefinition': {
			const key = key_of(node);
			if (node.value && key !== undefined)
				give(node.value, key, `get ${key}`, `set ${key}`);
			else if (node.value && node.key.type === 'MemberExpression')
				give(node.value, ...['', 'get ', 'set '].map((kind) => `${kind}[Symbol.${node.key.property.name}]`));
			else if (node.value && /^Symbol[A-Z]/.test(node.key.name)) // node's own way to write it
				give(node.value, ...['', 'get ', 'set '].map((kind) => `${kind}[Symbol.${node.key.name[6].toLowerCase()}${node.key.name.slice(7)}]`));
			break;
		}
		}
	});
	walk.fullAncestor(tree, (node, ancestors) => {
		if (/Function/.test(node.type))
			put(node, [node.id?.name, ...names.get(node) ?? []].filter((name) => name !== undefined));
		if (/^Class(Declaration|Expression)$/.test(node.type)) {
			const called = [node.id?.name, ...names.get(node) ?? []].filter((name) => name !== undefined);
			put(node, called); // its constructor, if it is not written
			put(node, ['<instance_members_initializer>', '<static_initializer>']);
			for (const member of node.body.body)
				if (member.kind === 'constructor')
					put(member, called);
		}
	});
	const end = source.text.split('\n').length;
	all.push({ names: [], from: 1, to: end }); // the file itself
	return all;
}

function exists(name, file, line) {
	return name !== process.env.LEAVE_OUT && (sources.get(file) ?? []).some((source) => functions_of(source).some((made) => {
		if (line < made.from || line > made.to)
			return false;
		if (made.names.includes(name))
			return true;
		return !made.names.length &&
			(name === '(anonymous)' || name.split('.').every((word) => !word || source.words.has(word) || word === '<computed>'));
	}));
}

/* V8's built-in functions, which no source has: all that can be reached. */
const own = new Set(['(anonymous)']);
const seen = new Set();
const reached = [globalThis, [][Symbol.iterator](), ''[Symbol.iterator](), new Map().entries(), new Set().values(), 'x'.matchAll(/x/g),
	(function* () {})(), (async function* () {})(), async () => {}, Object.getPrototypeOf(Int8Array), [].values().map?.(() => 1)];
while (reached.length) {
	const at = reached.pop();
	if (!at || !/^(object|function)$/.test(typeof at) || seen.has(at) || seen.size > 1e6)
		continue;
	seen.add(at);
	if (typeof at === 'function' && typeof at.name === 'string')
		own.add(at.name).add(at.name.replace(/^bound /, ''));
	try {
		for (const key of Reflect.ownKeys(at)) {
			const property = Reflect.getOwnPropertyDescriptor(at, key);
			reached.push(property.value, property.get, property.set);
		}
		reached.push(Object.getPrototypeOf(at));
	} catch {
		// cannot be inspected
	}
}

for (const frame of fs.readFileSync(0, 'utf8').split('\n')) {
	const [name, file, line] = frame.split('\t');
	if (frame && !(file || Number(line) || name === process.env.LEAVE_OUT ? exists(name, file, Number(line)) : own.has(name)))
		console.log(frame);
}
