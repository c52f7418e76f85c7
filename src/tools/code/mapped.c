/*
 * mapped.c - see mapped.h.
 *
 * Reading behind the end of a file raises SIGBUS. The handler puts zeros there and notes it;
 * faults elsewhere go to the handler that was there before (worker/crash.c).
 */
#include "tools/code/mapped.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/code/limits.h"
#include "tools/code/repo.h"

struct fw_mapped {
	char *text;   /* NULL: it is not mapped */
	uint32_t len; /* 0: the same */
	atomic_bool is_cut;
};
_Static_assert((int64_t)FW_LIMIT_CODE_PIECE_BYTES <= UINT32_MAX, "the length of a file");

/* ---- files that are cut ---- */

/* What this thread copies. */
static _Thread_local struct fw_mapped *volatile copied;
static struct sigaction before;
static uintptr_t page_bytes;

/* mmap() is a system call and nothing else, so it may be used in a handler. */
static bool put_zeros(struct fw_mapped *file, uintptr_t at)
{
	uintptr_t text = (uintptr_t)file->text, end = text + file->len;
	uintptr_t page = at & ~(page_bytes - 1);

	if (at < text || at >= end)
		return false;
	file->is_cut = true;
	/* cppcheck-suppress leakReturnValNotUsed ; part of the file's map, unmapped with it */
	return mmap((void *)page, end - page, PROT_READ, /* NOLINT: an address */
		    /* cppcheck-suppress invalidFunctionArg ; no file */
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static void on_bus_error(int signum, siginfo_t *info, void *context)
{
	struct fw_mapped *file = copied;
	int error = errno;

	if (!file || info->si_code <= 0 || !put_zeros(file, (uintptr_t)info->si_addr)) {
		if (before.sa_flags & SA_SIGINFO)
			before.sa_sigaction(signum, info, context);
		else
			(void)sigaction(signum, &before, NULL); /* and it is raised again */
	}
	errno = error;
}

/* Asked before each search, since others may handle the signal by now. */
static bool watch(void)
{
	struct sigaction action;

	if (sigaction(SIGBUS, NULL, &action) != 0)
		return false;
	if ((action.sa_flags & SA_SIGINFO) && action.sa_sigaction == on_bus_error)
		return true;
	before = action;
	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	action.sa_sigaction = on_bus_error;
	action.sa_flags |= SA_SIGINFO;
	(void)sigemptyset(&action.sa_mask);
	return sigaction(SIGBUS, &action, NULL) == 0;
}

/* ---- the files of an index ---- */

struct set {
	struct fw_mapped_index index; /* all zero: this one is free */
	struct fw_mapped *files;      /* NULL: none */
	bool is_used;                 /* by this search */
};

static struct set sets[FW_CODE_REPOS_MAX];
static atomic_size_t kept_files, kept_bytes;

static bool is_same(const struct fw_mapped_index *a, const struct fw_mapped_index *b)
{
	return a->repo == b->repo && a->generation == b->generation &&
	       a->changed_ns == b->changed_ns && a->files == b->files;
}

static struct set *set_of(const struct fw_code_repo *repo)
{
	for (size_t i = 0; i < FW_CODE_REPOS_MAX; i++)
		if (!sets[i].index.repo || sets[i].index.repo == repo)
			return &sets[i];
	return NULL;
}

static void replace(struct set *set, const struct fw_mapped_index *index)
{
	size_t bytes = index->files * sizeof *set->files;

	for (size_t i = 0; set->files && i < set->index.files; i++)
		fw_mapped_drop(&set->files[i]);
	fw__release(set->files);
	set->index = *index;
	set->files = fw__allocate(bytes);
	if (set->files)
		memset(set->files, 0, bytes);
}

struct fw_mapped *fw_mapped_files(const struct fw_mapped_index *index, bool *ret_has_news)
{
	struct set *set = set_of(index->repo);
	bool is_other;

	if (!set || !watch())
		return NULL;
	is_other = !set->files || !is_same(&set->index, index);
	/* Threads of this search may use the files: none is dropped. */
	if (set->is_used) {
		*ret_has_news = false;
		return is_other ? NULL : set->files;
	}
	*ret_has_news = !is_other && set->index.changes != index->changes;
	if (is_other)
		replace(set, index);
	set->index.changes = index->changes;
	set->is_used = set->files != NULL;
	return set->files;
}

void fw_mapped_finish(void)
{
	for (size_t i = 0; i < FW_CODE_REPOS_MAX; i++)
		sets[i].is_used = false;
}

struct fw_mapped *fw_mapped_at(struct fw_mapped *files, size_t number)
{
	return files ? &files[number] : NULL;
}

/* ---- a file ---- */

size_t fw_mapped_size(const struct fw_mapped *file)
{
	return file->len;
}

bool fw_mapped_copy(struct fw_mapped *file, char *ret_text)
{
	copied = file;
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(ret_text, file->text, file->len);
	atomic_signal_fence(memory_order_seq_cst);
	copied = NULL;
	if (!file->is_cut)
		return true;
	fw_mapped_drop(file);
	return false;
}

static size_t space_of(size_t len)
{
	return (len + page_bytes - 1) & ~(page_bytes - 1);
}

void fw_mapped_keep(struct fw_mapped *file, int fd, const struct stat *st)
{
	size_t len = (size_t)st->st_size;
	size_t bytes = kept_bytes;
	char *text;

	/* One with several links is always read, since it can grow unnoticed. */
	if (file->text || st->st_size <= 0 || st->st_size >= FW_LIMIT_CODE_PIECE_BYTES ||
	    st->st_nlink > 1)
		return;
	/* Threads may exceed this together, by a file each. */
	if (kept_files >= FW_LIMIT_CODE_MAPPED_FILES || bytes >= FW_LIMIT_CODE_MAPPED_BYTES ||
	    space_of(len) > FW_LIMIT_CODE_MAPPED_BYTES - bytes)
		return;
	text = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	if (text == MAP_FAILED)
		return;
	file->text = text;
	file->len = (uint32_t)len;
	file->is_cut = false;
	kept_files++;
	kept_bytes += space_of(len);
}

void fw_mapped_drop(struct fw_mapped *file)
{
	if (!file->text)
		return;
	(void)munmap(file->text, file->len);
	kept_files--;
	kept_bytes -= space_of(file->len);
	file->text = NULL;
	file->len = 0;
}
