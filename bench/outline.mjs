// See bench/outline.

import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { serve, useState } from '../test/wire/lib/code.mjs';
import { modern } from '../test/wire/lib/mcp.mjs';
import { hasCtags, judgeOutline } from '../test/wire/lib/outline.mjs';

if (!hasCtags()) {
	console.log('outline: universal-ctags with JSON is not installed');
	process.exit(0);
}
const sums = {};
let files = 0;
for (const tree of process.argv.slice(2).map((path) => resolve(path))) {
	const paths = execFileSync('git', ['ls-files', '-z'], { cwd: tree, encoding: 'utf8', maxBuffer: 1 << 30 }).split('\0').filter((path) => path && !path.includes('\n') && !path.endsWith('.min.js'));
	useState();
	const server = await serve(tree, '--semantic-index', 'off', '--search-index', 'off');
	files += paths.length;
	// null: a file that is not UTF-8.
	const outline = async (path) => {
		const { result } = await server.wire.call('outline', { path }, modern);
		return result.isError ? null : result.structuredContent.symbols;
	};
	for (const [language, { total, found, missing }] of Object.entries(await judgeOutline(tree, paths, outline))) {
		const sum = (sums[language] ??= { total: 0, found: 0, missing: [] });
		sum.total += total;
		sum.found += found;
		sum.missing.push(...missing);
	}
	await server.end();
}
console.log(`outline against universal-ctags, ${files} files`);
for (const [language, { total, found, missing }] of Object.entries(sums).sort(([a], [b]) => (a < b ? -1 : 1))) {
	const share = (100 * found) / total;
	console.log(`  ${language.padEnd(12)} ${String(found).padStart(7)} of ${String(total).padStart(7)}  ${share.toFixed(1).padStart(5)} %  (goal 95: ${share >= 95 ? 'PASS' : 'MISS'})`);
	if (process.env.FW_BENCH_MISSING) for (const one of missing.slice(0, Number(process.env.FW_BENCH_MISSING))) console.log(`    ${one}`);
}
process.exit(0);
