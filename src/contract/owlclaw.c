/*
 * owlclaw.c - one error in two forms: in MCP under `error`, over HTTP as RFC 9457
 * problem+json. Code, category and retryable are the same in both, because the same
 * functions write and read them.
 */
#include "base/ascii.h"
#include "contract/contract_impl.h"

#include <faultwire/raise.h>

#define TYPE_BASE "https://owlclaw.dev/problems/"

/* The code is ours or was checked by fw_read_is_code(), so it needs no escaping. */
static void write_shared(struct fw_out *out, const fw_error *err)
{
	FW_OUT(out, ",\"category\":\"");
	fw_write_plain(out, fw__category_names[fw_error_row(err)->category]);
	FW_OUT(out, "\",\"retryable\":");
	fw_out_bool(out, err->retry == FW_RETRY_BACKOFF);
	FW_OUT(out, ",\"incident_id\":");
	fw_write_text(out, fw_write_incident(err));
	FW_WRITE_CONTEXT(out, ",\"details\":{", err, -1);
	if (err->retry_after >= 0) {
		FW_OUT(out, ",\"retry_after\":");
		fw_out_f64(out, err->retry_after);
	}
}

void fw_owlclaw_encode(struct fw_out *out, const fw_error *err,
		       const fw_encode_options *options)
{
	(void)options;
	FW_OUT(out, "{\"error\":{\"code\":\"");
	fw_write_plain(out, fw_write_code(err, FW_OWLCLAW));
	FW_OUT(out, "\",\"message\":");
	fw_write_message(out, err);
	write_shared(out, err);
	FW_OUT(out, "}}");
}

static void write_slug(struct fw_out *out, const char *code)
{
	char slug[128];
	size_t len = 0;

	/* The contract's own example deviates from the rule for this code. */
	if (strcmp(code, "protocol.unsupported_version") == 0)
		code = "protocol.version";
	for (; *code && len < sizeof(slug); code++)
		slug[len++] = fw_slug_char(*code);
	fw_out_put(out, slug, len);
}

void fw_owlclaw_api_encode(struct fw_out *out, const fw_error *err,
			   const fw_encode_options *options)
{
	struct fw_text code = fw_write_code(err, FW_OWLCLAW);
	struct fw_text incident = fw_write_incident(err);
	const char *base = options->problem_base ? options->problem_base : TYPE_BASE;

	FW_OUT(out, "{\"type\":\"");
	fw_out_json_body(out, base, strlen(base));
	write_slug(out, code.p);
	FW_OUT(out, "\",\"title\":");
	fw_write_title(out, err, fw_error_row(err));
	FW_OUT(out, ",\"status\":");
	fw_out_i64(out, fw_write_status(err));
	FW_OUT(out, ",\"detail\":");
	fw_write_message(out, err);
	FW_OUT(out, ",\"instance\":\"urn:owlclaw:incident:");
	fw_out_json_body(out, incident.p, incident.n);
	FW_OUT(out, "\",\"code\":\"");
	fw_write_plain(out, code);
	FW_OUT(out, "\"");
	write_shared(out, err);
	FW_OUT(out, "}");
}

/* Members in the order of writing: first those of one form, then the shared ones. */
enum { CATEGORY, RETRYABLE, INCIDENT_ID, DETAILS, RETRY_AFTER, SHARED };

#define SHARED_MEMBERS                                                               \
	FW_MEMBER("category", FW_KIND_STRING), FW_MEMBER("retryable", FW_KIND_BOOL), \
		FW_MEMBER("incident_id", FW_KIND_STRING),                            \
		FW_MEMBER("details", FW_KIND_OBJECT | FW_KIND_NULL),                 \
		FW_MEMBER("retry_after", FW_KIND_NUMBER | FW_KIND_NULL)

/* Both forms use the codes of the MCP form. */
static fw_error *read_shared(const struct fw_reading *reading, const char *pointer,
			     yyjson_val *code, yyjson_val *message, yyjson_val **shared)
{
	const fw_row *row;
	fw_error *err;
	bool known;

	row = fw_read_open_row(reading, FW_OWLCLAW, code, yyjson_get_str(shared[CATEGORY]),
			       &known);
	if (!known && !fw_read_is_code(yyjson_get_str(code)))
		return fw_read_malformed(reading, pointer, "code",
					 "must be domain.reason in lower case");
	err = fw_read_start(reading, row, message);
	if (!known)
		fw_read_original(err, FW_OWLCLAW, code);
	fw_read_retryable(err, shared[RETRYABLE]);
	fw_read_retry_after(err, shared[RETRY_AFTER]);
	fw_read_slot_but(err, FW_SLOT_INCIDENT_ID, shared[INCIDENT_ID], fw_write_no_incident);
	return fw_read_context(reading, *pointer ? "/error/details" : "/details", err,
			       shared[DETAILS], false);
}

fw_error *fw_owlclaw_decode(const struct fw_reading *reading, yyjson_val *root)
{
	enum { CODE, MESSAGE, OWN, MEMBERS = OWN + SHARED };
	static const struct fw_member list[MEMBERS] = {
		FW_MEMBER("code", FW_KIND_STRING),
		FW_MEMBER("message", FW_KIND_STRING),
		SHARED_MEMBERS,
	};
	static const struct fw_members members = FW_MEMBERS(list, 1 << CODE);
	yyjson_val *object, *values[MEMBERS];

	FW_TRY(fw_read_error_member(reading, root, &object));
	FW_TRY(fw_read_members(reading, "/error", object, &members, values));
	return read_shared(reading, "/error", values[CODE], values[MESSAGE], values + OWN);
}

fw_error *fw_owlclaw_api_decode(const struct fw_reading *reading, yyjson_val *root)
{
	enum { TYPE, TITLE, STATUS, DETAIL, INSTANCE, CODE, OWN, MEMBERS = OWN + SHARED };
	static const struct fw_member list[MEMBERS] = {
		FW_MEMBER("type", FW_KIND_ANY), /* implied by the code */
		FW_MEMBER("title", FW_KIND_STRING),
		FW_MEMBER("status", FW_KIND_NUMBER),
		FW_MEMBER("detail", FW_KIND_STRING),
		FW_MEMBER("instance", FW_KIND_ANY), /* implied by the
							    * incident */
		FW_MEMBER("code", FW_KIND_STRING),
		SHARED_MEMBERS,
	};
	static const struct fw_members members = FW_MEMBERS(list, 1 << CODE);
	yyjson_val *values[MEMBERS], *message;
	fw_error *err = reading->target;

	FW_TRY(fw_read_members(reading, "", root, &members, values));
	message = values[DETAIL] ? values[DETAIL] : values[TITLE];
	FW_TRY(read_shared(reading, "", values[CODE], message, values + OWN));
	fw_read_status(err, values[STATUS]);
	if (values[TITLE] && !yyjson_equals_strn(values[TITLE], fw_error_row(err)->title,
						 fw_error_row(err)->title_len))
		fw_read_slot(err, FW_SLOT_TITLE, values[TITLE]);
	return NULL;
}
