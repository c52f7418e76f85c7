/*
 * jwt_test.c - sets of keys and access tokens; the wire tests have tokens of an independent
 * library (test/judge/oauth.test.mjs).
 */
#include "govern/jwt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <faultwire/faultwire.h>

#include "govern/issuer.h"
#include "test/memory.h"

/* RFC 7515, A.3 and RFC 8037, A.2. */
#define EC_KEY(kid)                                              \
	"{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"" kid "\"," \
	"\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"," \
	"\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}"
#define ED_KEY                                  \
	"{\"kty\":\"OKP\",\"crv\":\"Ed25519\"," \
	"\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}"

/* The example of RFC 7515, A.3: its claims have an issuer and an expiry alone. */
static const char EXAMPLE[] = "eyJhbGciOiJFUzI1NiJ9."
			      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
			      "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
			      "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSA"
			      "pmWQxfKTUJqPP3-Kg6NU1Q";

static struct fw_jwks *parse(const char *text)
{
	struct fw_jwks *jwks = NULL;

	assert_null(fw_jwks_parse(text, strlen(text), &jwks));
	return jwks;
}

static void must_fail(const char *text)
{
	struct fw_jwks *jwks = NULL;
	fw_error *err = fw_jwks_parse(text, strlen(text), &jwks);

	assert_int_equal(fw_error_code(err), FW_INPUT_INVALID_VALUE);
	assert_null(jwks);
	fw_error_free(err);
}

static void test_jwks__only_keys_that_can_be_used(void **state)
{
	struct fw_jwks *jwks = parse("{\"keys\":[" EC_KEY("a") "," EC_KEY(
		"b") "," ED_KEY ","
		     "{\"kty\":\"oct\",\"k\":\"AAAA\"},{\"kty\":\"RSA\",\"n\":\"AQAB\","
		     "\"e\":\"AQAB\"},3]}");

	(void)state;
	assert_int_equal(fw_jwks_count(jwks), 3);
	assert_non_null(fw_jwks_find(jwks, "a", FW_JWK_ES256));
	assert_null(fw_jwks_find(jwks, "a", FW_JWK_RS256));
	assert_null(fw_jwks_find(jwks, "c", FW_JWK_ES256));
	/* Without an id only if there is one key. */
	assert_null(fw_jwks_find(jwks, NULL, FW_JWK_ES256));
	assert_non_null(fw_jwks_find(jwks, NULL, FW_JWK_EDDSA));
	fw_jwks_free(jwks);
	must_fail("");
	must_fail("[]");
	must_fail("{\"keys\":[]}");
	must_fail("{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"}]}");
	/* Not on the curve, of another use, for another algorithm. */
	must_fail("{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\","
		  "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
		  "\"y\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"}]}");
	must_fail("{\"keys\":[{\"use\":\"enc\",\"kty\":\"OKP\",\"crv\":\"Ed25519\","
		  "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}");
	must_fail("{\"keys\":[{\"alg\":\"ES256\",\"kty\":\"OKP\",\"crv\":\"Ed25519\","
		  "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}");
}

static enum fw_jwt_fault check(const char *token, const char *keys)
{
	const struct fw_jwt_terms terms = {
		.issuer = "joe", .audience = "me", .now_s = 1300819000, .skew_s = 60
	};
	struct fw_jwks *jwks = parse(keys);
	struct fw_jwt jwt;
	enum fw_jwt_fault fault = fw_jwt_check(token, strlen(token), jwks, &terms, &jwt);

	fw_jwks_free(jwks);
	return fault;
}

static void test_jwt__faults_in_the_order_of_the_checks(void **state)
{
	static const char EC[] = "{\"keys\":[" EC_KEY("a") "]}";
	static const char ED[] = "{\"keys\":[" ED_KEY "]}";
	char changed[sizeof EXAMPLE];

	(void)state;
	/* The signature is valid; the claims have no audience. */
	assert_int_equal(check(EXAMPLE, EC), FW_JWT_AUDIENCE);
	assert_int_equal(check(EXAMPLE, ED), FW_JWT_NO_KEY);
	memcpy(changed, EXAMPLE, sizeof EXAMPLE);
	changed[sizeof EXAMPLE - 10] ^= 1;
	assert_int_equal(check(changed, EC), FW_JWT_SIGNATURE);
	memcpy(changed, EXAMPLE, sizeof EXAMPLE);
	changed[30] = changed[30] == 'A' ? 'B' : 'A';
	assert_int_equal(check(changed, EC), FW_JWT_SIGNATURE);
	/* {"alg":"none"}, {"alg":"HS256"} */
	assert_int_equal(check("eyJhbGciOiJub25lIn0.e30.", EC), FW_JWT_ALGORITHM);
	assert_int_equal(check("eyJhbGciOiJIUzI1NiJ9.e30.AAAA", EC), FW_JWT_ALGORITHM);
	assert_int_equal(check("e30.e30.AAAA", EC), FW_JWT_ALGORITHM);
	assert_int_equal(check("a.b", EC), FW_JWT_MALFORMED);
	assert_int_equal(check("a.b.c.d", EC), FW_JWT_MALFORMED);
	assert_int_equal(check("..", EC), FW_JWT_MALFORMED);
	assert_int_equal(check("!!.e30.AAAA", EC), FW_JWT_MALFORMED);
	assert_int_equal(check("eyJhbGciOiJFUzI1NiJ9.e30.AAAA", EC), FW_JWT_SIGNATURE);
	assert_false(fw_jwt_has_form("fwt_0_1", 7));
	assert_true(fw_jwt_has_form(EXAMPLE, sizeof EXAMPLE - 1));
}

static void check_once(void)
{
	static const char keys[] = "{\"keys\":[" EC_KEY("a") "," ED_KEY "]}";
	const struct fw_jwt_terms terms = {
		.issuer = "joe", .audience = "me", .now_s = 1300819000, .skew_s = 60
	};
	struct fw_jwks *jwks = NULL;
	struct fw_jwt jwt;
	fw_error *err = fw_jwks_parse(keys, sizeof keys - 1, &jwks);
	enum fw_jwt_fault fault;

	assert_true(!err || fw_error_code(err) == FW_INTERNAL_OUT_OF_MEMORY);
	if (!err) {
		fault = fw_jwt_check(EXAMPLE, sizeof EXAMPLE - 1, jwks, &terms, &jwt);
		assert_true(fault == FW_JWT_AUDIENCE || fault == FW_JWT_NO_MEMORY);
	}
	fw_error_free(err);
	fw_jwks_free(jwks);
}

static void test_jwt__each_allocation_fails(void **state)
{
	(void)state;
	each_allocation_fails(check_once);
}

static void test_issuer__keys_need_a_safe_way(void **state)
{
	static const char *const unsafe[] = { "http://issuer.example/jwks",
					      "http://localhost.example/jwks",
					      "ftp://127.0.0.1/" };
	struct fw_loop loop;

	(void)state;
	assert_int_equal(fw_loop_init(&loop), 0);
	for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++) {
		const struct fw_issuer_options how = { &loop, "https://i", "https://a",
						       unsafe[i] };
		struct fw_issuer *issuer = NULL;
		fw_error *err = fw_issuer_new(&how, &issuer);

		assert_int_equal(fw_error_code(err), FW_INPUT_INVALID_VALUE);
		fw_error_free(err);
	}
	fw_loop_close(&loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jwks__only_keys_that_can_be_used),
		cmocka_unit_test(test_jwt__faults_in_the_order_of_the_checks),
		cmocka_unit_test(test_jwt__each_allocation_fails),
		cmocka_unit_test(test_issuer__keys_need_a_safe_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
