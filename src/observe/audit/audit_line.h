/*
 * audit_line.h - one line of the audit log: how it is written, and how it is
 * recognised without parsing it as JSON.
 *
 * The one rule to remember: the form of a line is fixed (seq first; prev_hash and
 * hash last), so that the hash covers exactly the bytes before it.
 */
#ifndef FW_OBSERVE_AUDIT_LINE_H
#define FW_OBSERVE_AUDIT_LINE_H

#include "base/buf.h"
#include "base/digest.h"
#include "observe/audit/audit.h"

enum { FW_AUDIT_HASH_LEN = 64, FW_AUDIT_TIME_LEN = 24 };

#define FW_AUDIT_GENESIS "GENESIS"

/* The end of a chain: its last record. */
struct fw_audit_chain {
	uint64_t seq; /* 0: no record yet */
	char hash[FW_AUDIT_HASH_LEN + 1];
};

extern const struct fw_audit_chain fw_audit_genesis;

/* SHA-256 of both parts, one after the other, in lower-case hex. False: no memory. */
bool fw_audit_hash(struct fw_hasher *hasher, const char *first, size_t first_len,
		   const char *second, size_t second_len, char ret_hex[FW_AUDIT_HASH_LEN + 1]);

/* The members between seq and the arguments, without a comma on either side. */
void fw_audit_put_body(struct fw_buf *out, const struct fw_audit_record *record);
/* ,"args":... or ,"args_hash":"..."; false: no memory. */
bool fw_audit_put_args(struct fw_buf *out, struct fw_hasher *hasher, const char *args,
		       size_t len, bool keep);

/* A line is opened, its members are written, and it is sealed with the hashes, which
 * advances the chain. False: no memory; the chain is unchanged. */
void fw_audit_line_open(struct fw_buf *out, const struct fw_audit_chain *chain,
			size_t *ret_start);
bool fw_audit_line_seal(struct fw_buf *out, size_t start, struct fw_hasher *hasher,
			struct fw_audit_chain *chain);

/* The parts of a line that can be found without parsing it. */
struct fw_audit_mark {
	uint64_t seq;
	const char *prev; /* FW_AUDIT_HASH_LEN bytes, or GENESIS */
	size_t prev_len;
	const char *hash;
	size_t hashed_len; /* the hash is of this many bytes and a closing brace */
};

/* False: not a line of this format. `len` is without the newline. */
bool fw_audit_mark_read(const char *line, size_t len, struct fw_audit_mark *ret_mark);

#endif
