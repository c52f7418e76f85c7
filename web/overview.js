/*
 * overview.js - is anything wrong now, what fails most, is it getting better.
 *
 * The numbers are read every few seconds. Failures arrive one by one, up to hundreds per
 * second: they are added to the list a few times per second, and it has a fixed length.
 */
import { h, api, ago, clock, code, copyButton, count, duration, percent, retryBadge } from './dom.js';
import { fleetFaults, fleetTable } from './fleet.js';
import { bars, lines, share, sparkline, span, split } from './chart.js';

const POLL_MS = 5000, FEED_MS = 250, FEED = 60, ROWS = 12, ALERTS = 3;
const sum = (list) => list.reduce((a, b) => a + b, 0);

/* ---- what fails most ---- */

/* A gateway has upstreams where a server has toolsets. */
const dimensions = (data) => [['code', 'By code'], ['tool', 'By tool'], ['client', 'By client'],
	['toolset', data.upstreams.length ? 'By upstream' : 'By toolset']];

const nameIn = (row, dimension) => row[dimension] || (dimension === 'toolset' ? 'none' : 'unnamed');

function addCounts(to, counts) {
	const shift = 60 - counts.length;
	counts.forEach((value, i) => { to[shift + i] += value; });
}

const isWanted = (row, filter) => Object.entries(filter).every(([name, value]) => !value || (name === 'code' ? row.code : nameIn(row, name)) === value);

/* Rows of the server, grouped by one of code, tool, client and toolset. */
export function groupRows(rows, dimension, filter) {
	const groups = new Map();
	for (const row of rows) {
		const isFailure = row.code !== undefined;
		if (!isWanted(row, filter) || (dimension === 'code' && !isFailure))
			continue;
		const name = nameIn(row, dimension);
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

/* How the next calls ended after failures worth a retry, per code. */
export function retryRows(rows, filter) {
	const groups = new Map();
	for (const row of rows) {
		if (!row.code || !(row.recovered + row.failed_again) || !isWanted(row, filter))
			continue;
		const group = groups.get(row.code) || { code: row.code, severity: row.severity, recovered: 0, again: 0 };
		group.recovered += row.recovered;
		group.again += row.failed_again;
		groups.set(row.code, group);
	}
	return [...groups.values()].sort((a, b) => b.recovered + b.again - a.recovered - a.again);
}

/* ---- the state of the server, in a sentence ---- */

const plural = (n, one, many) => n === 1 ? one : `${n} ${many}`;

export function judge(data, alerts, ready) {
	const calls = sum(data.calls.slice(-5)), failures = sum(data.failures.slice(-5));
	const before = sum(data.failures.slice(0, -5)) / Math.max(1, sum(data.calls.slice(0, -5)));
	const rate = calls ? failures / calls : 0;
	const words = [];
	let level = 'good';
	if (alerts.length) {
		level = alerts.some((alert) => alert.severity === 'critical') ? 'critical' : 'warning';
		words.push(plural(alerts.length, 'One alert is firing', 'alerts are firing'));
	}
	if (ready.isReady === false) {
		level = 'critical';
		words.push('The server is not ready');
	}
	const away = fleetFaults(data.fleet);
	if (away.length)
		level = level === 'good' ? 'warning' : level;
	words.push(...away);
	const down = data.upstreams.filter((upstream) => upstream.state === 'down');
	const open = data.upstreams.filter((upstream) => upstream.breaker !== 'closed');
	if (down.length || open.length)
		level = 'critical';
	if (down.length)
		words.push(plural(down.length, `Upstream ${down[0].name} is down`, 'upstreams are down'));
	if (open.length)
		words.push(plural(open.length, `The breaker of ${open[0].name} is open`, 'breakers are open'));
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

/* The failure rate against the hour before. */
function compare(bad, calls, badBefore, callsBefore) {
	if (!callsBefore || !calls)
		return 'nothing to compare with yet';
	const now = bad / calls, then = badBefore / callsBefore;
	const word = now > 1.25 * then ? 'more than' : now < 0.8 * then ? 'less than' : 'about as much as';
	return `${word} before (${percent(badBefore, callsBefore)})`;
}

function tiles(data) {
	const calls5 = sum(data.calls.slice(-5)), bad5 = sum(data.failures.slice(-5));
	const calls = sum(data.calls), bad = sum(data.failures);
	const recovered = sum(data.recovered), again = sum(data.failed_again);
	const p95 = data.p95_ms.filter((value) => value !== null);
	const last = (list) => list.filter((value) => value !== null).at(-1);
	return h('section', { class: 'tiles', 'aria-label': 'Numbers' },
		tile('Calls', count(calls), `last hour; ${count(calls5)} in 5 min`),
		tile('Failed', percent(bad5, calls5), `last 5 min; ${compare(bad5, calls5, bad - bad5, calls - calls5)}`, bad5 ? 'bad' : ''),
		tile('Duration, p95', duration(last(data.p95_ms)), p95.length ? `p50 ${duration(last(data.p50_ms))}, p99 ${duration(last(data.p99_ms))}` : 'no calls'),
		tile('Retries that worked', recovered + again ? percent(recovered, recovered + again) : '–',
			recovered + again ? `${count(recovered)} of ${count(recovered + again)} in the last hour` : 'nothing to retry'));
}

/* ---- upstreams ---- */

const STATES = { up: 'up', down: 'down', not_connected: 'not connected' };

function upstreamRow(upstream, filter) {
	const { ok, failed, broken, refused } = upstream.requests;
	const bad = failed + broken + refused;
	return h('tr', {},
		h('td', {}, h('button', { class: 'link', type: 'button', title: 'Show only its failures', onclick: () => filter('toolset', upstream.name) }, upstream.name)),
		h('td', {}, h('span', { class: `badge ${upstream.state === 'down' ? 'never' : upstream.state === 'up' ? 'good' : 'plain'}` }, STATES[upstream.state] || upstream.state), ' ',
			upstream.breaker === 'closed' ? null : h('span', { class: 'badge never', title: 'Calls are refused at once, until a trial call succeeds' }, upstream.breaker === 'open' ? 'breaker open' : 'breaker: trial call'),
			upstream.code ? h('div', { class: 'note' }, code(upstream.code, 'critical'), ' ', upstream.message) : null),
		h('td', { class: 'number' }, percent(bad, ok + bad)),
		h('td', { class: 'number wide' }, count(ok + bad)),
		h('td', { class: 'number wide' }, count(upstream.restarts)));
}

function upstreamTable(upstreams, filter) {
	return h('table', { class: 'rows' },
		h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'upstream'), h('th', { scope: 'col' }, 'state'), h('th', { scope: 'col', class: 'number' }, 'failed'), h('th', { scope: 'col', class: 'number wide' }, 'requests'), h('th', { scope: 'col', class: 'number wide' }, 'restarts'))),
		h('tbody', {}, upstreams.map((upstream) => upstreamRow(upstream, filter))));
}

