// faultwire classify: flat texts of servers, classified by the built-in rules.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, file, finish, lines, match, root, run, same, test } from './lib/cli.mjs';

const read = (name) => readFileSync(join(root, 'test/classify', name), 'utf8').trim().split('\n').map((line) => JSON.parse(line));

function classify(rows, args = []) {
	const input = rows.map((row) => `${JSON.stringify({ text: row.text, jsonrpc_code: row.jsonrpc_code, tool: row.tool })}\n`).join('');
	const { status, out, err } = run(['classify', '--lines', ...args], { input });
	same([status, err], [0, '']);
	return lines(out).map((line) => JSON.parse(line));
}

// docs/classify.md says where each set comes from, and which of them the rules were written with.
const sets = { 'field.jsonl': [0.97, 0.94, 0.005], 'vocabulary.jsonl': [0.97, 0.94, 0.005], 'servers.jsonl': [0.97, 0.9, 0.005], 'batches.jsonl': [0.93, 0.92, 0.005] };

for (const [name, [share, f1, retried]] of Object.entries(sets))
	test(`labelled texts, ${name}: types, permanent failures, statuses and delays`, () => {
		const corpus = read(name);
		const found = classify(corpus);
		same(found.length, corpus.length);
		const types = [...new Set(corpus.map((row) => row.type))];
		const right = corpus.filter((row, i) => row.type === found[i].type).length;
		check(right / corpus.length >= share, `types right: ${right} of ${corpus.length}`);
		let sum = 0;
		for (const type of types) {
			const hit = corpus.filter((row, i) => row.type === type && found[i].type === type).length;
			sum += (2 * hit) / (corpus.filter((row) => row.type === type).length + found.filter((one) => one.type === type).length);
		}
		check(sum / types.length >= f1, `macro F1: ${sum / types.length}`);
		const permanent = corpus.filter((row) => !row.retryable).length;
		const wrong = corpus.filter((row, i) => !row.retryable && found[i].retryable);
		check(wrong.length / permanent <= retried, `permanent called retryable: ${wrong.length}`);
		for (const [i, row] of corpus.entries()) {
			if (row.http_status !== null) same(found[i].http_status, row.http_status, row.text);
			if (row.retry_after !== null) same(found[i].retry_after, row.retry_after, row.text);
		}
	});

// The name of an argument or of a thing is not an event: "timeout is required".
test('words of the network in the name of something do not make a failure temporary', () => {
	const names = ['timeout', 'requestTimeout', 'retries', 'retryCount', 'retry_after', 'connection', 'connection_id', 'network', 'networkId', 'gateway', 'rateLimit', 'maxRetries', 'socket', 'server', 'service', 'lock', 'dns_zone', 'queue', 'throttle', 'backend', 'upstream', 'cluster', 'deadline', 'maintenance_window', 'availability', 'session_timeout', 'port'];
	const shapes = {
		VALIDATION: ['% is required', '% must be a number', '% must be positive', 'Invalid %', 'Invalid value for %: x', 'Unknown option: %', '% cannot be negative', '% cannot be greater than 100', 'Missing required parameter: %', 'No % provided', 'Expected % to be a string', '% should be greater than 0', 'unsupported %', 'parameter % out of range', '% must be one of: a, b', '% cannot be empty', "Argument '%' has invalid type"],
		NOT_FOUND: ['% not found', "% 'x' does not exist", 'No % found', "Unknown % 'x'", '% with id 5 not found'],
		CONFLICT: ['% already exists', 'A % with this name already exists'],
		PERMISSION: ['You do not have permission to access this %', '% access denied', 'Not authorized to modify %'],
	};
	const rows = Object.entries(shapes).flatMap(([type, texts]) => texts.flatMap((text) => names.map((name) => ({ type, text: text.replace('%', name) }))));
	const found = classify(rows);
	same(rows.filter((row, i) => found[i].retryable).map((row) => row.text), []);
	const wrong = rows.filter((row, i) => found[i].type !== row.type);
	check(wrong.length / rows.length <= 0.02, `wrong: ${wrong.map((row) => row.text).join('; ')}`);
});

