/*
 * redact.c - finding secrets in text, and copying it without them.
 *
 * Nearly every text is clean, and every message of every error comes through
 * here. So the text is not parsed. Sixty-four bytes at a time are turned into
 * two sets of bits: what tokens are made of, and what marks a secret (the sign
 * between key and value, the dash of an option, the B of "Bearer"). Shifts and
 * ands leave of those the few places where a secret could be, and only they
 * are looked at closely, forwards and backwards: see redact_token.c and
 * redact_pair.c.
 *
 * A secret ends where its kind of text ends, so that what is left over cannot
 * look like another; "[redacted]" itself looks like none. That makes it
 * idempotent, which redact_test.c tries to disprove.
 */
#include "core/redact.h"
#include "core/redact_impl.h"
#include "base/limits.h"
#include "base/utf8.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
	BLOCK = 64,
	RUN_LEAST = 16, /* no token is shorter; the shifts below know it too */
};

#define TOP(count) (~(uint64_t)0 << (BLOCK - (count)))

/* A bit for each byte of a block, the first byte lowest. */
struct sets {
	uint64_t token; /* letters, digits, '-' and '_' */
	uint64_t mark;  /* signs, dashes, 'b' and 'p': see is_mark() */
	uint64_t dash;  /* '-' */
};

/* The first byte of a colon or equals sign of full width, U+FF1A and U+FF1D. */
#define WIDE ((char)0xef)

#ifdef __SSE2__
enum { LANE = 16 };

/* `at` is where the lane is in its block, `done` how many of its bytes were. */
static inline void add_bytes(struct sets *sets, __m128i x, unsigned at, unsigned done)
{
	__m128i lower = _mm_or_si128(x, _mm_set1_epi8(0x20));
	__m128i dash = _mm_cmpeq_epi8(x, _mm_set1_epi8('-'));
	__m128i word = _mm_or_si128(_mm_cmpeq_epi8(lower, _mm_set1_epi8('b')),
				    _mm_cmpeq_epi8(lower, _mm_set1_epi8('p')));
	/* All from ':' to '@', of which some are not wanted: one comparison for four. */
	__m128i sign = _mm_cmplt_epi8(_mm_add_epi8(x, _mm_set1_epi8((char)(-128 - ':'))),
				      _mm_set1_epi8(-128 + 7));
	__m128i other = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('%')),
				     _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('~')),
						  _mm_cmpeq_epi8(x, _mm_set1_epi8(WIDE))));
	/* Moved to the bottom of the signed range, a range is one comparison. */
	__m128i letter = _mm_cmplt_epi8(_mm_add_epi8(lower, _mm_set1_epi8((char)(-128 - 'a'))),
					_mm_set1_epi8(-128 + 26));
	__m128i digit = _mm_cmplt_epi8(_mm_add_epi8(x, _mm_set1_epi8((char)(-128 - '0'))),
				       _mm_set1_epi8(-128 + 10));
	__m128i line = _mm_cmpeq_epi8(x, _mm_set1_epi8('_'));
	__m128i token = _mm_or_si128(_mm_or_si128(letter, digit), _mm_or_si128(dash, line));
	__m128i mark = _mm_or_si128(_mm_or_si128(sign, other), _mm_or_si128(dash, word));

	sets->token |= (uint64_t)((unsigned)_mm_movemask_epi8(token) >> done) << at;
	sets->mark |= (uint64_t)((unsigned)_mm_movemask_epi8(mark) >> done) << at;
	sets->dash |= (uint64_t)((unsigned)_mm_movemask_epi8(dash) >> done) << at;
}

static inline void add_lane(struct sets *sets, const char *p, unsigned at, unsigned done)
{
	add_bytes(sets, _mm_loadu_si128((const __m128i *)(const void *)p), at, done);
}

/* Eight to fifteen bytes as a lane: the first eight, then the last eight, of which some are
 * both. */
static inline struct sets classify_halves(const char *p, size_t len)
{
	__m128i first = _mm_loadl_epi64((const __m128i *)(const void *)p);
	__m128i last = _mm_loadl_epi64((const __m128i *)(const void *)(p + len - 8));
	struct sets sets = { 0, 0, 0 };
	unsigned up = (unsigned)len - 8;

	add_bytes(&sets, _mm_unpacklo_epi64(first, last), 0, 0);
	sets.token = (sets.token & 0xff) | sets.token >> 8 << up;
	sets.mark = (sets.mark & 0xff) | sets.mark >> 8 << up;
	sets.dash = (sets.dash & 0xff) | sets.dash >> 8 << up;
	return sets;
}

