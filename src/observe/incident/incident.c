/*
 * incident.c - from the end of a call to the store.
 *
 * The loop's thread only copies a failure into the spool: its canonical form and a few
 * texts. The spool's thread does the rest: it redacts secrets once more, writes to the
 * store and prunes it.
 */
#include "observe/incident/incident.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/mem.h"
#include "core/redact.h"
#include "observe/incident/incident_file.h"
#include "observe/log/log.h"
#include "observe/spool/spool.h"
#include "policy/rate.h"

#include <faultwire/contract.h>
#include <faultwire/raise.h>

enum {
	WINDOW_MS = 20,
	RETRY_MS = 1000,
	TICK_MS = 200,     /* between attempts to deliver what waits on the disk */
	DELIVER_MS = 1000, /* then new incidents are looked after */
	PRUNE_MS = 60 * 1000,
	USUAL_BYTES = 2048, /* size of a typical error as text */
	CONTRACT_BYTES = 64 /* more than the member with a contract's name */
};

/* The texts of a record, in this order, after a struct head. */
enum text {
	TEXT_ID,
	TEXT_TOOL,
	TEXT_OPERATION,
	TEXT_CLIENT,
	TEXT_SESSION,
	TEXT_TRACE,
	TEXT_MESSAGE,
	TEXT_DETAIL,
	TEXT_ERROR,
	TEXT_COUNTED_AS,
	TEXT_PEER,
	TEXT_COUNT
};

struct head {
	uint64_t number;
	int64_t time_ms;
	int64_t duration_us;
	const fw_row *row; /* rows outlive the server */
	int status;
	fw_contract contract; /* in which the client got it */
	bool is_unauthenticated;
	bool has[TEXT_COUNT];
};

struct fw_incidents {
	struct fw_store *store;
	struct fw_spool *spool;
	int64_t max_age_ms;
	uint64_t max_bytes;
	int64_t pruned_ms;             /* monotonic clock; 0: not yet */
	struct fw_rate strangers;      /* of the loop's thread: unauthenticated requests */
	uint64_t number;               /* likewise: of the last incident */
	int64_t writer;                /* who numbers them */
	struct fw_incident_file *file; /* NULL: none */
	atomic_uint_least64_t waiting;
	atomic_uint_least64_t disk_bytes;
	atomic_uint_least64_t left_out;
	struct fw_buf clean; /* redacted texts of the record that is being written */
	atomic_uint_least64_t written;
	atomic_bool is_down;
	atomic_int_least64_t down_unix_ms;
};

/* ---- on the loop's thread ------------------------------------------------------- */

static void put_text(struct fw_buf *out, struct head *head, enum text which, const char *text)
{
	head->has[which] = text != NULL;
	fw_buf_put(out, text ? text : "", (text ? strlen(text) : 0) + 1);
}

/* For an error that is too large: its code and message only. */
static void put_small(struct fw_buf *out, const fw_error *err)
{
	FW_BUF(out, "{\"code\":");
	fw_buf_json_str(out, fw_error_name(err));
	FW_BUF(out, ",\"message\":");
	fw_buf_json_str(out, fw_error_message(err));
	FW_BUF(out, ",\"context\":{\"omitted\":\"too large to be kept\"}}");
}

static void put_error(struct fw_buf *out, const fw_error *err)
{
	const fw_encode_options options = { .struct_size = sizeof(fw_encode_options),
					    .stack = true };
	size_t len;

	if (!fw_buf_reserve(out, USUAL_BYTES))
		return;
	len = fw_error_encode(err, FW_CANONICAL, &options, out->text + out->len,
			      out->cap - out->len);
	if (len > FW_LIMIT_INCIDENT_BYTES) {
		put_small(out, err);
	} else {
		if (len >= out->cap - out->len) {
			if (!fw_buf_reserve(out, len))
				return;
			len = fw_error_encode(err, FW_CANONICAL, &options, out->text + out->len,
					      out->cap - out->len);
		}
		out->len += len;
	}
	fw_buf_put(out, "", 1);
}

