/*
 * redact_command.c - secrets on command lines and beside their name without a
 * sign between: --password hunter2, mysql -phunter2, curl -u name:hunter2,
 * "password hunter2", and the lines of .netrc files.
 *
 * What a flag of one letter means depends on the command, so that is looked
 * for in the words before it, a bounded number of bytes back.
 */
#include "core/redact_impl.h"

enum {
	COMMAND_BEFORE = 96, /* bytes between a command and its flag */
	USER_MAX = 64,       /* bytes of the name in name:value */
	NETRC_BEFORE = 160,  /* bytes between "machine" and "password" */
	VALUE_LEAST = 6,     /* bytes of a password that nothing but its name precedes */
	BLANKS_MAX = 4,
};

/* ---- flags of one letter ---------------------------------------------------- */

enum flag_form {
	GLUED = 1, /* -pvalue */
	NEXT = 2,  /* -p value */
	USER = 4,  /* only what is after a colon */
	LOGIN = 8, /* only with the word "login": docker run -p is a port */
};

static const struct {
	const char *command, *letters;
	unsigned forms;
} flags[] = {
	{ "mysql", "p", GLUED },
	{ "mysqldump", "p", GLUED },
	{ "mysqladmin", "p", GLUED },
	{ "mysqlimport", "p", GLUED },
	{ "mysqlsh", "p", GLUED },
	{ "mariadb", "p", GLUED },
	{ "mariadb-dump", "p", GLUED },
	{ "mariadb-admin", "p", GLUED },
	{ "curl", "uU", GLUED | NEXT | USER },
	{ "http", "a", NEXT | USER },
	{ "https", "a", NEXT | USER },
	{ "sshpass", "p", GLUED | NEXT },
	{ "mongo", "p", NEXT },
	{ "mongosh", "p", NEXT },
	{ "mongodump", "p", NEXT },
	{ "mongorestore", "p", NEXT },
	{ "redis-cli", "a", NEXT },
	{ "sqlcmd", "P", NEXT },
	{ "bcp", "P", NEXT },
	{ "ldapsearch", "w", NEXT },
	{ "ldapmodify", "w", NEXT },
	{ "ldapadd", "w", NEXT },
	{ "zip", "P", NEXT },
	{ "unzip", "P", NEXT },
	{ "7z", "p", GLUED },
	{ "ipmitool", "P", NEXT },
	{ "docker", "p", NEXT | LOGIN },
	{ "podman", "p", NEXT | LOGIN },
	{ "az", "p", NEXT | LOGIN },
	{ "oc", "p", NEXT | LOGIN },
	{ "helm", "p", NEXT | LOGIN },
};

static bool in_command(char c)
{
	return fw_redact_in_token(c);
}

/* The forms of the flag, by the first command in the words before it that knows it. */
static unsigned forms_of(const struct fw_redact_view *v, size_t at)
{
	/* Also after the last secret: mysql -pone -ptwo. */
	size_t stop = at > COMMAND_BEFORE ? at - COMMAND_BEFORE : 0;
	bool is_login = false;
	size_t end = at, start;

	for (; end > stop && v->t[end - 1] != '\n'; end = start > stop ? start - 1 : start) {
		for (start = end; start > stop && in_command(v->t[start - 1]);)
			start--;
		is_login |= end - start == 5 && memcmp(v->t + start, "login", 5) == 0;
		if (start == end || (!fw_is_lower(v->t[start]) && v->t[start] != '7'))
			continue;
		for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
			size_t n = strlen(flags[i].command);

			if (end - start == n &&
			    memcmp(v->t + start, flags[i].command, n) == 0 &&
			    strchr(flags[i].letters, v->t[at + 1]) &&
			    (is_login || !(flags[i].forms & LOGIN)))
				return flags[i].forms;
		}
	}
	return 0;
}

/* name:value from `start` on: the part after the colon. */
static bool match_user(const struct fw_redact_view *v, size_t start, struct fw_redact_match *m)
{
	char quote = fw_redact_at(v, start);
	size_t at, end;

	start += fw_is_quote(quote);
	for (at = start; at < v->len && at - start < USER_MAX; at++)
		if (v->t[at] == ':' || (unsigned char)v->t[at] <= ' ' || fw_is_quote(v->t[at]))
			break;
	if (fw_redact_at(v, at) != ':')
		return false;
	for (end = ++at;
	     end < v->len &&
	     (fw_is_quote(quote) ? v->t[end] != quote
				 : (unsigned char)v->t[end] > ' ' && !fw_is_quote(v->t[end]));)
		end++;
	/* 1000:1000 of docker run --user is no password. */
	for (start = at; start < end && fw_is_digit(v->t[start]);)
		start++;
	if (start == end || fw_redact__is_never_secret(v->t + at, end - at))
		return false;
	return fw_redact_take(m, at, end);
}

/* A word, up to a blank or, in quotes, to the quote that closes it. */
static bool match_argument(const struct fw_redact_view *v, size_t start,
			   struct fw_redact_match *m)
{
	char quote = fw_redact_at(v, start);
	size_t end;

