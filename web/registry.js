/*
 * registry.js - every error code: what it means, what to do, and its name in every
 * contract.
 */
import { h, api, code, retryBadge } from './dom.js';

let rows = null;

async function all() {
	if (!rows) {
		const answer = await api('registry');
		rows = answer.codes || answer.rows || answer;
	}
	return rows;
}

function matches(row, words) {
	const text = JSON.stringify(row).toLowerCase();
	return words.every((word) => text.includes(word));
}

function paragraphs(text) {
	return String(text || '').split(/\n\n+/).map((part) => h('p', {}, part.split('`').map((piece, i) => i % 2 ? h('code', {}, piece) : piece)));
}

export function registry(main, live, query, name) {
	return name ? one(main, name) : list(main, query);
}

function list(main, query) {
	const field = h('input', { type: 'search', 'aria-label': 'Search codes', placeholder: 'code, contract code, status or words', value: new URLSearchParams(query).get('q') || '' });
	const body = h('div');
	const total = h('span', { class: 'note' });

	async function draw() {
		const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
		const found = (await all()).filter((row) => matches(row, words));
		total.textContent = `${found.length} codes`;
		body.replaceChildren(found.length ? h('table', { class: 'rows' },
			h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'code'), h('th', { scope: 'col' }, 'title'), h('th', { scope: 'col', class: 'number' }, 'status'), h('th', { scope: 'col', class: 'wide' }, 'advice'))),
			h('tbody', {}, found.map((row) => h('tr', {}, h('td', {}, code(row.code, row.severity)), h('td', {}, row.title), h('td', { class: 'number' }, row.status), h('td', { class: 'wide' }, retryBadge(row.retry))))))
			: h('p', { class: 'empty' }, 'No matching codes.'));
	}
	field.addEventListener('input', draw);
	main.replaceChildren(h('h1', {}, 'Codes'), h('div', { class: 'search' }, field, total), h('section', { class: 'card' }, body));
	return { loaded: draw(), leave() {} };
}

function one(main, name) {
	async function load() {
		const row = await api(`registry/${encodeURIComponent(name)}`);
		const names = Object.entries(row.contracts || {});
		main.replaceChildren(
			h('p', { class: 'crumb' }, h('a', { href: '#/registry' }, 'Codes'), ' / ', h('code', {}, row.code)),
			h('h1', {}, row.title), h('p', { class: 'lead' }, row.message),
			h('section', { class: 'card' }, h('h2', {}, 'What it means'), paragraphs(row.explanation)),
			h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', {}, 'What to do'), retryBadge(row.retry)), h('p', {}, row.hint)),
			h('div', { class: 'columns' },
				h('section', { class: 'card' }, h('h2', {}, 'Facts'), h('dl', { class: 'facts' },
					['status', 'category', 'type', 'severity', 'number'].filter((key) => row[key] !== undefined).map((key) => [h('dt', {}, key), h('dd', {}, String(row[key]))]))),
				h('section', { class: 'card' }, h('h2', {}, 'In the contracts'), h('dl', { class: 'facts' },
					names.map(([contract, its]) => [h('dt', {}, contract), h('dd', {}, h('code', {}, its))])))),
			h('p', {}, h('a', { href: `#/incidents?code=${encodeURIComponent(row.code)}` }, 'Incidents with this code'), ' · ',
				h('a', { href: `/problems/${encodeURIComponent(row.code)}` }, 'Its page')));
	}
	main.replaceChildren(h('p', {}, 'Loading'));
	return { loaded: load(), leave() {} };
}
