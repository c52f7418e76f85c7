/*
 * translate.c - an error on standard input, in any contract or none, comes out
 * in the contract that is named.
 *
 *   echo '{"type":"TRANSIENT","message":"busy","recoverable":true}' | translate owlclaw
 */
#include <faultwire/faultwire.h>
#include <stdio.h>

/* For what goes wrong here: the error itself, in its own form. */
static int fail(fw_error *err)
{
	char text[4096];

	fw_error_encode(err, FW_CANONICAL, NULL, text, sizeof(text));
	(void)fprintf(stderr, "%s\n", text);
	fw_error_free(err);
	return 1;
}

int main(int argc, char **argv)
{
	static char input[1 << 20];
	size_t len = fread(input, 1, sizeof(input), stdin);
	fw_contract to;
	fw_error *read, *err;
	char *text;

	if (argc != 2 || !fw_contract_from_name(argv[1], &to) || to >= FW_CONTRACT_COUNT)
		return fail(fw_raise_cli_usage("name the contract to write: kaiza, context-v0, "
					       "codeintel, toolerror, owlclaw or owlclaw-api"));
	err = fw_error_decode(input, len, FW_AUTO, NULL, &read);
	if (err)
		return fail(err);
	err = fw_error_to_text(read, to, NULL, &text, NULL);
	fw_error_free(read);
	if (err)
		return fail(err);
	printf(to == FW_CONTEXT_V0 ? "%s" : "%s\n", text);
	fw_free(text);
	return 0;
}
