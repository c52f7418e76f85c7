/*
 * support.h - what the tests of this folder share: an allocator that counts and
 * can be made to fail, one envelope of each contract, and the questions that
 * are asked of every answer.
 *
 * The tests see the library only through its public headers.
 */
#ifndef FW_TEST_CONTRACT_SUPPORT_H
#define FW_TEST_CONTRACT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include <faultwire/faultwire.h>

/* ---- memory ----------------------------------------------------------- */

struct test_memory {
	size_t live;    /* bytes handed out and not given back */
	size_t peak;    /* the most that `live` has been */
	size_t blocks;  /* blocks handed out and not given back */
	size_t calls;   /* allocations and reallocations since the last reset */
	size_t fail_at; /* this call fails, counted from 1; 0: none */
	bool fail_on;   /* and all later ones too */
	bool failed;    /* one has */
};

/* A header before each block remembers its size; 16 keeps the alignment. */
enum { TEST_MEMORY_HEADER = 16 };

static struct test_memory memory;

static bool memory_refuses(struct test_memory *m)
{
	m->calls++;
	if (!m->fail_at || m->calls < m->fail_at || (m->calls > m->fail_at && !m->fail_on))
		return false;
	m->failed = true;
	return true;
}

static void memory_add(struct test_memory *m, size_t size)
{
	m->live += size;
	if (m->live > m->peak)
		m->peak = m->live;
}

static void *memory_allocate(void *ctx, size_t size)
{
	struct test_memory *m = ctx;
	char *block;

	if (memory_refuses(m))
		return NULL;
	block = malloc(size + TEST_MEMORY_HEADER);
	if (!block)
		return NULL;
	memcpy(block, &size, sizeof(size));
	memory_add(m, size);
	m->blocks++;
	return block + TEST_MEMORY_HEADER;
}

static void memory_release(void *ctx, void *ptr)
{
	struct test_memory *m = ctx;
	size_t size;

	if (!ptr)
		return;
	memcpy(&size, (char *)ptr - TEST_MEMORY_HEADER, sizeof(size));
	m->live -= size;
	m->blocks--;
	free((char *)ptr - TEST_MEMORY_HEADER);
}

/* Always moves, so that a pointer kept over a growth is found out. */
static void *memory_reallocate(void *ctx, void *ptr, size_t size)
{
	size_t old = 0;
	void *fresh = memory_allocate(ctx, size);

	if (!fresh || !ptr)
		return fresh;
	memcpy(&old, (char *)ptr - TEST_MEMORY_HEADER, sizeof(old));
	memcpy(fresh, ptr, old < size ? old : size);
	memory_release(ctx, ptr);
	return fresh;
}

static inline int memory_setup(void **state)
{
	const fw_allocator allocator = { memory_allocate, memory_reallocate, memory_release,
					 &memory };

	(void)state;
	memset(&memory, 0, sizeof(memory));
	fw_allocator_set(&allocator);
	return 0;
}

static inline int memory_teardown(void **state)
{
	(void)state;
	fw_allocator_set(NULL);
	return memory.blocks == 0 && fw_error_live() == 0 ? 0 : -1;
}

/* ---- samples ---------------------------------------------------------- */

static const char *const sample_kaiza =
	"{\"error_code\":\"PATH_NOT_FOUND\",\"human_message\":\"path does not exist: a/b\","
	"\"role\":\"WINDSURF\",\"session_id\":\"550e8400-e29b-41d4-a716-446655440000\","
	"\"workspace_root\":\"/home/user/project\",\"tool_name\":\"write_file\","
	"\"invariant_id\":\"MANDATORY_DIAGNOSTICS\",\"phase_id\":\"PHASE_5A\","
	"\"plan_hash\":\"abc123def456\","
	"\"cause\":{\"message\":\"No such file or "
	"directory\",\"code\":\"ENOENT\",\"name\":\"errno\"},"
	"\"timestamp\":\"2026-01-19T15:32:10.123Z\"}";

static const char *const sample_context_v0 =
	"{\"error\":{\"code\":\"cache_missing\",\"message\":\"Cache does not exist\"}}\n";

static const char *const sample_codeintel =
	"{\"path\":\"\",\"content\":\"\",\"lines\":0,\"size\":0,"
	"\"error\":\"start_line must be a positive integer\","
	"\"problem\":{\"type\":\"https://kgfoundry.dev/problems/invalid-parameter\","
	"\"title\":\"Invalid Parameter\",\"status\":400,"
	"\"detail\":\"start_line must be a positive integer\","
	"\"instance\":\"urn:codeintel:files:open_file\",\"code\":\"invalid-parameter\","
	"\"extensions\":{\"path\":\"src/main.py\",\"start_line\":0,\"end_line\":10}}}";

static const char *const sample_toolerror =
	"{\"type\":\"CONFLICT\",\"message\":\"reservation conflict: 2 conflicts\","
	"\"recoverable\":true,\"data\":{\"conflicts\":[{\"agent_id\":\"agent-2\","
	"\"pattern\":\"src/*.go\",\"held_by\":\"agent-2\"}]}}";

