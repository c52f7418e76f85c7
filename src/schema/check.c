/*
 * check.c - runs the ops of a node on an instance.
 *
 * eval() is the only recursive function; apply.c calls it for subschemas. For each
 * node it tests the type mask and then runs the ops for that type of instance. It
 * recurses on the C stack, up to a limit.
 *
 * A run has two modes. If there is a callback and the node is not inside a branch
 * that may fail, it continues after a violation to collect more; otherwise it returns
 * at the first one. Reaching a limit sets `stop`, which every caller passes on as a
 * refusal; otherwise `not` would turn a limit into an accept.
 */
#include <string.h>

#include "schema/format.h"
#include "schema/regex.h"
#include "schema/report.h"
#include "schema/value.h"

#define LOCAL_SCRATCH 2048
#define ALIGN 16

/* ---- memory of the run ---- */

void *fw_schema__scratch(struct fw_schema__run *r, size_t size, const struct fw_schema__at *at)
{
	struct fw_schema__spill *block;
	void *p;

	size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (size <= r->scratch_len - r->scratch_used) {
		p = r->scratch + r->scratch_used;
		r->scratch_used += size;
	} else {
		block = r->s->alc.malloc(r->s->alc.ctx, ALIGN + size);
		if (!block) {
			fw_schema__refuse_limit(r, "memory", at);
			return NULL;
		}
		block->next = r->spill;
		r->spill = block;
		p = (char *)block + ALIGN;
	}
	memset(p, 0, size);
	return p;
}

void fw_schema__release(struct fw_schema__run *r, struct fw_schema__mark m)
{
	while (r->spill != m.spill) {
		struct fw_schema__spill *next = r->spill->next;

		r->s->alc.free(r->s->alc.ctx, r->spill);
		r->spill = next;
	}
	r->scratch_used = m.used;
}

bool fw_schema__spend(struct fw_schema__run *r, uint64_t n, const struct fw_schema__at *at)
{
	if (r->stop)
		return false;
	if (n > r->steps_left)
		return fw_schema__refuse_limit(r, "work of the check", at);
	r->steps_left -= n;
	return true;
}

/* PCRE2 takes its match block from the scratch memory. Later requests (frames of
 * the interpreter, if the stack of the JIT was too small) go to the allocator. */
static void *match_malloc(PCRE2_SIZE size, void *ctx)
{
	struct fw_schema__run *r = ctx;
	size_t rounded = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	void *p;

	if (!r->match && rounded <= r->scratch_len - r->scratch_used) {
		p = r->scratch + r->scratch_used;
		r->scratch_used += rounded;
		return p;
	}
	return r->s->alc.malloc(r->s->alc.ctx, size);
}

static void match_free(void *p, void *ctx)
{
	struct fw_schema__run *r = ctx;
	char *at = p;

	if (p && !(at >= r->scratch && at < r->scratch + r->scratch_len))
		r->s->alc.free(r->s->alc.ctx, p);
}

/* ---- assertions ---- */

