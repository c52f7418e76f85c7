/*
 * git.c - see git.h.
 *
 * The settings below turn off every way in which `git blame` and `git log` could run a program
 * that a repository names. blame reads the commit HEAD and not the work tree, because reading
 * the work tree would run the clean filter of a path. Missing objects of a partial clone are
 * not fetched: no transport is permitted.
 */
#include "tools/code/git.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "tools/code/git_ask.h"
#include "tools/code/limits.h"
#include "tools/common/command.h"
#include "tools/common/file.h"

#include <faultwire/raise.h>

enum { REASON_BYTES = 256, USAGE = 129 /* status of git after a usage error */ };

/* clang-format off */
static const char *const safe_options[] = {
	"git",
	"--no-pager",
	"--literal-pathspecs",
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.pager=cat",
	"-c", "core.sshCommand=false",
	"-c", "core.untrackedCache=false",
	"-c", "core.attributesFile=/dev/null",
	"-c", "log.showSignature=false",
	"-c", "gpg.program=false",
	"-c", "protocol.allow=never",
	"-c", "i18n.logOutputEncoding=UTF-8",
	"-c", "safe.directory=*",
};
/* clang-format on */

/* ---- what went wrong ---- */

/* How long the directory of the server is that the text begins with; 0: there is none. */
static size_t directory_at(const struct fw_git *git, char found[2][FW_PATH_SIZE], size_t count,
			   const char *text)
{
	const char *root = git->place->root.path;

	for (size_t i = 0; i < count; i++)
		if (strncmp(text, found[i], strlen(found[i])) == 0)
			return strlen(found[i]);
	return root[1] && strncmp(text, root, strlen(root)) == 0 ? strlen(root) : 0;
}

/* The message of git without "fatal: " and without the server's paths. */
static void read_reason(const struct fw_git *git, const char *tail, char reason[REASON_BYTES])
{
	char found[2][FW_PATH_SIZE];
	size_t count = fw_git_directories(git->place->repo->path, found);
	const char *fatal = strstr(tail, "fatal: ");
	size_t used = 0;

	if (!fatal)
		fatal = strstr(tail, "error: ");
	tail = fatal ? fatal + 7 : tail;
	while (*tail && *tail != '\n' && used + 1 < REASON_BYTES) {
		size_t directory = directory_at(git, found, count, tail);

		reason[used++] = directory ? '.' : *tail;
		tail += directory ? directory : 1;
	}
	reason[fw_utf8_valid(reason, used)] = '\0';
}

static fw_error *failed(const struct fw_git *git, const char *reason)
{
	const char *shown = git->place->shown;

	return fw_raise_git_operation_failed(shown[0] ? shown : ".", git->command, reason);
}

