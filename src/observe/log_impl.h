/*
 * log_impl.h - what the parts of the log share: a line while it waits, how it
 * is written, where it goes, and how many of a kind there may be.
 */
#ifndef FW_OBSERVE_LOG_IMPL_H
#define FW_OBSERVE_LOG_IMPL_H

#include <stdatomic.h>

#include "base/buf.h"
#include "observe/log.h"

/* ---- a line (log_line.c) ---------------------------------------------------------- */

/* A record of the spool: this, and then fields, each a key, a kind and a text. */
struct fw_log_head {
	int64_t time_ms;
	fw_log_level level;
};

enum fw_log_kind { FW_LOG_KIND_TEXT, FW_LOG_KIND_JSON };

/* On the thread that logs. A NULL text is no field. */
void fw_log_put(struct fw_buf *out, const char *key, enum fw_log_kind kind, const char *text,
		size_t len);
void fw_log_put_text(struct fw_buf *out, const char *key, const char *text);
void fw_log_put_json(struct fw_buf *out, const char *key, const char *json);

/* On the spool's thread: a record as a line, or as a datagram for journald,
 * appended. Secrets are looked for once more. */
void fw_log_render(struct fw_buf *out, enum fw_log_form form, const char *record, size_t len);

const char *fw_log_level_name(fw_log_level level);

/* ---- where lines go (log_sink.c) ------------------------------------------------------ */

struct fw_log_sink {
	int fd;
	bool is_own;    /* ours to close */
	bool is_socket; /* and so to be sent to */
	bool is_journal;
	int late_ms; /* waited since we are to end */
	size_t most; /* bytes of one write that cannot stop half-way */
	const atomic_bool *is_ending;
};

fw_error *fw_log_sink_open(struct fw_log_sink *sink, const struct fw_log_options *options,
			   enum fw_log_form form, const atomic_bool *is_ending);
void fw_log_sink_close(struct fw_log_sink *sink);
/* One piece, whole. False: nobody takes it. */
bool fw_log_sink_write(struct fw_log_sink *sink, const char *text, size_t len);

/* ---- how many (log_rate.c) -------------------------------------------------------------- */

struct fw_log_bucket {
	const char *name; /* of a code or event: a literal, or a row's */
	int64_t filled_ms;
	unsigned tokens; /* thousandths of a line */
	uint64_t held;   /* back, and not told */
};

enum { FW_LOG_BUCKETS = 256 };

struct fw_log_rates {
	struct fw_log_bucket buckets[FW_LOG_BUCKETS];
};

/* May a line of that name be written now? Then how many were held back is told
 * with it. Time may stand still, but does not go back. */
bool fw_log_rate_take(struct fw_log_rates *rates, const char *name, int64_t now_ms,
		      uint64_t *ret_held);
/* One whose held lines nobody has told in all this time; NULL: none is due.
 * `*ret_left`: others are not due yet. */
const char *fw_log_rate_due(struct fw_log_rates *rates, int64_t now_ms, uint64_t *ret_held,
			    bool *ret_left);

#endif
