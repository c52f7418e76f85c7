/*
 * redact_test.c - what is hidden, what is not, and that a second pass changes nothing.
 */
#include "core/redact.h"
#include "test/rounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define R FW_REDACTED
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A made-up secret is put together from pieces here, or the scanners that
 * look after source code take it for a real one. */
#define GHP   \
	"ghp" \
	"_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
#define JWT                            \
	"eyJhbGciOiJIUzI1NiJ9."        \
	"eyJzdWIiOiIxMjM0NTY3ODkwIn0." \
	"dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
#define AWS    \
	"AKIA" \
	"IOSFODNN7EXAMPLE"
#define GOOGLE \
	"AIza" \
	"SyA1234567890abcdefghijklmnopqrstuv"
#define OPENAI \
	"sk-"  \
	"proj-Ab12Cd34Ef56Gh78Ij90Kl12"
#define PEM_BODY "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF0KzbPmZ"

struct pair {
	const char *text, *redacted;
};

static const struct pair secrets[] = {
	/* authorization schemes */
	{ "Bearer abc123def", "Bearer " R },
	{ "sent bearer AbCdEfGhIjKlMnOp, refused", "sent bearer " R ", refused" },
	{ "Basic dXNlcjpwYXNzd29yZA==", "Basic " R },
	{ "got BASIC YWRtaW46aHVudGVyMg", "got BASIC " R },
	{ "Authorization: Bearer abc", "Authorization: " R },
	{ "Authorization: Basic dTpw", "Authorization: " R },
	{ "authorization: token abcd1234 was refused", "authorization: " R " was refused" },
	{ "curl -H 'Authorization: Bearer x1y2z3' https://x.org",
	  "curl -H 'Authorization: " R "' https://x.org" },
	{ "Proxy-Authorization: Basic dTpw\r\nHost: x",
	  "Proxy-Authorization: " R "\r\nHost: x" },
	{ "Authorization: Digest username=\"bob\", realm=\"x\", response=\"6629fae49393\"",
	  "Authorization: " R },
	{ "{\"Authorization\":\"Bearer abc\"}", "{\"Authorization\":\"" R "\"}" },
	{ "Authorization: abc123XYZ", "Authorization: " R },
	/* private keys */
	{ "-----BEGIN PRIVATE KEY-----\n" PEM_BODY "\n-----END PRIVATE KEY-----", R },
	{ "key:\n-----BEGIN RSA PRIVATE KEY-----\n" PEM_BODY
	  "\n-----END RSA PRIVATE KEY-----\nrest",
	  "key:\n" R "\nrest" },
	{ "-----BEGIN OPENSSH PRIVATE KEY-----\\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\\n", R },
	{ "x -----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIrYSSNQFaA2Hwf1duRSx", "x " R },
	{ "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF" PEM_BODY
	  "\n-----END PGP PRIVATE KEY BLOCK-----.",
	  R "." },
	{ "-----BEGIN PRIVATE KEY-----\n" PEM_BODY "\ntoken=" R, R },
	/* right behind a word, and over the edge of a block */
	{ "content-----BEGIN PRIVATE KEY-----\n" PEM_BODY "\n-----END PRIVATE KEY-----x",
	  "content" R "x" },
	{ "a text that is just so long that the dashes stand at the edge-----BEGIN PRIVATE "
	  "KEY-----\n" PEM_BODY "\n-----END PRIVATE KEY-----",
	  "a text that is just so long that the dashes stand at the edge" R },
	/* elements */
	{ "<user>bob</user><password>hunter2</password>",
	  "<user>bob</user><password>" R "</password>" },
	{ "<wsse:Password Type=\"PasswordText\">hunter2</wsse:Password>",
	  "<wsse:Password Type=\"PasswordText\">" R "</wsse:Password>" },
	{ "<apiKey>\n  a1b2c3\n</apiKey>", "<apiKey>\n  " R "\n</apiKey>" },
	{ "<secret>cut0ff", "<secret>" R },
	/* JWT */
	{ JWT, R },
	{ "jwt " JWT ".", "jwt " R "." },
	{ "(" JWT ")", "(" R ")" },
	{ "cut eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx", "cut " R },
	/* URLs */
	{ "https://user:pass@host/path", "https://" R "@host/path" },
	{ "postgres://u:p%40ss@db:5432/app?x=1", "postgres://" R "@db:5432/app?x=1" },
	{ "redis://:hunter2@cache:6379", "redis://" R "@cache:6379" },
	{ "amqp://guest:p@ss@mq/", "amqp://" R "@mq/" },
	{ "mysql://root:p/ss@db/x", "mysql://" R "@db/x" },
	{ "could not fetch 'ftp://a:b@c'", "could not fetch 'ftp://" R "@c'" },
	{ "https://x-access-token:" GHP "@github.com/x/y", "https://" R "@github.com/x/y" },
	{ "https://" GHP "@github.com/x/y", "https://" R "@github.com/x/y" },
	/* pairs */
	{ "password=hunter2", "password=" R },
	{ "password: hunter2", "password: " R },
	{ "password: letmein", "password: " R },
	{ "Password: \"correct horse\"", "Password: \"" R "\"" },
	{ "PASSWORD = hunter2", "PASSWORD = " R },
	{ "pwd=abc;Database=x", "pwd=" R ";Database=x" },
	{ "Server=x;User Id=y;Password=z;", "Server=x;User Id=y;Password=" R ";" },
	{ "token: abc123", "token: " R },
	{ "token=abc", "token=" R },
	{ "invalid access token: 9f8e7d6c5b", "invalid access token: " R },
	{ "API key: abc123def456", "API key: " R },
	{ "Incorrect API key provided: " OPENAI ".", "Incorrect API key provided: " R "." },
	{ "api_key = \"abcdef123456\"", "api_key = \"" R "\"" },
	{ "x-api-key: 1234abcd", "x-api-key: " R },
	{ "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
	  "AWS_SECRET_ACCESS_KEY=" R },
	{ "password=abc(def", "password=" R },
	{ "token=a1b2c3(old)", "token=" R ")" },
	{ "DB_PASS=s3cret", "DB_PASS=" R },
	{ "client_secret=abc&grant_type=x", "client_secret=" R "&grant_type=x" },
	{ "{\"password\":\"hunter2\"}", "{\"password\":\"" R "\"}" },
	{ "{\"password\": \"with \\\" quote\", \"a\": 1}",
	  "{\"password\": \"" R "\", \"a\": 1}" },
	{ "{'refreshToken': 'abc'}", "{'refreshToken': '" R "'}" },
	{ "{\\\"apiKey\\\":\\\"abc\\\",\\\"x\\\":1}",
	  "{\\\"apiKey\\\":\\\"" R "\\\",\\\"x\\\":1}" },
	{ "{\"password\":123456}", "{\"password\":\"" R "\"}" },
	{ "{\\\"password\\\":123456}", "{\\\"password\\\":\\\"" R "\\\"}" },
	{ "\"secret\":\"cut off he", "\"secret\":\"" R },
	{ "config[\"password\"] = \"abc\"", "config[\"password\"] = \"" R "\"" },
	{ ":password => \"abc\"", ":password => \"" R "\"" },
	{ "Cookie: sid=abc123; theme=dark", "Cookie: " R },
	{ "Set-Cookie: id=a3fWa; Max-Age=2592000", "Set-Cookie: " R },
	{ "connect.sid=s%3Aabc", "connect.sid=" R },
	{ "login --password hunter2 --user bob", "login --password " R " --user bob" },
	{ "run --api-key=abc --verbose", "run --api-key=" R " --verbose" },
	{ "args: --token,abc123,--x", "args: --token," R ",--x" },
	{ "--client-secret 'a b1'", "--client-secret '" R "'" },
	{ "//npm.example.com/:_authToken=abcdef", "//npm.example.com/:_authToken=" R },
	/* query parameters */
	{ "GET /v1?api_key=abc&x=1", "GET /v1?api_key=" R "&x=1" },
	{ "https://h/p?x=1&access_token=abc#top", "https://h/p?x=1&access_token=" R },
	{ "https://a.blob.core.windows.net/c?sv=2020&sig=aB%2F1",
	  "https://a.blob.core.windows.net/c?sv=2020&sig=" R },
	{ "?X-Amz-Signature=deadbeef01&X-Amz-Date=1", "?X-Amz-Signature=" R "&X-Amz-Date=1" },
	/* prefixes */
	{ GHP, R },
	{ "gho"
	  "_16C7e42F292c6912E7710c838347Ae178B4a",
	  R },
	{ "github"
	  "_pat_11ABCDEFG0abcdefghijkl_MNOPQRSTUVWXYZ",
	  R },
	{ "glpat"
	  "-AbCdEf123456_78-90xy",
	  R },
	{ "key " OPENAI " is disabled", "key " R " is disabled" },
	{ "sk-"
	  "ant-api03-AbCdEfGhIjKl-MnOpQrSt_UvWx12",
	  R },
	{ "sk"
	  "_live_4eC39HqLyjWDarjtT1zdp7dc",
	  R },
	{ "xoxb"
	  "-123456789012-abcdefABCDEF",
	  R },
	{ "xoxp"
	  "-1234567890-0987654321",
	  "xoxp"
	  "-1234567890-0987654321" },
	{ "xoxp"
	  "-1234567890-0987654321-a1b2c3",
	  R },
	{ AWS, R },
	{ "(ASIA"
	  "IOSFODNN7EXAMPLE)",
	  "(" R ")" },
	{ GOOGLE, R },
	{ "npm"
	  "_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
	  R },
	{ "hf"
	  "_AbCdEfGhIjKlMnOpQrStUvWxYz123456",
	  R },
	{ "dop"
	  "_v1_0123456789abcdef0123456789abcdef0123456789abcdef",
	  R },
	{ "SG"
	  ".ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc-1s5cr",
	  R },
	{ "xapp"
	  "-1-A0123BCDEFG-1234567890123-0f1e2d3c4b5a",
	  R },
	{ "GOC"
	  "SPX-a1B2c3D4e5F6g7H8i9J0k1L2",
	  R },
	{ "got ya"
	  "29.a0AfH6SMBx1y2z3A4B5C6D7E8F9 back",
	  "got " R " back" },
	{ "hv"
	  "s.CAESIJ1k2l3m4n5o6p7q8r9s0t1u2v3w",
	  R },
	{ "https://hooks.slack.com/services/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",
	  "https://hooks.slack.com/services/T0123ABCD/B0123ABCD/" R },
	{ "https://api.telegram.org/bot110201543:"
	  "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/getMe",
	  "https://api.telegram.org/bot" R "/getMe" },
	{ "MTk4NjIyNDgzNDcxOTI1MjQ4."
	  "Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",
	  R },
	{ "dapi"
	  "0123456789abcdef0123456789abcdef",
	  R },
	{ "mailgun key-"
	  "0123456789abcdef0123456789abcdef",
	  "mailgun " R },
	{ "AGE-SECRET"
	  "-KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW",
	  R },
	{ "{\"auth\":\"dXNlcjpwYXNzd29yZA==\"}", "{\"auth\":\"" R "\"}" },
	{ "PGPASSWORD=sw0rdfish psql", "PGPASSWORD=" R " psql" },
	/* several, and other alphabets around */
	{ "пароль password=abc и token=def", "пароль password=" R " и token=" R },
	{ "password=пароль", "password=" R },
	{ "a=1&token=x1&b=2&password=y", "a=1&token=" R "&b=2&password=" R },
};

