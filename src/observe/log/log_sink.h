/*
 * log_sink.h - writes lines to a descriptor that may have a slow reader, or to journald's
 * socket.
 */
#ifndef FW_OBSERVE_LOG_SINK_H
#define FW_OBSERVE_LOG_SINK_H

#include <stdatomic.h>

#include "observe/log/log.h"

struct fw_log_sink {
	int fd;
	bool is_own;    /* we opened it and close it */
	bool is_socket; /* written with send() */
	bool is_torn;   /* the last line was not written to its end */
	bool is_journal;
	int late_ms; /* time spent waiting since the log began to end */
	size_t most; /* largest write that is not split */
	const atomic_bool *is_ending;
};

fw_error *fw_log_sink_open(struct fw_log_sink *sink, const struct fw_log_options *options,
			   enum fw_log_form form, const atomic_bool *is_ending);
void fw_log_sink_close(struct fw_log_sink *sink);
/* Writes all bytes. False: they could not be written. */
bool fw_log_sink_write(struct fw_log_sink *sink, const char *text, size_t len);

#endif
