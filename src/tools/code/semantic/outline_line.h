/*
 * outline_line.h - does a line begin a definition? Shared by outline.c and
 * outline_line.c.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_OUTLINE_LINE_H
#define FW_TOOLS_CODE_SEMANTIC_OUTLINE_LINE_H

#include "tools/code/semantic/outline.h"

struct fw_outline_line {
	enum fw_outline_language language;
	const char *text; /* its first character that is not white space */
	const char *end;  /* its end, without the line end */
	const char *stop; /* the end of the file: a head may go on in the next lines */
	size_t indent;    /* columns */
	bool in_type;     /* directly inside a class or the like */
	bool in_interface;
	bool ends_typedef; /* its brace closes the members of a typedef of C */
};

/* `ret_symbol` gets name and kind. */
bool fw_outline_line_defines(const struct fw_outline_line *line,
			     struct fw_outline_symbol *ret_symbol);

#endif
