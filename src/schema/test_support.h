/*
 * test_support.h - shared by the two unit tests of the schema validator.
 */
#ifndef FW_SCHEMA_TEST_SUPPORT_H
#define FW_SCHEMA_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/schema.h"

static inline fw_schema *compile_with(const char *json, const fw_schema_options *opts)
{
	fw_schema_problem problem = { .reason = "" };
	fw_schema *s = fw_schema_compile(json, strlen(json), opts, &problem);

	if (!s)
		print_message("%s at \"%s\" (%s)\n", problem.reason, problem.pointer,
			      problem.detail);
	assert_non_null(s);
	return s;
}

static inline const char *problem_of(const char *json, const fw_schema_options *opts,
				     fw_schema_problem *ret)
{
	fw_schema_problem own = { 0 };
	fw_schema_problem *p = ret ? ret : &own;
	fw_schema *s;

	memset(p, 0x55, sizeof *p); /* to detect members that are not written */
	s = fw_schema_compile(json, strlen(json), opts, p);
	fw_schema_free(s);
	assert_null(s);
	assert_true(strlen(p->pointer) < sizeof p->pointer);
	assert_true(strlen(p->detail) < sizeof p->detail);
	return p->reason;
}

static inline bool check_flags(const fw_schema *s, const char *json, yyjson_read_flag flags,
			       const fw_schema_run *run)
{
	yyjson_doc *doc = yyjson_read(json, strlen(json), flags);
	bool ok;

	assert_non_null(doc);
	ok = fw_schema_check(s, yyjson_doc_get_root(doc), run);
	yyjson_doc_free(doc);
	return ok;
}

static inline bool check(const fw_schema *s, const char *json)
{
	return check_flags(s, json, YYJSON_READ_BIGNUM_AS_RAW, NULL);
}

/* Checks one instance in every way that numbers can be read. */
static inline bool valid(const char *schema, const char *json)
{
	static const yyjson_read_flag modes[] = { YYJSON_READ_NUMBER_AS_RAW,
						  YYJSON_READ_BIGNUM_AS_RAW,
						  YYJSON_READ_NOFLAG };
	fw_schema *s = compile_with(schema, NULL);
	bool first = check_flags(s, json, modes[0], NULL);

	for (size_t i = 1; i < 3; i++) {
		yyjson_doc *doc = yyjson_read(json, strlen(json), modes[i]);

		/* Without raw numbers 1e400 is an error and long numbers lose
		 * digits. */
		if (doc && (i < 2 || strlen(json) < 18))
			assert_int_equal(fw_schema_check(s, yyjson_doc_get_root(doc), NULL),
					 first);
		yyjson_doc_free(doc);
	}
	fw_schema_free(s);
	return first;
}

struct heard {
	char text[4096];
	unsigned n, stop_at;
};

static inline bool hear(void *ctx, const struct fw_violation *v)
{
	struct heard *h = ctx;
	size_t n = strlen(h->text);

	snprintf(h->text + n, sizeof h->text - n, "%s|%s|%s|%s|%s\n", v->instance_pointer,
		 v->schema_pointer, v->keyword, v->expected, v->found);
	return ++h->n != h->stop_at;
}

/* All violations, one line each. */
static inline const char *violations(const char *schema, const char *json)
{
	static struct heard h;
	fw_schema_run run = { .on_violation = hear, .ctx = &h };
	fw_schema *s = compile_with(schema, NULL);
	bool quiet = check(s, json);

	memset(&h, 0, sizeof h);
	assert_int_equal(check_flags(s, json, 0, &run), quiet);
	assert_int_equal(h.n == 0, quiet);
	fw_schema_free(s);
	return h.text;
}

/* An allocator that can fail, and counts live blocks. */
struct fault {
	size_t calls, fail_at, live;
	bool forever;
};

static inline bool fails(struct fault *f)
{
	size_t call = f->calls++;

	return f->fail_at && (call + 1 == f->fail_at || (f->forever && call + 1 > f->fail_at));
}

static inline void *fault_malloc(void *ctx, size_t n)
{
	struct fault *f = ctx;
	void *p = fails(f) ? NULL : malloc(n);

	f->live += p != NULL;
	return p;
}

static inline void *fault_realloc(void *ctx, void *p, size_t old, size_t n)
{
	(void)old;
	return fails(ctx) ? NULL : realloc(p, n);
}

static inline void fault_free(void *ctx, void *p)
{
	struct fault *f = ctx;

	f->live -= p != NULL;
	free(p);
}

#define FAULT_ALC(f)                                         \
	{                                                    \
		fault_malloc, fault_realloc, fault_free, (f) \
	}

static inline char *repeat(const char *head, const char *unit, size_t n, const char *middle,
			   const char *close, const char *tail)
{
	size_t lu = strlen(unit), lc = strlen(close), at = strlen(head);
	char *s = malloc(at + n * (lu + lc) + strlen(middle) + strlen(tail) + 1);

	assert_non_null(s);
	memcpy(s, head, at + 1);
	for (size_t i = 0; i < n; i++, at += lu)
		memcpy(s + at, unit, lu);
	memcpy(s + at, middle, strlen(middle));
	at += strlen(middle);
	for (size_t i = 0; i < n; i++, at += lc)
		memcpy(s + at, close, lc);
	memcpy(s + at, tail, strlen(tail) + 1);
	return s;
}

#endif
