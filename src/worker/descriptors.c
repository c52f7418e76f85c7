/*
 * descriptors.c - forks a process that has none of the server's descriptors.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/forkserver.h"

enum { FIFOS_MAX = 64 };

/*
 * All descriptors of the server are closed in the child, with one exception: libuv
 * creates a pipe of its own in each process after fork(), and at the next fork() it
 * closes that descriptor by its number, even if the number was reused. That pipe is the
 * one that exists after fork() and did not before.
 */
struct fifos {
	int count;
	struct {
		int fd;
		ino_t inode;
	} found[FIFOS_MAX];
};

static void look_at(struct fifos *fifos, int fd)
{
	struct stat status;

	if (fifos->count == FIFOS_MAX || fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode))
		return;
	fifos->found[fifos->count].fd = fd;
	fifos->found[fifos->count++].inode = status.st_ino;
}

static void find_fifos(struct fifos *fifos)
{
	int last = (int)sysconf(_SC_OPEN_MAX);
	DIR *dir = opendir("/proc/self/fd");

	fifos->count = 0;
	/* cppcheck-suppress readdirCalled ; the stream is ours alone */
	for (const struct dirent *entry = NULL; dir && (entry = readdir(dir));) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		/* "." and ".." give 0. */
		if (fd > STDERR_FILENO)
			look_at(fifos, fd);
	}
	if (dir) {
		(void)closedir(dir);
		return;
	}
	/* The kernel gives out the lowest free number: after a long gap there are no
	 * more. */
	for (int fd = 3, gap = 0; fd < last && gap < 1024; fd++) {
		gap = fcntl(fd, F_GETFD) < 0 ? gap + 1 : 0;
		look_at(fifos, fd);
	}
}

static bool is_among(const struct fifos *fifos, int fd, ino_t inode)
{
	for (int i = 0; i < fifos->count; i++)
		if (fifos->found[i].fd == fd && fifos->found[i].inode == inode)
			return true;
	return false;
}

static void close_from_to(int first, int last)
{
	if (first > last || close_range((unsigned)first, (unsigned)last, 0) == 0)
		return;
	if (last > (int)sysconf(_SC_OPEN_MAX))
		last = (int)sysconf(_SC_OPEN_MAX);
	for (int fd = first; fd <= last; fd++)
		(void)close(fd);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* `file` may be -1. */
static void close_others(const struct fifos *before, int control, int file)
{
	int kept[FIFOS_MAX + 2] = { control, file };
	size_t count = 2;
	struct fifos now;
	int first = 3;

	find_fifos(&now);
	for (int i = 0; i < now.count; i++)
		if (!is_among(before, now.found[i].fd, now.found[i].inode))
			kept[count++] = now.found[i].fd;
	qsort(kept, count, sizeof *kept, by_number);
	for (size_t i = 0; i < count; i++) {
		if (kept[i] < first)
			continue;
		close_from_to(first, kept[i] - 1);
		first = kept[i] + 1;
	}
	close_from_to(first, INT32_MAX);
}

/* The server speaks the protocol on its standard input and output, so no other
 * process may have them. */
static void replace_standard(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		_exit(EXIT_FAILURE);
	(void)dup2(null, STDIN_FILENO);
	if (fcntl(STDERR_FILENO, F_GETFD) < 0)
		(void)dup2(null, STDERR_FILENO);
	/* A terminal can be read as well: that must not be possible here. */
	if (isatty(STDERR_FILENO)) {
		int terminal = open("/proc/self/fd/2", O_WRONLY | O_NOCTTY | O_CLOEXEC);

		(void)dup2(terminal < 0 ? null : terminal, STDERR_FILENO);
		if (terminal > STDERR_FILENO)
			(void)close(terminal);
	}
	(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	if (null > STDERR_FILENO)
		(void)close(null);
}

pid_t fw_worker_fork_clean(const struct fw_sandbox_plan *plan, int control)
{
	struct fifos before;
	pid_t pid;

	find_fifos(&before);
	pid = fork();
	if (pid == 0) {
		replace_standard();
		close_others(&before, control, fw_sandbox_plan_file(plan));
	}
	return pid;
}
