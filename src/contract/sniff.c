/*
 * sniff.c - detects the contract of an envelope.
 *
 * The contracts overlap: context-v0 and owlclaw both use the key `error`, codeintel
 * uses it for a string, and many APIs answer with {"error":{"code","message"}} and
 * follow neither. So each contract is recognised by what only it has; "none of them"
 * is a possible result.
 */
#include "base/limits.h"
#include "contract/contract_impl.h"

static bool has_string(yyjson_val *object, const char *key)
{
	return yyjson_is_str(yyjson_obj_get(object, key));
}

/* "domain.reason": only owlclaw and the canonical format have such codes. */
static bool has_dotted_code(yyjson_val *object)
{
	const char *code = yyjson_get_str(yyjson_obj_get(object, "code"));

	return code && strchr(code, '.');
}

static fw_contract sniff_error_object(yyjson_val *root, yyjson_val *error)
{
	const char *code = yyjson_get_str(yyjson_obj_get(error, "code"));

	if (has_dotted_code(error) &&
	    (yyjson_obj_get(error, "retryable") || yyjson_obj_get(error, "category") ||
	     yyjson_obj_get(error, "incident_id")))
		return FW_OWLCLAW;
	if (code && yyjson_obj_size(root) == 1 && yyjson_obj_size(error) == 2 &&
	    has_string(error, "message") && fw_registry_read(NULL, FW_CONTEXT_V0, code))
		return FW_CONTEXT_V0;
	return FW_ANY_JSON;
}

fw_contract fw_sniff_value(yyjson_val *root)
{
	yyjson_val *error = yyjson_obj_get(root, "error");
	const char *type = yyjson_get_str(yyjson_obj_get(root, "type"));

	if (has_string(root, "error_code") && has_string(root, "human_message"))
		return FW_KAIZA;
	if (yyjson_is_str(error) && yyjson_is_obj(yyjson_obj_get(root, "problem")))
		return FW_CODEINTEL;
	if (yyjson_is_obj(error))
		return sniff_error_object(root, error);
	if (has_string(root, "code") && has_string(root, "message") &&
	    has_string(root, "retry") && has_string(root, "category"))
		return FW_CANONICAL;
	if (type && has_string(root, "message") && fw_registry_read(NULL, FW_TOOLERROR, type))
		return FW_TOOLERROR;
	if (has_dotted_code(root) && has_string(root, "category") &&
	    yyjson_is_bool(yyjson_obj_get(root, "retryable")))
		return FW_OWLCLAW_API;
	return FW_ANY_JSON;
}

fw_contract fw_sniff(const char *text, size_t len)
{
	yyjson_doc *doc;
	fw_contract contract;

	if (len > FW_LIMIT_ENVELOPE_BYTES)
		return FW_PLAIN_TEXT;
	if (fw_toolerror_is_string_form(text, len))
		return FW_TOOLERROR;
	doc = fw_value_parse(text, len);
	if (!doc)
		return FW_PLAIN_TEXT;
	contract = fw_sniff_value(yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	return contract;
}
