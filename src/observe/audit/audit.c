/*
 * audit.c - the queue of records: opening, appending, moving, closing. What is
 * done with them is the thread's, in audit_writer.c.
 */
#include "observe/audit/audit.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "observe/audit/audit_writer.h"

/* ---- lifecycle -------------------------------------------------------------- */

void fw_audit_item_free(struct fw_audit_item *item)
{
	if (item->move)
		fw_audit_file_clear(item->move);
	fw__release(item->move);
	fw_buf_clear(&item->body);
	fw__release(item->args);
	fw__release(item);
}

void fw_audit_destroy(struct fw_audit *audit)
{
	while (audit->queue.first) {
		struct fw_audit_item *next = audit->queue.first->next;

		fw_audit_item_free(audit->queue.first);
		audit->queue.first = next;
	}
	if (audit->writer.file)
		fw_audit_file_clear(audit->writer.file);
	fw__release(audit->writer.file);
	fw__release(audit->heads);
	fw_buf_clear(&audit->writer.batch);
	fw_hasher_free(audit->writer.hasher);
	(void)pthread_cond_destroy(&audit->state);
	(void)pthread_cond_destroy(&audit->work);
	(void)pthread_mutex_destroy(&audit->lock);
	fw__release(audit);
}

static struct fw_audit_file *new_file(int dir, const char *path,
				      const struct fw_audit_options *options)
{
	struct fw_audit_file *file = fw__allocate(sizeof *file);

	if (!file || !fw_audit_file_init(file, dir, path)) {
		fw__release(file);
		return NULL;
	}
	if (options->rotate_bytes)
		file->rotate_bytes = options->rotate_bytes;
	if (options->lock_ms)
		file->lock_ms = options->lock_ms;
	file->sync = options->sync != FW_AUDIT_SYNC_OFF;
	file->heads = options->heads;
	return file;
}

/* What more time or more space does not heal. */
bool fw_audit_is_permanent(const struct fw_audit_failure *failure)
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
	errnum = pthread_create(&audit->thread, NULL, fw_audit_work, audit);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return errnum;
}

static bool copy_heads(struct fw_audit *audit, const struct fw_audit_options *options)
{
	size_t len = options && options->heads ? strlen(options->heads) : 0;

	if (!len)
		return true;
	audit->heads = fw__allocate(len + 1);
	if (!audit->heads)
		return false;
	memcpy(audit->heads, options->heads, len + 1);
	audit->options.heads = audit->heads;
	return true;
}

static struct fw_audit *new_audit(const char *path, const struct fw_audit_options *options)
{
	struct fw_audit *audit = fw__allocate(sizeof *audit);
	pthread_condattr_t monotonic;

	if (!audit)
		return NULL;
	*audit = (struct fw_audit){ .heads = NULL };
	if (options)
		audit->options = *options;
	if (!audit->options.interval_ms)
		audit->options.interval_ms = FW_LIMIT_AUDIT_INTERVAL_MS;
	audit->options.heads = NULL;
	audit->queue.last = &audit->queue.first;
	audit->queue.wake_count = 1;
	fw_buf_init(&audit->writer.batch,
		    (size_t)FW_LIMIT_AUDIT_BATCH_BYTES + 2 * FW_LIMIT_AUDIT_LINE_BYTES);
	(void)pthread_mutex_init(&audit->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&audit->work, &monotonic);
	(void)pthread_cond_init(&audit->state, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	if (!copy_heads(audit, options)) {
		fw_audit_destroy(audit);
		return NULL;
	}
	audit->writer.file = new_file(-1, path, &audit->options);
	if (audit->writer.file && (audit->writer.hasher = fw_hasher_new()))
		return audit;
	fw_audit_destroy(audit);
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
		fw_audit_destroy(audit);
		return fw_error_from_errno(FW_HERE, errnum, "thread of the audit log");
	}
	(void)pthread_mutex_lock(&audit->lock);
	while (!audit->is_tried)
		(void)pthread_cond_wait(&audit->state, &audit->lock);
	failure = audit->failure;
	is_refused = atomic_load(&audit->is_down) && fw_audit_is_permanent(&failure);
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
	(void)pthread_cond_signal(&audit->work);
	while (!audit->is_over &&
	       pthread_cond_timedwait(&audit->state, &audit->lock, &until) == 0)
		;
	is_over = audit->is_over;
	audit->is_abandoned = !is_over;
	(void)pthread_mutex_unlock(&audit->lock);
	if (!is_over) {
		(void)pthread_detach(audit->thread);
		return false;
	}
	(void)pthread_join(audit->thread, NULL);
	fw_audit_destroy(audit);
	return true;
}

