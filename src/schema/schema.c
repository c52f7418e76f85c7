/*
 * schema.c - creating and freeing a compiled schema.
 *
 * All memory comes from the allocator in the options, so that a test can make each
 * request fail in turn. What is needed only during compilation (the map from values
 * to nodes, the lists of names and references) belongs to the compiler and is freed
 * at its end; the rest belongs to the schema.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "schema/compiler.h"
#include "schema/schema.h"

static void *libc_malloc(void *ctx, size_t n)
{
	(void)ctx;
	return malloc(n);
}

static void *libc_realloc(void *ctx, void *p, size_t old, size_t n)
{
	(void)ctx;
	(void)old;
	return realloc(p, n);
}

static void libc_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

bool fw_schema__grow(struct fw_schema__compiler *c, void *vec, size_t elem, uint32_t more)
{
	FW_SCHEMA__VEC(char) v;
	uint32_t cap;
	void *at;

	/* Every vector has this layout; only the type of the pointer differs. */
	memcpy(&v, vec, sizeof v);
	if (more <= v.cap - v.n)
		return true;
	if (more > UINT32_MAX / 4 || v.n > UINT32_MAX / 4)
		return fw_schema__fail(c, "schema is too large", FW_SCHEMA__NONE, KW_NONE, NULL,
				       0);
	cap = v.cap ? v.cap * 2 : 8;
	if (cap < v.n + more)
		cap = v.n + more;
	at = v.at ? c->s->alc.realloc(c->s->alc.ctx, v.at, v.cap * elem, cap * elem)
		  : c->s->alc.malloc(c->s->alc.ctx, cap * elem);
	if (!at)
		return fw_schema__fail(c, "out of memory", FW_SCHEMA__NONE, KW_NONE, NULL, 0);
	v.at = at;
	v.cap = cap;
	memcpy(vec, &v, sizeof v);
	return true;
}

char *fw_schema__keep(struct fw_schema__compiler *c, const char *text, size_t len)
{
	struct fw_schema__chunk *chunk = c->s->chunks;
	char *copy;

	if (!chunk || chunk->cap - chunk->used <= len) {
		size_t cap = len + 1 > 2000 ? len + 1 : 2000;

		chunk = c->s->alc.malloc(c->s->alc.ctx, sizeof *chunk + cap);
		if (!chunk) {
			fw_schema__fail(c, "out of memory", FW_SCHEMA__NONE, KW_NONE, NULL, 0);
			return NULL;
		}
		chunk->next = c->s->chunks;
		chunk->used = 0;
		chunk->cap = cap;
		c->s->chunks = chunk;
	}
	copy = (char *)(chunk + 1) + chunk->used;
	memcpy(copy, text, len);
	copy[len] = '\0';
	chunk->used += len + 1;
	return copy;
}

static uint64_t fresh_seed(void)
{
	uint64_t seed;

	/* The seed prevents prepared hash collisions; any value is correct. */
	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
		seed = (uint64_t)clock() ^ (uint64_t)(uintptr_t)&seed;
	return seed | 1;
}

static void options_fill(fw_schema_options *o)
{
	if (!o->max_depth)
		o->max_depth = FW_SCHEMA_DEPTH_MAX;
	if (o->max_depth > FW_SCHEMA_DEPTH_CEILING)
		o->max_depth = FW_SCHEMA_DEPTH_CEILING;
	if (!o->max_nodes)
		o->max_nodes = FW_SCHEMA_NODES_MAX;
	if (!o->max_bytes)
		o->max_bytes = FW_SCHEMA_BYTES_MAX;
	if (!o->match_limit)
		o->match_limit = FW_SCHEMA_MATCH_MAX;
	if (!o->base_uri)
		o->base_uri = "";
}

