/*
 * The governed workspace against attacks and crashes: hostile paths, forged approvals,
 * races, a server that is killed at every step of a write, and the sandbox without any
 * other check.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, readFileSync, readdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { Place, Server, code, faulty, serving, sha256 } from './lib/workspace.mjs';

const session = (body, how = {}) => serving(how, body);

/* ---- paths ---- */

const links = (place) => {
	const link = (to, name) => symlinkSync(to, place.path(name));
	link('../outside', 'out');
	link('../outside/secret.txt', 'link');
	link('/etc/passwd', 'abs');
	link('/proc/self/root', 'proc');
	link('/proc/self/cwd', 'cwd');
	link('loop', 'loop');
	link('src', 'dir');
	linkSync(join(place.base, 'outside/secret.txt'), place.path('hard'));
	spawnSync('mkfifo', [place.path('pipe')]);
	spawnSync('mknod', [place.path('null'), 'c', '1', '3']);
	return place.plan('**');
};

const hostile = {
	'../outside/secret.txt': 'PATH_TRAVERSAL_BLOCKED',
	'src/../../outside/secret.txt': 'PATH_TRAVERSAL_BLOCKED',
	'..': 'PATH_TRAVERSAL_BLOCKED',
	'..\\outside\\secret.txt': 'PATH_TRAVERSAL_BLOCKED',
	'%2e%2e/outside/secret.txt': 'PATH_NOT_FOUND',
	'/etc/passwd': 'OUTSIDE_WORKSPACE',
	'/proc/self/root/etc/passwd': 'OUTSIDE_WORKSPACE',
	'out/secret.txt': 'OUTSIDE_WORKSPACE',
	link: 'OUTSIDE_WORKSPACE',
	abs: 'OUTSIDE_WORKSPACE',
	'proc/etc/passwd': 'OUTSIDE_WORKSPACE',
	'cwd/src/a.txt': 'OUTSIDE_WORKSPACE',
	hard: 'OUTSIDE_WORKSPACE',
	loop: 'INVALID_PATH',
	'': 'INVALID_PATH',
	'src/a\nb': 'INVALID_PATH',
	'src/a.txt\0.png': 'INVALID_PATH',
	'src/a.txt/': 'INVALID_PATH',
	['a'.repeat(4096)]: 'INVALID_PATH',
	['n'.repeat(256)]: 'INVALID_PATH',
	pipe: 'FILE_READ_FAILED',
	null: 'FILE_READ_FAILED',
	'SRC/A.TXT': 'PATH_NOT_FOUND',
};

test('hostile paths get their codes, for reading and for writing, and nothing outside is touched', () =>
	session(async (server, place, plan) => {
		for (const [path, expected] of Object.entries(hostile)) {
			if (path === 'null' && !place.exists('null')) continue;
			assert.equal(await code(server, 'read_file', { path }), expected, path.slice(0, 40));
			assert.equal(await code(server, 'write_file', { path, content: 'x', plan }), expected, path.slice(0, 40));
		}
		assert.equal(place.read('../outside/secret.txt'), 'secret\n');
		assert.deepEqual(readdirSync(join(place.base, 'outside')), ['secret.txt']);
		assert.equal(await code(server, 'read_file', { path: 'dir/a.txt' }), 'ok');
	}, { setup: links }));

test('files of this program are in no plan\'s scope, in any spelling', () =>
	session(async (server, place, plan) => {
		mkdirSync(place.path('.git/hooks'), { recursive: true });
		symlinkSync('docs/plans', place.path('p'));
		for (const path of ['docs/plans/x.md', 'p/x.md', './docs//plans/x.md', '.git/hooks/pre-commit', '.faultwire/x', 'audit-log.jsonl',
			'audit-log.jsonl.1', 'src/.faultwire-0.tmp'])
			assert.match(await code(server, 'write_file', { path, content: 'x', create: !place.exists(path), plan }),
				path === 'audit-log.jsonl' ? /^OUTSIDE_WORKSPACE$/ : /^(PLAN_SCOPE_VIOLATION|PATH_NOT_FOUND)$/, path);
		/* By where the bytes would end up, not by the link's name. */
		mkdirSync(place.path('other'));
		symlinkSync('../other', place.path('src/link'));
		const narrow = place.plan('src/**', { text: 'Narrow.' });
		assert.equal(await code(server, 'write_file', { path: 'src/link/x', content: 'x', create: true, plan: narrow }), 'PLAN_SCOPE_VIOLATION');
	}, { setup: (place) => place.plan('**') }));