static bool length_ok(yyjson_val *v, uint64_t limit, bool least)
{
	const char *s = unsafe_yyjson_get_str(v);
	size_t bytes = unsafe_yyjson_get_len(v), n = 0;

	/* A code point has one to four bytes, so counting is rarely necessary. */
	if (least ? bytes < limit : bytes / 4 > limit)
		return false;
	if (least ? bytes / 4 >= limit : bytes <= limit)
		return true;
	for (size_t i = 0; i < bytes; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return least ? n >= limit : n <= limit;
}

static bool format_ok(struct fw_schema__run *r, const struct fw_schema__op *op,
		      const struct fw_schema__at *at)
{
	const char *s = unsafe_yyjson_get_str(at->v);
	size_t len = unsafe_yyjson_get_len(at->v);
	int rc;

	if (fw_schema__formats[op->a].check)
		return fw_schema__formats[op->a].check(s, len);
	rc = fw_schema__regex_valid(r->s, s, len);
	if (rc < 0)
		return fw_schema__refuse_limit(r, "memory", at);
	return rc > 0;
}

static bool number_ok(const fw_schema *s, const struct fw_schema__op *op, yyjson_val *v)
{
	const struct fw_schema__num *n = &s->nums.at[op->a];
	int c;

	if (op->kind == OP_MULTIPLE_OF)
		return fw_schema__num_multiple(v, n);
	c = fw_schema__num_compare(v, n);
	switch (op->kind) {
	case OP_MINIMUM: return c == 0 || c == 1;
	case OP_EXCLUSIVE_MINIMUM: return c == 1;
	case OP_MAXIMUM: return c <= 0;
	default: return c < 0;
	}
}

static bool run_op(struct fw_schema__run *r, uint32_t node, const struct fw_schema__op *op,
		   const struct fw_schema__at *at)
{
	const fw_schema *s = r->s;
	yyjson_val *v = at->v;
	size_t first, second;
	int rc;
	bool ok;

	switch ((enum fw_schema__op_kind)op->kind) {
	case OP_CONST: ok = fw_schema__equal(r, v, s->vals.at[op->a], at); break;
	case OP_ENUM: ok = fw_schema__in_enum(r, &s->enums.at[op->a], at); break;
	case OP_MIN_ITEMS:
	case OP_MIN_PROPERTIES: ok = unsafe_yyjson_get_len(v) >= op->v.limit; break;
	case OP_MAX_ITEMS:
	case OP_MAX_PROPERTIES: ok = unsafe_yyjson_get_len(v) <= op->v.limit; break;
	case OP_MINIMUM:
	case OP_EXCLUSIVE_MINIMUM:
	case OP_MAXIMUM:
	case OP_EXCLUSIVE_MAXIMUM:
	case OP_MULTIPLE_OF: ok = number_ok(s, op, v); break;
	case OP_MIN_LENGTH:
	case OP_MAX_LENGTH: ok = length_ok(v, op->v.limit, op->kind == OP_MIN_LENGTH); break;
	case OP_FORMAT: ok = format_ok(r, op, at); break;
	case OP_PATTERN:
		rc = fw_schema__regex_match(r, op->a, unsafe_yyjson_get_str(v),
					    unsafe_yyjson_get_len(v), at);
		ok = rc == 1;
		break;
	case OP_UNIQUE_ITEMS:
		ok = fw_schema__unique(r, at, &first, &second);
		if (!ok)
			return fw_schema__refuse_same(r, node, first, second, at);
		break;
	case OP_OBJECT:
	case OP_DEPENDENT_REQUIRED:
	case OP_PROPERTY_NAMES:
	case OP_DEPENDENT_SCHEMAS: return fw_schema__apply_object(r, node, op, at);
	case OP_ARRAY:
	case OP_CONTAINS: return fw_schema__apply_array(r, node, op, at);
	case OP_UNEVALUATED_ITEMS:
	case OP_UNEVALUATED_PROPERTIES: return fw_schema__apply_unevaluated(r, op, at);
	case OP_REF:
	case OP_DYNAMIC_REF:
	case OP_ALL_OF:
	case OP_NOT:
	case OP_IF:
	case OP_ANY_OF:
	case OP_ONE_OF: return fw_schema__apply(r, node, op, at);
	default: return false;
	}
	return ok || fw_schema__refuse(r, node, op, at);
}

static bool run_ops(struct fw_schema__run *r, uint32_t node, const struct fw_schema__at *at,
		    unsigned type)
{
	const struct fw_schema__node *n = &r->s->nodes.at[node];
	const struct fw_schema__op *op = r->s->ops.at + n->ops;
	const struct fw_schema__op *end = op + n->n_ops;
	bool ok = true;

	for (; op < end; op++) {
		if (!(op->types & type))
			continue;
		/* After a violation it is not known what was evaluated; reporting
		 * the rest as unevaluated would be misleading. */
		if (!ok && op->kind >= OP_UNEVALUATED_ITEMS)
			break;
		if (!run_op(r, node, op, at)) {
			ok = false;
			if (!fw_schema__collects(r))
				break;
		}
	}
	return ok;
}

/* A node with unevaluated*: records what was evaluated in its own bitset, and on
 * success adds it to that of the enclosing node. */
static bool run_counting(struct fw_schema__run *r, uint32_t node,
			 const struct fw_schema__at *at, unsigned type)
{
	struct fw_schema__mark mark = fw_schema__mark(r);
	struct fw_schema__at inner = *at;
	struct fw_schema__seen own;
	bool ok;

	own.n_words = unsafe_yyjson_get_len(at->v) / 64 + 1;
	own.bits = fw_schema__scratch(r, own.n_words * sizeof *own.bits, at);
	if (!own.bits)
		return false;
	inner.seen = &own;
	ok = run_ops(r, node, &inner, type);
	if (ok && at->seen)
		for (size_t i = 0; i < own.n_words; i++)
			at->seen->bits[i] |= own.bits[i];
	fw_schema__release(r, mark);
	return ok;
}

/* The less common cases of eval, in a function of their own to keep eval's stack
 * frame small. */
__attribute__((noinline)) static bool eval_scoped(struct fw_schema__run *r, uint32_t node,
						  const struct fw_schema__at *at, unsigned type)
{
	const struct fw_schema__node *n = &r->s->nodes.at[node];
	struct fw_schema__scope scope = { at->scope, n->resource };
	struct fw_schema__at inner = *at;

	if (!at->scope || at->scope->resource != n->resource)
		inner.scope = &scope;
	if ((n->flags & NODE_UNEVALUATED) && (type & (T_ARR | T_OBJ)))
		return run_counting(r, node, &inner, type);
	return run_ops(r, node, &inner, type);
}

bool fw_schema__eval(struct fw_schema__run *r, uint32_t node, const struct fw_schema__at *at)
{
	const struct fw_schema__node *n = &r->s->nodes.at[node];
	unsigned type = fw_schema__type_of(at->v);
	bool ok;

	if (r->stop)
		return false;
	if (r->steps_left == 0)
		return fw_schema__refuse_limit(r, "work of the check", at);
	r->steps_left--;
	if (n->flags & NODE_BOOLEAN)
		return !(n->flags & NODE_FALSE) || fw_schema__refuse_false(r, node, at);
	/* With the wrong type, violations of other keywords would be noise. */
	if (!(n->types & type) &&
	    !(type == T_NUM && (n->types & T_INT) && fw_schema__is_integer(at->v)))
		return fw_schema__refuse_type(r, node, at);
	if (n->n_ops == 0)
		return true;
	if (r->depth >= r->max_depth)
		return fw_schema__refuse_limit(r, "nesting", at);
	r->depth++;
	if (at->scope && at->scope->resource == n->resource && !(n->flags & NODE_UNEVALUATED))
		ok = run_ops(r, node, at, type);
	else
		ok = eval_scoped(r, node, at, type);
	r->depth--;
	return ok && !r->stop;
}

/* ---- public functions ---- */

static void take_options(struct fw_schema__run *r, const fw_schema_run *run)
{
	r->on_violation = run->on_violation;
	r->ctx = run->ctx;
	r->hide_values = run->hide_values;
	if (run->max_violations)
		r->max_violations = run->max_violations;
	if (run->max_depth)
		r->max_depth = run->max_depth < FW_SCHEMA_RUN_DEPTH_CEILING
				       ? run->max_depth
				       : FW_SCHEMA_RUN_DEPTH_CEILING;
	if (run->max_steps)
		r->steps_left = run->max_steps;
	if (run->scratch) {
		size_t skew = (ALIGN - (uintptr_t)run->scratch % ALIGN) % ALIGN;

		r->scratch = (char *)run->scratch + skew;
		r->scratch_len = run->scratch_len > skew ? run->scratch_len - skew : 0;
	}
}

bool fw_schema_check(const fw_schema *schema, yyjson_val *instance, const fw_schema_run *run)
{
	_Alignas(ALIGN) char local[LOCAL_SCRATCH];
	struct fw_schema__scope scope = { NULL, 0 };
	struct fw_schema__at at = { .v = instance, .scope = &scope };
	struct fw_schema__run r;
	pcre2_general_context *general = NULL;
	bool ok;

	if (!schema || !instance)
		return false;
	scope.resource = schema->nodes.at[schema->root].resource;
	/* Each member is set separately, because the text buffers need no clearing. */
	r.s = schema;
	r.on_violation = NULL;
	r.ctx = NULL;
	r.violations = 0;
	r.max_violations = FW_SCHEMA_VIOLATIONS_MAX;
	r.depth = 0;
	r.max_depth = FW_SCHEMA_RUN_DEPTH_MAX;
	r.steps_left = FW_SCHEMA_RUN_STEPS_MAX;
	r.quiet = 0;
	r.stop = false;
	r.hide_values = false;
	r.scratch = local;
	r.scratch_len = sizeof local;
	r.scratch_used = 0;
	r.spill = NULL;
	r.match = NULL;
	r.text_nearest[0] = '\0';
	if (run)
		take_options(&r, run);
	if (schema->regexes.n) {
		general = pcre2_general_context_create(match_malloc, match_free, &r);
		if (general)
			r.match = pcre2_match_data_create(1, general);
		if (!r.match)
			fw_schema__refuse_limit(&r, "memory", &at);
	}
	ok = fw_schema__eval(&r, schema->root, &at) && !r.stop;
	fw_schema__release(&r, (struct fw_schema__mark){ 0, NULL });
	pcre2_match_data_free(r.match);
	pcre2_general_context_free(general);
	return ok;
}
