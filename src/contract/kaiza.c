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
	fw_write_slot_or_null(out, err, FW_SLOT_SESSION_ID);
	FW_OUT(out, ",\"workspace_root\":");
	fw_write_slot_or_null(out, err, FW_SLOT_WORKSPACE_ROOT);
	FW_OUT(out, ",\"tool_name\":");
	if (slots[FW_SLOT_TOOL].n)
		fw_write_slot(out, err, FW_SLOT_TOOL);
	else
		fw_write_quoted(out, unnamed);
	FW_OUT(out, ",\"invariant_id\":");
	fw_write_slot_or_null(out, err, FW_SLOT_INVARIANT_ID);
	FW_OUT(out, ",\"phase_id\":");
	fw_write_slot_or_null(out, err, FW_SLOT_PHASE_ID);
	FW_OUT(out, ",\"plan_hash\":");
	fw_write_slot_or_null(out, err, FW_SLOT_PLAN_HASH);
	FW_OUT(out, ",\"cause\":");
	write_cause(out, err);
	FW_OUT(out, ",\"timestamp\":");
	if (slots[FW_SLOT_TIMESTAMP].n)
		fw_write_slot(out, err, FW_SLOT_TIMESTAMP);
	else
		fw_write_quoted(out, epoch);
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

static const struct fw_member list[MEMBERS] = {
	[ERROR_CODE] = FW_MEMBER("error_code", FW_KIND_STRING),
	[HUMAN_MESSAGE] = FW_MEMBER("human_message", FW_KIND_STRING),
	[ROLE] = FW_MEMBER("role", TEXT_OR_NULL),
	[SESSION_ID] = FW_MEMBER("session_id", TEXT_OR_NULL),
	[WORKSPACE_ROOT] = FW_MEMBER("workspace_root", TEXT_OR_NULL),
	[TOOL_NAME] = FW_MEMBER("tool_name", TEXT_OR_NULL),
	[INVARIANT_ID] = FW_MEMBER("invariant_id", TEXT_OR_NULL),
	[PHASE_ID] = FW_MEMBER("phase_id", TEXT_OR_NULL),
	[PLAN_HASH] = FW_MEMBER("plan_hash", TEXT_OR_NULL),
	[CAUSE] = FW_MEMBER("cause", FW_KIND_ANY),
	[TIMESTAMP] = FW_MEMBER("timestamp", TEXT_OR_NULL),
	[STACK_TRACE] = FW_MEMBER("stack_trace", TEXT_OR_NULL),
};
static const struct fw_members members = FW_MEMBERS(list, 1 << ERROR_CODE | 1 << HUMAN_MESSAGE);

/* What a cause says about the error itself. */
struct hint {
	const fw_row *row; /* NULL: nothing */
	fw_retry retry;
	bool is_cause; /* keep it as the cause, too */
};

/* The members of a cause that write_cause() writes; NULL: not there, or no string. */
struct cause {
	struct fw_text code, message, name, retry;
};

static struct cause read_cause(yyjson_val *object)
{
	struct cause cause = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
	size_t index, max;
	yyjson_val *key, *value;

	if (!yyjson_is_obj(object))
		return cause;
	yyjson_obj_foreach(object, index, max, key, value)
	{
		struct fw_text *text = NULL;

		if (unsafe_yyjson_equals_strn(key, "message", 7))
			text = &cause.message;
		else if (unsafe_yyjson_equals_strn(key, "code", 4))
			text = &cause.code;
		else if (unsafe_yyjson_equals_strn(key, "name", 4))
			text = &cause.name;
		else if (unsafe_yyjson_equals_strn(key, "retry", 5))
			text = &cause.retry;
		if (text && !text->p)
			*text = (struct fw_text){ yyjson_get_str(value),
						  yyjson_get_len(value) };
	}
	return cause;
}

static fw_retry retry_in(struct fw_text name, const fw_row *row)
{
	for (int retry = 0; name.p && retry < FW_RETRY_COUNT; retry++)
		if (fw__text_is(fw__retry_names[retry], name.p, name.n))
			return (fw_retry)retry;
	return row->retry;
}

static struct hint read_hint(const struct fw_reading *reading, yyjson_val **values)
{
	struct hint hint = { .is_cause = true };
	const struct cause cause = read_cause(values[CAUSE]);
	struct fw_text message = { yyjson_get_str(values[HUMAN_MESSAGE]),
				   yyjson_get_len(values[HUMAN_MESSAGE]) };
	const fw_row *row = NULL;

	if (cause.name.p && fw__text_is(our_name, cause.name.p, cause.name.n) && cause.code.p &&
	    cause.message.p)
		row = fw__registry_read(reading->registry, FW_CANONICAL, cause.code);
	if (!row || !yyjson_equals_strn(values[ERROR_CODE], row->kaiza, row->kaiza_len))
		return hint;
	hint.retry = retry_in(cause.retry, row);
	if (is_wrapped(message, cause.message)) {
		hint.row = row;
	} else if (fw__text_is(cause.message, row->title, row->title_len)) {
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

	FW_TRY(fw_read_members(reading, "", root, &members, values));
	row = fw__registry_read(reading->registry, FW_KAIZA, fw_text_of(values[ERROR_CODE]));
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
