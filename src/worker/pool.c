/*
 * pool.c - workers as a runner: so many kept ready, replaced when they die,
 * more of them for a while when others would starve.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <faultwire/raw.h>

#include "base/mem.h"
#include "observe/log/log.h"
#include "worker/impl.h"
#include "worker/sandbox.h"

enum {
	DEFAULT_CPU_S = 60,
	DEFAULT_FILES = 64,
	DEFAULT_CRASHES = 5,
	DEFAULT_PAUSE_MS = 30000,
	LEAST_WORKERS = 2,
	LEFT_OVER_MS = 1000,
	HEARD_BYTES = 64 * 1024
};

static const uint64_t default_bytes = 1024ull * 1024 * 1024;

static uint64_t now_of(const fw_workers *pool)
{
	return uv_now(&pool->base.server->loop);
}

/* ---- the timer ------------------------------------------------------------------------ */

static void on_timer(uv_timer_t *timer);

void fw_pool_watch(fw_workers *pool, uint64_t when_ms)
{
	uint64_t now = now_of(pool);
	uint64_t delay = when_ms > now ? when_ms - now : 0;

	if (!pool->timer)
		return;
	if (uv_is_active((uv_handle_t *)pool->timer) &&
	    uv_timer_get_due_in(pool->timer) <= delay)
		return;
	(void)uv_timer_start(pool->timer, on_timer, delay, 0);
}

/* ---- making ------------------------------------------------------------------------------ */

static struct fw_worker *find_empty(fw_workers *pool)
{
	for (uint32_t i = 0; i < pool->options.most; i++)
		if (pool->workers[i].state == FW_WORKER_NONE)
			return &pool->workers[i];
	return NULL;
}

static void delay_making(fw_workers *pool)
{
	pool->failures++;
	pool->respawn_ms = now_of(pool) + FW_LIMIT_RESPAWN_MS;
	fw_pool_watch(pool, pool->respawn_ms);
}

/* NULL: not now. */
static struct fw_worker *make_one(fw_workers *pool)
{
	struct fw_worker *worker;

	if (!pool->is_running || (pool->failures && now_of(pool) < pool->respawn_ms))
		return NULL;
	worker = find_empty(pool);
	if (!worker)
		return NULL;
	if (fw_worker_make(worker)) {
		if (pool->live > pool->options.count)
			fw_pool_watch(pool, now_of(pool) + LEFT_OVER_MS);
		return worker;
	}
	delay_making(pool);
	return NULL;
}

static void on_control(uv_poll_t *poll, int status, int events);

static fw_error *make_nursery(fw_workers *pool)
{
	const struct fw_nursery_setup setup = { &pool->slots, &pool->options, pool->plan,
						pool->base.server };

	if (!pool->base.server->confine)
		return fw_nursery_start(&pool->nursery, &setup);
	if (!pool->keeper.pid)
		FW_TRY(fw_keeper_start(&pool->keeper, &setup));
	return fw_keeper_make(&pool->keeper, &pool->nursery);
}

static fw_error *start_nursery(fw_workers *pool)
{
	uv_loop_t *loop = &pool->base.server->loop;

	/* The first may be there already: see prepare(). */
	if (!pool->nursery.pid)
		FW_TRY(make_nursery(pool));
	pool->control = fw__allocate(sizeof *pool->control);
	if (!pool->control || uv_poll_init(loop, pool->control, pool->nursery.control) != 0) {
		fw__release(pool->control);
		pool->control = NULL;
		fw_nursery_end(&pool->nursery);
		return fw_raise_internal_out_of_memory();
	}
	pool->control->data = pool;
	(void)uv_poll_start(pool->control, UV_READABLE, on_control);
	return NULL;
}

/* Of one that takes the place of another. */
static void tell_nursery(const fw_workers *pool, const fw_error *err)
{
	if (err)
		fw_log_event(FW_LOG_ERROR, "faultwire", "nursery_not_started",
			     (const fw_field[]){ fw_log_text("reason", fw_error_message(err)) },
			     1);
	else
		fw_log_event(
			FW_LOG_NOTICE, "faultwire", "nursery_restarted",
			(const fw_field[]){ fw_log_number("pid", (uint64_t)pool->nursery.pid) },
			1);
}

