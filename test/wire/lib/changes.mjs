// Random changes of a source tree: whatever editors, compilers and git do to files.

import { spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, closeSync, existsSync, fstatSync, ftruncateSync, linkSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync, writeSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

// Not below these folders, which tests treat specially.
const special = /(^|\/)(binary|crlf|node_modules|\.git)(\/|$)/;

// All files and folders, in the order of their paths; what cannot be read has none.
function entries(dir) {
	const found = { files: [], folders: [] };
	const read = (at) => {
		let list = [];
		try {
			list = readdirSync(at, { withFileTypes: true });
		} catch {
			return; // no permission
		}
		for (const entry of list.sort((a, b) => (a.name < b.name ? -1 : 1))) {
			const path = join(at, entry.name);
			if (special.test(path.slice(dir.length + 1))) continue;
			if (entry.isFile()) found.files.push(path);
			if (entry.isDirectory()) found.folders.push(path), read(path);
		}
	};
	read(dir);
	return found;
}

const text = (next) => Array.from({ length: 1 + next(20) }, () => ['config_get(alpha)', 'Alpha BETA gamma', 'int x = 1234567ab;', 'größe straße', '\tPM_RESUME', 'needle'][next(6)]).join('\n') + (next(3) ? '\n' : '');
const rules = ['*.md', 'new*', '!*.md', '*.py', '', '/new*', 'deep*/', '!deep1*/', '**/core/**', 'src/**/f1*.c', '/src/core/', 'core', 'a b/', 'f[0-4]*.c', '!f1?.c', '*', '!*.c', '!*/', 'core*/', '!core-2/',
	'lib/*', '!lib/deep*', '/*.h', '**/f2*', '!**/f2?.h', 'moved*', 'link*', '!link*', '# *', '/d*/e', '\\!x', 'F*'];
const ruleText = (next) => Array.from({ length: 1 + next(4) }, () => rules[next(rules.length)]).join('\n') + (next(4) ? '\n' : '');

// What a tree of changes remembers: files that are open, and paths that had their permissions taken.
const trees = new Map();
const memoryOf = (dir) => trees.get(dir) ?? (trees.set(dir, { open: [], closed: [] }), trees.get(dir));
const git = (dir, ...args) => spawnSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.org', '-c', 'init.defaultBranch=main', '-c', 'commit.gpgsign=false', ...args], { cwd: dir, env: { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', HOME: dir } });

// next(n) is a random number below n. Makes one to three changes; returns when they are done.
export function change(dir, next) {
	for (let i = 1 + next(3); i > 0; i--) attempt(one, dir, next);
}

// As above, and rarer things: permissions, git, open files, folders that become files. Up to eight changes.
export function changeMore(dir, next) {
	for (let i = 1 + next(next(4) ? 3 : 8); i > 0; i--) attempt(next(2) ? one : other, dir, next);
}

// All files can be read again, wherever they are by now.
export function restore(dir) {
	for (const path of [dir, `${dir}-away`]) if (existsSync(path)) spawnSync('chmod', ['-R', 'u+rwX', path]);
	for (const fd of memoryOf(dir).open.splice(0)) closeSync(fd);
}

// A change may be impossible because of one before it.
function attempt(make, dir, next) {
	try {
		make(dir, next);
	} catch (error) {
		if (!error.syscall) throw error;
	}
}

function one(dir, next) {
	const { files: all, folders: at } = entries(dir);
	const file = all[next(all.length)], target = all[next(all.length)], folder = at[next(at.length)] ?? dir;
	const fresh = join(folder, `new${next(1e9)}.${['c', 'h', 'py', 'md'][next(4)]}`);
	if (!file) return writeFileSync(join(dir, `new${next(1e9)}.c`), text(next));

	switch (next(16)) {
	case 0: case 1: return writeFileSync(file, text(next));
	case 2: return appendFileSync(file, `\n${text(next)}`);
	case 3: return writeFileSync(fresh, text(next));
	case 4: {
		const temporary = join(dirname(file), `.tmp${next(1e9)}`);
		writeFileSync(temporary, text(next));
		return renameSync(temporary, file); // how editors save
	}
	case 5: return rmSync(file);
	case 6: return renameSync(file, join(folder, `moved${next(1e9)}.c`));
	case 7: {
		const deep = join(folder, `d${next(1e9)}`, 'e', 'f');
		mkdirSync(deep, { recursive: true });
		return writeFileSync(join(deep, 'inner.c'), text(next));
	}
	case 8: return renameSync(folder, `${folder}_${next(1e6)}`);
	case 9: return writeFileSync(join(folder, '.gitignore'), ['*.md\n', 'new*\n', '!*.md\n', '*.py\n', '\n'][next(5)]);
	case 10: return next(4) ? writeFileSync(join(dir, 'binary', `b${next(1e9)}`), 'alpha\0beta\n') : rmSync(folder, { recursive: true });
	case 11: { // the same size and times
		const size = readFileSync(file).length;
		writeFileSync(file, Buffer.alloc(size, 'alpha \n'));
		return utimesSync(file, 1e9, 1e9);
	}
	case 12: return basename(file).startsWith('.') ? undefined : linkSync(file, join(dirname(file), `link${next(1e9)}.h`)); // elsewhere it may be ignored, and then no event reports what is written to it
	case 13: return symlinkSync(target, join(folder, `soft${next(1e9)}.h`));
	case 14: {
		chmodSync(file, 0o600);
		return writeFileSync(file, `${text(next)}${'x'.repeat(100)} alpha\n`.repeat(next(2) ? 1 : 20));
	}
	default: return writeFileSync(join(folder, '.ignore'), ['*.h\n', '!*\n', 'zzz\n'][next(3)]);
	}
}

