/*
 * limits.h - the toolset's limits on sizes that clients and repositories control. Those
 * of the server are in base/limits.h.
 */
#ifndef FW_TOOLS_CODE_LIMITS_H
#define FW_TOOLS_CODE_LIMITS_H

enum {
	/* Content that open_file returns, and any result. */
	FW_LIMIT_CODE_FILE_BYTES = 2 * 1024 * 1024,
	FW_LIMIT_CODE_RESULT_BYTES = 16 * 1024 * 1024,
	/* Results that find_symbol and find_references collect and sort. */
	FW_LIMIT_CODE_FOUND_BYTES = 64 * 1024 * 1024,
	/* A file that they read. Larger files are skipped. */
	FW_LIMIT_CODE_SWEEP_BYTES = 64 * 1024 * 1024,
	/* A file of ignore rules, and its lines. */
	FW_LIMIT_CODE_IGNORE_BYTES = 1024 * 1024,
	FW_LIMIT_CODE_IGNORE_LINES = 10000,
	/* A walk: nesting of directories, and entries in all of them. */
	FW_LIMIT_CODE_DEPTH = 128,
	FW_LIMIT_CODE_WALK = 4 * 1000 * 1000,
	/* Paths that list_paths returns. */
	FW_LIMIT_CODE_PATHS = 20000,
	/* A search: the query, the matches that it returns, the piece of a file that is
	 * searched at once, and a line. */
	FW_LIMIT_CODE_QUERY_BYTES = 4096,
	FW_LIMIT_CODE_MATCHES = 10000,
	FW_LIMIT_CODE_PIECE_BYTES = 4 * 1024 * 1024,
	FW_LIMIT_CODE_LINE_BYTES = 256 * 1024 * 1024,
	/* Files that a worker keeps mapped (mapped.h), a quarter of the maps that Linux allows a
	 * process, and their bytes. */
	FW_LIMIT_CODE_MAPPED_FILES = 16 * 1024,
	FW_LIMIT_CODE_MAPPED_BYTES = 256 * 1024 * 1024,
	/* Trigrams that are looked up in the index for one run of an expression
	 * (byte_runs.h). */
	FW_LIMIT_CODE_RUN_TRIGRAMS = 4096,
	/* One match of a regular expression: steps before the automaton is asked (linear.h) and in
	 * all, nesting, memory, stack. */
	FW_LIMIT_CODE_MATCH_FIRST_STEPS = 100 * 1000,
	FW_LIMIT_CODE_MATCH_STEPS = 10 * 1000 * 1000,
	FW_LIMIT_CODE_MATCH_DEPTH = 250 * 1000,
	FW_LIMIT_CODE_MATCH_KIB = 32 * 1024,
	FW_LIMIT_CODE_JIT_STACK_BYTES = 1024 * 1024,
	/* Longer lines are matched without JIT if it does not count all steps. */
	FW_LIMIT_CODE_JIT_LINE_BYTES = 512,
	/* The automaton: numbers for its states, the length of a line, and bytes that are read to find
	 * where a match begins. */
	FW_LIMIT_CODE_LINEAR_STATES = 2048,
	FW_LIMIT_CODE_LINEAR_BYTES = 256 * 1024,
	FW_LIMIT_CODE_LINEAR_STEPS = 64 * 1024 * 1024,
	/* Time of a git command, lines that blame_range returns, and commits that
	 * file_history returns. */
	FW_LIMIT_CODE_GIT_MS = 20000,
	FW_LIMIT_CODE_BLAME_LINES = 5000,
	/* A file that is blamed as a whole, to cache the result. In larger files only the
	 * range is blamed. */
	FW_LIMIT_CODE_BLAME_BYTES = 4 * 1024 * 1024,
	FW_LIMIT_CODE_COMMITS = 1000,
	/* A list argument: elements and bytes. */
	FW_LIMIT_CODE_LIST = 64,
	FW_LIMIT_CODE_LIST_BYTES = 64 * 1024,
};

#endif
