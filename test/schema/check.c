/*
 * check.c - our verdicts, for somebody else to compare.
 *
 * Reads lines "schema TAB instance", JSON both, and prints for each 1 (valid), 0
 * (not), or E (no such schema, or no JSON). The same schema on the next line is
 * not compiled again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/schema/schema.h"

int main(void)
{
	fw_schema *schema = NULL;
	char *line = NULL, *last = NULL;
	size_t room = 0;
	ssize_t got;

	while ((got = getline(&line, &room, stdin)) > 0) {
		char *tab = memchr(line, '\t', (size_t)got);
		yyjson_doc *doc = NULL;
		char verdict = 'E';

		if (tab) {
			*tab = '\0';
			if (!last || strcmp(last, line) != 0) {
				free(last);
				last = strdup(line);
				fw_schema_free(schema);
				schema = fw_schema_compile(line, (size_t)(tab - line), NULL,
							   NULL);
			}
			doc = yyjson_read(tab + 1, strcspn(tab + 1, "\n"),
					  YYJSON_READ_NUMBER_AS_RAW);
		}
		if (schema && doc)
			verdict = fw_schema_check(schema, yyjson_doc_get_root(doc), NULL) ? '1'
											  : '0';
		yyjson_doc_free(doc);
		(void)printf("%c\n", verdict);
	}
	fw_schema_free(schema);
	free(last);
	free(line);
	return 0;
}
