// Secrets never: many kinds of them are planted in whatever an error can hold (a
// path, a URL, an argument, a cause, what an upstream wrote on its standard error,
// the environment, a tool's name, a client's), through a running server, and then
// looked for in every sink: replies, the log, the database of incidents with all
// files beside it, the audit log with hashes of arguments and with arguments, the
// metrics, the alerts; and in what `faultwire incident` and `faultwire audit` show.

import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { check, finish, root, run, same, test } from './lib/cli.mjs';

const leaky = join(resolve(process.env.FW_BUILD ?? join(root, 'build')), 'leaky');

// Put together from pieces, or the scanners that look after source code take them
// for real ones. `s` is the secret part, which must be found nowhere.
const s = (...pieces) => pieces.join('');
// Each asked for is another one, or finding one would be finding all.
let turn = 0;
const some = (alphabet, n) => {
	const from = ++turn * 7;
	return Array.from({ length: n }, (_, i) => alphabet[(from + i * (3 + (turn % 5)) + i * i) % alphabet.length]).join('');
};
const hex = (n) => some('f3a9c04b71d2e8568', n);
const mixed = (n) => 'a1B' + some('aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fGiJlMoRuXbDeFhLkPnSqVtZU', n - 3);
const pem = () => s('MIIEpAIBAAKCAQEA', mixed(30), '/\n', mixed(30));

