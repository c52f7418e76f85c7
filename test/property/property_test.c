/*
 * property_test.c - the rules of the contracts, over a million random errors.
 *
 * Every error is made by a seeded generator: a random code, strings that are
 * hard to carry, any context, causes, scope and overrides, a random contract.
 * A failure prints the seed of its error; FW_PROPERTY_SEED=that with
 * FW_PROPERTY_N=1 makes it again.
 *
 *   property_test [N [SEED]]      or FW_PROPERTY_N, FW_PROPERTY_SEED
 */
#include <faultwire/faultwire.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif

#ifdef SANITIZED
enum { DEFAULT_COUNT = 30000 };
#else
enum { DEFAULT_COUNT = 1000000 };
#endif

enum { TEXT_MAX = 1024 * 1024, PIECE_MAX = 12000, SHOWN = 5 };

/* ---- laws ------------------------------------------------------------- */

enum law {
	LAW_JSON,
	LAW_LENGTH,
	LAW_ROUND_TRIP,
	LAW_SNIFF,
	LAW_TRANSLATE,
	LAW_STABLE,
	LAW_VALID,
	LAW_RETRY,
	LAW_EVERY_CODE,
	LAW_LEAK,
	LAW_COUNT
};

static const char *const law_text[LAW_COUNT] = {
	[LAW_JSON] = "what is encoded is one JSON object",
	[LAW_LENGTH] = "encode keeps snprintf's rules at every length of the buffer",
	[LAW_ROUND_TRIP] = "encode, decode and encode again give the same bytes",
	[LAW_SNIFF] = "sniff finds the contract that was written",
	[LAW_TRANSLATE] = "what one contract says can be said in any other",
	[LAW_STABLE] = "what was translated reads and writes as the same bytes",
	[LAW_VALID] = "what is encoded is valid in its contract",
	[LAW_RETRY] = "what is read back is never more retryable than what was written",
	[LAW_EVERY_CODE] = "every code in every contract is read back as no more retryable",
	[LAW_LEAK] = "no error is left over",
};

static struct {
	unsigned long tried, failed;
} laws[LAW_COUNT];

static uint64_t current_seed;

static void shorten(const char *text, size_t len)
{
	(void)fputs("#   ", stdout);
	for (size_t i = 0; i < len && i < 1500; i++)
		(void)putchar(text[i] == '\n' ? ' ' : text[i]);
	(void)putchar('\n');
}

static bool check(enum law law, bool holds, int contract, const char *a, size_t a_len,
		  const char *b, size_t b_len)
{
	laws[law].tried++;
	if (holds)
		return true;
	if (laws[law].failed++ < SHOWN) {
		printf("# broken: %s (%s), seed %" PRIu64 "\n", law_text[law],
		       fw_contract_name((fw_contract)contract), current_seed);
		if (a)
			shorten(a, a_len);
		if (b)
			shorten(b, b_len);
	}
	return false;
}

/* ---- chance ----------------------------------------------------------- */

static uint64_t chance;

/* xorshift64*, which is enough here and the same everywhere. */
static uint64_t next(void)
{
	chance ^= chance >> 12;
	chance ^= chance << 25;
	chance ^= chance >> 27;
	return chance * UINT64_C(2685821657736338717);
}

static size_t below(size_t n)
{
	return (size_t)((next() >> 33) % n);
}

