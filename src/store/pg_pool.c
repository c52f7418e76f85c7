/*
 * pg_pool.c - a bounded pool of connections per URL.
 *
 * The number of a server's connections does not depend on the number of its stores or
 * calls, so an operator can compute max_connections from the number of replicas. When an
 * attempt to connect has failed, further attempts wait a moment: otherwise each of the
 * server's threads would wait for the same dead host in turn.
 */
#include "store/pg_pool.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <faultwire/raise.h>

#include "base/clock.h"
#include "base/limits_store.h"
#include "base/mem.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fw_pg_pool *pools; /* under the lock */

static const char silent[] = "the server did not answer in time";

/* ---- a connection -------------------------------------------------------- */

/* A server's notices are not for our standard error. */
static void ignore_notice(void *ctx, const char *message)
{
	(void)ctx;
	(void)message;
}

static fw_error *poll_connect(struct fw_pg *pg)
{
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	while (status != PGRES_POLLING_OK) {
		FW_TRY(fw_pg_wait(pg, status == PGRES_POLLING_WRITING));
		status = PQconnectPoll(pg->conn);
		if (status == PGRES_POLLING_FAILED)
			return fw_pg_failed(FW_HERE, pg, NULL);
	}
	return NULL;
}

/* Limits of the session, and the version of its tables: one round trip. */
static fw_error *set_up(struct fw_pg *pg)
{
	char sql[512];
	PGresult *result = NULL;
	fw_error *err;
	long long version, oldest;

	if (pg->pool->use == FW_PG_MIGRATE)
		return fw_pg_execute(pg, "SET client_min_messages=warning", NULL);
	(void)snprintf(sql, sizeof sql,
		       "SET statement_timeout=%d; SET lock_timeout=%d;"
		       "SET idle_in_transaction_session_timeout=%d;"
		       "SET client_min_messages=warning;"
		       "SELECT coalesce(max(version),0),coalesce(max(oldest_program),0)"
		       " FROM faultwire.migration",
		       FW_LIMIT_PG_STATEMENT_MS, FW_LIMIT_PG_LOCK_MS,
		       2 * FW_LIMIT_PG_STATEMENT_MS);
	err = fw_pg_execute(pg, sql, &result);
	if (err) {
		fw_error_set_hint(err, "If the tables are missing, make them: faultwire store "
				       "migrate URL. If the role may not use them, see "
				       "docs/store.md for its privileges.");
		return err;
	}
	version = fw_pg_number(result, 0, 0);
	oldest = fw_pg_number(result, 0, 1);
	PQclear(result);
	if (version >= FW_PG_SCHEMA_VERSION && oldest <= FW_PG_SCHEMA_VERSION)
		return fw_pg_prepare_all(pg);
	(void)snprintf(sql, sizeof sql,
		       "its tables have version %lld, this program needs version %d%s", version,
		       FW_PG_SCHEMA_VERSION,
		       version < FW_PG_SCHEMA_VERSION ? ": run faultwire store migrate" : "");
	return fw_pg_raise(FW_HERE, pg->pool, pg->is_for_rows, sql, NULL);
}

static fw_error *connect_host(struct fw_pg *pg)
{
	const char *keywords[FW_PG_KEYWORDS_MAX], *values[FW_PG_KEYWORDS_MAX];

	fw_pg_url_keywords(&pg->pool->url, pg->host, keywords, values);
	pg->conn = PQconnectStartParams(keywords, values, 0);
	if (!pg->conn)
		return fw_raise_internal_out_of_memory();
	if (PQstatus(pg->conn) == CONNECTION_BAD)
		return fw_pg_failed(FW_HERE, pg, NULL);
	(void)PQsetNoticeProcessor(pg->conn, ignore_notice, NULL);
	FW_TRY(poll_connect(pg));
	if (PQsetnonblocking(pg->conn, 1) != 0)
		return fw_pg_failed(FW_HERE, pg, NULL);
	return set_up(pg);
}

static void disconnect(struct fw_pg *pg)
{
	/* In a forked child the socket is shared with the parent: a farewell on it would
	 * end the parent's session. The memory is given up. */
	if (pg->conn && pg->pool->process == getpid())
		PQfinish(pg->conn);
	else if (pg->conn && PQsocket(pg->conn) >= 0)
		(void)close(PQsocket(pg->conn));
	pg->conn = NULL;
}

/* Calls that wait behind one that a host left without an answer must not wait for it in
 * turn. */
static void pass_over(struct fw_pg_pool *pool, size_t host)
{
	(void)pthread_mutex_lock(&pool->lock);
	pool->silent_ms[host] = fw_steady_ms() + FW_LIMIT_PG_SILENT_MS;
	(void)pthread_mutex_unlock(&pool->lock);
}

