/*
 * issuer.h - an OAuth authorization server whose access tokens are accepted: its keys, from
 * a file or a URL, and the tokens that were verified lately.
 *
 * Keys of a file are read again when the file changes; those of a URL every ten minutes,
 * and when a token has a key that is not known, but not more often than every two seconds.
 * If the URL does not answer, the keys that are known stay in use.
 *
 * The one rule to remember: everything is on the loop's thread, and nothing waits: a token
 * whose key is being fetched is refused with dependency.unavailable, to be sent again.
 */
#ifndef FW_GOVERN_ISSUER_H
#define FW_GOVERN_ISSUER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>
#include <faultwire/principal.h>

#include "base/digest.h"
#include "base/loop.h"
#include "govern/jwt.h"
#include "govern/policy.h"

enum {
	FW_ISSUER_SKEW_S = 60,
	FW_ISSUER_REFRESH_MS = 10 * 60 * 1000,
	FW_ISSUER_RETRY_MS = 2000, /* least time between two requests */
	FW_ISSUER_FETCH_MS = 10 * 1000,
	FW_ISSUER_CACHE = 1024 /* verified tokens that are remembered */
};

struct fw_issuer;

/* Texts are copied. */
struct fw_issuer_options {
	struct fw_loop *loop;
	const char *issuer;   /* the claim "iss" */
	const char *audience; /* the claim "aud" has it: the URL of this server */
	const char *jwks;     /* a file or a URL */
};

/* Reads the file, or starts to fetch the URL. Raises what reading raises,
 * input.invalid_value (a URL that is neither https nor loopback). The issuer is yours. */
FW_NODISCARD fw_error *fw_issuer_new(const struct fw_issuer_options *options,
				     struct fw_issuer **ret_issuer);
/* Before the loop is closed. NULL is a no-op. */
void fw_issuer_free(struct fw_issuer *issuer);

/* Called from time to time: checks whether the keys must be read again. */
void fw_issuer_look(struct fw_issuer *issuer);
/* Scopes mean something else now: forgets verified tokens. NULL is a no-op. */
void fw_issuer_forget(struct fw_issuer *issuer);

/* A token that was verified lately and is still valid: its principal, borrowed; NULL:
 * not known. `hash` is its SHA-256. */
fw_principal *fw_issuer_remembers(struct fw_issuer *issuer,
				  const unsigned char hash[FW_SHA256_BYTES], int64_t now_ms);

/* Verifies a token. The principal is borrowed, and remembered. With FW_JWT_NO_KEY the keys
 * may be on their way: then `*ret_is_fetching` is set. `policy` (may be NULL) maps
 * scopes. */
enum fw_jwt_fault fw_issuer_check(struct fw_issuer *issuer, const char *token, size_t len,
				  const unsigned char hash[FW_SHA256_BYTES], int64_t now_ms,
				  const struct fw_policy *policy, bool *ret_is_fetching,
				  fw_principal **ret_principal);

#endif