/* Each error has a seed of its own, so that it can be made again alone. */
static void chance_start(uint64_t seed)
{
	/* splitmix64, because neighbours must not be alike */
	seed += UINT64_C(0x9e3779b97f4a7c15);
	seed = (seed ^ seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	seed = (seed ^ seed >> 27) * UINT64_C(0x94d049bb133111eb);
	chance = (seed ^ seed >> 31) | 1;
}

/* ---- strings ---------------------------------------------------------- */

static const char *const pieces[] = {
	"a",
	"path",
	"src/main.py",
	" ",
	"",
	"\"",
	"\\",
	"/",
	"'",
	"\n",
	"\r\n",
	"\t",
	"\b",
	"\f",
	"\x01",
	"\x1f",
	"\x7f",
	"\\u0041",
	"\\\\\"",
	"<b>",
	"&amp;",
	"</script>",
	"{path}",
	"%s",
	"%n",
	"{",
	"}",
	"{}",
	"[1,2]",
	"null",
	"\xc3\xa9",
	"\xe2\x80\xa8",
	"\xe2\x80\xa9",
	"\xe2\x82\xac",
	"\xf0\x9f\x98\x80",
	"\xef\xbf\xbd",
	"\xef\xbb\xbf",
	"\xf4\x8f\xbf\xbf",
	"\xe4\xb8\xad\xe6\x96\x87",
	"0123456789abcdef",
	"0123456789abcde",
	"0123456789abcdef0",
	"sixteen bytes, \"",
	"author",
	"monkey",
	"foo.test.js",
	"Bearer abcdefghijklmnop",
	"password=hunter2",
	"https://user:pass@example.org/x",
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
	"-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----",
	"token",
	"api_key",
	"{\"error\":{\"code\":\"io_error\"}}",
	"[redacted]",
	"e\xcc\x81",
	"\xe2\x80\x8f",
};

static const char *const broken_pieces[] = { "\xff",     "\xc3",     "\xed\xa0\x80",
					     "\xc0\xaf", "\xe2\x80", "\xf4\x90\x80\x80",
					     "\x80" };

static size_t string_into(char *buf, size_t cap)
{
	size_t len = 0, count = below(6) == 0 ? 0 : 1 + below(4);

	if (below(400) == 0)
		count = 100 + below(300);
	for (size_t i = 0; i < count; i++) {
		const char *piece = below(120) == 0
					    ? broken_pieces[below(sizeof(broken_pieces) /
								  sizeof(*broken_pieces))]
					    : pieces[below(sizeof(pieces) / sizeof(*pieces))];
		size_t more = strlen(piece);

		if (more >= cap - len)
			break;
		memcpy(buf + len, piece, more);
		len += more;
	}
	buf[len] = '\0';
	return len;
}

/* A few strings at once are needed: for one scope, for one row. */
static const char *string(void)
{
	static char ring[16][PIECE_MAX];
	static size_t at;

	at = (at + 1) % 16;
	(void)string_into(ring[at], sizeof(ring[at]));
	return ring[at];
}

static const char *string_or_null(void)
{
	return below(3) == 0 ? NULL : string();
}

/* ---- JSON ------------------------------------------------------------- */

static const char *const numbers[] = {
	"0",
	"1",
	"-1",
	"30",
	"0.5",
	"1.25",
	"9007199254740993",
	"18446744073709551615",
	"-9223372036854775808",
	"1e3",
	"1E+2",
	"-0.0",
	"0.1",
	"3.141592653589793",
	"5e-324",
	"1.7976931348623157e308",
	"1e21",
	"100000000000000000000",
	"-0",
	"0.0",
	"1.0",
	"12e-3",
};

static const char *const json_strings[] = {
	"\"\"",
	"\"a\"",
	"\"\\u0041\"",
	"\"\\/\"",
	"\"\\ud83d\\ude00\"",
	"\"\\u0000\"",
	"\"\\n\\t\\b\"",
	"\"\xe2\x80\xa8\"",
	"\"<>&\"",
	"\"0123456789abcdef0123456789\"",
	"\"\\\"\\\\\"",
	"\"\\u2028\"",
	"\"\\u001F\"",
	"\"Bearer abcdefghijklmnop\"",
	"\"\xf0\x9f\x98\x80\"",
};

static void json_value(char *buf, size_t cap, size_t *len, int depth);

static void json_put(char *buf, size_t cap, size_t *len, const char *text)
{
	size_t more = strlen(text);

	if (more < cap - *len) {
		memcpy(buf + *len, text, more + 1);
		*len += more;
	}
}

static void json_many(char *buf, size_t cap, size_t *len, int depth, bool object)
{
	size_t count = below(4);

	json_put(buf, cap, len, object ? "{" : "[");
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			json_put(buf, cap, len, below(4) == 0 ? " ,\n" : ",");
		if (object) {
			char key[40];

			(void)snprintf(key, sizeof(key), "\"%s%c\"%s",
				       below(8) == 0 ? "\\u00e9" : "k", (char)('a' + i),
				       below(8) == 0 ? " : " : ":");
			json_put(buf, cap, len, key);
		}
		json_value(buf, cap, len, depth + 1);
	}
	json_put(buf, cap, len, object ? "}" : "]");
}

