/*
 * govern_identify.c - identifies the caller by its bearer token, and decides which pages it may
 * read.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "base/clock.h"
#include "govern/govern_impl.h"
#include "govern/scope.h"
#include "mcp/principal.h"

fw_error *fw_govern__forbidden(const char *action, const char *scope)
{
	fw_error *err = fw_raise_auth_forbidden(action);

	fw_error_add_string(err, "scope", scope);
	return err;
}

/* `reason` is for a caller that has proven that it had the token. */
static fw_error *refuse(const char *reason)
{
	fw_error *err = fw_raise_auth_unauthorized();

	if (reason)
		fw_error_add_string(err, "reason", reason);
	return err;
}

/* NULL: it is valid. */
static const char *fault_of(const struct fw_key *key, int64_t now_ms)
{
	if (key->is_revoked)
		return "revoked";
	return key->expires_ms && key->expires_ms <= now_ms ? "expired" : NULL;
}

/* A token that has been accepted before; NULL: none such. */
static fw_principal *known(struct fw_govern *govern, struct fw_key *key,
			   const unsigned char hash[FW_SHA256_BYTES], int64_t now_ms)
{
	if (key && key->is_proven && !fault_of(key, now_ms)) {
		key->used_ms = now_ms;
		return key->principal;
	}
	return !key && govern->issuer ? fw_issuer_remembers(govern->issuer, hash, now_ms)
				      : NULL;
}

static fw_error *check_key(struct fw_key *key, int64_t now_ms, fw_principal **ret_principal)
{
	const char *fault = fault_of(key, now_ms);

	key->is_proven = true;
	if (fault)
		return refuse(fault);
	key->used_ms = now_ms;
	*ret_principal = fw_principal_ref(key->principal);
	return NULL;
}

static fw_error *check_jwt(struct fw_govern *govern, struct fw_credential *credential,
			   const unsigned char hash[FW_SHA256_BYTES], int64_t now_ms,
			   fw_principal **ret_principal)
{
	fw_principal *principal = NULL;
	bool is_fetching = false;
	enum fw_jwt_fault fault =
		fw_issuer_check(govern->issuer, credential->token, credential->len, hash,
				now_ms, govern->policy, &is_fetching, &principal);
	fw_error *err;

	if (fault == FW_JWT_VALID) {
		*ret_principal = fw_principal_ref(principal);
		return NULL;
	}
	if (fault == FW_JWT_NO_MEMORY)
		return fw_raise_internal_out_of_memory();
	if (is_fetching) {
		err = fw_raise_dependency_unavailable("the set of keys of the token's issuer");
		fw_error_set_retry_after(err, 1);
		return err;
	}
	/* The signature is verified: it is the client's own token. */
	if (fault == FW_JWT_EXPIRED)
		return refuse(fw_jwt_fault_text(fault));
	credential->is_alarm = fw_guard_failed(&govern->guard, credential->peer, uv_hrtime());
	err = refuse(NULL);
	fw_error_set_detail(err, fw_jwt_fault_text(fault));
	return err;
}

bool fw_govern__is_stale(const struct fw_govern *govern)
{
	return govern->is_store_shared && govern->is_store_lost &&
	       fw_steady_ms() - govern->store_ok_ms > govern->token_age_ms;
}

fw_error *fw_govern__identify(struct fw_authority *authority, struct fw_credential *credential,
			      fw_principal **ret_principal)
{
	struct fw_govern *govern = (struct fw_govern *)authority;
	unsigned char hash[FW_SHA256_BYTES];
	int64_t now_ms = fw_unix_ms();
	fw_principal *principal;
	struct fw_key *key;
	uint64_t wait_ns;

	fw_hasher_add(govern->hasher, credential->token, credential->len);
	if (!fw_hasher_take(govern->hasher, hash))
		return fw_raise_internal_out_of_memory();
	key = fw_keyring_find(govern->keyring, credential->token, credential->len, hash);
	if (key && fw_govern__is_stale(govern))
		return fw_raise_dependency_unavailable("the store of tokens");
	principal = known(govern, key, hash, now_ms);
	if (principal) {
		*ret_principal = fw_principal_ref(principal);
		return NULL;
	}
	wait_ns = key && key->is_proven
			  ? 0
			  : fw_guard_wait_ns(&govern->guard, credential->peer, uv_hrtime());
	if (wait_ns)
		return fw_guard_refuse(wait_ns);
	if (key)
		return check_key(key, now_ms, ret_principal);
	if (govern->issuer && fw_jwt_has_form(credential->token, credential->len))
		return check_jwt(govern, credential, hash, now_ms, ret_principal);
	credential->is_alarm = fw_guard_failed(&govern->guard, credential->peer, uv_hrtime());
	return refuse(NULL);
}

/* ---- pages ------------------------------------------------------------------------- */

/* Tools, codes and descriptions are public to all clients; records of calls are not. */
static bool is_for_everybody(const char *pattern)
{
	static const char api[] = "/api/{version}/";
	static const char *const about_others[] = { "incidents", "alerts", "events",
						    "overview" };
	const char *rest;

	if (strcmp(pattern, "/openapi.json") == 0 || strcmp(pattern, "/api/") == 0 ||
	    strcmp(pattern, "/ui/session") == 0)
		return true;
	if (strncmp(pattern, api, sizeof api - 1) != 0)
		return false;
	rest = pattern + sizeof api - 1;
	for (size_t i = 0; i < sizeof about_others / sizeof *about_others; i++) {
		size_t len = strlen(about_others[i]);

		if (strncmp(rest, about_others[i], len) == 0 &&
		    (rest[len] == '\0' || rest[len] == '/'))
			return false;
	}
	return true;
}

fw_error *fw_govern__open_page(struct fw_authority *authority, const fw_principal *principal,
			       const char *pattern)
{
	(void)authority;
	if (is_for_everybody(pattern) || fw_scope_covers(principal, "incidents"))
		return NULL;
	return fw_govern__forbidden("see incidents, alerts and metrics", "incidents");
}
