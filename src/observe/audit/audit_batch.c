/*
 * audit_batch.c - the lines of one batch: notes about the log itself, then records.
 */
#include <errno.h>

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

	fw_audit_line_open(&audit->writer.batch.lines, chain, &start);
	fw_audit_put_body(&audit->writer.batch.lines, &record);
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
	put_string(&audit->writer.batch.lines, "since", since);
	put_number(&audit->writer.batch.lines, "count", audit->omitted.noted);
	return fw_audit_line_seal(&audit->writer.batch.lines, start, audit->writer.hasher,
				  chain);
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
	struct fw_buf *out = &audit->writer.batch.lines;
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

bool fw_audit_batch_open(struct fw_audit *audit)
{
	struct fw_audit_batch *batch = &audit->writer.batch;
	struct fw_audit_file *file = audit->writer.file;

	fw_buf_reset(&batch->lines, KEEP_BATCH_BYTES);
	batch->last = NULL;
	batch->count = 0;
	batch->state = FW_AUDIT_BATCH_FAILED;
	if (!fw_audit_file_begin(file, audit->writer.hasher, &batch->failure))
		return false;
	batch->chain = file->chain;
	if (!put_notes(audit, &batch->chain)) {
		fw_audit_file_end(file);
		return fw_audit_fail(&batch->failure, ENOMEM, "a record could not be made");
	}
	batch->state = FW_AUDIT_BATCH_OPEN;
	return true;
}

static bool put_item(struct fw_audit *audit, struct fw_audit_item *item)
{
	struct fw_audit_batch *batch = &audit->writer.batch;
	struct fw_buf *out = &batch->lines;
	size_t start;

	fw_audit_line_open(out, &batch->chain, &start);
	fw_buf_put(out, item->body.text, item->body.len);
	return fw_audit_put_args(out, audit->writer.hasher, item->args, item->args_len,
				 audit->options.keep_args) &&
	       fw_audit_line_seal(out, start, audit->writer.hasher, &batch->chain);
}

bool fw_audit_batch_add(struct fw_audit *audit, struct fw_audit_item *first,
			const struct fw_audit_item *last)
{
	struct fw_audit_batch *batch = &audit->writer.batch;
	uint64_t most = audit->options.batch_most ? audit->options.batch_most : UINT64_MAX;

	while (first && !first->move && batch->count < most &&
	       batch->lines.len < FW_LIMIT_AUDIT_BATCH_BYTES) {
		if (!put_item(audit, first)) {
			fw_audit_file_end(audit->writer.file);
			batch->state = FW_AUDIT_BATCH_FAILED;
			return fw_audit_fail(&batch->failure, ENOMEM,
					     "a record could not be made");
		}
		batch->last = first;
		batch->count++;
		/* Other threads set the member `next` of the last one in the queue. */
		first = first == last ? NULL : fw_audit_item_next(first);
	}
	return true;
}
