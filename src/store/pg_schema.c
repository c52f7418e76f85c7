/*
 * pg_schema.c - see pg_schema.h.
 *
 * Incidents are partitioned by day, so that retention drops tables instead of deleting
 * rows. Making and dropping a day needs the rights of the owner; servers do it through
 * functions that run with these rights, and have no other way to delete an incident. The
 * bytes of each day are counted by the statement that inserts, because the size of a
 * PostgreSQL table does not shrink with its contents.
 */
#include "store/pg_schema.h"

static const char tables[] =
	"CREATE SEQUENCE faultwire.row_version;"
	"CREATE TABLE faultwire.store_row("
	" kind text COLLATE \"C\" NOT NULL, key text COLLATE \"C\" NOT NULL,"
	" owner text COLLATE \"C\" NOT NULL, value text NOT NULL, number bigint NOT NULL,"
	" expires bigint NOT NULL, version bigint NOT NULL, PRIMARY KEY(kind, key))"
	/* Counters are updated often: room on the page keeps the index untouched. */
	" WITH (fillfactor=70);"
	"CREATE INDEX store_row_owner ON faultwire.store_row(kind, owner, key);"
	"CREATE INDEX store_row_expiry ON faultwire.store_row(expires) WHERE expires>0;"

	"CREATE SEQUENCE faultwire.incident_number;"
	"CREATE TABLE faultwire.incident("
	" n bigint NOT NULL DEFAULT nextval('faultwire.incident_number'),"
	" id text COLLATE \"C\" NOT NULL, time bigint NOT NULL, duration bigint NOT NULL,"
	" code text COLLATE \"C\" NOT NULL, severity text NOT NULL, status int NOT NULL,"
	" tool text, operation text, client text, session text, trace text,"
	" message text NOT NULL, counted_as text COLLATE \"C\" NOT NULL, error text NOT NULL,"
	" detail text, peer text, is_unauthenticated boolean NOT NULL, size int NOT NULL)"
	" PARTITION BY RANGE (time);"
	"CREATE INDEX incident_n ON faultwire.incident(n);"
	/* Not unique: an upstream may send one id with several failures. */
	"CREATE INDEX incident_id ON faultwire.incident(id);"
	"CREATE INDEX incident_code ON faultwire.incident(code, n);"
	"CREATE INDEX incident_unauthenticated ON faultwire.incident(n)"
	" WHERE is_unauthenticated;"
	"CREATE TABLE faultwire.incident_day("
	" day bigint PRIMARY KEY, incidents bigint NOT NULL DEFAULT 0,"
	" bytes bigint NOT NULL DEFAULT 0);"
	/* Counts outlive the incidents that were counted. */
	"CREATE TABLE faultwire.tally("
	" code text COLLATE \"C\" NOT NULL, tool text COLLATE \"C\" NOT NULL,"
	" first bigint NOT NULL, last bigint NOT NULL, count bigint NOT NULL,"
	" PRIMARY KEY(code, tool)) WITH (fillfactor=70);"
	/* How far each writer got, so that a batch whose commit was not confirmed is not
	 * inserted twice. */
	"CREATE TABLE faultwire.incident_writer("
	" writer bigint PRIMARY KEY, last bigint NOT NULL,"
	" seen timestamptz NOT NULL DEFAULT now());"
	"CREATE TABLE faultwire.setting(name text PRIMARY KEY, number bigint NOT NULL);"
	"INSERT INTO faultwire.setting VALUES('horizon', 0);"

	/* Servers may add anchors and read them; only the owner can change them. */
	"CREATE TABLE faultwire.anchor("
	" n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
	" log text COLLATE \"C\" NOT NULL, replica text NOT NULL, seq bigint NOT NULL,"
	" hash text NOT NULL, time bigint NOT NULL, reason text NOT NULL,"
	" stored timestamptz NOT NULL DEFAULT clock_timestamp());"
	"CREATE INDEX anchor_log ON faultwire.anchor(log, seq);";

