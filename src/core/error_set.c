/*
 * error_set.c - setters: the context of an error, and values that override those of
 * the registry.
 *
 * On the static out-of-memory error they do nothing.
 */
#include "base/clock.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "core/error_impl.h"
#include "core/redact.h"

#include <math.h>
#include <string.h>

/* ---- context ---- */

bool fw__error_items_room(fw_error *err, size_t count)
{
	size_t room;
	struct fw_item *items;

	if (count <= err->item_room - err->item_count)
		return true;
	room = err->item_count ? 2 * err->item_room : 4;
	if (room < err->item_count + count)
		room = err->item_count + count;
	items = fw__error_take(err, room * sizeof(*items));
	if (!items)
		return false;
	if (err->item_count)
		memcpy(items, err->items, err->item_count * sizeof(*items));
	err->items = items;
	err->item_room = room;
	return true;
}

static struct fw_item *append_item(fw_error *err, struct fw_text key)
{
	struct fw_item *item;

	if (!fw__error_items_room(err, 1))
		return NULL;
	item = &err->items[err->item_count++];
	*item = (struct fw_item){ .key = key };
	return item;
}

struct fw_item *fw__error_add_item(fw_error *err, const char *key, size_t len)
{
	struct fw_text name;

	if (!fw__error_is_mine(err) || fw_utf8_valid(key, len) != len)
		return NULL;
	if (!err->keep_secrets && fw_redact_key_holds_secret(key, len)) {
		key = FW_REDACTED;
		len = sizeof(FW_REDACTED) - 1;
	}
	for (size_t i = 0; i < err->item_count; i++)
		if (fw__text_is(err->items[i].key, key, len))
			return &err->items[i];
	if (err->item_count >= FW_LIMIT_FIELDS)
		return NULL;
	name = fw__error_copy(err, key, len);
	return name.p ? append_item(err, name) : NULL;
}

/* Copies JSON text from a C caller, checked and made compact; p is NULL if it is
 * not JSON. */
static struct fw_text copy_json(fw_error *err, const char *json, size_t len)
{
	struct fw_text text = { NULL, 0 };
	enum fw_value_fault fault;
	yyjson_doc *doc;

	if (!json || len > FW_LIMIT_ENVELOPE_BYTES)
		return text;
	if (fw_value_is_written(json, len, !err->keep_secrets))
		return fw__error_copy(err, json, len);
	doc = fw_value_parse(json, len);
	if (doc)
		text = fw__error_copy_value(err, yyjson_doc_get_root(doc), NULL, &fault, NULL);
	yyjson_doc_free(doc);
	return text;
}

static const struct fw_text redacted = { "[redacted]", 10 };

static void hide_item(struct fw_item *item)
{
	item->type = FW_FIELD_STRING;
	item->has_plain_text = false;
	item->as.text = redacted;
}

/* Adds a field for the caller to fill in. NULL if there is no room, or if the value
 * was redacted because of its key. */
static struct fw_item *add_open_item(fw_error *err, const char *key)
{
	size_t len = key ? strlen(key) : 0;
	struct fw_item *item = key ? fw__error_add_item(err, key, len) : NULL;

	if (!item || !fw_redact_key_is_secret(key, len))
		return item;
	hide_item(item);
	return NULL;
}

/* A text, which may be a secret together with its key. */
static void add_text(fw_error *err, const fw_field *field)
{
	struct fw_item *item = fw__error_add_item(err, field->key, field->key_len);

	if (!item)
		return;
	if (fw_redact_member_is_secret(field->key, field->key_len, field->string,
				       field->string_len)) {
		hide_item(item);
		return;
	}
	item->type = FW_FIELD_STRING;
	item->as.text = fw__error_copy_given(err, field->string, field->string_len,
					     &item->has_plain_text);
	if (!item->as.text.p)
		item->as.text = (struct fw_text){ "", 0 };
}

