/*
 * context.h - Context Resolve v0: a cache of documents on disk, built once and
 * never changed, and the documents of it that fit a query and a budget best.
 *
 * A cache is a directory: manifest.json, index.json and documents/, one file a
 * document. docs/context.md tells the format, and which failure is which code.
 *
 * The one rule to remember: nothing of a cache is believed before it is
 * checked, and what breaks its rules is cache.invalid; what the machine cannot
 * do (permissions, descriptors, the disk) is an error that context-v0 calls
 * io_error. The two are never mixed up.
 */
#ifndef FW_TOOLS_CONTEXT_CONTEXT_H
#define FW_TOOLS_CONTEXT_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#include <faultwire/server.h>

/* ---- what a long run tells, and asks ------------------------------------- */

/* Begin with all zero. */
struct fw_context_run {
	unsigned threads; /* 0: as many as there are processors, 8 at most */
	/* Now and then, by one thread at a time. NULL: nobody is told. */
	void (*progress)(void *ctx, uint64_t documents, uint64_t total_documents,
			 uint64_t bytes, uint64_t total_bytes);
	/* From any thread; true ends the run with runtime.cancelled. NULL: never. */
	bool (*is_cancelled)(void *ctx);
	void *ctx;
};

/* ---- build ----------------------------------------------------------------- */

struct fw_context_build {
	const char *sources; /* every .md below this directory */
	const char *cache;   /* the directory to make */
	bool force;          /* replace a cache that is there, in one step */
	int64_t created_ms;  /* the manifest's created_at, Unix time */
	struct fw_context_run run;
};

struct fw_context_built {
	size_t documents;
	uint64_t bytes; /* of the sources */
	size_t links;   /* symbolic links left out */
	char cache_version[72];
};

/*
 * The cache is there as a whole, on disk, or not at all, and nothing else is
 * left behind. Raises path.not_found, file.already_exists, file.too_large,
 * file.unsupported_encoding, cache.invalid (sources that no cache can hold: two
 * of one id, two of the same content), and what the system says.
 */
FW_NODISCARD fw_error *fw_context_build(const struct fw_context_build *build,
					struct fw_context_built *ret_built);

/* ---- resolve, inspect, list, verify ---------------------------------------- */

/*
 * Caches that stay open: each is checked whole once, indexed in memory, and then
 * looked at again only for changes. May be used by any number of threads.
 */
struct fw_context_store;

/* `root`: caches are directories directly below it, by name; NULL: by path.
 * Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_context_store_new(const char *root,
					    struct fw_context_store **ret_store);
/* NULL is a no-op. Nobody may be using it. */
void fw_context_store_free(struct fw_context_store *store);

/* What a query asks for: all strings borrowed, and of any bytes. */
struct fw_context_request {
	const char *cache;
	size_t cache_len;
	const char *query;
	size_t query_len;
	int64_t budget;
	size_t max_bytes; /* of the result; beyond: tool.result_too_large */
};

/*
 * The result, one line of JSON and a newline, in `out`, which is empty before; on
 * failure it is worth nothing. Raises input.invalid_query, input.invalid_budget,
 * cache.missing, cache.invalid, file.too_large, and what the system says.
 */
FW_NODISCARD fw_error *fw_context_resolve(struct fw_context_store *store,
					  const struct fw_context_request *request,
					  const struct fw_context_run *run, struct fw_buf *out);

/* The same bytes, from one look at every document and without an index: for a
 * program that asks once, and to hold the other against. */
FW_NODISCARD fw_error *fw_context_scan(const struct fw_context_store *store,
				       const struct fw_context_request *request,
				       const struct fw_context_run *run, struct fw_buf *out);

struct fw_context_facts {
	char cache_version[72];
	uint64_t document_count;
	uint64_t total_bytes; /* of the files of the documents */
	bool valid;           /* the whole cache keeps its rules */
};

/* A cache without a readable manifest is cache.invalid; one that breaks another
 * rule is told as not valid. */
FW_NODISCARD fw_error *fw_context_inspect(struct fw_context_store *store, const char *cache,
					  size_t cache_len, const struct fw_context_run *run,
					  struct fw_context_facts *ret_facts);
/* {"cache_version":...} and a newline. */
void fw_context_put_facts(struct fw_buf *out, const struct fw_context_facts *facts);

/* One directory below the root. */
typedef void fw_context_list_fn(void *ctx, const char *name, bool has_manifest);
/* In the order of their names. Raises cache.missing where there is no root. */
FW_NODISCARD fw_error *fw_context_list(const struct fw_context_store *store,
				       fw_context_list_fn *tell, void *ctx);
/* The same as {"caches":[{"path","has_manifest"}]} and a newline. */
FW_NODISCARD fw_error *fw_context_put_list(const struct fw_context_store *store,
					   struct fw_buf *out);

/* The five rules of a cache. */
enum fw_context_invariant {
	FW_CONTEXT_MANIFEST = 1, /* is there, and is one that we read */
	FW_CONTEXT_VERSION,      /* cache_version is the hash of what is listed */
	FW_CONTEXT_PRESENCE,     /* every document that is listed is there */
	FW_CONTEXT_INTEGRITY,    /* and is the one that was stored */
	FW_CONTEXT_CONSISTENCY   /* nothing else is there, and the index agrees */
};

/* One violation, borrowed for the time of the call. */
struct fw_context_violation {
	enum fw_context_invariant invariant;
	const char *invariant_name; /* "manifest", "version"... */
	const char *rule;           /* "document_hash_mismatch" */
	const char *text;           /* a sentence without its subject */
	const char *what;           /* a document's id, or a file's name; NULL: the cache */
};
typedef void fw_context_violation_fn(void *ctx, const struct fw_context_violation *violation);

/* Tells every violation, in an order that does not vary; `ret_facts->valid` says
 * whether there was none. With `tell` NULL the first one is raised. Raises
 * cache.missing, and what the system says. */
FW_NODISCARD fw_error *fw_context_verify(const struct fw_context_store *store,
					 const char *cache, size_t cache_len,
					 const struct fw_context_run *run,
					 fw_context_violation_fn *tell, void *ctx,
					 struct fw_context_facts *ret_facts);

/* Reads a whole number, 0 or more, as JSON writes one ("4000", "4e3"); false: it
 * is not. */
bool fw_context_budget_read(const char *text, size_t len, int64_t *ret_budget);

/* ---- the toolset ------------------------------------------------------------ */

/*
 * context.resolve, context.list_caches and context.inspect_cache, with the
 * caches of `store`, which must outlive the server and its threads. With
 * FW_RUN_PROCESS each of `workers`, which must be able to read the root, keeps
 * caches of its own. Raises what fw_server_add_tool() does.
 */
FW_NODISCARD fw_error *fw_context_add(fw_server *server, struct fw_context_store *store,
				      fw_run run, fw_workers *workers);

#endif
