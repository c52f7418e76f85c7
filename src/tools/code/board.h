/*
 * board.h - what the process that keeps the index of a repository tells the processes that
 * search: which index file is current, and which files have changed since it was made.
 *
 * It is two files in the directory of the index, mapped by all: the board, which only the
 * keeper of the index writes, and the bell, which searches ring to have the keeper read
 * the changes that the kernel has queued. So a search sees every change that was complete
 * before it began. If the keeper does not answer in time, there is no index.
 *
 * The one rule to remember: a search takes a copy, and trusts its texts no more than those of a
 * client: every path is opened below the root, and every match is read from the file.
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
	FW_BOARD_BUILDING, /* not usable yet */
	FW_BOARD_READY,
	FW_BOARD_SMALL,     /* the repository is too small for an index */
	FW_BOARD_UNWATCHED, /* changes cannot be watched: no index */
	FW_BOARD_FAILED,    /* the index cannot be written */
};

struct fw_board_facts {
	uint32_t state;      /* enum fw_board_state */
	uint32_t changes;    /* bytes of the texts of changed files */
	uint64_t generation; /* number in the name of the index file */
	uint64_t device;     /* of the root directory */
	uint64_t inode;
	uint64_t files;      /* in the repository */
	uint64_t files_read; /* of them; while it builds */
	uint64_t bytes;      /* of the files */
	uint64_t index_bytes;
	/* When the index file was changed last; it is not used if it has been changed since. */
	int64_t index_changed_ns;
};

struct fw_board;

/* Creates the files in the directory `path`, which is created if its parent exists. False:
 * impossible. Called once by the server, before its processes are confined. */
bool fw_board_create(const char *path);
/* Opens them; `keeps`: to write the board. NULL: not possible. */
struct fw_board *fw_board_open(const char *path, bool keeps);
void fw_board_close(struct fw_board *board);

/* ---- the keeper ---- */

/* Publishes facts and changes: for each path '+' (read it) or '-' (it is gone), the path,
 * NUL; in the order of the paths. */
void fw_board_publish(struct fw_board *board, const struct fw_board_facts *facts,
		      const char *changes);
/* How often the bell was rung. */
unsigned fw_board_rings(const struct fw_board *board);
/* Waits until it was rung more often than `seen` times. */
void fw_board_await_ring(const struct fw_board *board, unsigned seen);
/* The rings up to `rings` are answered: changes that were complete then are published. */
void fw_board_answer(struct fw_board *board, unsigned rings);

/* ---- a search ---- */

/* Rings and waits for the answer. False: there was none in time. */
bool fw_board_ring(struct fw_board *board);
/* Copies what is published. `ret_changes` has FW_BOARD_CHANGES_BYTES. False: it changes all
 * the time, or is damaged. */
bool fw_board_read(const struct fw_board *board, struct fw_board_facts *ret_facts,
		   char *ret_changes);

const char *fw_board_state_name(unsigned state);

#endif
