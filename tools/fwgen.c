/*
 * fwgen.c - generates C code, documentation and JSON Schemas from registry/.
 *
 * A fault in the registry is reported as file:line and makes the exit status 1. Then
 * nothing is written, so that a build never uses half a registry.
 */
#include <stdio.h>
#include <string.h>

#include "fwgen.h"

static const char usage[] =
	"usage: fwgen [--registry DIR] [--out-c DIR] [--out-docs DIR] [--update-lock]\n"
	"\n"
	"Checks the registry in DIR (\"registry\") and, where it is sound, writes\n"
	"  --out-c DIR     the C files that the library is built from\n"
	"  --out-docs DIR  codes.md, registry.json, schemas/ and, where there is\n"
	"                  one, the table of contracts.md\n"
	"  --update-lock   the codes that codes.lock does not list yet, into it\n"
	"Ends with status 1 for a fault in the registry, 2 for any other.\n";

int main(int argc, char **argv)
{
	struct registry registry = { 0 };
	const char *dir = "registry", *c_dir = NULL, *docs_dir = NULL;
	bool update_lock = false;

	for (int i = 1; i < argc; i++) {
		const char **value = NULL;

		if (strcmp(argv[i], "--update-lock") == 0) {
			update_lock = true;
			continue;
		}
		if (strcmp(argv[i], "--registry") == 0)
			value = &dir;
		else if (strcmp(argv[i], "--out-c") == 0)
			value = &c_dir;
		else if (strcmp(argv[i], "--out-docs") == 0)
			value = &docs_dir;

		if (!value || i + 1 == argc) {
			bool asked = strcmp(argv[i], "--help") == 0;

			fputs(usage, asked ? stdout : stderr);
			return asked ? 0 : 2;
		}
		*value = argv[++i];
	}

	registry_read(&registry, dir);
	if (complaint_count() == 0)
		registry_check(&registry);
	if (complaint_count() == 0) {
		if (update_lock)
			registry_update_lock(&registry);
		if (c_dir)
			write_c(&registry, c_dir);
		if (docs_dir)
			write_docs(&registry, docs_dir);
	}
	drop_everything();
	return complaint_count() ? 1 : 0;
}
