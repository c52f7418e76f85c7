/*
 * audit_file.c - the file that lines are appended to, shared between processes.
 *
 * The lock is flock() on the log itself, which the kernel releases when its holder dies.
 * The holder checks that the path still names the locked file, because another process
 * may have rotated it, and that its size is unchanged, because another process may have
 * appended. A write that fails in the middle is truncated away.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/limits.h"
#include "base/mem.h"
#include "observe/audit/audit_head.h"

enum {
	OPEN_TRIES = 64, /* an attempt fails only if another process rotates just then */
	NAP_FIRST_US = 100,
	NAP_LAST_US = 1000
};

/* As a field, errno stays visible if another error is added as the cause. */
static fw_error *say_why(fw_error *err, const struct fw_audit_failure *failure, fw_error *cause)
{
	if (failure->errnum)
		fw_error_add_string(err, "errno", fw_errno_name(failure->errnum));
	return fw_error_caused_by(err, cause);
}

fw_error *fw_audit_failure_error(const struct fw_audit_failure *failure)
{
	fw_error *cause = NULL;
	fw_cause link;
	char reason[256];

	if (failure->is_forged) {
		static const char id[] = "AUDIT_LOG_CONTINUES";
		fw_error *err = fw_raise_governance_invariant_violation(id);

		fw_error_fill_scope(err, &(fw_scope){ .invariant_id = id });
		err = fw_error_wrap(err, FW_HERE, "the audit log was changed: %s",
				    failure->doing);
		fw_error_set_hint(err,
				  "Stop and report this: somebody changed, cut or replaced "
				  "the audit log. An operator looks at it (faultwire audit "
				  "verify), and either puts it back or accepts it as it is "
				  "(faultwire audit accept) and restarts the server.");
		return err;
	}
	if (failure->is_lock && failure->errnum == EWOULDBLOCK) {
		fw_error *err = say_why(fw_raise_audit_lock_failed(), failure, NULL);

		fw_error_add_cause(err, "another process holds the lock", "EAGAIN", "errno");
		return err;
	}
	if (failure->errnum)
		cause = fw_error_from_errno(FW_HERE, failure->errnum, "audit log");
	if (failure->is_lock)
		return say_why(fw_raise_audit_lock_failed(), failure, cause);
	if (cause && fw_error_cause_count(cause) > 0 &&
	    fw_error_cause(cause, fw_error_cause_count(cause) - 1, &link) && link.message)
		(void)snprintf(reason, sizeof reason, "%s: %s", failure->doing, link.message);
	else
		(void)snprintf(reason, sizeof reason, "%s", failure->doing);
	return say_why(fw_raise_audit_log_failed(reason), failure, cause);
}

bool fw_audit_file_init(struct fw_audit_file *file, int dir, const char *path)
{
	size_t len = strlen(path);

	*file = (struct fw_audit_file){ .dir = -1,
					.fd = -1,
					.chain = fw_audit_genesis,
					.rotate_bytes = FW_LIMIT_AUDIT_FILE_BYTES,
					.lock_ms = FW_LIMIT_AUDIT_LOCK_MS,
					.sync = true };
	file->path = fw__allocate(len + 1);
	if (!file->path)
		return false;
	memcpy(file->path, path, len + 1);
	if (dir < 0)
		return true;
	file->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (file->dir >= 0)
		return true;
	fw__release(file->path);
	return false;
}

int fw_audit_file_at(const struct fw_audit_file *file)
{
	return file->dir >= 0 ? file->dir : AT_FDCWD;
}

