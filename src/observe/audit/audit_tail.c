/*
 * audit_tail.c - finds the end of a log.
 *
 * A crash leaves an incomplete line; a crash of the machine may leave arbitrary bytes.
 * What follows the last complete record is copied to another file, the log is truncated
 * there, and the next record is a note with the hash of these bytes. A complete record
 * with a wrong hash is not removed: it was changed, and verifying reports it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "observe/audit/audit_head.h"

enum { WINDOW = 64 * 1024, COPY = 16 * 1024, TORN_NAMES = 1000 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A file name may be any bytes; a record needs UTF-8. */
static void name_file(struct fw_audit_note *note, const char *path)
{
	const char *name = base_name(path);
	size_t room = sizeof note->file - 1;
	size_t len = fw_utf8_repair(note->file, room, name, strlen(name));

	if (len > room)
		len = fw_utf8_valid(note->file, room);
	note->file[len] = '\0';
}

static bool read_at(int fd, uint64_t at, char *text, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, text + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n == 0)
				errno = EIO;
			return false;
		}
		done += (size_t)n;
	}
	return true;
}

/* Finds the last record in `text`. `is_start`: the text begins with a line. */
static bool find_line(const char *text, size_t len, bool is_start,
		      struct fw_audit_chain *ret_chain, size_t *ret_end)
{
	const char *end = memrchr(text, '\n', len);

	while (end) {
		const char *before = memrchr(text, '\n', (size_t)(end - text));
		const char *line = before ? before + 1 : text;
		struct fw_audit_mark mark;

		if ((before || is_start) &&
		    fw_audit_mark_read(line, (size_t)(end - line), &mark)) {
			ret_chain->seq = mark.seq;
			memcpy(ret_chain->hash, mark.hash, FW_AUDIT_HASH_LEN);
			ret_chain->hash[FW_AUDIT_HASH_LEN] = '\0';
			*ret_end = (size_t)(end - text) + 1;
			return true;
		}
		end = before;
	}
	return false;
}

/* Finds where the last record of the file ends; 0: there is none. */
static bool find_end(int fd, uint64_t size, struct fw_audit_chain *ret_chain,
		     uint64_t *ret_whole, struct fw_audit_failure *ret_failure)
{
	uint64_t window = WINDOW;

	*ret_whole = 0;
	for (;;) {
		size_t len = (size_t)(size < window ? size : window);
		char *text = fw__allocate(len + 1);
		size_t end = 0;
		bool is_found;

		if (!text)
			return fw_audit_fail(ret_failure, ENOMEM, "its end could not be read");
		if (!read_at(fd, size - len, text, len)) {
			int errnum = errno;

			fw__release(text);
			return fw_audit_fail(ret_failure, errnum, "its end could not be read");
		}
		is_found = find_line(text, len, len == size, ret_chain, &end);
		fw__release(text);
		if (is_found)
			*ret_whole = size - len + end;
		if (is_found || len == size)
			return true;
		window *= 4;
		/* An incomplete batch cannot be larger. */
		if (window > (uint64_t)16 * FW_LIMIT_AUDIT_BATCH_BYTES)
			return fw_audit_fail(ret_failure, 0, "it is not an audit log");
	}
}

/* There is no record in it: may it be the incomplete first one? */
static bool is_remainder(int fd, uint64_t size, struct fw_audit_failure *ret_failure)
{
	static const char start[] = "{\"seq\":";
	char text[sizeof start - 1];
	size_t len = size < sizeof text ? (size_t)size : sizeof text;
	static const char zeros[sizeof text];

	if (!read_at(fd, 0, text, len))
		return fw_audit_fail(ret_failure, errno, "it could not be read");
	if (memcmp(text, start, len) == 0 || memcmp(text, zeros, len) == 0)
		return true;
	return fw_audit_fail(ret_failure, 0, "it is not an audit log");
}

/* ---- setting aside -------------------------------------------------------- */

