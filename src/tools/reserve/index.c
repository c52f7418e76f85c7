/*
 * index.c - see index.h.
 */
#include "tools/reserve/index.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "tools/common/glob.h"
#include "tools/common/globs.h"
#include "tools/reserve/index_impl.h"

#include <faultwire/raise.h>

/* ---- absolute globs -------------------------------------------------------- */

static bool is_special(char c)
{
	return c == '*' || c == '?' || c == '[' || c == '{' || c == '}' || c == ']';
}

/* Special characters of a path become classes of one character. */
static void put_path(struct fw_buf *out, const char *path)
{
	for (; *path; path++) {
		if (is_special(*path)) {
			FW_BUF(out, "[");
			fw_buf_put(out, path, 1);
			FW_BUF(out, "]");
		} else {
			fw_buf_put(out, path, 1);
		}
	}
}

/* Without the slash at the beginning. False: no memory, or too long. */
static bool put_absolute(struct fw_buf *out, const char *root, const char *pattern, size_t len)
{
	while (*root == '/')
		root++;
	put_path(out, root);
	if (out->len)
		FW_BUF(out, "/");
	fw_buf_put(out, pattern, len);
	/* A slash at the end stands for everything below. */
	if (len && pattern[len - 1] == '/')
		FW_BUF(out, "**");
	return out->state == FW_BUF_OK;
}

size_t fw_reserve_component(const char *text, size_t len, bool *ret_is_glob)
{
	const char *slash = memchr(text, '/', len);
	size_t end = slash ? (size_t)(slash - text) : len;

	*ret_is_glob = false;
	for (size_t i = 0; i < end && !*ret_is_glob; i++)
		*ret_is_glob = is_special(text[i]);
	return end;
}

/* ---- tables ------------------------------------------------------------------ */

static uint64_t hash_child(const struct fw_reserve_node *parent, const char *name, size_t len)
{
	return fw_hash(name, len, (uint64_t)(uintptr_t)parent);
}

/* Makes room for one more; false: no memory. */
static bool grow(struct fw_reserve_table *table)
{
	size_t size = table->size ? 2 * table->size : 64;
	struct fw_reserve_link **slots;

	if (table->count < table->size)
		return true;
	slots = fw__allocate(size * sizeof *slots);
	if (!slots)
		return false;
	memset(slots, 0, size * sizeof *slots);
	for (size_t i = 0; i < table->size; i++) {
		while (table->slots[i]) {
			struct fw_reserve_link *link = table->slots[i];
			size_t at = link->hash & (size - 1);

			table->slots[i] = link->next;
			link->next = slots[at];
			slots[at] = link;
		}
	}
	fw__release(table->slots);
	table->slots = slots;
	table->size = size;
	return true;
}

static void table_add(struct fw_reserve_table *table, struct fw_reserve_link *link)
{
	struct fw_reserve_link **slot = &table->slots[link->hash & (table->size - 1)];

	link->next = *slot;
	*slot = link;
	table->count++;
}

static void table_remove(struct fw_reserve_table *table, const struct fw_reserve_link *link)
{
	struct fw_reserve_link **at = &table->slots[link->hash & (table->size - 1)];

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	table->count--;
}

static struct fw_reserve_link *table_first(const struct fw_reserve_table *table, uint64_t h)
{
	return table->size ? table->slots[h & (table->size - 1)] : NULL;
}

/* ---- nodes -------------------------------------------------------------------- */

struct fw_reserve_node *fw_reserve_child(const struct fw_reserve_index *index,
					 const struct fw_reserve_node *parent, const char *name,
					 size_t len)
{
	uint64_t h = hash_child(parent, name, len);
	struct fw_reserve_link *link = table_first(&index->nodes, h);

	for (; link; link = link->next) {
		struct fw_reserve_node *node = (struct fw_reserve_node *)(void *)link;

		if (link->hash == h && node->parent == parent && node->len == len &&
		    memcmp(node->name, name, len) == 0)
			return node;
	}
	return NULL;
}

