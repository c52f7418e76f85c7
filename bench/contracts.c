/*
 * contracts.c - measures what it costs to write and read an error, compared with a floor.
 *
 * The floor of writing is straight-line code with an escape scan, written by hand for
 * each contract (contracts_floor.h): from plain strings of known length into a buffer
 * that is large enough. The floor of reading is that yyjson parses the same bytes and
 * nothing uses the result. The program fails if a floor does not write exactly the bytes
 * that the library writes.
 *
 * Rounds are interleaved: each has a short slice of every case, and cases that are
 * compared are adjacent, so that noise affects both. The clock is that of the thread, so
 * that waiting for a core does not count. Medians are printed. bench/contracts makes the table.
 *
 *   contracts              lines "case NAME NS ALLOCATIONS BYTES"
 *   contracts --envelopes  the texts, "CONTRACT TAB JSON"
 *   contracts --callgrind  each case a few times between callgrind's marks
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <faultwire/faultwire.h>

#include "contracts_floor.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <yyjson.h>

#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif

enum { ROUNDS = 101, CALLGRIND_RUNS = 100 };

static const double slice_seconds = 0.0004;

/* Prevents the compiler from dropping writes and from reusing values that were read. */
#define BARRIER(ptr) __asm__ volatile("" : : "r"(ptr) : "memory")

/* ---- the cases -------------------------------------------------------- */

static fw_error *made[FW_CONTRACT_COUNT];
static char texts[FW_CONTRACT_COUNT][4096];
static size_t lens[FW_CONTRACT_COUNT];
static char buffer[8192];
static char pool_room[1 << 20];

static yyjson_alc parse_alc; /* libc's, or one that counts */

static void stop(const char *why, int contract)
{
	(void)fprintf(stderr, "contracts: %s: %s\n", fw_contract_name((fw_contract)contract),
		      why);
	exit(1);
}

static void run_empty(int contract)
{
	BARRIER(&contract);
}

static void run_encode(int contract)
{
	size_t len = fw_error_encode(made[contract], (fw_contract)contract, NULL, buffer,
				     sizeof(buffer));

	BARRIER(buffer);
	BARRIER(len);
}

static void run_encode_floor(int contract)
{
	char *end = floors[contract](buffer);

	*end = '\0';
	BARRIER(buffer);
}

static void run_to_text(int contract)
{
	char *text;
	size_t len;

	if (fw_error_to_text(made[contract], (fw_contract)contract, NULL, &text, &len))
		stop("no memory", contract);
	BARRIER(text);
	fw_free(text);
}

static void decode(int contract, bool keep_secrets)
{
	const fw_decode_options options = { .struct_size = sizeof(fw_decode_options),
					    .keep_secrets = keep_secrets };
	fw_error *read;

	if (fw_error_decode(texts[contract], lens[contract], (fw_contract)contract, &options,
			    &read))
		stop("not read", contract);
	BARRIER(read);
	fw_error_free(read);
}

static void run_decode(int contract)
{
	decode(contract, false);
}

/* For a fair comparison, because a bare parse does not look for secrets. */
static void run_decode_kept(int contract)
{
	decode(contract, true);
}

/* As yyjson_read() does it: allocator, copy of the text, parse, free. */
static void run_parse(int contract)
{
	yyjson_doc *doc =
		yyjson_read_opts(texts[contract], lens[contract], 0, &parse_alc, NULL);

	if (!doc)
		stop("not parsed", contract);
	BARRIER(doc);
	yyjson_doc_free(doc);
}

static void run_parse_pool(int contract)
{
	yyjson_alc pool;
	yyjson_doc *doc;

	yyjson_alc_pool_init(&pool, pool_room, sizeof(pool_room));
	doc = yyjson_read_opts(texts[contract], lens[contract], 0, &pool, NULL);
	if (!doc)
		stop("not parsed", contract);
	BARRIER(doc);
	yyjson_doc_free(doc);
}

static void run_sniff(int contract)
{
	fw_contract found = fw_sniff(texts[contract], lens[contract]);

	if ((int)found != contract)
		stop("not sniffed", contract);
}

