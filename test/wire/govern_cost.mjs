// A call that is let through allocates nothing in governance, and a wrong token is refused
// with the same number of instructions wherever it differs. bench/govern measures the time.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { has, root } from './lib/cli.mjs';

const bench = join(process.env.FW_BUILD ?? join(root, 'build'), 'bench_govern');
const scratch = mkdtempSync(join(tmpdir(), 'faultwire-cost-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

test('no allocation per call, with a token alone and with a policy', () => {
	const rows = execFileSync(bench, [scratch], { encoding: 'utf8' }).trim().split('\n').map((line) => line.split(' '));
	assert.deepEqual(rows.map((row) => row[1]), ['token', 'token+policy']);
	for (const row of rows) assert.equal(Number(row[3]), 0, row.join(' '));
});

test('the comparison of a token takes the same instructions for every wrong one', { skip: !has('valgrind') || !existsSync('/usr/include/valgrind/callgrind.h') }, () => {
	execFileSync('valgrind', ['--tool=callgrind', '--collect-atstart=no', `--callgrind-out-file=${join(scratch, 'callgrind')}`, bench, mkdtempSync(join(scratch, 'db-')), '--compare'], { stdio: 'ignore' });
	const counts = {};
	for (const file of readdirSync(scratch).filter((name) => name.startsWith('callgrind'))) {
		const text = readFileSync(join(scratch, file), 'utf8');
		const name = text.match(/^desc: Trigger: Client Request: case (\w+)/m)?.[1];
		if (name) counts[name] = Number(text.match(/^(?:totals|summary): (\d+)/m)[1]);
	}
	assert.deepEqual(Object.keys(counts).sort(), ['first', 'last', 'middle']);
	assert.ok(counts.first > 100);
	assert.equal(counts.first, counts.last);
	assert.equal(counts.first, counts.middle);
});
