/*
 * contracts.c - what writing and reading an error costs, beside the floor.
 *
 * The floor of writing: straight-line code with an escape scan, by hand for each
 * contract, from plain strings of known length into a buffer that is large
 * enough. The floor of reading: yyjson parses the same bytes and nothing looks
 * at them. The floors must write the very bytes that the library writes, or the
 * program stops.
 *
 * Rounds are interleaved, a short slice of every case and then again, with what
 * is compared side by side, so that a noisy moment falls on both; the clock is
 * the thread's own, so that waiting for a core does not count; medians are printed.
 * bench/run makes the table.
 *
 *   contracts              lines "case NAME NS ALLOCATIONS BYTES"
 *   contracts --envelopes  the texts, "CONTRACT TAB JSON"
 *   contracts --callgrind  each case a few times between callgrind's marks
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <faultwire/faultwire.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <yyjson.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif

enum { ROUNDS = 101, CALLGRIND_RUNS = 100 };

static const double slice_seconds = 0.0004;

/* The compiler may neither drop what was written nor keep what was read. */
#define BARRIER(ptr) __asm__ volatile("" : : "r"(ptr) : "memory")

/* ---- the envelopes ---------------------------------------------------- */

struct text {
	const char *p;
	size_t n;
};

#define T(literal)                                  \
	{                                           \
		"" literal "", sizeof(literal) - 1, \
	}

