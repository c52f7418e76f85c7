/*
 * fleet.js - what this server shares with other replicas: can it be reached, since when not,
 * and what is decided by this server alone meanwhile.
 */
import { h, ago, clock, count } from './dom.js';

const size = (bytes) => bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

function storeNotes(store) {
	const notes = [];
	if (store.incidents_waiting)
		notes.push(`${count(store.incidents_waiting)} incidents (${size(store.incidents_waiting_bytes)}) wait on the disk of this server`);
	if (store.incidents_lost)
		notes.push(`${count(store.incidents_lost)} incidents were lost`);
	if (store.state === 'up')
		return notes.length ? notes : ['Incidents, tokens and budgets are shared.'];
	if (store.tokens === 'accepted')
		notes.push('known tokens are accepted for a while');
	if (store.tokens === 'refused')
		notes.push('all tokens are refused, since a revocation would not be noticed');
	if (store.tokens)
		notes.push('budgets: only what this server has reserved is spent');
	notes.push('reservations and idempotency keys are refused');
	return notes;
}

function limitNotes(limits) {
	const { shared, leased, local } = limits.decisions;
	const made = `Decisions: ${count(shared)} shared, ${count(leased)} leased, ${count(local)} by this server alone.`;
	if (limits.state === 'up')
		return [`${limits.replicas === 1 ? 'One replica was' : `${count(limits.replicas)} replicas were`} seen.`, made];
	return [`this server applies its share of each limit: ${limits.replicas === 1 ? 'the whole limit, since no other replica was seen' : `one of ${count(limits.replicas)}`}.`, made];
}

function row(name, engine, part, notes, now) {
	const isUp = part.state === 'up';
	return h('tr', {},
		h('td', {}, name, h('div', { class: 'note' }, engine)),
		h('td', {}, h('span', { class: `badge ${isUp ? 'good' : 'never'}` }, isUp ? 'reachable' : 'away'),
			isUp ? null : h('div', { class: 'note' }, `for ${ago(part.since_ms, now).replace(' ago', '')}, since ${clock(part.since_ms)} UTC`)),
		h('td', {}, notes.map((note) => h('div', { class: 'note' }, note.charAt(0).toUpperCase() + note.slice(1)))));
}

/* The parts that cannot be reached now, in words. */
export function fleetFaults(fleet) {
	return [[fleet?.store, 'The shared store is away'], [fleet?.limits, 'The limits store is away']]
		.filter(([part]) => part && part.state !== 'up').map(([, words]) => words);
}

export function fleetTable(fleet, now) {
	return h('table', { class: 'rows' },
		h('thead', {}, h('tr', {}, ['shared', 'state', 'now'].map((name) => h('th', { scope: 'col' }, name)))),
		h('tbody', {},
			fleet.store ? row('Store', 'PostgreSQL', fleet.store, storeNotes(fleet.store), now) : null,
			fleet.limits ? row('Limits', 'Redis or Valkey', fleet.limits, limitNotes(fleet.limits), now) : null));
}
