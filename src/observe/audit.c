/*
 * audit.c - the queue of records, and the thread that writes them.
 *
 * While the disk is busy with one batch, the next one gathers: so the number of
 * fdatasyncs follows the disk, and the number of records the load. Only the
 * thread touches the file. When a batch fails, all of it fails, and the audit is
 * down: from then on an attempt is made with each new batch, and every
 * FW_LIMIT_AUDIT_PROBE_MS without one. The first record that succeeds says for
 * how long there were none, and how many were lost.
 */
#include "observe/audit.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/limits.h"
#include "base/mem.h"
#include "observe/audit_impl.h"

enum { KEEP_BATCH_BYTES = 256 * 1024, POLITE_NAP_US = 250 };

/* A record, or (with `move`) another file from here on. */
struct item {
	struct item *next;
	fw_audit_done *done;
	void *ctx;
	struct fw_audit_file *move;
	struct fw_buf body;
	char *args; /* hashed by the thread: they may be long */
	size_t args_len;
};

struct fw_audit {
	struct fw_audit_options options;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted; /* by the thread: work, or the end */
	pthread_cond_t told;   /* to others: opened, or over */
	struct item *first;
	struct item **last;
	uint64_t waiting;
	uint64_t waiting_bytes;
	bool is_closing;
	bool is_abandoned; /* nobody waits for the thread, or for what it says */
	bool is_tried;     /* the first attempt has been made */
	bool is_over;
	struct fw_audit_failure failure; /* the last */
	uint64_t records, lost, batches;
	atomic_uint_fast64_t syncs;
	atomic_bool is_down;
	/* The thread's own: */
	struct fw_audit_file *file;
	struct fw_hasher *hasher;
	struct fw_buf batch;
	int64_t down_since_ms;
	uint64_t lost_since;
	bool is_dirty; /* written and not synced */
	int64_t synced_ms;
};

static int64_t clock_ms(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the batch -------------------------------------------------------------- */

static void put_string(struct fw_buf *out, const char *key, const char *text)
{
	FW_BUF(out, ",\"");
	fw_buf_str(out, key);
	FW_BUF(out, "\":");
	fw_buf_json_str(out, text);
}

static void put_number(struct fw_buf *out, const char *key, uint64_t value)
{
	FW_BUF(out, ",\"");
	fw_buf_str(out, key);
	FW_BUF(out, "\":");
	fw_buf_i64(out, (int64_t)value);
}

static size_t open_note(struct fw_audit *audit, const struct fw_audit_chain *chain,
			const char *reason)
{
	const struct fw_audit_record record = { .event = FW_AUDIT_NOTE, .reason = reason };
	size_t start;

	fw_audit_line_open(&audit->batch, chain, &start);
	fw_audit_put_body(&audit->batch, &record);
	return start;
}

/* What has to be said before any record. */
static bool put_notes(struct fw_audit *audit, struct fw_audit_chain *chain)
{
	/* An empty file begins with the one that says where it comes from. */
	static const struct {
		enum fw_audit_note_kind kind;
		const char *reason;
		const char *hash;
	} kinds[] = {
		{ FW_AUDIT_NOTE_ROTATED, "log rotated", "last_hash" },
		{ FW_AUDIT_NOTE_REPLACED, "log removed while in use", "last_hash" },
		{ FW_AUDIT_NOTE_TORN, "torn line set aside", "sha256" },
	};
	struct fw_buf *out = &audit->batch;
	size_t start;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct fw_audit_note *note = &audit->file->notes[kinds[i].kind];

		if (!note->is_due)
			continue;
		start = open_note(audit, chain, kinds[i].reason);
		if (note->file[0])
			put_string(out, "file", note->file);
		if (note->bytes)
			put_number(out, "bytes", note->bytes);
		put_string(out, kinds[i].hash, note->hash);
		if (!fw_audit_line_seal(out, start, audit->hasher, chain))
			return false;
	}
	if (audit->down_since_ms) {
		char since[FW_AUDIT_TIME_LEN + 1];
		const char *name = fw_errno_name(audit->failure.errnum);

		fw_audit_time(audit->down_since_ms, since);
		start = open_note(audit, chain, "writing resumed");
		put_string(out, "since", since);
		put_number(out, "lost", audit->lost_since);
		put_string(out, "failure", name ? name : audit->failure.doing);
		if (!fw_audit_line_seal(out, start, audit->hasher, chain))
			return false;
	}
	return true;
}

