/*
 * journal.c - see journal.h. journal_script.h has what the engine runs.
 */
#include "fleet/journal.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/id.h"
#include "base/limits_fleet.h"
#include "base/mem.h"
#include "fleet/hiredis.h"
#include "fleet/journal_script.h"
#include "fleet/quota.h"
#include "fleet/words.h"
#include "mcp/session.h"
#include "mcp/stream.h"
#include "mcp/transport.h"

enum { KEEP, ANNOUNCE, READ, NEWEST, SCRIPTS };
enum {
	BLOCK_MS = 1000, /* how long the second connection waits for news */
	ID_SIZE = 44,
	NAME_SIZE = 64,
	DIGITS = 18
};
static const char KINDS[] = "tpru"; /* of fw_change */

struct fw_journal {
	struct fw_journal_options options;
	char fleet[FW_QUOTA_FLEET_SIZE];
	char self[FW_QUOTA_REPLICA_SIZE]; /* this replica, for as long as it runs */
	struct fw_engine *engine;         /* NULL: closed */
	struct fw_engine *listener;       /* the second connection; NULL: closed */
	/* Sent as text: a lost script would lose the event that it was to keep. */
	struct fw_engine_script scripts[SCRIPTS];
	struct fw_engine_call news; /* XREAD, or the question where to begin */
	bool is_waiting;            /* for it */
	bool has_begun;             /* both ids are known */
	char changes_at[ID_SIZE];
	char notices_at[ID_SIZE];
	uint64_t newest;
	/* Changes that could not be announced. */
	bool is_late[sizeof KINDS - 1];
	char *late_uris[FW_LIMIT_FLEET_LATE_URIS];
	size_t late_count;
	uint64_t counts[FW_JOURNAL_COUNTS];
};

/* A command in progress. */
struct errand {
	struct fw_engine_call call; /* must be first */
	struct fw_journal *journal;
	struct fw_reading *reading;
	enum fw_change change;
	bool is_local; /* clients of this server got the announcement already */
	char uri[];    /* of a change */
};

static void make_key(const struct fw_journal *journal, const char *kind, const char *rest,
		     char ret_key[FW_WORDS_KEY])
{
	fw_words_make_key(journal->fleet, kind, rest, ret_key);
}

static void make_name(const struct fw_stream *stream, char ret_name[NAME_SIZE])
{
	(void)snprintf(ret_name, NAME_SIZE, "%s:%llu", stream->session->shared.digest,
		       (unsigned long long)stream->number);
}

static struct errand *errand_new(struct fw_journal *journal, const char *uri)
{
	size_t len = uri ? strlen(uri) + 1 : 1;
	struct errand *errand = fw__allocate(sizeof *errand + len);

	if (!errand)
		return NULL;
	memset(errand, 0, sizeof *errand);
	errand->journal = journal;
	memcpy(errand->uri, uri ? uri : "", len);
	return errand;
}

bool fw_journal_is_sharing(const struct fw_journal *journal)
{
	return journal->engine && journal->listener && journal->has_begun &&
	       fw_engine_is_up(journal->engine) && fw_engine_is_up(journal->listener);
}

uint64_t fw_journal_newest(const struct fw_journal *journal)
{
	return journal->newest;
}

uint64_t fw_journal_counted(const struct fw_journal *journal, enum fw_journal_count which)
{
	return journal->counts[which];
}

static void see(struct fw_journal *journal, uint64_t number)
{
	if (number > journal->newest)
		journal->newest = number;
}

/* ---- replies -------------------------------------------------------------------------------- */

static const redisReply *element(const redisReply *reply, size_t index)
{
	return reply && reply->type == REDIS_REPLY_ARRAY && index < reply->elements
		       ? reply->element[index]
		       : NULL;
}

static bool is_text(const redisReply *reply)
{
	return reply && reply->type == REDIS_REPLY_STRING;
}

/* The number before the first character that is not a digit. */
static bool read_number(const redisReply *reply, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t i = 0;

	if (!is_text(reply))
		return false;
	for (; i < DIGITS && reply->str[i] >= '0' && reply->str[i] <= '9'; i++)
		number = number * 10 + (uint64_t)(reply->str[i] - '0');
	*ret_number = number;
	return i > 0 && !(reply->str[i] >= '0' && reply->str[i] <= '9');
}

