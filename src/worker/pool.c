/*
 * pool.c - a pool of workers from its creation to its end, as a runner; see pool.h.
 */
#include <faultwire/raise.h>

#include "worker/pool.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "core/options.h"
#include "observe/log/log.h"
#include "worker/frame.h"

enum {
	DEFAULT_CPU_S = 60,
	DEFAULT_FILES = 64,
	DEFAULT_CRASHES = 5,
	DEFAULT_PAUSE_MS = 30000,
	LEAST_WORKERS = 2,
};

static const uint64_t default_bytes = 1024ull * 1024 * 1024;

/* ---- start and stop ------------------------------------------------------------------------ */

static fw_error *prepare_memory(struct fw_worker_pool *pool)
{
	if (!pool->plan)
		FW_TRY(fw_sandbox_prepare(&pool->options, &pool->plan));
	return fw_worker_pages_map(&pool->pages, pool->options.most);
}

static fw_error *prepare(struct fw_runner *runner)
{
	struct fw_worker_pool *pool = (struct fw_worker_pool *)runner;

	if (pool->forkserver.pid)
		return NULL;
	FW_TRY(prepare_memory(pool));
	return fw_worker_pool_make_forkserver(pool);
}

static fw_error *start(struct fw_runner *runner)
{
	struct fw_worker_pool *pool = (struct fw_worker_pool *)runner;

	FW_TRY(prepare_memory(pool));
	pool->has_log = fw_log_is_on();
	/* The limits do not change any more. */
	for (uint32_t i = 0; i < pool->options.most; i++)
		pool->workers[i].in.max = fw_worker_frame_bytes_max(runner->server) +
					  (size_t)FW_LIMIT_ENVELOPE_BYTES;
	pool->timer = fw__allocate(sizeof *pool->timer);
	if (!pool->timer)
		return fw_raise_internal_out_of_memory();
	(void)uv_timer_init(fw_worker_pool_loop(pool), pool->timer);
	pool->timer->data = pool;
	FW_TRY(fw_worker_pool_start_forkserver(pool));
	pool->is_running = true;
	fw_worker_pool_refill(pool);
	return NULL;
}

static void on_timer_closed(uv_handle_t *handle)
{
	fw__release(handle);
}

/* All calls have been answered by now; their runs end with their workers. */
static void close_pool(struct fw_runner *runner)
{
	static const struct fw_worker_exit killed = { .status = SIGKILL };
	struct fw_worker_pool *pool = (struct fw_worker_pool *)runner;

	pool->is_running = false;
	fw_worker_pool_close_control(pool);
	fw_worker_forkserver_end(&pool->forkserver);
	fw_worker_keeper_end(&pool->keeper);
	for (uint32_t i = 0; i < pool->options.most; i++)
		fw_worker_ended(&pool->workers[i], &killed);
	fw_worker_pool_answer_refused(pool);
	if (pool->timer)
		uv_close((uv_handle_t *)pool->timer, on_timer_closed);
	pool->timer = NULL;
}

static void free_list(const char *const *list)
{
	for (size_t i = 0; list && list[i]; i++)
		fw__release((char *)list[i]);
	fw__release((void *)list);
}

static void free_pool(struct fw_runner *runner)
{
	struct fw_worker_pool *pool = (struct fw_worker_pool *)runner;

	/* Both are still there if the server was prepared but never ran. */
	fw_worker_forkserver_end(&pool->forkserver);
	fw_worker_keeper_end(&pool->keeper);
	fw_worker_pages_unmap(&pool->pages);
	fw_sandbox_plan_free(pool->plan);
	free_list(pool->options.readable);
	free_list(pool->options.writable);
	free_list(pool->options.environment);
	fw_buf_clear(&pool->scratch);
	fw__release(pool->workers);
	fw__release(pool);
}

/* ---- what it reports ------------------------------------------------------------------------- */

static bool is_ready(const struct fw_runner *runner, char *text, size_t size)
{
	const struct fw_worker_pool *pool = (const struct fw_worker_pool *)runner;
	const struct fw_sandbox_report *report;

	if (size)
		text[0] = '\0';
	if (!pool->is_running)
		return false;
	report = fw_sandbox_plan_report(pool->plan);
	if (pool->keeper.is_lost)
		(void)snprintf(text, size, "workers: cannot be started; restart the server");
	else if (!report->is_complete)
		(void)snprintf(text, size, "sandbox: %s", report->missing);
	return pool->forkserver.pid && !pool->failures;
}

static void count(const struct fw_runner *runner, size_t *processes, size_t *busy,
		  uint64_t *started)
{
	const struct fw_worker_pool *pool = (const struct fw_worker_pool *)runner;

	*processes += pool->live;
	*started += pool->generation;
	for (uint32_t i = 0; pool->workers && i < pool->options.most; i++)
		*busy += pool->workers[i].state == FW_WORKER_BUSY ||
			 pool->workers[i].state == FW_WORKER_ASSIGNED;
}

