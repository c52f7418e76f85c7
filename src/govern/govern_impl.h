/*
 * govern_impl.h - declarations that the files of the authority share.
 *
 *   govern.c           its lifecycle, and how it detects changes
 *   govern_identify.c  identifies callers by their tokens
 *   govern_oauth.c     the OAuth issuer, and the metadata of this server
 *   govern_health.c    whether its store is unavailable, for operators
 *   govern_call.c      what happens to a call
 */
#ifndef FW_GOVERN_GOVERN_IMPL_H
#define FW_GOVERN_GOVERN_IMPL_H

#include <uv.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/limits.h"
#include "govern/account.h"
#include "govern/govern.h"
#include "govern/issuer.h"
#include "govern/keyring.h"
#include "govern/policy.h"
#include "govern/suspend.h"
#include "mcp/authority.h"
#include "policy/guard.h"
#include "store/store_queue.h"

enum {
	/* How often changes of tokens and policy are looked for. */
	FW_GOVERN_POLL_MS = 500,
	/* How old the recorded last use of a token may be. */
	FW_GOVERN_USE_MS = 60 * 1000
};

/* Looks for changed tokens, and records uses: on the store's thread. */
struct fw_govern_poll {
	struct fw_store_call call; /* must be first */
	struct fw_govern *govern;
	bool is_busy;
	bool is_read;               /* the tokens are those of the store */
	int64_t generation;         /* of the tokens that the server has */
	struct fw_keyring *keyring; /* new ones; NULL: no change */
	size_t use_count;
	char ids[FW_LIMIT_STORE_CHANGES][FW_TOKEN_ID_LEN + 1];
	int64_t used_ms[FW_LIMIT_STORE_CHANGES];
};

/* By which a changed file is noticed. */
struct fw_govern_stamp {
	int64_t modified_ns;
	int64_t changed_ns;
	uint64_t inode;
	uint64_t bytes;
};

struct fw_govern {
	struct fw_authority base; /* must be first */
	fw_server *server;
	struct fw_loop *loop;
	struct fw_store_queue *queue; /* NULL: no store */
	size_t pending;               /* calls of the queue that are not completed */
	uv_timer_t timer;
	bool has_timer;
	bool is_closed;
	bool is_store_lost; /* the last poll has failed */
	/* Tokens of a store that servers share are known for a while when it is
	 * unavailable. */
	bool is_store_shared;
	int64_t token_age_ms;
	int64_t store_ok_ms;  /* steady clock: when its tokens were last compared */
	int64_t lost_unix_ms; /* when the first one failed */
	uint64_t poll_failures;
	/* Who is calling. */
	bool uses_tokens;
	struct fw_keyring *keyring;
	struct fw_hasher *hasher;
	struct fw_guard guard;
	struct fw_govern_poll poll;
	struct fw_issuer *issuer; /* NULL: none */
	struct fw_buf metadata;   /* RFC 9728 */
	/* What they may do. */
	char *policy_file; /* NULL: none */
	struct fw_govern_stamp policy_stamp;
	struct fw_policy *policy;
	uint64_t policy_serial; /* of this policy; from 1 on */
	struct fw_accounts accounts;
	struct fw_quotas *quotas; /* NULL: limits are those of this server alone */
	struct fw_suspensions suspensions;
};

/* govern_identify.c */
fw_error *fw_govern__identify(struct fw_authority *authority, struct fw_credential *credential,
			      fw_principal **ret_principal);
fw_error *fw_govern__open_page(struct fw_authority *authority, const fw_principal *principal,
			       const char *pattern);

/* The store has been unavailable for so long that a revocation might have been missed. */
bool fw_govern__is_stale(const struct fw_govern *govern);

/* govern_health.c: its line of /readyz. */
bool fw_govern__check(void *ctx, char *text, size_t size);

/* govern_oauth.c: the issuer, and pages that describe this server to its clients. */
fw_error *fw_govern__add_issuer(struct fw_govern *govern,
				const struct fw_govern_options *options);

/* govern_call.c */
fw_error *fw_govern__read(struct fw_authority *authority, const fw_call *call);
bool fw_govern__shows(struct fw_authority *authority, const fw_principal *principal,
		      const struct fw_listed *listed);
fw_error *fw_govern__enter(struct fw_authority *authority, fw_call *call);
fw_error *fw_govern__admit(struct fw_authority *authority, fw_call *call, bool *ret_waits);
void fw_govern__ended(struct fw_authority *authority, fw_call *call, const fw_error *err);

/* See fw_quotas_options. */
void fw_govern__decided(void *ctx, struct fw_quota *quota,
			const struct fw_quota_answer *answer);

/* Submits the return of what was reserved; the server has stopped. */
void fw_govern__return_budgets(struct fw_govern *govern);

/* auth.forbidden, with the scope that would be enough. */
fw_error *fw_govern__forbidden(const char *action, const char *scope);

#endif
