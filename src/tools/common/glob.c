/*
 * glob.c - see glob.h. The pattern becomes a list of states, and all states that the
 * path can be in are advanced together. There is no backtracking, so a pattern of many
 * stars costs no more than its length.
 */
#include "tools/common/glob.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "tools/common/glob_impl.h"

uint32_t fw_glob_letter(const char *text, size_t len, size_t *at)
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

/* To git and ripgrep a byte of an ignore rule is a letter. */
static uint32_t next_letter(bool is_git, const char *text, size_t len, size_t *at)
{
	return is_git ? (unsigned char)text[(*at)++] : fw_glob_letter(text, len, at);
}

static void add(struct fw_glob_pattern *p, enum fw_glob_kind kind, uint32_t letter)
{
	p->states[p->count++] = (struct fw_glob_state){ .kind = kind, .letter = letter };
}

/* ---- classes ---- */

/* Is the letter in [:name:], whose name begins at `name`? */
static bool is_of(const char *name, size_t len, uint32_t letter)
{
	static const struct {
		const char *name;
		int (*has)(int letter);
	} named[] = {
		{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank },
		{ "cntrl", iscntrl }, { "digit", isdigit }, { "graph", isgraph },
		{ "lower", islower }, { "print", isprint }, { "punct", ispunct },
		{ "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
	};

	for (size_t i = 0; letter < 0x80 && i < sizeof named / sizeof *named; i++)
		if (strlen(named[i].name) == len && memcmp(named[i].name, name, len) == 0)
			return named[i].has((int)letter) != 0;
	return false;
}

/* The length of "[:name:]" at the start of the text; 0: it does not begin so. */
static size_t named_class(const char *text, size_t len)
{
	const char *close = len > 4 && text[0] == '[' && text[1] == ':'
				    ? memchr(text + 2, ']', len - 2)
				    : NULL;

	return close && close > text + 2 && close[-1] == ':' ? (size_t)(close - text) + 1 : 0;
}

/* Reads from after "[" to after "]". False if it is not closed. */
static bool read_class(const char *glob, size_t len, size_t *at, struct fw_glob_pattern *p)
{
	size_t start = *at;
	size_t i = start;

	if (i < len && (glob[i] == '!' || glob[i] == '^'))
		i++;
	if (i < len && glob[i] == ']')
		i++;
	while (i < len && glob[i] != ']') {
		size_t named = p->is_git ? named_class(glob + i, len - i) : 0;

		i += named ? named : p->is_git && glob[i] == '\\' ? 2 : 1;
	}
	if (i >= len)
		return false;
	p->states[p->count++] = (struct fw_glob_state){ .kind = FW_GLOB_CLASS,
							.letter = p->is_git,
							.set = glob + start,
							.set_len = i - start };
	*at = i + 1;
	return true;
}

/* A letter of a set, which a backslash may come before in those of git. */
static uint32_t member(const struct fw_glob_state *state, size_t *at)
{
	if (state->letter && state->set[*at] == '\\' && *at + 1 < state->set_len)
		++*at;
	return next_letter(state->letter, state->set, state->set_len, at);
}

bool fw_glob_in_class(const struct fw_glob_state *state, uint32_t letter)
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
		size_t named = state->letter ? named_class(set + at, len - at) : 0;
		uint32_t low, high;

		if (named) {
			found = found || is_of(set + at + 2, named - 4, letter);
			at += named;
			continue;
		}
		low = high = member(state, &at);
		if (at + 1 < len && set[at] == '-') {
			at++;
			high = member(state, &at);
		}
		if (letter >= low && letter <= high)
			found = true;
	}
	return found != is_opposite;
}

/* ---- compiling ---- */

/* In git's patterns, "**" that does not stand alone is the same as "*". */
static void read_odd_stars(const char *glob, size_t len, size_t *at, struct fw_glob_pattern *p)
{
	while (*at < len && glob[*at] == '*')
		++*at;
	add(p, FW_GLOB_STAR, 0);
}

/* Reads "*" or "**". */
static const char *read_stars(const char *glob, size_t len, size_t *at,
			      struct fw_glob_pattern *p)
{
	bool begins = *at == 0 || glob[*at - 1] == '/';

	if (*at + 1 >= len || glob[*at + 1] != '*') {
		add(p, FW_GLOB_STAR, 0);
		++*at;
		return NULL;
	}
	*at += 2;
	if (!begins || (*at < len && glob[*at] != '/')) {
		if (!p->is_git)
			return "** stands alone between slashes";
		read_odd_stars(glob, len, at, p);
		return NULL;
	}
	if (*at == len) {
		add(p, FW_GLOB_ALL, 0);
		return NULL;
	}
	++*at;
	/* A pattern that ends with "**" and a slash matches everything below. */
	if (*at == len) {
		add(p, FW_GLOB_ALL, 0);
		return NULL;
	}
	add(p, FW_GLOB_ENTER, 0);
	add(p, FW_GLOB_INSIDE, 0);
	return NULL;
}

