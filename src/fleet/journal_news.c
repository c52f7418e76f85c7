/*
 * journal_news.c - changes of lists and resources: announcing those of this replica, and
 * receiving what the others announce and keep.
 */
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "fleet/journal_impl.h"

enum { DIGITS = 18, DIGEST = 32 };
static const char KINDS[] = "tpru"; /* of fw_change */

static void see(struct fw_journal *journal, uint64_t number)
{
	if (number > journal->newest)
		journal->newest = number;
}

/* ---- replies -------------------------------------------------------------------------------- */

bool fw_journal_read_number(const redisReply *reply, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t i = 0;

	if (!fw_journal_is_text(reply))
		return false;
	for (; i < DIGITS && reply->str[i] >= '0' && reply->str[i] <= '9'; i++)
		number = number * 10 + (uint64_t)(reply->str[i] - '0');
	*ret_number = number;
	return i > 0 && !(reply->str[i] >= '0' && reply->str[i] <= '9');
}

bool fw_journal_read_change(const redisReply *kind, const redisReply *uri,
			    enum fw_change *ret_change)
{
	const char *found = NULL;

	if (fw_journal_is_text(kind) && kind->len == 1)
		found = memchr(KINDS, kind->str[0], sizeof KINDS - 1);
	if (!found || !fw_journal_is_text(uri) || uri->len > FW_LIMIT_FLEET_URI_BYTES ||
	    strlen(uri->str) != (size_t)uri->len)
		return false;
	*ret_change = (enum fw_change)(found - KINDS);
	return (*ret_change == FW_CHANGE_RESOURCE) == (uri->len > 0);
}

/* ---- changes -------------------------------------------------------------------------------- */

