/*
 * apply.c - the ops that apply subschemas: to properties, to items, and to the
 * instance itself ($ref and the combinators).
 *
 * An object is walked once for properties, patternProperties, additionalProperties
 * and required together. What was evaluated is recorded in bitsets, for unevaluated*;
 * they exist only if an enclosing node has such a keyword (at->seen). A branch that
 * may fail gets its own bitset, which is merged on success.
 */
#include <string.h>

#include "schema/regex.h"
#include "schema/report.h"

/* ---- properties ---- */

static bool is_name(const struct fw_schema__prop *p, const char *key, size_t len)
{
	return p->len == len && memcmp(p->key, key, len) == 0;
}

/* Index among the object's props, or NONE. `hint` is the expected index if the
 * instance has the order of the schema. */
static uint32_t find_prop(const fw_schema *s, const struct fw_schema__object *o,
			  const char *key, size_t len, uint32_t hint)
{
	const struct fw_schema__prop *props = s->props.at + o->props;
	const uint32_t *sorted = s->words.at + o->sorted;
	uint32_t lo = 0, hi = o->n_sorted;

	if (hint < o->n_props && is_name(&props[hint], key, len))
		return hint;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct fw_schema__prop *p = &props[sorted[mid]];
		int d = p->len != len ? (p->len < len ? -1 : 1) : memcmp(p->key, key, len);

		if (d == 0)
			return sorted[mid];
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return FW_SCHEMA__NONE;
}

static bool report_missing(struct fw_schema__run *r, uint32_t node,
			   const struct fw_schema__object *o, const uint64_t *have,
			   const struct fw_schema__at *at)
{
	const struct fw_schema__prop *props = r->s->props.at + o->props;

	for (uint32_t i = 0; i < o->n_props; i++) {
		uint32_t bit = props[i].required;

		if (props[i].len == UINT32_MAX || bit == FW_SCHEMA__NONE ||
		    (have[bit / 64] >> (bit % 64) & 1))
			continue;
		fw_schema__refuse_missing(r, node, KW_REQUIRED, props[i].key, props[i].len, at);
		if (!fw_schema__collects(r))
			break;
	}
	return false;
}

/* The subschemas for one property. */
static bool apply_property(struct fw_schema__run *r, const struct fw_schema__object *o,
			   uint32_t prop_node, const struct fw_schema__at *child,
			   yyjson_val *key, bool *ret_evaluated)
{
	const uint32_t *pattern = r->s->words.at + o->patterns;
	bool ok = true, evaluated = prop_node != FW_SCHEMA__NONE;

	if (evaluated && !fw_schema__eval(r, prop_node, child))
		ok = false;
	for (uint32_t i = 0; i < o->n_patterns; i++, pattern += 2) {
		int rc;

		if (!ok && !fw_schema__collects(r))
			return false;
		rc = fw_schema__regex_match(r, pattern[0], unsafe_yyjson_get_str(key),
					    unsafe_yyjson_get_len(key), child);
		if (rc < 0)
			return false;
		if (rc == 0)
			continue;
		evaluated = true;
		if (!fw_schema__eval(r, pattern[1], child))
			ok = false;
	}
	if (!evaluated && o->additional != FW_SCHEMA__NONE) {
		evaluated = true;
		if (!fw_schema__eval(r, o->additional, child))
			ok = false;
	}
	*ret_evaluated = evaluated;
	return ok;
}