static bool is_on_disk(const struct fw_code_place *place)
{
	struct stat st;

	return fstatat(place->root.fd, place->path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Messages of git that have a better one. */
static fw_error *translate(const struct fw_git *git, const char *reason)
{
	if (strstr(reason, "not a git repository"))
		return failed(git, "the folder is not a git repository");
	if (strstr(reason, "no such path") || strstr(reason, "has no commits"))
		return is_on_disk(git->place) ? failed(git, "the path has no commits")
					      : fw_raise_file_not_found(git->place->shown);
	if (strstr(reason, "no such ref: HEAD") || strstr(reason, "bad revision 'HEAD'") ||
	    strstr(reason, "does not have any commits"))
		return failed(git, "the branch has no commits");
	if (strstr(reason, "promisor remote"))
		return failed(git, "the repository is a partial clone without an object that "
				   "this needs, and nothing is fetched here");
	return failed(git, reason[0] ? reason : "git ended with an error");
}

static fw_error *judge(const struct fw_git *git, const struct fw_command_result *result)
{
	char reason[REASON_BYTES];

	switch (result->status) {
	case 0: return NULL;
	case FW_COMMAND_TIMED_OUT: return failed(git, "it did not finish in time");
	case FW_COMMAND_STOPPED: return NULL; /* the caller knows why */
	case FW_COMMAND_NOT_STARTED: return failed(git, "the git program cannot be started");
	default: break;
	}
	if (result->status > 128 && result->status != USAGE &&
	    !strstr(result->tail, "fatal: ")) {
		(void)snprintf(reason, sizeof reason, "git ended with signal %d",
			       result->status - 128);
		return failed(git, reason);
	}
	read_reason(git, result->tail, reason);
	/* What an old one says to an option that it does not know. */
	if (result->status == USAGE || strstr(reason, "unrecognized argument")) {
		char text[REASON_BYTES + 32];

		(void)snprintf(text, sizeof text, "the git program is too old: %s", reason);
		return failed(git, text);
	}
	return translate(git, reason);
}

/* ---- running ---- */

struct run {
	const struct fw_git *git;
};

static bool may_continue(void *ctx)
{
	const struct run *run = ctx;

	return !run->git->is_cancelled || !run->git->is_cancelled(run->git->ctx);
}

static bool take(void *ctx, const char *bytes, size_t len)
{
	const struct run *run = ctx;

	return run->git->take(run->git->ctx, bytes, len);
}

/* The mailmap of a work tree is a file in it. Another directory is a bare repository to git, whose
 * mailmap would be that of the commit HEAD. */
static size_t put_mailmap(const struct fw_code_place *place, struct fw_git_line *line,
			  size_t count)
{
	struct stat st;

	if (fstatat(place->root.fd, ".git", &st, AT_SYMLINK_NOFOLLOW) != 0)
		return count;
	line->argv[count++] = "-c";
	line->argv[count++] = "mailmap.blob=";
	if (fstatat(place->root.fd, ".mailmap", &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(st.st_mode))
		return count;
	(void)snprintf(line->mailmap, sizeof line->mailmap, "mailmap.file=%s/.mailmap",
		       place->root.path);
	line->argv[count++] = "-c";
	line->argv[count++] = line->mailmap;
	return count;
}

static size_t put_options(const struct fw_code_place *place, const char *directory,
			  struct fw_git_line *line)
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof safe_options / sizeof *safe_options; i++)
		line->argv[count++] = safe_options[i];
	return directory ? put_mailmap(place, line, count) : count;
}

static void put_environment(const struct fw_code_place *place, const char *directory,
			    struct fw_git_line *line)
{
	static const char *const fixed[] = {
		"HOME=/nonexistent",       "XDG_CONFIG_HOME=/nonexistent",
		"GIT_CONFIG_NOSYSTEM=1",   "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1",     "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none", "GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0",   "GIT_PAGER=cat",
		"LC_ALL=C.UTF-8",          "TZ=UTC",
	};
	const char *given = getenv("PATH");
	char above[FW_PATH_SIZE];
	size_t count = 0;

	(void)fw_path_split(place->root.path, above);
	/* A repository above is not looked for. */
	(void)snprintf(line->ceiling, sizeof line->ceiling, "GIT_CEILING_DIRECTORIES=%s",
		       above);
	(void)snprintf(line->path, sizeof line->path, "PATH=%s",
		       given ? given : "/usr/bin:/bin");
	line->environment[count++] = line->path;
	line->environment[count++] = line->ceiling;
	if (directory) {
		(void)snprintf(line->directory, sizeof line->directory, "GIT_DIR=%s",
			       directory);
		line->environment[count++] = line->directory;
	}
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		line->environment[count++] = fixed[i];
	line->environment[count] = NULL;
}

void fw_git_line_make(const struct fw_code_place *place, const char *directory,
		      const char *const *words, struct fw_git_line *ret_line)
{
	size_t count = put_options(place, directory, ret_line);

	while (*words && count < FW_GIT_ARGV_MAX - 1)
		ret_line->argv[count++] = *words++;
	ret_line->argv[count] = NULL;
	put_environment(place, directory, ret_line);
}

bool fw_git_is_bare(const struct fw_code_place *place)
{
	struct stat st;

	return fstatat(place->root.fd, ".git", &st, AT_SYMLINK_NOFOLLOW) != 0;
}

fw_error *fw_git_run(const struct fw_git *git)
{
	const char *words[FW_GIT_ARGV_MAX];
	char mailmap[96];
	struct fw_command_result result = { .status = 0 };
	struct run run = { git };
	struct fw_git_line line;
	const struct fw_command command = { .argv = line.argv,
					    .environment = line.environment,
					    .directory_fd = git->place->root.fd,
					    .limit_ms = git->limit_ms ? git->limit_ms
								      : FW_LIMIT_CODE_GIT_MS,
					    .may_continue = may_continue,
					    .take = take,
					    .ctx = &run };
	size_t count = 0;
	fw_error *err;

	/* HEAD of the other directory may be an older commit. */
	if (git->directory && git->head && fw_git_is_bare(git->place)) {
		(void)snprintf(mailmap, sizeof mailmap, "mailmap.blob=%s:.mailmap", git->head);
		words[count++] = "-c";
		words[count++] = mailmap;
	}
	words[count++] = git->command;
	for (size_t i = 0; git->argv[i] && count < FW_GIT_ARGV_MAX - 3; i++)
		words[count++] = git->argv[i];
	words[count++] = "--";
	words[count++] = git->place->path;
	words[count] = NULL;
	fw_git_line_make(git->place, git->directory, words, &line);
	err = fw_command_run(&command, &result);
	fw_git_ask_forget();
	return err ? err : judge(git, &result);
}

/* ---- worktrees and submodules ---- */

/* The first line of a small file, or the rest of the line that begins with `key`. */
static bool read_line(const char *directory, const char *name, const char *key,
		      char ret_line[FW_PATH_SIZE])
{
	char path[2 * FW_PATH_SIZE];
	char line[FW_PATH_SIZE];
	bool has_found = false;
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", directory, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!has_found && fgets(line, sizeof line, file)) {
		const char *at = line + strspn(line, " \t");

		if (strncmp(at, key, strlen(key)) != 0)
			continue;
		at += strlen(key);
		at += strspn(at, " \t");
		(void)snprintf(ret_line, FW_PATH_SIZE, "%.*s", (int)strcspn(at, "\r\n"), at);
		has_found = true;
	}
	(void)fclose(file);
	return has_found;
}