test('files that run automatically cannot be written at any depth, within a plan or as a report', () =>
	session(async (server, place, plan) => {
		const protectedPaths = ['src/.git/hooks/post-checkout', 'src/.git/config', 'src/.GIT2/../.git', 'src/sub/.git', 'src/.Git/config', 'src/.envrc',
			'src/.vscode/tasks.json', 'src/.husky/pre-commit', 'src/.idea/x.xml', 'src/bare/HEAD'];
		for (const path of protectedPaths) mkdirSync(dirname(place.path(path)), { recursive: true });
		mkdirSync(place.path('src/bare/objects'));
		mkdirSync(place.path('src/bare/refs'));
		place.write('src/.git/index', 'there\n');
		for (const path of protectedPaths)
			assert.match(await code(server, 'write_file', { path, content: 'x', create: true, plan }), /^(PLAN_SCOPE_VIOLATION|PATH_TRAVERSAL_BLOCKED)$/, path);
		/* Replaced, patched and deleted the same. */
		assert.equal(await code(server, 'write_file', { path: 'src/.git/index', content: 'x', plan }), 'PLAN_SCOPE_VIOLATION');
		for (const patch of ['--- a/src/.git/index\n+++ b/src/.git/index\n@@ -1 +1 @@\n-there\n+here\n', '--- a/src/.git/index\n+++ /dev/null\n@@ -1 +0,0 @@\n-there\n'])
			assert.equal(await code(server, 'write_file', { path: 'src/.git/index', patch, plan }), 'PLAN_SCOPE_VIOLATION');
		assert.equal(place.read('src/.git/index'), 'there\n');
		assert.equal(await code(server, 'write_file', { path: 'docs/reports/.envrc', content: 'x' }), 'UNAUTHORIZED_ACTION');
		assert.equal(await code(server, 'write_file', { path: 'src/.gitignore', content: 'x', create: true, plan }), 'ok');
	}, { setup: (place) => place.plan('src/**') }));

test('a plan approved in one workspace is refused in another', () =>
	session(async (server, place, plan) => {
		const other = join(place.root, '../v');
		mkdirSync(join(other, 'docs/plans'), { recursive: true });
		const copy = place.plan('src/**', { text: 'For the other one.', approve: false });
		renameSync(place.path(place.planPath(copy)), join(other, place.planPath(copy)));
		place.run(['plan', 'approve', '--yes', '--workspace', other, copy]);
		writeFileSync(place.path(place.planPath(copy)), readFileSync(join(other, place.planPath(copy))));
		assert.equal(await code(server, 'write_file', { path: 'src/a.txt', content: 'x', plan: copy }), 'PLAN_ENFORCEMENT_FAILED');
		assert.equal(place.read('src/a.txt'), 'one\ntwo\nthree\n');
		await server.ok('write_file', { path: 'docs/reports/1.md', content: 'It was not approved here.' });
		place.run(['plan', 'approve', '--yes', copy]);
		assert.equal(await code(server, 'write_file', { path: 'src/a.txt', content: 'x', plan: copy }), 'ok');
		assert.equal(await code(server, 'write_file', { path: 'src/a.txt', content: 'y', plan }), 'ok');
	}, { setup: (place) => place.plan('src/**') }));

