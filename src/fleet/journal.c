/*
 * journal.c - events of streams: keeping and reading them, and the life of a journal.
 * journal_script.h has what the engine runs.
 */
#include "fleet/journal.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/id.h"
#include "base/mem.h"
#include "fleet/journal_impl.h"
#include "fleet/journal_script.h"
#include "mcp/session.h"
#include "mcp/stream.h"
#include "mcp/transport.h"

static void make_name(const struct fw_stream *stream, char ret_name[FW_JOURNAL_NAME_SIZE])
{
	(void)snprintf(ret_name, FW_JOURNAL_NAME_SIZE, "%s:%llu",
		       stream->session->shared.digest, (unsigned long long)stream->number);
}

struct fw_journal_errand *fw_journal_errand_new(struct fw_journal *journal, const char *uri)
{
	size_t len = uri ? strlen(uri) + 1 : 1;
	struct fw_journal_errand *errand = fw__allocate(sizeof *errand + len);

	if (!errand)
		return NULL;
	memset(errand, 0, sizeof *errand);
	errand->journal = journal;
	memcpy(errand->uri, uri ? uri : "", len);
	return errand;
}

bool fw_journal_run(struct fw_journal *journal, struct fw_journal_errand *errand,
		    enum fw_journal_script script, size_t keys, const struct fw_words *words)
{
	if (fw_engine_run(journal->engine, &errand->call, &journal->scripts[script], keys,
			  words->list, words->count))
		return true;
	fw__release(errand);
	return false;
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

/* ---- keeping -------------------------------------------------------------------------------- */

static void on_kept(struct fw_engine_call *call, const struct redisReply *reply,
		    bool is_unknown)
{
	struct fw_journal_errand *errand = (struct fw_journal_errand *)(void *)call;
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

static bool expire(struct fw_journal *journal, const char *kind, const char *rest)
{
	struct fw_words words;

	fw_words_clear(&words);
	fw_words_text(&words, "PEXPIRE");
	fw_journal_put_key(journal, &words, kind, rest);
	fw_words_number(&words, FW_LIMIT_FLEET_EVENT_MS);
	return fw_engine_send(journal->engine, NULL, words.list, words.count);
}

bool fw_journal_begin(struct fw_journal *journal, const struct fw_stream *stream,
		      const char *id, size_t len)
{
	char name[FW_JOURNAL_NAME_SIZE];
	struct fw_words words;

	if (!fw_journal_is_sharing(journal))
		return false;
	make_name(stream, name);
	fw_words_clear(&words);
	fw_words_text(&words, "HSET");
	fw_journal_put_key(journal, &words, "stream:", name);
	FW_WORDS_TEXTS(&words, "writer", journal->self, "id");
	fw_words_bytes(&words, id, len);
	return fw_engine_send(journal->engine, NULL, words.list, words.count) &&
	       expire(journal, "stream:", name);
}

bool fw_journal_keep(struct fw_journal *journal, const struct fw_stream *stream,
		     const char *json, size_t len, bool is_answer)
{
	const struct fw_limits *limits = fw_server__limits(journal->options.server);
	char name[FW_JOURNAL_NAME_SIZE];
	bool is_large = len > FW_LIMIT_FLEET_EVENT_BYTES;
	struct fw_journal_errand *errand;
	struct fw_words words;

	if (!fw_journal_is_sharing(journal))
		return false;
	/* An answer that is too large is stored as an empty one, which marks the end of the stream. */
	if (is_large && !is_answer) {
		journal->counts[FW_JOURNAL_LOST]++;
		return false;
	}
	errand = fw_journal_errand_new(journal, NULL);
	if (!errand)
		return false;
	errand->call.done = on_kept;
	make_name(stream, name);
	fw_words_clear(&words);
	fw_journal_put_key(journal, &words, "events:", name);
	fw_journal_put_key(journal, &words, "stream:", name);
	fw_journal_put_key(journal, &words, "notices", "");
	fw_journal_put_key(journal, &words, "number", "");
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
	return fw_journal_run(journal, errand, FW_JOURNAL_SCRIPT_KEEP, 4, &words);
}

void fw_journal_notice(struct fw_journal *journal, const char *digest)
{
	char name[FW_JOURNAL_NAME_SIZE];
	struct fw_words words;

	if (!fw_journal_is_sharing(journal))
		return;
	(void)snprintf(name, sizeof name, "%.32s:%llu", digest,
		       (unsigned long long)FW_FOLLOW_STATE);
	fw_words_clear(&words);
	fw_words_text(&words, "XADD");
	fw_journal_put_key(journal, &words, "notices", "");
	FW_WORDS_TEXTS(&words, "MAXLEN", "~");
	fw_words_number(&words, FW_LIMIT_FLEET_NOTICES);
	FW_WORDS_TEXTS(&words, "*", "stream", name);
	if (fw_engine_send(journal->engine, NULL, words.list, words.count))
		(void)expire(journal, "notices", "");
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
		const redisReply *json = fw_engine_reply_element(events, event + 1);
		const redisReply *kind = fw_engine_reply_element(events, event + 2);
		const redisReply *uri = fw_engine_reply_element(changes, change + 2);
		uint64_t number = UINT64_MAX, changed = UINT64_MAX;
		enum fw_change what;

		if (!kind && !uri)
			return is_large;
		if (kind &&
		    (!fw_journal_read_number(fw_engine_reply_element(events, event), &number) ||
		     !fw_journal_is_text(json) || !fw_journal_is_text(kind))) {
			event += 3;
		} else if (uri && !fw_journal_read_number(
					  fw_engine_reply_element(changes, change), &changed)) {
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
			if (fw_journal_read_change(fw_engine_reply_element(changes, change + 1),
						   uri, &what))
				fw_reading_change(reading, changed, what,
						  fw_journal_uri(uri->str));
			change += 3;
		}
	}
}

static void on_read(struct fw_engine_call *call, const struct redisReply *reply,
		    bool is_unknown)
{
	struct fw_journal_errand *errand = (struct fw_journal_errand *)(void *)call;
	struct fw_journal *journal = errand->journal;
	struct fw_reading *reading = errand->reading;
	const redisReply *id = fw_engine_reply_element(reply, 5);
	const redisReply *events = fw_engine_reply_element(reply, 6);
	int64_t exists, orphan, over, now, more;
	bool is_large;

	(void)is_unknown;
	fw__release(errand);
	if (!fw_engine_reply_number(reply, 0, &exists) ||
	    !fw_engine_reply_number(reply, 1, &orphan) ||
	    !fw_engine_reply_number(reply, 2, &over) ||
	    !fw_engine_reply_number(reply, 3, &now) ||
	    !fw_engine_reply_number(reply, 4, &more) || now < 0 || !fw_journal_is_text(id) ||
	    id->len > FW_LIMIT_ID_BYTES || !events || events->type != REDIS_REPLY_ARRAY) {
		fw_reading_end(reading, FW_READING_FAILED, NULL, 0);
		return;
	}
	if (!exists || (over && !events->elements)) {
		fw_reading_end(reading, FW_READING_NONE, NULL, 0);
		return;
	}
	is_large = fw_reading_found(reading, (uint64_t)now) &&
		   hand_over(journal, reading, events, fw_engine_reply_element(reply, 7));
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
	char name[FW_JOURNAL_NAME_SIZE];
	struct fw_journal_errand *errand;
	struct fw_words words;

	if (!stream || !fw_journal_is_sharing(journal))
		return false;
	errand = fw_journal_errand_new(journal, NULL);
	if (!errand)
		return false;
	errand->call.done = on_read;
	errand->reading = reading;
	make_name(stream, name);
	fw_words_clear(&words);
	fw_journal_put_key(journal, &words, "events:", name);
	fw_journal_put_key(journal, &words, "stream:", name);
	fw_journal_put_key(journal, &words, "changes", "");
	fw_words_number(&words, reading->after);
	FW_WORDS_TEXTS(&words, stream->number ? "0" : "1", journal->self);
	fw_journal_put_key(journal, &words, "alive:", "");
	fw_words_number(&words, FW_LIMIT_FLEET_READ_BYTES);
	return fw_journal_run(journal, errand, FW_JOURNAL_SCRIPT_READ, 3, &words);
}

/* ---- life ----------------------------------------------------------------------------------- */

void fw_journal_beat(struct fw_journal *journal)
{
	struct fw_words words;

	fw_journal_wait(journal);
	if (!journal->engine || !fw_engine_is_up(journal->engine))
		return;
	fw_words_clear(&words);
	fw_words_text(&words, "SET");
	fw_journal_put_key(journal, &words, "alive:", journal->self);
	FW_WORDS_TEXTS(&words, "1", "PX");
	fw_words_number(&words, FW_LIMIT_FLEET_DEAD_MS);
	(void)fw_engine_send(journal->engine, NULL, words.list, words.count);
	if (!fw_journal_is_sharing(journal))
		return;
	fw_replica_check(journal->options.server);
	fw_journal_announce_late(journal);
}

void fw_journal_changed(struct fw_journal *journal, bool is_up)
{
	if (!is_up)
		return;
	fw_journal_beat(journal);
	fw_journal_catch_up(journal);
}

void fw_journal_set_engine(struct fw_journal *journal, struct fw_engine *engine)
{
	journal->engine = engine;
}

static void on_listener(void *ctx, bool is_up)
{
	struct fw_journal *journal = ctx;

	if (!is_up)
		return;
	fw_journal_wait(journal);
	fw_journal_catch_up(journal);
}

fw_error *fw_journal_new(const struct fw_journal_options *options,
			 struct fw_journal **ret_journal)
{
	struct fw_journal *journal = fw__allocate(sizeof *journal);
	struct fw_engine_options second = { .loop = options->loop,
					    .url = options->url,
					    .wait_ms = options->wait_ms + FW_JOURNAL_BLOCK_MS,
					    .is_quiet = true,
					    .changed = on_listener };
	fw_error *err;

	if (!journal)
		return fw_raise_internal_out_of_memory();
	memset(journal, 0, sizeof *journal);
	journal->options = *options;
	(void)snprintf(journal->fleet, sizeof journal->fleet, "%s", options->fleet);
	fw_random_hex(journal->self, sizeof journal->self);
	journal->scripts[FW_JOURNAL_SCRIPT_KEEP].text = FW_JOURNAL_KEEP;
	journal->scripts[FW_JOURNAL_SCRIPT_ANNOUNCE].text = FW_JOURNAL_ANNOUNCE;
	journal->scripts[FW_JOURNAL_SCRIPT_READ].text = FW_JOURNAL_READ;
	journal->scripts[FW_JOURNAL_SCRIPT_NEWEST].text = FW_JOURNAL_NEWEST;
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