/* What no pattern may have at this place; NULL: nothing of the kind. */
static const char *fault_at(const char *glob, size_t len, size_t at)
{
	unsigned char c = (unsigned char)glob[at];

	if (c < 0x20 || c == 0x7f)
		return "it has control characters";
	if (c == '/' && at + 1 < len && glob[at + 1] == '/')
		return "it has an empty component";
	if ((at == 0 || glob[at - 1] == '/') && glob[at] == '.' &&
	    (at + 1 == len || glob[at + 1] == '/' ||
	     (glob[at + 1] == '.' && (at + 2 == len || glob[at + 2] == '/'))))
		return "it has a \".\" or \"..\" component";
	return NULL;
}

const char *fw_glob_compile(const char *glob, size_t len, struct fw_glob_pattern *p)
{
	p->count = 0;
	if (!len)
		return "it is empty";
	if (len > p->most)
		return "it is longer than 256 bytes";
	if (glob[0] == '/')
		return "it is absolute";
	for (size_t at = 0; at < len;) {
		const char *fault = p->is_git ? NULL : fault_at(glob, len, at);

		if (fault)
			return fault;
		if (p->is_git && glob[at] == '\\') {
			if (++at == len)
				return "it ends in a backslash";
			add(p, FW_GLOB_LITERAL, next_letter(true, glob, len, &at));
			continue;
		}
		switch (glob[at]) {
		case '*': fault = read_stars(glob, len, &at, p); break;
		case '?':
			add(p, FW_GLOB_ONE, 0);
			at++;
			break;
		case '[':
			at++;
			if (!read_class(glob, len, &at, p))
				fault = "a [ is not closed";
			break;
		case '{':
		case '}':
			if (!p->is_git) {
				fault = "braces mean nothing: write two globs";
				break;
			}
			__attribute__((fallthrough));
		default: add(p, FW_GLOB_LITERAL, next_letter(p->is_git, glob, len, &at)); break;
		}
		if (fault)
			return fault;
	}
	if (glob[len - 1] == '/' && p->states[p->count - 1].kind != FW_GLOB_ALL)
		add(p, FW_GLOB_ALL, 0);
	return NULL;
}

const char *fw_glob_fault(const char *glob, size_t len)
{
	struct fw_glob_state states[FW_GLOB_STATES(FW_GLOB_BYTES)];
	struct fw_glob_pattern p = { .states = states, .most = FW_GLOB_BYTES };

	return fw_glob_compile(glob, len, &p);
}

bool fw_glob_accepts(const struct fw_glob_state *state, uint32_t letter)
{
	switch (state->kind) {
	case FW_GLOB_LITERAL: return state->letter == letter;
	case FW_GLOB_ONE:
	case FW_GLOB_STAR: return letter != '/';
	case FW_GLOB_CLASS: return fw_glob_in_class(state, letter);
	case FW_GLOB_ENTER: return false;
	case FW_GLOB_INSIDE:
	case FW_GLOB_ALL: return true;
	}
	return false;
}

/* Adds state `i` and the states that can be reached from it without input. */
static void reach(const struct fw_glob_pattern *p, bool *set, size_t i)
{
	while (i <= p->count && !set[i]) {
		set[i] = true;
		if (i == p->count)
			return;
		if (p->states[i].kind == FW_GLOB_ENTER) {
			reach(p, set, i + 1);
			i += 2;
		} else if (p->states[i].kind == FW_GLOB_STAR) {
			i++;
		} else {
			return;
		}
	}
}

static void step(const struct fw_glob_pattern *p, const bool *from, bool *to, uint32_t letter)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct fw_glob_state *state = &p->states[i];

		if (!from[i])
			continue;
		switch (state->kind) {
		case FW_GLOB_LITERAL:
			if (state->letter == letter)
				reach(p, to, i + 1);
			break;
		case FW_GLOB_ONE:
			if (letter != '/')
				reach(p, to, i + 1);
			break;
		case FW_GLOB_CLASS:
			if (fw_glob_in_class(state, letter))
				reach(p, to, i + 1);
			break;
		case FW_GLOB_STAR:
			if (letter != '/')
				reach(p, to, i);
			break;
		case FW_GLOB_ENTER: break;
		case FW_GLOB_INSIDE:
			to[i] = true;
			if (letter == '/')
				reach(p, to, i + 1);
			break;
		case FW_GLOB_ALL:
			to[i] = true;
			reach(p, to, i + 1);
			break;
		}
	}
}