static const char *const harmless[] = {
	"",
	"foo.test.js",
	"author",
	"monkey: banana1",
	"author=bob1",
	"keyboard: us101",
	"/home/user/.ssh/id_rsa",
	"could not read /etc/passwd: permission denied",
	"C:\\Users\\bob\\token\\x1",
	"550e8400-e29b-41d4-a716-446655440000",
	"session 550e8400-e29b-41d4-a716-446655440000 does not exist",
	"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"plan_hash=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
	"version 1.2.3-beta.4+build.5",
	"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
	"sk-learn",
	"key-value-store-of-the-whole-application-server",
	"keyframes-0123456789abcdef",
	"{\"auth\":\"oauth2\"}",
	"auth: required",
	"usage: login <user> <password> to begin",
	"<password></password>",
	"<password>must be set</password>",
	"<token/>text",
	"a -> b, password -> c",
	"if (token > 5) x</token>",
	"ya29.short",
	"see /webhooks/list",
	"-----",
	"a table: ----- | ----- | BEGIN",
	"rows-----BEGIN PRIVATE KEY-----",
	"sk-learn-contrib-extensions-package",
	"task-list",
	"task-81 was not found",
	"risk-based",
	"disk-0123456789AbCdEfGhIj",
	"basic auth is required",
	"Basic authentication failed",
	"bearer of news",
	"Bearer token is missing",
	"WWW-Authenticate: Bearer realm=\"x\", error=\"invalid_token\"",
	"token expired",
	"Token: expired",
	"token: expected string",
	"password must be at least 8 characters",
	"password: must be at least 8 characters",
	"invalid token at position 5",
	"Unexpected token < in JSON at position 0",
	"Unexpected token: '}'",
	"unexpected token: abc123",
	"unexpected end of JSON input",
	"secret: see docs",
	"secrets \"db-1\" not found",
	"Authentication failed: password is incorrect",
	"Authorization: required",
	"Authorization: Bearer token is missing",
	"authorization header is missing",
	"authorization failed: access_denied",
	"{\"password\":\"This field is required\"}",
	"{\"password\":[\"This field is required.\"]}",
	"{\"token\":null,\"password\":false}",
	"{\"token\":{\"type\":\"string\"}}",
	"{\"type\":\"password\"}",
	"{\"error\":\"invalid_token\",\"error_description\":\"The access token expired\"}",
	"{\"max_tokens\":4096,\"total_tokens\":12,\"tokens_used\":77}",
	"{\"progressToken\":\"abc123\"}",
	"token_count=12",
	"tokens: 128000",
	"token: 128000 exceeds the limit",
	"primary_key=id1",
	"key: abc123",
	"keys=a1,b2",
	"cache_key=user:1234",
	"session_id=abc123",
	"public key: abc123def",
	"password_length=12",
	"password=***",
	"password=********",
	"api_key=<your key>",
	"api_key=YOUR_API_KEY",
	"token=${TOKEN}",
	"token=$GITHUB_TOKEN",
	"token=%s",
	"apiKey: process.env.OPENAI_API_KEY",
	"password=" R,
	"password: \"" R "\"",
	"password=" R ", token: " R,
	"https://" R "@host/",
	"Authorization: " R,
	"--token " R,
	"token=getToken()",
	"password=prompt()",
	"if (token == other1)",
	"token::kind1",
	"bypass=true1",
	"compass: north1",
	"pass: 5, fail: 2",
	"PASS: test12",
	"passport=x123",
	"secretary: bob1",
	"tokenizer=gpt2",
	"git@github.com:x/y.git",
	"bob@example.com",
	"mailto:bob@example.com",
	"https://user@host/path",
	"http://localhost:8080/a@b",
	"http://[::1]:8080/a:b@c",
	"https://example.com/a:b@c",
	"Documentation: https://docs.tavily.com/documentation/api-reference/endpoint/crawl",
	"API key must be provided via --api-key flag or CHROMA_API_KEY environment variable",
	"use --token to authenticate",
	"missing --password option",
	"--password --user bob",
	"-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG\n-----END "
	"CERTIFICATE-----",
	"PEM must start with -----BEGIN PRIVATE KEY-----",
	"-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC "
	"KEY-----",
	"eyJhbGciOiJIUzI1NiJ9",
	"heyJohn.smith.johnson",
	"AKIA is how access key ids start",
	"ASIAN.MARKETS.OPEN",
	"ghp_ is a prefix",
	"npm_config_registry",
	"hf_transformers",
	"SG.1.2",
	"grant_type=password",
	"resource not allowed: /v1, Kind=Secret",
	"Server misconfigured: token storage unavailable",
	"EACCES: permission denied, mkdir '/home/user/mcp-shrimp-task-manager/data'",
	"secret: /run/secrets/db1",
	"line 5: col 12: unexpected token",
	"is_secret: true1",
	"\xff\xfe:=_-JIGb",
	":",
	"=",
	"token:",
	"token=",
	"token=\"",
	"password:   ",
	"--",
	"--token",
	"--token ",
	"://",
	"x://:@",
	"Bearer",
	"Basic ",
	"eyJ",
	"-----BEGIN ",
};

