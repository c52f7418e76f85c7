/*
 * toolerror.c - {"type","message","recoverable","data"}: six types that an agent
 * branches on.
 *
 * There are two serialisations: plain, and as Go's encoding/json writes it (the
 * public package is in Go), with the keys of `data` sorted and HTML escaped. The
 * second must parse nested values again.
 */
#include "contract/contract_impl.h"
#include "contract/write.h"

#include <faultwire/raise.h>
#include <stdlib.h>

static void write_go_value(struct fw_out *out, const struct fw_item *item)
{
	static const struct fw_value_options sorted = { .sort_keys = true };
	yyjson_doc *doc;

	if (item->type != FW_FIELD_JSON) {
		fw_write_item(out, item);
		return;
	}
	doc = fw_value_parse(item->as.text.p, item->as.text.n);
	if (!doc) { /* out of memory: write it unsorted */
		fw_write_item(out, item);
		return;
	}
	fw_write_text(out, item->key);
	FW_OUT(out, ":");
	(void)fw_value_write(out, yyjson_doc_get_root(doc), &sorted, NULL);
	yyjson_doc_free(doc);
}

static int compare_keys(struct fw_text a, struct fw_text b)
{
	int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	if (order)
		return order;
	return a.n < b.n ? -1 : a.n > b.n;
}

/* The next key in order after `last` (NULL: the first). This is a selection sort
 * without memory; contexts are small. */
static const struct fw_item *next_item(const struct fw_item *items, size_t count,
				       const struct fw_item *last)
{
	const struct fw_item *best = NULL;

	for (size_t i = 0; i < count; i++) {
		if (last && compare_keys(items[i].key, last->key) <= 0)
			continue;
		if (!best || compare_keys(items[i].key, best->key) < 0)
			best = &items[i];
	}
	return best;
}

/* What must not be retried unchanged is not recoverable as TRANSIENT. */
static bool is_recoverable(const fw_error *err)
{
	return err->recoverable &&
	       (err->retry == FW_RETRY_BACKOFF || fw_error_row(err)->type != FW_TYPE_TRANSIENT);
}

static void write_go_data(struct fw_out *out, const fw_error *err)
{
	const struct fw_item delay = { .key = { "retry_after", 11 },
				       .type = FW_FIELD_F64,
				       .as.f64 = fw_write_delay(err, is_recoverable(err)) };
	const struct fw_item *item = NULL;
	bool delay_due = delay.as.f64 >= 0, first = true;

	for (;;) {
		const struct fw_item *show;

		item = next_item(err->items, err->item_count, item);
		while (item && !fw_write_shows(item, delay.as.f64))
			item = next_item(err->items, err->item_count, item);
		if (delay_due && (!item || compare_keys(delay.key, item->key) < 0)) {
			if (first)
				FW_OUT(out, ",\"data\":{");
			else
				FW_OUT(out, ",");
			first = false;
			delay_due = false;
			fw_write_item(out, &delay);
		}
		show = item;
		if (!show)
			break;
		if (first)
			FW_OUT(out, ",\"data\":{");
		else
			FW_OUT(out, ",");
		first = false;
		write_go_value(out, show);
	}
	if (!first)
		FW_OUT(out, "}");
}

/* The beginning of an envelope of each type, with room to be copied at once. */
static const struct head {
	char text[40];
	size_t len;
} heads[FW_TYPE_COUNT] = {
#define HEAD(type)                                                           \
	{                                                                    \
		"{\"type\":\"" type "\",\"message\":\"",                     \
			sizeof("{\"type\":\"" type "\",\"message\":\"") - 1, \
	}
	[FW_TYPE_NOT_FOUND] = HEAD("NOT_FOUND"),   [FW_TYPE_CONFLICT] = HEAD("CONFLICT"),
	[FW_TYPE_VALIDATION] = HEAD("VALIDATION"), [FW_TYPE_PERMISSION] = HEAD("PERMISSION"),
	[FW_TYPE_TRANSIENT] = HEAD("TRANSIENT"),   [FW_TYPE_INTERNAL] = HEAD("INTERNAL"),
};

