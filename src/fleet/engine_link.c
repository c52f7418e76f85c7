/*
 * engine_link.c - see engine_link.h.
 *
 * A command is written once per turn of the loop, before the loop waits, so that all commands of
 * a turn are one system call and the first is not delayed by a round through epoll.
 */
#include "fleet/engine_link.h"

#include <string.h>

#include "base/limits_fleet.h"
#include "base/mem.h"

static void on_closed(uv_handle_t *handle)
{
	struct fw_engine_link *link = handle->data;

	if (--link->open == 0)
		fw__release(link);
}

static void on_poll(uv_poll_t *poll, int status, int events);

static void watch(struct fw_engine_link *link, int events)
{
	link->events = events;
	if (events)
		(void)uv_poll_start(&link->poll, events, on_poll);
	else
		(void)uv_poll_stop(&link->poll);
}

/* A reply that is still incomplete at this size is not one that we asked for. */
static void check_size(struct fw_engine_link *link)
{
	if (link->engine && link->context->c.reader->len > FW_LIMIT_FLEET_REPLY_BYTES)
		fw_engine__lose(link->engine, "a reply is too large");
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct fw_engine_link *link = poll->data;

	/* hiredis finds the error of the socket itself. */
	if (status != 0) {
		if (link->engine)
			redisAsyncHandleWrite(link->context);
		if (link->engine)
			fw_engine__lose(link->engine, uv_strerror(status));
		return;
	}
	if (link->engine && (events & UV_READABLE))
		redisAsyncHandleRead(link->context);
	check_size(link);
	if (link->engine && (events & UV_WRITABLE))
		redisAsyncHandleWrite(link->context);
}

static void on_flush(uv_prepare_t *flush)
{
	struct fw_engine_link *link = flush->data;

	(void)uv_prepare_stop(flush);
	if (!link->engine)
		return;
	link->is_flushing = true;
	redisAsyncHandleWrite(link->context);
	link->is_flushing = false;
}

static void add_read(void *data)
{
	struct fw_engine_link *link = data;

	if (!(link->events & UV_READABLE))
		watch(link, link->events | UV_READABLE);
}

static void delete_read(void *data)
{
	struct fw_engine_link *link = data;

	watch(link, link->events & ~UV_READABLE);
}

/* Once connected, commands are written before the loop waits; until then the socket is polled. */
static void add_write(void *data)
{
	struct fw_engine_link *link = data;
	bool is_connected = link->context && (link->context->c.flags & REDIS_CONNECTED);

	if (is_connected && !link->is_flushing && !(link->events & UV_WRITABLE))
		(void)uv_prepare_start(&link->flush, on_flush);
	else if (!(link->events & UV_WRITABLE))
		watch(link, link->events | UV_WRITABLE);
}

static void delete_write(void *data)
{
	struct fw_engine_link *link = data;

	if (link->events & UV_WRITABLE)
		watch(link, link->events & ~UV_WRITABLE);
}

static void clean_up(void *data)
{
	struct fw_engine_link *link = data;

	if (link->engine && link->context)
		fw_engine__ended(link->context);
	link->engine = NULL;
	link->context = NULL;
	uv_close((uv_handle_t *)&link->poll, on_closed);
	uv_close((uv_handle_t *)&link->flush, on_closed);
}

/* ---- replies that nobody waits for ----------------------------------------------------------- */

/*
 * hiredis ends the process by an assertion when a reply comes that nobody waits for, so such a
 * reply must not be made: without it hiredis closes the connection. Arrays have a limit.
 */
#if HIREDIS_MAJOR < 1
typedef int element_count;
#else
typedef size_t element_count;
#endif

static const redisReplyObjectFunctions *guarded(const redisReadTask *task)
{
	struct fw_engine_link *link = task->privdata;

	if (task->parent || (link->context && link->context->replies.head))
		return link->plain;
	link->has_stray = true;
	return NULL;
}

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
	const redisReplyObjectFunctions *plain = guarded(task);

	return plain ? plain->createString(task, text, len) : NULL;
}

static void *make_array(const redisReadTask *task, element_count count)
{
	const redisReplyObjectFunctions *plain = guarded(task);
	struct fw_engine_link *link = task->privdata;

	/* hiredis allocates them all before the first one is read. */
	link->elements = (task->parent ? link->elements : 0) + (uint64_t)count;
	if (plain && link->elements <= FW_LIMIT_FLEET_REPLY_ELEMENTS)
		return plain->createArray(task, count);
	link->has_stray = true;
	return NULL;
}

static void *make_integer(const redisReadTask *task, long long number)
{
	const redisReplyObjectFunctions *plain = guarded(task);

	return plain ? plain->createInteger(task, number) : NULL;
}

static void *make_nil(const redisReadTask *task)
{
	const redisReplyObjectFunctions *plain = guarded(task);

	return plain ? plain->createNil(task) : NULL;
}

static void guard_replies(struct fw_engine_link *link)
{
	redisReader *reader = link->context->c.reader;

	link->plain = reader->fn;
	link->guard = *reader->fn;
	link->guard.createString = make_string;
	link->guard.createArray = make_array;
	link->guard.createInteger = make_integer;
	link->guard.createNil = make_nil;
	reader->fn = &link->guard;
	reader->privdata = link;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct fw_engine_link *fw_engine_link_new(struct fw_engine *engine, uv_loop_t *loop,
					  redisAsyncContext *context)
{
	struct fw_engine_link *link = fw__allocate(sizeof *link);

	if (!link)
		return NULL;
	memset(link, 0, sizeof *link);
	if (uv_poll_init(loop, &link->poll, context->c.fd) != 0) {
		fw__release(link);
		return NULL;
	}
	(void)uv_prepare_init(loop, &link->flush);
	link->poll.data = link;
	link->flush.data = link;
	link->open = 2;
	link->engine = engine;
	link->context = context;
	guard_replies(link);
	/* The connection does not keep the loop running. */
	uv_unref((uv_handle_t *)&link->poll);
	uv_unref((uv_handle_t *)&link->flush);
	context->data = engine;
	context->ev.data = link;
	context->ev.addRead = add_read;
	context->ev.delRead = delete_read;
	context->ev.addWrite = add_write;
	context->ev.delWrite = delete_write;
	context->ev.cleanup = clean_up;
	return link;
}
