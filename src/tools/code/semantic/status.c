/*
 * status.c - where an index is, and its state; see semantic.h.
 */
#include "tools/code/semantic/semantic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "tools/code/semantic/snapshot.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

enum { NAME_HEX = 16, NAME_BYTES = 40, LOCK_ATTEMPTS = 50, LOCK_PAUSE_NS = 20 * 1000 * 1000 };

#define LOCK_NAME "lock"
#define USERS_NAME "users"

fw_error *fw_semantic_directory(const char *state, const char *repo,
				char ret_path[FW_PATH_SIZE])
{
	const char *slash = strrchr(repo, '/');
	const char *name = slash && slash[1] ? slash + 1 : "root";
	char hash[FW_SHA256_TEXT];
	int len;

	fw_sha256_text(repo, strlen(repo), hash);
	if (!hash[0])
		return fw_raise_internal_unsupported("an index without libcrypto");
	len = snprintf(ret_path, FW_PATH_SIZE, "%s%sindex/%.*s-%.*s", state,
		       state[0] && state[strlen(state) - 1] == '/' ? "" : "/", NAME_BYTES, name,
		       NAME_HEX, hash);
	if (len < 0 || len >= FW_PATH_SIZE)
		return fw_raise_path_invalid(state, "it is too long");
	return NULL;
}

fw_error *fw_semantic_directory_make(const char *directory)
{
	char path[FW_PATH_SIZE];

	(void)snprintf(path, sizeof path, "%s", directory);
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			return fw_error_from_errno(FW_HERE, errno, "the state directory");
		*slash = '/';
	}
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return fw_error_from_errno(FW_HERE, errno, "the directory of the index");
	return NULL;
}

const char *fw_semantic_state_name(enum fw_semantic_state state)
{
	static const char *const names[] = {
		[FW_SEMANTIC_STATE_ABSENT] = "absent",
		[FW_SEMANTIC_STATE_BUILDING] = "building",
		[FW_SEMANTIC_STATE_READY] = "ready",
		[FW_SEMANTIC_STATE_UPDATING] = "updating",
		[FW_SEMANTIC_STATE_CORRUPT] = "corrupt",
		[FW_SEMANTIC_STATE_OTHER_VERSION] = "of another version",
		[FW_SEMANTIC_STATE_UNREADABLE] = "unreadable",
	};

	return names[state];
}

bool fw_semantic_is_building(int directory)
{
	int fd = openat(directory, LOCK_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool is_locked;

	if (fd < 0)
		return false;
	is_locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	(void)close(fd);
	return is_locked;
}

static enum fw_semantic_state state_of(enum fw_semantic_fault fault, bool is_building)
{
	switch (fault) {
	case FW_SEMANTIC_OK:
		return is_building ? FW_SEMANTIC_STATE_UPDATING : FW_SEMANTIC_STATE_READY;
	case FW_SEMANTIC_ABSENT:
		return is_building ? FW_SEMANTIC_STATE_BUILDING : FW_SEMANTIC_STATE_ABSENT;
	case FW_SEMANTIC_CORRUPT: return FW_SEMANTIC_STATE_CORRUPT;
	case FW_SEMANTIC_OTHER_VERSION: return FW_SEMANTIC_STATE_OTHER_VERSION;
	case FW_SEMANTIC_UNREADABLE: break;
	}
	return FW_SEMANTIC_STATE_UNREADABLE;
}

void fw_semantic_status(const char *directory, struct fw_semantic_status *ret_status)
{
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct fw_semantic_snapshot s;
	enum fw_semantic_fault fault;
	struct stat st;

	*ret_status = (struct fw_semantic_status){ .state = FW_SEMANTIC_STATE_ABSENT };
	if (dir < 0)
		return;
	fault = fw_semantic_snapshot_open(dir, FW_SEMANTIC_SNAPSHOT_NAME, &s);
	ret_status->state = state_of(fault, fw_semantic_is_building(dir));
	if (fstatat(dir, "data.db", &st, 0) == 0)
		ret_status->data_bytes = (uint64_t)st.st_size;
	if (fault == FW_SEMANTIC_OK) {
		ret_status->files = s.file_count;
		ret_status->chunks = s.chunk_count;
		ret_status->commits = s.commit_count;
		ret_status->dims = s.head->dims;
		ret_status->source_bytes = s.head->source_bytes;
		ret_status->index_bytes = s.bytes;
		ret_status->created_ms = s.head->created_ms;
		(void)snprintf(ret_status->embedder, sizeof ret_status->embedder, "%.*s",
			       (int)sizeof s.head->embedder, s.head->embedder);
		(void)snprintf(ret_status->commit, sizeof ret_status->commit, "%.*s",
			       (int)sizeof s.head->commit, s.head->commit);
		fw_semantic_snapshot_close(&s);
	}
	(void)close(dir);
}

/* ---- locks ---- */

static int open_file(int directory, const char *name)
{
	return openat(directory, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Was the file deleted by the process that had it locked before? */
static bool is_gone(int fd)
{
	struct stat st;

	return fstat(fd, &st) != 0 || st.st_nlink == 0;
}

fw_error *fw_semantic_lock(int directory, int *ret_fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

	/* A search that checks the lock holds it for a moment. */
	for (int i = 0; i < LOCK_ATTEMPTS; i++) {
		int fd = open_file(directory, LOCK_NAME);

		if (fd < 0)
			return fw_error_from_errno(FW_HERE, errno, "the lock of the index");
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 && !is_gone(fd)) {
			*ret_fd = fd;
			return NULL;
		}
		(void)close(fd);
		(void)nanosleep(&pause, NULL);
	}
	return fw_raise_search_failed("", NULL, "another process is building this index");
}

void fw_semantic_directory_hold(const char *directory)
{
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = dir >= 0 ? open_file(dir, USERS_NAME) : -1;

	/* It stays open, which keeps it locked. */
	if (fd >= 0)
		(void)flock(fd, LOCK_SH | LOCK_NB);
	if (dir >= 0)
		(void)close(dir);
}

static bool is_held(int directory)
{
	int fd = open_file(directory, USERS_NAME);
	bool is_locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;

	if (fd >= 0)
		(void)close(fd);
	return is_locked;
}

/* ---- deleting ---- */

static fw_error *delete_files(int directory, const char *const *names)
{
	for (; *names; names++)
		if (unlinkat(directory, *names, 0) != 0 && errno != ENOENT)
			return fw_error_from_errno(FW_HERE, errno, *names);
	return NULL;
}

static fw_error *drop(const char *directory, int dir)
{
	static const char *const data[] = { FW_SEMANTIC_SNAPSHOT_NAME,
					    "snapshot.new",
					    "data.db",
					    "data.db-wal",
					    "data.db-shm",
					    NULL };
	static const char *const locks[] = { USERS_NAME, LOCK_NAME, NULL };

	FW_TRY(delete_files(dir, data));
	if (is_held(dir))
		return NULL;
	FW_TRY(delete_files(dir, locks));
	if (rmdir(directory) != 0 && errno != ENOENT)
		return fw_error_from_errno(FW_HERE, errno, "the directory of the index");
	return NULL;
}

fw_error *fw_semantic_drop(const char *directory, bool *ret_was_there)
{
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fw_error *err;
	int lock;

	*ret_was_there = dir >= 0;
	if (dir < 0)
		return errno == ENOENT ? NULL
				       : fw_error_from_errno(FW_HERE, errno,
							     "the directory of the index");
	err = fw_semantic_lock(dir, &lock);
	if (!err) {
		err = drop(directory, dir);
		(void)close(lock);
	}
	(void)close(dir);
	return err;
}
