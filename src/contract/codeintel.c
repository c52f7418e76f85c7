/*
 * codeintel.c - the tool's empty result, `error`, and an RFC 9457 `problem`.
 *
 * The empty result makes the envelope valid under the tool's own outputSchema. It is
 * that of the error, if the server has set one, otherwise that of the operation in
 * the table below.
 *
 * An unclassified failure (tool.failed) is the contract's internal-error: its text may
 * hold anything, so the client gets a fixed sentence and, in the extensions, the type of
 * what was thrown. The text itself is in the audit log and the incident.
 */
#include "base/json.h"
#include "contract/contract_impl.h"

#include <faultwire/codes.h>
#include <faultwire/raise.h>

#define TYPE_BASE "https://kgfoundry.dev/problems/"
#define INSTANCE_BASE "urn:codeintel:"

#define T(text)                        \
	{                              \
		text, sizeof(text) - 1 \
	}

static const struct tool {
	struct fw_text name;
	struct fw_text operation;
	struct fw_text empty_result;
} tools[] = {
	{ T("open_file"), T("files:open_file"),
	  T("{\"path\":\"\",\"content\":\"\",\"lines\":0,\"size\":0}") },
	{ T("list_paths"), T("files:list_paths"),
	  T("{\"items\":[],\"total\":0,\"truncated\":false}") },
	{ T("search_text"), T("search:text"),
	  T("{\"matches\":[],\"total\":0,\"truncated\":false}") },
	{ T("semantic_search"), T("semantic:search"),
	  T("{\"findings\":[],\"answer\":\"\",\"confidence\":0.0}") },
	{ T("blame_range"), T("git:blame_range"), T("{\"blame\":[]}") },
	{ T("file_history"), T("git:file_history"), T("{\"commits\":[]}") },
};

int fw_codeintel_status(const char *code)
{
	/* The same as in registry/contracts.txt, which the generator checks every
	 * built-in row against. This table is for other rows. */
	static const struct {
		const char *code;
		int status;
	} fixed[] = {
		{ "file-not-found", 404 },      { "unsupported-encoding", 415 },
		{ "invalid-parameter", 400 },   { "forbidden", 403 },
		{ "git-operation-error", 500 }, { "vector-search-error", 503 },
		{ "embedding-error", 503 },     { "internal-error", 500 },
	};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (strcmp(fixed[i].code, code) == 0)
			return fixed[i].status;
	return 0;
}

/* The tool of the error, by its operation or its name; NULL if unknown. */
static const struct tool *tool_of(const fw_error *err)
{
	struct fw_text operation = err->slots[FW_SLOT_OPERATION];
	struct fw_text name = err->slots[FW_SLOT_TOOL];

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (operation.n ? fw__text_is(tools[i].operation, operation.p, operation.n)
				: name.n && fw__text_is(tools[i].name, name.p, name.n))
			return &tools[i];
	return NULL;
}

static void write_empty_result(struct fw_out *out, const fw_error *err, const struct tool *tool)
{
	struct fw_text own = err->slots[FW_SLOT_EMPTY_RESULT];

	if (!own.p && tool)
		own = tool->empty_result;
	if (!own.p || own.n <= 2) /* missing, or {} */
		return;
	fw_out_put(out, own.p + 1, own.n - 2);
	FW_OUT(out, ",");
}

/* category:operation, neither of them empty */
static bool is_operation(const char *text)
{
	const char *colon = strchr(text, ':');

	return colon && colon != text && colon[1];
}

static void write_instance(struct fw_out *out, const fw_error *err, const struct tool *tool)
{
	struct fw_text operation = err->slots[FW_SLOT_OPERATION];

	FW_OUT(out, "\"" INSTANCE_BASE);
	if (!operation.n && tool) {
		fw_write_plain(out, tool->operation);
	} else {
		if (!operation.n)
			operation = err->slots[FW_SLOT_TOOL];
		if (!operation.n)
			operation = (struct fw_text)T("unknown");
		if (!is_operation(operation.p))
			FW_OUT(out, "tools:");
		fw_out_json_body(out, operation.p, operation.n);
	}
	FW_OUT(out, "\"");
}

