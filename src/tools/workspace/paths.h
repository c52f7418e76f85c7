/*
 * paths.h - from what a caller calls a path to a descriptor beneath the root.
 *
 * The kernel resolves a path in one step (openat2, RESOLVE_BENEATH), and all
 * that is asked afterwards is asked of the descriptor that came out. So there
 * is no moment between a check and a use in which a link could be swapped.
 *
 * The one rule to remember: nothing in this folder opens by an absolute path
 * but the root itself, here.
 */
#ifndef FW_TOOLS_WORKSPACE_PATHS_H
#define FW_TOOLS_WORKSPACE_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include <faultwire/error.h>

enum {
	FW_WS_PATH_SIZE = 4096, /* with the NUL */
	FW_WS_NAME_SIZE = 256
};

/* A directory that is held open. */
struct fw_ws_root {
	int fd;                     /* O_PATH */
	char path[FW_WS_PATH_SIZE]; /* canonical */
	dev_t dev;
	ino_t ino;
	bool hard_links; /* files with several names may be used */
};

#define FW_WS_ROOT_INIT  \
	{                \
		.fd = -1 \
	}

/*
 * Bind a directory by its absolute path. Raises path.invalid,
 * path.traversal_blocked, path.not_found, auth.insufficient_permissions;
 * session.init_failed where it is no directory.
 */
FW_NODISCARD fw_error *fw_ws_root_open(const char *path, size_t len,
				       struct fw_ws_root *ret_root);
/*
 * The same of a directory that is `directory` (canonical) or beneath it; what is
 * not is not even looked up. `alias`: how the directory may be called, too; NULL:
 * not. Raises session.init_failed also for what is outside.
 */
FW_NODISCARD fw_error *fw_ws_root_open_in(const char *directory, const char *alias,
					  const char *path, size_t len,
					  struct fw_ws_root *ret_root);
/* The same from whoever starts the program: relative paths and ".." are lawful. */
FW_NODISCARD fw_error *fw_ws_root_open_any(const char *path, struct fw_ws_root *ret_root);
void fw_ws_root_close(struct fw_ws_root *root);
/* Is `path` the directory `above` (both canonical), or beneath it? */
bool fw_ws_is_beneath(const char *path, const char *above);

/*
 * What the caller wrote, as a path relative to the root without "." and doubled
 * slashes; an absolute path beneath the root is taken as what follows it.
 * Nothing is looked up. Raises path.invalid, path.traversal_blocked,
 * path.outside_workspace.
 */
FW_NODISCARD fw_error *fw_ws_path_read(const struct fw_ws_root *root, const char *path,
				       size_t len, char ret_path[FW_WS_PATH_SIZE]);

/*
 * A regular file to read. Raises file.not_found, path.not_found,
 * path.outside_workspace, path.invalid, file.read_failed (a directory, a
 * device...), auth.insufficient_permissions, io.*.
 */
FW_NODISCARD fw_error *fw_ws_open_file(const struct fw_ws_root *root, const char *path,
				       int *ret_fd, struct stat *ret_stat);

/* All of an open file, for fw__release(). `limit`: file.too_large beyond it. */
FW_NODISCARD fw_error *fw_ws_read_all(int fd, const char *path, size_t limit, char **ret_text,
				      size_t *ret_len);
/* Both of the above, where a missing file is a file.not_found. */
FW_NODISCARD fw_error *fw_ws_read_file(const struct fw_ws_root *root, const char *path,
				       size_t limit, char **ret_text, size_t *ret_len);

/* Where a file is or will be, with the links on the way followed. */
struct fw_ws_place {
	int dir;                    /* the directory that holds its name */
	char name[FW_WS_NAME_SIZE]; /* in there; not a link */
	char path[FW_WS_PATH_SIZE]; /* the same, as seen from the root */
	bool exists;
	struct stat stat; /* if it does: a regular file */
};

#define FW_WS_PLACE_INIT  \
	{                 \
		.dir = -1 \
	}

/* As fw_ws_open_file(), but the file need not exist; its directory must. */
FW_NODISCARD fw_error *fw_ws_find_place(const struct fw_ws_root *root, const char *path,
					struct fw_ws_place *ret_place);
void fw_ws_place_clear(struct fw_ws_place *place);

/* A directory by its path; with `make` it and those above it are made. */
FW_NODISCARD fw_error *fw_ws_open_dir(const struct fw_ws_root *root, const char *path,
				      bool make, int *ret_fd);

/* The error of a system call on `path`; `writing`: for what it means then. */
FW_NODISCARD fw_error *fw_ws_errno(int error, const char *path, bool writing);

#ifdef FW_WS_TEST
/* Only in a test program: paths are opened as they come, so that a sandbox has
 * to stand alone. */
extern bool fw_ws_paths_unchecked;
#endif

#endif
