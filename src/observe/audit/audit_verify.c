/*
 * audit_verify.c - verifies the chain of a log.
 *
 * One pass with one buffer. The hash of a line covers all its bytes, so a single changed
 * bit is detected. Parsing the line as JSON only explains how it is broken, and refuses
 * lines of another writer that are not JSON. An incomplete last line is read again under
 * the lock before it is reported, because a server may be writing it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "observe/audit/audit_line.h"

enum {
	BUFFER = 1024 * 1024,
	/* More than yyjson needs for the longest line. */
	PARSE_ROOM = 8 * FW_LIMIT_AUDIT_LINE_BYTES,
	RECORDS_BETWEEN_STEPS = 256
};

struct walk {
	const struct fw_audit_verify_options *options;
	struct fw_audit_report *report;
	struct fw_hasher *hasher;
	struct fw_audit_chain chain;
	uint64_t total;
	char *buffer; /* BUFFER + a line */
	void *parse_room;
	/* of the current file */
	int fd;
	bool is_locked;
	uint64_t line;
};

const char *fw_audit_fault_name(enum fw_audit_fault fault)
{
	static const char *const names[] = { "whole",    "bad_json", "hash", "chain",
					     "sequence", "torn",     "start" };

	return names[fault];
}

static bool broken(struct walk *walk, enum fw_audit_fault fault)
{
	walk->report->fault = fault;
	walk->report->line = walk->line;
	return false;
}

#define SAY(walk, ...) \
	(void)snprintf((walk)->report->reason, sizeof((walk)->report->reason), __VA_ARGS__)

/* ---- a line ----------------------------------------------------------------- */

/* Is it a JSON object? If not, the report has the reason. */
static bool is_json(struct walk *walk, char *line, size_t len)
{
	yyjson_alc pool;
	yyjson_read_err why;
	yyjson_doc *doc;

	if (!yyjson_alc_pool_init(&pool, walk->parse_room, PARSE_ROOM))
		return true;
	/* Only the type of the outermost value matters, not its depth. */
	doc = fw_json_read(line, len, (struct fw_json_limits){ FW_LIMIT_AUDIT_LINE_BYTES, 0 },
			   YYJSON_READ_NUMBER_AS_RAW, &pool, &why);
	if (!doc) {
		if (why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
			return true; /* its hash decides */
		SAY(walk, "it is not JSON: %s at byte %zu", why.msg, why.pos);
		return false;
	}
	if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
		SAY(walk, "it is JSON, but no object");
		return false;
	}
	return true;
}

static bool check_start(struct walk *walk, const struct fw_audit_mark *mark)
{
	bool is_genesis = mark->prev_len != FW_AUDIT_HASH_LEN;

	if (mark->seq == 1 && is_genesis)
		return true;
	if (mark->seq == 1 || is_genesis) {
		SAY(walk, "record %" PRIu64 " says that %s", mark->seq,
		    is_genesis ? "nothing came before it" : "something came before it");
		return broken(walk, FW_AUDIT_BAD_CHAIN);
	}
	if (!walk->options->partial) {
		SAY(walk,
		    "the log begins with record %" PRIu64 ", the %" PRIu64
		    " before it are not here",
		    mark->seq, mark->seq - 1);
		return broken(walk, FW_AUDIT_NOT_FROM_START);
	}
	/* The files before it are not here, so this cannot be checked. */
	walk->chain.seq = mark->seq - 1;
	memcpy(walk->chain.hash, mark->prev, FW_AUDIT_HASH_LEN);
	walk->chain.hash[FW_AUDIT_HASH_LEN] = '\0';
	return true;
}

