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

/* The output, and how far the text has been copied to it. */
struct fw_wrap_edit {
	struct fw_buf *out;
	const char *done; /* the text before this was copied */
	const char *program;
};

/* Copies the text up to `at`. */
void fw_wrap_copy_up_to(struct fw_wrap_edit *edit, const char *at);

/* What is wrong with an entry, such as "args must be an array of strings". NULL: nothing. */
const char *fw_wrap_entry_fault(struct fw_slice entry);
/* True: it starts the gateway, whether fw_wrap() or a person wrote that. */
bool fw_wrap_entry_is_gated(struct fw_slice entry);

/* Both return what was done, or why the entry was left unchanged. fw_wrap_entry_undo()
 * returns NULL for an entry that was not wrapped. `name` is the server's name. */
const char *fw_wrap_entry(struct fw_wrap_edit *edit, struct fw_slice name,
			  struct fw_slice entry);
const char *fw_wrap_entry_undo(struct fw_wrap_edit *edit, struct fw_slice entry);

#endif
