/*
 * decode.c - decoding: from text to an error.
 *
 * The text is copied into the memory of the new error and parsed there, so that every
 * string is already in place and reading takes one allocation. A reader without a
 * given contract detects it, and looks inside MCP messages (carrier.c).
 */
#include "base/json.h"
#include "base/json_compact.h"
#include "base/limits.h"
#include "base/mem.h"
#include "contract/contract_impl.h"
#include "core/options.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

static fw_decode_fn *const decoders[FW_CONTRACT_COUNT] = {
	[FW_CANONICAL] = fw_canonical_decode,     [FW_KAIZA] = fw_kaiza_decode,
	[FW_CONTEXT_V0] = fw_context_v0_decode,   [FW_CODEINTEL] = fw_codeintel_decode,
	[FW_TOOLERROR] = fw_toolerror_decode,     [FW_OWLCLAW] = fw_owlclaw_decode,
	[FW_OWLCLAW_API] = fw_owlclaw_api_decode,
};

static fw_error *decode(struct fw_reading *reading, const char *text, size_t len,
			fw_error **ret_error);

enum {
	/* Envelopes up to this length are parsed without an allocation. */
	SMALL_TEXT = 1024,
	/* Up to this length they fit into the least room of an error, with some fields. */
	SMALL_ENVELOPE = 256,
	/* A value takes two bytes of text: a digit and a comma. */
	SMALL_CELLS = SMALL_TEXT / 2 + 1,
	/* yyjson_read_max_memory_usage(), and the overhead of the pool. */
	SMALL_POOL = SMALL_TEXT * 12 + 256 + 256,
};

_Static_assert(SMALL_ENVELOPE + FW_JSON_COMPACT_PADDING < FW_ERROR_ROOM_LEAST,
	       "the copy of a small envelope fits into any error");

