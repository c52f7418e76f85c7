/*
 * message.h - one JSON-RPC message: parsed within limits, and classified.
 *
 * The one rule to remember: numbers stay text. An id of 9007199254740993 must
 * not become ...992, and the schema checker reads text as well.
 */
#ifndef FW_RPC_MESSAGE_H
#define FW_RPC_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <yyjson.h>

#include <faultwire/error.h>

#include "base/limits.h"

/* An id as JSON text; len 0: none. */
struct fw_message_id {
	size_t len;
	char text[FW_LIMIT_ID_BYTES];
};

/* False: it is neither a string nor an integer, or too long; `ret_id` is undefined. */
bool fw_message_read_id(yyjson_val *id, struct fw_message_id *ret_id);

enum fw_message_kind { FW_MESSAGE_REQUEST, FW_MESSAGE_NOTIFICATION, FW_MESSAGE_RESPONSE };

/* All values are borrowed from the document. */
struct fw_message {
	enum fw_message_kind kind;
	const char *method; /* without a NUL inside; NULL for a response */
	yyjson_val *id;     /* of a response: not checked */
	yyjson_val *params; /* an object, or NULL */
	yyjson_val *meta;   /* an object, or NULL */
	yyjson_val *result;
	yyjson_val *error;
};

/*
 * Classifies the message; `root` may be any JSON value. Raises
 * protocol.invalid_request and protocol.invalid_params; then `ret_message` and
 * `ret_id` hold what was valid up to there, for the reply.
 */
fw_error *fw_message_read(yyjson_val *root, struct fw_message *ret_message,
			  struct fw_message_id *ret_id);

struct fw_message_limits {
	size_t bytes;
	size_t depth;
	/* Memory for the document of a small message; pool_bytes 0: always the heap. */
	char *pool;
	size_t pool_bytes;
};

/*
 * The document is yours, for yyjson_doc_free(); a pooled one lasts as long as
 * its pool. Raises input.too_large, input.too_deep, input.invalid_encoding,
 * protocol.parse_error, internal.out_of_memory.
 */
fw_error *fw_message_parse(const char *text, size_t len, const struct fw_message_limits *limits,
			   yyjson_doc **ret_doc);

#endif