/* A URI goes with changes of one resource only. */
static bool read_change(const redisReply *kind, const redisReply *uri,
			enum fw_change *ret_change)
{
	const char *found =
		is_text(kind) && kind->len == 1 ? strchr(KINDS, kind->str[0]) : NULL;

	if (!found || !is_text(uri) || uri->len > FW_LIMIT_FLEET_URI_BYTES ||
	    strlen(uri->str) != (size_t)uri->len)
		return false;
	*ret_change = (enum fw_change)(found - KINDS);
	return (*ret_change == FW_CHANGE_RESOURCE) == (uri->len > 0);
}

static const char *uri_of(const char *text)
{
	return text[0] ? text : NULL;
}

/* ---- keeping -------------------------------------------------------------------------------- */

static void on_kept(struct fw_engine_call *call, const struct redisReply *reply,
		    bool is_unknown)
{
	struct errand *errand = (struct errand *)(void *)call;
	struct fw_journal *journal = errand->journal;
	int64_t number = 0;

	(void)is_unknown;
	fw__release(errand);
	if (fw_engine_reply_number(reply, 0, &number) && number > 0) {
		journal->counts[FW_JOURNAL_KEPT]++;
		return;
	}
	journal->counts[FW_JOURNAL_LOST]++;
}

bool fw_journal_begin(struct fw_journal *journal, const struct fw_stream *stream,
		      const char *id, size_t len)
{
	char name[NAME_SIZE], key[FW_WORDS_KEY];
	struct fw_words words = { .count = 0 };

	if (!fw_journal_is_sharing(journal))
		return false;
	make_name(stream, name);
	make_key(journal, "stream:", name, key);
	fw_words_text(&words, "HSET");
	fw_words_text(&words, key);
	fw_words_text(&words, "writer");
	fw_words_text(&words, journal->self);
	fw_words_text(&words, "id");
	fw_words_bytes(&words, id, len);
	if (!fw_engine_send(journal->engine, NULL, words.list, words.count))
		return false;
	words.count = 0;
	fw_words_text(&words, "PEXPIRE");
	fw_words_text(&words, key);
	fw_words_number(&words, FW_LIMIT_FLEET_EVENT_MS);
	return fw_engine_send(journal->engine, NULL, words.list, words.count);
}

static bool run(struct fw_journal *journal, struct errand *errand, size_t script, size_t keys,
		const struct fw_words *words)
{
	if (fw_engine_run(journal->engine, &errand->call, &journal->scripts[script], keys,
			  words->list, words->count))
		return true;
	fw__release(errand);
	return false;
}

bool fw_journal_keep(struct fw_journal *journal, const struct fw_stream *stream,
		     const char *json, size_t len, bool is_answer)
{
	const struct fw_limits *limits = fw_server__limits(journal->options.server);
	char name[NAME_SIZE], events[FW_WORDS_KEY], key[FW_WORDS_KEY], notices[FW_WORDS_KEY],
		number[FW_WORDS_KEY];
	bool is_large = len > FW_LIMIT_FLEET_EVENT_BYTES;
	struct fw_words words = { .count = 0 };
	struct errand *errand;

	if (!fw_journal_is_sharing(journal))
		return false;
	/* A large answer leaves an empty one, which says that there was one. */
	if (is_large && !is_answer) {
		journal->counts[FW_JOURNAL_LOST]++;
		return false;
	}
	errand = errand_new(journal, NULL);
	if (!errand)
		return false;
	errand->call.done = on_kept;
	make_name(stream, name);
	make_key(journal, "events:", name, events);
	make_key(journal, "stream:", name, key);
	make_key(journal, "notices", "", notices);
	make_key(journal, "number", "", number);
	fw_words_text(&words, events);
	fw_words_text(&words, key);
	fw_words_text(&words, notices);
	fw_words_text(&words, number);
	fw_words_text(&words, name);
	fw_words_number(&words, stream->number ? stream->last : 0);
	fw_words_bytes(&words, json && !is_large ? json : "", is_large ? 0 : len);
	fw_words_text(&words, !is_answer ? "0" : json ? "1" : "2");
	fw_words_number(&words, limits->stream_events);
	fw_words_number(&words, limits->stream_bytes);
	fw_words_number(&words, FW_LIMIT_FLEET_EVENT_MS);
	fw_words_number(&words, journal->newest);
	fw_words_text(&words, stream->number ? journal->self : "");
	fw_words_number(&words, FW_LIMIT_FLEET_NOTICES);
	return run(journal, errand, KEEP, 4, &words);
}

