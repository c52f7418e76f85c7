/*
 * value.c - see value.h.
 *
 * The walk is recursive; the depth limit bounds the stack. The path to the current
 * value is a list of stack frames, formatted only if there is a fault.
 */
#include "core/value.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "core/redact.h"

#include <faultwire/raise.h>
#include <math.h>
#include <stdlib.h>

struct step {
	const struct step *up;
	yyjson_val *key; /* NULL: an element of an array */
	size_t index;
	unsigned depth;
};

struct walk {
	struct fw_out *out;
	struct fw_value_options options;
	struct fw_value_where *where;
};

yyjson_doc *fw_value_parse(const char *text, size_t len)
{
	/* Code that walks the value checks the depth, without recursion. */
	const struct fw_json_limits limits = { .bytes = FW_LIMIT_JSON_BYTES };

	return fw_json_read(text, len, limits, YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
}

void fw_value_pointer_put(struct fw_out *out, const char *name, size_t len)
{
	FW_OUT(out, "/");
	for (const char *c = name; c < name + len; c++) {
		if (*c == '~')
			FW_OUT(out, "~0");
		else if (*c == '/')
			FW_OUT(out, "~1");
		else
			fw_out_put(out, c, 1);
	}
}

/* The text is bounded, because a peer chooses the length of keys. */
static void render_pointer(const struct step *step, struct fw_out *out)
{
	if (!step->up)
		return;
	render_pointer(step->up, out);
	if (step->key) {
		fw_value_pointer_put(out, yyjson_get_str(step->key), yyjson_get_len(step->key));
	} else {
		FW_OUT(out, "/");
		fw_out_u64(out, step->index);
	}
}

static enum fw_value_fault fail(struct walk *walk, const struct step *step,
				enum fw_value_fault fault)
{
	struct fw_out out;
	char *text;

	if (!walk->where)
		return fault;
	text = walk->where->pointer;
	fw_out_init(&out, text, sizeof(walk->where->pointer));
	render_pointer(step, &out);
	if (fw_out_finish(&out, sizeof(walk->where->pointer)) >= sizeof(walk->where->pointer)) {
		size_t cut = sizeof(walk->where->pointer) - 4;

		while (cut > 0 && ((unsigned char)text[cut] & 0xc0) == 0x80)
			cut--;
		memcpy(text + cut, "...", 4);
	}
	return fault;
}

static void write_text(struct walk *walk, const char *text, size_t len)
{
	char small[1024];
	char *copy = small;
	size_t need;

	if (!walk->options.redact || fw_redact_find(text, len) == len) {
		fw_out_json(walk->out, text, len);
		return;
	}
	need = fw_redact_copy(small, sizeof(small), text, len);
	if (need >= sizeof(small)) {
		copy = fw__allocate(need + 1);
		if (!copy) {
			/* If memory runs out, the text is dropped rather than shown
			 * with its secrets. */
			FW_OUT(walk->out, "\"[redacted]\"");
			return;
		}
		(void)fw_redact_copy(copy, need + 1, text, len);
	}
	fw_out_json(walk->out, copy, need);
	if (copy != small)
		fw__release(copy);
}

static int compare_keys(yyjson_val *a, yyjson_val *b)
{
	size_t len_a = yyjson_get_len(a), len_b = yyjson_get_len(b);
	int order = memcmp(yyjson_get_str(a), yyjson_get_str(b), len_a < len_b ? len_a : len_b);

	if (order)
		return order;
	return len_a < len_b ? -1 : len_a > len_b;
}

static int compare_slots(const void *a, const void *b)
{
	return compare_keys(*(yyjson_val *const *)a, *(yyjson_val *const *)b);
}

enum { SMALL_OBJECT = 16 };

/* Whether the keys differ in length, first or last byte already, as those of most small
 * objects do: a bit for each combination, some of which share one. */
static bool have_different_ends(yyjson_val *object)
{
	yyjson_val *key = unsafe_yyjson_get_first(object);
	uint64_t seen = 0;

	for (size_t left = yyjson_obj_size(object); left; left--) {
		uint64_t bit = fw_value_key_bit(key);

		if (seen & bit)
			return false;
		seen |= bit;
		key = unsafe_yyjson_get_next(key + 1);
	}
	return true;
}

/* A duplicate key, or NULL. `keys` has room for all keys, which are sorted on
 * return; it may be NULL for a small object. */
static yyjson_val *find_twice(yyjson_val *object, yyjson_val **keys)
{
	size_t count = yyjson_obj_size(object);
	yyjson_val *key = unsafe_yyjson_get_first(object);

	if (!keys) {
		if (have_different_ends(object))
			return NULL;
		for (size_t i = 0; i < count; i++) {
			yyjson_val *other = unsafe_yyjson_get_first(object);

			for (; other != key; other = unsafe_yyjson_get_next(other + 1))
				if (yyjson_get_len(other) == yyjson_get_len(key) &&
				    compare_keys(other, key) == 0)
					return key;
			key = unsafe_yyjson_get_next(key + 1);
		}
		return NULL;
	}
	for (size_t i = 0; i < count; i++, key = unsafe_yyjson_get_next(key + 1))
		keys[i] = key;
	qsort(keys, count, sizeof(*keys), compare_slots);
	for (size_t i = 1; i < count; i++)
		if (compare_keys(keys[i - 1], keys[i]) == 0)
			return keys[i];
	return NULL;
}

static enum fw_value_fault write_value(struct walk *walk, const struct step *step,
				       yyjson_val *value);

bool fw_value_is_secret_member(yyjson_val *key, yyjson_val *value)
{
	const char *name = yyjson_get_str(key);
	size_t len = yyjson_get_len(key);

	if (yyjson_is_null(value))
		return false;
	if (!yyjson_is_str(value) && !yyjson_is_raw(value))
		return fw_redact_key_is_secret(name, len);
	return fw_redact_member_is_secret(
		name, len, yyjson_is_raw(value) ? yyjson_get_raw(value) : yyjson_get_str(value),
		yyjson_get_len(value));
}

static enum fw_value_fault write_member(struct walk *walk, const struct step *step,
					yyjson_val *key)
{
	struct step child = { .up = step, .key = key, .depth = step->depth + 1 };
	yyjson_val *value = key + 1;

	fw_out_json(walk->out, yyjson_get_str(key), yyjson_get_len(key));
	FW_OUT(walk->out, ":");
	if (walk->options.redact && fw_value_is_secret_member(key, value)) {
		FW_OUT(walk->out, "\"[redacted]\"");
		return FW_VALUE_OK;
	}
	return write_value(walk, &child, value);
}

static bool is_hidden_key(const struct walk *walk, yyjson_val *key)
{
	return walk->options.redact &&
	       fw_redact_key_holds_secret(yyjson_get_str(key), yyjson_get_len(key));
}

static enum fw_value_fault write_members(struct walk *walk, const struct step *step,
					 yyjson_val *object, yyjson_val **sorted)
{
	size_t count = yyjson_obj_size(object);
	yyjson_val *key = unsafe_yyjson_get_first(object);
	bool is_first = true, has_hidden = false;

	FW_OUT(walk->out, "{");
	for (size_t i = 0; i < count; i++, key = unsafe_yyjson_get_next(key + 1)) {
		yyjson_val *at = sorted ? sorted[i] : key;
		bool is_hidden = is_hidden_key(walk, at);
		enum fw_value_fault fault = FW_VALUE_OK;

		/* Do not write the same key twice. */
		if (is_hidden && (has_hidden || yyjson_obj_get(object, FW_REDACTED)))
			continue;
		if (!is_first)
			FW_OUT(walk->out, ",");
		is_first = false;
		has_hidden |= is_hidden;
		if (is_hidden)
			FW_OUT(walk->out, "\"" FW_REDACTED "\":\"" FW_REDACTED "\"");
		else
			fault = write_member(walk, step, at);
		if (fault)
			return fault;
	}
	FW_OUT(walk->out, "}");
	return FW_VALUE_OK;
}

static enum fw_value_fault write_object(struct walk *walk, const struct step *step,
					yyjson_val *object)
{
	size_t count = yyjson_obj_size(object);
	yyjson_val **keys = NULL, *twice;
	enum fw_value_fault fault;

	if (count > SMALL_OBJECT || (count > 1 && walk->options.sort_keys)) {
		keys = fw__allocate(count * sizeof(*keys));
		if (!keys)
			return fail(walk, step, FW_VALUE_NO_MEMORY);
	}
	twice = find_twice(object, keys);
	if (twice) {
		struct step child = { .up = step, .key = twice };

		fault = fail(walk, &child, FW_VALUE_DUPLICATE_KEY);
	} else {
		fault = write_members(walk, step, object,
				      walk->options.sort_keys ? keys : NULL);
	}
	fw__release(keys);
	return fault;
}

enum fw_value_fault fw_value_check_keys(yyjson_val *object, struct fw_value_where *ret_where)
{
	struct walk walk = { .where = ret_where };
	struct step root = { .up = NULL }, child = { .up = &root };
	yyjson_val **keys = NULL;

	if (yyjson_obj_size(object) > SMALL_OBJECT) {
		keys = fw__allocate(yyjson_obj_size(object) * sizeof(*keys));
		if (!keys)
			return fail(&walk, &root, FW_VALUE_NO_MEMORY);
	}
	child.key = find_twice(object, keys);
	fw__release(keys);
	return child.key ? fail(&walk, &child, FW_VALUE_DUPLICATE_KEY) : FW_VALUE_OK;
}

static enum fw_value_fault write_array(struct walk *walk, const struct step *step,
				       yyjson_val *array)
{
	struct step child = { .up = step, .depth = step->depth + 1 };
	size_t index, max;
	yyjson_val *element;

	FW_OUT(walk->out, "[");
	yyjson_arr_foreach(array, index, max, element)
	{
		enum fw_value_fault fault;

		child.index = index;
		if (index)
			FW_OUT(walk->out, ",");
		fault = write_value(walk, &child, element);
		if (fault)
			return fault;
	}
	FW_OUT(walk->out, "]");
	return FW_VALUE_OK;
}

static enum fw_value_fault write_value(struct walk *walk, const struct step *step,
				       yyjson_val *value)
{
	switch (yyjson_get_type(value)) {
	case YYJSON_TYPE_OBJ:
		if (step->depth >= FW_LIMIT_JSON_DEPTH)
			return fail(walk, step, FW_VALUE_TOO_DEEP);
		return write_object(walk, step, value);
	case YYJSON_TYPE_ARR:
		if (step->depth >= FW_LIMIT_JSON_DEPTH)
			return fail(walk, step, FW_VALUE_TOO_DEEP);
		return write_array(walk, step, value);
	case YYJSON_TYPE_STR:
		write_text(walk, yyjson_get_str(value), yyjson_get_len(value));
		break;
	case YYJSON_TYPE_RAW:
		fw_out_put(walk->out, yyjson_get_raw(value), yyjson_get_len(value));
		break;
	case YYJSON_TYPE_BOOL: fw_out_bool(walk->out, yyjson_get_bool(value)); break;
	case YYJSON_TYPE_NUM:
		if (yyjson_is_uint(value))
			fw_out_u64(walk->out, yyjson_get_uint(value));
		else if (yyjson_is_sint(value))
			fw_out_i64(walk->out, yyjson_get_sint(value));
		else
			fw_out_f64(walk->out, yyjson_get_real(value));
		break;
	default: FW_OUT(walk->out, "null"); break;
	}
	return FW_VALUE_OK;
}

enum fw_value_fault fw_value_write(struct fw_out *out, yyjson_val *value,
				   const struct fw_value_options *options,
				   struct fw_value_where *ret_where)
{
	static const struct fw_value_options none;
	struct walk walk = { out, options ? *options : none, ret_where };
	struct step root = { .up = NULL };

	return write_value(&walk, &root, value);
}

/* ---- slices ---- */

/* Whether `value` has no secret that must be hidden. The depth is known to be small. */
static bool is_harmless(yyjson_val *value)
{
	size_t index, max;
	yyjson_val *key, *child;

	switch (yyjson_get_type(value)) {
	case YYJSON_TYPE_OBJ:
		yyjson_obj_foreach(value, index, max, key, child)
		{
			if (fw_redact_key_holds_secret(yyjson_get_str(key),
						       yyjson_get_len(key)) ||
			    fw_value_is_secret_member(key, child) || !is_harmless(child))
				return false;
		}
		return true;
	case YYJSON_TYPE_ARR:
		yyjson_arr_foreach(value, index, max, child)
		{
			if (!is_harmless(child))
				return false;
		}
		return true;
	case YYJSON_TYPE_STR:
		return fw_redact_find(yyjson_get_str(value), yyjson_get_len(value)) ==
		       yyjson_get_len(value);
	default: return true;
	}
}

/* Whether the objects among some cells have no key twice. */
static bool have_single_keys(yyjson_val *cell, const yyjson_val *end)
{
	for (; cell < end; cell++)
		if (unsafe_yyjson_get_type(cell) == YYJSON_TYPE_OBJ &&
		    (unsafe_yyjson_get_len(cell) > SMALL_OBJECT || find_twice(cell, NULL)))
			return false;
	return true;
}

/* An escape may be written in another way than it was read. */
static bool take_slice(const struct fw_value_source *source, size_t begin, size_t end,
		       struct fw_text *ret_text)
{
	if (memchr(source->text + begin, '\\', end - begin))
		return false;
	*ret_text = (struct fw_text){ source->text + begin, end - begin };
	return true;
}

bool fw_value_slice(const struct fw_value_source *source, yyjson_val *value, bool redact,
		    struct fw_text *ret_text)
{
	const struct fw_json_span *span;

	if (!source || !yyjson_is_ctn(value) || source->json->depth > FW_LIMIT_JSON_DEPTH ||
	    !have_single_keys(value, unsafe_yyjson_get_next(value)) ||
	    (redact && !is_harmless(value)))
		return false;
	span = &source->json->spans[value - source->json->cells];
	return take_slice(source, span->begin, span->end, ret_text);
}

bool fw_value_is_written(const char *text, size_t len, bool redact)
{
	char copy[FW_VALUE_SMALL + FW_JSON_COMPACT_PADDING];
	yyjson_val cells[FW_VALUE_SMALL / 2 + 1];
	struct fw_json_span spans[FW_VALUE_SMALL / 2 + 1];
	struct fw_json_compact json = { cells, spans, FW_VALUE_SMALL / 2 + 1, 0 };
	const struct fw_value_source source = { text, copy, &json };
	struct fw_text slice;

	if (len == 0 || len > FW_VALUE_SMALL)
		return false;
	memcpy(copy, text, len);
	memset(copy + len, 0, FW_JSON_COMPACT_PADDING);
	return fw_json_compact_read(copy, len, &json) &&
	       fw_value_slice(&source, cells, redact, &slice) && slice.n == len;
}

bool fw_value_slice_members(const struct fw_value_source *source, yyjson_val *object,
			    size_t count, bool redact, struct fw_text *ret_text)
{
	yyjson_val *key;
	size_t begin, end;
	bool has_inner = false;

	if (!source || source->json->depth > FW_LIMIT_JSON_DEPTH || count == 0 ||
	    count >= yyjson_obj_size(object))
		return false;
	key = unsafe_yyjson_get_first(object);
	begin = (size_t)(yyjson_get_str(key) - 1 - source->copy);
	for (size_t i = 0; i < count; i++) {
		if (redact && !is_harmless(key + 1))
			return false;
		has_inner |= unsafe_yyjson_is_ctn(key + 1);
		key = unsafe_yyjson_get_next(key + 1);
	}
	/* A comma and a quote are before the next key. */
	end = (size_t)(yyjson_get_str(key) - 2 - source->copy);
	return (!has_inner || have_single_keys(unsafe_yyjson_get_first(object), key)) &&
	       take_slice(source, begin, end, ret_text);
}

fw_error *fw_value_error(fw_src at, enum fw_value_fault fault, const char *what,
			 const char *pointer)
{
	switch (fault) {
	case FW_VALUE_OK: return NULL;
	case FW_VALUE_TOO_DEEP:
		return fw_raise_input_too_deep_at(at, what, FW_LIMIT_JSON_DEPTH);
	case FW_VALUE_NO_MEMORY: return fw_raise_internal_out_of_memory_at(at);
	case FW_VALUE_DUPLICATE_KEY: break;
	}
	return fw_raise_contract_malformed_at(at, what, pointer, NULL, "key is there twice");
}

double fw_value_text_number(const char *text, size_t len)
{
	char copy[64];
	yyjson_val number;

	if (len >= sizeof(copy))
		return NAN;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (yyjson_read_number(copy, &number, YYJSON_READ_NOFLAG, NULL, NULL) != copy + len)
		return NAN;
	return yyjson_get_num(&number);
}

/* Digits alone, and so few that they are exact: nearly every number. */
static bool read_digits(const char *text, size_t len, double *ret_number)
{
	int64_t number = 0;

	if (len == 0 || len > 15)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		number = number * 10 + (text[i] - '0');
	}
	*ret_number = (double)number;
	return true;
}

bool fw_value_number(yyjson_val *value, double *ret_number)
{
	double number = NAN;

	if (yyjson_is_raw(value) &&
	    read_digits(yyjson_get_raw(value), yyjson_get_len(value), ret_number))
		return true;
	if (yyjson_is_num(value))
		number = yyjson_get_num(value);
	else if (yyjson_is_raw(value))
		number = fw_value_text_number(yyjson_get_raw(value), yyjson_get_len(value));
	if (isnan(number))
		return false;
	*ret_number = number;
	return true;
}
