/*
 * incident_file.c - see incident_file.h.
 *
 * A file is a head (what it is, whose numbers are in it) and records (incident_record.h).
 *
 * The store remembers the highest number of a writer, so the files of one writer have to be
 * delivered by one process in their order: delivering a later one first would skip the
 * others. Hence the locks of all of them are needed, and the mirror with the number 0, which
 * is made first, is locked first.
 */
#include "observe/incident/incident_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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
#include "observe/incident/incident_record.h"

enum { PATH_SIZE = 4096, MIRRORS = 2, GROUP = MIRRORS + 1, ADOPTED_MAX = 64 * GROUP };

/* STEM, a dash, the writer in this many digits, for a mirror a dash and its number. */
enum { WRITER_DIGITS = 16 };
static const char SUFFIX[] = ".waiting";

struct head {
	char magic[8];
	int64_t writer;
};

static const char MAGIC[8] = "FWINC 2";

/* A file of which records are delivered. */
struct source {
	char path[PATH_SIZE];
	int fd; /* -1: none */
	int64_t writer;
	uint64_t at;   /* offset of the first record that was not delivered */
	uint64_t end;  /* of the complete records */
	uint64_t last; /* number of the last record that was delivered */
};

struct fw_incident_file {
	char *stem;
	int64_t writer;
	struct source mirrors[MIRRORS]; /* of the thread that makes them */
	struct source own;
	uint64_t count; /* in `own`, not delivered */
	struct source *adopted[ADOPTED_MAX];
	size_t adopted_count;
	bool has_locked; /* some were not adopted, because they were in use */
	struct fw_buf buf;
};

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

