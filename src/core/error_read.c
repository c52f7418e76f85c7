/*
 * error_read.c - getters of an error.
 */
#include "base/out.h"
#include "core/error_impl.h"

#include <faultwire/raise.h>
#include <string.h>

const struct fw_text fw__delivery_names[FW_DELIVERY_COUNT] = {
	[FW_NOT_SENT] = { "not_sent", 8 },
	[FW_SENT] = { "sent", 4 },
	[FW_REPLIED] = { "replied", 7 },
};

const char *fw_delivery_name(fw_delivery delivery)
{
	return (unsigned)delivery < FW_DELIVERY_COUNT ? fw__delivery_names[delivery].p : NULL;
}

const fw_row *fw_error_row(const fw_error *err)
{
	return err->row ? err->row : fw_registry_number(NULL, FW_INTERNAL_OUT_OF_MEMORY);
}

int fw_error_code(const fw_error *err)
{
	return err ? fw_error_row(err)->number : 0;
}

const char *fw_error_name(const fw_error *err)
{
	return fw_error_row(err)->code;
}

const char *fw_error_message(const fw_error *err)
{
	return err->message.p;
}

const char *fw_error_hint(const fw_error *err)
{
	const char *own = err->slots[FW_SLOT_HINT].p;

	return own ? own : fw_error_row(err)->hint;
}

const char *fw_error_detail(const fw_error *err)
{
	return err->slots[FW_SLOT_DETAIL].p;
}

fw_origin fw_error_origin(const fw_error *err)
{
	return (fw_origin)err->origin;
}

fw_delivery fw_error_delivery(const fw_error *err)
{
	return (fw_delivery)err->delivery;
}

fw_retry fw_error_retry(const fw_error *err)
{
	return (fw_retry)err->retry;
}

bool fw_error_recoverable(const fw_error *err)
{
	return err->recoverable;
}

double fw_error_retry_after(const fw_error *err)
{
	return err->retry_after;
}

int fw_error_status(const fw_error *err)
{
	return err->status;
}

const char *fw_error_incident_id(const fw_error *err)
{
	return err->slots[FW_SLOT_INCIDENT_ID].p;
}

const char *fw_error_timestamp(const fw_error *err)
{
	return err->slots[FW_SLOT_TIMESTAMP].p;
}

fw_scope fw_error_scope(const fw_error *err)
{
	fw_scope scope = {
		.tool = err->slots[FW_SLOT_TOOL].p,
		.operation = err->slots[FW_SLOT_OPERATION].p,
		.role = err->slots[FW_SLOT_ROLE].p,
		.session_id = err->slots[FW_SLOT_SESSION_ID].p,
		.workspace_root = err->slots[FW_SLOT_WORKSPACE_ROOT].p,
		.phase_id = err->slots[FW_SLOT_PHASE_ID].p,
		.plan_hash = err->slots[FW_SLOT_PLAN_HASH].p,
		.invariant_id = err->slots[FW_SLOT_INVARIANT_ID].p,
		.client = err->slots[FW_SLOT_CLIENT].p,
		.trace_id = err->slots[FW_SLOT_TRACE_ID].p,
	};

	return scope;
}

size_t fw_error_field_count(const fw_error *err)
{
	return err->item_count;
}

bool fw_error_field(const fw_error *err, size_t index, fw_field *ret_field)
{
	const struct fw_item *item;
	fw_field field = { 0 };

	if (index >= err->item_count)
		return false;
	item = &err->items[index];
	field.key = item->key.p;
	field.key_len = item->key.n;
	field.type = item->type;
	switch (item->type) {
	case FW_FIELD_STRING:
	case FW_FIELD_JSON:
		field.string = item->as.text.p;
		field.string_len = item->as.text.n;
		break;
	case FW_FIELD_I64: field.i64 = item->as.i64; break;
	case FW_FIELD_U64: field.u64 = item->as.u64; break;
	case FW_FIELD_F64: field.f64 = item->as.f64; break;
	case FW_FIELD_BOOL: field.boolean = item->as.boolean; break;
	}
	*ret_field = field;
	return true;
}

bool fw_error_find_field(const fw_error *err, const char *key, fw_field *ret_field)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < err->item_count; i++)
		if (fw__text_is(err->items[i].key, key, len))
			return fw_error_field(err, i, ret_field);
	return false;
}

size_t fw_error_cause_count(const fw_error *err)
{
	return err->cause_count;
}

bool fw_error_cause(const fw_error *err, size_t index, fw_cause *ret_cause)
{
	const struct fw_cause_link *link = err->causes;
	bool json;

	while (link && index--)
		link = link->next;
	if (!link)
		return false;
	json = link->kind == FW_CAUSE_JSON;
	*ret_cause = (fw_cause){
		.message = json ? NULL : link->message.p,
		.code = link->code.p,
		.name = link->name.p,
		.json = json ? link->message.p : NULL,
		.at = link->at,
	};
	return true;
}

bool fw_error_has_code(const fw_error *err, const char *code)
{
	size_t len = strlen(code);

	if (strcmp(fw_error_name(err), code) == 0)
		return true;
	for (const struct fw_cause_link *link = err->causes; link; link = link->next)
		if (fw__text_is(link->name, "fw_error", 8) &&
		    fw__text_is(link->code, code, len))
			return true;
	return false;
}

/* A wrap has appended the old message to its own; do not repeat it. */
static bool ends_with(struct fw_text text, struct fw_text end)
{
	return text.n >= end.n && memcmp(text.p + text.n - end.n, end.p, end.n) == 0;
}

size_t fw_error_text(const fw_error *err, char *buf, size_t cap)
{
	struct fw_out out;

	fw_out_init(&out, buf, cap);
	fw_out_put(&out, err->message.p, err->message.n);
	for (const struct fw_cause_link *link = err->causes; link; link = link->next) {
		if (!link->message.p || ends_with(err->message, link->message))
			continue;
		FW_OUT(&out, ": ");
		fw_out_put(&out, link->message.p, link->message.n);
	}
	return fw_out_finish(&out, cap);
}

static void put_place(struct fw_out *out, fw_src at)
{
	if (!at.file)
		return;
	if (out->at != out->start || out->cut)
		FW_OUT(out, "\n");
	fw_out_str(out, at.file);
	FW_OUT(out, ":");
	fw_out_i64(out, at.line);
	FW_OUT(out, " ");
	fw_out_str(out, at.function ? at.function : "?");
}

static void put_places(struct fw_out *out, const struct fw_cause_link *link)
{
	if (!link)
		return;
	put_places(out, link->next); /* recursion of at most FW_LIMIT_CAUSES levels */
	put_place(out, link->at);
}

size_t fw_error_trail(const fw_error *err, char *buf, size_t cap)
{
	struct fw_out out;

	fw_out_init(&out, buf, cap);
	put_places(&out, err->causes);
	put_place(&out, err->at);
	return fw_out_finish(&out, cap);
}
