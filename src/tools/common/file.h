/*
 * file.h - reading regular files below a root.
 */
#ifndef FW_TOOLS_COMMON_FILE_H
#define FW_TOOLS_COMMON_FILE_H

#include "tools/common/root.h"

/*
 * Opens a regular file for reading. Raises file.not_found, path.not_found,
 * path.outside_workspace, path.invalid, file.read_failed (a directory, a device...),
 * auth.insufficient_permissions, io.*.
 */
FW_NODISCARD fw_error *fw_file_open(const struct fw_root *root, const char *path, int *ret_fd,
				    struct stat *ret_stat);

/* Reads an open file to its end; release the text with fw__release(). Raises
 * file.too_large beyond `limit` bytes. */
FW_NODISCARD fw_error *fw_file_read_all(int fd, const char *path, size_t limit, char **ret_text,
					size_t *ret_len);
/* Opens and reads a file. */
FW_NODISCARD fw_error *fw_file_read(const struct fw_root *root, const char *path, size_t limit,
				    char **ret_text, size_t *ret_len);

/* The bytes of the byte order mark that the text of a file begins with: 3 or 0. */
size_t fw_file_mark(const char *text, size_t len);

/* The error for a file whose bytes are not UTF-8: file.unsupported_encoding, with the
 * reason and the position of the first fault in `text`, which is at `offset`. */
FW_NODISCARD fw_error *fw_file_not_text(const char *path, const char *text, size_t len,
					uint64_t offset);

/* Is it a regular file, and does it have one name unless the root allows more?
 * Raises file.read_failed, path.outside_workspace. */
FW_NODISCARD fw_error *fw_file_check(const struct fw_root *root, const struct stat *st,
				     const char *path);

#endif