static void json_value(char *buf, size_t cap, size_t *len, int depth)
{
	switch (below(depth < 5 ? 7 : 4)) {
	case 0:
		json_put(buf, cap, len, numbers[below(sizeof(numbers) / sizeof(*numbers))]);
		break;
	case 1: json_put(buf, cap, len, "true"); break;
	case 2: json_put(buf, cap, len, "null"); break;
	case 3:
		json_put(buf, cap, len,
			 json_strings[below(sizeof(json_strings) / sizeof(*json_strings))]);
		break;
	case 4: json_many(buf, cap, len, depth, false); break;
	default: json_many(buf, cap, len, depth, true); break;
	}
}

static const char *json(size_t *ret_len)
{
	static char ring[16][8192];
	static size_t at;
	size_t len = 0;

	at = (at + 1) % 16;
	ring[at][0] = '\0';
	json_value(ring[at], sizeof(ring[at]), &len, 0);
	*ret_len = len;
	return ring[at];
}

/* ---- errors ----------------------------------------------------------- */

static int64_t any_i64(void)
{
	static const int64_t some[] = { 0,         1,         -1,
					INT64_MAX, INT64_MIN, INT64_C(9007199254740993) };

	return below(2) ? some[below(6)] : (int64_t)next();
}

static double any_f64(void)
{
	static const double some[] = {
		0, -0.0, 0.1, 1.5, 30, 1e300, 5e-324, 9007199254740992.0
	};
	double value;
	uint64_t bits = next();

	if (below(2))
		return some[below(8)];
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static fw_error *raise_any(void)
{
	const fw_row *row = fw_registry_at(NULL, below(fw_registry_count(NULL)));
	fw_field fields[16];
	size_t count = 0;

	memset(fields, 0, sizeof(fields));
	for (size_t i = 0; i < row->param_count && i < 16; i++) {
		const fw_param *param = &row->params[i];
		fw_field *field = &fields[count];

		if (param->optional && below(2))
			continue;
		field->key = param->name;
		field->key_len = strlen(param->name);
		switch (param->type) {
		case FW_PARAM_STRING:
			field->type = FW_FIELD_STRING;
			field->string = string();
			field->string_len = strlen(field->string);
			break;
		case FW_PARAM_I64:
			field->type = FW_FIELD_I64;
			field->i64 = any_i64();
			break;
		case FW_PARAM_U64:
			field->type = FW_FIELD_U64;
			field->u64 = (uint64_t)any_i64();
			break;
		case FW_PARAM_F64:
			field->type = FW_FIELD_F64;
			field->f64 = any_f64();
			break;
		case FW_PARAM_BOOL:
			field->type = FW_FIELD_BOOL;
			field->boolean = below(2);
			break;
		case FW_PARAM_JSON:
			field->type = FW_FIELD_JSON;
			field->string = json(&field->string_len);
			break;
		}
		count++;
	}
	return fw_raise_row(FW_HERE, row, fields, count);
}

static void add_context(fw_error *err)
{
	static const char *const keys[] = {
		"path",     "retry_after", "data",           "error", "code", "k e y",
		"\"",       "\xc3\xa9",    "exception_type", "a",     "b",    "z",
		"password", "author",      "message",        ""
	};
	const char *key = below(6) == 0 ? string() : keys[below(sizeof(keys) / sizeof(*keys))];
	const char *text;
	size_t len;

	switch (below(6)) {
	case 0: fw_error_add_string(err, key, string()); break;
	case 1: fw_error_add_i64(err, key, any_i64()); break;
	case 2: fw_error_add_u64(err, key, next()); break;
	case 3: fw_error_add_f64(err, key, any_f64()); break;
	case 4: fw_error_add_bool(err, key, below(2)); break;
	default:
		text = json(&len);
		fw_error_add_json(err, key, text, len);
		break;
	}
}

static void add_empty_result(fw_error *err)
{
	static const char *const results[] = {
		"{\"path\":\"\",\"content\":\"\",\"lines\":0,\"size\":0}",
		"{\"items\":[],\"total\":0,\"truncated\":false}",
		"{\"blame\":[]}",
		"{\"commits\":[]}",
		"{\"matches\":[],\"total\":0,\"truncated\":false}",
		"{\"findings\":[],\"answer\":\"\",\"confidence\":0.0}",
		"{}",
		"[]",
		"{\"error\":1,\"problem\":2,\"a\":3}",
		"{ \"a\" : [ 1 , {} ] }",
		"{\"type\":\"INTERNAL\",\"message\":\"x\",\"recoverable\":true}",
		"{\"error_code\":\"INTERNAL_ERROR\"}",
	};
	const char *text = results[below(sizeof(results) / sizeof(*results))];

	fw_error_set_empty_result(err, text, strlen(text));
}

static fw_error *make(void)
{
	fw_error *err = raise_any();

	for (size_t n = below(4); n > 0; n--)
		add_context(err);
	for (size_t n = below(3) == 0 ? 1 + below(20) : 0; n > 0; n--)
		switch (below(4)) {
		case 0: err = fw_error_wrap(err, FW_HERE, "could not %s", string()); break;
		case 1: err = fw_error_caused_by(err, raise_any()); break;
		default:
			fw_error_add_cause(err, string(), string_or_null(), string_or_null());
			break;
		}
	if (below(6) == 0) {
		size_t len;
		const char *text = json(&len);

		fw_error_set_cause_json(err, text, len);
	}
	if (below(3) == 0) {
		const fw_scope scope = {
			.tool = string_or_null(),
			.operation = below(2) ? "files:open_file" : string_or_null(),
			.role = below(2) ? "WINDSURF" : string_or_null(),
			.session_id = string_or_null(),
			.workspace_root = string_or_null(),
			.phase_id = string_or_null(),
			.plan_hash = string_or_null(),
			.invariant_id = string_or_null(),
			.client = string_or_null(),
			.trace_id = string_or_null(),
		};

		fw_error_fill_scope(err, &scope);
	}
	if (below(4) == 0)
		fw_error_set_origin(err, (fw_origin)below(FW_ORIGIN_COUNT));
	if (below(4) == 0)
		fw_error_set_delivery(err, (fw_delivery)below(FW_DELIVERY_COUNT));
	if (below(4) == 0)
		fw_error_set_recoverable(err, below(2));
	if (below(4) == 0)
		fw_error_set_retry_after(err, any_f64());
	if (below(6) == 0)
		fw_error_set_retry(err, (fw_retry)below(FW_RETRY_COUNT));
	if (below(8) == 0)
		fw_error_set_status(err, 400 + (int)below(200));
	if (below(4) == 0)
		fw_error_set_hint(err, string());
	if (below(4) == 0)
		fw_error_set_detail(err, string());
	if (below(2) == 0)
		fw_error_set_incident_id(err, below(4) ? "inc_20260119_abcdefgh" : string());
	if (below(2) == 0)
		fw_error_set_time(err,
				  below(2) ? INT64_C(1768836730123) + (int64_t)below(1u << 30)
					   : any_i64());
	if (below(3) == 0)
		add_empty_result(err);
	return err;
}

/* ---- asking ----------------------------------------------------------- */

static char first[TEXT_MAX], second[TEXT_MAX], third[TEXT_MAX];

static bool is_object(const char *text, size_t len)
{
	static char room[16 * TEXT_MAX];
	yyjson_alc pool;
	yyjson_doc *doc;

	yyjson_alc_pool_init(&pool, room, sizeof(room));
	/* a copy is made by yyjson: the text is only looked at */
	doc = yyjson_read_opts((char *)(uintptr_t)text, len, YYJSON_READ_NUMBER_AS_RAW, &pool,
			       NULL);
	return doc && yyjson_is_obj(yyjson_doc_get_root(doc));
}

static void ask_length(const fw_error *err, int contract, const fw_encode_options *options,
		       size_t len)
{
	size_t step = 1 + len / 400;

	for (size_t cap = 0; cap <= len + 2; cap += step) {
		size_t told, kept = cap > len ? len : cap - (cap > 0);
		bool holds;

		memset(third, '~', cap + 8);
		told = fw_error_encode(err, (fw_contract)contract, options, third, cap);
		holds = told == len && memcmp(third, first, kept) == 0 &&
			(cap == 0 || third[kept] == '\0') &&
			memcmp(third + cap, "~~~~~~~~", 8) == 0;
		if (!check(LAW_LENGTH, holds, contract, first, len, third, kept))
			return;
	}
	check(LAW_LENGTH, fw_error_encode(err, (fw_contract)contract, options, NULL, 0) == len,
	      contract, first, len, NULL, 0);
}

/* Reads `text` and writes it again into `again`; SIZE_MAX where it cannot be. */
static size_t again(const char *text, size_t len, int from, int to,
		    const fw_encode_options *options, char *buf)
{
	fw_error *read = NULL;
	fw_error *err = fw_error_decode(text, len, (fw_contract)from, NULL, &read);
	size_t written;

	if (err) {
		(void)fw_error_text(err, buf, TEXT_MAX);
		fw_error_free(err);
		return SIZE_MAX;
	}
	written = fw_error_encode(read, (fw_contract)to, options, buf, TEXT_MAX);
	fw_error_free(read);
	return written;
}

struct broken {
	size_t count;
	char first[500];
};

/* To say otherwise than the registry is the raiser's right. */
static void on_violation(void *ctx, const fw_violation_info *violation)
{
	struct broken *broken = ctx;

	if (strcmp(violation->rule, "registry") == 0)
		return;
	if (broken->count++ == 0)
		(void)snprintf(broken->first, sizeof(broken->first),
			       "%s: %s: expected %s, found %s", violation->pointer,
			       violation->rule, violation->expected, violation->found);
}

/*
 * Never more retryable. A class that the raiser has lowered has no place in some
 * contracts; then only "retry unchanged" is never read where it was not written, except
 * in kaiza with a cause of the raiser's own, which has no room for it. A context field
 * called retry_after is taken for the delay, and so for the right to retry.
 */
static void ask_retry(const fw_error *err, int contract, enum law law, size_t len)
{
	fw_retry written = fw_error_retry(err), back;
	fw_error *read = NULL;
	fw_error *failed = fw_error_decode(first, len, (fw_contract)contract, NULL, &read);
	char said[256];
	fw_field field;
	bool holds;

	if (failed || fw_error_find_field(err, "retry_after", &field) ||
	    (contract == FW_KAIZA && written < fw_error_row(err)->retry && law == LAW_RETRY &&
	     fw_error_cause_count(err) > 0)) {
		fw_error_free(failed);
		fw_error_free(read);
		return;
	}
	back = fw_error_retry(read);
	holds = written == fw_error_row(err)->retry
			? back <= written
			: back != FW_RETRY_BACKOFF || written == FW_RETRY_BACKOFF;
	(void)snprintf(said, sizeof(said), "%s (%s) is read as %s (%s)", fw_error_name(err),
		       fw_retry_name(written), fw_error_name(read), fw_retry_name(back));
	check(law, holds, contract, first, len, said, strlen(said));
	fw_error_free(read);
}

/* An error of the row at `index`, in one of several forms. */
static fw_error *variant(size_t index, int form)
{
	fw_error *err = fw_row_example(fw_registry_at(NULL, index));
	size_t other = (index * 7 + (size_t)form) % fw_registry_count(NULL);

	switch (form) {
	case 1: return fw_error_wrap(err, FW_HERE, "could not read the list");
	case 2: fw_error_set_retry(err, FW_RETRY_NEVER); return err;
	case 3:
		fw_error_set_retry(err, FW_RETRY_NEVER);
		return fw_error_wrap(err, FW_HERE, "could not read the list");
	case 4:
	case 5:
	case 6: return fw_error_caused_by(err, fw_row_example(fw_registry_at(NULL, other)));
	case 7: /* the message of the cause at the end, as a wrap has it */
		return fw_error_caused_by(
			fw_error_wrap(err, FW_HERE, "could not read the list"),
			fw_row_example(fw_registry_at(NULL, other)));
	default: return err;
	}
}

static void ask_every_code(void)
{
	for (size_t i = 0; i < fw_registry_count(NULL); i++)
		for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++)
			for (int form = 0; form < 8; form++) {
				fw_error *err = variant(i, form);
				size_t len = fw_error_encode(err, (fw_contract)contract, NULL,
							     first, sizeof(first));

				ask_retry(err, contract, LAW_EVERY_CODE, len);
				fw_error_free(err);
			}
}

