/*
 * token.h - bearer tokens in a store: made, listed, revoked, rotated.
 *
 * A token is "fwt_", 16 hexadecimal digits that identify it, "_", and 43 characters of
 * base64url with 256 random bits. The store has the SHA-256 of the whole text and never
 * the text, which is shown once.
 *
 * The functions are synchronous, and each change is one transaction that fails if another
 * process has changed the set of tokens in between.
 *
 * The one rule to remember: the name of a token is the name of its client, in errors,
 * logs and policies. Only one token of a name is active, except while it is rotated.
 */
#ifndef FW_GOVERN_TOKEN_H
#define FW_GOVERN_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "base/digest.h"
#include "store/store.h"

enum {
	FW_TOKEN_ID_LEN = 16,
	FW_TOKEN_LEN = 4 + FW_TOKEN_ID_LEN + 1 + 43,
	FW_TOKEN_NAME_SIZE = 65,
	/* Tokens of one store, revoked ones included. */
	FW_TOKENS_MAX = 65536
};

/* Borrowed during a callback. Times are wall clock in ms; 0: never. */
struct fw_token {
	const char *id;
	const char *name;
	const char *const *scopes;
	size_t scope_count;
	unsigned char hash[FW_SHA256_BYTES];
	int64_t created_ms;
	int64_t expires_ms;
	int64_t revoked_ms;
	int64_t used_ms; /* as last recorded, for fw_token_list_used() only */
};

/* Whether it has the form of a token. `ret_id` points into the text. */
bool fw_token_has_form(const char *text, size_t len, const char **ret_id);
/* Letters, digits, '.', '-' and '_', up to 64, beginning with a letter or digit. */
bool fw_token_name_is_valid(const char *name);

enum fw_token_state { FW_TOKEN_ACTIVE, FW_TOKEN_EXPIRED, FW_TOKEN_REVOKED };
enum fw_token_state fw_token_state_at(const struct fw_token *token, int64_t now_ms);

typedef void fw_token_fn(void *ctx, const struct fw_token *token);

/* All functions below raise dependency.unavailable and internal.out_of_memory. */

/* In the order of their ids. */
FW_NODISCARD fw_error *fw_token_list(struct fw_store *store, fw_token_fn *found, void *ctx);
/* The same, with the time of the last use, which is a second row. */
FW_NODISCARD fw_error *fw_token_list_used(struct fw_store *store, fw_token_fn *found,
					  void *ctx);

/* Changes with every change of the set. */
FW_NODISCARD fw_error *fw_token_generation(struct fw_store *store, int64_t *ret_generation);

struct fw_token_new {
	const char *name;
	const char *const *scopes;
	size_t scope_count;
	int64_t now_ms;
	int64_t expires_ms; /* 0: never */
};

/* What is shown once. */
struct fw_token_made {
	char text[FW_TOKEN_LEN + 1];
	char id[FW_TOKEN_ID_LEN + 1];
	char name[FW_TOKEN_NAME_SIZE];
};

/* Raises input.invalid_value (name, scopes, expiry), resource.already_exists (an active
 * token has the name). */
FW_NODISCARD fw_error *fw_token_make(struct fw_store *store, const struct fw_token_new *how,
				     struct fw_token_made *ret_made);

/* Revokes the active tokens with this name or id. Raises resource.not_found. */
FW_NODISCARD fw_error *fw_token_revoke(struct fw_store *store, const char *which,
				       int64_t now_ms, size_t *ret_count);

/* Makes a token with the name and scopes of an active one, which stays valid until
 * `until_ms` (at most `now_ms`: it is revoked). Raises resource.not_found,
 * input.invalid_value. */
FW_NODISCARD fw_error *fw_token_rotate(struct fw_store *store, const char *which,
				       int64_t now_ms, int64_t until_ms, int64_t expires_ms,
				       struct fw_token_made *ret_made);

/* Records uses: `ids` and `used_ms` have `count` items, at most
 * FW_LIMIT_STORE_CHANGES. */
FW_NODISCARD fw_error *fw_token_record_use(struct fw_store *store,
					   char (*ids)[FW_TOKEN_ID_LEN + 1],
					   const int64_t *used_ms, size_t count);

#endif
