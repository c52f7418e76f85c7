/*
 * regex.c - compiles and matches regular expressions with PCRE2, after ecma.c has
 * translated them.
 *
 * Matching uses the JIT with 32 KiB of machine stack and a match limit. If that stack
 * is too small, the interpreter tries again with the same match limit and a heap
 * limit. Reaching a limit ends the check; it is not treated as "no match".
 */
#include <string.h>

#include "schema/regex.h"
#include "schema/report.h"

#define HEAP_LIMIT_KIB 16384
#define PATTERN_MAX 16384       /* bytes of source */
#define COMPILED_MAX (2u << 20) /* bytes of all compiled patterns of a schema */

static void *hook_malloc(PCRE2_SIZE size, void *ctx)
{
	const yyjson_alc *alc = ctx;

	return alc->malloc(alc->ctx, size);
}

static void hook_free(void *p, void *ctx)
{
	const yyjson_alc *alc = ctx;

	if (p)
		alc->free(alc->ctx, p);
}

/* NULL if it is invalid, or if out of memory; then *ret_no_memory is set. */
static pcre2_code *compile(const fw_schema *s, const char *text, size_t len,
			   bool *ret_no_memory)
{
	pcre2_code *code = NULL;
	char *pattern;
	size_t n;
	PCRE2_SIZE where;
	int error = 0;

	*ret_no_memory = false;
	if (len > PATTERN_MAX || !fw_schema__ecma(text, len, NULL, &n))
		return NULL;
	pattern = s->alc.malloc(s->alc.ctx, n + 1);
	if (!pattern) {
		*ret_no_memory = true;
		return NULL;
	}
	fw_schema__ecma(text, len, pattern, &n);
	code = pcre2_compile((PCRE2_SPTR)pattern, n,
			     PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS |
				     PCRE2_NEVER_BACKSLASH_C | PCRE2_MATCH_UNSET_BACKREF,
			     &error, &where, s->pcre_compile);
	s->alc.free(s->alc.ctx, pattern);
	if (!code)
		*ret_no_memory = error == PCRE2_ERROR_HEAP_FAILED;
	return code;
}

bool fw_schema__regex_init(struct fw_schema__compiler *c)
{
	fw_schema *s = c->s;

	if (s->pcre_match)
		return true;
	/* The allocation functions point into the schema, which does not move. */
	if (!s->pcre_general)
		s->pcre_general = pcre2_general_context_create(hook_malloc, hook_free, &s->alc);
	if (s->pcre_general && !s->pcre_compile)
		s->pcre_compile = pcre2_compile_context_create(s->pcre_general);
	if (s->pcre_compile)
		s->pcre_match = pcre2_match_context_create(s->pcre_general);
	if (!s->pcre_match)
		return fw_schema__fail(c, "out of memory", FW_SCHEMA__NONE, KW_NONE, NULL, 0);
	pcre2_set_match_limit(s->pcre_match, c->opts.match_limit);
	pcre2_set_heap_limit(s->pcre_match, HEAP_LIMIT_KIB);
	pcre2_set_parens_nest_limit(s->pcre_compile, 100);
	return true;
}

uint32_t fw_schema__regex_add(struct fw_schema__compiler *c, const char *text, size_t len,
			      uint32_t node, unsigned kw)
{
	fw_schema *s = c->s;
	pcre2_code *code;
	size_t size = 0;
	bool no_memory;

	if (!fw_schema__regex_init(c) ||
	    !fw_schema__grow(c, &s->regexes, sizeof *s->regexes.at, 1))
		return FW_SCHEMA__NONE;
	code = compile(s, text, len, &no_memory);
	if (!code) {
		fw_schema__fail(c,
				no_memory ? "out of memory" : "regular expression is not valid",
				node, kw, text, len);
		return FW_SCHEMA__NONE;
	}
	(void)pcre2_pattern_info(code, PCRE2_INFO_SIZE, &size);
	c->regex_bytes += size;
	if (c->regex_bytes > COMPILED_MAX) {
		pcre2_code_free(code);
		fw_schema__fail(c, "regular expressions are too large", node, kw, text, len);
		return FW_SCHEMA__NONE;
	}
	/* Without JIT (not supported here, or out of memory) matching is only
	 * slower. */
	(void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
	s->regexes.at[s->regexes.n] = code;
	return s->regexes.n++;
}

int fw_schema__regex_valid(const fw_schema *s, const char *text, size_t len)
{
	bool no_memory;
	pcre2_code *code = compile(s, text, len, &no_memory);

	pcre2_code_free(code);
	return code ? 1 : no_memory ? -1 : 0;
}

int fw_schema__regex_match(struct fw_schema__run *r, uint32_t regex, const char *text,
			   size_t len, const struct fw_schema__at *at)
{
	const fw_schema *s = r->s;
	pcre2_code *code = s->regexes.at[regex];
	int rc;

	if (!fw_schema__spend(r, 2 + len / 16, at))
		return -1;
	rc = pcre2_match(code, (PCRE2_SPTR)text, len, 0, 0, r->match, s->pcre_match);
	if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
		rc = pcre2_match(code, (PCRE2_SPTR)text, len, 0, PCRE2_NO_JIT, r->match,
				 s->pcre_match);
	if (rc >= 0)
		return 1;
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	/* Text that is not UTF-8 does not match; every other error is a limit. */
	if (rc <= PCRE2_ERROR_UTF8_ERR1 && rc >= PCRE2_ERROR_UTF8_ERR21)
		return 0;
	fw_schema__refuse_limit(r, "work of a regular expression", at);
	return -1;
}
