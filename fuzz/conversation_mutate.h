/*
 * conversation_mutate.h - how libFuzzer changes the schedules of fuzz_conversation.c:
 * by whole steps, most of the time.
 */
#ifndef FW_CONVERSATION_MUTATE_H
#define FW_CONVERSATION_MUTATE_H

#include "conversation_world.h"

/* The fuzzer's own mutator; not there in the standalone program. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
				 size_t b_size, uint8_t *out, size_t max, unsigned seed);

static unsigned pick(unsigned *seed, size_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (unsigned)((*seed >> 8) % (below ? below : 1));
}

static void fill_step(struct step *step, unsigned *seed)
{
	uint8_t *bytes = (uint8_t *)step;

	for (size_t i = 0; i < sizeof *step; i++)
		bytes[i] = pick(seed, 3) ? (uint8_t)pick(seed, 256) : 0;
	step->op = (uint8_t)pick(seed, OP_COUNT);
	/* Strange texts and strange headers end most conversations. */
	if (pick(seed, 4))
		step->f &= 0x0f;
	if (pick(seed, 4))
		step->who &= 3;
}

/* Whole steps are added, removed, moved and changed. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct step *list = (struct step *)(void *)data;
	size_t most = max / sizeof *list < STEPS_MAX ? max / sizeof *list : STEPS_MAX;
	size_t count = size / sizeof *list;
	size_t at, other;

	if (count < 2 || pick(&seed, 8) == 0) {
		if (count < 2 && most >= 3) {
			memset(data, 0, sizeof *list);
			fill_step(&list[1], &seed);
			fill_step(&list[2], &seed);
			return 3 * sizeof *list;
		}
		return LLVMFuzzerMutate(data, size, max);
	}
	for (unsigned times = 1 + pick(&seed, 3); times; times--) {
		at = 1 + pick(&seed, count - 1);
		other = 1 + pick(&seed, count - 1);
		switch (pick(&seed, 8)) {
		case 0:
		case 1:
			if (count < most) {
				memmove(&list[at + 1], &list[at],
					(count++ - at) * sizeof *list);
				fill_step(&list[at], &seed);
			}
			break;
		case 2:
			if (count < most) {
				struct step copy = list[other];

				memmove(&list[at + 1], &list[at],
					(count++ - at) * sizeof *list);
				list[at] = copy;
			}
			break;
		case 3:
			if (count > 2)
				memmove(&list[at], &list[at + 1],
					(--count - at) * sizeof *list);
			break;
		case 4: {
			struct step copy = list[at];

			list[at] = list[other];
			list[other] = copy;
			break;
		}
		case 5:
			if (count < most)
				fill_step(&list[count++], &seed);
			break;
		case 6:
			data[pick(&seed, 8) + (pick(&seed, 4) ? at * sizeof *list : 0)] =
				(uint8_t)pick(&seed, 256);
			break;
		default: list[at].who = (uint8_t)((list[at].who & ~3u) | pick(&seed, 4)); break;
		}
	}
	return count * sizeof *list;
}

/* The beginning of one, then the end of another. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
				 size_t b_size, uint8_t *out, size_t max, unsigned seed)
{
	size_t head = (1 + pick(&seed, a_size / 8)) * 8;
	size_t skip = (1 + pick(&seed, b_size / 8)) * 8;
	size_t tail;

	if (head > a_size || head > max)
		return 0;
	tail = skip < b_size ? b_size - skip : 0;
	if (tail > max - head)
		tail = (max - head) / 8 * 8;
	memcpy(out, a, head);
	memcpy(out + head, b + skip, tail);
	return head + tail;
}

#endif
