// faultwire plan from outside: new, lint, show, approve, revoke, list, bootstrap.

import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, finish, has, run as runAny, same, scratch, shell, skip, test } from './lib/cli.mjs';

let number = 0;

// A workspace of its own; run() is the program in it.
function place() {
	const base = join(scratch(), `plan-${++number}`);
	const root = join(base, 'w');
	mkdirSync(root, { recursive: true });
	const env = { XDG_CONFIG_HOME: join(base, 'config'), XDG_STATE_HOME: join(base, 'state') };
	return {
		base, root, env,
		key: join(base, 'config/faultwire/plan.key'),
		path: (hash) => join(root, `docs/plans/${hash}.md`),
		run: (args, input) => runAny(['plan', ...args], { cwd: root, env, input }),
		make(text = 'Do it.', scope = 'src/**') {
			const { status, out, err } = this.run(['new', '--scope', scope, '--title', 'A plan', '-'], text);
			same(status, 0, err);
			return out.trim();
		},
	};
}

test('plan new keeps a text under its hash, and twice is once', () => {
	const p = place();
	const hash = p.make();
	check(/^[0-9a-f]{64}$/.test(hash), hash);
	same(readFileSync(p.path(hash), 'utf8'),
		`<!--\nKAIZA_PLAN_HASH: ${hash}\nROLE: ANTIGRAVITY\nSTATUS: PENDING\nSCOPE: src/**\n-->\n\n# A plan\n\nDo it.\n`);
	same(p.make(), hash);
	same(readdirSync(join(p.root, 'docs/plans')), [`${hash}.md`]);
	check(!existsSync(p.key), 'a key without an approval');
	const { out } = p.run(['new', '--json', '--scope', 'src/**', '--title', 'A plan', '-'], 'Do it.');
	same(JSON.parse(out), { plan: hash, existed: true });
});

test('plan new says what a text lacks to be a plan', () => {
	const p = place();
	const none = p.run(['new', '-'], 'Do it.');
	same([none.status, none.out], [2, '']);
	check(/--scope/.test(none.err), none.err);
	const wrong = p.run(['new', '--scope', '../x', '-'], 'Do it.');
	same(wrong.status, 1);
	check(/glob "\.\.\/x" of SCOPE is wrong/.test(wrong.err), wrong.err);
	same(p.run(['new']).status, 2);
	same(p.run(['new', '/no/such/file', '--scope', 'x']).status, 1);
	same(p.run([]).status, 2);
	same(p.run(['fly']).status, 2);
});

test('plan approve signs with a key that it makes for its owner alone', () => {
	const p = place();
	const hash = p.make();
	const { status, out } = p.run(['approve', '--yes', hash.slice(0, 8)]);
	same([status, out], [0, `${hash.slice(0, 12)}  APPROVED\n`]);
	same(statSync(p.key).mode & 0o777, 0o600);
	const text = readFileSync(p.path(hash), 'utf8');
	check(/\nSTATUS: APPROVED\n/.test(text) && /\nSIGNATURE: [0-9a-f]{64}\n/.test(text), text);
	same(p.run(['approve', '--yes', hash]).status, 0);
	same(readFileSync(p.path(hash), 'utf8'), text);
	chmodSync(p.key, 0o644);
	const open = p.run(['list']);
	same(open.status, 1);
	check(/owner alone/.test(open.err), open.err);
});

test('plan approve asks, on a terminal alone', () => {
	const p = place();
	const hash = p.make();
	const silent = p.run(['approve', hash]);
	same(silent.status, 2);
	check(/--yes/.test(silent.err), silent.err);
	if (!has('script')) skip('there is no script(1)');
	const answer = (word) => shell(`cd '${p.root}' && printf '${word}\\n' | XDG_CONFIG_HOME='${p.env.XDG_CONFIG_HOME}' XDG_STATE_HOME='${p.env.XDG_STATE_HOME}' script -qec 'faultwire plan approve ${hash}' /dev/null`);
	const no = answer('n');
	same(no.status, 1);
	check(/scope {3}src\/\*\*/.test(no.out) && /Approve\? \[y\/N\]/.test(no.out), no.out);
	check(/STATUS: PENDING/.test(readFileSync(p.path(hash), 'utf8')), 'approved');
	same(answer('y').status, 0);
	check(/STATUS: APPROVED/.test(readFileSync(p.path(hash), 'utf8')), 'not approved');
});

test('plan approve shows the whole text before it asks', () => {
	if (!has('script')) skip('there is no script(1)');
	const p = place();
	const hash = p.make(`Begin.\n\n${'long '.repeat(1000)}end-of-line\n\x1b[2Jhidden\nThe last line.`);
	const { out } = shell(`cd '${p.root}' && printf 'n\\n' | XDG_CONFIG_HOME='${p.env.XDG_CONFIG_HOME}' XDG_STATE_HOME='${p.env.XDG_STATE_HOME}' script -qec 'faultwire plan approve ${hash}' /dev/null`);
	const plain = out.replace(/\r/g, '');
	check(plain.includes(`${'long '.repeat(1000)}end-of-line\n`), 'the long line was cut');
	check(plain.indexOf('The last line.\n') > 0 && plain.indexOf('The last line.\n') < plain.indexOf('Approve? [y/N]'), plain);
	check(plain.includes('hidden') && !plain.includes('\x1b[2J'), 'a control sequence was printed');
});

