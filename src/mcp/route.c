/*
 * route.c - see route.h.
 *
 * There are few routes, so a path is compared with one after the other; most of them
 * differ in their length or in the number of slashes, which are compared first. The path
 * alone decides which route is meant; only then the method counts, so that a wrong method
 * is refused and not handed to a more general route.
 */
#include "mcp/route.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/mem.h"
#include "core/options.h"
#include "mcp/server.h"

static const struct {
	const char *name;
	unsigned method;
} methods[] = {
	{ "GET", FW_ROUTE_GET }, { "HEAD", FW_ROUTE_GET },    { "POST", FW_ROUTE_POST },
	{ "PUT", FW_ROUTE_PUT }, { "PATCH", FW_ROUTE_PATCH }, { "DELETE", FW_ROUTE_DELETE },
};
enum { METHOD_NAMES = sizeof methods / sizeof *methods };
enum { ALL_METHODS = 31 };

unsigned fw_route_method(const char *name)
{
	for (size_t i = 0; i < METHOD_NAMES; i++)
		if (strcmp(methods[i].name, name) == 0)
			return methods[i].method;
	return 0;
}

static const struct fw_route_entry *entry_at(const fw_server *server, size_t index)
{
	return index < fw_route_builtin_count
		       ? &fw_route_builtin[index]
		       : server->pages.items[index - fw_route_builtin_count];
}

static size_t entry_count(const fw_server *server)
{
	return fw_route_builtin_count + server->pages.count;
}

/* ---- adding ------------------------------------------------------------------- */

