/*
 * gate_copy.c - the least that stands between a client and a server on stdio: starts COMMAND and
 * copies bytes both ways, one epoll_wait, one read and one write at a time. It looks at nothing and
 * answers nothing by itself: bench/gate shows what is left for a gateway that does.
 *
 *   gate_copy COMMAND...
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CHUNK = 64 * 1024 };

/* Starts the server; its ends of the pipes are ours. */
static bool start(char **command, int *ret_to, int *ret_from)
{
	int in[2], out[2];

	if (pipe(in) || pipe(out))
		return false;
	switch (fork()) {
	case -1: return false;
	case 0:
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(in[0], STDIN_FILENO);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)close(in[0]);
		(void)close(in[1]);
		(void)close(out[0]);
		(void)close(out[1]);
		execvp(command[0], command);
		_exit(127);
	default: break;
	}
	(void)close(in[0]);
	(void)close(out[1]);
	*ret_to = in[1];
	*ret_from = out[0];
	return true;
}

/* One read, and all of it written. */
static bool copy(int from, int to)
{
	static char bytes[CHUNK];
	ssize_t got = read(from, bytes, sizeof bytes);

	if (got < 0 && errno == EINTR)
		return true;
	for (ssize_t put = 0; put < got;) {
		ssize_t n = write(to, bytes + put, (size_t)(got - put));

		if (n < 0)
			return false;
		put += n;
	}
	return got > 0;
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	int poll = epoll_create1(EPOLL_CLOEXEC);
	int to, from;

	if (argc < 2 || poll < 0 || !start(argv + 1, &to, &from)) {
		(void)fputs("usage: gate_copy COMMAND...\n", stderr);
		return 2;
	}
	event.data.fd = STDIN_FILENO;
	(void)epoll_ctl(poll, EPOLL_CTL_ADD, STDIN_FILENO, &event);
	event.data.fd = from;
	(void)epoll_ctl(poll, EPOLL_CTL_ADD, from, &event);
	for (;;) {
		struct epoll_event ready[2];
		int count = epoll_wait(poll, ready, 2, -1);

		for (int i = 0; i < count; i++)
			if (!copy(ready[i].data.fd,
				  ready[i].data.fd == from ? STDOUT_FILENO : to))
				return 0;
	}
}
