// A generated source tree with everything that makes searching hard, and generated queries.
// The same seed gives the same tree and the same queries.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { random } from './random.mjs';

export { random };

const words = ('alpha beta gamma delta lock unlock task skip mask init read write open close buffer length offset PM_RESUME '
	+ 'SUSPEND state_t config_get foo bar baz qux int char void return static struct if else 0x1f 12345 1234567ab 42 '
	+ 'grüße Straße STRASSE ſtop Kelvin \u212Aelvin naïve ÉCOLE école 漢字 日本語 😀 ΣΊΣΥΦΟΣ σίσυφος').split(' ');
const marks = [' ', ' ', ' ', '  ', '\t', '(', ')', '.', ',', ';', '->', '::', '*', '=', '"', "'", '[', ']', '{', '}', '\\', '#', '$', '^', '+', '?', '|', '/'];

export function makeTree(dir, files, rand = random(1)) {
	const pick = (list) => list[rand(list.length)];
	const line = () => {
		let text = '';
		for (let i = rand(12); i > 0; i--) text += pick(words) + pick(marks);
		return text;
	};
	const paths = [];
	const put = (path, content) => {
		mkdirSync(dirname(join(dir, path)), { recursive: true });
		writeFileSync(join(dir, path), content);
		paths.push(path);
	};
	const folders = ['', 'src/', 'src/core/', 'src/core-2/', 'src/core.d/', 'lib/', 'doc/ünï/', 'a b/', 'test/'];
	for (let i = 0; i < files; i++) {
		const path = `${pick(folders)}${i % 7 === 0 ? `deep${rand(40)}/` : ''}f${i}.${pick(['c', 'h', 'py', 'md', 'txt'])}`;
		const lines = Array.from({ length: rand(40) }, line);
		const kind = rand(20);
		let bytes = Buffer.from(lines.join('\n') + (lines.length && kind !== 1 ? '\n' : ''));
		if (kind === 2 || kind === 3) bytes = Buffer.from(lines.join('\r\n') + '\r\n');
		if (kind === 4) bytes = Buffer.concat([bytes, Buffer.from([0]), bytes]);
		if (kind === 5) bytes = Buffer.concat([Buffer.from(lines.join('\n')), Buffer.from([0xff, 0xe4]), Buffer.from(' alpha\n'), bytes]);
		if (kind === 6 && lines.length) bytes = Buffer.concat([Buffer.from('\ufeff'), bytes]);
		if (kind === 7 && i % 3 === 0) bytes = Buffer.concat([bytes, Buffer.from((line() + ' ').repeat(40) + 'beta\n'), bytes]);
		if (kind === 8) bytes = Buffer.from('\n\n' + bytes.toString() + '\n\n');
		put((kind === 2 || kind === 3 ? 'crlf/' : kind === 4 ? 'binary/' : '') + path, bytes);
	}
	put('.gitignore', '*.log\n/out\n');
	put('x.log', 'alpha beta\n');
	put('out/y.c', 'alpha beta\n');
	put('.hidden/z.c', 'alpha beta gamma\n');
	put('empty', '');
	return paths;
}

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

// { query, regex, case_sensitive, folder, glob, isLoose }. isLoose: it may match the CR of CR LF, which is
// part of the line for ripgrep and not for us.
export function makeQuery(rand) {
	const pick = (list) => list[rand(list.length)];
	const word = () => pick(words);
	const query = { case_sensitive: rand(2) === 0 };
	const part = () => {
		const text = word();
		const from = rand(Math.max(1, [...text].length - 1));
		return [...text].slice(from, from + 2 + rand(6)).join('');
	};
	if (rand(5) < 2) {
		query.query = pick([word, word, part, part, () => word() + pick(marks) + word(), () => pick(marks), () => pick(['a', 'K', 's', 'é', 'zzz_none'])])();
	} else {
		query.regex = true;
		const atom = () => pick([
			() => escape(word()), () => escape(part()), () => escape(part()), () => '\\w+', () => '\\d{2,4}', () => '[a-f]+', () => '[A-Z]+_', () => '(foo|bar|grüße)',
			() => '(?:ta|ma)sk', () => 'l.ck', () => '\\s+', () => '[^x ]*', () => 'un?lock', () => 'b+a{1,2}', () => '\\S+', () => '\\.', () => '.', () => '[0-9]{7}[a-f]{2}',
			() => '\\p{L}+', () => '\\d+\\.\\d', () => '[0-9]{2}[a-f.]', () => '[A-Z]{2}_', () => 'v?[0-9]\\d_?', () => '[[:digit:]x]+', () => '(alpha|beta)+', () => '(x|)', () => 'o{2}', () => '\\W',
		])();
		query.query = Array.from({ length: 1 + rand(3) }, atom).join(pick(['', '', '.*', '\\s*']));
		if (rand(6) === 0) query.query = '^' + pick(['', '\\s*', '\\t']) + query.query;
		if (rand(6) === 0) query.query += '$';
		// ripgrep 13 does not find \b^, except with -P.
		if (rand(6) === 0 && !query.query.startsWith('^')) query.query = `\\b${query.query}`;
		if (rand(8) === 0) query.query += '|' + escape(word());
		query.isLoose = /\\s|\\S|\\W|\[\^|\./.test(query.query);
	}
	if (rand(6) === 0) query.folder = pick(['src', 'src/core', 'lib', 'crlf', 'doc', 'a b']);
	if (rand(6) === 0) query.glob = pick(['*.c', '*.{h,py}', 'src/**', '**/deep1*/*', '!*.md']);
	return query;
}