/* `len` bytes, at most a block, that have `before` readable bytes before them. */
static inline struct sets classify(const char *p, size_t len, size_t before)
{
	struct sets sets = { 0, 0, 0 };
	size_t at = 0;
	unsigned rest;

	if (len == BLOCK) {
		add_lane(&sets, p, 0, 0);
		add_lane(&sets, p + 16, 16, 0);
		add_lane(&sets, p + 32, 32, 0);
		add_lane(&sets, p + 48, 48, 0);
		return sets;
	}
	if (len >= 8 && len < LANE && before == 0)
		return classify_halves(p, len);
	for (; len - at >= LANE; at += LANE)
		add_lane(&sets, p + at, (unsigned)at, 0);
	rest = (unsigned)(len - at);
	if (rest && before + len >= LANE) {
		add_lane(&sets, p + len - LANE, (unsigned)at, LANE - rest);
	} else if (rest) {
		char small[LANE] = { 0 };

		memcpy(small, p, rest);
		add_lane(&sets, small, 0, 0);
	}
	return sets;
}
#else
static inline bool is_mark(char c)
{
	return (c >= ':' && c <= '@') || c == '-' || (c | 0x20) == 'b' || (c | 0x20) == 'p' ||
	       c == '%' || c == '~' || c == WIDE;
}

static inline struct sets classify(const char *p, size_t len, size_t before)
{
	struct sets sets = { 0, 0, 0 };

	(void)before;
	for (size_t i = 0; i < len; i++) {
		uint64_t bit = (uint64_t)1 << i;

		if (fw_redact_in_token(p[i]))
			sets.token |= bit;
		if (is_mark(p[i]))
			sets.mark |= bit;
		if (p[i] == '-')
			sets.dash |= bit;
	}
	return sets;
}
#endif

/* Where runs of RUN_LEAST bits or more start. */
static inline uint64_t long_runs(uint64_t bits)
{
	uint64_t runs = bits;

	runs &= runs >> 1;
	runs &= runs >> 2;
	runs &= runs >> 4;
	runs &= runs >> 8;
	return runs & ~(runs << 1);
}

/* Where five dashes or more start, as before the "BEGIN" of a key; at the end of
 * a block fewer will do. A word may stand right before them. `run`: the block
 * before ended in a dash. */
static inline uint64_t five_dashes(uint64_t dash, bool run)
{
	uint64_t starts = dash & ~(dash << 1 | run);

	if (!starts)
		return 0;
	return starts & (dash >> 1 | TOP(1)) & (dash >> 2 | TOP(2)) & (dash >> 3 | TOP(3)) &
	       (dash >> 4 | TOP(4));
}

/* Letters by their place in the alphabet, and what else can end a key. */
enum { DIGIT = 27, LINE, CLOSER };

static const uint8_t sorts[256] = {
	['a'] = 1,       ['b'] = 2,       ['c'] = 3,       ['d'] = 4,       ['e'] = 5,
	['f'] = 6,       ['g'] = 7,       ['h'] = 8,       ['i'] = 9,       ['j'] = 10,
	['k'] = 11,      ['l'] = 12,      ['m'] = 13,      ['n'] = 14,      ['o'] = 15,
	['p'] = 16,      ['q'] = 17,      ['r'] = 18,      ['s'] = 19,      ['t'] = 20,
	['u'] = 21,      ['v'] = 22,      ['w'] = 23,      ['x'] = 24,      ['y'] = 25,
	['z'] = 26,      ['A'] = 1,       ['B'] = 2,       ['C'] = 3,       ['D'] = 4,
	['E'] = 5,       ['F'] = 6,       ['G'] = 7,       ['H'] = 8,       ['I'] = 9,
	['J'] = 10,      ['K'] = 11,      ['L'] = 12,      ['M'] = 13,      ['N'] = 14,
	['O'] = 15,      ['P'] = 16,      ['Q'] = 17,      ['R'] = 18,      ['S'] = 19,
	['T'] = 20,      ['U'] = 21,      ['V'] = 22,      ['W'] = 23,      ['X'] = 24,
	['Y'] = 25,      ['Z'] = 26,      ['0'] = DIGIT,   ['1'] = DIGIT,   ['2'] = DIGIT,
	['3'] = DIGIT,   ['4'] = DIGIT,   ['5'] = DIGIT,   ['6'] = DIGIT,   ['7'] = DIGIT,
	['8'] = DIGIT,   ['9'] = DIGIT,   ['_'] = LINE,    ['"'] = CLOSER,  ['\''] = CLOSER,
	['`'] = CLOSER,  ['\\'] = CLOSER, [']'] = CLOSER,  [' '] = CLOSER,  ['\t'] = CLOSER,
	['-'] = LINE,    [0xc2] = CLOSER, [0xe2] = CLOSER, [0xe3] = CLOSER, [0xa0] = CLOSER,
	[0xaf] = CLOSER, [0x80] = CLOSER, [0x82] = CLOSER, [0x83] = CLOSER, [0x89] = CLOSER,
	[0x8b] = CLOSER,
};

