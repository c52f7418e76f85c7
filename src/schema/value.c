/*
 * value.c - equality of JSON values for const, enum and uniqueItems: numbers are
 * compared by value, objects without regard to order.
 *
 * A peer chooses the values, so nothing may take quadratic time. Large arrays are
 * compared through sorted hashes, large objects through sorted keys. The hash is
 * seeded per schema so that collisions cannot be prepared. Sorting is heapsort in
 * scratch memory, because qsort of libc may allocate.
 */
#include <string.h>

#include "base/hash.h"
#include "schema/compiler.h"
#include "schema/report.h"
#include "schema/value.h"

#define SMALL 16 /* up to this size nested loops are faster */

/* ---- sorting ---- */

static bool key_before(const struct fw_schema__hashed *a, const struct fw_schema__hashed *b)
{
	size_t la, lb;
	int d;

	if (a->hash != b->hash)
		return a->hash < b->hash;
	la = unsafe_yyjson_get_len(a->val);
	lb = unsafe_yyjson_get_len(b->val);
	if (la != lb)
		return la < lb;
	d = memcmp(unsafe_yyjson_get_str(a->val), unsafe_yyjson_get_str(b->val), la);
	return d ? d < 0 : a->val < b->val;
}

static bool hash_before(const struct fw_schema__hashed *a, const struct fw_schema__hashed *b)
{
	return a->hash != b->hash ? a->hash < b->hash : a->val < b->val;
}

typedef bool before_fn(const struct fw_schema__hashed *, const struct fw_schema__hashed *);

static void sift(struct fw_schema__hashed *at, size_t root, size_t n, before_fn *before)
{
	struct fw_schema__hashed x = at[root];
	size_t child;

	while ((child = 2 * root + 1) < n) {
		if (child + 1 < n && before(&at[child], &at[child + 1]))
			child++;
		if (!before(&x, &at[child]))
			break;
		at[root] = at[child];
		root = child;
	}
	at[root] = x;
}

static void sort(struct fw_schema__hashed *at, size_t n, before_fn *before)
{
	size_t i;

	for (i = n / 2; i-- > 0;)
		sift(at, i, n, before);
	for (i = n; i-- > 1;) {
		struct fw_schema__hashed x = at[0];

		at[0] = at[i];
		at[i] = x;
		sift(at, 0, i, before);
	}
}

/* ---- equality ---- */

static bool str_equal(yyjson_val *a, yyjson_val *b)
{
	size_t n = unsafe_yyjson_get_len(a);

	return n == unsafe_yyjson_get_len(b) &&
	       memcmp(unsafe_yyjson_get_str(a), unsafe_yyjson_get_str(b), n) == 0;
}

static bool too_deep(struct fw_schema__run *r, uint32_t depth, const struct fw_schema__at *at)
{
	if (r->depth + depth < r->max_depth)
		return false;
	fw_schema__refuse_limit(r, "nesting", at);
	return true;
}

static bool equal(struct fw_schema__run *r, yyjson_val *a, yyjson_val *b, uint32_t depth,
		  const struct fw_schema__at *at);

static struct fw_schema__hashed *sorted_keys(struct fw_schema__run *r, yyjson_val *obj,
					     const struct fw_schema__at *at)
{
	size_t n = yyjson_obj_size(obj), i, max;
	struct fw_schema__hashed *keys;
	yyjson_val *key, *val;

	keys = fw_schema__scratch(r, n * sizeof *keys, at);
	if (!keys)
		return NULL;
	yyjson_obj_foreach(obj, i, max, key, val)
	{
		keys[i].val = key;
		keys[i].hash = fw_hash(unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key),
				       r->s->seed);
	}
	sort(keys, n, key_before);
	return keys;
}

static bool obj_equal(struct fw_schema__run *r, yyjson_val *a, yyjson_val *b, uint32_t depth,
		      const struct fw_schema__at *at)
{
	size_t n = yyjson_obj_size(a), i, max;
	struct fw_schema__hashed *ka, *kb;
	struct fw_schema__mark mark = fw_schema__mark(r);
	yyjson_val *key, *val;
	bool ok = true;

	if (n != yyjson_obj_size(b))
		return false;
	if (n <= SMALL) {
		yyjson_obj_foreach(a, i, max, key, val)
		{
			yyjson_val *other = yyjson_obj_getn(b, unsafe_yyjson_get_str(key),
							    unsafe_yyjson_get_len(key));

			if (!other || !equal(r, val, other, depth, at))
				return false;
		}
		/* A repeated key in `a` could hide one that only `b` has. */
		yyjson_obj_foreach(b, i, max, key, val)
		{
			if (!yyjson_obj_getn(a, unsafe_yyjson_get_str(key),
					     unsafe_yyjson_get_len(key)))
				return false;
		}
		return true;
	}
	ka = sorted_keys(r, a, at);
	kb = ka ? sorted_keys(r, b, at) : NULL;
	ok = kb != NULL;
	for (i = 0; ok && i < n; i++)
		ok = ka[i].hash == kb[i].hash && str_equal(ka[i].val, kb[i].val);
	for (i = 0; ok && i < n; i++)
		ok = equal(r, unsafe_yyjson_get_next(ka[i].val),
			   unsafe_yyjson_get_next(kb[i].val), depth, at);
	fw_schema__release(r, mark);
	return ok;
}

