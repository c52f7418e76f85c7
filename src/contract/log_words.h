/*
 * log_words.h - how a contract words the log line of its failures. Most contracts say
 * nothing about logs; codeintel does.
 */
#ifndef FW_CONTRACT_LOG_WORDS_H
#define FW_CONTRACT_LOG_WORDS_H

#include <faultwire/error.h>

struct fw_log_words {
	const char *component;
	const char *error_code;
	const char *message;        /* NULL: the message of the error itself */
	const char *exception_type; /* NULL: not logged */
};

/* The words for a failure, by the operation in its scope. Strings are borrowed from
 * `err`. */
struct fw_log_words fw_contract_log_words(const fw_error *err);

#endif
