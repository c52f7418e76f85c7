/*
 * glob.c - see glob.h. The pattern becomes a list of states, and all states that the
 * path can be in are advanced together. There is no backtracking, so a pattern of many
 * stars costs no more than its length.
 */
#include "tools/common/glob.h"

#include <stdint.h>
#include <string.h>

enum kind {
	LITERAL,
	ONE,    /* ? */
	CLASS,  /* [...] */
	STAR,   /* *: stays within a component */
	ENTER,  /* "**" is next, at the start of a component */
	INSIDE, /* within what "**" matches; ends after a slash */
	ALL     /* "**" at the end: the rest, at least one byte */
};

struct state {
	enum kind kind;
	uint32_t letter;
	const char *set; /* CLASS: the text between the brackets */
	size_t set_len;
};

struct pattern {
	struct state states[FW_GLOB_BYTES + 4];
	size_t count;
};

/* Reads one character; a byte that is not UTF-8 is a character of its own. */
static uint32_t letter_at(const char *text, size_t len, size_t *at)
{
	unsigned char c = (unsigned char)text[(*at)++];
	uint32_t letter;
	unsigned more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc2 ? 1 : 0;

	if (!more || c > 0xf4 || len - *at < more)
		return c;
	letter = c & (0x3fU >> more);
	for (unsigned i = 0; i < more; i++) {
		unsigned char next = (unsigned char)text[*at + i];

		if ((next & 0xc0) != 0x80)
			return c;
		letter = letter << 6 | (next & 0x3f);
	}
	*at += more;
	return letter;
}

static void add(struct pattern *p, enum kind kind, uint32_t letter)
{
	p->states[p->count++] = (struct state){ .kind = kind, .letter = letter };
}

/* Reads from after "[" to after "]". False if it is not closed. */
static bool read_class(const char *glob, size_t len, size_t *at, struct pattern *p)
{
	size_t start = *at;
	size_t i = start;

	if (i < len && (glob[i] == '!' || glob[i] == '^'))
		i++;
	if (i < len && glob[i] == ']')
		i++;
	while (i < len && glob[i] != ']')
		i++;
	if (i >= len)
		return false;
	p->states[p->count++] =
		(struct state){ .kind = CLASS, .set = glob + start, .set_len = i - start };
	*at = i + 1;
	return true;
}

/* Reads "*" or "**". */
static const char *read_stars(const char *glob, size_t len, size_t *at, struct pattern *p)
{
	bool begins = *at == 0 || glob[*at - 1] == '/';

	if (*at + 1 >= len || glob[*at + 1] != '*') {
		add(p, STAR, 0);
		++*at;
		return NULL;
	}
	*at += 2;
	if (!begins || (*at < len && glob[*at] != '/'))
		return "** stands alone between slashes";
	if (*at == len) {
		add(p, ALL, 0);
		return NULL;
	}
	++*at;
	/* A pattern that ends with "**" and a slash matches everything below. */
	if (*at == len) {
		add(p, ALL, 0);
		return NULL;
	}
	add(p, ENTER, 0);
	add(p, INSIDE, 0);
	return NULL;
}

static const char *compile(const char *glob, size_t len, struct pattern *p)
{
	p->count = 0;
	if (!len)
		return "it is empty";
	if (len > FW_GLOB_BYTES)
		return "it is longer than 256 bytes";
	if (glob[0] == '/')
		return "it is absolute";
	for (size_t at = 0; at < len;) {
		unsigned char c = (unsigned char)glob[at];
		const char *fault = NULL;

		if (c < 0x20 || c == 0x7f)
			return "it has control characters";
		if (c == '/' && at + 1 < len && glob[at + 1] == '/')
			return "it has an empty component";
		if ((at == 0 || glob[at - 1] == '/') && glob[at] == '.' &&
		    (at + 1 == len || glob[at + 1] == '/' ||
		     (glob[at + 1] == '.' && (at + 2 == len || glob[at + 2] == '/'))))
			return "it has a \".\" or \"..\" component";
		switch (c) {
		case '*': fault = read_stars(glob, len, &at, p); break;
		case '?':
			add(p, ONE, 0);
			at++;
			break;
		case '[':
			at++;
			if (!read_class(glob, len, &at, p))
				fault = "a [ is not closed";
			break;
		case '{':
		case '}': fault = "braces mean nothing: write two globs"; break;
		default: add(p, LITERAL, letter_at(glob, len, &at)); break;
		}
		if (fault)
			return fault;
	}
	if (glob[len - 1] == '/' && p->states[p->count - 1].kind != ALL)
		add(p, ALL, 0);
	return NULL;
}

const char *fw_glob_fault(const char *glob, size_t len)
{
	struct pattern p;

	return compile(glob, len, &p);
}

static bool in_class(const struct state *state, uint32_t letter)
{
	const char *set = state->set;
	size_t len = state->set_len;
	size_t at = 0;
	bool is_opposite = len && (set[0] == '!' || set[0] == '^');
	bool found = false;

	if (letter == '/')
		return false;
	if (is_opposite)
		at++;
	while (at < len) {
		uint32_t low = letter_at(set, len, &at);
		uint32_t high = low;

		if (at + 1 < len && set[at] == '-') {
			at++;
			high = letter_at(set, len, &at);
		}
		if (letter >= low && letter <= high)
			found = true;
	}
	return found != is_opposite;
}

/* Adds state `i` and the states that can be reached from it without input. */
static void reach(const struct pattern *p, bool *set, size_t i)
{
	while (i <= p->count && !set[i]) {
		set[i] = true;
		if (i == p->count)
			return;
		if (p->states[i].kind == ENTER) {
			reach(p, set, i + 1);
			i += 2;
		} else if (p->states[i].kind == STAR) {
			i++;
		} else {
			return;
		}
	}
}

static void step(const struct pattern *p, const bool *from, bool *to, uint32_t letter)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct state *state = &p->states[i];

		if (!from[i])
			continue;
		switch (state->kind) {
		case LITERAL:
			if (state->letter == letter)
				reach(p, to, i + 1);
			break;
		case ONE:
			if (letter != '/')
				reach(p, to, i + 1);
			break;
		case CLASS:
			if (in_class(state, letter))
				reach(p, to, i + 1);
			break;
		case STAR:
			if (letter != '/')
				reach(p, to, i);
			break;
		case ENTER: break;
		case INSIDE:
			to[i] = true;
			if (letter == '/')
				reach(p, to, i + 1);
			break;
		case ALL:
			to[i] = true;
			reach(p, to, i + 1);
			break;
		}
	}
}

bool fw_glob_match(const char *glob, size_t len, const char *path)
{
	struct pattern p;
	bool sets[2][FW_GLOB_BYTES + 5];
	bool *now = sets[0];
	bool *then = sets[1];
	size_t path_len = strlen(path);

	if (compile(glob, len, &p))
		return false;
	memset(sets, 0, sizeof sets);
	reach(&p, now, 0);
	for (size_t at = 0; at < path_len;) {
		bool *swap = now;

		memset(then, 0, p.count + 1);
		step(&p, now, then, letter_at(path, path_len, &at));
		now = then;
		then = swap;
	}
	return now[p.count];
}
