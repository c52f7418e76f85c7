#!/bin/sh
#
# Run by the image of PostgreSQL when its database is made: the role of the servers, which may
# use the tables and not change them.

set -eu
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" \
	-v password="$(cat /run/secrets/runtime_password)" <<'END'
CREATE ROLE faultwire_run LOGIN PASSWORD :'password';
END
