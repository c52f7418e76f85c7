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
#include <unistd.h>

#include "base/digest.h"
#include "tools/code/semantic/snapshot.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

enum { NAME_HEX = 16, NAME_BYTES = 40 };

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
	int fd = openat(directory, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
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

fw_error *fw_semantic_drop(const char *directory, bool *ret_was_there)
{
	static const char *const names[] = { "snapshot",    "snapshot.new", "data.db",
					     "data.db-wal", "data.db-shm",  "lock" };
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fw_error *err = NULL;

	*ret_was_there = dir >= 0;
	if (dir < 0)
		return errno == ENOENT ? NULL
				       : fw_error_from_errno(FW_HERE, errno,
							     "the directory of the index");
	if (fw_semantic_is_building(dir))
		err = fw_raise_search_failed("", NULL,
					     "another process is building this index");
	for (size_t i = 0; !err && i < sizeof names / sizeof *names; i++)
		if (unlinkat(dir, names[i], 0) != 0 && errno != ENOENT)
			err = fw_error_from_errno(FW_HERE, errno, names[i]);
	(void)close(dir);
	if (!err && rmdir(directory) != 0 && errno != ENOENT)
		err = fw_error_from_errno(FW_HERE, errno, "the directory of the index");
	return err;
}
