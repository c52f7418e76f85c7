/*
 * impl.h - what the parts of Context Resolve share: files, the three formats,
 * words, the check of a whole cache, the index of its terms.
 */
#ifndef FW_TOOLS_CONTEXT_IMPL_H
#define FW_TOOLS_CONTEXT_IMPL_H

#include <dirent.h>
#include <stdatomic.h>

#include <yyjson.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/limits.h"
#include "tools/context/context.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#define FW_CONTEXT_MANIFEST_FILE "manifest.json"
#define FW_CONTEXT_INDEX_FILE "index.json"
#define FW_CONTEXT_DOCUMENTS "documents"

enum {
	FW_VERSION_LEN = 7 + 64,   /* "sha256:" and the digits */
	FW_FILE_LEN = 10 + 12 + 5, /* "documents/0123456789ab.json" */
	FW_FILE_NAME_AT = 10,      /* behind the slash */
	FW_CONTEXT_THREADS_MAX = 8
};

/* ---- rules (rule.c) ---------------------------------------------------------- */

enum fw_context_rule {
	FW_RULE_MANIFEST_MISSING,
	FW_RULE_MANIFEST_MALFORMED,
	FW_RULE_MANIFEST_UNSUPPORTED,
	FW_RULE_MANIFEST_UNORDERED,
	FW_RULE_MANIFEST_FILE_NAME,
	FW_RULE_VERSION_MISMATCH,
	FW_RULE_DOCUMENTS_MISSING,
	FW_RULE_DOCUMENT_MISSING,
	FW_RULE_DOCUMENT_MALFORMED,
	FW_RULE_DOCUMENT_ID,
	FW_RULE_DOCUMENT_VERSION,
	FW_RULE_DOCUMENT_HASH,
	FW_RULE_INDEX_MISSING,
	FW_RULE_INDEX_MALFORMED,
	FW_RULE_INDEX_DISAGREES,
	FW_RULE_ORPHAN,
	FW_RULE_DUPLICATE_ID,
	FW_RULE_DUPLICATE_CONTENT,
	FW_RULE_COUNT
};

/* cache.invalid, with the rule and its subject in the context and for the
 * operator. `what` may be NULL. */
FW_NODISCARD fw_error *fw_context_broken_at(fw_src at, enum fw_context_rule rule,
					    const char *what);
#define fw_context_broken(rule, what) fw_context_broken_at(FW_HERE, rule, what)
/* What such an error says; false: it is another. */
bool fw_context_violation_of(const fw_error *err, struct fw_context_violation *ret_violation);

/* ---- files (files.c) ----------------------------------------------------------- */

struct fw_identity {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	int64_t modified_ns;
	int64_t changed_ns;
};

bool fw_identity_same(const struct fw_identity *a, const struct fw_identity *b);
/* Of an open file; of a name in a directory, not following links. errno, or 0. */
int fw_identity_of(int fd, struct fw_identity *ret_identity);
int fw_identity_at(int dir, const char *name, struct fw_identity *ret_identity);

/* A file's bytes in memory that is used again for the next file. */
struct fw_bytes {
	char *data; /* a few zero bytes follow */
	size_t len;
	size_t cap;
};
void fw_bytes_clear(struct fw_bytes *bytes);
FW_NODISCARD fw_error *fw_bytes_reserve(struct fw_bytes *bytes, size_t cap);

/* The next name in a directory, but "." and ".."; NULL: no more, or an error, which
 * is then not 0. */
const char *fw_context_next_name(DIR *dir, int *ret_error);

/* Whatever the system says, as an error that context-v0 calls io_error. */
FW_NODISCARD fw_error *fw_context_system_error(fw_src at, int errnum, const char *what);

enum fw_found { FW_FOUND, FW_ABSENT, FW_NO_FILE };
/*
 * Reads a regular file whole; links are not followed. What is not there, or is
 * something else, is told in `ret_found` and is no error. Raises file.too_large,
 * runtime errors. `what` names it in errors. `ret_identity` may be NULL.
 */
FW_NODISCARD fw_error *fw_context_read_file(int dir, const char *name, const char *what,
					    size_t limit, struct fw_bytes *bytes,
					    struct fw_identity *ret_identity,
					    enum fw_found *ret_found);

/* The directory of a cache: below `root`, by name, or by path where that is
 * NULL. Yours to close. Raises cache.missing and what the system says. */
FW_NODISCARD fw_error *fw_context_open_cache(const char *root, const char *name, size_t len,
					     int *ret_fd);
/* Does the name lead to another directory than the one of `was`? A cache that is
 * replaced goes file by file under whoever reads it: its reader turns to the new
 * one, so many times. */
bool fw_context_is_replaced(const char *root, const char *name, size_t len,
			    const struct fw_identity *was);
