/*
 * run.h - one check of an instance against a schema (check.c, apply.c): its state,
 * its limits and its working memory.
 */
#ifndef FW_SCHEMA_RUN_H
#define FW_SCHEMA_RUN_H

#include "schema/program.h"

/* Path from the root of the instance, innermost first; lives on the C stack. */
struct fw_schema__frame {
	const struct fw_schema__frame *up;
	yyjson_val *key; /* NULL: an array item */
	size_t index;
};

/* Resources entered, innermost first: the dynamic scope of $dynamicRef. */
struct fw_schema__scope {
	const struct fw_schema__scope *up;
	uint32_t resource;
};

/* Which properties or items of the current instance were evaluated. */
struct fw_schema__seen {
	uint64_t *bits;
	size_t n_words;
};

struct fw_schema__spill {
	struct fw_schema__spill *next;
};

struct fw_schema__mark {
	size_t used;
	struct fw_schema__spill *spill;
};

struct fw_schema__run {
	const fw_schema *s;
	fw_schema_on_violation *on_violation;
	void *ctx;
	uint32_t violations, max_violations;
	uint32_t depth, max_depth;
	uint64_t steps_left;
	uint32_t quiet; /* > 0 inside a branch that may fail: no reports */
	bool stop;      /* end the check: the instance is refused */
	bool hide_values;
	char *scratch;
	size_t scratch_len, scratch_used;
	struct fw_schema__spill *spill;
	pcre2_match_data *match;
	char text_instance[512], text_schema[512];
	char text_expected[192], text_found[112];
	char text_nearest[72]; /* "": none */
};

/* Arguments of eval, in one struct because every handler passes them on. */
struct fw_schema__at {
	yyjson_val *v;
	const struct fw_schema__frame *frame;
	const struct fw_schema__scope *scope;
	struct fw_schema__seen *seen; /* NULL: not needed */
};

bool fw_schema__eval(struct fw_schema__run *r, uint32_t node, const struct fw_schema__at *at);
bool fw_schema__apply(struct fw_schema__run *r, uint32_t node, const struct fw_schema__op *op,
		      const struct fw_schema__at *at);
bool fw_schema__apply_object(struct fw_schema__run *r, uint32_t node,
			     const struct fw_schema__op *op, const struct fw_schema__at *at);
bool fw_schema__apply_array(struct fw_schema__run *r, uint32_t node,
			    const struct fw_schema__op *op, const struct fw_schema__at *at);
bool fw_schema__apply_unevaluated(struct fw_schema__run *r, const struct fw_schema__op *op,
				  const struct fw_schema__at *at);

/** Does the check go on after a violation, to collect more? */
static inline bool fw_schema__collects(const struct fw_schema__run *r)
{
	return r->on_violation && r->quiet == 0 && !r->stop;
}

static inline void fw_schema__see(struct fw_schema__seen *seen, size_t i)
{
	if (seen)
		seen->bits[i / 64] |= (uint64_t)1 << (i % 64);
}

/** Use `n` units of work; false, after a "limit" report, if fewer are left. */
bool fw_schema__spend(struct fw_schema__run *r, uint64_t n, const struct fw_schema__at *at);

/** Zeroed memory, valid until fw_schema__release(); NULL after a "limit" report. */
void *fw_schema__scratch(struct fw_schema__run *r, size_t size, const struct fw_schema__at *at);
static inline struct fw_schema__mark fw_schema__mark(const struct fw_schema__run *r)
{
	return (struct fw_schema__mark){ r->scratch_used, r->spill };
}
void fw_schema__release(struct fw_schema__run *r, struct fw_schema__mark m);

#endif
