/*
 * playground.js - paste any error or log line: what it is, what to do, and how every
 * contract says it. The text is in the address, so a link holds it.
 */
import { h, inspect, code, copyButton, json, retryBadge, sentence, tabs } from './dom.js';

const EXAMPLES = [
	'Error: check conflicts: server 503: try again in 30s',
	'[CONFLICT] held by agent-2',
	'{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Invalid arguments: path is required"}}',
	'ENOENT: no such file or directory, open \'/srv/data/report.csv\'',
	'{"error":{"code":"cache_missing","message":"cache missing"}}',
];

/* Text as base64url of UTF-8, for the address. */
export function pack(text) {
	const bytes = new TextEncoder().encode(text);
	let binary = '';
	for (const byte of bytes)
		binary += String.fromCharCode(byte);
	return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

export function unpack(packed) {
	try {
		const binary = atob(packed.replaceAll('-', '+').replaceAll('_', '/'));
		return new TextDecoder().decode(Uint8Array.from(binary, (c) => c.charCodeAt(0)));
	} catch {
		return '';
	}
}

const FOUND = { text: 'Plain text, classified', json: 'JSON in no contract, classified' };

function show(read) {
	const rule = read.classification;
	return [
		h('section', { class: `banner ${read.retry === 'backoff' ? 'warning' : read.retry === 'never' ? 'critical' : 'good'}` },
			h('strong', {}, sentence(read.decision.reason)),
			h('span', {}, read.decision.delay ? `wait about ${read.decision.delay} s` : read.hint || '')),
		h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', {}, read.title), code(read.code), retryBadge(read.retry)),
			h('p', {}, FOUND[read.found] || `In the contract ${read.found}`,
				rule && rule.rule ? [' by the rule ', h('code', {}, rule.rule), `, confidence ${rule.confidence.toFixed(2)}`] : null,
				rule && rule.contested_by ? [' (also matched: ', h('code', {}, rule.contested_by), ')'] : null,
				rule && !rule.rule ? ': no rule matches, so it is not retried' : null)),
		h('section', { class: 'card' }, h('h2', {}, 'In every contract'),
			tabs('Contract', Object.entries(read.contracts).map(([name, text]) => ({
				name, make: () => h('div', {}, h('div', { class: 'right' }, copyButton(text)), json(text)),
			})))),
	];
}

export function playground(main, live, query, packed) {
	const input = h('textarea', { rows: 6, spellcheck: 'false', 'aria-label': 'Error or log line', placeholder: 'Paste an error in any form: a sentence, a log line, JSON of any contract, a JSON-RPC reply' });
	const output = h('div', { 'aria-live': 'polite' });
	let timer = 0, newest = 0, isGone = false;

	async function read() {
		const text = input.value, mine = ++newest;
		if (!text.trim()) {
			output.replaceChildren();
			return;
		}
		history.replaceState(null, '', `#/playground/${text.length <= 4000 ? pack(text) : ''}`);
		try {
			const answer = await inspect(text);
			if (mine === newest && !isGone)
				output.replaceChildren(...show(answer));
		} catch (refused) {
			if (mine === newest && !isGone)
				output.replaceChildren(h('p', { class: 'banner critical' }, refused.message));
		}
	}
	input.addEventListener('input', () => {
		clearTimeout(timer);
		timer = setTimeout(read, 150);
	});
	const examples = EXAMPLES.map((text) => h('button', { class: 'chip', type: 'button', onclick: () => { input.value = text; read(); } }, text.length > 48 ? `${text.slice(0, 46)}…` : text));
	main.replaceChildren(h('h1', {}, 'Playground'), h('section', { class: 'card' }, input, h('div', { class: 'examples' }, 'Try ', examples)), output);
	input.value = packed ? unpack(packed) : '';
	return { loaded: read(), leave() { isGone = true; clearTimeout(timer); } };
}