#define L(letter) ((uint32_t)1 << ((letter)&31))
#define LETTERS 0x07fffffeu

/*
 * For each last character of the keys in redact_key.c (those that occur in
 * text) the ones before it, and the ones before that.
 */
static const struct {
	uint32_t second, third;
} endings[32] = {
	['a' & 31] = { L('t'), L('a') },                   /* client-key-data */
	['c' & 31] = { L('i') | L('a'), L('n') | L('m') }, /* mnemonic Private-MAC */
	/* password passwd pwd sid jsessionid old prod private_key_id seed */
	['d' & 31] = { L('r') | L('w') | L('i') | L('l') | L('o') | L('e') | L('s'),
		       L('o') | L('s') | L('p') | L('n') | L('r') | L('y') | L('e') | L('f') |
			       L(LINE) },
	/* cookie passcode passphrase base value signature */
	['e' & 31] = { L('i') | L('d') | L('s') | L('u') | L('r'),
		       L('k') | L('o') | L('a') | L('l') | L('u') },
	['g' & 31] = { L('i'), L('s') }, /* sig= of a signed URL */
	['h' & 31] = { L('s') | L('t'), L('a') | L('u') },
	['k' & 31] = { L('s'), L('p') }, /* psk */
	['l' & 31] = { L('a'), L('i') },
	['n' & 31] = { L('e') | L('o') | L('i'), L('k') | L('i') | L('p') }, /* token pin */
	['p' & 31] = { L('t'), L('o') },                                     /* otp */
	['r' & 31] = { L('e'), L('r') },                                     /* bearer */
	/* keys creds passwords secrets pass cookies credentials lines */
	['s' & 31] = { L('y') | L('d') | L('t') | L('s') | L('e') | L('l'),
		       L('e') | L('r') | L('a') | L('i') | L('n') },
	['t' & 31] = { L('e') | L('w') | L('r'), L('r') | L('j') | L('o') }, /* secret jwt */
	['v' & 31] = { L('e'), L('d') },
	['w' & 31] = { L('e') | L('a') | L('p') | L('s'), ~(uint32_t)0 }, /* new raw pw passw */
	['y' & 31] = { L('e'), L('k') },
	[DIGIT] = { LETTERS | L(LINE), ~(uint32_t)0 },
	[LINE] = { LETTERS, ~(uint32_t)0 },
	[CLOSER] = { LETTERS | L(DIGIT) | L(CLOSER), ~(uint32_t)0 },
};

/* Whether a mark that is not a sign between key and value is worth a look. */
static inline bool likely_other(const unsigned char *p)
{
	switch (p[0]) {
	case 'b':
	case 'B': return (p[2] | 0x20) == 'a' || (p[2] | 0x20) == 's';
	case 'p':
	case 'P': return (p[1] | 0x20) == 'a' && (p[2] | 0x20) == 's';
	case '-':
		return p[1] == '-' ||
		       ((sorts[p[-1]] == CLOSER || p[-1] == ',') && sorts[p[1]] - 1u < 26);
	case '@': return true;
	case '~': return p[-1] == 'Q';
	case '%': return p[1] == '3' || p[1] == '2';
	case (unsigned char)WIDE: return p[1] == 0xbc && (p[2] == 0x9a || p[2] == 0x9d);
	default: return false;
	}
}

/* The same for a sign: ':', '=' or '>'. Without branches, which would be guessed wrong as
 * often as the words of a message differ. */
