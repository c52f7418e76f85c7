/*
 * listing.c - see listing.h.
 *
 * A gathering has one fetch per upstream. A fetch waits until its upstream is connected,
 * requests one page after the other, and replaces the stored list when the last page has
 * come.
 */
#include "gate/listing.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/mem.h"
#include "gate/gate_impl.h"
#include "gate/pins.h"
#include "gate/repair.h"
#include "rpc/names.h"

struct fetch {
	struct fetch *next; /* of the upstream, while it waits for the connection */
	struct fw_gathering *gathering;
	struct fw_upstream *upstream;
	bool is_waiting;
	uint64_t key; /* of the request in progress; 0: none */
	unsigned pages;
	struct fw_buf cursor;      /* cursor of that page, as text; empty: the first page */
	struct fw_listing listing; /* what has come so far */
};

struct fw_gathering {
	struct fw_gate *gate;
	enum fw_listing_kind kind;
	fw_gathering_fn *done;
	void *ctx;
	size_t left; /* fetches that have not ended */
	bool is_starting;
	bool is_cancelled;
	size_t count;
	struct fetch fetches[];
};

static const struct {
	const char *method;
	const char *member;
	const char *name; /* of an item */
} kinds[FW_LISTING_KINDS] = {
	[FW_LISTING_TOOLS] = { FW_METHOD_TOOLS_LIST, "tools", "name" },
	[FW_LISTING_PROMPTS] = { FW_METHOD_PROMPTS_LIST, "prompts", "name" },
	[FW_LISTING_RESOURCES] = { FW_METHOD_RESOURCES_LIST, "resources", "uri" },
	[FW_LISTING_TEMPLATES] = { FW_METHOD_TEMPLATES_LIST, "resourceTemplates",
				   "uriTemplate" },
};

int fw_listing_kind_of(const char *method)
{
	static const char end[] = "/list";
	size_t len = strlen(method);

	/* A quick test first: every call gets here, and few are for lists. */
	if (len < sizeof end || memcmp(method + len - (sizeof end - 1), end, sizeof end) != 0)
		return -1;
	for (int i = 0; i < FW_LISTING_KINDS; i++)
		if (strcmp(method, kinds[i].method) == 0)
			return i;
	return -1;
}

/* ---- a list ---------------------------------------------------------------------- */

void fw_listing_clear(struct fw_listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		fw__release(listing->items[i].name);
	fw__release(listing->items);
	fw_buf_clear(&listing->text);
	memset(listing, 0, sizeof *listing);
}

const struct fw_listing_item *fw_listing_find(const struct fw_listing *listing,
					      const char *name)
{
	for (size_t i = 0; i < listing->count; i++)
		if (strcmp(listing->items[i].name, name) == 0)
			return &listing->items[i];
	return NULL;
}