static bool equal(struct fw_schema__run *r, yyjson_val *a, yyjson_val *b, uint32_t depth,
		  const struct fw_schema__at *at)
{
	yyjson_arr_iter ia, ib;
	bool num_a = yyjson_is_num(a) || yyjson_is_raw(a);
	bool num_b = yyjson_is_num(b) || yyjson_is_raw(b);
	yyjson_val *va, *vb;

	if (num_a || num_b)
		return num_a && num_b && fw_schema__num_equal(a, b);
	if (yyjson_get_type(a) != yyjson_get_type(b))
		return false;
	switch (yyjson_get_type(a)) {
	case YYJSON_TYPE_BOOL: return yyjson_get_bool(a) == yyjson_get_bool(b);
	case YYJSON_TYPE_STR: return str_equal(a, b);
	case YYJSON_TYPE_ARR:
		if (yyjson_arr_size(a) != yyjson_arr_size(b))
			return false;
		if (too_deep(r, depth, at) || !fw_schema__spend(r, yyjson_arr_size(a), at))
			return false;
		yyjson_arr_iter_init(a, &ia);
		yyjson_arr_iter_init(b, &ib);
		while ((va = yyjson_arr_iter_next(&ia))) {
			vb = yyjson_arr_iter_next(&ib);
			if (!equal(r, va, vb, depth + 1, at))
				return false;
		}
		return true;
	case YYJSON_TYPE_OBJ:
		if (too_deep(r, depth, at) || !fw_schema__spend(r, yyjson_obj_size(a), at))
			return false;
		return obj_equal(r, a, b, depth + 1, at);
	default: return true; /* null */
	}
}

bool fw_schema__equal(struct fw_schema__run *r, yyjson_val *a, yyjson_val *b,
		      const struct fw_schema__at *at)
{
	return equal(r, a, b, 0, at);
}

/* ---- hashing, enum, uniqueItems ---- */

/* Returns 0 and ends the run if the value is nested too deeply. */
static uint64_t hash(struct fw_schema__run *r, yyjson_val *v, uint32_t depth,
		     const struct fw_schema__at *at)
{
	uint64_t seed = r->s->seed, h;
	size_t i, max;
	yyjson_val *key, *val;

	switch (yyjson_get_type(v)) {
	case YYJSON_TYPE_BOOL: return seed + 3 + yyjson_get_bool(v);
	case YYJSON_TYPE_STR:
		return fw_hash(unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v), seed);
	case YYJSON_TYPE_NUM:
	case YYJSON_TYPE_RAW: return fw_schema__num_hash(v, seed);
	case YYJSON_TYPE_ARR:
		if (too_deep(r, depth, at) || !fw_schema__spend(r, yyjson_arr_size(v), at))
			return 0;
		h = seed + 5;
		yyjson_arr_foreach(v, i, max, val)
		{
			if (r->stop)
				return 0;
			h = fw_hash_mix(h ^ 0x589965cc75374cc3u,
					hash(r, val, depth + 1, at) ^ (seed + i));
		}
		return h;
	case YYJSON_TYPE_OBJ:
		if (too_deep(r, depth, at) || !fw_schema__spend(r, yyjson_obj_size(v), at))
			return 0;
		h = seed + 6;
		yyjson_obj_foreach(v, i, max, key, val)
		{
			if (r->stop)
				return 0;
			/* A sum, because the order of keys does not matter. */
			h += fw_hash_mix(hash(r, key, depth + 1, at) ^ seed,
					 hash(r, val, depth + 1, at) | 1);
		}
		return h;
	default: return seed + 7;
	}
}