const kinds = {
	'AWS access key id': [(x) => `denied for ${x}`, s('AKIA', 'Q7WXN3R5T2UVZ6YP')],
	'AWS temporary key id': [(x) => `(${x})`, s('ASIA', 'Q7WXN3R5T2UVZ6YP')],
	'AWS secret in the environment': [(x) => `AWS_SECRET_ACCESS_KEY=${x}`, s('wJalrXUtnFEMI/K7MDENG/bPx', 'RfiCYzzKEYzz')],
	'AWS credentials file': [(x) => `aws_secret_access_key = ${x}\nregion = eu-west-1`, s('wJalrXUtnFEMI+K7MDENG/bPx', 'RfiCYzzKEYzz')],
	'AWS session token': [(x) => `AWS_SESSION_TOKEN=${x}`, s('FwoGZXIvYXdzEB', mixed(40))],
	'presigned URL of S3': [(x) => `https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature=${x}`, hex(64)],
	'Google API key': [(x) => `https://maps.example/api?key=${x}&q=1`, s('AIza', 'Sy', mixed(33))],
	'Google OAuth access token': [(x) => `got ${x} from metadata`, s('ya29', '.', mixed(60))],
	'Google OAuth client secret': [(x) => `client GOC ${x} refused`, s('GOC', 'SPX-', mixed(28))],
	'service account file': [(x) => `{"type":"service_account","private_key":"${x}","client_email":"a@b.c"}`, s('-----BEGIN PRI', 'VATE KEY-----\\n', 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC', '\\n-----END PRI', 'VATE KEY-----\\n')],
	'GitHub personal token': [(x) => `remote: ${x} is not allowed`, s('ghp', '_', mixed(36))],
	'GitHub OAuth token': [(x) => x, s('gho', '_', mixed(36))],
	'GitHub server token': [(x) => `"${x}"`, s('ghs', '_', mixed(36))],
	'GitHub fine-grained token': [(x) => `token ${x}`, s('github', '_pat_', mixed(22), '_', mixed(59))],
	'GitLab token': [(x) => `using ${x}.`, s('glpat', '-', mixed(20))],
	'Slack bot token': [(x) => `slack says invalid_auth for ${x}`, s('xoxb', '-123456789012-1234567890123-', mixed(24))],
	'Slack user token': [(x) => x, s('xoxp', '-123456789012-123456789012-123456789012-', hex(32))],
	'Slack app token': [(x) => `app ${x}`, s('xapp', '-1-A0123BCDEFG-1234567890123-', hex(64))],
	'Slack webhook': [(x) => `POST https://hooks.slack.com/services/T0123ABCD/B0123ABCD/${x} failed`, mixed(24)],
	'Discord webhook': [(x) => `https://discord.com/api/webhooks/123456789012345678/${x}`, mixed(60)],
	'Discord bot token': [(x) => `login with ${x}`, s('MTk4NjIyNDgzNDcxOTI1MjQ4', '.Cl2FMQ.', 'ZnCjm1XVW7vRze4b7Cq4se7kKWs')],
	'Telegram bot token': [(x) => `https://api.telegram.org/bot${x}/getMe`, s('110201543', ':AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw')],
	'Stripe live key': [(x) => `No such customer with ${x}`, s('sk', '_live_', mixed(24))],
	'Stripe restricted key': [(x) => x, s('rk', '_live_', mixed(24))],
	'Stripe webhook secret': [(x) => x, s('whsec', '_', mixed(32))],
	'Square token': [(x) => `square ${x}`, s('sq0', 'atp-', mixed(22))],
	'JWT': [(x) => `jwt ${x} expired`, s('eyJhbGciOiJIUzI1NiJ9.', 'eyJzdWIiOiIxMjM0NTY3ODkwIn0.', 'dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P')],
	'bearer header': [(x) => `Authorization: Bearer ${x}`, mixed(20)],
	'bearer without header': [(x) => `sent bearer ${x}, got 401`, mixed(32)],
	'basic header': [(x) => `authorization: Basic ${x}`, Buffer.from('admin:Zx9#kQ2v').toString('base64')],
	'digest header': [(x) => `Authorization: Digest username="bob", realm="r", response="${x}"`, hex(32)],
	'proxy header': [(x) => `Proxy-Authorization: Basic ${x}\r\nHost: h`, Buffer.from('proxy:pa55word!').toString('base64')],
	'API key header': [(x) => `X-Api-Key: ${x}`, mixed(24)],
	'custom auth header': [(x) => `X-Auth-Token: ${x}`, hex(32)],
	'Vault header': [(x) => `X-Vault-Token: ${x}`, s('hvs', '.CAESI', mixed(40))],
	'Vault token alone': [(x) => `permission denied for ${x}`, s('hvs', '.CAESI', mixed(60))],
	'password in a URL': [(x) => `https://bob:${x}@git.example.com/r.git`, 'tr0ub4dor&3'],
	'token in a URL': [(x) => `fatal: could not read https://oauth2:${x}@gitlab.example.com/x`, mixed(20)],
	'password in a query': [(x) => `GET /login?user=bob&password=${x}&next=/`, 'hunter2xyz'],
	'access token in a query': [(x) => `https://h/p?access_token=${x}#top`, mixed(18)],
	'Azure shared access signature': [(x) => `https://a.blob.core.windows.net/c?sv=2020-08-04&sp=r&sig=${x}`, 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG%3D'],
	'Azure storage key': [(x) => `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${x};EndpointSuffix=core.windows.net`, s(mixed(60), '==')],
	'Azure client secret': [(x) => `AZURE_CLIENT_SECRET=${x}`, s('abc8Q~', mixed(34))],
	'RSA private key': [(x) => `could not parse -----BEGIN RSA ${s('PRI', 'VATE KEY-----')}\n${x}\n-----END RSA ${s('PRI', 'VATE KEY-----')}`, pem()],
	'private key glued to a word': [(x) => `key=value,content-----BEGIN EC ${s('PRI', 'VATE KEY-----')}\n${x}\n-----END EC ${s('PRI', 'VATE KEY-----')}`, pem()],
	'OpenSSH private key': [(x) => `-----BEGIN OPENSSH ${s('PRI', 'VATE KEY-----')}\n${x}\n-----END OPENSSH ${s('PRI', 'VATE KEY-----')}\n`, pem()],
	'PGP private key': [(x) => `-----BEGIN PGP ${s('PRI', 'VATE KEY BLOCK-----')}\n\n${x}\n-----END PGP ${s('PRI', 'VATE KEY BLOCK-----')}`, pem()],
	'private key cut off': [(x) => `got -----BEGIN ${s('PRI', 'VATE KEY-----')}\n${x}`, pem()],
	'age key': [(x) => `identity ${x}`, s('AGE-SECRET', '-KEY-1', 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE')],
	'cookie header': [(x) => `Cookie: sid=${x}; theme=dark`, mixed(22)],
	'set-cookie header': [(x) => `Set-Cookie: id=${x}; Max-Age=2592000; HttpOnly`, mixed(22)],
	'signed session cookie': [(x) => `connect.sid=${x}`, s('s%3A', mixed(30))],
	'.env line': [(x) => `DB_PASSWORD=${x}`, 'correct-horse-battery'],
	'.env line in quotes': [(x) => `SMTP_PASS="${x}"\nSMTP_HOST=mail`, 'pa55 with blanks'],
	'exported variable': [(x) => `export API_TOKEN=${x}`, mixed(16)],
	'PGPASSWORD': [(x) => `PGPASSWORD=${x} psql -h db`, 'sw0rdfish'],
	'postgres URL': [(x) => `postgres://app:${x}@db:5432/app?sslmode=require`, 'p%40ssw0rd'],
	'mongodb URL': [(x) => `mongodb+srv://u:${x}@cluster0.example.net/?retryWrites=true`, 'M0ng0s3cret'],
	'redis URL': [(x) => `redis://:${x}@cache:6379/0`, 'r3disPass'],
	'amqp URL': [(x) => `amqps://guest:${x}@mq/vhost`, 'rabb1tS3cret'],
	'ADO.NET connection string': [(x) => `Server=db;User Id=sa;Password=${x};Encrypt=true`, 'Sup3r!Secret'],
	'JDBC URL': [(x) => `jdbc:mysql://db/app?user=root&password=${x}`, 'jdbcS3cret'],
	'libpq string': [(x) => `host=db user=app password=${x} dbname=app`, 'libpqS3cret'],
	'XML element': [(x) => `<user>bob</user><password>${x}</password>`, 'xmlS3cret'],
	'XML element of a namespace': [(x) => `<wsse:Password Type="PasswordText">${x}</wsse:Password>`, 'soapS3cret'],
	'XML element with an API key': [(x) => `<config><apiKey>${x}</apiKey></config>`, mixed(20)],
	'XML attribute': [(x) => `<server host="h" password="${x}"/>`, 'attrS3cret'],
	'JSON member': [(x) => `{"client_secret":"${x}","grant_type":"x"}`, mixed(24)],
	'JSON in a string': [(x) => `body: "{\\"refreshToken\\":\\"${x}\\"}"`, mixed(24)],
	'JSON number': [(x) => `{"passcode":${x}}`, '83920175'],
	'YAML': [(x) => `database:\n  user: app\n  password: ${x}\n  port: 5432`, 'yamlS3cret'],
	'ini file': [(x) => `[client]\nuser=root\npassword = ${x}\n`, 'iniS3cret'],
	'option of a command': [(x) => `spawn deploy --password ${x} --verbose`, 'cliS3cret'],
	'option with equals': [(x) => `run --api-key=${x} x`, mixed(16)],
	'npmrc': [(x) => `//registry.example.com/:_authToken=${x}`, mixed(36)],
	'npm token': [(x) => `E401 with ${x}`, s('npm', '_', mixed(36))],
	'PyPI token': [(x) => `twine: ${x}`, s('pypi', '-AgEIcHlwaS5vcmc', mixed(60))],
	'OpenAI key': [(x) => `Incorrect API key provided: ${x}.`, s('sk-', 'proj-', mixed(40))],
	'Anthropic key': [(x) => `x-api-key ${x} is invalid`, s('sk-', 'ant-api03-', mixed(40))],
	'Hugging Face token': [(x) => x, s('hf', '_', mixed(34))],
	'SendGrid key': [(x) => `sendgrid ${x}`, s('SG', '.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc-1s5cr')],
	'Mailgun key': [(x) => `mailgun ${x}`, s('key', '-', hex(32))],
	'Twilio auth token': [(x) => `TWILIO_AUTH_TOKEN=${x}`, hex(32)],
	'DigitalOcean token': [(x) => x, s('dop', '_v1_', hex(64))],
	'Shopify token': [(x) => x, s('shpat', '_', hex(32))],
	'Databricks token': [(x) => `databricks ${x}`, s('dapi', hex(32))],
	'Linear key': [(x) => `linear ${x}`, s('lin', '_api_', mixed(40))],
	'Atlassian token': [(x) => `jira ${x}`, s('ATATT', '3xFfGF0', mixed(50))],
	'Docker registry auth': [(x) => `{"auths":{"r.example.com":{"auth":"${x}"}}}`, Buffer.from('bob:dockerS3cret').toString('base64')],
	'Kubernetes secret': [(x) => `kind: Secret\ndata:\n  password: ${x}\n`, Buffer.from('kubeS3cret').toString('base64')],
	'Heroku key': [(x) => `HEROKU_API_KEY=${x}`, '01234567-89ab-cdef-0123-456789abcdef'],
	'GitLab routable token': [(x) => `using ${x}.`, s('glpat', '-', mixed(27), '.01.', mixed(9))],
	'GitLab runner token': [(x) => `runner ${x}`, s('glrt', '-', mixed(20))],
	'Docker Hub token': [(x) => `login with ${x}`, s('dckr', '_pat_', mixed(27))],
	'Doppler token': [(x) => `doppler ${x}`, s('dp', '.pt.', mixed(43))],
	'Doppler service token': [(x) => `doppler ${x}`, s('dp', '.st.prod.', mixed(43))],
	'Twilio API key': [(x) => `twilio ${x} is revoked`, s('SK', hex(32))],
	'Azure AD client secret alone': [(x) => `AADSTS7000215 for ${x}`, s('xY1', '8Q~', mixed(34))],
	'percent-encoded name': [(x) => `POST a=1&api%5Fkey=${x}&b=2`, mixed(20)],
	'name encoded twice': [(x) => `POST a=1&api%255Fkey=${x}&b=2`, mixed(20)],
	'pair encoded whole': [(x) => `next=%2Flogin%3Fpassword%3D${x}%26x%3D1`, mixed(16)],
	'YAML block scalar': [(x) => `password: |\n  ${x}\nport: 1`, mixed(16)],
	'folded YAML scalar': [(x) => `tls:\n  private_key: >-\n    ${x}\n  port: 1`, mixed(60)],
	'Go DSN': [(x) => `app:${x}@tcp(db.example.com:3306)/app`, 'g0Secret9x'],
	'Go DSN of a socket': [(x) => `app:${x}@unix(/run/mysqld.sock)/app`, 'g0Secret8x'],
	'address without a scheme': [(x) => `app:${x}@db.example.com:5432/app`, 'addrS3cret'],
	'pin': [(x) => `card=1 pin=${x}`, '48219305'],
	'otp': [(x) => `otp: ${x}`, '73920418'],
	'one-time code': [(x) => `verification_code=${x}`, '60418273'],
	'auth parameter': [(x) => `auth=${x}`, mixed(24)],
	'Django session': [(x) => `sessionid=${x}`, mixed(32)],
	'seed phrase': [(x) => `mnemonic: ${x}`, 'abandon ribbon must zebra will canoe object tiger found lemon swift abandon'],
	'seed phrase in JSON': [(x) => `{"seed_phrase":"${x}"}`, 'lemon swift abandon ribbon must zebra will canoe object tiger found canoe'],
	'private_key_id': [(x) => `{"private_key_id":"${x}"}`, hex(40)],
	'pass': [(x) => `user: bob\npass: ${x}`, 'hunter2pass9'],
	'pass in JSON': [(x) => `{"user":"bob","pass":"${x}"}`, 'letmeinplease'],
	'no-break spaces': [(x) => `password\u00a0:\u00a0${x}`, 'nbspS3cret'],
	'full-width colon': [(x) => `password\uff1a${x}`, 'wideS3cret'],
	'PuTTY key': [(x) => `PuTTY-User-Key-File-3: ssh-rsa\nPublic-Lines: 1\nAAAAB3Nz\nPrivate-Lines: 1\n${x}\nPrivate-MAC: 00`, mixed(64)],
	'PEM without its beginning': [(x) => `${x}\n-----END RSA ${s('PRI', 'VATE KEY-----')}`, s(mixed(64), '\n', mixed(64))],
	'mysql -p': [(x) => `mysql -u root -p${x} app`, 'mysqlS3cret'],
	'curl -u': [(x) => `curl -u bob:${x} https://example.com`, 'curlS3cret'],
	'curl --user': [(x) => `curl --user 'bob:${x}' https://example.com`, 'curluS3cret'],
	'netrc': [(x) => `machine example.com login bob password ${x}`, 'netrcsecret'],
	'netrc of several lines': [(x) => `machine example.com\n  login bob\n  password ${x}\n`, 'netrcsecrets'],
	'docker login -p': [(x) => `docker login -u bob -p ${x} r.example.com`, 'dockerpS3cret'],
	'sshpass': [(x) => `sshpass -p ${x} ssh host`, 'sshpassS3cret'],
	'redis-cli -a': [(x) => `redis-cli -h db -a ${x} ping`, 'redisaS3cret'],
	'openssl -passin': [(x) => `openssl rsa -passin pass:${x}`, 'opensslS3cret'],
	'keytool': [(x) => `keytool -list -storepass ${x}`, 'keytoolS3cret'],
	'password in a sentence': [(x) => `login with password ${x} was refused`, 'sentenceS3cret'],
	'unknown scheme': [(x) => `Authorization: GenieKey ${x}`, mixed(24)],
	'variable of Kubernetes': [(x) => `{"name":"DB_PASSWORD","value":"${x}"}`, 'kubenvS3cret'],
	'appSettings': [(x) => `<add key="DbPassword" value="${x}"/>`, 'appsetS3cret'],
	'kubeconfig': [(x) => `client-key-data: ${x}`, mixed(60)],
	'WireGuard': [(x) => `[Interface]\nPrivateKey = ${x}=`, mixed(43)],
	'behind an escaped newline': [(x) => `first\\ntoken=${x}\\nlast`, mixed(24)],
	'wallet key': [(x) => `wallet ${x}`, s('xprv', '9s21ZrQH143K', mixed(91))],
	'German': [(x) => `Passwort: ${x}`, 'Geh3imnis'],
};

const dir = mkdtempSync(join(tmpdir(), 'fw-secrets-'));
process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
const database = join(dir, 'incidents.db');

// What a sink would have to hold for the secret to be in it: as it is, as JSON
// writes it, and the longest line of it alone.
function needles(secret) {
	const longest = secret.split(/\n|\\n/).sort((a, b) => b.length - a.length)[0];
	return [...new Set([secret, JSON.stringify(secret).slice(1, -1), longest])];
}

const sinks = {};

// An argument that does not fit its schema; nothing but its name says what it is.
const tooShort = 'correcthorse';

async function plant() {
	const environment = Object.values(kinds).slice(0, 12).map(([write, secret]) => write(secret)).join('\n');
	const child = spawn(leaky, [dir], { env: { ...process.env, FW_LEAK: environment } });
	let out = '';
	let err = '';
	let answers = 0;
	let done;
	const all = new Promise((settle) => (done = settle));
	child.stderr.on('data', (bytes) => (err += bytes));
	let expected = 0;
	child.stdout.on('data', (bytes) => {
		out += bytes;
		answers = out.split('\n').length - 1;
		if (answers === expected) done();
	});
	const closed = new Promise((settle) => child.on('close', settle));
	const lines = [];
	const say = (method, params, meta = {}) =>
		lines.push(JSON.stringify({ jsonrpc: '2.0', id: lines.length + 1, method, params: { ...params, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, ...meta } } }) + '\n');

	say('tools/call', { name: 'login', arguments: { password: tooShort } });
	for (const [write, secret] of Object.values(kinds)) {
		const text = write(secret);
		say('tools/call', { name: 'leak', arguments: { text } });
		say('tools/call', { name: 'leak', arguments: { text: `/srv/data/${text}` } }, { traceparent: text });
		say('tools/call', { name: text, arguments: {} });
		say('resources/read', { uri: text });
		say(text, {});
		say('tools/call', { name: 'leak_apart', arguments: { text, [text]: { deep: [text] } } });
		say('tools/call', { name: 'leak_critical', arguments: { text } }, { 'io.modelcontextprotocol/clientInfo': { name: text, version: '1' } });
		say('tools/call', { name: 'leak', arguments: { text: 'x' } }, { 'io.modelcontextprotocol/clientInfo': { name: text, version: '1' } });
	}
	expected = lines.length;
	// A few at a time: a call that is refused because too many wait leaks nothing.
	for (let at = 0; at < lines.length; at += 8) {
		child.stdin.write(lines.slice(at, at + 8).join(''));
		for (let i = 0; i < 5000 && answers < Math.min(at + 8, lines.length); i++) await new Promise((next) => setTimeout(next, 1));
	}
	await all;
	for (let i = 0; i < 500 && !sinks.alerts?.includes('audit.log_failed'); i++) {
		await new Promise((done) => setTimeout(done, 10));
		if (existsSync(join(dir, 'alerts.json'))) sinks.alerts = readFileSync(join(dir, 'alerts.json'), 'utf8');
	}
	child.stdin.end();
	await closed;
	sinks.replies = out;
	sinks.log = err;
	for (const name of readdirSync(dir)) sinks[name] = readFileSync(join(dir, name), 'latin1');
	sinks.list = run(['incident', 'list', '--incidents', database, '--limit', '0', '--json']).out;
	const ids = JSON.parse(sinks.list).map((one) => one.id);
	sinks.show = '';
	for (const id of ids.slice(0, 20)) sinks.show += run(['incident', 'show', '--incidents', database, id]).out;
	for (const name of ['hashed', 'redacted']) {
		const log = join(dir, `${name}.jsonl`);
		sinks[`${name} audit verify`] = JSON.stringify(run(['audit', 'verify', log]));
		sinks[`${name} audit tail`] = run(['audit', 'tail', '--count', '1000000', log]).out;
		sinks[`${name} audit query`] = run(['audit', 'query', '--json', log]).out;
	}
	return { answers: expected, kept: ids.length };
}

test('the secrets are planted, and every failure leaves its traces', async () => {
	const { answers, kept } = await plant();
	same(kept, answers, 'each call is an incident');
	for (const name of ['hashed.jsonl', 'redacted.jsonl']) same(sinks[name].split('\n').length - 1, answers, `each call is a record of ${name}`);
	check(!sinks.replies.includes('server.overloaded'), 'no call was refused before it could leak');
	check(sinks['hashed.jsonl'].includes('"args_hash":"') && !sinks['hashed.jsonl'].includes('"args":'), 'hashes of arguments');
	check(sinks['redacted.jsonl'].includes('"args":{"text":"[redacted]'), 'arguments, redacted');
	check(sinks['redacted audit query'].includes('[redacted]') && sinks['redacted audit tail'].split('\n').length > answers, 'audit shows them');
	check(sinks['metrics.txt'].includes('faultwire_calls_total'), 'metrics');
	check(sinks.alerts?.includes('audit.log_failed'), 'alerts');
	check(sinks.log.split('\n').length > 50, 'the log has lines');
	check(sinks.list.includes('[redacted]'), 'what was hidden shows where it was');
	for (const line of sinks.log.trim().split('\n')) JSON.parse(line);
});

for (const [name, [, secret]] of Object.entries(kinds))
	test(`no sink holds: ${name}`, () => {
		const found = [];
		for (const [sink, text] of Object.entries(sinks))
			for (const needle of needles(secret)) {
				const at = text.indexOf(needle);
				if (at >= 0) found.push(`${sink}: ...${text.slice(Math.max(0, at - 60), at + needle.length + 10)}`);
			}
		same(found, [], 'found in');
	});

test('a password that is too short for the schema is in no sink', () => {
	check(sinks.replies.includes('minLength'), 'it was refused for that');
	for (const [sink, text] of Object.entries(sinks)) check(!text.includes(tooShort), sink);
});

test('at least 133 kinds were planted', () => check(Object.keys(kinds).length >= 133, `${Object.keys(kinds).length}`));

await finish();