static struct fw_reserve_node *add_child(struct fw_reserve_index *index,
					 struct fw_reserve_node *parent, const char *name,
					 size_t len)
{
	struct fw_reserve_node *node;

	if (!grow(&index->nodes))
		return NULL;
	node = fw__allocate(sizeof *node + len);
	if (!node)
		return NULL;
	*node = (struct fw_reserve_node){ .link = { .hash = hash_child(parent, name, len) },
					  .parent = parent,
					  .next = parent->first,
					  .depth = parent->depth + len + 1,
					  .len = len,
					  .name = (char *)(node + 1) };
	memcpy(node + 1, name, len);
	if (parent->first)
		parent->first->previous = node;
	parent->first = node;
	table_add(&index->nodes, &node->link);
	return node;
}

/* Frees it and those above it as far as they hold nothing. */
static void drop_empty(struct fw_reserve_index *index, struct fw_reserve_node *node)
{
	while (node != &index->top && !node->first && !node->globs && !node->paths) {
		struct fw_reserve_node *parent = node->parent;

		table_remove(&index->nodes, &node->link);
		if (node->previous)
			node->previous->next = node->next;
		else
			parent->first = node->next;
		if (node->next)
			node->next->previous = node->previous;
		fw__release(node);
		node = parent;
	}
}

/* Puts a leaf where the components without special characters lead. */
static bool plant(struct fw_reserve_index *index, struct fw_reserve_leaf *leaf)
{
	struct fw_reserve_node *node = &index->top;
	const char *at = leaf->text;
	const char *end = at + leaf->len;
	bool is_glob = false;

	while (at <= end) {
		size_t len = fw_reserve_component(at, (size_t)(end - at), &is_glob);
		struct fw_reserve_node *child;

		if (is_glob)
			break;
		child = fw_reserve_child(index, node, at, len);
		if (!child)
			child = add_child(index, node, at, len);
		if (!child) {
			drop_empty(index, node);
			return false;
		}
		node = child;
		at += len + 1;
	}
	leaf->node = node;
	leaf->is_glob = is_glob;
	leaf->at = is_glob ? &node->globs : &node->paths;
	leaf->next = *leaf->at;
	if (leaf->next)
		leaf->next->at = &leaf->next;
	*leaf->at = leaf;
	node->glob_count += is_glob;
	for (; node != &index->top; node = node->parent)
		node->below++;
	index->top.below++;
	return true;
}

static void uproot(struct fw_reserve_index *index, struct fw_reserve_leaf *leaf)
{
	struct fw_reserve_node *node = leaf->node;

	*leaf->at = leaf->next;
	if (leaf->next)
		leaf->next->at = leaf->at;
	node->glob_count -= leaf->is_glob;
	for (; node != &index->top; node = node->parent)
		node->below--;
	index->top.below--;
	drop_empty(index, leaf->node);
}

/* False: no memory. */
static bool sign(struct fw_reserve_index *index, struct fw_reserve_leaf *leaf)
{
	const struct fw_reservation *body = &leaf->entry->body;
	struct fw_reserve_traits traits;

	return fw_reserve_traits_of(leaf->text, leaf->len, &traits) &&
	       fw_reserve_signature_add(&index->signature, &traits, body->agent,
					body->is_exclusive, leaf, &leaf->number);
}

static void unsign(struct fw_reserve_index *index, const struct fw_reserve_leaf *leaf)
{
	struct fw_reserve_traits traits;
	bool is_known = fw_reserve_traits_of(leaf->text, leaf->len, &traits);

	fw_reserve_signature_remove(&index->signature, leaf->number, is_known ? &traits : NULL,
				    leaf->entry->body.agent);
}

/* ---- entries ------------------------------------------------------------------ */

