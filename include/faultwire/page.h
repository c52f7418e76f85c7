/*
 * page.h - documents that the HTTP endpoint serves beside the protocol, such as
 * /metrics.
 */
#ifndef FAULTWIRE_PAGE_H
#define FAULTWIRE_PAGE_H

#include <faultwire/error.h>

FW_EXTERN_C_BEGIN

/** One GET of a page. Borrowed: valid during the callback. */
typedef struct fw_page fw_page;

/** On the server's thread; must not block. An error becomes a problem document. */
typedef fw_error *fw_page_fn(fw_page *page, void *ctx);

FW_API const char *fw_page_path(const fw_page *page);
/** A request header ("Accept"); NULL: absent. */
FW_API const char *fw_page_header(const fw_page *page, const char *name);
/** A parameter of the query, decoded; NULL: absent. */
FW_API const char *fw_page_query(const fw_page *page, const char *name);
/** By default: 200 and "text/plain; charset=utf-8". */
FW_API void fw_page_status(fw_page *page, int status, const char *content_type);
FW_API void fw_page_write(fw_page *page, const char *text, size_t len);

FW_EXTERN_C_END

#endif
