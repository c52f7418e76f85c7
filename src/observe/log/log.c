/*
 * log.c - decides what is logged, and passes lines from the thread that logs to the
 * thread that writes.
 *
 * The thread that logs only puts the fields of a line into the spool. The spool's thread
 * writes the line, and waits for slow readers. log_line.c formats lines, log_sink.c
 * writes them, log_rate.c has the rate limit.
 */
#include "observe/log/log_line.h"
#include "observe/log/log_rate.h"
#include "observe/log/log_sink.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "contract/log_words.h"
#include "core/redact.h"
#include "observe/spool/spool.h"

#include <faultwire/raise.h>

enum { WINDOW_MS = 2, TICK_MS = 1000 };

static struct {
	/* Read-locked while a line is collected, write-locked to start and stop. */
	pthread_rwlock_t lock;
	struct fw_spool *spool;   /* NULL: the log is off */
	struct fw_spool *working; /* the same, for the spool's own thread */
	enum fw_log_form form;
	fw_log_level level;
	struct fw_log_sink sink;
	atomic_bool is_ending;
	atomic_uint_least64_t unwritten; /* lines that could not be written */
	uint64_t unwritten_reported;
	struct fw_buf out;
	struct fw_log_rates rates; /* under the spool's lock */
} own = { .lock = PTHREAD_RWLOCK_INITIALIZER };

/* ---- collecting a line ------------------------------------------------------------------ */

/* Begins a line. NULL: it is not logged. Otherwise the caller must call end_line(). */
static struct fw_buf *begin_line(fw_log_level level, const char *kind)
{
	struct fw_log_head head = { .level = level };
	struct fw_buf *out = NULL;
	uint64_t held = 0;
	char number[32];

	(void)pthread_rwlock_rdlock(&own.lock);
	if (own.spool && level >= own.level)
		out = fw_spool_begin(own.spool);
	if (!out) {
		(void)pthread_rwlock_unlock(&own.lock);
		return NULL;
	}
	if (!fw_log_rate_take(&own.rates, kind, fw_steady_ms(), &held)) {
		fw_spool_remind(own.spool);
		fw_spool_cancel(own.spool);
		(void)pthread_rwlock_unlock(&own.lock);
		return NULL;
	}
	head.time_ms = fw_unix_ms();
	fw_buf_put(out, (const char *)&head, sizeof head);
	if (held) {
		(void)snprintf(number, sizeof number, "%llu", (unsigned long long)held);
		fw_log_put_json(out, "held_back", number);
	}
	return out;
}

static void end_line(void)
{
	fw_spool_end(own.spool);
	(void)pthread_rwlock_unlock(&own.lock);
}

static void put_safely(struct fw_buf *out, const char *text, size_t len)
{
	char room[1024];

	if (fw_redact_find(text, len) == len) {
		fw_buf_json(out, text, len);
		return;
	}
	(void)fw_redact_copy(room, sizeof room, text, len);
	fw_buf_json_str(out, room);
}

static void put_value(struct fw_buf *out, const fw_field *field)
{
	if (fw_redact_key_is_secret(field->key, field->key_len) ||
	    (field->type == FW_FIELD_STRING && field->string &&
	     fw_redact_member_is_secret(field->key, field->key_len, field->string,
					field->string_len))) {
		FW_BUF(out, "\"" FW_REDACTED "\"");
		return;
	}
	switch (field->type) {
	case FW_FIELD_STRING: put_safely(out, field->string, field->string_len); break;
	case FW_FIELD_JSON: fw_buf_put(out, field->string, field->string_len); break;
	case FW_FIELD_I64: fw_buf_i64(out, field->i64); break;
	case FW_FIELD_U64: fw_buf_i64(out, (int64_t)field->u64); break;
	case FW_FIELD_F64: fw_buf_f64(out, field->f64); break;
	case FW_FIELD_BOOL: fw_buf_str(out, field->boolean ? "true" : "false"); break;
	}
}

/* Writes the fields as one JSON object. It uses a buffer of its own, because in a record
 * the length of a field comes before its text. */
