// The rows of the lab as tests, one each, and the times to the answer as comments.

import { check, finish, skip, test } from '../wire/lib/cli.mjs';
import { SHORT, median, runLab } from './run.mjs';

export async function report(transport) {
	const { rows, results, fronts, work } = await runLab(transport);
	const soon = new Map(fronts.map((front) => [front, []]));
	const late = [];

	for (const row of rows)
		test(`${transport} server, ${row.name}: ${row.does}`, async () => {
			const found = [];
			for (const front of fronts) {
				const result = await results.get(`${row.name} ${front}`);
				found.push(...result.found.map((what) => `${front}: ${what}`));
				if (!row.expect) continue;
				if (row.soon && row.at === 'call') soon.get(front).push(result.ms);
				else if (!row.soon && row.at === 'call') late.push(result.ms - SHORT * 1000);
			}
			if (row.open) skip(row.open);
			check(found.length === 0, found.join('\n'));
		});
	await finish();
	await work;
	for (const [front, times] of soon) console.log(`# ${front}: what is knowable at once is answered in ${median(times).toFixed(1)} ms (median of ${times.length} rows; slowest ${Math.max(...times).toFixed(0)} ms)`);
	if (late.length) console.log(`# silence is answered ${median(late).toFixed(1)} ms after the deadline (median of ${late.length}; slowest ${Math.max(...late).toFixed(0)} ms)`);
	process.exit();
}
