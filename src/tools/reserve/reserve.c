/*
 * reserve.c - see reserve.h: the thread of the store, and jobs for it.
 */
#include "tools/reserve/reserve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/reserve/reserve_impl.h"

#include <faultwire/raise.h>

/* ---- jobs -------------------------------------------------------------------------- */

struct fw_reserve_job *fw_reserve_job_new(struct fw_reserve *reserve, fw_call *target)
{
	struct fw_reserve_job *job = fw__allocate(sizeof *job);

	if (!job)
		return NULL;
	memset(job, 0, sizeof *job);
	job->reserve = reserve;
	job->target = target;
	job->request.root = reserve->root;
	job->request.patterns = job->texts;
	fw_buf_init(&job->out, FW_LIMIT_JSON_BYTES);
	return job;
}

void fw_reserve_job_free(struct fw_reserve_job *job)
{
	yyjson_doc_free(job->doc);
	fw_buf_clear(&job->out);
	fw__release(job);
}

static void unlist(struct fw_reserve_job *job)
{
	if (job->previous)
		job->previous->next = job->next;
	else
		job->reserve->jobs = job->next;
	if (job->next)
		job->next->previous = job->previous;
}

/* Delivers the result to the waiting call. Consumes `err`. */
static void deliver(const struct fw_reserve_job *job, fw_error *err)
{
	if (!err && job->out.state != FW_BUF_OK)
		err = fw_raise_internal_out_of_memory();
	if (job->key[0]) {
		fw_call_supply(job->target, job->key, job->out.text, job->out.len, err);
		return;
	}
	if (!err)
		fw_call_structured(job->target, job->out.text, job->out.len);
	fw_call_finish(job->target, err);
}

static fw_error *work(struct fw_store_call *call, struct fw_store *store)
{
	struct fw_reserve_job *job = (struct fw_reserve_job *)(void *)call;

	return job->work(job, store);
}

static void done(struct fw_store_call *call, fw_error *err, bool is_over)
{
	struct fw_reserve_job *job = (struct fw_reserve_job *)(void *)call;

	(void)is_over;
	if (job->target) {
		unlist(job);
		deliver(job, err);
	} else {
		fw_error_free(err);
	}
	fw_reserve_job_free(job);
}

/* With the first job: threads may start by then. */
static fw_error *open_store(struct fw_reserve *reserve)
{
	struct fw_store *store;

	if (reserve->queue)
		return NULL;
	if (!reserve->book)
		reserve->book = fw_reserve_book_new(NULL);
	if (!reserve->book)
		return fw_raise_internal_out_of_memory();
	FW_TRY(fw_store_open(reserve->store, NULL, &store));
	return fw_store_queue_new(store, reserve->loop, &reserve->queue);
}

fw_error *fw_reserve_job_submit(struct fw_reserve_job *job)
{
	struct fw_reserve *reserve = job->reserve;
	fw_error *err = open_store(reserve);

	job->call.work = work;
	job->call.done = done;
	job->request.agent = job->agent[0] ? job->agent : NULL;
	if (!err)
		err = fw_store_queue_submit(reserve->queue, &job->call);
	if (err) {
		fw_reserve_job_free(job);
		return err;
	}
	job->next = reserve->jobs;
	if (job->next)
		job->next->previous = job;
	reserve->jobs = job;
	return NULL;
}

void fw_reserve_job_take_texts(struct fw_reserve_job *job, yyjson_val *list)
{
	yyjson_arr_iter iter;

	if (!yyjson_arr_iter_init(list, &iter))
		return;
	for (yyjson_val *text;
	     job->request.count < FW_RESERVE_PATTERNS && (text = yyjson_arr_iter_next(&iter));)
		if (yyjson_get_str(text))
			job->texts[job->request.count++] = yyjson_get_str(text);
}

/* ---- who calls ------------------------------------------------------------------------ */

