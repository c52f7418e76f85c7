/*
 * token.c - see token.h.
 *
 * Rows: kind "token", key the id, owner the name, value a JSON object. The row
 * "generation" of the kind "token-set" is added to by every change; a change is refused if
 * it has moved since the set was read, so that two commands cannot both make a token of
 * one name. The last use is a row of its own ("token-use"), so that a server that records
 * it never writes a token.
 */
#include "govern/token.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/id.h"
#include "base/json.h"
#include "base/limits.h"
#include "govern/scope.h"

static const char KIND[] = "token";
static const char USE[] = "token-use";
static const char SET[] = "token-set";
static const char GENERATION[] = "generation";
static const char PREFIX[] = "fwt_";

enum { PAGE = 256, SECRET_BYTES = 32, SWEPT = 64 };

/* A token that is not valid any more is listed for a while; then its row expires, because
 * FW_TOKENS_MAX counts it. */
static const int64_t KEPT_MS = (int64_t)90 * 24 * 3600 * 1000;

/* ---- form -------------------------------------------------------------------------- */

bool fw_token_has_form(const char *text, size_t len, const char **ret_id)
{
	if (len != FW_TOKEN_LEN || memcmp(text, PREFIX, sizeof PREFIX - 1) != 0 ||
	    text[sizeof PREFIX - 1 + FW_TOKEN_ID_LEN] != '_')
		return false;
	*ret_id = text + sizeof PREFIX - 1;
	return true;
}

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool fw_token_name_is_valid(const char *name)
{
	size_t len = strlen(name);

	if (!is_alphanumeric(name[0]) || len >= FW_TOKEN_NAME_SIZE)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_alphanumeric(name[i]) && !strchr("._-", name[i]))
			return false;
	return true;
}

enum fw_token_state fw_token_state_at(const struct fw_token *token, int64_t now_ms)
{
	if (token->revoked_ms)
		return FW_TOKEN_REVOKED;
	return token->expires_ms && token->expires_ms <= now_ms ? FW_TOKEN_EXPIRED
								: FW_TOKEN_ACTIVE;
}

/* ---- rows -------------------------------------------------------------------------- */

static bool read_hash(const char *text, unsigned char ret_hash[FW_SHA256_BYTES])
{
	if (!text || !fw_sha256_is_text(text, strlen(text)))
		return false;
	for (size_t i = 0; i < FW_SHA256_BYTES; i++)
		ret_hash[i] = (unsigned char)(fw_hex_value(text[2 * i]) << 4 |
					      fw_hex_value(text[2 * i + 1]));
	return true;
}

/* A scope that this version does not know is left out: it permits nothing. */
static size_t read_scopes(yyjson_val *list, const char *ret_scopes[FW_SCOPES_MAX])
{
	size_t count = 0, at, most;
	yyjson_val *item;

	yyjson_arr_foreach(list, at, most, item)
	{
		const char *scope = yyjson_get_str(item);

		if (scope && count < FW_SCOPES_MAX && fw_scope_is_valid(scope))
			ret_scopes[count++] = scope;
	}
	return count;
}

struct walk {
	struct fw_store *store;
	fw_token_fn *found;
	void *ctx;
	size_t count; /* of this page */
	char last[FW_LIMIT_STORE_KEY_BYTES + 1];
	bool is_out_of_memory;
};

