/*
 * indexer_build.c - makes the index of a list of files, and takes indexes over.
 */
#include "tools/code/indexer_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

enum {
	REPORT_MS = 3000,
	SHOW_EVERY = 256,
	NAME_SIZE = 32,
	BUFFER_BYTES = FW_TRIGRAM_FILE_BYTES + 1,
	SNIFFED = 32 * 1024 /* of a file that is too large */
};

static void name_of(uint64_t generation, char name[NAME_SIZE])
{
	(void)snprintf(name, NAME_SIZE, "%llu.tri", (unsigned long long)generation);
}

static uint64_t identity_of(const struct fw_indexer *indexer)
{
	const char *identity = indexer->place.root.identity;

	return fw_trigram__sum(1, identity, strlen(identity));
}

/* ---- reading files ---- */

static size_t read_up_to(int fd, char *buffer, size_t most)
{
	size_t len = 0;

	while (len < most) {
		ssize_t got = read(fd, buffer + len, most - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	return len;
}

/* Returns the flags of the file. */
static unsigned add_file(struct fw_indexer *indexer, struct fw_trigram_build *build,
			 const struct fw_trigram_source *source, uint32_t number, char *buffer)
{
	bool is_large = source->facts.size > FW_TRIGRAM_FILE_BYTES;
	unsigned flags = FW_TRIGRAM_ALWAYS;
	struct stat st;
	size_t len;
	int fd;

	/* With several names: not worth reading. */
	if (source->facts.flags)
		return FW_TRIGRAM_ALWAYS;
	fd = fw_root_open_canonical(indexer->place.root.fd, source->path,
				    O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return FW_TRIGRAM_ALWAYS;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		len = read_up_to(fd, buffer, is_large ? SNIFFED : BUFFER_BYTES);
		if (!is_large)
			flags = fw_trigram_build_add(build, number, buffer, len);
		else if (memchr(buffer, '\0', len))
			flags = FW_TRIGRAM_NEVER;
	}
	(void)close(fd);
	return flags;
}

/* On the board, and every few seconds in the log. */
static void show_progress(struct fw_indexer *indexer, uint64_t files_read)
{
	int64_t now = fw_steady_ms();

	if (now >= indexer->next_report_ms) {
		indexer->has_reported = indexer->next_report_ms != 0;
		if (indexer->has_reported)
			fw_indexer__report(indexer, "building", files_read);
		indexer->next_report_ms = now + REPORT_MS;
	}
	(void)pthread_mutex_lock(&indexer->lock);
	indexer->facts.files_read = files_read;
	indexer->has_news = true;
	(void)pthread_mutex_unlock(&indexer->lock);
}

static bool add_files(struct fw_indexer *indexer, struct fw_trigram_build *build,
		      struct fw_indexer_list *list)
{
	char *buffer = fw__allocate(BUFFER_BYTES);

	if (!buffer)
		return false;
	for (size_t i = 0; i < list->count; i++) {
		if (list->files[i].old == FW_TRIGRAM_NEW)
			list->files[i].facts.flags = (uint16_t)add_file(
				indexer, build, &list->files[i], (uint32_t)i, buffer);
		if (i % SHOW_EVERY == 0)
			show_progress(indexer, i);
	}
	fw__release(buffer);
	return true;
}

/* ---- taking over ---- */

static bool take_over(struct fw_indexer *indexer, uint64_t generation,
		      const struct fw_indexer_list *list, uint64_t since)
{
	char path[FW_PATH_SIZE + NAME_SIZE], name[NAME_SIZE];
	struct fw_trigram index;

	name_of(generation, name);
	(void)snprintf(path, sizeof path, "%s/%s", indexer->repo->index, name);
	if (!fw_trigram_open(path, false, &index))
		return false;
	name_of(indexer->facts.generation, name);
	(void)snprintf(path, sizeof path, "%s/%s", indexer->repo->index, name);
	fw_trigram_close(&indexer->index);
	indexer->index = index;
	indexer->facts.generation = generation;
	indexer->facts.index_bytes = index.size;
	indexer->facts.index_changed_ns = index.changed_ns;
	fw_indexer__settle(indexer, list, since);
	(void)unlink(path);
	return true;
}

bool fw_indexer__build(struct fw_indexer *indexer, struct fw_indexer_list *list, uint64_t since)
{
	/* Only this thread replaces the index, so it can be read without the lock. */
	const struct fw_trigram_build_options options = {
		.directory = indexer->repo->index,
		.old = indexer->index.bytes ? &indexer->index : NULL,
		.identity = identity_of(indexer),
		.limit_bytes = indexer->options->limit_bytes,
	};
	struct fw_trigram_build *build = fw_trigram_build_new(&options);
	uint64_t generation = indexer->facts.generation + 1;
	char name[NAME_SIZE];
	bool is_built;

	if (!build)
		return false;
	indexer->next_report_ms = 0;
	name_of(generation, name);
	is_built = add_files(indexer, build, list) &&
		   fw_trigram_build_write(build, list->files, list->count, name);
	fw_trigram_build_free(build);
	(void)pthread_mutex_lock(&indexer->lock);
	is_built = is_built && take_over(indexer, generation, list, since);
	(void)pthread_mutex_unlock(&indexer->lock);
	return is_built;
}

/* Files of a process that was killed. */
static void remove_others(const struct fw_indexer *indexer, const char *kept)
{
	DIR *directory = opendir(indexer->repo->index);
	const struct dirent *entry;

	/* cppcheck-suppress readdirCalled ; no other thread uses the stream */
	while (directory && (entry = readdir(directory))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (dot && (strcmp(dot, ".tri") == 0 || strcmp(dot, ".tmp") == 0) &&
		    strcmp(entry->d_name, kept) != 0)
			(void)unlinkat(dirfd(directory), entry->d_name, 0);
	}
	if (directory)
		(void)closedir(directory);
}

void fw_indexer__load(struct fw_indexer *indexer)
{
	char path[FW_PATH_SIZE + NAME_SIZE], name[NAME_SIZE];
	struct fw_trigram index;

	name_of(indexer->facts.generation, name);
	(void)snprintf(path, sizeof path, "%s/%s", indexer->repo->index, name);
	if (fw_trigram_open(path, true, &index)) {
		if (index.identity == identity_of(indexer)) {
			indexer->index = index;
			indexer->facts.index_bytes = index.size;
			indexer->facts.index_changed_ns = index.changed_ns;
		} else {
			fw_trigram_close(&index);
		}
	}
	remove_others(indexer, indexer->index.bytes ? name : "");
}
