/*
 * audit_anchors.c - see audit_anchors.h.
 *
 * A chain can be written again with fresh hashes, cut at its end, or replaced by an older
 * copy, and is intact each time. An anchor is not part of the chain: the record with its
 * number must have its hash.
 */
#include "cli/commands/audit_anchors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/faultwire.h>
#include <faultwire/raise.h>

#include "base/clock.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"
#include "observe/audit/audit_anchor.h"
#include "store/anchor.h"

struct item {
	uint64_t seq;
	int64_t time_ms;
	char hash[65];
	char replica[64];
};

struct cli_anchors {
	char log[FW_AUDIT_LOG_NAME_SIZE];
	struct item *items; /* by number */
	size_t count;
	size_t room;
	bool is_full;               /* no memory */
	size_t at;                  /* the first one that no record was compared with */
	size_t checked;             /* found in the log */
	uint64_t last_seq;          /* of the log */
	const struct item *changed; /* the first one whose record has another hash */
};

static void collect(void *ctx, const struct fw_anchor *anchor)
{
	struct cli_anchors *anchors = ctx;
	struct item *item;

	if (anchors->count == anchors->room) {
		size_t room = anchors->room ? 2 * anchors->room : 256;
		struct item *items = realloc(anchors->items, room * sizeof *items);

		anchors->is_full |= !items;
		if (!items)
			return;
		anchors->items = items;
		anchors->room = room;
	}
	item = &anchors->items[anchors->count++];
	*item = (struct item){ .seq = anchor->seq, .time_ms = anchor->time_ms };
	(void)snprintf(item->hash, sizeof item->hash, "%s", anchor->hash);
	(void)snprintf(item->replica, sizeof item->replica, "%s", anchor->replica);
}

static int by_number(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

fw_error *cli_anchors_read(const char *url, const char *name, const char *path,
			   struct cli_anchors **ret_anchors)
{
	struct cli_anchors *anchors = calloc(1, sizeof *anchors);
	struct fw_anchors *source = NULL;
	fw_error *err = NULL;

	if (!anchors)
		return fw_raise_internal_out_of_memory();
	if (name)
		(void)snprintf(anchors->log, sizeof anchors->log, "%s", name);
	else if (!fw_audit_log_name(NULL, path, anchors->log))
		err = cli_usage("the directory of %s does not exist", path);
	if (!err)
		err = fw_anchors_open(url, &source);
	if (!err)
		err = fw_anchors_list(source, anchors->log, collect, anchors);
	if (!err && anchors->is_full)
		err = fw_raise_internal_out_of_memory();
	fw_anchors_free(source);
	if (err) {
		cli_anchors_free(anchors);
		return err;
	}
	if (anchors->count)
		qsort(anchors->items, anchors->count, sizeof *anchors->items, by_number);
	*ret_anchors = anchors;
	return NULL;
}

void cli_anchors_free(struct cli_anchors *anchors)
{
	if (!anchors)
		return;
	free(anchors->items);
	free(anchors);
}

void cli_anchors_record(void *ctx, uint64_t seq, const char *hash)
{
	struct cli_anchors *anchors = ctx;

	anchors->last_seq = seq;
	/* Those of records that are stored elsewhere are not compared. */
	while (anchors->at < anchors->count && anchors->items[anchors->at].seq <= seq) {
		const struct item *item = &anchors->items[anchors->at++];

		if (item->seq != seq)
			continue;
		anchors->checked++;
		if (!anchors->changed && strcmp(item->hash, hash) != 0)
			anchors->changed = item;
	}
}

static const struct item *last_missing(const struct cli_anchors *anchors)
{
	return anchors->at < anchors->count ? &anchors->items[anchors->count - 1] : NULL;
}

/* "absent", "rewritten", "cut"; NULL: the log has all of them. */
static const char *fault_of(const struct cli_anchors *anchors)
{
	if (!anchors->count)
		return "absent";
	if (anchors->changed)
		return "rewritten";
	return last_missing(anchors) ? "cut" : NULL;
}

bool cli_anchors_hold(const struct cli_anchors *anchors)
{
	return !fault_of(anchors);
}

static void put_reason(const struct cli_anchors *anchors, char *ret_text, size_t size)
{
	const struct item *item = anchors->changed ? anchors->changed : last_missing(anchors);
	char when[FW_TIME_SIZE] = "";

	ret_text[0] = '\0';
	if (!anchors->count)
		(void)snprintf(ret_text, size,
			       "there is no anchor of %s: check the URL, or name the log with "
			       "--anchored-as",
			       anchors->log);
	if (!item)
		return;
	(void)fw_time_text(item->time_ms, when);
	if (anchors->changed)
		(void)snprintf(ret_text, size,
			       "record %llu had the hash %.12s... when %s anchored it at %s: "
			       "the log was written again since",
			       (unsigned long long)item->seq, item->hash, item->replica, when);
	else
		(void)snprintf(ret_text, size,
			       "the log ends with record %llu, but %s anchored record %llu at "
			       "%s: its end was cut off, or it is an older copy",
			       (unsigned long long)anchors->last_seq, item->replica,
			       (unsigned long long)item->seq, when);
}

void cli_anchors_put(const struct cli_anchors *anchors, bool is_json)
{
	const char *fault = fault_of(anchors);
	char reason[FW_AUDIT_LOG_NAME_SIZE + 256];

	put_reason(anchors, reason, sizeof reason);
	if (is_json) {
		cli_json_open("anchors", '{');
		cli_json_string("log", anchors->log);
		cli_json_number("count", (int64_t)anchors->count);
		cli_json_number("checked", (int64_t)anchors->checked);
		cli_json_string("fault", fault);
		if (fault)
			cli_json_string("reason", reason);
		cli_json_close('}');
	} else if (fault) {
		cli_printf("but the anchors do not agree: %s: ", fault);
		cli_put_harmless(reason);
		cli_putc('\n');
	} else {
		cli_printf("%zu anchor%s found in the log\n", anchors->checked,
			   anchors->checked == 1 ? "" : "s");
	}
}