function retryTable(groups) {
	return h('table', { class: 'rows' },
		h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'after'), h('th', { scope: 'col', class: 'number' }, 'worked'), h('th', { scope: 'col', class: 'number' }, 'failed again'))),
		h('tbody', {}, groups.map((group) => h('tr', {}, h('td', {}, code(group.code, group.severity)),
			h('td', { class: 'number' }, count(group.recovered), split(group.recovered, group.again)), h('td', { class: 'number' }, count(group.again))))));
}

/* A call that fails: what to paste when there is nothing to see yet. */
const FAILING_CALL = `curl -s -H 'Content-Type: application/json' -d '{}' ${location.origin}/api/v1/tools/no_such_tool`;

function empty() {
	return h('div', { class: 'empty' }, h('p', {}, 'No failure has happened yet. To see one, paste this into a terminal:'),
		h('div', { class: 'command' }, h('pre', {}, FAILING_CALL), copyButton(FAILING_CALL)),
		h('p', {}, "A server that needs a token wants -H 'Authorization: Bearer TOKEN' too. Or put the gateway in front of a server that fails: ",
			h('code', {}, 'faultwire gate --http 127.0.0.1:0 -- COMMAND')),
		h('p', {}, 'Or try an error text in the ', h('a', { href: '#/playground' }, 'playground'), '.'));
}

/* ---- the view ---- */