static bool check_line(struct walk *walk, char *line, size_t len)
{
	struct fw_audit_report *report = walk->report;
	struct fw_audit_mark mark;
	char hash[FW_AUDIT_HASH_LEN + 1];

	walk->line++;
	if (!is_json(walk, line, len))
		return broken(walk, FW_AUDIT_BAD_JSON);
	if (!fw_audit_mark_read(line, len, &mark)) {
		SAY(walk, "it is JSON, but no audit record: seq, prev_hash or hash is not "
			  "where it has to be");
		return broken(walk, FW_AUDIT_BAD_JSON);
	}
	if (!fw_audit_hash(walk->hasher, line, mark.hashed_len, "}", 1, hash)) {
		SAY(walk, "out of memory");
		return broken(walk, FW_AUDIT_BAD_HASH);
	}
	if (memcmp(hash, mark.hash, FW_AUDIT_HASH_LEN) != 0) {
		SAY(walk,
		    "record %" PRIu64
		    " was changed: its hash is %.12s..., but it says %.12s...",
		    mark.seq, hash, mark.hash);
		return broken(walk, FW_AUDIT_BAD_HASH);
	}
	if (walk->chain.seq == 0 && !check_start(walk, &mark))
		return false;
	if (mark.seq != walk->chain.seq + 1) {
		SAY(walk, "expected record %" PRIu64 ", found record %" PRIu64,
		    walk->chain.seq + 1, mark.seq);
		return broken(walk, FW_AUDIT_BAD_SEQUENCE);
	}
	if (walk->chain.seq > 0 &&
	    (mark.prev_len != FW_AUDIT_HASH_LEN ||
	     memcmp(mark.prev, walk->chain.hash, FW_AUDIT_HASH_LEN) != 0)) {
		SAY(walk,
		    "record %" PRIu64 " follows %.12s..., but the one before it is %.12s...",
		    mark.seq, mark.prev, walk->chain.hash);
		return broken(walk, FW_AUDIT_BAD_CHAIN);
	}
	walk->chain.seq = mark.seq;
	memcpy(walk->chain.hash, hash, sizeof hash);
	if (report->records++ == 0)
		report->first_seq = mark.seq;
	report->last_seq = mark.seq;
	if (walk->options->record)
		walk->options->record(walk->options->record_ctx, mark.seq, hash);
	report->bytes += len + 1;
	if (walk->options->progress && report->records % RECORDS_BETWEEN_STEPS == 0)
		walk->options->progress(walk->options->ctx, report->records, report->bytes,
					walk->total);
	return true;
}

/* ---- a file ----------------------------------------------------------------- */

/* Waits for a writer to finish. On a timeout, the line is judged as it is. */
static void lock_to_read(struct walk *walk)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	walk->is_locked = true;
	for (int ms = 0; ms < FW_LIMIT_AUDIT_LOCK_MS; ms++) {
		if (flock(walk->fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			return;
		(void)nanosleep(&nap, NULL);
	}
}

/* Checks the complete lines in `buffer`; `ret_left` is the length of the rest. */
static bool check_lines(struct walk *walk, size_t len, size_t *ret_left)
{
	char *at = walk->buffer;
	char *end = at + len;
	char *newline;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		if (!check_line(walk, at, (size_t)(newline - at)))
			return false;
		at = newline + 1;
	}
	*ret_left = (size_t)(end - at);
	memmove(walk->buffer, at, *ret_left);
	return true;
}

static bool check_rest(struct walk *walk, size_t left)
{
	if (left == 0)
		return true;
	walk->line++;
	SAY(walk, "the last line has no end: %zu bytes", left);
	return broken(walk, FW_AUDIT_TORN);
}

/* False: the chain is broken, or (with an error) the file cannot be read. */
static bool check_file(struct walk *walk, const char *name, fw_error **ret_err)
{
	size_t left = 0;

	walk->line = 0;
	walk->is_locked = false;
	(void)snprintf(walk->report->file, sizeof walk->report->file, "%s", name);
	for (;;) {
		ssize_t n = read(walk->fd, walk->buffer + left, BUFFER);
		int errnum = errno;

		if (n < 0 && errnum == EINTR)
			continue;
		if (n < 0) {
			*ret_err = fw_error_from_errno(FW_HERE, errnum, name);
			return false;
		}
		if (n == 0 && left > 0 && !walk->is_locked) {
			lock_to_read(walk);
			continue;
		}
		if (n == 0)
			break;
		if (!check_lines(walk, left + (size_t)n, &left))
			return false;
		if (left > FW_LIMIT_AUDIT_LINE_BYTES) {
			walk->line++;
			SAY(walk, "the line is longer than any record: over %d bytes",
			    FW_LIMIT_AUDIT_LINE_BYTES);
			return broken(walk, FW_AUDIT_BAD_JSON);
		}
	}
	if (!check_rest(walk, left))
		return false;
	walk->report->files++;
	return true;
}