test('the sandbox refuses hostile paths also without our own check', () =>
	session(async (server, place, plan) => {
		const before = readdirSync(join(place.base, 'outside'));
		for (const path of ['../outside/secret.txt', join(place.base, 'outside/secret.txt'), '/etc/passwd', '/etc/shadow', 'out/secret.txt', 'link',
			'abs', 'proc/etc/passwd', '/proc/self/root/etc/passwd', '/proc/self/environ', '/proc/1/environ', join(place.base, 'config/faultwire/plan.key'),
			'src/../../outside/secret.txt']) {
			const { value, envelope } = await server.call('read_file', { path });
			assert.ok(envelope, `${path} was read: ${JSON.stringify(value)}`);
			assert.equal(await code(server, 'write_file', { path, content: 'x', plan }) === 'ok', false, path);
		}
		for (const path of ['../outside/new.txt', '/tmp/faultwire-new.txt', 'out/new.txt'])
			assert.notEqual(await code(server, 'write_file', { path, content: 'x', create: true, plan }), 'ok', path);
		assert.deepEqual(readdirSync(join(place.base, 'outside')), before);
		assert.equal(place.read('../outside/secret.txt'), 'secret\n');
		/* It is not that nothing works. */
		assert.equal((await server.ok('read_file', { path: 'src/a.txt' })).content, 'one\ntwo\nthree\n');
	}, { setup: links, program: faulty, env: { FW_UNCHECKED: '1' }, options: ['--sandbox', 'required', '--lock-on', 'never'] }));

test('without the sandbox and without our check the file is read', () =>
	session(async (server) => {
		assert.equal((await server.ok('read_file', { path: '../outside/secret.txt' })).content, 'secret\n');
	}, { program: faulty, env: { FW_UNCHECKED: '1' }, options: ['--sandbox', 'off'] }));

/* ---- forged approvals ---- */

test('forged approvals are refused, each with its code', async (t) => {
	const forgeries = {
		'the header says approved': (place, plan) => {
			const pending = place.plan('src/**', { approve: false, text: 'Other.' });
			place.write(place.planPath(pending), place.read(place.planPath(pending)).replace('STATUS: PENDING', 'STATUS: APPROVED'));
			return pending;
		},
		'the signature of another plan': (place, plan) => {
			const signature = place.read(place.planPath(plan)).match(/SIGNATURE: .*\n/)[0];
			const pending = place.plan('src/**', { approve: false, text: 'Other.' });
			const text = place.read(place.planPath(pending)).replace('STATUS: PENDING\n', `STATUS: APPROVED\n${signature}`);
			place.write(place.planPath(pending), text);
			return pending;
		},
		'the scope changed after approval': (place, plan) => {
			place.write(place.planPath(plan), place.read(place.planPath(plan)).replace('SCOPE: src/**', 'SCOPE: **'));
			return plan;
		},
		'the body changed after approval': (place, plan) => {
			place.write(place.planPath(plan), `${place.read(place.planPath(plan))}More.\n`);
			return plan;
		},
		'an approved plan under another name': (place, plan) => {
			place.write(place.planPath(sha256('x')), place.read(place.planPath(plan)));
			return sha256('x');
		},
		'a signature that is cut short': (place, plan) => {
			place.write(place.planPath(plan), place.read(place.planPath(plan)).replace(/(SIGNATURE: .{63})./, '$1'));
			return plan;
		},
		'a signature by another key': (place, plan) => {
			place.env.XDG_CONFIG_HOME = join(place.base, 'elsewhere');
			return place.plan('src/**', { text: 'Other.' });
		},
	};

	for (const [name, forge] of Object.entries(forgeries))
		await t.test(name, async () => {
			const place = new Place();
			const plan = place.plan();
			const server = await Server.start(place, 'stdio');
			await server.begin();
			const forged = forge(place, plan);
			const envelope = await server.fails('write_file', { path: 'src/a.txt', content: 'x', plan: forged });
			assert.equal(envelope.error_code, 'PLAN_ENFORCEMENT_FAILED');
			assert.equal(envelope.plan_hash, forged);
			assert.equal(place.read('src/a.txt'), 'one\ntwo\nthree\n');
			assert.ok(await server.isLocked());
			await server.close();
			place.drop();
		});
});