/* The row that a reader will derive from `code`; the error's own row if the code is
 * foreign. */
static const fw_row *row_read(const fw_error *err, const char *code)
{
	const fw_row *row = fw_error_row(err), *reader = NULL;
	const struct fw_row_text *texts = fw__row_text_of(row);

	if (code == row->codeintel && row->reads & 1u << FW_CODEINTEL)
		return row;
	if (code == row->codeintel && texts)
		reader =
			texts->codeintel_reader ? &fw__rows[texts->codeintel_reader - 1] : NULL;
	else
		reader = fw_registry_read(NULL, FW_CODEINTEL, code);
	return reader ? reader : row;
}

/* The contract defines the status of its own codes; that of the error is ignored. */
static int status_of(const fw_error *err, const fw_row *row, const char *code)
{
	int status = fw_write_status(err), fixed;

	if (status == row->status)
		return status;
	fixed = fw_codeintel_status(code);
	return fixed ? fixed : status;
}

/* ---- extensions ---- */

static const struct fw_text unexpected = T("An unexpected error occurred");

/* The member `name` of the object that a tool threw: {"name":"TypeError",...}. */
static void write_thrown_name(struct fw_out *out, struct fw_text object)
{
	enum { NAME_MAX_BYTES = 128 };
	char room[4096];
	/* Larger ones do not fit the pool, and have no name here. */
	const struct fw_json_limits limits = { .bytes = sizeof(room) / 16, .depth = 16 };
	yyjson_alc pool;
	yyjson_doc *doc;
	const char *name;

	yyjson_alc_pool_init(&pool, room, sizeof(room));
	doc = fw_json_read(object.p, object.n, limits, YYJSON_READ_NUMBER_AS_RAW, &pool, NULL);
	name = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "name"));
	if (name && *name && strlen(name) <= NAME_MAX_BYTES)
		fw_out_json(out, name, strlen(name));
	else
		FW_OUT(out, "\"object\"");
}

/* Writes "exception_type":..., unless the error has such a field or needs none. */
static bool write_exception_type(struct fw_out *out, const fw_error *err)
{
	static const char key[] = "exception_type";
	const fw_row *row = fw_error_row(err);
	const struct fw_cause_link *cause = err->causes;

	if (row->number != FW_TOOL_FAILED && row->number != FW_INTERNAL_OUT_OF_MEMORY &&
	    row->number != FW_INTERNAL_API_MISUSE)
		return false;
	for (size_t i = 0; i < err->item_count; i++)
		if (fw__text_is(err->items[i].key, key, sizeof(key) - 1))
			return false;
	FW_OUT(out, ",\"extensions\":{\"exception_type\":");
	if (row->number != FW_TOOL_FAILED || !cause) {
		FW_OUT(out, "\"");
		fw_out_put(out, row->code, row->code_len);
		FW_OUT(out, "\"");
	} else if (cause->kind == FW_CAUSE_JSON) {
		write_thrown_name(out, cause->message);
	} else if (cause->kind == FW_CAUSE_NAMED && (cause->name.n || cause->code.n)) {
		fw_write_text(out, cause->name.n ? cause->name : cause->code);
	} else {
		FW_OUT(out, "\"string\"");
	}
	return true;
}

/*
 * The contract has no member for the retry class, which readers derive from the code. If
 * the raiser has forbidden to retry, that must not get lost.
 */
static bool write_not_retryable(struct fw_out *out, const fw_error *err, const fw_row *row)
{
	if (row->retry != FW_RETRY_BACKOFF || err->retry == FW_RETRY_BACKOFF)
		return false;
	FW_OUT(out, ",\"extensions\":{\"retryable\":false");
	return true;
}

static void write_extensions(struct fw_out *out, const fw_error *err, const fw_row *row)
{
	double delay = fw_write_delay(err, err->retry == FW_RETRY_BACKOFF &&
						   row->retry == FW_RETRY_BACKOFF);
	bool is_open = write_exception_type(out, err) || write_not_retryable(out, err, row);

	if (!is_open)
		FW_WRITE_CONTEXT(out, ",\"extensions\":{", err, delay);
	else if (err->item_count > 0 || delay >= 0)
		FW_WRITE_CONTEXT(out, ",", err, delay);
	else
		FW_OUT(out, "}");
}

