// The index of search_text: when there is one, that it survives restarts and damage, who keeps it, and that
// whatever changes is found at once. That its results are those of ripgrep is in code_search_rg.mjs.

import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, closeSync, linkSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { check, run, same, skip, test } from './lib/cli.mjs';
import { awaitIndex, end, indexFacts, repository, serve, useState, write } from './lib/code.mjs';
import { workers } from './lib/worker.mjs';

const tree = (count = 40) => repository(Object.fromEntries(Array.from({ length: count }, (_, i) => [`d${i % 5}/f${i}.txt`, `first ${i}\nneedle${i} here\n`])));
const find = async (server, query, more = {}) => (await server.call('search_text', { query, max_results: 1000, ...more })).matches.map((match) => match.path);
// Searches until the index was asked: on a busy machine a search may find its keeper silent, and walks.
async function findByIndex(server, query, more) {
	const before = rings();
	for (let i = 0; i < 200; i++) {
		const paths = await find(server, query, more);
		if (rings() > before) return paths;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	throw new Error('the index is never asked');
}
const rings = () => readFileSync(join(indexFacts().path, 'bell')).readUInt32LE(0);

// A server with an index that is ready.
async function indexed(dir, ...args) {
	useState();
	const server = await serve(dir, '--search-index', 'on', ...args);
	await awaitIndex();
	return server;
}

test('auto: a small repository has no index; on: it has; off: nothing is kept of its files', async () => {
	const dir = tree();
	useState();
	let server = await serve(dir);
	same((await awaitIndex((facts) => facts.state === 'small')).state, 'small');
	same(await find(server, 'needle7 '), ['d2/f7.txt']);
	await server.end();
	server = await indexed(dir);
	same(await findByIndex(server, 'needle7 '), ['d2/f7.txt']);
	same([indexFacts().files, indexFacts().filesRead], [40, 40]);
	const status = JSON.parse(run(['index', 'status', '--repo', dir, '--json'], { env: { XDG_STATE_HOME: process.env.XDG_STATE_HOME } }).out);
	same(status.search, { state: 'ready', files: 40, files_read: 40, index_bytes: indexFacts().indexBytes });
	await server.end();
	useState();
	server = await serve(dir, '--search-index', 'off');
	same(await find(server, 'needle7 '), ['d2/f7.txt']);
	same(indexFacts().state, 'none');
	await server.end();
});

test('on a disk that becomes full no search ends with SIGBUS: what is mapped has its blocks', async () => {
	const server = await indexed(tree());
	for (const name of ['board', 'bell']) {
		const { blocks, size } = statSync(join(indexFacts().path, name));
		check(blocks * 512 >= size, `${name}: ${blocks} blocks for ${size} bytes`);
	}
	await server.end();
});

test('a change is found by the next search', async () => {
	const dir = tree();
	const server = await indexed(dir);
	const steps = [
		[() => write(dir, { 'd1/f1.txt': 'magpie\n' }), ['d1/f1.txt']],
		[() => write(dir, { 'new/deep/er/x.txt': 'magpie\n' }), ['d1/f1.txt', 'new/deep/er/x.txt']],
		[() => renameSync(join(dir, 'new'), join(dir, 'old')), ['d1/f1.txt', 'old/deep/er/x.txt']],
		[() => appendFileSync(join(dir, 'old/deep/er/x.txt'), 'magpie\n'), ['d1/f1.txt', 'old/deep/er/x.txt', 'old/deep/er/x.txt']],
		[() => write(dir, { '.gitignore': 'old/\n' }), ['d1/f1.txt']],
		[() => rmSync(join(dir, '.gitignore')), ['d1/f1.txt', 'old/deep/er/x.txt', 'old/deep/er/x.txt']],
		[() => write(dir, { 'old/.ignore': '*.txt\n' }), ['d1/f1.txt']],
		[() => write(dir, { '.git/info/exclude': 'd1\n' }), []],
		[() => write(dir, { '.git/info/exclude': '\n', 'old/.ignore': '' }), ['d1/f1.txt', 'old/deep/er/x.txt', 'old/deep/er/x.txt']],
		[() => rmSync(join(dir, 'old'), { recursive: true }), ['d1/f1.txt']],
		[() => rmSync(join(dir, 'd1/f1.txt')), []],
	];
	for (const [change, expected] of steps) {
		change();
		same(await find(server, 'magpie'), expected, String(change));
	}
	// Until there is nothing new to walk for, and then by the index.
	await awaitIndex();
	write(dir, { 'd2/f2.txt': 'a magpie again\n' });
	same(await findByIndex(server, 'MAGPIE'), ['d2/f2.txt']);
	await server.end();
});

test('a file that is ignored since the index was made is not found when it is written', async () => {
	const dir = tree();
	const server = await indexed(dir);
	write(dir, { 'd1/.gitignore': 'f1.txt\n' });
	same(await find(server, 'needle1 '), []);
	await awaitIndex();
	write(dir, { 'd1/f1.txt': 'needle1 again\n', 'd1/f6.txt': 'needle1 elsewhere\n' });
	same(await findByIndex(server, 'needle1 '), ['d1/f6.txt']);
	renameSync(join(dir, 'd1/f6.txt'), join(dir, 'd1/f1.txt'));
	same(await findByIndex(server, 'needle1 '), []);
	rmSync(join(dir, 'd1/.gitignore'));
	same(await find(server, 'needle1 '), ['d1/f1.txt']);
	await server.end();
});

test('a file is searched as it was written through another name, which it has got since the index was made', async () => {
	const dir = tree();
	const server = await indexed(dir);
	linkSync(join(dir, 'd1/f1.txt'), join(dir, 'd2/twin.txt'));
	same(await findByIndex(server, 'needle1 '), ['d1/f1.txt', 'd2/twin.txt']);
	writeFileSync(join(dir, 'd2/twin.txt'), 'plover\n');
	same(await findByIndex(server, 'plover'), ['d1/f1.txt', 'd2/twin.txt']);
	// In a folder that is new, or comes from elsewhere.
	execFileSync('cp', ['-al', 'd3', 'copy'], { cwd: dir });
	same((await findByIndex(server, 'needle3 ')), ['copy/f3.txt', 'd3/f3.txt']);
	appendFileSync(join(dir, 'copy/f3.txt'), 'plover\n');
	same(await findByIndex(server, 'plover'), ['copy/f3.txt', 'd1/f1.txt', 'd2/twin.txt', 'd3/f3.txt']);
	await server.end();
});

test('a folder that is ignored since the index was made is searched if it is named', async () => {
	const dir = tree();
	const server = await indexed(dir);
	write(dir, { '.gitignore': 'd1/\n' });
	same(await find(server, 'needle1 '), []);
	await awaitIndex();
	same(await findByIndex(server, 'needle1 ', { paths: ['d1'] }), ['d1/f1.txt']);
	same(await findByIndex(server, 'needle2 ', { paths: ['d1'] }), []);
	await server.end();
});

test('a file system in the repository is unmounted: its files are not found any more, but those below', async () => {
	const dir = tree();
	if (spawnSync('mount', ['-t', 'tmpfs', 'none', join(dir, 'd1')]).status !== 0) skip('nothing can be mounted here');
	try {
		write(dir, { 'd1/f1.txt': 'dunlin\n' });
		const server = await indexed(dir, '--semantic-index', 'off');
		same([await findByIndex(server, 'dunlin'), await findByIndex(server, 'needle1 ')], [['d1/f1.txt'], []]);
		// No worker keeps a file of it mapped, which would keep it busy.
		for (let i = 0; i < 8; i++) await findByIndex(server, 'dunlin');
		let unmounted = false;
		for (let i = 0; i < 200 && !unmounted; i++) {
			if (i) await new Promise((resolve) => setTimeout(resolve, 50)); // it may be read just now
			unmounted = spawnSync('umount', [join(dir, 'd1')]).status === 0;
		}
		check(unmounted, 'the file system is busy');
		same([await find(server, 'dunlin'), await find(server, 'needle1 ')], [[], ['d1/f1.txt']]);
		await server.end();
	} finally {
		spawnSync('umount', ['--lazy', join(dir, 'd1')], { stdio: 'ignore' });
	}
});

// How many files of a directory the workers of a server keep mapped.
const mappedFiles = (server, dir) =>
	workers(server.wire.child.pid).reduce((sum, { pid }) => sum + new Set(readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n').map((line) => line.split(' ').pop()).filter((path) => path.startsWith(`${dir}/`))).size, 0);

async function awaitMapped(server, dir, query, count) {
	for (let i = 0; i < 200 && mappedFiles(server, dir) < count; i++) await findByIndex(server, query);
	check(mappedFiles(server, dir) >= count, `${mappedFiles(server, dir)} files are mapped`);
}

const filler = 'filler\n'.repeat(2000); // several pages

test('a file that a worker keeps mapped is searched as it is now', async () => {
	const dir = tree(4);
	const file = join(dir, 'd0/f0.txt');
	writeFileSync(file, `magpie\n${filler}magpie\n`);
	const server = await indexed(dir);
	const overwrite = () => {
		const fd = openSync(file, 'r+');
		writeSync(fd, 'egret!\n');
		closeSync(fd);
	};
	const steps = [
		[() => {}, 2], [() => appendFileSync(file, 'magpie\n'), 3], [() => truncateSync(file, 7), 1], [() => truncateSync(file, 0), 0],
		[() => writeFileSync(file, `${filler}magpie\nmagpie\n`), 2], [() => writeFileSync(file, `magpie\n${filler}`), 1], [overwrite, 0],
		[() => (write(dir, { other: 'magpie\nmagpie\nmagpie\n' }), renameSync(join(dir, 'other'), file)), 3], [() => rmSync(file), 0], [() => writeFileSync(file, `magpie\n${filler}`), 1],
		[() => renameSync(file, join(tree(1), 'elsewhere')), 0], [() => writeFileSync(file, `magpie\n${filler}`), 1], [() => rmSync(join(dir, 'd0'), { recursive: true }), 0],
	];
	for (const [change, expected] of steps) {
		await awaitMapped(server, dir, 'needle', 3);
		change();
		for (let i = 0; i < 4; i++) same((await findByIndex(server, 'magpie')).length, expected, `${change}, search ${i}`);
	}
	await server.end();
});

test('files that are cut and written again while they are searched harm no search', async () => {
	const dir = tree(4);
	const files = [0, 1, 2, 3].map((i) => join(dir, `d${i}/f${i}.txt`));
	for (const file of files) writeFileSync(file, `magpie\n${filler}`);
	write(dir, { 'still.txt': 'magpie\n' });
	const server = await indexed(dir);
	await awaitMapped(server, dir, 'magpie', 5);
	const before = workers(server.wire.child.pid).map(({ pid }) => pid);
	for (let i = 0; i < 200; i++) {
		const searches = Array.from({ length: 4 }, () => find(server, 'magpie'));
		for (const file of files) {
			truncateSync(file, i % 2 ? 0 : 5000);
			writeFileSync(file, `magpie\n${filler}`);
		}
		for (const paths of await Promise.all(searches)) check(paths.includes('still.txt') && paths.length <= 5, paths.join(' '));
	}
	same((await findByIndex(server, 'magpie')).length, 5);
	same(workers(server.wire.child.pid).map(({ pid }) => pid).filter((pid) => before.includes(pid)).length, before.length, 'no worker has ended');
	await server.end();
});

test('many changes make a new index, and no search misses one meanwhile', async () => {
	const dir = tree(300);
	const server = await indexed(dir);
	const { generation } = indexFacts();
	for (let i = 0; i < 200; i++) {
		write(dir, { [`d${i % 5}/f${i}.txt`]: `heron${i}\n` });
		if (i % 10 === 0) same(await find(server, `heron${i}`), [`d${i % 5}/f${i}.txt`]);
	}
	const facts = await awaitIndex((now) => now.generation > generation && now.state === 'ready');
	check(facts.generation > generation);
	same((await find(server, 'heron')).length, 200);
	same((await find(server, 'needle')).length, 100);
	await server.end();
});

test('after a restart the index is used again; what changed meanwhile is found', async () => {
	const dir = tree();
	await (await indexed(dir)).end();
	const { generation } = indexFacts();
	write(dir, { 'd3/f3.txt': 'stork\n', 'd3/added.txt': 'stork\n' });
	const server = await serve(dir, '--search-index', 'on');
	same(await find(server, 'stork'), ['d3/added.txt', 'd3/f3.txt']);
	same((await awaitIndex()).generation, generation, 'no new index for two files');
	same(await find(server, 'stork'), ['d3/added.txt', 'd3/f3.txt']);
	same(await find(server, 'needle3 '), []);
	await server.end();
});

test('an index that is damaged, cut, of another version or missing is built again', async () => {
	const dir = tree();
	await (await indexed(dir)).end();
	const harms = [
		(bytes) => (bytes[bytes.length - 100] ^= 1, bytes), (bytes) => (bytes[200] ^= 1, bytes), (bytes) => bytes.subarray(0, bytes.length >> 1),
		(bytes) => (bytes[8] = 99, bytes), () => Buffer.alloc(0), () => null,
	];
	for (const harm of harms) {
		const { generation, path } = indexFacts();
		const at = join(path, `${generation}.tri`);
		const bytes = harm(readFileSync(at));
		if (bytes) writeFileSync(at, bytes);
		else rmSync(at);
		const server = await serve(dir, '--search-index', 'on');
		same((await awaitIndex((facts) => facts.state === 'ready' && facts.generation > generation)).state, 'ready', String(harm));
		same(await find(server, 'needle39'), ['d4/f39.txt']);
		await server.end();
	}
	// The board as well.
	const { path } = indexFacts();
	writeFileSync(join(path, 'board'), Buffer.alloc(readFileSync(join(path, 'board')).length, 0xff));
	const server = await serve(dir, '--search-index', 'on');
	same(await find(server, 'needle39'), ['d4/f39.txt']);
	await awaitIndex();
	same(await find(server, 'needle39'), ['d4/f39.txt']);
	await server.end();
});

test('an index that is damaged while the server runs hides no line', async () => {
	const server = await indexed(tree());
	same(await findByIndex(server, 'needle39'), ['d4/f39.txt']);
	const { generation, path } = indexFacts();
	const at = join(path, `${generation}.tri`);
	const whole = readFileSync(at);
	const postings = Number(whole.readBigUInt64LE(64)); // struct fw_trigram_header
	for (let i = 0; i < 24; i++) { // all lists and trigrams, each time other bits
		const bytes = Buffer.from(whole);
		for (let j = postings; j < bytes.length; j++) bytes[j] ^= (j * 7 + i * 11) & 255;
		writeFileSync(at, bytes);
		same(await findByIndex(server, `needle${i} here`), [`d${i % 5}/f${i}.txt`], `damage ${i}`);
	}
	await server.end();
});

// The process that holds the lock of the index.
function keeper() {
	const { ino } = statSync(join(indexFacts().path, 'lock'));
	const line = readFileSync('/proc/locks', 'utf8').split('\n').find((text) => text.includes('FLOCK') && text.includes(`:${ino} `));
	return line && Number(line.split(/\s+/)[4]);
}

test('a keeper that is killed is replaced, and searches go on', async () => {
	const dir = tree();
	const server = await indexed(dir);
	const pid = keeper();
	check(pid > 1, 'the keeper holds the lock');
	process.kill(pid, 'SIGKILL');
	write(dir, { 'd1/f1.txt': 'egret\n' });
	same(await find(server, 'egret'), ['d1/f1.txt']);
	for (let i = 0; i < 600 && (!keeper() || keeper() === pid); i++) await new Promise((resolve) => setTimeout(resolve, 50));
	check(keeper() && keeper() !== pid, 'another keeps it');
	await awaitIndex();
	same(await find(server, 'egret'), ['d1/f1.txt']);
	await server.end();
});

test('a folder that was deleted and made again is read again, however late the keeper learns of it', async () => {
	const dir = tree();
	const server = await indexed(dir);
	const pid = keeper();
	process.kill(pid, 'SIGSTOP');
	rmSync(join(dir, 'd1'), { recursive: true });
	write(dir, { 'd1/f1.txt': 'curlew\n', 'd1/new.txt': 'curlew\n' });
	process.kill(pid, 'SIGCONT');
	same(await findByIndex(server, 'curlew'), ['d1/f1.txt', 'd1/new.txt']);
	same(await findByIndex(server, 'needle1 '), []);
	await server.end();
});

test('two servers share an index; the second keeps it when the first has ended', async () => {
	const dir = tree();
	const first = await indexed(dir);
	const second = await serve(dir, '--search-index', 'on');
	const pid = keeper();
	write(dir, { 'd0/f0.txt': 'crane\n' });
	same([await find(first, 'crane'), await find(second, 'crane')], [['d0/f0.txt'], ['d0/f0.txt']]);
	await first.end();
	for (let i = 0; i < 600 && (!keeper() || keeper() === pid); i++) await new Promise((resolve) => setTimeout(resolve, 50));
	check(keeper() && keeper() !== pid, 'the second keeps it');
	await awaitIndex();
	write(dir, { 'd0/f5.txt': 'crane\n' });
	same(await find(second, 'crane'), ['d0/f0.txt', 'd0/f5.txt']);
	await second.end();
});

test('files that are not indexed are read: large, with several names, beyond the size limit', async () => {
	const dir = tree();
	const outside = repository({ 'twin.txt': 'nothing yet\n' });
	write(dir, { 'large.txt': `${'filler line\n'.repeat(400000)}ibis\n`, 'bin.dat': 'ibis\0\n' });
	for (let i = 0; i < 60; i++) write(dir, { [`noise/n${i}.txt`]: Array.from({ length: 3000 }, (_, j) => (((i + 1) * 7919 * (j + 1)) % 0xffffff).toString(36)).join(' ') });
	linkSync(join(outside, 'twin.txt'), join(dir, 'twin.txt'));
	const server = await indexed(dir, '--search-index-size', '1');
	check(indexFacts().indexBytes < 2 << 20, `${indexFacts().indexBytes} bytes`);
	same(await find(server, 'ibis'), ['large.txt']);
	// No event reports this: the file is changed by its other name.
	writeFileSync(join(outside, 'twin.txt'), 'ibis\n');
	same(await find(server, 'ibis'), ['large.txt', 'twin.txt']);
	write(dir, { 'noise/n59.txt': 'ibis\n' });
	same(await find(server, 'ibis'), ['large.txt', 'noise/n59.txt', 'twin.txt']);
	await server.end();
});

test('a large file that was binary is searched when it has become text', async () => {
	const dir = tree();
	write(dir, { 'image.bin': Buffer.concat([Buffer.from('ibis\n\0'), Buffer.alloc(9 << 20, 'x')]) });
	const server = await indexed(dir);
	same(await findByIndex(server, 'ibis'), []);
	write(dir, { 'image.bin': `ibis\n${'x\n'.repeat(1 << 22)}` });
	same(await findByIndex(server, 'ibis'), ['image.bin']);
	await server.end();
});

test('folders: ignored but named, replaced by a link, the repository itself replaced', async () => {
	const dir = tree();
	write(dir, { '.gitignore': 'hidden/\n', 'hidden/h.txt': 'needle1 hidden\n' });
	const server = await indexed(dir);
	same(await find(server, 'needle1 '), ['d1/f1.txt']);
	same(await find(server, 'needle1 ', { paths: ['hidden'] }), ['hidden/h.txt']);
	same(await find(server, 'needle1 ', { paths: ['d1'] }), ['d1/f1.txt']);
	same(await find(server, 'needle', { paths: ['d1/f1.txt', 'd2'] }).then((list) => list.length), 9);
	renameSync(join(dir, 'd1'), join(dir, 'elsewhere'));
	symlinkSync('elsewhere', join(dir, 'd1'));
	same(await find(server, 'needle1 '), ['elsewhere/f1.txt']);
	renameSync(dir, `${dir}-old`);
	mkdirSync(dir);
	write(dir, { 'only.txt': 'needle1 in another repository\n' });
	// The sandbox permits the folder that was there when the server started, and no other.
	await server.fail('search_text', { query: 'needle1 ' }, 'auth-insufficient-permissions', 403);
	await server.end();
});

test('several repositories have an index each', async () => {
	const [a, b] = [tree(10), tree(10)];
	const state = useState();
	const server = await serve([`a=${a}`, `b=${b}`], '--search-index', 'on');
	await awaitIndex();
	same(readdirSync(join(state, 'faultwire/code')).length, 2);
	write(b, { 'x.txt': 'bittern\n' });
	write(a, { 'y.txt': 'bittern\n' });
	same(await find(server, 'bittern'), ['a/y.txt', 'b/x.txt']);
	same(await find(server, 'bittern', { paths: ['b'] }), ['b/x.txt']);
	await server.end();
});

await end();
