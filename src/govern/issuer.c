/*
 * issuer.c - see issuer.h.
 */
#include "govern/issuer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/buf.h"
#include "base/mem.h"
#include "govern/scope.h"
#include "io/fetch.h"
#include "mcp/principal.h"
#include "observe/log/log.h"

struct memory {
	unsigned char hash[FW_SHA256_BYTES];
	int64_t expires_ms;
	fw_principal *principal; /* NULL: free */
};

struct fw_issuer {
	char *name;
	char *audience;
	char *jwks_at; /* a file or a URL */
	bool is_url;
	struct fw_loop *loop;
	struct fw_fetcher *fetcher;
	struct fw_fetch *fetch; /* NULL: none in progress */
	struct fw_buf body;
	uint64_t asked_ms; /* loop time of the last request; 0: never */
	bool is_lost;      /* the last one has failed */
	struct timespec modified;
	ino_t inode;
	struct fw_jwks *jwks; /* NULL: not known yet */
	struct memory memories[FW_ISSUER_CACHE];
};

/* ---- keys -------------------------------------------------------------------------------- */

void fw_issuer_forget(struct fw_issuer *issuer)
{
	if (!issuer)
		return;
	for (size_t i = 0; i < FW_ISSUER_CACHE; i++) {
		fw_principal_unref(issuer->memories[i].principal);
		issuer->memories[i].principal = NULL;
	}
}

static void log_keys(struct fw_issuer *issuer, const fw_error *err)
{
	const fw_field fields[] = { fw_log_text("issuer", issuer->name),
				    fw_log_number("keys", fw_jwks_count(issuer->jwks)),
				    fw_log_text("why", err ? fw_error_message(err) : NULL) };

	if (err && issuer->is_lost)
		return;
	issuer->is_lost = err != NULL;
	fw_log_event(err ? FW_LOG_ERROR : FW_LOG_INFO, "faultwire",
		     err ? "issuer_keys_failed" : "issuer_keys_loaded", fields, 3);
}

/* Tokens signed by a removed key are no longer valid. */
static fw_error *take_keys(struct fw_issuer *issuer, const char *text, size_t len)
{
	struct fw_jwks *jwks = NULL;

	FW_TRY(fw_jwks_parse(text, len, &jwks));
	fw_jwks_free(issuer->jwks);
	issuer->jwks = jwks;
	fw_issuer_forget(issuer);
	return NULL;
}

static fw_error *read_file(struct fw_issuer *issuer)
{
	int fd = open(issuer->jwks_at, O_RDONLY | O_CLOEXEC);
	int errnum = errno;
	ssize_t len;
	char *text;
	fw_error *err;

	if (fd < 0)
		return fw_error_from_errno(FW_HERE, errnum, issuer->jwks_at);
	text = fw__allocate(FW_JWKS_BYTES + 1);
	len = text ? read(fd, text, FW_JWKS_BYTES + 1) : 0;
	errnum = errno;
	(void)close(fd);
	if (!text)
		return fw_raise_internal_out_of_memory();
	if (len < 0)
		err = fw_error_from_errno(FW_HERE, errnum, issuer->jwks_at);
	else if (len > FW_JWKS_BYTES)
		err = fw_raise_input_too_large(issuer->jwks_at, FW_JWKS_BYTES);
	else
		err = take_keys(issuer, text, (size_t)len);
	fw__release(text);
	return err;
}

static void look_at_file(struct fw_issuer *issuer)
{
	struct stat found;
	fw_error *err;

	if (stat(issuer->jwks_at, &found) != 0 ||
	    (found.st_mtim.tv_sec == issuer->modified.tv_sec &&
	     found.st_mtim.tv_nsec == issuer->modified.tv_nsec &&
	     found.st_ino == issuer->inode))
		return;
	issuer->modified = found.st_mtim;
	issuer->inode = found.st_ino;
	err = read_file(issuer);
	log_keys(issuer, err);
	fw_error_free(err);
}

/* ---- a URL ------------------------------------------------------------------------------- */