static bool run(const struct fw_glob_pattern *p, const char *path, size_t path_len)
{
	bool sets[2][FW_GLOB_BYTES + 5];
	bool *now = sets[0];
	bool *then = sets[1];

	memset(now, 0, p->count + 1);
	reach(p, now, 0);
	for (size_t at = 0; at < path_len;) {
		bool *swap = now;

		memset(then, 0, p->count + 1);
		step(p, now, then, next_letter(p->is_git, path, path_len, &at));
		now = then;
		then = swap;
	}
	return now[p->count];
}

bool fw_glob_match(const char *glob, size_t len, const char *path)
{
	struct fw_glob_state states[FW_GLOB_STATES(FW_GLOB_BYTES)];
	struct fw_glob_pattern p = { .states = states, .most = FW_GLOB_BYTES };

	return !fw_glob_compile(glob, len, &p) && run(&p, path, strlen(path));
}

/* ---- compiled once ---- */

/* The usual globs are a name, or a star and the end of a name: those are compared. */
enum shape { EXACT, ENDING, OTHER };

struct fw_glob {
	enum shape shape;
	size_t len; /* of the text, or of what follows the star */
	char *text;
	/* Only allocated for OTHER. */
	size_t prefix; /* bytes of the text that a path must begin with */
	struct fw_glob_pattern pattern;
	struct fw_glob_state states[FW_GLOB_STATES(FW_GLOB_BYTES)];
};

static enum shape shape_of(const char *glob, size_t len)
{
	bool begins = glob[0] == '*';

	for (size_t i = begins; i < len; i++)
		if (strchr("*?[\\/{}", glob[i]) && !(glob[i] == '/' && !begins && i + 1 < len))
			return OTHER;
	return begins ? ENDING : EXACT;
}

/* ASCII only: a byte of another encoding may stand for a letter that has two bytes in UTF-8. */
static size_t prefix_of(const char *glob, size_t len)
{
	size_t i = 0;

	while (i < len && (unsigned char)glob[i] < 0x80 && !strchr("*?[\\", glob[i]))
		i++;
	return i;
}

struct fw_glob *fw_glob_new(const char *glob, size_t len, bool is_git, const char **ret_fault)
{
	/* The states of a class point into the text, so they are compiled from the copy. */
	struct fw_glob *made = fw__allocate(sizeof *made + len + 1);
	struct fw_glob *less;
	enum shape shape = len ? shape_of(glob, len) : OTHER;

	*ret_fault = NULL;
	if (!made)
		return NULL;
	made->text = (char *)(made + 1);
	memcpy(made->text, glob, len);
	made->text[len] = '\0';
	made->pattern = (struct fw_glob_pattern){ .states = made->states,
						  .most = FW_GLOB_BYTES,
						  .is_git = is_git };
	/* What git only compares may have any length, and cannot be wrong. */
	if (!is_git || shape == OTHER)
		*ret_fault = fw_glob_compile(made->text, len, &made->pattern);
	if (*ret_fault) {
		fw__release(made);
		return NULL;
	}
	made->shape = shape;
	made->len = len;
	made->prefix = prefix_of(glob, len);
	if (made->shape == OTHER)
		return made;
	less = fw__allocate(offsetof(struct fw_glob, prefix) + len + 1);
	if (less) {
		bool is_ending = made->shape == ENDING;

		less->shape = made->shape;
		less->len = len - is_ending;
		less->text = (char *)less + offsetof(struct fw_glob, prefix);
		memcpy(less->text, made->text + is_ending, len + 1 - is_ending);
	}
	fw__release(made);
	return less;
}

void fw_glob_free(struct fw_glob *glob)
{
	fw__release(glob);
}

/* Most paths do not begin or do not end as the pattern does. */
static bool may_match(const struct fw_glob *glob, const char *path, size_t len)
{
	const struct fw_glob_state *last = &glob->pattern.states[glob->pattern.count - 1];

	if (len < glob->prefix || memcmp(path, glob->text, glob->prefix) != 0)
		return false;
	return !len || (unsigned char)path[len - 1] >= 0x80 ||
	       (last->kind != FW_GLOB_LITERAL && last->kind != FW_GLOB_CLASS) ||
	       fw_glob_accepts(last, (unsigned char)path[len - 1]);
}

bool fw_glob_test(const struct fw_glob *glob, const char *path, size_t len)
{
	switch (glob->shape) {
	case EXACT: return len == glob->len && memcmp(path, glob->text, len) == 0;
	case ENDING:
		return len >= glob->len && !memchr(path, '/', len - glob->len) &&
		       memcmp(path + len - glob->len, glob->text, glob->len) == 0;
	default: return may_match(glob, path, len) && run(&glob->pattern, path, len);
	}
}
