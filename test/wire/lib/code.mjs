// What the tests of the code toolset share: a directory with files, and a server of it.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bin, finish, same, scratch } from './cli.mjs';
import { Wire, modern } from './mcp.mjs';

// Servers that a failed test has left do not keep the tests from ending.
const children = [];
export async function end() {
	await finish();
	for (const child of children) child.kill('SIGKILL');
}

export const isLong = Boolean(process.env.FW_LONG);

// A new directory with these files: { 'src/a.c': 'text' }.
export function repository(files = {}) {
	const dir = mkdtempSync(join(scratch(), 'repo-'));
	write(dir, files);
	return dir;
}

export function write(dir, files) {
	for (const [path, content] of Object.entries(files)) {
		mkdirSync(dirname(join(dir, path)), { recursive: true });
		writeFileSync(join(dir, path), content);
	}
}

// A state directory of its own for the servers that start from now on.
let state;
export function useState() {
	state = mkdtempSync(join(scratch(), 'state-'));
	process.env.XDG_STATE_HOME = state;
	return state;
}

// What the keeper of the search index has published (src/tools/code/board.h), in a state directory with one index.
const states = ['none', 'building', 'ready', 'small', 'unwatched', 'failed'];
export function indexFacts(from = state) {
	try {
		const folder = join(from, 'faultwire/code');
		const path = join(folder, readdirSync(folder)[0]);
		const board = readFileSync(join(path, 'board'));
		const number = (at) => Number(board.readBigUInt64LE(at));
		return {
			path, state: states[board.readUInt32LE(16)], isWriting: board.readUInt32LE(4) % 2 === 1, changes: board.readUInt32LE(20),
			generation: number(24), files: number(48), filesRead: number(56), bytes: number(64), indexBytes: number(72),
		};
	} catch {
		return { state: 'none' };
	}
}

export async function awaitIndex(isWanted = (facts) => facts.state === 'ready', from = state) {
	for (let i = 0; i < (isLong ? 12000 : 1200); i++) {
		const facts = indexFacts(from);
		if (isWanted(facts) && !facts.isWriting) return facts;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	throw new Error(`the index does not become as it should: ${JSON.stringify(indexFacts(from))}`);
}

export const emptyResults = {
	open_file: { path: '', content: '', lines: 0, size: 0 },
	list_paths: { items: [], total: 0, truncated: false },
	search_text: { matches: [], total: 0, truncated: false },
	semantic_search: { findings: [], answer: '', confidence: 0 },
	find_symbol: { symbols: [], total: 0, truncated: false },
	outline: { path: '', symbols: [], lines: 0 },
	find_references: { references: [], total: 0, truncated: false },
	blame_range: { blame: [] },
	file_history: { commits: [] },
};
export const operations = {
	open_file: 'files:open_file',
	list_paths: 'files:list_paths',
	search_text: 'search:text',
	semantic_search: 'semantic:search',
	find_symbol: 'semantic:find_symbol',
	outline: 'semantic:outline',
	find_references: 'semantic:find_references',
	blame_range: 'git:blame_range',
	file_history: 'git:file_history',
};

// A server of one directory. `call` gives the structured content of a success; `fail` gives
// the envelope of a failure, which is checked against what the contract says of all of them.
export async function serve(repo, ...args) {
	const repos = Array.isArray(repo) ? repo.flatMap((one) => ['--repo', one]) : ['--repo', repo];
	if (!state) useState();
	const wire = new Wire(['serve', '--tools', 'code', '--log', 'off', '--audit', 'off', '--incidents', 'off', ...repos, ...args], bin);

	wire.patience = isLong ? 900000 : 60000; // searches and git take their time on a busy machine
	children.push(wire.child);
	return {
		wire,
		async call(name, given = {}) {
			const reply = await wire.call(name, given, modern);
			same(reply.result?.isError ?? false, false, JSON.stringify(reply).slice(0, 600));
			same('error' in reply.result.structuredContent || 'problem' in reply.result.structuredContent, false, 'a success has no error');
			return reply.result.structuredContent;
		},
		async fail(name, given, code, status, error) {
			const { result } = await wire.call(name, given, modern);
			same(result?.isError, true, `${name} ${JSON.stringify(given)}: ${JSON.stringify(result).slice(0, 600)}`);
			const envelope = JSON.parse(result.content[0].text);
			same(result.structuredContent, envelope, 'both carriers');
			const { error: text, problem, ...empty } = envelope;
			same(empty, emptyResults[name], 'empty result');
			same(Object.keys(envelope).slice(-2), ['error', 'problem'], 'order');
			same([problem.code, problem.status, problem.detail, problem.instance, problem.type],
				[code, status, text, `urn:codeintel:${operations[name]}`, `https://kgfoundry.dev/problems/${code}`], JSON.stringify(envelope));
			if (error !== undefined) same(text, error);
			return envelope;
		},
		end: () => wire.end(),
	};
}