bool fw_schema__in_enum(struct fw_schema__run *r, const struct fw_schema__enum *e,
			const struct fw_schema__at *at)
{
	const fw_schema *s = r->s;
	yyjson_val *v = at->v;
	uint32_t lo = 0, hi = e->n_hashed, i;
	int64_t number;

	if (hi && (yyjson_is_str(v) ||
		   ((yyjson_is_num(v) || yyjson_is_raw(v)) && fw_schema__as_int(v, &number)))) {
		const struct fw_schema__hashed *at_h = s->hashes.at + e->hashed;
		uint64_t h = hash(r, v, 0, at);

		while (lo < hi) {
			uint32_t mid = lo + (hi - lo) / 2;

			if (at_h[mid].hash < h)
				lo = mid + 1;
			else
				hi = mid;
		}
		for (; lo < e->n_hashed && at_h[lo].hash == h; lo++)
			if (equal(r, v, at_h[lo].val, 0, at))
				return true;
		return false;
	}
	if (!fw_schema__spend(r, e->n_rest / 8, at))
		return false;
	for (i = 0; i < e->n_rest && !r->stop; i++)
		if (equal(r, v, s->vals.at[e->rest + i], 0, at))
			return true;
	return false;
}

static bool unique_small(struct fw_schema__run *r, const struct fw_schema__at *at, size_t n,
			 size_t *ret_first, size_t *ret_second)
{
	yyjson_val *v[SMALL];
	size_t i, j, max;
	yyjson_val *val;

	yyjson_arr_foreach(at->v, i, max, val) v[i] = val;
	for (i = 1; i < n; i++) {
		for (j = 0; j < i; j++) {
			if (r->stop || equal(r, v[i], v[j], 0, at)) {
				*ret_first = j;
				*ret_second = i;
				return false;
			}
		}
	}
	return true;
}

static size_t index_of(yyjson_val *arr, yyjson_val *item)
{
	size_t i, max;
	yyjson_val *val;

	yyjson_arr_foreach(arr, i, max, val) if (val == item) return i;
	return 0;
}

bool fw_schema__unique(struct fw_schema__run *r, const struct fw_schema__at *at,
		       size_t *ret_first, size_t *ret_second)
{
	size_t n = yyjson_arr_size(at->v), i, j, max;
	struct fw_schema__mark mark = fw_schema__mark(r);
	struct fw_schema__hashed *h;
	yyjson_val *val;
	bool ok = true;

	*ret_first = *ret_second = 0;
	if (n <= SMALL)
		return unique_small(r, at, n, ret_first, ret_second);
	if (!fw_schema__spend(r, n, at))
		return false;
	h = fw_schema__scratch(r, n * sizeof *h, at);
	if (!h)
		return false;
	yyjson_arr_foreach(at->v, i, max, val)
	{
		h[i].val = val;
		h[i].hash = hash(r, val, 0, at);
		if (r->stop) {
			fw_schema__release(r, mark);
			return false;
		}
	}
	sort(h, n, hash_before);
	for (i = 1; ok && i < n; i++) {
		for (j = i; ok && j-- > 0 && h[j].hash == h[i].hash;) {
			if (!equal(r, h[i].val, h[j].val, 0, at)) {
				/* Comparing values with the same hash counts as
				 * work. */
				ok = !r->stop && fw_schema__spend(r, 1, at);
				continue;
			}
			*ret_first = index_of(at->v, h[j].val);
			*ret_second = index_of(at->v, h[i].val);
			ok = false;
		}
	}
	fw_schema__release(r, mark);
	return ok;
}

/* Compiles an enum: strings and plain integers go into a table sorted by hash;
 * other values are compared one by one. */
bool fw_schema__compile_enum(struct fw_schema__compiler *c, struct fw_schema__draft *d)
{
	fw_schema *s = c->s;
	struct fw_schema__run r = { .s = s, .max_depth = 1, .steps_left = 1 };
	struct fw_schema__enum e = { .array = d->kw[KW_ENUM] };
	struct fw_schema__op *op;
	yyjson_val *val;
	size_t i, max;
	int64_t number;

	if (!yyjson_is_arr(e.array))
		return fw_schema__fail(c, "keyword must be an array", d->node, KW_ENUM, NULL,
				       0);
	e.hashed = s->hashes.n;
	e.rest = s->vals.n;
	yyjson_arr_foreach(e.array, i, max, val)
	{
		bool quick = yyjson_is_str(val) ||
			     (yyjson_is_raw(val) && fw_schema__as_int(val, &number));

		if (quick ? !fw_schema__push(
				    c, s->hashes,
				    ((struct fw_schema__hashed){ hash(&r, val, 0, NULL), val }))
			  : !fw_schema__push(c, s->vals, val))
			return false;
	}
	e.n_hashed = s->hashes.n - e.hashed;
	e.n_rest = s->vals.n - e.rest;
	if (e.n_hashed)
		sort(s->hashes.at + e.hashed, e.n_hashed, hash_before);
	op = fw_schema__emit(d, OP_ENUM, T_ANY, KW_ENUM);
	op->a = s->enums.n;
	return fw_schema__push(c, s->enums, e);
}