/* Letters, digits and underscores in braces. */
static bool is_parameter(const char *segment, size_t len)
{
	if (len < 3 || segment[0] != '{' || segment[len - 1] != '}')
		return false;
	for (size_t i = 1; i < len - 1; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz_0123456789", segment[i]))
			return false;
	return true;
}

bool fw_route_is_parameter(const char *segment, size_t len, const char *name)
{
	/* The pattern was checked when it was added. */
	return len > 2 && segment[0] == '{' && len - 2 == strlen(name) &&
	       memcmp(segment + 1, name, len - 2) == 0;
}

/* Counts the literal bytes; false: the path is not a valid pattern. */
static bool read_pattern(const char *path, struct fw_route_entry *entry)
{
	const char *at = path;

	if (path[0] != '/' || strpbrk(path, "?#% "))
		return false;
	while (*at) {
		size_t len = strcspn(++at, "/");

		if (is_parameter(at, len) && !entry->has_parameters)
			entry->fixed = (size_t)(at - path);
		if (is_parameter(at, len))
			entry->has_parameters = true;
		else if (memchr(at, '{', len) || memchr(at, '}', len))
			return false;
		else
			entry->literal += len;
		entry->literal++;
		entry->slashes++;
		at += len;
	}
	entry->len = (size_t)(at - path);
	entry->is_tree = at[-1] == '/';
	return true;
}

static const char *find_fault(const fw_server *server, const fw_route *route)
{
	if (route->methods & ~(unsigned)ALL_METHODS)
		return "there is no such method";
	for (size_t i = 0; i < entry_count(server); i++)
		if (strcmp(entry_at(server, i)->path, route->path) == 0 &&
		    (entry_at(server, i)->methods & route->methods))
			return "the path is taken";
	return server->pages.count == FW_LIMIT_PAGES ? "there are too many pages" : NULL;
}

/* A path of its own is better than one below a tree of as many bytes. */
static bool is_better(const struct fw_route_entry *one, const struct fw_route_entry *other)
{
	if (one->literal != other->literal)
		return one->literal > other->literal;
	return other->is_tree && !one->is_tree;
}

/* The best ones first, so that the first one that matches is the one to take. */
static void insert(struct fw_pages *pages, struct fw_route_entry *entry)
{
	size_t at = pages->count++;

	for (; at > 0 && is_better(entry, pages->items[at - 1]); at--)
		pages->items[at] = pages->items[at - 1];
	pages->items[at] = entry;
}

/* A copy of `entry` with a path of its own, in one block; NULL: no memory. */
static struct fw_route_entry *entry_copy(const struct fw_route_entry *entry, const char *path)
{
	struct fw_route_entry *copy = fw__allocate(sizeof *copy + entry->len + 1);

	if (!copy)
		return NULL;
	*copy = *entry;
	copy->path = memcpy(copy + 1, path, entry->len + 1);
	return copy;
}

static fw_error *add(const char *function, fw_server *server, const fw_route *route)
{
	struct fw_route_entry entry = { 0 };
	struct fw_route_entry *copy, **more;
	const char *fault;

	if (!read_pattern(route->path, &entry))
		return fw_raise_internal_api_misuse(function, "the path is not valid");
	fault = find_fault(server, route);
	if (fault)
		return fw_raise_internal_api_misuse(function, fault);
	more = fw__reallocate(server->pages.items, (server->pages.count + 1) * sizeof(*more));
	if (!more)
		return fw_raise_internal_out_of_memory();
	server->pages.items = more;
	entry.access = route->is_open ? FW_PAGE_OPEN : FW_PAGE_GUARDED;
	entry.methods = route->methods;
	entry.takes_cookie = route->takes_cookie;
	entry.body_bytes = route->body_bytes;
	entry.deadline_ms = route->deadline_ms;
	entry.handle = route->handle;
	entry.gone = route->gone;
	entry.ctx = route->ctx;
	copy = entry_copy(&entry, route->path);
	if (!copy)
		return fw_raise_internal_out_of_memory();
	insert(&server->pages, copy);
	return NULL;
}

fw_error *fw_server_add_route(fw_server *server, const fw_route *route)
{
	static const char FUNCTION[] = "fw_server_add_route";
	fw_route known = FW_ROUTE_INIT;

	if (!server || !route)
		return fw_raise_internal_api_misuse(FUNCTION, "NULL argument");
	FW_TRY(fw_options_read(FUNCTION, route, &known, sizeof known));
	if (!known.path || !known.handle)
		return fw_raise_internal_api_misuse(FUNCTION,
						    "a route has a path and a handler");
	if (!known.methods)
		known.methods = FW_ROUTE_GET;
	return add(FUNCTION, server, &known);
}

fw_error *fw_server_add_page(fw_server *server, const char *path, bool is_open,
			     fw_page_fn *render, void *ctx)
{
	const fw_route route = { .struct_size = sizeof route,
				 .path = path,
				 .methods = FW_ROUTE_GET,
				 .is_open = is_open,
				 .handle = render,
				 .ctx = ctx };

	if (!server || !path || !render)
		return fw_raise_internal_api_misuse("fw_server_add_page", "NULL argument");
	return add("fw_server_add_page", server, &route);
}

void fw_routes_clear(fw_server *server)
{
	for (size_t i = 0; i < server->pages.count; i++)
		fw__release(server->pages.items[i]);
	fw__release(server->pages.items);
}

/* ---- finding ------------------------------------------------------------------- */

static size_t segment_len(const char *segment)
{
	return (size_t)(strchrnul(segment, '/') - segment);
}

/* Segment by segment; a parameter matches one that is not empty. */
static bool matches_pattern(const char *pattern, const char *path)
{
	while (*pattern == '/' && *path == '/') {
		size_t want, have;

		pattern++;
		path++;
		/* The slash at the end of a tree. */
		if (!*pattern)
			return true;
		if (*pattern != '{' && *pattern != *path)
			return false;
		want = segment_len(pattern);
		have = segment_len(path);
		if (*pattern == '{' ? !have : want != have || memcmp(pattern, path, want) != 0)
			return false;
		pattern += want;
		path += have;
	}
	return !*pattern && !*path;
}

/* A path with what most routes differ in. */
struct wanted {
	const char *path;
	size_t len;
	size_t slashes;
};

static struct wanted wanted_of(const char *path)
{
	struct wanted wanted = { .path = path };

	for (; path[wanted.len]; wanted.len++)
		wanted.slashes += path[wanted.len] == '/';
	return wanted;
}

static bool matches(const struct fw_route_entry *entry, const struct wanted *wanted)
{
	size_t have = entry->has_parameters ? wanted->slashes : wanted->len;
	size_t want = entry->has_parameters ? entry->slashes : entry->len;
	size_t same = entry->has_parameters ? entry->fixed : entry->len;

	if ((entry->is_tree ? have < want : have != want) || wanted->len < same ||
	    memcmp(entry->path, wanted->path, same) != 0)
		return false;
	return !entry->has_parameters || matches_pattern(entry->path, wanted->path);
}

static const struct fw_route_entry *find_path(const fw_server *server, const char *path)
{
	const struct wanted wanted = wanted_of(path);
	const struct fw_route_entry *found = NULL;

	for (size_t i = 0; i < fw_route_builtin_count; i++) {
		const struct fw_route_entry *entry = &fw_route_builtin[i];

		if (matches(entry, &wanted) && (!found || is_better(entry, found)))
			found = entry;
	}
	/* These are in order, so the first one is the best one. */
	for (size_t i = 0; i < server->pages.count; i++) {
		const struct fw_route_entry *entry = server->pages.items[i];

		if (matches(entry, &wanted))
			return !found || is_better(entry, found) ? entry : found;
	}
	return found;
}

const struct fw_route_entry *fw_route_find(const fw_server *server, const char *method,
					   const char *path, struct fw_route_others *ret_others)
{
	const struct fw_route_entry *found = find_path(server, path), *taker = NULL;
	unsigned wanted = fw_route_method(method), taken = 0;

	if (ret_others)
		*ret_others = (struct fw_route_others){ .any = found };
	if (!found)
		return NULL;
	if (found->methods & wanted)
		return found;
	/* Several routes may share a path, each with methods of its own. */
	for (size_t i = 0; i < entry_count(server); i++) {
		const struct fw_route_entry *entry = entry_at(server, i);

		if (entry->len != found->len ||
		    memcmp(entry->path, found->path, found->len) != 0)
			continue;
		taken |= entry->methods;
		if (entry->methods & wanted)
			taker = entry;
	}
	if (ret_others)
		ret_others->methods = taken;
	return taker;
}

/* ---- for transports -------------------------------------------------------------- */

static void put_allow(unsigned taken, char *allow, size_t size)
{
	size_t len = 0;

	allow[0] = '\0';
	for (size_t i = 0; i < METHOD_NAMES && len < size; i++)
		if (methods[i].method & taken)
			len += (size_t)snprintf(allow + len, size - len, "%s%s",
						len ? ", " : "", methods[i].name);
}

void fw_server__page_terms(const fw_server *server, const char *method, const char *path,
			   struct fw_page_terms *ret_terms)
{
	struct fw_route_others others;
	const struct fw_route_entry *entry = fw_route_find(server, method, path, &others);

	*ret_terms = (struct fw_page_terms){ .access = FW_PAGE_NONE };
	if (!entry) {
		if (others.any)
			ret_terms->access = others.any->access;
		put_allow(others.methods, ret_terms->allow, sizeof ret_terms->allow);
		return;
	}
	ret_terms->access = entry->access;
	ret_terms->route = entry;
	ret_terms->takes_method = true;
	ret_terms->takes_cookie =
		entry->takes_cookie || fw_route_method(method) == FW_ROUTE_GET;
	ret_terms->body_bytes = entry->body_bytes < server->limits.message_bytes
					? entry->body_bytes
					: server->limits.message_bytes;
}
