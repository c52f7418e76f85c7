/*
 * audit_head.c - the last record of each log, stored outside of it.
 *
 * A chain cannot show that its end was cut off, or that all of it was written again. So
 * number, hash and position of the last record are stored in another file, in a
 * directory that workers cannot access. It is written under the lock of the log, after
 * the records are on disk, in one write of a fixed size. A crash of the machine can
 * leave an older state of it, which the log still contains.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/mem.h"
#include "observe/audit/audit_head.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

enum { TEXT_LEN = 20 + 1 + FW_AUDIT_HASH_LEN + 1 + 20 + 1 };

bool fw_audit_real_path(int dir, const char *path, char *ret_path, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char folder[PATH_MAX];
	char real[PATH_MAX];
	int len;

	if (dir >= 0)
		(void)snprintf(folder, sizeof folder, "/proc/self/fd/%d", dir);
	else if (slash && (size_t)(slash - path) < sizeof folder)
		(void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + 1), path);
	else
		(void)snprintf(folder, sizeof folder, ".");
	if (!realpath(folder, real))
		return false;
	len = snprintf(ret_path, size, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
	return len > 0 && (size_t)len < size;
}

bool fw_audit_head_path(const char *heads, int dir, const char *log, char *ret_path,
			size_t size)
{
	unsigned char hash[FW_SHA256_BYTES];
	char hex[2 * FW_SHA256_BYTES + 1];
	char real[PATH_MAX + 256];
	int len;

	if (!heads || !fw_audit_real_path(dir, log, real, sizeof real) ||
	    !fw_sha256(real, strlen(real), hash))
		return false;
	fw_hex(hash, sizeof hash, hex);
	len = snprintf(ret_path, size, "%s/%.32s", heads, hex);
	return len > 0 && (size_t)len < size;
}

const char *fw_audit_file_head(struct fw_audit_file *file)
{
	char path[PATH_MAX];
	size_t size;

	if (file->head_path || !file->heads ||
	    !fw_audit_head_path(file->heads, file->dir, file->path, path, sizeof path))
		return file->head_path;
	size = strlen(path) + 1;
	file->head_path = fw__allocate(size);
	if (file->head_path)
		memcpy(file->head_path, path, size);
	return file->head_path;
}

bool fw_audit_head_read(const char *path, struct fw_audit_head *ret_head)
{
	char text[TEXT_LEN + 1];
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t len;
	char *end;

	if (fd < 0)
		return false;
	len = pread(fd, text, TEXT_LEN, 0);
	(void)close(fd);
	/* A crash of the machine may leave an empty file. */
	errno = ENOENT;
	if (len != TEXT_LEN || text[20] != ' ' || text[85] != ' ')
		return false;
	text[TEXT_LEN] = '\0';
	*ret_head = (struct fw_audit_head){ .chain.seq = strtoull(text, &end, 10) };
	memcpy(ret_head->chain.hash, text + 21, FW_AUDIT_HASH_LEN);
	ret_head->size = strtoull(text + 86, NULL, 10);
	return end == text + 20 && ret_head->chain.seq > 0;
}

bool fw_audit_head_write(const char *path, const struct fw_audit_head *head)
{
	char text[TEXT_LEN + 1];
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
	bool is_written;

	if (fd < 0)
		return false;
	(void)snprintf(text, sizeof text, "%020" PRIu64 " %.64s %020" PRIu64 "\n",
		       head->chain.seq, head->chain.hash, head->size);
	is_written = pwrite(fd, text, TEXT_LEN, 0) == TEXT_LEN;
	(void)close(fd);
	return is_written;
}

/* ---- for commands ----------------------------------------------------------- */

fw_error *fw_audit_check_head(const char *heads, const char *path, uint64_t *ret_seq,
			      bool *ret_is_there)
{
	struct fw_audit_head head = { .size = 0 };
	struct fw_audit_file file;
	struct fw_audit_chain chain;
	struct fw_hasher *hasher = NULL;
	struct stat info;
	char name[PATH_MAX];

	*ret_is_there = true;
	*ret_seq = 0;
	if (!fw_audit_head_path(heads, -1, path, name, sizeof name) ||
	    !fw_audit_head_read(name, &head))
		return NULL;
	*ret_seq = head.chain.seq;
	*ret_is_there = false;
	if (!fw_audit_file_init(&file, -1, path))
		return fw_raise_internal_out_of_memory();
	hasher = fw_hasher_new();
	file.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (hasher && file.fd >= 0 && fstat(file.fd, &info) == 0) {
		uint64_t end = (uint64_t)info.st_size;

		*ret_is_there = fw_audit_continues(&file, &head, end, hasher, &chain);
		/* A server may be writing, or its last line may be incomplete. */
		if (!*ret_is_there && end >= head.size)
			*ret_is_there = fw_audit_ends_at(file.fd, head.size, &head.chain);
	}
	fw_hasher_free(hasher);
	fw_audit_file_clear(&file);
	return NULL;
}

fw_error *fw_audit_accept(const char *heads, const char *path,
			  const struct fw_audit_report *report)
{
	struct fw_audit_head head = { .chain.seq = report->last_seq };
	struct stat info;
	char name[PATH_MAX];

	if (!fw_audit_head_path(heads, -1, path, name, sizeof name))
		return fw_error_from_errno(FW_HERE, ENOENT, path);
	if (report->last_seq == 0) {
		if (unlink(name) != 0 && errno != ENOENT)
			return fw_error_from_errno(FW_HERE, errno, name);
		return NULL;
	}
	if (stat(path, &info) != 0)
		return fw_error_from_errno(FW_HERE, errno, path);
	memcpy(head.chain.hash, report->last_hash, sizeof head.chain.hash);
	head.size = (uint64_t)info.st_size;
	if (!fw_audit_head_write(name, &head))
		return fw_error_from_errno(FW_HERE, errno, name);
	return NULL;
}
