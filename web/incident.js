/*
 * incident.js - one failure: what happened, what the agent got, what to do, and
 * whether it happened before. And the list of failures.
 */
import { h, api, inspect, code, copyButton, duration, json, retryBadge, sentence, tabs } from './dom.js';
import { similarTo } from './similar.js';

/* How many incidents are compared, and how many are shown. */
const COMPARED = 200, SHOWN = 8;

function day(time) {
	return `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`;
}

/* A phone has no room for the year and the zone. */
function shortDay(time) {
	const all = day(time);
	return [h('span', { class: 'wide' }, all.slice(0, 5)), all.slice(5, 19), h('span', { class: 'wide' }, all.slice(19))];
}

export function incidentRow(incident) {
	return h('tr', {},
		h('td', { class: 'when' }, h('a', { href: `#/incident/${encodeURIComponent(incident.id)}` }, shortDay(incident.time))),
		h('td', {}, code(incident.code, incident.severity)),
		h('td', { class: 'wide' }, incident.tool || incident.operation || ''),
		h('td', { class: 'message' }, incident.message));
}

function table(incidents) {
	return h('table', { class: 'rows stacked' },
		h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'time'), h('th', { scope: 'col' }, 'code'), h('th', { scope: 'col', class: 'wide' }, 'tool'), h('th', { scope: 'col' }, 'message'))),
		h('tbody', {}, incidents.map(incidentRow)));
}

export function incidents(main, live, query) {
	const params = new URLSearchParams(query);
	const body = h('div', {}, 'Loading');
	const field = (name, label) => h('label', {}, label, ' ', h('input', { name, type: 'search', value: params.get(name) || '', placeholder: name === 'id' ? 'inc_…' : 'any' }));
	const form = h('form', { class: 'search' }, field('code', 'Code'), field('tool', 'Tool'), field('id', 'Incident id'), h('button', {}, 'Find'));

	form.addEventListener('submit', (event) => {
		event.preventDefault();
		const values = new FormData(form);
		const id = String(values.get('id')).trim();
		if (id) {
			location.hash = `#/incident/${encodeURIComponent(id)}`;
			return;
		}
		const next = new URLSearchParams([...values].filter(([, value]) => String(value).trim()));
		location.hash = `#/incidents?${next}`;
	});
	main.replaceChildren(h('h1', {}, 'Incidents'), form, h('section', { class: 'card' }, body));

	async function load() {
		const wanted = new URLSearchParams({ limit: '200' });
		for (const name of ['code', 'tool'])
			if (params.get(name))
				wanted.set(name, params.get(name));
		const { incidents: found, stored } = await api(`incidents?${wanted}`);
		const none = stored ? 'No matching incidents.' : 'This server stores no incidents (--incidents off).';
		body.replaceChildren(found.length ? table(found) : h('p', { class: 'empty' }, none));
	}
	return { loaded: load(), leave() {} };
}

/* Facts as a list of terms; those without a value are left out. */
function facts(pairs) {
	return h('dl', { class: 'facts' }, pairs.filter(([, value]) => value !== undefined && value !== null && value !== '')
		.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value instanceof Node ? value : String(value))]));
}

function chain(error) {
	const links = [].concat(error.cause || []);
	if (!links.length)
		return null;
	return h('section', { class: 'card' }, h('h2', {}, 'Caused by'),
		h('ol', { class: 'chain' }, links.map((link) => h('li', {}, typeof link === 'string' ? link
			: [link.code ? [code(link.code), ' '] : null, link.message || JSON.stringify(link)]))));
}

function context(error) {
	const fields = Object.entries(error.context || {});
	return fields.length ? h('section', { class: 'card' }, h('h2', {}, 'Context'),
		facts(fields.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]))) : null;
}

function told(contracts, used) {
	const names = Object.keys(contracts).sort((a, b) => (b === used) - (a === used));
	return h('section', { class: 'card' },
		h('div', { class: 'head' }, h('h2', {}, 'What the agent got'),
			h('span', { class: 'note' }, used ? `in its contract, ${used}; the other tabs show the same error in every other one` : 'in every contract; which one this client used is not recorded')),
		tabs('Contract', names.map((name) => ({
			name: name === used ? `${name} (sent)` : name,
			make: () => h('div', {}, h('div', { class: 'right' }, copyButton(contracts[name])), json(contracts[name])),
		}))));
}