test('an agent cannot approve its own plan', () =>
	session(async (server, place) => {
		const header = (status) => `<!--\nKAIZA_PLAN_HASH: PENDING_HASH\nROLE: ANTIGRAVITY\nSTATUS: ${status}\nSCOPE: **\n-->\n# All\n`;
		assert.equal(await code(server, 'save_plan', { content: 'no header' }), 'INVALID_INPUT_VALUE');
		const { plan, status } = await server.ok('save_plan', { content: header('PENDING') });
		assert.equal(status, 'PENDING');
		assert.match(place.read(place.planPath(plan)), new RegExp(`KAIZA_PLAN_HASH: ${plan}\n`));
		assert.equal(await code(server, 'write_file', { path: 'src/a.txt', content: 'x', plan }), 'UNAUTHORIZED_ACTION');
		assert.equal(await code(server, 'save_plan', { content: header('APPROVED') }), 'PLAN_ENFORCEMENT_FAILED');
		assert.equal(await code(server, 'list_plans'), 'SESSION_LOCKED');
		await server.ok('write_file', { path: 'docs/reports/r.md', content: 'Sorry.' });
		assert.deepEqual((await server.ok('list_plans')).plans.map((one) => [one.plan, one.usable]), [[plan, false]]);
	}, { role: 'antigravity' }));

test('a bootstrap payload is valid once, for one plan, in one workspace, until it expires', () =>
	session(async (server, place) => {
		const name = 'bootstrap_create_foundation_plan';
		const make = (text = 'First.', more = []) => JSON.parse(place.run(['plan', 'bootstrap', '--scope', 'src/**', ...more, '-'], text));
		const good = make();
		const failed = async (args, words) => {
			const { canonical, envelope } = await server.call(name, args);
			assert.equal(envelope.error_code, 'BOOTSTRAP_FAILURE');
			assert.match(canonical.message, words);
		};

		await failed({ ...good, signature: good.signature.slice(1) }, /64 hexadecimal/);
		await failed({ ...good, signature: `${good.signature}00` }, /64 hexadecimal/);
		await failed({ ...good, signature: make('Other.').signature }, /does not verify/);
		await failed({ ...good, payload: good.payload.replace('"nonce"', '"nonse"') }, /does not verify/);
		await failed({ ...good, planContent: make('Other.').planContent }, /another plan/);
		await failed({ ...good, path: place.path('src') }, /not the root/);
		const { plan } = await server.ok(name, good);
		assert.equal((await server.ok('list_plans')).plans[0].usable, true);
		await failed(make('Second.'), /exists already/);
		/* A person takes the plan away; the payload is spent all the same. */
		unlinkSync(place.path(place.planPath(plan)));
		await failed(good, /used before/);
		await server.ok(name, make('Third.'));
	}, { role: 'antigravity' }));

/* ---- concurrency ---- */

test('of many concurrent changes of the same content one succeeds and the others are refused', () =>
	session(async (server, place, plan) => {
		const { sha256: previousHash } = await server.ok('read_file', { path: 'src/a.txt' });
		const all = await Promise.all(Array.from({ length: 12 }, (_, i) =>
			server.call('write_file', { path: 'src/a.txt', content: `by ${i}\n`, previousHash, plan })));
		assert.equal(all.filter((one) => one.value).length, 1);
		for (const one of all) if (!one.value) assert.equal(one.envelope.error_code, 'HASH_MISMATCH');
		assert.match(place.read('src/a.txt'), /^by \d+\n$/);
	}, { setup: (place) => place.plan() }));

