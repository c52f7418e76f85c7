/*
 * write_lock.c - see write_lock.h.
 */
#include "tools/workspace/write_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/id.h"

#include <faultwire/raise.h>

static int open_root(const struct fw_root *root)
{
	return openat(root->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

fw_error *fw_ws_write_lock(const struct fw_root *root, uint32_t patience_ms, int *ret_lock)
{
	const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	uint32_t waited = 0;
	int fd = open_root(root);
	int error = errno;

	if (fd < 0)
		return fw_path_errno(error, root->path, true);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		error = errno;
		if (error != EWOULDBLOCK && error != EINTR) {
			(void)close(fd);
			return fw_path_errno(error, root->path, true);
		}
		if (waited >= patience_ms) {
			(void)close(fd);
			return fw_raise_runtime_timeout(patience_ms);
		}
		(void)nanosleep(&pause, NULL);
		waited += 5;
	}
	*ret_lock = fd;
	return NULL;
}

void fw_ws_write_unlock(int lock)
{
	if (lock >= 0)
		(void)close(lock);
}

/* ---- running servers ---- */

uint64_t fw_ws_server_number(void)
{
	char hex[16];

	fw_random_hex(hex, sizeof hex); /* 15 digits: it fits into an offset */
	return strtoull(hex, NULL, 16) | 1;
}

static struct flock byte_of(short type, uint64_t number)
{
	return (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)number, .l_len = 1
	};
}

int fw_ws_server_mark(const struct fw_root *root, uint64_t number)
{
	struct flock mark = byte_of(F_RDLCK, number);
	int fd = open_root(root);

	if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &mark) != 0) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

bool fw_ws_server_is_running(const struct fw_root *root, uint64_t number)
{
	struct flock mark = byte_of(F_WRLCK, number);
	int fd = open_root(root);
	bool is_running =
		fd >= 0 && fcntl(fd, F_OFD_GETLK, &mark) == 0 && mark.l_type != F_UNLCK;

	if (fd >= 0)
		(void)close(fd);
	return is_running;
}