/* Not const: the floors must read them each time, as the library does. */
static struct {
	struct text kaiza_code, context_code, codeintel_code, codeintel_empty, type,
		owlclaw_code, owlclaw_slug, category, canonical_code, canonical_category,
		canonical_type, retry, severity, origin, delivery, canonical_tool,
		canonical_operation;
	bool recoverable, retryable;
	struct text message, wrapped, role, session_id, workspace_root, tool, phase_id,
		plan_hash, invariant_id, cause_message, cause_code, cause_name, timestamp, path,
		operation, title_invalid, conflict, conflicts, limited, incident, title_limited,
		client, query, timeout, title_search, hint, could_not, client_id, trace_id,
		missing;
	int64_t start_line, end_line, status_invalid, status_limited, status_search, limit;
	double delay;
} plain = {
	.kaiza_code = T("PLAN_SCOPE_VIOLATION"),
	.context_code = T("cache_missing"),
	.codeintel_code = T("invalid-parameter"),
	.codeintel_empty = T("\"path\":\"\",\"content\":\"\",\"lines\":0,\"size\":0"),
	.type = T("CONFLICT"),
	.owlclaw_code = T("governance.rate_limited"),
	.owlclaw_slug = T("governance-rate-limited"),
	.category = T("governance"),
	.canonical_code = T("search.timeout"),
	.canonical_category = T("runtime"),
	.canonical_type = T("TRANSIENT"),
	.retry = T("backoff"),
	.severity = T("warning"),
	.origin = T("tool"),
	.delivery = T("sent"),
	.canonical_tool = T("search_text"),
	.canonical_operation = T("search:text"),
	.recoverable = true,
	.retryable = true,
	.message = T("could not write \"upload.c\"\n(scope: src/client/**)"),
	.role = T("WINDSURF"),
	.session_id = T("550e8400-e29b-41d4-a716-446655440000"),
	.workspace_root = T("/home/user/projects/faultwire"),
	.tool = T("write_file"),
	.phase_id = T("PHASE_5A"),
	.plan_hash = T("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
	.cause_message =
		T("path src/server/handlers/upload.c is outside the scope of plan 9f86d081"),
	.cause_code = T("plan.scope_violation"),
	.cause_name = T("fw_error"),
	.timestamp = T("2026-01-19T15:32:10.123Z"),
	.path = T("src/main.py"),
	.operation = T("files:open_file"),
	.title_invalid = T("Invalid Parameter"),
	.wrapped = T("start_line must be a positive integer"),
	.conflict = T("reservation conflict: 2 conflicts"),
	.conflicts = T(
		"[{\"agent_id\":\"agent-2\",\"pattern\":\"src/*.go\",\"held_by\":\"agent-2\","
		"\"reservation_id\":\"r-17\",\"expires_at\":\"2026-01-19T15:47:10Z\"},"
		"{\"agent_id\":\"agent-3\",\"pattern\":\"src/main.go\",\"held_by\":\"agent-3\","
		"\"reservation_id\":\"r-18\",\"expires_at\":\"2026-01-19T15:50:00Z\"}]"),
	.limited = T("rate limited"),
	.incident = T("inc_20260119_mfrggzdfmztwq2lk"),
	.title_limited = T("Rate Limited"),
	.client = T("agent-7"),
	.query = T("def main"),
	.timeout = T("Search timeout"),
	.title_search = T("Vector Search Error"),
	.hint = T("Try a narrower query, or try again later."),
	.could_not = T("could not search the workspace"),
	.client_id = T("claude-desktop"),
	.trace_id = T("4bf92f3577b34da6a3ce929d0e0e4736"),
	.missing = T("Cache does not exist"),
	.start_line = 0,
	.end_line = 10,
	.status_invalid = 400,
	.status_limited = 429,
	.status_search = 503,
	.limit = 60,
	.delay = 30,
};

static fw_error *make_kaiza(void)
{
	const fw_scope scope = {
		.tool = plain.tool.p,
		.role = plain.role.p,
		.session_id = plain.session_id.p,
		.workspace_root = plain.workspace_root.p,
		.phase_id = plain.phase_id.p,
		.plan_hash = plain.plan_hash.p,
	};
	fw_error *err =
		fw_raise_plan_scope_violation("9f86d081", "src/server/handlers/upload.c");

	err = fw_error_wrap(err, FW_HERE, "%s", plain.message.p);
	fw_error_fill_scope(err, &scope);
	fw_error_set_time(err, INT64_C(1768836730123));
	return err;
}

static fw_error *make_context_v0(void)
{
	return fw_raise_cache_missing();
}

static fw_error *make_codeintel(void)
{
	const fw_scope scope = { .operation = plain.operation.p };
	fw_error *err = fw_raise_input_invalid_line_range(plain.path.p, &plain.start_line,
							  &plain.end_line, plain.wrapped.p);

	fw_error_fill_scope(err, &scope);
	return err;
}

static fw_error *make_toolerror(void)
{
	fw_error *err = fw_raise_reservation_conflict(2, plain.conflicts.p);

	fw_error_set_recoverable(err, true);
	return err;
}

static fw_error *make_owlclaw(void)
{
	fw_error *err = fw_raise_governance_rate_limited();

	fw_error_add_string(err, "client", plain.client.p);
	fw_error_add_i64(err, "limit", plain.limit);
	fw_error_set_retry_after(err, plain.delay);
	fw_error_set_incident_id(err, plain.incident.p);
	return err;
}

static fw_error *make_canonical(void)
{
	const fw_scope scope = {
		.tool = plain.canonical_tool.p,
		.operation = plain.canonical_operation.p,
		.session_id = plain.session_id.p,
		.client = plain.client_id.p,
		.trace_id = plain.trace_id.p,
	};
	fw_error *err = fw_raise_search_timeout(plain.query.p);

	err = fw_error_wrap(err, FW_HERE, "%s", plain.could_not.p);
	fw_error_set_hint(err, plain.hint.p);
	fw_error_set_delivery(err, FW_SENT);
	fw_error_set_retry_after(err, plain.delay);
	fw_error_fill_scope(err, &scope);
	fw_error_set_incident_id(err, plain.incident.p);
	fw_error_set_time(err, INT64_C(1768836730123));
	return err;
}

static fw_error *(*const make[FW_CONTRACT_COUNT])(void) = {
	[FW_CANONICAL] = make_canonical,   [FW_KAIZA] = make_kaiza,
	[FW_CONTEXT_V0] = make_context_v0, [FW_CODEINTEL] = make_codeintel,
	[FW_TOOLERROR] = make_toolerror,   [FW_OWLCLAW] = make_owlclaw,
	[FW_OWLCLAW_API] = make_owlclaw,
};

/* ---- the floor of writing --------------------------------------------- */

#define PUT(literal)                                      \
	do {                                              \
		memcpy(at, literal, sizeof(literal) - 1); \
		at += sizeof(literal) - 1;                \
	} while (0)

static inline char *put(char *at, struct text text)
{
	memcpy(at, text.p, text.n);
	return at + text.n;
}

static char *put_escaped_byte(char *at, unsigned char byte)
{
	static const char hex[] = "0123456789abcdef";

	*at++ = '\\';
	switch (byte) {
	case '"':
	case '\\': *at++ = (char)byte; break;
	case '\n': *at++ = 'n'; break;
	case '\t': *at++ = 't'; break;
	case '\r': *at++ = 'r'; break;
	case '\b': *at++ = 'b'; break;
	case '\f': *at++ = 'f'; break;
	default:
		memcpy(at, "u00", 3);
		at[3] = hex[byte >> 4];
		at[4] = hex[byte & 15];
		at += 5;
	}
	return at;
}

/* Quoted. Copies sixteen bytes, then looks whether one of them must be escaped. */
static char *quote(char *at, struct text text)
{
	const char *from = text.p, *end = text.p + text.n;

	*at++ = '"';
#ifdef __SSE2__
	while (end - from >= 16) {
		__m128i chunk = _mm_loadu_si128((const __m128i *)(const void *)from);
		__m128i bad = _mm_cmpeq_epi8(_mm_min_epu8(chunk, _mm_set1_epi8(0x1f)), chunk);
		unsigned mask;

		bad = _mm_or_si128(bad, _mm_cmpeq_epi8(chunk, _mm_set1_epi8('"')));
		bad = _mm_or_si128(bad, _mm_cmpeq_epi8(chunk, _mm_set1_epi8('\\')));
		mask = (unsigned)_mm_movemask_epi8(bad);
		_mm_storeu_si128((__m128i *)(void *)at, chunk);
		if (mask) {
			int run = __builtin_ctz(mask);

			at = put_escaped_byte(at + run, (unsigned char)from[run]);
			from += run + 1;
		} else {
			at += 16;
			from += 16;
		}
	}
#endif
	for (; from < end; from++) {
		unsigned char byte = (unsigned char)*from;

		if (byte < 0x20 || byte == '"' || byte == '\\')
			at = put_escaped_byte(at, byte);
		else
			*at++ = (char)byte;
	}
	*at++ = '"';
	return at;
}

static inline char *put_number(char *at, int64_t value)
{
	char digits[20];
	size_t n = sizeof(digits);
	uint64_t left = (uint64_t)value;

	do {
		digits[--n] = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	memcpy(at, digits + n, sizeof(digits) - n);
	return at + sizeof(digits) - n;
}

static struct text message_kaiza, message_canonical;

static struct text text_of(const char *string)
{
	return (struct text){ string, strlen(string) };
}

static inline char *put_bool(char *at, bool value)
{
	if (value)
		PUT("true");
	else
		PUT("false");
	return at;
}

static inline char *quote_or_null(char *at, struct text text)
{
	if (text.p)
		return quote(at, text);
	PUT("null");
	return at;
}

static char *floor_kaiza(char *at)
{
	PUT("{\"error_code\":\"");
	at = put(at, plain.kaiza_code);
	PUT("\",\"human_message\":");
	at = quote(at, message_kaiza);
	PUT(",\"role\":");
	at = quote_or_null(at, plain.role);
	PUT(",\"session_id\":");
	at = quote_or_null(at, plain.session_id);
	PUT(",\"workspace_root\":");
	at = quote_or_null(at, plain.workspace_root);
	PUT(",\"tool_name\":");
	at = quote(at, plain.tool);
	PUT(",\"invariant_id\":");
	at = quote_or_null(at, plain.invariant_id);
	PUT(",\"phase_id\":");
	at = quote_or_null(at, plain.phase_id);
	PUT(",\"plan_hash\":");
	at = quote_or_null(at, plain.plan_hash);
	PUT(",\"cause\":{\"message\":");
	at = quote_or_null(at, plain.cause_message);
	PUT(",\"code\":");
	at = quote_or_null(at, plain.cause_code);
	PUT(",\"name\":");
	at = quote_or_null(at, plain.cause_name);
	PUT("},\"timestamp\":");
	at = quote(at, plain.timestamp);
	PUT("}");
	return at;
}

static char *floor_context_v0(char *at)
{
	PUT("{\"error\":{\"code\":\"");
	at = put(at, plain.context_code);
	PUT("\",\"message\":");
	at = quote(at, plain.missing);
	PUT("}}\n");
	return at;
}

static char *floor_codeintel(char *at)
{
	PUT("{");
	at = put(at, plain.codeintel_empty);
	PUT(",\"error\":");
	at = quote(at, plain.wrapped);
	PUT(",\"problem\":{\"type\":\"https://kgfoundry.dev/problems/");
	at = put(at, plain.codeintel_code);
	PUT("\",\"title\":");
	at = quote(at, plain.title_invalid);
	PUT(",\"status\":");
	at = put_number(at, plain.status_invalid);
	PUT(",\"detail\":");
	at = quote(at, plain.wrapped);
	PUT(",\"instance\":\"urn:codeintel:");
	at = put(at, plain.operation);
	PUT("\",\"code\":\"");
	at = put(at, plain.codeintel_code);
	PUT("\",\"extensions\":{\"path\":");
	at = quote(at, plain.path);
	PUT(",\"start_line\":");
	at = put_number(at, plain.start_line);
	PUT(",\"end_line\":");
	at = put_number(at, plain.end_line);
	PUT("}}}");
	return at;
}

static char *floor_toolerror(char *at)
{
	PUT("{\"type\":\"");
	at = put(at, plain.type);
	PUT("\",\"message\":");
	at = quote(at, plain.conflict);
	PUT(",\"recoverable\":");
	at = put_bool(at, plain.recoverable);
	PUT(",\"data\":{\"conflicts\":");
	at = put(at, plain.conflicts);
	PUT("}}");
	return at;
}

static char *floor_owlclaw_shared(char *at)
{
	PUT(",\"category\":\"");
	at = put(at, plain.category);
	PUT("\",\"retryable\":");
	at = put_bool(at, plain.retryable);
	PUT(",\"incident_id\":");
	at = quote(at, plain.incident);
	PUT(",\"details\":{\"client\":");
	at = quote(at, plain.client);
	PUT(",\"limit\":");
	at = put_number(at, plain.limit);
	PUT("},\"retry_after\":");
	return put_number(at, (int64_t)plain.delay);
}

static char *floor_owlclaw(char *at)
{
	PUT("{\"error\":{\"code\":\"");
	at = put(at, plain.owlclaw_code);
	PUT("\",\"message\":");
	at = quote(at, plain.limited);
	at = floor_owlclaw_shared(at);
	PUT("}}");
	return at;
}

static char *floor_owlclaw_api(char *at)
{
	PUT("{\"type\":\"https://owlclaw.dev/problems/");
	at = put(at, plain.owlclaw_slug);
	PUT("\",\"title\":");
	at = quote(at, plain.title_limited);
	PUT(",\"status\":");
	at = put_number(at, plain.status_limited);
	PUT(",\"detail\":");
	at = quote(at, plain.limited);
	PUT(",\"instance\":\"urn:owlclaw:incident:");
	at = put(at, plain.incident);
	PUT("\",\"code\":\"");
	at = put(at, plain.owlclaw_code);
	PUT("\"");
	at = floor_owlclaw_shared(at);
	PUT("}");
	return at;
}

static char *floor_canonical(char *at)
{
	PUT("{\"code\":\"");
	at = put(at, plain.canonical_code);
	PUT("\",\"category\":\"");
	at = put(at, plain.canonical_category);
	PUT("\",\"type\":\"");
	at = put(at, plain.canonical_type);
	PUT("\",\"retry\":\"");
	at = put(at, plain.retry);
	PUT("\",\"recoverable\":");
	at = put_bool(at, plain.recoverable);
	PUT(",\"retry_after\":");
	at = put_number(at, (int64_t)plain.delay);
	PUT(",\"status\":");
	at = put_number(at, plain.status_search);
	PUT(",\"severity\":\"");
	at = put(at, plain.severity);
	PUT("\",\"title\":");
	at = quote(at, plain.title_search);
	PUT(",\"message\":");
	at = quote(at, message_canonical);
	PUT(",\"hint\":");
	at = quote(at, plain.hint);
	PUT(",\"context\":{\"query\":");
	at = quote(at, plain.query);
	PUT("},\"cause\":{\"message\":");
	at = quote_or_null(at, plain.timeout);
	PUT(",\"code\":");
	at = quote(at, plain.canonical_code);
	PUT(",\"name\":");
	at = quote(at, plain.cause_name);
	PUT("},\"origin\":\"");
	at = put(at, plain.origin);
	PUT("\",\"delivery\":\"");
	at = put(at, plain.delivery);
	PUT("\",\"tool\":");
	at = quote(at, plain.canonical_tool);
	PUT(",\"operation\":");
	at = quote(at, plain.canonical_operation);
	PUT(",\"session_id\":");
	at = quote(at, plain.session_id);
	PUT(",\"client\":");
	at = quote(at, plain.client_id);
	PUT(",\"trace_id\":");
	at = quote(at, plain.trace_id);
	PUT(",\"incident_id\":");
	at = quote(at, plain.incident);
	PUT(",\"timestamp\":");
	at = quote(at, plain.timestamp);
	PUT("}");
	return at;
}

static char *(*const floors[FW_CONTRACT_COUNT])(char *) = {
	[FW_CANONICAL] = floor_canonical,     [FW_KAIZA] = floor_kaiza,
	[FW_CONTEXT_V0] = floor_context_v0,   [FW_CODEINTEL] = floor_codeintel,
	[FW_TOOLERROR] = floor_toolerror,     [FW_OWLCLAW] = floor_owlclaw,
	[FW_OWLCLAW_API] = floor_owlclaw_api,
};

/* ---- the cases -------------------------------------------------------- */

static fw_error *made[FW_CONTRACT_COUNT];
static char texts[FW_CONTRACT_COUNT][4096];
static size_t lens[FW_CONTRACT_COUNT];
static char buffer[8192];
static char pool_room[1 << 20];

static yyjson_alc parse_alc; /* libc's, or one that counts */

static void stop(const char *why, int contract)
{
	(void)fprintf(stderr, "contracts: %s: %s\n", fw_contract_name((fw_contract)contract),
		      why);
	exit(1);
}

static void run_empty(int contract)
{
	BARRIER(&contract);
}

static void run_encode(int contract)
{
	size_t len = fw_error_encode(made[contract], (fw_contract)contract, NULL, buffer,
				     sizeof(buffer));

	BARRIER(buffer);
	BARRIER(len);
}

static void run_encode_floor(int contract)
{
	char *end = floors[contract](buffer);

	*end = '\0';
	BARRIER(buffer);
}

static void run_to_text(int contract)
{
	char *text;
	size_t len;

	if (fw_error_to_text(made[contract], (fw_contract)contract, NULL, &text, &len))
		stop("no memory", contract);
	BARRIER(text);
	fw_free(text);
}

static void decode(int contract, bool keep_secrets)
{
	const fw_decode_options options = { .struct_size = sizeof(fw_decode_options),
					    .keep_secrets = keep_secrets };
	fw_error *read;

	if (fw_error_decode(texts[contract], lens[contract], (fw_contract)contract, &options,
			    &read))
		stop("not read", contract);
	BARRIER(read);
	fw_error_free(read);
}

static void run_decode(int contract)
{
	decode(contract, false);
}

/* Like with like: a bare parse looks for no secrets either. */
static void run_decode_kept(int contract)
{
	decode(contract, true);
}

/* As yyjson_read() does it: allocator, copy of the text, parse, free. */
static void run_parse(int contract)
{
	yyjson_doc *doc =
		yyjson_read_opts(texts[contract], lens[contract], 0, &parse_alc, NULL);

	if (!doc)
		stop("not parsed", contract);
	BARRIER(doc);
	yyjson_doc_free(doc);
}

static void run_parse_pool(int contract)
{
	yyjson_alc pool;
	yyjson_doc *doc;

	yyjson_alc_pool_init(&pool, pool_room, sizeof(pool_room));
	doc = yyjson_read_opts(texts[contract], lens[contract], 0, &pool, NULL);
	if (!doc)
		stop("not parsed", contract);
	BARRIER(doc);
	yyjson_doc_free(doc);
}

static void run_sniff(int contract)
{
	fw_contract found = fw_sniff(texts[contract], lens[contract]);

	if ((int)found != contract)
		stop("not sniffed", contract);
}

static void run_raise(int contract)
{
	fw_error *err = make[contract]();
	size_t len = fw_error_encode(err, (fw_contract)contract, NULL, buffer, sizeof(buffer));

	BARRIER(buffer);
	BARRIER(len);
	fw_error_free(err);
}

static void run_raise_bare(int contract)
{
	fw_error *err = fw_raise_plan_scope_violation("9f86d081", plain.path.p);
	size_t len = fw_error_encode(err, (fw_contract)contract, NULL, buffer, sizeof(buffer));

	BARRIER(buffer);
	BARRIER(len);
	fw_error_free(err);
}

static void run_raise_free(int contract)
{
	fw_error *err = fw_raise_plan_scope_violation("9f86d081", plain.path.p);

	BARRIER(err);
	BARRIER(&contract);
	fw_error_free(err);
}

static void run_wrap(int contract)
{
	fw_error *err = fw_raise_plan_scope_violation("9f86d081", plain.path.p);

	err = fw_error_wrap(err, FW_HERE, "could not write %s", plain.path.p);
	BARRIER(err);
	BARRIER(&contract);
	fw_error_free(err);
}

struct kind {
	const char *name;
	void (*run)(int contract);
	int only; /* this contract alone; -1: each */
};

static const struct kind kinds[] = {
	{ "empty", run_empty, FW_KAIZA },
	{ "encode", run_encode, -1 },
	{ "encode-floor", run_encode_floor, -1 },
	{ "to-text", run_to_text, -1 },
	{ "decode", run_decode, -1 },
	{ "decode-kept", run_decode_kept, -1 },
	{ "parse", run_parse, -1 },
	{ "parse-pool", run_parse_pool, -1 },
	{ "sniff", run_sniff, -1 },
	{ "raise-encode-free", run_raise, -1 },
	{ "bare-raise-encode-free", run_raise_bare, FW_KAIZA },
	{ "raise-free", run_raise_free, FW_KAIZA },
	{ "raise-wrap-free", run_wrap, FW_KAIZA },
};

enum { KINDS = sizeof(kinds) / sizeof(*kinds), CASES = KINDS * FW_CONTRACT_COUNT };

struct bench_case {
	const struct kind *kind;
	int contract;
	unsigned long runs; /* in a round */
	double ns[ROUNDS];
	size_t allocations, bytes;
};

static struct bench_case cases[CASES];
static size_t case_count;

/* ---- counting --------------------------------------------------------- */

static size_t allocations, allocated;

static void *count_allocate(void *ctx, size_t size)
{
	(void)ctx;
	allocations++;
	allocated += size;
	return malloc(size);
}

static void *count_reallocate(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	allocations++;
	allocated += size;
	return realloc(ptr, size);
}

static void *count_yyjson_reallocate(void *ctx, void *ptr, size_t old, size_t size)
{
	(void)old;
	return count_reallocate(ctx, ptr, size);
}

static void count_release(void *ctx, void *ptr)
{
	(void)ctx;
	free(ptr);
}

static void *libc_allocate(void *ctx, size_t size)
{
	(void)ctx;
	return malloc(size);
}

static void *libc_reallocate(void *ctx, void *ptr, size_t old, size_t size)
{
	(void)ctx;
	(void)old;
	return realloc(ptr, size);
}

static const yyjson_alc libc_alc = { libc_allocate, libc_reallocate, count_release, NULL };

/* Both allocators end in malloc and free, so changing over with blocks live is
 * harmless here. */
static void count_all(void)
{
	const fw_allocator counting = { count_allocate, count_reallocate, count_release, NULL };
	const yyjson_alc counting_alc = { count_allocate, count_yyjson_reallocate,
					  count_release, NULL };

	fw_allocator_set(&counting);
	parse_alc = counting_alc;
	for (size_t i = 0; i < case_count; i++) {
		cases[i].kind->run(cases[i].contract);
		allocations = allocated = 0;
		cases[i].kind->run(cases[i].contract);
		cases[i].allocations = allocations;
		cases[i].bytes = allocated;
	}
	fw_allocator_set(NULL);
	parse_alc = libc_alc;
}

/* ---- timing ----------------------------------------------------------- */

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_case(const struct bench_case *c)
{
	double start = now_ns();

	for (unsigned long i = 0; i < c->runs; i++)
		c->kind->run(c->contract);
	return (now_ns() - start) / (double)c->runs;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void pin(void)
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		return;
	/* the last allowed: the first is where interrupts tend to go */
	for (size_t cpu = CPU_SETSIZE; cpu > 0; cpu--)
		if (CPU_ISSET(cpu - 1, &all)) {
			CPU_SET(cpu - 1, &one);
			(void)sched_setaffinity(0, sizeof(one), &one);
			return;
		}
}

static void time_all(void)
{
	pin();
	for (size_t i = 0; i < case_count; i++) {
		double ns;

		for (cases[i].runs = 16;; cases[i].runs *= 2) {
			ns = time_case(&cases[i]);
			if (ns * (double)cases[i].runs > slice_seconds * 1e9)
				break;
		}
	}
	for (size_t round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < case_count; i++)
			cases[i].ns[round] = time_case(&cases[i]);
	for (size_t i = 0; i < case_count; i++)
		qsort(cases[i].ns, ROUNDS, sizeof(cases[i].ns[0]), by_value);
}

/* Between the marks stand CALLGRIND_RUNS runs; bench/run reads the dumps. */
static int callgrind_all(void)
{
#ifdef CALLGRIND_ZERO_STATS
	for (size_t i = 0; i < case_count; i++) {
		char name[128];

		(void)snprintf(name, sizeof(name), "case %s/%s", cases[i].kind->name,
			       fw_contract_name((fw_contract)cases[i].contract));
		cases[i].kind->run(cases[i].contract);
		CALLGRIND_ZERO_STATS;
		for (int run = 0; run < CALLGRIND_RUNS; run++)
			cases[i].kind->run(cases[i].contract);
		CALLGRIND_DUMP_STATS_AT(name);
	}
	return 0;
#else
	(void)fprintf(stderr, "contracts: built without valgrind/callgrind.h\n");
	return 1;
#endif
}

/* ---- putting it together ---------------------------------------------- */

static void prepare(void)
{
	parse_alc = libc_alc;
	for (int c = 0; c < FW_CONTRACT_COUNT; c++) {
		char *end;

		made[c] = make[c]();
		/* what the wraps made of the messages */
		if (c == FW_KAIZA)
			message_kaiza = text_of(fw_error_message(made[c]));
		else if (c == FW_CANONICAL)
			message_canonical = text_of(fw_error_message(made[c]));
		lens[c] = fw_error_encode(made[c], (fw_contract)c, NULL, texts[c],
					  sizeof(texts[c]));
		end = floors[c](buffer);
		*end = '\0';
		if ((size_t)(end - buffer) != lens[c] || strcmp(buffer, texts[c]) != 0) {
			(void)fprintf(stderr, "library %s\nfloor   %s\n", texts[c], buffer);
			stop("the floor writes something else", c);
		}
	}
	for (int c = 0; c < FW_CONTRACT_COUNT; c++)
		for (size_t k = 0; k < KINDS; k++)
			if (kinds[k].only < 0 || kinds[k].only == c) {
				cases[case_count].kind = &kinds[k];
				cases[case_count++].contract = c;
			}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	prepare();
	if (strcmp(mode, "--envelopes") == 0) {
		for (int c = 0; c < FW_CONTRACT_COUNT; c++)
			printf("%s\t%.*s\n", fw_contract_name((fw_contract)c),
			       (int)strcspn(texts[c], "\n"), texts[c]);
	} else if (strcmp(mode, "--callgrind") == 0) {
		if (callgrind_all())
			return 1;
	} else {
		count_all();
		time_all();
		for (int c = 0; c < FW_CONTRACT_COUNT; c++)
			printf("bytes %s %zu\n", fw_contract_name((fw_contract)c), lens[c]);
		for (size_t i = 0; i < case_count; i++)
			printf("case %s/%s %.1f %zu %zu\n", cases[i].kind->name,
			       fw_contract_name((fw_contract)cases[i].contract),
			       cases[i].ns[ROUNDS / 2], cases[i].allocations, cases[i].bytes);
	}
	for (int c = 0; c < FW_CONTRACT_COUNT; c++)
		fw_error_free(made[c]);
	return 0;
}
