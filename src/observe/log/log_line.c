/*
 * log_line.c - makes records for the spool, and formats them: as JSON, as text for a
 * terminal, or in the protocol of journald (a name and a value per field).
 */
#include "observe/log/log_line.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/printable.h"
#include "core/redact.h"

enum { KEY_MAX = 32 };

static const char *const level_names[] = { "debug", "info",     "notice", "warning",
					   "error", "critical", "alert",  "emergency" };

const char *fw_log_level_name(fw_log_level level)
{
	return (unsigned)level < FW_LOG_LEVEL_COUNT ? level_names[level] : NULL;
}

/* ---- waiting -------------------------------------------------------------------------- */

struct field_head {
	uint32_t len;
	uint8_t key_len;
	uint8_t kind;
};

void fw_log_put(struct fw_buf *out, const char *key, enum fw_log_kind kind, const char *text,
		size_t len)
{
	struct field_head head = { .kind = (uint8_t)kind };
	char room[FW_LIMIT_LOG_TEXT_BYTES + 1];
	size_t key_len = strlen(key);

	if (!text)
		return;
	if (kind == FW_LOG_KIND_TEXT && len > FW_LIMIT_LOG_TEXT_BYTES) {
		len = fw_redact_cut(room, sizeof room, text, len);
		text = room;
	}
	head.len = (uint32_t)len;
	head.key_len = (uint8_t)(key_len < KEY_MAX ? key_len : KEY_MAX);
	fw_buf_put(out, (const char *)&head, sizeof head);
	fw_buf_put(out, key, head.key_len);
	fw_buf_put(out, text, len);
}

void fw_log_put_text(struct fw_buf *out, const char *key, const char *text)
{
	fw_log_put(out, key, FW_LOG_KIND_TEXT, text, text ? strlen(text) : 0);
}

void fw_log_put_json(struct fw_buf *out, const char *key, const char *json)
{
	fw_log_put(out, key, FW_LOG_KIND_JSON, json, strlen(json));
}

/* ---- on its way out ---------------------------------------------------------------------- */

struct field {
	const char *key;
	size_t key_len;
	enum fw_log_kind kind;
	const char *text;
	size_t len;
};

static bool next_field(const char **at, const char *end, struct field *ret_field)
{
	struct field_head head;

	if (*at >= end)
		return false;
	memcpy(&head, *at, sizeof head);
	ret_field->key = *at + sizeof head;
	ret_field->key_len = head.key_len;
	ret_field->kind = (enum fw_log_kind)head.kind;
	ret_field->text = ret_field->key + head.key_len;
	ret_field->len = head.len;
	*at = ret_field->text + head.len;
	return true;
}

static bool is_key(const struct field *field, const char *key)
{
	return strlen(key) == field->key_len && memcmp(key, field->key, field->key_len) == 0;
}

/* Texts may come from peers, so secrets are redacted again. The result is in `room`. */
static void clean(struct field *field, char *room, size_t size)
{
	size_t len;

	if (fw_redact_find(field->text, field->len) == field->len)
		return;
	if (field->kind == FW_LOG_KIND_JSON) {
		field->text = "{\"omitted\":\"it looks like a secret\"}";
		field->len = strlen(field->text);
		return;
	}
	len = fw_redact_copy(room, size, field->text, field->len);
	field->text = room;
	field->len = len < size ? len : strlen(room);
}

static void put_time(struct fw_buf *out, int64_t unix_ms)
{
	char text[FW_TIME_SIZE];

	(void)fw_time_text(unix_ms, text);
	fw_buf_str(out, text);
}

static void put_json(struct fw_buf *out, const struct field *field)
{
	FW_BUF(out, ",");
	fw_buf_json(out, field->key, field->key_len);
	FW_BUF(out, ":");
	if (field->kind == FW_LOG_KIND_JSON)
		fw_buf_put(out, field->text, field->len);
	else
		fw_buf_json(out, field->text, field->len);
}

