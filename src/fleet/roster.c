/*
 * roster.c - see roster.h.
 */
#include "fleet/roster.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/digest.h"
#include "base/limits_fleet.h"
#include "base/mem.h"
#include "fleet/hiredis.h"
#include "fleet/journal.h"
#include "fleet/quota.h"
#include "mcp/replica.h"
#include "mcp/transport.h"

enum { KEY_SIZE = 160 };

static const char ENDED[] = "ended";

struct fw_roster {
	struct fw_replica base;   /* must be first */
	struct fw_engine *engine; /* NULL: closed */
	struct fw_journal *journal;
	char fleet[FW_QUOTA_FLEET_SIZE];
	char ttl_ms[24];
};

/* A lookup, or a change that a call waits for. */
struct errand {
	struct fw_engine_call engine; /* must be first */
	struct fw_takeover *takeover;
	fw_call *call;
};

static struct fw_engine_word word(const char *text)
{
	return (struct fw_engine_word){ text, strlen(text) };
}

static void make_key(const struct fw_roster *roster, const char *id, char ret_key[KEY_SIZE])
{
	char digest[FW_SHA256_TEXT];

	fw_sha256_text(id, strlen(id), digest);
	(void)snprintf(ret_key, KEY_SIZE, "faultwire:%s:session:%.32s", roster->fleet, digest);
}

static struct errand *errand_new(struct fw_takeover *takeover, fw_call *call)
{
	struct errand *errand = fw__allocate(sizeof *errand);

	if (!errand)
		return NULL;
	memset(errand, 0, sizeof *errand);
	errand->takeover = takeover;
	errand->call = call;
	return errand;
}

/* ---- looking up ----------------------------------------------------------------------------- */

static void on_found(struct fw_engine_call *call, const struct redisReply *reply,
		     bool is_unknown)
{
	struct errand *errand = (struct errand *)(void *)call;
	struct fw_takeover *takeover = errand->takeover;

	(void)is_unknown;
	fw__release(errand);
	if (!reply || (reply->type != REDIS_REPLY_STRING && reply->type != REDIS_REPLY_NIL) ||
	    reply->len > FW_LIMIT_FLEET_SESSION_BYTES)
		fw_takeover_end(takeover, FW_TAKEOVER_FAILED, NULL, 0);
	else if (reply->type == REDIS_REPLY_NIL)
		fw_takeover_end(takeover, FW_TAKEOVER_NONE, NULL, 0);
	else if (reply->len == sizeof ENDED - 1 && memcmp(reply->str, ENDED, reply->len) == 0)
		fw_takeover_end(takeover, FW_TAKEOVER_ENDED, NULL, 0);
	else
		fw_takeover_end(takeover, FW_TAKEOVER_FOUND, reply->str, reply->len);
}

static bool find(struct fw_replica *replica, const char *id, struct fw_takeover *takeover)
{
	struct fw_roster *roster = (struct fw_roster *)(void *)replica;
	struct errand *errand;
	char key[KEY_SIZE];

	if (!roster->engine || !fw_engine_is_up(roster->engine))
		return false;
	errand = errand_new(takeover, NULL);
	if (!errand)
		return false;
	errand->engine.done = on_found;
	make_key(roster, id, key);
	if (fw_engine_send(roster->engine, &errand->engine,
			   (const struct fw_engine_word[]){ word("GETEX"), word(key),
							    word("PX"), word(roster->ttl_ms) },
			   4))
		return true;
	fw__release(errand);
	return false;
}

/* ---- changes -------------------------------------------------------------------------------- */

static void on_saved(struct fw_engine_call *call, const struct redisReply *reply,
		     bool is_unknown)
{
	struct errand *errand = (struct errand *)(void *)call;
	fw_call *waiting = errand->call;

	(void)reply;
	(void)is_unknown;
	fw__release(errand);
	/* Also if the engine is down: this replica has the session. */
	if (waiting)
		fw_replica_saved(waiting);
}

static bool set(struct fw_roster *roster, const char *id, struct fw_engine_word value,
		fw_call *call)
{
	struct errand *errand;
	char key[KEY_SIZE];

	if (!roster->engine || !fw_engine_is_up(roster->engine))
		return false;
	errand = errand_new(NULL, call);
	if (!errand)
		return false;
	errand->engine.done = on_saved;
	make_key(roster, id, key);
	if (fw_engine_send(roster->engine, &errand->engine,
			   (const struct fw_engine_word[]){ word("SET"), word(key), value,
							    word("PX"), word(roster->ttl_ms) },
			   5))
		return true;
	fw__release(errand);
	return false;
}

static bool save(struct fw_replica *replica, const char *id, const char *text, size_t len,
		 bool is_new, fw_call *call)
{
	struct fw_roster *roster = (struct fw_roster *)(void *)replica;
	char digest[FW_SHA256_TEXT];

	if (!set(roster, id, (struct fw_engine_word){ text, len }, call))
		return false;
	if (!is_new) {
		fw_sha256_text(id, strlen(id), digest);
		fw_journal_notice(roster->journal, digest);
	}
	return true;
}

static void end(struct fw_replica *replica, const char *id)
{
	(void)set((struct fw_roster *)(void *)replica, id, word(ENDED), NULL);
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct fw_journal *journal_of(const struct fw_replica *replica)
{
	return ((const struct fw_roster *)(const void *)replica)->journal;
}

static bool is_sharing(const struct fw_replica *replica)
{
	return fw_journal_is_sharing(journal_of(replica));
}

static uint64_t newest(const struct fw_replica *replica)
{
	return fw_journal_newest(journal_of(replica));
}

static bool begin(struct fw_replica *replica, const struct fw_stream *stream, const char *id,
		  size_t len)
{
	return fw_journal_begin(journal_of(replica), stream, id, len);
}

static bool keep(struct fw_replica *replica, const struct fw_stream *stream, const char *json,
		 size_t len, bool is_answer)
{
	return fw_journal_keep(journal_of(replica), stream, json, len, is_answer);
}

static bool read_events(struct fw_replica *replica, struct fw_reading *reading)
{
	return fw_journal_read(journal_of(replica), reading);
}

static bool announce(struct fw_replica *replica, enum fw_change change, const char *uri)
{
	return fw_journal_announce(journal_of(replica), change, uri);
}

/* ---- life ------------------------------------------------------------------------------------ */

fw_error *fw_roster_new(fw_server *server, const char *fleet, struct fw_engine *engine,
			struct fw_journal *journal, struct fw_roster **ret_roster)
{
	static const struct fw_replica_ops ops = { .find = find,
						   .save = save,
						   .end = end,
						   .is_sharing = is_sharing,
						   .newest = newest,
						   .begin = begin,
						   .keep = keep,
						   .read = read_events,
						   .announce = announce };
	struct fw_roster *roster = fw__allocate(sizeof *roster);

	if (!roster)
		return fw_raise_internal_out_of_memory();
	memset(roster, 0, sizeof *roster);
	roster->base.ops = &ops;
	roster->engine = engine;
	roster->journal = journal;
	(void)snprintf(roster->fleet, sizeof roster->fleet, "%s", fleet);
	(void)snprintf(roster->ttl_ms, sizeof roster->ttl_ms, "%llu",
		       (unsigned long long)fw_server__limits(server)->session_idle_ms + 1000);
	fw_server__set_replica(server, &roster->base);
	*ret_roster = roster;
	return NULL;
}

void fw_roster_close(struct fw_roster *roster)
{
	if (roster)
		roster->engine = NULL;
}

void fw_roster_free(struct fw_roster *roster)
{
	fw__release(roster);
}