static int open_torn(const struct fw_audit_file *file, char *path, size_t cap)
{
	const char *name = fw_audit_file_name(file, file->path);
	char now[FW_AUDIT_TIME_LEN + 1];

	(void)fw_time_text(fw_unix_ms(), now);
	for (int i = 0; i < TORN_NAMES; i++) {
		int len = i == 0 ? snprintf(path, cap, "%s.torn-%s", name, now)
				 : snprintf(path, cap, "%s.torn-%s-%d", name, now, i);
		int fd;

		if (len < 0 || (size_t)len >= cap) {
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = openat(fw_audit_file_at(file), path,
			    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static bool copy_out(int from, uint64_t at, uint64_t size, int to, struct fw_hasher *hasher,
		     char ret_hash[FW_AUDIT_HASH_LEN + 1])
{
	unsigned char hash[FW_SHA256_BYTES];
	char text[COPY];

	fw_hasher_begin(hasher);
	while (at < size) {
		size_t len = size - at < sizeof text ? (size_t)(size - at) : sizeof text;
		size_t done = 0;

		if (!read_at(from, at, text, len))
			return false;
		fw_hasher_add(hasher, text, len);
		while (done < len) {
			ssize_t n = write(to, text + done, len - done);

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return false;
			done += (size_t)n;
		}
		at += len;
	}
	if (!fw_hasher_take(hasher, hash)) {
		errno = ENOMEM;
		return false;
	}
	fw_hex(hash, sizeof hash, ret_hash);
	return fsync(to) == 0;
}

/* Truncates after the copy is on disk: a crash in between leaves two copies, never
 * none. */
static bool set_aside(struct fw_audit_file *file, uint64_t whole, uint64_t size,
		      struct fw_hasher *hasher, struct fw_audit_failure *ret_failure)
{
	struct fw_audit_note note = { .is_due = true, .bytes = size - whole };
	char path[4096];
	int fd = open_torn(file, path, sizeof path);
	int errnum = errno;
	bool is_copied;

	if (fd < 0)
		return fw_audit_fail(ret_failure, errnum,
				     "its torn end could not be set aside");
	is_copied = copy_out(file->fd, whole, size, fd, hasher, note.hash);
	errnum = errno;
	(void)close(fd);
	if (!is_copied || !fw_audit_sync_directory(file)) {
		(void)unlinkat(fw_audit_file_at(file), path, 0);
		return fw_audit_fail(ret_failure, errnum,
				     "its torn end could not be set aside");
	}
	if (ftruncate(file->fd, (off_t)whole) != 0)
		return fw_audit_fail(ret_failure, errno, "its torn end could not be cut");
	name_file(&note, path);
	file->notes[FW_AUDIT_NOTE_TORN] = note;
	return true;
}

/* ---- going on from another file ------------------------------------------- */

static bool read_rotated(const struct fw_audit_file *file, const char *path,
			 struct fw_audit_chain *ret_chain, struct fw_audit_failure *ret_failure)
{
	int fd = openat(fw_audit_file_at(file), path,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	int errnum = errno;
	struct stat info;
	uint64_t whole;
	bool is_read;

	if (fd < 0)
		return fw_audit_fail(ret_failure, errnum,
				     "the file before it could not be opened");
	is_read = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
		  find_end(fd, (uint64_t)info.st_size, ret_chain, &whole, ret_failure);
	(void)close(fd);
	if (is_read)
		return true;
	return fw_audit_fail(ret_failure, 0, "the file before it is not an audit log");
}

/* The last record that the log must contain: ours, or the stored one; seq 0: none is
 * known. A stored one that cannot be read is a failure, not "none". */
static bool known_head(struct fw_audit_file *file, struct fw_audit_head *ret_head,
		       struct fw_audit_failure *ret_failure)
{
	const char *path;

	*ret_head = (struct fw_audit_head){ .chain = file->chain, .size = file->size };
	if (file->chain.seq > 0 || !file->heads)
		return true;
	path = fw_audit_file_head(file);
	if (!path)
		return fw_audit_fail(ret_failure, ENOMEM, "its last record is not known");
	if (fw_audit_head_read(path, ret_head) || errno == ENOENT)
		return true;
	return fw_audit_fail(ret_failure, errno, "its last record is not known");
}

/* The log is empty: it is new, or continues after a rotated file, or was removed while
 * in use. In the last case the chain continues, so that verifying reports the missing
 * records. */
static bool begin_empty(struct fw_audit_file *file, struct fw_hasher *hasher,
			struct fw_audit_failure *ret_failure)
{
	struct fw_audit_note note = { .is_due = true };
	struct fw_audit_chain before = fw_audit_genesis;
	struct fw_audit_head known;
	unsigned first;
	unsigned last;
	fw_error *err = fw_audit_file_range(file, &first, &last);
	char path[4096];

	if (err) {
		fw_error_free(err);
		return fw_audit_fail(ret_failure, EIO, "its directory could not be read");
	}
	if (last > 0 && (!fw_audit_rotated_path(fw_audit_file_name(file, file->path), last,
						path, sizeof path) ||
			 !read_rotated(file, path, &before, ret_failure)))
		return false;
	if (!known_head(file, &known, ret_failure))
		return false;
	if (file->chain.seq == 0 && !fw_audit_continues(file, &known, 0, hasher, &before))
		return fw_audit_forged(ret_failure,
				       "it is missing, or empty, and had records before");
	if (file->chain.seq > before.seq) {
		memcpy(note.hash, file->chain.hash, sizeof note.hash);
		file->notes[FW_AUDIT_NOTE_REPLACED] = note;
	} else if (last > 0) {
		name_file(&note, path);
		memcpy(note.hash, before.hash, sizeof note.hash);
		file->notes[FW_AUDIT_NOTE_ROTATED] = note;
		file->chain = before;
	}
	file->size = 0;
	file->is_known = true;
	return true;
}

bool fw_audit_tail_read(struct fw_audit_file *file, uint64_t size, struct fw_hasher *hasher,
			struct fw_audit_failure *ret_failure)
{
	struct fw_audit_chain found = fw_audit_genesis;
	struct fw_audit_head known;
	uint64_t whole = 0;

	/* These notes are only at the beginning of a file. */
	file->notes[FW_AUDIT_NOTE_ROTATED].is_due = false;
	file->notes[FW_AUDIT_NOTE_REPLACED].is_due = false;
	if (size > 0 && !find_end(file->fd, size, &found, &whole, ret_failure))
		return false;
	if (size > 0 && whole == 0 && !is_remainder(file->fd, size, ret_failure))
		return false;
	if (whole < size && !set_aside(file, whole, size, hasher, ret_failure))
		return false;
	if (whole == 0)
		return begin_empty(file, hasher, ret_failure);
	if (!known_head(file, &known, ret_failure))
		return false;
	if (!fw_audit_continues(file, &known, whole, hasher, &found))
		return fw_audit_forged(ret_failure, "it does not go on from its last record: "
						    "records were changed, removed or "
						    "replaced");
	file->chain = found;
	file->size = whole;
	file->is_known = true;
	return true;
}