/* As many as are to be ready, if they can be had now. */
void fw_pool_settle(fw_workers *pool)
{
	fw_error *err;

	if (!pool->is_running)
		return;
	if (!pool->nursery.pid && now_of(pool) >= pool->respawn_ms) {
		err = start_nursery(pool);
		if (err)
			delay_making(pool);
		tell_nursery(pool, err);
		fw_error_free(err);
	}
	while (pool->nursery.pid && pool->live < pool->options.count && make_one(pool))
		;
	if (pool->live < pool->options.count)
		fw_pool_watch(pool, pool->respawn_ms);
}

/* ---- the nursery speaks ------------------------------------------------------------------ */

static void on_handle_closed(uv_handle_t *handle)
{
	fw__release(handle);
}

static void drop_control(fw_workers *pool)
{
	if (!pool->control)
		return;
	(void)uv_poll_stop(pool->control);
	uv_close((uv_handle_t *)pool->control, on_handle_closed);
	pool->control = NULL;
}

/* It was killed, and its workers die with it. */
static void lost_nursery(fw_workers *pool)
{
	fw_log_event(FW_LOG_WARNING, "faultwire", "nursery_lost",
		     (const fw_field[]){ fw_log_number("pid", (uint64_t)pool->nursery.pid),
					 fw_log_number("workers", pool->live) },
		     2);
	drop_control(pool);
	fw_nursery_end(&pool->nursery);
	/* A moment, lest something that kills them all keeps us busy. */
	pool->respawn_ms = now_of(pool) + FW_LIMIT_DEATH_MS;
	pool->failures++;
	for (uint32_t i = 0; i < pool->options.most; i++)
		fw_worker_buried(&pool->workers[i], SIGKILL, 0);
	fw_pool_watch(pool, pool->respawn_ms);
}

static void take_report(fw_workers *pool, const struct fw_report *report)
{
	struct fw_worker *worker;

	if (report->slot >= pool->options.most)
		return;
	worker = &pool->workers[report->slot];
	if (worker->generation != report->generation)
		return;
	if (report->kind == FW_REPORT_UNABLE) {
		fw_error_free(worker->unable);
		worker->unable = fw_error_from_errno(FW_HERE, report->status, "fork");
	}
	worker->was_killed = report->kind == FW_REPORT_KILLED;
	fw_worker_buried(worker, report->kind == FW_REPORT_UNABLE ? 0 : report->status,
			 report->pid);
}

static void on_control(uv_poll_t *poll, int status, int events)
{
	fw_workers *pool = poll->data;
	struct fw_report report;

	(void)status;
	(void)events;
	while (pool->control == poll) {
		ssize_t got = recv(pool->nursery.control, &report, sizeof report, MSG_DONTWAIT);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got != sizeof report) {
			lost_nursery(pool);
			return;
		}
		take_report(pool, &report);
	}
}

/* ---- calls -------------------------------------------------------------------------------- */

/* One that is still starting is worth waiting for only if no other is up: those
 * that are will be free sooner. `ret_wait`: that is so. */
static struct fw_worker *find_free(fw_workers *pool, bool *ret_wait)
{
	struct fw_worker *starting = NULL;
	bool is_any_up = false;

	*ret_wait = false;
	for (uint32_t i = 0; i < pool->options.most; i++) {
		struct fw_worker *worker = &pool->workers[i];

		is_any_up = is_any_up || (worker->state == FW_WORKER_BUSY && worker->is_up);
		if (worker->state != FW_WORKER_FREE)
			continue;
		if (worker->is_up)
			return worker;
		if (!starting)
			starting = worker;
	}
	*ret_wait = starting && is_any_up;
	return *ret_wait ? NULL : starting;
}

