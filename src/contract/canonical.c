/*
 * canonical.c - faultwire's own format, with everything that an error has except the
 * detail for operators. It is sent as _meta["dev.faultwire/error"].
 */
#include "contract/contract_impl.h"

#include <faultwire/raise.h>

/* The optional texts, in the order in which they are written. */
#define SLOTS_IN_ORDER(X)                           \
	X("tool", FW_SLOT_TOOL)                     \
	X("operation", FW_SLOT_OPERATION)           \
	X("role", FW_SLOT_ROLE)                     \
	X("session_id", FW_SLOT_SESSION_ID)         \
	X("workspace_root", FW_SLOT_WORKSPACE_ROOT) \
	X("phase_id", FW_SLOT_PHASE_ID)             \
	X("plan_hash", FW_SLOT_PLAN_HASH)           \
	X("invariant_id", FW_SLOT_INVARIANT_ID)     \
	X("client", FW_SLOT_CLIENT)                 \
	X("trace_id", FW_SLOT_TRACE_ID)             \
	X("incident_id", FW_SLOT_INCIDENT_ID)       \
	X("timestamp", FW_SLOT_TIMESTAMP)

#define SLOT_OF(name, slot) slot,
static const enum fw_slot slots[] = { SLOTS_IN_ORDER(SLOT_OF) };

enum { SLOTS = sizeof(slots) / sizeof(slots[0]) };

/* Without a loop: most of them are missing from most errors. */
static void write_slots(struct fw_out *out, const fw_error *err)
{
#define WRITE_SLOT(name, slot)                                            \
	if ((slot) == FW_SLOT_INCIDENT_ID ? err->slots[slot].n != 0       \
					  : err->slots[slot].p != NULL) { \
		FW_OUT(out, ",\"" name "\":");                            \
		fw_write_slot(out, err, slot);                            \
	}
	SLOTS_IN_ORDER(WRITE_SLOT)
}

static void write_cause(struct fw_out *out, const struct fw_cause_link *cause)
{
	if (cause->kind == FW_CAUSE_JSON) {
		fw_out_put(out, cause->message.p, cause->message.n);
		return;
	}
	if (cause->kind == FW_CAUSE_TEXT && !cause->next) {
		fw_write_text_or_null(out, cause->message);
		return;
	}
	FW_OUT(out, "{\"message\":");
	fw_write_text_or_null(out, cause->message);
	if (cause->code.p) {
		FW_OUT(out, ",\"code\":");
		fw_write_text(out, cause->code);
	}
	if (cause->name.p) {
		FW_OUT(out, ",\"name\":");
		fw_write_text(out, cause->name);
	}
	if (cause->next) {
		FW_OUT(out, ",\"cause\":");
		write_cause(out, cause->next); /* recursion of at most
					        * FW_LIMIT_CAUSES levels */
	}
	FW_OUT(out, "}");
}

/* One string per line of the trail. */
static void write_trail(struct fw_out *out, const fw_error *err)
{
	char text[4096];
	const char *line = err->slots[FW_SLOT_STACK].p;
	bool first = true;

	if (!line) {
		(void)fw_error_trail(err, text, sizeof(text));
		line = text;
	}
	FW_OUT(out, ",\"trail\":[");
	while (*line) {
		const char *end = strchrnul(line, '\n');

		if (!first)
			FW_OUT(out, ",");
		first = false;
		fw_out_json(out, line, (size_t)(end - line));
		line = *end ? end + 1 : end;
	}
	FW_OUT(out, "]");
}

static void write_original(struct fw_out *out, const fw_error *err)
{
	if (!err->slots[FW_SLOT_ORIGINAL_CODE].p || err->original_contract == FW_CANONICAL)
		return;
	FW_OUT(out, ",\"original\":{\"contract\":\"");
	fw_out_str(out, fw_contract_name((fw_contract)err->original_contract));
	FW_OUT(out, "\",\"code\":");
	fw_write_text(out, err->slots[FW_SLOT_ORIGINAL_CODE]);
	FW_OUT(out, "}");
}

