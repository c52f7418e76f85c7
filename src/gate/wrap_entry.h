/*
 * wrap_entry.h - one server of a client's configuration, for wrap.h.
 *
 * The one rule to remember: an entry is text inside the file. It is valid JSON, but only
 * fw_wrap_entry_fault() says whether its members have the right types.
 */
#ifndef FW_GATE_WRAP_ENTRY_H
#define FW_GATE_WRAP_ENTRY_H

#include <stdbool.h>

#include "base/buf.h"
#include "rpc/scan.h"

/* A text that is copied with changes. */
struct fw_wrap_edit {
	struct fw_buf *out;
	const char *done; /* up to here the text was copied */
	const char *program;
};

/* Copies what is before `at`. */
void fw_wrap_copy_up_to(struct fw_wrap_edit *edit, const char *at);

/* What is wrong with an entry, as "args must be an array of strings"; NULL: nothing. */
const char *fw_wrap_entry_fault(struct fw_slice entry);
/* Whether it starts the gateway, by us or by hand. */
bool fw_wrap_entry_is_gated(struct fw_slice entry);

/* Both return what was done, or why nothing was; fw_wrap_entry_undo() returns NULL for an
 * entry that was not wrapped. `name` is that of the server. */
const char *fw_wrap_entry(struct fw_wrap_edit *edit, struct fw_slice name,
			  struct fw_slice entry);
const char *fw_wrap_entry_undo(struct fw_wrap_edit *edit, struct fw_slice entry);

#endif
