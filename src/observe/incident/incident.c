/*
 * incident.c - from the end of a call to the store.
 *
 * The loop's thread makes a record of a failure (incident_record.h) before its answer is
 * sent, and the spool writes it to its mirror, so that it survives a kill of the server.
 * The spool's thread does the rest: it writes to the store and prunes it.
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
#include "observe/incident/incident_file.h"
#include "observe/incident/incident_record.h"
#include "observe/log/log.h"
#include "observe/spool/spool.h"
#include "policy/rate.h"

#include <faultwire/raise.h>

enum {
	WINDOW_MS = 20,
	RETRY_MS = 1000,
	TICK_MS = 200,      /* between attempts to deliver what waits on the disk */
	LOCAL_TICK_MS = 10, /* likewise, for a store in a file */
	DELIVER_MS = 1000,  /* then new incidents are looked after */
	ADOPT_MS = 1000,    /* until files are adopted that were in use at the start */
	PRUNE_MS = 60 * 1000,
};

struct fw_incidents {
	struct fw_store *store;
	struct fw_spool *spool;
	int64_t max_age_ms;
	uint64_t max_bytes;
	int64_t pruned_ms;              /* monotonic clock; 0: not yet */
	struct fw_rate unauthenticated; /* of the loop's thread: unauthenticated requests */
	uint64_t number;                /* likewise: of the last incident */
	int64_t writer;                 /* who numbers them */
	struct fw_incident_file *file;  /* NULL: none */
	bool is_shared;                 /* then incidents wait in `file`, not in memory */
	atomic_bool has_mirror_failed;  /* and this was logged */
	int64_t adopt_ms;               /* monotonic clock: when to adopt the rest; 0: done */
	atomic_uint_least64_t waiting;
	atomic_uint_least64_t disk_bytes;
	atomic_uint_least64_t left_out;
	atomic_uint_least64_t written;
	atomic_bool is_down;
	atomic_int_least64_t down_unix_ms;
};

/* ---- on the loop's thread ------------------------------------------------------- */

/* From both threads. Without mirrors a kill loses the last milliseconds. */
static void log_mirror(fw_incidents *incidents, int failure)
{
	if (failure && !atomic_exchange(&incidents->has_mirror_failed, true))
		fw_log_event(FW_LOG_ERROR, "faultwire", "incidents_not_mirrored",
			     (const fw_field[]){ fw_log_text("reason", strerror(failure)) }, 1);
}

static void failed(void *ctx, const fw_outcome *outcome)
{
	fw_incidents *incidents = ctx;
	const fw_error *err = outcome->error;
	const fw_row *row = fw_error_row(err);
	struct fw_incident incident;
	struct fw_buf *out;
	fw_scope scope;

	/* An error that was raised out of memory has no id. */
	if (!fw_error_incident_id(err))
		return;
	if (outcome->is_unauthenticated &&
	    !fw_rate_take(&incidents->unauthenticated, FW_LIMIT_AUDIT_UNAUTHENTICATED_PER_S,
			  FW_LIMIT_AUDIT_UNAUTHENTICATED, (uint64_t)fw_steady_ns())) {
		atomic_fetch_add(&incidents->left_out, 1);
		return;
	}
	scope = fw_error_scope(err);
	incident = (struct fw_incident){
		.id = fw_error_incident_id(err),
		.time_ms = fw_unix_ms(),
		.duration_us = (int64_t)(outcome->duration_ns / 1000),
		.code = row->code,
		.severity = fw_severity_name(row->severity),
		.status = fw_error_status(err),
		.tool = scope.tool,
		.operation = scope.operation ? scope.operation : outcome->method,
		.client = scope.client ? scope.client : outcome->client,
		.session = scope.session_id ? scope.session_id : outcome->session,
		.trace = scope.trace_id ? scope.trace_id : outcome->trace,
		.message = fw_error_message(err),
		.detail = fw_error_detail(err),
		/* Names that are not registered tools are counted together. */
		.counted_as = outcome->is_known && outcome->name ? outcome->name : "",
		.peer = outcome->peer,
		.is_unauthenticated = outcome->is_unauthenticated,
		.number = ++incidents->number,
	};
	out = fw_spool_begin(incidents->spool);
	if (!out)
		return;
	if (incidents->file)
		log_mirror(incidents,
			   fw_incident_file_mirror(incidents->file, incidents->spool));
	fw_incident_record_put(out, &incident, err, outcome->contract);
	fw_spool_end(incidents->spool);
}

/* ---- on the spool's thread --------------------------------------------------------- */

struct walk {
	struct fw_incident_records records;
	const struct fw_spool_batch *batch;
	size_t at;
};

static bool next(void *ctx, struct fw_incident *ret_incident)
{
	struct walk *walk = ctx;
	const char *record = fw_spool_next(walk->batch, &walk->at, &walk->records.left);

	walk->records.at = record;
	return record && fw_incident_record_next(&walk->records, ret_incident);
}

static bool is_prune_due(const fw_incidents *incidents)
{
	return !incidents->pruned_ms || fw_steady_ms() - incidents->pruned_ms >= PRUNE_MS;
}