/* ---- creation ---------------------------------------------------------------------------------- */

static bool copy_list(const char *const **list)
{
	const char *const *from = *list;
	size_t count = 0;
	char **copy;

	*list = NULL;
	if (!from)
		return true;
	while (from[count])
		count++;
	copy = fw__allocate((count + 1) * sizeof *copy);
	if (!copy)
		return false;
	memset(copy, 0, (count + 1) * sizeof *copy);
	*list = (const char *const *)copy;
	for (size_t i = 0; i < count; i++)
		if (!(copy[i] = fw_strdup(from[i])))
			return false;
	return true;
}

static void set_defaults(fw_workers_options *options)
{
	if (!options->count) {
		options->count = (uint32_t)uv_available_parallelism();
		if (options->count < LEAST_WORKERS)
			options->count = LEAST_WORKERS;
	}
	if (!options->most)
		options->most = 4 * options->count < FW_LIMIT_WORKERS ? 4 * options->count
								      : FW_LIMIT_WORKERS;
	if (!options->memory_bytes)
		options->memory_bytes = default_bytes;
	if (!options->file_bytes)
		options->file_bytes = default_bytes;
	if (!options->files)
		options->files = DEFAULT_FILES;
	if (!options->cpu_s)
		options->cpu_s = DEFAULT_CPU_S;
	if (!options->breaker_crashes)
		options->breaker_crashes = DEFAULT_CRASHES;
	if (!options->breaker_ms)
		options->breaker_ms = DEFAULT_PAUSE_MS;
}

static bool copy_options(struct fw_worker_pool *pool, const fw_workers_options *options)
{
	fw_workers_options *to = &pool->options;
	bool is_copied;

	*to = *options;
	/* All three, so that free_pool() finds no list of the caller's. */
	is_copied = copy_list(&to->readable);
	is_copied = copy_list(&to->writable) && is_copied;
	is_copied = copy_list(&to->environment) && is_copied;
	set_defaults(to);
	return is_copied;
}

static fw_error *make_slots(struct fw_worker_pool *pool)
{
	pool->workers = fw__allocate(pool->options.most * sizeof *pool->workers);
	if (!pool->workers)
		return fw_raise_internal_out_of_memory();
	memset(pool->workers, 0, pool->options.most * sizeof *pool->workers);
	for (uint32_t i = 0; i < pool->options.most; i++) {
		pool->workers[i].pool = pool;
		pool->workers[i].slot = i;
		fw_buf_init(&pool->workers[i].in, 0);
		fw_buf_init(&pool->workers[i].out, SIZE_MAX / 2);
		fw_worker_output_init(&pool->workers[i].output);
	}
	return NULL;
}

static fw_error *pool_new(const fw_workers_options *options, struct fw_worker_pool **ret_pool)
{
	static const struct fw_runner_ops ops = { .prepare = prepare,
						  .start = start,
						  .take = fw_worker_pool_take,
						  .abandon = fw_worker_pool_abandon,
						  .close = close_pool,
						  .free = free_pool,
						  .is_ready = is_ready,
						  .count = count };
	struct fw_worker_pool *pool = fw__allocate(sizeof *pool);

	if (!pool)
		return fw_raise_internal_out_of_memory();
	memset(pool, 0, sizeof *pool);
	pool->base.runner.ops = &ops;
	pool->forkserver.control = -1;
	/* A request is bounded by the message that it was read from. */
	fw_buf_init(&pool->scratch, SIZE_MAX / 2);
	*ret_pool = pool;
	if (!copy_options(pool, options))
		return fw_raise_internal_out_of_memory();
	return make_slots(pool);
}

fw_error *fw_server_add_workers(fw_server *server, const fw_workers_options *options,
				fw_workers **ret_workers)
{
	fw_workers_options known = FW_WORKERS_INIT;
	struct fw_worker_pool *pool = NULL;
	fw_error *err;

	if (!server || !options || !ret_workers)
		return fw_raise_internal_api_misuse("fw_server_add_workers", "NULL argument");
	FW_TRY(fw_options_read("fw_server_add_workers", options, &known, sizeof(known)));
	if (server->state != FW_IDLE)
		return fw_raise_internal_api_misuse("fw_server_add_workers",
						    "the server runs already");
	if (known.count > FW_LIMIT_WORKERS || known.most > FW_LIMIT_WORKERS ||
	    (known.most && known.most < known.count))
		return fw_raise_internal_api_misuse("fw_server_add_workers",
						    "count is at most most, and most 256");
	err = pool_new(&known, &pool);
	if (!err)
		err = fw_runner_attach(&pool->base.runner, server);
	if (err) {
		if (pool)
			free_pool(&pool->base.runner);
		return err;
	}
	*ret_workers = &pool->base;
	return NULL;
}