static inline uint32_t likely_sign(const unsigned char *p)
{
	const unsigned char *end = p - (p[-1] == '"');
	unsigned last = sorts[end[-1]];
	uint32_t key = (endings[last].second >> sorts[end[-2]]) &
		       (endings[last].third >> sorts[end[-3]]) & 1;
	/* After attributes the name of an element is far; names in percent encoding may
	 * end in anything. */
	uint32_t tag = p[0] == '>' && (p[-1] == '"' || p[-1] == '\'');
	uint32_t url = p[1] == '/' || p[-3] == '%';

	return (key | tag | url) & (p[0] != ';' && p[0] != '<');
}

/*
 * Of the marks those that are worth a look: a sign after letters that a secret's key may
 * end in, dashes that start an option, "bea", "bas" and "pas". `edge`: marks of which the
 * bytes from four before to two after are not all in the text. Letters look ahead only,
 * and two bytes before the end none starts a secret.
 */
static inline uint64_t likely(const char *block, size_t rest, uint64_t marks, uint64_t edge)
{
	uint64_t places = 0;

	for (; marks; marks &= marks - 1) {
		unsigned bit = (unsigned)__builtin_ctzll(marks);
		const unsigned char *p = (const unsigned char *)block + bit;
		uint32_t found;

		if (p[0] >= ':' && p[0] <= '>')
			found = edge >> bit & 1 ? 1 : likely_sign(p);
		else if (fw_is_letter((char)p[0]))
			found = bit + 2 < rest && likely_other(p);
		else
			found = edge >> bit & 1 || likely_other(p);
		places |= (uint64_t)found << bit;
	}
	return places;
}

static bool look_at(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	switch (v->t[at]) {
	case ':':
		if (FW_REDACT_STARTS(v, at, "://"))
			return fw_redact__match_url(v, at, m);
		return fw_redact__match_pair(v, at, m);
	case '=':
	case '%':
	case WIDE: return fw_redact__match_pair(v, at, m);
	case '>': return fw_redact__match_element(v, at, m);
	case ';':
	case '<':
	case '?': return false;
	case '@': return fw_redact__match_dsn(v, at, m);
	case '~': return fw_redact__match_azure(v, at, m);
	case '-':
		return fw_redact__match_pem(v, at, m) || fw_redact__match_option(v, at, m) ||
		       fw_redact__match_flag(v, at, m);
	case 'p':
	case 'P': return fw_redact__match_word(v, at, m) || fw_redact__match_token(v, at, m);
	case 'b':
	case 'B': return fw_redact__match_scheme(v, at, m) || fw_redact__match_token(v, at, m);
	default: return fw_redact__match_token(v, at, m);
	}
}

/*
 * What has been redacted stays as it is, and so does a value around it: it was there
 * before, and was not hidden. Compared without the bracket, which a value may end at. A
 * private key is hidden regardless of its content.
 */
static bool match_at(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t from;

	if (!look_at(v, at, m))
		return false;
	from = m->start < at ? m->start : at;
	return m->start == at ||
	       !memmem(v->t + from, m->end - from, FW_REDACTED, sizeof(FW_REDACTED) - 2);
}

/* Where in a block a secret could be. `rest`: the bytes from here to the end of the text. */
static inline uint64_t places_in(const char *block, size_t rest, const struct sets *sets,
				 bool is_first, bool in_run)
{
	uint64_t starts = sets->token & ~(sets->token << 1 | in_run);
	/* A sign, a dash that starts a word, or a letter that starts a word of
	 * four; what is beyond the block counts as long enough. */
	uint64_t marks = sets->mark &
			 (~sets->token | (starts & (sets->dash | sets->token >> 3 | TOP(3))));
	uint64_t edge = is_first ? 15 : 0;

	if (rest < BLOCK + 2)
		edge |= ~(uint64_t)0 << (rest > 2 ? rest - 2 : 0);
	return likely(block, rest, marks, edge) | (long_runs(sets->token) & starts) |
	       five_dashes(sets->dash, !is_first && block[-1] == '-');
}

