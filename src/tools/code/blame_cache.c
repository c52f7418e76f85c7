/*
 * blame_cache.c - the cache of blame.h: one file per key.
 *
 * A file contains the key, so that two keys with the same file name do no harm, and a
 * checksum, so that a damaged file is not used. If there are more than FILES_MOST files,
 * the oldest half is removed.
 */
#include "tools/code/blame.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/code/trigram.h"

enum {
	FILES_MOST = 4000,
	CHECK_EVERY = 64, /* number of writes between two checks */
	FILE_BYTES = 32 * 1024 * 1024,
	PATH_ROOM = FW_PATH_SIZE + 80
};

#define MAGIC UINT64_C(0x66775f626c616d31)

struct head {
	uint64_t magic;
	uint64_t sum; /* of the bytes after the header, then of the header with sum = 0 */
	uint64_t key_len;
	uint64_t commits;
	uint64_t lines;
	int64_t first;
};

static uint64_t sum_of(const struct head *head, const char *body, size_t len)
{
	struct head without = *head;

	without.sum = 0;
	return fw_trigram__sum(fw_trigram__sum(3, body, len), &without, sizeof without);
}

static void path_of(const struct fw_code_repo *repo, const char *key, const char *suffix,
		    char path[PATH_ROOM])
{
	(void)snprintf(path, PATH_ROOM, "%s/blame/%016llx%016llx%s", repo->index,
		       (unsigned long long)fw_trigram__sum(1, key, strlen(key)),
		       (unsigned long long)fw_trigram__sum(2, key, strlen(key)), suffix);
}

/* ---- reading ---- */

struct input {
	const char *at;
	const char *end;
};

static bool get(struct input *in, void *to, size_t len)
{
	if ((size_t)(in->end - in->at) < len)
		return false;
	memcpy(to, in->at, len);
	in->at += len;
	return true;
}

/* Reads a text that ends with a NUL. It must fit. */
static bool get_text(struct input *in, char *to, size_t size)
{
	const char *nul = memchr(in->at, '\0', (size_t)(in->end - in->at));
	size_t len = nul ? (size_t)(nul - in->at) + 1 : SIZE_MAX;

	return len <= size && get(in, to, len);
}

static bool get_commits(struct input *in, struct fw_blame *blame)
{
	for (size_t i = 0; i < blame->commit_count; i++) {
		struct fw_blame_commit *commit = &blame->commits[i];

		if (!get_text(in, commit->hash, sizeof commit->hash) ||
		    !get_text(in, commit->author, sizeof commit->author) ||
		    !get_text(in, commit->message, sizeof commit->message) ||
		    !get(in, &commit->time, sizeof commit->time) ||
		    !get(in, &commit->zone, sizeof commit->zone))
			return false;
	}
	if (!get(in, blame->lines, blame->line_count * sizeof *blame->lines))
		return false;
	for (size_t i = 0; i < blame->line_count; i++)
		if (blame->lines[i] >= blame->commit_count)
			return false;
	return in->at == in->end;
}

static bool parse(const char *text, size_t len, const char *key, struct fw_blame *ret_blame)
{
	struct input in = { text, text + len };
	struct fw_blame blame = { .commits = NULL };
	struct head head;

	if (!get(&in, &head, sizeof head) || head.magic != MAGIC ||
	    head.sum != sum_of(&head, in.at, (size_t)(in.end - in.at)) ||
	    head.key_len != strlen(key) || head.key_len > (size_t)(in.end - in.at) ||
	    memcmp(in.at, key, head.key_len) != 0 || head.commits > len || head.lines > len)
		return false;
	in.at += head.key_len;
	blame.commits = fw__allocate((head.commits + 1) * sizeof *blame.commits);
	blame.lines = fw__allocate((head.lines + 1) * sizeof *blame.lines);
	blame.commit_count = blame.commit_room = head.commits;
	blame.line_count = blame.line_room = head.lines;
	blame.first = head.first;
	if (blame.commits && blame.lines && get_commits(&in, &blame)) {
		*ret_blame = blame;
		return true;
	}
	fw_blame_clear(&blame);
	return false;
}