function other(dir, next) {
	const memory = memoryOf(dir);
	const { files: all, folders: at } = entries(dir);
	const file = all[next(all.length)], folder = at[next(at.length)] ?? dir, elsewhere = at[next(at.length)] ?? dir;
	if (!file) return;

	switch (next(20)) {
	case 0: return writeFileSync(join([folder, dir][next(2)], ['.gitignore', '.ignore'][next(2)]), ruleText(next));
	case 1: {
		const ignores = all.filter((path) => /\/\.(git)?ignore$/.test(path));
		return ignores.length ? rmSync(ignores[next(ignores.length)]) : undefined;
	}
	case 2: {
		const ignores = all.filter((path) => /\/\.(git)?ignore$/.test(path));
		const path = ignores[next(ignores.length)];
		return path && renameSync(path, next(2) ? join(folder, basename(path)) : join(dirname(path), 'aside'));
	}
	case 3: return renameSync(file, join(dirname(file), next(2) ? basename(file).toUpperCase() : basename(file).toLowerCase()));
	case 4: // a file becomes a folder
		rmSync(file);
		mkdirSync(file);
		return writeFileSync(join(file, 'inner.c'), text(next));
	case 5: // a folder becomes a file
		rmSync(folder, { recursive: true });
		return writeFileSync(folder, text(next));
	case 6: case 7: {
		if (process.getuid() === 0) return; // who can read everything
		const path = next(2) ? file : folder;
		memory.closed.push(path);
		return chmodSync(path, next(4) ? 0 : 0o311);
	}
	case 8: {
		const path = memory.closed.splice(next(memory.closed.length), 1)[0];
		return path && chmodSync(path, existsSync(path) && statSync(path).isFile() ? 0o644 : 0o755);
	}
	case 9: { // files of a folder have other names
		const suffix = ['.c', '.h', '.py', '.md'][next(4)];
		return all.filter((path) => dirname(path) === dirname(file) && !basename(path).startsWith('.')).forEach((path) => renameSync(path, path.replace(/\.\w+$/, '') + suffix));
	}
	case 10: { // through another name; no event reports that of rules
		if (basename(file).startsWith('.')) return;
		const link = join(dirname(file), `link${next(1e9)}.h`);
		linkSync(file, link);
		return next(2) ? writeFileSync(link, text(next)) : next(2) ? appendFileSync(link, `\nneedle\n${text(next)}`) : rmSync(file);
	}
	case 11: { // links that are there
		const links = all.filter((path) => /\/link\d/.test(path));
		const link = links[next(links.length)];
		return link && (next(2) ? appendFileSync(link, `\nAlpha BETA\n${text(next)}`) : rmSync(link));
	}
	case 12:
		memory.open.push(openSync(file, 'r+'));
		return memory.open.length > 20 ? closeSync(memory.open.shift()) : undefined;
	case 13: case 14: {
		const fd = memory.open[next(memory.open.length)];
		if (fd === undefined) return;
		const { size } = fstatSync(fd); // without a hole, which would make it binary
		if (next(3) === 0) ftruncateSync(fd, Math.min(size, next(200)));
		else writeSync(fd, `needle alpha ${next(1000)}\n${text(next)}`.repeat(1 + next(3)), next(3) ? 0 : Math.min(size, next(300)));
		return;
	}
	case 15: // a folder becomes a link to another one
		if (folder === elsewhere || folder.startsWith(`${elsewhere}/`) || elsewhere.startsWith(`${folder}/`)) return;
		next(2) ? rmSync(folder, { recursive: true }) : renameSync(folder, `${folder}_${next(1e6)}`);
		return symlinkSync(relative(dirname(folder), elsewhere), folder);
	case 16: { // a nested repository, or what it leaves out
		const repository = join(folder, '.git');
		if (existsSync(repository) && next(2)) return rmSync(repository, { recursive: true });
		mkdirSync(join(repository, 'info'), { recursive: true });
		writeFileSync(join(repository, 'HEAD'), 'ref: refs/heads/main\n');
		return next(2) ? writeFileSync(join(repository, 'info/exclude'), ruleText(next)) : undefined;
	}
	case 17: // folders change places
		if (folder === elsewhere || folder.startsWith(`${elsewhere}/`) || elsewhere.startsWith(`${folder}/`)) return;
		renameSync(folder, `${folder}~`);
		renameSync(elsewhere, folder);
		return renameSync(`${folder}~`, elsewhere);
	case 18: // out of the tree, and back
		if (memory.away) {
			const path = memory.away;
			memory.away = undefined;
			return renameSync(`${dir}-away`, path);
		}
		if (existsSync(`${dir}-away`)) return;
		memory.away = next(2) ? file : folder;
		return renameSync(memory.away, `${dir}-away`);
	default:
		if (!existsSync(join(dir, '.git/objects'))) return void git(dir, 'init', '-q');
		switch (next(5)) {
		case 0: return void (git(dir, 'add', '-A'), git(dir, 'commit', '-qm', 'x'), git(dir, 'branch', `b${next(5)}`));
		case 1: return void git(dir, 'checkout', '-qf', `b${next(5)}`);
		case 2: return void git(dir, 'stash', '-q', '-u');
		case 3: return void git(dir, 'stash', 'pop', '-q');
		default: return void git(dir, 'worktree', 'add', '-q', '-f', join(folder, `wt${next(1e6)}`));
		}
	}
}
