# gate.awk: the tables of bench/gate, from its figures.
#
#   ROUND NAME FRONT-SERVER case TOOL:N CALLS RATE P50_US P99_US CPU_US RSS_KB MISSES
#   ROUND NAME FRONT-SERVER start MS | idle KB | bytes MIB_PER_S
#   note TEXT

$1 == "note" { sub(/^note /, ""); notes[++note_count] = $0; next }
$1 == "warm" { next }
$1 == "memory" {
	if ($4 == "case") {
		if (!(++memory_cases > 2))
			rss_early = $11
		rss_late = $11
	}
	next
}
{ front = split($3, sides, "-") > 2 ? sides[1] "-" sides[3] : sides[1] }
$4 == "start" || $4 == "idle" {
	keep($2 " " $3 " " $4, $5)
	if ($2 == "direct" && $4 == "start")
		direct_start[$1, front] = $5
	else if ($4 == "start" && direct_start[$1, front] != "")
		keep($2 " " $3 " added_start", $5 - direct_start[$1, front])
	next
}
$4 == "bytes" {
	keep($2 " bytes", $5)
	if ($2 == "cat")
		cat_bytes[$1] = $5
	else if (cat_bytes[$1] > 0)
		keep($2 " bytes_fraction", $5 / cat_bytes[$1])
	next
}
$4 == "case" {
	split($5, parts, ":")
	width = parts[2] == 1 ? "one" : "many"
	if (parts[2] == 4)
		next
	key = $2 " " $3 " " width
	keep(key " rate", $7)
	keep(key " p50", $8)
	keep(key " p99", $9)
	if ($3 == "stdio-stdio" && width == "one") {
		alone[$1, $2] = $7
		if (($2 == "copy" || $2 == "faultwire") && alone[$1, "copy"] > 0 && alone[$1, "faultwire"] > 0)
			keep("of_copy", alone[$1, "faultwire"] / alone[$1, "copy"])
	}
	if ($2 == "direct") {
		direct_rate[$1, front, width] = $7
		direct_p50[$1, front, width] = $8
	} else if (direct_rate[$1, front, width] > 0) {
		keep(key " fraction", $7 / direct_rate[$1, front, width])
		keep(key " added", $8 - direct_p50[$1, front, width])
	}
	if (!(($2 " " $3) in listed)) {
		listed[$2 " " $3] = 1
		order[++order_count] = $2 " " $3
	}
}

function goal(what, value, limit, is_least) {
	if (value == "")
		return
	printf "| %s | %.2f | %s %s | %s |\n", what, value, is_least ? ">=" : "<=", limit,
		(is_least ? value >= limit : value <= limit) ? "PASS" : "MISS"
}

END {
	print "## The gateway: client > gateway > server against client > server\n"
	for (i = 1; i <= note_count; i++)
		print notes[i] "\n"
	print "| gateway | front | server | 1 in flight: calls/s | of direct | added us (p50) | many in flight (64, HTTP 8): calls/s | of direct | idle memory |"
	print "|---|---|---|---|---|---|---|---|---|"
	for (i = 1; i <= order_count; i++) {
		split(order[i], name, " ")
		if (split(name[2], sides, "-") > 2)
			name[1] = name[1] " (on any CPU)"
		printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name[1], sides[1], name[1] ~ /^direct/ ? "-" : sides[2],
			show("%.0f", median(order[i] " one rate")), show("%.3f", median(order[i] " one fraction")),
			show("%.1f", median(order[i] " one added")), show("%.0f", median(order[i] " many rate")),
			show("%.3f", median(order[i] " many fraction")), show("%.1f MB", median(order[i] " idle") / 1024)
	}
	print "\n| claim | measured | goal | |"
	print "|---|---|---|---|"
	goal("stdio > stdio, 1 in flight, of direct", median("faultwire stdio-stdio one fraction"), 0.40, 1)
	printf "| the same, of a program that only copies (%s of direct) | %s | | |\n",
		show("%.2f", median("copy stdio-stdio one fraction")), show("%.2f", median("of_copy"))
	goal("stdio > stdio, 1 in flight, on any CPU, of direct", median("faultwire stdio-stdio-any one fraction"), 0.40, 1)
	goal("stdio > stdio, 64 in flight, of direct", median("faultwire stdio-stdio many fraction"), 0.40, 1)
	goal("HTTP > stdio, 1 connection, of direct HTTP", median("faultwire http-stdio one fraction"), 0.35, 1)
	goal("HTTP > stdio, 8 connections, of direct HTTP", median("faultwire http-stdio many fraction"), 0.35, 1)
	goal("stdio > stdio, microseconds added", median("faultwire stdio-stdio one added"), 30, 0)
	goal("a 4 MiB result, bytes/s of `cat`", median("faultwire bytes_fraction"), 0.5, 1)
	goal("idle memory with one server, MB", median("faultwire stdio-stdio idle") / 1024, 6, 0)
	goal("start to the first reply beyond the server's own, ms", median("faultwire stdio-stdio added_start"), 6, 0)
	printf "\n4 MiB results: cat %s MiB/s, faultwire %s MiB/s.\n", show("%.0f", median("cat bytes")), show("%.0f", median("faultwire bytes"))
	if (rss_late)
		printf "Memory after 40,000 and 100,000 calls: %.1f and %.1f MB.\n", rss_early / 1024, rss_late / 1024
}
