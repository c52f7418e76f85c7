/*
 * outline.h - the symbols of a source file: functions, types, macros, headings.
 *
 * A reader of lines, not of languages: it knows the words that begin a definition, and takes
 * indentation for structure. So it works on code that does not compile, on twenty
 * languages, at more than 100 MB/s, and is sometimes wrong: a definition inside a long
 * string is listed, one that is made by a macro is not.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_OUTLINE_H
#define FW_TOOLS_CODE_SEMANTIC_OUTLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fw_outline_kind {
	FW_OUTLINE_FUNCTION,
	FW_OUTLINE_METHOD,
	FW_OUTLINE_CLASS,
	FW_OUTLINE_STRUCT,
	FW_OUTLINE_ENUM,
	FW_OUTLINE_UNION,
	FW_OUTLINE_INTERFACE,
	FW_OUTLINE_TYPE,
	FW_OUTLINE_MODULE,
	FW_OUTLINE_MACRO,
	FW_OUTLINE_VARIABLE,
	FW_OUTLINE_HEADING,
	FW_OUTLINE_KIND_COUNT
};

struct fw_outline_symbol {
	const char *name; /* in the text */
	uint32_t name_len;
	uint32_t start_line; /* from 1 */
	uint32_t end_line;
	uint32_t parent; /* index of the symbol that contains it; UINT32_MAX: none */
	enum fw_outline_kind kind;
};

struct fw_outline {
	struct fw_outline_symbol *list; /* in the order of start_line */
	size_t count;
	size_t cap;
	uint32_t lines; /* of the text */
	bool is_cut;    /* out of memory, or more than the limit */
};

enum fw_outline_language {
	FW_OUTLINE_NONE,
	FW_OUTLINE_C,
	FW_OUTLINE_PYTHON,
	FW_OUTLINE_SCRIPT, /* JavaScript, TypeScript */
	FW_OUTLINE_GO,
	FW_OUTLINE_RUST,
	FW_OUTLINE_JAVA, /* C#, Kotlin, Scala, Swift, Dart */
	FW_OUTLINE_RUBY,
	FW_OUTLINE_PHP,
	FW_OUTLINE_SHELL,
	FW_OUTLINE_PERL,
	FW_OUTLINE_LUA,
	FW_OUTLINE_MARKDOWN,
	FW_OUTLINE_MAKE,
	FW_OUTLINE_SQL
};

/* By the name of the file, or by the interpreter that the first line of its text names;
 * FW_OUTLINE_NONE: unknown, no symbols. */
enum fw_outline_language fw_outline_language_of(const char *path, const char *text, size_t len);

/* "function", "class"... */
const char *fw_outline_kind_name(enum fw_outline_kind kind);

/* Fills in `outline`, which may have been used before; free it with fw_outline_clear(). Names
 * point into `text`. */
void fw_outline_read(struct fw_outline *outline, enum fw_outline_language language,
		     const char *text, size_t len);
void fw_outline_clear(struct fw_outline *outline);

#endif
