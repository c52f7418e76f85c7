/*
 * fuzz_govern.c - what governance reads from outside: policies, sets of keys, access tokens.
 *
 * The first byte chooses. A policy that is read answers every question and can be read
 * again; a token is never valid, because nobody here has the private key; what was read
 * leaves nothing behind.
 */
#include <stdio.h>
#include <string.h>

#include <faultwire/faultwire.h>

#include "fuzz.h"
#include "govern/jwks.h"
#include "govern/jwt.h"
#include "govern/policy.h"
#include "govern/scope.h"
#include "mcp/principal.h"

static void try_policy(const char *text, size_t len)
{
	static const char *const scope = "read";
	struct fw_policy *policy = NULL, *again = NULL;
	const struct fw_policy_limits *limits;
	fw_principal *who = NULL;
	uint32_t pause_ms;
	fw_error *err = fw_policy_parse(text, len, "fuzz", &policy);

	if (err) {
		MUST(!policy && strncmp(fw_error_message(err), "fuzz", 4) == 0);
		fw_error_free(err);
		return;
	}
	MUST(!fw_principal_new(FW_PROOF_TOKEN, "ada", &scope, 1, &who));
	limits = fw_policy_limits_of(policy, who);
	if (limits) {
		(void)fw_policy_permits(limits, "echo");
		MUST(!limits->every_ns || limits->burst >= 1);
		for (int i = 0; i < FW_PERIOD_COUNT; i++)
			MUST(limits->budget[i] >= 0);
	}
	MUST(fw_policy_cost(policy, "echo") >= 0);
	(void)fw_policy_breaker(policy, &pause_ms);
	for (size_t i = 0; fw_policy_oauth_scope(policy, "mcp", 3, i); i++)
		MUST(fw_scope_is_valid(fw_policy_oauth_scope(policy, "mcp", 3, i)));
	MUST(!fw_policy_parse(text, len, "fuzz", &again));
	fw_policy_free(again);
	fw_policy_free(policy);
	fw_principal_unref(who);
}

static void try_jwks(const char *text, size_t len)
{
	static const unsigned char signature[64] = { 1 };
	struct fw_jwks *jwks = NULL;
	fw_error *err = fw_jwks_parse(text, len, &jwks);

	if (err) {
		MUST(!jwks);
		fw_error_free(err);
		return;
	}
	MUST(fw_jwks_count(jwks) >= 1 && fw_jwks_count(jwks) <= FW_JWKS_KEYS);
	for (int i = 0; i < FW_JWK_ALGORITHM_COUNT; i++) {
		const struct fw_jwk *key = fw_jwks_find(jwks, NULL, (enum fw_jwk_algorithm)i);

		if (key)
			MUST(!fw_jwk_verifies(key, "text", 4, signature, sizeof signature));
	}
	fw_jwks_free(jwks);
}

/* The keys of RFC 7515 (A.3) and RFC 8037 (A.2). */
static const char KEYS[] = "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"es\","
			   "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
			   "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"},"
			   "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"ed\","
			   "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}";

static void try_jwt(const char *text, size_t len)
{
	static struct fw_jwks *jwks;
	const struct fw_jwt_terms terms = {
		.issuer = "joe", .audience = "me", .now_s = 1300819000, .skew_s = 60
	};
	struct fw_jwt jwt = { .expires_s = -7 };

	if (!jwks)
		MUST(!fw_jwks_parse(KEYS, sizeof KEYS - 1, &jwks));
	MUST(fw_jwt_check(text, len, jwks, &terms, &jwt) != FW_JWT_VALID);
	MUST(jwt.expires_s == -7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	long live = fw_error_live();
	const char *text = (const char *)data + 1;

	if (!size)
		return 0;
	switch (data[0] % 3) {
	case 0: try_policy(text, size - 1); break;
	case 1: try_jwks(text, size - 1); break;
	default: try_jwt(text, size - 1); break;
	}
	MUST(fw_error_live() == live);
	return 0;
}