static void entry_free(struct fw_reserve_index *index, struct fw_reserve_entry *entry)
{
	while (entry->leaves) {
		struct fw_reserve_leaf *leaf = entry->leaves;

		entry->leaves = leaf->sibling;
		unsign(index, leaf);
		uproot(index, leaf);
		fw__release(leaf);
	}
	fw__release(entry);
}

static const char *copy(char **to, const char *text)
{
	size_t len = strlen(text) + 1;
	char *at = *to;

	memcpy(at, text, len);
	*to += len;
	return at;
}

static struct fw_reserve_entry *entry_new(const struct fw_reservation *from)
{
	size_t size = strlen(from->id) + strlen(from->agent) + strlen(from->root) +
		      strlen(from->pattern) + strlen(from->reason) + 5;
	struct fw_reserve_entry *entry = fw__allocate(sizeof *entry + size);
	char *to;

	if (!entry)
		return NULL;
	to = entry->texts;
	*entry = (struct fw_reserve_entry){ .link = { .hash = fw_hash_text(from->id, 0) },
					    .body = *from };
	entry->body.id = copy(&to, from->id);
	entry->body.agent = copy(&to, from->agent);
	entry->body.root = copy(&to, from->root);
	entry->body.pattern = copy(&to, from->pattern);
	entry->body.reason = copy(&to, from->reason);
	return entry;
}

static struct fw_reserve_entry *find_entry(const struct fw_reserve_index *index, const char *id)
{
	uint64_t h = fw_hash_text(id, 0);
	struct fw_reserve_link *link = table_first(&index->entries, h);

	for (; link; link = link->next) {
		struct fw_reserve_entry *entry = (struct fw_reserve_entry *)(void *)link;

		if (link->hash == h && strcmp(entry->body.id, id) == 0)
			return entry;
	}
	return NULL;
}

struct planting {
	struct fw_reserve_index *index;
	struct fw_reserve_entry *entry;
};

static fw_error *add_leaf(void *ctx, const char *argument, const char *text, size_t len)
{
	struct planting *planting = ctx;
	const char *wrong = fw_glob_fault(text, len);
	struct fw_reserve_leaf *leaf;
	struct fw_buf full;

	if (wrong)
		return fw_globs_fault(argument, wrong);
	fw_buf_init(&full, FW_RESERVE_TEXT_BYTES);
	if (!put_absolute(&full, planting->entry->body.root, text, len)) {
		fw_buf_clear(&full);
		return fw_raise_internal_out_of_memory();
	}
	leaf = fw__allocate(sizeof *leaf + full.len);
	if (leaf) {
		*leaf = (struct fw_reserve_leaf){ .entry = planting->entry, .len = full.len };
		memcpy(leaf->text, full.text, full.len);
	}
	fw_buf_clear(&full);
	if (!leaf || !sign(planting->index, leaf)) {
		fw__release(leaf);
		return fw_raise_internal_out_of_memory();
	}
	if (!plant(planting->index, leaf)) {
		unsign(planting->index, leaf);
		fw__release(leaf);
		return fw_raise_internal_out_of_memory();
	}
	leaf->sibling = planting->entry->leaves;
	planting->entry->leaves = leaf;
	return NULL;
}

fw_error *fw_reserve_index_put(struct fw_reserve_index *index,
			       const struct fw_reservation *reservation)
{
	struct planting planting = { index, NULL };
	fw_error *err;

	/* The reservation may be the entry that is replaced. */
	planting.entry = entry_new(reservation);
	if (!planting.entry)
		return fw_raise_internal_out_of_memory();
	fw_reserve_index_remove(index, planting.entry->body.id);
	err = grow(&index->entries) ? fw_globs_expand("patterns", planting.entry->body.pattern,
						      strlen(planting.entry->body.pattern),
						      add_leaf, &planting)
				    : fw_raise_internal_out_of_memory();
	if (err) {
		entry_free(index, planting.entry);
		return err;
	}
	table_add(&index->entries, &planting.entry->link);
	return NULL;
}

