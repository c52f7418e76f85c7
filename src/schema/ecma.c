/*
 * ecma.c - translates regular expressions of ECMA-262 for PCRE2. The dialect is that
 * of unicode mode, with the exceptions that real schemas rely on.
 *
 * The translation has two purposes. \d, \w, \s, `.`, \uXXXX and \p{Letter} mean what
 * they mean in JavaScript. And syntax that only PCRE2 has - (*VERBS), recursion,
 * callouts, \K, \Q, possessive quantifiers - is a syntax error, as in JavaScript, so
 * a peer cannot reach those parts of the engine.
 *
 * The text is processed twice: first to compute the length, then to write.
 */
#include <string.h>

#include "base/ascii.h"
#include "schema/regex.h"

/* White space of ECMA-262, and its complement, as the contents of a class. */
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
		if (fw_hex_value(p[i]) < 0)
			return false;
		v = v * 16 + (uint32_t)fw_hex_value(p[i]);
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

		for (hi = 0; p < t->end && fw_hex_value(*p) >= 0 && hi <= 0x10ffff; p++)
			hi = hi * 16 + (uint32_t)fw_hex_value(*p);
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
	return hi < 0xd800 || hi > 0xdfff; /* a single surrogate matches nothing */
}

/* Long names of general categories, which PCRE2 does not know. */
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
		if (!(fw_is_letter(*eq) || fw_is_digit(*eq) || *eq == '_' || *eq == '='))
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

/* \d, \s, \p and the like: an escape that stands for a set of characters. False if
 * it is malformed. */
static bool take_set_escape(struct translation *t, char ch, bool in_class)
{
	if (ch == 'p' || ch == 'P')
		return take_property(t, ch);
	if (ch != 's' && ch != 'S') {
		put(t, "\\", 1);
		put(t, &ch, 1); /* ASCII only, as PCRE2_UCP is not set */
		return true;
	}
	if (!in_class)
		puts_(t, "[");
	puts_(t, ch == 's' ? SPACE : NOT_SPACE);
	if (!in_class)
		puts_(t, "]");
	return true;
}

/* An escape that stands for one character by its code: \n, \cA, \x41, \u0041, \0. */
static bool take_code_escape(struct translation *t, char ch)
{
	static const char controls[] = "tnvfr"; /* 9 to 13 */
	const char *control = memchr(controls, ch, sizeof controls - 1);
	uint32_t code = 0;
	bool ok = true;

	if (control) {
		code = 9 + (uint32_t)(control - controls);
	} else if (ch == 'c') {
		ok = t->p < t->end && fw_is_letter(*t->p);
		if (ok)
			code = (uint32_t)*t->p++ & 31;
	} else if (ch == 'x') {
		ok = hex_run(t->p, t->end, 2, &code);
		if (ok)
			t->p += 2;
	} else if (ch == 'u') {
		ok = take_u(t, &code);
	} else { /* \0, with no digit after it */
		ok = t->p == t->end || !fw_is_digit(*t->p);
	}
	if (ok)
		put_code(t, code);
	return ok;
}

/* A digit that is a reference to a group, or an escaped punctuation character. */
static bool take_other_escape(struct translation *t, char ch, bool in_class)
{
	if (ch >= '1' && ch <= '9' && !in_class) {
		puts_(t, "\\g{");
		put(t, &ch, 1);
		while (t->p < t->end && fw_is_digit(*t->p))
			put(t, t->p++, 1);
		puts_(t, "}");
		return true;
	}
	/* Any punctuation may be escaped, even if unicode mode forbids it: "\-" and
	 * "\_" are common in real schemas. */
	if (fw_is_letter(ch) || fw_is_digit(ch) || (unsigned char)ch < 32)
		return false;
	if (!((unsigned char)ch & 0x80))
		put(t, "\\", 1);
	put(t, &ch, 1);
	return true;
}

/* An escape; t->p is after the backslash. *ret_set: it stands for a set of
 * characters, so it cannot be the end of a range. */
static bool take_escape(struct translation *t, bool in_class, bool *ret_set)
{
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
	case 's':
	case 'S':
	case 'p':
	case 'P': *ret_set = true; return take_set_escape(t, ch, in_class);
	case 'b':
		if (in_class)
			put_code(t, 8);
		else
			puts_(t, "\\b");
		return true;
	case 'B': puts_(t, "\\B"); return !in_class;
	case 't':
	case 'n':
	case 'v':
	case 'f':
	case 'r':
	case 'c':
	case 'x':
	case 'u':
	case '0': return take_code_escape(t, ch);
	case 'k':
		if (in_class || t->p == t->end || *t->p != '<')
			return false;
		puts_(t, "\\k"); /* the <name> follows unchanged */
		return true;
	default: return take_other_escape(t, ch, in_class);
	}
}

/* A class [...]; t->p is after the bracket. */
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
			/* Next to a set it is a literal and makes no range. */
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

/* Length of a "{2}", "{2,}" or "{2,3}" at p; 0 if there is none. */
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

/* A group; t->p is after the "(". After "(?" only ECMA-262 syntax is allowed. */
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
		/* (?ims-ims:...) of ES2025; the colon is required. */
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

/* A quantifier: *, +, ? or {n,m} of length `n`, and a "?" that makes it lazy. */
static void take_quantifier(struct translation *t, size_t n)
{
	put(t, t->p, n);
	t->p += n;
	if (t->p < t->end && *t->p == '?')
		put(t, t->p++, 1);
}

/* Translates one element. *repeatable: a quantifier may follow it. */
static bool translate_one(struct translation *t, bool *repeatable)
{
	bool was_repeatable = *repeatable, set;
	char ch = *t->p;
	size_t n = ch == '{' ? braces(t->p, t->end) : ch == '*' || ch == '+' || ch == '?';

	if (n) {
		take_quantifier(t, n);
		*repeatable = false;
		return was_repeatable;
	}
	t->p++;
	*repeatable = ch != '(' && ch != '|' && ch != '^';
	switch (ch) {
	case '\\': return take_escape(t, false, &set);
	case '[': return take_class(t);
	case '(': return take_group(t);
	case '.': puts_(t, "[^\\n\\r\\x{2028}\\x{2029}]"); return true;
	case '{':
	case '}':
	case ']': put(t, "\\", 1); break;
	default: break;
	}
	put(t, &ch, 1);
	return true;
}

static bool translate(struct translation *t)
{
	bool repeatable = false;

	while (t->p < t->end)
		if (!translate_one(t, &repeatable))
			return false;
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