void fw__error_add_field(fw_error *err, const fw_field *field)
{
	struct fw_item *item;

	if (field->type == FW_FIELD_JSON) {
		fw_error_add_json(err, field->key, field->string, field->string_len);
		return;
	}
	if (field->type == FW_FIELD_STRING && field->key && field->string) {
		add_text(err, field);
		return;
	}
	item = add_open_item(err, field->key);
	if (!item)
		return;
	item->type = field->type;
	item->has_plain_text = false;
	switch (field->type) {
	case FW_FIELD_STRING:
	case FW_FIELD_JSON: item->as.text = (struct fw_text){ "", 0 }; break;
	case FW_FIELD_I64: item->as.i64 = field->i64; break;
	case FW_FIELD_U64: item->as.u64 = field->u64; break;
	case FW_FIELD_F64: item->as.f64 = field->f64; break;
	case FW_FIELD_BOOL: item->as.boolean = field->boolean; break;
	}
}

void fw_error_add_string(fw_error *err, const char *key, const char *value)
{
	if (fw__error_is_mine(err) && key && value)
		fw__error_add_field(err, &(fw_field){ .key = key,
						      .key_len = strlen(key),
						      .type = FW_FIELD_STRING,
						      .string = value,
						      .string_len = strlen(value) });
}

/* The other types differ in one member only. */
#define DEFINE_ADD(suffix, ctype, TYPE, member)                                 \
	void fw_error_add_##suffix(fw_error *err, const char *key, ctype value) \
	{                                                                       \
		struct fw_item *item;                                           \
                                                                                \
		item = add_open_item(err, key);                                 \
		if (!item)                                                      \
			return;                                                 \
		item->type = TYPE;                                              \
		item->as.member = value;                                        \
	}

DEFINE_ADD(i64, int64_t, FW_FIELD_I64, i64)
DEFINE_ADD(u64, uint64_t, FW_FIELD_U64, u64)
DEFINE_ADD(f64, double, FW_FIELD_F64, f64)
DEFINE_ADD(bool, bool, FW_FIELD_BOOL, boolean)

void fw_error_add_json(fw_error *err, const char *key, const char *json, size_t len)
{
	struct fw_text text;
	struct fw_item *item;

	if (!fw__error_is_mine(err))
		return;
	text = copy_json(err, json, len);
	item = text.p ? add_open_item(err, key) : NULL;
	if (!item)
		return;
	item->type = FW_FIELD_JSON;
	item->as.text = text;
}

/* ---- other setters ---- */

void fw__error_set_slot(fw_error *err, enum fw_slot slot, const char *text, size_t len)
{
	bool is_plain = false;

	if (!fw__error_is_mine(err))
		return;
	err->slots[slot] = text ? fw__error_copy_given(err, text, len, &is_plain)
				: (struct fw_text){ NULL, 0 };
	err->plain &= ~(UINT32_C(1) << slot);
	/* That of an incident says that it is our own. */
	if (is_plain && slot != FW_SLOT_INCIDENT_ID)
		err->plain |= UINT32_C(1) << slot;
}

void fw__error_set_own(fw_error *err, enum fw_slot slot, const char *text, size_t len)
{
	if (!fw__error_is_mine(err))
		return;
	err->plain &= ~(UINT32_C(1) << slot);
	err->slots[slot] = fw__error_copy(err, text, len);
}

void fw__error_fill_own(fw_error *err, enum fw_slot slot, const char *text, size_t len)
{
	if (text && !err->slots[slot].p)
		fw__error_set_own(err, slot, text, len);
}

void fw__error_fill_plain(fw_error *err, enum fw_slot slot, const char *text, size_t len)
{
	if (err->slots[slot].p || !fw__error_is_mine(err))
		return;
	err->slots[slot] = fw__error_copy(err, text, len);
	err->plain |= UINT32_C(1) << slot;
}

/* Nothing but fw__error_fill_incident() marks one as plain. */
bool fw__error_has_own_incident(const fw_error *err)
{
	return err->plain >> FW_SLOT_INCIDENT_ID & 1;
}