static bool find_first(const struct fw_redact_view *v, struct fw_redact_match *m,
		       size_t *ret_at)
{
	size_t run = 0; /* how long the run is that the last block ended in */

	for (size_t i = v->from; i < v->len; i += BLOCK) {
		size_t len = v->len - i < BLOCK ? v->len - i : BLOCK;
		struct sets sets = classify(v->t + i, len, i - v->from);
		size_t first = ~sets.token ? (size_t)__builtin_ctzll(~sets.token) : BLOCK;
		uint64_t places;

		/* A run that came in from the last block is judged at its start. */
		*ret_at = i - run;
		if (run > 0 && run < RUN_LEAST && run + first >= RUN_LEAST &&
		    match_at(v, *ret_at, m))
			return true;
		places = places_in(v->t + i, v->len - i, &sets, i == v->from, run > 0);
		for (; places; places &= places - 1) {
			*ret_at = i + (size_t)__builtin_ctzll(places);
			if (match_at(v, *ret_at, m))
				return true;
		}
		if (first == BLOCK)
			run += BLOCK;
		else
			run = (size_t)__builtin_clzll(~sets.token);
	}
	return false;
}

/*
 * A secret may start some way after the place that gives it away, as in "--user
 * name:secret". What is between the two is searched as well.
 */
bool fw_redact__find(const struct fw_redact_view *v, struct fw_redact_match *m)
{
	size_t at = 0, last_body = FW_REDACT_NOT_LOOKED;
	struct fw_redact_view between;
	struct fw_redact_match earlier;

	if (!find_first(v, m, &at))
		return false;
	if (m->start < at + FW_REDACT_LEAST)
		return true;
	between = *v;
	between.len = m->start;
	between.last_body = &last_body;
	if (find_first(&between, &earlier, &at) && earlier.start < m->start)
		*m = earlier;
	return true;
}

static size_t find_in(const char *text, size_t len, uint64_t places)
{
	size_t last_body = FW_REDACT_NOT_LOOKED;
	const struct fw_redact_view view = { text, len, 0, &last_body };
	struct fw_redact_match match;
	size_t at = 0;

	/* Nearly always there is none. */
	if (len > BLOCK) {
		if (!find_first(&view, &match, &at))
			return len;
	} else {
		while (places && !match_at(&view, (size_t)__builtin_ctzll(places), &match))
			places &= places - 1;
		if (!places)
			return len;
	}
	return fw_redact__find(&view, &match) ? match.start : len;
}

size_t fw_redact_find(const char *text, size_t len)
{
	uint64_t places = 0;

	if (len < FW_REDACT_LEAST)
		return len;
	/* Short texts, which most are, rarely have a place to look at closely. */
	if (len <= BLOCK) {
		struct sets sets = classify(text, len, 0);

		places = places_in(text, len, &sets, true, false);
		if (!places)
			return len;
	}
	return find_in(text, len, places);
}

/* ---- the copy ----------------------------------------------------------- */

struct sink {
	char *dst;
	size_t cap, len;
	bool cut;
};

/* Counts all, keeps what fits, and after the first cut nothing more. */
static void put(struct sink *sink, const char *text, size_t len)
{
	size_t room = sink->len < sink->cap ? sink->cap - sink->len : 0;
	size_t kept = len;

	if (!sink->cut) {
		if (kept > room) {
			kept = fw_utf8_cut(text, len, room);
			sink->cut = true;
		}
		if (kept)
			memcpy(sink->dst + sink->len, text, kept);
		if (sink->cut)
			sink->cap = sink->len + kept;
	}
	sink->len += len;
}

size_t fw_redact_copy(char *dst, size_t cap, const char *src, size_t len)
{
	struct sink sink = { dst, cap ? cap - 1 : 0, 0, false };
	size_t last_body = FW_REDACT_NOT_LOOKED;
	struct fw_redact_view view = { src, len, 0, &last_body };
	struct fw_redact_match match;

	while (fw_redact__find(&view, &match)) {
		put(&sink, src + view.from, match.start - view.from);
		put(&sink, match.quote, match.quote_len);
		put(&sink, FW_REDACTED, sizeof(FW_REDACTED) - 1);
		put(&sink, match.quote, match.quote_len);
		view.from = match.end;
	}
	put(&sink, src + view.from, len - view.from);
	if (cap)
		dst[sink.cut ? sink.cap : sink.len] = '\0';
	return sink.len;
}

size_t fw_redact_cut(char *dst, size_t cap, const char *src, size_t len)
{
	size_t most = cap + FW_LIMIT_REDACT_AHEAD_BYTES, need;

	if (!cap)
		return 0;
	need = fw_redact_copy(dst, cap, src, len < most ? len : most);
	return need < cap ? need : strlen(dst);
}
