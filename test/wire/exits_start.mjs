// A server that cannot start says so in one envelope on standard error, ends with status 1,
// and leaves a record in the audit log if that can be written.
//
// reaches: server.start_failed

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { check, finish, lines, match, run, same, skip, test } from './lib/cli.mjs';
import { place } from './lib/audit.mjs';
import { FIELDS } from './lib/workspace.mjs';

// Serves in a state directory of its own; returns status, standard error, and the records.
function start(args, prepare = () => []) {
	const state = place();
	const more = prepare(state);
	const { status, out, err } = run(['serve', '--log', 'off', ...args, ...more], { env: { XDG_STATE_HOME: state } });
	const log = join(state, 'faultwire/audit-log.jsonl');
	const records = existsSync(log) ? lines(readFileSync(log, 'utf8')).map((line) => JSON.parse(line)) : [];
	return { status, out, err, records, state };
}

// One line of kaiza with this code, and a record of the same failure.
function isKaiza({ status, out, err, records }, code, words, cause) {
	same([status, out], [1, ''], err);
	same(lines(err).length, 1, err);
	const envelope = JSON.parse(err);
	same(Object.keys(envelope), FIELDS);
	same(envelope.error_code, code, err);
	match(envelope.human_message, words);
	same([envelope.tool_name, envelope.session_id, envelope.workspace_root], ['serve', null, null]);
	if (cause) same([envelope.cause.code, envelope.cause.name], [cause, 'fw_error'], err);
	if (records) {
		const record = records.findLast((one) => one.event === 'failure');
		same([record?.error_code, record?.tool_name, record?.timestamp], [code, 'serve', envelope.timestamp], JSON.stringify(records));
	}
	return envelope;
}

const workspace = ['--tools', 'workspace', '--role', 'windsurf'];

async function taken(body) {
	const other = createServer();
	await new Promise((done) => other.listen(0, '127.0.0.1', done));
	try {
		await body(`127.0.0.1:${other.address().port}`);
	} finally {
		other.close();
	}
}

test('a missing workspace was prose: it is BOOTSTRAP_FAILURE, with the reason as its cause', () => {
	isKaiza(start([...workspace, '--workspace', '/no/such/place']), 'BOOTSTRAP_FAILURE', /^server could not start: .*\/no\/such\/place/, 'path.not_found');
});

test('a policy with faults was prose: it is BOOTSTRAP_FAILURE', () => {
	const found = start(workspace, (state) => {
		mkdirSync(join(state, 'w'));
		writeFileSync(join(state, 'policy.json'), '{"rules": [');
		return ['--workspace', join(state, 'w'), '--policy', join(state, 'policy.json')];
	});
	isKaiza(found, 'BOOTSTRAP_FAILURE', /^server could not start: /);
});

test('an audit log that cannot be written was prose: it is BOOTSTRAP_FAILURE, and has no record', () => {
	const found = start(workspace, (state) => {
		mkdirSync(join(state, 'w'));
		mkdirSync(join(state, 'log'));
		return ['--workspace', join(state, 'w'), '--audit', join(state, 'log')];
	});
	isKaiza({ ...found, records: null }, 'BOOTSTRAP_FAILURE', /^server could not start: .*log/, 'audit.log_failed');
	same(found.records, []);
});

test('a port in use was prose: it is BOOTSTRAP_FAILURE, also beside another toolset', () => taken((address) => {
	for (const tools of ['workspace', 'context,workspace']) {
		const found = start(['--tools', tools, '--role', 'windsurf', '--http', address], (state) => {
			mkdirSync(join(state, 'w'));
			mkdirSync(join(state, 'c'));
			return ['--workspace', join(state, 'w'), ...(tools === 'workspace' ? [] : ['--cache-root', join(state, 'c')])];
		});
		const envelope = isKaiza(found, 'BOOTSTRAP_FAILURE', new RegExp(`${address} is already in use`));
		same(envelope.role, 'WINDSURF');
	}
}));

test('--contract chooses the envelope for every toolset', () => taken((address) => {
	const see = (contract) => {
		const { status, err, records } = start(['--tools', 'diag', '--contract', contract, '--http', address]);
		same([status, lines(err).length], [1, 1], err);
		same(records.findLast((one) => one.event === 'failure')?.code, 'server.start_failed');
		return JSON.parse(err);
	};

	same(see('kaiza').error_code, 'BOOTSTRAP_FAILURE');
	same(see('canonical').code, 'server.start_failed');
	same(see('owlclaw').error.code, 'server.start_failed');
	same(see('codeintel').problem.code, 'server-start-failed');
	same(see('toolerror').type, 'INTERNAL');
	same(see('context-v0'), { error: { code: 'internal_error', message: 'Internal error' } });
}));

test('without a contract people read words, and the audit log still has the record', () => taken((address) => {
	const { status, err, records } = start(['--tools', 'diag', '--http', address]);
	same(status, 1);
	match(err, new RegExp(`^faultwire: ${address} is already in use\n`));
	same(records.findLast((one) => one.event === 'failure')?.error_code, 'BOOTSTRAP_FAILURE', JSON.stringify(records));
}));

test('a mistake on the command line stays an error of usage: words, status 2, no record', () => {
	const { status, err, records } = start([...workspace, '--http', 'nowhere'], (state) => {
		mkdirSync(join(state, 'w'));
		return ['--workspace', join(state, 'w')];
	});
	same([status, records], [2, []], err);
	match(err, /^faultwire: /);
});

test('a state directory that cannot be written does not hide the reason', () => {
	if (process.getuid() === 0) skip('root may write everywhere');
	const state = place();
	chmodSync(state, 0o500);
	const { status, err } = run(['serve', '--log', 'off', ...workspace, '--workspace', '/no/such/place'], { env: { XDG_STATE_HOME: state } });
	chmodSync(state, 0o700);
	same(status, 1);
	check(JSON.parse(err).error_code === 'BOOTSTRAP_FAILURE', err);
});

test('a server that records nothing did not start without a state directory', () => {
	const at = (args) => run(['serve', '--stdio', '--tools', 'diag', '--log', 'off', ...args], { env: { XDG_STATE_HOME: '/proc/no' }, input: '' });

	same(at(['--audit', 'off', '--incidents', 'off']).status, 0);
	const { status, err } = at([]);
	same(status, 1);
	match(err, /\/proc\/no\/faultwire.*\n[^]*hint: The log is .*--audit off/, 'what needs the directory says so');
});

await finish();
