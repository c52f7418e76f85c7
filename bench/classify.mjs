// How right the classifier is: on the whole corpus, on texts of other servers, and on the
// corpus with servers left out in three ways.
//
// usage: node classify.mjs PROGRAM RULES CORPUS

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [program, rulesPath, corpusPath] = process.argv.slice(2);
const readRows = (path) => readFileSync(path, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const corpus = readRows(corpusPath);
// Texts from outside the corpus: names of standards and libraries, other servers, and
// batches that were labelled before they were run and read afterwards.
const sets = join(dirname(fileURLToPath(import.meta.url)), '../test/classify');
const vocabulary = readRows(join(sets, 'vocabulary.jsonl'));
const others = [...vocabulary, ...['servers.jsonl', 'batches.jsonl'].flatMap((name) => readRows(join(sets, name)))];
const scratch = mkdtempSync(join(tmpdir(), 'fw-classify-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

function classify(rows, args) {
	const input = rows.map(({ text, jsonrpc_code, tool }) => `${JSON.stringify({ text, jsonrpc_code, tool })}\n`).join('');
	return execFileSync(program, ['classify', '--lines', ...args], { input, maxBuffer: 1 << 28 }).toString().trim().split('\n').map((line) => JSON.parse(line));
}

// { head, lines: [...] } for each rule; a line is a pattern or an example.
function readRules() {
	const rules = [];
	for (const line of readFileSync(rulesPath, 'utf8').split('\n')) {
		if (line.startsWith('rule:')) rules.push({ head: line, name: line.split(/\s+/)[1], lines: [] });
		else if (/^(when|unless|example):/.test(line)) rules.at(-1).lines.push(line);
	}
	return rules;
}

function writeRules(rules, name) {
	const path = join(scratch, name);
	writeFileSync(path, rules.map((rule) => [rule.head, ...rule.lines, ''].join('\n')).join('\n'));
	return path;
}

// For each "when" of the file the servers whose texts contain it, and whether the vocabulary
// of a standard or library, or any text from outside the corpus does. A file may have 1,024
// rules, so the patterns are tried in parts.
function serversOfPatterns(rules) {
	const patterns = rules.flatMap((rule) => rule.lines.filter((line) => line.startsWith('when:')).map((line) => ({ rule, line, servers: new Set(), isVocabulary: false, isElsewhere: false })));
	const texts = [...corpus, ...others];
	for (let from = 0; from < patterns.length; from += 100) {
		const part = patterns.slice(from, from + 100);
		const path = writeRules(part.map((one, i) => ({ head: `rule: pattern-${i} code: tool.failed rank: 99`, lines: [one.line, 'example: x'] })), 'part.rules');
		classify(texts, ['--explain', '--rules', path]).forEach((found, row) => {
			for (const match of found.matches) {
				const number = /^pattern-(\d+)$/.exec(match.rule)?.[1];
				if (number === undefined) continue;
				const one = part[Number(number)];
				const known = vocabulary[row - corpus.length];
				if (row < corpus.length) one.servers.add(corpus[row].server);
				else one.isElsewhere = true;
				// Sentences that the author made up are in the file as "english".
				if (known && known.source !== 'english') one.isVocabulary = true;
			}
		});
	}
	return patterns;
}

function score(rows, found) {
	const types = [...new Set(corpus.map((row) => row.type))];
	const right = rows.filter((row, i) => row.type === found[i].type).length;
	const f1 = types.map((type) => {
		const hit = rows.filter((row, i) => row.type === type && found[i].type === type).length;
		return (2 * hit) / Math.max(1, rows.filter((row) => row.type === type).length + found.filter((one) => one.type === type).length);
	});
	const permanent = rows.filter((row) => !row.retryable).length;
	const wrong = rows.filter((row, i) => !row.retryable && found[i].retryable).length;
	const missing = rows.filter((row, i) => (row.http_status !== null && row.http_status !== found[i].http_status) || (row.retry_after !== null && row.retry_after !== found[i].retry_after)).length;
	return { right: right / rows.length, f1: f1.reduce((a, b) => a + b) / types.length, wrong: wrong / permanent, missing };
}

const goals = { right: 0.97, f1: 0.94, wrong: 0.005, missing: 0 };
const percent = (x) => `${(100 * x).toFixed(1)} %`;

// One row of the table; with goals if the issue of the row is whether they are met.
function show(name, rows, found, has_goals) {
	const got = score(rows, found);
	const cell = (text, holds) => (has_goals ? `${text} ${holds ? 'PASS' : 'MISS'}` : text).padEnd(14);
	console.log(`${cell(percent(got.right), got.right >= goals.right)}${cell(got.f1.toFixed(3), got.f1 >= goals.f1)}${cell(percent(got.wrong), got.wrong <= goals.wrong)}${cell(String(got.missing), got.missing <= goals.missing)}${name} (${rows.length} texts)`);
}

console.log(`goals         types right ${percent(goals.right)}, macro F1 ${goals.f1}, permanent called retryable ${percent(goals.wrong)}, statuses and delays missed 0`);
console.log(`${'types'.padEnd(14)}${'macro F1'.padEnd(14)}${'perm->retry'.padEnd(14)}${'missed'.padEnd(14)}texts`);
const found_in_all = classify(corpus, []);
show('whole corpus', corpus, found_in_all, true);
const simulated = (row) => /simulated/.test(row.note ?? '');
if (corpus.some(simulated)) {
	const real = corpus.map((row, i) => [row, found_in_all[i]]).filter(([row]) => !simulated(row));
	show('without simulated upstreams', real.map(([row]) => row), real.map(([, one]) => one), true);
}
show('outside the corpus, known to the author', others, classify(others, []), false);
const clear = others.filter((row) => !row.hard);
show('of those, where experts would agree', clear, classify(clear, []), false);
if (!corpus.every((row) => row.server)) process.exit(0); // nothing to leave out

const rules = readRules();
const patterns = serversOfPatterns(rules);
const servers = [...new Set(corpus.map((row) => row.server))].sort();
const folds = 10;

// For each part of the servers, without the patterns that `isDropped` says.
function leaveOut(isDropped) {
	const rows = [];
	const found = [];
	for (let fold = 0; fold < folds; fold++) {
		const out = new Set(servers.filter((_, i) => i % folds === fold));
		const dropped = patterns.filter((one) => one.servers.size > 0 && [...one.servers].every((server) => out.has(server)) && isDropped(one));
		const kept = rules.map((rule) => {
			const gone = new Set(dropped.filter((one) => one.rule === rule).map((one) => one.line));
			const lines = rule.lines.filter((line) => !gone.has(line));
			return { head: rule.head, lines: lines.some((line) => line.startsWith('when:')) ? lines : ['when: zzzz', ...lines] };
		});
		const part = corpus.filter((row) => out.has(row.server));
		rows.push(...part);
		found.push(...classify(part, ['--rules', writeRules(kept, 'kept.rules')]));
	}
	return [rows, found];
}

// What stays of the patterns that no other server of the corpus needs. docs/classify.md says
// what each of these figures means.
const ways = [
	['nothing else (a lower bound)', () => true],
	['the vocabulary of standards and libraries (compare this one with the goal)', (pattern) => !pattern.isVocabulary],
	['that vocabulary, and what other servers say (optimistic)', (pattern) => !pattern.isElsewhere],
];
for (const [name, isDropped] of ways) {
	const [rows, found] = leaveOut(isDropped);
	show(`${folds} parts of ${servers.length} servers left out; known besides: ${name}`, rows, found, true);
	if (!process.env.FW_BENCH_SHOW) continue;
	rows.forEach((row, i) => {
		const one = found[i];
		if (row.type !== one.type || (row.http_status && row.http_status !== one.http_status)) console.log(`${row.hard ? '?' : ' '} ${row.type} found ${one.type} by ${one.rule}: ${row.text.replaceAll('\n', ' ').slice(0, 160)}`);
	});
}
