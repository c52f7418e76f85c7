/*
 * error.c - memory of an error, and raising one. error_impl.h describes the struct,
 * error_set.c has the setters, error_cause.c the causes, error_read.c the getters.
 *
 * Nothing here can fail. If memory runs out, a raise returns the static out-of-memory
 * error, and other additions are dropped.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "base/out.h"
#include "base/utf8.h"
#include "core/error_impl.h"
#include "core/redact.h"
#include "core/registry_table.h"
#include "core/value.h"

#include <faultwire/raise.h>
#include <stdatomic.h>
#include <string.h>

enum {
	CHUNK_MIN = 1024,
	ALIGN = _Alignof(max_align_t),
};

struct fw_chunk {
	struct fw_chunk *next;
};

const fw_error fw__out_of_memory = {
	.message = { "out of memory", 13 },
	.at = { __FILE__, "fw_raise_row", __LINE__ },
	.retry_after = -1,
	.status = 500,
	.retry = FW_RETRY_NEVER,
	.origin = FW_ORIGIN_SERVER,
};

static atomic_long live;

long fw_error_live(void)
{
	return atomic_load(&live);
}

/* ---- memory ---- */

fw_error *fw__error_blank(size_t room)
{
	fw_error *err;

	if (room < FW_ERROR_ROOM_LEAST)
		room = FW_ERROR_ROOM_LEAST;
	err = fw__allocate(sizeof(*err) + room);
	if (!err)
		return (fw_error *)&fw__out_of_memory;
	fw__zero(err, sizeof(*err));
	err->retry_after = -1;
	err->room = (char *)(err + 1);
	err->room_end = err->room + room;
	atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
	return err;
}

fw_error *fw__error_new(fw_src at, const fw_row *row, size_t room)
{
	fw_error *err = fw__error_blank(room);

	if (fw__error_is_mine(err)) {
		err->at = at;
		fw__error_set_row(err, row);
	}
	return err;
}

void fw_error_free(fw_error *err)
{
	struct fw_chunk *chunk, *next;

	if (!fw__error_is_mine(err))
		return;
	for (chunk = err->chunks; chunk; chunk = next) {
		next = chunk->next;
		fw__release(chunk);
	}
	fw__release(err);
	atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
}

/* Makes sure that there are `size` contiguous bytes; the rest of the old chunk is
 * wasted. */
static bool ensure_room(fw_error *err, size_t size)
{
	struct fw_chunk *chunk;

	if ((size_t)(err->room_end - err->room) >= size)
		return true;
	if (size < CHUNK_MIN)
		size = CHUNK_MIN;
	chunk = fw__allocate(sizeof(*chunk) + ALIGN + size);
	if (!chunk)
		return false;
	chunk->next = err->chunks;
	err->chunks = chunk;
	err->room = (char *)(chunk + 1);
	err->room_end = err->room + size + ALIGN;
	return true;
}

void *fw__error_take(fw_error *err, size_t size)
{
	size_t gap;

	if (!ensure_room(err, size + ALIGN))
		return NULL;
	gap = (size_t)(-(uintptr_t)err->room % ALIGN);
	err->room += gap + size;
	return err->room - size;
}

bool fw__error_room(fw_error *err, size_t size, size_t *ret_room)
{
	if (!ensure_room(err, size))
		return false;
	*ret_room = (size_t)(err->room_end - err->room);
	return true;
}

struct fw_text fw__error_keep(fw_error *err, size_t len)
{
	struct fw_text text = { err->room, len };

	err->room[len] = '\0';
	err->room += len + 1;
	return text;
}

struct fw_text fw__error_copy(fw_error *err, const char *text, size_t len)
{
	if (!ensure_room(err, len + 1))
		return (struct fw_text){ NULL, 0 };
	memcpy(err->room, text, len);
	return fw__error_keep(err, len);
}

bool fw__error_keeps_secrets(const fw_error *err)
{
	return err->keep_secrets;
}

struct fw_text fw__error_copy_safe(fw_error *err, const char *text, size_t len)
{
	size_t need;

	if (err->keep_secrets || fw_redact_find(text, len) == len)
		return fw__error_copy(err, text, len);
	need = fw_redact_copy(NULL, 0, text, len);
	if (!ensure_room(err, need + 1))
		return (struct fw_text){ NULL, 0 };
	(void)fw_redact_copy(err->room, need + 1, text, len);
	return fw__error_keep(err, need);
}

/* Made UTF-8, redacted, then cut. */
static struct fw_text copy_long(fw_error *err, const char *text, size_t len)
{
	size_t most = FW_LIMIT_TEXT_BYTES + FW_LIMIT_REDACT_AHEAD_BYTES;
	char *room;

