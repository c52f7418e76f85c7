/*
 * principal.c - see principal.h. A principal is one block: the struct, the scopes, the
 * texts.
 */
#include "mcp/principal.h"

#include <string.h>

#include <faultwire/raise.h>

#include "base/mem.h"

struct fw_principal {
	unsigned refs; /* 0: static, never freed */
	fw_proof proof;
	bool is_withdrawn;
	int64_t expires_ms; /* 0: never */
	const char *name;
	size_t scope_count;
	const char *const *scopes;
};

static const char *const all_scopes[] = { "admin" };
static const fw_principal anonymous = { .proof = FW_PROOF_NONE, .name = "anonymous" };
static const fw_principal process = {
	.proof = FW_PROOF_PROCESS, .name = "process", .scope_count = 1, .scopes = all_scopes
};

const fw_principal *fw_principal_anonymous(void)
{
	return &anonymous;
}

const fw_principal *fw_principal_process(void)
{
	return &process;
}

static char *append(char *to, const char *text)
{
	size_t size = strlen(text) + 1;

	memcpy(to, text, size);
	return to + size;
}

fw_error *fw_principal_new(fw_proof proof, const char *name, const char *const *scopes,
			   size_t scope_count, fw_principal **ret_principal)
{
	size_t size = sizeof(fw_principal) + scope_count * sizeof *scopes + strlen(name) + 1;
	fw_principal *made;
	const char **list;
	char *text;

	for (size_t i = 0; i < scope_count; i++)
		size += strlen(scopes[i]) + 1;
	made = fw__allocate(size);
	if (!made)
		return fw_raise_internal_out_of_memory();
	list = (const char **)(void *)(made + 1);
	text = (char *)(list + scope_count);
	*made = (fw_principal){ .refs = 1,
				.proof = proof,
				.name = text,
				.scope_count = scope_count,
				.scopes = list };
	text = append(text, name);
	for (size_t i = 0; i < scope_count; i++) {
		list[i] = text;
		text = append(text, scopes[i]);
	}
	*ret_principal = made;
	return NULL;
}

fw_principal *fw_principal_ref(fw_principal *principal)
{
	if (principal && principal->refs)
		principal->refs++;
	return principal;
}

void fw_principal_unref(fw_principal *principal)
{
	if (principal && principal->refs && !--principal->refs)
		fw__release(principal);
}

bool fw_principal_is_same(const fw_principal *principal, const fw_principal *other)
{
	return fw_principal_proof(principal) == fw_principal_proof(other) &&
	       strcmp(fw_principal_name(principal), fw_principal_name(other)) == 0;
}

bool fw_principal_may_same(const fw_principal *principal, const fw_principal *other)
{
	if (principal->scope_count != other->scope_count)
		return false;
	for (size_t i = 0; i < other->scope_count; i++)
		if (strcmp(principal->scopes[i], other->scopes[i]) != 0)
			return false;
	return true;
}

void fw_principal_set_expiry(fw_principal *principal, int64_t expires_ms)
{
	principal->expires_ms = expires_ms;
}

void fw_principal_withdraw(fw_principal *principal)
{
	principal->is_withdrawn = true;
}

bool fw_principal_is_valid(const fw_principal *principal, int64_t now_ms)
{
	return !principal || (!principal->is_withdrawn &&
			      (!principal->expires_ms || now_ms < principal->expires_ms));
}

const char *fw_proof_name(fw_proof proof)
{
	static const char *const names[FW_PROOF_COUNT] = { "anonymous", "process", "token" };

	return (unsigned)proof < FW_PROOF_COUNT ? names[proof] : names[FW_PROOF_NONE];
}

const char *fw_principal_name(const fw_principal *principal)
{
	return principal ? principal->name : anonymous.name;
}

fw_proof fw_principal_proof(const fw_principal *principal)
{
	return principal ? principal->proof : FW_PROOF_NONE;
}

const char *fw_principal_scope_at(const fw_principal *principal, size_t index)
{
	return principal && index < principal->scope_count ? principal->scopes[index] : NULL;
}

bool fw_principal_has_scope(const fw_principal *principal, const char *scope)
{
	const char *held;

	for (size_t i = 0; (held = fw_principal_scope_at(principal, i)); i++)
		if (strcmp(held, scope) == 0 || strcmp(held, "admin") == 0)
			return true;
	return false;
}
