/*
 * book.h - reservations in a store, shared by every server that uses it.
 *
 * Each reservation is a row. One more row is a counter that every change increments and
 * that must have the value that the change was decided on, so two servers cannot reserve
 * the same file: the second one is refused, reads what has changed, and decides again.
 * A log row per change names the reservations that it concerns, so that a server reads
 * those only, and keeps the rest in memory (index.h). A check of unchanged reservations
 * reads one row, however many there are.
 *
 * Every function is synchronous and may wait for a disk, as those of store.h.
 *
 * The one rule to remember: a book belongs to one thread at a time, and always gets the
 * same store.
 */
#ifndef FW_TOOLS_RESERVE_BOOK_H
#define FW_TOOLS_RESERVE_BOOK_H

#include "base/buf.h"
#include "store/store.h"
#include "tools/reserve/index.h"

enum {
	FW_RESERVE_PATTERNS = 64,       /* in one request */
	FW_RESERVE_LISTED = 100,        /* conflicts that are listed; more are counted */
	FW_RESERVE_COUNTED = 1000,      /* conflicts of a pattern after which counting stops */
	FW_RESERVE_AGENT_MAX = 4096,    /* reservations of one agent */
	FW_RESERVE_ID_SIZE = 24,        /* "res_" and random characters */
	FW_RESERVE_TTL_MS = 15 * 60000, /* by default */
	FW_RESERVE_TTL_MAX_MS = 24 * 3600 * 1000
};

struct fw_reserve_book;

/* `now_ms` is the wall clock of the store; NULL: the system's. NULL: no memory. */
struct fw_reserve_book *fw_reserve_book_new(int64_t (*now_ms)(void));
/* NULL is a no-op. */
void fw_reserve_book_free(struct fw_reserve_book *book);

/* What an agent asks for. Texts are borrowed. */
struct fw_reserve_request {
	const char *agent; /* NULL: not known, and no reservation is the caller's own */
	const char *root;  /* an absolute path without a slash at the end */
	const char *const *patterns;
	size_t count;
	const char *reason;
	int64_t ttl_ms;
	bool is_exclusive;
	bool is_paths; /* the patterns are paths, for fw_reserve_check() */
};

/* Conflicts as a JSON array of {agent_id, pattern, held_by, reservation_id, expires_at}. */
struct fw_reserve_conflicts {
	struct fw_buf json;
	size_t count;
	int64_t wait_ms; /* until the last of them expires */
};
void fw_reserve_conflicts_init(struct fw_reserve_conflicts *conflicts);
void fw_reserve_conflicts_clear(struct fw_reserve_conflicts *conflicts);
/* reservation.conflict, which may be repeated once they have expired. NULL if there are
 * none. */
FW_NODISCARD fw_error *fw_reserve_raise(const struct fw_reserve_conflicts *conflicts);

/* All functions below raise dependency.unavailable (the store cannot be used),
 * internal.out_of_memory, and those with patterns input.invalid_value. */

/*
 * Reserves all patterns, or none if one of them conflicts. A pattern that the agent has
 * reserved already keeps its id and gets the new reason, kind and time. `ret_ids` has room for
 * `count` ids. Also raises reservation.conflict, server.overloaded.
 */
FW_NODISCARD fw_error *fw_reserve_take(struct fw_reserve_book *book, struct fw_store *store,
				       const struct fw_reserve_request *request,
				       char (*ret_ids)[FW_RESERVE_ID_SIZE],
				       int64_t *ret_expires_ms);

/* What would conflict. With `is_paths`, what would conflict with writing these files: an
 * exclusive claim, or a shared one if the agent has reserved the file itself. */
FW_NODISCARD fw_error *fw_reserve_check(struct fw_reserve_book *book, struct fw_store *store,
					const struct fw_reserve_request *request,
					struct fw_reserve_conflicts *conflicts);

/* Releases all of these ids, or none. They must belong to `agent` (NULL: to anybody). Raises
 * reservation.not_found. At most FW_RESERVE_PATTERNS. */
FW_NODISCARD fw_error *fw_reserve_release(struct fw_reserve_book *book, struct fw_store *store,
					  const char *agent, const char *const *ids,
					  size_t count);

/* Releases all reservations of the agent; appends their ids to `ids`, a JSON array. */
FW_NODISCARD fw_error *fw_reserve_release_all(struct fw_reserve_book *book,
					      struct fw_store *store, const char *agent,
					      struct fw_buf *ids);

/* Those of the agent (NULL: of all) that have not expired. */
FW_NODISCARD fw_error *fw_reserve_list(struct fw_reserve_book *book, struct fw_store *store,
				       const char *agent, fw_reserve_found_fn *found,
				       void *ctx);

/* Appends {"reservation_id","agent_id","pattern","reason","exclusive","created_at",
 * "expires_at"}. */
void fw_reserve_put(struct fw_buf *out, const struct fw_reservation *reservation);

#endif