/* The token of --token-file is shared by all clients: it identifies none of them. */
static const char *token_of(const fw_call *call)
{
	const fw_principal *who = fw_call_principal(call);
	const char *name = fw_principal_name(who);

	return fw_principal_proof(who) == FW_PROOF_TOKEN && strcmp(name, "token") != 0 ? name
										       : NULL;
}

fw_error *fw_reserve_job_identify(struct fw_reserve_job *job)
{
	const char *token = token_of(job->target);
	const char *declared = fw_call_string(job->target, "agent_id", NULL);
	const char *agent = token ? token : declared ? declared : job->reserve->agent;

	if (token && declared && strcmp(token, declared) != 0)
		return fw_raise_input_invalid_value("agent_id",
						    "omitted: the token says who calls");
	if (agent && strlen(agent) > FW_RESERVE_AGENT_BYTES)
		return fw_raise_input_invalid_value("agent_id", "at most 128 bytes");
	(void)snprintf(job->agent, sizeof job->agent, "%s", agent ? agent : "");
	return NULL;
}

/* ---- writes ----------------------------------------------------------------------------- */

fw_error *fw_reserve_job_check(struct fw_reserve_job *job, struct fw_store *store,
			       bool shows_wait)
{
	struct fw_reserve_conflicts conflicts;
	fw_error *err;

	fw_reserve_conflicts_init(&conflicts);
	err = fw_reserve_check(job->reserve->book, store, &job->request, &conflicts);
	if (!err) {
		FW_BUF(&job->out, "{\"count\":");
		fw_buf_i64(&job->out, (int64_t)conflicts.count);
		if (shows_wait) {
			FW_BUF(&job->out, ",\"wait_ms\":");
			fw_buf_i64(&job->out, conflicts.wait_ms);
		}
		FW_BUF(&job->out, ",\"conflicts\":");
		fw_buf_put(&job->out, conflicts.json.text, conflicts.json.len);
		FW_BUF(&job->out, "}");
	}
	fw_reserve_conflicts_clear(&conflicts);
	return err;
}

static fw_error *check_write(struct fw_reserve_job *job, struct fw_store *store)
{
	return fw_reserve_job_check(job, store, true);
}

static fw_error *read_question(struct fw_reserve_job *job, const char *key, const char *params)
{
	yyjson_val *all;

	job->doc = params ? fw_json_read(params, strlen(params), FW_JSON_SMALL, 0, NULL, NULL)
			  : NULL;
	all = yyjson_doc_get_root(job->doc);
	job->request.root = yyjson_get_str(fw_json_member(all, "root"));
	fw_reserve_job_take_texts(job, fw_json_member(all, "paths"));
	if (!job->request.root || !job->request.count)
		return fw_raise_internal_unexpected("a question about reservations");
	(void)snprintf(job->key, sizeof job->key, "%s", key);
	job->request.is_exclusive = true;
	job->request.is_paths = true;
	job->work = check_write;
	return fw_reserve_job_identify(job);
}

static void answer(fw_call *call, const char *key, const char *params, void *ctx)
{
	struct fw_reserve_job *job = fw_reserve_job_new(ctx, call);
	fw_error *err =
		job ? read_question(job, key, params) : fw_raise_internal_out_of_memory();

	if (!err)
		err = fw_reserve_job_submit(job);
	else if (job)
		fw_reserve_job_free(job);
	if (err)
		fw_call_supply(call, key, NULL, 0, err);
}

fw_error *fw_reserve_answer_writes(struct fw_reserve *reserve)
{
	return fw_server_add_answerer(reserve->server, FW_RESERVE_QUESTION, answer, reserve);
}

