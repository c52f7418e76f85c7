/*
 * incident_file.c - see incident_file.h.
 *
 * A file is a head (what it is, whose numbers are in it) and records, each with its length
 * and a sum. A record that is cut off, or whose sum is wrong, is where a killed machine
 * stopped writing: what follows is not read.
 */
#include "observe/incident/incident_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/limits_store.h"
#include "base/mem.h"

enum { PATH_SIZE = 4096, ADOPTED_MAX = 64 };

static const char PREFIX[] = "incidents-";
static const char SUFFIX[] = ".waiting";

struct head {
	char magic[8];
	int64_t writer;
};

static const char MAGIC[8] = "FWINC 1";

/* Before the texts of a record. */
struct fixed {
	uint32_t len; /* of the record, without `len` and `sum` */
	uint32_t sum; /* over the rest of it */
	uint64_t number;
	int64_t time_ms;
	int64_t duration_us;
	int32_t status;
	uint16_t has; /* a bit per text */
	uint16_t is_unauthenticated;
};

enum { UNSUMMED = offsetof(struct fixed, number) };

/* A file of which records are delivered. */
struct source {
	char path[PATH_SIZE];
	int fd; /* -1: none */
	int64_t writer;
	uint64_t at;  /* offset of the first record that was not delivered */
	uint64_t end; /* of the complete records */
};

struct fw_incident_file {
	char *directory;
	int64_t writer;
	struct source own;
	uint64_t count; /* in `own`, not delivered */
	struct source *adopted[ADOPTED_MAX];
	size_t adopted_count;
	struct fw_buf buf;
};

/* ---- records ------------------------------------------------------------------ */

static uint32_t sum_of(const char *bytes, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
	return hash;
}

static void put_record(struct fw_buf *buf, struct fw_incident *incident)
{
	struct fixed fixed = { .number = incident->number,
			       .time_ms = incident->time_ms,
			       .duration_us = incident->duration_us,
			       .status = incident->status,
			       .is_unauthenticated = incident->is_unauthenticated };
	size_t begin = buf->len;

	fw_buf_put(buf, (const char *)&fixed, sizeof fixed);
	for (size_t i = 0; i < FW_INCIDENT_TEXTS; i++) {
		const char *text = *fw_store_incident_text(incident, i);

		if (!text)
			continue;
		fixed.has = (uint16_t)(fixed.has | 1u << i);
		fw_buf_put(buf, text, strlen(text) + 1);
	}
	if (buf->state != FW_BUF_OK)
		return;
	fixed.len = (uint32_t)(buf->len - begin - UNSUMMED);
	memcpy(buf->text + begin, &fixed, sizeof fixed);
	fixed.sum = sum_of(buf->text + begin + UNSUMMED, fixed.len);
	memcpy(buf->text + begin, &fixed, sizeof fixed);
}

/* The length of the record at `at`; 0: it is not complete. */
static size_t record_at(const char *at, size_t left)
{
	struct fixed fixed;

	if (left < sizeof fixed)
		return 0;
	memcpy(&fixed, at, sizeof fixed);
	if (fixed.len < sizeof fixed - UNSUMMED || fixed.len > left - UNSUMMED ||
	    sum_of(at + UNSUMMED, fixed.len) != fixed.sum || at[UNSUMMED + fixed.len - 1])
		return 0;
	return UNSUMMED + fixed.len;
}

struct reading {
	const char *at;
	size_t left;
	int64_t writer;
	uint64_t count;
};

static bool next_record(void *ctx, struct fw_incident *ret_incident)
{
	struct reading *reading = ctx;
	size_t len = record_at(reading->at, reading->left);
	const char *text = reading->at + sizeof(struct fixed);
	struct fixed fixed;

	if (!len)
		return false;
	memcpy(&fixed, reading->at, sizeof fixed);
	*ret_incident = (struct fw_incident){
		.time_ms = fixed.time_ms,
		.duration_us = fixed.duration_us,
		.status = fixed.status,
		.is_unauthenticated = fixed.is_unauthenticated != 0,
		.writer = reading->writer,
		.number = fixed.number,
	};
	for (size_t i = 0; i < FW_INCIDENT_TEXTS && text < reading->at + len; i++) {
		if (!(fixed.has & 1u << i))
			continue;
		*fw_store_incident_text(ret_incident, i) = text;
		text += strlen(text) + 1;
	}
	reading->at += len;
	reading->left -= len;
	reading->count++;
	return true;
}