static struct fw_worker *find_call(fw_workers *pool, const fw_call *call)
{
	for (uint32_t i = 0; i < pool->options.most; i++)
		if (pool->workers[i].call == call)
			return &pool->workers[i];
	return NULL;
}

/* No worker is there, and none can be made. Told by the timer: the queue, which
 * asks, is not to be walked from within. */
static void refuse(fw_workers *pool, fw_call *call)
{
	call->runner = &pool->base;
	call->wait.next = pool->refused;
	pool->refused = call;
	fw_pool_watch(pool, now_of(pool));
}

static bool give(fw_workers *pool, fw_call *call, uint32_t limit)
{
	for (;;) {
		bool is_to_wait;
		struct fw_worker *worker = find_free(pool, &is_to_wait);

		if (!worker && !is_to_wait && pool->live < limit)
			worker = make_one(pool);
		if (!worker)
			return false;
		if (fw_worker_send(worker, call))
			return true;
	}
}

bool fw_pool_pass_on(fw_workers *pool, fw_call *call)
{
	return pool->is_running && give(pool, call, pool->options.count);
}

static bool take(struct fw_runner *runner, fw_call *call, bool beyond)
{
	fw_workers *pool = (fw_workers *)runner;
	uint32_t limit = beyond ? pool->options.most : pool->options.count;

	if (!pool->is_running)
		return false;
	if (give(pool, call, limit))
		return true;
	if (pool->live)
		return false;
	refuse(pool, call);
	return true;
}

static void abandon(struct fw_runner *runner, fw_call *call)
{
	fw_workers *pool = (fw_workers *)runner;
	struct fw_worker *worker = find_call(pool, call);

	if (!worker || worker->state == FW_WORKER_DYING)
		return;
	atomic_store(&fw_seat_at(&pool->slots, worker->slot)->cancelled, 1);
	if (call->is_late) {
		fw_worker_kill(worker);
		return;
	}
	worker->kill_ms = now_of(pool) + FW_LIMIT_CANCEL_GRACE_MS;
	fw_pool_watch(pool, worker->kill_ms);
}

/* Those that were added when others would have starved are not kept for long. */
static void retire_spare(fw_workers *pool)
{
	uint32_t stay = pool->live;

	for (uint32_t i = 0; i < pool->options.most; i++)
		stay -= pool->workers[i].state == FW_WORKER_DYING;
	for (uint32_t i = pool->options.most; i-- > 0 && stay > pool->options.count;) {
		struct fw_worker *worker = &pool->workers[i];

		if (worker->state != FW_WORKER_FREE || !worker->is_up)
			continue;
		fw_worker_retire(worker);
		stay--;
	}
}

static void tell_refused(fw_workers *pool)
{
	fw_call *call = pool->refused;

	pool->refused = NULL;
	while (call) {
		fw_call *next = call->wait.next;
		fw_error *err = fw_raise_server_overloaded(0, "workers that can be started");

		fw_error_set_retry_after(err, FW_LIMIT_RESPAWN_MS / 1000.0);
		fw_call_complete(call, err);
		call = next;
	}
}

static void on_timer(uv_timer_t *timer)
{
	fw_workers *pool = timer->data;
	uint64_t now = now_of(pool);
	uint64_t next = 0;
	uint64_t ear_ms;

	for (uint32_t i = 0; i < pool->options.most; i++) {
		struct fw_worker *worker = &pool->workers[i];

		if (worker->kill_ms && worker->kill_ms <= now)
			fw_worker_kill(worker);
		if (worker->kill_ms && (!next || worker->kill_ms < next))
			next = worker->kill_ms;
		if (worker->owed_ms && worker->owed_ms <= now)
			fw_worker_pay(worker, now);
		if (worker->owed_ms && (!next || worker->owed_ms < next))
			next = worker->owed_ms;
		ear_ms = fw_ear_tick(worker, now);
		if (ear_ms && (!next || ear_ms < next))
			next = ear_ms;
	}
	tell_refused(pool);
	fw_pool_settle(pool);
	retire_spare(pool);
	if (pool->live > pool->options.count && (!next || next > now + LEFT_OVER_MS))
		next = now + LEFT_OVER_MS;
	if (next)
		fw_pool_watch(pool, next);
}

