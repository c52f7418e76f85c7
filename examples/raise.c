/*
 * raise.c - an error is raised where it happens, wrapped on its way up, and
 * written once, in the contract that the caller understands.
 *
 *   cc raise.c $(pkg-config --cflags --libs faultwire)
 */
#include <faultwire/faultwire.h>
#include <stdio.h>

static fw_error *read_plan(const char *path)
{
	return fw_raise_file_not_found(path);
}

int main(void)
{
	char text[1024];
	fw_error *err =
		fw_error_wrap(read_plan("plans/42.md"), FW_HERE, "could not load the plan");

	fw_error_encode(err, FW_TOOLERROR, NULL, text, sizeof(text));
	puts(text);
	fw_error_text(err, text, sizeof(text));
	puts(text);
	fw_error_free(err);
	return 0;
}