static void put_context(struct fw_buf *out, size_t count,
			bool (*field_at)(const void *, size_t, fw_field *), const void *of)
{
	struct fw_buf object;
	fw_field field;

	fw_buf_init(&object, FW_LIMIT_LOG_CONTEXT_BYTES);
	for (size_t i = 0; i < count && field_at(of, i, &field); i++) {
		if (field.type == FW_FIELD_STRING && !field.string)
			continue;
		fw_buf_put(&object, object.len ? "," : "{", 1);
		fw_buf_json(&object, field.key, field.key_len);
		FW_BUF(&object, ":");
		put_value(&object, &field);
	}
	if (object.len)
		FW_BUF(&object, "}");
	if (object.state != FW_BUF_OK)
		fw_log_put_json(out, "context", "{\"omitted\":\"too large for the log\"}");
	else if (object.len)
		fw_log_put(out, "context", FW_LOG_KIND_JSON, object.text, object.len);
	fw_buf_clear(&object);
}

/* ---- events -------------------------------------------------------------------------------- */

struct fields {
	const fw_field *items;
};

static bool listed_field(const void *of, size_t index, fw_field *ret_field)
{
	*ret_field = ((const struct fields *)of)->items[index];
	return true;
}

void fw_log_event(fw_log_level level, const char *component, const char *event,
		  const fw_field *fields, size_t count)
{
	const struct fields list = { fields };
	struct fw_buf *out = begin_line(level, event);

	if (!out)
		return;
	fw_log_put_text(out, "component", component);
	fw_log_put_text(out, "event", event);
	put_context(out, count, listed_field, &list);
	end_line();
}

/* ---- failures -------------------------------------------------------------------------------- */

static bool error_field(const void *of, size_t index, fw_field *ret_field)
{
	return fw_error_field(of, index, ret_field);
}

/* A failure that the client can fix is a warning. An unexpected failure is logged at
 * level error, although its severity is critical. */
static fw_log_level level_of(const fw_error *err)
{
	if (fw_error_code(err) == FW_INTERNAL_UNEXPECTED)
		return FW_LOG_ERROR;
	if (fw_error_row(err)->severity == FW_CRITICAL)
		return FW_LOG_CRITICAL;
	return fw_error_status(err) >= 500 ? FW_LOG_ERROR : FW_LOG_WARNING;
}

static void put_duration(struct fw_buf *out, uint64_t duration_ns)
{
	char number[32];

	(void)snprintf(number, sizeof number, "%llu.%03llu",
		       (unsigned long long)(duration_ns / 1000000),
		       (unsigned long long)(duration_ns / 1000 % 1000));
	fw_log_put_json(out, "duration_ms", number);
}

static void put_message(struct fw_buf *out, const fw_error *err,
			const struct fw_log_words *words)
{
	if (!words->message) {
		fw_log_put_text(out, "message", fw_error_message(err));
		return;
	}
	fw_log_put_text(out, "message", words->message);
	fw_log_put_text(out, "error", fw_error_message(err));
	fw_log_put_text(out, "exception_type", words->exception_type);
}

static void put_causes(struct fw_buf *out, const fw_error *err)
{
	char text[FW_LIMIT_LOG_TEXT_BYTES];
	size_t used = 0;
	fw_cause cause;

	for (size_t i = 0; fw_error_cause(err, i, &cause); i++) {
		const char *one = cause.message ? cause.message : cause.json;
		int n;

		if (!one)
			continue;
		n = snprintf(text + used, sizeof text - used, "%s%s", used ? ": " : "", one);
		if (n < 0 || (size_t)n >= sizeof text - used)
			break;
		used += (size_t)n;
	}
	if (used)
		fw_log_put(out, "cause", FW_LOG_KIND_TEXT, text, used);
}