enum { FW_CONTEXT_TRIES = 16 };
/* A directory below another. `*ret_fd` is -1 where there is none. */
FW_NODISCARD fw_error *fw_context_open_folder(int dir, const char *name, const char *what,
					      int *ret_fd);

/* ---- hashes (format.c) ----------------------------------------------------------- */

/* "sha256:" and the digits of `len` bytes, NUL-terminated. `hasher` is used again
 * and again. False: the library refuses. */
bool fw_context_version(struct fw_hasher *hasher, const void *data, size_t len,
			char ret_version[FW_VERSION_LEN + 1]);

/* ---- the three formats (format.c, write.c) ---------------------------------------- */

struct fw_entry {
	const char *id; /* NUL-terminated, and may hold others */
	size_t id_len;
	const char *version;
	const char *file;
};

struct fw_manifest {
	yyjson_doc *doc; /* what the strings are borrowed from; NULL: somebody else's */
	const char *cache_version;
	uint64_t document_count; /* as it says */
	struct fw_entry *entries;
	size_t count;
	bool is_listed; /* every entry was read */
};

void fw_manifest_clear(struct fw_manifest *manifest);
/* Raises cache.invalid, internal.out_of_memory. What could be read of it before
 * that, cache_version and document_count, is in `ret_manifest` even so; clear it
 * in any case. */
FW_NODISCARD fw_error *fw_manifest_read(const char *text, size_t len,
					struct fw_manifest *ret_manifest);
/* Does index.json say what the manifest says? */
FW_NODISCARD fw_error *fw_index_check(const char *text, size_t len,
				      const struct fw_manifest *manifest);

struct fw_document {
	yyjson_doc *doc;
	const char *content;
	size_t content_len;
};
/*
 * Reads and checks a document against its entry. `bytes` is parsed in place and
 * must stay while the document does. `parser` is memory for the parser, used
 * again. Raises cache.invalid, file.too_large, internal.out_of_memory.
 */
FW_NODISCARD fw_error *fw_document_read(struct fw_bytes *bytes, const struct fw_entry *entry,
					struct fw_hasher *hash, struct fw_bytes *parser,
					struct fw_document *ret_document);
void fw_document_clear(struct fw_document *document);

/* The hash over everything listed: of `count` entries in their order. */
bool fw_context_cache_version(const struct fw_entry *entries, size_t count,
			      char ret_version[FW_VERSION_LEN + 1]);

void fw_manifest_write(struct fw_buf *out, const struct fw_manifest *manifest,
		       const char *created_at);
void fw_index_write(struct fw_buf *out, const struct fw_manifest *manifest);
void fw_document_write(struct fw_buf *out, const struct fw_entry *entry, const char *source,
		       size_t source_len, const char *content, size_t content_len);

/* ---- words (words.c) --------------------------------------------------------------- */

/* Is it UTF-8? NUL is a character like any other. */
bool fw_context_is_utf8(const char *text, size_t len);
/* Lower case by Unicode's full rules, whatever the locale. Yours for free(); NULL:
 * no memory. */
char *fw_context_lower(const char *text, size_t len, size_t *ret_len);

/* Words of a text, one after another: lower case, split at White_Space. */
struct fw_words {
	const char *at;
	const char *end;
	struct fw_bytes word; /* the last one given */
	bool failed;          /* no memory */
};
/* `words` all zero at first; then used again for the next text, UTF-8. */
void fw_words_start(struct fw_words *words, const char *text, size_t len);
/* False: no more. Borrowed until the next one. */
bool fw_words_next(struct fw_words *words, const char **ret_word, size_t *ret_len);
void fw_words_clear(struct fw_words *words);

/* ---- a query (query.c) --------------------------------------------------------------- */

struct fw_term {
	const char *text;
	size_t len;
};

struct fw_query {
	const char *raw;
	size_t raw_len;
	struct fw_term *terms; /* each once, in the order of their first appearance */
	size_t term_count;
	char *text;      /* what they are slices of */
	uint32_t *slots; /* by hash: index + 1 */
	size_t slot_count;
};

FW_NODISCARD fw_error *fw_query_read(const char *text, size_t len, struct fw_query *ret_query);
void fw_query_clear(struct fw_query *query);
bool fw_query_has(const struct fw_query *query, const char *word, size_t len);

/* Of words in tables; seeded, so that nobody can plan collisions. */
uint64_t fw_context_hash(const char *text, size_t len);

/* The shortest decimal text that reads back as the same float; 0 to 1. */
enum { FW_SCORE_SIZE = 24 };
size_t fw_context_score_text(float score, char ret_text[FW_SCORE_SIZE]);

/* ---- terms (terms.c) --------------------------------------------------------------------- */

/* Which documents hold a word, and how often. One thread adds; then any read. */
struct fw_terms;
struct fw_terms *fw_terms_new(void);
void fw_terms_free(struct fw_terms *terms);
/* The words of one document; numbers ascend. False: no memory. */
bool fw_terms_add(struct fw_terms *terms, uint32_t document, struct fw_words *words,
		  uint32_t *ret_count);
