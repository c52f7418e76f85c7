/*
 * dom.js - elements, requests and numbers. Text from outside becomes text nodes and
 * attributes, never markup.
 */

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
	for (const [name, value] of Object.entries(attributes || {})) {
		if (value === undefined || value === null || value === false)
			continue;
		if (name.startsWith('on'))
			element.addEventListener(name.slice(2), value);
		else
			element.setAttribute(name, value === true ? '' : value);
	}
	for (const child of children.flat(Infinity)) {
		if (child !== undefined && child !== null && child !== false)
			element.append(child);
	}
	return element;
}

/* h('p', { class: 'note' }, 'text', element...) */
export function h(name, attributes, ...children) {
	return fill(document.createElement(name), attributes, children);
}

/* The same for SVG. */
export function s(name, attributes, ...children) {
	return fill(document.createElementNS(SVG, name), attributes, children);
}

export class Refused extends Error {
	constructor(status, problem) {
		super(problem.detail || `HTTP ${status}`);
		this.status = status;
		this.problem = problem;
	}
}

/* A JSON answer of the API; throws Refused. */
export async function api(path, options) {
	const answer = await fetch(`/api/v1/${path}`, { headers: { Accept: 'application/json, application/problem+json' }, ...options });
	const body = await answer.json().catch(() => ({}));
	if (!answer.ok)
		throw new Refused(answer.status, body);
	return body;
}

export const inspect = (text) => api('inspect', { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: text });

/* ---- words ---- */

export function count(n) {
	if (n >= 1e6)
		return `${(n / 1e6).toFixed(1)} M`;
	return n >= 1e4 ? `${(n / 1e3).toFixed(1)} k` : String(n);
}

export function percent(part, whole) {
	if (!whole)
		return '–';
	const value = 100 * part / whole;
	return value > 0 && value < 0.1 ? '< 0.1 %' : `${value.toFixed(value < 10 ? 1 : 0)} %`;
}

export function duration(ms) {
	if (ms === null || ms === undefined)
		return '–';
	if (ms < 1)
		return `${Math.max(1, Math.round(ms * 1000))} µs`;
	return ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

export function ago(then, now) {
	const seconds = Math.max(0, Math.round((now - then) / 1000));
	if (seconds < 60)
		return `${seconds} s ago`;
	if (seconds < 3600)
		return `${Math.floor(seconds / 60)} min ago`;
	return seconds < 86400 ? `${Math.floor(seconds / 3600)} h ago` : `${Math.floor(seconds / 86400)} d ago`;
}

export function clock(ms) {
	return new Date(ms).toISOString().slice(11, 19);
}

/* The first letter in upper case. */
export function sentence(text) {
	return text ? text[0].toUpperCase() + text.slice(1) : '';
}

/* A code as a link to its explanation. */
export function code(name, severity) {
	return h('a', { class: `code ${severity || ''}`, href: `#/registry/${encodeURIComponent(name)}` }, name);
}

const RETRY = { backoff: 'retry later', after_fix: 'fix, then retry', never: 'do not retry' };

export function retryBadge(retry) {
	return h('span', { class: `badge ${retry}` }, RETRY[retry] || retry);
}

/* A button that copies `text`. */
export function copyButton(text) {
	const button = h('button', { class: 'quiet', type: 'button' }, 'Copy');
	button.addEventListener('click', async () => {
		try {
			await navigator.clipboard.writeText(text);
			button.textContent = 'Copied';
		} catch {
			button.textContent = 'Select and copy';
		}
		setTimeout(() => { button.textContent = 'Copy'; }, 1500);
	});
	return button;
}

/* JSON laid out with coloured tokens; text that is not JSON as it is. */
export function json(text) {
	let shown = text;
	try {
		shown = JSON.stringify(JSON.parse(text), null, 2);
	} catch { /* shown as it is */ }
	const pre = h('pre', { class: 'json', tabindex: '0' });
	const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b/g;
	let at = 0;
	for (const match of shown.matchAll(token)) {
		pre.append(shown.slice(at, match.index));
		const kind = match[2] ? 'key' : match[1] ? 'text' : match[3] ? 'word' : 'number';
		pre.append(h('span', { class: kind }, match[2] ? match[1] : match[0]), match[2] || '');
		at = match.index + match[0].length;
	}
	pre.append(shown.slice(at));
	return pre;
}

/* Tabs: [{ name, make }]; the panel of the chosen one is made when it is shown. */
export function tabs(label, items) {
	const panel = h('div', { class: 'panel', role: 'tabpanel' });
	const list = h('div', { class: 'tabs', role: 'tablist', 'aria-label': label });
	const buttons = items.map((item, index) => h('button', {
		type: 'button', role: 'tab',
		onclick: () => choose(index),
		onkeydown: (event) => {
			const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
			if (step) {
				choose((index + step + items.length) % items.length);
				buttons[(index + step + items.length) % items.length].focus();
			}
		},
	}, item.name));
	function choose(index) {
		buttons.forEach((button, i) => {
			button.setAttribute('aria-selected', String(i === index));
			button.setAttribute('tabindex', i === index ? '0' : '-1');
		});
		panel.replaceChildren(items[index].make());
		panel.setAttribute('aria-label', items[index].name);
	}
	list.append(...buttons);
	choose(0);
	return h('div', {}, list, panel);
}