static bool on_body(void *ctx, const char *bytes, size_t len)
{
	struct fw_issuer *issuer = ctx;

	fw_buf_put(&issuer->body, bytes, len);
	return issuer->body.state == FW_BUF_OK;
}

static void on_end(void *ctx, struct fw_fetch *fetch, fw_error *err)
{
	struct fw_issuer *issuer = ctx;

	if (!err && fw_fetch_status(fetch) != 200)
		err = fw_raise_dependency_unavailable("the JWKS of the issuer");
	if (!err && !issuer->body.len)
		err = fw_raise_dependency_unavailable("the JWKS of the issuer");
	if (!err)
		err = take_keys(issuer, issuer->body.text, issuer->body.len);
	issuer->fetch = NULL;
	fw_buf_clear(&issuer->body);
	log_keys(issuer, err);
	fw_error_free(err);
}

/* True: the keys are being fetched. `after_ms`: least time since the last request. */
static bool fetch_keys(struct fw_issuer *issuer, uint64_t after_ms)
{
	static const char *const headers[] = { "Accept: application/jwk-set+json, "
					       "application/json",
					       NULL };
	const struct fw_fetch_options how = { .method = "GET",
					      .url = issuer->jwks_at,
					      .headers = headers,
					      .total_ms = FW_ISSUER_FETCH_MS,
					      .on = { .body = on_body, .end = on_end },
					      .ctx = issuer };
	uint64_t now_ms = uv_now(&issuer->loop->uv) + 1;
	fw_error *err;

	if (issuer->fetch)
		return true;
	if (issuer->asked_ms && now_ms - issuer->asked_ms < after_ms)
		return false;
	issuer->asked_ms = now_ms;
	fw_buf_clear(&issuer->body);
	fw_buf_init(&issuer->body, FW_JWKS_BYTES);
	err = fw_fetch_start(issuer->fetcher, &how, &issuer->fetch);
	if (err)
		log_keys(issuer, err);
	fw_error_free(err);
	return !err;
}

void fw_issuer_look(struct fw_issuer *issuer)
{
	if (issuer->is_url)
		(void)fetch_keys(issuer, issuer->jwks && !issuer->is_lost ? FW_ISSUER_REFRESH_MS
									  : FW_ISSUER_RETRY_MS);
	else
		look_at_file(issuer);
}

/* ---- life ---------------------------------------------------------------------------------- */

/* Keys that come over plain HTTP could be anybody's, except on this machine. */
static bool is_safe(const char *url)
{
	static const char *const local[] = { "http://127.", "http://localhost",
					     "http://[::1]" };

	if (strncasecmp(url, "https://", 8) == 0)
		return true;
	for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
		size_t len = strlen(local[i]);

		if (strncasecmp(url, local[i], len) == 0 &&
		    (i == 0 || strchr(":/", url[len]) || !url[len]))
			return true;
	}
	return false;
}

static fw_error *begin(struct fw_issuer *issuer, const struct fw_issuer_options *options)
{
	issuer->name = fw_strdup(options->issuer);
	issuer->audience = fw_strdup(options->audience);
	issuer->jwks_at = fw_strdup(options->jwks);
	if (!issuer->name || !issuer->audience || !issuer->jwks_at)
		return fw_raise_internal_out_of_memory();
	issuer->is_url = strstr(options->jwks, "://") != NULL;
	if (!issuer->is_url)
		return read_file(issuer);
	if (!is_safe(options->jwks))
		return fw_raise_input_invalid_value("the URL of the JWKS", "https");
	FW_TRY(fw_fetcher_new(options->loop, &issuer->fetcher));
	(void)fetch_keys(issuer, 0);
	return NULL;
}

fw_error *fw_issuer_new(const struct fw_issuer_options *options, struct fw_issuer **ret_issuer)
{
	struct fw_issuer *issuer = fw__allocate(sizeof *issuer);
	fw_error *err;

	if (!issuer)
		return fw_raise_internal_out_of_memory();
	memset(issuer, 0, sizeof *issuer);
	issuer->loop = options->loop;
	err = begin(issuer, options);
	if (err)
		fw_issuer_free(issuer);
	else
		*ret_issuer = issuer;
	return err;
}