	start += fw_is_quote(quote);
	for (end = start;
	     end < v->len &&
	     (fw_is_quote(quote) ? v->t[end] != quote
				 : (unsigned char)v->t[end] > ' ' && !fw_is_quote(v->t[end]));)
		end++;
	if (end == start || v->t[start] == '-' ||
	    fw_redact__is_never_secret(v->t + start, end - start))
		return false;
	return fw_redact_take(m, start, end);
}

/* Where the next word of a command line or of a list of words starts, after `at`. */
static size_t next_argument(const struct fw_redact_view *v, size_t at)
{
	if (fw_is_quote(fw_redact_at(v, at)))
		at++;
	if (fw_redact_at(v, at) == ',')
		at++;
	for (int i = 0; i < BLANKS_MAX && fw_is_blank(fw_redact_at(v, at)); i++)
		at++;
	return at;
}

bool fw_redact__match_flag(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	char letter = fw_redact_at(v, at + 1), behind = fw_redact_at(v, at + 2);
	bool is_next = fw_is_space(behind) || fw_is_quote(behind) || behind == ',' || !behind;
	unsigned forms;

	if (!strchr("paPuUw", letter) || !letter || !fw_redact_starts_word(v, at))
		return false;
	forms = forms_of(v, at);
	if (!(forms & (is_next ? NEXT : GLUED)))
		return false;
	at = is_next ? next_argument(v, at + 2) : at + 2;
	return forms & USER ? match_user(v, at, m) : match_argument(v, at, m);
}

/* ---- options with a name ---------------------------------------------------- */

static bool is_user(const struct fw_redact_view *v, size_t name, size_t end)
{
	return end - name >= 4 && fw_equals_lower(v->t + end - 4, "user", 4);
}

bool fw_redact__match_option(const struct fw_redact_view *v, size_t at,
			     struct fw_redact_match *m)
{
	size_t name = at + 1 + (fw_redact_at(v, at + 1) == '-'), end = name, start;
	enum fw_redact_kind kind;
	char behind;

	if (!fw_redact_starts_word(v, at))
		return false;
	while (end < v->len && fw_redact_in_token(v->t[end]))
		end++;
	behind = fw_redact_at(v, end);
	if (end < name + 2 || (behind != ' ' && behind != ',' && behind != '=' &&
			       !(fw_is_quote(behind) && at > v->from &&
				 v->t[at - 1] == behind && fw_redact_at(v, end + 1) == ',')))
		return false;
	start = behind == '=' || behind == ' ' ? end + 1 : next_argument(v, end);
	if (is_user(v, name, end))
		return match_user(v, start, m);
	if (behind == '=') /* a pair */
		return false;
	/* -pSECRET is a flag; names after one dash are in lower case. */
	for (size_t i = name; i < end && name == at + 1; i++)
		if (fw_is_upper(v->t[i]))
			return false;
	kind = fw_redact__key_kind(v->t + name, end - name);
	if (kind == FW_REDACT_NONE || kind == FW_REDACT_VALUE || fw_redact_at(v, start) == '-')
		return false;
	if (kind == FW_REDACT_WEAK)
		kind = FW_REDACT_PASSWORD;
	return fw_redact__match_value(v, start, kind,
				      fw_is_quote(fw_redact_at(v, start))
					      ? FW_REDACT_FORM_DATA
					      : FW_REDACT_FORM_PROSE,
				      m);
}

/* ---- beside its name -------------------------------------------------------- */

/* machine h login u password p, on one line or several. */
static bool is_netrc(const struct fw_redact_view *v, size_t at)
{
	size_t from = at > NETRC_BEFORE ? at - NETRC_BEFORE : 0;

	return memmem(v->t + from, at - from, "login ", 6) &&
	       (memmem(v->t + from, at - from, "machine ", 8) ||
		memmem(v->t + from, at - from, "default", 7));
}

/* After "password" and blanks, perhaps with "is" or "was" between. */
static size_t beside(const struct fw_redact_view *v, size_t at)
{
	for (int i = 0; i < BLANKS_MAX; i++)
		at += fw_redact_blank(v, at);
	if (FW_REDACT_STARTS(v, at, "is "))
		return at + 3;
	return FW_REDACT_STARTS(v, at, "was ") ? at + 4 : at;
}

bool fw_redact__match_word(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t word = at, start, end;

	while (word < v->len && fw_is_letter(v->t[word]) && word - at < 12)
		word++;
	if (!fw_redact_blank(v, word) || !fw_redact_starts_word(v, at) ||
	    fw_redact__key_kind(v->t + at, word - at) != FW_REDACT_PASSWORD)
		return false;
	start = beside(v, word);
	if (is_netrc(v, at))
		return match_argument(v, start, m);
	start += fw_is_quote(fw_redact_at(v, start));
	end = fw_redact__value_end(v, start);
	if (!fw_redact__is_random(v->t + start, end - start, VALUE_LEAST) ||
	    memchr(v->t + start, '(', end - start) || memchr(v->t + start, '=', end - start) ||
	    memchr(v->t + start, '/', end - start) || v->t[start] == '-' ||
	    fw_redact__is_method(v->t + start, end - start) ||
	    fw_redact__is_never_secret(v->t + start, end - start))
		return false;
	return fw_redact_take(m, start, end);
}
