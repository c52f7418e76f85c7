/*
 * overview.js - is anything wrong now, what fails most, is it getting better.
 *
 * The numbers are read every few seconds; failures arrive one by one. Both only change
 * what is shown once per frame, and the list of failures has a fixed length.
 */
import { h, api, ago, clock, code, count, duration, percent, retryBadge } from './dom.js';
import { bars, lines, share, sparkline } from './chart.js';

const POLL_MS = 5000, FEED = 60, ROWS = 12, ALERTS = 3;
const sum = (list) => list.reduce((a, b) => a + b, 0);

/* ---- what fails most ---- */

const DIMENSIONS = [['code', 'By code'], ['tool', 'By tool'], ['client', 'By client']];

function addCounts(to, counts) {
	const shift = 60 - counts.length;
	counts.forEach((value, i) => { to[shift + i] += value; });
}

/* Rows of the server, grouped by one of code, tool and client. */
export function groupRows(rows, dimension, filter) {
	const groups = new Map();
	for (const row of rows) {
		const isFailure = row.code !== undefined;
		if ((filter.code && row.code !== filter.code) || (filter.tool && row.tool !== filter.tool) ||
		    (filter.client && (row.client || 'unnamed') !== filter.client))
			continue;
		const name = (dimension === 'code' ? row.code : row[dimension]) || (dimension === 'code' ? null : 'unnamed');
		if (name === null)
			continue;
		let group = groups.get(name);
		if (!group) {
			group = { name, failures: 0, calls: 0, counts: Array(60).fill(0), last: 0 };
			groups.set(name, group);
		}
		group.calls += sum(row.counts);
		if (!isFailure)
			continue;
		group.failures += sum(row.counts);
		addCounts(group.counts, row.counts);
		if (row.last_ms > group.last)
			Object.assign(group, { last: row.last_ms, severity: row.severity, retry: row.retry, incident: row.incident_id });
	}
	return [...groups.values()].filter((group) => group.failures > 0).sort((a, b) => b.failures - a.failures || b.last - a.last);
}

/* ---- the state of the server, in a sentence ---- */

export function judge(data, alerts, ready) {
	const calls = sum(data.calls.slice(-5)), failures = sum(data.failures.slice(-5));
	const before = sum(data.failures.slice(0, -5)) / Math.max(1, sum(data.calls.slice(0, -5)));
	const rate = calls ? failures / calls : 0;
	const words = [];
	let level = 'good';
	if (alerts.length) {
		level = alerts.some((alert) => alert.severity === 'critical') ? 'critical' : 'warning';
		words.push(alerts.length === 1 ? 'One alert is firing' : `${alerts.length} alerts are firing`);
	}
	if (ready.isReady === false) {
		level = 'critical';
		words.push('The server is not ready');
	}
	if (failures >= 5 && rate > 0.05 && rate > 2 * before) {
		level = level === 'good' ? 'warning' : level;
		words.push(`${percent(failures, calls)} of the calls of the last five minutes failed`);
	}
	if (!words.length)
		words.push(data.calls_total ? 'Nothing is wrong' : 'No calls yet');
	return { level, text: words.join('. ') };
}

function tile(label, value, note, kind) {
	return h('div', { class: `tile ${kind || ''}` }, h('div', { class: 'label' }, label), h('div', { class: 'value' }, value), h('div', { class: 'note' }, note));
}

function tiles(data) {
	const calls5 = sum(data.calls.slice(-5)), bad5 = sum(data.failures.slice(-5));
	const calls = sum(data.calls), bad = sum(data.failures);
	const recovered = sum(data.recovered), again = sum(data.failed_again);
	const p95 = data.p95_ms.filter((value) => value !== null);
	const last = (list) => list.filter((value) => value !== null).at(-1);
	return h('section', { class: 'tiles', 'aria-label': 'Numbers' },
		tile('Calls', count(calls), `last hour; ${count(calls5)} in 5 min`),
		tile('Failed', percent(bad5, calls5), `last 5 min; last hour ${percent(bad, calls)}`, bad5 ? 'bad' : ''),
		tile('p95', duration(last(data.p95_ms)), p95.length ? `p50 ${duration(last(data.p50_ms))}, p99 ${duration(last(data.p99_ms))}` : 'no calls'),
		tile('Retries that worked', recovered + again ? percent(recovered, recovered + again) : '–',
			recovered + again ? `${count(recovered)} of ${count(recovered + again)} next calls` : 'nothing to retry'));
}

