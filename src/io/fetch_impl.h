/*
 * fetch_impl.h - the internals of the HTTP client. fetch.c has requests, fetch_fault.c
 * certificates and proxies.
 */
#ifndef FW_IO_FETCH_IMPL_H
#define FW_IO_FETCH_IMPL_H

#include <faultwire/error.h>

#include "io/curl.h"

/* transport.tls_failed with the reason. `text` is what libcurl wrote about it. NULL: the
 * reason is none that is known here. */
fw_error *fw_fetch__raise_tls(CURL *easy, CURLcode result, const char *text, const char *place);
/* Says so if a failure is one of the proxy. */
void fw_fetch__add_hint(fw_error *err, CURLcode result, const char *text, const char *place);
/* Servers on this machine are reached without the proxy of the environment. */
void fw_fetch__set_proxy(CURL *easy, const char *url);
/* SSL_CERT_FILE and SSL_CERT_DIR name certificates to trust instead of the system's, as for
 * other programs. */
void fw_fetch__set_trust(CURL *easy);

#endif
