/*
 * outline_line.c - see outline_line.h.
 *
 * Most definitions begin with a word: modifiers, a keyword, the name. C has functions, Java
 * and JavaScript have methods without one: a name before a parenthesis, in a place where
 * no call can be, and a brace before any semicolon.
 */
#include "tools/code/semantic/outline_line.h"

#include <string.h>

enum { HEAD_BYTES = 1500, WORDS_MAX = 8 };

struct keyword {
	const char *word;
	enum fw_outline_kind kind;
};

struct grammar {
	const struct keyword *keywords; /* NULL at the end */
	const char *modifiers;          /* words between spaces, which may come before */
};

static const struct keyword c_words[] = {
	{ "struct", FW_OUTLINE_STRUCT },    { "union", FW_OUTLINE_UNION },
	{ "enum", FW_OUTLINE_ENUM },        { "class", FW_OUTLINE_CLASS },
	{ "namespace", FW_OUTLINE_MODULE }, { NULL, 0 },
};
static const struct keyword python_words[] = {
	{ "def", FW_OUTLINE_FUNCTION },
	{ "class", FW_OUTLINE_CLASS },
	{ NULL, 0 },
};
static const struct keyword script_words[] = {
	{ "function", FW_OUTLINE_FUNCTION },
	{ "function*", FW_OUTLINE_FUNCTION },
	{ "class", FW_OUTLINE_CLASS },
	{ "interface", FW_OUTLINE_INTERFACE },
	{ "enum", FW_OUTLINE_ENUM },
	{ "type", FW_OUTLINE_TYPE },
	{ "namespace", FW_OUTLINE_MODULE },
	{ "module", FW_OUTLINE_MODULE },
	{ NULL, 0 },
};
static const struct keyword go_words[] = {
	{ "func", FW_OUTLINE_FUNCTION },
	{ "type", FW_OUTLINE_TYPE },
	{ NULL, 0 },
};
static const struct keyword rust_words[] = {
	{ "fn", FW_OUTLINE_FUNCTION },        { "struct", FW_OUTLINE_STRUCT },
	{ "enum", FW_OUTLINE_ENUM },          { "union", FW_OUTLINE_UNION },
	{ "trait", FW_OUTLINE_INTERFACE },    { "type", FW_OUTLINE_TYPE },
	{ "mod", FW_OUTLINE_MODULE },         { "impl", FW_OUTLINE_CLASS },
	{ "macro_rules!", FW_OUTLINE_MACRO }, { NULL, 0 },
};
static const struct keyword java_words[] = {
	{ "class", FW_OUTLINE_CLASS },        { "interface", FW_OUTLINE_INTERFACE },
	{ "enum", FW_OUTLINE_ENUM },          { "record", FW_OUTLINE_CLASS },
	{ "struct", FW_OUTLINE_STRUCT },      { "trait", FW_OUTLINE_INTERFACE },
	{ "protocol", FW_OUTLINE_INTERFACE }, { "@interface", FW_OUTLINE_INTERFACE },
	{ "object", FW_OUTLINE_CLASS },       { "namespace", FW_OUTLINE_MODULE },
	{ "fun", FW_OUTLINE_FUNCTION },       { "func", FW_OUTLINE_FUNCTION },
	{ "def", FW_OUTLINE_FUNCTION },       { "extension", FW_OUTLINE_CLASS },
	{ "typealias", FW_OUTLINE_TYPE },     { NULL, 0 },
};
static const struct keyword ruby_words[] = {
	{ "def", FW_OUTLINE_FUNCTION },
	{ "class", FW_OUTLINE_CLASS },
	{ "module", FW_OUTLINE_MODULE },
	{ NULL, 0 },
};
static const struct keyword php_words[] = {
	{ "function", FW_OUTLINE_FUNCTION },   { "class", FW_OUTLINE_CLASS },
	{ "interface", FW_OUTLINE_INTERFACE }, { "trait", FW_OUTLINE_INTERFACE },
	{ "enum", FW_OUTLINE_ENUM },           { NULL, 0 },
};
static const struct keyword shell_words[] = {
	{ "function", FW_OUTLINE_FUNCTION },
	{ NULL, 0 },
};
static const struct keyword perl_words[] = {
	{ "sub", FW_OUTLINE_FUNCTION },
	{ "package", FW_OUTLINE_MODULE },
	{ NULL, 0 },
};
static const struct keyword sql_words[] = {
	{ "table", FW_OUTLINE_STRUCT },
	{ "TABLE", FW_OUTLINE_STRUCT },
	{ "view", FW_OUTLINE_STRUCT },
	{ "VIEW", FW_OUTLINE_STRUCT },
	{ "function", FW_OUTLINE_FUNCTION },
	{ "FUNCTION", FW_OUTLINE_FUNCTION },
	{ "procedure", FW_OUTLINE_FUNCTION },
	{ "PROCEDURE", FW_OUTLINE_FUNCTION },
	{ NULL, 0 },
};