static void finished(void *ctx, const fw_outcome *outcome)
{
	fw_incidents *incidents = ctx;
	const fw_error *err = outcome->error;
	struct fw_buf *out;
	struct head head = { 0 };
	fw_scope scope;
	size_t at;

	/* An error that was raised out of memory has no id. */
	if (!err || !fw_error_incident_id(err))
		return;
	if (outcome->is_unauthenticated &&
	    !fw_rate_take(&incidents->strangers, FW_LIMIT_AUDIT_STRANGERS_PER_S,
			  FW_LIMIT_AUDIT_STRANGERS, (uint64_t)fw_steady_ns())) {
		atomic_fetch_add(&incidents->left_out, 1);
		return;
	}
	out = fw_spool_begin(incidents->spool);
	if (!out)
		return;
	scope = fw_error_scope(err);
	at = out->len;
	head.number = ++incidents->number;
	head.time_ms = fw_unix_ms();
	head.duration_us = (int64_t)(outcome->duration_ns / 1000);
	head.row = fw_error_row(err);
	head.status = fw_error_status(err);
	head.contract = outcome->contract;
	head.is_unauthenticated = outcome->is_unauthenticated;
	fw_buf_put(out, (const char *)&head, sizeof head);
	put_text(out, &head, TEXT_ID, fw_error_incident_id(err));
	put_text(out, &head, TEXT_TOOL, scope.tool);
	put_text(out, &head, TEXT_OPERATION,
		 scope.operation ? scope.operation : outcome->method);
	put_text(out, &head, TEXT_CLIENT, scope.client ? scope.client : outcome->client);
	put_text(out, &head, TEXT_SESSION,
		 scope.session_id ? scope.session_id : outcome->session);
	put_text(out, &head, TEXT_TRACE, scope.trace_id ? scope.trace_id : outcome->trace);
	put_text(out, &head, TEXT_MESSAGE, fw_error_message(err));
	put_text(out, &head, TEXT_DETAIL, fw_error_detail(err));
	head.has[TEXT_ERROR] = true;
	put_error(out, err);
	/* Names that are not registered tools are counted together. */
	put_text(out, &head, TEXT_COUNTED_AS, outcome->is_known ? outcome->name : NULL);
	put_text(out, &head, TEXT_PEER, outcome->peer);
	if (out->state == FW_BUF_OK)
		memcpy(out->text + at, &head, sizeof head);
	fw_spool_end(incidents->spool);
}

/* ---- on the spool's thread --------------------------------------------------------- */

/* Errors contain no secrets, unless one was decoded with keep_secrets. Decoding it
 * again redacts them. */
static const char *clean_error(fw_incidents *incidents, const char *text)
{
	const fw_encode_options options = { .struct_size = sizeof(fw_encode_options),
					    .stack = true };
	size_t len = strlen(text);
	fw_error *copy = NULL;
	fw_error *failure;
	char *fresh = NULL;

	if (fw_redact_find(text, len) == len)
		return text;
	failure = fw_error_decode(text, len, FW_CANONICAL, NULL, &copy);
	if (!failure)
		failure = fw_error_to_text(copy, FW_CANONICAL, &options, &fresh, &len);
	fw_error_free(copy);
	if (failure) {
		fw_error_free(failure);
		return "{}";
	}
	fw_buf_put(&incidents->clean, fresh, len + 1);
	fw_free(fresh);
	return incidents->clean.state == FW_BUF_OK
		       ? incidents->clean.text + incidents->clean.len - len - 1
		       : "{}";
}

static const char *clean_text(fw_incidents *incidents, const char *text)
{
	struct fw_buf *clean = &incidents->clean;
	size_t len = strlen(text), need;

	if (fw_redact_find(text, len) == len)
		return text;
	need = fw_redact_copy(NULL, 0, text, len);
	if (!fw_buf_reserve(clean, need + 1))
		return FW_REDACTED;
	(void)fw_redact_copy(clean->text + clean->len, need + 1, text, len);
	clean->len += need + 1;
	return clean->text + clean->len - need - 1;
}