void fw_journal_notice(struct fw_journal *journal, const char *digest)
{
	char notices[FW_WORDS_KEY], name[NAME_SIZE];
	struct fw_words words = { .count = 0 };

	if (!fw_journal_is_sharing(journal))
		return;
	make_key(journal, "notices", "", notices);
	(void)snprintf(name, sizeof name, "%.32s:%llu", digest,
		       (unsigned long long)FW_FOLLOW_STATE);
	fw_words_text(&words, "XADD");
	fw_words_text(&words, notices);
	fw_words_text(&words, "MAXLEN");
	fw_words_text(&words, "~");
	fw_words_number(&words, FW_LIMIT_FLEET_NOTICES);
	fw_words_text(&words, "*");
	fw_words_text(&words, "stream");
	fw_words_text(&words, name);
	if (!fw_engine_send(journal->engine, NULL, words.list, words.count))
		return;
	words.count = 0;
	fw_words_text(&words, "PEXPIRE");
	fw_words_text(&words, notices);
	fw_words_number(&words, FW_LIMIT_FLEET_EVENT_MS);
	(void)fw_engine_send(journal->engine, NULL, words.list, words.count);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Hands over events and changes in the order of their numbers. What is not valid is left
 * out. Returns whether an answer without text was among them. */
static bool hand_over(struct fw_journal *journal, struct fw_reading *reading,
		      const redisReply *events, const redisReply *changes)
{
	size_t event = 0, change = 0;
	bool is_large = false;

	for (;;) {
		const redisReply *json = element(events, event + 1);
		const redisReply *kind = element(events, event + 2);
		const redisReply *uri = element(changes, change + 2);
		uint64_t number = UINT64_MAX, changed = UINT64_MAX;
		enum fw_change what;

		if (!kind && !uri)
			return is_large;
		if (kind && (!read_number(element(events, event), &number) || !is_text(json) ||
			     !is_text(kind))) {
			event += 3;
		} else if (uri && !read_number(element(changes, change), &changed)) {
			change += 3;
		} else if (number < changed) {
			bool is_answer = kind->str[0] == '1';

			is_large = is_large || (is_answer && !json->len);
			if (json->len)
				fw_reading_event(reading, number, json->str, json->len,
						 is_answer);
			journal->counts[FW_JOURNAL_RESUMED]++;
			event += 3;
		} else {
			if (read_change(element(changes, change + 1), uri, &what))
				fw_reading_change(reading, changed, what, uri_of(uri->str));
			change += 3;
		}
	}
}

static void on_read(struct fw_engine_call *call, const struct redisReply *reply,
		    bool is_unknown)
{
	struct errand *errand = (struct errand *)(void *)call;
	struct fw_journal *journal = errand->journal;
	struct fw_reading *reading = errand->reading;
	const redisReply *id = element(reply, 5);
	const redisReply *events = element(reply, 6);
	int64_t exists, orphan, over, now, more;
	bool is_large;

	(void)is_unknown;
	fw__release(errand);
	if (!fw_engine_reply_number(reply, 0, &exists) ||
	    !fw_engine_reply_number(reply, 1, &orphan) ||
	    !fw_engine_reply_number(reply, 2, &over) ||
	    !fw_engine_reply_number(reply, 3, &now) ||
	    !fw_engine_reply_number(reply, 4, &more) || now < 0 || !is_text(id) ||
	    id->len > FW_LIMIT_ID_BYTES || !events || events->type != REDIS_REPLY_ARRAY) {
		fw_reading_end(reading, FW_READING_FAILED, NULL, 0);
		return;
	}
	if (!exists || (over && !events->elements)) {
		fw_reading_end(reading, FW_READING_NONE, NULL, 0);
		return;
	}
	is_large = fw_reading_found(reading, (uint64_t)now) &&
		   hand_over(journal, reading, events, element(reply, 7));
	if (orphan)
		journal->counts[FW_JOURNAL_ANSWERED]++;
	fw_reading_end(reading,
		       orphan     ? FW_READING_ORPHAN
		       : is_large ? FW_READING_LARGE
		       : more     ? FW_READING_MORE
				  : FW_READING_DONE,
		       id->str, id->len);
}

bool fw_journal_read(struct fw_journal *journal, struct fw_reading *reading)
{
	const struct fw_stream *stream = reading->stream;
	char name[NAME_SIZE], events[FW_WORDS_KEY], key[FW_WORDS_KEY], changes[FW_WORDS_KEY],
		alive[FW_WORDS_KEY];
	struct fw_words words = { .count = 0 };
	struct errand *errand;

	if (!stream || !fw_journal_is_sharing(journal))
		return false;
	errand = errand_new(journal, NULL);
	if (!errand)
		return false;
	errand->call.done = on_read;
	errand->reading = reading;
	make_name(stream, name);
	make_key(journal, "events:", name, events);
	make_key(journal, "stream:", name, key);
	make_key(journal, "changes", "", changes);
	make_key(journal, "alive:", "", alive);
	fw_words_text(&words, events);
	fw_words_text(&words, key);
	fw_words_text(&words, changes);
	fw_words_number(&words, reading->after);
	fw_words_text(&words, stream->number ? "0" : "1");
	fw_words_text(&words, journal->self);
	fw_words_text(&words, alive);
	fw_words_number(&words, FW_LIMIT_FLEET_READ_BYTES);
	return run(journal, errand, READ, 3, &words);
}

/* ---- changes -------------------------------------------------------------------------------- */

/* To be announced when the engine is back. More resources than can be kept are not. */
static void put_off(struct fw_journal *journal, enum fw_change change, const char *uri)
{
	journal->is_late[change] = true;
	if (!uri)
		return;
	for (size_t i = 0; i < journal->late_count; i++)
		if (strcmp(journal->late_uris[i], uri) == 0)
			return;
	if (journal->late_count == FW_LIMIT_FLEET_LATE_URIS)
		return;
	journal->late_uris[journal->late_count] = fw_strdup(uri);
	if (journal->late_uris[journal->late_count])
		journal->late_count++;
}

static void on_announced(struct fw_engine_call *call, const struct redisReply *reply,
			 bool is_unknown)
{
	struct errand *errand = (struct errand *)(void *)call;
	struct fw_journal *journal = errand->journal;
	const char *uri = uri_of(errand->uri);
	int64_t number = 0;

	(void)is_unknown;
	if (fw_engine_reply_number(reply, 0, &number) && number > 0) {
		journal->counts[FW_JOURNAL_ANNOUNCED]++;
	} else {
		/* Perhaps twice, but not never. */
		put_off(journal, errand->change, uri);
		if (!errand->is_local)
			fw_listen_deliver(journal->options.server, errand->change, uri, 0);
	}
	fw__release(errand);
}

static bool announce(struct fw_journal *journal, enum fw_change change, const char *uri,
		     bool is_local)
{
	const char kind[2] = { KINDS[change], '\0' };
	char changes[FW_WORDS_KEY], number[FW_WORDS_KEY];
	struct fw_words words = { .count = 0 };
	struct errand *errand = errand_new(journal, uri);

	if (!errand)
		return false;
	errand->call.done = on_announced;
	errand->change = change;
	errand->is_local = is_local;
	make_key(journal, "changes", "", changes);
	make_key(journal, "number", "", number);
	fw_words_text(&words, changes);
	fw_words_text(&words, number);
	fw_words_text(&words, kind);
	fw_words_text(&words, errand->uri);
	fw_words_number(&words, FW_LIMIT_FLEET_CHANGES);
	fw_words_number(&words, FW_LIMIT_FLEET_EVENT_MS);
	fw_words_number(&words, journal->newest);
	return run(journal, errand, ANNOUNCE, 2, &words);
}

bool fw_journal_announce(struct fw_journal *journal, enum fw_change change, const char *uri)
{
	if (uri && (!uri[0] || strlen(uri) > FW_LIMIT_FLEET_URI_BYTES))
		return false;
	if (fw_journal_is_sharing(journal) && announce(journal, change, uri, false))
		return true;
	put_off(journal, change, uri);
	return false;
}

/* Those that could not be announced before. */
static void announce_late(struct fw_journal *journal)
{
	for (size_t i = 0; i < FW_CHANGE_RESOURCE; i++)
		if (journal->is_late[i] && announce(journal, (enum fw_change)i, NULL, true))
			journal->is_late[i] = false;
	while (journal->late_count &&
	       announce(journal, FW_CHANGE_RESOURCE,
			journal->late_uris[journal->late_count - 1], true))
		fw__release(journal->late_uris[--journal->late_count]);
}

/* ---- news of other replicas ----------------------------------------------------------------- */

static void wait_for_news(struct fw_journal *journal);

/* Readers may have missed something while one of the connections was down. */
static void catch_up(struct fw_journal *journal)
{
	if (!fw_journal_is_sharing(journal))
		return;
	fw_replica_woken(journal->options.server, NULL, 0);
	announce_late(journal);
}

static bool keep_id(const redisReply *id, char ret_id[ID_SIZE])
{
	if (!is_text(id) || id->len == 0 || id->len >= ID_SIZE ||
	    strspn(id->str, "0123456789-") != (size_t)id->len)
		return false;
	memcpy(ret_id, id->str, (size_t)id->len + 1);
	return true;
}

/* "DIGEST:NUMBER" */
static void take_notice(struct fw_journal *journal, const redisReply *fields)
{
	const redisReply *name = element(fields, 1);
	char digest[33];
	redisReply rest;
	uint64_t number;

	if (!is_text(name) || name->len < 34 || name->str[32] != ':')
		return;
	memcpy(digest, name->str, 32);
	digest[32] = '\0';
	rest = *name;
	rest.str += 33;
	rest.len -= 33;
	if (read_number(&rest, &number))
		fw_replica_woken(journal->options.server, digest, number);
}

static void take_change(struct fw_journal *journal, const redisReply *id,
			const redisReply *fields)
{
	const redisReply *uri = element(fields, 3);
	enum fw_change change;
	uint64_t number;

	if (!read_number(id, &number) || !read_change(element(fields, 1), uri, &change))
		return;
	see(journal, number);
	journal->counts[FW_JOURNAL_HEARD]++;
	fw_replica_changed(journal->options.server, change, uri_of(uri->str), number);
}

/* The entries of one of the two; returns how many. */
static size_t take_entries(struct fw_journal *journal, const redisReply *streams,
			   bool are_changes)
{
	char name[FW_WORDS_KEY];
	size_t count = 0;

	make_key(journal, are_changes ? "changes" : "notices", "", name);
	for (size_t i = 0; element(streams, i); i++) {
		const redisReply *key = element(element(streams, i), 0);
		const redisReply *entries = element(element(streams, i), 1);
		const redisReply *entry;

		if (!is_text(key) || strcmp(key->str, name) != 0)
			continue;
		for (count = 0; (entry = element(entries, count)) != NULL; count++) {
			const redisReply *id = element(entry, 0);

			if (!keep_id(id,
				     are_changes ? journal->changes_at : journal->notices_at))
				continue;
			if (are_changes)
				take_change(journal, id, element(entry, 1));
			else
				take_notice(journal, element(entry, 1));
		}
	}
	return count;
}

/* Notices first: a change is sent at once only to readers for which no event is read. */
static void on_news(struct fw_engine_call *call, const struct redisReply *reply,
		    bool is_unknown)
{
	struct fw_journal *journal =
		(struct fw_journal *)(void *)((char *)call - offsetof(struct fw_journal, news));

	(void)is_unknown;
	journal->is_waiting = false;
	if (!reply || !journal->listener)
		return;
	/* A full reply: some may have been dropped before they were read. */
	if (take_entries(journal, reply, false) == FW_LIMIT_FLEET_NOTICES_READ)
		fw_replica_woken(journal->options.server, NULL, 0);
	(void)take_entries(journal, reply, true);
	if (reply->type == REDIS_REPLY_ERROR)
		return; /* the next beat asks again */
	wait_for_news(journal);
}

static void on_newest(struct fw_engine_call *call, const struct redisReply *reply,
		      bool is_unknown)
{
	struct fw_journal *journal =
		(struct fw_journal *)(void *)((char *)call - offsetof(struct fw_journal, news));
	int64_t now;

	(void)is_unknown;
	journal->is_waiting = false;
	if (!keep_id(element(reply, 0), journal->changes_at) ||
	    !keep_id(element(reply, 1), journal->notices_at) ||
	    !fw_engine_reply_number(reply, 2, &now) || now <= 0)
		return;
	see(journal, (uint64_t)now);
	journal->has_begun = true;
	fw_replica_begun(journal->options.server, (uint64_t)now);
	wait_for_news(journal);
	catch_up(journal);
}

/* One command at a time: where to begin, then what is new, again and again. */
static void wait_for_news(struct fw_journal *journal)
{
	char changes[FW_WORDS_KEY], notices[FW_WORDS_KEY];
	struct fw_words words = { .count = 0 };

	if (journal->is_waiting || !journal->listener || !fw_engine_is_up(journal->listener))
		return;
	make_key(journal, "changes", "", changes);
	make_key(journal, "notices", "", notices);
	if (!journal->has_begun) {
		journal->news.done = on_newest;
		fw_words_text(&words, changes);
		fw_words_text(&words, notices);
		journal->is_waiting =
			fw_engine_run(journal->listener, &journal->news,
				      &journal->scripts[NEWEST], 2, words.list, words.count);
		return;
	}
	journal->news.done = on_news;
	fw_words_text(&words, "XREAD");
	fw_words_text(&words, "COUNT");
	fw_words_number(&words, FW_LIMIT_FLEET_NOTICES_READ);
	fw_words_text(&words, "BLOCK");
	fw_words_number(&words, BLOCK_MS);
	fw_words_text(&words, "STREAMS");
	fw_words_text(&words, changes);
	fw_words_text(&words, notices);
	fw_words_text(&words, journal->changes_at);
	fw_words_text(&words, journal->notices_at);
	journal->is_waiting =
		fw_engine_send(journal->listener, &journal->news, words.list, words.count);
}

static void on_listener(void *ctx, bool is_up)
{
	struct fw_journal *journal = ctx;

	if (!is_up)
		return;
	wait_for_news(journal);
	catch_up(journal);
}

/* ---- life ----------------------------------------------------------------------------------- */

void fw_journal_beat(struct fw_journal *journal)
{
	char key[FW_WORDS_KEY];
	struct fw_words words = { .count = 0 };

	wait_for_news(journal);
	if (!journal->engine || !fw_engine_is_up(journal->engine))
		return;
	make_key(journal, "alive:", journal->self, key);
	fw_words_text(&words, "SET");
	fw_words_text(&words, key);
	fw_words_text(&words, "1");
	fw_words_text(&words, "PX");
	fw_words_number(&words, FW_LIMIT_FLEET_DEAD_MS);
	(void)fw_engine_send(journal->engine, NULL, words.list, words.count);
	if (!fw_journal_is_sharing(journal))
		return;
	fw_replica_check(journal->options.server);
	announce_late(journal);
}

void fw_journal_changed(struct fw_journal *journal, bool is_up)
{
	if (!is_up)
		return;
	fw_journal_beat(journal);
	catch_up(journal);
}

void fw_journal_set_engine(struct fw_journal *journal, struct fw_engine *engine)
{
	journal->engine = engine;
}

fw_error *fw_journal_new(const struct fw_journal_options *options,
			 struct fw_journal **ret_journal)
{
	struct fw_journal *journal = fw__allocate(sizeof *journal);
	struct fw_engine_options second = { .loop = options->loop,
					    .url = options->url,
					    .wait_ms = options->wait_ms + BLOCK_MS,
					    .is_quiet = true,
					    .changed = on_listener };
	fw_error *err;

	if (!journal)
		return fw_raise_internal_out_of_memory();
	memset(journal, 0, sizeof *journal);
	journal->options = *options;
	(void)snprintf(journal->fleet, sizeof journal->fleet, "%s", options->fleet);
	fw_random_hex(journal->self, sizeof journal->self);
	journal->scripts[KEEP].text = FW_JOURNAL_KEEP;
	journal->scripts[ANNOUNCE].text = FW_JOURNAL_ANNOUNCE;
	journal->scripts[READ].text = FW_JOURNAL_READ;
	journal->scripts[NEWEST].text = FW_JOURNAL_NEWEST;
	second.ctx = journal;
	err = fw_engine_new(&second, &journal->listener);
	if (err) {
		fw__release(journal);
		return err;
	}
	*ret_journal = journal;
	return NULL;
}

void fw_journal_close(struct fw_journal *journal)
{
	struct fw_engine *listener = journal ? journal->listener : NULL;

	if (!journal)
		return;
	journal->listener = NULL;
	journal->engine = NULL;
	fw_engine_free(listener);
}

void fw_journal_free(struct fw_journal *journal)
{
	if (!journal)
		return;
	while (journal->late_count)
		fw__release(journal->late_uris[--journal->late_count]);
	fw__release(journal);
}
