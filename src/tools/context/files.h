/*
 * files.h - reading the files and directories of a cache.
 */
#ifndef FW_TOOLS_CONTEXT_FILES_H
#define FW_TOOLS_CONTEXT_FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#define FW_CONTEXT_MANIFEST_FILE "manifest.json"
#define FW_CONTEXT_INDEX_FILE "index.json"
#define FW_CONTEXT_DOCUMENTS "documents"

/* Used to detect whether a file was replaced or changed. */
struct fw_context_identity {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	int64_t modified_ns;
	int64_t changed_ns;
};

bool fw_context_identity_same(const struct fw_context_identity *a,
			      const struct fw_context_identity *b);
/* Identity of an open file, or of a name in a directory (links are not followed).
 * Returns 0 or an errno. */
int fw_context_identity_of(int fd, struct fw_context_identity *ret_identity);
int fw_context_identity_at(int dir, const char *name, struct fw_context_identity *ret_identity);

/* The contents of a file. The memory is reused for the next file. */
struct fw_context_bytes {
	char *data; /* followed by YYJSON_PADDING_SIZE zero bytes */
	size_t len;
	size_t cap;
};
void fw_context_bytes_clear(struct fw_context_bytes *bytes);
FW_NODISCARD fw_error *fw_context_bytes_reserve(struct fw_context_bytes *bytes, size_t cap);

/* The next name in a directory, without "." and "..". NULL at the end, with
 * *ret_error 0, or on failure, with *ret_error an errno. */
const char *fw_context_next_name(DIR *dir, int *ret_error);

/* An errno as an error that maps to io_error in context-v0. */
FW_NODISCARD fw_error *fw_context_system_error(fw_src at, int errnum, const char *what);

enum fw_context_found { FW_CONTEXT_FOUND, FW_CONTEXT_ABSENT, FW_CONTEXT_NOT_A_FILE };
/*
 * Reads a regular file; links are not followed. A name that does not exist, or is
 * not a regular file, is reported in `*ret_found` and is not an error. `what` names
 * the file in errors; `ret_identity` may be NULL. Raises file.too_large and errors
 * of the system.
 */
FW_NODISCARD fw_error *fw_context_read_file(int dir, const char *name, const char *what,
					    size_t limit, struct fw_context_bytes *bytes,
					    struct fw_context_identity *ret_identity,
					    enum fw_context_found *ret_found);

/* Opens the directory of a cache: a name below `root`, or a path if `root` is NULL.
 * The caller closes it. Raises cache.missing and errors of the system. */
FW_NODISCARD fw_error *fw_context_open_cache(const char *root, const char *name, size_t len,
					     int *ret_fd);
/* Opens a directory below another. `*ret_fd` is -1 if there is none. */
FW_NODISCARD fw_error *fw_context_open_folder(int dir, const char *name, const char *what,
					      int *ret_fd);

/* Does the name lead to another directory than the one with the identity `was`? If
 * a cache is replaced while it is read, its files disappear one by one; the reader
 * then starts again with the new one, at most FW_CONTEXT_READ_ATTEMPTS times. */
bool fw_context_is_replaced(const char *root, const char *name, size_t len,
			    const struct fw_context_identity *was);
enum { FW_CONTEXT_READ_ATTEMPTS = 16 };

#endif
