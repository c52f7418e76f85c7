/*
 * ignore.c - see ignore.h.
 */
#include "tools/code/ignore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/code/limits.h"
#include "base/mem.h"
#include "tools/common/file.h"
#include "tools/common/glob.h"

#include <faultwire/raise.h>

/* One rule: a line of a file. */
struct rule {
	struct fw_glob *glob;
	bool is_negated;
	bool only_directories;
	bool is_name; /* compared with the last component of a path, at any depth */
};

struct fw_ignore_rules {
	size_t count;
	struct rule list[];
};

/* ---- reading ---- */

/* Returns the length of a line's pattern, without comment and trailing blanks; 0: no
 * pattern. */
static size_t trim(const char *line, size_t len)
{
	if (len && line[len - 1] == '\r')
		len--;
	while (len && (line[len - 1] == ' ' || line[len - 1] == '\t')) {
		size_t slashes = 0;

		while (slashes < len - 1 && line[len - 2 - slashes] == '\\')
			slashes++;
		if (slashes % 2)
			break;
		len--;
	}
	return len && line[0] == '#' ? 0 : len;
}

/* Adds the rule of a line. An invalid line is skipped, as git does. False: out of memory. */
static bool add_line(struct fw_ignore_rules *rules, const char *line, size_t len)
{
	struct rule rule = { .glob = NULL };
	const char *fault;

	len = trim(line, len);
	if (len && line[0] == '!') {
		rule.is_negated = true;
		line++;
		len--;
	}
	if (len && line[len - 1] == '/') {
		rule.only_directories = true;
		len--;
	}
	/* A slash at the start or in the middle anchors the pattern to its directory. */
	rule.is_name = !memchr(line, '/', len);
	if (len && line[0] == '/') {
		line++;
		len--;
	}
	if (!len)
		return true;
	rule.glob = fw_glob_new(line, len, true, &fault);
	if (!rule.glob)
		return fault != NULL;
	rules->list[rules->count++] = rule;
	return true;
}

static void rules_free(struct fw_ignore_rules *rules)
{
	for (size_t i = 0; rules && i < rules->count; i++)
		fw_glob_free(rules->list[i].glob);
	fw__release(rules);
}

static fw_error *parse(const char *text, size_t len, struct fw_ignore_rules **ret_rules)
{
	struct fw_ignore_rules *rules;
	size_t lines = 1, mark;
	bool has_memory = true;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	if (lines > FW_LIMIT_CODE_IGNORE_LINES)
		lines = FW_LIMIT_CODE_IGNORE_LINES;
	rules = fw__allocate(sizeof *rules + lines * sizeof rules->list[0]);
	if (!rules)
		return fw_raise_internal_out_of_memory();
	rules->count = 0;
	mark = fw_file_mark(text, len);
	text += mark;
	len -= mark;
	for (; len && lines && has_memory; lines--) {
		const char *newline = memchr(text, '\n', len);
		size_t line = newline ? (size_t)(newline - text) : len;

		has_memory = add_line(rules, text, line);
		text += line + (newline != NULL);
		len -= line + (newline != NULL);
	}
	if (!has_memory) {
		rules_free(rules);
		return fw_raise_internal_out_of_memory();
	}
	*ret_rules = rules;
	return NULL;
}

/* Symbolic links are not followed, as in git. */
static fw_error *read_rules(int dir, const char *path, struct fw_ignore_rules **ret_rules)
{
	int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	char *text = NULL;
	size_t len = 0;
	fw_error *err;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return NULL;
	}
	err = fw_file_read_all(fd, path, FW_LIMIT_CODE_IGNORE_BYTES, &text, &len);
	(void)close(fd);
	if (err && fw_error_code(err) == FW_INTERNAL_OUT_OF_MEMORY)
		return err;
	if (!err)
		err = parse(text, len, ret_rules);
	else
		fw_error_free(err), err = NULL;
	fw__release(text);
	return err;
}

unsigned fw_ignore_bit(const char *name)
{
	if (name[0] != '.')
		return 0;
	return strcmp(name, ".ignore") == 0      ? FW_IGNORE_HAS_IGNORE
	       : strcmp(name, ".gitignore") == 0 ? FW_IGNORE_HAS_GITIGNORE
	       : strcmp(name, ".git") == 0       ? FW_IGNORE_HAS_GIT
						 : 0;
}