static void run_raise(int contract)
{
	fw_error *err = make[contract]();
	size_t len = fw_error_encode(err, (fw_contract)contract, NULL, buffer, sizeof(buffer));

	BARRIER(buffer);
	BARRIER(len);
	fw_error_free(err);
}

static void run_raise_bare(int contract)
{
	fw_error *err = fw_raise_plan_scope_violation("9f86d081", plain.path.p);
	size_t len = fw_error_encode(err, (fw_contract)contract, NULL, buffer, sizeof(buffer));

	BARRIER(buffer);
	BARRIER(len);
	fw_error_free(err);
}

static void run_raise_free(int contract)
{
	fw_error *err = fw_raise_plan_scope_violation("9f86d081", plain.path.p);

	BARRIER(err);
	BARRIER(&contract);
	fw_error_free(err);
}

static void run_wrap(int contract)
{
	fw_error *err = fw_raise_plan_scope_violation("9f86d081", plain.path.p);

	err = fw_error_wrap(err, FW_HERE, "could not write %s", plain.path.p);
	BARRIER(err);
	BARRIER(&contract);
	fw_error_free(err);
}

struct kind {
	const char *name;
	void (*run)(int contract);
	int only; /* this contract alone; -1: each */
};

static const struct kind kinds[] = {
	{ "empty", run_empty, FW_KAIZA },
	{ "encode", run_encode, -1 },
	{ "encode-floor", run_encode_floor, -1 },
	{ "to-text", run_to_text, -1 },
	{ "decode", run_decode, -1 },
	{ "decode-kept", run_decode_kept, -1 },
	{ "parse", run_parse, -1 },
	{ "parse-pool", run_parse_pool, -1 },
	{ "sniff", run_sniff, -1 },
	{ "raise-encode-free", run_raise, -1 },
	{ "bare-raise-encode-free", run_raise_bare, FW_KAIZA },
	{ "raise-free", run_raise_free, FW_KAIZA },
	{ "raise-wrap-free", run_wrap, FW_KAIZA },
};

enum { KINDS = sizeof(kinds) / sizeof(*kinds), CASES = KINDS * FW_CONTRACT_COUNT };

struct bench_case {
	const struct kind *kind;
	int contract;
	unsigned long runs; /* in a round */
	double ns[ROUNDS];
	size_t allocations, bytes;
};

static struct bench_case cases[CASES];
static size_t case_count;

/* ---- counting --------------------------------------------------------- */

static size_t allocations, allocated;

static void *count_allocate(void *ctx, size_t size)
{
	(void)ctx;
	allocations++;
	allocated += size;
	return malloc(size);
}

static void *count_reallocate(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	allocations++;
	allocated += size;
	return realloc(ptr, size);
}

static void *count_yyjson_reallocate(void *ctx, void *ptr, size_t old, size_t size)
{
	(void)old;
	return count_reallocate(ctx, ptr, size);
}

static void count_release(void *ctx, void *ptr)
{
	(void)ctx;
	free(ptr);
}

static void *libc_allocate(void *ctx, size_t size)
{
	(void)ctx;
	return malloc(size);
}

static void *libc_reallocate(void *ctx, void *ptr, size_t old, size_t size)
{
	(void)ctx;
	(void)old;
	return realloc(ptr, size);
}

static const yyjson_alc libc_alc = { libc_allocate, libc_reallocate, count_release, NULL };

/* Both allocators use malloc and free, so changing them while blocks are in use is
 * harmless. */
static void count_all(void)
{
	const fw_allocator counting = { count_allocate, count_reallocate, count_release, NULL };
	const yyjson_alc counting_alc = { count_allocate, count_yyjson_reallocate,
					  count_release, NULL };

	fw_allocator_set(&counting);
	parse_alc = counting_alc;
	for (size_t i = 0; i < case_count; i++) {
		cases[i].kind->run(cases[i].contract);
		allocations = allocated = 0;
		cases[i].kind->run(cases[i].contract);
		cases[i].allocations = allocations;
		cases[i].bytes = allocated;
	}
	fw_allocator_set(NULL);
	parse_alc = libc_alc;
}

