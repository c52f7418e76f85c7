/*
 * log_line.h - one line of the log. The thread that logs collects it as a record, and the
 * log's own thread formats it as text.
 */
#ifndef FW_OBSERVE_LOG_LINE_H
#define FW_OBSERVE_LOG_LINE_H

#include "base/buf.h"
#include "observe/log/log.h"

/* A record of the spool: this header, then fields, each a key, a kind and a text. */
struct fw_log_head {
	int64_t time_ms;
	fw_log_level level;
};

enum fw_log_kind { FW_LOG_KIND_TEXT, FW_LOG_KIND_JSON };

/* Adds a field, on the thread that logs. A NULL text adds none. */
void fw_log_put(struct fw_buf *out, const char *key, enum fw_log_kind kind, const char *text,
		size_t len);
void fw_log_put_text(struct fw_buf *out, const char *key, const char *text);
void fw_log_put_json(struct fw_buf *out, const char *key, const char *json);

/* On the spool's thread: appends a record as a line, or as a datagram for journald.
 * Secrets are redacted again. */
void fw_log_render(struct fw_buf *out, enum fw_log_form form, const char *record, size_t len);

const char *fw_log_level_name(fw_log_level level);

#endif
