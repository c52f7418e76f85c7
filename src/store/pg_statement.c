/*
 * pg_statement.c - the statements that a store uses all the time.
 */
#include "store/pg.h"

const char *const fw_pg_statements[FW_PG_STATEMENT_COUNT] = {
	/* In the order of the array, which is sorted: two transactions cannot wait for
	 * each other. Locks on keys also cover rows that do not exist yet. */
	[FW_PG_LOCK_ROWS] = "SELECT pg_advisory_xact_lock(k) FROM unnest($1::bigint[]) k",
	[FW_PG_NEXT_VERSION] = "SELECT nextval('faultwire.row_version')",
	[FW_PG_READ_ROWS] = "SELECT kind,key,version,number FROM faultwire.store_row"
			    " WHERE (kind,key) IN (SELECT * FROM unnest($1::text[],$2::text[]))"
			    " AND (expires=0 OR expires>$3::bigint) FOR UPDATE",
	[FW_PG_PUT_ROW] = "INSERT INTO faultwire.store_row"
			  "(kind,key,owner,value,number,expires,version)"
			  " VALUES($1,$2,$3,$4,$5::bigint,$6::bigint,$7::bigint)"
			  " ON CONFLICT (kind,key) DO UPDATE SET owner=excluded.owner,"
			  "value=excluded.value,number=excluded.number,"
			  "expires=excluded.expires,version=excluded.version",
	[FW_PG_ADD_ROW] = "UPDATE faultwire.store_row SET number=$3::bigint,version=$4::bigint"
			  " WHERE kind=$1 AND key=$2",
	[FW_PG_DELETE_ROW] = "DELETE FROM faultwire.store_row WHERE kind=$1 AND key=$2",
	/* The incidents, what is counted per code and tool, and the size of the day. The
	 * counters are locked in one order by everybody. */
	[FW_PG_INSERT_INCIDENTS] =
		"WITH new AS (INSERT INTO faultwire.incident"
		"(id,time,duration,code,severity,status,tool,operation,client,session,trace,"
		"message,counted_as,error,detail,peer,is_unauthenticated,size)"
		" SELECT * FROM unnest($1::text[],$2::bigint[],$3::bigint[],$4::text[],"
		"$5::text[],$6::int[],$7::text[],$8::text[],$9::text[],$10::text[],"
		"$11::text[],$12::text[],$13::text[],$14::text[],$15::text[],$16::text[],"
		"$17::bool[],$18::int[]) RETURNING code,counted_as,time,size),"
		" counted AS (INSERT INTO faultwire.tally AS t (code,tool,first,last,count)"
		" SELECT code,counted_as,min(time),max(time),count(*) FROM new"
		" GROUP BY code,counted_as ORDER BY code,counted_as"
		" ON CONFLICT (code,tool) DO UPDATE SET first=least(t.first,excluded.first),"
		"last=greatest(t.last,excluded.last),count=t.count+excluded.count)"
		" UPDATE faultwire.incident_day d SET incidents=d.incidents+x.incidents,"
		"bytes=d.bytes+x.bytes FROM (SELECT time/86400000 AS day,count(*) AS incidents,"
		"sum(size) AS bytes FROM new GROUP BY 1) x WHERE d.day=x.day",
};
