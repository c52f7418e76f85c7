/*
 * audit_line.c - see audit_line.h.
 *
 * The hash is over the bytes of the line without the member "hash", so that sed and
 * sha256sum can check it, and a verifier need not write JSON. All texts are redacted,
 * also those of an error, which were redacted before: the second pass changes nothing
 * there, and other texts need it.
 */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/out.h"
#include "base/utf8.h"
#include "core/redact.h"
#include "core/value.h"
#include "observe/audit/audit_line.h"

#define START "{\"seq\":"
#define PREV ",\"prev_hash\":\""
#define HASH "\",\"hash\":\""

/* How much older than its record an error may be. */
enum {
	TOLD_LATE_MS = 10000,
	USUAL_BYTES = 1000,
	SECOND_LEN = sizeof "2026-01-19T15:32:10" - 1
};

const struct fw_audit_chain fw_audit_genesis = { 0, FW_AUDIT_GENESIS };

/* ---- hashing -------------------------------------------------------------- */

bool fw_audit_hash(struct fw_hasher *hasher, const char *first, size_t first_len,
		   const char *second, size_t second_len, char ret_hex[FW_AUDIT_HASH_LEN + 1])
{
	unsigned char hash[FW_SHA256_BYTES];

	fw_hasher_begin(hasher);
	fw_hasher_add(hasher, first, first_len);
	fw_hasher_add(hasher, second, second_len);
	if (!fw_hasher_take(hasher, hash))
		return false;
	fw_hex(hash, sizeof hash, ret_hex);
	return true;
}

/* ---- members -------------------------------------------------------------- */

static void put_u64(struct fw_buf *out, uint64_t value)
{
	char digits[20];
	size_t at = sizeof digits;

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	fw_buf_put(out, digits + at, sizeof digits - at);
}

/* As the envelopes write it, so that both can be compared. */
static void put_f64(struct fw_buf *out, double value)
{
	char digits[64];
	struct fw_out text;

	fw_out_init(&text, digits, sizeof digits);
	fw_out_f64(&text, value);
	fw_buf_put(out, digits, fw_out_finish(&text, sizeof digits));
}

/* A text of which nothing is escaped. */
static void put_quoted(struct fw_buf *out, const char *text, size_t len)
{
	if (!fw_buf_reserve(out, len + 2))
		return;
	out->text[out->len] = '"';
	memcpy(out->text + out->len + 1, text, len);
	out->text[out->len + len + 1] = '"';
	out->len += len + 2;
	out->text[out->len] = '\0';
}

/* Text from outside: made valid UTF-8, redacted, then cut. */
static void put_text(struct fw_buf *out, const char *text, size_t most)
{
	char small[3 * FW_LIMIT_AUDIT_TEXT_BYTES];
	char *clean = small;
	char *safe = NULL;
	size_t len;
	size_t safe_len;

	if (!text) {
		FW_BUF(out, "null");
		return;
	}
	len = strnlen(text, most + FW_LIMIT_REDACT_AHEAD_BYTES);
	if (len <= most && (len < FW_REDACT_LEAST || fw_redact_find(text, len) == len)) {
		/* Nearly all are short and without escapes. */
		if (fw_out_is_plain(text, len)) {
			put_quoted(out, text, len);
			return;
		}
		if (fw_utf8_valid(text, len) == len) {
			fw_buf_json(out, text, len);
			return;
		}
	}
	if (3 * len > sizeof small)
		clean = fw__allocate(3 * len);
	if (clean) {
		len = fw_utf8_repair(clean, 3 * len, text, len);
		safe = fw__allocate(most + 1);
	}
	if (safe) {
		safe_len = fw_redact_cut(safe, most + 1, clean, len);
		fw_buf_json(out, safe, safe_len);
	} else {
		out->state = FW_BUF_NO_MEMORY;
	}
	fw__release(safe);
	if (clean != small)
		fw__release(clean);
}