static void write_detail(struct fw_out *out, const fw_error *err, bool is_known)
{
	if (is_known)
		fw_write_message(out, err);
	else
		fw_write_quoted(out, unexpected);
}

void fw_codeintel_encode(struct fw_out *out, const fw_error *err,
			 const fw_encode_options *options)
{
	struct fw_text code = fw_write_code(err, FW_CODEINTEL);
	const struct tool *tool = tool_of(err);
	const fw_row *row = row_read(err, code.p);
	bool is_known = fw_error_row(err)->number != FW_TOOL_FAILED;
	const char *once;
	size_t len;

	(void)options;
	FW_OUT(out, "{");
	write_empty_result(out, err, tool);
	FW_OUT(out, "\"error\":");
	once = out->at;
	write_detail(out, err, is_known);
	len = (size_t)(out->at - once);
	FW_OUT(out, ",\"problem\":{\"type\":\"" TYPE_BASE);
	fw_write_plain(out, code);
	FW_OUT(out, "\",\"title\":");
	/* RFC 9457: one title per type, even if several of our codes map to it. */
	fw_write_title(out, err, row);
	FW_OUT(out, ",\"status\":");
	fw_out_i64(out, status_of(err, row, code.p));
	FW_OUT(out, ",\"detail\":");
	/* It is there already, escaped, unless the buffer is full. */
	if (out->cut)
		write_detail(out, err, is_known);
	else
		fw_out_put(out, once, len);
	FW_OUT(out, ",\"instance\":");
	write_instance(out, err, tool);
	FW_OUT(out, ",\"code\":\"");
	fw_write_plain(out, code);
	FW_OUT(out, "\"");
	write_extensions(out, err, row);
	FW_OUT(out, "}}");
}

/* Only characters that can be written back between quotes without escaping. */
static bool is_kebab(const char *code)
{
	for (; *code; code++)
		if (!((*code >= 'a' && *code <= 'z') || (*code >= '0' && *code <= '9') ||
		      *code == '-'))
			return false;
	return true;
}

/* The category of an unregistered code is derived from its HTTP status. */
static const char *category_of(yyjson_val *status)
{
	double number = 0;

	if (status)
		(void)fw_value_number(status, &number);
	if (number == 401 || number == 403)
		return "auth";
	if (number == 429 || number >= 502)
		return "dependency";
	return number >= 400 && number < 500 ? "validation" : "internal";
}

static void read_operation(fw_error *err, yyjson_val *instance)
{
	const size_t base = sizeof(INSTANCE_BASE) - 1;
	struct fw_text text = fw_text_of(instance);

	if (!text.p || text.n < base || memcmp(text.p, INSTANCE_BASE, base) != 0)
		return;
	text = (struct fw_text){ text.p + base, text.n - base };
	/* Read it only if it would be written back in the same form. */
	if (is_operation(text.p) && !fw__text_is(text, "tools:unknown", 13))
		err->slots[FW_SLOT_OPERATION] = text;
}

/* Reads "retryable":false, as write_not_retryable() writes it. */
static fw_error *read_extensions(const struct fw_reading *reading, fw_error *err,
				 yyjson_val *extensions)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(extensions);
	yyjson_val *key = yyjson_obj_iter_next(&iter);
	bool is_denied = err->retry == FW_RETRY_BACKOFF &&
			 yyjson_equals_strn(key, "retryable", 9) &&
			 yyjson_is_false(yyjson_obj_iter_get_val(key));

	if (is_denied) {
		fw_error_set_retry(err, FW_RETRY_NEVER);
		err->recoverable = false;
	}
	FW_TRY(fw_read_context(reading, "/problem/extensions", err, extensions,
			       err->retry == FW_RETRY_BACKOFF));
	if (is_denied)
		memmove(err->items, err->items + 1, --err->item_count * sizeof(*err->items));
	return NULL;
}