static bool apply_properties(struct fw_schema__run *r, uint32_t node,
			     const struct fw_schema__op *op, const struct fw_schema__at *at)
{
	const fw_schema *s = r->s;
	const struct fw_schema__object *o = &s->objects.at[op->a];
	struct fw_schema__mark mark = fw_schema__mark(r);
	struct fw_schema__frame frame = { .up = at->frame };
	struct fw_schema__at child = { .frame = &frame, .scope = at->scope };
	uint64_t few[4] = { 0 }, *have = few;
	uint32_t n_have = 0, hint = 0, at_prop;
	yyjson_val *key, *val;
	size_t i, max;
	bool ok = true;

	if (o->n_required > 64 * sizeof few / sizeof *few) {
		have = fw_schema__scratch(r, (o->n_required / 64 + 1) * sizeof *have, at);
		if (!have)
			return false;
	}
	yyjson_obj_foreach(at->v, i, max, key, val)
	{
		uint32_t prop_node = FW_SCHEMA__NONE;
		bool evaluated = false;

		at_prop = find_prop(s, o, unsafe_yyjson_get_str(key),
				    unsafe_yyjson_get_len(key), hint);
		if (at_prop != FW_SCHEMA__NONE) {
			const struct fw_schema__prop *p = &s->props.at[o->props + at_prop];
			uint32_t bit = p->required;

			hint = at_prop + 1;
			prop_node = p->node;
			if (bit != FW_SCHEMA__NONE && !(have[bit / 64] >> (bit % 64) & 1)) {
				have[bit / 64] |= (uint64_t)1 << (bit % 64);
				n_have++;
			}
		}
		frame.key = key;
		child.v = val;
		if (!apply_property(r, o, prop_node, &child, key, &evaluated)) {
			ok = false;
			if (!fw_schema__collects(r))
				break;
		}
		if (evaluated)
			fw_schema__see(at->seen, i);
	}
	if (n_have < o->n_required && (ok || fw_schema__collects(r)))
		ok = report_missing(r, node, o, have, at);
	fw_schema__release(r, mark);
	return ok;
}

/* Is there a property `p`? The search is linear, so it counts as work. */
static bool has(struct fw_schema__run *r, const struct fw_schema__prop *p,
		const struct fw_schema__at *at)
{
	return fw_schema__spend(r, 1 + unsafe_yyjson_get_len(at->v) / 16, at) &&
	       yyjson_obj_getn(at->v, p->key, p->len);
}

static bool apply_dependent_required(struct fw_schema__run *r, uint32_t node,
				     const struct fw_schema__op *op,
				     const struct fw_schema__at *at)
{
	const uint32_t *word = r->s->words.at + op->a;
	bool ok = true;

	for (uint32_t i = 0; i < op->v.u.b; i++, word += 3) {
		const struct fw_schema__prop *p = &r->s->props.at[word[0]];

		if (!has(r, p, at))
			continue;
		p = &r->s->props.at[word[1]];
		for (uint32_t k = 0; k < word[2]; k++, p++) {
			if (has(r, p, at))
				continue;
			ok = fw_schema__refuse_missing(r, node, op->kw, p->key, p->len, at);
			if (!fw_schema__collects(r))
				return false;
		}
	}
	return ok && !r->stop;
}

bool fw_schema__apply_object(struct fw_schema__run *r, uint32_t node,
			     const struct fw_schema__op *op, const struct fw_schema__at *at)
{
	struct fw_schema__frame frame = { .up = at->frame };
	struct fw_schema__at child = { .frame = &frame, .scope = at->scope };
	const uint32_t *word;
	yyjson_val *key, *val;
	size_t i, max;
	bool ok = true;

	switch (op->kind) {
	case OP_OBJECT: return apply_properties(r, node, op, at);
	case OP_DEPENDENT_REQUIRED: return apply_dependent_required(r, node, op, at);
	case OP_PROPERTY_NAMES:
		yyjson_obj_foreach(at->v, i, max, key, val)
		{
			frame.key = key;
			child.v = key;
			if (!fw_schema__eval(r, op->a, &child)) {
				ok = false;
				if (!fw_schema__collects(r))
					break;
			}
		}
		return ok;
	default: /* OP_DEPENDENT_SCHEMAS */
		word = r->s->words.at + op->a;
		for (uint32_t k = 0; k < op->v.u.b; k++, word += 2) {
			const struct fw_schema__prop *p = &r->s->props.at[word[0]];

			if (has(r, p, at) && !fw_schema__eval(r, word[1], at)) {
				ok = false;
				if (!fw_schema__collects(r))
					break;
			}
		}
		return ok && !r->stop;
	}
}

/* ---- items ---- */

