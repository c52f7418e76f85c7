/*
 * ecma.c - regular expressions of ECMA-262 (unicode mode, with the
 * leniencies real schemas rely on) written anew for PCRE2.
 *
 * Translating instead of handing the text over serves meaning and safety. \d,
 * \w, \s, `.`, \uXXXX and \p{Letter} mean what JavaScript says; and what only
 * PCRE2 understands - (*VERBS), recursion, callouts, \K, \Q, possessive
 * quantifiers - is refused as the syntax error it is in JavaScript, so a peer
 * cannot reach those parts of the engine at all.
 *
 * One pass over the text, run twice: first to count, then to write.
 */
#include <string.h>

#include "ascii.h"
#include "regex.h"

/* White space of ECMA-262, and everything else, as class contents. */
#define SPACE                                                     \
	"\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}" \
	"\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}"
#define NOT_SPACE                                                     \
	"\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}" \
	"\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}"   \
	"\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}"   \
	"\\x{ff00}-\\x{10ffff}"

struct translation {
	const char *p, *end;
	char *out; /* NULL: count only */
	size_t n;
};

static void put(struct translation *t, const char *s, size_t n)
{
	if (t->out)
		memcpy(t->out + t->n, s, n);
	t->n += n;
}

static void puts_(struct translation *t, const char *s)
{
	put(t, s, strlen(s));
}

static void put_code(struct translation *t, uint32_t code)
{
	static const char digits[] = "0123456789abcdef";
	char text[16];
	size_t n = sizeof text;

	text[--n] = '}';
	do {
		text[--n] = digits[code & 15];
		code >>= 4;
	} while (code);
	text[--n] = '{';
	text[--n] = 'x';
	text[--n] = '\\';
	put(t, text + n, sizeof text - n);
}

/* Exactly `n` hex digits at p. */
static bool hex_run(const char *p, const char *end, int n, uint32_t *ret)
{
	uint32_t v = 0;

	if (end - p < n)
		return false;
	for (int i = 0; i < n; i++) {
		if (fw_schema__hex(p[i]) < 0)
			return false;
		v = v * 16 + (uint32_t)fw_schema__hex(p[i]);
	}
	*ret = v;
	return true;
}

/* After "\u": XXXX, a surrogate pair XXXX\uXXXX, or {X...}. */
static bool take_u(struct translation *t, uint32_t *ret)
{
	uint32_t hi, lo;

	if (t->p < t->end && *t->p == '{') {
		const char *p = t->p + 1;

		for (hi = 0; p < t->end && fw_schema__hex(*p) >= 0 && hi <= 0x10ffff; p++)
			hi = hi * 16 + (uint32_t)fw_schema__hex(*p);
		if (p == t->end || *p != '}' || p == t->p + 1 || hi > 0x10ffff)
			return false;
		t->p = p + 1;
	} else {
		if (!hex_run(t->p, t->end, 4, &hi))
			return false;
		t->p += 4;
		if (hi >= 0xd800 && hi < 0xdc00 && t->end - t->p >= 6 && t->p[0] == '\\' &&
		    t->p[1] == 'u' && hex_run(t->p + 2, t->end, 4, &lo) && lo >= 0xdc00 &&
		    lo < 0xe000) {
			hi = 0x10000 + ((hi - 0xd800) << 10) + (lo - 0xdc00);
			t->p += 6;
		}
	}
	*ret = hi;
	return hi < 0xd800 || hi > 0xdfff; /* half a pair matches nothing */
}

/* Long names of general categories: ECMA-262 has them, PCRE2 has not. */
static const char *const categories[][3] = {
	{ "Letter", "L" },
	{ "Cased_Letter", "L&", "LC" },
	{ "Uppercase_Letter", "Lu" },
	{ "Lowercase_Letter", "Ll" },
	{ "Titlecase_Letter", "Lt" },
	{ "Modifier_Letter", "Lm" },
	{ "Other_Letter", "Lo" },
	{ "Mark", "M", "Combining_Mark" },
	{ "Nonspacing_Mark", "Mn" },
	{ "Spacing_Mark", "Mc" },
	{ "Enclosing_Mark", "Me" },
	{ "Number", "N" },
	{ "Decimal_Number", "Nd", "digit" },
	{ "Letter_Number", "Nl" },
	{ "Other_Number", "No" },
	{ "Punctuation", "P", "punct" },
	{ "Connector_Punctuation", "Pc" },
	{ "Dash_Punctuation", "Pd" },
	{ "Open_Punctuation", "Ps" },
	{ "Close_Punctuation", "Pe" },
	{ "Initial_Punctuation", "Pi" },
	{ "Final_Punctuation", "Pf" },
	{ "Other_Punctuation", "Po" },
	{ "Symbol", "S" },
	{ "Math_Symbol", "Sm" },
	{ "Currency_Symbol", "Sc" },
	{ "Modifier_Symbol", "Sk" },
	{ "Other_Symbol", "So" },
	{ "Separator", "Z" },
	{ "Space_Separator", "Zs" },
	{ "Line_Separator", "Zl" },
	{ "Paragraph_Separator", "Zp" },
	{ "Other", "C" },
	{ "Control", "Cc", "cntrl" },
	{ "Format", "Cf" },
	{ "Surrogate", "Cs" },
	{ "Private_Use", "Co" },
	{ "Unassigned", "Cn" },
};

