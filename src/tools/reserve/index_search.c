/*
 * index_search.c - finds the reservations that overlap with a glob.
 *
 * It goes down the tree with the components of the glob. A component without special
 * characters leads to one child, one with special characters to the children whose name
 * it matches, and "**" to everything below. On the way the globs of each node are
 * compared with what is left.
 */
#include <string.h>

#include "tools/common/glob.h"
#include "tools/reserve/index_impl.h"

static void report(struct fw_reserve_search *search, struct fw_reserve_entry *entry)
{
	if (entry->mark == search->mark || search->is_stopped)
		return;
	entry->mark = search->mark;
	search->is_stopped = !search->found(search->ctx, &entry->body);
}

static void compare(struct fw_reserve_search *search, const struct fw_reserve_leaf *leaf,
		    size_t depth, size_t at)
{
	for (; leaf && !search->is_stopped; leaf = leaf->next)
		if (fw_glob_overlap(search->text + at, search->len - at, leaf->text + depth,
				    leaf->len - depth))
			report(search, leaf->entry);
}

/* Everything below `top`; the texts from its depth on are compared. */
static void compare_below(struct fw_reserve_search *search, const struct fw_reserve_node *top,
			  size_t at)
{
	const struct fw_reserve_node *node = top->first;

	while (node && !search->is_stopped) {
		compare(search, node->globs, top->depth, at);
		compare(search, node->paths, top->depth, at);
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
	for (const struct fw_reserve_leaf *leaf = node->paths; leaf; leaf = leaf->next)
		report(search, leaf->entry);
}

/* The components up to `at` have led to `node`. Recursive for components with special
 * characters only, of which a pattern has at most FW_GLOB_BYTES / 2. */
static void visit(struct fw_reserve_search *search, const struct fw_reserve_node *node,
		  size_t at)
{
	while (!search->is_stopped) {
		const char *component = search->text + at;
		bool is_glob;
		size_t len;

		if (at > search->len) {
			end_at(search, node);
			return;
		}
		compare(search, node->globs, node->depth, at);
		len = fw_reserve_component(component, search->len - at, &is_glob);
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
	visit(search, &search->index->top, 0);
}
