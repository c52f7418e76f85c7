/*
 * listing.h - the lists of upstreams: fetched page by page, stored, and merged into one
 * list.
 *
 * If two upstreams use the same name, lists show it with the upstream's name as prefix
 * ("github__search"), and calls accept it with the prefix. What an upstream offered
 * before it went down still counts, so that names do not change with a restart.
 *
 * The one rule to remember: a gathering ends with exactly one call of its `done`, unless
 * it is cancelled.
 */
#ifndef FW_GATE_LISTING_H
#define FW_GATE_LISTING_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/error.h>
#include <faultwire/principal.h>

#include "base/buf.h"
#include "rpc/scan.h"

struct fw_gate;
struct fw_upstream;
struct fw_gathering;

enum fw_listing_kind {
	FW_LISTING_TOOLS,
	FW_LISTING_PROMPTS,
	FW_LISTING_RESOURCES,
	FW_LISTING_TEMPLATES,
	FW_LISTING_KINDS
};

enum {
	FW_LISTING_ITEMS = 4096, /* of one upstream and kind */
	FW_LISTING_PAGES = 256
};

struct fw_listing_item {
	char *name;    /* the URI or the template of a resource */
	size_t offset; /* of its JSON in `text` */
	size_t len;
	bool is_safe;    /* a tool whose annotations say that it is safe to repeat */
	bool is_refused; /* a tool that differs from its pin */
};

/* What one upstream offers of one kind. */
struct fw_listing {
	bool is_loaded; /* and not reported as changed since */
	struct fw_buf text;
	struct fw_listing_item *items;
	size_t count;
};

void fw_listing_clear(struct fw_listing *listing);
const struct fw_listing_item *fw_listing_find(const struct fw_listing *listing,
					      const char *name);

/* Marks a list as outdated. It is fetched again before a name is reported as unknown, and
 * before a tool is called if the operator restricts which tools may be called. Until then
 * the stored list still counts. */
void fw_listing_outdate(struct fw_upstream *upstream, enum fw_listing_kind kind);

/* The kind of list that a method asks for. -1: the method is not a list. */
int fw_listing_kind_of(const char *method);

typedef void fw_gathering_fn(void *ctx);

/* Fetches the lists of all upstreams, or with `only_missing` those that are not loaded.
 * `done` is called when each has answered or failed. That may be within this call, and
 * `done` may free `ret_gathering`, so it is not written afterwards. */
void fw_gathering_begin(struct fw_gate *gate, enum fw_listing_kind kind, bool only_missing,
			fw_gathering_fn *done, void *ctx, struct fw_gathering **ret_gathering);
/* `done` is not called any more. NULL is a no-op. */
void fw_gathering_cancel(struct fw_gathering *gathering);
/* Continues the fetches that waited for the connection. `err` (borrowed) says why it
 * failed; NULL: it is ready. */
void fw_gathering_resume(struct fw_upstream *upstream, const fw_error *err);

/* Whether requests of this kind need the lists of the upstreams. */
bool fw_gate_needs_lists(const struct fw_gate *gate, enum fw_listing_kind kind);
/* True: another upstream uses the same name. */
bool fw_gate_is_shared(const struct fw_gate *gate, enum fw_listing_kind kind, const char *name);
/* Writes the members of the merged list's result. Raises the failure of an upstream, if
 * lists are strict or all have failed. */
fw_error *fw_gate_merge(const struct fw_gate *gate, enum fw_listing_kind kind,
			const fw_principal *principal, struct fw_buf *out);

#endif