	if (len > most)
		len = most;
	most = fw_utf8_repair(NULL, 0, text, len);
	room = fw__allocate(most + 1);
	if (!room || !ensure_room(err, FW_LIMIT_TEXT_BYTES + 1)) {
		fw__release(room);
		return (struct fw_text){ NULL, 0 };
	}
	(void)fw_utf8_repair(room, most, text, len);
	if (err->keep_secrets) {
		len = fw_utf8_cut(room, most, FW_LIMIT_TEXT_BYTES);
		memcpy(err->room, room, len);
	} else {
		len = fw_redact_cut(err->room, FW_LIMIT_TEXT_BYTES + 1, room, most);
	}
	fw__release(room);
	return fw__error_keep(err, len);
}

struct fw_text fw__error_copy_given(fw_error *err, const char *text, size_t len,
				    bool *ret_is_plain)
{
	struct fw_text repaired;
	size_t need;

	*ret_is_plain = false;
	if (len > FW_LIMIT_TEXT_BYTES)
		return copy_long(err, text, len);
	/* Plain ASCII is UTF-8. */
	if (fw_out_is_plain(text, len)) {
		if (!err->keep_secrets && fw_redact_find(text, len) != len)
			return fw__error_copy_safe(err, text, len);
		*ret_is_plain = true;
		return fw__error_copy(err, text, len);
	}
	if (fw_utf8_valid(text, len) == len)
		return fw__error_copy_safe(err, text, len);
	need = fw_utf8_repair(NULL, 0, text, len);
	if (!ensure_room(err, need + 1))
		return (struct fw_text){ NULL, 0 };
	(void)fw_utf8_repair(err->room, need, text, len);
	repaired = fw__error_keep(err, need);
	return fw__error_copy_safe(err, repaired.p, repaired.n);
}

struct fw_text fw__error_copy_any(fw_error *err, const char *text, size_t len)
{
	bool is_plain;

	return fw__error_copy_given(err, text, len, &is_plain);
}

struct fw_text fw__error_copy_value(fw_error *err, yyjson_val *value,
				    const struct fw_value_source *source,
				    enum fw_value_fault *ret_fault,
				    struct fw_value_where *ret_where)
{
	const struct fw_value_options options = { .redact = !err->keep_secrets };
	size_t room, need = 0;
	struct fw_out out;
	struct fw_text slice;

	if (fw_value_slice(source, value, options.redact, &slice)) {
		slice = fw__error_copy(err, slice.p, slice.n);
		*ret_fault = slice.p ? FW_VALUE_OK : FW_VALUE_NO_MEMORY;
		return slice;
	}
	/* It nearly always fits; otherwise the first attempt returns the length
	 * needed. */
	for (;;) {
		if (!fw__error_room(err, need + 1, &room)) {
			*ret_fault = FW_VALUE_NO_MEMORY;
			return (struct fw_text){ NULL, 0 };
		}
		fw_out_init(&out, err->room, room);
		*ret_fault = fw_value_write(&out, value, &options, ret_where);
		need = fw_out_finish(&out, room);
		if (*ret_fault != FW_VALUE_OK)
			return (struct fw_text){ NULL, 0 };
		if (need < room)
			return fw__error_keep(err, need);
	}
}

struct fw_text fw__error_join(fw_error *err, struct fw_text first, struct fw_text second)
{
	size_t len = first.n + 2 + second.n;
	struct fw_text joined, safe;

	if (len > FW_LIMIT_TEXT_BYTES || !ensure_room(err, len + 1))
		return second;
	memcpy(err->room, first.p, first.n);
	memcpy(err->room + first.n, ": ", 2);
	memcpy(err->room + first.n + 2, second.p, second.n);
	joined = fw__error_keep(err, len);
	/* Two harmless parts can be a secret together: "password" and "hunter2". */
	safe = fw_redact_find(joined.p, joined.n) == joined.n
		       ? joined
		       : fw__error_copy_safe(err, joined.p, joined.n);
	return safe.p ? safe : second;
}

/* ---- raising ---- */

static const fw_field *find_field(const fw_field *fields, size_t count, const char *name,
				  size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (fields[i].key_len == len && memcmp(fields[i].key, name, len) == 0)
			return &fields[i];
	return NULL;
}

static void render_field(struct fw_out *out, const fw_field *field)
{
	switch (field->type) {
	case FW_FIELD_STRING:
	case FW_FIELD_JSON: fw_out_put(out, field->string, field->string_len); break;
	case FW_FIELD_I64: fw_out_i64(out, field->i64); break;
	case FW_FIELD_U64: fw_out_u64(out, field->u64); break;
	case FW_FIELD_F64: fw_out_f64(out, field->f64); break;
	case FW_FIELD_BOOL: fw_out_bool(out, field->boolean); break;
	}
}

