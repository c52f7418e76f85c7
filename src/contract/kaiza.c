/*
 * kaiza.c - the SystemError envelope: 11 fields, all of them always present, and 35
 * codes.
 *
 * If a tool threw something that is not an error (a bare string), the contract has
 * the string as the cause, and the message says only that something unexpected
 * happened. In the canonical error the string is both message and cause; the message
 * is replaced here, when writing and when reading.
 *
 * Several canonical codes share a code of the contract. The only member with room for
 * the canonical one is the cause: an error that has no cause, and that could not be read
 * back from its code alone, gets {"message":TITLE,"code":CODE,"name":"fw_error"}. The
 * cause of a wrapped error has the canonical code as well. A reader uses these causes,
 * and no others: the code of a cause may be that of a different error.
 */
#include "contract/contract_impl.h"

#include <faultwire/raise.h>
#include <strings.h>

static const struct fw_text unexpected = { "An unexpected error occurred", 28 };
static const struct fw_text epoch = { "1970-01-01T00:00:00.000Z", 24 };
static const struct fw_text unnamed = { "unknown", 7 };

static const struct fw_text our_name = { "fw_error", 8 };

static bool is_bare_text(const fw_error *err)
{
	return err->causes && err->causes->kind == FW_CAUSE_TEXT &&
	       fw__text_is(err->causes->message, err->message.p, err->message.n);
}

/* Would a reader that has only the code see the same code and retry class? */
static bool is_read_alone(const fw_error *err)
{
	const fw_row *row = fw_error_row(err);

	return row->reads & 1u << FW_KAIZA &&
	       fw_row_retry_in(row, FW_KAIZA) == (fw_retry)err->retry;
}

/* The class if the raiser has overridden it; nothing else says so in this contract. */
static void write_retry(struct fw_out *out, const fw_error *err)
{
	if ((fw_retry)err->retry == fw_error_row(err)->retry)
		return;
	FW_OUT(out, ",\"retry\":\"");
	fw_write_plain(out, fw__retry_names[err->retry]);
	FW_OUT(out, "\"");
}

static void write_code_as_cause(struct fw_out *out, const fw_error *err)
{
	const fw_row *row = fw_error_row(err);

	FW_OUT(out, "{\"message\":");
	fw_write_text(out, (struct fw_text){ row->title, row->title_len });
	FW_OUT(out, ",\"code\":\"");
	fw_out_put(out, row->code, row->code_len);
	FW_OUT(out, "\",\"name\":\"fw_error\"");
	write_retry(out, err);
	FW_OUT(out, "}");
}

/* Does `whole` end in ": " and `part`, as the message of a wrapped error does? */
static bool is_wrapped(struct fw_text whole, struct fw_text part)
{
	return whole.n > part.n + 2 && part.p &&
	       memcmp(whole.p + whole.n - part.n, part.p, part.n) == 0 &&
	       memcmp(whole.p + whole.n - part.n - 2, ": ", 2) == 0;
}

/* Would a reader take the cause for the error itself, though it is another one? */
static bool is_mistakable(const fw_error *err, const struct fw_cause_link *cause)
{
	const fw_row *row = fw_error_row(err), *other;

	if (fw__text_is(cause->code, row->code, row->code_len))
		return false;
	other = fw_registry_find(NULL, cause->code.p);
	return !other || strcmp(other->kaiza, row->kaiza) == 0;
}

static void write_named(struct fw_out *out, const fw_error *err,
			const struct fw_cause_link *cause)
{
	bool is_ours = fw__text_is(cause->name, our_name.p, our_name.n);
	bool is_taken = is_ours && is_wrapped(err->message, cause->message);

	FW_OUT(out, "{\"message\":");
	fw_write_text_or_null(out, cause->message);
	FW_OUT(out, ",\"code\":");
	fw_write_text_or_null(out, cause->code);
	FW_OUT(out, ",\"name\":");
	if (is_taken && is_mistakable(err, cause))
		FW_OUT(out, "null");
	else
		fw_write_text_or_null(out, cause->name);
	if (is_taken)
		write_retry(out, err);
	FW_OUT(out, "}");
}

static void write_cause(struct fw_out *out, const fw_error *err)
{
	const struct fw_cause_link *cause = err->causes;

	if (!cause && is_read_alone(err)) {
		FW_OUT(out, "null");
		return;
	}
	if (!cause) {
		write_code_as_cause(out, err);
		return;
	}
	switch (cause->kind) {
	case FW_CAUSE_JSON: fw_out_put(out, cause->message.p, cause->message.n); break;
	case FW_CAUSE_TEXT: fw_write_text_or_null(out, cause->message); break;
	case FW_CAUSE_NAMED: write_named(out, err, cause); break;
	}
}

