/*
 * compile.c - compiles JSON text to nodes and ops.
 *
 * One pass over the documents creates a node per subschema and registers the targets
 * of references; ref.c then links them. The keywords of a node are first collected by
 * number, then compiled in order of cost, so that an instance of the wrong shape is
 * refused before expensive checks.
 *
 * A keyword whose value has the wrong form is a problem and is not skipped: a schema
 * that checks less than its author intended would accept invalid instances. The first
 * problem ends the compilation.
 */
#include <stdio.h>
#include <string.h>

#include "schema/compiler.h"
#include "schema/format.h"
#include "schema/regex.h"

/* ---- value -> node ---- */

static uint32_t slot_of(const yyjson_val *val, uint32_t cap)
{
	uint64_t h = (uint64_t)(uintptr_t)val * 0x9e3779b97f4a7c15u;

	return (uint32_t)(h >> 32) & (cap - 1);
}

uint32_t fw_schema__map_get(const struct fw_schema__compiler *c, const yyjson_val *val)
{
	uint32_t i;

	if (!c->map_cap)
		return FW_SCHEMA__NONE;
	for (i = slot_of(val, c->map_cap); c->map[i].val; i = (i + 1) & (c->map_cap - 1))
		if (c->map[i].val == val)
			return c->map[i].node;
	return FW_SCHEMA__NONE;
}

static void map_put(struct fw_schema__slot *map, uint32_t cap, const yyjson_val *val,
		    uint32_t node)
{
	uint32_t i = slot_of(val, cap);

	while (map[i].val)
		i = (i + 1) & (cap - 1);
	map[i] = (struct fw_schema__slot){ val, node };
}

static bool map_add(struct fw_schema__compiler *c, const yyjson_val *val, uint32_t node)
{
	if (2 * (c->map_n + 1) > c->map_cap) {
		uint32_t cap = c->map_cap ? c->map_cap * 2 : 64;
		struct fw_schema__slot *map =
			c->s->alc.malloc(c->s->alc.ctx, cap * sizeof *map);

		if (!map)
			return fw_schema__fail(c, "out of memory", node, KW_NONE, NULL, 0);
		memset(map, 0, cap * sizeof *map);
		for (uint32_t i = 0; i < c->map_cap; i++)
			if (c->map[i].val)
				map_put(map, cap, c->map[i].val, c->map[i].node);
		if (c->map)
			c->s->alc.free(c->s->alc.ctx, c->map);
		c->map = map;
		c->map_cap = cap;
	}
	map_put(c->map, c->map_cap, val, node);
	c->map_n++;
	return true;
}

/* ---- keywords ---- */

struct fw_schema__op *fw_schema__emit(struct fw_schema__draft *d, unsigned kind, unsigned types,
				      unsigned kw)
{
	struct fw_schema__op *op = &d->ops[d->n++];

	*op = (struct fw_schema__op){ .kind = (uint8_t)kind,
				      .types = (uint8_t)types,
				      .kw = (uint8_t)kw };
	return op;
}

uint32_t fw_schema__compile_child(struct fw_schema__compiler *c, struct fw_schema__draft *d,
				  unsigned kw, yyjson_val *val, yyjson_val *key, uint32_t index)
{
	struct fw_schema__place at = {
		.parent = d->node,
		.kw = (uint8_t)kw,
		.index = index,
		.key = key ? unsafe_yyjson_get_str(key) : NULL,
		.len = key ? (uint32_t)unsafe_yyjson_get_len(key) : 0,
	};

	return fw_schema__compile_node(c, val, &at, c->s->nodes.at[d->node].resource);
}

/* A keyword that contains one subschema; FW_SCHEMA__NONE also if it is absent. */
static uint32_t child_at(struct fw_schema__compiler *c, struct fw_schema__draft *d, unsigned kw)
{
	if (!d->kw[kw] || c->failed)
		return FW_SCHEMA__NONE;
	return fw_schema__compile_child(c, d, kw, d->kw[kw], NULL, FW_SCHEMA__NONE);
}

