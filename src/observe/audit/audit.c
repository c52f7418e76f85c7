/*
 * audit.c - the queue of records: open, append, move to another file, close.
 * audit_writer.c has the thread that writes them.
 */
#include "observe/audit/audit.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "observe/audit/audit_writer.h"

/* Items that are kept for later records: as many as a batch usually has. */
enum { KEEP_ITEMS = 256, KEEP_BODY_BYTES = 2048 };

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

bool fw_audit_item_keep(struct fw_audit *audit, struct fw_audit_item *item)
{
	if (item->move || item->body.cap > KEEP_BODY_BYTES ||
	    item->args_len > KEEP_BODY_BYTES || audit->spare_count >= KEEP_ITEMS)
		return false;
	item->item.next = audit->spare;
	audit->spare = &item->item;
	audit->spare_count++;
	return true;
}

static void free_items(struct fw_queue_item *item)
{
	while (item) {
		struct fw_queue_item *next = item->next;

		fw_audit_item_free((struct fw_audit_item *)(void *)item);
		item = next;
	}
}

void fw_audit_destroy(void *arg)
{
	struct fw_audit *audit = arg;

	free_items(fw_queue_thread_take(&audit->queue));
	free_items(audit->spare);
	if (audit->writer.file)
		fw_audit_file_clear(audit->writer.file);
	fw__release(audit->writer.file);
	fw__release(audit->heads);
	fw_buf_clear(&audit->writer.batch.lines);
	fw_hasher_free(audit->writer.hasher);
	fw_queue_thread_clear(&audit->queue);
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

	if (!audit)
		return NULL;
	*audit = (struct fw_audit){ .heads = NULL };
	if (options)
		audit->options = *options;
	if (!audit->options.interval_ms)
		audit->options.interval_ms = FW_LIMIT_AUDIT_INTERVAL_MS;
	audit->options.heads = NULL;
	audit->wake_count = 1;
	fw_buf_init(&audit->writer.batch.lines,
		    (size_t)FW_LIMIT_AUDIT_BATCH_BYTES + 2 * FW_LIMIT_AUDIT_LINE_BYTES);
	fw_queue_thread_init(&audit->queue);
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
	errnum = fw_queue_thread_start(&audit->queue, fw_audit_work, fw_audit_destroy, audit);
	if (errnum) {
		fw_audit_destroy(audit);
		return fw_error_wrap(fw_error_from_errno(FW_HERE, errnum, "a thread"), FW_HERE,
				     "could not start the thread of the audit log");
	}
	fw_queue_thread_lock(&audit->queue);
	while (!audit->is_tried)
		fw_queue_thread_await(&audit->queue);
	failure = audit->failure;
	is_refused = atomic_load(&audit->is_down) && fw_audit_is_permanent(&failure);
	fw_queue_thread_unlock(&audit->queue);
	if (is_refused) {
		(void)fw_audit_close(audit);
		return fw_audit_failure_error(&failure);
	}
	*ret_audit = audit;
	return NULL;
}

bool fw_audit_close(struct fw_audit *audit)
{
	if (!audit)
		return true;
	if (!fw_queue_thread_stop(&audit->queue, FW_LIMIT_AUDIT_CLOSE_MS))
		return false;
	fw_audit_destroy(audit);
	return true;
}

/* ---- appending -------------------------------------------------------------- */

/* Locked. True: wake the thread after unlocking. */
static bool push(struct fw_audit *audit, struct fw_audit_item *item)
{
	fw_queue_thread_push(&audit->queue, &item->item);
	audit->queue_bytes += item->body.len + item->args_len;
	return audit->queue.count == audit->wake_count || item->move;
}

static struct fw_audit_item *new_item(struct fw_audit *audit)
{
	struct fw_audit_item *item;
	struct fw_buf body;

	fw_queue_thread_lock(&audit->queue);
	item = (struct fw_audit_item *)(void *)audit->spare;
	if (item) {
		audit->spare = audit->spare->next;
		audit->spare_count--;
	}
	fw_queue_thread_unlock(&audit->queue);
	if (item) {
		fw__release(item->args);
		body = item->body;
		fw_buf_reset(&body, KEEP_BODY_BYTES);
	} else {
		item = fw__allocate(sizeof *item);
		if (!item)
			return NULL;
		fw_buf_init(&body, FW_LIMIT_AUDIT_LINE_BYTES / 2);
	}
	*item = (struct fw_audit_item){ .body = body };
	return item;
}