/* After "\p" or "\P": {Name}, {gc=Name}, {Script=Name}. */
static bool take_property(struct translation *t, char letter)
{
	const char *name = t->p + 1, *close, *eq;
	size_t n;

	if (t->p == t->end || *t->p != '{')
		return false;
	close = memchr(name, '}', (size_t)(t->end - name));
	if (!close || close == name)
		return false;
	for (eq = name; eq < close; eq++)
		if (!(fw_schema__is_alpha(*eq) || fw_schema__is_digit(*eq) || *eq == '_' ||
		      *eq == '='))
			return false;
	t->p = close + 1;
	eq = memchr(name, '=', (size_t)(close - name));
	if (eq && ((eq - name == 2 && !memcmp(name, "gc", 2)) ||
		   (eq - name == 16 && !memcmp(name, "General_Category", 16))))
		name = eq + 1;
	n = (size_t)(close - name);
	put(t, "\\", 1);
	put(t, &letter, 1);
	put(t, "{", 1);
	for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
		for (int k = 0; k < 3; k += 2) {
			const char *is = categories[i][k];

			if (is && strlen(is) == n && !memcmp(is, name, n)) {
				name = categories[i][1];
				n = strlen(name);
			}
		}
	}
	put(t, name, n);
	put(t, "}", 1);
	return true;
}

/* An escape, t->p after the backslash. *ret_set: it stands for a set of
 * characters, so it cannot end a range. */
static bool take_escape(struct translation *t, bool in_class, bool *ret_set)
{
	uint32_t code;
	char ch;

	*ret_set = false;
	if (t->p == t->end)
		return false;
	ch = *t->p++;
	switch (ch) {
	case 'd':
	case 'D':
	case 'w':
	case 'W':
		*ret_set = true;
		put(t, "\\", 1);
		put(t, &ch, 1); /* ASCII, as PCRE2_UCP is not set */
		return true;
	case 's':
	case 'S':
		*ret_set = true;
		if (!in_class)
			puts_(t, "[");
		puts_(t, ch == 's' ? SPACE : NOT_SPACE);
		if (!in_class)
			puts_(t, "]");
		return true;
	case 'p':
	case 'P': *ret_set = true; return take_property(t, ch);
	case 'b':
		if (in_class)
			put_code(t, 8);
		else
			puts_(t, "\\b");
		return true;
	case 'B': puts_(t, "\\B"); return !in_class;
	case 't': put_code(t, 9); return true;
	case 'n': put_code(t, 10); return true;
	case 'v': put_code(t, 11); return true;
	case 'f': put_code(t, 12); return true;
	case 'r': put_code(t, 13); return true;
	case 'c':
		if (t->p == t->end || !fw_schema__is_alpha(*t->p))
			return false;
		put_code(t, (uint32_t)*t->p++ & 31);
		return true;
	case 'x':
		if (!hex_run(t->p, t->end, 2, &code))
			return false;
		t->p += 2;
		put_code(t, code);
		return true;
	case 'u':
		if (!take_u(t, &code))
			return false;
		put_code(t, code);
		return true;
	case '0': put_code(t, 0); return t->p == t->end || *t->p < '0' || *t->p > '9';
	case 'k':
		if (in_class || t->p == t->end || *t->p != '<')
			return false;
		puts_(t, "\\k"); /* the <name> follows as it is */
		return true;
	default:
		if (ch >= '1' && ch <= '9' && !in_class) {
			puts_(t, "\\g{");
			put(t, &ch, 1);
			while (t->p < t->end && *t->p >= '0' && *t->p <= '9')
				put(t, t->p++, 1);
			puts_(t, "}");
			return true;
		}
		/* Any punctuation may be escaped, also where unicode mode
		 * would object: "\-" and "\_" are everywhere. */
		if (fw_schema__is_alpha(ch) || fw_schema__is_digit(ch) ||
		    (unsigned char)ch < 32)
			return false;
		if (!((unsigned char)ch & 0x80))
			put(t, "\\", 1);
		put(t, &ch, 1);
		return true;
	}
}

