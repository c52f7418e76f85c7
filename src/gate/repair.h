/*
 * repair.h - corrects lists of upstreams, so that strict clients accept them.
 *
 * The official clients reject a whole list if one item is invalid, such as a tool without
 * a schema, or a member that is null instead of absent; the client then has no tools at
 * all. Unambiguous mistakes are corrected, and an item that cannot be corrected is left
 * out. Both are logged.
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

/* Corrects one item of a list. A tool's definition is also learnt. */
enum fw_repair fw_repair_item(struct fw_upstream *upstream, enum fw_listing_kind kind,
			      struct fw_slice item, struct fw_buf *out);
/* Corrects a result that is a list; `cursor` is the page that was requested. False: it is
 * valid. True: `out` has the corrected list, if its state is FW_BUF_OK. */
bool fw_repair_list(struct fw_upstream *upstream, enum fw_listing_kind kind,
		    struct fw_slice result, struct fw_text cursor, struct fw_buf *out);
/* Raises upstream.invalid_reply for a result that has no list. */
fw_error *fw_repair_check(const struct fw_upstream *upstream, enum fw_listing_kind kind,
			  struct fw_slice result);
/* True: the cursor of the next page is that of this page, so this page is the last. */
bool fw_repair_is_same(struct fw_slice next, struct fw_text cursor);

#endif