static void put_key(struct fw_buf *out, const char *key, size_t key_len, const char *text)
{
	fw_buf_put(out, key, key_len);
	put_text(out, text, FW_LIMIT_AUDIT_TEXT_BYTES);
}

/* The key is a literal: one copy, with its length known. Most members are null. */
#define PUT_MEMBER(out, key, text)                                                           \
	do {                                                                                 \
		const char *member_ = (text);                                                \
		if (member_)                                                                 \
			put_key(out, ",\"" key "\":", sizeof(",\"" key "\":") - 1, member_); \
		else                                                                         \
			FW_BUF(out, ",\"" key "\":null");                                    \
	} while (0)

/* A word of our own (an event, a code of the registry), which needs no escapes and holds no
 * secret. */
static void put_word(struct fw_buf *out, const char *word)
{
	if (!word) {
		FW_BUF(out, "null");
		return;
	}
	put_quoted(out, word, strlen(word));
}

/* JSON as redacted JSON; false: it is invalid or too large. */
static bool put_value(struct fw_buf *out, const char *json, size_t len, size_t most)
{
	const struct fw_value_options options = { .redact = true };
	yyjson_doc *doc = len <= most ? fw_value_parse(json, len) : NULL;
	struct fw_out count;
	struct fw_out text;
	size_t whole = 0;
	bool fits = false;

	if (!doc)
		return false;
	fw_out_init(&count, NULL, 0);
	if (fw_value_write(&count, yyjson_doc_get_root(doc), &options, NULL) == FW_VALUE_OK)
		whole = fw_out_finish(&count, 0);
	if (whole > 0 && whole <= 2 * most && fw_buf_reserve(out, whole)) {
		fw_out_init(&text, out->text + out->len, whole + 1);
		(void)fw_value_write(&text, yyjson_doc_get_root(doc), &options, NULL);
		(void)fw_out_finish(&text, whole + 1);
		out->len += whole;
		fits = true;
	}
	yyjson_doc_free(doc);
	return fits;
}

/* null, a text, or {message, code, name}, as in the kaiza envelope. */
static void put_cause(struct fw_buf *out, const fw_error *err)
{
	fw_cause cause;

	if (!err || !fw_error_cause(err, 0, &cause)) {
		FW_BUF(out, "null");
		return;
	}
	if (cause.json) {
		if (!put_value(out, cause.json, strlen(cause.json), FW_LIMIT_AUDIT_CAUSE_BYTES))
			FW_BUF(out, "\"[too large]\"");
		return;
	}
	if (!cause.code && !cause.name) {
		put_text(out, cause.message, FW_LIMIT_AUDIT_CAUSE_BYTES);
		return;
	}
	FW_BUF(out, "{\"message\":");
	put_text(out, cause.message, FW_LIMIT_AUDIT_CAUSE_BYTES);
	PUT_MEMBER(out, "code", cause.code);
	PUT_MEMBER(out, "name", cause.name);
	FW_BUF(out, "}");
}

/* Of an error that was read with its secrets kept. */
static bool is_secret(const fw_field *field)
{
	return fw_redact_member_is_secret(field->key, field->key_len, field->string,
					  field->string_len);
}

/* One field of the context. A text is cut; JSON that does not fit is left out. */
static void put_field(struct fw_buf *out, const fw_field *field, size_t most)
{
	put_text(out, field->key, FW_LIMIT_AUDIT_TEXT_BYTES);
	FW_BUF(out, ":");
	switch (field->type) {
	case FW_FIELD_I64: fw_buf_i64(out, field->i64); break;
	case FW_FIELD_U64: put_u64(out, field->u64); break;
	case FW_FIELD_F64: put_f64(out, field->f64); break;
	case FW_FIELD_BOOL: fw_buf_str(out, field->boolean ? "true" : "false"); break;
	case FW_FIELD_STRING:
		put_text(out, is_secret(field) ? FW_REDACTED : field->string,
			 FW_LIMIT_AUDIT_TEXT_BYTES);
		break;
	case FW_FIELD_JSON:
		if (!put_value(out, field->string, field->string_len, most))
			FW_BUF(out, "\"[too large]\"");
		break;
	}
}