void fw_issuer_free(struct fw_issuer *issuer)
{
	if (!issuer)
		return;
	fw_fetcher_free(issuer->fetcher);
	fw_buf_clear(&issuer->body);
	fw_issuer_forget(issuer);
	fw_jwks_free(issuer->jwks);
	fw__release(issuer->name);
	fw__release(issuer->audience);
	fw__release(issuer->jwks_at);
	fw__release(issuer);
}

/* ---- tokens -------------------------------------------------------------------------------- */

static struct memory *memory_of(struct fw_issuer *issuer,
				const unsigned char hash[FW_SHA256_BYTES])
{
	return &issuer->memories[(hash[0] << 8 | hash[1]) % FW_ISSUER_CACHE];
}

fw_principal *fw_issuer_remembers(struct fw_issuer *issuer,
				  const unsigned char hash[FW_SHA256_BYTES], int64_t now_ms)
{
	const struct memory *memory = memory_of(issuer, hash);

	return memory->principal && fw_bytes_equal(memory->hash, hash, FW_SHA256_BYTES) &&
			       now_ms < memory->expires_ms
		       ? memory->principal
		       : NULL;
}

/* Scopes mapped by the policy; without a mapping, scopes that have our names. */
static size_t map_scopes(char *text, const struct fw_policy *policy,
			 const char *ret_scopes[FW_SCOPES_MAX])
{
	size_t count = 0;

	for (char *at = text; *at;) {
		size_t len = strcspn(at, " "), i = 0;
		char *next = at + len + (at[len] == ' ');
		const char *mapped;

		at[len] = '\0';
		while (policy && count < FW_SCOPES_MAX &&
		       (mapped = fw_policy_oauth_scope(policy, at, len, i))) {
			ret_scopes[count++] = mapped;
			i++;
		}
		if (!i && count < FW_SCOPES_MAX && fw_scope_is_valid(at))
			ret_scopes[count++] = at;
		at = next;
	}
	return count;
}

static fw_principal *principal_of(struct fw_jwt *jwt, const struct fw_policy *policy)
{
	const char *scopes[FW_SCOPES_MAX];
	char name[FW_JWT_SUBJECT_SIZE + 8];
	size_t count = map_scopes(jwt->scope, policy, scopes);
	fw_principal *principal = NULL;

	(void)snprintf(name, sizeof name, "oauth:%s", jwt->subject);
	fw_error_free(fw_principal_new(FW_PROOF_TOKEN, name, scopes, count, &principal));
	return principal;
}

enum fw_jwt_fault fw_issuer_check(struct fw_issuer *issuer, const char *token, size_t len,
				  const unsigned char hash[FW_SHA256_BYTES], int64_t now_ms,
				  const struct fw_policy *policy, bool *ret_is_fetching,
				  fw_principal **ret_principal)
{
	const struct fw_jwt_terms terms = { .issuer = issuer->name,
					    .audience = issuer->audience,
					    .now_s = now_ms / 1000,
					    .skew_s = FW_ISSUER_SKEW_S };
	struct memory *memory = memory_of(issuer, hash);
	struct fw_jwt jwt;
	enum fw_jwt_fault fault = fw_jwt_check(token, len, issuer->jwks, &terms, &jwt);
	fw_principal *principal;

	if (fault == FW_JWT_NO_KEY && issuer->is_url)
		*ret_is_fetching = fetch_keys(issuer, FW_ISSUER_RETRY_MS) || !issuer->jwks;
	if (fault != FW_JWT_VALID)
		return fault;
	principal = principal_of(&jwt, policy);
	if (!principal)
		return FW_JWT_NO_MEMORY;
	fw_principal_unref(memory->principal);
	memcpy(memory->hash, hash, FW_SHA256_BYTES);
	memory->expires_ms = (jwt.expires_s + FW_ISSUER_SKEW_S) * 1000;
	memory->principal = principal;
	fw_principal_set_expiry(principal, memory->expires_ms);
	*ret_principal = principal;
	return FW_JWT_VALID;
}
