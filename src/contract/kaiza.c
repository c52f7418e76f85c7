/*
 * kaiza.c - the SystemError envelope: 11 fields, all of them always present, and 35
 * codes.
 *
 * If a tool threw something that is not an error (a bare string), the contract has
 * the string as the cause, and the message says only that something unexpected
 * happened. In the canonical error the string is both message and cause; the message
 * is replaced here, when writing and when reading.
 */
#include "contract/contract_impl.h"

#include <faultwire/raise.h>
#include <strings.h>

static const struct fw_text unexpected = { "An unexpected error occurred", 28 };
static const struct fw_text epoch = { "1970-01-01T00:00:00.000Z", 24 };
static const struct fw_text unnamed = { "unknown", 7 };

static bool is_bare_text(const fw_error *err)
{
	return err->causes && err->causes->kind == FW_CAUSE_TEXT &&
	       fw__text_is(err->causes->message, err->message.p, err->message.n);
}

static void write_cause(struct fw_out *out, const struct fw_link *cause)
{
	if (!cause) {
		FW_OUT(out, "null");
		return;
	}
	switch (cause->kind) {
	case FW_CAUSE_JSON: fw_out_put(out, cause->message.p, cause->message.n); break;
	case FW_CAUSE_TEXT: fw_write_text_or_null(out, cause->message); break;
	case FW_CAUSE_NAMED:
		FW_OUT(out, "{\"message\":");
		fw_write_text_or_null(out, cause->message);
		FW_OUT(out, ",\"code\":");
		fw_write_text_or_null(out, cause->code);
		FW_OUT(out, ",\"name\":");
		fw_write_text_or_null(out, cause->name);
		FW_OUT(out, "}");
		break;
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
	write_cause(out, err->causes);
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
	err = fw_read_start(reading, row, message);
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		fw_read_slot(err, slots[i].slot, values[slots[i].member]);
	fw_read_slot_but(err, FW_SLOT_TOOL, values[TOOL_NAME], unnamed);
	FW_TRY(fw_read_check_time(reading, values[TIMESTAMP]));
	fw_read_slot_but(err, FW_SLOT_TIMESTAMP, values[TIMESTAMP], epoch);
	return fw_read_cause(reading, "/cause", err, values[CAUSE]);
}
