/*
 * index_impl.h - the tree of an index, for the files that change it (index.c) and search
 * it (index_search.c).
 */
#ifndef FW_TOOLS_RESERVE_INDEX_IMPL_H
#define FW_TOOLS_RESERVE_INDEX_IMPL_H

#include "base/buf.h"
#include "tools/reserve/index.h"

/* A directory, a pattern, and what escaping the special characters of a path adds. */
enum { FW_RESERVE_TEXT_BYTES = 32 * 1024 };

/* A member of a hash table; first in what it is a member of. */
struct fw_reserve_link {
	struct fw_reserve_link *next;
	uint64_t hash;
};

struct fw_reserve_table {
	struct fw_reserve_link **slots;
	size_t size; /* a power of two, or 0 */
	size_t count;
};

/* One glob of an entry; braces make several. */
struct fw_reserve_leaf {
	struct fw_reserve_leaf *next;    /* at the same node */
	struct fw_reserve_leaf **at;     /* what points to it there */
	struct fw_reserve_leaf *sibling; /* of the same entry */
	struct fw_reserve_entry *entry;
	struct fw_reserve_node *node;
	uint32_t number; /* in the signature */
	bool is_glob;
	size_t len;
	char text[]; /* absolute, without the first slash */
};

/* A component of paths. Its hash table is that of all nodes. */
struct fw_reserve_node {
	struct fw_reserve_link link; /* must be first */
	struct fw_reserve_node *parent;
	struct fw_reserve_node *first; /* child */
	struct fw_reserve_node *next;  /* child of the same parent */
	struct fw_reserve_node *previous;
	struct fw_reserve_leaf *globs; /* whose next component is a glob */
	struct fw_reserve_leaf *paths; /* that end here */
	size_t glob_count;
	size_t below; /* leaves here and below */
	size_t depth; /* bytes of the path up to the next component */
	size_t len;
	const char *name;
};

struct fw_reserve_entry {
	struct fw_reserve_link link; /* must be first */
	struct fw_reservation body;
	struct fw_reserve_leaf *leaves;
	uint64_t mark; /* of the search that has found it */
	char texts[];
};

struct fw_reserve_index {
	struct fw_reserve_table entries;
	struct fw_reserve_table nodes;
	struct fw_reserve_signature signature;
	uint64_t marks;
	struct fw_reserve_node top;
};

struct fw_reserve_search {
	struct fw_reserve_index *index;
	const struct fw_reserve_query *query;
	uint64_t mark;
	const char *text;
	size_t len;
	bool is_stopped;
	bool is_complete; /* all that overlap were found */
};

/* NULL: there is no such child. */
struct fw_reserve_node *fw_reserve_child(const struct fw_reserve_index *index,
					 const struct fw_reserve_node *parent, const char *name,
					 size_t len);
/* Length of the first component, and whether it must be compared as a glob. */
size_t fw_reserve_component(const char *text, size_t len, bool *ret_is_glob);
/* Finds what overlaps with an absolute glob, without the first slash. */
void fw_reserve_search_run(struct fw_reserve_search *search, const char *text, size_t len);

#endif