test('words of permission in the name of an argument do not make its shape a matter of permission', () => {
	const names = ['key', 'token', 'password', 'credentials', 'auth', 'permission', 'policy', 'role', 'scope', 'admin', 'user_token', 'plan', 'login', 'signature', 'owner', 'account', 'client_id', 'session', 'jwt', 'quota'];
	const shapes = ['% must be a string', 'Invalid value for %: x', 'Unknown option: %', '% must be one of: a, b', 'Expected % to be an array', '% cannot be greater than 100', '% is too long (maximum 64 characters)', "Argument '%' has invalid type", '%: Expected number, received string', '% must start with a letter', '% and name are mutually exclusive', '% must not contain spaces'];
	const rows = shapes.flatMap((text) => names.map((name) => ({ text: text.replace('%', name) })));
	const found = classify(rows);
	same(rows.filter((row, i) => found[i].type !== 'VALIDATION').map((row) => row.text), []);
});

test('the cause after a colon counts, not what was being done', () => {
	const doing = ['Failed to get user permissions', 'Error connecting to server', 'Network request failed', 'Failed to refresh access token', 'Failed to create lock', 'Failed to open connection', "Tool 'x' execution failed", 'An error occurred while running the query', 'MCP error -32603'];
	const causes = { VALIDATION: ['query is required', "Unknown sort order 'x'", 'limit must be at most 100'], NOT_FOUND: ["table 'x' does not exist", 'HTTP 404', 'No such file or directory'], CONFLICT: ['relation "a" already exists', 'version conflict'], PERMISSION: ['permission denied for table a', '403 Forbidden', 'invalid credentials'], TRANSIENT: ['connect ECONNREFUSED 127.0.0.1:80', 'HTTP 503', 'timed out after 30 seconds', 'rate limit exceeded'] };
	const rows = Object.entries(causes).flatMap(([type, texts]) => texts.flatMap((text) => doing.map((what) => ({ type, text: `${what}: ${text}` }))));
	classify(rows).forEach((found, i) => same(found.type, rows[i].type, rows[i].text));
});

test('a text that says only what was being done says nothing about the cause', () => {
	const doing = ['Failed to list %', 'Error fetching %', 'Could not load %', 'Unable to update %.', 'An error occurred while saving %', 'Failed to delete %: Unknown error', 'Failed to read %: undefined', 'Error: failed to create %'];
	const things = ['rate limits', 'blocked users', 'user permissions', 'parameters', 'duplicate records', 'expired certificates', 'disabled rules', 'payments', 'timeouts', 'roles', 'available options', 'locked issues', 'closed tickets', 'pending invitations'];
	const rows = doing.flatMap((text) => things.map((thing) => ({ text: text.replace('%', thing) })));
	const found = classify(rows);
	same(rows.filter((row, i) => found[i].type !== 'INTERNAL' || found[i].retryable).map((row) => row.text), []);
});

// Servers wrap what a library says; the wrapping is no reason for another answer.
test('a wrapper around a text does not change its type', () => {
	const wrappers = [(text) => `Error: ${text}`, (text) => `\u274c ${text}`, (text) => `MCP error -32603: ${text}`, (text) => `Tool 'run_report' execution failed: ${text}`, (text) => `Error executing tool run_report: ${text}`, (text) => `Internal error: ${text}`, (text) => `An unexpected error occurred: ${text}`, (text) => JSON.stringify({ error: text }), (text) => `**Error**\n\n${text}`, (text) => `${text}\n    at Client.request (/srv/app/client.js:88:17)`, (text) => `${text}\n\nFor more information see https://docs.example.com/errors`];
	const rows = read('batches.jsonl').filter((row) => !row.hard);
	const alone = classify(rows);
	for (const wrap of wrappers) {
		const found = classify(rows.map((row) => ({ ...row, text: wrap(row.text) })));
		const lost = rows.filter((row, i) => alone[i].type === row.type && found[i].type !== row.type);
		check(lost.length / rows.length <= 0.01, `${wrap('...')}: ${lost.length} of ${rows.length}: ${lost.slice(0, 5).map((row) => row.text).join('; ')}`);
		same(rows.filter((row, i) => !row.retryable && !alone[i].retryable && found[i].retryable).map((row) => row.text), []);
	}
});

