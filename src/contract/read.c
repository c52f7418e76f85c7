/*
 * read.c - shared by all decoders; decode.c calls them.
 *
 * A decoder lists its members in a table, in the order in which the contract writes
 * them. So each is usually found with one comparison, and missing, repeated or
 * mistyped members are detected here, with their location, for all contracts.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "contract/contract_impl.h"
#include "core/redact.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>
#include <stdio.h>

fw_error *fw_read_malformed(const struct fw_reading *reading, const char *pointer,
			    const char *name, const char *reason)
{
	char whole[256];
	struct fw_out out;

	fw_out_init(&out, whole, sizeof(whole));
	fw_out_str(&out, pointer);
	if (name)
		fw_value_pointer_put(&out, name, strlen(name));
	fw_out_finish(&out, sizeof(whole));
	return fw_raise_contract_malformed(fw_contract_name(reading->contract), whole, NULL,
					   reason);
}

static inline unsigned kind_of(yyjson_val *value)
{
	static const uint8_t kinds[] = {
		[YYJSON_TYPE_STR] = FW_KIND_STRING,
		[YYJSON_TYPE_NULL] = FW_KIND_NULL,
		[YYJSON_TYPE_OBJ] = FW_KIND_OBJECT,
		[YYJSON_TYPE_BOOL] = FW_KIND_BOOL,
		[YYJSON_TYPE_RAW] = FW_KIND_NUMBER,
		[YYJSON_TYPE_NUM] = FW_KIND_NUMBER,
		[YYJSON_TYPE_ARR] = 0, /* no contract has arrays */
	};

	return kinds[unsafe_yyjson_get_type(value)];
}

static fw_error *wrong_kind(const struct fw_reading *reading, const char *pointer,
			    const struct fw_member *member)
{
	static const struct {
		unsigned kind;
		const char *name;
	} names[] = { { FW_KIND_STRING, "a string" },
		      { FW_KIND_OBJECT, "an object" },
		      { FW_KIND_BOOL, "true or false" },
		      { FW_KIND_NUMBER, "a number" },
		      { FW_KIND_NULL, "null" } };
	char reason[96] = "must be ";
	size_t len = strlen(reason);
	bool first = true;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(member->kinds & names[i].kind))
			continue;
		len += (size_t)snprintf(reason + len, sizeof(reason) - len, "%s%s",
					first ? "" : " or ", names[i].name);
		first = false;
	}
	return fw_read_malformed(reading, pointer, member->name, reason);
}

/* Member names usually have 4 to 16 bytes: compare two overlapping words. */
static inline bool is_same(const char *a, const char *b, size_t len)
{
	uint64_t a8[2], b8[2];
	uint32_t a4[2], b4[2];

	if (len < 4 || len > 16)
		return memcmp(a, b, len) == 0;
	if (len >= 8) {
		memcpy(&a8[0], a, 8);
		memcpy(&a8[1], a + len - 8, 8);
		memcpy(&b8[0], b, 8);
		memcpy(&b8[1], b + len - 8, 8);
		return ((a8[0] ^ b8[0]) | (a8[1] ^ b8[1])) == 0;
	}
	memcpy(&a4[0], a, 4);
	memcpy(&a4[1], a + len - 4, 4);
	memcpy(&b4[0], b, 4);
	memcpy(&b4[1], b + len - 4, 4);
	return ((a4[0] ^ b4[0]) | (a4[1] ^ b4[1])) == 0;
}

