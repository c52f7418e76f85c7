/*
 * link_redirect.c - follows HTTP redirects of an endpoint: a few of them, with the same
 * method and body, and only to the host that the operator has named.
 *
 * Configured headers, the session and the arguments of calls may all be secret, so
 * nothing is sent to another host or port, nor in the clear after TLS. A redirect from
 * http to https on the same host is followed. 303 is not followed, because it means that
 * the request was carried out. A redirect to a URL that was visited before is not
 * followed either: the server may carry out the request each time.
 */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"
#include "client/link_http.h"
#include "io/fetch.h"

enum { MOVED = 301, SEE_OTHER = 303, PERMANENT = 308 };

struct place {
	bool is_tls;
	const char *host; /* with the port, if there is one */
	size_t len;
	size_t name_len; /* length of the host without the port */
};

static bool read_place(const char *url, struct place *ret_place)
{
	const char *at = url;
	const char *end;
	const char *user;
	const char *port;

	if (strncasecmp(url, "https://", 8) == 0)
		at += 8;
	else if (strncasecmp(url, "http://", 7) == 0)
		at += 7;
	else
		return false;
	end = at + strcspn(at, "/?#");
	user = memrchr(at, '@', (size_t)(end - at));
	*ret_place = (struct place){ .is_tls = url[4] != ':' };
	ret_place->host = user ? user + 1 : at;
	ret_place->len = (size_t)(end - ret_place->host);
	port = memrchr(ret_place->host, ':', ret_place->len);
	/* The colons of an IPv6 address are in brackets. */
	if (port && memchr(port, ']', (size_t)(end - port)))
		port = NULL;
	ret_place->name_len = port ? (size_t)(port - ret_place->host) : ret_place->len;
	return ret_place->len > 0;
}

const char *fw_link__redirect_fault(const char *from, const char *to)
{
	struct place old;
	struct place new;

	if (!read_place(from, &old) || !read_place(to, &new))
		return "it redirects to something that is no http URL";
	if (old.name_len != new.name_len || strncasecmp(old.host, new.host, new.name_len) != 0)
		return "it redirects to another host, which is not followed";
	if (old.is_tls && !new.is_tls)
		return "it redirects from https to http, which is not followed";
	if (old.is_tls == new.is_tls &&
	    (old.len != new.len || strncasecmp(old.host, new.host, new.len) != 0))
		return "it redirects to another port, which is not followed";
	return NULL;
}

/* Records that the request goes to this URL. False: it was sent there before. */
static bool visit(struct fw_link_post *post, const char *url)
{
	const struct fw_link_http *link = post->link;
	uint64_t hash = fw_hash_text(url, 0);

	if (!post->redirects)
		post->visited[0] =
			fw_hash_text(link->moved ? link->moved : link->base.target->url, 0);
	for (unsigned i = 0; i <= post->redirects; i++)
		if (post->visited[i] == hash)
			return false;
	post->visited[++post->redirects] = hash;
	return true;
}

bool fw_link__redirects(struct fw_link_post *post, struct fw_fetch *fetch,
			const char **ret_reason)
{
	struct fw_link_http *link = post->link;
	const char *url = fw_fetch_location(fetch);
	int status = fw_fetch_status(fetch);
	const char *fault;

	if (!url || status == SEE_OTHER) {
		*ret_reason = url ? "it redirects to a page (303)"
				  : "it redirects without saying where";
		return false;
	}
	fault = fw_link__redirect_fault(link->base.target->url, url);
	if (!fault && post->redirects >= FW_LINK_REDIRECTS)
		fault = "it redirects too many times";
	if (!fault && !visit(post, url))
		fault = "it redirects in a circle";
	if (fault) {
		*ret_reason = fault;
		return false;
	}
	if (status == MOVED || status == PERMANENT) {
		char *moved = fw_strdup(url);

		if (moved) {
			fw__release(link->moved);
			link->moved = moved;
		}
	}
	fw_buf_clear(&post->body);
	fw_buf_init(&post->body, link->base.message_bytes);
	return fw_fetch_follow(fetch, url);
}
