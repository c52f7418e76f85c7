/*
 * ref.c - documents, identifiers and references.
 *
 * Every document and every `$id` in it begins a resource: the unit that has a URI,
 * anchors, a draft and vocabularies. References are collected in a list until all
 * known subschemas are compiled, and are then resolved one by one. What they refer to
 * (a metaschema, a document of the resolver, a location under an unknown keyword) is
 * compiled at that point and may add to the list. Limits on nodes, bytes and
 * documents bound this.
 */
#include <string.h>

#include "base/json.h"

#include "base/hash.h"
#include "schema/compiler.h"
#include "schema/pointer.h"
#include "schema/text.h"
#include "schema/uri.h"

#define URI_MAX 2048
#define IDENTIFIERS_MAX 4096 /* of $id; the same for anchors */

/* ---- problems ---- */

bool fw_schema__fail(struct fw_schema__compiler *c, const char *reason, uint32_t node,
		     unsigned kw, const char *detail, size_t len)
{
	fw_schema_problem *p = c->problem;
	struct fw_schema__text t = { p->detail, 0, sizeof p->detail, false };

	if (c->failed)
		return false;
	c->failed = true;
	memset(p, 0, sizeof *p);
	p->reason = reason;
	if (detail)
		fw_schema__text_safe(&t, detail, len);
	if (node != FW_SCHEMA__NONE)
		fw_schema__pointer(c->s, node, kw, p->pointer, sizeof p->pointer);
	return false;
}

/* ---- resources ---- */

/* Lists of names with a hash for each: short in practice, and bounded. */
static uint64_t name_hash(const struct fw_schema__compiler *c, const char *name, size_t len)
{
	return fw_hash(name, len, c->s->seed);
}

static uint32_t find_uri(const struct fw_schema__compiler *c, const char *uri)
{
	uint64_t hash = name_hash(c, uri, strlen(uri));

	for (uint32_t i = 0; i < c->uris.n; i++)
		if (c->uris.at[i].hash == hash && !strcmp(c->uris.at[i].uri, uri))
			return c->uris.at[i].resource;
	return FW_SCHEMA__NONE;
}

