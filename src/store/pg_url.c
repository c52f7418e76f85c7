/*
 * pg_url.c - the URL of a PostgreSQL store.
 *
 * libpq reads it, so that everything libpq knows works: lists of hosts, TLS, service
 * and password files. The hosts are separated here because libpq, when it is not allowed
 * to block, stays with a host that accepts a connection and then says nothing.
 */
#include "store/pg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/mem.h"
#include "store/store_backend.h"

enum { USUAL_PORT = 5432 };

static fw_error *invalid(void)
{
	return fw_raise_input_invalid_value(
		"store", "a PostgreSQL URL, such as postgresql://user@host/database");
}

static const char *value_of(const struct fw_pg_url *url, const char *keyword)
{
	for (const PQconninfoOption *at = url->options; at->keyword; at++)
		if (strcmp(at->keyword, keyword) == 0)
			return at->val && at->val[0] ? at->val : NULL;
	return NULL;
}

/* Cuts a copy of the list at its commas. Returns the number of parts; more than there
 * is room for: FW_PG_HOSTS_MAX + 1. */
static size_t split(char *list, const char *ret_parts[FW_PG_HOSTS_MAX])
{
	size_t count = 0;

	for (char *part = list; part; count++) {
		char *comma = strchr(part, ',');

		if (count == FW_PG_HOSTS_MAX)
			return FW_PG_HOSTS_MAX + 1;
		if (comma)
			*comma++ = '\0';
		ret_parts[count] = part;
		part = comma;
	}
	return count;
}

static size_t split_value(const struct fw_pg_url *url, const char *keyword, char **room,
			  const char *ret_parts[FW_PG_HOSTS_MAX])
{
	const char *value = value_of(url, keyword);
	size_t len = value ? strlen(value) + 1 : 0;
	char *list = *room;

	if (!value)
		return 0;
	memcpy(list, value, len);
	*room += len;
	return split(list, ret_parts);
}

static size_t length_of(const struct fw_pg_url *url, const char *keyword)
{
	const char *value = value_of(url, keyword);

	return value ? strlen(value) + 1 : 0;
}

static fw_error *read_hosts(struct fw_pg_url *url)
{
	size_t hosts, addresses, ports;
	char *room;

	url->lists = fw__allocate(length_of(url, "host") + length_of(url, "hostaddr") +
				  length_of(url, "port") + 1);
	if (!url->lists)
		return fw_raise_internal_out_of_memory();
	room = url->lists;
	hosts = split_value(url, "host", &room, url->hosts);
	addresses = split_value(url, "hostaddr", &room, url->addresses);
	ports = split_value(url, "port", &room, url->ports);
	url->count = hosts > addresses ? hosts : addresses;
	if (!url->count)
		url->count = 1;
	if (url->count > FW_PG_HOSTS_MAX || (hosts && hosts != url->count) ||
	    (addresses && addresses != url->count) || (ports > 1 && ports != url->count))
		return invalid();
	/* One port is for all of them. */
	for (size_t i = 1; ports == 1 && i < url->count; i++)
		url->ports[i] = url->ports[0];
	return NULL;
}

fw_error *fw_pg_url_read(const char *text, struct fw_pg_url *ret_url)
{
	struct fw_pg_url url = { .count = 0 };
	char *why = NULL;
	fw_error *err;

	FW_TRY(fw_libpq_load());
	url.options = PQconninfoParse(text, &why);
	if (!url.options) {
		/* libpq's message may quote a part of the URL, such as the password. No
		 * message at all means that there was no memory. */
		err = why ? invalid() : fw_raise_internal_out_of_memory();
		PQfreemem(why);
		return err;
	}
	err = read_hosts(&url);
	if (err) {
		fw_pg_url_clear(&url);
		return err;
	}
	url.password = value_of(&url, "password");
	*ret_url = url;
	return NULL;
}

void fw_pg_url_clear(struct fw_pg_url *url)
{
	fw__release(url->lists);
	if (url->options)
		PQconninfoFree(url->options);
	*url = (struct fw_pg_url){ .count = 0 };
}

/* What is set if the URL does not. */
static const char *const defaults[][2] = {
	{ "fallback_application_name", "faultwire" },
	{ "client_encoding", "UTF8" },
	/* A standby is skipped. */
	{ "target_session_attrs", "read-write" },
	/* A host that has vanished is noticed. */
	{ "keepalives_idle", "10" },
	{ "keepalives_interval", "5" },
	{ "keepalives_count", "3" },
	{ "tcp_user_timeout", "10000" },
};

void fw_pg_url_keywords(const struct fw_pg_url *url, size_t host,
			const char *ret_keywords[FW_PG_KEYWORDS_MAX],
			const char *ret_values[FW_PG_KEYWORDS_MAX])
{
	size_t count = 0;

	for (const PQconninfoOption *at = url->options; at->keyword; at++) {
		const char *value = at->val;

		if (strcmp(at->keyword, "host") == 0)
			value = url->hosts[host];
		else if (strcmp(at->keyword, "hostaddr") == 0)
			value = url->addresses[host];
		else if (strcmp(at->keyword, "port") == 0)
			value = url->ports[host];
		if (!value || count + 1 >= FW_PG_KEYWORDS_MAX)
			continue;
		ret_keywords[count] = at->keyword;
		ret_values[count++] = value;
	}
	for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
		if (value_of(url, defaults[i][0]) || count + 1 >= FW_PG_KEYWORDS_MAX)
			continue;
		ret_keywords[count] = defaults[i][0];
		ret_values[count++] = defaults[i][1];
	}
	ret_keywords[count] = NULL;
	ret_values[count] = NULL;
}

/* ---- what a sandbox must permit --------------------------------------------- */

static void add_file(struct fw_store_needs *needs, const char *directory, const char *file)
{
	int len;

	if (!file || needs->file_count == FW_STORE_FILES_MAX)
		return;
	len = snprintf(needs->files[needs->file_count], sizeof needs->files[0], "%s%s",
		       directory, file);
	needs->file_count += len > 0 && (size_t)len < sizeof needs->files[0];
}

fw_error *fw_store_pg_needs(const char *text, struct fw_store_needs *needs)
{
	static const char *const files[] = { "passfile", "sslcert", "sslkey", "sslrootcert",
					     "sslcrl" };
	const char *home = getenv("HOME");
	struct fw_pg_url url;

	FW_TRY(fw_pg_url_read(text, &url));
	for (size_t i = 0; i < url.count && i < FW_STORE_PORTS_MAX; i++) {
		const char *port =
			url.ports[i] && url.ports[i][0] ? url.ports[i] : getenv("PGPORT");
		unsigned long number = port ? strtoul(port, NULL, 10) : USUAL_PORT;

		/* A path is a socket. */
		if (url.hosts[i] && url.hosts[i][0] == '/' && !url.addresses[i]) {
			needs->has_socket = true;
			continue;
		}
		needs->ports[needs->port_count++] = (uint16_t)number;
	}
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		add_file(needs, "", value_of(&url, files[i]));
	add_file(needs, "", getenv("PGPASSFILE"));
	if (home) {
		add_file(needs, home, "/.pgpass");
		add_file(needs, home, "/.postgresql");
	}
	fw_pg_url_clear(&url);
	return NULL;
}
