/*
 * repair.h - lists of upstreams, as strict clients accept them.
 *
 * The official clients reject a list because of one item: a tool without a schema, or a member
 * that is null instead of absent, and the client has no tools at all. Mistakes that have one
 * meaning are corrected; an item that cannot be corrected is left out. Both are logged.
 */
#ifndef FW_GATE_REPAIR_H
#define FW_GATE_REPAIR_H

#include <stdbool.h>

#include "base/text.h"
#include "gate/listing.h"

enum fw_repair {
	FW_REPAIR_NONE, /* it is valid as it is */
	FW_REPAIR_DONE, /* `out` has the corrected one */
	FW_REPAIR_LEFT_OUT
};

/* One item of a list. A tool's definition is learnt, too. */
enum fw_repair fw_repair_item(struct fw_upstream *upstream, enum fw_listing_kind kind,
			      struct fw_slice item, struct fw_buf *out);
/* A result that is a list; `cursor` is the page that was asked for. False: it is valid as it
 * is; true: `out` has the corrected one, if its state is FW_BUF_OK. */
bool fw_repair_list(struct fw_upstream *upstream, enum fw_listing_kind kind,
		    struct fw_slice result, struct fw_text cursor, struct fw_buf *out);
/* Raises upstream.invalid_reply for a result that has no list. */
fw_error *fw_repair_check(const struct fw_upstream *upstream, enum fw_listing_kind kind,
			  struct fw_slice result);
/* Does the page after this one begin with the same cursor again? Then it is the last. */
bool fw_repair_is_same(struct fw_slice next, struct fw_text cursor);

#endif
