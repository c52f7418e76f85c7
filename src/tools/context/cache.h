/*
 * cache.h - a cache that was checked: its manifest, facts about its documents and
 * the index of their words.
 */
#ifndef FW_TOOLS_CONTEXT_CACHE_H
#define FW_TOOLS_CONTEXT_CACHE_H

#include <stdatomic.h>

#include "tools/common/crew.h"
#include "tools/context/context.h"
#include "tools/context/format.h"
#include "tools/context/terms.h"

struct fw_context_document_facts {
	uint32_t words;
	uint32_t tokens;
	struct fw_context_identity identity;
};

struct fw_context_cache {
	atomic_int refs;
	int dir;
	int documents; /* directory; -1 if there is none */
	struct fw_context_identity dir_identity, documents_identity, manifest_identity,
		index_identity;
	struct fw_context_manifest manifest;
	struct fw_context_document_facts *facts; /* one per entry of the manifest */
	uint64_t total_bytes;
	/* The index: one part per thread that built it. */
	struct fw_context_terms *parts[FW_CREW_MAX];
	unsigned part_count;
	uint32_t *least; /* tree of minimal token counts, see choose.c */
	size_t leaves;
	int watch; /* inotify; -1 if unavailable: every file is compared each time */
};

/* Called for each valid document, on thread number `thread`. */
typedef fw_error *fw_context_visit_fn(void *ctx, unsigned thread, uint32_t document,
				      const char *content, size_t len, uint32_t *ret_words);

struct fw_context_check {
	struct fw_context_run run;
	fw_context_visit_fn *visit; /* may be NULL */
	void *visit_ctx;
	/* NULL: the first violation ends the check and is raised. */
	fw_context_violation_fn *on_violation;
	void *violation_ctx;
	bool has_violation; /* set by the check: on_violation was called */
	bool keep_watch;    /* watch the cache for changes with inotify */
};

/*
 * Checks the cache in the directory `dir`, which is consumed. If there are several
 * violations, the first one in the order manifest, index, documents directory,
 * documents by id is raised, regardless of the number of threads. With
 * `on_violation`, `*ret_cache` may lack documents and is good for its facts only.
 */
FW_NODISCARD fw_error *fw_context_cache_check(int dir, struct fw_context_check *check,
					      struct fw_context_cache **ret_cache);
/* An empty cache with one reference. Consumes `dir`. NULL: out of memory. */
struct fw_context_cache *fw_context_cache_new(int dir);
void fw_context_cache_unref(struct fw_context_cache *cache);

/* Opens, reads and checks single documents of a cache. */
struct fw_context_reader {
	struct fw_hasher *hash;
	struct fw_context_bytes file;
	struct fw_context_bytes parser;
};
FW_NODISCARD fw_error *fw_context_reader_init(struct fw_context_reader *reader);
void fw_context_reader_clear(struct fw_context_reader *reader);
FW_NODISCARD fw_error *fw_context_reader_open(struct fw_context_reader *reader,
					      const struct fw_context_cache *cache,
					      uint32_t document,
					      struct fw_context_identity *ret_identity,
					      struct fw_context_document *ret_document);

#endif
