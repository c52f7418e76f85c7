/*
 * resolve.c - resolve with the index of an open cache.
 */
#include "base/mem.h"
#include "tools/context/choose.h"
#include "tools/context/result.h"
#include "tools/context/store.h"

#include <faultwire/raise.h>

static fw_error *find_matches(const struct fw_context_cache *cache,
			      const struct fw_context_query *query,
			      struct fw_context_matches *matches)
{
	for (size_t i = 0; i < query->term_count; i++)
		for (unsigned part = 0; part < cache->part_count; part++)
			if (!fw_context_terms_find(cache->parts[part], query->terms[i].text,
						   query->terms[i].len, matches))
				return fw_raise_internal_out_of_memory();
	return NULL;
}

static fw_error *answer(const struct fw_context_cache *cache,
			const struct fw_context_query *query,
			const struct fw_context_request *request, struct fw_buf *out)
{
	struct fw_context_matches matches = { 0 }, chosen = { 0 };
	fw_error *err = find_matches(cache, query, &matches);

	if (!err)
		err = fw_context_choose(cache, &matches, (uint64_t)request->budget, false,
					&chosen);
	if (!err)
		err = fw_context_result_write(cache, query, (uint64_t)request->budget, &chosen,
					      request->max_bytes, out);
	fw__release(matches.items);
	fw__release(chosen.items);
	return err;
}

fw_error *fw_context_resolve(struct fw_context_store *store,
			     const struct fw_context_request *request,
			     const struct fw_context_run *run, struct fw_buf *out)
{
	struct fw_context_query query;
	fw_error *err;
	bool is_again;

	FW_TRY(fw_context_query_read(request->query, request->query_len, &query));
	if (request->budget < 0) {
		fw_context_query_clear(&query);
		return fw_raise_input_invalid_budget();
	}
	for (unsigned try = 1;; try++) {
		struct fw_context_cache *cache = NULL;

		err = fw_context_store_get(store, request->cache, request->cache_len, run,
					   &cache);
		if (!err)
			err = answer(cache, &query, request, out);
		is_again = cache && fw_error_code(err) == FW_CACHE_INVALID &&
			   try < FW_CONTEXT_READ_ATTEMPTS &&
			   fw_context_is_replaced(fw_context_store_root(store), request->cache,
						  request->cache_len, &cache->dir_identity);
		fw_context_cache_unref(cache);
		if (!is_again)
			break;
		fw_error_free(err);
		fw_buf_reset(out, SIZE_MAX);
	}
	fw_context_query_clear(&query);
	return err;
}
