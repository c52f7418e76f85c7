#!/bin/sh
#
# An MCP server (2025-11-25, stdio) whose tools fail in ways that real servers do. For
# demonstrations: put the gateway in front of it and see what a client gets.
#
#   faultwire gate -- sh examples/faulty-server.sh

reply() {
	printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"
}

text() {
	reply "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}],\"isError\":${2:-false}}"
}

tool() {
	printf '{"name":"%s","description":"%s","inputSchema":{"type":"object"}}' "$1" "$2"
}

flaky_count=0

fail() {
	case $1 in
	flaky)
		flaky_count=$((flaky_count + 1))
		if [ $((flaky_count % 3)) -eq 1 ]; then
			text 'Error: 503 Service Unavailable, retry in 1s' true
		else
			text 'It works this time'
		fi
		;;
	weather) text 'Sunny, 21 degrees' ;;
	rate_limited) text 'Error: rate limit exceeded, try again in 5s' true ;;
	no_such_file) text "ENOENT: no such file or directory, open 'report.csv'" true ;;
	refused) reply '"error":{"code":-32000,"message":"connect ECONNREFUSED 127.0.0.1:5432"}' ;;
	crash)
		echo 'fatal: could not allocate' >&2
		kill -s SEGV $$
		;;
	leaves) exit 42 ;;
	traceback) printf 'Traceback (most recent call last):\n  File "server.py", line 7\nKeyError: 7\n' ;;
	truncated) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"ty\n' "$id" ;;
	wrong_id) id=99999 && text 'hello' ;;
	silent) ;;
	*) reply '"error":{"code":-32602,"message":"unknown tool"}' ;;
	esac
}

while IFS= read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
	method=$(printf '%s' "$line" | sed -n 's/.*"method":"\([^"]*\)".*/\1/p')
	name=$(printf '%s' "$line" | sed -n 's/.*"name":"\([^"]*\)".*/\1/p')
	case $method in
	initialize)
		reply '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"faulty","version":"1"}}'
		;;
	ping) reply '"result":{}' ;;
	tools/list)
		reply "\"result\":{\"tools\":[$(tool weather 'Works'),$(tool flaky 'Fails every third time'),$(tool rate_limited 'Is limited'),$(tool no_such_file 'Finds no file'),$(tool refused 'Has no database'),$(tool crash 'Dies of a signal'),$(tool leaves 'Exits with 42'),$(tool traceback 'Prints a traceback'),$(tool truncated 'Cuts its reply'),$(tool wrong_id 'Answers with another id'),$(tool silent 'Does not answer')]}"
		;;
	tools/call) fail "$name" ;;
	notifications/*) ;;
	*) [ -z "$id" ] || reply '"error":{"code":-32601,"message":"method not found"}' ;;
	esac
done