/* ---- timing ----------------------------------------------------------- */

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_case(const struct bench_case *c)
{
	double start = now_ns();

	for (unsigned long i = 0; i < c->runs; i++)
		c->kind->run(c->contract);
	return (now_ns() - start) / (double)c->runs;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void pin(void)
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		return;
	/* the last allowed: the first is where interrupts tend to go */
	for (size_t cpu = CPU_SETSIZE; cpu > 0; cpu--)
		if (CPU_ISSET(cpu - 1, &all)) {
			CPU_SET(cpu - 1, &one);
			(void)sched_setaffinity(0, sizeof(one), &one);
			return;
		}
}

static void time_all(void)
{
	pin();
	for (size_t i = 0; i < case_count; i++) {
		double ns;

		for (cases[i].runs = 16;; cases[i].runs *= 2) {
			ns = time_case(&cases[i]);
			if (ns * (double)cases[i].runs > slice_seconds * 1e9)
				break;
		}
	}
	for (size_t round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < case_count; i++)
			cases[i].ns[round] = time_case(&cases[i]);
	for (size_t i = 0; i < case_count; i++)
		qsort(cases[i].ns, ROUNDS, sizeof(cases[i].ns[0]), by_value);
}

/* There are CALLGRIND_RUNS runs between the marks. bench/contracts reads the dumps. */
static int callgrind_all(void)
{
#ifdef CALLGRIND_ZERO_STATS
	for (size_t i = 0; i < case_count; i++) {
		char name[128];

		(void)snprintf(name, sizeof(name), "case %s/%s", cases[i].kind->name,
			       fw_contract_name((fw_contract)cases[i].contract));
		cases[i].kind->run(cases[i].contract);
		CALLGRIND_ZERO_STATS;
		for (int run = 0; run < CALLGRIND_RUNS; run++)
			cases[i].kind->run(cases[i].contract);
		CALLGRIND_DUMP_STATS_AT(name);
	}
	return 0;
#else
	(void)fprintf(stderr, "contracts: built without valgrind/callgrind.h\n");
	return 1;
#endif
}

/* ---- putting it together ---------------------------------------------- */

static void prepare(void)
{
	parse_alc = libc_alc;
	for (int c = 0; c < FW_CONTRACT_COUNT; c++) {
		char *end;

		made[c] = make[c]();
		/* the messages, as wrapping has changed them */
		if (c == FW_KAIZA)
			message_kaiza = text_of(fw_error_message(made[c]));
		else if (c == FW_CANONICAL)
			message_canonical = text_of(fw_error_message(made[c]));
		lens[c] = fw_error_encode(made[c], (fw_contract)c, NULL, texts[c],
					  sizeof(texts[c]));
		end = floors[c](buffer);
		*end = '\0';
		if ((size_t)(end - buffer) != lens[c] || strcmp(buffer, texts[c]) != 0) {
			(void)fprintf(stderr, "library %s\nfloor   %s\n", texts[c], buffer);
			stop("the floor writes something else", c);
		}
	}
	for (int c = 0; c < FW_CONTRACT_COUNT; c++)
		for (size_t k = 0; k < KINDS; k++)
			if (kinds[k].only < 0 || kinds[k].only == c) {
				cases[case_count].kind = &kinds[k];
				cases[case_count++].contract = c;
			}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	prepare();
	if (strcmp(mode, "--envelopes") == 0) {
		for (int c = 0; c < FW_CONTRACT_COUNT; c++)
			printf("%s\t%.*s\n", fw_contract_name((fw_contract)c),
			       (int)strcspn(texts[c], "\n"), texts[c]);
	} else if (strcmp(mode, "--callgrind") == 0) {
		if (callgrind_all())
			return 1;
	} else {
		count_all();
		time_all();
		for (int c = 0; c < FW_CONTRACT_COUNT; c++)
			printf("bytes %s %zu\n", fw_contract_name((fw_contract)c), lens[c]);
		for (size_t i = 0; i < case_count; i++)
			printf("case %s/%s %.1f %zu %zu\n", cases[i].kind->name,
			       fw_contract_name((fw_contract)cases[i].contract),
			       cases[i].ns[ROUNDS / 2], cases[i].allocations, cases[i].bytes);
	}
	for (int c = 0; c < FW_CONTRACT_COUNT; c++)
		fw_error_free(made[c]);
	return 0;
}
