/*
 * store_pg_read.c - incidents of a PostgreSQL store, read.
 */
#include "store/store_pg.h"

#include <stdio.h>
#include <string.h>

#include "base/limits_store.h"
#include "base/utf8.h"

#define COLUMNS                                                                          \
	"id,time,duration,incident.code,severity,status,incident.tool,operation,client," \
	"session,trace,message,peer"
/* What is older than this is deleted, though its day may still be there. */
#define HORIZON "(SELECT number FROM faultwire.setting WHERE name='horizon')"

enum { FULL_COLUMN = 13, NUMBER_SIZE = 24 };

struct reading {
	fw_incident_fn *found;
	void *ctx;
	bool is_full;
	bool is_walk;
};

static fw_error *pass_incident(void *ctx, const PGresult *row)
{
	const struct reading *reading = ctx;
	struct fw_incident incident = {
		.id = fw_pg_text(row, 0, 0),
		.time_ms = fw_pg_number(row, 0, 1),
		.duration_us = fw_pg_number(row, 0, 2),
		.code = fw_pg_text(row, 0, 3),
		.severity = fw_pg_text(row, 0, 4),
		.status = (int)fw_pg_number(row, 0, 5),
		.tool = fw_pg_text(row, 0, 6),
		.operation = fw_pg_text(row, 0, 7),
		.client = fw_pg_text(row, 0, 8),
		.session = fw_pg_text(row, 0, 9),
		.trace = fw_pg_text(row, 0, 10),
		.message = fw_pg_text(row, 0, 11),
		.peer = fw_pg_text(row, 0, 12),
	};

	if (reading->is_full) {
		incident.error = fw_pg_text(row, 0, FULL_COLUMN);
		incident.detail = fw_pg_text(row, 0, FULL_COLUMN + 1);
		incident.first_ms = fw_pg_number(row, 0, FULL_COLUMN + 2);
		incident.last_ms = fw_pg_number(row, 0, FULL_COLUMN + 3);
		incident.count = (uint64_t)fw_pg_number(row, 0, FULL_COLUMN + 4);
	}
	if (reading->is_walk) {
		incident.error = fw_pg_text(row, 0, FULL_COLUMN);
		incident.detail = fw_pg_text(row, 0, FULL_COLUMN + 1);
		incident.counted_as = fw_pg_text(row, 0, FULL_COLUMN + 2);
		incident.is_unauthenticated = fw_pg_number(row, 0, FULL_COLUMN + 3) != 0;
		incident.number = (uint64_t)fw_pg_number(row, 0, FULL_COLUMN + 4);
	}
	reading->found(reading->ctx, &incident);
	return NULL;
}

static fw_error *query(struct fw_store *base, const char *sql, int count,
		       const char *const *values, struct reading *reading)
{
	struct fw_pg *pg = NULL;
	fw_error *err;

	for (int i = 0; i < count; i++)
		if (values[i] &&
		    fw_utf8_valid(values[i], strlen(values[i])) != strlen(values[i]))
			return NULL; /* nothing like this was stored */
	FW_TRY(fw_pg_take(fw_store_pg_of(base)->pool, FW_LIMIT_PG_READ_MS, false, &pg));
	err = fw_pg_query(pg, sql, count, values, pass_incident, reading);
	fw_pg_give(pg, !err);
	return err;
}

fw_error *fw_store_pg_list_incidents(struct fw_store *base,
				     const struct fw_incident_filter *filter,
				     fw_incident_fn *found, void *ctx)
{
	struct reading reading = { .found = found, .ctx = ctx };
	char since[NUMBER_SIZE], until[NUMBER_SIZE], most[NUMBER_SIZE], sql[768];
	const char *const values[] = {
		since,          until,        filter->limit ? most : NULL,
		filter->code,   filter->tool, filter->client,
		filter->session
	};

	(void)snprintf(since, sizeof since, "%lld",
		       (long long)(filter->since_ms ? filter->since_ms : INT64_MIN));
	(void)snprintf(until, sizeof until, "%lld",
		       (long long)(filter->until_ms ? filter->until_ms : INT64_MAX));
	(void)snprintf(most, sizeof most, "%zu", filter->limit);
	/* Only conditions that are given, so that indexes are used. */
	(void)snprintf(sql, sizeof sql,
		       "SELECT " COLUMNS " FROM faultwire.incident"
		       " WHERE time>=greatest($1::bigint," HORIZON ") AND time<$2::bigint%s%s"
		       "%s%s ORDER BY n DESC LIMIT $3::bigint",
		       filter->code ? " AND code=$4::text" : " AND $4::text IS NULL",
		       filter->tool ? " AND tool=$5::text" : " AND $5::text IS NULL",
		       filter->client ? " AND client=$6::text" : " AND $6::text IS NULL",
		       filter->session ? " AND session=$7::text" : " AND $7::text IS NULL");
	return query(base, sql, 7, values, &reading);
}

fw_error *fw_store_pg_find_incidents(struct fw_store *base, const char *prefix, size_t limit,
				     fw_incident_fn *found, void *ctx)
{
	struct reading reading = { .found = found, .ctx = ctx, .is_full = true };
	char most[NUMBER_SIZE];
	const char *const values[] = { prefix, most };

	(void)snprintf(most, sizeof most, "%zu", limit);
	return query(base,
		     "SELECT " COLUMNS ",error,detail,coalesce(first,0),coalesce(last,0),"
		     "coalesce(count,0) FROM faultwire.incident LEFT JOIN faultwire.tally"
		     " ON tally.code=incident.code AND tally.tool=incident.counted_as"
		     " WHERE time>=" HORIZON " AND id>=$1 AND id<$1||chr(1114111)"
		     " ORDER BY id,n DESC LIMIT $2::bigint",
		     2, values, &reading);
}

fw_error *fw_store_pg_walk_incidents(struct fw_store *base, int64_t after, size_t limit,
				     fw_incident_fn *found, void *ctx)
{
	struct reading reading = { .found = found, .ctx = ctx, .is_walk = true };
	char first[NUMBER_SIZE], most[NUMBER_SIZE];
	const char *const values[] = { first, most };

	(void)snprintf(first, sizeof first, "%lld", (long long)after);
	(void)snprintf(most, sizeof most, "%zu", limit);
	return query(base,
		     "SELECT " COLUMNS ",error,detail,counted_as,is_unauthenticated::int,n"
		     " FROM faultwire.incident WHERE time>=" HORIZON
		     " AND n>$1::bigint ORDER BY n LIMIT $2::bigint",
		     2, values, &reading);
}