static bool put_item(struct fw_audit *audit, const struct item *item,
		     struct fw_audit_chain *chain)
{
	struct fw_buf *out = &audit->batch;
	size_t start;

	fw_audit_line_open(out, chain, &start);
	fw_buf_put(out, item->body.text, item->body.len);
	return fw_audit_put_args(out, audit->hasher, item->args, item->args_len,
				 audit->options.keep_args) &&
	       fw_audit_line_seal(out, start, audit->hasher, chain);
}

/* So many records from `first` on as fit one write; 0 of them is a probe. */
static bool put_batch(struct fw_audit *audit, struct item *first, struct fw_audit_chain *chain,
		      struct item **ret_rest, uint64_t *ret_count)
{
	uint64_t most = audit->options.batch_most ? audit->options.batch_most : UINT64_MAX;
	uint64_t count = 0;

	fw_buf_reset(&audit->batch, KEEP_BATCH_BYTES);
	*ret_rest = first;
	*ret_count = 0;
	if (!put_notes(audit, chain))
		return false;
	while (first && !first->move && count < most &&
	       audit->batch.len < FW_LIMIT_AUDIT_BATCH_BYTES) {
		if (!put_item(audit, first, chain))
			return false;
		first = first->next;
		count++;
	}
	*ret_rest = first;
	*ret_count = count;
	return true;
}

static bool sync_batch(struct fw_audit *audit, struct fw_audit_failure *ret_failure)
{
	if (!fw_audit_file_sync(audit->file, ret_failure))
		return false;
	audit->is_dirty = false;
	audit->synced_ms = clock_ms();
	(void)atomic_fetch_add(&audit->syncs, 1);
	return true;
}

/* Writes a batch from `first` on; `*ret_rest` is what it left. */
static bool write_batch(struct fw_audit *audit, struct item *first, struct item **ret_rest,
			uint64_t *ret_count, struct fw_audit_failure *ret_failure)
{
	struct fw_audit_file *file = audit->file;
	struct fw_audit_chain chain;
	uint64_t size;
	bool is_done;

	if (!fw_audit_file_begin(file, audit->hasher, ret_failure))
		return false;
	chain = file->chain;
	size = file->size;
	if (!put_batch(audit, first, &chain, ret_rest, ret_count)) {
		fw_audit_file_end(file);
		return fw_audit_fail(ret_failure, ENOMEM, "a record could not be made");
	}
	is_done = fw_audit_file_write(file, audit->batch.text, audit->batch.len, ret_failure);
	if (is_done && audit->batch.len > 0)
		audit->is_dirty = true;
	if (is_done && audit->is_dirty && audit->options.sync == FW_AUDIT_SYNC_ALWAYS) {
		is_done = sync_batch(audit, ret_failure);
		if (!is_done)
			fw_audit_file_cut(file, size);
	}
	if (is_done) {
		file->chain = chain;
		for (int i = 0; i < FW_AUDIT_NOTES; i++)
			file->notes[i].is_due = false;
	}
	fw_audit_file_end(file);
	return is_done;
}

/* ---- telling ---------------------------------------------------------------- */

static void free_item(struct item *item)
{
	if (item->move)
		fw_audit_file_clear(item->move);
	fw__release(item->move);
	fw_buf_clear(&item->body);
	fw__release(item->args);
	fw__release(item);
}

/* Up to `rest`, without it. */
static void tell(struct fw_audit *audit, struct item *first, const struct item *rest,
		 const struct fw_audit_failure *failure)
{
	while (first != rest) {
		struct item *next = first->next;
		fw_audit_done *done = first->done;
		void *ctx = first->ctx;

		/* Nothing of it is left when somebody hears that it is done. */
		free_item(first);
		(void)pthread_mutex_lock(&audit->lock);
		if (audit->is_abandoned)
			done = NULL;
		(void)pthread_mutex_unlock(&audit->lock);
		if (done)
			done(ctx, failure ? fw_audit_failure_error(failure) : NULL);
		first = next;
	}
}