fw_error *fw_reserve_read_answer(const char *json)
{
	yyjson_doc *doc = fw_json_read(json, strlen(json), FW_JSON_SMALL, 0, NULL, NULL);
	yyjson_val *all = yyjson_doc_get_root(doc);
	struct fw_reserve_conflicts conflicts = {
		.count = (size_t)yyjson_get_uint(fw_json_member(all, "count")),
		.wait_ms = yyjson_get_sint(fw_json_member(all, "wait_ms"))
	};
	fw_error *err;

	fw_buf_init(&conflicts.json, FW_LIMIT_JSON_BYTES);
	if (fw_json_member(all, "conflicts"))
		fw_buf_value(&conflicts.json, fw_json_member(all, "conflicts"));
	err = yyjson_is_obj(all) ? fw_reserve_raise(&conflicts)
				 : fw_raise_internal_unexpected("an answer about reservations");
	fw_reserve_conflicts_clear(&conflicts);
	yyjson_doc_free(doc);
	return err;
}

/* ---- lifecycle -------------------------------------------------------------------------- */

static char *copy(const char *text)
{
	size_t len = strlen(text) + 1;
	char *to = fw__allocate(len);

	return to ? memcpy(to, text, len) : NULL;
}

static const char *root_option(const struct fw_toolset_host *host)
{
	const char *root = host->value_of(host, "reserve-root");

	if (!root)
		root = host->value_of(host, "workspace");
	return root ? root : ".";
}

static fw_error *set_up(struct fw_reserve *reserve, const struct fw_toolset_host *host)
{
	const char *agent = host->value_of(host, "agent-id");
	char root[PATH_MAX];

	if (agent && (!agent[0] || strlen(agent) > FW_RESERVE_AGENT_BYTES ||
		      fw_utf8_valid(agent, strlen(agent)) != strlen(agent)))
		return fw_raise_cli_usage("--agent-id takes a name of 1 to 128 bytes");
	/* Only the tools need it; a workspace that does not exist is reported as such. */
	if (!realpath(root_option(host), root)) {
		reserve->root_errno = errno;
		(void)snprintf(root, sizeof root, "%s", root_option(host));
	}
	reserve->server = host->server;
	reserve->loop = host->loop;
	reserve->store = copy(host->store);
	reserve->root = copy(strcmp(root, "/") == 0 ? "" : root);
	reserve->agent = agent ? copy(agent) : NULL;
	if (!reserve->store || !reserve->root || (agent && !reserve->agent))
		return fw_raise_internal_out_of_memory();
	return NULL;
}

fw_error *fw_reserve_get(const struct fw_toolset_host *host, struct fw_reserve **ret_reserve)
{
	struct fw_reserve *reserve = *host->reservations;
	fw_error *err;

	*ret_reserve = NULL;
	if (!host->store)
		return NULL;
	if (!reserve) {
		reserve = fw__allocate(sizeof *reserve);
		if (!reserve)
			return fw_raise_internal_out_of_memory();
		memset(reserve, 0, sizeof *reserve);
		err = set_up(reserve, host);
		if (err) {
			fw_reserve_unref(reserve);
			return err;
		}
		reserve->slot = host->reservations;
		*host->reservations = reserve;
	}
	reserve->refs++;
	*ret_reserve = reserve;
	return NULL;
}

/* The jobs that the thread completes now come back on the loop later: by then the server is
 * gone. */
void fw_reserve_stop(struct fw_reserve *reserve)
{
	if (!reserve || !reserve->queue)
		return;
	fw_store_queue_free(reserve->queue);
	reserve->queue = NULL;
	while (reserve->jobs) {
		struct fw_reserve_job *job = reserve->jobs;

		unlist(job);
		deliver(job, fw_raise_server_shutting_down());
		job->target = NULL;
	}
}

void fw_reserve_unref(struct fw_reserve *reserve)
{
	if (!reserve || (reserve->refs && --reserve->refs))
		return;
	if (reserve->slot)
		*reserve->slot = NULL;
	fw_reserve_book_free(reserve->book);
	fw__release(reserve->store);
	fw__release(reserve->root);
	fw__release(reserve->agent);
	fw__release(reserve);
}