fw_error *fw_read_members(const struct fw_reading *reading, const char *pointer,
			  yyjson_val *object, const struct fw_member *members, size_t count,
			  yyjson_val **ret_values)
{
	size_t expected = 0, left;
	yyjson_val *key, *value;

	if (!yyjson_is_obj(object))
		return fw_read_malformed(reading, pointer, NULL, "must be an object");
	memset(ret_values, 0, count * sizeof(*ret_values));
	left = unsafe_yyjson_get_len(object);
	for (key = unsafe_yyjson_get_first(object); left; key = unsafe_yyjson_get_next(value)) {
		const char *name = unsafe_yyjson_get_str(key);
		size_t len = unsafe_yyjson_get_len(key), i = expected;

		value = key + 1;
		left--;

		/* Try the expected member first, then all others. */
		for (size_t tried = 0; tried < count; tried++) {
			if (members[i].len == len && is_same(members[i].name, name, len))
				goto found;
			i = i + 1 < count ? i + 1 : 0;
		}
		continue;
found:
		expected = i + 1 < count ? i + 1 : 0;
		if (ret_values[i])
			return fw_read_malformed(reading, pointer, members[i].name,
						 "key is there twice");
		if (!(members[i].kinds & (kind_of(value) | FW_KIND_ANY)))
			return wrong_kind(reading, pointer, &members[i]);
		if (unsafe_yyjson_get_tag(value) == YYJSON_TYPE_STR &&
		    !(members[i].kinds & FW_KIND_ANY) &&
		    memchr(yyjson_get_str(value), '\0', yyjson_get_len(value)))
			return fw_read_malformed(reading, pointer, members[i].name,
						 "string holds a NUL");
		ret_values[i] = value;
	}
	for (size_t i = 0; i < count; i++)
		if (members[i].required && !ret_values[i])
			return fw_read_malformed(reading, pointer, members[i].name,
						 "is missing");
	return NULL;
}

/*
 * A string value as a text of the error. It was parsed in the error's memory, so it
 * is in place and NUL-terminated.
 */
static struct fw_text text_of(fw_error *err, yyjson_val *value)
{
	struct fw_text text = { yyjson_get_str(value), yyjson_get_len(value) };

	if (err->keep_secrets || fw_redact_find(text.p, text.n) == text.n)
		return text;
	return fw__error_copy_safe(err, text.p, text.n);
}

fw_error *fw_read_start(const struct fw_reading *reading, const fw_row *row,
			yyjson_val *message)
{
	fw_error *err = reading->target;

	fw__error_set_row(err, row);
	if (message)
		err->message = text_of(err, message);
	err->plain &= ~FW_PLAIN_MESSAGE;
	if (!err->message.p)
		err->message = (struct fw_text){ row->title, strlen(row->title) };
	return err;
}

void fw_read_lower_retry(const struct fw_reading *reading, fw_error *err)
{
	fw_retry retry = fw_row_retry_in(err->row, reading->contract);

	if (retry >= (fw_retry)err->retry)
		return;
	if (err->retry == FW_RETRY_BACKOFF)
		err->recoverable = false;
	fw_error_set_retry(err, retry);
}

void fw_read_slot(fw_error *err, enum fw_slot slot, yyjson_val *value)
{
	if (yyjson_is_str(value))
		err->slots[slot] = text_of(err, value);
}

void fw_read_slot_but(fw_error *err, enum fw_slot slot, yyjson_val *value,
		      struct fw_text filler)
{
	if (yyjson_is_str(value) && yyjson_get_len(value) > 0 &&
	    !yyjson_equals_strn(value, filler.p, filler.n))
		err->slots[slot] = text_of(err, value);
}

/* Integers that fit become numbers; others stay text. */
static bool read_integer(yyjson_val *value, int64_t *ret_number)
{
	const char *text = yyjson_get_raw(value);
	size_t len = yyjson_get_len(value), at = 0;
	int64_t number = 0;
	bool negative = len && text[0] == '-';

	if (negative)
		at++;
	if (len - at > 18 || (negative && text[at] == '0'))
		return false;
	for (; at < len; at++) {
		if (text[at] < '0' || text[at] > '9')
			return false;
		number = number * 10 + (text[at] - '0');
	}
	*ret_number = negative ? -number : number;
	return true;
}

fw_error *fw_read_fault(const struct fw_reading *reading, enum fw_value_fault fault,
			const char *pointer, const char *key,
			const struct fw_value_where *where)
{
	char whole[512];
	struct fw_out out;

	if (fault == FW_VALUE_OK)
		return NULL;
	fw_out_init(&out, whole, sizeof(whole));
	fw_out_str(&out, pointer);
	if (key)
		fw_value_pointer_put(&out, key, strlen(key));
	fw_out_str(&out, where->pointer);
	fw_out_finish(&out, sizeof(whole));
	return fw_value_error(FW_HERE, fault, fw_contract_name(reading->contract), whole);
}