/* clang-format off */
static const char *const secret_keys[] = {
	"token", "access_token", "accessToken", "refreshToken", "refresh-token", "ID_TOKEN",
	"password", "Password", "PASSWORD", "passwd", "pwd", "user_password", "newPassword",
	"password_confirmation", "passphrase", "passcode", "secret", "secrets",
	"client_secret", "clientSecret", "authorization", "Authorization",
	"proxy-authorization", "api_key", "apiKey", "APIKey", "apikey", "x-api-key",
	"X-API-KEY", "api_keys", "private_key", "privateKey", "ssh_private_key",
	"secret_key", "aws_secret_access_key", "signing_key", "encryption_key", "cookie",
	"Cookie", "set-cookie", "session_cookie", "cookies", "credential", "credentials",
	"creds", "jwt", "db_pass", "DB_PASS", "token2", "oauth2_token", "password_hash",
	"token_value", "csrfToken", "authToken", "auth_token", "_authToken", "connect.sid",
	"JSESSIONID", "PHPSESSID", "password_reset_token", "accesstoken", "api key",
	"X-Amz-Security-Token", "X-Amz-Signature", "access_key", "account_key",
	"bearertoken", "clientsecret", "refreshtoken", "sessiontoken", "apitoken",
	"apisecret", "privatekey", "secretkey", "accesskey", "authtoken", "passwords",
	"passwort", "authorisation", "apikeys", "passwordOld", "token_raw", "token_prod",
	"tokenV2",
};
/* clang-format on */

