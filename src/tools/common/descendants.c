/*
 * descendants.c - see descendants.h.
 *
 * Killing one process after the other does not end a program that forks faster
 * than it is killed. So all descendants are stopped first: a stopped process
 * cannot fork. When a pass over all processes finds no new one, all are killed.
 * Descendants are found by their parents. The new parent of an orphan is this process,
 * which is a child subreaper; neither setsid() nor a second fork changes that.
 */
#include "tools/common/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"

/* The descendants found so far, in the order in which they were found. */
struct family {
	pid_t *pids;
	size_t count;
	size_t cap;
};

static bool is_known(const struct family *family, pid_t pid)
{
	/* Most lookups are for the newest. */
	for (size_t i = family->count; i > 0; i--)
		if (family->pids[i - 1] == pid)
			return true;
	return false;
}

static bool add(struct family *family, pid_t pid)
{
	if (family->count == family->cap) {
		size_t cap = family->cap ? 2 * family->cap : 64;
		pid_t *more = fw__reallocate(family->pids, cap * sizeof *more);

		if (!more)
			return false;
		family->pids = more;
		family->cap = cap;
	}
	family->pids[family->count++] = pid;
	return true;
}

/* 0 if it has ended, or cannot be seen. */
static pid_t parent_of(const char *pid)
{
	char path[64];
	char text[512];
	const char *end;
	ssize_t len;
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof text - 1);
	(void)close(fd);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	/* "PID (NAME) STATE PARENT ..."; NAME may contain any character. */
	end = strrchr(text, ')');
	return end && strlen(end) > 4 && end[2] != 'Z' ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

/* Stops each descendant that is not known yet. Returns how many there were. */
static size_t stop_new(struct family *family)
{
	DIR *dir = opendir("/proc");
	struct dirent *item;
	size_t before = family->count;

	if (!dir)
		return 0;
	/* Entries come in the order of their numbers. Children mostly have higher numbers
	 * than their parents, so one pass finds most generations. */
	/* cppcheck-suppress readdirCalled ; the stream is used by one thread only */
	while ((item = readdir(dir))) {
		pid_t pid = (pid_t)strtol(item->d_name, NULL, 10);
		pid_t parent = pid > 1 ? parent_of(item->d_name) : 0;

		if (parent <= 0 || (parent != getpid() && !is_known(family, parent)) ||
		    is_known(family, pid))
			continue;
		(void)kill(pid, SIGSTOP);
		if (!add(family, pid))
			break;
	}
	(void)closedir(dir);
	return family->count - before;
}

/* Every descendant becomes a child of this process once its parent has ended. True:
 * no child is left. */
static bool reap(void)
{
	pid_t got;

	do
		got = waitpid(-1, NULL, WNOHANG);
	while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0 && errno == ECHILD;
}

/* One attempt. True: nothing is left. */
static bool end_family(int64_t until)
{
	struct family family = { .pids = NULL };
	bool is_over;

	while (stop_new(&family) > 0 && fw_steady_ms() < until)
		;
	for (size_t i = 0; i < family.count; i++)
		(void)kill(family.pids[i], SIGKILL);
	is_over = reap();
	fw__release(family.pids);
	return is_over;
}

void fw_descendants_end(void)
{
	const struct timespec pause = { .tv_nsec = 1000 * 1000 };
	int64_t until = fw_steady_ms() + FW_LIMIT_PREFLIGHT_END_MS;

	while (!reap()) {
		if (end_family(until))
			return;
		if (fw_steady_ms() >= until)
			break;
		(void)nanosleep(&pause, NULL);
	}
	if (reap())
		return;
	/* In a sandbox no process can leave the group, and one signal reaches all of it
	 * at once. The journal undoes the unfinished write later. */
	if (getpgrp() == getpid())
		(void)kill(0, SIGKILL);
}
