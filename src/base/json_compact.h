/*
 * json_compact.h - parses JSON as programs write it: without white space between tokens, in
 * ASCII, with escapes of one character only.
 *
 * The one rule to remember: false means "not of that form", never "not JSON". The caller
 * then parses the text with fw_json_read(), which accepts all of JSON and reports what is
 * wrong. The cells are those that yyjson makes of the same text, in its in-place mode and
 * with numbers as raw text, so the functions of yyjson.h read them.
 */
#ifndef FW_BASE_JSON_COMPACT_H
#define FW_BASE_JSON_COMPACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <yyjson.h>

/* How many zero bytes must follow the text: it is read sixteen bytes at a time. */
enum { FW_JSON_COMPACT_PADDING = 16 };

/* Where an array or object is in the text. */
struct fw_json_span {
	uint32_t begin, end;
};

struct fw_json_compact {
	yyjson_val *cells; /* the first is the root */
	/* One for each cell, set for arrays and objects only. */
	struct fw_json_span *spans;
	size_t most;    /* room in both */
	unsigned depth; /* set: how deep arrays and objects are nested */
};

/*
 * Parses `text`, an array or an object, into `json`. The text is modified: strings are
 * unescaped and strings and numbers terminated in place. On false it is left half modified.
 */
bool fw_json_compact_read(char *text, size_t len, struct fw_json_compact *json);

#endif
