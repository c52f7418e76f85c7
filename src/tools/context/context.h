/*
 * context.h - Context Resolve v0: a cache of documents on disk, built once and never
 * changed, and a search for the documents that best fit a query and a token budget.
 *
 * A cache is a directory: manifest.json, index.json and documents/, one file per
 * document. docs/context.md describes the format and the error codes.
 *
 * The one rule to remember: a cache is not trusted before it is checked. A violation
 * of its rules is cache.invalid; a failure of the system (permissions, descriptors,
 * the disk) is an error that maps to io_error in context-v0. The two are kept apart.
 */
#ifndef FW_TOOLS_CONTEXT_CONTEXT_H
#define FW_TOOLS_CONTEXT_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#include <faultwire/server.h>

/* ---- long runs: progress and cancellation ---- */

/* Start with all zero. */
struct fw_context_run {
	unsigned threads; /* 0: one per CPU, at most 8 */
	/* Called from time to time, by one thread at a time. May be NULL. */
	void (*progress)(void *ctx, uint64_t documents, uint64_t total_documents,
			 uint64_t bytes, uint64_t total_bytes);
	/* Called from any thread; true ends the run with runtime.cancelled. May be
	 * NULL. */
	bool (*is_cancelled)(void *ctx);
	void *ctx;
};

/* ---- build ---- */

struct fw_context_build {
	const char *sources; /* directory; every .md file below it is read */
	const char *cache;   /* the directory to create */
	bool force;          /* replace an existing cache, atomically */
	int64_t created_ms;  /* created_at of the manifest, Unix time */
	struct fw_context_run run;
};

struct fw_context_built {
	size_t documents;
	uint64_t bytes; /* of the sources */
	size_t links;   /* symbolic links that were skipped */
	char cache_version[72];
};

/*
 * Builds a cache. On failure nothing is left behind. Raises path.not_found,
 * file.already_exists, file.too_large, file.unsupported_encoding, cache.invalid (two
 * sources with the same id or the same content), and errors of the system.
 */
FW_NODISCARD fw_error *fw_context_build(const struct fw_context_build *build,
					struct fw_context_built *ret_built);

/* ---- resolve, inspect, list, verify ---- */

/*
 * Caches that stay open: each is checked once, indexed in memory, and after that
 * checked for changes only. May be used by any number of threads.
 */
struct fw_context_store;

/* `root`: caches are directories directly below it, by name; NULL: by path.
 * Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_context_store_new(const char *root,
					    struct fw_context_store **ret_store);
/* NULL is a no-op. No thread may be using the store. */
void fw_context_store_free(struct fw_context_store *store);

/* All strings are borrowed and may contain any bytes. */
struct fw_context_request {
	const char *cache;
	size_t cache_len;
	const char *query;
	size_t query_len;
	int64_t budget;
	size_t max_bytes; /* limit of the result, then tool.result_too_large */
};

/*
 * Writes the result, one line of JSON and a newline, to `out`, which must be empty.
 * On failure its contents are undefined. Raises input.invalid_query,
 * input.invalid_budget, cache.missing, cache.invalid, file.too_large, and errors of
 * the system.
 */
FW_NODISCARD fw_error *fw_context_resolve(struct fw_context_store *store,
					  const struct fw_context_request *request,
					  const struct fw_context_run *run, struct fw_buf *out);

/* Produces the same bytes without an index, by reading every document: for a program
 * that asks once, and for tests. */
FW_NODISCARD fw_error *fw_context_scan(const struct fw_context_store *store,
				       const struct fw_context_request *request,
				       const struct fw_context_run *run, struct fw_buf *out);

struct fw_context_facts {
	char cache_version[72];
	uint64_t document_count;
	uint64_t total_bytes; /* of the document files */
	bool valid;           /* the cache violates no rule */
};

/* Raises cache.invalid if the manifest is missing or invalid. If another rule is
 * violated, `ret_facts->valid` is false. */
FW_NODISCARD fw_error *fw_context_inspect(struct fw_context_store *store, const char *cache,
					  size_t cache_len, const struct fw_context_run *run,
					  struct fw_context_facts *ret_facts);
/* Writes {"cache_version":...} and a newline. */
void fw_context_put_facts(struct fw_buf *out, const struct fw_context_facts *facts);

/* One directory below the root. */
typedef void fw_context_list_fn(void *ctx, const char *name, bool has_manifest);
/* Calls `on_cache` for each cache, by name. Raises cache.missing without a root. */
FW_NODISCARD fw_error *fw_context_list(const struct fw_context_store *store,
				       fw_context_list_fn *on_cache, void *ctx);
/* Writes the same as {"caches":[{"path","has_manifest"}]} and a newline. */
FW_NODISCARD fw_error *fw_context_put_list(const struct fw_context_store *store,
					   struct fw_buf *out);

/* The five invariants of a cache. */
enum fw_context_invariant {
	FW_CONTEXT_MANIFEST = 1, /* exists, and has a supported form */
	FW_CONTEXT_VERSION,      /* cache_version is the hash of the entries */
	FW_CONTEXT_PRESENCE,     /* every listed document exists */
	FW_CONTEXT_INTEGRITY,    /* every document has the listed hash */
	FW_CONTEXT_CONSISTENCY   /* no other files, and the index agrees */
};

/* A violation; valid during the call. */
struct fw_context_violation {
	enum fw_context_invariant invariant;
	const char *invariant_name; /* "manifest", "version"... */
	const char *rule;           /* "document_hash_mismatch" */
	const char *text;           /* a sentence without its subject */
	const char *what;           /* a document id or a file name; NULL: the cache */
};
typedef void fw_context_violation_fn(void *ctx, const struct fw_context_violation *violation);

/* Reports every violation, in a fixed order; `ret_facts->valid` is true if there was
 * none. If `on_violation` is NULL, the first one is raised. Raises cache.missing, and
 * errors of the system. */
FW_NODISCARD fw_error *fw_context_verify(const struct fw_context_store *store,
					 const char *cache, size_t cache_len,
					 const struct fw_context_run *run,
					 fw_context_violation_fn *on_violation, void *ctx,
					 struct fw_context_facts *ret_facts);

/* Reads a non-negative integer in JSON notation ("4000", "4e3"). */
bool fw_context_budget_read(const char *text, size_t len, int64_t *ret_budget);

/* ---- the toolset ---- */

/*
 * Adds context.resolve, context.list_caches and context.inspect_cache to a server.
 * `store` must outlive the server and its threads. With FW_RUN_PROCESS each of
 * `workers` opens caches of its own and must be able to read the root. Raises what
 * fw_server_add_tool() raises.
 */
FW_NODISCARD fw_error *fw_context_add(fw_server *server, struct fw_context_store *store,
				      fw_run run, fw_workers *workers);

#endif