static void write_class(struct fw_out *out, const fw_error *err)
{
	const fw_row *row = fw_error_row(err);

	FW_OUT(out, "{\"code\":\"");
	fw_write_plain(out, fw_write_code(err, FW_CANONICAL));
	FW_OUT(out, "\",\"category\":\"");
	fw_write_plain(out, fw__category_names[row->category]);
	FW_OUT(out, "\",\"type\":\"");
	fw_write_plain(out, fw__type_names[row->type]);
	FW_OUT(out, "\",\"retry\":\"");
	fw_write_plain(out, fw__retry_names[err->retry]);
	FW_OUT(out, "\",\"recoverable\":");
	fw_out_bool(out, err->recoverable);
	if (err->retry_after >= 0) {
		FW_OUT(out, ",\"retry_after\":");
		fw_out_f64(out, err->retry_after);
	}
	FW_OUT(out, ",\"status\":");
	fw_out_i64(out, fw_write_status(err));
	FW_OUT(out, ",\"severity\":\"");
	fw_write_plain(out, fw__severity_names[row->severity]);
	FW_OUT(out, "\",\"title\":");
	fw_write_title(out, err, row);
}

/* Whether the class of the error is that of its row. */
static bool is_usual(const fw_error *err, const fw_row *row)
{
	return err->retry == row->retry && err->recoverable == row->recoverable &&
	       err->retry_after < 0 && err->status == row->status &&
	       !err->slots[FW_SLOT_TITLE].p && !err->slots[FW_SLOT_ORIGINAL_CODE].p;
}

static void write_beginning(struct fw_out *out, const fw_error *err)
{
	const fw_row *row = fw_error_row(err);
	const struct fw_row_text *texts = fw__row_text_of(row);

	if (texts && is_usual(err, row))
		fw_out_put(out, texts->head, texts->head_len);
	else
		write_class(out, err);
	FW_OUT(out, ",\"message\":");
	fw_write_message(out, err);
	if (texts && !err->slots[FW_SLOT_HINT].p) {
		fw_out_put(out, texts->hint, texts->hint_len);
		return;
	}
	FW_OUT(out, ",\"hint\":");
	if (err->slots[FW_SLOT_HINT].p)
		fw_write_text(out, err->slots[FW_SLOT_HINT]);
	else
		fw_out_json(out, row->hint, row->hint_len);
}

void fw_canonical_encode(struct fw_out *out, const fw_error *err,
			 const fw_encode_options *options)
{
	write_beginning(out, err);
	FW_WRITE_CONTEXT(out, ",\"context\":{", err, -1);
	if (err->causes) {
		FW_OUT(out, ",\"cause\":");
		write_cause(out, err->causes);
	}
	FW_OUT(out, ",\"origin\":\"");
	fw_write_plain(out, fw__origin_names[err->origin]);
	FW_OUT(out, "\"");
	if (err->delivery != FW_DELIVERY_NONE) {
		FW_OUT(out, ",\"delivery\":\"");
		fw_out_str(out, fw_delivery_name((fw_delivery)err->delivery));
		FW_OUT(out, "\"");
	}
	write_slots(out, err);
	write_original(out, err);
	if (err->slots[FW_SLOT_EMPTY_RESULT].p) {
		FW_OUT(out, ",\"empty_result\":");
		fw_out_put(out, err->slots[FW_SLOT_EMPTY_RESULT].p,
			   err->slots[FW_SLOT_EMPTY_RESULT].n);
	}
	if (options->stack)
		write_trail(out, err);
	FW_OUT(out, "}");
}

/* ---- reading ---- */

enum {
	CODE,
	CATEGORY,
	TYPE, /* implied by the code, like SEVERITY */
	RETRY,
	RECOVERABLE,
	RETRY_AFTER,
	STATUS,
	SEVERITY,
	TITLE,
	MESSAGE,
	HINT,
	CONTEXT,
	CAUSE,
	ORIGIN,
	DELIVERY,
	TOOL, /* the slots above follow, in their order */
	TIMESTAMP = TOOL + SLOTS - 1,
	ORIGINAL,
	EMPTY_RESULT,
	TRAIL,
	MEMBERS
};