void fw_reserve_index_remove(struct fw_reserve_index *index, const char *id)
{
	struct fw_reserve_entry *entry = find_entry(index, id);

	if (!entry)
		return;
	table_remove(&index->entries, &entry->link);
	entry_free(index, entry);
}

const struct fw_reservation *fw_reserve_index_get(const struct fw_reserve_index *index,
						  const char *id)
{
	const struct fw_reserve_entry *entry = find_entry(index, id);

	return entry ? &entry->body : NULL;
}

size_t fw_reserve_index_count(const struct fw_reserve_index *index)
{
	return index->entries.count;
}

void fw_reserve_index_each(const struct fw_reserve_index *index, fw_reserve_found_fn *found,
			   void *ctx)
{
	for (size_t i = 0; i < index->entries.size; i++)
		for (struct fw_reserve_link *at = index->entries.slots[i]; at; at = at->next)
			if (!found(ctx, &((struct fw_reserve_entry *)(void *)at)->body))
				return;
}

void fw_reserve_index_expire(struct fw_reserve_index *index, int64_t now_ms)
{
	for (size_t i = 0; i < index->entries.size; i++) {
		struct fw_reserve_link **at = &index->entries.slots[i];

		while (*at) {
			struct fw_reserve_entry *entry = (struct fw_reserve_entry *)(void *)*at;

			if (entry->body.expires_ms > now_ms) {
				at = &(*at)->next;
				continue;
			}
			*at = entry->link.next;
			index->entries.count--;
			entry_free(index, entry);
		}
	}
}

/* ---- lifecycle -------------------------------------------------------------------- */

struct fw_reserve_index *fw_reserve_index_new(void)
{
	struct fw_reserve_index *index = fw__allocate(sizeof *index);

	if (index)
		memset(index, 0, sizeof *index);
	return index;
}

void fw_reserve_index_free(struct fw_reserve_index *index)
{
	if (!index)
		return;
	fw_reserve_index_expire(index, INT64_MAX);
	fw__release(index->entries.slots);
	fw__release(index->nodes.slots);
	fw_reserve_signature_clear(&index->signature);
	fw__release(index);
}

/* ---- the text of a search ----------------------------------------------------------- */

static fw_error *look(void *ctx, const char *argument, const char *text, size_t len)
{
	struct fw_reserve_search *search = ctx;
	const char *wrong = fw_glob_fault(text, len);
	struct fw_buf full;
	bool is_made;

	if (wrong)
		return fw_globs_fault(argument, wrong);
	fw_buf_init(&full, FW_RESERVE_TEXT_BYTES);
	is_made = put_absolute(&full, search->query->root, text, len);
	if (is_made)
		fw_reserve_search_run(search, full.text, full.len);
	fw_buf_clear(&full);
	return is_made ? NULL : fw_raise_internal_out_of_memory();
}

/* A path may be longer than a pattern, and has no special characters. */
static fw_error *look_for_path(struct fw_reserve_search *search)
{
	struct fw_buf full;
	bool is_made;

	fw_buf_init(&full, FW_RESERVE_TEXT_BYTES);
	is_made = put_absolute(&full, search->query->root, "", 0);
	put_path(&full, search->query->pattern);
	is_made = is_made && full.state == FW_BUF_OK;
	if (is_made)
		fw_reserve_search_run(search, full.text, full.len);
	fw_buf_clear(&full);
	return is_made ? NULL : fw_raise_internal_out_of_memory();
}

fw_error *fw_reserve_index_find(struct fw_reserve_index *index,
				const struct fw_reserve_query *query)
{
	struct fw_reserve_search search = { .index = index,
					    .query = query,
					    .mark = ++index->marks };

	if (query->is_path)
		return look_for_path(&search);
	return fw_globs_expand(query->argument, query->pattern, strlen(query->pattern), look,
			       &search);
}
