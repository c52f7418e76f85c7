/*
 * fwgen_keys.c - parses the values of the keys of a stanza.
 *
 * A fault is reported and replaced by a harmless value, so that one run reports all
 * faults of a stanza.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fwgen.h"

const char *const category_names[] = { "validation", "compatibility", "governance", "auth",
				       "runtime",    "dependency",    "internal",   NULL };
const char *const type_names[] = { "NOT_FOUND", "CONFLICT", "VALIDATION", "PERMISSION",
				   "TRANSIENT", "INTERNAL", NULL };
const char *const retry_names[] = { "never", "after_fix", "backoff", NULL };
const char *const severity_names[] = { "warning", "critical", NULL };
const char *const origin_names[] = { "client",  "policy",    "tool",     "server",
				     "gateway", "transport", "upstream", NULL };
const char *const contract_names[] = { "kaiza",     "context-v0", "codeintel",
				       "toolerror", "owlclaw",    NULL };
const char *const param_type_names[] = { "string", "i64", "u64", "f64", "bool", "json", NULL };

static const char *const bool_names[] = { "false", "true", NULL };
static const char *const style_names[] = { "contract", NULL };
static const char *const reply_names[] = { "protocol", NULL };

int name_index(const char *const *names, const char *name)
{
	for (int i = 0; names[i]; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return -1;
}

int parse_name(const char *file, unsigned line, const char *what, const char *const *names,
	       const char *word)
{
	int index = name_index(names, word);
	char *all;

	if (index >= 0)
		return index;
	all = keep_text("", 0);
	for (int i = 0; names[i]; i++)
		all = keep_format("%s%s%s", all, i ? ", " : "", names[i]);
	complain(file, line, "%s must be one of %s, not \"%s\"", what, all, word);
	return 0;
}

int parse_number(const char *file, unsigned line, const char *what, int least, int most,
		 const char *word)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(word, &end, 10);
	if (errno == 0 && *word && !*end && number >= least && number <= most)
		return (int)number;
	complain(file, line, "%s must be a number from %d to %d, not \"%s\"", what, least, most,
		 word);
	return least;
}

/* Is it words of lower-case letters and digits, joined by `joint`? */
static bool is_joined(const char *text, size_t len, char joint)
{
	bool at_start = true;

	if (len == 0 || !islower((unsigned char)text[0]))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] == joint && !at_start)
			at_start = true;
		else if (islower((unsigned char)text[i]) || isdigit((unsigned char)text[i]))
			at_start = false;
		else
			return false;
	}
	return !at_start;
}

/* ---- code, class, projections ---- */

static void parse_code(struct row *row)
{
	char *at = keep_text(row->text[KEY_CODE], strlen(row->text[KEY_CODE]));
	const char *number = next_word(&at), *code = next_word(&at), *dot;
	unsigned line = row->line[KEY_CODE];

	row->code = code ? code : "";
	if (!number || !code || next_word(&at)) {
		complain(row->file, line, "code must be a number and a name");
		return;
	}
	row->number = parse_number(row->file, line, "code number", 1, NUMBER_MAX, number);
	dot = strchr(code, '.');
	/* No underscore in the domain, so that fw_raise_a_b_c is unambiguous. */
	if (!dot || memchr(code, '_', (size_t)(dot - code)) ||
	    !is_joined(code, (size_t)(dot - code), '_') ||
	    !is_joined(dot + 1, strlen(dot + 1), '_'))
		complain(row->file, line, "\"%s\" is not of the form domain.snake_case_reason",
			 code);
}

static void parse_class(struct row *row)
{
	char *at = keep_text(row->text[KEY_CLASS], strlen(row->text[KEY_CLASS]));
	const char *category = next_word(&at), *type = next_word(&at), *retry = next_word(&at);
	unsigned line = row->line[KEY_CLASS];

	if (!category || !type || !retry || next_word(&at)) {
		complain(row->file, line, "class must be a category, a type and a retry class");
		return;
	}
	row->category = parse_name(row->file, line, "category", category_names, category);
	row->type = parse_name(row->file, line, "type", type_names, type);
	row->retry = parse_name(row->file, line, "retry class", retry_names, retry);
}

static void parse_since(struct row *row)
{
	unsigned major, minor;
	char rest;

	if (sscanf(row->text[KEY_SINCE], "%3u.%3u%c", &major, &minor, &rest) != 2)
		complain(row->file, row->line[KEY_SINCE],
			 "since must be a release like 0.1, not \"%s\"", row->text[KEY_SINCE]);
}

