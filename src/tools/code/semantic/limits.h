/*
 * limits.h - the limits of an index on what a repository can make large.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_LIMITS_H
#define FW_TOOLS_CODE_SEMANTIC_LIMITS_H

#include <stdint.h>

/* Paths, names and subjects; records. Numbers of bytes of a snapshot have 32 bits. */
#define FW_SEMANTIC_LIMIT_TEXTS ((size_t)1 << 30)
#define FW_SEMANTIC_LIMIT_RECORDS ((size_t)3 << 30)
#define FW_SEMANTIC_LIMIT_SECTION ((size_t)UINT32_MAX)

enum {
	/* Larger files are data. */
	FW_SEMANTIC_LIMIT_FILE = 1024 * 1024,
	/* Past commits that are used, the newest ones; files of one, and commits of one
	 * file: a commit that changes everything says nothing of anything. */
	FW_SEMANTIC_LIMIT_COMMITS = 10000,
	FW_SEMANTIC_LIMIT_TOUCHES = 50,
	FW_SEMANTIC_LIMIT_PASTS = 200,
	/* The matrix of the analysis. */
	FW_SEMANTIC_LIMIT_ROWS = 10000,
	FW_SEMANTIC_LIMIT_COLUMNS = 4096, /* terms */
	/* Terms of a query; findings of an answer. */
	FW_SEMANTIC_LIMIT_QUERY_TERMS = 64,
	FW_SEMANTIC_LIMIT_FINDINGS = 100,
};

#endif