/* clang-format off */
static const char *const harmless_keys[] = {
	"", "author", "authority", "monkey", "keyboard", "tokenizer", "tokens_used",
	"max_tokens", "maxTokens", "token_count", "tokenCount", "tokens", "secretary",
	"passport", "compass", "key", "keys", "primary_key", "primaryKey", "public_key",
	"cache_key", "session_id", "sessionId", "plan_hash", "bypass", "pass", "first_pass",
	"hash", "value", "token_type", "password_length", "secret_name", "cookie_name",
	"access_key_id", "progressToken", "nextPageToken", "continuation_token", "path",
	"url", "has_password", "isSecret", "requires_token", "signature", "sid",
	"cookiecutter", "passage", "passenger", "credit", "v", "b", "_", "2", "-",
	"tokenized", "detokenize", "discretion", "keyed", "turkey", "authorized",
	"authorizations_count", "unexpected_token",
};
/* clang-format on */

static char *copy(const char *text, size_t len)
{
	size_t need = fw_redact_copy(NULL, 0, text, len);
	char *out = malloc(need + 1);

	assert_non_null(out);
	assert_int_equal(fw_redact_copy(out, need + 1, text, len), need);
	assert_int_equal(out[need], 0);
	return out;
}

/* In memory of its exact size, so that a sanitizer sees a step beyond. */
static char *exact(const char *text, size_t len)
{
	char *out = malloc(len ? len : 1);

	assert_non_null(out);
	memcpy(out, text, len);
	return out;
}