static void log_failure(const fw_outcome *outcome)
{
	const fw_error *err = outcome->error;
	const fw_row *row = fw_error_row(err);
	fw_scope scope = fw_error_scope(err);
	struct fw_log_words words = fw_contract_log_words(err);
	fw_log_level level = words.exception_type ? FW_LOG_ERROR : level_of(err);
	struct fw_buf *out;

	/* Any client can cause these, so they are at most warnings. */
	if (outcome->is_unauthenticated && level > FW_LOG_WARNING)
		level = FW_LOG_WARNING;
	out = begin_line(level, row->code);
	if (!out)
		return;
	fw_log_put_text(out, "component", words.component);
	fw_log_put_text(out, "operation", scope.operation ? scope.operation : outcome->method);
	fw_log_put_text(out, "error_code", words.error_code);
	fw_log_put_text(out, "incident_id", fw_error_incident_id(err));
	fw_log_put_text(out, "tool", scope.tool);
	fw_log_put_text(out, "session", scope.session_id);
	fw_log_put_text(out, "client", scope.client);
	fw_log_put_text(out, "peer", outcome->peer);
	fw_log_put_text(out, "trace_id", scope.trace_id);
	put_duration(out, outcome->duration_ns);
	put_message(out, err, &words);
	put_causes(out, err);
	fw_log_put_text(out, "detail", fw_error_detail(err));
	if (row->category == FW_INTERNAL) {
		char trail[FW_LIMIT_LOG_TEXT_BYTES];

		if (fw_error_trail(err, trail, sizeof trail))
			fw_log_put_text(out, "trail", trail);
	}
	if (fw_error_field_count(err))
		put_context(out, fw_error_field_count(err), error_field, err);
	end_line();
}

static void finished(void *ctx, const fw_outcome *outcome)
{
	struct fw_buf *out;

	(void)ctx;
	if (outcome->error) {
		log_failure(outcome);
		return;
	}
	if (own.level > FW_LOG_DEBUG)
		return;
	out = begin_line(FW_LOG_DEBUG, "call");
	if (!out)
		return;
	fw_log_put_text(out, "component", "faultwire");
	fw_log_put_text(out, "event", "call");
	fw_log_put_text(out, "operation", outcome->method);
	fw_log_put_text(out, "tool", outcome->name);
	fw_log_put_text(out, "session", outcome->session);
	fw_log_put_text(out, "client", outcome->client);
	put_duration(out, outcome->duration_ns);
	end_line();
}

fw_observer fw_log_observer(void)
{
	return (fw_observer){ .struct_size = sizeof(fw_observer), .finished = finished };
}

/* ---- on the spool's thread ------------------------------------------------------------------------ */

/* Writes the rendered text, which has `lines` lines. */
static void flush(size_t lines)
{
	if (own.out.state != FW_BUF_OK ||
	    !fw_log_sink_write(&own.sink, own.out.text, own.out.len))
		atomic_fetch_add(&own.unwritten, lines);
	fw_buf_reset(&own.out, 64 * 1024);
}

/* Renders a line about the log itself. */
static void render_count(const char *event, const char *code, uint64_t count)
{
	struct fw_log_head head = { fw_unix_ms(), FW_LOG_WARNING };
	struct fw_buf record;
	char number[32];

	fw_buf_init(&record, FW_LIMIT_LOG_TEXT_BYTES);
	fw_buf_put(&record, (const char *)&head, sizeof head);
	fw_log_put_text(&record, "component", "faultwire");
	fw_log_put_text(&record, "event", event);
	fw_log_put_text(&record, "error_code", code);
	(void)snprintf(number, sizeof number, "%llu", (unsigned long long)count);
	fw_log_put_json(&record, "held_back", number);
	if (record.state == FW_BUF_OK)
		fw_log_render(&own.out, own.form, record.text, record.len);
	fw_buf_clear(&record);
	flush(0);
}

static void report_held(bool is_last)
{
	int64_t now = fw_steady_ms() + (is_last ? TICK_MS : 0);
	bool is_left = true;

	for (;;) {
		uint64_t held = 0;
		const char *name;

		fw_spool_lock(own.working);
		name = fw_log_rate_due(&own.rates, now, &held, &is_left);
		if (!name && is_left)
			fw_spool_remind(own.working);
		fw_spool_unlock(own.working);
		if (!name)
			return;
		render_count("held_back", name, held);
	}
}