fw_schema *fw_schema_compile(const char *json, size_t len, const fw_schema_options *opts,
			     fw_schema_problem *ret_problem)
{
	static const yyjson_alc libc = { libc_malloc, libc_realloc, libc_free, NULL };
	fw_schema_problem problem;
	struct fw_schema__compiler c = { .problem = &problem };
	fw_schema *s;

	if (opts)
		c.opts = *opts;
	options_fill(&c.opts);
	s = (c.opts.alc ? c.opts.alc : &libc)
		    ->malloc(c.opts.alc ? c.opts.alc->ctx : NULL, sizeof *s);
	if (!s) {
		if (ret_problem)
			*ret_problem = (fw_schema_problem){ .reason = "out of memory" };
		return NULL;
	}
	memset(s, 0, sizeof *s);
	s->alc = c.opts.alc ? *c.opts.alc : libc;
	s->seed = fresh_seed();
	c.s = s;
	/* The checker adds offsets to these pointers, so none may be NULL. */
	(void)(fw_schema__grow(&c, &s->words, sizeof *s->words.at, 16) &&
	       fw_schema__grow(&c, &s->props, sizeof *s->props.at, 8) &&
	       fw_schema__grow(&c, &s->ops, sizeof *s->ops.at, 16) &&
	       fw_schema__grow(&c, &s->vals, sizeof *s->vals.at, 4) &&
	       fw_schema__grow(&c, &s->hashes, sizeof *s->hashes.at, 4) &&
	       fw_schema__grow(&c, &s->dynamics, sizeof *s->dynamics.at, 1));
	if (!c.failed)
		s->root = fw_schema__load(&c, json, len, c.opts.base_uri);
	if (!c.failed)
		fw_schema__link(&c);
	if (c.anchors.at)
		s->alc.free(s->alc.ctx, c.anchors.at);
	if (c.uris.at)
		s->alc.free(s->alc.ctx, c.uris.at);
	if (c.pending.at)
		s->alc.free(s->alc.ctx, c.pending.at);
	if (c.map)
		s->alc.free(s->alc.ctx, c.map);
	if (!c.failed)
		return s;
	if (ret_problem)
		*ret_problem = problem;
	fw_schema_free(s);
	return NULL;
}

fw_schema *fw_schema_compile_val(yyjson_val *val, const fw_schema_options *opts,
				 fw_schema_problem *ret_problem)
{
	const yyjson_alc *alc = opts ? opts->alc : NULL;
	yyjson_write_err err;
	fw_schema *s;
	size_t len;
	char *text;

	text = yyjson_val_write_opts(val, 0, alc, &len, &err);
	if (!text) {
		if (ret_problem)
			*ret_problem = (fw_schema_problem){
				.reason = err.code == YYJSON_WRITE_ERROR_MEMORY_ALLOCATION
						  ? "out of memory"
						  : "text is not JSON"
			};
		return NULL;
	}
	s = fw_schema_compile(text, len, opts, ret_problem);
	if (alc)
		alc->free(alc->ctx, text);
	else
		free(text);
	return s;
}

void fw_schema_free(fw_schema *s)
{
	yyjson_alc alc;
	uint32_t i;

	if (!s)
		return;
	alc = s->alc;
	for (i = 0; i < s->regexes.n; i++)
		pcre2_code_free(s->regexes.at[i]);
	pcre2_match_context_free(s->pcre_match);
	pcre2_compile_context_free(s->pcre_compile);
	pcre2_general_context_free(s->pcre_general);
	for (i = 0; i < s->docs.n; i++)
		yyjson_doc_free(s->docs.at[i]);
	while (s->chunks) {
		struct fw_schema__chunk *next = s->chunks->next;

		alc.free(alc.ctx, s->chunks);
		s->chunks = next;
	}
	{
		void *const all[] = { s->docs.at,   s->nodes.at,     s->ops.at,
				      s->words.at,  s->vals.at,      s->nums.at,
				      s->props.at,  s->objects.at,   s->enums.at,
				      s->hashes.at, s->resources.at, s->dynamics.at,
				      s->regexes.at };

		for (i = 0; i < sizeof all / sizeof *all; i++)
			if (all[i])
				alc.free(alc.ctx, all[i]);
	}
	alc.free(alc.ctx, s);
}
