/*
 * store_pg_admin.c - migrating and describing the tables of a PostgreSQL store.
 */
#include "store/store_pg_admin.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/limits_store.h"
#include "store/pg_schema.h"

enum { OLDEST_SERVER = 140000, SQL_SIZE = 1024 };

static fw_error *read_number(struct fw_pg *pg, const char *sql, int64_t *ret_number)
{
	PGresult *result = NULL;

	FW_TRY(fw_pg_execute(pg, sql, &result));
	*ret_number = PQntuples(result) ? fw_pg_number(result, 0, 0) : 0;
	PQclear(result);
	return NULL;
}

static fw_error *check_server(struct fw_pg *pg)
{
	int64_t version = 0, is_utf8 = 0;

	FW_TRY(read_number(pg, "SHOW server_version_num", &version));
	FW_TRY(read_number(pg, "SELECT (current_setting('server_encoding')='UTF8')::int",
			   &is_utf8));
	if (version < OLDEST_SERVER)
		return fw_raise_internal_unsupported("a PostgreSQL server older than 14");
	if (!is_utf8)
		return fw_raise_input_invalid_value("store", "a database with encoding UTF8");
	return NULL;
}

/* Locked until the end of the transaction: one migration at a time. */
static fw_error *read_version(struct fw_pg *pg, int64_t *ret_version)
{
	int64_t has_schema = 0;

	FW_TRY(fw_pg_execute(
		pg, "BEGIN; SELECT pg_advisory_xact_lock(hashtext('faultwire.migrate'))",
		NULL));
	FW_TRY(read_number(pg, "SELECT (to_regnamespace('faultwire') IS NOT NULL)::int",
			   &has_schema));
	if (!has_schema)
		FW_TRY(fw_pg_execute(pg, "CREATE SCHEMA faultwire", NULL));
	FW_TRY(fw_pg_execute(pg,
			     "CREATE TABLE IF NOT EXISTS faultwire.migration("
			     " version int PRIMARY KEY, oldest_program int NOT NULL,"
			     " summary text NOT NULL,"
			     " applied timestamptz NOT NULL DEFAULT now())",
			     NULL));
	return read_number(pg, "SELECT coalesce(max(version),0) FROM faultwire.migration",
			   ret_version);
}

static fw_error *apply(struct fw_pg *pg, int index)
{
	const struct fw_pg_migration *migration = &fw_pg_migrations[index];
	char sql[SQL_SIZE];

	for (size_t i = 0; migration->sql[i]; i++)
		FW_TRY(fw_pg_execute(pg, migration->sql[i], NULL));
	(void)snprintf(sql, sizeof sql,
		       "INSERT INTO faultwire.migration(version,oldest_program,summary)"
		       " VALUES(%d,%d,'%s')",
		       index + 1, migration->oldest_program, migration->summary);
	return fw_pg_execute(pg, sql, NULL);
}

/* The name of a role as SQL has it: "role", with quotes doubled. */
static fw_error *quote(const char *name, char *ret_text, size_t size)
{
	size_t used = 0;

	ret_text[used++] = '"';
	for (; *name; name++) {
		if (used + 4 > size)
			return fw_raise_input_too_large("name of a role", size - 4);
		if (*name == '"')
			ret_text[used++] = '"';
		ret_text[used++] = *name;
	}
	ret_text[used++] = '"';
	ret_text[used] = '\0';
	return NULL;
}

static fw_error *grant(struct fw_pg *pg, const char *role)
{
	char name[160], sql[SQL_SIZE];

	if (!role)
		return NULL;
	FW_TRY(quote(role, name, sizeof name));
	for (size_t i = 0; i < fw_pg_grant_count; i++) {
		const char *at = strstr(fw_pg_grants[i], "%s");

		(void)snprintf(sql, sizeof sql, "%.*s%s", (int)(at - fw_pg_grants[i]),
			       fw_pg_grants[i], name);
		FW_TRY(fw_pg_execute(pg, sql, NULL));
	}
	return NULL;
}

static fw_error *migrate(struct fw_pg *pg, const char *role,
			 struct fw_store_migration *migration)
{
	int64_t version = 0;

	FW_TRY(check_server(pg));
	FW_TRY(read_version(pg, &version));
	migration->from = (int)version;
	for (int i = (int)version; i < FW_PG_SCHEMA_VERSION; i++)
		FW_TRY(apply(pg, i));
	migration->to = version > FW_PG_SCHEMA_VERSION ? (int)version : FW_PG_SCHEMA_VERSION;
	FW_TRY(grant(pg, role));
	return fw_pg_execute(pg, "COMMIT", NULL);
}

fw_error *fw_store_pg_migrate(const char *url, const char *role,
			      struct fw_store_migration *ret_migration)
{
	struct fw_store_migration migration = { 0 };
	struct fw_pg_pool *pool = NULL;
	struct fw_pg *pg = NULL;
	fw_error *err;

	FW_TRY(fw_pg_pool_get(url, FW_PG_MIGRATE, &pool));
	err = fw_pg_take(pool, FW_LIMIT_PG_MIGRATE_MS, true, &pg);
	if (!err)
		err = migrate(pg, role, &migration);
	fw_pg_give(pg, !err);
	fw_pg_pool_unref(pool);
	if (!err)
		*ret_migration = migration;
	return err;
}

/* ---- checking --------------------------------------------------------------- */

/* Each is a member of the report, written by the server. */
static const char report[] =
	"SELECT json_build_object("
	"'server',current_setting('server_version'),"
	"'database',current_database(),'role',current_user,"
	"'tls',coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid=pg_backend_pid()),false),"
	"'schema',(SELECT max(version) FROM faultwire.migration),"
	"'incidents',(SELECT coalesce(sum(incidents),0) FROM faultwire.incident_day),"
	"'incident_bytes',(SELECT coalesce(sum(bytes),0) FROM faultwire.incident_day),"
	"'incident_days',(SELECT count(*) FROM faultwire.incident_day),"
	"'oldest_day',(SELECT to_char(date 'epoch'+min(day)::int,'YYYY-MM-DD')"
	" FROM faultwire.incident_day),"
	"'rows',(SELECT count(*) FROM faultwire.store_row),"
	"'anchors',(SELECT count(*) FROM faultwire.anchor),"
	"'may_write',has_table_privilege('faultwire.store_row','INSERT,UPDATE,DELETE')"
	" AND has_table_privilege('faultwire.incident','INSERT')"
	" AND has_function_privilege('faultwire.make_day(bigint)','EXECUTE'),"
	"'may_change_tables',has_schema_privilege('faultwire','CREATE'))::text";

fw_error *fw_store_pg_check(const char *url, struct fw_buf *out)
{
	struct fw_pg_pool *pool = NULL;
	PGresult *result = NULL;
	struct fw_pg *pg = NULL;
	fw_error *err;

	FW_TRY(fw_pg_pool_get(url, FW_PG_RUN, &pool));
	err = fw_pg_take(pool, FW_LIMIT_PG_READ_MS, true, &pg);
	if (!err)
		err = fw_pg_execute(pg, report, &result);
	if (!err) {
		fw_buf_str(out, PQgetvalue(result, 0, 0));
		PQclear(result);
	}
	fw_pg_give(pg, !err);
	fw_pg_pool_unref(pool);
	return err;
}
