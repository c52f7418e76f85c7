// bench/dashboard.mjs URL: see bench/dashboard. Exit status 1 if a goal is missed.

import { createRequire } from 'node:module';
import { Agent, request } from 'node:http';

const require = createRequire(new URL('../test/judge/package.json', import.meta.url));
const { chromium } = require('playwright-core');
const url = process.argv[2];
const SECONDS = Number(process.env.FW_DASHBOARD_SECONDS ?? 60);
const EVENTS = Number(process.env.FW_DASHBOARD_EVENTS ?? 10000);
const LONG_MS = 50;
const CODES = ['file.not_found', 'runtime.timeout', 'governance.rate_limited', 'dependency.unavailable', 'input.invalid_value', 'resource.conflict'];

const browser = await chromium.launch({
	executablePath: '/usr/bin/chromium',
	args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--js-flags=--expose-gc'],
});
const rows = [];
let missed = 0;

function row(what, figure, goal, holds) {
	missed += holds ? 0 : 1;
	rows.push(`| ${what} | ${figure} | ${goal} | ${holds ? 'PASS' : 'MISS'} |`);
}

// ---- what a visitor waits for

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

async function visit() {
	const context = await browser.newContext();
	const page = await context.newPage();
	const outside = [];
	page.on('request', (asked) => { if (!asked.url().startsWith(url)) outside.push(asked.url()); });
	const session = await context.newCDPSession(page);
	await session.send('Network.enable');
	let bytes = 0;
	session.on('Network.loadingFinished', ({ encodedDataLength }) => { bytes += encodedDataLength; });
	await page.goto(url);
	await page.locator('.banner strong').waitFor();
	const paint = await page.evaluate(() => new Promise((found) => {
		new PerformanceObserver((list) => list.getEntriesByName('first-contentful-paint').forEach((entry) => found(entry.startTime)))
			.observe({ type: 'paint', buffered: true });
	}));
	await context.close();
	return { paint, bytes, outside };
}

await visit(); // the browser itself starts
const visits = [];
for (let i = 0; i < 7; i++) visits.push(await visit());
row('first contentful paint, median of 7', `${median(visits.map(({ paint }) => paint)).toFixed(0)} ms`, '< 200 ms', median(visits.map(({ paint }) => paint)) < 200);
row('bytes until the overview is shown, with headers', `${(Math.max(...visits.map(({ bytes }) => bytes)) / 1024).toFixed(1)} KB`, '< 150 KB', Math.max(...visits.map(({ bytes }) => bytes)) < 150 * 1024);
row('requests to anywhere else', visits.flatMap(({ outside }) => outside).length, '0', visits.every(({ outside }) => outside.length === 0));

// ---- events

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

function fail(n) {
	const body = JSON.stringify({ code: CODES[n % CODES.length] });
	return new Promise((done) => {
		const sent = request(`${url}/api/v1/tools/raise_error`, { method: 'POST', agent, headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) } }, (reply) => {
			reply.resume();
			reply.on('end', () => done(reply.statusCode));
		});
		sent.on('error', () => done(0));
		sent.end(body);
	});
}

const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
const page = await context.newPage();
const faults = [];
page.on('pageerror', (error) => faults.push(error.message));
await page.goto(url);
await page.locator('.live.live').waitFor();
await page.evaluate(() => {
	window.seen = 0;
	const source = new EventSource('/api/v1/events');
	source.addEventListener('outcome', () => { window.seen++; });
});
const cdp = await context.newCDPSession(page);
await cdp.send('HeapProfiler.enable');

async function size() {
	await cdp.send('HeapProfiler.collectGarbage');
	const { usedSize } = await cdp.send('Runtime.getHeapUsage');
	const { nodes } = await cdp.send('Memory.getDOMCounters');
	return { heap: usedSize, nodes, elements: await page.evaluate(() => document.querySelectorAll('*').length) };
}

