/*
 * report.c - describes violations: pointers, "expected", "found".
 *
 * Nothing is described while an instance is valid or a branch of anyOf is being
 * tried: the refuse functions first test whether the violation will be reported. All
 * texts are written to fixed buffers of the run, with text.c.
 */
#include <string.h>

#include "base/distance.h"
#include "schema/format.h"
#include "schema/pointer.h"
#include "schema/report.h"
#include "schema/text.h"

#define VALUE_MAX 80

static void put_types(struct fw_schema__text *t, unsigned mask)
{
	static const struct {
		uint8_t bit;
		const char *name;
	} types[] = {
		{ T_OBJ, "object" }, { T_ARR, "array" },   { T_STR, "string" },
		{ T_NUM, "number" }, { T_INT, "integer" }, { T_BOOL, "boolean" },
		{ T_NULL, "null" },
	};
	const char *names[7];
	size_t n = 0, i;

	if (mask & T_NUM)
		mask &= ~(unsigned)T_INT;
	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (mask & types[i].bit)
			names[n++] = types[i].name;
	for (i = 0; i < n; i++) {
		if (i)
			fw_schema__text_put(t, i + 1 == n ? " or " : ", ");
		fw_schema__text_put(t, names[i]);
	}
}

static void put_quoted(struct fw_schema__text *t, const char *s, size_t len, size_t max)
{
	char buf[VALUE_MAX + 4];
	struct fw_schema__text q = { buf, 0, max < sizeof buf ? max : sizeof buf, false };

	buf[0] = '\0';
	fw_schema__text_safe(&q, s, len);
	fw_schema__text_put(t, "\"");
	fw_schema__text_put(t, buf);
	fw_schema__text_put(t, "\"");
}

static void put_number(struct fw_schema__text *t, yyjson_val *v)
{
	char pool[512], *text;
	yyjson_alc alc;
	size_t len;

	if (yyjson_is_raw(v)) {
		fw_schema__text_safe(t, yyjson_get_raw(v), yyjson_get_len(v));
		return;
	}
	yyjson_alc_pool_init(&alc, pool, sizeof pool);
	text = yyjson_val_write_opts(v, YYJSON_WRITE_ALLOW_INF_AND_NAN, &alc, &len, NULL);
	if (text)
		fw_schema__text_safe(t, text, len);
}

static void put_plural(struct fw_schema__text *t, uint64_t n, const char *one, const char *many)
{
	fw_schema__text_number(t, n);
	fw_schema__text_put(t, n == 1 ? one : many);
}

/* "string \"abc\"", "number 5", "array of 3 items", ... */
static void put_value(struct fw_schema__text *t, yyjson_val *v, bool hide)
{
	switch (yyjson_get_type(v)) {
	case YYJSON_TYPE_NULL: fw_schema__text_put(t, "null"); break;
	case YYJSON_TYPE_BOOL:
		fw_schema__text_put(t, hide                 ? "boolean"
				       : yyjson_get_bool(v) ? "boolean true"
							    : "boolean false");
		break;
	case YYJSON_TYPE_NUM:
	case YYJSON_TYPE_RAW:
		fw_schema__text_put(t, hide ? "number" : "number ");
		if (!hide)
			put_number(t, v);
		break;
	case YYJSON_TYPE_STR:
		fw_schema__text_put(t, hide ? "string" : "string ");
		if (!hide)
			put_quoted(t, yyjson_get_str(v), yyjson_get_len(v), VALUE_MAX - 12);
		break;
	case YYJSON_TYPE_ARR:
		fw_schema__text_put(t, "array of ");
		put_plural(t, yyjson_arr_size(v), " item", " items");
		break;
	case YYJSON_TYPE_OBJ:
		fw_schema__text_put(t, "object with ");
		put_plural(t, yyjson_obj_size(v), " property", " properties");
		break;
	default: fw_schema__text_put(t, "nothing");
	}
}

/* A value of the schema, for "expected". */
static void put_constant(struct fw_schema__text *t, yyjson_val *v)
{
	if (yyjson_is_str(v))
		put_quoted(t, yyjson_get_str(v), yyjson_get_len(v), 48);
	else if (yyjson_is_raw(v) || yyjson_is_num(v))
		put_number(t, v);
	else if (yyjson_is_bool(v))
		fw_schema__text_put(t, yyjson_get_bool(v) ? "true" : "false");
	else
		put_value(t, v, false);
}