static const struct fw_member list[MEMBERS] = {
	[CODE] = FW_MEMBER("code", FW_KIND_STRING),
	[CATEGORY] = FW_MEMBER("category", FW_KIND_STRING),
	[TYPE] = FW_MEMBER("type", FW_KIND_ANY),
	[RETRY] = FW_MEMBER("retry", FW_KIND_STRING),
	[RECOVERABLE] = FW_MEMBER("recoverable", FW_KIND_BOOL),
	[RETRY_AFTER] = FW_MEMBER("retry_after", FW_KIND_NUMBER),
	[STATUS] = FW_MEMBER("status", FW_KIND_NUMBER),
	[SEVERITY] = FW_MEMBER("severity", FW_KIND_ANY),
	[TITLE] = FW_MEMBER("title", FW_KIND_STRING),
	[MESSAGE] = FW_MEMBER("message", FW_KIND_STRING),
	[HINT] = FW_MEMBER("hint", FW_KIND_STRING),
	[CONTEXT] = FW_MEMBER("context", FW_KIND_OBJECT),
	[CAUSE] = FW_MEMBER("cause", FW_KIND_ANY),
	[ORIGIN] = FW_MEMBER("origin", FW_KIND_STRING),
	[DELIVERY] = FW_MEMBER("delivery", FW_KIND_STRING),
	[TOOL] = FW_MEMBER("tool", FW_KIND_STRING),
	[TOOL + 1] = FW_MEMBER("operation", FW_KIND_STRING),
	[TOOL + 2] = FW_MEMBER("role", FW_KIND_STRING),
	[TOOL + 3] = FW_MEMBER("session_id", FW_KIND_STRING),
	[TOOL + 4] = FW_MEMBER("workspace_root", FW_KIND_STRING),
	[TOOL + 5] = FW_MEMBER("phase_id", FW_KIND_STRING),
	[TOOL + 6] = FW_MEMBER("plan_hash", FW_KIND_STRING),
	[TOOL + 7] = FW_MEMBER("invariant_id", FW_KIND_STRING),
	[TOOL + 8] = FW_MEMBER("client", FW_KIND_STRING),
	[TOOL + 9] = FW_MEMBER("trace_id", FW_KIND_STRING),
	[TOOL + 10] = FW_MEMBER("incident_id", FW_KIND_STRING),
	[TIMESTAMP] = FW_MEMBER("timestamp", FW_KIND_STRING),
	[ORIGINAL] = FW_MEMBER("original", FW_KIND_OBJECT),
	[EMPTY_RESULT] = FW_MEMBER("empty_result", FW_KIND_OBJECT),
	[TRAIL] = FW_MEMBER("trail", FW_KIND_ANY),
};
static const struct fw_members members = FW_MEMBERS(list, 1 << CODE | 1 << MESSAGE);

/* Index of `value` among the names, or -1. */
static int read_name(yyjson_val *value, const struct fw_text *names, int count)
{
	for (int i = 0; value && i < count; i++)
		if (names[i].p && unsafe_yyjson_equals_strn(value, names[i].p, names[i].n))
			return i;
	return -1;
}

static fw_error *read_class(const struct fw_reading *reading, fw_error *err,
			    yyjson_val **values)
{
	int retry = read_name(values[RETRY], fw__retry_names, FW_RETRY_COUNT);
	int origin = read_name(values[ORIGIN], fw__origin_names, FW_ORIGIN_COUNT);
	int delivery = read_name(values[DELIVERY], fw__delivery_names, FW_DELIVERY_COUNT);

	if (values[RETRY] && retry < 0)
		return fw_read_malformed(reading, "", "retry",
					 "must be never, after_fix or backoff");
	if (values[ORIGIN] && origin < 0)
		return fw_read_malformed(reading, "", "origin",
					 "must be client, policy, tool, server, gateway, "
					 "transport or upstream");
	if (values[DELIVERY] && delivery < 0)
		return fw_read_malformed(reading, "", "delivery",
					 "must be not_sent, sent or replied");
	if (retry >= 0)
		err->retry = (uint8_t)retry;
	if (origin >= 0)
		err->origin = (uint8_t)origin;
	if (delivery >= 0)
		err->delivery = (uint8_t)delivery;
	if (values[RECOVERABLE])
		err->recoverable = yyjson_get_bool(values[RECOVERABLE]);
	fw_read_retry_after(err, values[RETRY_AFTER]);
	fw_read_status(err, values[STATUS]);
	if (!yyjson_equals_strn(values[TITLE], err->row->title, err->row->title_len))
		fw_read_slot(err, FW_SLOT_TITLE, values[TITLE]);
	if (!yyjson_equals_strn(values[HINT], err->row->hint, err->row->hint_len))
		fw_read_slot(err, FW_SLOT_HINT, values[HINT]);
	return NULL;
}

