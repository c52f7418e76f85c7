// Random changes of a source tree: whatever editors, compilers and git do to files.

import { appendFileSync, chmodSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// Not below these folders, which tests treat specially.
const special = /^(binary|crlf|node_modules|\.git)(\/|$)/;
const entries = (dir, isWanted) => readdirSync(dir, { recursive: true, withFileTypes: true }).filter(isWanted)
	.map((entry) => join(entry.parentPath ?? entry.path, entry.name)).filter((path) => !special.test(path.slice(dir.length + 1))).sort();

const text = (next) => Array.from({ length: 1 + next(20) }, () => ['config_get(alpha)', 'Alpha BETA gamma', 'int x = 1234567ab;', 'größe straße', '\tPM_RESUME', 'needle'][next(6)]).join('\n') + (next(3) ? '\n' : '');

// next(n) is a random number below n. Makes one to three changes; returns when they are done.
export function change(dir, next) {
	for (let i = 1 + next(3); i > 0; i--) one(dir, next);
}

function one(dir, next) {
	const all = entries(dir, (entry) => entry.isFile()), at = entries(dir, (entry) => entry.isDirectory());
	const file = all[next(all.length)], other = all[next(all.length)], folder = at[next(at.length)] ?? dir;
	const fresh = join(folder, `new${next(1e9)}.${['c', 'h', 'py', 'md'][next(4)]}`);

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
	case 12: return linkSync(file, join(folder, `link${next(1e9)}.h`));
	case 13: return symlinkSync(other, join(folder, `soft${next(1e9)}.h`));
	case 14: {
		chmodSync(file, 0o600);
		return writeFileSync(file, `${text(next)}${'x'.repeat(100)} alpha\n`.repeat(next(2) ? 1 : 20));
	}
	default: return writeFileSync(join(folder, '.ignore'), ['*.h\n', '!*\n', 'zzz\n'][next(3)]);
	}
}