static void ask(uint64_t seed)
{
	fw_encode_options options = { .struct_size = sizeof(fw_encode_options) };
	long live = fw_error_live();
	int contract, other;
	size_t len, again_len;
	fw_error *err;

	current_seed = seed;
	chance_start(seed);
	err = make();
	contract = (int)below(FW_CONTRACT_COUNT);
	other = (int)below(FW_CONTRACT_COUNT);
	options.go_escape = below(4) == 0;
	options.stack = below(8) == 0;
	options.problem_base = below(8) == 0 ? "https://example.org/errors/" : NULL;

	len = fw_error_encode(err, (fw_contract)contract, &options, first, sizeof(first));
	if (len >= sizeof(first)) {
		check(LAW_JSON, false, contract, first, sizeof(first) - 1, NULL, 0);
		fw_error_free(err);
		return;
	}
	if (!check(LAW_JSON, is_object(first, len), contract, first, len, NULL, 0)) {
		fw_error_free(err);
		return;
	}
	if (below(500) == 0)
		ask_length(err, contract, &options, len);
	ask_retry(err, contract, LAW_RETRY, len);
	fw_error_free(err);

	again_len = again(first, len, contract, contract, &options, second);
	check(LAW_ROUND_TRIP, again_len == len && memcmp(first, second, len) == 0, contract,
	      first, len, second, strlen(second));
	check(LAW_SNIFF, (int)fw_sniff(first, len) == contract, contract, first, len,
	      fw_contract_name(fw_sniff(first, len)),
	      strlen(fw_contract_name(fw_sniff(first, len))));
	if (below(50) == 0) {
		struct broken broken = { 0 };
		size_t count;

		err = fw_validate(first, len, (fw_contract)contract, NULL, on_violation,
				  &broken, &count);
		check(LAW_VALID, !err && broken.count == 0, contract, first, len, broken.first,
		      strlen(broken.first));
		fw_error_free(err);
	}

	again_len = again(first, len, contract, other, &options, second);
	if (check(LAW_TRANSLATE, again_len < sizeof(second) && is_object(second, again_len),
		  other, first, len, second, strlen(second))) {
		size_t last = again(second, again_len, other, other, &options, third);

		check(LAW_STABLE, last == again_len && memcmp(second, third, last) == 0, other,
		      second, again_len, third, strlen(third));
	}
	check(LAW_LEAK, fw_error_live() == live, contract, NULL, 0, NULL, 0);
}

static uint64_t number(const char *argument, const char *name, uint64_t otherwise)
{
	const char *text = argument ? argument : getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

int main(int argc, char **argv)
{
	uint64_t count = number(argc > 1 ? argv[1] : NULL, "FW_PROPERTY_N", DEFAULT_COUNT);
	uint64_t seed = number(argc > 2 ? argv[2] : NULL, "FW_PROPERTY_SEED", 1);
	bool failed = false;

	ask_every_code();
	for (uint64_t i = 0; i < count; i++)
		ask(seed + i);
	printf("1..%d\n", LAW_COUNT);
	for (int law = 0; law < LAW_COUNT; law++) {
		bool broken = laws[law].failed > 0;

		failed = failed || broken;
		printf("%sok %d - %s (%lu of %lu, seeds %" PRIu64 " to %" PRIu64 ")\n",
		       broken ? "not " : "", law + 1, law_text[law],
		       laws[law].tried - laws[law].failed, laws[law].tried, seed,
		       seed + count - 1);
	}
	return failed;
}
