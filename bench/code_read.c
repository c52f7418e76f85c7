/*
 * code_read.c - for bench/code: what it costs to open, read and close files, and nothing else.
 * A search that has to count all matches cannot take less for the files that match.
 *
 *   bench_code_read LIST ROUNDS    LIST has paths below the current directory, each with a NUL
 *
 * One thread per CPU, as in a search. Prints the least milliseconds of the rounds, and the
 * CPU time of all of them in milliseconds per round.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 8, BATCH = 16, BUFFER_BYTES = 4 * 1024 * 1024 };

static char *list;
static char **paths;
static size_t count;
static atomic_size_t next_path;

static double now(clockid_t clock)
{
	struct timespec time;

	(void)clock_gettime(clock, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void read_list(const char *name)
{
	FILE *file = fopen(name, "rb");
	struct stat st;
	size_t len;

	if (!file || fstat(fileno(file), &st) != 0)
		exit(1);
	len = (size_t)st.st_size;
	list = calloc(len + 1, 1);
	paths = calloc(len + 1, sizeof *paths);
	if (!list || !paths || fread(list, 1, len, file) != len)
		exit(1);
	(void)fclose(file);
	for (size_t at = 0; at < len; at += strlen(list + at) + 1)
		paths[count++] = list + at;
}

static void read_file(const char *path, char *buffer)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		exit(1);
	for (off_t at = 0; at < st.st_size;) {
		ssize_t got = read(fd, buffer, BUFFER_BYTES);

		if (got <= 0)
			exit(1);
		at += got;
	}
	(void)close(fd);
}

static void *run(void *buffer)
{
	size_t from;

	while ((from = atomic_fetch_add(&next_path, BATCH)) < count)
		for (size_t i = from; i < from + BATCH && i < count; i++)
			read_file(paths[i], buffer);
	return NULL;
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int threads = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (int)cpus;
	char *buffers[THREADS_MAX];
	double least = 1e9, spent;
	int rounds;

	if (argc != 3)
		return 2;
	read_list(argv[1]);
	rounds = atoi(argv[2]);
	for (int i = 0; i < threads; i++) {
		buffers[i] = malloc(BUFFER_BYTES);
		if (!buffers[i])
			return 1;
		memset(buffers[i], 1, BUFFER_BYTES);
	}
	spent = now(CLOCK_PROCESS_CPUTIME_ID);
	for (int round = 0; round < rounds; round++) {
		pthread_t ids[THREADS_MAX];
		double begun = now(CLOCK_MONOTONIC), took;

		atomic_store(&next_path, 0);
		for (int i = 1; i < threads; i++)
			if (pthread_create(&ids[i], NULL, run, buffers[i]) != 0)
				return 1;
		(void)run(buffers[0]);
		for (int i = 1; i < threads; i++)
			(void)pthread_join(ids[i], NULL);
		took = now(CLOCK_MONOTONIC) - begun;
		least = took < least ? took : least;
	}
	spent = now(CLOCK_PROCESS_CPUTIME_ID) - spent;
	(void)printf("%.3f %.3f\n", least, spent / rounds);
	for (int i = 0; i < threads; i++)
		free(buffers[i]);
	free(paths);
	free(list);
	return 0;
}