static bool is_passed_over(struct fw_pg_pool *pool, size_t host)
{
	bool is;

	(void)pthread_mutex_lock(&pool->lock);
	is = pool->silent_ms[host] > fw_steady_ms();
	(void)pthread_mutex_unlock(&pool->lock);
	return is;
}

/* `share_ms`: a silent host must leave time for the next one. */
static fw_error *try_host(struct fw_pg *pg, size_t host, int64_t share_ms)
{
	const int64_t deadline_ms = pg->deadline_ms;
	fw_error *err;

	if (is_passed_over(pg->pool, host))
		return fw_pg_raise(FW_HERE, pg->pool, pg->is_for_rows, silent, NULL);
	if (share_ms > FW_LIMIT_PG_CONNECT_MS)
		share_ms = FW_LIMIT_PG_CONNECT_MS;
	pg->host = host;
	pg->deadline_ms = fw_steady_ms() + share_ms;
	pg->is_silent = false;
	err = connect_host(pg);
	pg->deadline_ms = deadline_ms;
	if (!err)
		return NULL;
	if (pg->is_silent)
		pass_over(pg->pool, host);
	disconnect(pg);
	return err;
}

/* Tries each host once, from the one that worked last. The first error is returned. */
static fw_error *connect_any(struct fw_pg *pg, size_t first)
{
	const size_t count = pg->pool->url.count;
	fw_error *err = NULL;

	for (size_t i = 0; i < count; i++) {
		int64_t left_ms = pg->deadline_ms - fw_steady_ms();
		fw_error *failure =
			try_host(pg, (first + i) % count, left_ms / (int64_t)(count - i));

		if (!failure) {
			fw_error_free(err);
			return NULL;
		}
		if (err)
			fw_error_free(failure);
		else
			err = failure;
	}
	return err;
}

/* ---- taking and giving ---------------------------------------------------- */

/* Nothing may arrive on an idle connection but its end. */
static bool is_alive(struct fw_pg *pg)
{
	struct pollfd at = { .fd = PQsocket(pg->conn), .events = POLLIN };

	return poll(&at, 1, 0) == 0;
}

static struct fw_pg *pop_idle(struct fw_pg_pool *pool)
{
	struct fw_pg *pg;

	while ((pg = pool->idle) != NULL) {
		pool->idle = pg->next;
		if (is_alive(pg))
			return pg;
		disconnect(pg);
		fw__release(pg);
		pool->count--;
	}
	return NULL;
}

/* Locked. Waits for a connection that another thread gives back. False: timed out. */
static bool wait_for_free(struct fw_pg_pool *pool, int64_t deadline_ms)
{
	struct timespec until = { .tv_sec = (time_t)(deadline_ms / 1000),
				  .tv_nsec = (long)(deadline_ms % 1000) * 1000000 };

	while (!pool->idle && pool->count >= FW_LIMIT_PG_CONNECTIONS)
		if (pthread_cond_timedwait(&pool->given, &pool->lock, &until) != 0)
			return false;
	return true;
}

static fw_error *note_failure(struct fw_pg_pool *pool, fw_error *err)
{
	fw_cause cause = { .message = NULL };

	(void)fw_error_cause(err, 0, &cause);
	(void)pthread_mutex_lock(&pool->lock);
	pool->count--;
	pool->away_ms = fw_steady_ms() + FW_LIMIT_PG_RETRY_MS;
	(void)snprintf(pool->away_why, sizeof pool->away_why, "%s",
		       cause.message ? cause.message : fw_error_message(err));
	(void)pthread_cond_signal(&pool->given);
	(void)pthread_mutex_unlock(&pool->lock);
	return err;
}

/* Locked. Idle connections to a silent host would be waited for in turn. */
static void close_idle(struct fw_pg_pool *pool, size_t host)
{
	struct fw_pg **at = &pool->idle;

	while (*at) {
		struct fw_pg *pg = *at;

		if (pg->host != host) {
			at = &pg->next;
			continue;
		}
		*at = pg->next;
		disconnect(pg);
		fw__release(pg);
		pool->count--;
	}
}

