/*
 * board.c - see board.h.
 *
 * The board has a sequence number that is odd while it is written. A reader copies the
 * board and reads it again if the number was odd or has changed (a seqlock). Processes
 * wait with futexes, which work across processes on a shared mapping.
 */
#include "tools/code/board.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tools/common/path.h"

enum {
	READ_ATTEMPTS = 100,
	PATH_ROOM = FW_PATH_SIZE + 16,
	BLOCK_BYTES = 512 /* unit of st_blocks */
};

#define MAGIC UINT32_C(0x66774232)

struct page {
	uint32_t magic;
	atomic_uint sequence; /* odd: it is being written */
	atomic_uint answered; /* rings */
	struct fw_board_facts facts;
	char changes[FW_BOARD_CHANGES_BYTES];
};

struct bell {
	atomic_uint rings;
};

struct fw_board {
	struct page *page;
	struct bell *bell;
};

/* ---- files ---- */

static int open_file(const char *path, const char *name, int flags)
{
	char whole[PATH_ROOM];

	(void)snprintf(whole, sizeof whole, "%s/%s", path, name);
	return open(whole, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* All blocks of a mapped file must be allocated: if the disk is full, access to one that
 * is not raises SIGBUS. */
static bool has_blocks(int fd, const struct stat *st, size_t size)
{
	return (size_t)st->st_blocks * BLOCK_BYTES >= size ||
	       posix_fallocate(fd, 0, (off_t)size) == 0;
}

static bool create_file(const char *path, const char *name, size_t size)
{
	int fd = open_file(path, name, O_RDWR | O_CREAT);
	struct stat st;
	bool is_made;

	if (fd < 0)
		return false;
	is_made = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		  (st.st_size == (off_t)size || ftruncate(fd, (off_t)size) == 0) &&
		  has_blocks(fd, &st, size);
	(void)close(fd);
	return is_made;
}

bool fw_board_create(const char *path)
{
	return (mkdir(path, 0700) == 0 || errno == EEXIST) &&
	       create_file(path, "board", sizeof(struct page)) &&
	       create_file(path, "bell", sizeof(struct bell)) && create_file(path, "lock", 0);
}

static void *map(const char *path, const char *name, size_t size, bool writes)
{
	int fd = open_file(path, name, writes ? O_RDWR : O_RDONLY);
	void *at = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	/* Reading beyond the end of a shorter file would raise SIGBUS. */
	if (fstat(fd, &st) == 0 && st.st_size == (off_t)size)
		at = mmap(NULL, size, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
			  fd, 0);
	(void)close(fd);
	return at == MAP_FAILED ? NULL : at;
}

struct fw_board *fw_board_open(const char *path, bool keeps)
{
	struct fw_board *board = fw__allocate(sizeof *board);

	if (!board)
		return NULL;
	board->page = map(path, "board", sizeof *board->page, keeps);
	board->bell = map(path, "bell", sizeof *board->bell, true);
	if (board->page && board->bell)
		return board;
	fw_board_close(board);
	return NULL;
}

void fw_board_close(struct fw_board *board)
{
	if (!board)
		return;
	if (board->page)
		(void)munmap(board->page, sizeof *board->page);
	if (board->bell)
		(void)munmap(board->bell, sizeof *board->bell);
	fw__release(board);
}

/* ---- waiting ---- */

static void wait_while(const atomic_uint *word, unsigned value, int64_t limit_ms)
{
	const struct timespec limit = { .tv_sec = limit_ms / 1000,
					.tv_nsec = (limit_ms % 1000) * 1000000 };

	(void)syscall(SYS_futex, word, FUTEX_WAIT, value, limit_ms ? &limit : NULL, NULL, 0);
}

static void wake(const atomic_uint *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

unsigned fw_board_rings(const struct fw_board *board)
{
	return atomic_load(&board->bell->rings);
}

void fw_board_await_ring(const struct fw_board *board, unsigned seen)
{
	while (fw_board_rings(board) == seen)
		wait_while(&board->bell->rings, seen, 0);
}

void fw_board_answer(struct fw_board *board, unsigned rings)
{
	atomic_store(&board->page->answered, rings);
	wake(&board->page->answered);
}

bool fw_board_ring(struct fw_board *board)
{
	unsigned mine = atomic_fetch_add(&board->bell->rings, 1) + 1;
	int64_t until = fw_steady_ms() + FW_BOARD_ANSWER_MS;

	wake(&board->bell->rings);
	for (;;) {
		unsigned answered = atomic_load(&board->page->answered);
		int64_t left = until - fw_steady_ms();

		if ((int)(answered - mine) >= 0)
			return true;
		if (left <= 0)
			return false;
		wait_while(&board->page->answered, answered, left);
	}
}

/* ---- the board ---- */

void fw_board_publish(struct fw_board *board, const struct fw_board_facts *facts,
		      const char *changes)
{
	struct page *page = board->page;
	/* A keeper that was killed may have left it odd. */
	unsigned sequence = atomic_load(&page->sequence) | 1;

	atomic_store(&page->sequence, sequence);
	atomic_thread_fence(memory_order_seq_cst);
	page->magic = MAGIC;
	page->facts = *facts;
	if (facts->changes)
		memcpy(page->changes, changes, facts->changes);
	atomic_thread_fence(memory_order_seq_cst);
	atomic_store(&page->sequence, sequence + 1);
}

bool fw_board_read(const struct fw_board *board, struct fw_board_facts *ret_facts,
		   char *ret_changes)
{
	const struct page *page = board->page;

	for (int i = 0; i < READ_ATTEMPTS; i++) {
		unsigned sequence = atomic_load(&page->sequence);
		const struct timespec pause = { .tv_nsec = 100000 };

		if (sequence & 1) {
			(void)nanosleep(&pause, NULL);
			continue;
		}
		*ret_facts = page->facts;
		if (page->magic != MAGIC || ret_facts->changes > sizeof page->changes)
			return false;
		memcpy(ret_changes, page->changes, ret_facts->changes);
		atomic_thread_fence(memory_order_seq_cst);
		if (atomic_load(&page->sequence) == sequence)
			return !ret_facts->changes || !ret_changes[ret_facts->changes - 1];
	}
	return false;
}

const char *fw_board_state_name(unsigned state)
{
	static const char *const names[] = {
		[FW_BOARD_NONE] = "none",           [FW_BOARD_BUILDING] = "building",
		[FW_BOARD_READY] = "ready",         [FW_BOARD_SMALL] = "small",
		[FW_BOARD_UNWATCHED] = "unwatched", [FW_BOARD_FAILED] = "failed",
	};

	return state < sizeof names / sizeof *names ? names[state] : "none";
}