/* ---- files ---------------------------------------------------------------------- */

static void close_source(struct source *source)
{
	if (source->fd >= 0)
		(void)close(source->fd);
	source->fd = -1;
}

static bool write_all(int fd, const char *text, size_t len, uint64_t at)
{
	while (len) {
		ssize_t done = pwrite(fd, text, len, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		text += done;
		at += (uint64_t)done;
		len -= (size_t)done;
	}
	return true;
}

/* If it fails, the next write overwrites what is behind `end`, or is the last of the file
 * that a reader accepts. */
static void cut(int fd, uint64_t end)
{
	if (ftruncate(fd, (off_t)end) != 0)
		return;
}

static fw_error *failed(fw_src at, int error, const char *path)
{
	return fw_error_from_errno(at, error, path);
}

/* The file of this server, with its head. */
static fw_error *make_own(struct fw_incident_file *file)
{
	struct source *own = &file->own;
	struct head head = { .writer = file->writer };
	int error;

	if (own->fd >= 0)
		return NULL;
	memcpy(head.magic, MAGIC, sizeof head.magic);
	(void)snprintf(own->path, sizeof own->path, "%s/%s%016llx%s", file->directory, PREFIX,
		       (unsigned long long)file->writer, SUFFIX);
	own->fd = open(own->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
	error = errno;
	if (own->fd < 0)
		return failed(FW_HERE, error, own->path);
	if (flock(own->fd, LOCK_EX | LOCK_NB) != 0 ||
	    !write_all(own->fd, (const char *)&head, sizeof head, 0)) {
		error = errno;
		close_source(own);
		(void)unlink(own->path);
		return failed(FW_HERE, error, own->path);
	}
	own->writer = file->writer;
	own->at = own->end = sizeof head;
	return NULL;
}

/* False: it is in use, or not one of ours. */
static bool open_left(struct source *source)
{
	struct head head;
	struct stat info;

	source->fd =
		open(source->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (source->fd < 0)
		return false;
	if (flock(source->fd, LOCK_EX | LOCK_NB) != 0 || fstat(source->fd, &info) != 0 ||
	    !S_ISREG(info.st_mode) ||
	    pread(source->fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
	    memcmp(head.magic, MAGIC, sizeof head.magic) != 0) {
		close_source(source);
		return false;
	}
	source->writer = head.writer;
	source->at = sizeof head;
	source->end = (uint64_t)info.st_size;
	return true;
}

static void adopt_one(struct fw_incident_file *file, const char *name)
{
	struct source *source = fw__allocate(sizeof *source);
	int len;

	if (!source)
		return;
	len = snprintf(source->path, sizeof source->path, "%s/%s", file->directory, name);
	if (len > 0 && (size_t)len < sizeof source->path && open_left(source))
		file->adopted[file->adopted_count++] = source;
	else
		fw__release(source);
}

static void adopt(struct fw_incident_file *file)
{
	DIR *dir = opendir(file->directory);
	const struct dirent *entry;

	/* cppcheck-suppress readdirCalled ; the directory belongs to this thread */
	while (dir && file->adopted_count < ADOPTED_MAX && (entry = readdir(dir)) != NULL) {
		size_t len = strlen(entry->d_name);

		if (len > sizeof SUFFIX &&
		    strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) == 0 &&
		    strcmp(entry->d_name + len - (sizeof SUFFIX - 1), SUFFIX) == 0)
			adopt_one(file, entry->d_name);
	}
	if (dir)
		(void)closedir(dir);
}

/* ---- appending -------------------------------------------------------------------- */

fw_error *fw_incident_file_append(struct fw_incident_file *file, fw_incident_next_fn *next,
				  void *ctx)
{
	struct fw_incident incident;
	uint64_t count = 0;
	int error = 0;

	fw_buf_reset(&file->buf, FW_LIMIT_INCIDENT_CATCH_UP_BYTES);
	while (next(ctx, &incident)) {
		put_record(&file->buf, &incident);
		count++;
	}
	if (file->buf.state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	FW_TRY(make_own(file));
	if (file->buf.len > FW_LIMIT_INCIDENT_FILE_BYTES - file->own.end)
		error = ENOSPC;
	else if (!write_all(file->own.fd, file->buf.text, file->buf.len, file->own.end) ||
		 fdatasync(file->own.fd) != 0)
		error = errno;
	if (error) {
		cut(file->own.fd, file->own.end);
		return failed(FW_HERE, error, file->own.path);
	}
	file->own.end += file->buf.len;
	file->count += count;
	return NULL;
}

/* ---- delivering --------------------------------------------------------------------- */

/* The next complete records into the buffer. */
static fw_error *read_part(struct fw_incident_file *file, const struct source *source)
{
	uint64_t left = source->end - source->at;
	size_t most = left < FW_LIMIT_INCIDENT_CATCH_UP_BYTES
			      ? (size_t)left
			      : (size_t)FW_LIMIT_INCIDENT_CATCH_UP_BYTES;
	ssize_t done;

	fw_buf_reset(&file->buf, FW_LIMIT_INCIDENT_CATCH_UP_BYTES);
	if (!fw_buf_reserve(&file->buf, most + 1))
		return fw_raise_internal_out_of_memory();
	done = pread(source->fd, file->buf.text, most, (off_t)source->at);
	if (done < 0) {
		int error = errno;

		return failed(FW_HERE, error, source->path);
	}
	file->buf.len = (size_t)done;
	return NULL;
}

/* Nothing is left in it: an adopted file is removed, the own one begins again. */
static void finish_source(struct fw_incident_file *file, struct source *source)
{
	if (source == &file->own) {
		source->at = source->end = sizeof(struct head);
		cut(source->fd, source->end);
		file->count = 0;
		return;
	}
	(void)unlink(source->path);
	close_source(source);
	fw__release(source);
	file->adopted_count--;
	memmove(file->adopted, file->adopted + 1, file->adopted_count * sizeof *file->adopted);
}

fw_error *fw_incident_file_deliver(struct fw_incident_file *file, struct fw_store *store,
				   uint64_t *ret_count)
{
	struct source *source = file->adopted_count ? file->adopted[0] : &file->own;
	struct reading reading = { .writer = source->writer };
	const char *begin;

	*ret_count = 0;
	if (fw_incident_file_is_empty(file))
		return NULL;
	FW_TRY(read_part(file, source));
	begin = file->buf.text;
	reading.at = begin;
	reading.left = file->buf.len;
	if (record_at(reading.at, reading.left))
		FW_TRY(fw_store_add_incidents(store, next_record, &reading));
	source->at += (uint64_t)(reading.at - begin);
	*ret_count = reading.count;
	if (source == &file->own)
		file->count -= reading.count < file->count ? reading.count : file->count;
	/* At its end, or at a record that was never completed. */
	if (source->at >= source->end || reading.at == begin)
		finish_source(file, source);
	return NULL;
}

bool fw_incident_file_is_empty(const struct fw_incident_file *file)
{
	return !file->adopted_count && (file->own.fd < 0 || file->own.at >= file->own.end);
}

uint64_t fw_incident_file_count(const struct fw_incident_file *file)
{
	return file->count;
}

uint64_t fw_incident_file_bytes(const struct fw_incident_file *file)
{
	return file->own.fd < 0 ? 0 : file->own.end - file->own.at;
}

/* ---- lifecycle ------------------------------------------------------------------------ */

fw_error *fw_incident_file_new(const char *directory, int64_t writer,
			       struct fw_incident_file **ret_file)
{
	struct fw_incident_file *file = fw__allocate(sizeof *file);

	if (!file)
		return fw_raise_internal_out_of_memory();
	memset(file, 0, sizeof *file);
	file->own.fd = -1;
	file->writer = writer;
	/* A batch is at most what the queue holds; redaction can make it larger. */
	fw_buf_init(&file->buf, 8 * (size_t)FW_LIMIT_INCIDENT_QUEUE_BYTES);
	file->directory = fw_strdup(directory);
	if (!file->directory) {
		fw_incident_file_free(file);
		return fw_raise_internal_out_of_memory();
	}
	adopt(file);
	*ret_file = file;
	return NULL;
}

void fw_incident_file_free(struct fw_incident_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->adopted_count; i++) {
		close_source(file->adopted[i]);
		fw__release(file->adopted[i]);
	}
	if (file->own.fd >= 0 && file->own.at >= file->own.end)
		(void)unlink(file->own.path);
	close_source(&file->own);
	fw_buf_clear(&file->buf);
	fw__release(file->directory);
	fw__release(file);
}
