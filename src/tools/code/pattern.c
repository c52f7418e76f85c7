/* pattern.c - see pattern.h. */
#include "tools/code/pattern.h"

#include <string.h>

static bool digits(struct fw_code_pattern *p, unsigned *ret_number)
{
	const char *start = p->at;

	*ret_number = 0;
	while (p->at < p->end && *p->at >= '0' && *p->at <= '9' && p->at - start < 6)
		*ret_number = *ret_number * 10 + (unsigned)(*p->at++ - '0');
	return p->at > start;
}

/* Parses {2}, {2,} and {2,5}. Gives up on any other brace, which may or may not be an
 * ordinary character. */
static struct fw_code_pattern_times braces(struct fw_code_pattern *p)
{
	struct fw_code_pattern_times times = { .is_exact = true, .is_given = true };
	unsigned most = 0;

	p->at++;
	if (!digits(p, &times.least))
		p->has_failed = true;
	if (p->at < p->end && *p->at == ',') {
		p->at++;
		times.is_exact = digits(p, &most) && most == times.least;
	}
	if (p->at >= p->end || *p->at++ != '}')
		p->has_failed = true;
	return times;
}

struct fw_code_pattern_times fw_code_pattern_times(struct fw_code_pattern *p)
{
	struct fw_code_pattern_times times = { .least = 1, .is_exact = true };

	if (p->at >= p->end)
		return times;
	switch (*p->at) {
	case '*':
	case '?':
	case '+':
		times.least = *p->at++ == '+';
		times.is_exact = false;
		times.is_given = true;
		break;
	case '{': times = braces(p); break;
	default: return times;
	}
	if (p->at < p->end && (*p->at == '?' || *p->at == '+'))
		p->at++;
	/* Two quantifiers in a row are an error or have another meaning. */
	if (p->at < p->end &&
	    (*p->at == '*' || *p->at == '+' || *p->at == '?' || *p->at == '{'))
		p->has_failed = true;
	return times;
}

void fw_code_pattern_open(struct fw_code_pattern *p)
{
	p->at++;
	if (p->at >= p->end || (*p->at != '*' && *p->at != '?'))
		return;
	if (p->end - p->at < 2 || p->at[0] == '*' || p->at[1] != ':')
		p->has_failed = true;
	else
		p->at += 2;
}

bool fw_code_pattern_posix(struct fw_code_pattern *p, bool *ret_is_digit)
{
	const char *name = p->at + 2;
	const char *at = name;

	while (at < p->end && ((*at >= 'a' && *at <= 'z') || *at == '^'))
		at++;
	if (p->at[1] != ':' || p->end - at < 2 || at[0] != ':' || at[1] != ']')
		return false;
	*ret_is_digit = at - name == 5 && memcmp(name, "digit", 5) == 0;
	p->at = at + 2;
	return true;
}
