/*
 * error_cause.c - the causes of an error.
 *
 * Causes are a list in the memory of the error, outermost first. A wrap turns the
 * message into the first of them. If another error becomes the cause, its contents
 * are copied and it is freed. So the list is freed with the error, without recursion.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "core/error_impl.h"
#include "core/redact.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct fw_cause_link *fw__error_add_link(fw_error *err)
{
	struct fw_cause_link *link;

	if (!fw__error_is_mine(err) || err->cause_count >= FW_LIMIT_CAUSES ||
	    (err->last_cause && err->last_cause->kind == FW_CAUSE_JSON))
		return NULL;
	link = fw__error_take(err, sizeof(*link));
	if (!link)
		return NULL;
	memset(link, 0, sizeof(*link));
	if (err->last_cause)
		err->last_cause->next = link;
	else
		err->causes = link;
	err->last_cause = link;
	err->cause_count++;
	return link;
}

static const struct fw_text our_name = { "fw_error", 8 };

static struct fw_text code_of(const fw_error *err)
{
	const char *code = fw_error_name(err);

	return (struct fw_text){ code, strlen(code) };
}

enum { WRAP_BYTES = 1024 };

/* Words that are too long: redacted, then cut. Returns their length, -1 without memory. */
static int __attribute__((format(printf, 4, 0)))
print_long(char *to, size_t size, size_t len, const char *fmt, va_list args)
{
	size_t most = size + FW_LIMIT_REDACT_AHEAD_BYTES;
	char *text = fw__allocate(len + 1 < most ? len + 1 : most);

	if (!text)
		return -1;
	most = len + 1 < most ? len + 1 : most;
	(void)vsnprintf(text, most, fmt, args);
	len = fw_redact_cut(to, size, text, most - 1);
	fw__release(text);
	return (int)len;
}

/* Prints into `room`, unless the format is "%s" alone, as for a text from elsewhere. Returns
 * NULL without memory. */
static const char *__attribute__((format(printf, 3, 0)))
print(char *room, size_t size, const char *fmt, va_list args, size_t *ret_len)
{
	va_list again;
	int printed;

	va_copy(again, args);
	if (strcmp(fmt, "%s") == 0) {
		const char *given = va_arg(again, const char *);

		*ret_len = given ? strnlen(given, size) : size;
		if (*ret_len < size) {
			va_end(again);
			return given;
		}
		va_end(again);
		va_copy(again, args);
	}
	printed = vsnprintf(room, size, fmt, args);
	if (printed >= (int)size)
		printed = print_long(room, size, (size_t)printed, fmt, again);
	va_end(again);
	*ret_len = printed < 0 ? 0 : (size_t)printed;
	return printed < 0 ? NULL : room;
}

fw_error *fw_error_wrap(fw_error *err, fw_src at, const char *fmt, ...)
{
	char room[WRAP_BYTES];
	struct fw_cause_link *link = NULL;
	struct fw_text words;
	const char *text;
	va_list args;
	size_t len;

	if (!fw__error_is_mine(err))
		return err;
	va_start(args, fmt);
	text = print(room, sizeof(room), fmt, args, &len);
	va_end(args);
	if (!text)
		return err;
	if (err->cause_count < FW_LIMIT_CAUSES)
		link = fw__error_take(err, sizeof(*link));
	if (link) {
		*link = (struct fw_cause_link){ err->causes,  FW_CAUSE_NAMED, err->message,
						code_of(err), our_name,       err->at };
		if (!err->causes)
			err->last_cause = link;
		err->causes = link;
		err->cause_count++;
		err->at = at;
	}
	words = fw__error_copy_any(err, text, len);
	if (words.p)
		err->message = fw__error_join(err, words, err->message);
	err->plain &= ~FW_PLAIN_MESSAGE;
	return err;
}

fw_error *fw_error_caused_by(fw_error *err, fw_error *cause)
{
	struct fw_cause_link *link;

	if (!err || !cause || err == cause)
		return err ? err : cause;
	link = fw__error_add_link(err);
	if (link) {
		*link = (struct fw_cause_link){
			NULL,
			FW_CAUSE_NAMED,
			fw__error_copy(err, cause->message.p, cause->message.n),
			code_of(cause),
			our_name,
			cause->at
		};
	}
	for (const struct fw_cause_link *from = cause->causes; from; from = from->next) {
		link = fw__error_add_link(err);
		if (!link)
			break;
		*link = *from;
		link->next = NULL;
		link->message = fw__error_copy(err, from->message.p, from->message.n);
		if (from->code.p)
			link->code = fw__error_copy(err, from->code.p, from->code.n);
		if (from->name.p)
			link->name = fw__error_copy(err, from->name.p, from->name.n);
	}
	fw_error_free(cause);
	return err;
}

fw_error *fw__error_in_place_of(fw_error *err, fw_error *cause)
{
	const struct fw_cause_link *own;

	if (!fw__error_is_mine(err))
		return fw_error_caused_by(err, cause);
	own = err->causes;
	err->causes = err->last_cause = NULL;
	err->cause_count = 0;
	err = fw_error_caused_by(err, cause);
	for (; own; own = own->next) {
		struct fw_cause_link *link = fw__error_add_link(err);

		if (!link)
			break;
		*link = *own;
		link->next = NULL;
	}
	return err;
}

void fw_error_add_cause(fw_error *err, const char *message, const char *code, const char *name)
{
	struct fw_cause_link *link;

	if (!message)
		return;
	link = fw__error_add_link(err);
	if (!link)
		return;
	link->kind = code || name ? FW_CAUSE_NAMED : FW_CAUSE_TEXT;
	link->message = fw__error_copy_any(err, message, strlen(message));
	if (code)
		link->code = fw__error_copy_any(err, code, strlen(code));
	if (name)
		link->name = fw__error_copy_any(err, name, strlen(name));
}

enum fw_value_fault fw__error_set_cause_value(fw_error *err, yyjson_val *value,
					      const struct fw_value_source *source,
					      struct fw_value_where *ret_where)
{
	enum fw_value_fault fault = FW_VALUE_OK;
	struct fw_cause_link *link;
	struct fw_text text;

	if (!fw__error_is_mine(err) || !value || yyjson_is_null(value))
		return FW_VALUE_OK;
	if (yyjson_is_str(value))
		text = fw__error_copy_safe(err, yyjson_get_str(value), yyjson_get_len(value));
	else
		text = fw__error_copy_value(err, value, source, &fault, ret_where);
	link = text.p ? fw__error_add_link(err) : NULL;
	if (link) {
		link->kind = yyjson_is_obj(value) ? FW_CAUSE_JSON : FW_CAUSE_TEXT;
		link->message = text;
	}
	return fault;
}

void fw_error_set_cause_json(fw_error *err, const char *json, size_t len)
{
	yyjson_doc *doc;

	if (!fw__error_is_mine(err) || !json || len > FW_LIMIT_ENVELOPE_BYTES)
		return;
	doc = fw_value_parse(json, len);
	(void)fw__error_set_cause_value(err, yyjson_doc_get_root(doc), NULL, NULL);
	yyjson_doc_free(doc);
}
