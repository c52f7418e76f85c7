/*
 * pg_query.c - statements with a deadline. See pg.h.
 */
#include "store/pg.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

/* ---- waiting -------------------------------------------------------------- */

fw_error *fw_pg_wait(struct fw_pg *pg, bool for_writing)
{
	struct pollfd at = { .fd = PQsocket(pg->conn),
			     .events = (short)(for_writing ? POLLOUT | POLLIN : POLLIN) };
	int count;

	if (at.fd < 0)
		return fw_pg_failed(FW_HERE, pg, NULL);
	do {
		int64_t left_ms = pg->deadline_ms - fw_steady_ms();

		count = left_ms > 0 ? poll(&at, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX)
				    : 0;
	} while (count < 0 && errno == EINTR);
	if (count != 0)
		return NULL;
	pg->is_silent = true;
	return fw_pg_raise(FW_HERE, pg->pool, pg->is_for_rows,
			   "the server did not answer in time", NULL);
}

static fw_error *consume(struct fw_pg *pg)
{
	return PQconsumeInput(pg->conn) ? NULL : fw_pg_failed(FW_HERE, pg, NULL);
}

/* The server may wait for its answers to be read before it reads more. */
static fw_error *flush(struct fw_pg *pg)
{
	int left;

	while ((left = PQflush(pg->conn)) > 0) {
		FW_TRY(fw_pg_wait(pg, true));
		FW_TRY(consume(pg));
	}
	return left == 0 ? NULL : fw_pg_failed(FW_HERE, pg, NULL);
}

/* NULL `ret_result` at the end of a statement. */
static fw_error *next_result(struct fw_pg *pg, PGresult **ret_result)
{
	FW_TRY(flush(pg));
	while (PQisBusy(pg->conn)) {
		FW_TRY(fw_pg_wait(pg, false));
		FW_TRY(consume(pg));
	}
	*ret_result = PQgetResult(pg->conn);
	return NULL;
}

static bool is_success(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
	       status == PGRES_SINGLE_TUPLE || status == PGRES_PIPELINE_SYNC ||
	       status == PGRES_EMPTY_QUERY;
}

/* ---- pipelines ------------------------------------------------------------ */

static fw_error *sent(struct fw_pg *pg, int is_sent)
{
	return is_sent ? NULL : fw_pg_failed(FW_HERE, pg, NULL);
}

fw_error *fw_pg_begin(struct fw_pg *pg)
{
	return sent(pg, PQenterPipelineMode(pg->conn));
}

static void name_of(enum fw_pg_statement which, char ret_name[8])
{
	(void)snprintf(ret_name, 8, "fw%d", (int)which % 100);
}

fw_error *fw_pg_prepare_all(struct fw_pg *pg)
{
	char name[8];

	FW_TRY(fw_pg_begin(pg));
	for (int i = 0; i < FW_PG_STATEMENT_COUNT; i++) {
		name_of((enum fw_pg_statement)i, name);
		FW_TRY(sent(pg, PQsendPrepare(pg->conn, name, fw_pg_statements[i], 0, NULL)));
	}
	FW_TRY(fw_pg_sync(pg));
	for (int i = 0; i < FW_PG_STATEMENT_COUNT; i++)
		FW_TRY(fw_pg_receive(pg, NULL));
	return fw_pg_end(pg);
}

fw_error *fw_pg_send(struct fw_pg *pg, const char *sql, int count, const char *const *values)
{
	return sent(pg, PQsendQueryParams(pg->conn, sql, count, NULL, values, NULL, NULL, 0));
}

fw_error *fw_pg_send_prepared(struct fw_pg *pg, enum fw_pg_statement which, int count,
			      const char *const *values)
{
	char name[8];

	name_of(which, name);
	return sent(pg, PQsendQueryPrepared(pg->conn, name, count, values, NULL, NULL, 0));
}

fw_error *fw_pg_sync(struct fw_pg *pg)
{
	FW_TRY(sent(pg, PQpipelineSync(pg->conn)));
	return flush(pg);
}