static void note_success(struct fw_audit *audit, uint64_t count)
{
	(void)pthread_mutex_lock(&audit->lock);
	audit->records += count;
	audit->batches += audit->batch.len > 0;
	atomic_store(&audit->is_down, false);
	(void)pthread_mutex_unlock(&audit->lock);
	audit->down_since_ms = 0;
	audit->lost_since = 0;
}

static void note_failure(struct fw_audit *audit, uint64_t count,
			 const struct fw_audit_failure *failure)
{
	if (!audit->down_since_ms)
		audit->down_since_ms = fw_audit_now_ms();
	audit->lost_since += count;
	(void)pthread_mutex_lock(&audit->lock);
	audit->lost += count;
	audit->failure = *failure;
	atomic_store(&audit->is_down, true);
	(void)pthread_mutex_unlock(&audit->lock);
}

static void change_file(struct fw_audit *audit, struct item *item)
{
	struct fw_audit_file *old = audit->file;
	struct fw_audit_failure failure;

	if (audit->is_dirty && audit->options.sync == FW_AUDIT_SYNC_INTERVAL && old->fd >= 0)
		(void)fw_audit_file_sync(old, &failure);
	audit->is_dirty = false;
	audit->file = item->move;
	item->move = old;
}

/* ---- the thread ------------------------------------------------------------- */

static void write_all(struct fw_audit *audit, struct item *first)
{
	do {
		struct fw_audit_failure failure;
		struct item *rest = NULL;
		uint64_t count = 0;

		if (first && first->move) {
			rest = first->next;
			change_file(audit, first);
			free_item(first);
			first = rest;
			/* Whether it can be written shows now, not with its first record. */
			if (first && first->move)
				continue;
		}
		if (write_batch(audit, first, &rest, &count, &failure)) {
			note_success(audit, count);
			tell(audit, first, rest, NULL);
		} else {
			/* What waits behind it would fare no better. */
			for (count = 0, rest = first; rest && !rest->move; rest = rest->next)
				count++;
			note_failure(audit, count, &failure);
			tell(audit, first, rest, &failure);
		}
		first = rest;
	} while (first);
}

static void sync_now_and_then(struct fw_audit *audit)
{
	struct fw_audit_failure failure;

	if (audit->is_dirty && audit->options.sync == FW_AUDIT_SYNC_INTERVAL &&
	    audit->file->fd >= 0 &&
	    clock_ms() - audit->synced_ms >= audit->options.interval_ms &&
	    !sync_batch(audit, &failure))
		note_failure(audit, 0, &failure);
}

/* Milliseconds until something is to be done without being asked; 0: nothing. */
static int64_t patience_ms(const struct fw_audit *audit)
{
	if (audit->down_since_ms)
		return FW_LIMIT_AUDIT_PROBE_MS;
	if (audit->is_dirty && audit->options.sync == FW_AUDIT_SYNC_INTERVAL)
		return audit->options.interval_ms;
	return 0;
}

static void wait_for_work(struct fw_audit *audit)
{
	int64_t patience = patience_ms(audit);
	struct timespec until;
	int timed_out = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += patience / 1000;
	until.tv_nsec += patience % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	while (!audit->first && !audit->is_closing && !timed_out) {
		if (patience)
			timed_out =
				pthread_cond_timedwait(&audit->wanted, &audit->lock, &until);
		else
			(void)pthread_cond_wait(&audit->wanted, &audit->lock);
	}
}

static void destroy(struct fw_audit *audit)
{
	while (audit->first) {
		struct item *next = audit->first->next;

		free_item(audit->first);
		audit->first = next;
	}
	if (audit->file)
		fw_audit_file_clear(audit->file);
	fw__release(audit->file);
	fw_buf_clear(&audit->batch);
	fw_hasher_free(audit->hasher);
	(void)pthread_cond_destroy(&audit->told);
	(void)pthread_cond_destroy(&audit->wanted);
	(void)pthread_mutex_destroy(&audit->lock);
	fw__release(audit);
}

static struct item *take(struct fw_audit *audit)
{
	struct item *first = audit->first;

	audit->first = NULL;
	audit->last = &audit->first;
	audit->waiting = 0;
	audit->waiting_bytes = 0;
	return first;
}

/* Other processes poll for the lock: without a gap they would never get it. */
static void be_polite(const struct fw_audit *audit)
{
	const struct timespec nap = { .tv_nsec = POLITE_NAP_US * 1000L };

	if (audit->file->others)
		(void)nanosleep(&nap, NULL);
}

