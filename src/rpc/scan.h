/*
 * scan.h - reads one JSON-RPC message of a server without building a document.
 *
 * The scanner validates the whole text (RFC 8259, UTF-8, a limit of nesting) in
 * one pass and remembers where the members are that a client needs. Large results
 * are passed on as bytes; nothing is allocated.
 */
#ifndef FW_RPC_SCAN_H
#define FW_RPC_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "rpc/slice.h"

enum fw_scan_status {
	FW_SCAN_OK,
	FW_SCAN_NOT_JSON,  /* at `position` */
	FW_SCAN_CUT,       /* the text ends inside a value */
	FW_SCAN_NOT_UTF8,  /* at `position` */
	FW_SCAN_TOO_DEEP,  /* nested deeper than allowed */
	FW_SCAN_AMBIGUOUS, /* a member below occurs twice, and readers would disagree */
	FW_SCAN_NOT_OBJECT /* valid JSON, but not an object: `is_array` for a batch */
};

/* What is wrong with the blocks of `content`, if it is an array: the first fault. */
enum fw_scan_blocks {
	FW_BLOCKS_OK,
	FW_BLOCKS_NOT_OBJECT,
	FW_BLOCKS_NO_TYPE,     /* or it is not a string */
	FW_BLOCKS_NO_TEXT,     /* a block of text without a text */
	FW_BLOCKS_NO_DATA,     /* an image or audio without its data */
	FW_BLOCKS_NO_RESOURCE, /* an embedded resource without an object */
	FW_BLOCKS_NO_URI       /* a resource link without a URI */
};

struct fw_scan {
	enum fw_scan_status status;
	size_t position; /* of the first offending byte */
	bool is_array;
	bool is_ambiguous; /* a member below occurs twice */
	/* Of the message. */
	struct fw_slice version; /* jsonrpc */
	struct fw_slice id;
	struct fw_slice method;
	struct fw_slice params;
	struct fw_slice result;
	struct fw_slice error;
	/* Of `result`, if it is an object. */
	struct fw_slice content;
	enum fw_scan_blocks blocks;
	struct fw_slice structured; /* structuredContent */
	struct fw_slice is_error;   /* isError */
	struct fw_slice type;       /* resultType */
	struct fw_slice meta;       /* _meta */
	struct fw_slice state;      /* requestState */
	struct fw_slice questions;  /* inputRequests */
	struct fw_slice cursor;     /* nextCursor */
	/* Of `error`, if it is an object. */
	struct fw_slice code;
	struct fw_slice message;
	struct fw_slice data;
	/* Of `params`, if it is an object. */
	struct fw_slice token;      /* progressToken */
	struct fw_slice request_id; /* requestId */
	struct fw_slice uri;
};

/* Scans a whole message. The status says whether it is valid. After a failure the slices
 * still hold what was complete before it, for instance the id of a truncated reply. */
enum fw_scan_status fw_slice_scan(const char *text, size_t len, size_t depth,
				  struct fw_scan *ret_scan);

/* A member that fw_slice_members() looks for. */
struct fw_scan_member {
	const char *name; /* ASCII */
	struct fw_slice value;
};

/* Finds members of an object that was validated before; the first of each name counts.
 * False: it is not an object. */
bool fw_slice_members(struct fw_slice object, struct fw_scan_member *members, size_t count);

/* Walks an array or object that was validated before. Begin with at = NULL; false: no more.
 * `ret_key` is absent for an array. */
bool fw_slice_next(struct fw_slice container, const char **at, struct fw_slice *ret_key,
		   struct fw_slice *ret_value);

#endif
