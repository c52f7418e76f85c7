/*
 * api_recent.h - the last hour of requests, in numbers, for the overview of the
 * dashboard: calls and failures per minute, durations, whether retries worked, and
 * which code, tool, client and toolset or upstream they belong to.
 *
 * It is bounded: minutes older than an hour are dropped, and there is a row for at most
 * FW_API_RECENT_ROWS combinations of code, tool and client. A new combination replaces
 * the one that was seen least recently; how many requests lost their row is counted.
 *
 * The one rule to remember: it is updated and read on the server's thread; the caller
 * passes the time, so a test can choose it.
 */
#ifndef FW_API_API_RECENT_H
#define FW_API_API_RECENT_H

#include <stdbool.h>
#include <stdint.h>

#include <faultwire/observer.h>

#include "base/buf.h"

enum { FW_API_RECENT_MINUTES = 60, FW_API_RECENT_ROWS = 256 };

struct fw_api_recent;

/* NULL: no memory. */
struct fw_api_recent *fw_api_recent_new(int64_t now_ms);
/* NULL is a no-op. */
void fw_api_recent_free(struct fw_api_recent *recent);

/* One request at its end. Without memory for its row it is only counted. `toolset` is the
 * toolset or upstream that has the tool; NULL: none is known. */
void fw_api_recent_note(struct fw_api_recent *recent, const fw_outcome *outcome,
			const char *toolset, int64_t now_ms);

/* The members of a JSON object, without its braces; docs/api.md describes them. */
void fw_api_recent_put(struct fw_api_recent *recent, int64_t now_ms, struct fw_buf *out);

#endif
