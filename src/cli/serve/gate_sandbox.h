/*
 * gate_sandbox.h - Landlock rules for the programs that a gateway starts.
 */
#ifndef FW_CLI_SERVE_GATE_SANDBOX_H
#define FW_CLI_SERVE_GATE_SANDBOX_H

#include <faultwire/error.h>

#include "gate/gate.h"
#include "worker/sandbox.h"

/* Values of options; lists end with a NULL. */
struct serve_sandbox {
	const char *how; /* required, best-effort, off; NULL: off */
	const char *const *readable;
	const char *const *writable;
	bool may_connect;
	/* Programs that are named by their path may be read and executed. */
	const struct fw_gate_entry *entries;
	size_t count;
};

/**
 * Makes the rules; `*ret_plan` is NULL if there are none to be made, otherwise yours.
 * Raises cli.usage, server.sandbox_unavailable (required, and the kernel has no
 * Landlock), an io error for a path that cannot be opened.
 */
FW_NODISCARD fw_error *serve_gate_sandbox(const struct serve_sandbox *how,
					  struct fw_sandbox_plan **ret_plan);

#endif