fw_error *fw_audit_move(struct fw_audit *audit, int dir, const char *path)
{
	struct fw_audit_item *item = new_item(audit);
	bool is_wanted;

	if (!item)
		return fw_raise_internal_out_of_memory();
	item->move = new_file(dir, path, &audit->options);
	if (!item->move) {
		fw_audit_item_free(item);
		return fw_raise_internal_out_of_memory();
	}
	fw_queue_thread_lock(&audit->queue);
	is_wanted = push(audit, item);
	(void)atomic_fetch_add(&audit->moves, 1);
	fw_queue_thread_unlock(&audit->queue);
	if (is_wanted)
		fw_queue_thread_wake(&audit->queue);
	return NULL;
}

fw_error *fw_audit_append_taking(struct fw_audit *audit, const struct fw_audit_record *record,
				 char *args, size_t args_len, fw_audit_done *done, void *ctx)
{
	struct fw_audit_item *item = new_item(audit);
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
	fw_queue_thread_lock(&audit->queue);
	assert(!audit->queue.is_stopping);
	is_full = audit->queue.count >= FW_LIMIT_AUDIT_QUEUE ||
		  audit->queue_bytes >= FW_LIMIT_AUDIT_QUEUE_BYTES;
	if (!is_full) {
		item->args = args;
		item->args_len = args_len;
		is_wanted = push(audit, item);
	} else {
		audit->lost++;
	}
	fw_queue_thread_unlock(&audit->queue);
	if (is_wanted)
		fw_queue_thread_wake(&audit->queue);
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
	pthread_cond_t finished;
	bool is_done;
	fw_error *err;
};

static void wake(void *ctx, fw_error *err)
{
	struct waiter *waiter = ctx;

	(void)pthread_mutex_lock(&waiter->lock);
	waiter->err = err;
	waiter->is_done = true;
	(void)pthread_cond_signal(&waiter->finished);
	(void)pthread_mutex_unlock(&waiter->lock);
}

fw_error *fw_audit_append_wait(struct fw_audit *audit, const struct fw_audit_record *record)
{
	struct waiter waiter = { .lock = PTHREAD_MUTEX_INITIALIZER,
				 .finished = PTHREAD_COND_INITIALIZER };

	FW_TRY(fw_audit_append(audit, record, wake, &waiter));
	(void)pthread_mutex_lock(&waiter.lock);
	while (!waiter.is_done)
		(void)pthread_cond_wait(&waiter.finished, &waiter.lock);
	(void)pthread_mutex_unlock(&waiter.lock);
	return waiter.err;
}

bool fw_audit_admit_unauthenticated(struct fw_audit *audit)
{
	struct fw_audit_omitted *omitted = &audit->omitted;
	int64_t now_ns = fw_steady_ns();
	bool is_admitted, is_first;

	fw_queue_thread_lock(&audit->queue);
	is_admitted = fw_rate_take(&omitted->rate, FW_LIMIT_AUDIT_UNAUTHENTICATED_PER_S,
				   FW_LIMIT_AUDIT_UNAUTHENTICATED, (uint64_t)now_ns);
	is_first = !is_admitted && !omitted->count;
	if (is_first) {
		omitted->since_ms = now_ns / 1000000;
		omitted->since_unix_ms = fw_unix_ms();
	}
	omitted->count += !is_admitted;
	omitted->total += !is_admitted;
	fw_queue_thread_unlock(&audit->queue);
	/* The thread has to write a note later. */
	if (is_first)
		fw_queue_thread_wake(&audit->queue);
	return is_admitted;
}

/* ---- health ----------------------------------------------------------------- */

bool fw_audit_is_up(const struct fw_audit *audit)
{
	return !atomic_load(&audit->is_down);
}

void fw_audit_health(struct fw_audit *audit, struct fw_audit_health *ret_health)
{
	fw_queue_thread_lock(&audit->queue);
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
	fw_queue_thread_unlock(&audit->queue);
}