static void set_slot(fw_error *err, enum fw_slot slot, const char *text)
{
	fw__error_set_slot(err, slot, text, text ? strlen(text) : 0);
}

void fw_error_set_origin(fw_error *err, fw_origin origin)
{
	if (fw__error_is_mine(err) && (unsigned)origin < FW_ORIGIN_COUNT)
		err->origin = (uint8_t)origin;
}

void fw_error_set_delivery(fw_error *err, fw_delivery delivery)
{
	if (fw__error_is_mine(err) && (unsigned)delivery < FW_DELIVERY_COUNT)
		err->delivery = (uint8_t)delivery;
}

void fw_error_set_retry(fw_error *err, fw_retry retry)
{
	if (!fw__error_is_mine(err) || (unsigned)retry >= FW_RETRY_COUNT)
		return;
	err->retry = (uint8_t)retry;
	if (retry != FW_RETRY_BACKOFF)
		err->retry_after = -1;
}

void fw_error_set_recoverable(fw_error *err, bool recoverable)
{
	if (fw__error_is_mine(err))
		err->recoverable = recoverable;
}

void fw_error_set_retry_after(fw_error *err, double seconds)
{
	if (!fw__error_is_mine(err) || !isfinite(seconds) || seconds < 0)
		return;
	err->retry = FW_RETRY_BACKOFF;
	err->retry_after = seconds == 0 ? 0 : seconds; /* no -0 */
}

void fw_error_set_status(fw_error *err, int http_status)
{
	if (fw__error_is_mine(err) && http_status >= 100 && http_status <= 599)
		err->status = http_status;
}

void fw_error_set_hint(fw_error *err, const char *hint)
{
	set_slot(err, FW_SLOT_HINT, hint);
}

void fw_error_set_detail(fw_error *err, const char *detail)
{
	set_slot(err, FW_SLOT_DETAIL, detail);
}

void fw_error_set_incident_id(fw_error *err, const char *incident_id)
{
	if (incident_id && *incident_id)
		set_slot(err, FW_SLOT_INCIDENT_ID, incident_id);
}

void fw_error_set_time(fw_error *err, int64_t unix_ms)
{
	char text[FW_TIME_SIZE];

	if (fw_time_text(unix_ms, text))
		fw__error_set_own(err, FW_SLOT_TIMESTAMP, text, sizeof(text) - 1);
}

void fw__error_fill_incident(fw_error *err, int64_t unix_ms)
{
	size_t room;

	if (!fw__error_is_mine(err))
		return;
	/* Written in place. */
	if (!err->slots[FW_SLOT_TIMESTAMP].p && fw__error_room(err, FW_TIME_SIZE, &room) &&
	    fw_time_text(unix_ms, err->room)) {
		err->slots[FW_SLOT_TIMESTAMP] = fw__error_keep(err, FW_TIME_SIZE - 1);
		err->plain |= UINT32_C(1) << FW_SLOT_TIMESTAMP;
	}
	if (!err->slots[FW_SLOT_INCIDENT_ID].p &&
	    fw__error_room(err, FW_INCIDENT_ID_SIZE, &room)) {
		fw_incident_id(unix_ms, err->room);
		err->slots[FW_SLOT_INCIDENT_ID] = fw__error_keep(err, FW_INCIDENT_ID_SIZE - 1);
		err->plain |= UINT32_C(1) << FW_SLOT_INCIDENT_ID;
	}
}

void fw_error_fill_scope(fw_error *err, const fw_scope *scope)
{
	const char *texts[] = { scope->tool,       scope->operation,      scope->role,
				scope->session_id, scope->workspace_root, scope->phase_id,
				scope->plan_hash,  scope->invariant_id,   scope->client,
				scope->trace_id };

	if (!fw__error_is_mine(err))
		return;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i] && !err->slots[FW_SLOT_TOOL + i].p)
			set_slot(err, (enum fw_slot)(FW_SLOT_TOOL + i), texts[i]);
}