static const char *const sample_owlclaw =
	"{\"error\":{\"code\":\"governance.rate_limited\",\"message\":\"rate limited\","
	"\"category\":\"governance\",\"retryable\":true,\"incident_id\":\"inc_20260226_001\","
	"\"details\":{\"limit\":5},\"retry_after\":30}}";

static const char *const sample_owlclaw_api =
	"{\"type\":\"https://owlclaw.dev/problems/governance-rate-limited\","
	"\"title\":\"Rate Limited\",\"status\":429,\"detail\":\"rate limited\","
	"\"instance\":\"urn:owlclaw:incident:inc_20260226_001\",\"code\":\"governance.rate_"
	"limited\","
	"\"category\":\"governance\",\"retryable\":true,\"incident_id\":\"inc_20260226_001\","
	"\"details\":{\"limit\":5},\"retry_after\":30}";

/* An error with something of everything; yours. */
static inline fw_error *sample_error(void)
{
	static const fw_scope scope = {
		.tool = "search_text",
		.operation = "search:text",
		.role = "WINDSURF",
		.session_id = "550e8400-e29b-41d4-a716-446655440000",
		.workspace_root = "/home/user/project",
		.phase_id = "PHASE_5A",
		.plan_hash = "abc123def456",
		.invariant_id = "MANDATORY_DIAGNOSTICS",
		.client = "agent-7",
		.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736",
	};
	static const char json[] = "{\"deep\":[1,2.5,null,{\"x\":\"y\"}]}";
	static const char empty[] = "{\"matches\":[],\"total\":0,\"truncated\":false}";
	const fw_row *row = fw_registry_find(NULL, "search.timeout");
	const fw_field query = { .key = "query",
				 .key_len = 5,
				 .type = FW_FIELD_STRING,
				 .string = "def main",
				 .string_len = 8 };
	fw_error *err = fw_raise_row(FW_HERE, row, &query, 1);

	fw_error_add_i64(err, "start_line", -7);
	fw_error_add_u64(err, "bytes", UINT64_MAX);
	fw_error_add_f64(err, "score", 0.25);
	fw_error_add_bool(err, "truncated", true);
	fw_error_add_json(err, "json", json, sizeof(json) - 1);
	fw_error_add_cause(err, "No such file or directory", "ENOENT", "errno");
	err = fw_error_wrap(err, FW_HERE, "could not search for \"%s\"", "def main");
	fw_error_set_origin(err, FW_ORIGIN_UPSTREAM);
	fw_error_set_delivery(err, FW_SENT);
	fw_error_set_retry_after(err, 1.5);
	fw_error_set_hint(err, "Try again with a smaller query.");
	fw_error_set_incident_id(err, "inc_20260119_abcdefgh");
	fw_error_set_time(err, INT64_C(1768836730123));
	fw_error_set_empty_result(err, empty, sizeof(empty) - 1);
	fw_error_fill_scope(err, &scope);
	return err;
}

/* A sample of each contract in its own memory, without a final newline. */
static inline char *sample_text(fw_contract contract, size_t *ret_len)
{
	static char canonical[8192];
	const char *texts[FW_CONTRACT_COUNT] = {
		canonical,        sample_kaiza,   sample_context_v0,  sample_codeintel,
		sample_toolerror, sample_owlclaw, sample_owlclaw_api,
	};
	size_t len;
	char *copy;

	if (contract == FW_CANONICAL) {
		fw_error *err = sample_error();

		len = fw_error_encode(err, FW_CANONICAL, NULL, canonical, sizeof(canonical));
		assert_true(len < sizeof(canonical));
		fw_error_free(err);
	}
	len = strlen(texts[contract]);
	if (texts[contract][len - 1] == '\n')
		len--;
	copy = malloc(len + 1);
	assert_non_null(copy);
	memcpy(copy, texts[contract], len);
	copy[len] = '\0';
	*ret_len = len;
	return copy;
}

/* ---- questions -------------------------------------------------------- */

/* Any number is JSON, also one that no double holds. */
static inline bool is_json(const char *text, size_t len)
{
	yyjson_doc *doc = yyjson_read(text, len, YYJSON_READ_NUMBER_AS_RAW);
	bool answer = doc != NULL;

	yyjson_doc_free(doc);
	return answer;
}

/* Every error there is can be written in every contract, as JSON. */
static inline void assert_encodes(const fw_error *err)
{
	static char text[4 * 1024 * 1024];

	for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++) {
		size_t len =
			fw_error_encode(err, (fw_contract)contract, NULL, text, sizeof(text));

		assert_true(len < sizeof(text));
		assert_int_equal(strlen(text), len);
		if (!is_json(text, len))
			fail_msg("%s is not JSON: %s", fw_contract_name((fw_contract)contract),
				 text);
	}
}

#endif