/* A damaged row is skipped, so it grants no access. */
static void read_row(void *ctx, const struct fw_store_row *row)
{
	struct walk *walk = ctx;
	const char *scopes[FW_SCOPES_MAX];
	struct fw_token token = { .id = row->key, .scopes = scopes };
	yyjson_read_err why = { 0 };
	yyjson_doc *doc =
		fw_json_read(row->value, strlen(row->value), FW_JSON_SMALL, 0, NULL, &why);
	yyjson_val *root = yyjson_doc_get_root(doc);

	walk->count++;
	(void)snprintf(walk->last, sizeof walk->last, "%s", row->key);
	if (!doc && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		walk->is_out_of_memory = true;
	token.name = yyjson_get_str(fw_json_member(root, "name"));
	if (token.name && fw_token_name_is_valid(token.name) &&
	    strlen(row->key) == FW_TOKEN_ID_LEN &&
	    read_hash(yyjson_get_str(fw_json_member(root, "hash")), token.hash)) {
		token.scope_count = read_scopes(fw_json_member(root, "scopes"), scopes);
		token.created_ms = yyjson_get_sint(fw_json_member(root, "created_ms"));
		token.expires_ms = yyjson_get_sint(fw_json_member(root, "expires_ms"));
		token.revoked_ms = yyjson_get_sint(fw_json_member(root, "revoked_ms"));
		walk->found(walk->ctx, &token);
	}
	yyjson_doc_free(doc);
}

fw_error *fw_token_list(struct fw_store *store, fw_token_fn *found, void *ctx)
{
	struct walk walk = { .store = store, .found = found, .ctx = ctx };
	size_t total = 0;

	do {
		walk.count = 0;
		FW_TRY(fw_store_list(store, KIND, NULL, total ? walk.last : NULL, PAGE,
				     read_row, &walk));
		total += walk.count;
	} while (walk.count == PAGE && total < FW_TOKENS_MAX && !walk.is_out_of_memory);
	return walk.is_out_of_memory ? fw_raise_internal_out_of_memory() : NULL;
}

struct number {
	int64_t value;
	uint64_t version; /* FW_STORE_ABSENT: there is no row */
};

static void read_number(void *ctx, const struct fw_store_row *row)
{
	*(struct number *)ctx = (struct number){ row->number, row->version };
}

struct using
{
	struct fw_store *store;
	fw_token_fn *found;
	void *ctx;
	fw_error *err;
};

static void add_use(void *ctx, const struct fw_token *token)
{
	struct using *using = ctx;
	struct number used = { 0 };
	struct fw_token complete = *token;

	if (using->err)
		return;
	using->err = fw_store_get(using->store, USE, token->id, read_number, &used);
	complete.used_ms = used.value;
	if (!using->err)
		using->found(using->ctx, &complete);
}

fw_error *fw_token_list_used(struct fw_store *store, fw_token_fn *found, void *ctx)
{
	struct using using = { .store = store, .found = found, .ctx = ctx };

	FW_TRY(fw_token_list(store, add_use, &using));
	return using.err;
}

static fw_error *read_generation(struct fw_store *store, struct number *ret_number)
{
	struct number number = { .version = FW_STORE_ABSENT };

	FW_TRY(fw_store_get(store, SET, GENERATION, read_number, &number));
	*ret_number = number;
	return NULL;
}

fw_error *fw_token_generation(struct fw_store *store, int64_t *ret_generation)
{
	struct number number;

	FW_TRY(read_generation(store, &number));
	*ret_generation = number.value;
	return NULL;
}

/* ---- changes ----------------------------------------------------------------------- */

static void put_row(struct fw_buf *out, const struct fw_token *token)
{
	char hash[FW_SHA256_TEXT];

	fw_hex(token->hash, sizeof token->hash, hash);
	FW_BUF(out, "{\"name\":");
	fw_buf_json_str(out, token->name);
	FW_BUF(out, ",\"hash\":");
	fw_buf_json_str(out, hash);
	FW_BUF(out, ",\"scopes\":[");
	for (size_t i = 0; i < token->scope_count; i++) {
		if (i)
			FW_BUF(out, ",");
		fw_buf_json_str(out, token->scopes[i]);
	}
	FW_BUF(out, "],\"created_ms\":");
	fw_buf_i64(out, token->created_ms);
	FW_BUF(out, ",\"expires_ms\":");
	fw_buf_i64(out, token->expires_ms);
	FW_BUF(out, ",\"revoked_ms\":");
	fw_buf_i64(out, token->revoked_ms);
	FW_BUF(out, "}");
}

enum { ROWS_MAX = FW_LIMIT_STORE_CHANGES - 1 };

/* Rows that are written together. */
struct changes {
	struct number generation; /* when the set was read */
	size_t count;
	struct fw_buf values[ROWS_MAX];
	int64_t expires_ms[ROWS_MAX]; /* of the rows */
	char ids[ROWS_MAX][FW_TOKEN_ID_LEN + 1];
	char names[ROWS_MAX][FW_TOKEN_NAME_SIZE];
};

static void add_change(struct changes *changes, const struct fw_token *token)
{
	int64_t end_ms = token->revoked_ms ? token->revoked_ms : token->expires_ms;
	struct fw_buf *value;

	if (changes->count == ROWS_MAX)
		return;
	value = &changes->values[changes->count];
	fw_buf_init(value, FW_LIMIT_STORE_VALUE_BYTES);
	put_row(value, token);
	(void)snprintf(changes->ids[changes->count], sizeof changes->ids[0], "%s", token->id);
	(void)snprintf(changes->names[changes->count], sizeof changes->names[0], "%s",
		       token->name);
	changes->expires_ms[changes->count] = end_ms ? end_ms + KEPT_MS : 0;
	changes->count++;
}

static void changes_clear(struct changes *changes)
{
	for (size_t i = 0; i < changes->count; i++)
		fw_buf_clear(&changes->values[i]);
	changes->count = 0;
}

static fw_error *apply(struct fw_store *store, const struct changes *changes)
{
	struct fw_store_change rows[FW_LIMIT_STORE_CHANGES];
	struct fw_store_result result;
	size_t swept;

	rows[0] = (struct fw_store_change){ .action = FW_STORE_ADD,
					    .kind = SET,
					    .key = GENERATION,
					    .number = 1,
					    .if_version = changes->generation.version };
	for (size_t i = 0; i < changes->count; i++) {
		if (changes->values[i].state != FW_BUF_OK)
			return fw_raise_internal_out_of_memory();
		rows[i + 1] = (struct fw_store_change){ .action = FW_STORE_PUT,
							.kind = KIND,
							.key = changes->ids[i],
							.owner = changes->names[i],
							.value = changes->values[i].text,
							.expires_ms = changes->expires_ms[i] };
	}
	FW_TRY(fw_store_expire(store, SWEPT, &swept));
	FW_TRY(fw_store_apply(store, rows, changes->count + 1, &result));
	return result.is_refused ? fw_raise_resource_conflict("the set of tokens") : NULL;
}

static fw_error *check_new(const struct fw_token_new *how)
{
	if (!fw_token_name_is_valid(how->name))
		return fw_raise_input_invalid_value("name", "letters, digits, '.', '-' and "
							    "'_', up to 64");
	if (!how->scope_count || how->scope_count > FW_SCOPES_MAX)
		return fw_raise_input_invalid_value("scopes", "1 to 64 scopes");
	for (size_t i = 0; i < how->scope_count; i++)
		if (!fw_scope_is_valid(how->scopes[i]))
			return fw_raise_input_invalid_value(
				"scope", "tool:NAME, toolset:NAME, read, incidents or admin");
	if (how->expires_ms && how->expires_ms <= how->now_ms)
		return fw_raise_input_invalid_value("expires", "a time in the future");
	return NULL;
}

/* False: there is no digest. */
static bool make_text(struct fw_token_made *made, unsigned char hash[FW_SHA256_BYTES])
{
	unsigned char secret[SECRET_BYTES];
	struct fw_buf text;
	bool is_made;

	fw_random_hex(made->id, sizeof made->id);
	fw_random(secret, sizeof secret);
	fw_buf_init(&text, sizeof made->text);
	fw_base64url_put(&text, secret, sizeof secret);
	is_made = text.state == FW_BUF_OK;
	if (is_made)
		(void)snprintf(made->text, sizeof made->text, "%s%s_%s", PREFIX, made->id,
			       text.text);
	if (text.text)
		explicit_bzero(text.text, text.len);
	fw_buf_clear(&text);
	explicit_bzero(secret, sizeof secret);
	return is_made && fw_sha256(made->text, FW_TOKEN_LEN, hash);
}

static fw_error *add_new(struct changes *changes, const struct fw_token_new *how,
			 struct fw_token_made *made)
{
	struct fw_token token = { .id = made->id,
				  .name = how->name,
				  .scopes = how->scopes,
				  .scope_count = how->scope_count,
				  .created_ms = how->now_ms,
				  .expires_ms = how->expires_ms };

	if (!make_text(made, token.hash))
		return fw_raise_internal_out_of_memory();
	(void)snprintf(made->name, sizeof made->name, "%s", how->name);
	add_change(changes, &token);
	return NULL;
}

/* ---- what is asked for ------------------------------------------------------------- */

struct search {
	const char *which; /* name or id */
	int64_t now_ms;
	int64_t until_ms; /* for the tokens that are found */
	bool is_counting; /* nothing is changed */
	size_t count;
	struct changes *changes;
	/* Of the newest that was found. */
	int64_t created_ms;
	char name[FW_TOKEN_NAME_SIZE];
	char scopes[FW_SCOPES_MAX][FW_SCOPE_SIZE];
	size_t scope_count;
};

static void keep_scopes(struct search *search, const struct fw_token *token)
{
	if (search->count && token->created_ms < search->created_ms)
		return;
	search->created_ms = token->created_ms;
	search->scope_count = token->scope_count;
	(void)snprintf(search->name, sizeof search->name, "%s", token->name);
	for (size_t i = 0; i < token->scope_count; i++)
		(void)snprintf(search->scopes[i], FW_SCOPE_SIZE, "%s", token->scopes[i]);
}

static void retire(void *ctx, const struct fw_token *token)
{
	struct search *search = ctx;
	struct fw_token changed = *token;

	if ((strcmp(token->name, search->which) != 0 &&
	     strcmp(token->id, search->which) != 0) ||
	    fw_token_state_at(token, search->now_ms) != FW_TOKEN_ACTIVE)
		return;
	keep_scopes(search, token);
	search->count++;
	if (search->is_counting)
		return;
	if (search->until_ms <= search->now_ms)
		changed.revoked_ms = search->now_ms;
	else if (!changed.expires_ms || changed.expires_ms > search->until_ms)
		changed.expires_ms = search->until_ms;
	add_change(search->changes, &changed);
}

/* Consumes `err`, `changes` and `made`: applies the changes if there is no error. */
static fw_error *complete(struct fw_store *store, struct changes *changes, fw_error *err,
			  struct fw_token_made *made, struct fw_token_made *ret_made)
{
	if (!err)
		err = apply(store, changes);
	if (!err)
		*ret_made = *made;
	explicit_bzero(made, sizeof *made);
	changes_clear(changes);
	return err;
}

fw_error *fw_token_make(struct fw_store *store, const struct fw_token_new *how,
			struct fw_token_made *ret_made)
{
	struct changes changes = { .count = 0 };
	struct search search = { .which = how->name,
				 .now_ms = how->now_ms,
				 .is_counting = true };
	struct fw_token_made made = { .text = "" };
	char what[FW_TOKEN_NAME_SIZE + 32];
	fw_error *err;

	FW_TRY(check_new(how));
	FW_TRY(read_generation(store, &changes.generation));
	FW_TRY(fw_token_list(store, retire, &search));
	if (search.count) {
		(void)snprintf(what, sizeof what, "an active token \"%s\"", how->name);
		return fw_raise_resource_already_exists(what);
	}
	err = add_new(&changes, how, &made);
	return complete(store, &changes, err, &made, ret_made);
}

static fw_error *find(struct fw_store *store, struct search *search)
{
	char what[128];

	FW_TRY(read_generation(store, &search->changes->generation));
	FW_TRY(fw_token_list(store, retire, search));
	if (search->count)
		return NULL;
	(void)snprintf(what, sizeof what, "active token \"%.80s\"", search->which);
	return fw_raise_resource_not_found(what);
}

fw_error *fw_token_revoke(struct fw_store *store, const char *which, int64_t now_ms,
			  size_t *ret_count)
{
	struct changes changes = { .count = 0 };
	struct search search = { .which = which, .now_ms = now_ms, .changes = &changes };
	fw_error *err = find(store, &search);

	if (!err)
		err = apply(store, &changes);
	if (!err)
		*ret_count = search.count;
	changes_clear(&changes);
	return err;
}

fw_error *fw_token_rotate(struct fw_store *store, const char *which, int64_t now_ms,
			  int64_t until_ms, int64_t expires_ms, struct fw_token_made *ret_made)
{
	struct changes changes = { .count = 0 };
	struct search search = {
		.which = which, .now_ms = now_ms, .until_ms = until_ms, .changes = &changes
	};
	const char *scopes[FW_SCOPES_MAX];
	struct fw_token_new how = { .now_ms = now_ms, .expires_ms = expires_ms };
	struct fw_token_made made = { .text = "" };
	fw_error *err = find(store, &search);

	for (size_t i = 0; i < search.scope_count; i++)
		scopes[i] = search.scopes[i];
	how.name = search.name;
	how.scopes = scopes;
	how.scope_count = search.scope_count;
	if (!err)
		err = check_new(&how);
	if (!err)
		err = add_new(&changes, &how, &made);
	return complete(store, &changes, err, &made, ret_made);
}

fw_error *fw_token_record_use(struct fw_store *store, char (*ids)[FW_TOKEN_ID_LEN + 1],
			      const int64_t *used_ms, size_t count)
{
	struct fw_store_change rows[FW_LIMIT_STORE_CHANGES];
	struct fw_store_result result;

	for (size_t i = 0; i < count; i++)
		rows[i] = (struct fw_store_change){
			.action = FW_STORE_PUT, .kind = USE, .key = ids[i], .number = used_ms[i]
		};
	return count ? fw_store_apply(store, rows, count, &result) : NULL;
}