/* To be announced when the engine is back. More resources than can be kept are not. */
static void put_off(struct fw_journal *journal, enum fw_change change, const char *uri)
{
	if (change != FW_CHANGE_RESOURCE)
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
	struct fw_journal_errand *errand = (struct fw_journal_errand *)(void *)call;
	struct fw_journal *journal = errand->journal;
	const char *uri = fw_journal_uri(errand->uri);
	int64_t number = 0;

	(void)is_unknown;
	if (fw_engine_reply_number(reply, 0, &number) && number > 0) {
		journal->counts[FW_JOURNAL_ANNOUNCED]++;
	} else {
		/* At least once: a repeated announcement does no harm. */
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
	struct fw_journal_errand *errand = fw_journal_errand_new(journal, uri);
	struct fw_words words;

	if (!errand)
		return false;
	errand->call.done = on_announced;
	errand->change = change;
	errand->is_local = is_local;
	fw_words_clear(&words);
	fw_journal_put_key(journal, &words, "changes", "");
	fw_journal_put_key(journal, &words, "number", "");
	FW_WORDS_TEXTS(&words, kind, errand->uri);
	fw_words_number(&words, FW_LIMIT_FLEET_CHANGES);
	fw_words_number(&words, FW_LIMIT_FLEET_EVENT_MS);
	fw_words_number(&words, journal->newest);
	return fw_journal_run(journal, errand, FW_JOURNAL_SCRIPT_ANNOUNCE, 2, &words);
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

void fw_journal_announce_late(struct fw_journal *journal)
{
	for (size_t i = 0; i < FW_JOURNAL_LISTS; i++)
		if (journal->is_late[i] && announce(journal, (enum fw_change)i, NULL, true))
			journal->is_late[i] = false;
	while (journal->late_count &&
	       announce(journal, FW_CHANGE_RESOURCE,
			journal->late_uris[journal->late_count - 1], true))
		fw__release(journal->late_uris[--journal->late_count]);
}

/* ---- news of other replicas ----------------------------------------------------------------- */

void fw_journal_catch_up(struct fw_journal *journal)
{
	if (!fw_journal_is_sharing(journal))
		return;
	fw_replica_woken(journal->options.server, NULL, 0);
	fw_journal_announce_late(journal);
}

static bool keep_id(const redisReply *id, char ret_id[FW_JOURNAL_ID_SIZE])
{
	if (!fw_journal_is_text(id) || id->len == 0 || id->len >= FW_JOURNAL_ID_SIZE ||
	    strspn(id->str, "0123456789-") != (size_t)id->len)
		return false;
	memcpy(ret_id, id->str, (size_t)id->len + 1);
	return true;
}

/* "DIGEST:NUMBER" */
static void take_notice(struct fw_journal *journal, const redisReply *fields)
{
	const redisReply *name = fw_engine_reply_element(fields, 1);
	char digest[DIGEST + 1];
	redisReply rest;
	uint64_t number;

	if (!fw_journal_is_text(name) || name->len < DIGEST + 2 || name->str[DIGEST] != ':')
		return;
	memcpy(digest, name->str, DIGEST);
	digest[DIGEST] = '\0';
	rest = *name;
	rest.str += DIGEST + 1;
	rest.len -= DIGEST + 1;
	if (fw_journal_read_number(&rest, &number))
		fw_replica_woken(journal->options.server, digest, number);
}

static void take_change(struct fw_journal *journal, const redisReply *id,
			const redisReply *fields)
{
	const redisReply *uri = fw_engine_reply_element(fields, 3);
	enum fw_change change;
	uint64_t number;

	if (!fw_journal_read_number(id, &number) ||
	    !fw_journal_read_change(fw_engine_reply_element(fields, 1), uri, &change))
		return;
	see(journal, number);
	journal->counts[FW_JOURNAL_HEARD]++;
	fw_replica_changed(journal->options.server, change, fw_journal_uri(uri->str), number);
}

/* The entries of one of the two; returns how many. */
static size_t take_entries(struct fw_journal *journal, const redisReply *streams,
			   bool are_changes)
{
	char name[FW_WORDS_KEY];
	size_t count = 0;

	fw_words_make_key(journal->fleet, are_changes ? "changes" : "notices", "", name);
	for (size_t i = 0; fw_engine_reply_element(streams, i); i++) {
		const redisReply *key =
			fw_engine_reply_element(fw_engine_reply_element(streams, i), 0);
		const redisReply *entries =
			fw_engine_reply_element(fw_engine_reply_element(streams, i), 1);
		const redisReply *entry;

		if (!fw_journal_is_text(key) || strcmp(key->str, name) != 0)
			continue;
		for (count = 0; (entry = fw_engine_reply_element(entries, count)) != NULL;
		     count++) {
			const redisReply *id = fw_engine_reply_element(entry, 0);

			if (!keep_id(id,
				     are_changes ? journal->changes_at : journal->notices_at))
				continue;
			if (are_changes)
				take_change(journal, id, fw_engine_reply_element(entry, 1));
			else
				take_notice(journal, fw_engine_reply_element(entry, 1));
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
	/* The reply is full, so older entries may have been trimmed unread. */
	if (take_entries(journal, reply, false) == FW_LIMIT_FLEET_NOTICES_READ)
		fw_replica_woken(journal->options.server, NULL, 0);
	(void)take_entries(journal, reply, true);
	if (reply->type == REDIS_REPLY_ERROR)
		return; /* the next beat retries */
	fw_journal_wait(journal);
}

static void on_newest(struct fw_engine_call *call, const struct redisReply *reply,
		      bool is_unknown)
{
	struct fw_journal *journal =
		(struct fw_journal *)(void *)((char *)call - offsetof(struct fw_journal, news));
	int64_t now;

	(void)is_unknown;
	journal->is_waiting = false;
	if (!keep_id(fw_engine_reply_element(reply, 0), journal->changes_at) ||
	    !keep_id(fw_engine_reply_element(reply, 1), journal->notices_at) ||
	    !fw_engine_reply_number(reply, 2, &now) || now <= 0)
		return;
	see(journal, (uint64_t)now);
	journal->has_begun = true;
	fw_replica_begun(journal->options.server, (uint64_t)now);
	fw_journal_wait(journal);
	fw_journal_catch_up(journal);
}

/* One command at a time: where to begin, then what is new, again and again. */
void fw_journal_wait(struct fw_journal *journal)
{
	struct fw_words words;

	if (journal->is_waiting || !journal->listener || !fw_engine_is_up(journal->listener))
		return;
	fw_words_clear(&words);
	if (!journal->has_begun) {
		journal->news.done = on_newest;
		fw_journal_put_key(journal, &words, "changes", "");
		fw_journal_put_key(journal, &words, "notices", "");
		journal->is_waiting = fw_engine_run(journal->listener, &journal->news,
						    &journal->scripts[FW_JOURNAL_SCRIPT_NEWEST],
						    2, words.list, words.count);
		return;
	}
	journal->news.done = on_news;
	FW_WORDS_TEXTS(&words, "XREAD", "COUNT");
	fw_words_number(&words, FW_LIMIT_FLEET_NOTICES_READ);
	fw_words_text(&words, "BLOCK");
	fw_words_number(&words, FW_JOURNAL_BLOCK_MS);
	fw_words_text(&words, "STREAMS");
	fw_journal_put_key(journal, &words, "changes", "");
	fw_journal_put_key(journal, &words, "notices", "");
	FW_WORDS_TEXTS(&words, journal->changes_at, journal->notices_at);
	journal->is_waiting =
		fw_engine_send(journal->listener, &journal->news, words.list, words.count);
}
