/*
 * engine.c - the states of an engine, and its commands; see engine.h. engine_link.c has the socket.
 */
#include "fleet/engine.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/id.h"
#include "base/mem.h"
#include "fleet/engine_link.h"
#include "observe/log/log.h"
#include "policy/backoff.h"

enum state { DOWN, RESOLVING, CONNECTING, GREETING, UP };

struct lookup {
	uv_getaddrinfo_t request; /* must be first */
	struct fw_engine *engine; /* NULL: nobody waits for it */
};

struct fw_engine {
	struct fw_engine_options options;
	struct fw_engine_url url;
	size_t place; /* of the URL's, that is used or tried next */
	enum state state;
	struct fw_engine_link *link;  /* NULL: none */
	struct lookup *lookup;        /* NULL: none */
	uv_timer_t *timer;            /* the next attempt, or the time limit */
	struct fw_engine_call *first; /* oldest first */
	struct fw_engine_call *last;
	size_t greetings; /* replies of the greeting that are missing */
	unsigned attempts;
	uint64_t failures;
	bool is_reported; /* logged as down */
	bool is_closing;
};

static void look_up(struct fw_engine *engine);
static void on_timer(uv_timer_t *timer);

static const struct fw_engine_place *place_of(const struct fw_engine *engine)
{
	return &engine->url.places[engine->place];
}

static void arm(struct fw_engine *engine, uint64_t ms)
{
	(void)uv_timer_start(engine->timer, on_timer, ms, 0);
}

/* ---- up and down --------------------------------------------------------------------------- */

static void report_down(struct fw_engine *engine, const char *why)
{
	const fw_field fields[] = { fw_log_text("engine", place_of(engine)->name),
				    fw_log_text("why", why) };

	if (engine->is_reported || engine->is_closing || engine->options.is_quiet)
		return;
	engine->is_reported = true;
	fw_log_event(FW_LOG_ERROR, "faultwire", "fleet_engine_lost", fields, 2);
}

static void report_up(struct fw_engine *engine)
{
	const fw_field fields[] = { fw_log_text("engine", place_of(engine)->name),
				    fw_log_number("failures", engine->failures) };

	engine->is_reported = false;
	if (engine->options.is_quiet)
		return;
	fw_log_event(FW_LOG_INFO, "faultwire", "fleet_engine_found", fields, 2);
}

/* Ends the connection, whatever state it is in. The text is copied first, because hiredis
 * frees it. */
void fw_engine__lose(struct fw_engine *engine, const char *why)
{
	struct fw_engine_link *link = engine->link;
	redisAsyncContext *context = link ? link->context : NULL;
	bool was_up = engine->state == UP;
	unsigned char random[2];
	char text[160];
	double wait_s;

	if (engine->state == DOWN)
		return;
	(void)snprintf(text, sizeof text, "%s", why);
	engine->state = DOWN;
	engine->link = NULL;
	engine->failures++;
	engine->attempts++;
	if (link)
		link->engine = NULL;
	report_down(engine, text);
	engine->place = (engine->place + 1) % engine->url.place_count;
	if (!engine->is_closing) {
		fw_random(random, sizeof random);
		wait_s = fw_backoff(engine->attempts, 0.05, FW_ENGINE_RETRY_MS / 1000.0,
				    (random[0] * 256 + random[1]) / 65536.0);
		arm(engine, (uint64_t)(wait_s * 1000) + 10);
	}
	if (was_up && engine->options.changed)
		engine->options.changed(engine->options.ctx, false);
	/* Completes the commands that were sent, without a reply. */
	if (context)
		redisAsyncFree(context);
}

/* hiredis ends the connection by itself: it runs the callbacks of what was sent, closes the
 * handles and frees the context. The first of these to come calls this. */
void fw_engine__ended(const redisAsyncContext *context)
{
	struct fw_engine *engine = context->data;
	const char *why = context->errstr && context->errstr[0] ? context->errstr
								: "the connection ended";

	if (!engine || !engine->link || engine->link->context != context)
		return;
	engine->link->context = NULL;
	fw_engine__lose(engine, engine->link->has_stray
					? "a reply that cannot be one to our requests"
					: why);
}

static void come_up(struct fw_engine *engine)
{
	engine->state = UP;
	engine->attempts = 0;
	(void)uv_timer_stop(engine->timer);
	report_up(engine);
	if (engine->options.changed)
		engine->options.changed(engine->options.ctx, true);
}