/* [...], t->p after the bracket. */
static bool take_class(struct translation *t)
{
	bool after_set = false, set;

	puts_(t, "[");
	if (t->p < t->end && *t->p == '^')
		put(t, t->p++, 1);
	while (t->p < t->end && *t->p != ']') {
		char ch = *t->p++;

		set = false;
		if (ch == '\\') {
			if (!take_escape(t, true, &set))
				return false;
		} else if (ch == '-') {
			/* Beside a set it is itself and makes no range. */
			bool before_set = t->end - t->p >= 2 && *t->p == '\\' &&
					  memchr("dDwWsSpP", t->p[1], 8);

			puts_(t, after_set || before_set ? "\\-" : "-");
		} else if (ch == '[') {
			puts_(t, "\\["); /* never a POSIX class */
		} else {
			put(t, &ch, 1);
		}
		after_set = set;
	}
	if (t->p == t->end)
		return false;
	t->p++;
	puts_(t, "]");
	return true;
}

/* "{2}", "{2,}" or "{2,3}" at p; its length or 0. */
static size_t braces(const char *p, const char *end)
{
	const char *s = p + 1;

	while (s < end && *s >= '0' && *s <= '9')
		s++;
	if (s == p + 1)
		return 0;
	if (s < end && *s == ',')
		for (s++; s < end && *s >= '0' && *s <= '9'; s++)
			;
	return s < end && *s == '}' ? (size_t)(s + 1 - p) : 0;
}

/* "(" was read; what may follow "(?" in ECMA-262. */
static bool take_group(struct translation *t)
{
	const char *p = t->p, *s;

	puts_(t, "(");
	if (p < t->end && *p == '*')
		return false;
	if (p == t->end || *p != '?')
		return true;
	if (++p == t->end)
		return false;
	if (*p == ':' || *p == '=' || *p == '!') {
		p++;
	} else if (*p == '<') {
		p++;
		if (p < t->end && (*p == '=' || *p == '!'))
			p++;
		else if (p == t->end || *p == '>')
			return false;
	} else {
		/* (?ims-ims:...) of ES2025; the colon is not optional. */
		for (s = p; s < t->end && memchr("ims-", *s, 4); s++)
			;
		if (s == p || s == t->end || *s != ':')
			return false;
		p = s + 1;
	}
	put(t, t->p, (size_t)(p - t->p));
	t->p = p;
	return true;
}

static bool translate(struct translation *t)
{
	bool repeated = true, set; /* nothing to repeat at the start */

	while (t->p < t->end) {
		char ch = *t->p++;
		size_t n;

		switch (ch) {
		case '\\':
			if (!take_escape(t, false, &set))
				return false;
			repeated = false;
			break;
		case '[':
			if (!take_class(t))
				return false;
			repeated = false;
			break;
		case '(':
			if (!take_group(t))
				return false;
			repeated = true;
			break;
		case '.':
			puts_(t, "[^\\n\\r\\x{2028}\\x{2029}]");
			repeated = false;
			break;
		case '{':
			n = braces(t->p - 1, t->end);
			if (n == 0) {
				puts_(t, "\\{");
				repeated = false;
				break;
			}
			if (repeated)
				return false;
			put(t, t->p - 1, n);
			t->p += n - 1;
			goto lazy;
		case '*':
		case '+':
		case '?':
			if (repeated)
				return false;
			put(t, &ch, 1);
lazy:
			if (t->p < t->end && *t->p == '?')
				put(t, t->p++, 1);
			repeated = true;
			break;
		case '}':
		case ']':
			put(t, "\\", 1);
			put(t, &ch, 1);
			repeated = false;
			break;
		case '|':
		case '^':
			put(t, &ch, 1);
			repeated = true;
			break;
		default: put(t, &ch, 1); repeated = false;
		}
	}
	return true;
}

bool fw_schema__ecma(const char *text, size_t len, char *out, size_t *ret_len)
{
	struct translation t = { .p = text, .end = text + len, .out = out };

	if (!translate(&t))
		return false;
	*ret_len = t.n;
	return true;
}
