/*
 * read.c - shared by all decoders; decode.c calls them.
 *
 * A decoder lists its members in a table, in the order in which the contract writes
 * them. So each is usually found with one comparison, and missing, repeated or
 * mistyped members are detected here, with their location, for all contracts.
 */
#include "base/limits.h"
#include "contract/contract_impl.h"
#include "core/redact.h"

#include <faultwire/raise.h>
#include <stdio.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

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

static inline bool is_member(const struct fw_member *member, yyjson_val *key)
{
	size_t len = unsafe_yyjson_get_len(key);
#ifdef __SSE2__
	__m128i a, b;

	if (member->len != len)
		return false;
	a = _mm_loadu_si128((const __m128i *)(const void *)member->name);
	b = _mm_loadu_si128((const __m128i *)(const void *)unsafe_yyjson_get_str(key));
	return ((unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) | member->behind) == ~0u;
#else
	return member->len == len && memcmp(member->name, unsafe_yyjson_get_str(key), len) == 0;
#endif
}

/* The member with that name; NULL: none. */
static __attribute__((noinline)) const struct fw_member *find_member(
	const struct fw_members *members, const struct fw_member *expected, yyjson_val *key)
{
	const struct fw_member *member;

	/* Usually one after the expected one, which was left out. */
	for (member = expected; member < members->list + members->count; member++)
		if (is_member(member, key))
			return member;
	for (member = members->list; member < expected; member++)
		if (is_member(member, key))
			return member;
	return NULL;
}

/* Only a string with escapes can hold a NUL. */
static inline bool is_sound(const struct fw_member *member, yyjson_val *value)
{
	uint8_t tag = (uint8_t)unsafe_yyjson_get_tag(value);

	return member->kinds >> (tag & YYJSON_TYPE_MASK) & 1 && tag != YYJSON_TYPE_STR;
}

/* The error of a member that may have one. */
static __attribute__((noinline)) fw_error *check_member(const struct fw_reading *reading,
							const char *pointer,
							const struct fw_member *member,
							yyjson_val *value)
{
	if (member->kinds == FW_KIND_ANY)
		return NULL;
	if (!(member->kinds >> yyjson_get_type(value) & 1))
		return wrong_kind(reading, pointer, member);
	if (memchr(yyjson_get_str(value), '\0', yyjson_get_len(value)))
		return fw_read_malformed(reading, pointer, member->name, "string holds a NUL");
	return NULL;
}

fw_error *fw_read_members(const struct fw_reading *reading, const char *pointer,
			  yyjson_val *object, const struct fw_members *members,
			  yyjson_val **ret_values)
{
	/* `expected` and its value come next; the values before it are set. */
	const struct fw_member *expected = members->list, *end = expected + members->count, *at;
	yyjson_val *key, *value, **ret_value = ret_values;
	size_t left;

	if (!yyjson_is_obj(object))
		return fw_read_malformed(reading, pointer, NULL, "must be an object");
	left = unsafe_yyjson_get_len(object);
	for (key = unsafe_yyjson_get_first(object); left; key = unsafe_yyjson_get_next(value)) {
		value = key + 1;
		left--;
		at = expected;
		if (at == end || !is_member(at, key)) {
			at = find_member(members, at, key);
			if (!at)
				continue;
		}
		if (at < expected && ret_values[at - members->list])
			return fw_read_malformed(reading, pointer, at->name,
						 "key is there twice");
		if (!is_sound(at, value))
			FW_TRY(check_member(reading, pointer, at, value));
		if (at < expected) {
			ret_values[at - members->list] = value;
			continue;
		}
		for (; expected < at; expected++)
			*ret_value++ = NULL;
		*ret_value++ = value;
		expected++;
	}
	for (; expected < end; expected++)
		*ret_value++ = NULL;
	for (uint32_t required = members->required; required; required &= required - 1)
		if (!ret_values[__builtin_ctz(required)])
			return fw_read_malformed(reading, pointer,
						 members->list[__builtin_ctz(required)].name,
						 "is missing");
	return NULL;
}

fw_error *fw_read_error_member(const struct fw_reading *reading, yyjson_val *root,
			       yyjson_val **ret_object)
{
	static const struct fw_member list[] = { FW_MEMBER("error", FW_KIND_OBJECT) };
	static const struct fw_members members = FW_MEMBERS(list, 1);
	yyjson_val *key = root + 1;

	/* Usually there is nothing else. */
	if (yyjson_is_obj(root) && unsafe_yyjson_get_len(root) == 1 &&
	    is_member(&list[0], key) && yyjson_is_obj(key + 1)) {
		*ret_object = key + 1;
		return NULL;
	}
	return fw_read_members(reading, "", root, &members, ret_object);
}

struct fw_text fw_read_safe(fw_error *err, struct fw_text text)
{
	if (fw_redact_find(text.p, text.n) == text.n)
		return text;
	return fw__error_copy_safe(err, text.p, text.n);
}