/* ---- its life ------------------------------------------------------------------------------- */

static fw_error *map_slots(fw_workers *pool)
{
	struct fw_seats *slots = &pool->slots;
	int error;

	if (slots->pages)
		return NULL;
	slots->stride = (size_t)sysconf(_SC_PAGESIZE);
	slots->count = pool->options.most;
	/* Anonymous memory has no file. */
	slots->pages = mmap(NULL, slots->stride * slots->count, PROT_READ | PROT_WRITE,
			    /* cppcheck-suppress invalidFunctionArg */
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (slots->pages != MAP_FAILED)
		return NULL;
	error = errno;
	slots->pages = NULL;
	return fw_error_from_errno(FW_HERE, error, "memory shared with workers");
}

static fw_error *prepare(struct fw_runner *runner)
{
	fw_workers *pool = (fw_workers *)runner;

	if (pool->nursery.pid)
		return NULL;
	if (!pool->plan)
		FW_TRY(fw_sandbox_prepare(&pool->options, &pool->plan));
	FW_TRY(map_slots(pool));
	return make_nursery(pool);
}

static fw_error *start(struct fw_runner *runner)
{
	fw_workers *pool = (fw_workers *)runner;

	if (!pool->plan)
		FW_TRY(fw_sandbox_prepare(&pool->options, &pool->plan));
	FW_TRY(map_slots(pool));
	pool->has_ears = fw_log_is_on();
	/* The limits are what they are from now on. */
	for (uint32_t i = 0; i < pool->options.most; i++)
		pool->workers[i].in.max =
			fw_frame_bytes_max(runner->server) + (size_t)FW_LIMIT_ENVELOPE_BYTES;
	pool->timer = fw__allocate(sizeof *pool->timer);
	if (!pool->timer)
		return fw_raise_internal_out_of_memory();
	(void)uv_timer_init(&runner->server->loop, pool->timer);
	pool->timer->data = pool;
	FW_TRY(start_nursery(pool));
	pool->is_running = true;
	fw_pool_settle(pool);
	return NULL;
}

/* Every call has been answered by now; their runs end with their workers. */
static void close_pool(struct fw_runner *runner)
{
	fw_workers *pool = (fw_workers *)runner;

	pool->is_running = false;
	drop_control(pool);
	fw_nursery_end(&pool->nursery);
	fw_keeper_end(&pool->keeper);
	for (uint32_t i = 0; i < pool->options.most; i++)
		fw_worker_buried(&pool->workers[i], SIGKILL, 0);
	tell_refused(pool);
	if (pool->timer)
		uv_close((uv_handle_t *)pool->timer, on_handle_closed);
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
	fw_workers *pool = (fw_workers *)runner;

	/* Those of a server that never ran. */
	fw_nursery_end(&pool->nursery);
	fw_keeper_end(&pool->keeper);
	if (pool->slots.pages)
		(void)munmap(pool->slots.pages, pool->slots.stride * pool->slots.count);
	fw_sandbox_plan_free(pool->plan);
	free_list(pool->options.readable);
	free_list(pool->options.writable);
	free_list(pool->options.environment);
	fw_buf_clear(&pool->scratch);
	fw__release(pool->workers);
	fw__release(pool);
}

static bool is_ready(const struct fw_runner *runner, char *text, size_t size)
{
	const fw_workers *pool = (const fw_workers *)runner;
	const struct fw_sandbox_report *report;

	if (size)
		text[0] = '\0';
	if (!pool->is_running)
		return false;
	report = fw_sandbox_plan_report(pool->plan);
	if (!report->is_complete)
		(void)snprintf(text, size, "sandbox: %s", report->missing);
	return pool->nursery.pid && !pool->failures;
}

static void count(const struct fw_runner *runner, size_t *processes, size_t *busy,
		  uint64_t *started)
{
	const fw_workers *pool = (const fw_workers *)runner;

	*processes += pool->live;
	*started += pool->generation;
	for (uint32_t i = 0; pool->workers && i < pool->options.most; i++)
		*busy += pool->workers[i].state == FW_WORKER_BUSY;
}

struct fw_runner *fw_workers__runner(fw_workers *workers)
{
	return &workers->base;
}

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

static bool copy_options(fw_workers *pool, const fw_workers_options *options)
{
	fw_workers_options *to = &pool->options;
	bool is_copied;

	*to = *options;
	is_copied = copy_list(&to->readable);
	is_copied = copy_list(&to->writable) && is_copied;
	is_copied = copy_list(&to->environment) && is_copied;
	if (!to->count)
		to->count = (uint32_t)uv_available_parallelism();
	if (!options->count && to->count < LEAST_WORKERS)
		to->count = LEAST_WORKERS;
	if (!to->most)
		to->most = 4 * to->count < FW_LIMIT_WORKERS ? 4 * to->count : FW_LIMIT_WORKERS;
	if (!to->memory_bytes)
		to->memory_bytes = default_bytes;
	if (!to->file_bytes)
		to->file_bytes = default_bytes;
	if (!to->files)
		to->files = DEFAULT_FILES;
	if (!to->cpu_s)
		to->cpu_s = DEFAULT_CPU_S;
	if (!to->breaker_crashes)
		to->breaker_crashes = DEFAULT_CRASHES;
	if (!to->breaker_ms)
		to->breaker_ms = DEFAULT_PAUSE_MS;
	return is_copied;
}

static fw_error *pool_new(const fw_workers_options *options, fw_workers **ret_pool)
{
	static const struct fw_runner_ops ops = { .prepare = prepare,
						  .start = start,
						  .take = take,
						  .abandon = abandon,
						  .close = close_pool,
						  .free = free_pool,
						  .is_ready = is_ready,
						  .count = count };
	fw_workers *pool = fw__allocate(sizeof *pool);

	if (!pool)
		return fw_raise_internal_out_of_memory();
	memset(pool, 0, sizeof *pool);
	pool->base.ops = &ops;
	pool->nursery.control = -1;
	/* A request is what a message was read into. */
	fw_buf_init(&pool->scratch, SIZE_MAX / 2);
	*ret_pool = pool;
	if (!copy_options(pool, options))
		return fw_raise_internal_out_of_memory();
	pool->workers = fw__allocate(pool->options.most * sizeof *pool->workers);
	if (!pool->workers)
		return fw_raise_internal_out_of_memory();
	memset(pool->workers, 0, pool->options.most * sizeof *pool->workers);
	for (uint32_t i = 0; i < pool->options.most; i++) {
		pool->workers[i].pool = pool;
		pool->workers[i].slot = i;
		fw_buf_init(&pool->workers[i].in, 0);
		fw_buf_init(&pool->workers[i].out, SIZE_MAX / 2);
		fw_buf_init(&pool->workers[i].heard, HEARD_BYTES);
		fw_buf_init(&pool->workers[i].end, HEARD_BYTES);
	}
	return NULL;
}

fw_error *fw_server_add_workers(fw_server *server, const fw_workers_options *options,
				fw_workers **ret_workers)
{
	fw_workers *pool = NULL;
	fw_error *err;

	if (!server || !options || !ret_workers)
		return fw_raise_internal_api_misuse("fw_server_add_workers", "NULL argument");
	if (server->state != FW_IDLE)
		return fw_raise_internal_api_misuse("fw_server_add_workers",
						    "the server runs already");
	if (options->count > FW_LIMIT_WORKERS || options->most > FW_LIMIT_WORKERS ||
	    (options->most && options->most < options->count))
		return fw_raise_internal_api_misuse("fw_server_add_workers",
						    "count is at most most, and most 256");
	err = pool_new(options, &pool);
	if (!err)
		err = fw_runner_attach(&pool->base, server);
	if (err) {
		if (pool)
			free_pool(&pool->base);
		return err;
	}
	*ret_workers = pool;
	return NULL;
}
