/*
 * object.c - compiles the keywords about properties.
 *
 * properties, patternProperties, additionalProperties and required become one op with
 * one table of names. The table has the order of declaration, because most instances
 * have the same order, so the checker's first guess is usually right. A second list,
 * sorted by (length, bytes), is searched by bisection if the guess fails. It is not a
 * hash table, so that no choice of names can make it slow.
 */
#include <stdlib.h>
#include <string.h>

#include "schema/compiler.h"
#include "schema/regex.h"

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct fw_schema__prop *props = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	int d;

	if (props[i].len != props[j].len)
		return props[i].len < props[j].len ? -1 : 1;
	d = memcmp(props[i].key, props[j].key, props[i].len);
	return d ? d : i < j ? -1 : i > j;
}

static bool same_name(const struct fw_schema__prop *a, const struct fw_schema__prop *b)
{
	return a->len == b->len && memcmp(a->key, b->key, a->len) == 0;
}

static bool add_name(struct fw_schema__compiler *c, yyjson_val *key, uint32_t node,
		     uint32_t required)
{
	return fw_schema__push(c, c->s->props,
			       ((struct fw_schema__prop){ unsafe_yyjson_get_str(key),
							  (uint32_t)unsafe_yyjson_get_len(key),
							  node, required }));
}

static bool add_required(struct fw_schema__compiler *c, struct fw_schema__draft *d)
{
	yyjson_val *name;
	size_t i, max;

	if (!d->kw[KW_REQUIRED])
		return true;
	if (!yyjson_is_arr(d->kw[KW_REQUIRED]))
		return fw_schema__fail(c, "keyword must be an array of strings", d->node,
				       KW_REQUIRED, NULL, 0);
	yyjson_arr_foreach(d->kw[KW_REQUIRED], i, max, name)
	{
		if (!yyjson_is_str(name))
			return fw_schema__fail(c, "keyword must be an array of strings",
					       d->node, KW_REQUIRED, NULL, 0);
		if (!add_name(c, name, FW_SCHEMA__NONE, 0))
			return false;
	}
	return true;
}

/* Sorts the names, merges those that came from both keywords and numbers the
 * required ones. An entry that was merged away gets a length that no key has, so
 * that the checker's guess cannot match it. */
static bool index_names(struct fw_schema__compiler *c, struct fw_schema__object *o)
{
	fw_schema *s = c->s;
	struct fw_schema__prop *props = s->props.at + o->props;
	uint32_t *sorted, i, n = 0;

	if (o->n_props == 0)
		return true;
	if (!fw_schema__grow(c, &s->words, sizeof *s->words.at, o->n_props))
		return false;
	sorted = s->words.at + s->words.n;
	for (i = 0; i < o->n_props; i++)
		sorted[i] = i;
	qsort_r(sorted, o->n_props, sizeof *sorted, by_name, props);
	for (i = 0; i < o->n_props; i++) {
		struct fw_schema__prop *p = &props[sorted[i]];
		struct fw_schema__prop *kept = n ? &props[sorted[n - 1]] : NULL;

		if (!kept || !same_name(kept, p)) {
			if (p->required != FW_SCHEMA__NONE)
				p->required = o->n_required++;
			sorted[n++] = sorted[i];
			continue;
		}
		if (p->node != FW_SCHEMA__NONE)
			kept->node = p->node;
		if (p->required != FW_SCHEMA__NONE && kept->required == FW_SCHEMA__NONE)
			kept->required = o->n_required++;
		p->len = UINT32_MAX;
	}
	o->sorted = s->words.n;
	o->n_sorted = n;
	s->words.n += n;
	return true;
}

/* First all names, then the nodes, because the children add names of their own. */
static bool add_properties(struct fw_schema__compiler *c, struct fw_schema__draft *d,
			   struct fw_schema__object *o)
{
	yyjson_val *all = d->kw[KW_PROPERTIES], *key, *val;
	uint32_t node;
	size_t i, max;

	if (all && !yyjson_is_obj(all))
		return fw_schema__fail(c, "keyword must be an object", d->node, KW_PROPERTIES,
				       NULL, 0);
	o->props = c->s->props.n;
	if (all)
		yyjson_obj_foreach(all, i, max, key,
				   val) if (!add_name(c, key, FW_SCHEMA__NONE,
						      FW_SCHEMA__NONE)) return false;
	if (!add_required(c, d))
		return false;
	o->n_props = c->s->props.n - o->props;
	if (!all)
		return index_names(c, o);
	yyjson_obj_foreach(all, i, max, key, val)
	{
		node = fw_schema__compile_child(c, d, KW_PROPERTIES, val, key, FW_SCHEMA__NONE);
		if (node == FW_SCHEMA__NONE)
			return false;
		c->s->props.at[o->props + i].node = node;
	}
	return index_names(c, o);
}

static bool add_patterns(struct fw_schema__compiler *c, struct fw_schema__draft *d,
			 struct fw_schema__object *o)
{
	yyjson_val *all = d->kw[KW_PATTERN_PROPERTIES], *key, *val;
	uint32_t n = (uint32_t)yyjson_obj_size(all), regex, node;
	size_t i, max;