/* ---- greeting ------------------------------------------------------------------------------- */

static bool is_text(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS;
}

/* Only the primary accepts writes. If the user may not run ROLE, the reply is an error, and the
 * role is not checked. */
static void on_role(redisAsyncContext *context, void *data, void *ctx)
{
	struct fw_engine *engine = context->data;
	const redisReply *reply = data;
	const redisReply *role = fw_engine_reply_element(reply, 0);

	(void)ctx;
	if (!reply)
		fw_engine__ended(context);
	if (!reply || engine->state != GREETING)
		return;
	if (role && role->type == REDIS_REPLY_STRING && strcmp(role->str, "master") != 0)
		fw_engine__lose(engine, "it is not the primary");
	else if (--engine->greetings == 0)
		come_up(engine);
}

static void on_greeted(redisAsyncContext *context, void *data, void *ctx)
{
	struct fw_engine *engine = context->data;
	const redisReply *reply = data;
	struct fw_engine_script *script = ctx;

	if (!reply)
		fw_engine__ended(context);
	if (!reply || engine->state != GREETING)
		return;
	if (reply->type == REDIS_REPLY_ERROR) {
		fw_engine__lose(engine, reply->str);
		return;
	}
	if (script && is_text(reply) && reply->len == sizeof script->digest - 1)
		memcpy(script->digest, reply->str, sizeof script->digest);
	if (--engine->greetings == 0)
		come_up(engine);
}

static bool greet_with(struct fw_engine *engine, struct fw_engine_script *script,
		       const char **words, int count)
{
	engine->greetings++;
	return redisAsyncCommandArgv(engine->link->context, on_greeted, script, count, words,
				     NULL) == REDIS_OK;
}

static void greet(struct fw_engine *engine)
{
	const struct fw_engine_url *url = &engine->url;
	const char *login[3] = { "AUTH", url->user, url->password };
	char db[16];
	bool is_sent = true;

	engine->state = GREETING;
	engine->greetings = 0;
	(void)snprintf(db, sizeof db, "%u", url->db);
	if (url->password[0] && url->user[0])
		is_sent = greet_with(engine, NULL, login, 3);
	else if (url->password[0])
		is_sent =
			greet_with(engine, NULL, (const char *[]){ "AUTH", url->password }, 2);
	if (is_sent)
		is_sent = greet_with(engine, NULL, (const char *[]){ "SELECT", db }, 2);
	if (is_sent && url->place_count > 1) {
		engine->greetings++;
		is_sent = redisAsyncCommandArgv(engine->link->context, on_role, NULL, 1,
						(const char *[]){ "ROLE" }, NULL) == REDIS_OK;
	}
	for (size_t i = 0; is_sent && i < engine->options.script_count; i++) {
		struct fw_engine_script *script = &engine->options.scripts[i];

		script->digest[0] = '\0';
		is_sent = greet_with(engine, script,
				     (const char *[]){ "SCRIPT", "LOAD", script->text }, 3);
	}
	if (!is_sent)
		fw_engine__lose(engine, "out of memory");
}

static void on_connect(const redisAsyncContext *context, int status)
{
	struct fw_engine *engine = context->data;

	if (status != REDIS_OK)
		fw_engine__ended(context);
	else if (engine && engine->link && engine->link->context == context)
		greet(engine);
}

/* ---- connecting ------------------------------------------------------------------------------ */

static void connect_to(struct fw_engine *engine, const char *address)
{
	redisAsyncContext *context = redisAsyncConnect(address, place_of(engine)->port);

	engine->state = CONNECTING;
	if (context && !context->err)
		engine->link = fw_engine_link_new(engine, &engine->options.loop->uv, context);
	if (!engine->link) {
		fw_engine__lose(engine,
				context && context->err ? context->errstr : "out of memory");
		if (context)
			redisAsyncFree(context);
		return;
	}
	(void)redisAsyncSetConnectCallback(context, on_connect);
	arm(engine, FW_ENGINE_CONNECT_MS);
}