/* The stored error: with the contract as its last member, for incident_read.c. */
static const char *add_contract(fw_incidents *incidents, const char *text, fw_contract contract)
{
	struct fw_buf *clean = &incidents->clean;
	size_t len = strlen(text), at = clean->len;

	/* An empty object cannot take a member with a comma. */
	if (len < 3 || contract >= FW_CONTRACT_COUNT ||
	    !fw_buf_reserve(clean, len + CONTRACT_BYTES))
		return text;
	fw_buf_put(clean, text, len - 1);
	FW_BUF(clean, FW_INCIDENT_CONTRACT);
	fw_buf_str(clean, fw_contract_name(contract));
	fw_buf_put(clean, "\"}", sizeof "\"}");
	return clean->state == FW_BUF_OK ? clean->text + at : text;
}

/* Reserves enough for all texts of a record, so that the buffer does not move. */
static void make_room(fw_incidents *incidents, size_t len)
{
	fw_buf_reset(&incidents->clean, USUAL_BYTES * 8);
	(void)fw_buf_reserve(&incidents->clean,
			     9 * len + TEXT_COUNT * sizeof FW_REDACTED + CONTRACT_BYTES);
}

struct walk {
	fw_incidents *incidents;
	const struct fw_spool_batch *batch;
	size_t at;
};

static bool next(void *ctx, struct fw_incident *ret_incident)
{
	struct walk *walk = ctx;
	const char *texts[TEXT_COUNT];
	struct head head;
	size_t len;
	const char *record = fw_spool_next(walk->batch, &walk->at, &len);
	const char *at;

	if (!record)
		return false;
	make_room(walk->incidents, len);
	memcpy(&head, record, sizeof head);
	at = record + sizeof head;
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		texts[i] = head.has[i] ? at : NULL;
		at += strlen(at) + 1;
		if (texts[i] && i != TEXT_ERROR)
			texts[i] = clean_text(walk->incidents, texts[i]);
	}
	*ret_incident = (struct fw_incident){
		.id = texts[TEXT_ID],
		.time_ms = head.time_ms,
		.duration_us = head.duration_us,
		.code = head.row->code,
		.severity = fw_severity_name(head.row->severity),
		.status = head.status,
		.tool = texts[TEXT_TOOL],
		.operation = texts[TEXT_OPERATION],
		.client = texts[TEXT_CLIENT],
		.session = texts[TEXT_SESSION],
		.trace = texts[TEXT_TRACE],
		.message = texts[TEXT_MESSAGE],
		.detail = texts[TEXT_DETAIL],
		.error = add_contract(walk->incidents,
				      clean_error(walk->incidents, texts[TEXT_ERROR]),
				      head.contract),
		.counted_as = texts[TEXT_COUNTED_AS] ? texts[TEXT_COUNTED_AS] : "",
		.peer = texts[TEXT_PEER],
		.is_unauthenticated = head.is_unauthenticated,
		.writer = walk->incidents->writer,
		.number = head.number,
	};
	return true;
}

static bool is_prune_due(const fw_incidents *incidents)
{
	return !incidents->pruned_ms || fw_steady_ms() - incidents->pruned_ms >= PRUNE_MS;
}

static fw_error *write_batch(fw_incidents *incidents, const struct fw_spool_batch *batch,
			     char *remark, size_t size)
{
	struct fw_store *store = incidents->store;
	struct walk walk = { .incidents = incidents, .batch = batch };

	if (!batch->count) /* at the start or the end */
		return incidents->pruned_ms ? NULL : fw_store_probe(store);
	FW_TRY(fw_store_prepare(store, remark, size));
	/* cppcheck-suppress returnDanglingLifetime ; an error, not its ctx */
	FW_TRY(fw_store_add_incidents(store, next, &walk));
	/* The size is checked after each batch; the age once a minute. */
	return fw_store_prune_incidents(
		store, is_prune_due(incidents) ? fw_unix_ms() - incidents->max_age_ms : 0,
		incidents->max_bytes);
}