static void test_redact__hides_secrets(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(secrets); i++) {
		size_t len = strlen(secrets[i].text);
		char *text = exact(secrets[i].text, len);
		char *out = copy(text, len);

		if (strcmp(out, secrets[i].redacted) != 0) {
			print_message("%s\n  became %s\n  not    %s\n", secrets[i].text, out,
				      secrets[i].redacted);
			wrong++;
		}
		free(out);
		free(text);
	}
	assert_int_equal(wrong, 0);
}

static void test_redact__leaves_the_rest_alone(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(harmless); i++) {
		size_t len = strlen(harmless[i]);
		char *text = exact(harmless[i], len);
		char *out = copy(text, len);

		if (strcmp(out, harmless[i]) != 0 || fw_redact_find(text, len) != len) {
			print_message("%s\n  became %s\n", harmless[i], out);
			wrong++;
		}
		free(out);
		free(text);
	}
	assert_int_equal(wrong, 0);
}

static void test_redact__finds_where_the_first_secret_starts(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(secrets); i++) {
		const char *text = secrets[i].text, *redacted = secrets[i].redacted;
		size_t at = fw_redact_find(text, strlen(text)), same = 0;

		while (text[same] && text[same] == redacted[same])
			same++;
		/* A number gets quotes first, so the place is one or two earlier. */
		assert_true(at <= same + 1);
		assert_memory_equal(text, redacted, at);
	}
}

static void test_redact__works_behind_any_length_of_text(void **state)
{
	char text[256];

	(void)state;
	for (size_t pad = 0; pad < 70; pad++) {
		memset(text, '.', pad);
		(void)snprintf(text + pad, sizeof(text) - pad, " password=hunter2 and more");
		assert_int_equal(fw_redact_find(text, strlen(text)), pad + 10);
	}
}

