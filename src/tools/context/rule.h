/*
 * rule.h - the rules of a cache, and the error raised when one is broken.
 */
#ifndef FW_TOOLS_CONTEXT_RULE_H
#define FW_TOOLS_CONTEXT_RULE_H

#include "tools/context/context.h"

#include <faultwire/raise.h>

enum fw_context_rule {
	FW_CONTEXT_RULE_MANIFEST_MISSING,
	FW_CONTEXT_RULE_MANIFEST_MALFORMED,
	FW_CONTEXT_RULE_MANIFEST_UNSUPPORTED,
	FW_CONTEXT_RULE_MANIFEST_UNORDERED,
	FW_CONTEXT_RULE_MANIFEST_FILE_NAME,
	FW_CONTEXT_RULE_VERSION_MISMATCH,
	FW_CONTEXT_RULE_DOCUMENTS_MISSING,
	FW_CONTEXT_RULE_DOCUMENT_MISSING,
	FW_CONTEXT_RULE_DOCUMENT_MALFORMED,
	FW_CONTEXT_RULE_DOCUMENT_ID,
	FW_CONTEXT_RULE_DOCUMENT_VERSION,
	FW_CONTEXT_RULE_DOCUMENT_HASH,
	FW_CONTEXT_RULE_INDEX_MISSING,
	FW_CONTEXT_RULE_INDEX_MALFORMED,
	FW_CONTEXT_RULE_INDEX_DISAGREES,
	FW_CONTEXT_RULE_ORPHAN,
	FW_CONTEXT_RULE_DUPLICATE_ID,
	FW_CONTEXT_RULE_DUPLICATE_CONTENT,
	FW_CONTEXT_RULE_COUNT
};

/* cache.invalid. The rule and its subject (an id or a file name; may be NULL) are
 * in the context and in the detail. */
FW_NODISCARD fw_error *fw_context_invalid_at(fw_src at, enum fw_context_rule rule,
					     const char *subject);
#define fw_context_invalid(rule, subject) fw_context_invalid_at(FW_HERE, rule, subject)

/* The rule that such an error reports; false if it is another error. */
bool fw_context_violation_of(const fw_error *err, struct fw_context_violation *ret_violation);

#endif
