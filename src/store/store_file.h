/*
 * store_file.h - the descriptor with which a store looks at its database file.
 *
 * POSIX locks belong to a process: closing any descriptor of a file releases all locks
 * that the process has on it, also those of SQLite's own descriptors. So stores of one
 * process that use the same file share one descriptor, which is closed with the last of
 * them. Any thread.
 */
#ifndef FW_STORE_STORE_FILE_H
#define FW_STORE_STORE_FILE_H

#include <sys/stat.h>

/* Opens the file, creates it if necessary, readable by its owner only; SQLite gives the
 * files beside it the same mode. Returns -1 with `ret_errno`. */
int fw_store_file_open(const char *path, struct stat *ret_stat, int *ret_errno);
/* -1 is a no-op. */
void fw_store_file_close(int fd);

#endif