static void test_redact__judges_keys_by_their_words(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(secret_keys); i++)
		if (!fw_redact_key_is_secret(secret_keys[i], strlen(secret_keys[i]))) {
			print_message("not secret: %s\n", secret_keys[i]);
			wrong++;
		}
	for (size_t i = 0; i < COUNT(harmless_keys); i++)
		if (fw_redact_key_is_secret(harmless_keys[i], strlen(harmless_keys[i]))) {
			print_message("secret: %s\n", harmless_keys[i]);
			wrong++;
		}
	assert_int_equal(wrong, 0);
}

/* The finder looks only at endings that it knows: they must be all of them. */
static void test_redact__finds_the_values_of_secret_keys(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(secret_keys); i++) {
		static const struct {
			const char *before, *after;
		} forms[] = {
			{ "", "=" },
			{ "  {\"", "\":\"" },
			{ "see: ", ": " },
			{ "the ", " = \"" },
		};

		for (size_t j = 0; j < COUNT(forms); j++) {
			char text[128];
			int key_len = snprintf(text, sizeof(text), "%s%s%s", forms[j].before,
					       secret_keys[i], forms[j].after);
			int len = snprintf(text, sizeof(text), "%s%s%sa1b2c3d4e5\"",
					   forms[j].before, secret_keys[i], forms[j].after);

			if (fw_redact_find(text, (size_t)len) != (size_t)key_len) {
				print_message("not found: %s\n", text);
				wrong++;
			}
		}
	}
	assert_int_equal(wrong, 0);
}

static void assert_idempotent(const char *text, size_t len)
{
	char *in = exact(text, len);
	char *once = copy(in, len);
	size_t once_len = fw_redact_copy(NULL, 0, in, len);
	char *twice = copy(once, once_len);

	if (strcmp(once, twice) != 0)
		print_message("%.*s\n once:  %s\n twice: %s\n", (int)len, text, once, twice);
	assert_int_equal(fw_redact_copy(NULL, 0, once, once_len), once_len);
	assert_memory_equal(once, twice, once_len);
	assert_int_equal(fw_redact_find(once, once_len), once_len);
	free(twice);
	free(once);
	free(in);
}

static void test_redact__again_changes_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(secrets); i++)
		for (size_t len = 0; len <= strlen(secrets[i].text); len++)
			assert_idempotent(secrets[i].text, len);
}

