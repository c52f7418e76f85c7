/*
 * contracts_floor.h - the floor of writing for bench/contracts.c: each envelope by hand, with
 * nothing but copies and an escape scan. A header, so that all is one translation unit.
 */
#ifndef FW_BENCH_CONTRACTS_FLOOR_H
#define FW_BENCH_CONTRACTS_FLOOR_H

#include "contracts_errors.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

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

/* Writes a quoted string. Copies sixteen bytes, then checks if one of them must be escaped. */
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

#endif