size_t fw_terms_bytes(const struct fw_terms *terms);

struct fw_match {
	uint32_t document;
	uint32_t matches;
	float score;
};
struct fw_matches {
	struct fw_match *items;
	size_t count;
	size_t room;
};
/* Adds every document that holds the word. False: no memory. */
bool fw_terms_find(const struct fw_terms *terms, const char *word, size_t len,
		   struct fw_matches *matches);
bool fw_matches_add(struct fw_matches *matches, uint32_t document, uint32_t count);

/* ---- a cache that was checked (check.c) ------------------------------------------------------ */

struct fw_doc_facts {
	uint32_t words;
	uint32_t tokens;
	struct fw_identity identity;
};

struct fw_cache {
	atomic_int refs;
	int dir;
	int documents; /* -1: it has no such folder */
	struct fw_identity dir_identity, documents_identity, manifest_identity, index_identity;
	struct fw_manifest manifest;
	struct fw_doc_facts *facts; /* one an entry */
	uint64_t total_bytes;
	/* The index: a part for each thread that made it. */
	struct fw_terms *parts[FW_CONTEXT_THREADS_MAX];
	unsigned part_count;
	uint32_t *least; /* a tree of the fewest tokens, see choose.c */
	size_t leaves;
	int watch; /* inotify; -1: none, and every file is looked at each time */
};

/* Looks at each document that is in order, on the thread `thread` of the run. */
typedef fw_error *fw_visit_fn(void *ctx, unsigned thread, uint32_t document,
			      const char *content, size_t len, uint32_t *ret_words);

struct fw_check {
	struct fw_context_run run;
	fw_visit_fn *visit; /* NULL: nobody looks */
	void *ctx;
	/* NULL: the first violation ends the check, as its error. */
	fw_context_violation_fn *tell;
	void *tell_ctx;
	bool found; /* a violation was told */
	bool keep_watch;
};

/*
 * Checks the whole cache in the directory `dir`, which is consumed. Of several
 * faults the first in the order manifest, index, folder, documents by id is
 * raised, however many threads look. With `tell`, `*ret_cache` may be a cache
 * whose documents are not all there: for its facts alone.
 */
FW_NODISCARD fw_error *fw_cache_check(int dir, struct fw_check *check,
				      struct fw_cache **ret_cache);
void fw_cache_unref(struct fw_cache *cache);
unsigned fw_context_threads(const struct fw_context_run *run);

/* Work on `count` items by several threads, in ascending order. */
struct fw_crew {
	/* An error stops the crew; of several the one of the lowest item is kept. */
	fw_error *(*work)(void *ctx, unsigned thread, size_t item);
	void *ctx;
	size_t count;
	unsigned threads;
};
FW_NODISCARD fw_error *fw_crew_run(const struct fw_crew *crew);

/* Opens, reads and checks one document of a checked cache. */
struct fw_reader {
	struct fw_hasher *hash;
	struct fw_bytes file;
	struct fw_bytes parser;
};
FW_NODISCARD fw_error *fw_reader_init(struct fw_reader *reader);
void fw_reader_clear(struct fw_reader *reader);
FW_NODISCARD fw_error *fw_reader_open(struct fw_reader *reader, const struct fw_cache *cache,
				      uint32_t document, struct fw_identity *ret_identity,
				      struct fw_document *ret_document);

/* ---- choosing (choose.c) ------------------------------------------------------------------------ */

/* The tree that finds the next document that fits. False: no memory. */
bool fw_cache_plant(struct fw_cache *cache);
/*
 * The documents of the result in their order, into `chosen` (score and matches
 * filled in). `matches` are those that match, a document once; they are sorted.
 * `plainly`: by looking at all of them, as the contract tells it.
 */
FW_NODISCARD fw_error *fw_choose(const struct fw_cache *cache, struct fw_matches *matches,
				 uint64_t budget, bool plainly, struct fw_matches *chosen);
/* The same document twice becomes one. */
void fw_matches_merge(struct fw_matches *matches);
/* The result as text, each document read and checked anew. */
FW_NODISCARD fw_error *fw_result_write(const struct fw_cache *cache,
				       const struct fw_query *query, uint64_t budget,
				       const struct fw_matches *chosen, size_t max_bytes,
				       struct fw_buf *out);

/* ---- the store (store.c) -------------------------------------------------------------------------- */

const char *fw_store_root(const struct fw_context_store *store);
/* The cache, checked and indexed. A reference of yours. */
FW_NODISCARD fw_error *fw_store_get(struct fw_context_store *store, const char *name,
				    size_t len, const struct fw_context_run *run,
				    struct fw_cache **ret_cache);

#endif
