/*
 * wrap.h - rewrites a client's configuration so that each of its servers is started
 * through the gateway, and undoes that.
 *
 * Only the bytes of `command` and `args` (of a remote server: of `url` and `type`, and
 * the name of `headers`) change; comments, order and layout of the file stay. The
 * arguments of the gateway contain the original entry, so that it can be restored
 * exactly.
 *
 * The one rule to remember: wrapping an entry that is wrapped changes nothing, nor does
 * unwrapping one that is not.
 */
#ifndef FW_GATE_WRAP_H
#define FW_GATE_WRAP_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/error.h>

#include "base/buf.h"

/* Called for each server, with what was done to it, or why it was left unchanged. */
typedef void fw_wrap_fn(void *ctx, const char *server, const char *what);

/* Rewrites `text` into `out`. `program` is the path of faultwire, `where` names the file in
 * errors. Raises upstream.config_invalid, input.too_large, internal.out_of_memory. */
fw_error *fw_wrap(const char *text, size_t len, const char *where, const char *program,
		  bool is_undone, struct fw_buf *out, fw_wrap_fn *report, void *ctx);

#endif
