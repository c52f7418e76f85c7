/*
 * engine_fake.h - for unit tests of this folder: an engine whose replies the test decides.
 * The linker puts these functions in the place of those of engine.c (see meson.build).
 *
 * The one rule to remember: commands are answered in the order in which they were sent.
 */
#ifndef FW_FLEET_ENGINE_FAKE_H
#define FW_FLEET_ENGINE_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "fleet/engine.h"
#include "fleet/hiredis.h"
#include "test/memory.h"

enum { FAKE_COMMANDS = 256, FAKE_TEXT = 1024 };

struct fw_engine {
	bool is_up;
};

static struct {
	struct fw_engine first, second; /* of commands; of news */
	bool is_full;                   /* it takes no command */
	size_t sent, answered;
	struct {
		struct fw_engine_call *call; /* NULL: nobody waits for the reply */
		char text[FAKE_TEXT];        /* the words, without the script */
	} commands[FAKE_COMMANDS];
} fake_engine;

static inline void fake_engine_begin(void)
{
	memset(&fake_engine, 0, sizeof fake_engine);
	fake_engine.first.is_up = true;
	fake_engine.second.is_up = true;
}

/* The next command that was sent; "": there is none. */
static inline const char *fake_engine_next(void)
{
	return fake_engine.answered < fake_engine.sent
		       ? fake_engine.commands[fake_engine.answered].text
		       : "";
}

static inline void fake_engine_reply(const redisReply *reply, bool is_unknown)
{
	struct fw_engine_call *call;

	assert_true(fake_engine.answered < fake_engine.sent);
	call = fake_engine.commands[fake_engine.answered++].call;
	if (call)
		call->done(call, reply, is_unknown);
}

/* Answers it. NULL: the connection has ended. */
static inline void fake_engine_answer(const redisReply *reply)
{
	fake_engine_reply(reply, false);
}

/* With an error; `is_unknown`: the script is not known to the engine. */
static inline void fake_engine_fail(bool is_unknown)
{
	char why[] = "ERR";
	const redisReply reply = { .type = REDIS_REPLY_ERROR, .str = why, .len = 3 };

	fake_engine_reply(&reply, is_unknown);
}

/* A reply as JSON: text, whole numbers, null and arrays of them. */
static inline void fake_engine_make(yyjson_val *value, redisReply *ret_reply)
{
	yyjson_val *item;
	size_t at, count;

	*ret_reply = (redisReply){ .type = REDIS_REPLY_NIL };
	if (yyjson_is_int(value)) {
		ret_reply->type = REDIS_REPLY_INTEGER;
		ret_reply->integer = yyjson_get_sint(value);
	} else if (yyjson_is_str(value)) {
		ret_reply->type = REDIS_REPLY_STRING;
		ret_reply->len = yyjson_get_len(value);
		ret_reply->str = calloc(1, ret_reply->len + 1);
		assert_non_null(ret_reply->str);
		memcpy(ret_reply->str, yyjson_get_str(value), ret_reply->len);
	} else if (yyjson_is_arr(value)) {
		ret_reply->type = REDIS_REPLY_ARRAY;
		ret_reply->element = calloc(yyjson_arr_size(value) + 1, sizeof(redisReply *));
		yyjson_arr_foreach(value, at, count, item)
		{
			redisReply *element = calloc(1, sizeof *element);

			assert_non_null(element);
			fake_engine_make(item, element);
			ret_reply->element[ret_reply->elements++] = element;
		}
	}
}

static inline void fake_engine_drop(redisReply *reply)
{
	for (size_t i = 0; i < reply->elements; i++) {
		fake_engine_drop(reply->element[i]);
		free(reply->element[i]);
	}
	free(reply->element);
	free(reply->str);
}

static inline void fake_engine_json(const char *json)
{
	size_t fail_at = test_memory.fail_at;
	yyjson_doc *doc;
	redisReply reply;

	/* The engine has memory. */
	test_memory.fail_at = 0;
	doc = fw_json_read(json, strlen(json), FW_JSON_SMALL, 0, NULL, NULL);
	assert_non_null(doc);
	fake_engine_make(yyjson_doc_get_root(doc), &reply);
	yyjson_doc_free(doc);
	test_memory.fail_at = fail_at;
	fake_engine_answer(&reply);
	fake_engine_drop(&reply);
}

/* All connections end. */
static inline void fake_engine_lose(void)
{
	fake_engine.first.is_up = false;
	fake_engine.second.is_up = false;
	while (fake_engine.answered < fake_engine.sent)
		fake_engine_answer(NULL);
}

/* ---- in the place of engine.c ------------------------------------------------------------ */

static inline bool fake_engine_take(struct fw_engine *engine, struct fw_engine_call *call,
				    const struct fw_engine_word *words, size_t count)
{
	char *text = fake_engine.commands[fake_engine.sent].text;
	size_t used = 0;

	if (!engine->is_up || fake_engine.is_full || test_memory_refuses())
		return false;
	assert_true(fake_engine.sent + 1 < FAKE_COMMANDS);
	for (size_t i = 0; i < count && used < FAKE_TEXT; i++)
		used += (size_t)snprintf(text + used, FAKE_TEXT - used, "%s%.*s", i ? " " : "",
					 (int)words[i].len, words[i].text);
	fake_engine.commands[fake_engine.sent++].call = call;
	return true;
}

fw_error *__wrap_fw_engine_new(const struct fw_engine_options *options,
			       struct fw_engine **ret_engine);
fw_error *__wrap_fw_engine_new(const struct fw_engine_options *options,
			       struct fw_engine **ret_engine)
{
	(void)options;
	if (test_memory_refuses())
		return fw_raise_internal_out_of_memory();
	*ret_engine = &fake_engine.second;
	return NULL;
}

void __wrap_fw_engine_free(struct fw_engine *engine);
void __wrap_fw_engine_free(struct fw_engine *engine)
{
	(void)engine;
	fake_engine_lose();
}

bool __wrap_fw_engine_is_up(const struct fw_engine *engine);
bool __wrap_fw_engine_is_up(const struct fw_engine *engine)
{
	return engine->is_up;
}

bool __wrap_fw_engine_send(struct fw_engine *engine, struct fw_engine_call *call,
			   const struct fw_engine_word *words, size_t count);
bool __wrap_fw_engine_send(struct fw_engine *engine, struct fw_engine_call *call,
			   const struct fw_engine_word *words, size_t count)
{
	return fake_engine_take(engine, call, words, count);
}

bool __wrap_fw_engine_run(struct fw_engine *engine, struct fw_engine_call *call,
			  struct fw_engine_script *script, size_t key_count,
			  const struct fw_engine_word *words, size_t count);
bool __wrap_fw_engine_run(struct fw_engine *engine, struct fw_engine_call *call,
			  struct fw_engine_script *script, size_t key_count,
			  const struct fw_engine_word *words, size_t count)
{
	(void)key_count;
	call->script = script;
	return fake_engine_take(engine, call, words, count);
}

#endif
