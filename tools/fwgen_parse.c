/*
 * fwgen_parse.c - reads registry/: stanzas, contracts.txt and codes.lock.
 *
 * The format is stanzas and not JSON, because half of a row is prose, which needs
 * lines that people can edit and review. The texts of a stanza are first collected by
 * key and then parsed (fwgen_keys.c), so that keys may be in any order and each fault
 * is reported with the line of its key.
 */
#define _DEFAULT_SOURCE /* scandir */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fwgen.h"

enum { COLUMNS_MAX = 100 };

static const struct {
	const char *name;
	bool required;
	bool one_word; /* further keys may follow on the same line */
} keys[KEY_COUNT] = {
	[KEY_CODE] = { "code", true, false },
	[KEY_SINCE] = { "since", true, true },
	[KEY_TITLE] = { "title", true, false },
	[KEY_CLASS] = { "class", true, false },
	[KEY_RECOVERABLE] = { "recoverable", true, true },
	[KEY_STATUS] = { "status", true, true },
	[KEY_SEVERITY] = { "severity", true, true },
	[KEY_JSONRPC] = { "jsonrpc", true, true },
	[KEY_ORIGIN] = { "origin", true, true },
	[KEY_KAIZA] = { "kaiza", true, true },
	[KEY_CONTEXT_V0] = { "context-v0", true, true },
	[KEY_CODEINTEL] = { "codeintel", false, true },
	[KEY_READS] = { "reads", false, false },
	[KEY_PARAMS] = { "params", false, false },
	[KEY_MESSAGE] = { "message", true, false },
	[KEY_STYLE] = { "style", false, true },
	[KEY_REPLY] = { "reply", false, true },
	[KEY_HINT] = { "hint", true, false },
	[KEY_EXAMPLE] = { "example", false, false },
};

/* ---- lines and words ---- */

struct reader {
	const char *file;
	unsigned line;
	char *next;
};

/* The next line without its newline, modified in place; NULL after the last. */
static char *read_line(struct reader *in)
{
	char *line = in->next, *end;

	if (!*line)
		return NULL;
	in->line++;
	end = strchr(line, '\n');
	if (end) {
		*end = '\0';
		in->next = end + 1;
	} else {
		end = line + strlen(line);
		in->next = end;
		complain(in->file, in->line, "last line has no newline");
	}

	if (end - line > COLUMNS_MAX)
		complain(in->file, in->line, "line is longer than %d columns", COLUMNS_MAX);
	if (end > line && isspace((unsigned char)end[-1]))
		complain(in->file, in->line, "line ends in white space");
	for (char *at = line; at < end; at++) {
		if ((unsigned char)*at < ' ' || (unsigned char)*at > '~') {
			complain(in->file, in->line, "byte 0x%02x is not printable ASCII",
				 (unsigned char)*at);
			break;
		}
	}
	return line;
}

static char *skip_spaces(char *at)
{
	while (*at == ' ')
		at++;
	return at;
}

char *next_word(char **at)
{
	char *word = skip_spaces(*at);
	char *end = word + strcspn(word, " ");

	*at = *end ? end + 1 : end;
	*end = '\0';
	return *word ? word : NULL;
}

/* ---- stanzas ---- */

static void finish_row(struct row *row)
{
	bool complete = true;

	for (int key = 0; key < KEY_COUNT; key++) {
		if (keys[key].required && !row->line[key]) {
			complain(row->file, row->line[KEY_CODE], "stanza lacks key \"%s\"",
				 keys[key].name);
			complete = false;
		}
	}
	if (!row->line[KEY_PROSE])
		complain(row->file, row->line[KEY_CODE], "stanza lacks its explanation");
	if (!complete)
		return;
	row_parse_keys(row);
}

static int find_key(const char *name, size_t len)
{
	for (int key = 0; key < KEY_COUNT; key++) {
		if (keys[key].name && strlen(keys[key].name) == len &&
		    memcmp(keys[key].name, name, len) == 0)
			return key;
	}
	return -1;
}

/* Reads "key: value", or several of them if each value is one word. Returns the
 * last key, which the next line may continue; -1 if there is none. */
static int read_keys(struct row *row, const struct reader *in, char *at)
{
	int key = -1;

	while (*at) {
		size_t len = strcspn(at, ": ");
		char *value;

		if (at[len] != ':') {
			complain(in->file, in->line, "expected \"key: value\", found \"%s\"",
				 at);
			return -1;
		}
		key = find_key(at, len);
		if (key < 0) {
			complain(in->file, in->line, "\"%.*s\" is not a key of a stanza",
				 (int)len, at);
			return -1;
		}
		at = skip_spaces(at + len + 1);
		value = at;
		if (keys[key].one_word) {
			at += strcspn(at, " ");
			if (*at)
				*at++ = '\0';
			at = skip_spaces(at);
		} else {
			at += strlen(at);
		}
		if (!*value) {
			complain(in->file, in->line, "key \"%s\" has no value", keys[key].name);
		} else if (row->line[key]) {
			complain(in->file, in->line, "key \"%s\" is given twice",
				 keys[key].name);
		}
		row->line[key] = in->line;
		row->text[key] = value;
	}
	return key;
}

static struct row *add_row(struct registry *registry, const char *file)
{
	struct row **grown = keep((registry->row_count + 1) * sizeof *grown);

	if (registry->row_count)
		memcpy(grown, registry->rows, registry->row_count * sizeof *grown);
	registry->rows = grown;
	registry->rows[registry->row_count] = keep(sizeof **grown);
	registry->rows[registry->row_count]->file = file;
	return registry->rows[registry->row_count++];
}

