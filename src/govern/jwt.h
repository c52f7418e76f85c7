/*
 * jwt.h - an OAuth access token that is a JWT (RFC 9068, RFC 8725): checked against the
 * keys of its issuer.
 *
 * The one rule to remember: nothing of a token is believed before its signature is
 * verified, except the id of the key and the name of the algorithm, by which the key is
 * looked up.
 */
#ifndef FW_GOVERN_JWT_H
#define FW_GOVERN_JWT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "govern/jwks.h"

enum { FW_JWT_BYTES = 8 * 1024, FW_JWT_SUBJECT_SIZE = 200, FW_JWT_SCOPE_SIZE = 2048 };

/* What a token must satisfy. */
struct fw_jwt_terms {
	const char *issuer;
	const char *audience;
	int64_t now_s;
	int64_t skew_s; /* by which clocks may differ */
};

enum fw_jwt_fault {
	FW_JWT_VALID,
	FW_JWT_MALFORMED,
	FW_JWT_ALGORITHM, /* none, symmetric, or another that is not supported */
	FW_JWT_NO_KEY,
	FW_JWT_SIGNATURE,
	FW_JWT_ISSUER,
	FW_JWT_AUDIENCE,
	FW_JWT_EXPIRED,
	FW_JWT_NOT_YET,
	FW_JWT_NO_SUBJECT,
	FW_JWT_NO_MEMORY,
	FW_JWT_FAULT_COUNT
};

/* A few words for the log. */
const char *fw_jwt_fault_text(enum fw_jwt_fault fault);

/* Claims of a valid token. */
struct fw_jwt {
	char subject[FW_JWT_SUBJECT_SIZE];
	char scope[FW_JWT_SCOPE_SIZE]; /* scopes, separated by spaces */
	int64_t expires_s;
};

/* Whether it has the form of a JWT: three parts. */
bool fw_jwt_has_form(const char *text, size_t len);

/* `*ret_jwt` is set if it is valid. */
enum fw_jwt_fault fw_jwt_check(const char *text, size_t len, const struct fw_jwks *jwks,
			       const struct fw_jwt_terms *terms, struct fw_jwt *ret_jwt);

#endif