export function overview(main, live) {
	let data = null, alerts = [], ready = { lines: [] };
	let dimension = 'code', allAlerts = false, allRows = false;
	const filter = {};
	const arrived = []; /* failures that are not shown yet, the newest first */
	let feedTimer = 0, isGone = false;

	const banner = h('section', { class: 'banner good', role: 'status' }, 'Loading');
	const numbers = h('div');
	const alertBox = h('div');
	const chart = h('div');
	const chart2 = h('div');
	const table = h('div');
	const list = h('ol', { class: 'feed' }, h('li', { class: 'none' }, 'Failures appear here as they happen.'));
	const state = h('ul', { class: 'lines' });
	const upstreams = h('section', { class: 'card', hidden: true });
	const fleet = h('section', { class: 'card', hidden: true });
	const retries = h('div');

	const label = (name) => name === 'toolset' && data.upstreams.length ? 'upstream' : name;

	function chips() {
		return Object.entries(filter).filter(([, value]) => value).map(([name, value]) =>
			h('button', { class: 'chip', type: 'button', title: 'Remove this filter', onclick: () => { filter[name] = undefined; draw(); } }, `${label(name)}: ${value} ×`));
	}

	function choose(name, value) {
		filter[name] = value;
		dimension = filter.code ? 'tool' : 'code';
		draw();
	}

	function drawTable() {
		const groups = groupRows(data.rows, dimension, filter);
		const most = groups.length ? groups[0].failures : 1;
		const buttons = dimensions(data).map(([name, text]) => h('button', { type: 'button', 'aria-pressed': String(name === dimension), onclick: () => { dimension = name; draw(); } }, text));
		const rows = groups.slice(0, allRows ? groups.length : ROWS).map((group) => h('tr', {},
			h('td', {}, h('button', { class: `link ${dimension === 'code' ? `code ${group.severity || ''}` : ''}`, type: 'button', title: 'Show only these',
				onclick: () => choose(dimension, group.name) }, group.name)),
			h('td', { class: 'number' }, count(group.failures), share(group.failures, most)),
			h('td', { class: 'number wide' }, dimension === 'code' ? retryBadge(group.retry) : percent(group.failures, group.calls)),
			h('td', { class: 'sparkcell wide' }, sparkline(group.counts, span(data))),
			h('td', { class: 'when' }, group.incident ? h('a', { href: `#/incident/${encodeURIComponent(group.incident)}`, title: 'The last one' }, ago(group.last, data.now_ms)) : ago(group.last, data.now_ms))));
		table.replaceChildren(
			h('div', { class: 'head' }, h('h2', {}, 'What fails most'), h('div', { class: 'group', role: 'group', 'aria-label': 'Group by' }, buttons), chips()),
			rows.length ? h('table', { class: 'rows' },
				h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, label(dimension)), h('th', { scope: 'col', class: 'number' }, 'failed'), h('th', { scope: 'col', class: 'number wide' }, dimension === 'code' ? 'advice' : 'of its calls'), h('th', { scope: 'col', class: 'wide' }, `last ${span(data)} min`), h('th', { scope: 'col', class: 'when' }, 'last'))),
				h('tbody', {}, rows)) : data.failures_total ? h('p', { class: 'empty' }, 'No failures in the last hour, with this filter.') : empty(),
			groups.length > rows.length ? h('button', { class: 'quiet', type: 'button', onclick: () => { allRows = true; draw(); } }, `${groups.length - rows.length} more`) : '');
	}

	function drawFleet() {
		fleet.hidden = !data.fleet;
		if (data.fleet)
			fleet.replaceChildren(h('div', { class: 'head' }, h('h2', {}, 'Shared with other replicas')), fleetTable(data.fleet, data.now_ms));
	}

	function drawUpstreams() {
		upstreams.hidden = !data.upstreams.length;
		upstreams.replaceChildren(h('div', { class: 'head' }, h('h2', {}, 'Upstreams')), upstreamTable(data.upstreams, choose));
		const groups = retryRows(data.rows, filter).slice(0, ROWS);
		retries.replaceChildren(groups.length ? retryTable(groups)
			: h('p', { class: 'empty' }, 'After a failure that is worth a retry, the next call of the same tool by the same client is counted here: did it work?'));
	}

	function feedItem(event) {
		return h('li', {},
			h('time', {}, clock(event.time_ms)),
			h('span', { class: 'what' }, code(event.code || 'unknown', event.status >= 500 ? 'critical' : 'warning'), ' ', h('span', { class: 'tool' }, event.name || event.method || '')),
			h('a', { class: 'message', href: event.incident_id ? `#/incident/${encodeURIComponent(event.incident_id)}` : '#/incidents' }, event.message || ''));
	}

	/* Adds what has arrived, the newest first; the oldest leave. */
	function drawFeed() {
		feedTimer = 0;
		if (isGone || !arrived.length)
			return;
		const fresh = arrived.splice(0).map(feedItem);
		if (list.firstChild && list.firstChild.className === 'none')
			list.replaceChildren();
		list.prepend(...fresh);
		while (list.childElementCount > FEED)
			list.lastChild.remove();
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
			h('span', {}, `${alert.events === 1 ? 'once' : `${count(alert.events)} times`}, client ${alert.client || 'unnamed'}. `), h('span', {}, alert.hint || ''), ' ',
			alert.incident_id ? h('a', { href: `#/incident/${encodeURIComponent(alert.incident_id)}` }, 'last incident') : null)),
			alerts.length > shown.length ? h('button', { class: 'quiet more', type: 'button', onclick: () => { allAlerts = true; draw(); } }, `Show ${alerts.length - shown.length} more`) : '');
		const minutes = span(data);
		chart.replaceChildren(bars(data.calls.slice(-minutes), data.failures.slice(-minutes), data.minute_ms));
		chart2.replaceChildren(lines(['p99', 'p95', 'p50'].map((name) => ({ name, values: data[`${name}_ms`].slice(-minutes) })), data.minute_ms));
		state.replaceChildren(...ready.lines.filter((line) => !line.startsWith('upstream ')).map((line) => h('li', {}, line)));
		drawTable();
		drawFleet();
		drawUpstreams();
	}

	async function poll() {
		const answers = await Promise.all([api('overview'), api('alerts').catch(() => ({ firing: [] })),
			fetch('/readyz').then(async (answer) => ({ isReady: answer.ok, lines: (await answer.text()).trim().split('\n') })).catch(() => ({ isReady: false, lines: ['the server does not answer'] }))]);
		data = answers[0];
		alerts = answers[1].firing || [];
		alerts.sort((a, b) => (b.severity === 'critical') - (a.severity === 'critical'));
		ready = answers[2];
		if (!isGone)
			draw();
	}

	main.replaceChildren(h('h1', { class: 'hidden' }, 'Overview'), banner, alertBox, numbers, fleet, upstreams,
		h('div', { class: 'columns' },
			h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', {}, 'Calls per minute'), h('span', { class: 'key' }, h('i', { class: 'ok' }), 'succeeded ', h('i', { class: 'bad' }), 'failed')), chart),
			h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', {}, 'Durations'), h('span', { class: 'key' }, h('i', { class: 'p50' }), 'p50 ', h('i', { class: 'p95' }), 'p95 ', h('i', { class: 'p99' }), 'p99')), chart2)),
		h('section', { class: 'card' }, table),
		h('div', { class: 'columns' },
			h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', {}, 'Failures, live')), list),
			h('div', {},
				h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', {}, 'Did retries work?')), retries),
				h('section', { class: 'card' }, h('div', { class: 'head' }, h('h2', {}, 'This server'), h('a', { href: '/metrics' }, 'metrics')), state))));

	/* What happened before the page was opened: below what has arrived since. */
	async function before() {
		const { incidents } = await api('incidents?limit=20');
		for (const { id, time, code: its, status, tool, operation, message } of incidents)
			arrived.push({ time_ms: Date.parse(time), code: its, status, name: tool || operation, message, incident_id: id });
		drawFeed();
	}

	const stop = live.listen((event) => {
		if (!event.code)
			return;
		arrived.unshift(event);
		arrived.length = Math.min(arrived.length, FEED);
		feedTimer = feedTimer || setTimeout(drawFeed, FEED_MS);
	});
	const timer = setInterval(() => { poll().catch(() => {}); }, POLL_MS);
	return {
		loaded: Promise.all([poll(), before().catch(() => {})]),
		leave() {
			isGone = true;
			stop();
			clearInterval(timer);
			clearTimeout(feedTimer);
		},
	};
}