static void add_prose(struct row *row, const struct reader *in, const char *line,
		      bool paragraph)
{
	const char *before = row->text[KEY_PROSE];

	if (strncmp(line, "  ", 2) != 0 || line[2] == ' ')
		complain(in->file, in->line, "explanation must be indented by two spaces");
	if (!row->line[KEY_PROSE])
		row->line[KEY_PROSE] = in->line;
	row->text[KEY_PROSE] =
		keep_format("%s%s%s\n", before ? before : "", before && paragraph ? "\n" : "",
			    line + strspn(line, " "));
}

static void read_stanzas(struct registry *registry, const char *file)
{
	struct reader in = { .file = file, .next = file_read(file) };
	struct row *row = NULL;
	int last_key = -1;
	bool after_blank = true;
	char *line;

	while (in.next && (line = read_line(&in))) {
		bool indented = *line == ' ';

		if (*line == '#')
			continue;
		if (!*line) {
			after_blank = true;
			continue;
		}
		if (!indented && strncmp(line, "code:", 5) == 0) {
			if (row)
				finish_row(row);
			row = add_row(registry, file);
		} else if (!row) {
			complain(in.file, in.line, "a stanza must begin with \"code:\"");
			return;
		}

		if (!indented) {
			if (row->line[KEY_PROSE])
				complain(in.file, in.line,
					 "keys must stand before the explanation");
			last_key = read_keys(row, &in, line);
		} else if (row->line[KEY_PROSE] || after_blank) {
			add_prose(row, &in, line, after_blank);
		} else if (last_key >= 0 && !keys[last_key].one_word) {
			row->text[last_key] =
				keep_format("%s %s", row->text[last_key], skip_spaces(line));
		} else {
			complain(in.file, in.line, "nothing to continue here");
		}
		after_blank = false;
	}
	if (row)
		finish_row(row);
}

/* ---- the other files ---- */

static void read_contracts(struct registry *registry, const char *file)
{
	struct reader in = { .file = file, .next = file_read(file) };
	size_t room = 0;
	char *line;

	if (!in.next)
		give_up("could not find %s", file);
	for (const char *at = in.next; *at; at++)
		room += *at == '\n';
	registry->codes = keep((room + 1) * sizeof *registry->codes);

	while ((line = read_line(&in))) {
		struct contract_code *code = &registry->codes[registry->code_count];
		char *contract, *fact;

		if (*line == '#' || !*line)
			continue;
		contract = next_word(&line);
		code->file = file;
		code->line = in.line;
		code->contract = (enum contract)parse_name(
			file, in.line, "contract", contract_names, contract ? contract : "");
		code->code = next_word(&line);
		if (!code->code) {
			complain(file, in.line,
				 "a contract's name must be followed by its code");
			continue;
		}
		while (code->fact_count < FACTS_MAX && (fact = next_word(&line)))
			code->facts[code->fact_count++] = fact;
		registry->code_count++;
	}
}

static void read_lock(struct registry *registry, const char *file)
{
	struct reader in = { .file = file, .next = file_read(file) };
	size_t room = 0;
	char *line;

	if (!in.next)
		return;
	for (const char *at = in.next; *at; at++)
		room += *at == '\n';
	registry->locks = keep((room + 1) * sizeof *registry->locks);

	while ((line = read_line(&in))) {
		struct lock *lock = &registry->locks[registry->lock_count];
		const char *number, *word;

		if (*line == '#' || !*line)
			continue;
		lock->file = file;
		lock->line = in.line;
		number = next_word(&line);
		lock->code = next_word(&line);
		lock->since = next_word(&line);
		if (!number || !lock->code || !lock->since) {
			complain(file, in.line,
				 "a lock line is: number name since [retired=X use=Y]");
			continue;
		}
		lock->number =
			parse_number(file, in.line, "code number", 1, NUMBER_MAX, number);
		while ((word = next_word(&line))) {
			if (strncmp(word, "retired=", 8) == 0)
				lock->retired = word + 8;
			else if (strncmp(word, "use=", 4) == 0)
				lock->replaced_by = word + 4;
			else
				complain(file, in.line, "\"%s\" is neither retired=X nor use=Y",
					 word);
		}
		registry->lock_count++;
	}
}

static int is_stanza_file(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot && strcmp(dot, ".codes") == 0;
}

void registry_read(struct registry *registry, const char *dir)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, is_stanza_file, alphasort);

	if (count < 0)
		give_up("could not list %s: %s", dir, strerror(errno));
	registry->dir = dir;
	for (int i = 0; i < count; i++) {
		read_stanzas(registry, keep_format("%s/%s", dir, entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
	read_contracts(registry, keep_format("%s/contracts.txt", dir));
	read_lock(registry, keep_format("%s/codes.lock", dir));
}

void registry_update_lock(const struct registry *registry)
{
	struct text out = { 0 };
	const char *before = file_read(keep_format("%s/codes.lock", registry->dir));

	text_puts(&out, before ? before : "");
	for (size_t i = 0; i < registry->row_count; i++) {
		const struct row *row = registry->rows[i];
		bool locked = false;

		for (size_t j = 0; j < registry->lock_count && !locked; j++)
			locked = registry->locks[j].number == row->number;
		if (!locked)
			text_putf(&out, "%d %s %s\n", row->number, row->code,
				  row->text[KEY_SINCE]);
	}
	text_write(&out, registry->dir, "codes.lock");
}