#define PUT(literal)                                         \
	do {                                                 \
		memcpy(at, "" literal, sizeof(literal) - 1); \
		at += sizeof(literal) - 1;                   \
	} while (0)

static inline char *put(char *at, struct fw_text text)
{
	memcpy(at, text.p, text.n);
	return at + text.n;
}

/*
 * The usual envelope: a text that needs no escaping, and data of at most one JSON value.
 * It is short, so that asking for room at each piece would take more than writing it.
 * False: it is another one, or there may be no room.
 */
static inline bool write_usual(struct fw_out *out, const fw_error *err)
{
	static const char tail[] = "\",\"recoverable\":false,\"data\":{\"\":}}";
	const struct head *head = &heads[err->row->type];
	const struct fw_item *item = err->items;
	size_t need = err->message.n + sizeof(head->text) + sizeof(tail);
	char *at = out->at;

	if (!(err->plain & FW_PLAIN_MESSAGE) || err->retry_after >= 0 || err->item_count > 1)
		return false;
	if (err->item_count) {
		/* One named retry_after would be the delay. */
		if (item->type != FW_FIELD_JSON || !item->has_plain_key ||
		    item->key.n == sizeof("retry_after") - 1)
			return false;
		need += item->key.n + item->as.text.n;
	}
	if ((size_t)(out->end - at) < need)
		return false;
	memcpy(at, head->text, sizeof(head->text));
	at = put(at + head->len, err->message);
	if (is_recoverable(err))
		PUT("\",\"recoverable\":true");
	else
		PUT("\",\"recoverable\":false");
	if (err->item_count) {
		PUT(",\"data\":{\"");
		at = put(at, item->key);
		PUT("\":");
		at = put(at, item->as.text);
		PUT("}");
	}
	PUT("}");
	out->at = at;
	return true;
}

void fw_toolerror_encode(struct fw_out *out, const fw_error *err,
			 const fw_encode_options *options)
{
	bool recoverable;

	if (!options->go_escape && err->row && write_usual(out, err))
		return;
	recoverable = is_recoverable(err);
	out->go_escape = options->go_escape;
	FW_OUT(out, "{\"type\":\"");
	fw_write_plain(out, fw__type_names[fw_error_row(err)->type]);
	FW_OUT(out, "\",\"message\":");
	fw_write_message(out, err);
	FW_OUT(out, ",\"recoverable\":");
	fw_out_bool(out, recoverable);
	if (options->go_escape)
		write_go_data(out, err);
	else
		FW_WRITE_CONTEXT(out, ",\"data\":{", err, fw_write_delay(err, recoverable));
	FW_OUT(out, "}");
}

/* ---- inside a JSON string ---- */

static void write_item_inside(struct fw_out *out, const struct fw_item *item)
{
	fw_out_json_inside(out, item->key.p, item->key.n);
	FW_OUT(out, ":");
	switch (item->type) {
	case FW_FIELD_STRING: fw_out_json_inside(out, item->as.text.p, item->as.text.n); break;
	case FW_FIELD_JSON: fw_out_json_body(out, item->as.text.p, item->as.text.n); break;
	case FW_FIELD_I64: fw_out_i64(out, item->as.i64); break;
	case FW_FIELD_U64: fw_out_u64(out, item->as.u64); break;
	case FW_FIELD_F64: fw_out_f64(out, item->as.f64); break;
	case FW_FIELD_BOOL: fw_out_bool(out, item->as.boolean); break;
	}
}

static void write_data_inside(struct fw_out *out, const fw_error *err, double delay)
{
	const struct fw_item last = { .key = { "retry_after", 11 },
				      .type = FW_FIELD_F64,
				      .as.f64 = delay };
	bool first = true;

	for (size_t i = 0; i <= err->item_count; i++) {
		const struct fw_item *item = i < err->item_count ? &err->items[i] : &last;

		if (item == &last ? delay < 0 : !fw_write_shows(item, delay))
			continue;
		if (first)
			FW_OUT(out, ",\\\"data\\\":{");
		else
			FW_OUT(out, ",");
		first = false;
		write_item_inside(out, item);
	}
	if (!first)
		FW_OUT(out, "}");
}