const char *fw_audit_file_name(const struct fw_audit_file *file, const char *path)
{
	const char *slash = file->dir >= 0 ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static void close_log(struct fw_audit_file *file)
{
	if (file->fd >= 0)
		(void)close(file->fd);
	file->fd = -1;
	file->is_known = false;
}

void fw_audit_file_clear(struct fw_audit_file *file)
{
	close_log(file);
	if (file->dir >= 0)
		(void)close(file->dir);
	file->dir = -1;
	fw__release(file->path);
	fw__release(file->head_path);
	file->path = file->head_path = NULL;
}

bool fw_audit_sync_directory(const struct fw_audit_file *file)
{
	const char *path = fw_audit_file_name(file, file->path);
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) + 1 : 0;
	char name[4096];
	int fd;
	bool is_synced;

	if (len >= sizeof name)
		return false;
	memcpy(name, path, len);
	name[len] = '\0';
	fd = openat(fw_audit_file_at(file), len ? name : ".",
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* EINVAL: the file system does not support it for directories. */
	is_synced = fsync(fd) == 0 || errno == EINVAL;
	(void)close(fd);
	return is_synced;
}

/* Does not block on a FIFO, and does not follow a symbolic link. */
static bool open_log(struct fw_audit_file *file, struct fw_audit_failure *ret_failure)
{
	const int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	const char *name = fw_audit_file_name(file, file->path);
	int at = fw_audit_file_at(file);
	struct stat info;
	int errnum;

	for (int tries = 0; tries < OPEN_TRIES && file->fd < 0; tries++) {
		file->fd = openat(at, name, flags);
		errnum = errno;
		if (file->fd < 0 && errnum != ENOENT)
			return fw_audit_fail(ret_failure, errnum, "it could not be opened");
		if (file->fd >= 0)
			break;
		file->fd = openat(at, name, flags | O_CREAT | O_EXCL, 0600);
		errnum = errno;
		if (file->fd < 0 && errnum != EEXIST)
			return fw_audit_fail(ret_failure, errnum, "it could not be made");
		if (file->fd >= 0 && file->sync && !fw_audit_sync_directory(file)) {
			errnum = errno;
			close_log(file);
			return fw_audit_fail(ret_failure, errnum,
					     "its directory could not be synced");
		}
	}
	if (file->fd < 0)
		return fw_audit_fail(ret_failure, EEXIST, "it could not be opened");
	if (fstat(file->fd, &info) == 0 && S_ISREG(info.st_mode))
		return true;
	close_log(file);
	return fw_audit_fail(ret_failure, 0, "it is not a regular file");
}

/* Polls often: the gaps between the batches of another process are short. */
static bool lock_log(struct fw_audit_file *file, struct fw_audit_failure *ret_failure)
{
	long nap_us = NAP_FIRST_US;
	long waited_us = 0;

	for (;;) {
		struct timespec nap = { .tv_nsec = nap_us * 1000 };
		int errnum;

		if (flock(file->fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		errnum = errno;
		if (errnum == EINTR)
			continue;
		if (errnum != EWOULDBLOCK || waited_us / 1000 >= (long)file->lock_ms) {
			(void)fw_audit_fail(ret_failure, errnum, "it could not be locked");
			ret_failure->is_lock = true;
			return false;
		}
		(void)nanosleep(&nap, NULL);
		waited_us += nap_us;
		if (waited_us > 20000)
			nap_us = NAP_LAST_US;
	}
}

static bool is_current(const struct fw_audit_file *file, const struct stat *info)
{
	struct stat named;

	return fstatat(fw_audit_file_at(file), fw_audit_file_name(file, file->path), &named,
		       AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_dev == info->st_dev && named.st_ino == info->st_ino;
}

/* Renames the locked file to the next number. A process that then finds no log, or an
 * empty one, continues from the highest number: see audit_tail.c. */
static bool rotate(struct fw_audit_file *file, struct fw_audit_failure *ret_failure)
{
	unsigned first;
	unsigned last;
	fw_error *err = fw_audit_file_range(file, &first, &last);
	const char *from = fw_audit_file_name(file, file->path);
	int at = fw_audit_file_at(file);
	char name[4096];

	if (err) {
		fw_error_free(err);
		return fw_audit_fail(ret_failure, EIO, "its directory could not be read");
	}
	if (!fw_audit_rotated_path(from, last + 1, name, sizeof name))
		return fw_audit_fail(ret_failure, ENAMETOOLONG, "it could not be rotated");
	/* It must be on disk before the next file refers to it. */
	if (file->sync && fdatasync(file->fd) != 0)
		return fw_audit_fail(ret_failure, errno, "it could not be synced");
	if (renameat2(at, from, at, name, RENAME_NOREPLACE) != 0) {
		int errnum = errno;

		if ((errnum != EINVAL && errnum != ENOSYS) ||
		    faccessat(at, name, F_OK, 0) == 0 || renameat(at, from, at, name) != 0)
			return fw_audit_fail(ret_failure, errnum, "it could not be rotated");
	}
	if (file->sync && !fw_audit_sync_directory(file))
		return fw_audit_fail(ret_failure, errno, "its directory could not be synced");
	return true;
}

bool fw_audit_file_begin(struct fw_audit_file *file, struct fw_hasher *hasher,
			 struct fw_audit_failure *ret_failure)
{
	for (int tries = 0; tries < OPEN_TRIES; tries++) {
		struct stat info;
		uint64_t size;

		if (file->fd < 0 && !open_log(file, ret_failure))
			return false;
		if (!lock_log(file, ret_failure))
			return false;
		if (fstat(file->fd, &info) != 0 || !is_current(file, &info)) {
			close_log(file); /* and releases the lock */
			continue;
		}
		size = (uint64_t)info.st_size;
		if (file->is_known)
			file->others = size != file->size;
		if (file->is_known && file->chain.seq > 0 && file->size > 0 &&
		    !fw_audit_ends_at(file->fd, file->size, &file->chain)) {
			/* It stays open, for the same check next time. */
			(void)flock(file->fd, LOCK_UN);
			return fw_audit_forged(ret_failure,
					       "its last record was changed or cut off");
		}
		if ((!file->is_known || size != file->size) &&
		    !fw_audit_tail_read(file, size, hasher, ret_failure)) {
			close_log(file);
			return false;
		}
		if (file->size < file->rotate_bytes || file->size == 0)
			return true;
		if (!rotate(file, ret_failure)) {
			close_log(file);
			return false;
		}
		close_log(file);
	}
	return fw_audit_fail(ret_failure, EAGAIN, "it was replaced again and again");
}

void fw_audit_file_cut(struct fw_audit_file *file, uint64_t size)
{
	if (ftruncate(file->fd, (off_t)size) == 0) {
		file->size = size;
		/* So that a crash does not bring it back. */
		(void)fdatasync(file->fd);
	} else {
		file->is_known = false;
	}
}

bool fw_audit_file_write(struct fw_audit_file *file, const char *text, size_t len,
			 struct fw_audit_failure *ret_failure)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(file->fd, text + done, len - done);
		int errnum = errno;

		if (n < 0 && errnum == EINTR)
			continue;
		if (n <= 0) {
			if (done > 0)
				fw_audit_file_cut(file, file->size);
			return fw_audit_fail(ret_failure, n < 0 ? errnum : EIO,
					     "it could not be written");
		}
		done += (size_t)n;
	}
	file->size += len;
	return true;
}

bool fw_audit_file_sync(struct fw_audit_file *file, struct fw_audit_failure *ret_failure)
{
	int errnum;

	do
		errnum = fdatasync(file->fd) == 0 ? 0 : errno;
	while (errnum == EINTR);
	return errnum == 0 || fw_audit_fail(ret_failure, errnum, "it could not be synced");
}

/* Under the lock, so that the newest record of several writers is stored. */
static void keep_head(struct fw_audit_file *file)
{
	const struct fw_audit_head head = { .chain = file->chain, .size = file->size };
	const char *path;

	if (!file->heads || file->chain.seq == file->kept.seq || !file->is_known)
		return;
	path = fw_audit_file_head(file);
	if (path && fw_audit_head_write(path, &head))
		file->kept = file->chain;
}

void fw_audit_file_end(struct fw_audit_file *file)
{
	keep_head(file);
	(void)flock(file->fd, LOCK_UN);
}
