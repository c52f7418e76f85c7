// The outline tool against universal-ctags: which of the functions, classes and types that ctags finds does it find?

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

// The kinds of each language that define something. Prototypes, members, variables and parameters do not.
const kinds = {
	C: 'function struct union enum typedef',
	'C++': 'function class struct union enum typedef namespace',
	Python: 'class function member',
	JavaScript: 'function class method generator',
	TypeScript: 'function class interface enum method alias namespace generator',
	Go: 'func type struct interface',
	Rust: 'function struct enum interface typedef method implementation module macro',
	Java: 'class interface enum method annotation',
	Ruby: 'class module method singletonMethod',
	PHP: 'class interface function trait',
	Sh: 'function',
	Perl: 'subroutine package',
	Lua: 'function',
};

export const hasCtags = () => {
	try {
		return execFileSync('ctags', ['--list-features'], { encoding: 'utf8' }).includes('json');
	} catch {
		return false;
	}
};

function run(args, paths, cwd) {
	return execFileSync('ctags', [...args, '-L', '-'], { cwd, input: paths.join('\n'), encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['pipe', 'pipe', 'ignore'] }).split('\n');
}

// What ctags is wrong about: names that are imported, objects, functions without a name, `list=()` and other languages in quotes in a shell script.
const isDefinition = ({ language, kind, name, pattern = '' }) =>
	kinds[language]?.split(' ').includes(kind) && !/^(__anon|anonymous|AnonymousFunction|AnonymousClass)/.test(name)
	&& !(language === 'TypeScript' && kind === 'alias' && !pattern.includes('=')) && !(language === 'JavaScript' && kind === 'class' && !pattern.includes('class'))
	&& !(language === 'Sh' && !/^[A-Za-z_][\w.-]*$/.test(name));

// Judges files of `tree` by `outline`, which returns the symbols of a path or null; for each language how many definitions there are, and which
// of them are missing. A name within two lines is the same: the return type may have a line of its own.
export async function judgeOutline(tree, paths, outline) {
	const languages = new Map(run(['--print-language'], paths, tree).map((line) => line.split(/: (?=[^:]*$)/)));
	const byPath = new Map();
	for (const line of run(['--output-format=json', '--fields=+nK', '--sort=no', '-f', '-'], paths, tree)) {
		if (!line.startsWith('{')) continue;
		const tag = JSON.parse(line);
		const definition = { ...tag, language: languages.get(tag.path), name: tag.name.replace(/^operator /, 'operator') };
		if (isDefinition(definition)) byPath.set(tag.path, [...(byPath.get(tag.path) ?? []), definition]);
	}
	const results = {};
	for (const [path, wanted] of byPath) {
		const found = await outline(path);
		if (!found) continue;
		for (const { language, name, line } of wanted) {
			const of = (results[language] ??= { total: 0, found: 0, missing: [] });
			const last = name.split('::').at(-1).replace(/^~/, '');
			const isFound = found.some((symbol) => Math.abs(symbol.start_line - line) <= 2 && [name, last].some((one) => one === symbol.name || symbol.name.endsWith(`:${one}`)));
			of.total++;
			if (isFound) of.found++;
			else of.missing.push(`${join(path)}:${line} ${name}`);
		}
	}
	return results;
}
