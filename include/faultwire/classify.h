/*
 * classify.h - what to do about an error that is only a sentence.
 *
 * Most servers answer a failure with text for people. A classifier finds known phrases
 * in it ("connection refused", "NotFoundError", "HTTP 429") and answers with a code of the
 * registry, so that an agent knows whether to retry, to correct the call or to give up.
 *
 * The rules are data: registry/classify.rules is built in, and a program may add its own.
 * There is no model and no network, and the time is linear in the length of the text.
 *
 * The one rule to remember: a classifier is read-only and may be used by several threads.
 */
#ifndef FAULTWIRE_CLASSIFY_H
#define FAULTWIRE_CLASSIFY_H

#include <faultwire/error.h>

FW_EXTERN_C_BEGIN

typedef struct fw_classifier fw_classifier;

/** A text, and what else is known about the failure. */
typedef struct fw_flat_text {
	const char *text; /**< need not end with a NUL, and may contain NULs */
	size_t len;
	const char *tool; /**< name of the tool that failed; NULL: not known */
	int jsonrpc_code; /**< of the JSON-RPC error; 0: none */
	int http_status;  /**< of the reply; 0: not known */
} fw_flat_text;

/** Strings and rows are borrowed from the classifier and its registry. */
typedef struct fw_classification {
	const fw_row *row; /**< never NULL; tool.failed if no rule matches, or none surely */
	fw_retry retry;
	double retry_after; /**< seconds that the text asks to wait; negative: none */
	int http_status;    /**< found in the text, or given; 0: none */
	/** 0 to 1, about the share of such answers that are right; 0: no rule matches. Below
	 * 0.45 (0.6 where the advice would be to repeat the call) the code is tool.failed. */
	double confidence;
	const char *rule; /**< the rule that decided, or was not sure enough; NULL: none */
	/** A rule of another type that matched as well; NULL: none. */
	const char *contested_by;
} fw_classification;

/** The built-in rules. NULL if there was no memory for them. Never freed. */
FW_API const fw_classifier *fw_classifier_builtin(void);

/**
 * Called once for every mistake in a rules file. `problem` (registry.invalid_row) is
 * borrowed during the call; the row is the number of the line.
 */
typedef void fw_classifier_problem_fn(void *ctx, const fw_error *problem);

/**
 * The built-in rules and those of a user's file, whose codes are looked up in `registry`
 * (NULL: the built-in codes). A rule with the name of a built-in one replaces it.
 * `problem` may be NULL. You own the classifier; it must not outlive the registry.
 * Raises registry.invalid_row (the first mistake), input.too_large and
 * internal.out_of_memory.
 */
FW_API FW_NODISCARD fw_error *fw_classifier_new(const char *rules, size_t len,
						const fw_registry *registry,
						fw_classifier_problem_fn *problem, void *ctx,
						fw_classifier **ret_classifier);

/** NULL is a no-op. */
FW_API void fw_classifier_free(fw_classifier *classifier);

/** Classifies a text; cannot fail. A NULL classifier matches nothing. */
FW_API void fw_classify(const fw_classifier *classifier, const fw_flat_text *text,
			fw_classification *ret_class);

/** A rule that matched: what `faultwire classify --explain` shows. */
typedef struct fw_classify_match {
	const char *rule;
	const fw_row *row;
	int rank;
	size_t word;      /**< the word of the text where the match begins, from 1 */
	bool is_excluded; /**< by an "unless" of the rule */
} fw_classify_match;

/** The rules that match a text, in the order of the file: writes at most `cap` of them and
 * returns how many there are. */
FW_API size_t fw_classify_matches(const fw_classifier *classifier, const fw_flat_text *text,
				  fw_classify_match *ret_matches, size_t cap);

/**
 * The text as a canonical error with the code, the retry advice and the status that the
 * classifier found. The text is the message and the first cause. You own the error.
 */
FW_API FW_NODISCARD fw_error *fw_error_classify(fw_src at, const fw_classifier *classifier,
						const fw_flat_text *text);

/**
 * Gives `err` the code that the classifier finds in `text`, if its code is tool.failed:
 * an error that was read from JSON in no contract, for instance. Its message and causes
 * stay. Consumes `err` and returns it; NULL returns NULL.
 */
FW_API FW_NODISCARD fw_error *fw_error_reclassify(fw_error *err,
						  const fw_classifier *classifier,
						  const fw_flat_text *text);

FW_EXTERN_C_END

#endif