static fw_error *read_item(const struct fw_reading *reading, const char *pointer, fw_error *err,
			   yyjson_val *key, yyjson_val *value)
{
	struct fw_text name = { yyjson_get_str(key), yyjson_get_len(key) };
	bool is_hidden = !err->keep_secrets && fw_redact_key_holds_secret(name.p, name.n);
	struct fw_item *item;
	struct fw_value_where where;
	enum fw_value_fault fault;
	fw_field other;

	where.pointer[0] = '\0'; /* the rest need not be cleared each time */
	if (is_hidden) {
		name = (struct fw_text){ FW_REDACTED, sizeof(FW_REDACTED) - 1 };
		if (fw_error_find_field(err, name.p, &other))
			return NULL;
	}
	item = fw__error_append_item(err, name);
	if (!item)
		return fw_raise_internal_out_of_memory();
	if (is_hidden) {
		item->type = FW_FIELD_STRING;
		item->as.text = name;
		return NULL;
	}
	if (!err->keep_secrets && fw_value_is_secret_member(key, value)) {
		item->type = FW_FIELD_STRING;
		item->as.text = (struct fw_text){ "[redacted]", 10 };
		return NULL;
	}
	switch (yyjson_get_type(value)) {
	case YYJSON_TYPE_STR:
		item->type = FW_FIELD_STRING;
		item->as.text = text_of(err, value);
		return item->as.text.p ? NULL : fw_raise_internal_out_of_memory();
	case YYJSON_TYPE_BOOL:
		item->type = FW_FIELD_BOOL;
		item->as.boolean = yyjson_get_bool(value);
		return NULL;
	case YYJSON_TYPE_RAW:
		item->type = FW_FIELD_I64;
		if (read_integer(value, &item->as.i64))
			return NULL;
		break;
	default: break;
	}
	item->type = FW_FIELD_JSON;
	item->as.text = fw__error_copy_value(err, value, reading->source, &fault, &where);
	return fw_read_fault(reading, fault, pointer, item->key.p, &where);
}

fw_error *fw_read_context(const struct fw_reading *reading, const char *pointer, fw_error *err,
			  yyjson_val *object, bool take_delay)
{
	size_t index, max;
	yyjson_val *key, *value;

	if (!object || yyjson_is_null(object))
		return NULL;
	if (yyjson_obj_size(object) > FW_LIMIT_FIELDS)
		return fw_read_malformed(reading, pointer, NULL, "has too many members");
	yyjson_obj_foreach(object, index, max, key, value)
	{
		double delay;

		for (size_t i = 0; i < err->item_count; i++)
			if (fw__text_is(err->items[i].key, yyjson_get_str(key),
					yyjson_get_len(key)))
				return fw_read_malformed(reading, pointer, err->items[i].key.p,
							 "key is there twice");
		if (take_delay && yyjson_equals_strn(key, "retry_after", 11) &&
		    fw_value_number(value, &delay) && delay >= 0) {
			if (err->retry_after >= 0)
				return fw_read_malformed(reading, pointer, "retry_after",
							 "key is there twice");
			fw_error_set_retry_after(err, delay);
			if (err->retry_after >= 0)
				continue;
		}
		FW_TRY(read_item(reading, pointer, err, key, value));
	}
	return NULL;
}

fw_error *fw_read_cause(const struct fw_reading *reading, const char *pointer, fw_error *err,
			yyjson_val *value)
{
	struct fw_value_where where;

	return fw_read_fault(reading,
			     fw__error_set_cause_value(err, value, reading->source, &where),
			     pointer, NULL, &where);
}

fw_error *fw_read_empty_result(const struct fw_reading *reading, const char *pointer,
			       fw_error *err, yyjson_val *object)
{
	struct fw_value_where where;

	if (!object)
		return NULL;
	where.pointer[0] = '\0';
	return fw_read_fault(reading,
			     fw__error_set_empty_value(err, object, reading->source, &where),
			     pointer, NULL, &where);
}

void fw_read_retry_after(fw_error *err, yyjson_val *value)
{
	double delay;

	if (value && err->retry == FW_RETRY_BACKOFF && fw_value_number(value, &delay))
		fw_error_set_retry_after(err, delay);
}