/* ---- appending -------------------------------------------------------------- */

/* True: the thread is to be woken, once the lock is free. */
static bool push(struct fw_audit *audit, struct fw_audit_item *item)
{
	*audit->queue.last = item;
	audit->queue.last = &item->next;
	audit->queue.bytes += item->body.len + item->args_len;
	return ++audit->queue.count == audit->queue.wake_count || item->move;
}

static struct fw_audit_item *new_item(void)
{
	struct fw_audit_item *item = fw__allocate(sizeof *item);

	if (!item)
		return NULL;
	*item = (struct fw_audit_item){ .next = NULL };
	fw_buf_init(&item->body, FW_LIMIT_AUDIT_LINE_BYTES / 2);
	return item;
}

fw_error *fw_audit_move(struct fw_audit *audit, int dir, const char *path)
{
	struct fw_audit_item *item = new_item();
	bool is_wanted;

	if (!item)
		return fw_raise_internal_out_of_memory();
	item->move = new_file(dir, path, &audit->options);
	if (!item->move) {
		fw_audit_item_free(item);
		return fw_raise_internal_out_of_memory();
	}
	(void)pthread_mutex_lock(&audit->lock);
	is_wanted = push(audit, item);
	(void)atomic_fetch_add(&audit->moves, 1);
	(void)pthread_mutex_unlock(&audit->lock);
	if (is_wanted)
		(void)pthread_cond_signal(&audit->work);
	return NULL;
}

fw_error *fw_audit_append_taking(struct fw_audit *audit, const struct fw_audit_record *record,
				 char *args, size_t args_len, fw_audit_done *done, void *ctx)
{
	struct fw_audit_item *item = new_item();
	bool is_full;
	bool is_wanted = false;

	if (!item)
		return fw_raise_internal_out_of_memory();
	fw_audit_put_body(&item->body, record);
	if (item->body.state != FW_BUF_OK) {
		fw_audit_item_free(item);
		return fw_raise_internal_out_of_memory();
	}
	item->done = done;
	item->ctx = ctx;
	(void)pthread_mutex_lock(&audit->lock);
	assert(!audit->is_closing);
	is_full = audit->queue.count >= FW_LIMIT_AUDIT_QUEUE ||
		  audit->queue.bytes >= FW_LIMIT_AUDIT_QUEUE_BYTES;
	if (!is_full) {
		item->args = args;
		item->args_len = args_len;
		is_wanted = push(audit, item);
	} else {
		audit->lost++;
	}
	(void)pthread_mutex_unlock(&audit->lock);
	if (is_wanted)
		(void)pthread_cond_signal(&audit->work);
	if (!is_full)
		return NULL;
	fw_audit_item_free(item);
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
	err = fw_audit_append_taking(audit, record, args, record->args_len, done, ctx);
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

bool fw_audit_admit_unauthenticated(struct fw_audit *audit)
{
	struct timespec now = { 0 };
	uint64_t now_ns;
	bool is_taken, is_first;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	(void)pthread_mutex_lock(&audit->lock);
	is_taken = fw_rate_take(&audit->omitted.rate, FW_LIMIT_AUDIT_STRANGERS_PER_S,
				FW_LIMIT_AUDIT_STRANGERS, now_ns);
	is_first = !is_taken && !audit->omitted.count;
	if (is_first) {
		audit->omitted.since_ms = (int64_t)(now_ns / 1000000);
		audit->omitted.since_unix_ms = fw_unix_ms();
	}
	audit->omitted.count += !is_taken;
	audit->omitted.total += !is_taken;
	(void)pthread_mutex_unlock(&audit->lock);
	/* The thread is to write a note when the time has come. */
	if (is_first)
		(void)pthread_cond_signal(&audit->work);
	return is_taken;
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
		.waiting = audit->queue.count,
		.left_out = audit->omitted.total,
	};
	if (!ret_health->is_up) {
		ret_health->failure = fw_errno_name(audit->failure.errnum);
		if (!ret_health->failure)
			ret_health->failure = audit->failure.doing;
	}
	(void)pthread_mutex_unlock(&audit->lock);
}
