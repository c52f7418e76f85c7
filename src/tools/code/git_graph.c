/*
 * git_graph.c - see git_graph.h. This file finds the graph for a tool; git_graph_make.c
 * makes it.
 */
#include "tools/code/git_graph_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/code/git.h"
#include "tools/code/git_ask.h"

enum { CONFIG_BYTES = 64 * 1024, PATH_ROOM = FW_PATH_SIZE + 64 };

bool fw_git_graph_prepare(const struct fw_code_repo *repo)
{
	static const char *const directories[] = { "blame", "git" };
	char path[PATH_ROOM];
	int fd;

	for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", repo->index, directories[i]);
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			return false;
	}
	(void)snprintf(path, sizeof path, "%s/wanted", repo->index);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

/* ---- small files ---- */

size_t fw_git_graph__read(const char *directory, const char *name, char *text, size_t size)
{
	char path[PATH_ROOM];
	ssize_t len;
	int fd;

	text[0] = '\0';
	(void)snprintf(path, sizeof path, "%s/%s", directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0;
	len = read(fd, text, size - 1);
	(void)close(fd);
	text[len > 0 ? len : 0] = '\0';
	return len > 0 ? (size_t)len : 0;
}

static bool is_there(const char *directory, const char *name)
{
	char path[PATH_ROOM];
	struct stat st;

	(void)snprintf(path, sizeof path, "%s/%s", directory, name);
	return lstat(path, &st) == 0;
}

/* ---- the repository ---- */

bool fw_git_graph__directory(const struct fw_code_repo *repo, char ret_path[FW_PATH_SIZE])
{
	char found[2][FW_PATH_SIZE], path[PATH_ROOM];
	size_t count;
	struct stat st;

	(void)snprintf(path, sizeof path, "%s/.git", repo->path);
	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return snprintf(ret_path, FW_PATH_SIZE, "%s/.git", repo->path) < FW_PATH_SIZE;
	count = fw_git_directories(repo->path, found);
	if (count) {
		memcpy(ret_path, found[count - 1], FW_PATH_SIZE);
		return true;
	}
	if (!is_there(repo->path, "HEAD") || !is_there(repo->path, "objects"))
		return false;
	memcpy(ret_path, repo->path, FW_PATH_SIZE);
	return true;
}

/* True: there may be settings that change what blame and log print, or where references
 * are stored. A word may also match elsewhere in the file. Then the graph is not used,
 * which is slower but still correct. */
static bool has_settings(const char *text)
{
	static const char *const words[] = { "blame", "mailmap", "include", "worktreeconfig",
					     "[diff", "[log",    "replace", "refstorage" };

	for (; *text; text++)
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (strncasecmp(text, words[i], strlen(words[i])) == 0)
				return true;
	return false;
}

/* True: packed-refs has a replaced object, or cannot be read. The file is read in
 * overlapping parts. */
static bool has_packed_replacement(const char *directory)
{
	static const char wanted[] = " refs/replace/";
	char path[PATH_ROOM], text[CONFIG_BYTES];
	bool is_found = false;
	size_t kept = 0;
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof path, "%s/packed-refs", directory);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno != ENOENT;
	while (!is_found && (got = read(fd, text + kept, sizeof text - kept)) > 0) {
		size_t len = kept + (size_t)got;

		is_found = memmem(text, len, wanted, sizeof wanted - 1) != NULL;
		kept = len < sizeof wanted ? len : sizeof wanted;
		memmove(text, text + len - kept, kept);
	}
	(void)close(fd);
	return is_found;
}

bool fw_git_graph__source(const char *directory, char ret_source[FW_GIT_SOURCE_SIZE])
{
	char text[CONFIG_BYTES], path[PATH_ROOM];
	struct stat st;

	(void)snprintf(path, sizeof path, "%s/config", directory);
	if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size >= CONFIG_BYTES ||
	    fw_git_graph__read(directory, "config", text, sizeof text) != (size_t)st.st_size)
		return false;
	(void)snprintf(ret_source, FW_GIT_SOURCE_SIZE, "%lld %llu %lld.%09ld",
		       (long long)st.st_size, (unsigned long long)st.st_ino,
		       (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	return !has_settings(text) && !is_there(directory, "shallow") &&
	       !is_there(directory, "info/grafts") && !is_there(directory, "refs/replace") &&
	       !has_packed_replacement(directory);
}

/* ---- asking ---- */

static void want(const struct fw_code_repo *repo, const char *head)
{
	char path[PATH_ROOM], wanted[FW_GIT_HASH_SIZE + 1];
	int fd;

	(void)fw_git_graph__read(repo->index, "wanted", wanted, sizeof wanted);
	if (strcmp(wanted, head) == 0)
		return;
	(void)snprintf(path, sizeof path, "%s/wanted", repo->index);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	(void)!write(fd, head, strlen(head));
	(void)close(fd);
}

bool fw_git_graph_find(const struct fw_code_place *place, const char *head,
		       struct fw_git_graph *ret_graph)
{
	char ready[FW_GIT_SOURCE_SIZE + FW_GIT_HASH_SIZE + 2], directory[FW_PATH_SIZE];
	size_t len;

	ret_graph->directory = NULL;
	ret_graph->source[0] = '\0';
	if (!place->repo->index[0] || !fw_git_graph__directory(place->repo, directory) ||
	    !fw_git_graph__source(directory, ret_graph->source))
		return false;
	(void)snprintf(ret_graph->path, sizeof ret_graph->path, "%s/git", place->repo->index);
	(void)fw_git_graph__read(ret_graph->path, "ready", ready, sizeof ready);
	len = strlen(ret_graph->source);
	if (strncmp(ready, ret_graph->source, len) == 0 && ready[len] == '\n') {
		ret_graph->directory = ret_graph->path;
		if (strcmp(ready + len + 1, head) == 0)
			return true;
	}
	want(place->repo, head);
	return true;
}
