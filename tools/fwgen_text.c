/*
 * fwgen_text.c - memory, messages and text.
 *
 * Every block is in one list and released at the end, so that the rest of fwgen can
 * share strings freely and leak checkers report nothing.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fwgen.h"

struct block {
	struct block *next;
	max_align_t bytes[];
};

static struct block *blocks;
static unsigned complaints;

void *keep(size_t size)
{
	struct block *block = calloc(1, sizeof *block + size);

	if (!block)
		give_up("out of memory");
	block->next = blocks;
	blocks = block;
	return block->bytes;
}

void drop_everything(void)
{
	while (blocks) {
		struct block *next = blocks->next;

		free(blocks);
		blocks = next;
	}
}

char *keep_text(const char *bytes, size_t len)
{
	char *copy = keep(len + 1);

	memcpy(copy, bytes, len);
	return copy;
}

char *keep_format(const char *fmt, ...)
{
	va_list args;
	char *copy;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0)
		give_up("could not format text");
	copy = keep((size_t)len + 1);
	va_start(args, fmt);
	vsnprintf(copy, (size_t)len + 1, fmt, args);
	va_end(args);
	return copy;
}

void complain(const char *file, unsigned line, const char *fmt, ...)
{
	va_list args;

	complaints++;
	fprintf(stderr, "%s:%u: ", file, line);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

unsigned complaint_count(void)
{
	return complaints;
}

_Noreturn void give_up(const char *fmt, ...)
{
	va_list args;

	fputs("fwgen: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

char *file_read(const char *path)
{
	struct text in = { 0 };
	FILE *file = fopen(path, "r");
	char piece[4096];
	size_t got;
	char *copy;

	if (!file && errno == ENOENT)
		return NULL;
	if (!file)
		give_up("could not open %s: %s", path, strerror(errno));
	while ((got = fread(piece, 1, sizeof piece, file)) > 0)
		text_put(&in, piece, got);
	if (ferror(file))
		give_up("could not read %s", path);
	fclose(file);
	copy = keep_text(in.len ? in.bytes : "", in.len);
	free(in.bytes);
	return copy;
}

void text_put(struct text *out, const char *bytes, size_t len)
{
	if (out->len + len + 1 > out->cap) {
		size_t cap = (out->len + len + 1) * 2;
		char *grown = realloc(out->bytes, cap);

		if (!grown)
			give_up("out of memory");
		out->bytes = grown;
		out->cap = cap;
	}
	memcpy(out->bytes + out->len, bytes, len);
	out->len += len;
	out->bytes[out->len] = '\0';
}

void text_puts(struct text *out, const char *string)
{
	text_put(out, string, strlen(string));
}

void text_putf(struct text *out, const char *fmt, ...)
{
	char line[4096];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof line)
		give_up("text is longer than %zu bytes", sizeof line);
	text_put(out, line, (size_t)len);
}

void text_put_upper(struct text *out, const char *name)
{
	for (; *name; name++) {
		char c = isalnum((unsigned char)*name) ? (char)toupper((unsigned char)*name)
						       : '_';

		text_put(out, &c, 1);
	}
}

static void put_joined(struct text *out, const char *name, char joint)
{
	for (; *name; name++)
		text_put(out, isalnum((unsigned char)*name) ? name : &joint, 1);
}

void text_put_snake(struct text *out, const char *name)
{
	put_joined(out, name, '_');
}

void text_put_kebab(struct text *out, const char *name)
{
	put_joined(out, name, '-');
}

void text_put_c_string(struct text *out, const char *string, const char *indent)
{
	text_puts(out, "\"");
	for (const char *at = string; *at; at++) {
		if (*at == '\n')
			text_puts(out, "\\n");
		else if (*at == '"' || *at == '\\' || *at == '?') /* ?: no trigraphs */
			text_putf(out, "\\%c", *at);
		else
			text_put(out, at, 1);
		if (*at == '\n' && at[1])
			text_putf(out, "\"\n%s\"", indent);
	}
	text_puts(out, "\"");
}

void text_put_c_bytes(struct text *out, const struct text *in)
{
	size_t column = 0;

	for (size_t i = 0; i < in->len; i++) {
		size_t before = out->len;

		if ((unsigned char)in->bytes[i] > '~')
			give_up("text for a C array is not ASCII");
		if (column == 0)
			text_puts(out, "\t");
		text_putf(out, "%d,", in->bytes[i]);
		column += out->len - before;
		if (column > 88) {
			text_puts(out, "\n");
			column = 0;
		}
	}
	text_puts(out, column ? "\n\t0\n" : "\t0\n");
}

void text_put_json_string(struct text *out, const char *string)
{
	text_puts(out, "\"");
	for (; *string; string++) {
		if (*string == '\n')
			text_puts(out, "\\n");
		else if (*string == '"' || *string == '\\')
			text_putf(out, "\\%c", *string);
		else
			text_put(out, string, 1);
	}
	text_puts(out, "\"");
}

static void make_folders_of(const char *path)
{
	char *folder = keep_text(path, strlen(path));

	for (char *at = folder + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(folder, 0777) != 0 && errno != EEXIST)
			give_up("could not make folder %s: %s", folder, strerror(errno));
		*at = '/';
	}
}

void text_write(struct text *out, const char *dir, const char *name)
{
	const char *path = keep_format("%s/%s", dir, name);
	const char *old = file_read(path);
	FILE *file;
	bool written;

	/* A file that stays the same is left alone, so that what includes it is not
	 * compiled again. */
	if (old && strlen(old) == out->len && memcmp(old, out->bytes, out->len) == 0) {
		free(out->bytes);
		*out = (struct text){ 0 };
		return;
	}
	make_folders_of(path);
	file = fopen(path, "w");
	if (!file)
		give_up("could not create %s: %s", path, strerror(errno));
	written = fwrite(out->bytes, 1, out->len, file) == out->len;
	if (fclose(file) != 0 || !written)
		give_up("could not write %s: %s", path, strerror(errno));
	free(out->bytes);
	*out = (struct text){ 0 };
}