static void note_state(fw_incidents *incidents, fw_error *err)
{
	bool was_down = atomic_exchange(&incidents->is_down, err != NULL);

	if (err && !was_down)
		atomic_store(&incidents->down_unix_ms, fw_unix_ms());
	if (err && !was_down)
		fw_log_event(FW_LOG_ERROR, "faultwire", "incidents_down",
			     (const fw_field[]){ fw_log_text("reason", fw_error_message(err)) },
			     1);
	else if (!err && was_down)
		fw_log_event(FW_LOG_NOTICE, "faultwire", "incidents_restored", NULL, 0);
	fw_error_free(err);
}

/* ---- while the store is away ---------------------------------------------------------- */

static bool keep_on_disk(fw_incidents *incidents, const struct fw_spool_batch *batch)
{
	struct walk walk = { .incidents = incidents, .batch = batch };
	fw_error *err;

	if (!batch->count)
		return true;
	err = fw_incident_file_append(incidents->file, next, &walk);
	if (err)
		fw_log_event(FW_LOG_ERROR, "faultwire", "incidents_not_kept",
			     (const fw_field[]){ fw_log_text("reason", fw_error_message(err)) },
			     1);
	fw_error_free(err);
	return !err;
}

static fw_error *deliver(fw_incidents *incidents)
{
	const int64_t until_ms = fw_steady_ms() + DELIVER_MS;

	while (!fw_incident_file_is_empty(incidents->file) && fw_steady_ms() < until_ms) {
		uint64_t count = 0;

		FW_TRY(fw_incident_file_deliver(incidents->file, incidents->store, &count));
		atomic_fetch_add(&incidents->written, count);
	}
	return NULL;
}

/* The thread calls again soon, even without new incidents. */
static void remind(fw_incidents *incidents)
{
	if (!fw_spool_begin(incidents->spool))
		return;
	fw_spool_remind(incidents->spool);
	fw_spool_cancel(incidents->spool);
}

/*
 * Incidents go to the store, or to the file; to the file too if others wait there already,
 * so that their order is kept. False: they could be kept nowhere, and are tried again.
 * `ret_err` is why the store could not be used.
 */
static bool write_or_keep(fw_incidents *incidents, const struct fw_spool_batch *batch,
			  fw_error **ret_err)
{
	struct fw_incident_file *file = incidents->file;
	char remark[8] = "";
	bool is_kept = true;

	if (fw_incident_file_is_empty(file)) {
		*ret_err = write_batch(incidents, batch, remark, sizeof remark);
		if (*ret_err)
			is_kept = keep_on_disk(incidents, batch);
		else
			atomic_fetch_add(&incidents->written, batch->count);
	} else {
		is_kept = keep_on_disk(incidents, batch);
		*ret_err = deliver(incidents);
	}
	atomic_store(&incidents->waiting, fw_incident_file_count(file));
	atomic_store(&incidents->disk_bytes, fw_incident_file_bytes(file));
	if (!batch->is_last && (*ret_err || !fw_incident_file_is_empty(file)))
		remind(incidents);
	return is_kept;
}

/* ---- the thread's work ----------------------------------------------------------------- */