/* The contract has two roles; the server's flag has them in lower case. */
static void write_role(struct fw_out *out, struct fw_text role)
{
	if (role.p && strcasecmp(role.p, "WINDSURF") == 0)
		FW_OUT(out, "\"WINDSURF\"");
	else if (role.p && strcasecmp(role.p, "ANTIGRAVITY") == 0)
		FW_OUT(out, "\"ANTIGRAVITY\"");
	else
		FW_OUT(out, "null");
}

static void write_stack(struct fw_out *out, const fw_error *err)
{
	char trail[4096];
	struct fw_text stack = err->slots[FW_SLOT_STACK];

	if (!stack.p) {
		size_t len = fw_error_trail(err, trail, sizeof(trail));

		stack = (struct fw_text){ trail,
					  len < sizeof(trail) ? len : sizeof(trail) - 1 };
	}
	FW_OUT(out, ",\"stack_trace\":");
	fw_write_text(out, stack);
}

void fw_kaiza_encode(struct fw_out *out, const fw_error *err, const fw_encode_options *options)
{
	const struct fw_text *slots = err->slots;
	const fw_row *row = fw_error_row(err);

	FW_OUT(out, "{\"error_code\":\"");
	fw_out_put(out, row->kaiza, row->kaiza_len);
	FW_OUT(out, "\",\"human_message\":");
	fw_write_text(out, is_bare_text(err) ? unexpected : err->message);
	FW_OUT(out, ",\"role\":");
	write_role(out, slots[FW_SLOT_ROLE]);
	FW_OUT(out, ",\"session_id\":");
	fw_write_text_or_null(out, slots[FW_SLOT_SESSION_ID]);
	FW_OUT(out, ",\"workspace_root\":");
	fw_write_text_or_null(out, slots[FW_SLOT_WORKSPACE_ROOT]);
	FW_OUT(out, ",\"tool_name\":");
	fw_write_text(out, slots[FW_SLOT_TOOL].n ? slots[FW_SLOT_TOOL] : unnamed);
	FW_OUT(out, ",\"invariant_id\":");
	fw_write_text_or_null(out, slots[FW_SLOT_INVARIANT_ID]);
	FW_OUT(out, ",\"phase_id\":");
	fw_write_text_or_null(out, slots[FW_SLOT_PHASE_ID]);
	FW_OUT(out, ",\"plan_hash\":");
	fw_write_text_or_null(out, slots[FW_SLOT_PLAN_HASH]);
	FW_OUT(out, ",\"cause\":");
	write_cause(out, err);
	FW_OUT(out, ",\"timestamp\":");
	fw_write_text(out, slots[FW_SLOT_TIMESTAMP].n ? slots[FW_SLOT_TIMESTAMP] : epoch);
	if (options->stack)
		write_stack(out, err);
	FW_OUT(out, "}");
}

enum {
	ERROR_CODE,
	HUMAN_MESSAGE,
	ROLE,
	SESSION_ID,
	WORKSPACE_ROOT,
	TOOL_NAME,
	INVARIANT_ID,
	PHASE_ID,
	PLAN_HASH,
	CAUSE,
	TIMESTAMP,
	STACK_TRACE,
	MEMBERS
};

#define TEXT_OR_NULL (FW_KIND_STRING | FW_KIND_NULL)

static const struct fw_member members[MEMBERS] = {
	[ERROR_CODE] = FW_MEMBER("error_code", FW_KIND_STRING, true),
	[HUMAN_MESSAGE] = FW_MEMBER("human_message", FW_KIND_STRING, true),
	[ROLE] = FW_MEMBER("role", TEXT_OR_NULL, false),
	[SESSION_ID] = FW_MEMBER("session_id", TEXT_OR_NULL, false),
	[WORKSPACE_ROOT] = FW_MEMBER("workspace_root", TEXT_OR_NULL, false),
	[TOOL_NAME] = FW_MEMBER("tool_name", TEXT_OR_NULL, false),
	[INVARIANT_ID] = FW_MEMBER("invariant_id", TEXT_OR_NULL, false),
	[PHASE_ID] = FW_MEMBER("phase_id", TEXT_OR_NULL, false),
	[PLAN_HASH] = FW_MEMBER("plan_hash", TEXT_OR_NULL, false),
	[CAUSE] = FW_MEMBER("cause", FW_KIND_ANY, false),
	[TIMESTAMP] = FW_MEMBER("timestamp", TEXT_OR_NULL, false),
	[STACK_TRACE] = FW_MEMBER("stack_trace", TEXT_OR_NULL, false),
};

