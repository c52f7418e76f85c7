/*
 * index_search.c - finds the reservations that overlap with a glob.
 *
 * It goes down the tree with the components of the glob. A component without special
 * characters leads to one child, one with special characters to the children whose name
 * it matches, and "**" to everything below. On the way the globs of each node are
 * compared with what is left. Where that would be many, the search is done by bitmaps
 * (signature.h) instead.
 */
#include <string.h>

#include "tools/common/glob.h"
#include "tools/common/glob_bits.h"
#include "tools/reserve/index_impl.h"

/* From how many globs on the bitmaps are used instead of comparing all. */
enum { SCAN_FROM = 128 };

static bool is_open(const struct fw_reserve_search *search,
		    const struct fw_reserve_entry *entry)
{
	const struct fw_reserve_query *query = search->query;

	return entry->mark != search->mark &&
	       (!query->wanted || query->wanted(query->ctx, &entry->body));
}

static void report(struct fw_reserve_search *search, struct fw_reserve_entry *entry)
{
	entry->mark = search->mark;
	search->is_stopped = !search->query->found(search->query->ctx, &entry->body);
}

/* The texts are compared from `depth` and `at` on. */
static void compare(struct fw_reserve_search *search, const struct fw_reserve_leaf *leaf,
		    size_t depth, size_t at)
{
	if (is_open(search, leaf->entry) &&
	    fw_glob_overlap(search->text + at, search->len - at, leaf->text + depth,
			    leaf->len - depth))
		report(search, leaf->entry);
}

static void compare_all(struct fw_reserve_search *search, const struct fw_reserve_leaf *leaf,
			size_t depth, size_t at)
{
	for (; leaf && !search->is_stopped; leaf = leaf->next)
		compare(search, leaf, depth, at);
}

/* As compare(), for many paths: most of them do not match, and that is known without
 * reading the entry. */
static void compare_path(struct fw_reserve_search *search, const struct fw_glob_bits *bits,
			 const struct fw_reserve_leaf *leaf)
{
	enum fw_glob_bits_answer answer = fw_glob_bits_match(bits, leaf->text, leaf->len);

	if (answer == FW_GLOB_BITS_NO || !is_open(search, leaf->entry))
		return;
	if (answer == FW_GLOB_BITS_YES ||
	    fw_glob_overlap(search->text, search->len, leaf->text, leaf->len))
		report(search, leaf->entry);
}

/* All that there is, wherever it is in the tree. */
static void scan(struct fw_reserve_search *search)
{
	struct fw_reserve_traits traits;
	struct fw_reserve_filter filter;
	struct fw_glob_bits bits;
	bool has_bits = fw_glob_bits_compile(&bits, search->text, search->len);
	const struct fw_reserve_leaf *leaf;

	/* Without memory, all are compared. */
	(void)fw_reserve_traits_of(search->text, search->len, &traits);
	fw_reserve_filter_init(&filter, &search->index->signature, &traits, search->query->of,
			       search->query->agent);
	while (!search->is_stopped && (leaf = fw_reserve_filter_next(&filter)))
		if (has_bits && !leaf->is_glob)
			compare_path(search, &bits, leaf);
		else
			compare(search, leaf, 0, 0);
	search->is_complete = true;
}

/* Everything below `top`; the texts from its depth on are compared. */
static void compare_below(struct fw_reserve_search *search, const struct fw_reserve_node *top,
			  size_t at)
{
	const struct fw_reserve_node *node = top->first;

	while (node && !search->is_stopped) {
		compare_all(search, node->globs, top->depth, at);
		compare_all(search, node->paths, top->depth, at);
		if (node->first) {
			node = node->first;
			continue;
		}
		while (node != top && !node->next)
			node = node->parent;
		if (node == top)
			return;
		node = node->next;
	}
}

/* Does the component cross directories? */
static bool is_deep(const char *component, size_t len)
{
	return len == 2 && memcmp(component, "**", 2) == 0;
}

static void end_at(struct fw_reserve_search *search, const struct fw_reserve_node *node)
{
	for (const struct fw_reserve_leaf *leaf = node->paths; leaf && !search->is_stopped;
	     leaf = leaf->next)
		if (is_open(search, leaf->entry))
			report(search, leaf->entry);
}

/* The components up to `at` have led to `node`. Recursive for components with special
 * characters only, of which a pattern has at most FW_GLOB_BYTES / 2. */
static void visit(struct fw_reserve_search *search, const struct fw_reserve_node *node,
		  size_t at)
{
	while (!search->is_stopped && !search->is_complete) {
		const char *component = search->text + at;
		bool is_glob = false;
		size_t len;

		if (at > search->len) {
			end_at(search, node);
			return;
		}
		len = fw_reserve_component(component, search->len - at, &is_glob);
		if ((is_glob ? node->below : node->glob_count) > SCAN_FROM) {
			scan(search);
			return;
		}
		compare_all(search, node->globs, node->depth, at);
		if (is_glob && is_deep(component, len)) {
			compare_below(search, node, at);
			return;
		}
		if (is_glob) {
			for (const struct fw_reserve_node *child = node->first; child;
			     child = child->next)
				if (fw_glob_overlap(component, len, child->name, child->len))
					visit(search, child, at + len + 1);
			return;
		}
		node = fw_reserve_child(search->index, node, component, len);
		if (!node)
			return;
		at += len + 1;
	}
}

void fw_reserve_search_run(struct fw_reserve_search *search, const char *text, size_t len)
{
	search->text = text;
	search->len = len;
	search->is_complete = false;
	visit(search, &search->index->top, 0);
}