static unsigned type_bit(yyjson_val *name)
{
	static const struct {
		const char *name;
		uint8_t bit;
	} types[] = {
		{ "null", T_NULL },   { "boolean", T_BOOL }, { "number", T_NUM | T_INT },
		{ "integer", T_INT }, { "string", T_STR },   { "array", T_ARR },
		{ "object", T_OBJ },
	};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (yyjson_equals_str(name, types[i].name))
			return types[i].bit;
	return 0;
}

static bool compile_type(struct fw_schema__compiler *c, struct fw_schema__draft *d)
{
	yyjson_val *type = d->kw[KW_TYPE], *name;
	unsigned mask = 0, bit;
	size_t i, max;

	if (yyjson_is_str(type)) {
		mask = type_bit(type);
	} else if (yyjson_is_arr(type)) {
		yyjson_arr_foreach(type, i, max, name)
		{
			bit = type_bit(name);
			mask |= bit;
			if (!bit)
				return fw_schema__fail(c, "type does not exist", d->node,
						       KW_TYPE, yyjson_get_str(name),
						       yyjson_get_len(name));
		}
	}
	if (!mask)
		return fw_schema__fail(c, "type does not exist", d->node, KW_TYPE,
				       yyjson_get_str(type), yyjson_get_len(type));
	c->s->nodes.at[d->node].types = (uint8_t)mask;
	return true;
}

/* A count: an integer of at least 0, also written as 2.0; large values saturate. */
static bool compile_count(struct fw_schema__compiler *c, struct fw_schema__draft *d,
			  unsigned kw, uint64_t *ret)
{
	yyjson_val *v = d->kw[kw];
	struct fw_schema__dec dec;
	int64_t i;

	if (!yyjson_is_raw(v) || !fw_schema__is_integer(v) ||
	    !fw_schema__dec_read(yyjson_get_raw(v), yyjson_get_len(v), &dec) || dec.negative)
		return fw_schema__fail(c, "keyword must be a whole number from 0", d->node, kw,
				       NULL, 0);
	*ret = fw_schema__dec_to_int(&dec, &i) ? (uint64_t)i : UINT64_MAX;
	return true;
}

static bool compile_counts(struct fw_schema__compiler *c, struct fw_schema__draft *d)
{
	static const struct {
		uint8_t kw, op, types;
	} counts[] = {
		{ KW_MIN_ITEMS, OP_MIN_ITEMS, T_ARR },
		{ KW_MAX_ITEMS, OP_MAX_ITEMS, T_ARR },
		{ KW_MIN_PROPERTIES, OP_MIN_PROPERTIES, T_OBJ },
		{ KW_MAX_PROPERTIES, OP_MAX_PROPERTIES, T_OBJ },
		{ KW_MIN_LENGTH, OP_MIN_LENGTH, T_STR },
		{ KW_MAX_LENGTH, OP_MAX_LENGTH, T_STR },
	};
	uint64_t limit;

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		if (!d->kw[counts[i].kw])
			continue;
		if (!compile_count(c, d, counts[i].kw, &limit))
			return false;
		fw_schema__emit(d, counts[i].op, counts[i].types, counts[i].kw)->v.limit =
			limit;
	}
	return true;
}

static bool compile_bound(struct fw_schema__compiler *c, struct fw_schema__draft *d,
			  unsigned kw, unsigned kind)
{
	yyjson_val *v = d->kw[kw];
	struct fw_schema__num n;

	if (!v)
		return true;
	if (!yyjson_is_raw(v) || !fw_schema__num_read(yyjson_get_raw(v), yyjson_get_len(v), &n))
		return fw_schema__fail(c, "keyword must be a number", d->node, kw, NULL, 0);
	if (kind == OP_MULTIPLE_OF && (!n.dec.first || n.dec.negative))
		return fw_schema__fail(c, "keyword must be greater than 0", d->node, kw, NULL,
				       0);
	fw_schema__emit(d, kind, T_NUM, kw)->a = c->s->nums.n;
	return fw_schema__push(c, c->s->nums, n);
}