static bool apply_items(struct fw_schema__run *r, const struct fw_schema__op *op,
			const struct fw_schema__at *at)
{
	struct fw_schema__frame frame = { .up = at->frame };
	struct fw_schema__at child = { .frame = &frame, .scope = at->scope };
	uint32_t n_prefix = op->v.u.b, items = op->v.u.c;
	yyjson_val *val;
	size_t i, max;
	bool ok = true;

	yyjson_arr_foreach(at->v, i, max, val)
	{
		uint32_t node = i < n_prefix ? r->s->words.at[op->a + i] : items;

		if (node == FW_SCHEMA__NONE)
			break;
		frame.index = i;
		child.v = val;
		if (!fw_schema__eval(r, node, &child)) {
			ok = false;
			if (!fw_schema__collects(r))
				break;
		}
		fw_schema__see(at->seen, i);
	}
	return ok;
}

static bool apply_contains(struct fw_schema__run *r, uint32_t node,
			   const struct fw_schema__op *op, const struct fw_schema__at *at)
{
	struct fw_schema__frame frame = { .up = at->frame };
	struct fw_schema__at child = { .frame = &frame, .scope = at->scope };
	uint32_t least = op->v.u.b, most = op->v.u.c;
	size_t count = 0, i, max;
	yyjson_val *val;

	r->quiet++;
	yyjson_arr_foreach(at->v, i, max, val)
	{
		frame.index = i;
		child.v = val;
		if (fw_schema__eval(r, op->a, &child)) {
			count++;
			fw_schema__see(at->seen, i);
		}
		/* If the matching items need not be recorded, stop when enough match. */
		if (r->stop || (!at->seen && count >= least && most == UINT32_MAX) ||
		    count > most)
			break;
	}
	r->quiet--;
	if (r->stop)
		return false;
	if (count < least)
		return fw_schema__refuse_count(r, node,
					       op->flag ? KW_MIN_CONTAINS : KW_CONTAINS,
					       "at least ", least, count, at);
	if (count > most)
		return fw_schema__refuse_count(r, node, KW_MAX_CONTAINS, "at most ", most,
					       count, at);
	return true;
}

bool fw_schema__apply_array(struct fw_schema__run *r, uint32_t node,
			    const struct fw_schema__op *op, const struct fw_schema__at *at)
{
	return op->kind == OP_ARRAY ? apply_items(r, op, at) : apply_contains(r, node, op, at);
}

bool fw_schema__apply_unevaluated(struct fw_schema__run *r, const struct fw_schema__op *op,
				  const struct fw_schema__at *at)
{
	struct fw_schema__frame frame = { .up = at->frame };
	struct fw_schema__at child = { .frame = &frame, .scope = at->scope };
	bool object = op->kind == OP_UNEVALUATED_PROPERTIES, ok = true;
	yyjson_val *v = unsafe_yyjson_get_first(at->v);
	size_t i, n = unsafe_yyjson_get_len(at->v);

	for (i = 0; i < n; i++, v = unsafe_yyjson_get_next(child.v)) {
		frame.key = object ? v : NULL;
		frame.index = i;
		child.v = object ? v + 1 : v;
		if (at->seen->bits[i / 64] >> (i % 64) & 1)
			continue;
		if (!fw_schema__eval(r, op->a, &child)) {
			ok = false;
			if (!fw_schema__collects(r))
				break;
		}
		fw_schema__see(at->seen, i);
	}
	return ok;
}

/* ---- the instance itself ---- */

/* Tries a subschema whose failure is not yet a violation. */
static bool attempt(struct fw_schema__run *r, uint32_t node, const struct fw_schema__at *at,
		    bool keep)
{
	struct fw_schema__mark mark = fw_schema__mark(r);
	struct fw_schema__at inner = *at;
	struct fw_schema__seen seen = { NULL, 0 };
	bool ok;

	inner.seen = NULL;
	if (at->seen && keep) {
		seen.n_words = at->seen->n_words;
		seen.bits = fw_schema__scratch(r, seen.n_words * sizeof *seen.bits, at);
		if (!seen.bits)
			return false;
		inner.seen = &seen;
	}
	r->quiet++;
	ok = fw_schema__eval(r, node, &inner);
	r->quiet--;
	if (ok && inner.seen)
		for (size_t i = 0; i < seen.n_words; i++)
			at->seen->bits[i] |= seen.bits[i];
	fw_schema__release(r, mark);
	return ok;
}