/* Incidents with the same code or tool are compared; the most similar are shown. */
async function similar(found) {
	const ask = (name) => found[name] ? api(`incidents?limit=${COMPARED}&${name}=${encodeURIComponent(found[name])}`) : { incidents: [] };
	const lists = await Promise.all([ask('code'), ask('tool')]);
	const alike = similarTo(found, lists.flatMap((list) => list.incidents));
	const rows = alike.slice(0, SHOWN).map(({ incident: other, reasons }) => {
		const row = incidentRow(other);
		row.append(h('td', { class: 'wide note' }, `same ${reasons.join(', ')}`.replace('same similar', 'similar')));
		return row;
	});
	return h('section', { class: 'card' },
		h('div', { class: 'head' }, h('h2', {}, 'Similar incidents'),
			h('span', { class: 'note' }, alike.length ? `${alike.length} alike among the last ${COMPARED} of this code and of this tool` : ''),
			h('a', { href: `#/incidents?code=${encodeURIComponent(found.code)}` }, 'all with this code')),
		rows.length ? h('table', { class: 'rows stacked' },
			h('thead', {}, h('tr', {}, ['time', 'code'].map((name) => h('th', { scope: 'col' }, name)), h('th', { scope: 'col', class: 'wide' }, 'tool'), h('th', { scope: 'col' }, 'message'), h('th', { scope: 'col', class: 'wide' }, 'alike in'))),
			h('tbody', {}, rows)) : h('p', { class: 'empty' }, 'No other incident is like this one.'));
}

/* What a program said on its standard error, or another detail for the operator. */
function detail(text) {
	return text ? h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', {}, 'Details for you'), h('span', { class: 'note' }, 'the agent did not get this')),
		h('pre', { class: 'json', tabindex: '0' }, text)) : null;
}

function proof(incident) {
	const command = `faultwire audit query --incident ${incident.id} && faultwire audit verify`;
	return h('section', { class: 'card' }, h('h2', {}, 'Proof'),
		h('p', {}, 'The audit log has a record of this failure, written before the reply was sent. On the machine of the server:'),
		h('div', { class: 'command' }, h('code', {}, command), copyButton(command)));
}

export function incident(main, live, query, id) {
	main.replaceChildren(h('p', {}, 'Loading'));

	async function load() {
		const found = await api(`incidents/${encodeURIComponent(id)}`);
		const error = found.error || {};
		const [read, others] = await Promise.all([inspect(JSON.stringify(error)), similar(found)]);
		main.replaceChildren(
			h('p', { class: 'crumb' }, h('a', { href: '#/incidents' }, 'Incidents'), ' / ', h('code', {}, found.id)),
			h('h1', {}, error.title || found.code),
			h('p', { class: 'lead' }, found.message),
			h('section', { class: `banner ${error.severity === 'critical' ? 'critical' : 'warning'}` },
				h('strong', {}, sentence(read.decision.reason)), h('span', {}, error.hint || '')),
			h('div', { class: 'columns' },
				h('section', { class: 'card' }, h('h2', {}, 'Facts'), facts([
					['code', code(found.code, found.severity)], ['advice', retryBadge(error.retry)],
					['retry after', error.retry_after && `${error.retry_after} s`],
					['time', day(found.time)], ['tool', found.tool], ['operation', error.operation || found.operation],
					['client', found.client || error.client], ['session', error.session_id], ['peer', found.peer],
					['origin', error.origin], ['delivery', error.delivery], ['status', found.status],
					['took', found.duration_ms !== undefined ? duration(found.duration_ms) : undefined],
					['seen', found.seen && `${found.seen.count} times since ${day(found.seen.first)}`],
					['trace', error.trace_id]])),
				h('div', {}, context(error), chain(error), detail(found.detail), proof(found))),
			told(read.contracts, found.contract), others);
	}
	return { loaded: load(), leave() {} };
}