static bool compile_bounds(struct fw_schema__compiler *c, struct fw_schema__draft *d)
{
	unsigned min = OP_MINIMUM, max = OP_MAXIMUM;

	/* Draft 4: a boolean that makes minimum or maximum exclusive. */
	if (yyjson_is_bool(d->kw[KW_EXCLUSIVE_MINIMUM])) {
		if (yyjson_get_bool(d->kw[KW_EXCLUSIVE_MINIMUM]))
			min = OP_EXCLUSIVE_MINIMUM;
		d->kw[KW_EXCLUSIVE_MINIMUM] = NULL;
	}
	if (yyjson_is_bool(d->kw[KW_EXCLUSIVE_MAXIMUM])) {
		if (yyjson_get_bool(d->kw[KW_EXCLUSIVE_MAXIMUM]))
			max = OP_EXCLUSIVE_MAXIMUM;
		d->kw[KW_EXCLUSIVE_MAXIMUM] = NULL;
	}
	return compile_bound(c, d, KW_MINIMUM, min) &&
	       compile_bound(c, d, KW_EXCLUSIVE_MINIMUM, OP_EXCLUSIVE_MINIMUM) &&
	       compile_bound(c, d, KW_MAXIMUM, max) &&
	       compile_bound(c, d, KW_EXCLUSIVE_MAXIMUM, OP_EXCLUSIVE_MAXIMUM) &&
	       compile_bound(c, d, KW_MULTIPLE_OF, OP_MULTIPLE_OF);
}

static bool compile_strings(struct fw_schema__compiler *c, struct fw_schema__draft *d)
{
	const struct fw_schema__resource *res =
		&c->s->resources.at[c->s->nodes.at[d->node].resource];
	yyjson_val *v = d->kw[KW_FORMAT];
	struct fw_schema__op *op;
	uint32_t i;

	if (v && !yyjson_is_str(v))
		return fw_schema__fail(c, "keyword must be a string", d->node, KW_FORMAT, NULL,
				       0);
	if (v && (c->opts.assert_format || (res->vocab & VOCAB_FORMAT_ASSERT))) {
		i = fw_schema__format_find(yyjson_get_str(v), yyjson_get_len(v));
		if (i != FW_SCHEMA__NONE) {
			fw_schema__emit(d, OP_FORMAT, T_STR, KW_FORMAT)->a = i;
			if (!fw_schema__formats[i].check && !fw_schema__regex_init(c))
				return false;
		}
	}
	v = d->kw[KW_PATTERN];
	if (!v)
		return true;
	if (!yyjson_is_str(v))
		return fw_schema__fail(c, "keyword must be a string", d->node, KW_PATTERN, NULL,
				       0);
	i = fw_schema__regex_add(c, yyjson_get_str(v), yyjson_get_len(v), d->node, KW_PATTERN);
	if (i == FW_SCHEMA__NONE)
		return false;
	op = fw_schema__emit(d, OP_PATTERN, T_STR, KW_PATTERN);
	op->a = i;
	op->v.u.b = c->s->vals.n; /* the pattern, for reports */
	return fw_schema__push(c, c->s->vals, v);
}

/* Compiles a list of subschemas into words[], starting at *ret_at. */
static bool compile_list(struct fw_schema__compiler *c, struct fw_schema__draft *d, unsigned kw,
			 uint32_t *ret_at, uint32_t *ret_n)
{
	yyjson_val *list = d->kw[kw], *val;
	uint32_t at = c->s->words.n, n = (uint32_t)yyjson_arr_size(list), node;
	size_t i, max;

	if (!yyjson_is_arr(list))
		return fw_schema__fail(c, "keyword must be an array", d->node, kw, NULL, 0);
	if (!fw_schema__grow(c, &c->s->words, sizeof *c->s->words.at, n))
		return false;
	c->s->words.n += n;
	yyjson_arr_foreach(list, i, max, val)
	{
		node = fw_schema__compile_child(c, d, kw, val, NULL, (uint32_t)i);
		if (node == FW_SCHEMA__NONE)
			return false;
		c->s->words.at[at + i] = node;
	}
	*ret_at = at;
	*ret_n = n;
	return true;
}

