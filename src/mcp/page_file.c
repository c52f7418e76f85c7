/*
 * page_file.c - files that are part of the program, such as style sheets.
 *
 * A file has the same path in every version, so caches ask each time whether it has
 * changed (no-cache); the answer is 304 while its entity tag is the same.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "mcp/page.h"
#include "mcp/server.h"

/* Whether a list of entity tags (If-None-Match) has this one. Weak tags count too: RFC
 * 9110, section 13.1.2. */
static bool is_listed(const char *list, const char *etag)
{
	size_t len = strlen(etag);

	for (; list; list = strchr(list, ',')) {
		list += strspn(list, ", \t");
		if (*list == '*')
			return true;
		if (strncmp(list, "W/", 2) == 0)
			list += 2;
		if (strncmp(list, etag, len) == 0 && (!list[len] || strchr(", \t", list[len])))
			return true;
	}
	return false;
}

static const struct fw_page_file *find(const struct fw_page_file *files, const char *name)
{
	for (; files->path; files++)
		if (strcmp(files->path, name) == 0)
			return files;
	return NULL;
}

fw_error *fw_page_serve_file(fw_page *page, const struct fw_page_file *files, const char *name)
{
	const struct fw_page_file *file = find(files, *name ? name : "index.html");
	bool is_open = fw_principal_proof(fw_page_principal(page)) == FW_PROOF_NONE;

	if (!file)
		return fw_raise_protocol_path_not_found(fw_page_path(page));
	fw_page_set_header(page, "ETag", file->etag);
	fw_page_set_header(page, "Cache-Control",
			   is_open ? "public, no-cache" : "private, no-cache");
	if (is_listed(fw_page_header(page, "If-None-Match"), file->etag)) {
		fw_page_status(page, 304, file->type);
		return NULL;
	}
	fw_page_status(page, 200, file->type);
	fw_page_write(page, (const char *)file->bytes, file->len);
	return NULL;
}

static fw_error *serve(fw_page *page, void *ctx)
{
	/* The last part of the route's path, which is the prefix. */
	return fw_page_serve_file(page, ctx, fw_page_path(page) + strlen(page->pattern));
}

fw_error *fw_server__add_files(fw_server *server, const char *prefix, bool is_open,
			       const struct fw_page_file *files)
{
	return fw_server_add_page(server, prefix, is_open, serve, (void *)files);
}

void fw_server__set_root(fw_server *server, const struct fw_page_file *files)
{
	server->pages.root = files;
}

fw_error *fw_page_asset(fw_page *page, void *ctx)
{
	(void)ctx;
	return serve(page, (void *)fw_page_assets);
}
