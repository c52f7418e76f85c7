/*
 * embed.c - see embed.h.
 */
#include "tools/code/semantic/embed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "io/curl.h"
#include "tools/code/semantic/snapshot.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

enum {
	TIMEOUT_MS = 20000,
	CONNECT_MS = 5000,
	ANSWER_BYTES = 32 * 1024 * 1024,
	REQUEST_BYTES = 16 * 1024 * 1024,
	RETRY_TEXT = 64
};

/* ---- settings ---- */

static fw_error *read_text(const char *name, char *ret_text, size_t size)
{
	const char *value = getenv(name);
	size_t len = value ? strlen(value) : 0;

	if (len >= size || (len && strpbrk(value, "\r\n")))
		return fw_raise_cli_usage(
			"a variable FAULTWIRE_EMBEDDINGS_* is too long or has a line end");
	memcpy(ret_text, value ? value : "", len + 1);
	return NULL;
}

/* Without what may be secret in it: user, password and query. */
static void put_id(struct fw_semantic_embedder *e)
{
	const char *host = strstr(e->url, "://") + 3;
	const char *end = host + strcspn(host, "/?#");
	const char *at = memrchr(host, '@', (size_t)(end - host));

	if (at)
		host = at + 1;
	(void)snprintf(e->id, sizeof e->id, "%.60s at %.*s", e->model, (int)(end - host), host);
}

fw_error *fw_semantic_embedder_read(struct fw_semantic_embedder *ret_embedder, bool *ret_is_set)
{
	struct fw_semantic_embedder *e = ret_embedder;
	const char *timeout = getenv("FAULTWIRE_EMBEDDINGS_TIMEOUT_MS");
	unsigned long ms = timeout ? strtoul(timeout, NULL, 10) : TIMEOUT_MS;

	*e = (struct fw_semantic_embedder){ .timeout_ms = TIMEOUT_MS };
	FW_TRY(read_text("FAULTWIRE_EMBEDDINGS_URL", e->url, sizeof e->url));
	FW_TRY(read_text("FAULTWIRE_EMBEDDINGS_MODEL", e->model, sizeof e->model));
	FW_TRY(read_text("FAULTWIRE_EMBEDDINGS_KEY", e->key, sizeof e->key));
	*ret_is_set = e->url[0] != '\0';
	if (!e->url[0])
		return NULL;
	if (strncasecmp(e->url, "http://", 7) != 0 && strncasecmp(e->url, "https://", 8) != 0)
		return fw_raise_cli_usage(
			"FAULTWIRE_EMBEDDINGS_URL is not an http or https URL");
	if (!e->model[0])
		return fw_raise_cli_usage("FAULTWIRE_EMBEDDINGS_MODEL is not set");
	if (!ms || ms > 600000)
		return fw_raise_cli_usage(
			"FAULTWIRE_EMBEDDINGS_TIMEOUT_MS takes 1 to 600000 milliseconds");
	e->timeout_ms = (uint32_t)ms;
	put_id(e);
	return NULL;
}

fw_error *fw_semantic_embedder_load(void)
{
	return fw_curl_load();
}

/* ---- asking ---- */

struct asking {
	const struct fw_semantic_embedder *embedder;
	CURL *curl;
	struct curl_slist *headers;
	struct fw_buf request;
	struct fw_buf answer;
	char retry_after[RETRY_TEXT];
};

static fw_error *failed(const struct asking *a, const char *reason)
{
	fw_error *err = fw_raise_search_embedding_failed(reason);

	fw_error_add_string(err, "embedder", a->embedder->id);
	return err;
}

static void put_request(struct asking *a, const char *const *texts, const size_t *lens,
			size_t count)
{
	FW_BUF(&a->request, "{\"model\":");
	fw_buf_json_str(&a->request, a->embedder->model);
	FW_BUF(&a->request, ",\"encoding_format\":\"float\",\"input\":[");
	for (size_t i = 0; i < count; i++) {
		size_t size = 3 * lens[i] + 1;
		char *repaired = fw__allocate(size);

		if (!repaired) {
			a->request.state = FW_BUF_NO_MEMORY;
			return;
		}
		if (i)
			FW_BUF(&a->request, ",");
		size = fw_utf8_repair(repaired, size, texts[i], lens[i]);
		fw_buf_json(&a->request, repaired, size);
		fw__release(repaired);
	}
	FW_BUF(&a->request, "]}");
}

