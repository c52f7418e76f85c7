/*
 * page.h - documents that the server serves beside the protocol: /readyz,
 * /problems/, /metrics...
 *
 * The one rule to remember: a page is rendered synchronously on the loop's
 * thread, so it must not wait for anything.
 */
#ifndef FW_MCP_PAGE_H
#define FW_MCP_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/page.h>
#include <faultwire/serve.h>

/*
 * Asked for /readyz: is this part of the server at work? Writes what is worth
 * knowing as one short line without a newline.
 */
typedef bool fw_check_fn(void *ctx, char *text, size_t size);
fw_error *fw_server__add_check(fw_server *server, fw_check_fn *check, void *ctx);

void fw_pages_clear(fw_server *server);

/* Pages below "/problems/": the meaning of a code, for people and programs. */
fw_error *fw_page_problem(fw_page *page, void *ctx);

#endif