/* ---- levels ---- */

static bool make_room(struct fw_ignore *ignore)
{
	size_t room = ignore->room ? 2 * ignore->room : 16;
	struct fw_ignore_level *more;

	if (ignore->count < ignore->room)
		return true;
	more = fw__reallocate(ignore->levels, room * sizeof *more);
	if (!more)
		return false;
	ignore->levels = more;
	ignore->room = room;
	return true;
}

fw_error *fw_ignore_push(struct fw_ignore *ignore, int dir, size_t path_len, unsigned has)
{
	struct fw_ignore_level *level;
	struct stat st;

	if (!make_room(ignore))
		return fw_raise_internal_out_of_memory();
	level = &ignore->levels[ignore->count++];
	*level = (struct fw_ignore_level){ .path_len = path_len };
	if (has & FW_IGNORE_HAS_IGNORE)
		FW_TRY(read_rules(dir, ".ignore", &level->ignore));
	if (has & FW_IGNORE_HAS_GITIGNORE)
		FW_TRY(read_rules(dir, ".gitignore", &level->gitignore));
	if (has & FW_IGNORE_HAS_GIT && fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0) {
		level->is_repository = true;
		if (S_ISDIR(st.st_mode))
			FW_TRY(read_rules(dir, ".git/info/exclude", &level->exclude));
	}
	return NULL;
}

void fw_ignore_pop(struct fw_ignore *ignore)
{
	struct fw_ignore_level *level = &ignore->levels[--ignore->count];

	rules_free(level->ignore);
	rules_free(level->gitignore);
	rules_free(level->exclude);
}

void fw_ignore_clear(struct fw_ignore *ignore)
{
	while (ignore->count)
		fw_ignore_pop(ignore);
	fw__release(ignore->levels);
	*ignore = (struct fw_ignore){ .count = 0 };
}

/* ---- asking ---- */

enum verdict { NONE, IGNORED, KEPT };

static enum verdict ask(const struct fw_ignore_rules *rules, const char *path, size_t len,
			size_t name_at, bool is_directory)
{
	for (size_t i = rules ? rules->count : 0; i-- > 0;) {
		const struct rule *rule = &rules->list[i];
		size_t from = rule->is_name ? name_at : 0;

		if ((!rule->only_directories || is_directory) &&
		    fw_glob_test(rule->glob, path + from, len - from))
			return rule->is_negated ? KEPT : IGNORED;
	}
	return NONE;
}

bool fw_ignore_is_ignored(const struct fw_ignore *ignore, const char *path, size_t len,
			  size_t name_at, bool is_directory)
{
	enum verdict by_ignore = NONE, by_git = NONE, by_exclude = NONE;
	bool is_outside = false; /* outside the innermost repository */

	for (size_t i = ignore->count; i-- > 0 && by_ignore == NONE;) {
		const struct fw_ignore_level *level = &ignore->levels[i];
		size_t from = level->path_len;

		by_ignore = ask(level->ignore, path + from, len - from, name_at - from,
				is_directory);
		if (!is_outside && by_git == NONE)
			by_git = ask(level->gitignore, path + from, len - from, name_at - from,
				     is_directory);
		if (!is_outside && by_exclude == NONE)
			by_exclude = ask(level->exclude, path + from, len - from,
					 name_at - from, is_directory);
		is_outside = is_outside || level->is_repository;
	}
	return (by_ignore != NONE ? by_ignore
		: by_git != NONE  ? by_git
				  : by_exclude) == IGNORED;
}

bool fw_ignore_is_excluded(const char *name, bool is_directory)
{
	static const char *const directories[] = {
		".hg",         ".svn",        ".bzr",          ".jj",         "node_modules",
		"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox",
		".venv",       ".idea",       ".faultwire",
	};

	/* In a worktree or a submodule, .git is a file. */
	if (strcmp(name, ".git") == 0)
		return true;
	if (!is_directory || (name[0] != '.' && name[0] != '_' && name[0] != 'n'))
		return false;
	for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
		if (strcmp(name, directories[i]) == 0)
			return true;
	return false;
}
