/*
 * forkserver.c - the fork server as the server uses it: start, orders, end. See forkserver.h.
 *
 * A fork server is not started by base/subprocess.h: it executes no program. It is a copy of
 * this process, with the tools that were registered, so that workers can be copies in turn.
 */
#include "worker/forkserver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <faultwire/raw.h>

enum { END_MS = 1000 };

fw_error *fw_worker_forkserver_start(struct fw_worker_forkserver *forkserver,
				     const struct fw_worker_forkserver_setup *setup)
{
	pid_t self = getpid();
	int ends[2];
	int error;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
		error = errno;
		return fw_error_from_errno(FW_HERE, error, "a socket for workers");
	}
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	pid = fw_worker_fork_clean(setup->plan, ends[1]);
	if (pid == 0)
		fw_worker_forkserver_run(setup, ends[1], self);
	error = errno;
	(void)close(ends[1]);
	if (pid < 0) {
		(void)close(ends[0]);
		return fw_error_from_errno(FW_HERE, error, "a process for workers");
	}
	forkserver->pid = pid;
	forkserver->control = ends[0];
	return NULL;
}

bool fw_worker_forkserver_order(const struct fw_worker_forkserver *forkserver,
				const struct fw_worker_order *order, int socket, int output)
{
	const int files[2] = { socket, output };
	const size_t size = output < 0 ? sizeof *files : sizeof files;
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} ancillary = { 0 };
	struct iovec part = { .iov_base = (void *)order, .iov_len = sizeof *order };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (!forkserver->pid)
		return false;
	if (socket >= 0) {
		message.msg_control = ancillary.bytes;
		message.msg_controllen = CMSG_SPACE(size);
		ancillary.head.cmsg_level = SOL_SOCKET;
		ancillary.head.cmsg_type = SCM_RIGHTS;
		ancillary.head.cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(&ancillary.head), files, size);
	}
	return sendmsg(forkserver->control, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	       sizeof *order;
}

void fw_worker_forkserver_await_end(pid_t pid)
{
	int status;

	for (int i = 0; i < END_MS && waitpid(pid, &status, WNOHANG) == 0; i++) {
		/* A confined server may not send it a signal; then it must not wait. */
		if (i == END_MS - 1 && kill(pid, SIGKILL) == 0)
			(void)waitpid(pid, &status, 0);
		(void)poll(NULL, 0, 1);
	}
}

void fw_worker_forkserver_end(struct fw_worker_forkserver *forkserver)
{
	if (!forkserver->pid)
		return;
	(void)close(forkserver->control);
	/* A fork server of a keeper is not our child; it ends when its socket does. */
	if (!forkserver->is_kept)
		fw_worker_forkserver_await_end(forkserver->pid);
	*forkserver = (struct fw_worker_forkserver){ .control = -1 };
}