fw_error *fw_pg_receive(struct fw_pg *pg, PGresult **ret_result)
{
	PGresult *result = NULL, *end = NULL;
	fw_error *err;

	FW_TRY(next_result(pg, &result));
	if (!result || !is_success(result)) {
		err = fw_pg_failed(FW_HERE, pg, result);
		PQclear(result);
		return err;
	}
	err = next_result(pg, &end);
	PQclear(end);
	if (err || !ret_result)
		PQclear(result);
	else
		*ret_result = result;
	return err;
}

fw_error *fw_pg_end(struct fw_pg *pg)
{
	PGresult *result = NULL;
	fw_error *err;

	FW_TRY(next_result(pg, &result));
	err = result && PQresultStatus(result) == PGRES_PIPELINE_SYNC
		      ? NULL
		      : fw_pg_failed(FW_HERE, pg, result);
	PQclear(result);
	return err ? err : sent(pg, PQexitPipelineMode(pg->conn));
}

/* ---- single statements ----------------------------------------------------- */

fw_error *fw_pg_execute(struct fw_pg *pg, const char *sql, PGresult **ret_result)
{
	PGresult *result = NULL, *last = NULL;
	fw_error *err = NULL, *failure;

	FW_TRY(sent(pg, PQsendQuery(pg->conn, sql)));
	/* Up to the end, also after an error, which is the last result then. */
	while (!(failure = next_result(pg, &result)) && result) {
		PQclear(last);
		last = result;
		if (!err && !is_success(result))
			err = fw_pg_failed(FW_HERE, pg, result);
	}
	if (err)
		fw_error_free(failure);
	else
		err = failure;
	if (err || !ret_result)
		PQclear(last);
	else
		*ret_result = last;
	return err;
}

fw_error *fw_pg_query(struct fw_pg *pg, const char *sql, int count, const char *const *values,
		      fw_pg_row_fn *found, void *ctx)
{
	PGresult *result = NULL;
	fw_error *err = NULL;

	FW_TRY(fw_pg_send(pg, sql, count, values));
	FW_TRY(sent(pg, PQsetSingleRowMode(pg->conn)));
	while (!err && !(err = next_result(pg, &result)) && result) {
		if (!is_success(result))
			err = fw_pg_failed(FW_HERE, pg, result);
		else if (found && PQresultStatus(result) == PGRES_SINGLE_TUPLE)
			err = found(ctx, result);
		PQclear(result);
	}
	return err;
}

/* ---- values ---------------------------------------------------------------- */

static void begin_item(struct fw_buf *array)
{
	fw_buf_put(array, array->len ? "," : "{", 1);
}

static void put_escaped(struct fw_buf *array, const char *text, size_t len)
{
	fw_buf_put(array, "\"", 1);
	while (len) {
		size_t plain = 0;

		while (plain < len && text[plain] != '"' && text[plain] != '\\')
			plain++;
		fw_buf_put(array, text, plain);
		if (plain < len) {
			fw_buf_put(array, "\\", 1);
			fw_buf_put(array, text + plain++, 1);
		}
		text += plain;
		len -= plain;
	}
	fw_buf_put(array, "\"", 1);
}

/* The server accepts valid UTF-8 only, and texts come from peers. */
void fw_pg_item(struct fw_buf *array, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	char *repaired;

	begin_item(array);
	if (!text) {
		fw_buf_put(array, "NULL", 4);
		return;
	}
	if (fw_utf8_valid(text, len) == len) {
		put_escaped(array, text, len);
		return;
	}
	repaired = fw__allocate(3 * len + 1);
	if (!repaired) {
		array->state = FW_BUF_NO_MEMORY;
		return;
	}
	put_escaped(array, repaired, fw_utf8_repair(repaired, 3 * len + 1, text, len));
	fw__release(repaired);
}

void fw_pg_item_number(struct fw_buf *array, int64_t number)
{
	begin_item(array);
	fw_buf_i64(array, number);
}

void fw_pg_array_end(struct fw_buf *array)
{
	if (!array->len)
		fw_buf_put(array, "{", 1);
	fw_buf_put(array, "}", 1);
}

const char *fw_pg_text(const PGresult *result, int row, int column)
{
	return PQgetisnull(result, row, column) ? NULL : PQgetvalue(result, row, column);
}

int64_t fw_pg_number(const PGresult *result, int row, int column)
{
	return strtoll(PQgetvalue(result, row, column), NULL, 10);
}