/* The default name of a code: the canonical one with hyphens. */
static const char *default_codeintel(const char *code)
{
	char *kebab = keep_text(code, strlen(code));

	for (char *at = kebab; *at; at++) {
		if (*at == '.' || *at == '_')
			*at = '-';
	}
	return kebab;
}

static void parse_projections(struct row *row)
{
	const char *codeintel = row->text[KEY_CODEINTEL];

	row->code_in[KAIZA] = row->text[KEY_KAIZA];
	row->code_in[CONTEXT_V0] = row->text[KEY_CONTEXT_V0];
	row->code_in[TOOLERROR] = type_names[row->type];
	row->code_in[OWLCLAW] = row->code;
	row->code_in[CODEINTEL] = codeintel ? codeintel : default_codeintel(row->code);
	/* A default name is unique to this row, so it can always be read back. */
	if (!codeintel)
		row->reads |= 1u << CODEINTEL;
	else if (!is_joined(codeintel, strlen(codeintel), '-'))
		complain(row->file, row->line[KEY_CODEINTEL], "\"%s\" is not kebab-case",
			 codeintel);
}

static void parse_reads(struct row *row)
{
	char *at, *word;

	if (!row->text[KEY_READS])
		return;
	at = keep_text(row->text[KEY_READS], strlen(row->text[KEY_READS]));
	while ((word = next_word(&at))) {
		int contract = parse_name(row->file, row->line[KEY_READS],
					  "a contract that is read", contract_names, word);

		if (contract == OWLCLAW)
			complain(row->file, row->line[KEY_READS],
				 "owlclaw reads every code as itself: leave it out");
		row->reads |= 1u << contract;
	}
}

/* ---- parameters ---- */

/* Names used by the generated C code or by the envelopes, and C++ keywords. */
static const char *const taken_param_names[] = {
	"at",     "fields",   "filled",  "retry_after", "auto",     "break",   "case",
	"catch",  "char",     "class",   "const",       "continue", "default", "delete",
	"do",     "double",   "else",    "enum",        "explicit", "export",  "extern",
	"false",  "float",    "for",     "friend",      "goto",     "if",      "inline",
	"int",    "long",     "mutable", "namespace",   "new",      "not",     "operator",
	"or",     "private",  "public",  "register",    "return",   "short",   "signed",
	"sizeof", "static",   "struct",  "switch",      "template", "this",    "throw",
	"true",   "try",      "typedef", "union",       "unsigned", "using",   "virtual",
	"void",   "volatile", "while",   "xor",         NULL
};

static void parse_param(struct row *row, char *word)
{
	unsigned line = row->line[KEY_PARAMS];
	struct param *param;
	char *type = strchr(word, ':');
	size_t len = strlen(word);

	if (!type) {
		complain(row->file, line, "parameter \"%s\" has no type", word);
		return;
	}
	if (row->param_count == PARAMS_MAX) {
		complain(row->file, line, "more than %d parameters", PARAMS_MAX);
		return;
	}
	param = &row->params[row->param_count++];
	param->optional = word[len - 1] == '?';
	param->message_only = word[len - 1] == '!';
	if (param->optional || param->message_only)
		word[len - 1] = '\0';
	*type++ = '\0';
	param->name = word;
	param->type = (enum param_type)parse_name(row->file, line, "parameter type",
						  param_type_names, type);

	if (!is_joined(word, strlen(word), '_'))
		complain(row->file, line, "parameter \"%s\" is not snake_case", word);
	if (name_index(taken_param_names, word) >= 0)
		complain(row->file, line, "parameter may not be called \"%s\"", word);
	for (struct param *other = row->params; other < param; other++) {
		if (strcmp(other->name, word) == 0)
			complain(row->file, line, "parameter \"%s\" is given twice", word);
	}
}

static void parse_params(struct row *row)
{
	char *at, *word;

	if (!row->text[KEY_PARAMS])
		return;
	at = keep_text(row->text[KEY_PARAMS], strlen(row->text[KEY_PARAMS]));
	while ((word = next_word(&at)))
		parse_param(row, word);
}

/* ---- examples: JSON values without white space between tokens ---- */

static const char *skip_digits(const char *at)
{
	while (isdigit((unsigned char)*at))
		at++;
	return at;
}

