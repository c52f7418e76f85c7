/*
 * git_graph_make.c - the process that makes commit graphs in the background.
 *
 * Once a second it checks whether a tool has asked for one. The graph is made in layers
 * (--split), so only new commits are added.
 */
#include "tools/code/git_graph_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/code/git.h"
#include "tools/code/git_ask.h"
#include "tools/common/command.h"

enum { PATH_ROOM = FW_PATH_SIZE + 64, MAKE_MS = 30 * 60 * 1000, NICE = 10 };

/* Writes to a temporary file and renames it, so that a reader never sees a part. */
static bool put(const char *directory, const char *name, const char *text)
{
	char path[PATH_ROOM], final[PATH_ROOM];
	size_t len = strlen(text);
	bool is_written;
	int fd;

	(void)snprintf(path, sizeof path, "%s/%s.new", directory, name);
	(void)snprintf(final, sizeof final, "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	is_written = write(fd, text, len) == (ssize_t)len;
	(void)close(fd);
	return is_written && rename(path, final) == 0;
}

static bool make_directories(const char *directory)
{
	static const char *const names[] = { "objects", "objects/info", "refs", "refs/heads" };
	char path[PATH_ROOM];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		int len = snprintf(path, sizeof path, "%s/%s", directory, names[i]);

		if (len >= (int)sizeof path || (mkdir(path, 0700) != 0 && errno != EEXIST))
			return false;
	}
	return true;
}

/* Makes a bare repository whose only branch is at `head`. */
static bool make_repository(const char *directory, const char *objects, const char *head)
{
	static const char plain[] = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
	static const char sha256[] = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
				     "[extensions]\n\tobjectFormat = sha256\n";
	char text[PATH_ROOM];

	if (!make_directories(directory) ||
	    !put(directory, "config", strlen(head) > 40 ? sha256 : plain) ||
	    !put(directory, "HEAD", "ref: refs/heads/main\n"))
		return false;
	(void)snprintf(text, sizeof text, "%s/objects\n", objects);
	if (strchr(objects, '\n') || !put(directory, "objects/info/alternates", text))
		return false;
	(void)snprintf(text, sizeof text, "%s\n", head);
	return put(directory, "refs/heads/main", text);
}

static bool write_graph(const struct fw_code_place *place, const char *directory)
{
	static const char *const words[] = {
		"commit-graph", "write",         "--reachable", "--changed-paths",
		"--split",      "--no-progress", NULL
	};
	struct fw_command_result result = { .status = 1 };
	struct fw_git_line line;
	const struct fw_command command = { .argv = line.argv,
					    .environment = line.environment,
					    .directory_fd = place->root.fd,
					    .limit_ms = MAKE_MS };
	fw_error *err;

	fw_git_line_make(place, directory, words, &line);
	err = fw_command_run(&command, &result);
	if (!err)
		return result.status == 0;
	fw_error_free(err);
	return false;
}

static void make(const struct fw_code_place *place, const char *head)
{
	char directory[PATH_ROOM], objects[FW_PATH_SIZE], source[FW_GIT_SOURCE_SIZE];
	char ready[FW_GIT_SOURCE_SIZE + FW_GIT_HASH_SIZE + 2];

	(void)snprintf(directory, sizeof directory, "%s/git", place->repo->index);
	if (!fw_git_graph__directory(place->repo, objects) ||
	    !fw_git_graph__source(objects, source) ||
	    !make_repository(directory, objects, head) || !write_graph(place, directory))
		return;
	(void)snprintf(ready, sizeof ready, "%s\n%s", source, head);
	(void)put(directory, "ready", ready);
}

static bool is_hash(const char *text)
{
	size_t len = strspn(text, "0123456789abcdef");

	return (len == 40 || len == FW_GIT_HASH_SIZE - 1) && !text[len];
}

/* `made` is the last commit that was tried, so that a failure is not repeated. */
static void look(const struct fw_code_repo *repo, char made[FW_GIT_HASH_SIZE + 1])
{
	char wanted[FW_GIT_HASH_SIZE + 1];
	struct fw_code_place place;
	fw_error *err;

	(void)fw_git_graph__read(repo->index, "wanted", wanted, sizeof wanted);
	if (!is_hash(wanted) || strcmp(wanted, made) == 0)
		return;
	memcpy(made, wanted, sizeof wanted);
	err = fw_code_place_of(repo, &place);
	if (!err) {
		make(&place, wanted);
		fw_code_place_close(&place);
	}
	fw_error_free(err);
}

void fw_git_graph_run(void *ctx)
{
	static char made[FW_CODE_REPOS_MAX][FW_GIT_HASH_SIZE + 1];
	const struct timespec pause = { .tv_sec = 1 };
	const struct fw_code_repos *repos = ctx;

	(void)setpriority(PRIO_PROCESS, 0, NICE);
	for (;;) {
		for (size_t i = 0; i < repos->count; i++)
			if (repos->list[i].index[0])
				look(&repos->list[i], made[i]);
		(void)nanosleep(&pause, NULL);
	}
}
