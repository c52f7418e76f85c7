/*
 * board.h - shared memory in which the keeper of an index (the process that builds and
 * updates it) informs the searching processes which index file is current, and which
 * files have changed since it was made.
 *
 * There are two files in the directory of the index, mapped by all of these processes:
 * the board, which only the keeper writes, and the bell. A search rings the bell to make
 * the keeper read the changes that the kernel has queued, so it sees every change that
 * was complete before it began. If the keeper does not answer in time, the search does
 * not use the index.
 *
 * The one rule to remember: a search copies the board, and trusts its contents no more
 * than a client's. Every path is opened below the root, and every match is read from the
 * file.
 */
#ifndef FW_TOOLS_CODE_BOARD_H
#define FW_TOOLS_CODE_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	FW_BOARD_CHANGES_BYTES = 1024 * 1024,
	FW_BOARD_ANSWER_MS = 60, /* how long a search waits for the keeper */
};

enum fw_board_state {
	FW_BOARD_NONE,     /* there is no keeper */
	FW_BOARD_BUILDING, /* the index is not usable yet */
	FW_BOARD_READY,
	FW_BOARD_SMALL,     /* the repository is too small for an index */
	FW_BOARD_UNWATCHED, /* changes cannot be watched, so there is no index */
	FW_BOARD_FAILED,    /* the index cannot be written */
};

struct fw_board_facts {
	uint32_t state;      /* enum fw_board_state */
	uint32_t changes;    /* bytes of the texts of changed files */
	uint64_t generation; /* number in the name of the index file */
	uint64_t device;     /* of the root directory */
	uint64_t inode;
	uint64_t files;      /* files in the repository */
	uint64_t files_read; /* files read so far, while the index is built */
	uint64_t bytes;      /* bytes of all files */
	uint64_t index_bytes;
	/* When the index file was last changed. If it has been changed since, it is not
	 * used. */
	int64_t index_changed_ns;
};

struct fw_board;

/* Creates the files in the directory `path`, which is created if its parent exists.
 * False: they cannot be created. The server calls it once, before its processes are
 * confined. */
bool fw_board_create(const char *path);
/* Opens the files. `keeps`: the caller is the keeper and writes the board. NULL: they
 * cannot be opened. */
struct fw_board *fw_board_open(const char *path, bool keeps);
void fw_board_close(struct fw_board *board);

/* ---- the keeper ---- */

/* Publishes facts and changes. A change is '+' (read the file) or '-' (the file was
 * removed), the path, and a NUL. Changes are in the order of their paths. */
void fw_board_publish(struct fw_board *board, const struct fw_board_facts *facts,
		      const char *changes);
/* How often the bell has been rung. */
unsigned fw_board_rings(const struct fw_board *board);
/* Waits until it has been rung more than `seen` times. */
void fw_board_await_ring(const struct fw_board *board, unsigned seen);
/* Answers the first `rings` rings: all changes that were complete at that time are
 * published. */
void fw_board_answer(struct fw_board *board, unsigned rings);

/* ---- a search ---- */

/* Rings and waits for the answer. False: there was none in time. */
bool fw_board_ring(struct fw_board *board);
/* Copies the board. `ret_changes` has room for FW_BOARD_CHANGES_BYTES. False: no
 * consistent copy could be made, or the board is damaged. */
bool fw_board_read(const struct fw_board *board, struct fw_board_facts *ret_facts,
		   char *ret_changes);

const char *fw_board_state_name(unsigned state);

#endif
