/*
 * scan.c - resolve without an index: read every document, count, sort, choose. It is
 * faster for a program that asks once, since the whole cache must be checked anyway.
 * The tests compare the index against it.
 */
#include "base/mem.h"
#include "tools/context/choose.h"
#include "tools/context/result.h"
#include "tools/context/store.h"

#include <faultwire/raise.h>

struct scan {
	const struct fw_context_query *query;
	struct fw_context_words words[FW_CREW_MAX];
	struct fw_context_matches found[FW_CREW_MAX];
};

static fw_error *count(void *ctx, unsigned thread, uint32_t document, const char *content,
		       size_t len, uint32_t *ret_words)
{
	struct scan *scan = ctx;
	struct fw_context_words *words = &scan->words[thread];
	uint32_t matches = 0, total = 0;
	const char *word;
	size_t word_len;

	fw_context_words_start(words, content, len);
	for (; fw_context_words_next(words, &word, &word_len); total++)
		matches += fw_context_query_has(scan->query, word, word_len);
	if (words->failed ||
	    (matches && !fw_context_matches_add(&scan->found[thread], document, matches)))
		return fw_raise_internal_out_of_memory();
	*ret_words = total;
	return NULL;
}

static fw_error *gather(struct scan *scan, struct fw_context_matches *matches)
{
	for (unsigned i = 0; i < FW_CREW_MAX; i++)
		for (size_t j = 0; j < scan->found[i].count; j++)
			if (!fw_context_matches_add(matches, scan->found[i].items[j].document,
						    scan->found[i].items[j].matches))
				return fw_raise_internal_out_of_memory();
	return NULL;
}

static void scan_clear(struct scan *scan)
{
	for (unsigned i = 0; i < FW_CREW_MAX; i++) {
		fw_context_words_clear(&scan->words[i]);
		fw__release(scan->found[i].items);
	}
}

static fw_error *answer(struct scan *scan, const struct fw_context_cache *cache,
			const struct fw_context_request *request, struct fw_buf *out)
{
	struct fw_context_matches matches = { 0 }, chosen = { 0 };
	fw_error *err = gather(scan, &matches);

	if (!err)
		err = fw_context_choose(cache, &matches, (uint64_t)request->budget, true,
					&chosen);
	if (!err)
		err = fw_context_result_write(cache, scan->query, (uint64_t)request->budget,
					      &chosen, request->max_bytes, out);
	fw__release(matches.items);
	fw__release(chosen.items);
	return err;
}

/* `*ret_identity` is that of the cache directory. */
static fw_error *scan_once(const struct fw_context_store *store,
			   const struct fw_context_query *query,
			   const struct fw_context_request *request,
			   const struct fw_context_run *run,
			   struct fw_context_identity *ret_identity, struct fw_buf *out)
{
	struct scan scan = { .query = query };
	struct fw_context_check check = { .visit = count, .visit_ctx = &scan };
	struct fw_context_cache *cache = NULL;
	fw_error *err;
	int dir;

	if (run)
		check.run = *run;
	FW_TRY(fw_context_open_cache(fw_context_store_root(store), request->cache,
				     request->cache_len, &dir));
	(void)fw_context_identity_of(dir, ret_identity);
	err = fw_context_cache_check(dir, &check, &cache);
	if (!err)
		err = answer(&scan, cache, request, out);
	fw_context_cache_unref(cache);
	scan_clear(&scan);
	return err;
}

fw_error *fw_context_scan(const struct fw_context_store *store,
			  const struct fw_context_request *request,
			  const struct fw_context_run *run, struct fw_buf *out)
{
	struct fw_context_identity identity;
	struct fw_context_query query;
	fw_error *err;

	FW_TRY(fw_context_query_read(request->query, request->query_len, &query));
	if (request->budget < 0) {
		fw_context_query_clear(&query);
		return fw_raise_input_invalid_budget();
	}
	for (unsigned try = 1;; try++) {
		err = scan_once(store, &query, request, run, &identity, out);
		if (fw_error_code(err) != FW_CACHE_INVALID || try == FW_CONTEXT_READ_ATTEMPTS ||
		    !fw_context_is_replaced(fw_context_store_root(store), request->cache,
					    request->cache_len, &identity))
			break;
		fw_error_free(err);
		fw_buf_reset(out, SIZE_MAX);
	}
	fw_context_query_clear(&query);
	return err;
}
