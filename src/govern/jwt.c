/*
 * jwt.c - see jwt.h.
 */
#include "govern/jwt.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/real.h"
#include "base/text.h"

enum { DEPTH = 16 };

static const double SECONDS_MOST = 1e12;

struct part {
	const char *p;
	size_t n;
};

/* A decoded part as JSON, in a buffer of the caller. */
struct document {
	unsigned char bytes[FW_JWT_BYTES];
	yyjson_doc *doc;
	yyjson_val *root; /* an object */
};

const char *fw_jwt_fault_text(enum fw_jwt_fault fault)
{
	static const char *const texts[FW_JWT_FAULT_COUNT] = {
		"valid",          "malformed",       "algorithm not supported",
		"unknown key",    "wrong signature", "wrong issuer",
		"wrong audience", "expired",         "not valid yet",
		"no subject",     "out of memory"
	};

	return (unsigned)fault < FW_JWT_FAULT_COUNT ? texts[fault] : "?";
}

/* Header, claims, signature. */
static bool split(const char *text, size_t len, struct part parts[3])
{
	const char *first = memchr(text, '.', len);
	const char *second;

	if (!first)
		return false;
	second = memchr(first + 1, '.', len - (size_t)(first + 1 - text));
	if (!second || memchr(second + 1, '.', len - (size_t)(second + 1 - text)))
		return false;
	parts[0] = (struct part){ text, (size_t)(first - text) };
	parts[1] = (struct part){ first + 1, (size_t)(second - first - 1) };
	parts[2] = (struct part){ second + 1, len - (size_t)(second + 1 - text) };
	return parts[0].n && parts[1].n;
}

bool fw_jwt_has_form(const char *text, size_t len)
{
	struct part parts[3];

	return len > 2 && len <= FW_JWT_BYTES && split(text, len, parts);
}

static enum fw_jwt_fault read_document(struct part part, struct document *document)
{
	const struct fw_json_limits limits = { .bytes = FW_JWT_BYTES, .depth = DEPTH };
	yyjson_read_err why = { 0 };
	size_t len;

	document->doc = NULL;
	document->root = NULL;
	if (part.n / 4 * 3 + 3 > sizeof document->bytes ||
	    !fw_base64_read(part.p, part.n, document->bytes, &len))
		return FW_JWT_MALFORMED;
	document->doc = fw_json_read((const char *)document->bytes, len, limits, 0, NULL, &why);
	document->root = yyjson_doc_get_root(document->doc);
	if (yyjson_is_obj(document->root))
		return FW_JWT_VALID;
	return !document->doc && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
		       ? FW_JWT_NO_MEMORY
		       : FW_JWT_MALFORMED;
}

/* ---- the header ------------------------------------------------------------------------ */

static enum fw_jwt_fault find_key(yyjson_val *header, const struct fw_jwks *jwks,
				  const struct fw_jwk **ret_key)
{
	yyjson_val *algorithm = fw_json_member(header, "alg");
	yyjson_val *kid = fw_json_member(header, "kid");
	const char *id = fw_text_str(fw_text_of(kid));
	int found = 0;

	/* An extension that must be understood, and is not. */
	if (fw_json_member(header, "crit") || (kid && !id))
		return FW_JWT_MALFORMED;
	while (found < FW_JWK_ALGORITHM_COUNT &&
	       !yyjson_equals_str(algorithm,
				  fw_jwk_algorithm_name((enum fw_jwk_algorithm)found)))
		found++;
	if (found == FW_JWK_ALGORITHM_COUNT && yyjson_equals_str(algorithm, "Ed25519"))
		found = FW_JWK_EDDSA;
	if (found == FW_JWK_ALGORITHM_COUNT)
		return FW_JWT_ALGORITHM;
	*ret_key = fw_jwks_find(jwks, id, (enum fw_jwk_algorithm)found);
	return *ret_key ? FW_JWT_VALID : FW_JWT_NO_KEY;
}

static enum fw_jwt_fault verify(const char *text, const struct part parts[3],
				const struct fw_jwks *jwks)
{
	unsigned char signature[FW_JWKS_SIGNATURE_BYTES + 4];
	const struct fw_jwk *key = NULL;
	struct document header;
	enum fw_jwt_fault fault = read_document(parts[0], &header);
	size_t len;

	if (fault == FW_JWT_VALID)
		fault = find_key(header.root, jwks, &key);
	yyjson_doc_free(header.doc);
	if (fault != FW_JWT_VALID)
		return fault;
	if (!parts[2].n || parts[2].n / 4 * 3 + 3 > sizeof signature ||
	    !fw_base64_read(parts[2].p, parts[2].n, signature, &len))
		return FW_JWT_SIGNATURE;
	return fw_jwk_verifies(key, text, parts[0].n + 1 + parts[1].n, signature, len)
		       ? FW_JWT_VALID
		       : FW_JWT_SIGNATURE;
}

