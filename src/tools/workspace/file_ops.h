/*
 * file_ops.h - creating, exchanging and moving files, so that a reader always sees a
 * complete file.
 */
#ifndef FW_TOOLS_WORKSPACE_FILE_OPS_H
#define FW_TOOLS_WORKSPACE_FILE_OPS_H

#include "tools/common/place.h"

#define FW_WS_TEMP_FORMAT ".faultwire-%s.tmp"
/* A third name that an exchange uses on file systems without RENAME_EXCHANGE. */
#define FW_WS_THIRD_FORMAT "%.39s.x"

enum { FW_WS_ID_SIZE = 17 };

/* Creates the file `temp` in the directory of `place`, with the mode and owner of the
 * file at `place` if there is one, and syncs it. A new file gets the mode of `like`, as
 * far as the umask permits; NULL: the default mode. */
FW_NODISCARD fw_error *fw_ws_file_create(const struct fw_place *place, const char *temp,
					 const struct stat *like, const char *text, size_t len);

/* Creates or replaces a file in one step, without a journal: for files whose old
 * content does not matter. */
FW_NODISCARD fw_error *fw_ws_file_put(const struct fw_place *place, const char *text,
				      size_t len);

/* Exchanges two names; moves a file to a name that must not exist. Both return 0 or an
 * errno, and work on file systems without RENAME_EXCHANGE and RENAME_NOREPLACE. */
int fw_ws_file_exchange(int dir_a, const char *a, int dir_b, const char *b);
int fw_ws_file_move(int from_dir, const char *from, int to_dir, const char *to);

/* A step of a change. Tests stop there (test/workspace/hooks.c); in the product it
 * does nothing. */
#ifdef FW_TEST_HOOKS
void fw_ws_test_step(const char *name);
#define FW_WS_STEP(name) fw_ws_test_step(name)
#else
#define FW_WS_STEP(name) ((void)0)
#endif

#endif