test('a sentence of advice counts less than the report', () => {
	for (const [text, type] of [['Not Found. Please check your credentials and permissions.', 'NOT_FOUND'], ['Invalid date. See the page about rate limits.', 'VALIDATION'], ['Something failed. Please try again later.', 'TRANSIENT']])
		same(classify([{ text }])[0].type, type, text);
});

test('a list of what it could be says nothing about what it is', () => {
	const lists = ['Possible causes:\n- Invalid token\n- Network issues\n- Rate limit exceeded', 'Troubleshooting:\n1. The server timed out\n2. The token has expired', 'Common reasons: permission denied, connection refused'];
	for (const list of lists)
		for (const [text, type] of [['Failed to load the repository.', 'INTERNAL'], ['Could not find the repository.', 'NOT_FOUND'], ['Authentication failed.', 'PERMISSION'], ['The request timed out.', 'TRANSIENT']])
			same(classify([{ text: `${text}\n\n${list}` }])[0].type, type, text);
});

test('to try again with something else is no reason to repeat the call', () => {
	const texts = ['Please try again with a smaller file', 'Try again with a valid date', 'Please retry with valid credentials', 'Update your API key and try again', 'Choose another name and try again', 'Retry with a larger limit', 'Cannot retry a job that has not failed', 'Only failed runs can be retried', 'Account disconnected: reconnect it in settings', 'Model unavailable for your plan', 'Feature unavailable in your country', 'Video unavailable', 'Overloaded function is ambiguous', 'Deadline has already passed', 'Cannot set timeout on a completed task', 'This conversation is locked', "Connection 'Q1' is a Power Query connection. Use refresh instead."];
	const found = classify(texts.map((text) => ({ text })));
	same(texts.filter((text, i) => found[i].retryable), []);
});

test('what is not sure enough is permanent', () => {
	const found = classify(['field.jsonl', 'vocabulary.jsonl', 'servers.jsonl'].flatMap(read));
	const unsure = found.filter((one) => one.rule && one.confidence < 0.45);
	check(unsure.length > 0);
	for (const one of unsure) same([one.code, one.type, one.retryable], ['tool.failed', 'INTERNAL', false]);
	check(!found.some((one) => one.retryable && one.confidence < 0.6));
});

// A pattern that cannot match is a mistake that no example would show.
test('each pattern of the rules matches a text that is made from it', () => {
	const members = {};
	const rows = [];
	let rule;
	for (const line of readFileSync(join(root, 'registry/classify.rules'), 'utf8').split('\n')) {
		const [kind, ...words] = line.split(/ +/);
		if (kind === 'set:') members[`@${words[0]}`] ??= words[1].split('|')[0];
		else if (kind === 'rule:') rule = words[0];
		else if (kind === 'when:') rows.push({ rule, pattern: words.join(' '), text: words.map(one).join(' ').trim() });
	}
	function one(word) {
		const first = word.replace(/^\?/, '').split('|')[0];
		if (/^(\.{2,3}|\^|\$)$/.test(first)) return '';
		if (first === '@number') return '30';
		if (first === '@name') return "'alpha'";
		return members[first] ?? first.replace(/^http:/, 'HTTP ').replace(/^rpc:/, 'MCP error ');
	}
	const found = classify(rows, ['--explain']);
	same(rows.filter((row, i) => !found[i].matches.some((match) => match.rule === row.rule)).map((row) => `${row.rule}: ${row.pattern}`), []);
});

