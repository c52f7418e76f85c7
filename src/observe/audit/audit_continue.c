/*
 * audit_continue.c - does a log continue from a known record?
 *
 * A server knows the last record that it wrote, and after a restart the one that is
 * stored outside of the log (audit_head.c). The hash of a record covers all records
 * before it, so if the log contains that record, it is unchanged up to there. Records
 * that others have appended since must follow it, line by line. Otherwise the log is
 * not written: one more record would make a forged end look valid.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "observe/audit/audit_head.h"

enum { CHUNK = 256 * 1024, LINE_END = 3 /* "}\n */ };

bool fw_audit_forged(struct fw_audit_failure *ret_failure, const char *how)
{
	*ret_failure = (struct fw_audit_failure){ .is_forged = true, .doing = how };
	return false;
}

static ssize_t read_some(int fd, char *text, size_t len, uint64_t at)
{
	ssize_t n;

	do
		n = pread(fd, text, len, (off_t)at);
	while (n < 0 && errno == EINTR);
	return n;
}

bool fw_audit_ends_at(int fd, uint64_t end, const struct fw_audit_chain *chain)
{
	char text[FW_AUDIT_HASH_LEN + LINE_END];

	return end >= sizeof text &&
	       read_some(fd, text, sizeof text, end - sizeof text) == (ssize_t)sizeof text &&
	       memcmp(text, chain->hash, FW_AUDIT_HASH_LEN) == 0 &&
	       memcmp(text + FW_AUDIT_HASH_LEN, "\"}\n", LINE_END) == 0;
}

/* ---- lines ------------------------------------------------------------------ */

struct walk {
	struct fw_hasher *hasher;
	struct fw_audit_chain known;
	struct fw_audit_chain chain; /* the last line that followed */
	bool is_found;               /* `known` was found */
};

/* False: it does not follow. */
static bool take_line(struct walk *walk, const char *line, size_t len)
{
	char hash[FW_AUDIT_HASH_LEN + 1];
	struct fw_audit_mark mark;

	if (!fw_audit_mark_read(line, len, &mark))
		return false;
	if (!walk->is_found) {
		if (mark.seq < walk->known.seq)
			return true;
		walk->is_found = mark.seq == walk->known.seq &&
				 memcmp(mark.hash, walk->known.hash, FW_AUDIT_HASH_LEN) == 0;
		walk->chain = walk->known;
		return walk->is_found;
	}
	if (mark.seq != walk->chain.seq + 1 || mark.prev_len != FW_AUDIT_HASH_LEN ||
	    memcmp(mark.prev, walk->chain.hash, FW_AUDIT_HASH_LEN) != 0 ||
	    !fw_audit_hash(walk->hasher, line, mark.hashed_len, "}", 1, hash) ||
	    memcmp(hash, mark.hash, FW_AUDIT_HASH_LEN) != 0)
		return false;
	walk->chain.seq = mark.seq;
	memcpy(walk->chain.hash, hash, sizeof hash);
	return true;
}

/* Checks the complete lines from `at` to `end`. False: one does not follow, or they
 * cannot be read. */
static bool walk_lines(struct walk *walk, int fd, uint64_t at, uint64_t end)
{
	size_t cap = CHUNK + FW_LIMIT_AUDIT_LINE_BYTES;
	char *text = fw__allocate(cap);
	size_t held = 0;
	bool is_good = text != NULL;

	while (is_good && at < end) {
		size_t want = end - at < cap - held ? (size_t)(end - at) : cap - held;
		ssize_t got = read_some(fd, text + held, want, at);
		char *line = text;
		char *newline;

		is_good = got > 0;
		if (!is_good)
			break;
		at += (uint64_t)got;
		held += (size_t)got;
		while (is_good && (newline = memchr(line, '\n', held))) {
			size_t len = (size_t)(newline - line);

			is_good = take_line(walk, line, len);
			held -= len + 1;
			line = newline + 1;
		}
		memmove(text, line, held);
		is_good = is_good && held < cap;
	}
	fw__release(text);
	return is_good;
}

/* ---- files ------------------------------------------------------------------ */

/* The number of the first record in a file; 0: none. */
static uint64_t first_seq(int fd)
{
	static const char start[] = "{\"seq\":";
	char text[sizeof start + 24] = "";
	uint64_t seq = 0;

	if (read_some(fd, text, sizeof text - 1, 0) < (ssize_t)sizeof start ||
	    memcmp(text, start, sizeof start - 1) != 0)
		return 0;
	for (const char *at = text + sizeof start - 1; *at >= '0' && *at <= '9'; at++)
		seq = seq * 10 + (uint64_t)(*at - '0');
	return seq;
}

static int open_rotated(const struct fw_audit_file *file, unsigned number)
{
	char path[4096];

	if (!fw_audit_rotated_path(fw_audit_file_name(file, file->path), number, path,
				   sizeof path))
		return -1;
	return openat(fw_audit_file_at(file), path,
		      O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

/* Checks all of a rotated file. */
static bool walk_rotated(struct walk *walk, const struct fw_audit_file *file, unsigned number)
{
	int fd = open_rotated(file, number);
	struct stat info;
	bool is_good;

	if (fd < 0)
		return false;
	is_good = fstat(fd, &info) == 0 && walk_lines(walk, fd, 0, (uint64_t)info.st_size);
	(void)close(fd);
	return is_good;
}

/* The newest rotated file that begins at or before the record; 0: none. */
static unsigned find_rotated(const struct fw_audit_file *file, uint64_t seq, unsigned first,
			     unsigned last)
{
	for (unsigned i = last; i > 0 && i >= first; i--) {
		int fd = open_rotated(file, i);
		uint64_t begins = fd >= 0 ? first_seq(fd) : 0;

		if (fd >= 0)
			(void)close(fd);
		if (begins > 0 && begins <= seq)
			return i;
	}
	return 0;
}

static bool walk_files(struct walk *walk, const struct fw_audit_file *file, uint64_t end)
{
	uint64_t begins = end > 0 ? first_seq(file->fd) : 0;
	unsigned first = 0;
	unsigned last = 0;
	unsigned from = 0;

	if (begins == 0 || begins > walk->known.seq) {
		fw_error *err = fw_audit_file_range(file, &first, &last);

		if (err) {
			fw_error_free(err);
			return false;
		}
		from = find_rotated(file, walk->known.seq, first, last);
		for (unsigned i = from; i > 0 && i <= last; i++)
			if (!walk_rotated(walk, file, i))
				return false;
	}
	return walk_lines(walk, file->fd, 0, end) && walk->is_found;
}

bool fw_audit_continues(const struct fw_audit_file *file, const struct fw_audit_head *known,
			uint64_t end, struct fw_hasher *hasher,
			struct fw_audit_chain *ret_chain)
{
	struct walk walk = { .hasher = hasher, .known = known->chain, .chain = known->chain };
	bool is_good;

	if (known->chain.seq == 0)
		return true;
	/* The usual case: it is where it was, and few records follow. */
	walk.is_found =
		known->size <= end && fw_audit_ends_at(file->fd, known->size, &known->chain);
	is_good = walk.is_found ? walk_lines(&walk, file->fd, known->size, end)
				: walk_files(&walk, file, end);
	if (is_good)
		*ret_chain = walk.chain;
	return is_good;
}
