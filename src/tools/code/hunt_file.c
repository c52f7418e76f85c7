/*
 * hunt_file.c - one thread's part in a hunt: reading files in pieces and matching them.
 *
 * A file is read with read() into one buffer per thread: to map and unmap it takes longer for
 * files of the usual size. A worker process keeps the files of the index mapped (mapped.h) and
 * copies the next time: to open, read and close a file takes longer than to search it, and what
 * is searched does not change meanwhile. A piece ends at the end of a line; a longer line makes
 * the buffer grow.
 *
 * A file with a NUL byte is binary and not searched, as in git and ripgrep. It is looked for
 * only in files that may match, and at the beginning of large files, which then are not read
 * to their end.
 */
#include "tools/code/hunt_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "tools/code/limits.h"
#include "tools/code/mapped.h"
#include "tools/code/query.h"
#include "tools/code/scan.h"
#include "tools/common/file.h"
#include "tools/common/root.h"

#include <faultwire/raise.h>

enum { BUFFER_BYTES = 256 * 1024, SNIFFED = 32 * 1024, BEFORE = 40 };

struct hunter {
	struct fw_hunt *hunt;
	struct fw_matcher *matcher;
	char *buffer;
	size_t room;
	struct fw_hit *hits; /* of the file, with previews */
	size_t hit_count;
	size_t hit_room;
	struct fw_hunt_file file;
	uint64_t number;  /* of the file */
	uint64_t line;    /* lines before the piece */
	uint64_t matches; /* in the file */
	size_t expected;  /* size of the file, if it fits into the buffer */
	bool has_no_memory;
	bool is_binary; /* the file */
};

/* ---- a hit ---- */