static fw_error *write_batch(fw_incidents *incidents, const struct fw_spool_batch *batch,
			     char *remark, size_t size)
{
	struct fw_store *store = incidents->store;
	struct walk walk = { .records.writer = incidents->writer, .batch = batch };

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

/* ---- while the store is unavailable --------------------------------------------------- */

static bool keep_on_disk(fw_incidents *incidents, const struct fw_spool_batch *batch)
{
	fw_error *err;

	if (!batch->count)
		return true;
	err = fw_incident_file_append(incidents->file, batch);
	if (err)
		fw_log_event(FW_LOG_ERROR, "faultwire", "incidents_not_kept",
			     (const fw_field[]){ fw_log_text("reason", fw_error_message(err)) },
			     1);
	fw_error_free(err);
	return !err;
}

static fw_error *deliver(fw_incidents *incidents, char *remark, size_t size)
{
	const int64_t until_ms = fw_steady_ms() + DELIVER_MS;

	if (!fw_incident_file_is_empty(incidents->file))
		FW_TRY(fw_store_prepare(incidents->store, remark, size));
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
			  char *remark, size_t size, fw_error **ret_err)
{
	struct fw_incident_file *file = incidents->file;
	bool is_kept = true;

	if (fw_incident_file_is_empty(file)) {
		*ret_err = write_batch(incidents, batch, remark, size);
		if (*ret_err)
			is_kept = keep_on_disk(incidents, batch);
		else
			atomic_fetch_add(&incidents->written, batch->count);
	} else {
		is_kept = keep_on_disk(incidents, batch);
		*ret_err = deliver(incidents, remark, size);
	}
	atomic_store(&incidents->waiting, fw_incident_file_count(file));
	atomic_store(&incidents->disk_bytes, fw_incident_file_bytes(file));
	if (!batch->is_last && (*ret_err || !fw_incident_file_is_empty(file)))
		remind(incidents);
	return is_kept;
}

/* Incidents go to the store, after those that a killed server left; or they are tried
 * again. */
static bool write_or_wait(fw_incidents *incidents, const struct fw_spool_batch *batch,
			  char *remark, size_t size, fw_error **ret_err)
{
	*ret_err = incidents->file ? deliver(incidents, remark, size) : NULL;
	if (!*ret_err)
		*ret_err = write_batch(incidents, batch, remark, size);
	if (*ret_err)
		return false;
	atomic_fetch_add(&incidents->written, batch->count);
	if (incidents->file && !batch->is_last && !fw_incident_file_is_empty(incidents->file))
		remind(incidents);
	return true;
}

/* A process that was killed right before the start may hold its locks a little longer. */
static void adopt_rest(fw_incidents *incidents)
{
	if (!incidents->adopt_ms)
		return;
	if (fw_steady_ms() < incidents->adopt_ms) {
		remind(incidents);
		return;
	}
	incidents->adopt_ms = 0;
	fw_incident_file_adopt_rest(incidents->file);
}

/* ---- the thread's work ----------------------------------------------------------------- */

static bool work(void *ctx, const struct fw_spool_batch *batch)
{
	fw_incidents *incidents = ctx;
	char remark[256] = "";
	fw_error *err = NULL;
	bool is_done;

	adopt_rest(incidents);
	is_done = incidents->is_shared && incidents->file
			  ? write_or_keep(incidents, batch, remark, sizeof remark, &err)
			  : write_or_wait(incidents, batch, remark, sizeof remark, &err);
	if (incidents->file)
		log_mirror(incidents, fw_spool_mirror_failure(incidents->spool));
	if (remark[0])
		fw_log_event(FW_LOG_WARNING, "faultwire", "incidents_set_aside",
			     (const fw_field[]){ fw_log_text("as", remark) }, 1);
	if (batch->lost)
		fw_log_event(FW_LOG_WARNING, "faultwire", "incidents_lost",
			     (const fw_field[]){ fw_log_number("count", batch->lost) }, 1);
	if (is_done && !err) {
		if (batch->count && is_prune_due(incidents))
			incidents->pruned_ms = fw_steady_ms() + 1;
	} else if (!is_done && batch->is_last && batch->count && !batch->is_mirrored) {
		fw_log_event(FW_LOG_WARNING, "faultwire", "incidents_lost",
			     (const fw_field[]){ fw_log_number("count", batch->count) }, 1);
	}
	note_state(incidents, err);
	return is_done;
}

/* ---- lifecycle ----------------------------------------------------------------------- */

/* The number of a writer is never used again, so it is random, and positive. */
static fw_error *make_file(fw_incidents *incidents, const char *stem)
{
	uint64_t random;

	fw_random((unsigned char *)&random, sizeof random);
	incidents->writer = (int64_t)(random >> 1) | 1;
	FW_TRY(fw_incident_file_new(stem, incidents->writer, &incidents->file));
	if (fw_incident_file_has_rest(incidents->file))
		incidents->adopt_ms = fw_steady_ms() + ADOPT_MS;
	return NULL;
}

fw_error *fw_incidents_new(struct fw_store *store, const struct fw_incidents_options *options,
			   fw_incidents **ret_incidents)
{
	fw_incidents *incidents = fw__allocate(sizeof *incidents);
	struct fw_spool_options spool = {
		.max_bytes = FW_LIMIT_INCIDENT_QUEUE_BYTES,
		.window_ms = WINDOW_MS,
		.retry_ms = RETRY_MS,
		.tick_ms = options->is_shared ? TICK_MS : LOCAL_TICK_MS,
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
	incidents->is_shared = options->is_shared;
	err = options->stem ? make_file(incidents, options->stem) : NULL;
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
	fw__release(incidents);
}

fw_observer fw_incidents_observer(fw_incidents *incidents)
{
	return (fw_observer){ .struct_size = sizeof(fw_observer),
			      .failed = failed,
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