test('plan show prints a plan and whether it can be used', () => {
	const p = place();
	const hash = p.make('Do it.\tNow.');
	const pending = p.run(['show', hash.slice(0, 8)]);
	same(pending.status, 0, pending.err);
	same(pending.out, `${hash.slice(0, 12)}  PENDING   A plan  [src/**]\n\n${readFileSync(p.path(hash), 'utf8')}`);
	const json = JSON.parse(p.run(['show', '--json', hash]).out);
	same([json.plan, json.usable, json.text], [hash, false, readFileSync(p.path(hash), 'utf8')]);
	same(p.run(['show']).status, 2);
	same(p.run(['show', 'ffffffff']).status, 1);
});

test('plan revoke withdraws an approval, also from a copy of the approved file', () => {
	const p = place();
	const hash = p.make();
	p.run(['approve', '--yes', hash]);
	const approved = readFileSync(p.path(hash), 'utf8');
	const revoked = p.run(['revoke', hash]);
	same([revoked.status, revoked.out], [0, `${hash.slice(0, 12)}  REVOKED\n`], revoked.err);
	check(/STATUS: PENDING/.test(readFileSync(p.path(hash), 'utf8')), 'still approved');
	check(!/SIGNATURE/.test(readFileSync(p.path(hash), 'utf8')), 'still signed');
	writeFileSync(p.path(hash), approved);
	const lint = p.run(['lint']);
	same(lint.status, 1);
	check(/REFUSED +its approval was revoked/.test(lint.out), lint.out);
	same(p.run(['approve', '--yes', hash]).status, 0);
	same(p.run(['lint']).status, 0);
	same(p.run(['revoke']).status, 2);
	same(JSON.parse(p.run(['revoke', '--json', hash]).out), { plan: hash, status: 'REVOKED' });
});

test('plan lint finds what was changed, and its exit status tells', () => {
	const p = place();
	const hash = p.make();
	same(p.run(['lint']).status, 0);
	p.run(['approve', '--yes', hash]);
	same(p.run(['lint', hash]).status, 0);
	writeFileSync(p.path(hash), readFileSync(p.path(hash), 'utf8').replace('src/**', '**'));
	const changed = p.run(['lint']);
	same(changed.status, 1);
	check(/REFUSED +its hash does not match its content/.test(changed.out), changed.out);
	same(p.run(['list']).status, 0);
	const refused = p.run(['approve', '--yes', hash]);
	same(refused.status, 1);
	check(/cannot be trusted/.test(refused.err), refused.err);
	same(p.run(['lint', 'ffffffff']).status, 1);
	/* What was changed on purpose is a plan of its own. */
	const again = p.run(['new', p.path(hash)]);
	same(again.status, 0, again.err);
	check(again.out.trim() !== hash, 'the same hash');
	same(p.run(['approve', '--yes', again.out.trim()]).status, 0);
});

test('plan list shows all of them, for people and for programs', () => {
	const p = place();
	same(p.run(['list']).out, '');
	const one = p.make('One.');
	const two = p.make('Two.', 'docs/, *.md');
	p.run(['approve', '--yes', two]);
	const { out } = p.run(['list', '--json']);
	const plans = Object.fromEntries(JSON.parse(out).map((plan) => [plan.plan, plan]));
	same(plans[one], { plan: one, title: 'A plan', status: 'PENDING', scope: ['src/**'], usable: false, fault: null });
	same(plans[two], { plan: two, title: 'A plan', status: 'APPROVED', scope: ['docs/', '*.md'], usable: true, fault: null });
	check(p.run(['list']).out.includes(`${two.slice(0, 12)}  APPROVED  A plan  [docs/, *.md]\n`), 'list');
});

test('plan bootstrap gives out the arguments of one call', () => {
	const p = place();
	const { out } = p.run(['bootstrap', '--scope', 'src/**', '--expires', '5', '-'], 'First.');
	const args = JSON.parse(out);
	same(Object.keys(args), ['path', 'planContent', 'payload', 'signature']);
	const payload = JSON.parse(args.payload);
	same([payload.action, payload.workspace], ['bootstrap', args.path]);
	check(Math.abs(payload.expires - Date.now() / 1000 - 300) < 30, out);
	check(!existsSync(join(p.root, 'docs')), 'it wrote a plan');
	same(p.run(['bootstrap', '--scope', 'x', '--expires', '9999', '-'], 'First.').status, 2);
});

await finish();