static void *work(void *arg)
{
	struct fw_audit *audit = arg;
	bool is_last;
	bool is_mine;

	/* The first attempt is without a record: open, look at the end, say what
	 * has to be said. */
	write_all(audit, NULL);
	(void)pthread_mutex_lock(&audit->lock);
	audit->is_tried = true;
	(void)pthread_cond_broadcast(&audit->told);
	do {
		struct item *first;

		wait_for_work(audit);
		first = take(audit);
		is_last = audit->is_closing && !first;
		(void)pthread_mutex_unlock(&audit->lock);
		if (first || (audit->down_since_ms && !is_last)) {
			write_all(audit, first);
			be_polite(audit);
		}
		sync_now_and_then(audit);
		(void)pthread_mutex_lock(&audit->lock);
	} while (!is_last);
	(void)pthread_mutex_unlock(&audit->lock);
	if (audit->is_dirty && audit->options.sync == FW_AUDIT_SYNC_INTERVAL) {
		audit->synced_ms = INT64_MIN / 2;
		sync_now_and_then(audit);
	}
	(void)pthread_mutex_lock(&audit->lock);
	audit->is_over = true;
	is_mine = audit->is_abandoned;
	(void)pthread_cond_broadcast(&audit->told);
	(void)pthread_mutex_unlock(&audit->lock);
	if (is_mine)
		destroy(audit);
	return NULL;
}

/* ---- lifecycle -------------------------------------------------------------- */

static struct fw_audit_file *new_file(const char *path, const struct fw_audit_options *options)
{
	struct fw_audit_file *file = fw__allocate(sizeof *file);

	if (!file || !fw_audit_file_init(file, path)) {
		fw__release(file);
		return NULL;
	}
	if (options->rotate_bytes)
		file->rotate_bytes = options->rotate_bytes;
	if (options->lock_ms)
		file->lock_ms = options->lock_ms;
	file->sync = options->sync != FW_AUDIT_SYNC_OFF;
	return file;
}

/* What more time or more space does not heal. */
static bool is_hopeless(const struct fw_audit_failure *failure)
{
	if (failure->is_lock)
		return false;
	switch (failure->errnum) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case EIO:
	case EINTR:
	case EAGAIN:
	case EMFILE:
	case ENFILE:
	case ENOMEM: return false;
	default: return true;
	}
}

/* The thread gets no signals: they are the program's, and a file that may not
 * grow (SIGXFSZ) is an error like any other. */
static int start_thread(struct fw_audit *audit)
{
	sigset_t all;
	sigset_t before;
	int errnum;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	errnum = pthread_create(&audit->thread, NULL, work, audit);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return errnum;
}

static struct fw_audit *new_audit(const char *path, const struct fw_audit_options *options)
{
	struct fw_audit *audit = fw__allocate(sizeof *audit);
	pthread_condattr_t monotonic;

	if (!audit)
		return NULL;
	*audit = (struct fw_audit){ .last = NULL };
	if (options)
		audit->options = *options;
	if (!audit->options.interval_ms)
		audit->options.interval_ms = FW_LIMIT_AUDIT_INTERVAL_MS;
	audit->last = &audit->first;
	fw_buf_init(&audit->batch,
		    (size_t)FW_LIMIT_AUDIT_BATCH_BYTES + 2 * FW_LIMIT_AUDIT_LINE_BYTES);
	(void)pthread_mutex_init(&audit->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&audit->wanted, &monotonic);
	(void)pthread_cond_init(&audit->told, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	audit->file = new_file(path, &audit->options);
	if (audit->file && (audit->hasher = fw_hasher_new()))
		return audit;
	destroy(audit);
	return NULL;
}

fw_error *fw_audit_open(const char *path, const struct fw_audit_options *options,
			struct fw_audit **ret_audit)
{
	struct fw_audit *audit = new_audit(path, options);
	struct fw_audit_failure failure;
	bool is_refused;
	int errnum;

