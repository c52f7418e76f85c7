/*
 * search.c - the tool semantic_search.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tools/code/arguments.h"
#include "tools/code/code.h"
#include "tools/code/limits.h"
#include "tools/code/semantic/findings.h"
#include "tools/code/semantic/semantic.h"
#include "tools/code/semantic/shelf.h"
#include "tools/code/semantic/tools.h"
#include "tools/code/semantic/vector.h"
#include "tools/common/reply.h"

#include <faultwire/raise.h>

enum { SHOWN = 20, RETRY_S = 5 };

struct search {
	fw_call *call;
	const struct fw_code_set *code;
	const char *text;
	size_t len;
	size_t limit;
	struct fw_semantic_query query;
	struct fw_semantic_findings findings;
	struct fw_semantic_hits hits;
	/* The query by the embedding service, when it has been asked. */
	int8_t *vector;
	size_t dims;
};

/* ---- errors ---- */

/* `text` ends with NUL where the argument ends: those with a NUL are refused before. */
static fw_error *failed(const struct search *s, const struct fw_code_repo *repo,
			const char *reason)
{
	fw_error *err =
		fw_raise_search_failed(s->text, repo->name[0] ? repo->name : "index", reason);

	if (s->code->semantic.is_kept) {
		fw_error_set_retry_after(err, RETRY_S);
		fw_error_set_hint(err,
				  "The server builds the index again: try again in a while, "
				  "or use search_text.");
	} else {
		fw_error_set_hint(err, "Run faultwire index build for this repository, or use "
				       "search_text, which needs no index.");
	}
	return err;
}

static fw_error *fault(const struct search *s, const struct fw_code_repo *repo,
		       enum fw_semantic_fault fault)
{
	switch (fault) {
	case FW_SEMANTIC_CORRUPT: return failed(s, repo, "the index is damaged");
	case FW_SEMANTIC_OTHER_VERSION:
		return failed(s, repo, "the index is of another version");
	case FW_SEMANTIC_UNREADABLE: return failed(s, repo, "the index cannot be read");
	case FW_SEMANTIC_ABSENT:
	case FW_SEMANTIC_OK: break;
	}
	return failed(s, repo, "the index is not built");
}

static fw_error *check_embedder(const struct search *s, const struct fw_code_repo *repo,
				const struct fw_semantic_snapshot *snapshot)
{
	const struct fw_semantic_settings *settings = &s->code->semantic;
	const char *wanted =
		settings->has_embedder ? settings->embedder.id : FW_SEMANTIC_OWN_EMBEDDER;
	fw_error *err;

	if (strncmp(snapshot->head->embedder, wanted, sizeof snapshot->head->embedder) == 0)
		return NULL;
	err = failed(s, repo, "the index was made by another embedder");
	fw_error_add_string(err, "embedder", snapshot->head->embedder);
	fw_error_add_string(err, "wanted_embedder", wanted);
	return err;
}

/* ---- searching ---- */

static fw_error *embed(struct search *s, const struct fw_semantic_snapshot *snapshot)
{
	size_t dims = snapshot->head->dims;
	float *vector = NULL;

	if (!s->code->semantic.has_embedder || !dims)
		return NULL;
	if (!s->vector) {
		FW_TRY(fw_semantic_embed(&s->code->semantic.embedder, &s->text, &s->len, 1,
					 &dims, &vector));
		s->vector = fw__allocate(2 * fw_semantic_nibble_bytes(dims));
		if (s->vector) {
			fw__zero(s->vector, 2 * fw_semantic_nibble_bytes(dims));
			s->query.vector_scale = fw_semantic_pack(vector, dims, s->vector);
		}
		fw__release(vector);
		if (!s->vector)
			return fw_raise_internal_out_of_memory();
		s->dims = dims;
	}
	if (s->dims != dims)
		return fw_raise_search_embedding_failed(
			"the indexes of the repositories have vectors of different lengths");
	s->query.vector = s->vector;
	return NULL;
}

static fw_error *search_snapshot(struct search *s, const struct fw_code_repo *repo,
				 const struct fw_semantic_snapshot *snapshot, bool is_building)
{
	double confidence;

	FW_TRY(check_embedder(s, repo, snapshot));
	FW_TRY(embed(s, snapshot));
	FW_TRY(fw_semantic_rank(snapshot, &s->query, &fw_semantic_weights, s->limit, &s->hits));
	confidence = fw_semantic_confidence(&s->hits);
	if (confidence > s->findings.confidence)
		s->findings.confidence = confidence;
	s->findings.created_ms = snapshot->head->created_ms;
	if (is_building)
		s->findings.state = "updating";
	return fw_semantic_findings_add(&s->findings, repo, snapshot, &s->query, &s->hits);
}

static fw_error *search_repo(struct search *s, size_t number)
{
	const struct fw_code_repo *repo = &s->code->repos.list[number];
	const struct fw_semantic_snapshot *snapshot;
	bool is_building = false;
	enum fw_semantic_fault found = FW_SEMANTIC_ABSENT;
	fw_error *err;

	if (repo->semantic[0])
		found = fw_semantic_shelf_take(number, repo->semantic, &snapshot, &is_building);
	if (found == FW_SEMANTIC_OK) {
		err = search_snapshot(s, repo, snapshot, is_building);
		fw_semantic_shelf_return();
		return err;
	}
	if (found != FW_SEMANTIC_ABSENT || !(is_building || s->code->semantic.is_kept))
		return fault(s, repo, found);
	s->findings.is_lexical = true;
	s->findings.state = "building";
	return fw_semantic_lexical(s->call, s->code, repo, &s->query, s->text, s->limit,
				   &s->findings);
}

static fw_error *answer(struct search *s)
{
	struct fw_buf out;

	for (size_t i = 0; i < s->code->repos.count; i++)
		FW_TRY(search_repo(s, i));
	fw_semantic_findings_sort(&s->findings, s->limit);
	if (!s->findings.count)
		s->findings.confidence = 0;
	if (s->findings.changed && !s->findings.state)
		s->findings.state = "stale";
	fw_buf_init(&out, FW_LIMIT_CODE_RESULT_BYTES);
	fw_semantic_findings_write(&s->findings, &out);
	return fw_reply_structured(s->call, &out);
}

fw_error *fw_semantic_search(fw_call *call, void *ctx)
{
	struct search *s = fw__allocate(sizeof *s);
	int64_t limit;
	fw_error *err;

	if (!s)
		return fw_raise_internal_out_of_memory();
	fw__zero(s, sizeof *s);
	s->call = call;
	s->code = ctx;
	s->text = fw_call_string(call, "query", &s->len);
	err = fw_code_max_results(call, "limit", SHOWN, FW_SEMANTIC_LIMIT_FINDINGS, &limit);
	if (!err && (!s->len || strspn(s->text, " \t\r\n") == s->len))
		err = fw_raise_input_invalid_value("query", "a text that is not empty");
	if (!err && s->len > FW_LIMIT_CODE_QUERY_BYTES)
		err = fw_raise_input_too_large("query", FW_LIMIT_CODE_QUERY_BYTES);
	if (!err) {
		s->limit = (size_t)limit;
		s->query.term_count = fw_semantic_query_terms(s->text, s->len, s->query.terms,
							      FW_SEMANTIC_LIMIT_QUERY_TERMS);
		err = answer(s);
	}
	fw_semantic_findings_clear(&s->findings);
	fw__release(s->vector);
	fw__release(s);
	return err;
}
