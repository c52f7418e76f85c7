// What a model reads of a failure: the text of the contract, and with --hints a second
// one with what to do and the incident id.

import { bin, check, finish, match, run, same, test } from './lib/cli.mjs';
import { Wire, canonical, modern } from './lib/mcp.mjs';

const contract = 'dev.faultwire/contract';
const choosing = (name) => ({ ...modern, [contract]: name });

async function serve(args, body) {
	const wire = new Wire(['serve', '--log', 'off', '--audit', 'off', '--incidents', 'off', '--tools', 'diag', ...args], bin);
	try {
		await body(wire);
	} finally {
		await wire.end();
	}
}

const fail = async (wire, meta = modern, code = 'file.not_found') => {
	const reply = await wire.call('raise_error', { code }, meta);
	check(reply.result.isError);
	return { texts: reply.result.content.map(({ type, text }) => (same(type, 'text'), text)), err: canonical(reply) };
};

test('auto, the default: a second text says what to do, and the incident id', async () => {
	await serve([], async (wire) => {
		const { texts, err } = await fail(wire);
		same(texts.length, 2);
		check(err.hint && err.incident_id);
		same(texts[1], `What to do: ${err.hint} Incident: ${err.incident_id}`);
		same(texts[1].split('\n').length, 1);
	});
});

test('the text of the contract is the first, and exactly what it was', async () => {
	const first = {};
	for (const how of ['on', 'off'])
		await serve(['--hints', how], async (wire) => {
			first[how] = (await fail(wire)).texts[0];
		});
	same(first.on, first.off);
	JSON.parse(first.on);
});

test('auto: a client that chose a contract gets one text', async () => {
	await serve([], async (wire) => {
		for (const name of ['canonical', 'kaiza', 'codeintel', 'toolerror', 'owlclaw', 'context-v0']) same((await fail(wire, choosing(name))).texts.length, 1, name);
	});
});

test('auto: the contract of --contract was not chosen by the client', async () => {
	await serve(['--contract', 'kaiza'], async (wire) => {
		const { texts } = await fail(wire);
		same([texts.length, JSON.parse(texts[0]).error_code], [2, 'FILE_NOT_FOUND']);
	});
});

test('auto: a client that chose in the handshake gets one text', async () => {
	await serve([], async (wire) => {
		await wire.initialize('2025-11-25', { experimental: { [contract]: { name: 'owlclaw' } } });
		same((await fail(wire, null)).texts.length, 1);
	});
	await serve([], async (wire) => {
		await wire.initialize('2025-11-25');
		same((await fail(wire, null)).texts.length, 2);
	});
});

test('on: also for a client that chose; never in context-v0', async () => {
	await serve(['--hints', 'on'], async (wire) => {
		for (const name of ['canonical', 'kaiza', 'codeintel', 'toolerror', 'owlclaw']) same((await fail(wire, choosing(name))).texts.length, 2, name);
		same((await fail(wire, choosing('context-v0'))).texts.length, 1);
	});
	await serve(['--hints', 'on', '--contract', 'context-v0'], async (wire) => same((await fail(wire)).texts.length, 1));
	await serve(['--contract', 'context-v0'], async (wire) => same((await fail(wire)).texts.length, 1));
});

test('off: one text', async () => {
	await serve(['--hints', 'off'], async (wire) => same((await fail(wire)).texts.length, 1));
});

test('a delay is named', async () => {
	await serve(['--limit', 'calls_per_second=1', '--limit', 'calls_burst=1'], async (wire) => {
		let refused;
		for (let i = 0; i < 20 && !refused; i++) {
			const reply = await wire.call('raise_error', { code: 'file.not_found' }, modern);
			if (canonical(reply).code === 'governance.rate_limited') refused = reply;
		}
		check(refused, 'a call is refused');
		match(refused.result.content[1].text, /^What to do: .* Try again in [0-9.]+ s\. Incident: inc_\S+$/);
	});
});

test('--hints takes on, off or auto', () => {
	const { status, err } = run(['serve', '--hints', 'maybe']);
	same(status, 2);
	match(err, /--hints must be one of on, off, auto; found "maybe"/);
});

finish();