const NOTHING = [
	'No failure has happened yet. To see one, paste this into a terminal:',
	`curl -s ${location.origin}/api/v1/tools`,
	'then call a tool with wrong arguments, or put the gateway in front of a server that fails: faultwire gate --http 127.0.0.1:0 -- COMMAND',
];

function empty() {
	return h('div', { class: 'empty' }, h('p', {}, NOTHING[0]), h('pre', {}, NOTHING[1]), h('p', {}, NOTHING[2]),
		h('p', {}, 'Or try an error text in the ', h('a', { href: '#/playground' }, 'playground'), '.'));
}

/* ---- the view ---- */

export function overview(main, live) {
	let data = null, alerts = [], ready = { lines: [] };
	let dimension = 'code', allAlerts = false;
	const filter = {};
	const feed = [];
	let isDue = false, isFeedDue = false, isGone = false;

	const banner = h('section', { class: 'banner good', role: 'status' }, 'Loading');
	const numbers = h('div');
	const alertBox = h('div');
	const chart = h('div');
	const chart2 = h('div');
	const table = h('div');
	const list = h('ol', { class: 'feed' });
	const state = h('ul', { class: 'lines' });

	function chips() {
		return Object.entries(filter).filter(([, value]) => value).map(([name, value]) =>
			h('button', { class: 'chip', type: 'button', title: 'Remove this filter', onclick: () => { filter[name] = undefined; draw(); } }, `${name}: ${value} ×`));
	}

	function drawTable() {
		const groups = groupRows(data.rows, dimension, filter);
		const most = groups.length ? groups[0].failures : 1;
		const choose = DIMENSIONS.map(([name, label]) => h('button', { type: 'button', 'aria-pressed': String(name === dimension), onclick: () => { dimension = name; draw(); } }, label));
		const rows = groups.slice(0, ROWS).map((group) => h('tr', {},
			h('td', {}, h('button', { class: `link ${dimension === 'code' ? `code ${group.severity || ''}` : ''}`, type: 'button', title: 'Show only these',
				onclick: () => { filter[dimension] = group.name; dimension = dimension === 'code' ? 'tool' : 'code'; draw(); } }, group.name)),
			h('td', { class: 'number' }, count(group.failures), share(group.failures, most)),
			h('td', { class: 'number wide' }, dimension === 'code' ? retryBadge(group.retry) : percent(group.failures, group.calls)),
			h('td', { class: 'sparkcell wide' }, sparkline(group.counts)),
			h('td', { class: 'when' }, group.incident ? h('a', { href: `#/incident/${encodeURIComponent(group.incident)}`, title: 'The last one' }, ago(group.last, data.now_ms)) : ago(group.last, data.now_ms))));
		table.replaceChildren(
			h('div', { class: 'head' }, h('h2', {}, 'What fails most'), h('div', { class: 'group', role: 'group', 'aria-label': 'Group by' }, choose), chips()),
			rows.length ? h('table', { class: 'rows' },
				h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, dimension), h('th', { scope: 'col', class: 'number' }, 'failed'), h('th', { scope: 'col', class: 'number wide' }, dimension === 'code' ? 'advice' : 'of its calls'), h('th', { scope: 'col', class: 'wide' }, 'last hour'), h('th', { scope: 'col', class: 'when' }, 'last'))),
				h('tbody', {}, rows)) : empty());
	}

	function drawFeed() {
		list.replaceChildren(...feed.map((event) => h('li', {},
			h('time', {}, clock(event.time_ms)),
			h('span', { class: 'what' }, code(event.code || 'unknown', event.status >= 500 ? 'critical' : 'warning'), ' ', h('span', { class: 'tool' }, event.name || event.method || '')),
			h('a', { class: 'message', href: event.incident_id ? `#/incident/${encodeURIComponent(event.incident_id)}` : '#/incidents' }, event.message || ''))));
		if (!feed.length)
			list.replaceChildren(h('li', { class: 'none' }, 'Failures appear here as they happen.'));
	}

	function draw() {
		if (!data)
			return;
		const verdict = judge(data, alerts, ready);
		banner.className = `banner ${verdict.level}`;
		banner.replaceChildren(h('strong', {}, verdict.text), h('span', {}, `up for ${ago(data.started_ms, data.now_ms).replace(' ago', '')}, ${count(data.calls_total)} calls`));
		numbers.replaceChildren(tiles(data));
		/* The first ones; a click shows the rest. */
		const shown = allAlerts ? alerts : alerts.slice(0, ALERTS);
		alertBox.replaceChildren(...shown.map((alert) => h('div', { class: `alert ${alert.severity || 'warning'}` },
			h('strong', {}, alert.title || alert.name), ' ', code(alert.code, alert.severity), ' ',
			h('span', {}, `${count(alert.events)} times, client ${alert.client || 'unnamed'}. `), h('span', {}, alert.hint || ''), ' ',
			alert.incident_id ? h('a', { href: `#/incident/${encodeURIComponent(alert.incident_id)}` }, 'last incident') : null)),
			alerts.length > shown.length ? h('button', { class: 'quiet more', type: 'button', onclick: () => { allAlerts = true; draw(); } }, `${alerts.length - shown.length} more alerts`) : '');
		chart.replaceChildren(bars(data.calls, data.failures, data.minute_ms));
		chart2.replaceChildren(lines([{ name: 'p99', values: data.p99_ms }, { name: 'p95', values: data.p95_ms }, { name: 'p50', values: data.p50_ms }], data.minute_ms));
		state.replaceChildren(...ready.lines.map((line) => h('li', {}, line)));
		drawTable();
	}

	/* At most once per frame, however much arrives. */
	function later() {
		if (isDue)
			return;
		isDue = true;
		requestAnimationFrame(() => {
			isDue = false;
			if (isGone)
				return;
			if (isFeedDue)
				drawFeed();
			isFeedDue = false;
		});
	}

	async function poll() {
		const answers = await Promise.all([api('overview'), api('alerts').catch(() => ({ firing: [] })),
			fetch('/readyz').then(async (answer) => ({ isReady: answer.ok, lines: (await answer.text()).trim().split('\n') })).catch(() => ({ isReady: false, lines: ['the server does not answer'] }))]);
		data = answers[0];
		alerts = answers[1].firing || [];
		ready = answers[2];
		if (!isGone)
			draw();
	}

	main.replaceChildren(h('h1', { class: 'hidden' }, 'Overview'), banner, alertBox, numbers,
		h('div', { class: 'columns' },
			h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', {}, 'Calls per minute'), h('span', { class: 'key' }, h('i', { class: 'ok' }), 'succeeded ', h('i', { class: 'bad' }), 'failed')), chart),
			h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', {}, 'Durations'), h('span', { class: 'key' }, h('i', { class: 'p50' }), 'p50 ', h('i', { class: 'p95' }), 'p95 ', h('i', { class: 'p99' }), 'p99')), chart2)),
		h('section', { class: 'card' }, table),
		h('div', { class: 'columns' },
			h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', {}, 'Failures, live')), list),
			h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', {}, 'Parts of the server'), h('a', { href: '/metrics' }, 'metrics')), state)));
	drawFeed();

	/* What happened before the page was opened. */
	async function before() {
		const { incidents } = await api('incidents?limit=20');
		for (const { id, time, code: its, status, tool, operation, message } of incidents)
			feed.push({ time_ms: Date.parse(time), code: its, status, name: tool || operation, message, incident_id: id });
		feed.length = Math.min(feed.length, FEED);
		drawFeed();
	}

	const stop = live.listen((event) => {
		if (!event.code)
			return;
		feed.unshift(event);
		feed.length = Math.min(feed.length, FEED);
		isFeedDue = true;
		later();
	});
	const timer = setInterval(() => { poll().catch(() => {}); }, POLL_MS);
	return {
		loaded: Promise.all([poll(), before().catch(() => {})]),
		leave() {
			isGone = true;
			stop();
			clearInterval(timer);
		},
	};
}
