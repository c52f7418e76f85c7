/*
 * govern.h - who may call what: the authority of a server. docs/governance.md describes
 * what an operator sees of it.
 *
 * It identifies callers by bearer tokens, checks their scopes, and applies a policy. All
 * decisions are made on the loop, from memory; the store is used on its own thread, to
 * notice changes and to record what must outlive the process.
 *
 * The one rule to remember: a decision never waits for the disk, with one exception: a
 * call whose client has used up the part of its budget that this server has reserved
 * waits for the next part.
 */
#ifndef FW_GOVERN_GOVERN_H
#define FW_GOVERN_GOVERN_H

#include <stdbool.h>
#include <stdint.h>

#include <faultwire/serve.h>

#include "base/loop.h"

struct fw_govern;
struct fw_metrics;
struct fw_quotas;

/* Texts are copied. */
struct fw_govern_options {
	struct fw_loop *loop; /* of the server */
	const char *store;    /* of tokens and budgets: a file or URL; NULL: none */
	bool uses_tokens;     /* the tokens of the store; over HTTP one is required */
	/* How long tokens of a store that servers share are accepted while it is
	 * unavailable. */
	int64_t token_age_ms;
	const char *policy_file; /* NULL: none */
	/* Decides on rates and calls in progress for all replicas; NULL: this server alone. */
	struct fw_quotas *quotas;
	/* An OAuth issuer: its name, the audience of its tokens (the URL of this server)
	 * and its keys, a file or a URL. NULL: none. */
	const char *oauth_issuer;
	const char *oauth_audience;
	const char *oauth_jwks;
};

/*
 * Reads tokens and policy, and becomes the authority of the server, before it listens.
 * Raises what reading raises: dependency.unavailable, input.invalid_value,
 * internal.out_of_memory, errors of the file. The result is yours, for fw_govern_close()
 * and fw_govern_free().
 */
FW_NODISCARD fw_error *fw_govern_new(fw_server *server, const struct fw_govern_options *options,
				     struct fw_govern **ret_govern);
/* Adds its metrics. */
FW_NODISCARD fw_error *fw_govern_observe(struct fw_govern *govern, struct fw_metrics *metrics);

struct fw_govern_health {
	bool is_shared;       /* the store is one that servers share */
	bool is_store_lost;   /* the last look has failed */
	int64_t lost_unix_ms; /* since when */
	bool refuses_tokens;  /* it has been unavailable for too long */
};
/* On the loop's thread. */
struct fw_govern_health fw_govern_health(const struct fw_govern *govern);

/* After the server has stopped and before it is freed: gives reserved parts of budgets
 * back, and records the last use of tokens. NULL is a no-op. */
void fw_govern_close(struct fw_govern *govern);
/* After the loop was closed. NULL is a no-op. */
void fw_govern_free(struct fw_govern *govern);

#endif