/* The context of the error, up to a limit: fields beyond it are left out. */
static void put_context(struct fw_buf *out, const fw_error *err)
{
	const size_t count = err ? fw_error_field_count(err) : 0;
	const size_t start = out->len;
	fw_field field;

	if (!count) {
		FW_BUF(out, "null");
		return;
	}
	FW_BUF(out, "{");
	for (size_t i = 0; i < count && fw_error_field(err, i, &field); i++) {
		size_t used = out->len - start;

		if (used >= FW_LIMIT_AUDIT_CONTEXT_BYTES)
			break;
		if (i > 0)
			FW_BUF(out, ",");
		put_field(out, &field, (FW_LIMIT_AUDIT_CONTEXT_BYTES - used) / 2);
	}
	FW_BUF(out, "}");
}

/* The id in a traceparent (00-<id>-<span>-<flags>), otherwise the text itself. */
static const char *trace_id(const char *trace, char ret_id[33])
{
	if (!trace || strlen(trace) < 55 || trace[2] != '-' || trace[35] != '-' ||
	    strspn(trace + 3, "0123456789abcdef") != 32)
		return trace;
	memcpy(ret_id, trace + 3, 32);
	ret_id[32] = '\0';
	return ret_id;
}

static const char *first_of(const char *one, const char *other)
{
	return one ? one : other;
}

/* The time in the reply, so that both can be matched. An upstream's error may have any
 * time; one that does not fit is replaced by the current time. */
static void find_time(const struct fw_audit_record *record,
		      char ret_text[FW_AUDIT_TIME_LEN + 1])
{
	const char *stated = record->error ? fw_error_timestamp(record->error) : NULL;
	int64_t now_ms = record->unix_ms ? record->unix_ms : fw_unix_ms();
	char earliest[FW_AUDIT_TIME_LEN + 1];

	(void)fw_time_text(now_ms, ret_text);
	if (!stated || strlen(stated) != FW_AUDIT_TIME_LEN || strcmp(stated, ret_text) >= 0)
		return;
	/* Usually it is the same second, whose text fw_time_text() keeps. */
	if (memcmp(stated, ret_text, SECOND_LEN) != 0) {
		(void)fw_time_text(now_ms - TOLD_LATE_MS, earliest);
		if (strcmp(stated, earliest) < 0)
			return;
	}
	memcpy(ret_text, stated, FW_AUDIT_TIME_LEN);
}

/* An id in the form of our own is written as it is: it looks like a token to the
 * redaction, which would take a close look at it. Without a branch per character. */
static bool is_incident_id(const char *id)
{
	enum { DATE = 4, RANDOM = 13 };
	unsigned wrong = 0;

	if (strncmp(id, "inc_", DATE) != 0 || strlen(id) != FW_INCIDENT_ID_SIZE - 1)
		return false;
	for (size_t i = DATE; i < RANDOM - 1; i++)
		wrong |= (unsigned)((unsigned)id[i] - '0' > 9);
	for (size_t i = RANDOM; i < FW_INCIDENT_ID_SIZE - 1; i++)
		wrong |= (unsigned)((unsigned)id[i] - 'a' > 25) &
			 (unsigned)((unsigned)id[i] - '2' > 5);
	return !wrong && id[RANDOM - 1] == '_';
}

static void put_incident_id(struct fw_buf *out, const char *id)
{
	if (id && is_incident_id(id)) {
		FW_BUF(out, ",\"incident_id\":");
		put_quoted(out, id, FW_INCIDENT_ID_SIZE - 1);
	} else {
		PUT_MEMBER(out, "incident_id", id);
	}
}

static const char *path_of(const struct fw_audit_record *record)
{
	fw_field field;

	if (record->error && fw_error_find_field(record->error, "path", &field) &&
	    field.type == FW_FIELD_STRING)
		return field.string;
	return record->path;
}

