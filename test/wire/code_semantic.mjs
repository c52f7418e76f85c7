// semantic_search and faultwire index: what is found and why, updates by what has changed, every
// state of the index, and builds that are killed at random moments (FW_LONG=1: 50 times).
// reaches: search.failed

import { execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, check, env, match, run, same, scratch, test } from './lib/cli.mjs';
import { end, isLong, repository, useState, serve, write } from './lib/code.mjs';
import { random } from './lib/corpus.mjs';

const state = useState();
const stateEnv = { XDG_STATE_HOME: state };

function git(dir, ...args) {
	const who = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.org', GIT_COMMITTER_NAME: 'c', GIT_COMMITTER_EMAIL: 'c@example.org' };
	return execFileSync('git', ['-c', 'init.defaultBranch=main', ...args], { cwd: dir, env: { ...env, ...who, GIT_CONFIG_NOSYSTEM: '1' }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}
const index = (action, dir, more = {}) => {
	const result = run(['index', action, '--repo', dir, '--json'], { env: { ...stateEnv, ...more } });
	return { ...result, json: result.out ? JSON.parse(result.out) : null };
};
const build = (dir, more) => {
	const result = index('build', dir, more);
	same(result.status, 0, result.err);
	return result.json;
};
const files = {
	'src/token.c': `/* Refreshes access tokens before they expire. */\nint token_refresh(struct session *session)\n{\n\treturn session->expires;\n}\n`,
	'src/parser.py': `class HttpParser:\n    """Parses request headers."""\n    def parse_header(self, line):\n        name, value = line.split(':')\n        return name, value\n`,
	'src/queue.go': `package queue\n\n// Push adds a job at the end.\nfunc (q *Queue) Push(job Job) {\n\tq.jobs = append(q.jobs, job)\n}\n`,
	'docs/guide.md': '# Guide\n\n## Rate limits\n\nA client that sends too many requests has to wait.\n',
	'src/misc.c': 'static int unrelated(void)\n{\n\treturn 0;\n}\n',
};
function sample() {
	const dir = repository(files);
	git(dir, 'init', '-q');
	git(dir, 'add', '-A');
	git(dir, 'commit', '-qm', 'first import');
	write(dir, { 'src/misc.c': 'static int unrelated(void)\n{\n\treturn 1;\n}\n' });
	git(dir, 'commit', '-qam', 'avoid the flickering lamp at start');
	return dir;
}
const paths = (result) => result.findings.map((finding) => finding.path);

test('build, status and drop; a build reads only what has changed', () => {
	const dir = sample();
	same(index('status', dir).json.state, 'absent');
	same(index('status', dir).status, 1);
	const first = build(dir);
	same([first.files, first.changed_files, first.commits, first.unchanged], [5, 5, 2, false]);
	const facts = index('status', dir);
	same([facts.status, facts.json.state, facts.json.embedder, facts.json.commit], [0, 'ready', 'lsa-64', git(dir, 'rev-parse', 'HEAD').trim()]);
	same(build(dir).unchanged, true);
	write(dir, { 'src/new.c': 'int fresh(void);\n', 'src/token.c': files['src/token.c'] });
	rmSync(join(dir, 'docs/guide.md'));
	const second = build(dir);
	same([second.files, second.unchanged], [5, false]);
	check(second.changed_files >= 2 && second.changed_files <= 3, JSON.stringify(second));
	const { out } = run(['index', 'status', '--repo', dir], { env: stateEnv });
	match(out, /^state {7}ready$/m);
	same(index('drop', dir).json.dropped, true);
	same(index('drop', dir).json.dropped, false);
	same(existsSync(facts.json.directory), false);
});

test('findings by words, names, commits; why, answer, confidence', async () => {
	const dir = sample();
	build(dir);
	const { call, fail, end: stop } = await serve(dir, '--semantic-index', 'off');
	const tokens = await call('semantic_search', { query: 'refresh an access token that expires' });
	same(paths(tokens)[0], 'src/token.c');
	same(Object.keys(tokens), ['findings', 'answer', 'confidence', 'mode', 'index']);
	same(Object.keys(tokens.findings[0]), ['path', 'start_line', 'end_line', 'symbol', 'score', 'preview', 'why']);
	same([tokens.mode, tokens.index.state, tokens.findings[0].symbol], ['hybrid', 'ready', 'token_refresh']);
	check(['refresh', 'access', 'token'].every((word) => tokens.findings[0].why.terms.includes(word)), JSON.stringify(tokens.findings[0].why));
	match(tokens.answer, /Refreshes access tokens before they expire.*\[src\/token\.c:1\]/);
	check(tokens.confidence > 0 && tokens.confidence <= 1);
	same(paths(await call('semantic_search', { query: 'parseHeader' }))[0], 'src/parser.py');
	// Only the subject of a commit has these words.
	const lamp = await call('semantic_search', { query: 'flickering lamp' });
	same(paths(lamp)[0], 'src/misc.c');
	same(lamp.findings[0].why.commits[0].message, 'avoid the flickering lamp at start');
	check(lamp.findings[0].score >= (lamp.findings[1]?.score ?? 0), 'the best first');
	const none = await call('semantic_search', { query: 'zzzqqq xxyyzz' });
	same([none.findings, none.answer, none.confidence], [[], '', 0]);
	same((await call('semantic_search', { query: 'job queue push header token', limit: 2 })).findings.length, 2);
	await fail('semantic_search', { query: '' }, 'invalid-parameter', 400);
	await fail('semantic_search', { query: 'x', limit: 0 }, 'invalid-parameter', 400, 'limit must be a positive integer');
	await fail('semantic_search', {}, 'invalid-parameter', 400);
	await stop();
});

test('several repositories: paths begin with their names', async () => {
	const [one, two] = [sample(), repository({ 'a.txt': 'a purple elephant\n' })];
	build(one);
	build(two);
	const { call, end: stop } = await serve([`one=${one}`, `two=${two}`], '--semantic-index', 'off');
	same(paths(await call('semantic_search', { query: 'purple elephant' }))[0], 'two/a.txt');
	same(paths(await call('semantic_search', { query: 'refresh access token' }))[0], 'one/src/token.c');
	await stop();
});

test('no index: vector-search-error 503 with its context', async () => {
	const { fail, end: stop } = await serve(sample(), '--semantic-index', 'off');
	const { problem } = await fail('semantic_search', { query: 'refresh token' }, 'vector-search-error', 503, 'search failed: the index is not built');
	same(problem.extensions, { query: 'refresh token', faiss_index: 'index' });
	await stop();
});

test('while the index is built, the answer is lexical and says so; afterwards the server has built it', async () => {
	const dir = sample();
	const { directory } = index('status', dir).json;
	mkdirSync(directory, { recursive: true });
	// Somebody else holds the lock of the index for now.
	const holder = spawn('flock', [join(directory, 'lock'), 'cat'], { stdio: ['pipe', 'ignore', 'ignore'] });
	while (index('status', dir).json.state !== 'building') await new Promise((resolve) => setTimeout(resolve, 20));
	const other = index('build', dir);
	same(other.status, 1);
	match(other.err, /another process is building this index/);
	match(index('drop', dir).err, /another process is building this index/);
	const server = await serve(dir);
	const early = await server.call('semantic_search', { query: 'refresh access token' });
	same([early.mode, early.index.state, early.confidence, paths(early)[0]], ['lexical', 'building', 0, 'src/token.c']);
	match(early.answer, /\[src\/token\.c:1\]/);
	same(early.findings[0].why, { terms: ['refresh', 'access', 'token'], commits: [], similarity: 0, lexical: true });
	holder.stdin.end();
	let late;
	do {
		await new Promise((resolve) => setTimeout(resolve, 100));
		late = await server.call('semantic_search', { query: 'refresh access token' });
	} while (late.mode === 'lexical');
	same([paths(late)[0], late.findings[0].symbol], ['src/token.c', 'token_refresh']);
	await server.end();
});

test('stale: changed files are marked, files that are gone are not found', async () => {
	const dir = sample();
	build(dir);
	const { call, end: stop } = await serve(dir, '--semantic-index', 'off');
	write(dir, { 'src/token.c': '/* new first line */\n/* second */\nint token_refresh(void);\n' });
	const changed = await call('semantic_search', { query: 'refresh access token' });
	same([changed.index.state, changed.findings[0].why.changed], ['stale', true]);
	// What is shown is what the file has now.
	check(changed.findings[0].end_line <= 3 && readFileSync(join(dir, 'src/token.c'), 'utf8').includes(changed.findings[0].preview), JSON.stringify(changed.findings[0]));
	rmSync(join(dir, 'src/token.c'));
	check(!paths(await call('semantic_search', { query: 'refresh access token' })).includes('src/token.c'));
	await stop();
});

test('a damaged index, and one of another version or embedder', async () => {
	const dir = sample();
	build(dir);
	const { directory } = index('status', dir).json;
	const snapshot = join(directory, 'snapshot');
	const whole = readFileSync(snapshot);
	const server = await serve(dir, '--semantic-index', 'off');
	const query = { query: 'refresh token' };
	const broken = (bytes, reason, status) => {
		writeFileSync(snapshot, bytes);
		same(index('status', dir).json.state, status);
		return server.fail('semantic_search', query, 'vector-search-error', 503, `search failed: ${reason}`);
	};
	const rand = random(3);
	for (let i = 0; i < (isLong ? 300 : 30); i++) {
		const bytes = Buffer.from(whole);
		const at = 12 + rand(bytes.length - 12);
		bytes[at] ^= 1 << rand(8);
		await broken(bytes, 'the index is damaged', 'corrupt');
	}
	for (const len of [0, 7, 100, whole.length - 1]) await broken(whole.subarray(0, len), 'the index is damaged', 'corrupt');
	await broken(Buffer.concat([whole.subarray(0, 8), Buffer.from([99, 0, 0, 0]), whole.subarray(12)]), 'the index is of another version', 'of another version');
	writeFileSync(snapshot, whole);
	same(paths(await server.call('semantic_search', query))[0], 'src/token.c');
	// A build repairs it, also if its database is damaged.
	writeFileSync(snapshot, 'x');
	writeFileSync(join(directory, 'data.db'), 'no database at all'.repeat(1000));
	same(build(dir).changed_files, 5);
	same(paths(await server.call('semantic_search', query))[0], 'src/token.c');
	await server.end();
	Object.assign(process.env, { FAULTWIRE_EMBEDDINGS_URL: 'http://127.0.0.1:9/v1/embeddings', FAULTWIRE_EMBEDDINGS_MODEL: 'tiny' });
	const other = await serve(dir, '--semantic-index', 'off');
	delete process.env.FAULTWIRE_EMBEDDINGS_URL;
	const { problem } = await other.fail('semantic_search', query, 'vector-search-error', 503, 'search failed: the index was made by another embedder');
	same([problem.extensions.embedder, problem.extensions.wanted_embedder], ['lsa-64', 'tiny at 127.0.0.1:9']);
	await other.end();
});

test('a directory that is not a git repository has an index without history', async () => {
	const dir = repository(files);
	same(build(dir).commits, 0);
	const { call, end: stop } = await serve(dir, '--semantic-index', 'off');
	same(paths(await call('semantic_search', { query: 'refresh access token' }))[0], 'src/token.c');
	await stop();
});

test(`a build that is killed ${isLong ? 50 : 10} times leaves a whole index or none, and the next one continues`, async () => {
	const rand = random(11);
	const word = () => ['alpha', 'beta', 'gamma', 'delta', 'token', 'header', 'queue', 'lamp'][rand(8)] + rand(300);
	const many = {};
	for (let i = 0; i < 1500; i++) many[`d${i % 20}/f${i}.c`] = Array.from({ length: 40 }, () => `int ${word()}_${word()}(void);\n`).join('');
	const dir = repository(many);
	git(dir, 'init', '-q');
	git(dir, 'add', '-A');
	git(dir, 'commit', '-qm', 'many');
	const { directory } = index('status', dir).json;
	const start = Date.now();
	build(dir);
	const whole = Date.now() - start;
	index('drop', dir);
	const seen = { absent: 0, ready: 0 };
	for (let i = 0; i < (isLong ? 50 : 10); i++) {
		const child = spawn(bin, ['index', 'build', '--repo', dir], { env: { ...env, ...stateEnv }, stdio: 'ignore' });
		const gone = new Promise((resolve) => child.on('exit', resolve));
		await new Promise((resolve) => setTimeout(resolve, rand(Math.ceil(whole * 1.1))));
		child.kill('SIGKILL');
		await gone;
		const { state: found } = index('status', dir).json;
		check(found in seen, `after a kill the index is ${found}`);
		seen[found]++;
		if (found === 'ready' && rand(3)) index('drop', dir);
		// A new content from time to time, so that there is something to do.
		write(dir, { [`d0/extra${i}.c`]: `int extra_${i}(void);\n` });
	}
	const last = build(dir);
	same(last.files, 1500 + (isLong ? 50 : 10));
	same(readdirSync(directory).filter((name) => !name.startsWith('data.db')).sort(), ['lock', 'snapshot']);
	const { call, end: stop } = await serve(dir, '--semantic-index', 'off');
	same(paths(await call('semantic_search', { query: 'extra 0' })).some((path) => path.startsWith('d0/extra')), true);
	await stop();
	console.log(`# killed: ${JSON.stringify(seen)}`);
});

test('a build that is cancelled while git reads the history leaves no half of it', async () => {
	const dir = sample();
	for (let i = 0; i < 20; i++) {
		write(dir, { 'src/misc.c': `int number = ${i};\n` });
		git(dir, 'commit', '-qam', `set the number to ${i}`);
	}
	const tools = mkdtempSync(join(scratch(), 'tools-'));
	const real = execFileSync('which', ['git'], { encoding: 'utf8' }).trim();
	writeFileSync(join(tools, 'git'), `#!/bin/sh
case "$*" in
*max-count=1\\ *) exec ${real} "$@" ;;
*) ${real} "$@" | { head -c 500; touch ${tools}/begun; sleep 60; } ;;
esac
`, { mode: 0o755 });
	const child = spawn(bin, ['index', 'build', '--repo', dir], { env: { ...env, ...stateEnv, PATH: `${tools}:${env.PATH}` }, stdio: 'ignore' });
	const gone = new Promise((resolve) => child.on('exit', resolve));
	while (!existsSync(join(tools, 'begun'))) await new Promise((resolve) => setTimeout(resolve, 20));
	await new Promise((resolve) => setTimeout(resolve, 300));
	child.kill('SIGINT');
	same(await gone, 130);
	same(build(dir).commits, 22);
});

if (isLong)
	test('a history that takes git longer than a tool waits for it is read whole', () => {
		const dir = sample();
		const tools = mkdtempSync(join(scratch(), 'tools-'));
		const real = execFileSync('which', ['git'], { encoding: 'utf8' }).trim();
		writeFileSync(join(tools, 'git'), `#!/bin/sh\ncase "$*" in *max-count=1\\ *) ;; *) sleep 22 ;; esac\nexec ${real} "$@"\n`, { mode: 0o755 });
		same(build(dir, { PATH: `${tools}:${env.PATH}` }).commits, 2);
	});

test('a merge of commits that are older than the newest one is read at once', () => {
	const dir = sample();
	git(dir, 'checkout', '-qb', 'topic', 'HEAD~1');
	write(dir, { 'docs/guide.md': '# Guide\n' });
	git(dir, 'add', '-A');
	env.GIT_COMMITTER_DATE = '2001-01-01T00:00:00Z';
	git(dir, 'commit', '-qm', 'shorten the guide');
	delete env.GIT_COMMITTER_DATE;
	git(dir, 'checkout', '-q', 'main');
	same(build(dir).commits, 2);
	git(dir, 'merge', '-q', '--no-ff', '-m', 'merge topic', 'topic');
	same(build(dir).commits, 3);
	same(index('status', dir).json.commit, git(dir, 'rev-parse', 'HEAD').trim());
	same(build(dir).unchanged, true);
});

test('commits that were amended, reset or are on another branch are not in the index any more', async () => {
	const dir = sample();
	const { call, end: stop } = await serve(dir, '--semantic-index', 'off');
	same(build(dir).commits, 2);
	const named = async (query) => (await call('semantic_search', { query })).findings.flatMap((finding) => finding.why.commits.map((commit) => commit.message));
	same(await named('flickering lamp'), ['avoid the flickering lamp at start']);
	git(dir, 'commit', '-q', '--amend', '-m', 'stop the dripping faucet');
	same(build(dir).commits, 2);
	same([await named('flickering lamp'), await named('dripping faucet')], [[], ['stop the dripping faucet']]);
	git(dir, 'checkout', '-qb', 'other', 'HEAD~1');
	same([build(dir).commits, await named('dripping faucet')], [1, []]);
	git(dir, 'checkout', '-q', 'main');
	same([build(dir).commits, await named('dripping faucet')], [2, ['stop the dripping faucet']]);
	git(dir, 'checkout', '-q', '--orphan', 'new');
	git(dir, 'commit', '-qm', 'begin again');
	same([build(dir).commits, await named('dripping faucet')], [1, []]);
	await stop();
});

test('a database that is damaged in the middle is made again', () => {
	const dir = repository(Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`f${i}.c`, `int alpha${i}(void)\n{\n\treturn beta${i * 7};\n}\n`.repeat(30)])));
	build(dir);
	const database = join(index('status', dir).json.directory, 'data.db');
	const bytes = readFileSync(database);
	for (let i = 3 * 8192; i < bytes.length; i++) bytes[i] ^= 0x5a;
	writeFileSync(database, bytes);
	write(dir, { 'f1.c': 'int other(void);\n' });
	const again = build(dir);
	same([again.files, again.changed_files], [200, 200]);
	same(build(dir).unchanged, true);
});