/* What a cause says about the error itself. */
struct hint {
	const fw_row *row; /* NULL: nothing */
	fw_retry retry;
	bool is_cause; /* keep it as the cause, too */
};

static struct fw_text text_in(yyjson_val *object, const char *name)
{
	yyjson_val *value = yyjson_obj_get(object, name);

	return (struct fw_text){ yyjson_get_str(value), yyjson_get_len(value) };
}

static fw_retry retry_in(yyjson_val *cause, const fw_row *row)
{
	struct fw_text name = text_in(cause, "retry");

	for (int retry = 0; name.p && retry < FW_RETRY_COUNT; retry++)
		if (fw__text_is(fw__retry_names[retry], name.p, name.n))
			return (fw_retry)retry;
	return row->retry;
}

static struct hint read_hint(const struct fw_reading *reading, yyjson_val **values)
{
	struct hint hint = { .is_cause = true };
	yyjson_val *cause = values[CAUSE];
	struct fw_text code = text_in(cause, "code"), words = text_in(cause, "message");
	struct fw_text message = { yyjson_get_str(values[HUMAN_MESSAGE]),
				   yyjson_get_len(values[HUMAN_MESSAGE]) };
	struct fw_text name = text_in(cause, "name");
	const fw_row *row = NULL;

	if (name.p && fw__text_is(our_name, name.p, name.n) && code.p && words.p)
		row = fw_registry_find(reading->registry, code.p);
	if (!row || !yyjson_equals_strn(values[ERROR_CODE], row->kaiza, row->kaiza_len))
		return hint;
	hint.retry = retry_in(cause, row);
	if (is_wrapped(message, words)) {
		hint.row = row;
	} else if (fw__text_is(words, row->title, row->title_len)) {
		hint.row = row;
		/* As write_cause() writes it. */
		hint.is_cause = row->reads & 1u << FW_KAIZA &&
				fw_row_retry_in(row, FW_KAIZA) == hint.retry;
	}
	return hint;
}

fw_error *fw_kaiza_decode(const struct fw_reading *reading, yyjson_val *root)
{
	static const struct {
		int member;
		enum fw_slot slot;
	} slots[] = {
		{ ROLE, FW_SLOT_ROLE },
		{ SESSION_ID, FW_SLOT_SESSION_ID },
		{ WORKSPACE_ROOT, FW_SLOT_WORKSPACE_ROOT },
		{ INVARIANT_ID, FW_SLOT_INVARIANT_ID },
		{ PHASE_ID, FW_SLOT_PHASE_ID },
		{ PLAN_HASH, FW_SLOT_PLAN_HASH },
		{ STACK_TRACE, FW_SLOT_STACK },
	};
	yyjson_val *values[MEMBERS], *message;
	const fw_row *row;
	struct hint hint;
	fw_error *err;

	FW_TRY(fw_read_members(reading, "", root, members, MEMBERS, values));
	row = fw_registry_read(reading->registry, FW_KAIZA, yyjson_get_str(values[ERROR_CODE]));
	if (!row)
		return fw_raise_registry_code_unregistered(yyjson_get_str(values[ERROR_CODE]));
	message = values[HUMAN_MESSAGE];
	if (yyjson_equals_strn(message, unexpected.p, unexpected.n) &&
	    yyjson_is_str(values[CAUSE]) &&
	    !memchr(yyjson_get_str(values[CAUSE]), '\0', yyjson_get_len(values[CAUSE])))
		message = values[CAUSE];
	hint = read_hint(reading, values);
	err = fw_read_start(reading, hint.row ? hint.row : row, message);
	if (!hint.row)
		fw_read_lower_retry(reading, err);
	else if (hint.retry != hint.row->retry)
		fw_error_set_retry(err, hint.retry);
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		fw_read_slot(err, slots[i].slot, values[slots[i].member]);
	fw_read_slot_but(err, FW_SLOT_TOOL, values[TOOL_NAME], unnamed);
	FW_TRY(fw_read_check_time(reading, values[TIMESTAMP]));
	fw_read_slot_but(err, FW_SLOT_TIMESTAMP, values[TIMESTAMP], epoch);
	if (!hint.is_cause)
		return NULL;
	return fw_read_cause(reading, "/cause", err, values[CAUSE]);
}
