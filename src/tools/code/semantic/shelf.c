/*
 * shelf.c - see shelf.h.
 */
#include "tools/code/semantic/shelf.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/code/semantic/semantic.h"

struct place {
	struct fw_semantic_snapshot snapshot;
	struct stat st; /* of the file that is open */
};

/* A worker has one thread; with --run thread, searches take turns. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct place places[FW_CODE_REPOS_MAX];

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static enum fw_semantic_fault refresh(struct place *place, int dir)
{
	enum fw_semantic_fault fault;
	struct stat st;

	if (fstatat(dir, FW_SEMANTIC_SNAPSHOT_NAME, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		fw_semantic_snapshot_close(&place->snapshot);
		return FW_SEMANTIC_ABSENT;
	}
	if (place->snapshot.head && is_same(&st, &place->st))
		return FW_SEMANTIC_OK;
	fw_semantic_snapshot_close(&place->snapshot);
	fault = fw_semantic_snapshot_open(dir, FW_SEMANTIC_SNAPSHOT_NAME, &place->snapshot);
	place->st = st;
	return fault;
}

enum fw_semantic_fault fw_semantic_shelf_take(size_t index, const char *directory,
					      const struct fw_semantic_snapshot **ret_snapshot,
					      bool *ret_is_building)
{
	enum fw_semantic_fault fault = FW_SEMANTIC_ABSENT;
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret_is_building = false;
	(void)pthread_mutex_lock(&lock);
	if (dir >= 0) {
		fault = refresh(&places[index], dir);
		*ret_is_building = fw_semantic_is_building(dir);
		(void)close(dir);
	}
	if (fault != FW_SEMANTIC_OK)
		(void)pthread_mutex_unlock(&lock);
	else
		*ret_snapshot = &places[index].snapshot;
	return fault;
}

void fw_semantic_shelf_return(void)
{
	(void)pthread_mutex_unlock(&lock);
}
