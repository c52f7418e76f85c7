/*
 * ranking.c - see ranking.h. The objects are texts in one buffer, each with a NUL behind it.
 */
#include "tools/code/semantic/ranking.h"

#include <stdlib.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/mem.h"
#include "tools/code/limits.h"
#include "tools/common/reply.h"

struct fw_semantic_rank {
	unsigned grade;
	size_t order;
	size_t text; /* where it begins in `texts` */
};

void fw_semantic_ranking_init(struct fw_semantic_ranking *ranking, unsigned best)
{
	memset(ranking, 0, sizeof *ranking);
	ranking->best = best;
	fw_buf_init(&ranking->texts, FW_LIMIT_CODE_FOUND_BYTES);
}

void fw_semantic_ranking_clear(struct fw_semantic_ranking *ranking)
{
	fw_buf_clear(&ranking->texts);
	fw__release(ranking->list);
	ranking->list = NULL;
}

bool fw_semantic_ranking_add(struct fw_semantic_ranking *ranking, unsigned grade,
			     struct fw_buf **ret_text)
{
	*ret_text = NULL;
	ranking->total++;
	if (ranking->count >= FW_SEMANTIC_RANKING_MOST && grade > ranking->best)
		return true;
	if (ranking->count == ranking->cap) {
		size_t cap = ranking->cap ? 2 * ranking->cap : 64;
		struct fw_semantic_rank *list =
			fw__reallocate(ranking->list, cap * sizeof *list);

		if (!list)
			return false;
		ranking->list = list;
		ranking->cap = cap;
	}
	ranking->list[ranking->count] =
		(struct fw_semantic_rank){ grade, ranking->count, ranking->texts.len };
	ranking->count++;
	*ret_text = &ranking->texts;
	return true;
}

bool fw_semantic_ranking_end(struct fw_semantic_ranking *ranking)
{
	fw_buf_put(&ranking->texts, "", 1);
	return ranking->texts.state == FW_BUF_OK;
}

static int by_grade(const void *a, const void *b)
{
	const struct fw_semantic_rank *left = a, *right = b;

	if (left->grade != right->grade)
		return left->grade < right->grade ? -1 : 1;
	return left->order < right->order ? -1 : 1;
}

fw_error *fw_semantic_ranking_answer(struct fw_semantic_ranking *ranking, fw_call *call,
				     const char *key, const char *method, size_t limit)
{
	size_t shown = ranking->count < limit ? ranking->count : limit;
	struct fw_buf out;

	if (ranking->count)
		qsort(ranking->list, ranking->count, sizeof *ranking->list, by_grade);
	fw_buf_init(&out, FW_LIMIT_CODE_RESULT_BYTES);
	FW_BUF(&out, "{");
	fw_buf_json_key(&out, key);
	FW_BUF(&out, "[");
	for (size_t i = 0; i < shown; i++) {
		if (i)
			FW_BUF(&out, ",");
		fw_buf_str(&out, ranking->texts.text + ranking->list[i].text);
	}
	FW_BUF(&out, "],\"total\":");
	fw_buf_i64(&out, (int64_t)ranking->total);
	fw_buf_str(&out, ranking->is_cut || shown < ranking->total ? ",\"truncated\":true"
								   : ",\"truncated\":false");
	fw_buf_json_key(&out, "method");
	fw_buf_json_str(&out, method);
	FW_BUF(&out, "}");
	return fw_reply_structured(call, &out);
}