static void read_title(fw_error *err, const char *code, yyjson_val *title)
{
	const fw_row *row = row_read(err, code);
	struct fw_text usual = err->slots[FW_SLOT_TITLE];

	if (!usual.p)
		usual = (struct fw_text){ row->title, row->title_len };
	if (title && !yyjson_equals_strn(title, usual.p, usual.n))
		fw_read_slot(err, FW_SLOT_TITLE, title);
}

/* Usually the members of the envelope are the last two. Whether they are there twice is
 * checked with the others. */
static bool ends_in_envelope(yyjson_val *root, yyjson_val **ret_values)
{
	yyjson_val *key = root + 1;
	size_t left = yyjson_is_obj(root) ? unsafe_yyjson_get_len(root) : 0;

	if (left < 2)
		return false;
	for (; left > 2; left--)
		key = unsafe_yyjson_get_next(key + 1);
	ret_values[0] = key + 1;
	ret_values[1] = key + 3;
	return (uint8_t)unsafe_yyjson_get_tag(key + 1) ==
		       (YYJSON_TYPE_STR | YYJSON_SUBTYPE_NOESC) &&
	       unsafe_yyjson_equals_strn(key, "error", 5) &&
	       unsafe_yyjson_equals_strn(key + 2, "problem", 7) && yyjson_is_obj(key + 3);
}

fw_error *fw_codeintel_decode(const struct fw_reading *reading, yyjson_val *root)
{
	enum { TYPE, TITLE, STATUS, DETAIL, INSTANCE, CODE, EXTENSIONS, MEMBERS };
	static const struct fw_member envelope_list[] = {
		FW_MEMBER("error", FW_KIND_STRING),
		FW_MEMBER("problem", FW_KIND_OBJECT),
	};
	static const struct fw_member problem_list[MEMBERS] = {
		[TYPE] = FW_MEMBER("type", FW_KIND_STRING),
		[TITLE] = FW_MEMBER("title", FW_KIND_STRING),
		[STATUS] = FW_MEMBER("status", FW_KIND_NUMBER),
		[DETAIL] = FW_MEMBER("detail", FW_KIND_STRING),
		[INSTANCE] = FW_MEMBER("instance", FW_KIND_STRING),
		[CODE] = FW_MEMBER("code", FW_KIND_STRING),
		[EXTENSIONS] = FW_MEMBER("extensions", FW_KIND_OBJECT | FW_KIND_NULL),
	};
	static const struct fw_members outer = FW_MEMBERS(envelope_list, 1 | 2);
	static const struct fw_members inner = FW_MEMBERS(problem_list, 1 << CODE);
	yyjson_val *envelope[2], *problem[MEMBERS];
	const char *code;
	const fw_row *row;
	fw_error *err;
	bool known;

	if (!ends_in_envelope(root, envelope))
		FW_TRY(fw_read_members(reading, "", root, &outer, envelope));
	FW_TRY(fw_read_members(reading, "/problem", envelope[1], &inner, problem));
	code = yyjson_get_str(problem[CODE]);
	row = fw_read_open_row(reading, FW_CODEINTEL, problem[CODE], NULL, &known);
	/* Those of a registry are. */
	if (!known && (!*code || !is_kebab(code)))
		return fw_read_malformed(reading, "/problem", "code", "must be kebab-case");
	if (!known)
		row = fw_read_open_row(reading, FW_CODEINTEL, problem[CODE],
				       category_of(problem[STATUS]), &known);
	err = fw_read_start(reading, row, envelope[0]);
	if (!known)
		fw_read_original(err, FW_CODEINTEL, problem[CODE]);
	else
		fw_read_lower_retry(reading, err);
	fw_read_status(err, problem[STATUS]);
	/* The row was found by its own code: row_read() need not look it up again. */
	read_title(err, known && !reading->registry ? row->codeintel : code, problem[TITLE]);
	read_operation(err, problem[INSTANCE]);
	FW_TRY(fw_read_empty_result(reading, "", err, root));
	return read_extensions(reading, err, problem[EXTENSIONS]);
}