static bool is_listed(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

/* The server gives this hint about its own tool, so it counts only if the operator trusts
 * the server. */
static bool has_safe_hint(struct fw_slice item)
{
	struct fw_scan_member annotations = { .name = "annotations" };
	struct fw_scan_member hints[] = { { .name = "readOnlyHint" },
					  { .name = "idempotentHint" } };

	(void)fw_slice_members(item, &annotations, 1);
	(void)fw_slice_members(annotations.value, hints, 2);
	return fw_slice_is(hints[0].value, "true") || fw_slice_is(hints[1].value, "true");
}

/* Adds an item unless it is filtered out. False: no memory, or the list is too long. */
static bool add_item(struct fetch *fetch, struct fw_slice item)
{
	struct fw_listing *listing = &fetch->listing;
	const struct fw_gate_entry *entry = fetch->upstream->entry;
	enum fw_listing_kind kind = fetch->gathering->kind;
	struct fw_scan_member id = { .name = kinds[kind].name };
	struct fw_listing_item added = { .name = NULL };
	char text[4096];

	(void)fw_slice_members(item, &id, 1);
	if (!fw_slice_is_string(id.value) ||
	    fw_slice_text(id.value, text, sizeof text) >= sizeof text)
		return true;
	if (kind == FW_LISTING_TOOLS) {
		if ((entry->allow && !is_listed(entry->allow, text)) ||
		    (entry->deny && is_listed(entry->deny, text)))
			return true;
		added.is_safe = has_safe_hint(item);
		added.is_refused = !fw_pins_check(fetch->upstream, text, item);
	}
	if (listing->count == FW_LISTING_ITEMS)
		return false;
	if (!listing->items) {
		listing->items = fw__allocate(FW_LISTING_ITEMS * sizeof *listing->items);
		fw_buf_init(&listing->text, FW_LIMIT_CHILD_LINE_BYTES);
	}
	/* Already listed: some servers send a page twice. */
	if (fw_listing_find(listing, text))
		return true;
	added.offset = listing->text.len;
	switch (fw_repair_item(fetch->upstream, kind, item, &listing->text)) {
	case FW_REPAIR_NONE: fw_buf_put(&listing->text, item.p, item.n); break;
	case FW_REPAIR_DONE: break;
	case FW_REPAIR_LEFT_OUT: return listing->text.state == FW_BUF_OK;
	}
	added.len = listing->text.len - added.offset;
	added.name = listing->items ? fw_strdup(text) : NULL;
	if (!added.name)
		return false;
	listing->items[listing->count++] = added;
	return listing->text.state == FW_BUF_OK;
}

/* ---- fetching ---------------------------------------------------------------------- */

static void ask_for_page(struct fetch *fetch, struct fw_slice cursor);

static void end_gathering(struct fw_gathering *gathering)
{
	fw_gathering_fn *done = gathering->is_cancelled ? NULL : gathering->done;
	void *ctx = gathering->ctx;

	for (size_t i = 0; i < gathering->count; i++) {
		fw_listing_clear(&gathering->fetches[i].listing);
		fw_buf_clear(&gathering->fetches[i].cursor);
	}
	fw__release(gathering);
	if (done)
		done(ctx);
}

/* Consumes `err`. */
static void end_fetch(struct fetch *fetch, fw_error *err)
{
	struct fw_gathering *gathering = fetch->gathering;
	struct fw_upstream *upstream = fetch->upstream;
	struct fw_listing *kept = &upstream->listings[gathering->kind];

	fw_error_free(upstream->list_faults[gathering->kind]);
	upstream->list_faults[gathering->kind] = err;
	if (!err) {
		fw_listing_clear(kept);
		*kept = fetch->listing;
		kept->is_loaded = true;
		memset(&fetch->listing, 0, sizeof fetch->listing);
		if (gathering->kind == FW_LISTING_TOOLS) {
			upstream->definitions.is_known = true;
			fw_pins_listed(upstream);
		}
	}
	if (--gathering->left == 0 && !gathering->is_starting)
		end_gathering(gathering);
}

/* NULL: the upstream does not have this method, so its list is empty. */
static fw_error *read_refusal(const struct fetch *fetch, const struct fw_scan *scan)
{
	char message[256];

	if (fw_slice_is(scan->code, "-32601"))
		return NULL;
	(void)fw_slice_text(scan->message, message, sizeof message);
	return fw_raise_upstream_failed(fetch->upstream->entry->target.name, message);
}

static fw_error *raise_unfinished(const struct fetch *fetch)
{
	const struct fw_listing *listing = &fetch->listing;

	if (fetch->pages > FW_LISTING_PAGES || listing->count == FW_LISTING_ITEMS ||
	    listing->text.state == FW_BUF_TOO_LARGE)
		return fw_raise_upstream_invalid_reply(fetch->upstream->entry->target.name,
						       "its list is too long");
	return fw_raise_internal_out_of_memory();
}

/* Some servers return the cursor of the request again, forever. */
static bool is_last_page(const struct fetch *fetch, const struct fw_scan *scan)
{
	return fw_repair_is_same(scan->cursor,
				 (struct fw_text){ fetch->cursor.text, fetch->cursor.len });
}

/* Stores the cursor for is_last_page(). If there is no memory, the limit of pages ends
 * the list. */
static void keep_cursor(struct fetch *fetch, struct fw_slice cursor)
{
	char text[4096];
	size_t len = fw_slice_text(cursor, text, sizeof text);

	fw_buf_clear(&fetch->cursor);
	fw_buf_init(&fetch->cursor, sizeof text);
	if (len < sizeof text)
		fw_buf_put(&fetch->cursor, text, len);
}

static void take_page(void *ctx, const struct fw_remote_reply *reply, fw_error *err)
{
	struct fetch *fetch = ctx;
	struct fw_scan_member list = { .name = kinds[fetch->gathering->kind].member };
	struct fw_slice key;
	struct fw_slice item;
	const char *at = NULL;
	bool is_whole = true;

	fetch->key = 0;
	if (err) {
		end_fetch(fetch, err);
		return;
	}
	if (!reply->result.p) {
		end_fetch(fetch, read_refusal(fetch, reply->scan));
		return;
	}
	err = fw_repair_check(fetch->upstream, fetch->gathering->kind, reply->result);
	if (err) {
		end_fetch(fetch, err);
		return;
	}
	(void)fw_slice_members(reply->result, &list, 1);
	while (is_whole && fw_slice_next(list.value, &at, &key, &item))
		is_whole = add_item(fetch, item);
	if (!is_whole || fetch->pages > FW_LISTING_PAGES)
		end_fetch(fetch, raise_unfinished(fetch));
	else if (fw_slice_is_string(reply->scan->cursor) && !is_last_page(fetch, reply->scan))
		ask_for_page(fetch, reply->scan->cursor);
	else
		end_fetch(fetch, NULL);
}

static void ask_for_page(struct fetch *fetch, struct fw_slice cursor)
{
	struct fw_gate *gate = fetch->gathering->gate;
	const uint32_t deadline = fetch->upstream->entry->deadline_ms
					  ? fetch->upstream->entry->deadline_ms
					  : gate->options.deadline_ms;
	struct fw_remote_request request = { .method = kinds[fetch->gathering->kind].method,
					     .deadline_ms = deadline,
					     .done = take_page,
					     .ctx = fetch };
	fw_error *err;

	fetch->pages++;
	fw_buf_reset(&gate->params, FW_LIMIT_CHILD_KEPT_BYTES);
	if (cursor.p) {
		keep_cursor(fetch, cursor);
		FW_BUF(&gate->params, "\"cursor\":");
		fw_buf_put(&gate->params, cursor.p, cursor.n);
		request.params = (struct fw_slice){ gate->params.text, gate->params.len };
	}
	/* If the cursor did not fit, the request would fetch the first page again. */
	err = gate->params.state == FW_BUF_OK
		      ? fw_remote_call(fetch->upstream->remote, &request, &fetch->key)
		      : fw_raise_internal_out_of_memory();
	if (err)
		end_fetch(fetch, err);
}

static void begin_fetch(struct fetch *fetch)
{
	struct fw_upstream *upstream = fetch->upstream;
	fw_error *err = NULL;

	if (fw_upstream_is_ready(upstream, &err)) {
		ask_for_page(fetch, (struct fw_slice){ NULL, 0 });
	} else if (err) {
		end_fetch(fetch, err);
	} else {
		fetch->is_waiting = true;
		fetch->next = upstream->fetches;
		upstream->fetches = fetch;
	}
}

void fw_gathering_resume(struct fw_upstream *upstream, const fw_error *err)
{
	while (upstream->fetches) {
		struct fetch *fetch = upstream->fetches;

		upstream->fetches = fetch->next;
		fetch->is_waiting = false;
		if (err)
			end_fetch(fetch, fw_upstream_copy_error(err));
		else
			ask_for_page(fetch, (struct fw_slice){ NULL, 0 });
	}
}

/* There is no memory to fetch the lists. Record that, so that a list is never short
 * without a reason. */
static void set_faults(struct fw_gate *gate, enum fw_listing_kind kind, bool only_missing)
{
	for (size_t i = 0; i < gate->count; i++) {
		struct fw_upstream *upstream = &gate->upstreams[i];

		if (only_missing && upstream->listings[kind].is_loaded)
			continue;
		fw_error_free(upstream->list_faults[kind]);
		upstream->list_faults[kind] = fw_raise_internal_out_of_memory();
	}
}

void fw_gathering_begin(struct fw_gate *gate, enum fw_listing_kind kind, bool only_missing,
			fw_gathering_fn *done, void *ctx, struct fw_gathering **ret_gathering)
{
	size_t size = sizeof(struct fw_gathering) + gate->count * sizeof(struct fetch);
	struct fw_gathering *gathering = fw__allocate(size);

	if (!gathering) {
		set_faults(gate, kind, only_missing);
		done(ctx);
		return;
	}
	*ret_gathering = gathering;
	memset(gathering, 0, size);
	gathering->gate = gate;
	gathering->kind = kind;
	gathering->done = done;
	gathering->ctx = ctx;
	gathering->left = gate->count;
	gathering->count = gate->count;
	gathering->is_starting = true;
	for (size_t i = 0; i < gate->count; i++) {
		struct fetch *fetch = &gathering->fetches[i];

		fetch->gathering = gathering;
		fetch->upstream = &gate->upstreams[i];
		if (only_missing && fetch->upstream->listings[kind].is_loaded)
			gathering->left--;
		else
			begin_fetch(fetch);
	}
	gathering->is_starting = false;
	if (!gathering->left)
		end_gathering(gathering);
}

void fw_listing_outdate(struct fw_upstream *upstream, enum fw_listing_kind kind)
{
	upstream->listings[kind].is_loaded = false;
}

void fw_gathering_cancel(struct fw_gathering *gathering)
{
	/* The fetches continue, because the lists are stored for later calls. */
	if (gathering)
		gathering->is_cancelled = true;
}