static bool compile_array(struct fw_schema__compiler *c, struct fw_schema__draft *d)
{
	unsigned list = KW_PREFIX_ITEMS, rest = KW_ITEMS;
	uint32_t at = 0, n = 0, items = FW_SCHEMA__NONE;
	struct fw_schema__op *op;
	uint64_t min = 1, max = UINT64_MAX;

	if (yyjson_is_arr(d->kw[KW_ITEMS]) && !d->kw[KW_PREFIX_ITEMS]) {
		list = KW_ITEMS;
		rest = KW_ADDITIONAL_ITEMS;
	}
	if (d->kw[list] && !compile_list(c, d, list, &at, &n))
		return false;
	if (d->kw[rest]) {
		items = child_at(c, d, rest);
		if (items == FW_SCHEMA__NONE)
			return false;
	}
	if (d->kw[list] || d->kw[rest]) {
		op = fw_schema__emit(d, OP_ARRAY, T_ARR, rest);
		op->a = at;
		op->v.u.b = n;
		op->v.u.c = items;
	}
	if (d->kw[KW_CONTAINS]) {
		if ((d->kw[KW_MIN_CONTAINS] && !compile_count(c, d, KW_MIN_CONTAINS, &min)) ||
		    (d->kw[KW_MAX_CONTAINS] && !compile_count(c, d, KW_MAX_CONTAINS, &max)))
			return false;
		op = fw_schema__emit(d, OP_CONTAINS, T_ARR, KW_CONTAINS);
		op->flag = d->kw[KW_MIN_CONTAINS] != NULL;
		op->v.u.b = min > UINT32_MAX ? UINT32_MAX : (uint32_t)min;
		op->v.u.c = max > UINT32_MAX ? UINT32_MAX : (uint32_t)max;
		/* `op` stays valid: emit only appends to the draft. */
		op->a = child_at(c, d, KW_CONTAINS);
		if (op->a == FW_SCHEMA__NONE)
			return false;
	}
	if (d->kw[KW_UNIQUE_ITEMS]) {
		if (!yyjson_is_bool(d->kw[KW_UNIQUE_ITEMS]))
			return fw_schema__fail(c, "keyword must be a boolean", d->node,
					       KW_UNIQUE_ITEMS, NULL, 0);
		if (yyjson_get_bool(d->kw[KW_UNIQUE_ITEMS]))
			fw_schema__emit(d, OP_UNIQUE_ITEMS, T_ARR, KW_UNIQUE_ITEMS);
	}
	return true;
}

static bool compile_ref(struct fw_schema__compiler *c, struct fw_schema__draft *d, unsigned kw,
			unsigned kind)
{
	struct fw_schema__pending p = { d->kw[kw], 0, d->node, (uint8_t)kw };

	if (!p.ref)
		return true;
	if (!yyjson_is_str(p.ref))
		return fw_schema__fail(c, "keyword must be a string", d->node, kw, NULL, 0);
	p.op = d->n; /* becomes an index into ops[] when the node is done */
	fw_schema__emit(d, kind, T_ANY, kw)->a = FW_SCHEMA__NONE;
	return fw_schema__push(c, c->pending, p);
}

static bool compile_combinators(struct fw_schema__compiler *c, struct fw_schema__draft *d)
{
	static const uint8_t lists[][2] = { { KW_ALL_OF, OP_ALL_OF },
					    { KW_ANY_OF, OP_ANY_OF },
					    { KW_ONE_OF, OP_ONE_OF } };
	uint32_t node, then, other;
	struct fw_schema__op *op;

	for (size_t i = 0; i < 3; i++) {
		uint32_t at, n;

		if (!d->kw[lists[i][0]])
			continue;
		if (!compile_list(c, d, lists[i][0], &at, &n))
			return false;
		op = fw_schema__emit(d, lists[i][1], T_ANY, lists[i][0]);
		op->a = at;
		op->v.u.b = n;
	}
	if (d->kw[KW_NOT]) {
		node = child_at(c, d, KW_NOT);
		fw_schema__emit(d, OP_NOT, T_ANY, KW_NOT)->a = node;
	}
	/* then and else are compiled even without `if`, because a $ref may point
	 * there. */
	node = child_at(c, d, KW_IF);
	then = child_at(c, d, KW_THEN);
	other = child_at(c, d, KW_ELSE);
	if (d->kw[KW_IF]) {
		op = fw_schema__emit(d, OP_IF, T_ANY, KW_IF);
		op->a = node;
		op->v.u.b = then;
		op->v.u.c = other;
	}
	return !c->failed;
}