static const struct grammar grammars[] = {
	[FW_OUTLINE_NONE] = { NULL, NULL },
	[FW_OUTLINE_C] = { c_words, " typedef static extern const inline template " },
	[FW_OUTLINE_PYTHON] = { python_words, " async " },
	[FW_OUTLINE_SCRIPT] = { script_words,
				" export default async declare abstract const public private "
				"protected static readonly return " },
	[FW_OUTLINE_GO] = { go_words, " " },
	[FW_OUTLINE_RUST] = { rust_words,
			      " pub pub(crate) pub(super) async unsafe const extern "
			      "default \"C\" " },
	[FW_OUTLINE_JAVA] = { java_words,
			      " public private protected internal static final abstract sealed "
			      "open data override async partial readonly inline suspend case "
			      "implicit mutating fileprivate indirect inner companion unsafe "
			      "strictfp " },
	[FW_OUTLINE_RUBY] = { ruby_words, " private protected public " },
	[FW_OUTLINE_PHP] = { php_words, " public private protected static final abstract "
					"readonly " },
	[FW_OUTLINE_SHELL] = { shell_words, " " },
	[FW_OUTLINE_PERL] = { perl_words, " " },
	[FW_OUTLINE_LUA] = { shell_words, " local " },
	[FW_OUTLINE_MARKDOWN] = { NULL, NULL },
	[FW_OUTLINE_MAKE] = { NULL, NULL },
	[FW_OUTLINE_SQL] = { sql_words,
			     " create CREATE or OR replace REPLACE temp TEMP temporary "
			     "TEMPORARY materialized MATERIALIZED " },
};

static inline bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