/* ---- all files -------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static fw_error *open_to_read(const char *path, int *ret_fd, struct stat *ret_info)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int errnum = errno;

	if (fd < 0)
		return fw_error_from_errno(FW_HERE, errnum, path);
	if (fstat(fd, ret_info) != 0 || S_ISDIR(ret_info->st_mode)) {
		(void)close(fd);
		return fw_error_from_errno(FW_HERE, EISDIR, path);
	}
	/* Reading blocks for a pipe: "verify <(zcat old.gz)". */
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	*ret_fd = fd;
	return NULL;
}

/* True: all are intact. The current log was opened before. If it is rotated meanwhile,
 * it is skipped here under its new name. */
static bool check_rotated(struct walk *walk, const char *path, const struct stat *current,
			  unsigned first, unsigned last, fw_error **ret_err)
{
	for (unsigned i = first; i > 0 && i <= last; i++) {
		char name[4096];
		struct stat info = { 0 };
		bool is_intact;

		if (!fw_audit_rotated_path(path, i, name, sizeof name)) {
			*ret_err = fw_error_from_errno(FW_HERE, ENAMETOOLONG, path);
			return false;
		}
		*ret_err = open_to_read(name, &walk->fd, &info);
		if (*ret_err && fw_error_has_code(*ret_err, "file.not_found")) {
			/* A missing file is reported as a gap in the sequence. */
			fw_error_free(*ret_err);
			*ret_err = NULL;
			continue;
		}
		if (*ret_err)
			return false;
		is_intact =
			(info.st_dev == current->st_dev && info.st_ino == current->st_ino) ||
			check_file(walk, base_name(name), ret_err);
		(void)close(walk->fd);
		if (!is_intact)
			return false;
	}
	return true;
}

static uint64_t total_size(const char *path, const struct stat *current, unsigned first,
			   unsigned last)
{
	uint64_t total = (uint64_t)current->st_size;
	char name[4096];
	struct stat info;

	for (unsigned i = first; i > 0 && i <= last; i++)
		if (fw_audit_rotated_path(path, i, name, sizeof name) && stat(name, &info) == 0)
			total += (uint64_t)info.st_size;
	return total;
}

static fw_error *walk_all(struct walk *walk, const char *path)
{
	struct stat current = { 0 };
	unsigned first = 0;
	unsigned last = 0;
	fw_error *err;
	int fd = -1;

	FW_TRY(open_to_read(path, &fd, &current));
	err = fw_audit_rotated_range(path, &first, &last);
	if (!err) {
		walk->total = total_size(path, &current, first, last);
		if (check_rotated(walk, path, &current, first, last, &err)) {
			walk->fd = fd;
			(void)check_file(walk, base_name(path), &err);
		}
	}
	(void)close(fd);
	return err;
}

fw_error *fw_audit_verify(const char *path, const struct fw_audit_verify_options *options,
			  struct fw_audit_report *ret_report)
{
	static const struct fw_audit_verify_options none;
	struct fw_audit_report report = { .fault = FW_AUDIT_WHOLE };
	struct walk walk = { .options = options ? options : &none,
			     .report = &report,
			     .chain = fw_audit_genesis };
	fw_error *err;

	walk.buffer = fw__allocate(BUFFER + FW_LIMIT_AUDIT_LINE_BYTES + 1);
	walk.parse_room = fw__allocate(PARSE_ROOM);
	if (walk.buffer && walk.parse_room && (walk.hasher = fw_hasher_new()))
		err = walk_all(&walk, path);
	else
		err = fw_raise_internal_out_of_memory();
	fw_hasher_free(walk.hasher);
	fw__release(walk.parse_room);
	fw__release(walk.buffer);
	if (err)
		return err;
	memcpy(report.last_hash, walk.chain.hash, sizeof report.last_hash);
	if (report.fault == FW_AUDIT_WHOLE)
		report.file[0] = '\0';
	*ret_report = report;
	return NULL;
}