static fw_error *read_original(const struct fw_reading *reading, fw_error *err,
			       yyjson_val *object)
{
	static const struct fw_member inner_list[] = {
		FW_MEMBER("contract", FW_KIND_STRING),
		FW_MEMBER("code", FW_KIND_STRING),
	};
	static const struct fw_members inner = FW_MEMBERS(inner_list, 1 | 2);
	yyjson_val *values[2];
	int contract = 0;

	if (!object)
		return NULL;
	FW_TRY(fw_read_members(reading, "/original", object, &inner, values));
	while (contract < FW_CONTRACT_COUNT &&
	       !yyjson_equals_str(values[0], fw_contract_name((fw_contract)contract)))
		contract++;
	if (contract == FW_CONTRACT_COUNT)
		return fw_read_malformed(reading, "/original", "contract",
					 "must be the name of a contract");
	fw_read_slot(err, FW_SLOT_ORIGINAL_CODE, values[1]);
	err->original_contract = (uint8_t)contract;
	return NULL;
}

/* The lines of a trail are kept as one text; the writer splits it again. */
static fw_error *read_trail(const struct fw_reading *reading, fw_error *err, yyjson_val *trail)
{
	size_t index, max, need = 0, at = 0;
	yyjson_val *line;
	char *text;

	if (!trail)
		return NULL;
	yyjson_arr_foreach(trail, index, max, line)
	{
		if (!yyjson_is_str(line) ||
		    memchr(yyjson_get_str(line), '\0', yyjson_get_len(line)))
			return fw_read_malformed(reading, "", "trail",
						 "must be an array of lines");
		need += yyjson_get_len(line) + 1;
	}
	if (!yyjson_is_arr(trail))
		return fw_read_malformed(reading, "", "trail", "must be an array of lines");
	text = fw__error_take(err, need + 1);
	if (!text)
		return fw_raise_internal_out_of_memory();
	yyjson_arr_foreach(trail, index, max, line)
	{
		if (index)
			text[at++] = '\n';
		memcpy(text + at, yyjson_get_str(line), yyjson_get_len(line));
		at += yyjson_get_len(line);
	}
	text[at] = '\0';
	err->slots[FW_SLOT_STACK] = (struct fw_text){ text, at };
	return NULL;
}

fw_error *fw_canonical_decode(const struct fw_reading *reading, yyjson_val *root)
{
	yyjson_val *values[MEMBERS];
	const fw_row *row;
	fw_error *err;
	bool known;

	FW_TRY(fw_read_members(reading, "", root, &members, values));
	row = fw_read_open_row(reading, FW_CANONICAL, values[CODE],
			       yyjson_get_str(values[CATEGORY]), &known);
	if (!known && !fw_read_is_code(yyjson_get_str(values[CODE])))
		return fw_read_malformed(reading, "", "code",
					 "must be domain.reason in lower case");
	err = fw_read_start(reading, row, values[MESSAGE]);
	if (!known)
		fw_read_original(err, FW_CANONICAL, values[CODE]);
	for (size_t i = 0; i < SLOTS; i++)
		fw_read_slot(err, slots[i], values[TOOL + i]);
	FW_TRY(fw_read_check_time(reading, values[TIMESTAMP]));
	FW_TRY(read_class(reading, err, values));
	FW_TRY(read_original(reading, err, values[ORIGINAL]));
	FW_TRY(read_trail(reading, err, values[TRAIL]));
	FW_TRY(fw_read_context(reading, "/context", err, values[CONTEXT], false));
	FW_TRY(fw_read_empty_result(reading, "/empty_result", err, values[EMPTY_RESULT]));
	return fw_read_cause(reading, "/cause", err, values[CAUSE]);
}