// Sends its share of the events, evenly.
async function send(from, count, seconds) {
	const start = performance.now();
	const waiting = [];
	for (let n = 0; n < count; n++) {
		const due = start + n * seconds * 1000 / count;
		const ahead = due - performance.now();
		if (ahead > 1) await new Promise((done) => setTimeout(done, ahead));
		waiting.push(fail(from + n));
	}
	await Promise.all(waiting);
	return (performance.now() - start) / 1000;
}

// Tasks of the page's main thread, as the browser itself records them.
const traced = [];
const main = await browser.newBrowserCDPSession();
main.on('Tracing.dataCollected', ({ value }) => {
	for (const event of value)
		if (event.name === 'thread_name' || (event.ph === 'X' && /^(?:RunTask|ThreadControllerImpl::RunTask)$/.test(event.name)))
			traced.push(event);
});
await send(0, Math.ceil(EVENTS / 10), SECONDS / 10); // the page fills up
const before = await size();
await main.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['toplevel', 'disabled-by-default-devtools.timeline', '__metadata'] } });
const took = await send(0, EVENTS, SECONDS);
const ended = new Promise((done) => main.once('Tracing.tracingComplete', done));
await main.send('Tracing.end');
await ended;
const during = await size();
await send(0, Math.ceil(EVENTS / 10), SECONDS / 10);
const after = await size();
const seen = await page.evaluate(() => window.seen);

const pids = new Map();
for (const { name, args, pid, tid } of traced)
	if (name === 'thread_name' && args.name === 'CrRendererMain') pids.set(`${pid}/${tid}`, []);
for (const event of traced) {
	const list = pids.get(`${event.pid}/${event.tid}`);
	if (list && event.ph === 'X') list.push({ ms: (event.dur ?? 0) / 1000, cpu: (event.tdur ?? 0) / 1000 });
}
const tasks = [...pids.values()].flat();
const sum = (list) => list.reduce((a, b) => a + b, 0);
const long = tasks.filter(({ ms }) => ms > LONG_MS);
const cpuLong = tasks.filter(({ cpu }) => cpu > LONG_MS);

row('failures sent, and their rate', `${EVENTS} in ${took.toFixed(0)} s`, `${EVENTS} in ${SECONDS} s`, took < SECONDS * 1.1);
row('events that the browser got', seen, `${EVENTS + 2 * Math.ceil(EVENTS / 10)}`, seen === EVENTS + 2 * Math.ceil(EVENTS / 10));
row(`main-thread tasks over ${LONG_MS} ms`, `${long.length} of ${tasks.length} (${(100 * long.length / Math.max(1, tasks.length)).toFixed(2)} %), longest ${tasks.reduce((most, { ms }) => Math.max(most, ms), 0).toFixed(0)} ms`, '< 1 %', tasks.length > 0 && long.length < tasks.length / 100);
// The same in CPU time, which a busy machine does not change much.
row(`tasks with more than ${LONG_MS} ms of CPU time`, cpuLong.length, '< 1 %', cpuLong.length < tasks.length / 100);
row('CPU time of the main thread', `${(100 * sum(tasks.map(({ cpu }) => cpu)) / 1000 / took).toFixed(1)} %`, '< 25 %', sum(tasks.map(({ cpu }) => cpu)) / 1000 < took / 4);
row('heap after garbage collection', `${(before.heap / 1048576).toFixed(2)} -> ${(during.heap / 1048576).toFixed(2)} -> ${(after.heap / 1048576).toFixed(2)} MB`, 'grows < 1 MB', after.heap - before.heap < 1048576);
row('elements of the page', `${before.elements} -> ${during.elements} -> ${after.elements}`, '< 2000, flat', after.elements < 2000 && after.elements < before.elements * 1.25 + 50);
row('DOM nodes alive', `${before.nodes} -> ${during.nodes} -> ${after.nodes}`, '< 10000', after.nodes < 10000);
row('script errors', faults.length, '0', faults.length === 0);
console.log('| dashboard | measured | goal | |\n|---|--:|--:|---|');
console.log(rows.join('\n'));
agent.destroy();
await browser.close();
process.exit(missed ? 1 : 0);