test('one JSON object per line, with all members, for objects and plain lines alike', () => {
	const input = 'connect ECONNREFUSED 127.0.0.1:5432\n{"text":"nope","jsonrpc_code":-32601}\n\n{"other":"HTTP 429"}\n';
	const { status, out } = run(['classify', '--lines'], { input });
	same(status, 0);
	const found = lines(out).map((line) => JSON.parse(line));
	same(found.map((one) => one.type), ['TRANSIENT', 'NOT_FOUND', 'INTERNAL', 'TRANSIENT']);
	for (const one of found)
		for (const member of ['code', 'type', 'retryable', 'retry_after', 'http_status', 'confidence', 'rule']) check(member in one, member);
	same(found[2].rule, null);
	same(found[2].retryable, false);
});

test('readable answers name the rule and what to do', () => {
	const { status, out } = run(['classify', 'Rate limit exceeded, try again in 30 seconds']);
	same(status, 0);
	match(out, /^TRANSIENT {2}upstream\.rate_limited\n/);
	match(out, /wait: 30 seconds/);
	match(out, /rule: rate-limit, confidence 0\.\d+/);
	match(run(['classify'], { input: 'permission denied\n' }).out, /^PERMISSION/);
	match(run(['classify', 'frobnicate']).out, /no rule matches/);
});

test('--explain shows the rules considered', () => {
	const { out } = run(['classify', '--explain', 'HTTP 403: rate limit exceeded']);
	match(out, /92 {2}rate-limit/);
	match(out, /85 {2}http-403/);
	const json = JSON.parse(run(['classify', '--explain', '--json', 'HTTP 404: File not found']).out);
	check(json.matches.some((one) => one.rule === 'http-404'));
});

test('convert classifies what is in no contract, unless it must not', () => {
	const convert = (input, ...args) => JSON.parse(run(['convert', '--to', 'toolerror', ...args], { input }).out);
	same(convert('connect ECONNREFUSED 127.0.0.1:1').type, 'TRANSIENT');
	same(convert('connect ECONNREFUSED 127.0.0.1:1', '--no-classify').type, 'INTERNAL');
	same(convert('{"error":"Too many requests, retry in 4 seconds"}').data.retry_after, 4);
	same(convert('{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"permission denied"}]}}').type, 'PERMISSION');
	// An envelope of a contract says itself what it is.
	same(convert('{"type":"INTERNAL","message":"connection refused","recoverable":false}').type, 'INTERNAL');
});

test('rules of a user: used, and refused with file and line', () => {
	const good = file('own.rules', 'rule: declined  code: auth.forbidden  rank: 95\nwhen: card .. declined\nexample: card declined\n');
	same(JSON.parse(run(['classify', '--json', '--rules', good, 'card 42 declined']).out).rule, 'declined');
	const bad = file('bad.rules', '# mine\nrule: x  code: no.such  rank: 5\nwhen: a\nexample: a\n');
	const { status, out, err } = run(['classify', '--rules', bad, 'x']);
	same([status, out], [1, '']);
	match(err, /bad\.rules:2: .*no such code/);
});

test('hostile texts are answered in time linear in their length', () => {
	const texts = ['a'.repeat(4 << 20), 'not '.repeat(1 << 20), 'no such no such '.repeat(1 << 18), '\u0000'.repeat(1000), '((((((((('.repeat(100000), '-'.repeat(100000), 'retry in '.repeat(100000)];
	for (const text of texts) {
		const { status, out } = run(['classify', '--json'], { input: text });
		same(status, 0);
		check(JSON.parse(out).type);
	}
});

test('mistakes on the command line are reported', () => {
	same(run(['classify'], { input: '' }).status, 2);
	same(run(['classify', '--http-status', 'x', 'text']).status, 2);
	same(run(['classify', '--lines', 'text']).status, 2);
});

finish();
