/*
 * keyring.c - see keyring.h. Open addressing by id, with at least twice as many slots as
 * tokens.
 */
#include "govern/keyring.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/hash.h"
#include "base/mem.h"
#include "mcp/principal.h"

struct fw_keyring {
	struct fw_key *keys;
	size_t count;
	size_t room;
	uint32_t *slots; /* index + 1; 0: free */
	size_t slot_count;
	fw_error *err; /* while it is read */
};

static bool make_room(struct fw_keyring *keyring)
{
	size_t room = keyring->room ? 2 * keyring->room : 16;
	struct fw_key *keys;

	if (keyring->count < keyring->room)
		return true;
	keys = fw__reallocate(keyring->keys, room * sizeof *keys);
	if (!keys)
		return false;
	keyring->keys = keys;
	keyring->room = room;
	return true;
}

static void add(void *ctx, const struct fw_token *token)
{
	struct fw_keyring *keyring = ctx;
	struct fw_key *key;

	if (keyring->err)
		return;
	if (!make_room(keyring)) {
		keyring->err = fw_raise_internal_out_of_memory();
		return;
	}
	key = &keyring->keys[keyring->count];
	*key = (struct fw_key){ .expires_ms = token->expires_ms,
				.is_revoked = token->revoked_ms != 0 };
	(void)snprintf(key->id, sizeof key->id, "%s", token->id);
	memcpy(key->hash, token->hash, sizeof key->hash);
	keyring->err = fw_principal_new(FW_PROOF_TOKEN, token->name, token->scopes,
					token->scope_count, &key->principal);
	if (keyring->err)
		return;
	fw_principal_set_expiry(key->principal, key->expires_ms);
	keyring->count++;
}

static size_t slot_of(const struct fw_keyring *keyring, const char *id)
{
	return (size_t)(fw_hash(id, FW_TOKEN_ID_LEN, 0) & (keyring->slot_count - 1));
}

static fw_error *fill_slots(struct fw_keyring *keyring)
{
	size_t count = 16;

	while (count < 2 * keyring->count)
		count *= 2;
	keyring->slots = fw__allocate(count * sizeof *keyring->slots);
	if (!keyring->slots)
		return fw_raise_internal_out_of_memory();
	memset(keyring->slots, 0, count * sizeof *keyring->slots);
	keyring->slot_count = count;
	for (size_t i = 0; i < keyring->count; i++) {
		size_t slot = slot_of(keyring, keyring->keys[i].id);

		while (keyring->slots[slot])
			slot = (slot + 1) & (count - 1);
		keyring->slots[slot] = (uint32_t)i + 1;
	}
	return NULL;
}

fw_error *fw_keyring_read(struct fw_store *store, struct fw_keyring **ret_keyring)
{
	struct fw_keyring *keyring = fw__allocate(sizeof *keyring);
	fw_error *err;

	if (!keyring)
		return fw_raise_internal_out_of_memory();
	*keyring = (struct fw_keyring){ .count = 0 };
	err = fw_token_list(store, add, keyring);
	if (err)
		fw_error_free(keyring->err);
	else
		err = keyring->err;
	keyring->err = NULL;
	if (!err)
		err = fill_slots(keyring);
	if (err)
		fw_keyring_free(keyring);
	else
		*ret_keyring = keyring;
	return err;
}

void fw_keyring_free(struct fw_keyring *keyring)
{
	if (!keyring)
		return;
	for (size_t i = 0; i < keyring->count; i++)
		fw_principal_unref(keyring->keys[i].principal);
	fw__release(keyring->keys);
	fw__release(keyring->slots);
	fw__release(keyring);
}

static struct fw_key *find_id(const struct fw_keyring *keyring, const char *id)
{
	size_t slot;

	if (!keyring || !keyring->slot_count)
		return NULL;
	for (slot = slot_of(keyring, id); keyring->slots[slot];
	     slot = (slot + 1) & (keyring->slot_count - 1)) {
		struct fw_key *key = &keyring->keys[keyring->slots[slot] - 1];

		if (memcmp(key->id, id, FW_TOKEN_ID_LEN) == 0)
			return key;
	}
	return NULL;
}

/* Streams keep the principal that they began with, so it stays that of its token. */
static void keep_principal(struct fw_key *key, const struct fw_key *before)
{
	if (key->is_revoked || !fw_principal_is_same(key->principal, before->principal) ||
	    !fw_principal_may_same(key->principal, before->principal)) {
		fw_principal_withdraw(before->principal);
		return;
	}
	fw_principal_unref(key->principal);
	key->principal = fw_principal_ref(before->principal);
	fw_principal_set_expiry(key->principal, key->expires_ms);
}

void fw_keyring_inherit(struct fw_keyring *keyring, struct fw_keyring *old)
{
	for (size_t i = 0; i < fw_keyring_count(old); i++) {
		const struct fw_key *before = &old->keys[i];
		struct fw_key *key = find_id(keyring, before->id);

		if (!key) {
			fw_principal_withdraw(before->principal);
			continue;
		}
		key->is_proven = before->is_proven;
		key->used_ms = before->used_ms;
		key->recorded_ms = before->recorded_ms;
		keep_principal(key, before);
	}
}

struct fw_key *fw_keyring_find(struct fw_keyring *keyring, const char *text, size_t len,
			       const unsigned char hash[FW_SHA256_BYTES])
{
	static const unsigned char nothing[FW_SHA256_BYTES];
	const char *id = NULL;
	struct fw_key *key;

	if (!fw_token_has_form(text, len, &id))
		return NULL;
	key = find_id(keyring, id);
	/* No text is known whose digest is all zeros. */
	return fw_bytes_equal(key ? key->hash : nothing, hash, FW_SHA256_BYTES) ? key : NULL;
}

size_t fw_keyring_count(const struct fw_keyring *keyring)
{
	return keyring ? keyring->count : 0;
}

struct fw_key *fw_keyring_at(struct fw_keyring *keyring, size_t index)
{
	return &keyring->keys[index];
}
