/*
 * log.c - what is told, and how it gets off the thread that tells it.
 *
 * On that thread a line is only gathered, into the spool; the spool's thread
 * writes it, and waits for slow readers. See log_line.c for the form of a line,
 * log_sink.c for where it goes, log_rate.c for how many of a kind there are.
 */
#include "observe/log/log_line.h"
#include "observe/log/log_rate.h"
#include "observe/log/log_sink.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "core/redact.h"
#include "observe/spool/spool.h"

#include <faultwire/raise.h>

enum { WINDOW_MS = 2, TICK_MS = 1000 };

static struct {
	/* Held for reading while a line is gathered, for writing to start and stop. */
	pthread_rwlock_t lock;
	struct fw_spool *spool;   /* NULL: it is off */
	struct fw_spool *working; /* the same, for its thread */
	enum fw_log_form form;
	fw_log_level level;
	struct fw_log_sink sink;
	atomic_bool is_ending;
	atomic_uint_least64_t unwritten; /* lines that the sink did not take */
	uint64_t unwritten_told;
	struct fw_buf out;
	struct fw_log_rates rates; /* under the spool's lock */
} own = { .lock = PTHREAD_RWLOCK_INITIALIZER };

static int64_t clock_ms(clockid_t clock)
{
	struct timespec now = { 0 };

	(void)clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- gathering a line ------------------------------------------------------------------ */

/* NULL: the line is not wanted. Otherwise end_line() must follow. */
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
	if (!fw_log_rate_take(&own.rates, kind, clock_ms(CLOCK_MONOTONIC), &held)) {
		fw_spool_remind(own.spool);
		fw_spool_cancel(own.spool);
		(void)pthread_rwlock_unlock(&own.lock);
		return NULL;
	}
	head.time_ms = clock_ms(CLOCK_REALTIME);
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

/* The fields as one object, gathered apart: its length comes before it. */
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

/* The contract of the code intelligence tools names its component, and its
 * operations by these categories. */
static bool is_codeintel(const char *operation)
{
	static const char *const categories[] = { "files:", "search:", "git:", "semantic:" };

	for (size_t i = 0; operation && i < sizeof categories / sizeof *categories; i++)
		if (strncmp(operation, categories[i], strlen(categories[i])) == 0)
			return true;
	return false;
}

/* What the client can mend is a warning; what nobody foresaw is an error, as
 * that contract has it, and comes with its trail. */
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

static void put_message(struct fw_buf *out, const fw_error *err, bool codeintel)
{
	int code = fw_error_code(err);
	fw_field type;

	if (codeintel && code == FW_FILE_NOT_FOUND) {
		fw_log_put_text(out, "message", "File not found");
		fw_log_put_text(out, "error", fw_error_message(err));
	} else if (codeintel && code == FW_INTERNAL_UNEXPECTED) {
		fw_log_put_text(out, "message", "Unexpected error");
		fw_log_put_text(out, "error", fw_error_message(err));
		fw_log_put_text(out, "exception_type",
				fw_error_find_field(err, "exception_type", &type) &&
						type.type == FW_FIELD_STRING
					? type.string
					: "Error");
	} else {
		fw_log_put_text(out, "message", fw_error_message(err));
	}
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
	bool codeintel = is_codeintel(scope.operation);
	struct fw_buf *out = begin_line(level_of(err), row->code);

	if (!out)
		return;
	fw_log_put_text(out, "component", codeintel ? "codeintel_mcp" : "faultwire");
	fw_log_put_text(out, "operation", scope.operation ? scope.operation : outcome->method);
	fw_log_put_text(out, "error_code", codeintel ? row->codeintel : row->code);
	fw_log_put_text(out, "incident_id", fw_error_incident_id(err));
	fw_log_put_text(out, "tool", scope.tool);
	fw_log_put_text(out, "session", scope.session_id);
	fw_log_put_text(out, "client", scope.client);
	fw_log_put_text(out, "trace_id", scope.trace_id);
	put_duration(out, outcome->duration_ns);
	put_message(out, err, codeintel);
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
	return (fw_observer){ .finished = finished };
}

/* ---- on the spool's thread ------------------------------------------------------------------------ */

/* What has been rendered leaves; so many lines were in it. */
static void flush(size_t lines)
{
	if (own.out.state != FW_BUF_OK ||
	    !fw_log_sink_write(&own.sink, own.out.text, own.out.len))
		atomic_fetch_add(&own.unwritten, lines);
	fw_buf_reset(&own.out, 64 * 1024);
}

/* A line about the log itself. */
static void render_count(const char *event, const char *code, uint64_t count)
{
	struct fw_log_head head = { clock_ms(CLOCK_REALTIME), FW_LOG_WARNING };
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

static void tell_held(bool is_last)
{
	int64_t now = clock_ms(CLOCK_MONOTONIC) + (is_last ? TICK_MS : 0);
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
	uint64_t lost = batch->lost + unwritten - own.unwritten_told;
	size_t at = 0, len, lines = 0;
	const char *record;

	(void)ctx;
	while ((record = fw_spool_next(batch, &at, &len))) {
		size_t before = own.out.len;

		fw_log_render(&own.out, own.form, record, len);
		lines++;
		/* A datagram for each; else as many lines as go whole. */
		if (own.sink.is_journal || (before && own.out.len > own.sink.most)) {
			flush(lines);
			lines = 0;
		}
	}
	if (lines)
		flush(lines);
	if (lost && atomic_load(&own.unwritten) == unwritten) {
		own.unwritten_told = unwritten;
		render_count("log_lost", NULL, lost);
	}
	tell_held(batch->is_last);
	return true;
}

/* ---- its life -------------------------------------------------------------------------------------- */

/* systemd says which stream leads to the journal: "device:inode". */
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
