/*
 * fetch_fault.c - certificates and proxies of requests, and what people can do when they fail.
 *
 * libcurl has one code for every certificate that it does not accept, and the same codes for
 * a server and for the proxy before it. People need the difference: an expired certificate is
 * for the operator of the server to renew, an issuer that is not known for the user to add,
 * and a proxy that is down is not mentioned in the URL at all. What libcurl writes about a
 * failure is read for hints only.
 */
#include <stdlib.h>
#include <string.h>

#include <openssl/x509_vfy.h>

#include <faultwire/raise.h>

#include "io/fetch_impl.h"

static const char trust_hint[] =
	"If you trust the server, name a file with the certificate of its issuer in the "
	"variable "
	"SSL_CERT_FILE, or add it to those of the system; do not turn verification off.";

struct reason {
	long code;
	const char *text;
	const char *hint; /* NULL: that of the registry */
};

static const struct reason *find_reason(long code)
{
	static const struct reason reasons[] = {
		{ X509_V_ERR_CERT_HAS_EXPIRED, "its certificate has expired", NULL },
		{ X509_V_ERR_CERT_NOT_YET_VALID, "its certificate is not valid yet", NULL },
		{ X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, "its certificate is self-signed",
		  trust_hint },
		{ X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
		  "the root of its certificate is not known here", trust_hint },
		{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
		  "the issuer of its certificate is not known here", trust_hint },
		{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
		  "the issuer of its certificate is not known here", trust_hint },
		{ X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
		  "the issuer of its certificate is not known here", trust_hint },
	};

	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].code == code)
			return &reasons[i];
	return NULL;
}

fw_error *fw_fetch__raise_tls(CURL *easy, CURLcode result, const char *text, const char *place)
{
	/* libcurl compares names itself, and has no code for that. */
	static const struct reason other_name = {
		0, "its certificate is for another host name",
		"Check the host name in the URL; it must be one that the certificate has."
	};
	static const struct reason no_tls = {
		0, "the port does not speak TLS",
		"Use http:// in the URL if the server has no TLS, "
		"or the port that has it."
	};
	const struct reason *reason = NULL;
	long code = 0;
	fw_error *err;

	if (result == CURLE_PEER_FAILED_VERIFICATION && strstr(text, "host name"))
		reason = &other_name;
	else if (result == CURLE_PEER_FAILED_VERIFICATION &&
		 curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &code) == CURLE_OK)
		reason = find_reason(code);
	else if (result == CURLE_SSL_CONNECT_ERROR && strstr(text, "wrong version number"))
		reason = &no_tls;
	if (!reason)
		return NULL;
	err = fw_raise_transport_tls_failed(place, reason->text);
	if (reason->hint)
		fw_error_set_hint(err, reason->hint);
	return err;
}

static bool is_from_proxy(CURLcode result, const char *text, const char *place)
{
	const char *host = strstr(place, "://");
	size_t len = host ? strcspn(host + 3, ":") : 0;

	if (result == CURLE_COULDNT_RESOLVE_PROXY || strstr(text, "CONNECT tunnel") ||
	    strstr(text, "CONNECT aborted") || strstr(text, " proxy"))
		return true;
	return result == CURLE_COULDNT_CONNECT && len &&
	       strncmp(text, "Failed to connect to ", 21) == 0 &&
	       !memmem(text, strlen(text), host + 3, len);
}

void fw_fetch__add_hint(fw_error *err, CURLcode result, const char *text, const char *place)
{
	if (is_from_proxy(result, text, place))
		fw_error_set_hint(err, "The request goes through the proxy that http_proxy, "
				       "https_proxy or all_proxy names. Check it, or name the "
				       "host of the URL in no_proxy.");
}

/* Is the host this machine? A proxy would take it for its own. */
static bool is_loopback(const char *url)
{
	static const char *const hosts[] = { "localhost", "127.0.0.1", "[::1]" };
	const char *host = strstr(url, "://");

	for (size_t i = 0; host && i < sizeof hosts / sizeof *hosts; i++) {
		size_t len = strlen(hosts[i]);

		if (strncasecmp(host + 3, hosts[i], len) == 0 && strchr(":/?#", host[3 + len]))
			return true;
	}
	return false;
}

void fw_fetch__set_proxy(CURL *easy, const char *url)
{
	if (is_loopback(url))
		(void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
}

void fw_fetch__set_trust(CURL *easy)
{
	const char *file = getenv("SSL_CERT_FILE");
	const char *directory = getenv("SSL_CERT_DIR");

	if (file && *file)
		(void)curl_easy_setopt(easy, CURLOPT_CAINFO, file);
	if (directory && *directory)
		(void)curl_easy_setopt(easy, CURLOPT_CAPATH, directory);
}
