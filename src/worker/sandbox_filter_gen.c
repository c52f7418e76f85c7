/*
 * sandbox_filter_gen.c - a program of the build: prints the compiled filters as C.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/sandbox_filter.h"

static void print_filter(unsigned index)
{
	const struct fw_sandbox_filter_kind kind = fw_sandbox_filter_kind_at(index);
	static struct sock_filter code[BPF_MAXINSNS];
	int count = fw_sandbox_filter_compile(&kind, code, BPF_MAXINSNS);

	if (count <= 0) {
		(void)fprintf(stderr, "sandbox_filter_gen: %s\n", strerror(-count));
		exit(EXIT_FAILURE);
	}
	(void)printf("static const struct sock_filter filter_%u[] = {\n", index);
	for (int i = 0; i < count; i++)
		(void)printf("\t{ 0x%x, %u, %u, 0x%x },\n", (unsigned)code[i].code,
			     (unsigned)code[i].jt, (unsigned)code[i].jf, (unsigned)code[i].k);
	(void)printf("};\n\n");
}

int main(void)
{
	(void)printf("/* Made by sandbox_filter_gen.c. */\n\n");
	(void)printf("#define NATIVE_ARCH 0x%xu\n\n", (unsigned)fw_sandbox_filter_arch());
	for (unsigned i = 0; i < FW_SANDBOX_FILTERS; i++)
		print_filter(i);
	(void)printf("static const struct {\n\tconst struct sock_filter *code;\n"
		     "\tunsigned short count;\n} filters[] = {\n");
	for (unsigned i = 0; i < FW_SANDBOX_FILTERS; i++)
		(void)printf("\t{ filter_%u, sizeof filter_%u / sizeof *filter_%u },\n", i, i,
			     i);
	(void)printf("};\n");
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
