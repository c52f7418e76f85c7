/*
 * write_lock.c - see write_lock.h.
 */
#include "tools/workspace/write_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <faultwire/raise.h>

fw_error *fw_ws_write_lock(const struct fw_root *root, uint32_t patience_ms, int *ret_lock)
{
	const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	uint32_t waited = 0;
	int fd = openat(root->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