static const char *skip_json_number(const char *at)
{
	const char *digits;

	if (*at == '-')
		at++;
	digits = at;
	at = skip_digits(at);
	if (at == digits || (*digits == '0' && at > digits + 1))
		return NULL;
	if (*at == '.') {
		digits = at + 1;
		at = skip_digits(digits);
		if (at == digits)
			return NULL;
	}
	return at;
}

static const char *skip_json_string(const char *at)
{
	if (*at++ != '"')
		return NULL;
	for (; *at != '"'; at++) {
		if (*at == '\\' && !strchr("\"\\/bfnrt", *++at))
			return NULL;
		if (!*at)
			return NULL;
	}
	return at + 1;
}

/* The end of the value at `at`; NULL if it is malformed. Our own files are not
 * deeply nested, so recursion is safe. */
static const char *skip_json(const char *at)
{
	static const char *const words[] = { "null", "true", "false" };
	char close = *at == '{' ? '}' : ']';

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strncmp(at, words[i], strlen(words[i])) == 0)
			return at + strlen(words[i]);
	}
	if (*at == '"')
		return skip_json_string(at);
	if (*at != '{' && *at != '[')
		return skip_json_number(at);
	if (at[1] == close)
		return at + 2;
	do {
		at++;
		if (close == '}') {
			at = skip_json_string(at);
			if (!at || *at++ != ':')
				return NULL;
		}
		at = skip_json(at);
	} while (at && *at == ',');
	return at && *at == close ? at + 1 : NULL;
}

static bool example_fits(enum param_type type, const char *value)
{
	switch (type) {
	case STRING: return *value == '"';
	case I64: return !strpbrk(value, "\".[{ntf");
	case U64: return !strpbrk(value, "\".[{ntf-");
	case F64: return !strpbrk(value, "\"[{ntf");
	case BOOL: return *value == 't' || *value == 'f';
	default: return true;
	}
}

static void parse_example(struct row *row)
{
	const char *at = row->text[KEY_EXAMPLE] ? row->text[KEY_EXAMPLE] : "";
	unsigned line = row->line[KEY_EXAMPLE] ? row->line[KEY_EXAMPLE] : row->line[KEY_CODE];

	for (size_t i = 0; i < row->param_count; i++) {
		struct param *param = &row->params[i];
		size_t len = strlen(param->name);
		const char *end;

		at += strspn(at, " ");
		if (strncmp(at, param->name, len) != 0 || at[len] != '=') {
			complain(row->file, line, "example lacks %s=... in its place",
				 param->name);
			return;
		}
		at += len + 1;
		end = skip_json(at);
		if (!end || (*end && *end != ' ')) {
			complain(row->file, line, "example of %s is not compact JSON",
				 param->name);
			return;
		}
		param->example = keep_text(at, (size_t)(end - at));
		if (!example_fits(param->type, param->example))
			complain(row->file, line, "example of %s is not of type %s",
				 param->name, param_type_names[param->type]);
		at = end;
	}
	if (at[strspn(at, " ")])
		complain(row->file, line, "example has more than the parameters: \"%s\"", at);
}

/* ---- all keys ---- */

void row_parse_keys(struct row *row)
{
	parse_code(row);
	parse_since(row);
	parse_class(row);
	row->recoverable = parse_name(row->file, row->line[KEY_RECOVERABLE], "recoverable",
				      bool_names, row->text[KEY_RECOVERABLE]) == 1;
	row->status = parse_number(row->file, row->line[KEY_STATUS], "status", 400, 599,
				   row->text[KEY_STATUS]);
	row->severity = parse_name(row->file, row->line[KEY_SEVERITY], "severity",
				   severity_names, row->text[KEY_SEVERITY]);
	row->jsonrpc = parse_number(row->file, row->line[KEY_JSONRPC], "jsonrpc", -32768,
				    -32000, row->text[KEY_JSONRPC]);
	row->origin = parse_name(row->file, row->line[KEY_ORIGIN], "origin", origin_names,
				 row->text[KEY_ORIGIN]);
	if (row->text[KEY_STYLE]) {
		parse_name(row->file, row->line[KEY_STYLE], "style", style_names,
			   row->text[KEY_STYLE]);
		row->contract_style = true;
	}
	if (row->text[KEY_REPLY]) {
		parse_name(row->file, row->line[KEY_REPLY], "reply", reply_names,
			   row->text[KEY_REPLY]);
		row->is_protocol_error = true;
	}
	parse_projections(row);
	parse_reads(row);
	parse_params(row);
	parse_example(row);
}
