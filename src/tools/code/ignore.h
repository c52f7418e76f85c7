/*
 * ignore.h - decides which files of a directory tree are ignored: by .gitignore, .ignore
 * and .git/info/exclude, and by name.
 *
 * The rules are those of git and ripgrep. The last matching line of a file decides, the
 * file in the deepest directory first. Lines of .ignore take precedence over .gitignore,
 * and those over .git/info/exclude. A directory with a .git of its own does not inherit
 * lines of .gitignore. An ignored directory is not entered, so nothing below it can be
 * included again.
 *
 * The one rule to remember: push a level for each directory that is entered, from the root
 * down, and pop it when it is left.
 */
#ifndef FW_TOOLS_CODE_IGNORE_H
#define FW_TOOLS_CODE_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/error.h>

struct fw_ignore_rules;

/* The rules of one directory. */
struct fw_ignore_level {
	size_t path_len; /* length of the directory's path, with the slash at its end */
	bool is_repository;
	struct fw_ignore_rules *ignore;    /* .ignore; NULL: none */
	struct fw_ignore_rules *gitignore; /* .gitignore */
	struct fw_ignore_rules *exclude;   /* .git/info/exclude */
};

struct fw_ignore {
	struct fw_ignore_level *levels;
	size_t count;
	size_t room;
};

/* Which files with rules a directory has, found while its names are read. */
enum {
	FW_IGNORE_HAS_IGNORE = 1,
	FW_IGNORE_HAS_GITIGNORE = 2,
	FW_IGNORE_HAS_GIT = 4,
	FW_IGNORE_HAS_ALL = 7 /* not known: try to open each */
};

/* The bit for a name; 0: no special name. */
unsigned fw_ignore_bit(const char *name);

/* Reads the rules of the directory `dir`, whose path has `path_len` bytes with the slash at
 * its end (0: the root). Files that cannot be read are treated as empty. Raises
 * internal.out_of_memory. */
FW_NODISCARD fw_error *fw_ignore_push(struct fw_ignore *ignore, int dir, size_t path_len,
				      unsigned has);
void fw_ignore_pop(struct fw_ignore *ignore);
void fw_ignore_clear(struct fw_ignore *ignore);

/* True: the file is ignored. `path` is relative to the root, and its last component
 * begins at `name_at`. */
bool fw_ignore_is_ignored(const struct fw_ignore *ignore, const char *path, size_t len,
			  size_t name_at, bool is_directory);

/* True: the name is always ignored, as those of version control and caches are. */
bool fw_ignore_is_excluded(const char *name, bool is_directory);

#endif