static bool work(void *ctx, const struct fw_spool_batch *batch)
{
	fw_incidents *incidents = ctx;
	char remark[256] = "";
	fw_error *err = NULL;
	bool is_done;

	if (incidents->file) {
		is_done = write_or_keep(incidents, batch, &err);
	} else {
		err = write_batch(incidents, batch, remark, sizeof remark);
		is_done = !err;
	}

	if (remark[0])
		fw_log_event(FW_LOG_WARNING, "faultwire", "incidents_set_aside",
			     (const fw_field[]){ fw_log_text("as", remark) }, 1);
	if (batch->lost)
		fw_log_event(FW_LOG_WARNING, "faultwire", "incidents_lost",
			     (const fw_field[]){ fw_log_number("count", batch->lost) }, 1);
	if (is_done && !err) {
		if (!incidents->file)
			atomic_fetch_add(&incidents->written, batch->count);
		if (batch->count && is_prune_due(incidents))
			incidents->pruned_ms = fw_steady_ms() + 1;
	} else if (!is_done && batch->is_last && batch->count) {
		fw_log_event(FW_LOG_WARNING, "faultwire", "incidents_lost",
			     (const fw_field[]){ fw_log_number("count", batch->count) }, 1);
	}
	note_state(incidents, err);
	return is_done;
}

/* ---- lifecycle ----------------------------------------------------------------------- */

/* The number of a writer is never used again, so it is random, and positive. */
static fw_error *make_file(fw_incidents *incidents, const char *directory)
{
	uint64_t random;

	fw_random((unsigned char *)&random, sizeof random);
	incidents->writer = (int64_t)(random >> 1) | 1;
	return fw_incident_file_new(directory, incidents->writer, &incidents->file);
}

fw_error *fw_incidents_new(struct fw_store *store, const struct fw_incidents_options *options,
			   fw_incidents **ret_incidents)
{
	fw_incidents *incidents = fw__allocate(sizeof *incidents);
	struct fw_spool_options spool = {
		.max_bytes = FW_LIMIT_INCIDENT_QUEUE_BYTES,
		.window_ms = WINDOW_MS,
		.retry_ms = RETRY_MS,
		.tick_ms = options->directory ? TICK_MS : 1,
		.work = work,
		.ctx = incidents,
	};
	fw_error *err;

	if (!incidents) {
		fw_store_free(store);
		return fw_raise_internal_out_of_memory();
	}
	memset(incidents, 0, sizeof *incidents);
	incidents->store = store;
	incidents->max_age_ms =
		(options->max_age_s ? options->max_age_s : FW_LIMIT_INCIDENT_AGE_S) * 1000;
	incidents->max_bytes =
		options->max_bytes ? options->max_bytes : FW_LIMIT_INCIDENT_STORE_BYTES;
	fw_buf_init(&incidents->clean, 16 * (size_t)FW_LIMIT_INCIDENT_BYTES);
	err = options->directory ? make_file(incidents, options->directory) : NULL;
	if (!err)
		err = fw_spool_new(&spool, &incidents->spool);
	if (err) {
		fw_incidents_free(incidents);
		return err;
	}
	/* Report now if the store cannot be written, not with the first failure. SQLite
	 * is not loaded for that. */
	if (fw_spool_begin(incidents->spool)) {
		fw_spool_remind(incidents->spool);
		fw_spool_cancel(incidents->spool);
	}
	*ret_incidents = incidents;
	return NULL;
}

void fw_incidents_free(fw_incidents *incidents)
{
	if (!incidents)
		return;
	fw_spool_free(incidents->spool);
	fw_incident_file_free(incidents->file);
	fw_store_free(incidents->store);
	fw_buf_clear(&incidents->clean);
	fw__release(incidents);
}

fw_observer fw_incidents_observer(fw_incidents *incidents)
{
	return (fw_observer){ .struct_size = sizeof(fw_observer),
			      .finished = finished,
			      .ctx = incidents };
}

struct fw_incidents_health fw_incidents_health(fw_incidents *incidents)
{
	return (struct fw_incidents_health){
		.written = atomic_load(&incidents->written),
		.lost = fw_spool_lost(incidents->spool),
		.left_out = atomic_load(&incidents->left_out),
		.waiting_bytes = fw_spool_waiting(incidents->spool),
		.waiting = atomic_load(&incidents->waiting),
		.disk_bytes = atomic_load(&incidents->disk_bytes),
		.is_down = atomic_load(&incidents->is_down),
		.down_unix_ms = atomic_load(&incidents->down_unix_ms),
	};
}
