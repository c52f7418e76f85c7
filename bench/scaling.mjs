// bench/scaling.mjs [FIGURES]: a model of a fleet. FIGURES has "name figure" lines, as
// bench/scaling measures them; bench/scaling.json has the rest.
//
// Calls arrive at random, each at a random replica. A call takes CPU time of its replica, then
// (with exact limits) a decision of the engine, which has one thread, then its tool,
// which takes CPU time of the replica too. Queues are first in, first out, and are simulated call
// by call; PostgreSQL is computed, since nothing waits for it.

import { readFileSync } from 'node:fs';

const figures = JSON.parse(readFileSync(new URL('scaling.json', import.meta.url), 'utf8'));
for (const line of process.argv[2] ? readFileSync(process.argv[2], 'utf8').trim().split('\n') : []) {
	const [name, figure] = line.split(' ');
	figures[name] = Number(figure);
}

// What is assumed and not measured.
const assumed = {
	cores: 2, // of a replica
	tool_cpu_us: 1000, // of a call
	failing: 0.02, // part of the calls
	round_trip_us: 300, // to an engine, in one data centre
	lease_ms: 50,
	incidents_per_batch: 100,
	pool: 8, // connections of a replica to PostgreSQL, at most
	database_cores: 8,
	database_connections: 500,
	polls_per_second: 2, // of a replica, for changed tokens
};

let seed = 20261118;
function random() {
	seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
	return (seed + 0.5) / 4294967296;
}

const at = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];

// Serves jobs, in order of arrival, by `servers` equal servers. Sets `out` of each.
function serve(jobs, servers, duration) {
	const free = new Float64Array(servers);
	for (const job of jobs) {
		let first = 0;
		for (let i = 1; i < servers; i++) if (free[i] < free[first]) first = i;
		free[first] = Math.max(free[first], job.at) + duration;
		job.at = free[first];
	}
}

function simulate({ replicas, clients, each: perClient, mode }) {
	const rate = clients * perClient;
	const leased = mode !== 'exact';
	const own = figures.call_cpu_us + assumed.failing * (figures.failure_cpu_us - figures.call_cpu_us);
	// With a lease, a replica asks once per client, and again at the first call after the lease.
	const seen = mode === 'leased' ? perClient / replicas : perClient; // calls of a client at one replica
	const asking = leased ? rate / (1 + seen * assumed.lease_ms / 1000) : rate;
	const load = {
		'replica CPU': rate * (own + assumed.tool_cpu_us) / 1e6 / (replicas * assumed.cores),
		'limits engine': asking * figures.decision_cpu_us / 1e6,
		'PostgreSQL CPU': (rate * assumed.failing * figures.incident_us + replicas * assumed.polls_per_second * figures.poll_us) / 1e6 / assumed.database_cores,
		'PostgreSQL connections': replicas * assumed.pool / assumed.database_connections,
	};
	const [first, most] = Object.entries(load).sort((a, b) => b[1] - a[1])[0];
	const result = { rate, load, first, most };
	// A queue that grows has no percentiles.
	if (load['replica CPU'] >= 1 || load['limits engine'] >= 1) return result;
	const count = Math.min(300000, Math.max(20000, Math.round(rate * 3)));
	const jobs = [];
	for (let i = 0, now = 0; i < count; i++) {
		now += -Math.log(random()) / rate * 1e6;
		jobs.push({ start: now, at: now, replica: Math.floor(random() * replicas) });
	}
	const byReplica = (duration) => {
		const groups = Array.from({ length: replicas }, () => []);
		for (const job of jobs) groups[job.replica].push(job);
		for (const group of groups) serve(group.sort((a, b) => a.at - b.at), assumed.cores, duration);
	};
	byReplica(own);
	if (!leased) {
		for (const job of jobs) job.at += assumed.round_trip_us / 2;
		serve(jobs.sort((a, b) => a.at - b.at), 1, figures.decision_cpu_us);
		for (const job of jobs) job.at += assumed.round_trip_us / 2;
	}
	byReplica(assumed.tool_cpu_us);
	const times = jobs.map((job) => job.at - job.start).sort((a, b) => a - b);
	return { ...result, p50: at(times, 0.5), p99: at(times, 0.99) };
}

// ---- report ----

const percent = (x) => `${(100 * x).toFixed(x < 0.1 ? 1 : 0)} %`;
console.log('measured (us of CPU, unless named otherwise):');
for (const [name, figure] of Object.entries(figures)) if (name !== 'note') console.log(`  ${name.padEnd(20)} ${figure}`);
console.log('assumed:');
for (const [name, figure] of Object.entries(assumed)) console.log(`  ${name.padEnd(20)} ${figure}`);
console.log('\nexact: each call is decided by the engine; leased: see docs/fleet.md; sticky: leased, and each client has its replica');
console.log('\nreplicas  clients  each/s   calls/s  limits  replica CPU   engine  PG CPU  PG conns   p50 ms   p99 ms  most loaded');
for (const [replicas, clients, each] of [[1, 100, 1], [3, 1000, 1], [10, 10000, 1], [50, 50000, 1], [100, 1000, 100], [100, 100000, 1], [300, 100000, 1], [1000, 100000, 1], [1000, 100000, 10]]) {
	for (const mode of ['exact', 'leased', 'sticky']) {
		const { rate, load, first, most, p50, p99 } = simulate({ replicas, clients, each, mode });
		const time = (us) => (us === undefined ? '-' : (us / 1000).toFixed(2)).padStart(8);
		const loads = [['replica CPU', 12], ['limits engine', 8], ['PostgreSQL CPU', 7], ['PostgreSQL connections', 9]].map(([name, width]) => percent(load[name]).padStart(width)).join(' ');
		console.log(`${String(replicas).padStart(8)} ${String(clients).padStart(8)} ${String(each).padStart(7)} ${String(rate).padStart(9)}  ${mode.padEnd(6)} ${loads} ${time(p50)} ${time(p99)}  ${first}${most >= 1 ? ': OVERLOADED' : ''}`);
	}
}
const own = figures.call_cpu_us + assumed.failing * (figures.failure_cpu_us - figures.call_cpu_us);
console.log('\neach engine alone is full at:');
console.log(`  replica             ${Math.floor(assumed.cores * 1e6 / (own + assumed.tool_cpu_us))} calls/s per replica with such a tool, ${Math.floor(assumed.cores * 1e6 / own)} with a tool that costs nothing`);
console.log(`  limits, exact       ${Math.floor(1e6 / figures.decision_cpu_us)} calls/s in all, whatever the number of replicas`);
console.log(`  PostgreSQL          ${Math.floor(assumed.database_cores * 1e6 / figures.incident_us)} incidents/s: ${Math.floor(assumed.database_cores * 1e6 / figures.incident_us / assumed.failing)} calls/s with ${percent(assumed.failing)} failing`);
console.log(`  connections         ${Math.floor(assumed.database_connections / assumed.pool)} replicas that use all of theirs`);
console.log(`  memory of a replica ${(figures.idle_mb + 10000 * figures.connection_kb / 1024).toFixed(0)} MB with 10,000 connections`);