/* ---- claims ---------------------------------------------------------------------------- */

/* False: it is not a time. */
static bool read_time(yyjson_val *value, int64_t *ret_s)
{
	double number = yyjson_is_num(value) ? yyjson_get_num(value) : -1;

	if (!(number >= 0 && number <= SECONDS_MOST))
		return false;
	*ret_s = (int64_t)fw_floor(number);
	return true;
}

static bool is_for(yyjson_val *audience, const char *wanted)
{
	yyjson_val *item;
	size_t at, most;

	if (yyjson_equals_str(audience, wanted))
		return true;
	yyjson_arr_foreach(audience, at, most, item)
	{
		if (yyjson_equals_str(item, wanted))
			return true;
	}
	return false;
}

static enum fw_jwt_fault check_times(yyjson_val *claims, const struct fw_jwt_terms *terms,
				     struct fw_jwt *jwt)
{
	static const char *const begins[] = { "nbf", "iat" };

	if (!read_time(fw_json_member(claims, "exp"), &jwt->expires_s))
		return FW_JWT_MALFORMED;
	if (terms->now_s >= jwt->expires_s + terms->skew_s)
		return FW_JWT_EXPIRED;
	for (size_t i = 0; i < 2; i++) {
		yyjson_val *value = fw_json_member(claims, begins[i]);
		int64_t begin_s = 0;

		if (value && !read_time(value, &begin_s))
			return FW_JWT_MALFORMED;
		if (begin_s > terms->now_s + terms->skew_s)
			return FW_JWT_NOT_YET;
	}
	return FW_JWT_VALID;
}

/* Printable ASCII: it becomes part of names, keys and log lines. */
static bool read_subject(yyjson_val *value, char ret_subject[FW_JWT_SUBJECT_SIZE])
{
	const char *text = fw_text_str(fw_text_of(value));
	size_t len = text ? strlen(text) : 0;

	if (!len || len >= FW_JWT_SUBJECT_SIZE)
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	memcpy(ret_subject, text, len + 1);
	return true;
}

static void append_scope(struct fw_jwt *jwt, yyjson_val *value)
{
	const char *text = fw_text_str(fw_text_of(value));
	size_t len = strlen(jwt->scope);

	if (!text || len + strlen(text) + 2 > sizeof jwt->scope)
		return;
	(void)snprintf(jwt->scope + len, sizeof jwt->scope - len, "%s%s", len ? " " : "", text);
}

/* "scope" is a text (RFC 9068); "scp" is what some issuers write, a text or a list. */
static void read_scope(yyjson_val *claims, struct fw_jwt *jwt)
{
	yyjson_val *list = fw_json_member(claims, "scp");
	yyjson_val *item;
	size_t at, most;

	append_scope(jwt, fw_json_member(claims, "scope"));
	append_scope(jwt, list);
	yyjson_arr_foreach(list, at, most, item)
	{
		append_scope(jwt, item);
	}
}

static enum fw_jwt_fault check_claims(yyjson_val *claims, const struct fw_jwt_terms *terms,
				      struct fw_jwt *jwt)
{
	enum fw_jwt_fault fault;

	if (!yyjson_equals_str(fw_json_member(claims, "iss"), terms->issuer))
		return FW_JWT_ISSUER;
	if (!is_for(fw_json_member(claims, "aud"), terms->audience))
		return FW_JWT_AUDIENCE;
	fault = check_times(claims, terms, jwt);
	if (fault != FW_JWT_VALID)
		return fault;
	if (!read_subject(fw_json_member(claims, "sub"), jwt->subject) &&
	    !read_subject(fw_json_member(claims, "client_id"), jwt->subject))
		return FW_JWT_NO_SUBJECT;
	read_scope(claims, jwt);
	return FW_JWT_VALID;
}

enum fw_jwt_fault fw_jwt_check(const char *text, size_t len, const struct fw_jwks *jwks,
			       const struct fw_jwt_terms *terms, struct fw_jwt *ret_jwt)
{
	struct fw_jwt jwt = { .expires_s = 0 };
	struct document claims;
	struct part parts[3];
	enum fw_jwt_fault fault;

	if (len > FW_JWT_BYTES || !split(text, len, parts))
		return FW_JWT_MALFORMED;
	fault = verify(text, parts, jwks);
	if (fault != FW_JWT_VALID)
		return fault;
	fault = read_document(parts[1], &claims);
	if (fault == FW_JWT_VALID)
		fault = check_claims(claims.root, terms, &jwt);
	yyjson_doc_free(claims.doc);
	if (fault == FW_JWT_VALID)
		*ret_jwt = jwt;
	return fault;
}