/* Writes text for a terminal, without control characters and changes of text direction. */
static void put_plainly(struct fw_buf *out, const char *text, size_t len)
{
	size_t from = 0, at = 0;

	while (at < len) {
		size_t n = fw_printable(text + at, len - at);

		if (n) {
			at += n;
			continue;
		}
		fw_buf_put(out, text + from, at - from);
		fw_buf_put(out, text[at] == '\n' ? " " : "?", 1);
		at += fw_printable_step(text + at, len - at);
		from = at;
	}
	fw_buf_put(out, text + from, at - from);
}

static void put_word(struct fw_buf *out, const struct field *field)
{
	if (is_key(field, "message") || is_key(field, "component"))
		return;
	FW_BUF(out, " ");
	if (!is_key(field, "error_code") && !is_key(field, "event") &&
	    !is_key(field, "incident_id")) {
		put_plainly(out, field->key, field->key_len);
		FW_BUF(out, "=");
	}
	put_plainly(out, field->text, field->len);
}

/* Writes NAME=value, or if the value has newlines: NAME, the length in 64 bits, and the
 * value. */
static void put_journal(struct fw_buf *out, const struct field *field)
{
	size_t at = out->len;

	fw_buf_put(out, field->key, field->key_len);
	if (out->state == FW_BUF_OK)
		for (; at < out->len; at++)
			if (out->text[at] >= 'a' && out->text[at] <= 'z')
				out->text[at] = (char)(out->text[at] - 'a' + 'A');
	if (memchr(field->text, '\n', field->len)) {
		unsigned char size[8];

		for (size_t i = 0; i < sizeof size; i++)
			size[i] = (unsigned char)((uint64_t)field->len >> (8 * i));
		FW_BUF(out, "\n");
		fw_buf_put(out, (const char *)size, sizeof size);
	} else {
		FW_BUF(out, "=");
	}
	fw_buf_put(out, field->text, field->len);
	FW_BUF(out, "\n");
}

static void begin(struct fw_buf *out, enum fw_log_form form, const struct fw_log_head *head)
{
	char text[96];

	if (form == FW_LOG_JOURNALD) {
		(void)snprintf(text, sizeof text, "PRIORITY=%d\nSYSLOG_IDENTIFIER=faultwire\n",
			       7 - (int)head->level);
		fw_buf_str(out, text);
		return;
	}
	if (form == FW_LOG_JSON)
		FW_BUF(out, "{\"time\":\"");
	put_time(out, head->time_ms);
	if (form == FW_LOG_JSON) {
		FW_BUF(out, "\",\"level\":\"");
		fw_buf_str(out, fw_log_level_name(head->level));
		FW_BUF(out, "\"");
		return;
	}
	(void)snprintf(text, sizeof text, " %-8s ", fw_log_level_name(head->level));
	fw_buf_str(out, text);
}

static void put_message(struct fw_buf *out, const char *at, const char *end)
{
	char room[FW_LIMIT_LOG_TEXT_BYTES + 64];
	struct field field;

	while (next_field(&at, end, &field)) {
		if (!is_key(&field, "message"))
			continue;
		clean(&field, room, sizeof room);
		put_plainly(out, field.text, field.len);
		FW_BUF(out, " --");
	}
}

void fw_log_render(struct fw_buf *out, enum fw_log_form form, const char *record, size_t len)
{
	char room[FW_LIMIT_LOG_TEXT_BYTES + 64];
	const char *at = record + sizeof(struct fw_log_head), *end = record + len;
	struct fw_log_head head;
	struct field field;

	memcpy(&head, record, sizeof head);
	begin(out, form, &head);
	if (form == FW_LOG_PLAIN)
		put_message(out, at, end);
	while (next_field(&at, end, &field)) {
		clean(&field, room, sizeof room);
		if (form == FW_LOG_JOURNALD)
			put_journal(out, &field);
		else if (form == FW_LOG_JSON)
			put_json(out, &field);
		else
			put_word(out, &field);
	}
	if (form == FW_LOG_JSON)
		FW_BUF(out, "}");
	if (form != FW_LOG_JOURNALD)
		FW_BUF(out, "\n");
}
