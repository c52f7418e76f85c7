/*
 * store_file.c - see store_file.h.
 */
#include "store/store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "base/mem.h"

struct file {
	struct file *next;
	dev_t device;
	ino_t inode;
	int fd;
	size_t users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct file *files; /* under the lock */

static struct file *find(const struct stat *st)
{
	struct file *file = files;

	while (file && (file->device != st->st_dev || file->inode != st->st_ino))
		file = file->next;
	return file;
}

/* Opens a file that no store of this process uses. */
static int open_new(const char *path, struct file *file, struct stat *st)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
	int error = 0;

	if (fd < 0)
		return errno;
	if (fstat(fd, st) != 0)
		error = errno;
	else if (!S_ISREG(st->st_mode))
		error = EINVAL;
	if (error) {
		(void)close(fd);
		return error;
	}
	if (st->st_mode & 077)
		(void)fchmod(fd, 0600);
	*file = (struct file){
		.next = files, .device = st->st_dev, .inode = st->st_ino, .fd = fd, .users = 1
	};
	return 0;
}

static int open_file(const char *path, struct stat *st, int *ret_fd)
{
	struct file *file = stat(path, st) == 0 ? find(st) : NULL;
	int error;

	if (file) {
		file->users++;
		*ret_fd = file->fd;
		return 0;
	}
	file = fw__allocate(sizeof *file);
	if (!file)
		return ENOMEM;
	error = open_new(path, file, st);
	if (error) {
		fw__release(file);
		return error;
	}
	files = file;
	*ret_fd = file->fd;
	return 0;
}

int fw_store_file_open(const char *path, struct stat *ret_stat, int *ret_errno)
{
	struct stat st;
	int fd = -1;
	int error;

	(void)pthread_mutex_lock(&lock);
	error = open_file(path, &st, &fd);
	(void)pthread_mutex_unlock(&lock);
	if (error)
		*ret_errno = error;
	else
		*ret_stat = st;
	return fd;
}

void fw_store_file_close(int fd)
{
	(void)pthread_mutex_lock(&lock);
	for (struct file **at = &files; fd >= 0 && *at; at = &(*at)->next) {
		struct file *file = *at;

		if (file->fd != fd)
			continue;
		if (--file->users == 0) {
			*at = file->next;
			(void)close(file->fd);
			fw__release(file);
		}
		break;
	}
	(void)pthread_mutex_unlock(&lock);
}