/* Nothing for a call that is about one path, or none. */
static void put_paths(struct fw_buf *out, const struct fw_audit_record *record)
{
	const size_t start = out->len;
	const char *path;

	for (size_t i = 0; record->path_at && i < FW_LIMIT_AUDIT_PATHS &&
			   out->len - start < FW_LIMIT_AUDIT_ARGS_BYTES;
	     i++) {
		path = record->path_at(record->path_ctx, i);
		if (!path)
			break;
		fw_buf_str(out, i ? "," : ",\"paths\":[");
		put_text(out, path, FW_LIMIT_AUDIT_TEXT_BYTES);
	}
	if (out->len > start)
		FW_BUF(out, "]");
}

void fw_audit_put_body(struct fw_buf *out, const struct fw_audit_record *record)
{
	static const char *const events[] = { "failure", "change", "note" };
	const fw_error *err = record->error;
	const fw_row *row = err ? fw_error_row(err) : NULL;
	const fw_scope *given = &record->scope;
	fw_scope known = { 0 };
	char timestamp[FW_AUDIT_TIME_LEN + 1];
	char id[33];

	if (err)
		known = fw_error_scope(err);
	find_time(record, timestamp);
	/* Most records fit without growing the buffer again. */
	(void)fw_buf_reserve(out, USUAL_BYTES);
	FW_BUF(out, "\"timestamp\":\"");
	fw_buf_put(out, timestamp, FW_AUDIT_TIME_LEN);
	FW_BUF(out, "\",\"event\":");
	put_word(out, events[record->event]);
	if (record->event == FW_AUDIT_NOTE) {
		PUT_MEMBER(out, "reason", record->reason);
		return;
	}
	PUT_MEMBER(out, "tool_name",
		   first_of(first_of(record->tool_name, known.tool), err ? "unknown" : NULL));
	FW_BUF(out, ",\"error_code\":");
	put_word(out, row ? row->kaiza : NULL);
	FW_BUF(out, ",\"code\":");
	put_word(out, row ? row->code : NULL);
	FW_BUF(out, ",\"message\":");
	put_text(out, err ? fw_error_message(err) : NULL, FW_LIMIT_AUDIT_MESSAGE_BYTES);
	PUT_MEMBER(out, "path", path_of(record));
	put_paths(out, record);
	PUT_MEMBER(out, "intent", record->intent);
	PUT_MEMBER(out, "invariant_id", first_of(known.invariant_id, given->invariant_id));
	PUT_MEMBER(out, "plan_hash", first_of(known.plan_hash, given->plan_hash));
	PUT_MEMBER(out, "phase_id", first_of(known.phase_id, given->phase_id));
	PUT_MEMBER(out, "session_id", first_of(known.session_id, given->session_id));
	PUT_MEMBER(out, "role", first_of(known.role, given->role));
	PUT_MEMBER(out, "workspace_root",
		   first_of(known.workspace_root, given->workspace_root));
	PUT_MEMBER(out, "client", first_of(known.client, given->client));
	put_incident_id(out, err ? fw_error_incident_id(err) : NULL);
	PUT_MEMBER(out, "trace_id", trace_id(first_of(known.trace_id, given->trace_id), id));
	FW_BUF(out, ",\"cause\":");
	put_cause(out, err);
	FW_BUF(out, ",\"context\":");
	put_context(out, err);
}

bool fw_audit_put_args(struct fw_buf *out, struct fw_hasher *hasher, const char *args,
		       size_t len, bool keep)
{
	char hash[FW_AUDIT_HASH_LEN + 1];
	size_t start = out->len;

	if (!args) {
		FW_BUF(out, ",\"args_hash\":null");
		return out->state == FW_BUF_OK;
	}
	if (keep) {
		FW_BUF(out, ",\"args\":");
		if (put_value(out, args, len, FW_LIMIT_AUDIT_ARGS_BYTES))
			return out->state == FW_BUF_OK;
		out->len = start;
	}
	if (!fw_audit_hash(hasher, args, len, NULL, 0, hash))
		return false;
	FW_BUF(out, ",\"args_hash\":\"");
	fw_buf_put(out, hash, FW_AUDIT_HASH_LEN);
	FW_BUF(out, "\"");
	return out->state == FW_BUF_OK;
}