test('an index that is deleted while a server runs is built again, by the server or by hand', async () => {
	for (const keeps of [true, false]) {
		const dir = sample();
		build(dir);
		const { directory } = index('status', dir).json;
		const server = await serve(dir, ...(keeps ? [] : ['--semantic-index', 'off']));
		const query = { query: 'refresh access token' };
		same((await server.call('semantic_search', query)).mode, 'hybrid');
		let dropped;
		do dropped = index('drop', dir); // the server may be looking for changes
		while (/another process/.test(dropped.err));
		same(dropped.json.dropped, true);
		if (!keeps) {
			await server.fail('semantic_search', query, 'vector-search-error', 503, 'search failed: the index is not built');
			build(dir);
		}
		let found;
		for (let i = 0; i < 600 && found?.mode !== 'hybrid'; i++) {
			await new Promise((resolve) => setTimeout(resolve, 50));
			found = await server.call('semantic_search', query);
		}
		same([found.mode, paths(found)[0]], ['hybrid', 'src/token.c']);
		await server.end();
		same(index('drop', dir).json.dropped, true);
		same(existsSync(directory), false);
	}
});

test('a search does not keep an index from being built', async () => {
	const dir = sample();
	build(dir);
	const { directory } = index('status', dir).json;
	// A search that looks whether the lock is taken holds it, for less time than this.
	const looking = spawn('flock', ['-s', join(directory, 'lock'), 'sh', '-c', 'echo held; sleep 0.1'], { stdio: ['ignore', 'pipe', 'ignore'] });
	await new Promise((resolve) => looking.stdout.once('data', resolve));
	build(dir);
});

test('findings do not lead outside, and no answer has an absolute path', async () => {
	const dir = sample();
	build(dir);
	const { wire, end: stop } = await serve(dir, '--semantic-index', 'off');
	const text = JSON.stringify(await wire.call('semantic_search', { query: 'refresh access token' }));
	check(!text.includes(dir) && !text.includes(state), 'no absolute path');
	const fd = openSync(join(index('status', dir).json.directory, 'snapshot'), 'r');
	same(statSync(join(index('status', dir).json.directory, 'snapshot')).mode & 0o077, 0);
	closeSync(fd);
	await stop();
});

await end();
