/*
 * govern_oauth.c - this server as an OAuth 2.1 resource server: the issuer of its tokens,
 * and the metadata that tells clients where to get one (RFC 9728).
 */
#include <string.h>

#include <faultwire/raise.h>

#include "govern/govern_impl.h"

enum { METADATA_BYTES = 16 * 1024, PATH_SIZE = 512 };

#define WELL_KNOWN "/.well-known/oauth-protected-resource"

static void put_metadata(struct fw_buf *out, const struct fw_govern_options *options)
{
	FW_BUF(out, "{");
	fw_buf_json_key(out, "resource");
	fw_buf_json_str(out, options->oauth_audience);
	fw_buf_json_key(out, "authorization_servers");
	FW_BUF(out, "[");
	fw_buf_json_str(out, options->oauth_issuer);
	FW_BUF(out, "]");
	fw_buf_json_key(out, "bearer_methods_supported");
	FW_BUF(out, "[\"header\"]");
	fw_buf_json_key(out, "scopes_supported");
	FW_BUF(out, "[\"read\",\"incidents\",\"admin\"]");
	fw_buf_json_key(out, "resource_name");
	fw_buf_json_str(out, "faultwire");
	FW_BUF(out, "}");
}

static fw_error *show_metadata(fw_page *page, void *ctx)
{
	const struct fw_govern *govern = ctx;

	fw_page_status(page, 200, "application/json");
	fw_page_write(page, govern->metadata.text, govern->metadata.len);
	return NULL;
}

/* The path of the audience follows the well-known one; some clients leave it out. */
static fw_error *add_pages(struct fw_govern *govern, const char *audience)
{
	const char *host = strstr(audience, "://");
	const char *path = host ? strchr(host + 3, '/') : NULL;
	char text[PATH_SIZE] = WELL_KNOWN;
	fw_route route = { .struct_size = sizeof route,
			   .path = text,
			   .methods = FW_ROUTE_GET,
			   .is_open = true,
			   .handle = show_metadata,
			   .ctx = govern };

	FW_TRY(fw_server_add_route(govern->server, &route));
	if (!path || !path[1] || strlen(path) + sizeof WELL_KNOWN > sizeof text ||
	    strpbrk(path, "{}?#%"))
		return NULL;
	memcpy(text + sizeof WELL_KNOWN - 1, path, strlen(path) + 1);
	return fw_server_add_route(govern->server, &route);
}

fw_error *fw_govern__add_issuer(struct fw_govern *govern,
				const struct fw_govern_options *options)
{
	const struct fw_issuer_options how = { .loop = options->loop,
					       .issuer = options->oauth_issuer,
					       .audience = options->oauth_audience,
					       .jwks = options->oauth_jwks };

	fw_buf_init(&govern->metadata, METADATA_BYTES);
	put_metadata(&govern->metadata, options);
	if (govern->metadata.state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	FW_TRY(add_pages(govern, options->oauth_audience));
	return fw_issuer_new(&how, &govern->issuer);
}