unsigned fw_schema__types_of(const fw_schema *s, uint32_t node)
{
	for (int hops = 0; hops < 8; hops++) {
		const struct fw_schema__node *n = &s->nodes.at[node];
		const struct fw_schema__op *op = s->ops.at + n->ops;
		uint32_t i;

		if (n->flags & NODE_BOOLEAN)
			return n->flags & NODE_FALSE ? 0 : T_ANY;
		if (n->types != T_ANY)
			return n->types;
		for (i = 0; i < n->n_ops && op[i].kind != OP_REF; i++)
			;
		if (i == n->n_ops)
			break;
		node = op[i].a;
	}
	return T_ANY;
}

/* If each alternative requires a different type, lists the types. */
static bool put_alternatives(struct fw_schema__text *t, const fw_schema *s,
			     const struct fw_schema__op *op, yyjson_val *v)
{
	unsigned mask = 0;
	bool number = yyjson_is_num(v) || yyjson_is_raw(v);

	for (uint32_t i = 0; i < op->v.u.b; i++)
		mask |= fw_schema__types_of(s, s->words.at[op->a + i]);
	if (!mask || (mask & fw_schema__type_of(v)) || (number && (mask & T_INT)))
		return false;
	put_types(t, mask);
	return true;
}

static void put_count(struct fw_schema__text *t, const char *least,
		      const struct fw_schema__op *op, const char *one, const char *many)
{
	fw_schema__text_put(t, least);
	put_plural(t, op->v.limit, one, many);
}

static void put_expected(struct fw_schema__text *t, const fw_schema *s,
			 const struct fw_schema__op *op, yyjson_val *v)
{
	const struct fw_schema__num *n;
	yyjson_val *val;
	size_t i, max;

	switch (op->kind) {
	case OP_CONST: put_constant(t, s->vals.at[op->a]); break;
	case OP_ENUM:
		fw_schema__text_put(t, "one of ");
		yyjson_arr_foreach(s->enums.at[op->a].array, i, max, val)
		{
			if (i)
				fw_schema__text_put(t, ", ");
			put_constant(t, val);
			if (t->cut)
				break;
		}
		break;
	case OP_MINIMUM:
	case OP_EXCLUSIVE_MINIMUM:
	case OP_MAXIMUM:
	case OP_EXCLUSIVE_MAXIMUM:
	case OP_MULTIPLE_OF:
		fw_schema__text_put(t, op->kind == OP_MINIMUM             ? ">= "
				       : op->kind == OP_EXCLUSIVE_MINIMUM ? "> "
				       : op->kind == OP_MAXIMUM           ? "<= "
				       : op->kind == OP_EXCLUSIVE_MAXIMUM ? "< "
									  : "multiple of ");
		n = &s->nums.at[op->a];
		fw_schema__text_safe(t, n->text, n->len);
		break;
	case OP_MIN_LENGTH: put_count(t, "at least ", op, " character", " characters"); break;
	case OP_MAX_LENGTH: put_count(t, "at most ", op, " character", " characters"); break;
	case OP_MIN_ITEMS: put_count(t, "at least ", op, " item", " items"); break;
	case OP_MAX_ITEMS: put_count(t, "at most ", op, " item", " items"); break;
	case OP_MIN_PROPERTIES:
		put_count(t, "at least ", op, " property", " properties");
		break;
	case OP_MAX_PROPERTIES: put_count(t, "at most ", op, " property", " properties"); break;
	case OP_FORMAT:
		fw_schema__text_put(t, "format ");
		fw_schema__text_put(t, fw_schema__formats[op->a].name);
		break;
	case OP_PATTERN:
		fw_schema__text_put(t, "match of ");
		val = s->vals.at[op->v.u.b];
		fw_schema__text_safe(t, yyjson_get_str(val), yyjson_get_len(val));
		break;
	case OP_ANY_OF:
	case OP_ONE_OF:
		if (put_alternatives(t, s, op, v))
			break;
		fw_schema__text_put(t, op->kind == OP_ANY_OF ? "a match of at least 1 of "
							     : "a match of exactly 1 of ");
		put_plural(t, op->v.u.b, " alternative", " alternatives");
		break;
	case OP_NOT: fw_schema__text_put(t, "no match of the schema under \"not\""); break;
	default: fw_schema__text_put(t, "a match");
	}
}