bool fw_blame_load(const struct fw_code_repo *repo, const char *key, struct fw_blame *ret_blame)
{
	char path[PATH_ROOM];
	bool is_read = false;
	struct stat st;
	char *text;
	int fd;

	if (!repo->index[0])
		return false;
	path_of(repo, key, "", path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= FILE_BYTES &&
	    (text = fw__allocate((size_t)st.st_size))) {
		is_read = read(fd, text, (size_t)st.st_size) == st.st_size &&
			  parse(text, (size_t)st.st_size, key, ret_blame);
		fw__release(text);
	}
	(void)close(fd);
	return is_read;
}

/* ---- writing ---- */

struct aged {
	int64_t time;
	char name[64];
};

static int by_age(const void *a, const void *b)
{
	const struct aged *left = a, *right = b;

	return left->time < right->time ? -1 : left->time > right->time;
}

static void remove_oldest(const char *directory)
{
	struct aged *files = fw__allocate(2 * FILES_MOST * sizeof *files);
	DIR *listing = opendir(directory);
	const struct dirent *entry;
	size_t count = 0;
	struct stat st;

	/* cppcheck-suppress readdirCalled ; no other thread uses the stream */
	while (files && listing && count < 2 * FILES_MOST && (entry = readdir(listing))) {
		if (entry->d_name[0] == '.' ||
		    fstatat(dirfd(listing), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		files[count].time = st.st_mtime;
		if (strlen(entry->d_name) < sizeof files->name)
			memcpy(files[count++].name, entry->d_name, strlen(entry->d_name) + 1);
	}
	if (count > FILES_MOST) {
		qsort(files, count, sizeof *files, by_age);
		for (size_t i = 0; i < count / 2; i++)
			(void)unlinkat(dirfd(listing), files[i].name, 0);
	}
	if (listing)
		(void)closedir(listing);
	fw__release(files);
}

static void put_commits(const struct fw_blame *blame, struct fw_buf *out)
{
	for (size_t i = 0; i < blame->commit_count; i++) {
		const struct fw_blame_commit *commit = &blame->commits[i];

		fw_buf_put(out, commit->hash, strlen(commit->hash) + 1);
		fw_buf_put(out, commit->author, strlen(commit->author) + 1);
		fw_buf_put(out, commit->message, strlen(commit->message) + 1);
		fw_buf_put(out, (const char *)&commit->time, sizeof commit->time);
		fw_buf_put(out, (const char *)&commit->zone, sizeof commit->zone);
	}
	if (blame->line_count)
		fw_buf_put(out, (const char *)blame->lines,
			   blame->line_count * sizeof *blame->lines);
}

static void write_file(const char *path, const char *final, const struct head *head,
		       const struct fw_buf *body)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool is_written;

	if (fd < 0)
		return;
	is_written = write(fd, head, sizeof *head) == (ssize_t)sizeof *head &&
		     write(fd, body->text, body->len) == (ssize_t)body->len;
	(void)close(fd);
	if (!is_written || rename(path, final) != 0)
		(void)unlink(path);
}

void fw_blame_keep(const struct fw_code_repo *repo, const char *key,
		   const struct fw_blame *blame)
{
	static unsigned writes;
	struct head head = { .magic = MAGIC,
			     .key_len = strlen(key),
			     .commits = blame->commit_count,
			     .lines = blame->line_count,
			     .first = blame->first };
	char path[PATH_ROOM], final[PATH_ROOM], suffix[32];
	struct fw_buf body;

	if (!repo->index[0])
		return;
	fw_buf_init(&body, FILE_BYTES - sizeof head);
	fw_buf_put(&body, key, head.key_len);
	put_commits(blame, &body);
	if (body.state == FW_BUF_OK) {
		head.sum = sum_of(&head, body.text, body.len);
		(void)snprintf(suffix, sizeof suffix, ".%d", (int)getpid());
		path_of(repo, key, suffix, path);
		path_of(repo, key, "", final);
		write_file(path, final, &head, &body);
	}
	fw_buf_clear(&body);
	if (++writes % CHECK_EVERY == 0) {
		(void)snprintf(path, sizeof path, "%s/blame", repo->index);
		remove_oldest(path);
	}
}
