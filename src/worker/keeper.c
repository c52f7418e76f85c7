/*
 * keeper.c - the parent process of fork servers, for a server that is confined.
 *
 * A confined server cannot fork, and a fork server that it forked would inherit its
 * confinement, so that workers could not run what they are allowed to run. Therefore
 * the keeper is forked before the server is confined. It has one thread, waits for
 * orders and forks a fork server for each; it does nothing else. If the keeper is killed,
 * its fork server ends with it, and no worker can be made until the server is restarted:
 * /readyz reports that, and calls get server.overloaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/id.h"
#include "mcp/server.h"
#include "worker/keeper.h"

enum { ANSWER_MS = 1000 };

/* An order is a number, sent with the fork server's end of its control socket. */
struct answer {
	uint32_t number; /* of the order */
	int32_t pid;
	int32_t errnum; /* 0: `pid` is valid */
};

union ancillary {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* ---- the process ------------------------------------------------------------------ */

/* False: the server is gone. `ret_file` is -1 if no descriptor came with it. */
static bool take_order(int control, uint32_t *ret_number, int *ret_file)
{
	union ancillary ancillary;
	struct iovec part = { .iov_base = ret_number, .iov_len = sizeof *ret_number };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = ancillary.bytes,
				  .msg_controllen = sizeof ancillary.bytes };
	const struct cmsghdr *head;
	ssize_t got;

	do
		got = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got != sizeof *ret_number)
		return false;
	*ret_file = -1;
	head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len == CMSG_LEN(sizeof *ret_file))
		memcpy(ret_file, CMSG_DATA(head), sizeof *ret_file);
	return true;
}

static void fork_forkserver(const struct fw_worker_forkserver_setup *setup, int control,
			    uint32_t number, int file)
{
	struct answer answer = { .number = number };
	pid_t self = getpid();
	/* Not fork(): pthread_atfork handlers belong to the server process. */
	pid_t pid = file < 0 ? -1 : _Fork();

	if (pid == 0) {
		(void)close(control);
		fw_worker_forkserver_run(setup, file, self);
	}
	if (pid > 0)
		answer.pid = pid;
	else
		answer.errnum = file < 0 ? EMFILE : errno;
	if (file >= 0)
		(void)close(file);
	(void)send(control, &answer, sizeof answer, MSG_NOSIGNAL);
}

static _Noreturn void be_keeper(const struct fw_worker_forkserver_setup *setup, int control,
				pid_t server)
{
	uint32_t number;
	int file;

	(void)setsid();
	(void)prctl(PR_SET_NAME, "fw-keeper");
	for (int signum = 1; signum < NSIG; signum++)
		(void)signal(signum, SIG_DFL);
	/* The kernel then reaps our children. */
	(void)signal(SIGCHLD, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != server)
		_exit(EXIT_FAILURE);
	/* Neither it nor its fork servers need the server's keys. */
	memset(setup->server->key, 0, sizeof setup->server->key);
	fw_random_forget();
	while (take_order(control, &number, &file))
		fork_forkserver(setup, control, number, file);
	/* The server has closed the fork server's socket as well, so the fork server ends. */
	(void)alarm(1 + ANSWER_MS / 1000);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	_exit(EXIT_SUCCESS);
}

/* ---- in the server ------------------------------------------------------------------- */

static fw_error *make_pair(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return fw_error_from_errno(FW_HERE, errno, "a socket for workers");
	return NULL;
}

fw_error *fw_worker_keeper_start(struct fw_worker_keeper *keeper,
				 const struct fw_worker_forkserver_setup *setup)
{
	pid_t self = getpid();
	int ends[2];
	int error;
	pid_t pid;

	FW_TRY(make_pair(ends));
	pid = fw_worker_fork_clean(setup->plan, ends[1]);
	if (pid == 0)
		be_keeper(setup, ends[1], self);
	error = errno;
	(void)close(ends[1]);
	if (pid < 0) {
		(void)close(ends[0]);
		return fw_error_from_errno(FW_HERE, error, "a process for workers");
	}
	*keeper = (struct fw_worker_keeper){ .pid = pid, .control = ends[0] };
	return NULL;
}

static bool send_order(const struct fw_worker_keeper *keeper, int file)
{
	union ancillary ancillary = { 0 };
	uint32_t number = keeper->asked;
	struct iovec part = { .iov_base = &number, .iov_len = sizeof number };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = ancillary.bytes,
				  .msg_controllen = sizeof ancillary.bytes };

	ancillary.head.cmsg_level = SOL_SOCKET;
	ancillary.head.cmsg_type = SCM_RIGHTS;
	ancillary.head.cmsg_len = CMSG_LEN(sizeof file);
	memcpy(CMSG_DATA(&ancillary.head), &file, sizeof file);
	return sendmsg(keeper->control, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof number;
}

/* The errno, or 0. Answers to earlier orders came too late and are dropped. */
static int await_answer(const struct fw_worker_keeper *keeper, pid_t *ret_pid)
{
	struct pollfd watched = { .fd = keeper->control, .events = POLLIN };
	struct answer answer;

	do {
		if (poll(&watched, 1, ANSWER_MS) <= 0)
			return ETIMEDOUT;
		if (recv(keeper->control, &answer, sizeof answer, MSG_DONTWAIT) !=
		    sizeof answer)
			return ESRCH;
	} while (answer.number != keeper->asked);
	*ret_pid = answer.pid;
	return answer.errnum;
}

fw_error *fw_worker_keeper_fork(struct fw_worker_keeper *keeper,
				struct fw_worker_forkserver *forkserver)
{
	struct fw_worker_forkserver made = { .is_kept = true };
	int ends[2];
	int error;

	FW_TRY(make_pair(ends));
	keeper->asked++;
	error = send_order(keeper, ends[1]) ? await_answer(keeper, &made.pid) : ESRCH;
	(void)close(ends[1]);
	keeper->is_lost = error == ESRCH;
	if (error) {
		(void)close(ends[0]);
		return fw_error_from_errno(FW_HERE, error, "a process for workers");
	}
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	made.control = ends[0];
	*forkserver = made;
	return NULL;
}

void fw_worker_keeper_end(struct fw_worker_keeper *keeper)
{
	if (!keeper->pid)
		return;
	(void)close(keeper->control);
	fw_worker_forkserver_await_end(keeper->pid);
	*keeper = (struct fw_worker_keeper){ .control = -1 };
}