/* No alternative matched. If exactly one is for this type of instance, its
 * violations are reported, because they are more useful than "none of 3". */
static bool refuse_alternatives(struct fw_schema__run *r, uint32_t node,
				const struct fw_schema__op *op, const struct fw_schema__at *at)
{
	unsigned type = fw_schema__type_of(at->v);
	uint32_t meant = FW_SCHEMA__NONE, n = 0;
	struct fw_schema__at inner = *at;

	if (!fw_schema__collects(r))
		return false;
	if (type == T_NUM)
		type |= T_INT;
	for (uint32_t i = 0; i < op->v.u.b; i++) {
		uint32_t child = r->s->words.at[op->a + i];

		if (fw_schema__types_of(r->s, child) & type) {
			meant = child;
			n++;
		}
	}
	if (n != 1 || op->v.u.b == 1)
		return fw_schema__refuse(r, node, op, at);
	inner.seen = NULL;
	return fw_schema__eval(r, meant, &inner) && false;
}

static uint32_t dynamic_target(struct fw_schema__run *r, const struct fw_schema__op *op,
			       const struct fw_schema__at *at)
{
	const struct fw_schema__dynamic *d = r->s->dynamics.at + op->v.u.b;
	const struct fw_schema__scope *sc;
	uint32_t target = op->a, n = op->v.u.c;

	/* The outermost resource in scope that has the anchor is used. */
	for (sc = n ? at->scope : NULL; sc; sc = sc->up) {
		if (!fw_schema__spend(r, n / 16, at))
			break;
		for (uint32_t i = 0; i < n; i++)
			if (d[i].resource == sc->resource)
				target = d[i].node;
	}
	return target;
}

static bool apply_one_of(struct fw_schema__run *r, uint32_t node,
			 const struct fw_schema__op *op, const struct fw_schema__at *at)
{
	const uint32_t *child = r->s->words.at + op->a;
	uint32_t matches = 0;

	for (uint32_t i = 0; i < op->v.u.b && matches < 2; i++) {
		matches += attempt(r, child[i], at, true);
		if (r->stop)
			return false;
	}
	if (matches == 1)
		return true;
	return matches ? fw_schema__refuse(r, node, op, at)
		       : refuse_alternatives(r, node, op, at);
}

bool fw_schema__apply(struct fw_schema__run *r, uint32_t node, const struct fw_schema__op *op,
		      const struct fw_schema__at *at)
{
	const uint32_t *words = r->s->words.at;
	uint32_t i, then;
	bool ok;

	switch (op->kind) {
	case OP_REF: return fw_schema__eval(r, op->a, at);
	case OP_DYNAMIC_REF: return fw_schema__eval(r, dynamic_target(r, op, at), at);
	case OP_ALL_OF:
		ok = true;
		for (i = 0; i < op->v.u.b; i++) {
			if (!fw_schema__eval(r, words[op->a + i], at)) {
				ok = false;
				if (!fw_schema__collects(r))
					break;
			}
		}
		return ok;
	case OP_ANY_OF:
		ok = false;
		/* If evaluated properties are recorded, every alternative must be
		 * tried. */
		for (i = 0; i < op->v.u.b && (!ok || at->seen); i++) {
			ok |= attempt(r, words[op->a + i], at, true);
			if (r->stop)
				return false;
		}
		return ok || refuse_alternatives(r, node, op, at);
	case OP_ONE_OF: return apply_one_of(r, node, op, at);
	case OP_NOT:
		ok = attempt(r, op->a, at, false);
		if (r->stop)
			return false;
		return !ok || fw_schema__refuse(r, node, op, at);
	default: /* OP_IF */
		ok = attempt(r, op->a, at, true);
		then = ok ? op->v.u.b : op->v.u.c;
		if (r->stop)
			return false;
		return then == FW_SCHEMA__NONE || fw_schema__eval(r, then, at);
	}
}
