/*
 * keyring.h - the tokens of a store in memory, for a server that checks one with every
 * request.
 *
 * A token is found by its id, which is not a secret; then one digest is compared in
 * constant time. A token whose id is not known is compared with a digest that nothing
 * has, so that both take the same steps.
 *
 * The one rule to remember: a keyring is read from the store on any thread, and belongs
 * to the loop's thread from then on.
 */
#ifndef FW_GOVERN_KEYRING_H
#define FW_GOVERN_KEYRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>
#include <faultwire/principal.h>

#include "govern/token.h"

struct fw_key {
	char id[FW_TOKEN_ID_LEN + 1];
	unsigned char hash[FW_SHA256_BYTES];
	int64_t expires_ms; /* 0: never */
	bool is_revoked;
	bool is_proven;      /* it was used since the server was started */
	int64_t used_ms;     /* 0: not since then */
	int64_t recorded_ms; /* the last use that is in the store */
	fw_principal *principal;
};

struct fw_keyring;

/* Reads all tokens. The keyring is yours, for fw_keyring_free(). Raises what
 * fw_token_list() raises. */
FW_NODISCARD fw_error *fw_keyring_read(struct fw_store *store, struct fw_keyring **ret_keyring);
/* NULL is a no-op. */
void fw_keyring_free(struct fw_keyring *keyring);
/* Takes the uses and principals of tokens over from a keyring that this one replaces (NULL:
 * none). Principals whose token is gone, revoked or changed are withdrawn. */
void fw_keyring_inherit(struct fw_keyring *keyring, struct fw_keyring *old);

/* The token with this text and its SHA-256; NULL: there is none. It may be revoked or
 * expired. A keyring of NULL is empty. */
struct fw_key *fw_keyring_find(struct fw_keyring *keyring, const char *text, size_t len,
			       const unsigned char hash[FW_SHA256_BYTES]);

size_t fw_keyring_count(const struct fw_keyring *keyring);
struct fw_key *fw_keyring_at(struct fw_keyring *keyring, size_t index);

#endif