/* A path in a file of `directory`, made canonical; "" if there is nothing. */
static bool resolve(const char *directory, const char *path, char ret_path[FW_PATH_SIZE])
{
	char joined[2 * FW_PATH_SIZE];
	char *real;

	(void)snprintf(joined, sizeof joined, "%s%s%s", path[0] == '/' ? "" : directory,
		       path[0] == '/' ? "" : "/", path);
	real = realpath(joined, NULL);
	if (!real || strlen(real) >= FW_PATH_SIZE) {
		free(real);
		return false;
	}
	memcpy(ret_path, real, strlen(real) + 1);
	free(real);
	return true;
}

/* Does the git directory name the repository as its work tree? */
static bool is_linked_back(const char *git_directory, const char *repository)
{
	char line[FW_PATH_SIZE], path[FW_PATH_SIZE], dot_git[FW_PATH_SIZE + 8];

	(void)snprintf(dot_git, sizeof dot_git, "%s/.git", repository);
	if (read_line(git_directory, "gitdir", "", line))
		return resolve(git_directory, line, path) && strcmp(path, dot_git) == 0;
	return read_line(git_directory, "config", "worktree =", line) &&
	       resolve(git_directory, line, path) && strcmp(path, repository) == 0;
}

size_t fw_git_directories(const char *repository, char ret_paths[2][FW_PATH_SIZE])
{
	char line[FW_PATH_SIZE];

	if (!read_line(repository, ".git", "gitdir:", line) ||
	    !resolve(repository, line, ret_paths[0]) ||
	    !is_linked_back(ret_paths[0], repository))
		return 0;
	/* The objects of a worktree are in the directory of the main one. */
	if (read_line(ret_paths[0], "commondir", "", line) &&
	    resolve(ret_paths[0], line, ret_paths[1]) &&
	    fw_path_is_beneath(ret_paths[0], ret_paths[1]))
		return 2;
	return 1;
}