static fw_error *not_json(const yyjson_read_err *problem)
{
	if (problem->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return fw_raise_internal_out_of_memory();
	if (strstr(problem->msg, "UTF-8"))
		return fw_raise_input_invalid_encoding("text", problem->pos);
	return fw_raise_contract_not_json(problem->pos, problem->msg);
}

fw_error *fw_read_parse(char *text, size_t len, yyjson_read_flag flags, const yyjson_alc *alc,
			yyjson_doc **ret_doc)
{
	/* The decoders check the depth of what they keep. */
	const struct fw_json_limits limits = { .bytes = FW_LIMIT_JSON_BYTES };
	yyjson_read_err problem;
	yyjson_doc *doc = fw_json_read(text, len, limits, flags | YYJSON_READ_NUMBER_AS_RAW,
				       alc, &problem);

	if (!doc)
		return not_json(&problem);
	*ret_doc = doc;
	return NULL;
}

static void report_contract(const struct fw_reading *reading, fw_contract found)
{
	if (reading->ret_contract)
		*reading->ret_contract = found;
}

/* Decodes any value that a tool may have thrown. */
static fw_error *decode_any(const struct fw_reading *reading, yyjson_val *value,
			    fw_error **ret_error)
{
	struct fw_value_where where = { "" };
	struct fw_out count;

	fw_out_init(&count, NULL, 0);
	FW_TRY(fw_read_fault(reading, fw_value_write(&count, value, NULL, &where), "", NULL,
			     &where));
	*ret_error = fw__error_from_value(FW_HERE, value, reading->keep_secrets);
	return NULL;
}

static fw_error *decode_value(struct fw_reading *reading, yyjson_val *root,
			      fw_error **ret_error)
{
	yyjson_val *inner;

	if (reading->contract == FW_AUTO) {
		inner = reading->opened ? NULL : fw_carrier_open(root);
		reading->opened = true;
		if (yyjson_is_str(inner)) {
			struct fw_reading inside = *reading;

			inside.source = NULL;
			return decode(&inside, yyjson_get_str(inner), yyjson_get_len(inner),
				      ret_error);
		}
		if (inner)
			root = inner;
		reading->contract = fw_sniff_value(root);
	}
	report_contract(reading, reading->contract);
	if (reading->contract == FW_ANY_JSON)
		return decode_any(reading, root, ret_error);
	FW_TRY(decoders[reading->contract](reading, root));
	*ret_error = reading->target;
	return NULL;
}

/* A final newline is not part of the text. */
static fw_error *decode_text(const struct fw_reading *reading, const char *text, size_t len)
{
	report_contract(reading, FW_PLAIN_TEXT);
	while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	return fw_error_from_text(FW_HERE, text, len);
}

/* Where the values of a small text are while it is read. */
union small {
	char pool[SMALL_POOL]; /* of yyjson */
	struct {
		yyjson_val cells[SMALL_CELLS];
		struct fw_json_span spans[SMALL_CELLS];
	} compact;
};

/* Parses a copy of the text in the error's memory, and reads that. */
static fw_error *decode_json(struct fw_reading *reading, const char *text, size_t len,
			     fw_error **ret_error)
{
	union small room;
	struct fw_json_compact json = { room.compact.cells, room.compact.spans, SMALL_CELLS,
					0 };
	/* A new error has room for it. */
	char *copy = reading->target->room;
	const struct fw_value_source source = { text, copy, &json };
	yyjson_val *root = json.cells;
	yyjson_doc *doc = NULL;
	fw_error *failed;

	reading->target->room += len + FW_JSON_COMPACT_PADDING;
	memcpy(copy, text, len);
	memset(copy + len, 0, FW_JSON_COMPACT_PADDING);
	if (len <= SMALL_TEXT && fw_json_compact_read(copy, len, &json)) {
		reading->source = &source;
	} else {
		yyjson_alc values = fw__yyjson_alc;

		memcpy(copy, text, len);
		if (len <= SMALL_TEXT)
			yyjson_alc_pool_init(&values, &room, sizeof(room));
		FW_TRY(fw_read_parse(copy, len, YYJSON_READ_INSITU, &values, &doc));
		root = yyjson_doc_get_root(doc);
	}
	failed = decode_value(reading, root, ret_error);
	reading->source = NULL;
	if (doc)
		yyjson_doc_free(doc);
	return failed;
}

/* How much memory the texts of an error take. */
static size_t room_for(size_t len)
{
	/* With what a small envelope has besides, the usual size of an error will do, which
	 * is allocated fastest. */
	if (len <= SMALL_ENVELOPE)
		return 0;
	/* The text, and the same again for values that are kept in another form. */
	return 2 * len + 256;
}

/* Decodes `text` into a new error, which becomes the target. */
static fw_error *decode(struct fw_reading *reading, const char *text, size_t len,
			fw_error **ret_error)
{
	fw_error *failed, *err = NULL;

	if (reading->contract == FW_PLAIN_TEXT) {
		*ret_error = decode_text(reading, text, len);
		return NULL;
	}
	reading->target = fw__error_blank(room_for(len));
	if (!fw__error_is_mine(reading->target))
		return reading->target;
	reading->target->keep_secrets = reading->keep_secrets;
	if ((reading->contract == FW_AUTO || reading->contract == FW_TOOLERROR) &&
	    fw_toolerror_is_string_form(text, len)) {
		reading->contract = FW_TOOLERROR;
		report_contract(reading, FW_TOOLERROR);
		failed = fw_toolerror_decode_string(reading, text, len);
		err = reading->target;
	} else {
		failed = decode_json(reading, text, len, &err);
	}
	if (failed || err != reading->target)
		fw_error_free(reading->target);
	if (!failed) {
		*ret_error = err;
		return NULL;
	}
	/* Without a given contract, text that is not an error envelope is decoded
	 * as plain text or JSON. */
	if (reading->contract == FW_AUTO &&
	    fw_error_code(failed) != FW_INTERNAL_OUT_OF_MEMORY) {
		fw_error_free(failed);
		*ret_error = decode_text(reading, text, len);
		return NULL;
	}
	return failed;
}

fw_error *fw_error_decode(const char *text, size_t len, fw_contract contract,
			  const fw_decode_options *options, fw_error **ret_error)
{
	fw_decode_options known = FW_DECODE_OPTIONS_INIT;
	struct fw_reading reading = {
		.contract = (unsigned)contract <= FW_AUTO ? contract : FW_AUTO,
	};

	FW_TRY(fw_options_read("fw_error_decode", options, &known, sizeof(known)));
	reading.registry = known.registry;
	reading.keep_secrets = known.keep_secrets;
	reading.ret_contract = known.ret_contract;
	if (len > FW_LIMIT_ENVELOPE_BYTES)
		return fw_raise_input_too_large("text", FW_LIMIT_ENVELOPE_BYTES);
	return decode(&reading, text ? text : "", text ? len : 0, ret_error);
}