void fw_toolerror_write_inside(struct fw_out *out, const fw_error *err)
{
	bool recoverable = is_recoverable(err);
	double delay = fw_write_delay(err, recoverable);

	FW_OUT(out, "{\\\"type\\\":\\\"");
	fw_write_plain(out, fw__type_names[fw_error_row(err)->type]);
	FW_OUT(out, "\\\",\\\"message\\\":");
	if (err->plain & FW_PLAIN_MESSAGE) {
		FW_OUT(out, "\\\"");
		fw_write_plain(out, err->message);
		FW_OUT(out, "\\\"");
	} else {
		fw_out_json_inside(out, err->message.p, err->message.n);
	}
	if (recoverable)
		FW_OUT(out, ",\\\"recoverable\\\":true");
	else
		FW_OUT(out, ",\\\"recoverable\\\":false");
	if (err->item_count || delay >= 0)
		write_data_inside(out, err, delay);
	FW_OUT(out, "}");
}

/* ---- reading ---- */

static fw_error *start(const struct fw_reading *reading, struct fw_text type,
		       yyjson_val *message)
{
	const fw_row *row = fw__registry_read(reading->registry, FW_TOOLERROR, type);

	if (!row)
		return fw_read_malformed(reading, "", "type",
					 "must be NOT_FOUND, CONFLICT, VALIDATION, PERMISSION, "
					 "TRANSIENT or INTERNAL");
	fw_read_lower_retry(reading, fw_read_start(reading, row, message));
	return NULL;
}

fw_error *fw_toolerror_decode(const struct fw_reading *reading, yyjson_val *root)
{
	enum { TYPE, MESSAGE, RECOVERABLE, DATA, MEMBERS };
	static const struct fw_member list[MEMBERS] = {
		[TYPE] = FW_MEMBER("type", FW_KIND_STRING),
		[MESSAGE] = FW_MEMBER("message", FW_KIND_STRING),
		[RECOVERABLE] = FW_MEMBER("recoverable", FW_KIND_BOOL),
		[DATA] = FW_MEMBER("data", FW_KIND_OBJECT | FW_KIND_NULL),
	};
	static const struct fw_members members = FW_MEMBERS(list, 1 << TYPE | 1 << MESSAGE);
	yyjson_val *values[MEMBERS];
	fw_error *err = reading->target;

	FW_TRY(fw_read_members(reading, "", root, &members, values));
	FW_TRY(start(reading, fw_text_of(values[TYPE]), values[MESSAGE]));
	if (values[RECOVERABLE])
		err->recoverable = yyjson_get_bool(values[RECOVERABLE]);
	/* An error that is not recoverable must not be retried either. */
	if (!err->recoverable && err->retry == FW_RETRY_BACKOFF)
		fw_error_set_retry(err, FW_RETRY_NEVER);
	return fw_read_context(reading, "/data", err, values[DATA], err->recoverable);
}

/* ---- [TYPE] message ---- */

/* The length of "[TYPE] ", or 0; sets `ret_type`. */
static size_t string_form(const char *text, size_t len, fw_type *ret_type)
{
	if (len == 0 || text[0] != '[')
		return 0;
	for (int type = 0; type < FW_TYPE_COUNT; type++) {
		const char *name = fw_type_name((fw_type)type);
		size_t n = strlen(name);

		if (len >= n + 3 && text[0] == '[' && memcmp(text + 1, name, n) == 0 &&
		    text[n + 1] == ']' && text[n + 2] == ' ') {
			*ret_type = (fw_type)type;
			return n + 3;
		}
	}
	return 0;
}

bool fw_toolerror_is_string_form(const char *text, size_t len)
{
	fw_type type;

	return string_form(text, len, &type) > 0;
}

fw_error *fw_toolerror_decode_string(const struct fw_reading *reading, const char *text,
				     size_t len)
{
	fw_type type = FW_TYPE_INTERNAL;
	size_t skip = string_form(text, len, &type);

	while (len > skip && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	FW_TRY(start(reading, fw__type_names[type], NULL));
	fw__error_set_message(reading->target, text + skip, len - skip);
	return NULL;
}