static void on_looked_up(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
	struct lookup *lookup = (struct lookup *)(void *)request;
	struct fw_engine *engine = lookup->engine;
	char address[INET6_ADDRSTRLEN] = "";

	if (status == 0 && found->ai_family == AF_INET)
		(void)uv_ip4_name((const struct sockaddr_in *)(const void *)found->ai_addr,
				  address, sizeof address);
	else if (status == 0 && found->ai_family == AF_INET6)
		(void)uv_ip6_name((const struct sockaddr_in6 *)(const void *)found->ai_addr,
				  address, sizeof address);
	uv_freeaddrinfo(found);
	fw__release(lookup);
	if (!engine)
		return;
	engine->lookup = NULL;
	if (engine->state != RESOLVING)
		return;
	if (address[0])
		connect_to(engine, address);
	else
		fw_engine__lose(engine,
				status ? uv_strerror(status) : "the host has no address");
}

static void look_up(struct fw_engine *engine)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct lookup *lookup;
	int status;

	engine->state = RESOLVING;
	/* The previous lookup has not finished. */
	if (engine->lookup) {
		fw_engine__lose(engine, "the host is still being looked up");
		return;
	}
	lookup = fw__allocate(sizeof *lookup);
	if (!lookup) {
		fw_engine__lose(engine, "out of memory");
		return;
	}
	lookup->engine = engine;
	arm(engine, FW_ENGINE_CONNECT_MS);
	status = uv_getaddrinfo(&engine->options.loop->uv, &lookup->request, on_looked_up,
				place_of(engine)->host, NULL, &hints);
	if (status == 0) {
		engine->lookup = lookup;
		return;
	}
	fw__release(lookup);
	fw_engine__lose(engine, uv_strerror(status));
}

/* The oldest command is not answered in time. If this process was held up itself, the
 * answer may be there: look before giving up. */
static void check_wait(struct fw_engine *engine)
{
	const uv_loop_t *loop = &engine->options.loop->uv;
	uint64_t age;

	if (engine->first && uv_now(loop) - engine->first->sent_ms >= engine->options.wait_ms)
		redisAsyncHandleRead(engine->link->context);
	if (engine->state != UP || !engine->first)
		return;
	age = uv_now(loop) - engine->first->sent_ms;
	if (age >= engine->options.wait_ms)
		fw_engine__lose(engine, "no reply within the time limit");
	else
		arm(engine, engine->options.wait_ms - age);
}

static void on_timer(uv_timer_t *timer)
{
	struct fw_engine *engine = timer->data;

	if (engine->state == DOWN)
		look_up(engine);
	else if (engine->state == UP)
		check_wait(engine);
	else
		fw_engine__lose(engine, "no connection within the time limit");
}

/* ---- commands -------------------------------------------------------------------------------- */

static void take_off(struct fw_engine *engine, struct fw_engine_call *call)
{
	struct fw_engine_call **at = &engine->first;

	/* Replies come in order, so it is nearly always the first. */
	while (*at && *at != call)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = call->next;
	if (engine->last == call) {
		engine->last = NULL;
		for (struct fw_engine_call *c = engine->first; c; c = c->next)
			engine->last = c;
	}
}

static bool is_lost_script(const redisReply *reply)
{
	return reply && reply->type == REDIS_REPLY_ERROR &&
	       strncmp(reply->str, "NOSCRIPT", 8) == 0;
}

static void on_reply(redisAsyncContext *context, void *data, void *ctx)
{
	struct fw_engine_call *call = ctx;
	const redisReply *reply = data;
	bool is_unknown = call->script && is_lost_script(reply);
	/* The primary has become a replica of another one. */
	bool is_demoted = reply && reply->type == REDIS_REPLY_ERROR &&
			  strncmp(reply->str, "READONLY", 8) == 0;
	struct fw_engine *engine = call->engine;

	/* Mark the engine as down before the callback runs, so that the callback sends nothing. */
	if (!reply)
		fw_engine__ended(context);
	take_off(call->engine, call);
	/* The text is sent from now on, which loads the script again. */
	if (is_unknown)
		call->script->digest[0] = '\0';
	call->done(call, is_demoted ? NULL : reply, is_unknown);
	if (is_demoted)
		fw_engine__lose(engine, "it is not the primary any more");
}

static bool send_words(struct fw_engine *engine, struct fw_engine_call *call,
		       const struct fw_engine_word *words, size_t count)
{
	const char *texts[FW_ENGINE_WORDS];
	size_t lens[FW_ENGINE_WORDS];

	if (engine->state != UP || engine->is_closing || count > FW_ENGINE_WORDS)
		return false;
	for (size_t i = 0; i < count; i++) {
		texts[i] = words[i].text;
		lens[i] = words[i].len;
	}
	if (redisAsyncCommandArgv(engine->link->context, call ? on_reply : NULL, call,
				  (int)count, texts, lens) != REDIS_OK)
		return false;
	if (!call)
		return true;
	call->engine = engine;
	call->next = NULL;
	call->sent_ms = uv_now(&engine->options.loop->uv);
	if (engine->last)
		engine->last->next = call;
	else
		engine->first = call;
	engine->last = call;
	if (!uv_is_active((uv_handle_t *)engine->timer))
		arm(engine, engine->options.wait_ms);
	return true;
}

