/*
 * pg.h - connections to PostgreSQL: a bounded pool per URL, statements with a deadline.
 *
 * libpq's blocking functions can wait for as long as a stopped server does not answer, so
 * none of them is used: every wait here is a poll() that ends with the deadline of the
 * operation. A connection on which an operation failed is closed; the next operation
 * makes a new one, to the next host of the URL if the first is away.
 *
 * The one rule to remember: a connection belongs to one thread, from fw_pg_take() to
 * fw_pg_give().
 */
#ifndef FW_STORE_PG_H
#define FW_STORE_PG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "base/buf.h"
#include "store/libpq.h"

/* The version of the tables that this program was written for (pg_schema.c). */
enum { FW_PG_SCHEMA_VERSION = 1 };

struct fw_pg_pool;

struct fw_pg {
	PGconn *conn;
	struct fw_pg_pool *pool;
	struct fw_pg *next; /* in the pool's list of idle connections */
	size_t host;        /* index in the list of hosts */
	int64_t deadline_ms;
	bool is_for_rows; /* the current operation; decides which error is raised */
	bool is_silent;   /* the host did not answer within the deadline */
};

/* Statements that every connection prepares once (pg_statement.c). */
enum fw_pg_statement {
	FW_PG_LOCK_ROWS,
	FW_PG_NEXT_VERSION,
	FW_PG_READ_ROWS,
	FW_PG_PUT_ROW,
	FW_PG_ADD_ROW,
	FW_PG_DELETE_ROW,
	FW_PG_INSERT_INCIDENTS,
	FW_PG_STATEMENT_COUNT
};

extern const char *const fw_pg_statements[FW_PG_STATEMENT_COUNT];

/* ---- pool (pg_pool.c) ---------------------------------------------------- */

/* What a pool's connections are for. */
enum fw_pg_use {
	FW_PG_RUN,    /* tables must exist; statements have a time limit */
	FW_PG_MIGRATE /* neither */
};

/* The pool of a URL, shared by all stores of the process. Raises internal.unsupported,
 * internal.out_of_memory, input.invalid_value. Nothing is connected yet. */
FW_NODISCARD fw_error *fw_pg_pool_get(const char *url, enum fw_pg_use use,
				      struct fw_pg_pool **ret_pool);
/* NULL is a no-op. Idle connections are closed with the last user. */
void fw_pg_pool_unref(struct fw_pg_pool *pool);

/* A connection for an operation that ends within `limit_ms`. If the engine was away a
 * moment ago, this fails at once. Raises like the operation: `is_for_rows` decides. */
FW_NODISCARD fw_error *fw_pg_take(struct fw_pg_pool *pool, int64_t limit_ms, bool is_for_rows,
				  struct fw_pg **ret_pg);
/* `is_usable`: the operation is complete. A host that did not answer is passed over for
 * FW_LIMIT_PG_SILENT_MS, and idle connections to it are closed. NULL is a no-op. */
void fw_pg_give(struct fw_pg *pg, bool is_usable);

/* ---- errors (pg_error.c) ------------------------------------------------- */

/* incident.store_failed or dependency.unavailable. `reason` is copied, without the
 * password of the URL. `state` is an SQLSTATE, or NULL. */
FW_NODISCARD fw_error *fw_pg_raise(fw_src at, const struct fw_pg_pool *pool, bool is_for_rows,
				   const char *reason, const char *state);
/* From the connection, or from a result that is an error. */
FW_NODISCARD fw_error *fw_pg_failed(fw_src at, struct fw_pg *pg, const PGresult *result);
/* Replaces each occurrence of `secret` in `text`. NULL or "": nothing. */
void fw_pg_mask(char *text, const char *secret);

/* ---- statements (pg_query.c) --------------------------------------------- */

/* Waits until the socket is readable, or writable too; until the deadline. */
FW_NODISCARD fw_error *fw_pg_wait(struct fw_pg *pg, bool for_writing);

/* A pipeline: begin, send statements, sync, then receive one result for each. */
FW_NODISCARD fw_error *fw_pg_begin(struct fw_pg *pg);
/* Without a result; for a new connection. */
FW_NODISCARD fw_error *fw_pg_prepare_all(struct fw_pg *pg);
FW_NODISCARD fw_error *fw_pg_send(struct fw_pg *pg, const char *sql, int count,
				  const char *const *values);
FW_NODISCARD fw_error *fw_pg_send_prepared(struct fw_pg *pg, enum fw_pg_statement which,
					   int count, const char *const *values);
FW_NODISCARD fw_error *fw_pg_sync(struct fw_pg *pg);
/* The result of the next statement, for PQclear(); NULL `ret_result`: not wanted. */
FW_NODISCARD fw_error *fw_pg_receive(struct fw_pg *pg, PGresult **ret_result);
/* The result of fw_pg_sync(), the last one. Ends the pipeline. */
FW_NODISCARD fw_error *fw_pg_end(struct fw_pg *pg);

/* One or more statements without parameters, outside of a pipeline. The result of the
 * last one. */
FW_NODISCARD fw_error *fw_pg_execute(struct fw_pg *pg, const char *sql, PGresult **ret_result);

/* One statement, outside of a pipeline; `found` gets the rows as they arrive. */
typedef fw_error *fw_pg_row_fn(void *ctx, const PGresult *row);
FW_NODISCARD fw_error *fw_pg_query(struct fw_pg *pg, const char *sql, int count,
				   const char *const *values, fw_pg_row_fn *found, void *ctx);

/* An array as PostgreSQL reads it: "{", the items, "}". */
void fw_pg_item(struct fw_buf *array, const char *text);
void fw_pg_item_number(struct fw_buf *array, int64_t number);
void fw_pg_array_end(struct fw_buf *array);

/* The text of a column; NULL for NULL. */
const char *fw_pg_text(const PGresult *result, int row, int column);
int64_t fw_pg_number(const PGresult *result, int row, int column);

/* ---- URL (pg_url.c) ------------------------------------------------------- */

enum { FW_PG_HOSTS_MAX = 16, FW_PG_KEYWORDS_MAX = 64 };

struct fw_pg_url {
	PQconninfoOption *options; /* of libpq */
	char *lists;               /* copies of the lists of hosts, cut at the commas */
	const char *hosts[FW_PG_HOSTS_MAX];
	const char *addresses[FW_PG_HOSTS_MAX];
	const char *ports[FW_PG_HOSTS_MAX];
	size_t count; /* at least 1 */
	const char *password;
};

/* Raises input.invalid_value, whose text has nothing of the URL. */
FW_NODISCARD fw_error *fw_pg_url_read(const char *text, struct fw_pg_url *ret_url);
void fw_pg_url_clear(struct fw_pg_url *url);
/* Keywords and values for a connection to one of the hosts; borrowed from `url`. */
void fw_pg_url_keywords(const struct fw_pg_url *url, size_t host,
			const char *ret_keywords[FW_PG_KEYWORDS_MAX],
			const char *ret_values[FW_PG_KEYWORDS_MAX]);

#endif