static const char *skip_blank(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

/* Is this the next character? A text need not end with NUL. */
static bool is_next(const char *at, const char *end, char c)
{
	at = skip_blank(at, end);
	return at < end && *at == c;
}

static bool is_word_of(const char *list, const char *word, size_t len)
{
	const char *at = list;

	while ((at = strchr(at, ' ')) && at[1]) {
		at++;
		if (strncmp(at, word, len) == 0 && at[len] == ' ')
			return true;
	}
	return false;
}

/* The name at `at`; with dots and colons where the language has them. */
static bool take_name(enum fw_outline_language language, const char *at, const char *end,
		      struct fw_outline_symbol *symbol)
{
	const char *start = at;

	while (at < end &&
	       (is_name_byte(*at) || (*at == '$' && language == FW_OUTLINE_SCRIPT) ||
		((*at == '.' || *at == ':') && at + 1 < end &&
		 (language == FW_OUTLINE_LUA || language == FW_OUTLINE_RUBY ||
		  language == FW_OUTLINE_PERL) &&
		 (is_name_byte(at[1]) || at[1] == ':')) ||
		(*at == '-' && language == FW_OUTLINE_SHELL)))
		at++;
	if (language == FW_OUTLINE_RUBY && at < end && strchr("?!=", *at) && at > start)
		at++;
	symbol->name = start;
	symbol->name_len = (uint32_t)(at - start);
	return at > start && !(*start >= '0' && *start <= '9');
}

/* ---- names before a parenthesis ---- */

static bool is_control(const char *word, size_t len)
{
	return is_word_of(" if for while switch return else do case sizeof catch using lock "
			  "foreach synchronized new throw await yield defined assert super "
			  "function typeof goto delete import require with constructor_ "
			  "__attribute__ __attribute ",
			  word, len);
}

/* How the head of a definition ends, behind its parentheses: '{' is that of a body, ';' there is
 * none, 0 it is something else. `is_one_line`: a line end outside of parentheses ends it,
 * since JavaScript needs no semicolon behind a call. */
static char head_end(const char *at, const char *stop, bool is_one_line)
{
	int depth = 0;

	if (stop - at > HEAD_BYTES)
		stop = at + HEAD_BYTES;
	for (; at < stop; at++) {
		if (*at == '(')
			depth++;
		else if (*at == ')')
			depth--;
		else if (depth > 0)
			continue;
		else if (*at == '{' || *at == ';')
			return *at;
		else if (*at == '=' || *at == '}' || *at == '"' || (*at == '\n' && is_one_line))
			return 0;
		/* One of the parameters of something that began before. */
		if (depth < 0)
			return 0;
	}
	return 0;
}

static bool has_body(const char *at, const char *stop)
{
	return head_end(at, stop, false) == '{';
}

/* Where the name before a parenthesis ends: NAME(, NAME<T>(, NAME?(. */
static const char *end_of_name(const struct fw_outline_line *line, const char *open)
{
	const char *end = open;
	int depth = 0;

	while (end > line->text && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (line->language == FW_OUTLINE_C)
		return end;
	if (end > line->text && end[-1] == '>') {
		do {
			end--;
			depth += *end == '>' ? 1 : *end == '<' ? -1 : 0;
		} while (end > line->text && depth > 0);
	}
	if (line->language == FW_OUTLINE_SCRIPT && end > line->text && end[-1] == '?')
		end--;
	return end;
}

/* Are there only types and names before the name, and no word that begins a statement? */
static bool has_types(const struct fw_outline_line *line, const char *name, size_t *ret_words)
{
	*ret_words = 0;
	for (const char *at = line->text; at < name;) {
		const char *word = at;

		while (at < name && is_name_byte(*at))
			at++;
		/* Class<? super T> */
		if (at > word && is_control(word, (size_t)(at - word)) &&
		    !(word - line->text >= 2 && word[-2] == '?'))
			return false;
		if (at == word && !strchr(" \t*&:<>,[]~@.?#", *at))
			return false;
		*ret_words += at > word;
		at += at == word;
	}
	return true;
}

/* May a definition be without a body here? An interface declares what others define. */
static bool may_be_bodiless(const struct fw_outline_line *line, const char *open, size_t words)
{
	if (line->language == FW_OUTLINE_JAVA)
		return line->in_type && words > 0 && head_end(open, line->stop, false) == ';';
	return line->language == FW_OUTLINE_SCRIPT && line->in_interface;
}

/* TYPE NAME(...) {, where nothing but types and names comes before the parenthesis. */
static bool is_function(const struct fw_outline_line *line, struct fw_outline_symbol *symbol)
{
	const char *open = memchr(line->text, '(', (size_t)(line->end - line->text));
	const char *name_end, *name;
	size_t words;

	if (!open || open == line->text)
		return false;
	name_end = end_of_name(line, open);
	for (name = name_end;
	     name > line->text && (is_name_byte(name[-1]) || name[-1] == '#' ||
				   (name[-1] == '$' && line->language == FW_OUTLINE_SCRIPT));)
		name--;
	if (name == name_end || is_control(name, (size_t)(name_end - name)) ||
	    (*name >= '0' && *name <= '9') || (name > line->text && name[-1] == '@') ||
	    !has_types(line, name, &words))
		return false;
	/* A call of a method is no definition, whatever follows. */
	if (line->language == FW_OUTLINE_SCRIPT && name > line->text && name[-1] == '.')
		return false;
	if (head_end(open, line->stop, line->language == FW_OUTLINE_SCRIPT) != '{' &&
	    !may_be_bodiless(line, open, words))
		return false;
	symbol->name = name;
	symbol->name_len = (uint32_t)(name_end - name);
	symbol->kind = line->in_type ? FW_OUTLINE_METHOD : FW_OUTLINE_FUNCTION;
	return true;
}

/* operator==(...) { of C++. */
static bool is_operator(const struct fw_outline_line *line, struct fw_outline_symbol *symbol)
{
	const char *name = memmem(line->text, (size_t)(line->end - line->text), "operator", 8);
	const char *end;
	size_t words;

	if (!name || (name > line->text && is_name_byte(name[-1])) ||
	    !has_types(line, name, &words))
		return false;
	end = skip_blank(name + 8, line->end);
	if (end < line->end && is_name_byte(*end))
		return false;
	if (line->end - end > 2 && memcmp(end, "()", 2) == 0)
		end += 2;
	while (end < line->end && *end != '(')
		end++;
	symbol->name = name;
	symbol->name_len = (uint32_t)(end - name);
	symbol->kind = line->in_type ? FW_OUTLINE_METHOD : FW_OUTLINE_FUNCTION;
	return end < line->end && has_body(end, line->stop);
}

/* The last name between `at` and `end`; false: there is none. */
static bool take_name_before(const char *at, const char *end, struct fw_outline_symbol *symbol)
{
	const char *name;

	while (end > at && !is_name_byte(end[-1]))
		end--;
	for (name = end; name > at && is_name_byte(name[-1]);)
		name--;
	symbol->name = name;
	symbol->name_len = (uint32_t)(end - name);
	return end > name && !(*name >= '0' && *name <= '9');
}

/* typedef TYPE NAME;  TYPE NAME[N];  TYPE (*NAME)(...);  TYPE NAME(...);  } NAME, *POINTER; */
static bool is_typedef(const struct fw_outline_line *line, struct fw_outline_symbol *symbol)
{
	const char *at = line->text, *stop = line->stop, *end, *open, *close;

	if (!line->ends_typedef && (line->end - at < 8 || memcmp(at, "typedef ", 8) != 0))
		return false;
	if (stop - at > HEAD_BYTES)
		stop = at + HEAD_BYTES;
	end = memchr(at, ';', (size_t)(stop - at));
	close = memrchr(at, '}', (size_t)(line->end - at));
	symbol->kind = FW_OUTLINE_TYPE;
	/* All on one line, or the last line of many. */
	if (close)
		return take_name(line->language, skip_blank(close + 1, line->end), line->end,
				 symbol);
	if (!end || memchr(at, '{', (size_t)(end - at)))
		return false;
	open = memchr(at, '(', (size_t)(end - at));
	close = open ? memchr(open, ')', (size_t)(end - open)) : NULL;
	if (close && is_next(close + 1, end, '('))
		return take_name_before(open, close, symbol);
	if (!open)
		open = memchr(at, '[', (size_t)(end - at));
	return take_name_before(at, open ? open : end, symbol);
}

/* call(function NAME (...) { of JavaScript: the name of a function that is an argument. */
static bool is_argument(const struct fw_outline_line *line, struct fw_outline_symbol *symbol)
{
	const char *at = memmem(line->text, (size_t)(line->end - line->text), "function ", 9);
	const char *before = at;

	if (!at || at == line->text)
		return false;
	while (before > line->text && before[-1] == ' ')
		before--;
	if (before == line->text || !strchr("(,:", before[-1]) ||
	    !take_name(line->language, skip_blank(at + 9, line->end), line->end, symbol))
		return false;
	symbol->kind = FW_OUTLINE_FUNCTION;
	at = skip_blank(symbol->name + symbol->name_len, line->end);
	return at < line->end && *at == '(';
}

/* OBJECT.NAME = function, NAME: function. */
static bool is_assigned(const struct fw_outline_line *line, struct fw_outline_symbol *symbol)
{
	const char *at = line->text, *name = at;

	for (; at < line->end && (is_name_byte(*at) || *at == '.' || *at == '$'); at++)
		if (*at == '.')
			name = at + 1;
	symbol->name = name;
	symbol->name_len = (uint32_t)(at - name);
	at = skip_blank(at, line->end);
	if (!symbol->name_len || at == line->end || (*at != '=' && *at != ':'))
		return false;
	symbol->kind = *at == ':' ? FW_OUTLINE_METHOD : FW_OUTLINE_FUNCTION;
	at = skip_blank(at + 1, line->end);
	if (line->end - at > 6 && memcmp(at, "async ", 6) == 0)
		at = skip_blank(at + 6, line->end);
	return line->end - at > 8 && memcmp(at, "function", 8) == 0 && !is_name_byte(at[8]);
}

/* const NAME = (...) => or = function. */
static bool is_arrow(const struct fw_outline_line *line, struct fw_outline_symbol *symbol)
{
	const char *at = line->text, *equals;

	if (line->end - at > 7 && memcmp(at, "export ", 7) == 0)
		at += 7;
	if (line->end - at > 6 && memcmp(at, "const ", 6) == 0)
		at += 6;
	else if (line->end - at > 4 &&
		 (memcmp(at, "let ", 4) == 0 || memcmp(at, "var ", 4) == 0))
		at += 4;
	else
		return false;
	at = skip_blank(at, line->end);
	if (!take_name(line->language, at, line->end, symbol))
		return false;
	equals = memchr(at, '=', (size_t)(line->end - at));
	if (!equals)
		return false;
	at = skip_blank(equals + 1, line->end);
	if (line->end - at > 6 && memcmp(at, "async ", 6) == 0)
		at = skip_blank(at + 6, line->end);
	if (line->end - at > 8 && memcmp(at, "function", 8) == 0) {
		symbol->kind = FW_OUTLINE_FUNCTION;
		return true;
	}
	symbol->kind = FW_OUTLINE_FUNCTION;
	return memmem(at, (size_t)(line->end - at), "=>", 2) != NULL &&
	       (*at == '(' || is_name_byte(*at)) && line->indent == 0;
}

/* ---- kinds of lines ---- */

static bool is_macro(const struct fw_outline_line *line, struct fw_outline_symbol *symbol)
{
	const char *at = skip_blank(line->text + 1, line->end);

	if (line->end - at < 8 || memcmp(at, "define", 6) != 0)
		return false;
	symbol->kind = FW_OUTLINE_MACRO;
	/* One without a text is a switch: the guard of a header. */
	return take_name(line->language, skip_blank(at + 6, line->end), line->end, symbol) &&
	       skip_blank(symbol->name + symbol->name_len, line->end) < line->end;
}

static bool is_heading(const struct fw_outline_line *line, struct fw_outline_symbol *symbol)
{
	const char *at = line->text, *end = line->end;

	while (at < end && *at == '#')
		at++;
	if (at == line->text || at - line->text > 6 || at == end || *at != ' ')
		return false;
	at = skip_blank(at, end);
	while (end > at && (end[-1] == '#' || end[-1] == ' ' || end[-1] == '\r'))
		end--;
	symbol->name = at;
	symbol->name_len = (uint32_t)(end - at);
	symbol->kind = FW_OUTLINE_HEADING;
	return end > at;
}

static bool is_target(const struct fw_outline_line *line, struct fw_outline_symbol *symbol)
{
	const char *at = line->text;

	while (at < line->end && (is_name_byte(*at) || strchr("-./%", *at)))
		at++;
	symbol->name = line->text;
	symbol->name_len = (uint32_t)(at - line->text);
	symbol->kind = FW_OUTLINE_FUNCTION;
	return line->indent == 0 && at > line->text && *line->text != '.' && at < line->end &&
	       *at == ':' && !(at + 1 < line->end && at[1] == '=');
}

/* NAME() of a shell. */
static bool is_shell_function(const struct fw_outline_line *line,
			      struct fw_outline_symbol *symbol)
{
	const char *at;

	if (!take_name(line->language, line->text, line->end, symbol))
		return false;
	at = skip_blank(symbol->name + symbol->name_len, line->end);
	symbol->kind = FW_OUTLINE_FUNCTION;
	return line->end - at >= 2 && at[0] == '(' && is_next(at + 1, line->end, ')');
}

/* What comes between a keyword and the name, by language. */
static const char *skip_to_name(const struct fw_outline_line *line, enum fw_outline_kind *kind,
				const char *at)
{
	const char *close;

	at = skip_blank(at, line->end);
	/* func (r *Receiver) Name */
	if (line->language == FW_OUTLINE_GO && is_next(at, line->end, '(') &&
	    *kind == FW_OUTLINE_FUNCTION) {
		close = memchr(at, ')', (size_t)(line->end - at));
		*kind = FW_OUTLINE_METHOD;
		return close ? skip_blank(close + 1, line->end) : line->end;
	}
	/* impl<T> Trait for Name<T> */
	if (line->language == FW_OUTLINE_RUST && *kind == FW_OUTLINE_CLASS) {
		close = memmem(at, (size_t)(line->end - at), " for ", 5);
		if (close)
			at = close + 5;
		else if (is_next(at, line->end, '<') &&
			 (close = memchr(at, '>', (size_t)(line->end - at))))
			at = close + 1;
		while (at < line->end && !is_name_byte(*at))
			at++;
		for (close = at; close < line->end && (is_name_byte(*close) || *close == ':');)
			if (*close++ == ':')
				at = close;
	}
	if (line->language == FW_OUTLINE_RUBY) {
		/* self.name, object.name */
		for (close = at; *kind == FW_OUTLINE_FUNCTION && close < line->end &&
				 (is_name_byte(*close) || *close == '.');)
			if (*close++ == '.')
				at = close;
		while (at < line->end && *at == ':')
			at++;
	}
	return at;
}

/* class MACRO Name: Base {, struct Outer::Inner {: the last name before the members. */
static void take_last_name(const struct fw_outline_line *line, struct fw_outline_symbol *symbol)
{
	for (;;) {
		const char *at = symbol->name + symbol->name_len;
		struct fw_outline_symbol next = *symbol;

		if (line->end - at > 2 && memcmp(at, "::", 2) == 0)
			at += 2;
		else if (at == skip_blank(at, line->end))
			return;
		at = skip_blank(at, line->end);
		if (!take_name(line->language, at, line->end, &next) ||
		    is_word_of(" final ", next.name, next.name_len))
			return;
		*symbol = next;
	}
}

/* def <<(other), def [](key) of Ruby. */
static bool take_operator(const struct fw_outline_line *line, const char *at,
			  struct fw_outline_symbol *symbol)
{
	const char *end = at;

	while (end < line->end && strchr("<>=[]+-*/%!~^&|", *end) && *end)
		end++;
	symbol->name = at;
	symbol->name_len = (uint32_t)(end - at);
	return end > at;
}

/* The name behind a keyword. False: there is none, or it is only mentioned. */
static bool take_definition(const struct fw_outline_line *line, const struct keyword *keyword,
			    const char *at, struct fw_outline_symbol *symbol)
{
	enum fw_outline_kind kind = keyword->kind;

	at = skip_to_name(line, &kind, at);
	if (!take_name(line->language, at, line->end, symbol) &&
	    !(line->language == FW_OUTLINE_RUBY && kind == FW_OUTLINE_FUNCTION &&
	      take_operator(line, at, symbol)))
		return false;
	if (line->language == FW_OUTLINE_C)
		take_last_name(line, symbol);
	at = symbol->name + symbol->name_len;
	if (kind == FW_OUTLINE_FUNCTION && line->in_type)
		kind = FW_OUTLINE_METHOD;
	symbol->kind = kind;
	/* Not "struct x *f(void)", nor "struct x;": with its members. */
	if (line->language == FW_OUTLINE_C)
		return has_body(at, line->stop) && !is_next(at, line->end, '*') &&
		       !memchr(at, '(', (size_t)(line->end - at));
	if (line->language == FW_OUTLINE_SCRIPT && kind == FW_OUTLINE_TYPE)
		return memchr(at, '=', (size_t)(line->end - at)) != NULL;
	return true;
}

static bool has_keyword(const struct fw_outline_line *line, struct fw_outline_symbol *symbol)
{
	const struct grammar *grammar = &grammars[line->language];
	const char *at = line->text;

	for (int i = 0; i < WORDS_MAX && at < line->end; i++) {
		const char *end = at;
		size_t len;

		while (end < line->end && *end != ' ' && *end != '\t' && *end != '<' &&
		       (*end != '(' || (size_t)(end - at) == 3))
			end++;
		len = (size_t)(end - at);
		for (const struct keyword *k = grammar->keywords; k->word; k++)
			if (strlen(k->word) == len && memcmp(k->word, at, len) == 0)
				return take_definition(line, k, end, symbol);
		if (!len || !is_word_of(grammar->modifiers, at, len))
			return false;
		at = skip_blank(end, line->end);
	}
	return false;
}

static bool may_have_function(const struct fw_outline_line *line)
{
	switch (line->language) {
	case FW_OUTLINE_C: return line->indent == 0 || line->in_type;
	case FW_OUTLINE_JAVA: return line->in_type;
	/* A name, parentheses and a brace are a method, in an object as in a class. */
	case FW_OUTLINE_SCRIPT: return true;
	default: return false;
	}
}

bool fw_outline_line_defines(const struct fw_outline_line *line,
			     struct fw_outline_symbol *ret_symbol)
{
	if (line->text == line->end)
		return false;
	switch (line->language) {
	case FW_OUTLINE_NONE: return false;
	case FW_OUTLINE_MARKDOWN: return is_heading(line, ret_symbol);
	case FW_OUTLINE_MAKE: return is_target(line, ret_symbol);
	case FW_OUTLINE_C:
		if (*line->text == '#')
			return is_macro(line, ret_symbol);
		if (line->ends_typedef)
			return is_typedef(line, ret_symbol);
		break;
	default: break;
	}
	if (!is_name_byte(*line->text) && !strchr("~#@$<", *line->text))
		return false;
	if (has_keyword(line, ret_symbol))
		return true;
	if (line->language == FW_OUTLINE_C &&
	    (is_typedef(line, ret_symbol) || is_operator(line, ret_symbol)))
		return true;
	if (line->language == FW_OUTLINE_SHELL)
		return is_shell_function(line, ret_symbol);
	if (line->language == FW_OUTLINE_SCRIPT &&
	    (is_argument(line, ret_symbol) || is_arrow(line, ret_symbol) ||
	     is_assigned(line, ret_symbol)))
		return true;
	return may_have_function(line) && is_function(line, ret_symbol);
}