bool fw_engine_send(struct fw_engine *engine, struct fw_engine_call *call,
		    const struct fw_engine_word *words, size_t count)
{
	if (call)
		call->script = NULL;
	return send_words(engine, call, words, count);
}

bool fw_engine_run(struct fw_engine *engine, struct fw_engine_call *call,
		   struct fw_engine_script *script, size_t key_count,
		   const struct fw_engine_word *words, size_t count)
{
	struct fw_engine_word all[FW_ENGINE_WORDS];
	bool is_loaded = script->digest[0];
	char keys[8];
	int len = snprintf(keys, sizeof keys, "%zu", key_count);

	if (count + 3 > FW_ENGINE_WORDS)
		return false;
	all[0] = is_loaded ? (struct fw_engine_word){ "EVALSHA", 7 }
			   : (struct fw_engine_word){ "EVAL", 4 };
	all[1].text = is_loaded ? script->digest : script->text;
	all[1].len = strlen(all[1].text);
	all[2] = (struct fw_engine_word){ keys, (size_t)len };
	memcpy(all + 3, words, count * sizeof *words);
	call->script = script;
	return send_words(engine, call, all, count + 3);
}

/* ---- replies --------------------------------------------------------------------------------- */

const redisReply *fw_engine_reply_element(const redisReply *reply, size_t index)
{
	if (!reply || reply->type != REDIS_REPLY_ARRAY || index >= reply->elements)
		return NULL;
	return reply->element[index];
}

bool fw_engine_reply_number(const redisReply *reply, size_t index, int64_t *ret_number)
{
	const redisReply *found = fw_engine_reply_element(reply, index);

	if (!found || found->type != REDIS_REPLY_INTEGER)
		return false;
	*ret_number = found->integer;
	return true;
}

bool fw_engine_reply_is_number(const redisReply *reply, int64_t *ret_number)
{
	if (!reply || reply->type != REDIS_REPLY_INTEGER)
		return false;
	*ret_number = reply->integer;
	return true;
}

/* ---- life ------------------------------------------------------------------------------------ */

bool fw_engine_is_up(const struct fw_engine *engine)
{
	return engine->state == UP && !engine->is_closing;
}

bool fw_engine_is_busy(const struct fw_engine *engine)
{
	return engine->first != NULL;
}

void fw_engine_keep(struct fw_engine *engine, bool keeps)
{
	/* The timer is active while a reply is awaited. */
	if (keeps)
		uv_ref((uv_handle_t *)engine->timer);
	else
		uv_unref((uv_handle_t *)engine->timer);
}

uint64_t fw_engine_failures(const struct fw_engine *engine)
{
	return engine->failures;
}

fw_error *fw_engine_new(const struct fw_engine_options *options, struct fw_engine **ret_engine)
{
	struct fw_engine *engine;

	FW_TRY(fw_hiredis_load());
	engine = fw__allocate(sizeof *engine);
	if (!engine)
		return fw_raise_internal_out_of_memory();
	memset(engine, 0, sizeof *engine);
	engine->timer = fw__allocate(sizeof *engine->timer);
	if (!engine->timer) {
		fw__release(engine);
		return fw_raise_internal_out_of_memory();
	}
	engine->options = *options;
	engine->url = *options->url;
	engine->options.url = &engine->url;
	(void)uv_timer_init(&options->loop->uv, engine->timer);
	engine->timer->data = engine;
	uv_unref((uv_handle_t *)engine->timer);
	look_up(engine);
	*ret_engine = engine;
	return NULL;
}

static void on_timer_closed(uv_handle_t *handle)
{
	fw__release(handle);
}

void fw_engine_free(struct fw_engine *engine)
{
	if (!engine)
		return;
	engine->is_closing = true;
	fw_engine__lose(engine, "it is closed");
	if (engine->lookup)
		engine->lookup->engine = NULL;
	uv_close((uv_handle_t *)engine->timer, on_timer_closed);
	explicit_bzero(&engine->url, sizeof engine->url);
	fw__release(engine);
}
