/*
 * audit_batch.c - the lines of one batch: notes about the log itself, then records.
 */
#include <string.h>

#include <faultwire/raw.h>

#include "base/clock.h"
#include "base/limits.h"
#include "observe/audit/audit_writer.h"

enum { KEEP_BATCH_BYTES = 256 * 1024 };

static void put_string(struct fw_buf *out, const char *key, const char *text)
{
	FW_BUF(out, ",\"");
	fw_buf_str(out, key);
	FW_BUF(out, "\":");
	fw_buf_json_str(out, text);
}

static void put_number(struct fw_buf *out, const char *key, uint64_t value)
{
	FW_BUF(out, ",\"");
	fw_buf_str(out, key);
	FW_BUF(out, "\":");
	fw_buf_i64(out, (int64_t)value);
}

static size_t open_note(struct fw_audit *audit, const struct fw_audit_chain *chain,
			const char *reason)
{
	const struct fw_audit_record record = { .event = FW_AUDIT_NOTE, .reason = reason };
	size_t start;

	fw_audit_line_open(&audit->writer.text, chain, &start);
	fw_audit_put_body(&audit->writer.text, &record);
	return start;
}

static bool put_omitted(struct fw_audit *audit, struct fw_audit_chain *chain)
{
	char since[FW_TIME_SIZE];
	int64_t since_ms;
	size_t start;

	fw_queue_thread_lock(&audit->queue);
	audit->omitted.noted = audit->omitted.count;
	since_ms = audit->omitted.since_unix_ms;
	fw_queue_thread_unlock(&audit->queue);
	(void)fw_time_text(since_ms, since);
	start = open_note(audit, chain, "refusals left out");
	put_string(&audit->writer.text, "since", since);
	put_number(&audit->writer.text, "count", audit->omitted.noted);
	return fw_audit_line_seal(&audit->writer.text, start, audit->writer.hasher, chain);
}

/* Notes about the log itself come before the records. */
static bool put_notes(struct fw_audit *audit, struct fw_audit_chain *chain)
{
	/* Rotation first: an empty file begins by naming the file before it. */
	static const struct {
		enum fw_audit_note_kind kind;
		const char *reason;
		const char *hash;
	} kinds[] = {
		{ FW_AUDIT_NOTE_ROTATED, "log rotated", "last_hash" },
		{ FW_AUDIT_NOTE_REPLACED, "log removed while in use", "last_hash" },
		{ FW_AUDIT_NOTE_TORN, "torn line set aside", "sha256" },
	};
	struct fw_buf *out = &audit->writer.text;
	size_t start;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct fw_audit_note *note = &audit->writer.file->notes[kinds[i].kind];

		if (!note->is_due)
			continue;
		start = open_note(audit, chain, kinds[i].reason);
		if (note->file[0])
			put_string(out, "file", note->file);
		if (note->bytes)
			put_number(out, "bytes", note->bytes);
		put_string(out, kinds[i].hash, note->hash);
		if (!fw_audit_line_seal(out, start, audit->writer.hasher, chain))
			return false;
	}
	if (audit->omitted.is_note_due && !put_omitted(audit, chain))
		return false;
	if (audit->writer.down_since_ms) {
		char since[FW_TIME_SIZE];
		const char *name = fw_errno_name(audit->failure.errnum);

		(void)fw_time_text(audit->writer.down_since_ms, since);
		start = open_note(audit, chain, "writing resumed");
		put_string(out, "since", since);
		put_number(out, "lost", audit->writer.lost_since);
		put_string(out, "failure", name ? name : audit->failure.doing);
		if (!fw_audit_line_seal(out, start, audit->writer.hasher, chain))
			return false;
	}
	return true;
}

/* The body gets what the thread has to make of the record: the arguments. */
static bool put_item(struct fw_audit *audit, struct fw_audit_item *item, struct fw_buf *out,
		     struct fw_audit_chain *chain)
{
	size_t start;