/* Subschemas that only references can reach. */
static bool compile_definitions(struct fw_schema__compiler *c, struct fw_schema__draft *d,
				unsigned kw)
{
	yyjson_val *key, *val;
	size_t i, max;

	if (!d->kw[kw])
		return true;
	if (!yyjson_is_obj(d->kw[kw]))
		return fw_schema__fail(c, "keyword must be an object", d->node, kw, NULL, 0);
	yyjson_obj_foreach(
		d->kw[kw], i, max, key,
		val) if (fw_schema__compile_child(c, d, kw, val, key, FW_SCHEMA__NONE) ==
			 FW_SCHEMA__NONE) return false;
	return true;
}

static bool compile_unevaluated(struct fw_schema__compiler *c, struct fw_schema__draft *d)
{
	static const uint8_t both[][3] = {
		{ KW_UNEVALUATED_ITEMS, OP_UNEVALUATED_ITEMS, T_ARR },
		{ KW_UNEVALUATED_PROPERTIES, OP_UNEVALUATED_PROPERTIES, T_OBJ }
	};

	for (size_t i = 0; i < 2; i++) {
		uint32_t node = child_at(c, d, both[i][0]);

		if (node == FW_SCHEMA__NONE)
			continue;
		fw_schema__emit(d, both[i][1], both[i][2], both[i][0])->a = node;
		c->s->nodes.at[d->node].flags |= NODE_UNEVALUATED;
	}
	return !c->failed;
}

static bool compile_keywords(struct fw_schema__compiler *c, struct fw_schema__draft *d,
			     bool only_ref)
{
	if (only_ref) /* draft-07: keywords next to $ref are ignored */
		return compile_ref(c, d, KW_REF, OP_REF) &&
		       compile_definitions(c, d, KW_DEFINITIONS) &&
		       compile_definitions(c, d, KW_DEFS);
	if (d->kw[KW_TYPE] && !compile_type(c, d))
		return false;
	if (d->kw[KW_CONST]) {
		fw_schema__emit(d, OP_CONST, T_ANY, KW_CONST)->a = c->s->vals.n;
		if (!fw_schema__push(c, c->s->vals, d->kw[KW_CONST]))
			return false;
	}
	if (d->kw[KW_ENUM] && !fw_schema__compile_enum(c, d))
		return false;
	if (!compile_counts(c, d) || !compile_bounds(c, d) || !compile_strings(c, d) ||
	    !fw_schema__compile_object(c, d) || !compile_array(c, d) ||
	    !compile_ref(c, d, KW_REF, OP_REF) ||
	    !compile_ref(c, d, KW_DYNAMIC_REF, OP_DYNAMIC_REF) ||
	    !compile_ref(c, d, KW_RECURSIVE_REF, OP_REF) || !compile_combinators(c, d) ||
	    !compile_unevaluated(c, d))
		return false;
	(void)child_at(c, d, KW_CONTENT_SCHEMA);
	return !c->failed && compile_definitions(c, d, KW_DEFS) &&
	       compile_definitions(c, d, KW_DEFINITIONS);
}