/* Renders the template. Omitted optional parameters leave no trace. */
static size_t render_message(char *buf, size_t cap, const char *template,
			     const fw_field *fields, size_t count)
{
	struct fw_out out;

	fw_out_init(&out, buf, cap);
	for (;;) {
		const char *open = strchrnul(template, '{'), *close;
		const fw_field *field;

		fw_out_put(&out, template, (size_t)(open - template));
		if (!*open)
			break;
		close = strchrnul(open, '}');
		field = find_field(fields, count, open + 1, (size_t)(close - open - 1));
		if (field)
			render_field(&out, field);
		template = *close ? close + 1 : close;
	}
	return fw_out_finish(&out, cap);
}

void fw__error_set_message(fw_error *err, const char *text, size_t len)
{
	bool is_plain;

	err->message = fw__error_copy_given(err, text, len, &is_plain);
	err->plain &= ~FW_PLAIN_MESSAGE;
	if (!err->message.p)
		err->message = (struct fw_text){ err->row->title, strlen(err->row->title) };
	else if (is_plain)
		err->plain |= FW_PLAIN_MESSAGE;
}

/* The text that is the whole message, if the template is "{name}"; NULL: it is not. */
static const fw_field *find_whole_message(const char *template, const fw_field *fields,
					  size_t count)
{
	const char *close = template[0] == '{' ? strchrnul(template, '}') : "";
	const fw_field *field;

	if (!close[0] || close[1])
		return NULL;
	field = find_field(fields, count, template + 1, (size_t)(close - template - 1));
	return field && field->type == FW_FIELD_STRING ? field : NULL;
}

static void set_message_from_template(fw_error *err, const fw_field *fields, size_t count)
{
	const fw_field *whole = find_whole_message(err->row->message, fields, count);
	char small[512], *text = small;
	size_t len;

	if (whole) {
		fw__error_set_message(err, whole->string, whole->string_len);
		return;
	}
	len = render_message(small, sizeof(small), err->row->message, fields, count);
	if (len >= sizeof(small)) {
		text = fw__allocate(len + 1);
		if (!text) {
			/* No part of it, which could be part of a secret. */
			fw__error_set_message(err, err->row->title, strlen(err->row->title));
			return;
		} else {
			(void)render_message(text, len + 1, err->row->message, fields, count);
		}
	}
	fw__error_set_message(err, text, len);
	if (text != small)
		fw__release(text);
}

static void add_param(fw_error *err, const fw_param *param, const fw_field *field)
{
	size_t before = err->item_count;

	if (param->message_only)
		return;
	fw__error_add_field(err, field);
	if (err->item_count > before)
		err->items[before].has_plain_key = true;
}

fw_error *fw__row_raise(fw_src at, const fw_row *row, const fw_field *fields, unsigned given)
{
	fw_error *err = fw__error_new(at, row, 0);

	if (!fw__error_is_mine(err))
		return err;
	set_message_from_template(err, fields, (size_t)__builtin_popcount(given));
	for (; given; given &= given - 1)
		add_param(err, &row->params[__builtin_ctz(given)], fields++);
	return err;
}

fw_error *fw__row_raise_text(fw_src at, const fw_row *row, const char *text)
{
	fw_error *err = fw__error_new(at, row, 0);

	if (!text)
		text = "(null)";
	if (fw__error_is_mine(err))
		fw__error_set_message(err, text, strlen(text));
	return err;
}

static const fw_param *find_param(const fw_row *row, const fw_field *field)
{
	for (size_t i = 0; i < row->param_count; i++)
		if (strlen(row->params[i].name) == field->key_len &&
		    memcmp(row->params[i].name, field->key, field->key_len) == 0)
			return &row->params[i];
	return NULL;
}

fw_error *fw_raise_row(fw_src at, const fw_row *row, const fw_field *fields, size_t count)
{
	fw_error *err;

	if (!row)
		return fw_raise_registry_code_unregistered_at(at, "(null)");
	for (size_t i = 0; i < row->param_count; i++) {
		const fw_param *param = &row->params[i];

		if (!param->optional &&
		    !find_field(fields, count, param->name, strlen(param->name)))
			return fw_raise_internal_api_misuse_at(at, "fw_raise_row", param->name);
	}
	err = fw__error_new(at, row, 0);
	if (!fw__error_is_mine(err))
		return err;
	set_message_from_template(err, fields, count);
	for (size_t i = 0; i < count; i++) {
		const fw_param *param = find_param(row, &fields[i]);

		if (param)
			add_param(err, param, &fields[i]);
		else
			fw__error_add_field(err, &fields[i]);
	}
	return err;
}