static fw_error *connect_new(struct fw_pg_pool *pool, struct fw_pg *pg)
{
	fw_error *err = connect_any(pg, pool->host);

	if (err) {
		fw__release(pg);
		return note_failure(pool, err);
	}
	(void)pthread_mutex_lock(&pool->lock);
	pool->host = pg->host;
	pool->away_ms = 0;
	(void)pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Locked; unlocks. An idle connection, or a new one that is not connected yet. */
static fw_error *find(struct fw_pg_pool *pool, int64_t deadline_ms, bool is_for_rows,
		      struct fw_pg **ret_pg)
{
	struct fw_pg *pg = NULL;
	fw_error *err = NULL;
	char why[256];

	if (!wait_for_free(pool, deadline_ms))
		err = fw_pg_raise(FW_HERE, pool, is_for_rows, "all connections are in use",
				  NULL);
	else
		pg = pop_idle(pool);
	if (!err && !pg && pool->away_ms > fw_steady_ms()) {
		memcpy(why, pool->away_why, sizeof why);
		err = fw_pg_raise(FW_HERE, pool, is_for_rows, why, NULL);
	}
	if (!err && !pg) {
		pg = fw__allocate(sizeof *pg);
		if (!pg)
			err = fw_raise_internal_out_of_memory();
		else
			*pg = (struct fw_pg){ .pool = pool };
		pool->count += pg != NULL;
	}
	(void)pthread_mutex_unlock(&pool->lock);
	*ret_pg = pg;
	return err;
}

fw_error *fw_pg_take(struct fw_pg_pool *pool, int64_t limit_ms, bool is_for_rows,
		     struct fw_pg **ret_pg)
{
	const int64_t deadline_ms = fw_steady_ms() + limit_ms;
	struct fw_pg *pg = NULL;

	(void)pthread_mutex_lock(&pool->lock);
	FW_TRY(find(pool, deadline_ms, is_for_rows, &pg));
	pg->next = NULL;
	pg->deadline_ms = deadline_ms;
	pg->is_for_rows = is_for_rows;
	pg->is_silent = false;
	if (!pg->conn)
		FW_TRY(connect_new(pool, pg));
	*ret_pg = pg;
	return NULL;
}

void fw_pg_give(struct fw_pg *pg, bool is_usable)
{
	struct fw_pg_pool *pool;

	if (!pg)
		return;
	pool = pg->pool;
	if (!is_usable && pg->is_silent)
		pass_over(pool, pg->host);
	if (!is_usable)
		disconnect(pg);
	(void)pthread_mutex_lock(&pool->lock);
	if (is_usable) {
		pg->next = pool->idle;
		pool->idle = pg;
	} else {
		pool->count--;
		if (pg->is_silent)
			close_idle(pool, pg->host);
	}
	(void)pthread_cond_broadcast(&pool->given);
	(void)pthread_mutex_unlock(&pool->lock);
	if (!is_usable)
		fw__release(pg);
}

/* ---- lifecycle ------------------------------------------------------------ */

static void init_lock(struct fw_pg_pool *pool)
{
	pthread_condattr_t steady;

	(void)pthread_mutex_init(&pool->lock, NULL);
	(void)pthread_condattr_init(&steady);
	(void)pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&pool->given, &steady);
	(void)pthread_condattr_destroy(&steady);
}

static void free_pool(struct fw_pg_pool *pool)
{
	while (pool->idle) {
		struct fw_pg *pg = pool->idle;

		pool->idle = pg->next;
		disconnect(pg);
		fw__release(pg);
	}
	(void)pthread_mutex_destroy(&pool->lock);
	(void)pthread_cond_destroy(&pool->given);
	fw_pg_url_clear(&pool->url);
	if (pool->text)
		explicit_bzero(pool->text, strlen(pool->text));
	fw__release(pool->text);
	fw__release(pool);
}

static fw_error *new_pool(const char *url, enum fw_pg_use use, struct fw_pg_pool **ret_pool)
{
	struct fw_pg_pool *pool = fw__allocate(sizeof *pool);
	fw_error *err = NULL;

	if (!pool)
		return fw_raise_internal_out_of_memory();
	memset(pool, 0, sizeof *pool);
	pool->use = use;
	pool->users = 1;
	pool->process = getpid();
	init_lock(pool);
	pool->text = fw_strdup(url);
	err = pool->text ? fw_pg_url_read(url, &pool->url) : fw_raise_internal_out_of_memory();
	if (err)
		free_pool(pool);
	else
		*ret_pool = pool;
	return err;
}

fw_error *fw_pg_pool_get(const char *url, enum fw_pg_use use, struct fw_pg_pool **ret_pool)
{
	struct fw_pg_pool *pool;
	fw_error *err = NULL;

	(void)pthread_mutex_lock(&lock);
	for (pool = pools; pool; pool = pool->next)
		if (pool->use == use && pool->process == getpid() &&
		    strcmp(pool->text, url) == 0)
			break;
	if (pool) {
		pool->users++;
	} else {
		err = new_pool(url, use, &pool);
		if (pool) {
			pool->next = pools;
			pools = pool;
		}
	}
	(void)pthread_mutex_unlock(&lock);
	if (!err)
		*ret_pool = pool;
	return err;
}

void fw_pg_pool_unref(struct fw_pg_pool *pool)
{
	bool is_last;

	if (!pool)
		return;
	(void)pthread_mutex_lock(&lock);
	is_last = --pool->users == 0;
	for (struct fw_pg_pool **at = &pools; is_last && *at; at = &(*at)->next)
		if (*at == pool) {
			*at = pool->next;
			break;
		}
	(void)pthread_mutex_unlock(&lock);
	if (is_last)
		free_pool(pool);
}