/* If it fails, the next write overwrites what is after `end`, or is the last of the file
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

/* A new file of this server, with its head. Returns 0, or the errno. */
static int make_file(const struct fw_incident_file *file, struct source *source,
		     const char *tail)
{
	struct head head = { .writer = file->writer };
	int error;

	if (source->fd >= 0)
		return 0;
	memcpy(head.magic, MAGIC, sizeof head.magic);
	(void)snprintf(source->path, sizeof source->path, "%s-%0*llx%s%s", file->stem,
		       WRITER_DIGITS, (unsigned long long)file->writer, tail, SUFFIX);
	source->fd =
		open(source->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
	if (source->fd < 0)
		return errno;
	if (flock(source->fd, LOCK_EX | LOCK_NB) != 0 ||
	    !write_all(source->fd, (const char *)&head, sizeof head, 0)) {
		error = errno;
		close_source(source);
		(void)unlink(source->path);
		return error;
	}
	source->writer = file->writer;
	source->at = source->end = sizeof head;
	return 0;
}

/* The number of the record at the beginning of a file; 0: none. */
static uint64_t first_number(const struct source *source)
{
	char bytes[FW_INCIDENT_RECORD_LEAST];
	ssize_t len = pread(source->fd, bytes, sizeof bytes, sizeof(struct head));

	return fw_incident_record_number(bytes, len > 0 ? (size_t)len : 0);
}

/* ---- adopting --------------------------------------------------------------------- */

/* False: it cannot be used now. */
static bool open_left(struct source *source, bool *ret_is_locked)
{
	struct head head;
	struct stat info;

	source->fd =
		open(source->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (source->fd < 0)
		return false;
	*ret_is_locked = flock(source->fd, LOCK_EX | LOCK_NB) != 0;
	if (*ret_is_locked || fstat(source->fd, &info) != 0 || !S_ISREG(info.st_mode) ||
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

static void discard(struct source *source)
{
	close_source(source);
	fw__release(source);
}

/* By the number of the first record; one without records comes first. */
static void insert_sorted(struct source **group, size_t count, struct source *source)
{
	const uint64_t number = first_number(source);

	while (count && first_number(group[count - 1]) > number) {
		group[count] = group[count - 1];
		count--;
	}
	group[count] = source;
}

/* The files of one writer; all of them, or none if one is in use. */
static void adopt_group(struct fw_incident_file *file, const char *folder,
			struct dirent *const *entries, size_t count)
{
	struct source *group[GROUP];
	size_t found = 0;
	bool is_locked = false;

	for (size_t i = 0; i < count && !is_locked; i++) {
		struct source *source = fw__allocate(sizeof *source);
		int len;

		if (!source) {
			is_locked = true;
			break;
		}
		memset(source, 0, sizeof *source);
		source->fd = -1;
		len = snprintf(source->path, sizeof source->path, "%s/%s", folder,
			       entries[i]->d_name);
		if (len > 0 && (size_t)len < sizeof source->path &&
		    open_left(source, &is_locked))
			insert_sorted(group, found++, source);
		else
			fw__release(source);
	}
	for (size_t i = 0; i < found; i++) {
		if (is_locked)
			discard(group[i]);
		else
			file->adopted[file->adopted_count++] = group[i];
	}
	file->has_locked |= is_locked;
}

/* The length of the part of a name that all files of one writer share; 0: the file is not
 * ours. */
static size_t shared_part(const char *name, const char *base)
{
	size_t len = strlen(base) + 1 + WRITER_DIGITS;
	const char *tail = name + len;

	if (strlen(name) < len || strncmp(name, base, strlen(base)) != 0 ||
	    name[strlen(base)] != '-' ||
	    strspn(name + strlen(base) + 1, "0123456789abcdef") != WRITER_DIGITS)
		return 0;
	if (tail[0] == '-' && tail[1] >= '0' && tail[1] < '0' + MIRRORS)
		tail += 2;
	return strcmp(tail, SUFFIX) == 0 ? len : 0;
}

static void adopt(struct fw_incident_file *file)
{
	const char *slash = strrchr(file->stem, '/');
	const char *base = slash ? slash + 1 : file->stem;
	struct dirent **entries = NULL;
	char folder[PATH_SIZE];
	int count;

	file->has_locked = false;
	(void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - file->stem) : 1,
		       slash ? file->stem : ".");
	count = scandir(folder[0] ? folder : "/", &entries, NULL, alphasort);
	/* alphasort() depends on the locale, but not for these names: the files of one
	 * writer follow each other, and a mirror comes before the other file. */
	for (int i = 0, next; i < count; i = next) {
		size_t len = shared_part(entries[i]->d_name, base);

		for (next = i + 1;
		     len && next < count && next < i + GROUP &&
		     strncmp(entries[next]->d_name, entries[i]->d_name, len) == 0;)
			next++;
		if (len && file->adopted_count <= ADOPTED_MAX - GROUP)
			adopt_group(file, folder, entries + i, (size_t)(next - i));
	}
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
}

bool fw_incident_file_has_rest(const struct fw_incident_file *file)
{
	return file->has_locked;
}

void fw_incident_file_adopt_rest(struct fw_incident_file *file)
{
	if (file->has_locked)
		adopt(file);
}

/* ---- appending -------------------------------------------------------------------- */

int fw_incident_file_mirror(struct fw_incident_file *file, struct fw_spool *spool)
{
	struct source *mirrors = file->mirrors;
	int error;

	if (mirrors[1].fd >= 0)
		return 0;
	error = make_file(file, &mirrors[0], "-0");
	if (!error)
		error = make_file(file, &mirrors[1], "-1");
	if (!error)
		fw_spool_mirror(spool, (const int[]){ mirrors[0].fd, mirrors[1].fd },
				sizeof(struct head));
	return error;
}

fw_error *fw_incident_file_append(struct fw_incident_file *file,
				  const struct fw_spool_batch *batch)
{
	const char *record;
	size_t at = 0, len;
	int error = 0;

	fw_buf_reset(&file->buf, FW_LIMIT_INCIDENT_CATCH_UP_BYTES);
	while ((record = fw_spool_next(batch, &at, &len)))
		fw_buf_put(&file->buf, record, len);
	if (file->buf.state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	error = make_file(file, &file->own, "");
	if (error)
		return failed(FW_HERE, error, file->own.path);
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
	file->count += batch->count;
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
		source->last = 0;
		cut(source->fd, source->end);
		file->count = 0;
		return;
	}
	(void)unlink(source->path);
	discard(source);
	file->adopted_count--;
	memmove(file->adopted, file->adopted + 1, file->adopted_count * sizeof *file->adopted);
}

fw_error *fw_incident_file_deliver(struct fw_incident_file *file, struct fw_store *store,
				   uint64_t *ret_count)
{
	struct source *source = file->adopted_count ? file->adopted[0] : &file->own;
	struct fw_incident_records records = { .writer = source->writer, .last = source->last };
	struct fw_incident_records probe;
	struct fw_incident incident;
	const char *begin;

	*ret_count = 0;
	if (fw_incident_file_is_empty(file))
		return NULL;
	FW_TRY(read_part(file, source));
	begin = file->buf.text;
	records.at = begin;
	records.left = file->buf.len;
	probe = records;
	if (fw_incident_record_next(&probe, &incident))
		FW_TRY(fw_store_add_incidents(store, fw_incident_record_next, &records));
	source->at += (uint64_t)(records.at - begin);
	source->last = records.last;
	*ret_count = records.count;
	if (source == &file->own)
		file->count -= records.count < file->count ? records.count : file->count;
	/* At its end, or at a record that was never completed. */
	if (source->at >= source->end || records.at == begin)
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

fw_error *fw_incident_file_new(const char *stem, int64_t writer,
			       struct fw_incident_file **ret_file)
{
	struct fw_incident_file *file = fw__allocate(sizeof *file);

	if (!file)
		return fw_raise_internal_out_of_memory();
	memset(file, 0, sizeof *file);
	file->own.fd = -1;
	for (size_t i = 0; i < MIRRORS; i++)
		file->mirrors[i].fd = -1;
	file->writer = writer;
	/* A batch is at most what the queue holds; redaction can make it larger. */
	fw_buf_init(&file->buf, 8 * (size_t)FW_LIMIT_INCIDENT_QUEUE_BYTES);
	file->stem = fw_strdup(stem);
	if (!file->stem) {
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
	for (size_t i = 0; i < file->adopted_count; i++)
		discard(file->adopted[i]);
	for (size_t i = 0; i < MIRRORS; i++) {
		if (file->mirrors[i].fd >= 0 && !first_number(&file->mirrors[i]))
			(void)unlink(file->mirrors[i].path);
		close_source(&file->mirrors[i]);
	}
	if (file->own.fd >= 0 && file->own.at >= file->own.end)
		(void)unlink(file->own.path);
	close_source(&file->own);
	fw_buf_clear(&file->buf);
	fw__release(file->stem);
	fw__release(file);
}
