/*
 * standalone.c - runs a fuzz target over files, without a fuzzer: the corpora in
 * "make test", with any compiler. Arguments are files or folders.
 *
 * Prints TAP: one line for the target, named after the program, after a comment
 * for each input. What is broken stops the process (MUST, a sanitizer): then the
 * last comment names the input.
 */
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096 };

/* In a block of exactly its size, for the sanitizers. */
static bool run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat info;
	uint8_t *data;
	size_t size;

	if (!file || fstat(fileno(file), &info) != 0) {
		if (file)
			(void)fclose(file);
		return false;
	}
	size = (size_t)info.st_size;
	data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, file) != size) {
		free(data);
		(void)fclose(file);
		return false;
	}
	(void)fclose(file);
	printf("# %s\n", path);
	(void)LLVMFuzzerTestOneInput(data, size);
	free(data);
	return true;
}

/* How many inputs ran; -1 where one could not be read. */
static long run_path(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	long count = 0;

	if (!dir)
		return run_file(path) ? 1 : -1;
	while (count >= 0 && (entry = readdir(dir)) != NULL) {
		char inner[PATH_BYTES];

		if (entry->d_name[0] == '.')
			continue;
		if (snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name) >=
			    (int)sizeof(inner) ||
		    !run_file(inner))
			count = -1;
		else
			count++;
	}
	(void)closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');
	long count = 0;

	name = name ? name + 1 : argv[0];
	(void)setvbuf(stdout, NULL, _IONBF, 0);
	printf("1..1\n");
	for (int i = 1; i < argc; i++) {
		long more = run_path(argv[i]);

		if (more < 0) {
			printf("not ok 1 - %s: could not read %s\n", name, argv[i]);
			return 1;
		}
		count += more;
	}
	if (count == 0) {
		printf("not ok 1 - %s: no input\n", name);
		return 1;
	}
	printf("ok 1 - %s: %ld inputs\n", name, count);
	return 0;
}
