// faultwire classify: flat texts of servers, classified by the built-in rules.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, file, finish, lines, match, root, run, same, test } from './lib/cli.mjs';

// Texts in the words of libraries, databases, shells and services, written for this test.
const corpus = readFileSync(join(root, 'test/classify/field.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));

function classify(rows, args = []) {
	const input = rows.map((row) => `${JSON.stringify({ text: row.text, jsonrpc_code: row.jsonrpc_code, tool: row.tool })}\n`).join('');
	const { status, out, err } = run(['classify', '--lines', ...args], { input });
	same([status, err], [0, '']);
	return lines(out).map((line) => JSON.parse(line));
}

test('the labelled corpus: types, permanent failures, statuses and delays', () => {
	const found = classify(corpus);
	same(found.length, corpus.length);
	const types = [...new Set(corpus.map((row) => row.type))];
	const right = corpus.filter((row, i) => row.type === found[i].type).length;
	check(right / corpus.length >= 0.97, `types right: ${right} of ${corpus.length}`);
	let sum = 0;
	for (const type of types) {
		const hit = corpus.filter((row, i) => row.type === type && found[i].type === type).length;
		sum += (2 * hit) / (corpus.filter((row) => row.type === type).length + found.filter((one) => one.type === type).length);
	}
	check(sum / types.length >= 0.94, `macro F1: ${sum / types.length}`);
	const permanent = corpus.filter((row) => !row.retryable).length;
	const wrong = corpus.filter((row, i) => !row.retryable && found[i].retryable);
	check(wrong.length / permanent <= 0.005, `permanent called retryable: ${wrong.map((row) => row.text).join('; ')}`);
	for (const [i, row] of corpus.entries()) {
		if (row.http_status !== null) same(found[i].http_status, row.http_status, row.text);
		if (row.retry_after !== null) same(found[i].retry_after, row.retry_after, row.text);
	}
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

test('mistakes on the command line are told', () => {
	same(run(['classify'], { input: '' }).status, 2);
	same(run(['classify', '--http-status', 'x', 'text']).status, 2);
	same(run(['classify', '--lines', 'text']).status, 2);
});

finish();