	if (!audit)
		return fw_raise_internal_out_of_memory();
	errnum = start_thread(audit);
	if (errnum) {
		destroy(audit);
		return fw_error_from_errno(FW_HERE, errnum, "thread of the audit log");
	}
	(void)pthread_mutex_lock(&audit->lock);
	while (!audit->is_tried)
		(void)pthread_cond_wait(&audit->told, &audit->lock);
	failure = audit->failure;
	is_refused = atomic_load(&audit->is_down) && is_hopeless(&failure);
	(void)pthread_mutex_unlock(&audit->lock);
	if (is_refused) {
		(void)fw_audit_close(audit);
		return fw_audit_failure_error(&failure);
	}
	*ret_audit = audit;
	return NULL;
}

bool fw_audit_close(struct fw_audit *audit)
{
	struct timespec until;
	bool is_over;

	if (!audit)
		return true;
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += FW_LIMIT_AUDIT_CLOSE_MS / 1000;
	(void)pthread_mutex_lock(&audit->lock);
	audit->is_closing = true;
	(void)pthread_cond_signal(&audit->wanted);
	while (!audit->is_over &&
	       pthread_cond_timedwait(&audit->told, &audit->lock, &until) == 0)
		;
	is_over = audit->is_over;
	audit->is_abandoned = !is_over;
	(void)pthread_mutex_unlock(&audit->lock);
	if (!is_over) {
		(void)pthread_detach(audit->thread);
		return false;
	}
	(void)pthread_join(audit->thread, NULL);
	destroy(audit);
	return true;
}

/* ---- appending -------------------------------------------------------------- */

static void push(struct fw_audit *audit, struct item *item)
{
	*audit->last = item;
	audit->last = &item->next;
	audit->waiting++;
	audit->waiting_bytes += item->body.len + item->args_len;
	(void)pthread_cond_signal(&audit->wanted);
}

static struct item *new_item(void)
{
	struct item *item = fw__allocate(sizeof *item);

