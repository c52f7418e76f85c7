/*
 * escape_server.c - attempts against the confinement of the server process: code in
 * received data, other kinds of sockets, files of the user.
 */
#include "escape.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* ---- files ----------------------------------------------------------------------- */

static int create(const char *directory)
{
	char path[4096];
	int errnum;

	(void)snprintf(path, sizeof path, "%s/fw-escape-%d", directory, (int)getpid());
	errnum = try_open(path, O_WRONLY | O_CREAT | O_EXCL);
	if (!errnum)
		(void)unlink(path);
	return errnum;
}

static int create_in_root(fw_call *call)
{
	(void)call;
	return create("/");
}

static int create_in_home(fw_call *call)
{
	return create(text_of(call, "home"));
}

static int create_in_tmp(fw_call *call)
{
	(void)call;
	return create("/tmp");
}

static int create_in_proc_cwd(fw_call *call)
{
	(void)call;
	return create("/proc/self/cwd");
}

static int read_key_of_user(fw_call *call)
{
	return try_read(in(call, "home", ".ssh/id_ed25519"));
}

/* ---- code -------------------------------------------------------------------------- */

static int map_code(fw_call *call)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)call;
	if (page == MAP_FAILED)
		return errno;
	(void)munmap(page, 4096);
	return 0;
}

static int turn_data_into_code(fw_call *call)
{
	void *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int errnum;

	(void)call;
	if (page == MAP_FAILED)
		return EBADMSG;
	errnum = errno_of(mprotect(page, 4096, PROT_READ | PROT_EXEC));
	(void)munmap(page, 4096);
	return errnum;
}

/* ---- sockets ------------------------------------------------------------------------- */

static int make_socket(int family, int type, int protocol)
{
	const int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

static int use_raw_socket(fw_call *call)
{
	(void)call;
	return make_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static int use_packet_socket(fw_call *call)
{
	(void)call;
	return make_socket(AF_PACKET, SOCK_RAW, 0);
}

static int use_netlink(fw_call *call)
{
	(void)call;
	return make_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
}

/* Without bind() the kernel chooses a port. */
static int listen_without_bind(fw_call *call)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int errnum;

	(void)call;
	if (fd < 0)
		return errno;
	errnum = errno_of(listen(fd, 1));
	(void)close(fd);
	return errnum;
}

/* TCP fast open: connects without connect(). */
static int connect_by_sending(fw_call *call)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(
						     (uint16_t)fw_call_i64(call, "port", 9)),
					     .sin_addr = { htonl(INADDR_LOOPBACK) } };
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int errnum;

	if (fd < 0)
		return errno;
	errnum = errno_of(sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL,
				 (const void *)&address, sizeof address));
	(void)close(fd);
	return errnum;
}

/* ---- what has to work --------------------------------------------------------- */

static void *no_work(void *ctx)
{
	return ctx;
}

static int start_thread(fw_call *call)
{
	pthread_t thread;
	int errnum = pthread_create(&thread, NULL, no_work, NULL);

	(void)call;
	return errnum ? errnum : pthread_join(thread, NULL);
}

static int make_pair(fw_call *call)
{
	int pair[2];

	(void)call;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return errno;
	(void)close(pair[0]);
	(void)close(pair[1]);
	return 0;
}

const struct trick server_tricks[] = {
	{ "create_in_root", create_in_root },
	{ "create_in_home", create_in_home },
	{ "create_in_tmp", create_in_tmp },
	{ "create_in_proc_cwd", create_in_proc_cwd },
	{ "read_key_of_user", read_key_of_user },
	{ "map_code", map_code },
	{ "turn_data_into_code", turn_data_into_code },
	{ "use_raw_socket", use_raw_socket },
	{ "use_packet_socket", use_packet_socket },
	{ "use_netlink", use_netlink },
	{ "listen_without_bind", listen_without_bind },
	{ "connect_by_sending", connect_by_sending },
	{ "start_thread", start_thread },
	{ "make_pair", make_pair },
	{ NULL, NULL },
};