/* ---- reports ---- */

/* Will this violation be reported to the callback? */
static bool listens(struct fw_schema__run *r)
{
	return r->on_violation && r->quiet == 0 && !r->stop;
}

static bool send(struct fw_schema__run *r, const struct fw_schema__frame *frame, unsigned kw)
{
	struct fw_violation v = {
		.instance_pointer = r->text_instance,
		.schema_pointer = r->text_schema,
		.keyword = fw_schema__keywords[kw].name,
		.expected = r->text_expected,
		.found = r->text_found,
		.nearest = r->text_nearest[0] ? r->text_nearest : NULL,
	};

	fw_schema__path(frame, r->text_instance, sizeof r->text_instance);
	if (!r->on_violation(r->ctx, &v) || ++r->violations >= r->max_violations)
		r->stop = true;
	r->text_nearest[0] = '\0';
	return false;
}

static struct fw_schema__text begin(char *p, size_t cap)
{
	p[0] = '\0';
	return (struct fw_schema__text){ p, 0, cap, false };
}

bool fw_schema__refuse(struct fw_schema__run *r, uint32_t node, const struct fw_schema__op *op,
		       const struct fw_schema__at *at)
{
	struct fw_schema__text t;

	if (!listens(r))
		return false;
	t = begin(r->text_expected, sizeof r->text_expected);
	put_expected(&t, r->s, op, at->v);
	t = begin(r->text_found, VALUE_MAX);
	put_value(&t, at->v, r->hide_values);
	fw_schema__pointer(r->s, node, op->kw, r->text_schema, sizeof r->text_schema);
	return send(r, at->frame, op->kw);
}

bool fw_schema__refuse_type(struct fw_schema__run *r, uint32_t node,
			    const struct fw_schema__at *at)
{
	struct fw_schema__text t;

	if (!listens(r))
		return false;
	t = begin(r->text_expected, sizeof r->text_expected);
	put_types(&t, r->s->nodes.at[node].types);
	t = begin(r->text_found, VALUE_MAX);
	put_value(&t, at->v, r->hide_values);
	fw_schema__pointer(r->s, node, KW_TYPE, r->text_schema, sizeof r->text_schema);
	return send(r, at->frame, KW_TYPE);
}

enum { NEAREST_TRIED = 64 };

/* A third of the letters may differ; in short words one or two. */
static bool is_meant(size_t distance, size_t wanted_len, size_t len)
{
	return distance <= (wanted_len < 6 ? 2 : wanted_len / 3) && distance < len;
}

/* Finds the property of `node` that the unknown one most likely should be. */
static void find_nearest(struct fw_schema__run *r, uint32_t node, const char *key, size_t len)
{
	const fw_schema *s = r->s;
	const struct fw_schema__op *op = s->ops.at + s->nodes.at[node].ops;
	struct fw_schema__text t = begin(r->text_nearest, sizeof r->text_nearest);
	const struct fw_schema__prop *best = NULL;
	size_t best_distance = SIZE_MAX;
	uint32_t i = 0;

	while (i < s->nodes.at[node].n_ops && op[i].kind != OP_OBJECT)
		i++;
	if (i == s->nodes.at[node].n_ops)
		return;
	for (uint32_t p = 0; p < s->objects.at[op[i].a].n_props && p < NEAREST_TRIED; p++) {
		const struct fw_schema__prop *prop =
			&s->props.at[s->objects.at[op[i].a].props + p];
		size_t distance;

		if (prop->node == FW_SCHEMA__NONE || prop->len > FW_DISTANCE_WORD_MAX)
			continue;
		distance = fw_distance(key, len, prop->key, prop->len);
		if (distance < best_distance && is_meant(distance, len, prop->len)) {
			best = prop;
			best_distance = distance;
		}
	}
	if (best)
		fw_schema__text_safe(&t, best->key, best->len);
}