/* The second part was shown if the first one was random too. */
static void test_redact__hides_each_random_part_of_a_webhook_address(void **state)
{
	static const char *const parts[] = {
		"/webhooks/222222UTF-822222hoos/k2222222dependentSc0",
		"/IncomingWebhook/0f1E2d3C4b5A69788796a5B4c3D2e1F0/9c8B7a6F5e4D3c2B1a0F9e8D",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(parts); i++) {
		char *once = copy(parts[i], strlen(parts[i]));

		assert_null(strstr(once, strrchr(parts[i], '/') + 1));
		assert_idempotent(parts[i], strlen(parts[i]));
		free(once);
	}
	assert_idempotent("/webhooks/222222UTF-822222hoos /k2222222dependentSc0", 52);
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void test_redact__again_changes_nothing_in_any_mixture(void **state)
{
	static const char *const pieces[] = {
		"password",
		"token",
		"api",
		"_",
		"key",
		"-",
		"--",
		":",
		"=",
		" ",
		"\"",
		"'",
		"\\",
		"\\\"",
		"@",
		"/",
		"://",
		"user",
		"abc123",
		"Bearer",
		"Basic",
		"dXNlcjpwYXNz",
		".",
		",",
		";",
		"&",
		"?",
		"\n",
		"[",
		"]",
		"(",
		")",
		"{",
		"}",
		"<",
		">",
		"Authorization",
		"Cookie",
		"Digest",
		"eyJhbGciOiJ",
		"eyJ",
		"sk-",
		"ghp_",
		GHP,
		AWS,
		OPENAI,
		R,
		"-----BEGIN PRIVATE KEY-----",
		PEM_BODY,
		"-----END PRIVATE KEY-----",
		"x",
		"9",
		"\xc3\xa9",
		"is",
		"must",
		"secret",
		"A",
		"z",
		"1234567",
		"sig",
		"*",
	};
	uint32_t seed = 20261115;

	(void)state;
	for (int round = 0; round < test_rounds(60000); round++) {
		char text[512];
		size_t len = 0, count = 1 + next_random(&seed) % 14;

		while (count--) {
			const char *piece = pieces[next_random(&seed) % COUNT(pieces)];
			size_t n = strlen(piece);

			if (len + n > sizeof(text))
				break;
			memcpy(text + len, piece, n);
			len += n;
		}
		assert_idempotent(text, len);
	}
}

static void test_redact__cuts_to_the_room_and_never_a_character(void **state)
{
	static const char text[] = "\xc3\xa9\xe2\x82\xac password=hunter2 \xf0\x9f\x94\x91 end";
	char *whole = copy(text, sizeof(text) - 1);
	size_t len = strlen(whole);

	(void)state;
	for (size_t cap = 1; cap <= len + 2; cap++) {
		char *out = malloc(cap);
		size_t kept;

		assert_non_null(out);
		memset(out, 'Z', cap);
		assert_int_equal(fw_redact_copy(out, cap, text, sizeof(text) - 1), len);
		kept = strlen(out);
		assert_true(kept < cap);
		assert_memory_equal(out, whole, kept);
		assert_true(((unsigned char)whole[kept] & 0xc0) != 0x80);
		assert_true(cap - 1 >= len || cap - 1 - kept < 4);
		free(out);
	}
	free(whole);
}

static void test_redact__keeps_bytes_that_are_zero(void **state)
{
	static const char text[] = "a\0b password=x1\0 c";
	char out[64];
	size_t len = fw_redact_copy(out, sizeof(out), text, sizeof(text) - 1);

	(void)state;
	assert_int_equal(len, sizeof("a\0b password=" R "\0 c") - 1);
	assert_memory_equal(out, "a\0b password=" R "\0 c", len);
}

/* Each would take hours if every mark were looked at to the end of the text. */
static void test_redact__takes_time_that_grows_with_the_text(void **state)
{
	static const char *const units[] = {
		"-----BEGIN RSA PRIVATE KEY-----",
		"a-----",
		"<password>",
		"<password",
		"password>",
		"/webhooks/a1",
		"x://a:b",
		"token=your_",
		"token:/a/",
		"token='",
		"eyJhbGciOiJIUzI1.",
		"SG.aaaaaaaaaaaaaaaa.",
		"Bearer a.",
		"--token ",
		"_",
		"-",
		"=",
		"Authorization: Digest a=\"is ",
		"password: ",
		"cookie: a;",
		"\\\"token\\\":\\\"is ",
	};
	size_t len = (size_t)test_rounds(1024 * 1024);
	char *text = malloc(len);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < COUNT(units); i++) {
		size_t n = strlen(units[i]);

		for (size_t at = 0; at < len; at++)
			text[at] = units[i][at % n];
		(void)fw_redact_copy(NULL, 0, text, len);
	}
	free(text);
}

static void test_redact__takes_any_bytes(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < test_rounds(20000); round++) {
		static const char some[] = ":=_-JIGbB\"'\\ .@/?&;aKyzS[]5\n\0\xff";
		char text[64];
		size_t len = next_random(&seed) % sizeof(text);

		for (size_t i = 0; i < len; i++)
			text[i] = some[next_random(&seed) % (sizeof(some) - 1)];
		assert_idempotent(text, len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_redact__hides_secrets),
		cmocka_unit_test(test_redact__leaves_the_rest_alone),
		cmocka_unit_test(test_redact__finds_where_the_first_secret_starts),
		cmocka_unit_test(test_redact__works_behind_any_length_of_text),
		cmocka_unit_test(test_redact__judges_keys_by_their_words),
		cmocka_unit_test(test_redact__finds_the_values_of_secret_keys),
		cmocka_unit_test(test_redact__again_changes_nothing),
		cmocka_unit_test(test_redact__hides_each_random_part_of_a_webhook_address),
		cmocka_unit_test(test_redact__again_changes_nothing_in_any_mixture),
		cmocka_unit_test(test_redact__cuts_to_the_room_and_never_a_character),
		cmocka_unit_test(test_redact__keeps_bytes_that_are_zero),
		cmocka_unit_test(test_redact__takes_time_that_grows_with_the_text),
		cmocka_unit_test(test_redact__takes_any_bytes),
	};

	return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