/* The first resource with a URI keeps it. */
static bool add_uri(struct fw_schema__compiler *c, const char *uri, uint32_t resource)
{
	if (find_uri(c, uri) != FW_SCHEMA__NONE)
		return true;
	if (c->uris.n >= IDENTIFIERS_MAX)
		return fw_schema__fail(c, "schema has too many identifiers", FW_SCHEMA__NONE,
				       KW_NONE, uri, strlen(uri));
	return fw_schema__push(
		c, c->uris,
		((struct fw_schema__uri){ name_hash(c, uri, strlen(uri)), uri, resource }));
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static const struct {
	const char *uri;
	uint8_t dialect;
} drafts[] = {
	{ "https://json-schema.org/draft/2020-12/schema", DIALECT_2020 },
	{ "https://json-schema.org/draft/2019-09/schema", DIALECT_2019 },
	{ "http://json-schema.org/draft-07/schema", DIALECT_7 },
	{ "https://json-schema.org/draft-07/schema", DIALECT_7 },
	{ "http://json-schema.org/draft-06/schema", DIALECT_7 },
	{ "http://json-schema.org/draft-04/schema", DIALECT_4 },
};

static uint32_t load_uri(struct fw_schema__compiler *c, const char *uri);

static bool read_vocabulary(struct fw_schema__compiler *c, yyjson_val *vocab, uint32_t node,
			    struct fw_schema__resource *ret)
{
	static const char base[] = "https://json-schema.org/draft/2020-12/vocab/";
	static const struct {
		const char *name;
		uint8_t bit;
	} known[] = {
		{ "core", VOCAB_CORE },
		{ "applicator", VOCAB_APPLICATOR },
		{ "unevaluated", VOCAB_UNEVALUATED },
		{ "validation", VOCAB_VALIDATION },
		{ "meta-data", VOCAB_METADATA },
		{ "format-annotation", VOCAB_FORMAT },
		{ "format-assertion", VOCAB_FORMAT_ASSERT },
		{ "content", VOCAB_CONTENT },
	};
	yyjson_val *key, *val;
	size_t i, max;

	ret->vocab = 0;
	yyjson_obj_foreach(vocab, i, max, key, val)
	{
		const char *name = unsafe_yyjson_get_str(key);
		bool found = false;

		if (has_prefix(name, base))
			for (size_t k = 0; k < sizeof known / sizeof *known; k++)
				if (!strcmp(name + sizeof base - 1, known[k].name)) {
					ret->vocab |= known[k].bit;
					found = true;
				}
		if (!found && yyjson_get_bool(val))
			return fw_schema__fail(c, "vocabulary is not supported", node,
					       KW_SCHEMA, name, strlen(name));
	}
	return true;
}

/* Sets the dialect that `$schema` declares. A metaschema that cannot be found is
 * taken as draft 2020-12. */
static bool set_dialect(struct fw_schema__compiler *c, yyjson_val *schema, uint32_t node,
			struct fw_schema__resource *res)
{
	char uri[URI_MAX];
	uint32_t meta;
	size_t n;

	if (!yyjson_is_str(schema))
		return fw_schema__fail(c, "keyword must be a string", node, KW_SCHEMA, NULL, 0);
	n = fw_schema__uri_resolve("", yyjson_get_str(schema), yyjson_get_len(schema), uri,
				   sizeof uri);
	if (n == SIZE_MAX)
		return fw_schema__fail(c, "URI is too long", node, KW_SCHEMA, NULL, 0);
	if (n && uri[n - 1] == '#')
		uri[n - 1] = '\0';
	res->dialect = DIALECT_2020;
	res->vocab = VOCAB_DEFAULT;
	for (size_t i = 0; i < sizeof drafts / sizeof *drafts; i++) {
		if (strcmp(uri, drafts[i].uri) == 0) {
			res->dialect = drafts[i].dialect;
			return true;
		}
	}
	meta = load_uri(c, uri);
	if (c->failed)
		return false;
	if (meta != FW_SCHEMA__NONE) {
		yyjson_val *root = c->s->resources.at[meta].root;
		yyjson_val *vocab = yyjson_obj_get(root, "$vocabulary");

		res->dialect = c->s->resources.at[meta].dialect;
		if (yyjson_is_obj(vocab))
			return read_vocabulary(c, vocab, node, res);
	}
	return true;
}

static bool add_anchor(struct fw_schema__compiler *c, const char *name, size_t len,
		       uint32_t resource, uint32_t node, bool dynamic)
{
	if (c->anchors.n >= IDENTIFIERS_MAX)
		return fw_schema__fail(c, "schema has too many identifiers", node, KW_NONE,
				       name, len);
	return fw_schema__push(c, c->anchors,
			       ((struct fw_schema__anchor){ .hash = name_hash(c, name, len),
							    .name = name,
							    .len = (uint32_t)len,
							    .resource = resource,
							    .node = node,
							    .dynamic = dynamic,
							    .gathered = FW_SCHEMA__NONE }));
}

bool fw_schema__add_id(struct fw_schema__compiler *c, struct fw_schema__draft *d,
		       yyjson_val *obj, uint32_t *resource)
{
	fw_schema *s = c->s;
	struct fw_schema__resource res = s->resources.at[*resource];
	yyjson_val *id = yyjson_obj_get(obj, "$id");
	yyjson_val *schema = yyjson_obj_get(obj, "$schema");
	bool is_root = res.node == FW_SCHEMA__NONE;
	char uri[URI_MAX], *hash, *kept;
	size_t n;

	if (is_root) { /* load has created the resource of the document */
		res.node = s->resources.at[*resource].node = d->node;
	}
	if (schema && (is_root || id)) {
		if (!set_dialect(c, schema, d->node, &res))
			return false;
		if (is_root)
			s->resources.at[*resource] = res;
	}
	if (!id || (res.dialect <= DIALECT_7 && yyjson_obj_get(obj, "$ref")))
		return true;
	if (!yyjson_is_str(id))
		return fw_schema__fail(c, "keyword must be a string", d->node, KW_ID, NULL, 0);
	/* The anchor syntax of old drafts, also used by schemas without `$schema`. */
	if (yyjson_get_str(id)[0] == '#' && yyjson_get_len(id) > 1)
		return add_anchor(c, yyjson_get_str(id) + 1, yyjson_get_len(id) - 1, *resource,
				  d->node, false);
	n = fw_schema__uri_resolve(res.uri, yyjson_get_str(id), yyjson_get_len(id), uri,
				   sizeof uri);
	if (n == SIZE_MAX)
		return fw_schema__fail(c, "URI is too long", d->node, KW_ID, NULL, 0);
	hash = strchr(uri, '#');
	if (hash) {
		if (hash[1] && res.dialect > DIALECT_7)
			return fw_schema__fail(c, "$id must have no fragment", d->node, KW_ID,
					       uri, n);
		*hash = '\0';
		n = (size_t)(hash - uri);
	}
	kept = fw_schema__keep(c, uri, n);
	if (!kept)
		return false;
	if (is_root) {
		s->resources.at[*resource].uri = kept;
		return add_uri(c, kept, *resource);
	}
	res.uri = kept;
	res.root = obj;
	res.node = d->node;
	*resource = s->resources.n;
	return fw_schema__push(c, s->resources, res) && add_uri(c, kept, *resource);
}

bool fw_schema__add_anchors(struct fw_schema__compiler *c, struct fw_schema__draft *d,
			    uint32_t resource)
{
	static const uint8_t both[] = { KW_ANCHOR, KW_DYNAMIC_ANCHOR };

	for (size_t i = 0; i < 2; i++) {
		yyjson_val *name = d->kw[both[i]];

		if (!name)
			continue;
		if (!yyjson_is_str(name))
			return fw_schema__fail(c, "keyword must be a string", d->node, both[i],
					       NULL, 0);
		if (!add_anchor(c, yyjson_get_str(name), yyjson_get_len(name), resource,
				d->node, i == 1))
			return false;
	}
	return true;
}

uint32_t fw_schema__load(struct fw_schema__compiler *c, const char *json, size_t len,
			 const char *uri)
{
	static const struct fw_schema__place top = { .parent = FW_SCHEMA__NONE,
						     .kw = KW_NONE,
						     .index = FW_SCHEMA__NONE };
	fw_schema *s = c->s;
	struct fw_schema__resource res = { .node = FW_SCHEMA__NONE,
					   .dialect = c->opts.draft7_default ? DIALECT_7
									     : DIALECT_2020,
					   .vocab = VOCAB_DEFAULT };
	const char *hash = strchr(uri, '#');
	yyjson_read_err err;
	yyjson_doc *doc;
	uint32_t at, node;

	if (len > c->opts.max_bytes - c->bytes || s->docs.n >= FW_SCHEMA_DOCUMENTS_MAX) {
		fw_schema__fail(c, "schema is too large", FW_SCHEMA__NONE, KW_NONE, uri,
				strlen(uri));
		return FW_SCHEMA__NONE;
	}
	c->bytes += len;
	if (!fw_schema__grow(c, &s->docs, sizeof *s->docs.at, 1))
		return FW_SCHEMA__NONE;
	doc = fw_json_read(json, len, (struct fw_json_limits){ .bytes = c->opts.max_bytes },
			   YYJSON_READ_NUMBER_AS_RAW, &s->alc, &err);
	if (!doc) {
		fw_schema__fail(c,
				err.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
					? "out of memory"
					: "text is not JSON",
				FW_SCHEMA__NONE, KW_NONE, uri, strlen(uri));
		c->problem->offset = err.pos;
		return FW_SCHEMA__NONE;
	}
	res.doc = s->docs.n;
	s->docs.at[s->docs.n++] = doc;
	res.root = yyjson_doc_get_root(doc);
	res.uri = fw_schema__keep(c, uri, hash ? (size_t)(hash - uri) : strlen(uri));
	at = s->resources.n;
	if (!res.uri || !fw_schema__push(c, s->resources, res) || !add_uri(c, res.uri, at))
		return FW_SCHEMA__NONE;
	node = fw_schema__compile_node(c, res.root, &top, at);
	if (node != FW_SCHEMA__NONE)
		s->resources.at[at].node = node; /* for a boolean schema, which has
						  * no keywords to set it */
	return node;
}

/* The resource with the URI `uri` (without fragment), loaded if necessary. NONE if
 * there is none; that is not reported as a problem. */
static uint32_t load_uri(struct fw_schema__compiler *c, const char *uri)
{
	uint32_t at = find_uri(c, uri);
	const char *json;
	size_t len;

	if (at != FW_SCHEMA__NONE || c->failed)
		return at;
	json = fw_schema__builtin(uri, &len);
	if (!json &&
	    !(c->opts.resolve && c->opts.resolve(c->opts.resolve_ctx, uri, &json, &len)))
		return FW_SCHEMA__NONE;
	at = c->s->resources.n;
	return fw_schema__load(c, json, len, uri) == FW_SCHEMA__NONE ? FW_SCHEMA__NONE : at;
}

/* ---- references ---- */

/* The next token of a JSON Pointer; decodes ~0 and ~1 in place. */
static char *token(char **p, size_t *ret_len)
{
	char *s = *p, *out = s, *start = s;

	while (*s && *s != '/') {
		if (*s == '~' && (s[1] == '0' || s[1] == '1')) {
			*out++ = s[1] == '0' ? '~' : '/';
			s += 2;
		} else {
			*out++ = *s++;
		}
	}
	*ret_len = (size_t)(out - start);
	*p = *s ? s + 1 : NULL;
	return start;
}

static yyjson_val *step(yyjson_val *val, const char *tok, size_t len)
{
	size_t i = 0;

	if (yyjson_is_obj(val))
		return yyjson_obj_getn(val, tok, len);
	if (!yyjson_is_arr(val) || len == 0 || len > 9)
		return NULL;
	for (size_t k = 0; k < len; k++) {
		if (tok[k] < '0' || tok[k] > '9')
			return NULL;
		i = i * 10 + (size_t)(tok[k] - '0');
	}
	return yyjson_arr_get(val, i);
}

static uint32_t follow_pointer(struct fw_schema__compiler *c, uint32_t resource, char *pointer)
{
	struct fw_schema__place at = { .kw = KW_POINTER, .index = FW_SCHEMA__NONE };
	yyjson_val *val = c->s->resources.at[resource].root;
	char *text = fw_schema__keep(c, pointer, strlen(pointer)), *tok;
	uint32_t node;
	size_t len;

	if (!text)
		return FW_SCHEMA__NONE;
	at.parent = c->s->resources.at[resource].node;
	at.key = text;
	at.len = (uint32_t)strlen(text);
	for (pointer++; val && pointer;) {
		tok = token(&pointer, &len);
		val = step(val, tok, len);
		node = val ? fw_schema__map_get(c, val) : FW_SCHEMA__NONE;
		if (node != FW_SCHEMA__NONE)
			resource = c->s->nodes.at[node].resource;
	}
	return val ? fw_schema__compile_node(c, val, &at, resource) : FW_SCHEMA__NONE;
}

/* A resource of NONE means any resource. */
static struct fw_schema__anchor *find_anchor(const struct fw_schema__compiler *c,
					     uint32_t resource, const char *name, bool dynamic)
{
	size_t len = strlen(name);
	uint64_t hash = name_hash(c, name, len);

	for (uint32_t i = 0; i < c->anchors.n; i++) {
		struct fw_schema__anchor *a = &c->anchors.at[i];

		if (a->hash == hash && a->len == len && memcmp(a->name, name, len) == 0 &&
		    (!dynamic || a->dynamic) &&
		    (resource == FW_SCHEMA__NONE || a->resource == resource))
			return a;
	}
	return NULL;
}

/* Collects all resources that define the dynamic anchor, for the checker to compare
 * with its scope: dynamics[b .. b + c). Done once per name; the result is stored in
 * the first anchor of that name. */
static bool gather_dynamic(struct fw_schema__compiler *c, const char *name, uint32_t op)
{
	struct fw_schema__anchor *first = find_anchor(c, FW_SCHEMA__NONE, name, true);

	if (first->gathered == FW_SCHEMA__NONE) {
		first->gathered = c->s->dynamics.n;
		for (uint32_t i = 0; i < c->anchors.n; i++) {
			const struct fw_schema__anchor *a = &c->anchors.at[i];

			if (a->dynamic && a->hash == first->hash &&
			    !fw_schema__push(
				    c, c->s->dynamics,
				    ((struct fw_schema__dynamic){ a->resource, a->node })))
				return false;
		}
		first->n_gathered = c->s->dynamics.n - first->gathered;
	}
	c->s->ops.at[op].v.u.b = first->gathered;
	c->s->ops.at[op].v.u.c = first->n_gathered;
	return true;
}

/* Sets the target of the op. For $dynamicRef, *ret_dynamic is set if the anchor is
 * a dynamic one. */
static bool link_one(struct fw_schema__compiler *c, const struct fw_schema__pending *p,
		     char *uri, const char **ret_dynamic)
{
	const struct fw_schema__node *from = &c->s->nodes.at[p->node];
	const struct fw_schema__anchor *anchor;
	uint32_t resource = FW_SCHEMA__NONE, target = FW_SCHEMA__NONE;
	char *fragment;
	size_t n;
	bool sound;

	*ret_dynamic = NULL;
	n = fw_schema__uri_resolve(c->s->resources.at[from->resource].uri,
				   yyjson_get_str(p->ref), yyjson_get_len(p->ref), uri,
				   URI_MAX);
	if (n == SIZE_MAX)
		return fw_schema__fail(c, "URI is too long", p->node, p->kw, NULL, 0);
	sound = strlen(uri) == n; /* no NUL inside, not even as %00 */
	fragment = strchr(uri, '#');
	if (fragment) {
		*fragment++ = '\0';
		n = fw_schema__uri_unescape(fragment, strlen(fragment));
		sound = sound && n == strlen(fragment);
	}
	if (sound)
		resource = load_uri(c, uri);
	if (c->failed)
		return false;
	if (resource != FW_SCHEMA__NONE) {
		if (!fragment || !*fragment) {
			target = c->s->resources.at[resource].node;
		} else if (*fragment == '/') {
			target = follow_pointer(c, resource, fragment);
		} else {
			anchor = find_anchor(c, resource, fragment, false);
			if (anchor)
				target = anchor->node;
			if (find_anchor(c, resource, fragment, true))
				*ret_dynamic = fragment;
		}
	}
	if (target == FW_SCHEMA__NONE)
		return fw_schema__fail(c, "unresolvable reference", p->node, p->kw,
				       yyjson_get_str(p->ref), yyjson_get_len(p->ref));
	c->s->ops.at[p->op].a = target;
	return true;
}

bool fw_schema__link(struct fw_schema__compiler *c)
{
	const char *dynamic;
	char uri[URI_MAX];
	uint32_t i;

	for (i = 0; i < c->pending.n; i++) {
		struct fw_schema__pending p = c->pending.at[i];

		if (!link_one(c, &p, uri, &dynamic))
			return false;
	}
	/* Another pass for dynamic references, now that all anchors are known. */
	for (i = 0; i < c->pending.n; i++) {
		struct fw_schema__pending p = c->pending.at[i];

		if (p.kw != KW_DYNAMIC_REF)
			continue;
		if (!link_one(c, &p, uri, &dynamic) ||
		    (dynamic && !gather_dynamic(c, dynamic, p.op)))
			return false;
	}
	return true;
}
