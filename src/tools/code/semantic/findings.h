/*
 * findings.h - the result of semantic_search: what was found, why, an answer with citations,
 * and how sure it is.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_FINDINGS_H
#define FW_TOOLS_CODE_SEMANTIC_FINDINGS_H

#include <faultwire/faultwire.h>

#include "base/buf.h"
#include "tools/code/code.h"
#include "tools/code/semantic/rank.h"

enum {
	FW_SEMANTIC_PREVIEW_BYTES = 300,
	FW_SEMANTIC_SHOWN_PATH = FW_PATH_SIZE + FW_CODE_NAME_SIZE + 1,
	FW_SEMANTIC_WHY_BYTES = 2048
};

struct fw_semantic_finding {
	char path[FW_SEMANTIC_SHOWN_PATH]; /* as the client sees it */
	uint32_t start_line, end_line;
	char symbol[FW_SEMANTIC_TERM_BYTES * 2];
	float score;
	char preview[FW_SEMANTIC_PREVIEW_BYTES + 4];
	char quote[FW_SEMANTIC_PREVIEW_BYTES + 4]; /* one line, for the answer */
	uint32_t quote_line;
	char why[FW_SEMANTIC_WHY_BYTES]; /* JSON */
	bool is_gone;                    /* the file does not exist any more */
};

struct fw_semantic_findings {
	struct fw_semantic_finding *list;
	size_t count, cap;
	bool is_lexical;    /* without an index */
	const char *state;  /* of the index */
	int64_t created_ms; /* 0: no index */
	size_t changed;     /* findings whose file has changed since */
	double confidence;
};

/* Adds what `hits` says of the snapshot of a repository; reads the files for the previews.
 * Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_semantic_findings_add(struct fw_semantic_findings *findings,
						const struct fw_code_repo *repo,
						const struct fw_semantic_snapshot *snapshot,
						const struct fw_semantic_query *query,
						const struct fw_semantic_hits *hits);
/* Fills in preview and quote of lines of a text: those with most terms of the query. */
void fw_semantic_finding_quote(struct fw_semantic_finding *finding,
			       const struct fw_semantic_query *query, const char *text,
			       size_t len);
/* Room for one more; NULL: out of memory. */
struct fw_semantic_finding *fw_semantic_findings_next(struct fw_semantic_findings *findings);
/* Orders them by score and keeps the best. */
void fw_semantic_findings_sort(struct fw_semantic_findings *findings, size_t most);
/* The structured content. */
void fw_semantic_findings_write(const struct fw_semantic_findings *findings,
				struct fw_buf *out);
void fw_semantic_findings_clear(struct fw_semantic_findings *findings);

/* How likely the first finding is the right file, from 0 to 1; see docs/codeintel.md. */
double fw_semantic_confidence(const struct fw_semantic_hits *hits);

/* Findings of the repositories without an index: files by how often, and in how few files, they
 * have the words of the query. Raises search.timeout, internal.out_of_memory. */
FW_NODISCARD fw_error *fw_semantic_lexical(fw_call *call, const struct fw_code_set *code,
					   const struct fw_code_repo *repo,
					   const struct fw_semantic_query *query,
					   const char *text, size_t most,
					   struct fw_semantic_findings *findings);

#endif