void fw_read_retryable(fw_error *err, yyjson_val *value)
{
	if (yyjson_is_true(value))
		fw_error_set_retry(err, FW_RETRY_BACKOFF);
	else if (yyjson_is_false(value) && err->retry == FW_RETRY_BACKOFF)
		fw_error_set_retry(err, FW_RETRY_NEVER);
}

void fw_read_status(fw_error *err, yyjson_val *value)
{
	double status;

	if (value && fw_value_number(value, &status) && status >= 400 && status <= 599)
		fw_error_set_status(err, (int)status);
}

const fw_row *fw_read_open_row(const struct fw_reading *reading, const char *code,
			       const char *category, bool *ret_known)
{
	static const struct {
		const char *category;
		int number;
	} general[] = {
		{ "validation", FW_INPUT_INVALID_VALUE },
		{ "compatibility", FW_INTERNAL_UNSUPPORTED },
		{ "governance", FW_POLICY_VIOLATION },
		{ "auth", FW_AUTH_FORBIDDEN },
		{ "runtime", FW_RUNTIME_TIMEOUT },
		{ "dependency", FW_DEPENDENCY_UNAVAILABLE },
	};
	const fw_row *row = fw_registry_read(reading->registry, reading->contract, code);

	*ret_known = row != NULL;
	if (row)
		return row;
	for (size_t i = 0; category && i < sizeof(general) / sizeof(general[0]); i++)
		if (strcmp(general[i].category, category) == 0)
			return fw_registry_number(NULL, general[i].number);
	return fw_registry_number(NULL, FW_INTERNAL_UNEXPECTED);
}

/* Snake case: begins with a letter; no underscore at the end or after another. */
static const char *skip_snake(const char *text)
{
	if (*text < 'a' || *text > 'z')
		return NULL;
	while ((*text >= 'a' && *text <= 'z') || (*text >= '0' && *text <= '9') ||
	       (*text == '_' && text[1] != '_' && text[1] != '.' && text[1]))
		text++;
	return text;
}

bool fw_read_is_code(const char *code)
{
	const char *dot = skip_snake(code);
	const char *end = dot && *dot == '.' ? skip_snake(dot + 1) : NULL;

	return end && !*end;
}

static bool in_range(const char *digits, int low, int high)
{
	int value;

	if (digits[0] < '0' || digits[0] > '9' || digits[1] < '0' || digits[1] > '9')
		return false;
	value = 10 * (digits[0] - '0') + (digits[1] - '0');
	return value >= low && value <= high;
}

/* RFC 3339, as in the published schemas. */
static bool is_time(const char *t, size_t len)
{
	if (len < 20 || !in_range(t, 0, 99) || !in_range(t + 2, 0, 99) || t[4] != '-' ||
	    !in_range(t + 5, 1, 12) || t[7] != '-' || !in_range(t + 8, 1, 31) || t[10] != 'T' ||
	    !in_range(t + 11, 0, 23) || t[13] != ':' || !in_range(t + 14, 0, 59) ||
	    t[16] != ':' || !in_range(t + 17, 0, 60))
		return false;
	t += 19;
	if (*t == '.') {
		if (t[1] < '0' || t[1] > '9')
			return false;
		for (t++; *t >= '0' && *t <= '9'; t++)
			;
	}
	if (*t == 'Z')
		return !t[1];
	return (*t == '+' || *t == '-') && in_range(t + 1, 0, 23) && t[3] == ':' &&
	       in_range(t + 4, 0, 59) && !t[6];
}

fw_error *fw_read_check_time(const struct fw_reading *reading, yyjson_val *value)
{
	if (yyjson_is_str(value) && !is_time(yyjson_get_str(value), yyjson_get_len(value)))
		return fw_read_malformed(reading, "", "timestamp", "must be an RFC 3339 time");
	return NULL;
}

void fw_read_original(const struct fw_reading *reading, fw_error *err, yyjson_val *code)
{
	fw_read_slot(err, FW_SLOT_ORIGINAL_CODE, code);
	err->original_contract = (uint8_t)reading->contract;
}