	if (!all)
		return true;
	if (!yyjson_is_obj(all))
		return fw_schema__fail(c, "keyword must be an object", d->node,
				       KW_PATTERN_PROPERTIES, NULL, 0);
	if (!fw_schema__grow(c, &c->s->words, sizeof *c->s->words.at, 2 * n))
		return false;
	o->patterns = c->s->words.n;
	o->n_patterns = n;
	c->s->words.n += 2 * n;
	yyjson_obj_foreach(all, i, max, key, val)
	{
		regex = fw_schema__regex_add(c, unsafe_yyjson_get_str(key),
					     unsafe_yyjson_get_len(key), d->node,
					     KW_PATTERN_PROPERTIES);
		if (regex == FW_SCHEMA__NONE)
			return false;
		node = fw_schema__compile_child(c, d, KW_PATTERN_PROPERTIES, val, key,
						FW_SCHEMA__NONE);
		if (node == FW_SCHEMA__NONE)
			return false;
		c->s->words.at[o->patterns + 2 * i] = regex;
		c->s->words.at[o->patterns + 2 * i + 1] = node;
	}
	return true;
}

/* Adds the names that a property requires, as (key, first, count). */
static bool add_dependent_names(struct fw_schema__compiler *c, struct fw_schema__draft *d,
				unsigned kw, yyjson_val *key, yyjson_val *names, uint32_t at)
{
	uint32_t *word = c->s->words.at + at;
	yyjson_val *name;
	size_t i, max;

	word[0] = c->s->props.n;
	word[1] = c->s->props.n + 1;
	word[2] = (uint32_t)yyjson_arr_size(names);
	if (!add_name(c, key, FW_SCHEMA__NONE, FW_SCHEMA__NONE))
		return false;
	yyjson_arr_foreach(names, i, max, name)
	{
		if (!yyjson_is_str(name))
			return fw_schema__fail(c, "keyword must hold arrays of strings",
					       d->node, kw, NULL, 0);
		if (!add_name(c, name, FW_SCHEMA__NONE, FW_SCHEMA__NONE))
			return false;
	}
	return true;
}

/* dependentRequired, dependentSchemas, and `dependencies`, which combined both. */
static bool add_dependents(struct fw_schema__compiler *c, struct fw_schema__draft *d,
			   unsigned kw)
{
	yyjson_val *all = d->kw[kw], *key, *val;
	uint32_t n = (uint32_t)yyjson_obj_size(all), names, nodes, node;
	uint32_t n_names = 0, n_nodes = 0;
	struct fw_schema__op *op;
	size_t i, max;

	if (!all)
		return true;
	if (!yyjson_is_obj(all))
		return fw_schema__fail(c, "keyword must be an object", d->node, kw, NULL, 0);
	if (!fw_schema__grow(c, &c->s->words, sizeof *c->s->words.at, 5 * n))
		return false;
	names = c->s->words.n;
	nodes = names + 3 * n;
	c->s->words.n += 5 * n;
	yyjson_obj_foreach(all, i, max, key, val)
	{
		if (yyjson_is_arr(val) && kw != KW_DEPENDENT_SCHEMAS) {
			if (!add_dependent_names(c, d, kw, key, val, names + 3 * n_names++))
				return false;
			continue;
		}
		if (kw == KW_DEPENDENT_REQUIRED)
			return fw_schema__fail(c, "keyword must hold arrays of strings",
					       d->node, kw, NULL, 0);
		node = fw_schema__compile_child(c, d, kw, val, key, FW_SCHEMA__NONE);
		if (node == FW_SCHEMA__NONE)
			return false;
		c->s->words.at[nodes + 2 * n_nodes] = c->s->props.n;
		c->s->words.at[nodes + 2 * n_nodes++ + 1] = node;
		if (!add_name(c, key, FW_SCHEMA__NONE, FW_SCHEMA__NONE))
			return false;
	}
	if (n_names) {
		op = fw_schema__emit(d, OP_DEPENDENT_REQUIRED, T_OBJ, kw);
		op->a = names;
		op->v.u.b = n_names;
	}
	if (n_nodes) {
		op = fw_schema__emit(d, OP_DEPENDENT_SCHEMAS, T_OBJ, kw);
		op->a = nodes;
		op->v.u.b = n_nodes;
	}
	return true;
}

bool fw_schema__compile_object(struct fw_schema__compiler *c, struct fw_schema__draft *d)
{
	struct fw_schema__object o = { .additional = FW_SCHEMA__NONE };
	uint32_t node;

	if (d->kw[KW_PROPERTIES] || d->kw[KW_PATTERN_PROPERTIES] ||
	    d->kw[KW_ADDITIONAL_PROPERTIES] || d->kw[KW_REQUIRED]) {
		if (!add_properties(c, d, &o) || !add_patterns(c, d, &o))
			return false;
		if (d->kw[KW_ADDITIONAL_PROPERTIES]) {
			o.additional = fw_schema__compile_child(c, d, KW_ADDITIONAL_PROPERTIES,
								d->kw[KW_ADDITIONAL_PROPERTIES],
								NULL, FW_SCHEMA__NONE);
			if (o.additional == FW_SCHEMA__NONE)
				return false;
		}
		fw_schema__emit(d, OP_OBJECT, T_OBJ, KW_PROPERTIES)->a = c->s->objects.n;
		if (!fw_schema__push(c, c->s->objects, o))
			return false;
	}
	if (d->kw[KW_PROPERTY_NAMES]) {
		node = fw_schema__compile_child(c, d, KW_PROPERTY_NAMES,
						d->kw[KW_PROPERTY_NAMES], NULL,
						FW_SCHEMA__NONE);
		if (node == FW_SCHEMA__NONE)
			return false;
		fw_schema__emit(d, OP_PROPERTY_NAMES, T_OBJ, KW_PROPERTY_NAMES)->a = node;
	}
	return add_dependents(c, d, KW_DEPENDENT_REQUIRED) &&
	       add_dependents(c, d, KW_DEPENDENT_SCHEMAS) &&
	       add_dependents(c, d, KW_DEPENDENCIES);
}