/* Moves the ops of the draft into the schema, and updates pending references. */
static bool finish(struct fw_schema__compiler *c, struct fw_schema__draft *d)
{
	fw_schema *s = c->s;
	uint32_t i;

	if (!fw_schema__grow(c, &s->ops, sizeof *s->ops.at, d->n))
		return false;
	for (i = c->pending.n; i-- > 0;)
		if (c->pending.at[i].node == d->node)
			c->pending.at[i].op += s->ops.n;
		else if (c->pending.at[i].node < d->node)
			break;
	s->nodes.at[d->node].ops = s->ops.n;
	s->nodes.at[d->node].n_ops = d->n;
	if (d->n)
		memcpy(s->ops.at + s->ops.n, d->ops, d->n * sizeof *d->ops);
	s->ops.n += d->n;
	return true;
}

static bool fail_spelling(struct fw_schema__compiler *c, uint32_t node, const char *name,
			  size_t len, const char *meant)
{
	char detail[128];

	(void)snprintf(detail, sizeof detail, "\"%.*s\", did you mean \"%s\"?",
		       len < 48 ? (int)len : 48, name, meant);
	return fw_schema__fail(c, "keyword does not exist", node, KW_NONE, detail,
			       strlen(detail));
}

static bool compile_body(struct fw_schema__compiler *c, uint32_t node, yyjson_val *val,
			 uint32_t resource)
{
	struct fw_schema__draft d = { .node = node };
	const struct fw_schema__resource *res;
	yyjson_val *key, *kw;
	size_t i, max;
	bool only_ref;

	if (!fw_schema__add_id(c, &d, val, &resource))
		return false;
	c->s->nodes.at[node].resource = resource;
	res = &c->s->resources.at[resource];
	yyjson_obj_foreach(val, i, max, key, kw)
	{
		const char *name = unsafe_yyjson_get_str(key);
		size_t len = unsafe_yyjson_get_len(key);
		unsigned k = fw_schema__keyword_find(name, len);
		const char *meant = k == KW_COUNT && c->opts.check_spelling
					    ? fw_schema__keyword_meant(name, len)
					    : NULL;

		if (meant)
			return fail_spelling(c, node, name, len, meant);
		if (k < KW_COUNT && res->dialect >= fw_schema__keywords[k].since &&
		    res->dialect <= fw_schema__keywords[k].until &&
		    (fw_schema__keywords[k].vocab & (res->vocab | VOCAB_CORE)))
			d.kw[k] = kw;
	}
	only_ref = d.kw[KW_REF] && res->dialect <= DIALECT_7;
	return fw_schema__add_anchors(c, &d, resource) && compile_keywords(c, &d, only_ref) &&
	       finish(c, &d);
}

uint32_t fw_schema__compile_node(struct fw_schema__compiler *c, yyjson_val *val,
				 const struct fw_schema__place *at, uint32_t resource)
{
	fw_schema *s = c->s;
	struct fw_schema__node n = {
		.resource = resource,
		.types = T_ANY,
		.parent = at->parent,
		.seg_kw = at->kw,
		.seg_index = at->index,
		.seg_key = at->key,
		.seg_len = at->len,
	};
	uint32_t node = fw_schema__map_get(c, val);
	bool ok;

	if (c->failed)
		return FW_SCHEMA__NONE;
	if (node != FW_SCHEMA__NONE)
		return node;
	node = s->nodes.n;
	if (yyjson_is_bool(val)) {
		n.flags = NODE_BOOLEAN;
		if (!yyjson_get_bool(val))
			n.flags |= NODE_FALSE;
	}
	if (!fw_schema__push(c, s->nodes, n))
		return FW_SCHEMA__NONE;
	if (node >= c->opts.max_nodes)
		ok = fw_schema__fail(c, "schema has too many subschemas", node, KW_NONE, NULL,
				     0);
	else if (!map_add(c, val, node))
		ok = false;
	else if (yyjson_is_bool(val))
		ok = true;
	else if (!yyjson_is_obj(val))
		ok = fw_schema__fail(c, "schema must be an object or a boolean", node, KW_NONE,
				     NULL, 0);
	else if (c->depth >= c->opts.max_depth)
		ok = fw_schema__fail(c, "schema is nested too deeply", node, KW_NONE, NULL, 0);
	else {
		c->depth++;
		ok = compile_body(c, node, val, resource);
		c->depth--;
	}
	return ok ? node : FW_SCHEMA__NONE;
}