	if (!item)
		return NULL;
	*item = (struct item){ .next = NULL };
	fw_buf_init(&item->body, FW_LIMIT_AUDIT_LINE_BYTES / 2);
	return item;
}

fw_error *fw_audit_move(struct fw_audit *audit, const char *path)
{
	struct item *item = new_item();

	if (!item)
		return fw_raise_internal_out_of_memory();
	item->move = new_file(path, &audit->options);
	if (!item->move) {
		free_item(item);
		return fw_raise_internal_out_of_memory();
	}
	(void)pthread_mutex_lock(&audit->lock);
	push(audit, item);
	(void)pthread_mutex_unlock(&audit->lock);
	return NULL;
}

/* `args` is taken over if it succeeds. */
static fw_error *append(struct fw_audit *audit, const struct fw_audit_record *record,
			char *args, size_t args_len, fw_audit_done *done, void *ctx)
{
	struct item *item = new_item();
	bool is_full;

	if (!item)
		return fw_raise_internal_out_of_memory();
	fw_audit_put_body(&item->body, record);
	if (item->body.state != FW_BUF_OK) {
		free_item(item);
		return fw_raise_internal_out_of_memory();
	}
	item->done = done;
	item->ctx = ctx;
	(void)pthread_mutex_lock(&audit->lock);
	assert(!audit->is_closing);
	is_full = audit->waiting >= FW_LIMIT_AUDIT_QUEUE ||
		  audit->waiting_bytes >= FW_LIMIT_AUDIT_QUEUE_BYTES;
	if (!is_full) {
		item->args = args;
		item->args_len = args_len;
		push(audit, item);
	} else {
		audit->lost++;
	}
	(void)pthread_mutex_unlock(&audit->lock);
	if (!is_full)
		return NULL;
	free_item(item);
	return fw_raise_audit_log_failed("too many records wait for the disk");
}

fw_error *fw_audit_append(struct fw_audit *audit, const struct fw_audit_record *record,
			  fw_audit_done *done, void *ctx)
{
	char *args = NULL;
	fw_error *err;

	if (record->args) {
		args = fw__allocate(record->args_len + 1);
		if (!args)
			return fw_raise_internal_out_of_memory();
		memcpy(args, record->args, record->args_len);
		args[record->args_len] = '\0';
	}
	err = append(audit, record, args, record->args_len, done, ctx);
	if (err)
		fw__release(args);
	return err;
}

struct waiter {
	pthread_mutex_t lock;
	pthread_cond_t told;
	bool is_done;
	fw_error *err;
};

static void wake(void *ctx, fw_error *err)
{
	struct waiter *waiter = ctx;

	(void)pthread_mutex_lock(&waiter->lock);
	waiter->err = err;
	waiter->is_done = true;
	(void)pthread_cond_signal(&waiter->told);
	(void)pthread_mutex_unlock(&waiter->lock);
}

fw_error *fw_audit_append_wait(struct fw_audit *audit, const struct fw_audit_record *record)
{
	struct waiter waiter = { .lock = PTHREAD_MUTEX_INITIALIZER,
				 .told = PTHREAD_COND_INITIALIZER };

	FW_TRY(fw_audit_append(audit, record, wake, &waiter));
	(void)pthread_mutex_lock(&waiter.lock);
	while (!waiter.is_done)
		(void)pthread_cond_wait(&waiter.told, &waiter.lock);
	(void)pthread_mutex_unlock(&waiter.lock);
	return waiter.err;
}

/* ---- health ----------------------------------------------------------------- */

bool fw_audit_is_up(const struct fw_audit *audit)
{
	return !atomic_load(&audit->is_down);
}

void fw_audit_health(struct fw_audit *audit, struct fw_audit_health *ret_health)
{
	(void)pthread_mutex_lock(&audit->lock);
	*ret_health = (struct fw_audit_health){
		.is_up = !atomic_load(&audit->is_down),
		.records = audit->records,
		.lost = audit->lost,
		.batches = audit->batches,
		.syncs = atomic_load(&audit->syncs),
		.waiting = audit->waiting,
	};
	if (!ret_health->is_up) {
		ret_health->failure = fw_errno_name(audit->failure.errnum);
		if (!ret_health->failure)
			ret_health->failure = audit->failure.doing;
	}
	(void)pthread_mutex_unlock(&audit->lock);
}

/* ---- a server --------------------------------------------------------------- */

static fw_error *down_error(struct fw_audit *audit)
{
	struct fw_audit_failure failure;

	(void)pthread_mutex_lock(&audit->lock);
	failure = audit->failure;
	(void)pthread_mutex_unlock(&audit->lock);
	/* Whatever the reason, this is no failure to lock: it is not even tried. */
	failure.is_lock = false;
	return fw_audit_failure_error(&failure);
}

static fw_error *on_admitting(void *ctx, const fw_outcome *coming)
{
	struct fw_audit *audit = ctx;

	if (fw_audit_is_up(audit) || (!coming->changes && !audit->options.guard_reads))
		return NULL;
	return down_error(audit);
}

static void release(void *ctx, fw_error *err)
{
	fw_hold_release(ctx, err);
}

/* The caller is told already that there is no audit. */
static void release_as_told(void *ctx, fw_error *err)
{
	fw_error_free(err);
	fw_hold_release(ctx, NULL);
}

static bool on_replying(void *ctx, const fw_outcome *outcome, fw_hold *hold)
{
	struct fw_audit *audit = ctx;
	struct fw_audit_record record = {
		.event = outcome->error ? FW_AUDIT_FAILURE : FW_AUDIT_CHANGE,
		.error = outcome->error,
		.scope = { .session_id = outcome->session,
			   .client = outcome->client,
			   .trace_id = outcome->trace },
	};
	int code = fw_error_code(outcome->error);
	fw_audit_done *done = release;
	size_t len = 0;
	char *args;
	fw_error *err;

	if (!outcome->error && !outcome->changes)
		return false;
	if (outcome->method && strcmp(outcome->method, "tools/call") == 0)
		record.tool_name = outcome->name;
	else
		record.tool_name = outcome->method;
	if (audit->options.describe)
		audit->options.describe(audit->options.describe_ctx, outcome, &record);
	if (code == FW_AUDIT_LOG_FAILED || code == FW_AUDIT_LOCK_FAILED)
		done = release_as_told;
	args = fw_outcome_arguments(outcome, &len);
	err = append(audit, &record, args, len, done, hold);
	if (err) {
		fw_free(args);
		done(hold, fw_error_code(err) == FW_AUDIT_LOG_FAILED
				   ? err
				   : fw_error_caused_by(
					     fw_raise_audit_log_failed("out of memory"), err));
	}
	return true;
}

fw_observer fw_audit_observer(struct fw_audit *audit)
{
	return (fw_observer){ .admitting = on_admitting,
			      .replying = on_replying,
			      .ctx = audit };
}