static const char functions[] =
	"CREATE FUNCTION faultwire.make_day(d bigint) RETURNS void LANGUAGE plpgsql"
	" SECURITY DEFINER SET search_path=faultwire,pg_catalog,pg_temp AS $$"
	" DECLARE part text := 'incident_' || d;"
	" BEGIN"
	"  IF EXISTS (SELECT FROM faultwire.incident_day WHERE day=d) THEN RETURN; END IF;"
	"  PERFORM pg_advisory_xact_lock(hashtext('faultwire.make_day'));"
	"  IF EXISTS (SELECT FROM faultwire.incident_day WHERE day=d) THEN RETURN; END IF;"
	/* Attaching does not block those who insert into other days. */
	"  EXECUTE format('CREATE TABLE faultwire.%I (LIKE faultwire.incident INCLUDING"
	" DEFAULTS)', part);"
	"  EXECUTE format('ALTER TABLE faultwire.incident ATTACH PARTITION faultwire.%I"
	" FOR VALUES FROM (%s) TO (%s)', part, d*86400000, (d+1)*86400000);"
	"  INSERT INTO faultwire.incident_day(day) VALUES(d);"
	" END $$;"

	"CREATE FUNCTION faultwire.drop_day(d bigint) RETURNS void LANGUAGE plpgsql"
	" SET search_path=faultwire,pg_catalog,pg_temp AS $$"
	" BEGIN"
	"  EXECUTE format('DROP TABLE IF EXISTS faultwire.%I', 'incident_' || d);"
	"  DELETE FROM faultwire.incident_day WHERE day=d;"
	" END $$;"
	"REVOKE ALL ON FUNCTION faultwire.drop_day(bigint) FROM PUBLIC;"

	"CREATE FUNCTION faultwire.forget(last_n bigint, only_unauthenticated boolean)"
	" RETURNS void LANGUAGE sql SET search_path=faultwire,pg_catalog,pg_temp AS $$"
	" WITH gone AS (DELETE FROM faultwire.incident WHERE n<=last_n AND"
	" (is_unauthenticated OR NOT only_unauthenticated) RETURNING time,size)"
	" UPDATE faultwire.incident_day d SET incidents=d.incidents-x.incidents,"
	" bytes=d.bytes-x.bytes FROM (SELECT time/86400000 AS day,count(*) AS incidents,"
	" sum(size) AS bytes FROM gone GROUP BY 1) x WHERE d.day=x.day $$;"
	"REVOKE ALL ON FUNCTION faultwire.forget(bigint,boolean) FROM PUBLIC;"

	"CREATE FUNCTION faultwire.prune(before_ms bigint, max_bytes bigint, strangers bigint)"
	" RETURNS void LANGUAGE plpgsql"
	" SECURITY DEFINER SET search_path=faultwire,pg_catalog,pg_temp AS $$"
	" DECLARE d bigint; last_n bigint; total numeric;"
	" BEGIN"
	/* One server at a time is enough. */
	"  IF NOT pg_try_advisory_xact_lock(hashtext('faultwire.prune')) THEN RETURN; END IF;"
	/* Readers skip what is older, so that a day can be dropped as a whole. */
	"  UPDATE faultwire.setting SET number=before_ms"
	"   WHERE name='horizon' AND number<before_ms;"
	"  FOR d IN SELECT day FROM faultwire.incident_day WHERE (day+1)*86400000<=before_ms"
	"   LOOP PERFORM faultwire.drop_day(d); END LOOP;"
	"  SELECT n INTO last_n FROM faultwire.incident WHERE is_unauthenticated"
	"   ORDER BY n DESC OFFSET strangers LIMIT 1;"
	"  IF FOUND THEN PERFORM faultwire.forget(last_n, true); END IF;"
	"  LOOP"
	"   SELECT sum(bytes),min(day) INTO total,d FROM faultwire.incident_day"
	"    WHERE incidents>0;"
	"   EXIT WHEN total IS NULL OR total<=max_bytes;"
	"   IF (SELECT count(*) FROM faultwire.incident_day WHERE day>d AND incidents>0)>0"
	"   THEN PERFORM faultwire.drop_day(d); CONTINUE; END IF;"
	"   SELECT max(n) INTO last_n FROM"
	"    (SELECT n FROM faultwire.incident ORDER BY n LIMIT 200) oldest;"
	"   EXIT WHEN last_n IS NULL;"
	"   PERFORM faultwire.forget(last_n, false);"
	"  END LOOP;"
	"  DELETE FROM faultwire.incident_writer WHERE seen<now()-interval '90 days';"
	/* The day to be dropped is being read: try again next time. */
	" EXCEPTION WHEN lock_not_available THEN NULL;"
	" END $$;"
	"REVOKE ALL ON FUNCTION faultwire.make_day(bigint) FROM PUBLIC;"
	"REVOKE ALL ON FUNCTION faultwire.prune(bigint,bigint,bigint) FROM PUBLIC;";

const struct fw_pg_migration fw_pg_migrations[FW_PG_SCHEMA_VERSION] = {
	{ .oldest_program = 1,
	  .summary = "rows, incidents by day, audit anchors",
	  .sql = { tables, functions } },
};

const char *const fw_pg_grants[] = {
	"GRANT USAGE ON SCHEMA faultwire TO %s",
	"GRANT SELECT ON faultwire.migration,faultwire.incident_day,faultwire.setting TO %s",
	"GRANT SELECT,INSERT,UPDATE,DELETE ON faultwire.store_row TO %s",
	"GRANT SELECT,INSERT ON faultwire.incident TO %s",
	"GRANT SELECT,INSERT,UPDATE ON faultwire.tally,faultwire.incident_writer TO %s",
	"GRANT UPDATE ON faultwire.incident_day TO %s",
	"GRANT SELECT,INSERT ON faultwire.anchor TO %s",
	"GRANT USAGE ON SEQUENCE faultwire.row_version,faultwire.incident_number TO %s",
	"GRANT EXECUTE ON FUNCTION faultwire.make_day(bigint) TO %s",
	"GRANT EXECUTE ON FUNCTION faultwire.prune(bigint,bigint,bigint) TO %s",
};
const size_t fw_pg_grant_count = sizeof fw_pg_grants / sizeof *fw_pg_grants;
