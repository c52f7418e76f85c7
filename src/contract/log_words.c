/*
 * log_words.c - see log_words.h.
 */
#include "contract/log_words.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <faultwire/codes.h>

/* The operations of code intelligence tools begin with one of these categories. */
static bool is_codeintel(const char *operation)
{
	static const char *const categories[] = { "files:", "search:", "git:", "semantic:" };

	for (size_t i = 0; operation && i < sizeof categories / sizeof *categories; i++)
		if (strncmp(operation, categories[i], strlen(categories[i])) == 0)
			return true;
	return false;
}

static const char *exception_type(const fw_error *err)
{
	fw_field type;
	fw_cause cause;

	if (fw_error_find_field(err, "exception_type", &type) && type.type == FW_FIELD_STRING)
		return type.string;
	if (fw_error_cause(err, 0, &cause) && cause.name && *cause.name)
		return cause.name;
	/* As in the extensions of the problem. */
	return fw_error_code(err) == FW_TOOL_FAILED ? "Error" : fw_error_row(err)->code;
}

struct fw_log_words fw_contract_log_words(const fw_error *err)
{
	const fw_row *row = fw_error_row(err);
	struct fw_log_words words = { .component = "faultwire", .error_code = row->code };

	if (!is_codeintel(fw_error_scope(err).operation))
		return words;
	words.component = "codeintel_mcp";
	words.error_code = row->codeintel;
	if (fw_error_code(err) == FW_FILE_NOT_FOUND)
		words.message = "File not found";
	/* What the contract calls an unknown exception; memory that is exhausted is one, too. */
	if (strcmp(row->codeintel, "internal-error") == 0) {
		words.message = "Unexpected error";
		words.exception_type = exception_type(err);
	}
	return words;
}
