/*
 * signin.c - see signin.h. A table of fixed length: there are few operators.
 */
#include "mcp/signin.h"

#include <string.h>

#include <faultwire/raise.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/mem.h"

struct fw_signin {
	char id[FW_SIGNIN_ID_SIZE]; /* "": free */
	int64_t since_ms;
	char *token;
	size_t len;
};

static void drop(struct fw_signin *signin)
{
	if (signin->token)
		explicit_bzero(signin->token, signin->len);
	fw__release(signin->token);
	memset(signin, 0, sizeof *signin);
}

fw_error *fw_signin_add(struct fw_signins *signins, const char *token, size_t len,
			int64_t now_ms, char ret_id[FW_SIGNIN_ID_SIZE])
{
	struct fw_signin *signin;
	char *copy = fw_strdup_n(token, len);

	if (!signins->items && copy) {
		signins->items = fw__allocate(FW_SIGNINS_MAX * sizeof *signins->items);
		if (signins->items)
			memset(signins->items, 0, FW_SIGNINS_MAX * sizeof *signins->items);
	}
	if (!copy || !signins->items) {
		fw__release(copy);
		return fw_raise_internal_out_of_memory();
	}
	signin = &signins->items[signins->count++ % FW_SIGNINS_MAX];
	drop(signin);
	fw_random_text(signin->id, sizeof signin->id);
	signin->since_ms = now_ms;
	signin->token = copy;
	signin->len = len;
	memcpy(ret_id, signin->id, FW_SIGNIN_ID_SIZE);
	return NULL;
}

/* The value of the next cookie of this server, whose length is that of an id; NULL: there
 * is none. `*at` moves after it. */
static const char *next_cookie(const char **at)
{
	static const char name[] = FW_SIGNIN_COOKIE;

	while (*at && **at) {
		const char *cookie = *at + strspn(*at, "; \t");
		size_t len = strcspn(cookie, ";");
		const char *equals = memchr(cookie, '=', len);

		*at = cookie + len;
		if (equals && strncmp(cookie, name, sizeof name - 1) == 0 &&
		    strcspn(equals + 1, "; \t") == FW_SIGNIN_ID_SIZE - 1)
			return equals + 1;
	}
	return NULL;
}

static struct fw_signin *find(const struct fw_signins *signins, const char *cookies)
{
	struct fw_signin *found = NULL;
	const char *id;

	if (!signins->items)
		return NULL;
	while ((id = next_cookie(&cookies)))
		for (size_t i = 0; i < FW_SIGNINS_MAX; i++)
			if (fw_bytes_equal(signins->items[i].id, id, FW_SIGNIN_ID_SIZE - 1))
				found = &signins->items[i];
	return found;
}

const char *fw_signin_token(const struct fw_signins *signins, const char *cookies,
			    int64_t now_ms, size_t *ret_len)
{
	const struct fw_signin *signin = find(signins, cookies);

	if (!signin || now_ms - signin->since_ms > FW_SIGNIN_MS)
		return NULL;
	*ret_len = signin->len;
	return signin->token;
}

void fw_signin_remove(struct fw_signins *signins, const char *cookies)
{
	struct fw_signin *signin = find(signins, cookies);

	if (signin)
		drop(signin);
}

void fw_signins_clear(struct fw_signins *signins)
{
	for (size_t i = 0; signins->items && i < FW_SIGNINS_MAX; i++)
		drop(&signins->items[i]);
	fw__release(signins->items);
	memset(signins, 0, sizeof *signins);
}