static bool is_start(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static uint64_t count_characters(const char *text, size_t len)
{
	uint64_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += is_start(text[i]);
	return count;
}

/* The part of a long line that is shown: with the match in it. */
static void choose_part(const struct fw_match *match, uint64_t column, const char **ret_text,
			size_t *ret_len)
{
	const char *end = match->line + match->len;
	const char *from = match->line;
	size_t shown = 0;
	const char *to;

	if (column > FW_HUNT_PREVIEW - BEFORE) {
		from = match->line + match->start;
		for (unsigned i = 0; i < BEFORE && from > match->line; i++)
			do
				from--;
			while (from > match->line && !is_start(*from));
	}
	for (to = from; to < end; to++)
		if (is_start(*to) && ++shown > FW_HUNT_PREVIEW)
			break;
	*ret_text = from;
	*ret_len = (size_t)(to - from);
}

/* Not more than FW_HUNT_PREVIEW characters, also where bytes are replaced. */
static size_t cut(const char *text, size_t len)
{
	size_t shown = 0;

	for (size_t i = 0; i < len; i++)
		if (is_start(text[i]) && ++shown > FW_HUNT_PREVIEW)
			return i;
	return len;
}

static char *make_preview(const struct fw_match *match, uint64_t column, size_t *ret_len)
{
	const char *text;
	size_t len, size;
	char *preview;

	choose_part(match, column, &text, &len);
	size = 3 * len + 1;
	preview = fw__allocate(size);
	if (preview)
		*ret_len = cut(preview, fw_utf8_repair(preview, size, text, len));
	return preview;
}

/* May another match of the file be shown? If not, that stays so. */
static bool is_shown(const struct hunter *h)
{
	return h->number <= h->hunt->cutoff && h->hit_count < h->hunt->options.most;
}

static bool found(void *ctx, const struct fw_match *match)
{
	struct hunter *h = ctx;
	struct fw_hit *hit;

	h->matches++;
	if (!is_shown(h))
		return true;
	if (h->hit_count == h->hit_room) {
		size_t room = h->hit_room ? 2 * h->hit_room : 64;
		struct fw_hit *more = fw__reallocate(h->hits, room * sizeof *more);

		if (!more) {
			h->has_no_memory = true;
			return false;
		}
		h->hits = more;
		h->hit_room = room;
	}
	hit = &h->hits[h->hit_count];
	*hit = (struct fw_hit){ .file = h->number,
				.path = h->file.path,
				.prefix = h->file.where.prefix,
				.line = h->line + fw_matcher_line(match) + 1 };
	hit->column = count_characters(match->line, match->start) + 1;
	hit->preview = make_preview(match, hit->column, &hit->preview_len);
	if (!hit->preview) {
		h->has_no_memory = true;
		return false;
	}
	h->hit_count++;
	return true;
}

static bool only_counts(void *ctx)
{
	return !is_shown(ctx);
}

static void counted(void *ctx, uint64_t lines)
{
	struct hunter *h = ctx;

	h->matches += lines;
}

static bool is_stopped(void *ctx)
{
	struct hunter *h = ctx;

	return fw_hunt_has_ended(h->hunt);
}

/* ---- a file ---- */

static bool grow(struct hunter *h, size_t room)
{
	char *more = fw__reallocate(h->buffer, room);

	if (!more)
		return false;
	h->buffer = more;
	h->room = room;
	return true;
}

/* Searches a piece that consists of complete lines; `known` bytes of the file are behind
 * `text`. False: the file is binary. */
static fw_error *search_piece(struct hunter *h, const char *text, size_t len, size_t known,
			      bool *ret_is_text)
{
	const struct fw_matching matching = { .found = found,
					      .is_stopped = is_stopped,
					      .ctx = h,
					      .only_counts = only_counts,
					      .counted = counted };

	if (!fw_query_may_match(h->hunt->options.query, text, len))
		return NULL;
	if (memchr(text, '\0', known)) {
		*ret_is_text = false;
		return NULL;
	}
	return fw_matcher_run(h->matcher, &matching, text, len);
}

/* Reads until the buffer is full or the file ends. A file that is smaller than the buffer ends
 * where fstat() said, which saves a call of read() for each of them. */
static ssize_t fill(struct hunter *h, int fd, size_t len)
{
	size_t start = len;

	while (len < h->room && len < h->expected) {
		ssize_t got = read(fd, h->buffer + len, h->room - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		len += (size_t)got;
	}
	return (ssize_t)(len - start);
}

/* How much of the buffer is complete lines; everything at the end of the file. */
static size_t complete(const char *text, size_t len, bool is_end)
{
	const char *newline = is_end ? NULL : memrchr(text, '\n', len);

	return is_end ? len : newline ? (size_t)(newline - text) + 1 : 0;
}

static fw_error *line_too_long(const struct hunter *h)
{
	fw_error *err = fw_raise_file_too_large(h->file.path, FW_LIMIT_CODE_LINE_BYTES);

	fw_error_set_hint(err,
			  "A line of this file is too long to be searched. Leave the file "
			  "out with a glob in paths that begins with an exclamation mark.");
	return err;
}

/* `len` bytes of the file are in the buffer already. */
static fw_error *search_pieces(struct hunter *h, int fd, size_t len, bool *ret_is_text)
{
	size_t skip = 0;
	bool is_first = true;

	for (;;) {
		ssize_t got = fill(h, fd, len);
		bool is_end;
		size_t part;

		if (got < 0) /* a file that cannot be read is left out */
			return NULL;
		len += (size_t)got;
		is_end = len < h->room;
		skip = is_first ? fw_file_mark(h->buffer, len) : 0;
		is_first = false;
		part = complete(h->buffer, len, is_end);
		if (part > skip)
			FW_TRY(search_piece(h, h->buffer + skip, part - skip, len - skip,
					    ret_is_text));
		if (is_end || !*ret_is_text || is_stopped(h))
			return NULL;
		if (is_shown(h))
			h->line += fw_scan_lines(h->buffer, part);
		memmove(h->buffer, h->buffer + part, len - part);
		len -= part;
		if (part)
			continue;
		if (memchr(h->buffer, '\0', len)) {
			*ret_is_text = false;
			return NULL;
		}
		if (h->room >= FW_LIMIT_CODE_LINE_BYTES || !grow(h, 2 * h->room))
			return line_too_long(h);
	}
}

/* Reads the beginning of a file; returns how much there is. */
static size_t sniff(struct hunter *h, int fd)
{
	ssize_t got = read(fd, h->buffer, SNIFFED);

	return got > 0 ? (size_t)got : 0;
}

static void drop_hits(struct hunter *h)
{
	while (h->hit_count)
		fw__release(h->hits[--h->hit_count].preview);
}

/* `len` bytes of the file are in the buffer already. */
static fw_error *search_rest(struct hunter *h, int fd, size_t len)
{
	bool is_text = true;
	fw_error *err = search_pieces(h, fd, len, &is_text);

	if (!err && h->has_no_memory)
		err = fw_raise_internal_out_of_memory();
	if (err || !is_text) {
		drop_hits(h);
		h->is_binary = !is_text;
		return err;
	}
	h->hunt->total += h->matches;
	fw_hunt__keep(h->hunt, h->hits, h->hit_count);
	h->hit_count = 0;
	return NULL;
}

/* One more byte shows that the file has ended. */
static bool make_room(struct hunter *h, off_t size)
{
	size_t room =
		size < FW_LIMIT_CODE_PIECE_BYTES ? (size_t)size + 1 : FW_LIMIT_CODE_PIECE_BYTES;

	return room <= h->room || grow(h, room);
}

static fw_error *search_open(struct hunter *h, int fd)
{
	struct stat st;
	size_t len = 0;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return NULL;
	if (st.st_size > BUFFER_BYTES) {
		len = sniff(h, fd);
		if (memchr(h->buffer, '\0', len))
			return NULL;
	}
	if (!make_room(h, st.st_size))
		return fw_raise_internal_out_of_memory();
	h->expected = (size_t)st.st_size < h->room ? (size_t)st.st_size : SIZE_MAX;
	FW_TRY(search_rest(h, fd, len));
	if (h->file.where.mapped && st.st_dev == h->file.where.device)
		fw_mapped_keep(h->file.where.mapped, fd, &st);
	return NULL;
}

static fw_error *open_and_search(struct hunter *h)
{
	const struct fw_hunt_where *where = &h->file.where;
	int flags = O_RDONLY | O_NONBLOCK | (where->is_named ? 0 : O_NOFOLLOW);
	int fd = where->is_canonical ? fw_root_open_canonical(where->root, h->file.path, flags)
				     : fw_root_open_beneath(where->root, h->file.path, flags);
	fw_error *err;

	if (fd < 0)
		return NULL;
	err = search_open(h, fd);
	(void)close(fd);
	return err;
}

/* Copies the whole file to the buffer. False: it has to be read. */
static bool copy_mapped(struct hunter *h)
{
	struct fw_mapped *mapped = h->file.where.mapped;

	h->expected = mapped ? fw_mapped_size(mapped) : 0;
	return h->expected && make_room(h, (off_t)h->expected) &&
	       fw_mapped_copy(mapped, h->buffer);
}

static void begin_file(struct hunter *h)
{
	h->line = 0;
	h->matches = 0;
	h->is_binary = false;
}

static void hunt_in(struct hunter *h, const struct fw_hunt_file *file, uint64_t number)
{
	bool is_copied;
	fw_error *err;

	h->file = *file;
	h->number = number;
	begin_file(h);
	is_copied = copy_mapped(h);
	err = is_copied ? search_rest(h, -1, h->expected) : open_and_search(h);
	/* Of a file that was cut within a page a moment ago, zeros follow to the end of the page. */
	if (!err && is_copied && h->is_binary) {
		fw_mapped_drop(h->file.where.mapped);
		begin_file(h);
		err = open_and_search(h);
	}
	if (err)
		fw_hunt__fail(h->hunt, err);
}

static fw_error *begin(struct hunter *h)
{
	FW_TRY(fw_matcher_new(h->hunt->options.query, &h->matcher));
	return grow(h, BUFFER_BYTES) ? NULL : fw_raise_internal_out_of_memory();
}

void fw_hunt__run(struct fw_hunt *hunt)
{
	struct hunter h = { .hunt = hunt };
	struct fw_hunt_file batch[FW_HUNT_SHARE];
	uint64_t first;
	size_t count;
	fw_error *err = begin(&h);

	if (err)
		fw_hunt__fail(hunt, err);
	while (!hunt->is_ended && (count = fw_hunt__take(hunt, batch, &first)))
		for (size_t i = 0; i < count && !is_stopped(&h); i++)
			hunt_in(&h, &batch[i], first + i);
	drop_hits(&h);
	fw__release(h.hits);
	fw__release(h.buffer);
	fw_matcher_free(h.matcher);
}