static size_t take_answer(char *bytes, size_t size, size_t count, void *ctx)
{
	struct asking *a = ctx;

	fw_buf_put(&a->answer, bytes, size * count);
	return a->answer.state == FW_BUF_OK ? size * count : 0;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *ctx)
{
	struct asking *a = ctx;
	size_t len = size * count;

	if (len > 12 && strncasecmp(bytes, "retry-after:", 12) == 0) {
		const char *at = bytes + 12;
		size_t left = len - 12;

		for (; left && (*at == ' ' || *at == '\t'); at++)
			left--;
		while (left &&
		       (at[left - 1] == '\r' || at[left - 1] == '\n' || at[left - 1] == ' '))
			left--;
		left = left < sizeof a->retry_after ? left : sizeof a->retry_after - 1;
		memcpy(a->retry_after, at, left);
		a->retry_after[left] = '\0';
	}
	return len;
}

static bool set_up(struct asking *a)
{
	const struct fw_semantic_embedder *e = a->embedder;
	char header[FW_SEMANTIC_EMBED_KEY_BYTES + 32];
	struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");

	a->headers = headers;
	if (headers && e->key[0]) {
		(void)snprintf(header, sizeof header, "Authorization: Bearer %s", e->key);
		headers = curl_slist_append(headers, header);
	}
	if (!headers)
		return false;
	(void)curl_easy_setopt(a->curl, CURLOPT_URL, e->url);
	(void)curl_easy_setopt(a->curl, CURLOPT_HTTPHEADER, a->headers);
	(void)curl_easy_setopt(a->curl, CURLOPT_POST, 1L);
	(void)curl_easy_setopt(a->curl, CURLOPT_POSTFIELDS, a->request.text);
	(void)curl_easy_setopt(a->curl, CURLOPT_POSTFIELDSIZE_LARGE,
			       (curl_off_t)a->request.len);
	(void)curl_easy_setopt(a->curl, CURLOPT_WRITEFUNCTION, take_answer);
	(void)curl_easy_setopt(a->curl, CURLOPT_WRITEDATA, a);
	(void)curl_easy_setopt(a->curl, CURLOPT_HEADERFUNCTION, take_header);
	(void)curl_easy_setopt(a->curl, CURLOPT_HEADERDATA, a);
	(void)curl_easy_setopt(a->curl, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(a->curl, CURLOPT_TIMEOUT_MS, (long)e->timeout_ms);
	(void)curl_easy_setopt(a->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	(void)curl_easy_setopt(a->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(a->curl, CURLOPT_FOLLOWLOCATION, 0L);
	return true;
}

static fw_error *judge_status(const struct asking *a)
{
	long status = 0;
	char reason[96];
	fw_error *err;

	(void)curl_easy_getinfo(a->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200 && status < 300)
		return NULL;
	(void)snprintf(reason, sizeof reason, "the service answered with HTTP status %ld",
		       status);
	err = failed(a, reason);
	fw_error_add_i64(err, "http_status", status);
	if (a->retry_after[0]) {
		double seconds = fw_retry_after_parse(a->retry_after, fw_unix_ms());

		if (seconds >= 0)
			fw_error_set_retry_after(err, seconds);
	}
	return err;
}

static fw_error *judge_transfer(const struct asking *a, CURLcode result)
{
	char reason[160];

	switch (result) {
	case CURLE_OK: return judge_status(a);
	case CURLE_COULDNT_CONNECT: return failed(a, "the service refused the connection");
	case CURLE_COULDNT_RESOLVE_HOST:
		return failed(a, "the name of the service cannot be resolved");
	case CURLE_OPERATION_TIMEDOUT: return failed(a, "the service did not answer in time");
	case CURLE_WRITE_ERROR: return failed(a, "the answer of the service is too large");
	case CURLE_OUT_OF_MEMORY: return fw_raise_internal_out_of_memory();
	default: break;
	}
	(void)snprintf(reason, sizeof reason, "the request failed: %s",
		       curl_easy_strerror(result));
	return failed(a, reason);
}

/* ---- the answer ---- */

static bool read_vector(yyjson_val *list, size_t dims, float *ret_vector)
{
	yyjson_val *number;
	size_t at, most;

	if (!yyjson_is_arr(list) || yyjson_arr_size(list) != dims)
		return false;
	yyjson_arr_foreach(list, at, most, number)
	{
		if (!yyjson_is_num(number))
			return false;
		ret_vector[at] = (float)yyjson_get_num(number);
		if (!isfinite(ret_vector[at]))
			return false;
	}
	return true;
}

static fw_error *read_length(const struct asking *a, yyjson_val *data, size_t *dims)
{
	size_t first = yyjson_arr_size(yyjson_obj_get(yyjson_arr_get_first(data), "embedding"));
	char reason[96];

	if (!first || first > FW_SEMANTIC_DIMS_MAX)
		return failed(a, "the answer of the service has no vectors");
	if (*dims && first != *dims) {
		(void)snprintf(reason, sizeof reason,
			       "the service gave vectors of %zu numbers instead of %zu", first,
			       *dims);
		return failed(a, reason);
	}
	*dims = first;
	return NULL;
}

static fw_error *read_data(const struct asking *a, yyjson_val *data, size_t count, size_t *dims,
			   float **ret_vectors)
{
	yyjson_val *row;
	size_t at, most;
	float *vectors;

	if (!yyjson_is_arr(data) || yyjson_arr_size(data) != count)
		return failed(a, "the answer of the service has not as many vectors as texts");
	FW_TRY(read_length(a, data, dims));
	vectors = fw__allocate(count * *dims * sizeof *vectors);
	if (!vectors)
		return fw_raise_internal_out_of_memory();
	/* Until it is read: two of the same number would leave another one out. */
	for (size_t i = 0; i < count; i++)
		vectors[i * *dims] = NAN;
	yyjson_arr_foreach(data, at, most, row)
	{
		yyjson_val *index = yyjson_obj_get(row, "index");
		size_t to = yyjson_is_uint(index) ? (size_t)yyjson_get_uint(index) : at;

		if (to >= count || !isnan(vectors[to * *dims]) ||
		    !read_vector(yyjson_obj_get(row, "embedding"), *dims,
				 vectors + to * *dims)) {
			fw__release(vectors);
			return failed(a, "the answer of the service has an invalid vector");
		}
	}
	*ret_vectors = vectors;
	return NULL;
}

static fw_error *read_answer(const struct asking *a, size_t count, size_t *dims,
			     float **ret_vectors)
{
	const struct fw_json_limits limits = { .bytes = ANSWER_BYTES, .depth = 8 };
	yyjson_doc *doc = fw_json_read(a->answer.len ? a->answer.text : "", a->answer.len,
				       limits, 0, NULL, NULL);
	fw_error *err;

	if (!doc)
		return failed(a, "the answer of the service is not JSON");
	err = read_data(a, yyjson_obj_get(yyjson_doc_get_root(doc), "data"), count, dims,
			ret_vectors);
	yyjson_doc_free(doc);
	return err;
}

fw_error *fw_semantic_embed(const struct fw_semantic_embedder *embedder,
			    const char *const *texts, const size_t *lens, size_t count,
			    size_t *dims, float **ret_vectors)
{
	struct asking a = { .embedder = embedder };
	fw_error *err = NULL;

	FW_TRY(fw_curl_load());
	a.curl = curl_easy_init();
	fw_buf_init(&a.request, REQUEST_BYTES);
	fw_buf_init(&a.answer, ANSWER_BYTES);
	put_request(&a, texts, lens, count);
	if (!a.curl || a.request.state != FW_BUF_OK || !set_up(&a))
		err = fw_raise_internal_out_of_memory();
	if (!err)
		err = judge_transfer(&a, curl_easy_perform(a.curl));
	if (!err)
		err = read_answer(&a, count, dims, ret_vectors);
	if (a.curl)
		curl_easy_cleanup(a.curl);
	curl_slist_free_all(a.headers);
	fw_buf_clear(&a.request);
	fw_buf_clear(&a.answer);
	return err;
}
