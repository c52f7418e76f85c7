/*
 * scope.c - see scope.h. Scopes are compared as text: there are a few per caller, and a
 * comparison costs less than looking up a compiled form.
 */
#include "govern/scope.h"

#include <string.h>

static const char TOOL[] = "tool:";
static const char TOOLSET[] = "toolset:";

/* What follows the prefix; NULL: it has another one. */
static const char *after(const char *scope, const char *prefix, size_t len)
{
	return strncmp(scope, prefix, len) == 0 ? scope + len : NULL;
}

/* The characters of a scope in RFC 6749: no blank, quote or backslash. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text == '"' || *text == '\\' || *text > '~')
			return false;
	return true;
}

bool fw_scope_is_valid(const char *scope)
{
	const char *name = after(scope, TOOL, sizeof TOOL - 1);

	if (!name)
		name = after(scope, TOOLSET, sizeof TOOLSET - 1);
	if (name)
		return *name && is_plain(name) && strlen(scope) < FW_SCOPE_SIZE;
	return strcmp(scope, "read") == 0 || strcmp(scope, "incidents") == 0 ||
	       strcmp(scope, "admin") == 0;
}

bool fw_scope_binds(const fw_principal *principal)
{
	return fw_principal_proof(principal) == FW_PROOF_TOKEN;
}

bool fw_scope_covers(const fw_principal *principal, const char *scope)
{
	return !fw_scope_binds(principal) || fw_principal_has_scope(principal, scope);
}

static bool covers(const char *scope, const struct fw_scope_tool *tool)
{
	const char *name;

	switch (scope[0]) {
	case 'a': return strcmp(scope, "admin") == 0;
	case 'r': return !tool->changes && strcmp(scope, "read") == 0;
	case 't': break;
	default: return false;
	}
	name = after(scope, TOOL, sizeof TOOL - 1);
	if (name)
		return strcmp(name, tool->name) == 0;
	name = after(scope, TOOLSET, sizeof TOOLSET - 1);
	return name && tool->toolset && strcmp(name, tool->toolset) == 0;
}

bool fw_scope_covers_tool(const fw_principal *principal, const struct fw_scope_tool *tool)
{
	const char *scope;

	if (!fw_scope_binds(principal))
		return true;
	for (size_t i = 0; (scope = fw_principal_scope_at(principal, i)); i++)
		if (covers(scope, tool))
			return true;
	return false;
}
