/*
 * plan_store.c - see plan_store.h.
 */
#include "tools/workspace/plan_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/common/file.h"
#include "tools/workspace/file_ops.h"

#include <faultwire/raise.h>

enum { PLANS = 4096 };

static void path_of(const char *hash, char path[96])
{
	(void)snprintf(path, 96, FW_WS_PLANS "/%.64s.md", hash);
}

fw_error *fw_ws_plan_load(const struct fw_root *root, const char *hash, char **ret_text,
			  size_t *ret_len)
{
	char path[96];
	fw_error *err;

	path_of(hash, path);
	err = fw_file_read(root, path, FW_WS_PLAN_BYTES, ret_text, ret_len);
	if (err && (fw_error_code(err) == FW_FILE_NOT_FOUND ||
		    fw_error_code(err) == FW_PATH_NOT_FOUND)) {
		fw_error_free(err);
		return fw_raise_plan_not_found(hash);
	}
	return err;
}

static fw_error *put(const struct fw_root *root, const struct fw_ws_plan *plan,
		     const char *status, const char *signature, bool replace,
		     bool *ret_was_there)
{
	struct fw_place place = FW_PLACE_INIT;
	struct fw_buf text;
	fw_error *err;
	char path[96];
	int dir = -1;

	path_of(plan->computed, path);
	FW_TRY(fw_root_open_dir(root, FW_WS_PLANS, true, &dir));
	(void)close(dir);
	FW_TRY(fw_place_find(root, path, &place));
	*ret_was_there = place.exists;
	fw_buf_init(&text, 2 * (size_t)FW_WS_PLAN_BYTES);
	fw_ws_plan_write(plan, plan->computed, status, signature, &text);
	if (text.state != FW_BUF_OK)
		err = fw_raise_internal_out_of_memory();
	else if (place.exists && !replace)
		err = NULL;
	else
		err = fw_ws_file_put(&place, text.text, text.len);
	fw_buf_clear(&text);
	fw_place_clear(&place);
	return err;
}

fw_error *fw_ws_plan_save(const struct fw_root *root, const struct fw_ws_plan *plan,
			  const char *status, const char *signature, bool *ret_was_there)
{
	return put(root, plan, status, signature, false, ret_was_there);
}

fw_error *fw_ws_plan_approve(const struct fw_root *root, const struct fw_ws_plan *plan,
			     const struct fw_ws_key *key)
{
	char signature[FW_SHA256_TEXT];
	bool was_there;

	if (!key->is_set || !fw_ws_plan_sign(plan, key, root->identity, signature))
		return fw_raise_internal_unexpected("signing failed");
	return put(root, plan, "APPROVED", signature, true, &was_there);
}

fw_error *fw_ws_plan_revoke(const struct fw_root *root, const struct fw_ws_plan *plan)
{
	bool was_there;

	return put(root, plan, "PENDING", NULL, true, &was_there);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

fw_error *fw_ws_plan_list(const struct fw_root *root, char (**ret_hashes)[FW_SHA256_TEXT],
			  size_t *ret_count)
{
	char(*hashes)[FW_SHA256_TEXT] = NULL;
	size_t count = 0;
	size_t room = 0;
	struct dirent *item;
	DIR *dir;
	int fd;
	fw_error *err = fw_root_open_dir(root, FW_WS_PLANS, false, &fd);

	*ret_hashes = NULL;
	*ret_count = 0;
	if (err) {
		if (fw_error_code(err) != FW_PATH_NOT_FOUND)
			return err;
		fw_error_free(err);
		return NULL;
	}
	dir = fdopendir(fd);
	if (!dir) {
		int error = errno;

		(void)close(fd);
		return fw_path_errno(error, FW_WS_PLANS, false);
	}
	/* cppcheck-suppress readdirCalled ; the stream is used by one thread only */
	while ((item = readdir(dir)) && count < PLANS) {
		size_t len = strlen(item->d_name);

		if (len != 67 || strcmp(item->d_name + 64, ".md") != 0 ||
		    !fw_sha256_is_text(item->d_name, 64))
			continue;
		if (count == room) {
			void *more;

			room = room ? 2 * room : 16;
			more = fw__reallocate(hashes, room * sizeof *hashes);
			if (!more) {
				fw__release(hashes);
				(void)closedir(dir);
				return fw_raise_internal_out_of_memory();
			}
			hashes = more;
		}
		memcpy(hashes[count], item->d_name, 64);
		hashes[count++][64] = '\0';
	}
	(void)closedir(dir);
	if (count)
		qsort(hashes, count, sizeof *hashes, by_text);
	*ret_hashes = hashes;
	*ret_count = count;
	return NULL;
}
