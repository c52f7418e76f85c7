/*
 * ask.h - questions that a handler asks the client (elicitation, sampling,
 * roots), and their answers.
 */
#ifndef FW_MCP_ASK_H
#define FW_MCP_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <yyjson.h>

#include <faultwire/call.h>

#include "base/text.h"

struct fw_session;

struct fw_question {
	char key[64];
	char *method; /* NULL: not asked in this run */
	char *params;
	char *answer; /* JSON text; NULL: not known */
	size_t answer_len;
	yyjson_doc *parsed;
	/* It was asked and has not been answered: by a legacy client, or by the server. */
	bool is_sent;
	bool is_host;    /* the server answers it */
	bool is_refused; /* legacy, relayed: the answer is an error object */
};

/* Keys of questions that the server answers. No client can answer them. */
#define FW_ASK_HOST "host:"

struct fw_answering {
	const char *method;
	fw_answerer *answer;
	void *ctx;
};

enum { FW_ANSWERERS = 8 };

/* Who answers the questions that no client is asked (ask_host.c). */
struct fw_answerers {
	struct fw_answering items[FW_ANSWERERS];
	size_t count;
};

/* The questions of one call. */
struct fw_questions {
	struct fw_question *items;
	size_t count;
	size_t outstanding;
	unsigned round;
	char *missing_capability; /* of the client; NULL: none */
};

/* NULL: there is none with this key. */
const struct fw_question *fw_ask_find(const fw_call *call, const char *key);
/* The answer as JSON text; NULL: not known yet. */
const char *fw_ask_answered(const fw_call *call, const char *key);
/* Reads the answers that a modern client sends with its request. */
fw_error *fw_ask_read(fw_call *call);
/* Whether a question has to be answered before the call can continue. */
bool fw_ask_is_open(const fw_call *call);
fw_error *fw_ask_send(fw_call *call);
/* A legacy client answers question `id`; `message` is the call that has its answer. */
void fw_ask_answer(struct fw_session *session, uint64_t id, const fw_call *message);
/* Asks the client on behalf of the relay, on the stream of `call` (NULL: outside of a call); the
 * answer goes to the relay with `asker`. False: no memory, or it is not possible. */
bool fw_ask_session(struct fw_session *session, fw_call *call, const char *method,
		    const char *params, size_t params_len, void *asker);
/* The answer to that question is not wanted any more: the client gets notifications/cancelled on
 * the stream of `call`. */
void fw_ask_withdraw(fw_call *call, const void *asker, const char *reason);
/* This session is not asked anything any more. */
void fw_ask_end(struct fw_session *session);
/* No answer is awaited any more. */
void fw_ask_forget(fw_call *call);
void fw_ask_clear(fw_call *call);
/* An answer from an earlier round. */
void fw_ask_restore(fw_call *call, struct fw_text key, yyjson_val *answer);
/* Raises input.too_large, internal.unexpected (it is not JSON),
 * internal.out_of_memory. */
fw_error *fw_ask_set_text(const fw_call *call, struct fw_question *question, const char *json,
			  size_t len);
bool fw_ask_is_host_key(struct fw_text key);
/* NULL: no answerer has this method. */
const struct fw_answering *fw_ask_answering(const fw_call *call, const char *method);
/* Asks the server the questions that are not answered yet. False: there is no such
 * question. */
bool fw_ask_send_host(fw_call *call);
void fw_ask_restore_text(fw_call *call, const char *key, const char *json, size_t len);

#endif