test('of two concurrent sessions with different roots one is refused and the server continues', () =>
	session(async (server, place) => {
		assert.equal(await code(server, 'begin_session', { workspace_root: place.path('src') }), 'SESSION_INITIALIZATION_FAILED');
		const again = await server.begin();
		assert.equal((await server.begin()).session_id, again.session_id);
		const place2 = new Place();
		const fresh = await Server.start(place2, 'stdio');
		const both = await Promise.all([place2.root, place2.path('src')].map((workspace_root) => fresh.call('begin_session', { workspace_root })));
		assert.equal(both.filter((one) => one.value).length, 1);
		assert.equal(both.find((one) => !one.value).envelope.error_code, 'SESSION_INITIALIZATION_FAILED');
		assert.equal(await code(fresh, 'list_plans'), 'ok');
		await fresh.close();
		place2.drop();
	}));

/* ---- killed ---- */

const kinds = {
	replace: { args: { path: 'src/a.txt', content: 'new\n' }, old: 'one\ntwo\nthree\n', fresh: 'new\n' },
	create: { args: { path: 'src/b.txt', content: 'new\n', create: true }, old: undefined, fresh: 'new\n' },
	delete: {
		args: { path: 'src/a.txt', patch: '--- a/src/a.txt\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n' },
		old: 'one\ntwo\nthree\n', fresh: undefined,
	},
};
const steps = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
for (const [kind, { args, old, fresh }] of Object.entries(kinds))
	for (const preflight of ['true', 'false'])
		test(`killed at any step, a ${kind} with preflight "${preflight}" leaves old or new, and the audit says which`, async () => {
			let killed = 0;
			const round = async (at) => {
				const place = new Place();
				const plan = place.plan();
				const read = () => (place.exists(args.path) ? place.read(args.path) : undefined);
				const options = ['--sandbox', 'off', '--preflight', preflight];
				let second;
				const first = await Server.start(place, 'stdio', { program: faulty, env: { FW_KILL_AT: String(at) }, options });
				let answered;
				await first.begin();
				try {
					answered = await first.call('write_file', { ...args, plan });
				} catch {
					killed++;
				}
				await first.close().catch(() => {});
				assert.ok(read() === old || read() === fresh, `${kind}, step ${at}: ${read()}`);

				try {
					second = await Server.start(place, 'stdio', { options });
					const { recovered } = await second.begin();
					const now = read();
					assert.ok(now === old || now === fresh, `${kind}, step ${at}, afterwards: ${now}`);
					if (preflight === 'false') assert.equal(now, old);
					if (answered) assert.equal(now, answered.value ? fresh : old);
					/* No temporary file is left, and the log has a record. */
					assert.deepEqual(readdirSync(place.path('src')).filter((name) => name.startsWith('.')), []);
					const log = place.audit();
					const changed = log.some((line) => line.tool_name === 'write_file' && line.event === 'change');
					const notes = log.filter((line) => line.event === 'note' && JSON.stringify(line).includes('interrupted'));
					assert.equal(notes.length, recovered.length);
					if (recovered.length) {
						assert.equal(recovered[0].outcome, now === fresh ? 'new' : 'old');
						assert.match(JSON.stringify(notes[0]), now === fresh ? /content is new/ : /content is old/);
					} else assert.equal(changed, now === fresh, `${kind}, step ${at}`);
					assert.equal((await second.ok('verify_workspace_integrity')).intact, true);
				} finally {
					await second?.close();
					place.drop();
				}
			};
			for (let first = 0; first < steps.length; first += 4) await Promise.all(steps.slice(first, first + 4).map(round));
			assert.ok(killed > 0);
		});

/* ---- the rest ---- */