static bool work(void *ctx, const struct fw_spool_batch *batch)
{
	uint64_t unwritten = atomic_load(&own.unwritten);
	uint64_t lost = batch->lost + unwritten - own.unwritten_reported;
	size_t at = 0, len, lines = 0;
	const char *record;

	(void)ctx;
	while ((record = fw_spool_next(batch, &at, &len))) {
		size_t before = own.out.len;

		fw_log_render(&own.out, own.form, record, len);
		lines++;
		/* journald gets one datagram per line. Otherwise one write has as many
		 * lines as fit. */
		if (own.sink.is_journal || (before && own.out.len > own.sink.most)) {
			flush(lines);
			lines = 0;
		}
	}
	if (lines)
		flush(lines);
	if (lost && atomic_load(&own.unwritten) == unwritten) {
		own.unwritten_reported = unwritten;
		render_count("log_lost", NULL, lost);
	}
	report_held(batch->is_last);
	return true;
}

/* ---- lifecycle -------------------------------------------------------------------------------------- */

/* systemd sets JOURNAL_STREAM to "device:inode" of the stream to the journal. */
static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char found[64];
	struct stat kind;

	if (!stream || fstat(fd, &kind) != 0)
		return false;
	(void)snprintf(found, sizeof found, "%llu:%llu", (unsigned long long)kind.st_dev,
		       (unsigned long long)kind.st_ino);
	return strcmp(found, stream) == 0;
}

enum fw_log_form fw_log_form_of(int fd)
{
	if (is_journal(fd))
		return FW_LOG_JOURNALD;
	return isatty(fd) ? FW_LOG_PLAIN : FW_LOG_JSON;
}

fw_error *fw_log_start(const struct fw_log_options *options)
{
	const struct fw_spool_options spool = {
		.max_bytes = FW_LIMIT_LOG_QUEUE_BYTES,
		.window_ms = WINDOW_MS,
		.retry_ms = TICK_MS,
		.tick_ms = TICK_MS,
		.work = work,
	};
	enum fw_log_form form =
		options->form == FW_LOG_AUTO ? fw_log_form_of(options->fd) : options->form;
	struct fw_spool *fresh = NULL;
	fw_error *err;

	if (form == FW_LOG_OFF)
		return NULL;
	if (own.spool)
		return fw_raise_internal_api_misuse("fw_log_start", "the log is on");
	atomic_store(&own.is_ending, false);
	FW_TRY(fw_log_sink_open(&own.sink, options, form, &own.is_ending));
	own.form = form;
	own.level = options->level;
	memset(&own.rates, 0, sizeof own.rates);
	fw_buf_init(&own.out, 2 * (size_t)FW_LIMIT_LOG_QUEUE_BYTES);
	(void)pthread_rwlock_wrlock(&own.lock);
	err = fw_spool_new(&spool, &fresh);
	own.spool = fresh;
	own.working = fresh;
	(void)pthread_rwlock_unlock(&own.lock);
	if (err)
		fw_log_sink_close(&own.sink);
	return err;
}

void fw_log_stop(void)
{
	struct fw_spool *spool;

	atomic_store(&own.is_ending, true);
	(void)pthread_rwlock_wrlock(&own.lock);
	spool = own.spool;
	own.spool = NULL;
	(void)pthread_rwlock_unlock(&own.lock);
	if (!spool)
		return;
	fw_spool_free(spool);
	fw_buf_clear(&own.out);
	fw_log_sink_close(&own.sink);
}

bool fw_log_is_on(void)
{
	bool is_on;

	(void)pthread_rwlock_rdlock(&own.lock);
	is_on = own.spool != NULL;
	(void)pthread_rwlock_unlock(&own.lock);
	return is_on;
}

uint64_t fw_log_lost(void)
{
	uint64_t lost;

	(void)pthread_rwlock_rdlock(&own.lock);
	lost = (own.spool ? fw_spool_lost(own.spool) : 0) + atomic_load(&own.unwritten);
	(void)pthread_rwlock_unlock(&own.lock);
	return lost;
}
