/*
 * journal_impl.h - what the two halves of a journal share: journal.c keeps and reads events
 * of streams, journal_news.c announces changes and receives those of other replicas.
 *
 * The one rule to remember: nothing else includes this.
 */
#ifndef FW_FLEET_JOURNAL_IMPL_H
#define FW_FLEET_JOURNAL_IMPL_H

#include "base/limits_fleet.h"
#include "fleet/hiredis.h"
#include "fleet/journal.h"
#include "fleet/quota.h"
#include "fleet/words.h"

enum fw_journal_script {
	FW_JOURNAL_SCRIPT_KEEP,
	FW_JOURNAL_SCRIPT_ANNOUNCE,
	FW_JOURNAL_SCRIPT_READ,
	FW_JOURNAL_SCRIPT_NEWEST,
	FW_JOURNAL_SCRIPTS
};

enum {
	FW_JOURNAL_BLOCK_MS = 1000, /* how long the second connection waits for news */
	FW_JOURNAL_ID_SIZE = 44,
	FW_JOURNAL_NAME_SIZE = 64,
	FW_JOURNAL_LISTS = FW_CHANGE_RESOURCE /* the changes before it are of lists */
};

struct fw_journal {
	struct fw_journal_options options;
	char fleet[FW_QUOTA_FLEET_SIZE];
	char self[FW_QUOTA_REPLICA_SIZE]; /* this replica, for as long as it runs */
	struct fw_engine *engine;         /* NULL: closed */
	struct fw_engine *listener;       /* the second connection; NULL: closed */
	/* Sent as text: a lost script would lose the event that it was to keep. */
	struct fw_engine_script scripts[FW_JOURNAL_SCRIPTS];
	struct fw_engine_call news; /* XREAD, or the question where to begin */
	bool is_waiting;            /* for it */
	bool has_begun;             /* the ids to read from are known */
	char changes_at[FW_JOURNAL_ID_SIZE];
	char notices_at[FW_JOURNAL_ID_SIZE];
	uint64_t newest;
	/* Changes that could not be announced. */
	bool is_late[FW_JOURNAL_LISTS];
	char *late_uris[FW_LIMIT_FLEET_LATE_URIS];
	size_t late_count;
	uint64_t counts[FW_JOURNAL_COUNTS];
};

/* A command in progress. */
struct fw_journal_errand {
	struct fw_engine_call call; /* must be first */
	struct fw_journal *journal;
	struct fw_reading *reading;
	enum fw_change change;
	bool is_local; /* clients of this server got the announcement already */
	char uri[];    /* of a change */
};

/* NULL: no memory. `uri` may be NULL. */
struct fw_journal_errand *fw_journal_errand_new(struct fw_journal *journal, const char *uri);
/* Runs a script. False: it cannot be run, and the errand is freed. */
bool fw_journal_run(struct fw_journal *journal, struct fw_journal_errand *errand,
		    enum fw_journal_script script, size_t keys, const struct fw_words *words);

static inline void fw_journal_put_key(const struct fw_journal *journal, struct fw_words *words,
				      const char *kind, const char *rest)
{
	fw_words_key(words, journal->fleet, kind, rest);
}

/* ---- parts of replies -------------------------------------------------------------------- */

static inline bool fw_journal_is_text(const redisReply *reply)
{
	return reply && reply->type == REDIS_REPLY_STRING;
}
/* The number before the first character that is not a digit. */
bool fw_journal_read_number(const redisReply *reply, uint64_t *ret_number);
/* A change, and its URI, which is empty unless it is one of a resource. */
bool fw_journal_read_change(const redisReply *kind, const redisReply *uri,
			    enum fw_change *ret_change);
static inline const char *fw_journal_uri(const char *text)
{
	return text[0] ? text : NULL;
}

/* ---- news ---------------------------------------------------------------------------------- */

/* Waits for news, unless it is waiting already. */
void fw_journal_wait(struct fw_journal *journal);
/* Readers may have missed something while one of the connections was down. */
void fw_journal_catch_up(struct fw_journal *journal);
/* Announces changes that could not be announced before. */
void fw_journal_announce_late(struct fw_journal *journal);

#endif
