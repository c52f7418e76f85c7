/*
 * git_ask.c - see git_ask.h.
 */
#include "tools/code/git_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/subprocess.h"
#include "tools/code/git.h"

enum { ANSWER_MS = 5000, LINE_BYTES = FW_PATH_SIZE + 256 };

/* One process per repository. */
struct asked {
	dev_t device; /* of the repository's root; 0: there is no process */
	ino_t inode;
	struct fw_subprocess child;
	int in;
	int out;
};

static struct asked processes[FW_CODE_REPOS_MAX];

static void forget(struct asked *asked)
{
	if (!asked->device)
		return;
	(void)close(asked->in);
	(void)close(asked->out);
	*asked = (struct asked){ .device = 0 };
}

void fw_git_ask_forget(void)
{
	for (size_t i = 0; i < FW_CODE_REPOS_MAX; i++)
		forget(&processes[i]);
}

static void stop(struct asked *asked)
{
	int status;

	fw_subprocess_signal(&asked->child, SIGKILL);
	(void)waitpid(asked->child.pid, &status, 0);
	forget(asked);
}

static bool start(struct asked *asked, const struct fw_code_place *place)
{
	static const char *const command[] = { "cat-file", "--batch-check", NULL };
	struct fw_git_line line;
	struct fw_subprocess_options options = { .directory_fd = place->root.fd,
						 .err = -1,
						 .dies_with_parent = true,
						 .in_parent_group = true };
	int in[2], out[2], error;

	fw_git_line_make(place, NULL, command, &line);
	options.argv = line.argv;
	options.environment = line.environment;
	if (pipe2(in, O_CLOEXEC) != 0)
		return false;
	if (pipe2(out, O_CLOEXEC) != 0) {
		(void)close(in[0]);
		(void)close(in[1]);
		return false;
	}
	options.in = in[0];
	options.out = out[1];
	if (fw_subprocess_start(&options, &asked->child, &error) == FW_SUBPROCESS_STARTED) {
		asked->device = place->root.dev;
		asked->inode = place->root.ino;
	}
	(void)close(in[0]);
	(void)close(out[1]);
	asked->in = in[1];
	asked->out = out[0];
	if (asked->device)
		return true;
	(void)close(in[1]);
	(void)close(out[0]);
	return false;
}

/* ---- one question ---- */

static bool send_line(const struct asked *asked, const char *name)
{
	char line[LINE_BYTES];
	int len = snprintf(line, sizeof line, "%s\n", name);
	ssize_t sent;

	if (len >= (int)sizeof line)
		return false;
	/* A line of this size fits into a pipe, so it is written in one piece. SIGPIPE is
	 * ignored in workers. */
	do
		sent = write(asked->in, line, (size_t)len);
	while (sent < 0 && errno == EINTR);
	return sent == len;
}

static bool receive_line(const struct asked *asked, char line[LINE_BYTES])
{
	int64_t until = fw_steady_ms() + ANSWER_MS;
	size_t len = 0;

	for (;;) {
		struct pollfd polled = { .fd = asked->out, .events = POLLIN };
		int64_t left = until - fw_steady_ms();
		ssize_t got;

		if (left <= 0 || (poll(&polled, 1, (int)left) < 0 && errno != EINTR))
			return false;
		if (!polled.revents)
			continue;
		got = read(asked->out, line + len, LINE_BYTES - 1 - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		len += (size_t)got;
		line[len] = '\0';
		if (line[len - 1] == '\n')
			return true;
		if (len == LINE_BYTES - 1)
			return false;
	}
}

/* Parses "HASH TYPE SIZE". Other lines, such as "NAME missing", mean that there is no
 * such object. */
static void read_line(const char *line, struct fw_git_object *ret_object)
{
	size_t hash = strspn(line, "0123456789abcdef");
	size_t type = line[hash] == ' ' ? strcspn(line + hash + 1, " \n") : 0;

	*ret_object = (struct fw_git_object){ .hash = "" };
	if ((hash != 40 && hash != FW_GIT_HASH_SIZE - 1) || type >= sizeof ret_object->type ||
	    line[hash + 1 + type] != ' ')
		return;
	memcpy(ret_object->hash, line, hash);
	memcpy(ret_object->type, line + hash + 1, type);
	ret_object->size = strtoull(line + hash + 1 + type, NULL, 10);
}

bool fw_git_ask(const struct fw_code_place *place, const char *name,
		struct fw_git_object *ret_object)
{
	size_t number = 0;
	struct asked *asked;
	char line[LINE_BYTES];

	while (number + 1 < FW_CODE_REPOS_MAX && processes[number].device &&
	       (processes[number].device != place->root.dev ||
		processes[number].inode != place->root.ino))
		number++;
	asked = &processes[number];
	/* If a process has died, it does not answer, and a second one is started. */
	for (int i = 0; i < 2; i++) {
		if (asked->device &&
		    (asked->device != place->root.dev || asked->inode != place->root.ino))
			stop(asked);
		if (!asked->device && !start(asked, place))
			return false;
		if (send_line(asked, name) && receive_line(asked, line)) {
			read_line(line, ret_object);
			return true;
		}
		stop(asked);
	}
	return false;
}