/* A false schema is reported under the keyword that contains it. */
bool fw_schema__refuse_false(struct fw_schema__run *r, uint32_t node,
			     const struct fw_schema__at *at)
{
	const struct fw_schema__node *n = &r->s->nodes.at[node];
	unsigned kw = n->seg_kw < KW_COUNT ? n->seg_kw : KW_FALSE;
	struct fw_schema__text t;

	if (!listens(r))
		return false;
	t = begin(r->text_expected, sizeof r->text_expected);
	if (at->frame && at->frame->key) {
		fw_schema__text_put(&t, "no property ");
		put_quoted(&t, unsafe_yyjson_get_str(at->frame->key),
			   unsafe_yyjson_get_len(at->frame->key), VALUE_MAX);
		if (n->parent != FW_SCHEMA__NONE)
			find_nearest(r, n->parent, unsafe_yyjson_get_str(at->frame->key),
				     unsafe_yyjson_get_len(at->frame->key));
	} else if (at->frame) {
		fw_schema__text_put(&t, "no item at index ");
		fw_schema__text_number(&t, at->frame->index);
	} else {
		fw_schema__text_put(&t, "nothing");
	}
	t = begin(r->text_found, VALUE_MAX);
	put_value(&t, at->v, r->hide_values);
	fw_schema__pointer(r->s, node, KW_NONE, r->text_schema, sizeof r->text_schema);
	return send(r, at->frame, kw);
}

bool fw_schema__refuse_missing(struct fw_schema__run *r, uint32_t node, unsigned kw,
			       const char *key, size_t len, const struct fw_schema__at *at)
{
	struct fw_schema__text t;

	if (!listens(r))
		return false;
	t = begin(r->text_expected, sizeof r->text_expected);
	fw_schema__text_put(&t, "property ");
	put_quoted(&t, key, len, VALUE_MAX);
	t = begin(r->text_found, VALUE_MAX);
	fw_schema__text_put(&t, "missing");
	fw_schema__pointer(r->s, node, kw, r->text_schema, sizeof r->text_schema);
	return send(r, at->frame, kw);
}

bool fw_schema__refuse_count(struct fw_schema__run *r, uint32_t node, unsigned kw,
			     const char *word, uint64_t limit, size_t count,
			     const struct fw_schema__at *at)
{
	struct fw_schema__text t;

	if (!listens(r))
		return false;
	t = begin(r->text_expected, sizeof r->text_expected);
	fw_schema__text_put(&t, word);
	put_plural(&t, limit, " matching item", " matching items");
	t = begin(r->text_found, VALUE_MAX);
	fw_schema__text_number(&t, count);
	fw_schema__pointer(r->s, node, kw, r->text_schema, sizeof r->text_schema);
	return send(r, at->frame, kw);
}

bool fw_schema__refuse_same(struct fw_schema__run *r, uint32_t node, size_t first,
			    size_t second, const struct fw_schema__at *at)
{
	struct fw_schema__text t;

	if (!listens(r))
		return false;
	t = begin(r->text_expected, sizeof r->text_expected);
	fw_schema__text_put(&t, "items that all differ");
	t = begin(r->text_found, VALUE_MAX);
	fw_schema__text_put(&t, "the same item at ");
	fw_schema__text_number(&t, first);
	fw_schema__text_put(&t, " and ");
	fw_schema__text_number(&t, second);
	fw_schema__pointer(r->s, node, KW_UNIQUE_ITEMS, r->text_schema, sizeof r->text_schema);
	return send(r, at->frame, KW_UNIQUE_ITEMS);
}

/* Reaching a limit is reported even inside a branch, and ends the check. */
bool fw_schema__refuse_limit(struct fw_schema__run *r, const char *what,
			     const struct fw_schema__at *at)
{
	struct fw_schema__text t;
	bool reports = r->on_violation && !r->stop;

	r->stop = true;
	if (!reports)
		return false;
	t = begin(r->text_expected, sizeof r->text_expected);
	fw_schema__text_put(&t, what);
	fw_schema__text_put(&t, " within the limit");
	t = begin(r->text_found, VALUE_MAX);
	fw_schema__text_put(&t, "more than that");
	r->text_schema[0] = '\0';
	return send(r, at->frame, KW_LIMIT);
}