	if (!item->is_complete)
		item->is_complete =
			fw_audit_put_args(&item->body, audit->writer.hasher, item->args,
					  item->args_len, audit->options.keep_args);
	if (!item->is_complete)
		return false;
	fw_audit_line_open(out, chain, &start);
	fw_buf_put(out, item->body.text, item->body.len);
	return fw_audit_line_seal(out, start, audit->writer.hasher, chain);
}

/* May a batch that has this already get one more record? */
static bool has_room(const struct fw_audit *audit, uint64_t count, size_t len)
{
	return (!audit->options.batch_most || count < audit->options.batch_most) &&
	       len < FW_LIMIT_AUDIT_BATCH_BYTES;
}

/* ---- lines made ahead --------------------------------------------------- */

void fw_audit_ahead_drop(struct fw_audit *audit)
{
	struct fw_audit_ahead *ahead = &audit->writer.ahead;

	fw_buf_reset(&ahead->text, KEEP_BATCH_BYTES);
	ahead->first = ahead->last = NULL;
	ahead->count = 0;
	ahead->is_full = false;
}

static bool add_ahead(struct fw_audit *audit, struct fw_audit_item *item)
{
	struct fw_audit_ahead *ahead = &audit->writer.ahead;
	size_t len = ahead->text.len;

	if (item->move || !has_room(audit, ahead->count, len))
		return false;
	if (!put_item(audit, item, &ahead->text, &ahead->chain)) {
		/* The buffer keeps its failure: nothing of it can be used. */
		ahead->count = 0;
		return false;
	}
	ahead->last = item;
	ahead->count++;
	return true;
}

/* Only this thread takes items from the queue, and the member `next` of the last one, which
 * others set, is not read. */
void fw_audit_ahead_put(struct fw_audit *audit, const struct fw_audit_chain *from)
{
	struct fw_audit_ahead *ahead = &audit->writer.ahead;
	const struct fw_audit_item *last =
		(const struct fw_audit_item *)(const void *)audit->queue.last;
	struct fw_audit_item *item =
		ahead->last ? fw_audit_item_next(ahead->last)
			    : (struct fw_audit_item *)(void *)audit->queue.first;

	if (!item || ahead->is_full)
		return;
	fw_queue_thread_unlock(&audit->queue);
	if (!ahead->first) {
		ahead->first = item;
		ahead->from = ahead->chain = *from;
	}
	while (!ahead->is_full) {
		ahead->is_full = !add_ahead(audit, item);
		if (item == last)
			break;
		item = fw_audit_item_next(item);
	}
	fw_queue_thread_lock(&audit->queue);
}

/* Another process may have written meanwhile, or a note comes first: then the lines are
 * made again. */
static bool take_ahead(struct fw_audit *audit, const struct fw_audit_item *first,
		       struct fw_audit_chain *chain)
{
	struct fw_audit_ahead *ahead = &audit->writer.ahead;
	struct fw_buf text = audit->writer.text;

	if (!ahead->count || ahead->first != first || text.len > 0 ||
	    ahead->from.seq != chain->seq || strcmp(ahead->from.hash, chain->hash) != 0)
		return false;
	audit->writer.text = ahead->text;
	ahead->text = text;
	*chain = ahead->chain;
	return true;
}

bool fw_audit_batch_put(struct fw_audit *audit, struct fw_audit_item *first,
			struct fw_audit_chain *chain, struct fw_audit_item **ret_rest,
			uint64_t *ret_count)
{
	struct fw_buf *out = &audit->writer.text;
	uint64_t count = 0;

	fw_buf_reset(out, KEEP_BATCH_BYTES);
	*ret_rest = first;
	*ret_count = 0;
	if (!put_notes(audit, chain))
		return false;
	if (take_ahead(audit, first, chain)) {
		first = fw_audit_item_next(audit->writer.ahead.last);
		count = audit->writer.ahead.count;
	}
	fw_audit_ahead_drop(audit);
	while (first && !first->move && has_room(audit, count, out->len)) {
		if (!put_item(audit, first, out, chain))
			return false;
		first = fw_audit_item_next(first);
		count++;
	}
	*ret_rest = first;
	*ret_count = count;
	return true;
}