test('lists show a role its own tools, and the prompt and resources of the workspace', () =>
	session(async (server, place) => {
		const { tools } = await server.client.listTools();
		assert.deepEqual(tools.map((tool) => tool.name).sort(), ['begin_session', 'delete_file', 'list_files', 'list_plans', 'make_directory',
			'move_file', 'read_audit_log', 'read_file', 'read_plan', 'search_files', 'verify_workspace_integrity', 'write_file', 'write_files']);
		const { prompts } = await server.client.listPrompts();
		assert.deepEqual(prompts.map((one) => one.name), ['windsurf']);
		const { messages } = await server.client.getPrompt({ name: 'windsurf' });
		assert.match(messages[0].content.text, /begin_session/);
		const { resourceTemplates } = await server.client.listResourceTemplates();
		assert.equal(resourceTemplates[0].uriTemplate, 'workspace:///{+path}');
		const { contents } = await server.client.readResource({ uri: 'workspace:///src/a.txt' });
		assert.equal(contents[0].text, 'one\ntwo\nthree\n');
		await assert.rejects(server.client.readResource({ uri: 'workspace:///%2e%2e/outside/secret.txt' }), (err) => {
			assert.equal(err.data.error.error_code, 'PATH_TRAVERSAL_BLOCKED');
			return true;
		});
		await assert.rejects(server.client.callTool({ name: 'nope', arguments: {} }), (err) => {
			assert.equal(err.data.error.error_code, 'INVALID_INPUT_VALUE');
			assert.equal(err.data.error.workspace_root, place.root);
			return true;
		});
		assert.ok(place.audit().some((line) => line.tool_name === 'nope'));
	}));

test('a patch changes, creates and deletes a file; the log can be read', () =>
	session(async (server, place, plan) => {
		await server.ok('write_file', { path: 'src/a.txt', patch: '--- a/src/a.txt\n+++ b/src/a.txt\n@@ -2 +2,2 @@\n-two\n+2\n+2.5\n', plan });
		assert.equal(place.read('src/a.txt'), 'one\n2\n2.5\nthree\n');
		await server.ok('write_file', { path: 'src/n.txt', patch: '--- /dev/null\n+++ b/src/n.txt\n@@ -0,0 +1 @@\n+n\n', plan });
		assert.equal(place.read('src/n.txt'), 'n\n');
		assert.equal((await server.ok('write_file', { path: 'src/n.txt', patch: '--- a/src/n.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-n\n', plan })).outcome, 'deleted');
		assert.ok(!place.exists('src/n.txt'));
		const lines = (await server.ok('read_audit_log', { limit: 2 })).trim().split('\n').map((line) => JSON.parse(line));
		assert.equal(lines.length, 2);
		for (const line of lines) {
			assert.equal(line.tool_name, 'write_file');
			assert.equal(line.plan_hash, plan);
		}
	}, { setup: (place) => place.plan() }));

test('the root of the session stays the same directory', () => {
	const place = new Place();
	return (async () => {
		mkdirSync(place.path('inner'));
		const server = await Server.start(place, 'stdio');
		await server.begin(place.path('inner'));
		spawnSync('sh', ['-c', 'mv inner away && mkdir inner'], { cwd: place.root });
		const envelope = await server.fails('read_file', { path: 'x' });
		assert.equal(envelope.error_code, 'INVARIANT_VIOLATION');
		assert.equal(envelope.invariant_id, 'WORKSPACE_ROOT_UNCHANGED');
		await server.close();
		place.drop();
	})();
});

test('a rules file replaces the built-in rules', () =>
	session(async (server, place, plan) => {
		const envelope = await server.fails('write_file', { path: 'src/a.txt', content: 'a\nfoo\n', plan });
		assert.equal(envelope.error_code, 'POLICY_VIOLATION');
		assert.match(envelope.cause.message, /no foo/);
		await server.ok('write_file', { path: 'src/b.c', content: '/* TODO */\n', create: true, plan });
	}, {
		setup(place) {
			writeFileSync(join(place.base, 'rules.json'), JSON.stringify([{ id: 'foo', globs: '**', pattern: '\\bfoo\\b', message: 'no foo here' }]));
			return place.plan();
		},
		optionsOf: (place) => ['--policy', join(place.base, 'rules.json')],
	}));
