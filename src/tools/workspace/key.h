/*
 * key.h - the key that plans and bootstrap payloads are signed with: 64 hexadecimal
 * digits in a file that only its owner can read, outside of every workspace.
 *
 * The one rule to remember: compare signatures with fw_ws_key_is_signature() only, which
 * takes the same time wherever they differ.
 */
#ifndef FW_TOOLS_WORKSPACE_KEY_H
#define FW_TOOLS_WORKSPACE_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"

#include <faultwire/error.h>

enum { FW_WS_KEY_BYTES = 32 };

struct fw_ws_key {
	unsigned char bytes[FW_WS_KEY_BYTES];
	bool is_set;
};

/*
 * Loads the key. `path` NULL is $XDG_CONFIG_HOME/faultwire/plan.key. With `make` it is
 * created if it does not exist. Raises input.invalid_value if others may read the file
 * or it does not hold a key; file.not_found and similar.
 */
FW_NODISCARD fw_error *fw_ws_key_load(const char *path, bool make, struct fw_ws_key *ret_key);
/* The path that is used; false if neither XDG_CONFIG_HOME nor HOME is set. */
bool fw_ws_key_path(const char *path, char *ret_path, size_t size);

/* HMAC-SHA-256 as text, with a key derived for `purpose`: a signature for one purpose
 * is not valid for another. False if libcrypto fails. */
bool fw_ws_key_sign(const struct fw_ws_key *key, const char *purpose, const char *text,
		    size_t len, char ret_signature[FW_SHA256_TEXT]);

/* Is `text` this signature? */
bool fw_ws_key_is_signature(const char *text, size_t len, const char signature[FW_SHA256_TEXT]);

#endif