static inline bool is_of_envelope(yyjson_val *key)
{
	return unsafe_yyjson_equals_strn(key, "error", 5) ||
	       unsafe_yyjson_equals_strn(key, "problem", 7);
}

/* Writes all members except those that the envelope writes itself. */
static enum fw_value_fault write_empty_result(struct fw_out *out, yyjson_val *object,
					      const struct fw_value_options *options,
					      struct fw_value_where *where)
{
	size_t index, max;
	yyjson_val *key, *value;
	bool first = true;

	FW_OUT(out, "{");
	yyjson_obj_foreach(object, index, max, key, value)
	{
		enum fw_value_fault fault;

		if (is_of_envelope(key))
			continue;
		if (!first)
			FW_OUT(out, ",");
		first = false;
		fw_out_json(out, yyjson_get_str(key), yyjson_get_len(key));
		FW_OUT(out, ":");
		fault = fw_value_write(out, value, options, where);
		if (fault)
			return fault;
	}
	FW_OUT(out, "}");
	return FW_VALUE_OK;
}

/* The number of members before those of the envelope, which usually are the last ones; 0 if
 * they are not. `*ret_differ`: all keys differ, as one sees from their bits. */
static size_t count_empty(yyjson_val *object, bool *ret_differ)
{
	yyjson_val *key = unsafe_yyjson_get_first(object);
	size_t count = 0, others = 0;
	uint64_t seen = 0;
	bool is_mixed = false;

	*ret_differ = true;
	for (size_t left = unsafe_yyjson_get_len(object); left; left--) {
		uint64_t bit = fw_value_key_bit(key);

		*ret_differ &= !(seen & bit);
		seen |= bit;
		if (is_of_envelope(key)) {
			others++;
		} else {
			is_mixed |= others > 0;
			count++;
		}
		key = unsafe_yyjson_get_next(key + 1);
	}
	return is_mixed ? 0 : count;
}

enum fw_value_fault fw__error_set_empty_value(fw_error *err, yyjson_val *object,
					      const struct fw_value_source *source,
					      struct fw_value_where *ret_where)
{
	const struct fw_value_options options = { .redact = !err->keep_secrets };
	enum fw_value_fault fault = FW_VALUE_OK;
	size_t room, need, count;
	struct fw_out out;
	struct fw_text slice;
	bool differ;

	count = count_empty(object, &differ);
	if (!differ)
		fault = fw_value_check_keys(object, ret_where);
	if (fault == FW_VALUE_OK &&
	    fw_value_slice_members(source, object, count, options.redact, &slice)) {
		if (!fw__error_room(err, slice.n + 3, &room))
			return FW_VALUE_NO_MEMORY;
		err->room[0] = '{';
		memcpy(err->room + 1, slice.p, slice.n);
		err->room[slice.n + 1] = '}';
		err->slots[FW_SLOT_EMPTY_RESULT] = fw__error_keep(err, slice.n + 2);
		return FW_VALUE_OK;
	}
	/* As in fw__error_copy_value(), the first attempt returns the length
	 * needed. */
	for (need = 0; fault == FW_VALUE_OK;) {
		if (!fw__error_room(err, need + 1, &room))
			return FW_VALUE_NO_MEMORY;
		fw_out_init(&out, err->room, room);
		fault = write_empty_result(&out, object, &options, ret_where);
		need = fw_out_finish(&out, room);
		if (fault == FW_VALUE_OK && need < room) {
			err->slots[FW_SLOT_EMPTY_RESULT] = fw__error_keep(err, need);
			break;
		}
	}
	return fault;
}

void fw_error_set_empty_result(fw_error *err, const char *json, size_t len)
{
	yyjson_doc *doc;

	if (!fw__error_is_mine(err) || !json || len > FW_LIMIT_ENVELOPE_BYTES)
		return;
	doc = fw_value_parse(json, len);
	if (yyjson_is_obj(yyjson_doc_get_root(doc)))
		(void)fw__error_set_empty_value(err, yyjson_doc_get_root(doc), NULL, NULL);
	yyjson_doc_free(doc);
}
