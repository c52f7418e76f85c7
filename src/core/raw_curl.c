/*
 * raw_curl.c - error codes of libcurl.
 *
 * By number, so that libcurl is not needed: its numbers never change, and retired
 * ones keep their place (CURLE_OBSOLETE20). The table covers libcurl 8.8; the test
 * compares it with the installed libcurl.
 *
 * The delivery tells a caller whether the request may have had an effect. It is "not
 * sent" only if the connection certainly could not be used yet.
 */
#include "core/raw_impl.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>
#include <stdio.h>

struct curl_row {
	int code;
	fw_delivery delivery;
	const char *name;
	const char *words;
};

#define ROW(number, name, code, delivery, words) \
	[number] = { FW_##code, FW_##delivery, "CURLE_" name, words }
#define RETIRED(number)                                                                  \
	[number] = { FW_INTERNAL_UNEXPECTED, FW_DELIVERY_NONE, "CURLE_OBSOLETE" #number, \
		     "retired" }

static const struct curl_row results[] = {
	ROW(0, "OK", INTERNAL_UNEXPECTED, DELIVERY_NONE, "no error"),
	ROW(1, "UNSUPPORTED_PROTOCOL", INTERNAL_UNSUPPORTED, NOT_SENT,
	    "protocol not supported"),
	ROW(2, "FAILED_INIT", INTERNAL_UNEXPECTED, NOT_SENT, "could not initialise"),
	ROW(3, "URL_MALFORMAT", PATH_INVALID, NOT_SENT, "URL is malformed"),
	ROW(4, "NOT_BUILT_IN", INTERNAL_UNSUPPORTED, NOT_SENT, "feature is not built in"),
	ROW(5, "COULDNT_RESOLVE_PROXY", TRANSPORT_NAME_NOT_RESOLVED, NOT_SENT,
	    "could not resolve the proxy"),
	ROW(6, "COULDNT_RESOLVE_HOST", TRANSPORT_NAME_NOT_RESOLVED, NOT_SENT,
	    "could not resolve the host"),
	ROW(7, "COULDNT_CONNECT", TRANSPORT_CONNECTION_REFUSED, NOT_SENT, "could not connect"),
	ROW(8, "WEIRD_SERVER_REPLY", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "reply could not be understood"),
	ROW(9, "REMOTE_ACCESS_DENIED", AUTH_INSUFFICIENT_PERMISSIONS, REPLIED,
	    "server denied access"),
	ROW(10, "FTP_ACCEPT_FAILED", TRANSPORT_CONNECTION_REFUSED, SENT,
	    "server did not connect back"),
	ROW(11, "FTP_WEIRD_PASS_REPLY", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "reply to PASS could not be understood"),
	ROW(12, "FTP_ACCEPT_TIMEOUT", TRANSPORT_TIMEOUT, SENT,
	    "server did not connect back in time"),
	ROW(13, "FTP_WEIRD_PASV_REPLY", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "reply to PASV could not be understood"),
	ROW(14, "FTP_WEIRD_227_FORMAT", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "reply 227 could not be understood"),
	ROW(15, "FTP_CANT_GET_HOST", TRANSPORT_NAME_NOT_RESOLVED, SENT,
	    "could not resolve the host of the data connection"),
	ROW(16, "HTTP2", TRANSPORT_PROTOCOL_VIOLATION, SENT, "HTTP/2 framing failed"),
	ROW(17, "FTP_COULDNT_SET_TYPE", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "could not set the transfer type"),
	ROW(18, "PARTIAL_FILE", TRANSPORT_CONNECTION_RESET, REPLIED, "transfer ended early"),
	ROW(19, "FTP_COULDNT_RETR_FILE", RESOURCE_NOT_FOUND, REPLIED,
	    "could not retrieve the file"),
	RETIRED(20),
	ROW(21, "QUOTE_ERROR", TRANSPORT_PROTOCOL_VIOLATION, REPLIED, "command was refused"),
	ROW(22, "HTTP_RETURNED_ERROR", DEPENDENCY_UNAVAILABLE, REPLIED,
	    "server returned an error"),
	ROW(23, "WRITE_ERROR", IO_FAILED, REPLIED, "could not write what was received"),
	RETIRED(24),
	ROW(25, "UPLOAD_FAILED", DEPENDENCY_UNAVAILABLE, REPLIED, "upload failed"),
	ROW(26, "READ_ERROR", IO_FAILED, SENT, "could not read what was to be sent"),
	ROW(27, "OUT_OF_MEMORY", INTERNAL_OUT_OF_MEMORY, DELIVERY_NONE, "out of memory"),
	ROW(28, "OPERATION_TIMEDOUT", TRANSPORT_TIMEOUT, SENT, "time limit reached"),
	RETIRED(29),
	ROW(30, "FTP_PORT_FAILED", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "PORT command failed"),
	ROW(31, "FTP_COULDNT_USE_REST", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "REST command failed"),
	RETIRED(32),
	ROW(33, "RANGE_ERROR", INTERNAL_UNSUPPORTED, REPLIED, "ranges are not supported"),
	ROW(34, "HTTP_POST_ERROR", INTERNAL_UNEXPECTED, SENT, "POST failed"),
	ROW(35, "SSL_CONNECT_ERROR", TRANSPORT_TLS_FAILED, NOT_SENT, "handshake failed"),
	ROW(36, "BAD_DOWNLOAD_RESUME", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "download could not be resumed"),
	ROW(37, "FILE_COULDNT_READ_FILE", FILE_READ_FAILED, NOT_SENT,
	    "file could not be opened"),
	ROW(38, "LDAP_CANNOT_BIND", AUTH_INSUFFICIENT_PERMISSIONS, REPLIED, "LDAP bind failed"),
	ROW(39, "LDAP_SEARCH_FAILED", DEPENDENCY_UNAVAILABLE, REPLIED, "LDAP search failed"),
	RETIRED(40),
	ROW(41, "FUNCTION_NOT_FOUND", INTERNAL_UNEXPECTED, NOT_SENT, "function not found"),
	ROW(42, "ABORTED_BY_CALLBACK", RUNTIME_CANCELLED, SENT, "cancelled by a callback"),
	ROW(43, "BAD_FUNCTION_ARGUMENT", INTERNAL_UNEXPECTED, NOT_SENT,
	    "function was called wrongly"),
	RETIRED(44),
	ROW(45, "INTERFACE_FAILED", TRANSPORT_UNREACHABLE, NOT_SENT,
	    "network interface could not be used"),
	RETIRED(46),
	ROW(47, "TOO_MANY_REDIRECTS", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "too many redirects"),
	ROW(48, "UNKNOWN_OPTION", INTERNAL_UNSUPPORTED, NOT_SENT, "option is not supported"),
	ROW(49, "SETOPT_OPTION_SYNTAX", INTERNAL_UNEXPECTED, NOT_SENT, "option is malformed"),
	RETIRED(50),
	RETIRED(51),
	ROW(52, "GOT_NOTHING", TRANSPORT_CONNECTION_RESET, SENT, "server sent no reply"),
	ROW(53, "SSL_ENGINE_NOTFOUND", TRANSPORT_TLS_FAILED, NOT_SENT,
	    "crypto engine not found"),
	ROW(54, "SSL_ENGINE_SETFAILED", TRANSPORT_TLS_FAILED, NOT_SENT,
	    "crypto engine could not be set"),
	ROW(55, "SEND_ERROR", TRANSPORT_BROKEN_PIPE, SENT, "could not send"),
	ROW(56, "RECV_ERROR", TRANSPORT_CONNECTION_RESET, SENT, "could not receive"),
	RETIRED(57),
	ROW(58, "SSL_CERTPROBLEM", TRANSPORT_TLS_FAILED, NOT_SENT,
	    "local certificate cannot be used"),
	ROW(59, "SSL_CIPHER", TRANSPORT_TLS_FAILED, NOT_SENT, "cipher cannot be used"),
	ROW(60, "PEER_FAILED_VERIFICATION", TRANSPORT_TLS_FAILED, NOT_SENT,
	    "certificate of the peer was not accepted"),
	ROW(61, "BAD_CONTENT_ENCODING", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "content encoding was not recognised"),
	RETIRED(62),
	ROW(63, "FILESIZE_EXCEEDED", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "file is larger than allowed"),
	ROW(64, "USE_SSL_FAILED", TRANSPORT_TLS_FAILED, SENT,
	    "server does not offer the TLS level that is required"),
	ROW(65, "SEND_FAIL_REWIND", IO_FAILED, SENT, "data could not be sent again"),
	ROW(66, "SSL_ENGINE_INITFAILED", TRANSPORT_TLS_FAILED, NOT_SENT,
	    "crypto engine could not be started"),
	ROW(67, "LOGIN_DENIED", AUTH_UNAUTHORIZED, REPLIED, "server refused the login"),
	ROW(68, "TFTP_NOTFOUND", RESOURCE_NOT_FOUND, REPLIED, "file not found on the server"),
	ROW(69, "TFTP_PERM", AUTH_INSUFFICIENT_PERMISSIONS, REPLIED,
	    "permission denied on the server"),
	ROW(70, "REMOTE_DISK_FULL", DEPENDENCY_UNAVAILABLE, REPLIED,
	    "server is out of disk space"),
	ROW(71, "TFTP_ILLEGAL", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "TFTP operation is not valid"),
	ROW(72, "TFTP_UNKNOWNID", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "TFTP transfer id does not exist"),
	ROW(73, "REMOTE_FILE_EXISTS", RESOURCE_CONFLICT, REPLIED, "file exists on the server"),
	ROW(74, "TFTP_NOSUCHUSER", AUTH_INSUFFICIENT_PERMISSIONS, REPLIED,
	    "user does not exist on the server"),
	RETIRED(75),
	RETIRED(76),
	ROW(77, "SSL_CACERT_BADFILE", TRANSPORT_TLS_FAILED, NOT_SENT,
	    "CA certificates could not be loaded"),
	ROW(78, "REMOTE_FILE_NOT_FOUND", RESOURCE_NOT_FOUND, REPLIED,
	    "file not found on the server"),
	ROW(79, "SSH", TRANSPORT_PROTOCOL_VIOLATION, SENT, "SSH layer failed"),
	ROW(80, "SSL_SHUTDOWN_FAILED", TRANSPORT_TLS_FAILED, SENT,
	    "TLS connection could not be shut down"),
	ROW(81, "AGAIN", IO_FAILED, SENT, "socket is not ready"),
	ROW(82, "SSL_CRL_BADFILE", TRANSPORT_TLS_FAILED, NOT_SENT,
	    "revocation list could not be loaded"),
	ROW(83, "SSL_ISSUER_ERROR", TRANSPORT_TLS_FAILED, NOT_SENT,
	    "issuer of the certificate was not accepted"),
	ROW(84, "FTP_PRET_FAILED", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "PRET command failed"),
	ROW(85, "RTSP_CSEQ_ERROR", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "RTSP sequence numbers differ"),
	ROW(86, "RTSP_SESSION_ERROR", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "RTSP session ids differ"),
	ROW(87, "FTP_BAD_FILE_LIST", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "file list could not be understood"),
	ROW(88, "CHUNK_FAILED", RUNTIME_CANCELLED, SENT, "cancelled by a chunk callback"),
	ROW(89, "NO_CONNECTION_AVAILABLE", DEPENDENCY_UNAVAILABLE, NOT_SENT,
	    "no connection available"),
	ROW(90, "SSL_PINNEDPUBKEYNOTMATCH", TRANSPORT_TLS_FAILED, NOT_SENT,
	    "public key is not the pinned one"),
	ROW(91, "SSL_INVALIDCERTSTATUS", TRANSPORT_TLS_FAILED, NOT_SENT,
	    "certificate status is invalid"),
	ROW(92, "HTTP2_STREAM", TRANSPORT_CONNECTION_RESET, SENT,
	    "HTTP/2 stream was not closed cleanly"),
	ROW(93, "RECURSIVE_API_CALL", INTERNAL_UNEXPECTED, NOT_SENT,
	    "function was called from a callback"),
	ROW(94, "AUTH_ERROR", AUTH_UNAUTHORIZED, SENT, "authentication function failed"),
	ROW(95, "HTTP3", TRANSPORT_PROTOCOL_VIOLATION, SENT, "HTTP/3 layer failed"),
	ROW(96, "QUIC_CONNECT_ERROR", TRANSPORT_CONNECTION_REFUSED, NOT_SENT,
	    "QUIC connection failed"),
	ROW(97, "PROXY", TRANSPORT_CONNECTION_REFUSED, NOT_SENT,
	    "handshake with the proxy failed"),
	ROW(98, "SSL_CLIENTCERT", TRANSPORT_TLS_FAILED, NOT_SENT,
	    "server demands a client certificate"),
	ROW(99, "UNRECOVERABLE_POLL", INTERNAL_UNEXPECTED, SENT,
	    "waiting for the socket failed"),
	ROW(100, "TOO_LARGE", TRANSPORT_PROTOCOL_VIOLATION, REPLIED,
	    "value is larger than allowed"),
	ROW(101, "ECH_REQUIRED", TRANSPORT_TLS_FAILED, NOT_SENT,
	    "encrypted client hello was required and failed"),
};

static const struct curl_row *find(int curlcode)
{
	if (curlcode < 0 || (size_t)curlcode >= sizeof(results) / sizeof(results[0]))
		return NULL;
	return &results[curlcode];
}

const char *fw_curl_name(int curlcode)
{
	const struct curl_row *row = find(curlcode);

	return row ? row->name : NULL;
}

/* Where the failure was: here, in the network or at the peer, as the registry
 * defines it for transport errors. */
static void set_origin(fw_error *err, const struct curl_row *row)
{
	if (fw_error_origin(err) == FW_ORIGIN_TRANSPORT)
		return;
	if (row->delivery == FW_REPLIED && row->code != FW_IO_FAILED)
		fw_error_set_origin(err, FW_ORIGIN_UPSTREAM);
}

fw_error *fw_error_from_curl(fw_src at, int curlcode, const char *what)
{
	const struct curl_row *row = find(curlcode);
	char number[32];
	fw_error *err;

	if (!row) {
		(void)snprintf(number, sizeof(number), "CURLcode %d", curlcode);
		err = fw_raise_internal_unexpected_at(at, NULL);
		fw_error_add_cause(err, "transfer failed", number, "curl");
		return err;
	}
	if (row->code == FW_INTERNAL_UNEXPECTED)
		what = row->name; /* becomes its exception_type */
	else if (!what)
		what = "server";
	err = fw__raw_raise(at, row->code, what, row->words);
	set_origin(err, row);
	fw_error_set_delivery(err, row->delivery);
	fw_error_add_cause(err, row->words, row->name, "curl");
	return err;
}