/* ---- the line ------------------------------------------------------------- */

void fw_audit_line_open(struct fw_buf *out, const struct fw_audit_chain *chain,
			size_t *ret_start)
{
	*ret_start = out->len;
	FW_BUF(out, START);
	put_u64(out, chain->seq + 1);
	FW_BUF(out, ",");
}

bool fw_audit_line_seal(struct fw_buf *out, size_t start, struct fw_hasher *hasher,
			struct fw_audit_chain *chain)
{
	char hash[FW_AUDIT_HASH_LEN + 1];

	FW_BUF(out, PREV);
	fw_buf_str(out, chain->hash);
	FW_BUF(out, "\"");
	if (out->state != FW_BUF_OK ||
	    !fw_audit_hash(hasher, out->text + start, out->len - start, "}", 1, hash))
		return false;
	out->len--;
	FW_BUF(out, HASH);
	fw_buf_put(out, hash, FW_AUDIT_HASH_LEN);
	FW_BUF(out, "\"}\n");
	if (out->state != FW_BUF_OK)
		return false;
	chain->seq++;
	memcpy(chain->hash, hash, sizeof hash);
	return true;
}

/* Without a branch per digit, which could not be predicted. */
static bool is_hash(const char *text)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < FW_AUDIT_HASH_LEN; i++) {
		unsigned c = (unsigned char)text[i];

		wrong |= (unsigned)(c - '0' > 9) & (unsigned)(c - 'a' > 5);
	}
	return !wrong;
}

static bool read_seq(const char *line, size_t len, uint64_t *ret_seq)
{
	size_t at = sizeof START - 1;
	uint64_t seq = 0;

	if (len <= at || memcmp(line, START, at) != 0 || line[at] < '1' || line[at] > '9')
		return false;
	for (; at < len && line[at] >= '0' && line[at] <= '9'; at++) {
		unsigned digit = (unsigned)(line[at] - '0');

		if (seq > (UINT64_MAX - digit) / 10)
			return false;
		seq = seq * 10 + digit;
	}
	*ret_seq = seq;
	return at < len && line[at] == ',';
}

/* ,"prev_hash":"<which>" must end at `end`. */
static bool read_prev(const char *line, size_t end, size_t which_len,
		      struct fw_audit_mark *mark)
{
	size_t whole = sizeof PREV - 1 + which_len;

	if (end < whole || memcmp(line + end - whole, PREV, sizeof PREV - 1) != 0)
		return false;
	mark->prev = line + end - which_len;
	mark->prev_len = which_len;
	return true;
}

bool fw_audit_mark_read(const char *line, size_t len, struct fw_audit_mark *ret_mark)
{
	const size_t tail = sizeof HASH - 1 + FW_AUDIT_HASH_LEN + 2;
	const size_t genesis = sizeof FW_AUDIT_GENESIS - 1;
	struct fw_audit_mark mark;
	size_t end;

	if (len < tail || !read_seq(line, len, &mark.seq))
		return false;
	end = len - tail;
	if (memcmp(line + end, HASH, sizeof HASH - 1) != 0 ||
	    memcmp(line + len - 2, "\"}", 2) != 0)
		return false;
	mark.hash = line + end + sizeof HASH - 1;
	mark.hashed_len = end + 1;
	if (!is_hash(mark.hash))
		return false;
	if (read_prev(line, end, FW_AUDIT_HASH_LEN, &mark) && is_hash(mark.prev)) {
		*ret_mark = mark;
		return true;
	}
	if (!read_prev(line, end, genesis, &mark) ||
	    memcmp(mark.prev, FW_AUDIT_GENESIS, genesis) != 0)
		return false;
	*ret_mark = mark;
	return true;
}