fw_error *fw_read_start(const struct fw_reading *reading, const fw_row *row,
			yyjson_val *message)
{
	fw_error *err = reading->target;

	fw__error_set_row(err, row);
	if (message)
		err->message = fw_read_text(err, message);
	err->plain &= ~FW_PLAIN_MESSAGE;
	if (!err->message.p)
		err->message = (struct fw_text){ row->title, row->title_len };
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

void fw_read_slot_but(fw_error *err, enum fw_slot slot, yyjson_val *value,
		      struct fw_text filler)
{
	if (yyjson_is_str(value) && yyjson_get_len(value) > 0 &&
	    !yyjson_equals_strn(value, filler.p, filler.n))
		fw_read_slot(err, slot, value);
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

/* A member that is shown as "[redacted]": because of its key, or with its key, if that holds
 * a secret. */
static bool hide_item(fw_error *err, struct fw_item *item, yyjson_val *key, yyjson_val *value)
{
	static const struct fw_text redacted = { FW_REDACTED, sizeof(FW_REDACTED) - 1 };
	fw_field other;

	if (fw_redact_key_holds_secret(item->key.p, item->key.n)) {
		/* One of them stands for all. */
		if (fw_error_find_field(err, redacted.p, &other))
			err->item_count--;
		item->key = redacted;
	} else if (!fw_value_is_secret_member(key, value)) {
		return false;
	}
	item->type = FW_FIELD_STRING;
	item->as.text = redacted;
	return true;
}

static __attribute__((noinline)) fw_error *read_json_item(const struct fw_reading *reading,
							  const char *pointer, fw_error *err,
							  struct fw_item *item,
							  yyjson_val *value)
{
	struct fw_value_where where;
	enum fw_value_fault fault;

	where.pointer[0] = '\0'; /* the rest need not be cleared each time */
	item->type = FW_FIELD_JSON;
	item->as.text = fw__error_copy_value(err, value, reading->source, &fault, &where);
	return fw_read_fault(reading, fault, pointer, item->key.p, &where);
}

/* Fills an item whose key is known. */
static inline fw_error *read_item(const struct fw_reading *reading, const char *pointer,
				  fw_error *err, struct fw_item *item, yyjson_val *value)
{
	switch (unsafe_yyjson_get_type(value)) {
	case YYJSON_TYPE_STR:
		item->type = FW_FIELD_STRING;
		item->as.text = fw_read_text(err, value);
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
	return read_json_item(reading, pointer, err, item, value);
}

static bool has_item(const fw_error *err, struct fw_text key)
{
	for (size_t i = 0; i < err->item_count; i++)
		if (err->items[i].key.n == key.n &&
		    memcmp(err->items[i].key.p, key.p, key.n) == 0)
			return true;
	return false;
}

/* Whether the member is the delay, which is not a field then. */
static fw_error *read_delay(const struct fw_reading *reading, const char *pointer,
			    fw_error *err, yyjson_val *value, bool *ret_is_delay)
{
	double delay;

	*ret_is_delay = false;
	if (!fw_value_number(value, &delay) || delay < 0)
		return NULL;
	if (err->retry_after >= 0)
		return fw_read_malformed(reading, pointer, "retry_after", "key is there twice");
	fw_error_set_retry_after(err, delay);
	*ret_is_delay = err->retry_after >= 0;
	return NULL;
}

fw_error *fw_read_context(const struct fw_reading *reading, const char *pointer, fw_error *err,
			  yyjson_val *object, bool take_delay)
{
	yyjson_val *key, *value;
	size_t left;

	if (!object || yyjson_is_null(object))
		return NULL;
	left = yyjson_obj_size(object);
	if (left > FW_LIMIT_FIELDS)
		return fw_read_malformed(reading, pointer, NULL, "has too many members");
	if (!left)
		return NULL;
	if (!fw__error_items_room(err, left))
		return fw_raise_internal_out_of_memory();
	for (key = unsafe_yyjson_get_first(object); left; key = unsafe_yyjson_get_next(value)) {
		const struct fw_text name = { unsafe_yyjson_get_str(key),
					      unsafe_yyjson_get_len(key) };
		struct fw_item *item;

		value = key + 1;
		left--;
		if (has_item(err, name))
			return fw_read_malformed(reading, pointer, name.p,
						 "key is there twice");
		if (take_delay && unsafe_yyjson_equals_strn(key, "retry_after", 11)) {
			bool is_delay;

			FW_TRY(read_delay(reading, pointer, err, value, &is_delay));
			if (is_delay)
				continue;
		}
		item = &err->items[err->item_count++];
		*item = (struct fw_item){ .key = name };
		if (err->keep_secrets || !hide_item(err, item, key, value))
			FW_TRY(read_item(reading, pointer, err, item, value));
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

const fw_row *fw_read_open_row(const struct fw_reading *reading, fw_contract contract,
			       yyjson_val *code, const char *category, bool *ret_known)
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
	const fw_row *row = fw__registry_read(reading->registry, contract, fw_text_of(code));

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

/* Two digits; 100 if they are none. */
static inline unsigned two_digits(const char *text)
{
	unsigned tens = (unsigned char)text[0] - (unsigned)'0';
	unsigned ones = (unsigned char)text[1] - (unsigned)'0';

	return tens > 9 || ones > 9 ? 100 : 10 * tens + ones;
}

/* RFC 3339, as in the published schemas. */
static bool is_time(const char *t, size_t len)
{
	if (len < 20 || two_digits(t) > 99 || two_digits(t + 2) > 99 || t[4] != '-' ||
	    two_digits(t + 5) - 1 > 11 || t[7] != '-' || two_digits(t + 8) - 1 > 30 ||
	    t[10] != 'T' || two_digits(t + 11) > 23 || t[13] != ':' ||
	    two_digits(t + 14) > 59 || t[16] != ':' || two_digits(t + 17) > 60)
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
	return (*t == '+' || *t == '-') && two_digits(t + 1) <= 23 && t[3] == ':' &&
	       two_digits(t + 4) <= 59 && !t[6];
}

fw_error *fw_read_check_time(const struct fw_reading *reading, yyjson_val *value)
{
	if (yyjson_is_str(value) && !is_time(yyjson_get_str(value), yyjson_get_len(value)))
		return fw_read_malformed(reading, "", "timestamp", "must be an RFC 3339 time");
	return NULL;
}

void fw_read_original(fw_error *err, fw_contract contract, yyjson_val *code)
{
	fw_read_slot(err, FW_SLOT_ORIGINAL_CODE, code);
	err->original_contract = (uint8_t)contract;
}
