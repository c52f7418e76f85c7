# server.awk: the tables of bench/server, from its figures.
#
#   ROUND SERVER TRANSPORT case TOOL:N CALLS RATE P50_US P99_US CPU_US RSS_KB MISSES
#   ROUND SERVER TRANSPORT start MS | idle KB
#   instructions SERVER TOOL COUNT
#   note TEXT

$1 == "note" { sub(/^note /, ""); notes[++note_count] = $0; next }
$1 == "instructions" { instructions[$2, $3] = $4; next }
$1 == "warm" { next }
$1 == "memory" {
	if ($4 == "idle")
		next
	if ($4 == "case") {
		calls[$2] += $6
		if (!($2 in rss_early) && calls[$2] >= 40000)
			rss_early[$2] = $11
		rss_late[$2] = $11
	}
	next
}
$4 == "start" || $4 == "idle" { keep($2 " " $3 " " $4, $5); seen[$2] = 1; next }
$4 == "case" {
	key = $2 " " $3 " " $5
	keep(key " rate", $7)
	keep(key " p50", $8)
	keep(key " p99", $9)
	keep(key " cpu", $10)
	if ($2 == "floor") {
		floor_rate[$1, $3, $5] = $7
		floor_cpu[$1, $3, $5] = $10
	} else if (floor_rate[$1, $3, $5] > 0 && $10 > 0) {
		keep(key " fraction", $7 / floor_rate[$1, $3, $5])
		keep(key " thrift", floor_cpu[$1, $3, $5] / $10)
	}
}

function table(transport, cases, what, case_count, names, i, s, key) {
	case_count = split(cases, names, " ")
	printf "| %s | server | calls/s | of the floor | p50 us | p99 us | CPU us a call | floor's CPU to it |\n", what
	print "|---|---|---|---|---|---|---|---|"
	for (i = 1; i <= case_count; i++)
		for (s = 1; s <= server_count; s++) {
			if (!(servers[s] in seen))
				continue
			key = servers[s] " " transport " " names[i]
			printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", label[transport, names[i]],
				servers[s], thousands(median(key " rate")),
				servers[s] == "floor" ? "1" : show("%.3f", median(key " fraction")),
				show("%.1f", median(key " p50")), show("%.1f", median(key " p99")),
				show("%.1f", median(key " cpu")),
				servers[s] == "floor" ? "1" : show("%.3f", median(key " thrift"))
		}
	print ""
}

function goal(what, wanted, measured, passes, aside) {
	printf "| %s | %s | %s | %s%s |\n", what, wanted, measured,
		measured == "-" ? "not measured" : passes ? "PASS" : "MISS", aside
}

function fraction_goal(transport, name, least, value) {
	value = median("faultwire " transport " " name " fraction")
	goal(transport ", " label[transport, name] ", of the floor", ">= " least,
		show("%.2f", value), value >= least + 0, "")
}

# A machine on which the floor itself needs more cannot show it.
function cpu_goal(transport, name, most, value, least) {
	value = median("faultwire " transport " " name " cpu")
	least = median("floor " transport " " name " cpu")
	goal(transport ", " label[transport, name] ", CPU a call", "< " most " us",
		sprintf("%.1f us (the floor: %.1f)", value, least), value < most + 0,
		value >= most + 0 && least >= most + 0 ? ", and so does the floor" : "")
}

END {
	server_count = split("floor faultwire sdk-v1 sdk-v2 fastmcp", servers, " ")
	label["stdio", "echo:1"] = "echo, one at a time"
	label["stdio", "fail:1"] = "fail, one at a time"
	label["stdio", "echo:64"] = "echo, 64 in flight"
	label["stdio", "fail:64"] = "fail, 64 in flight"
	label["http", "echo:1"] = "echo, 1 connection"
	label["http", "fail:1"] = "fail, 1 connection"
	label["http", "echo:8"] = "echo, 8 connections"
	label["http", "fail:8"] = "fail, 8 connections"

	print "### A call of a tool, beside the floor and beside others\n"
	for (i = 1; i <= note_count; i++)
		print notes[i] "\n"
	table("stdio", "echo:1 fail:1 echo:64 fail:64", "stdio")
	table("http", "echo:1 fail:1 echo:8 fail:8", "HTTP, kept alive")

	print "| server | start-up to the first reply, ms: stdio | HTTP | idle KB: stdio | HTTP | KB after 100,000 calls | instructions: echo | fail |"
	print "|---|---|---|---|---|---|---|---|"
	for (s = 1; s <= server_count; s++) {
		name = servers[s]
		if (!(name in seen))
			continue
		printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", name,
			show("%.1f", median(name " stdio start")), show("%.1f", median(name " http start")),
			thousands(median(name " stdio idle")), thousands(median(name " http idle")),
			thousands(rss_late[name]), thousands(instructions[name, "echo"]),
			thousands(instructions[name, "fail"])
	}

	print "\n| goal | wanted | measured | |"
	print "|---|---|---|---|"
	fraction_goal("stdio", "echo:1", "0.75")
	fraction_goal("stdio", "fail:1", "0.70")
	fraction_goal("stdio", "echo:64", "0.40")
	fraction_goal("stdio", "fail:64", "0.35")
	cpu_goal("stdio", "echo:1", "7")
	cpu_goal("stdio", "echo:64", "7")
	fraction_goal("http", "echo:1", "0.60")
	fraction_goal("http", "fail:1", "0.60")
	fraction_goal("http", "echo:8", "0.60")
	fraction_goal("http", "fail:8", "0.60")
	cpu_goal("http", "echo:1", "22")
	cpu_goal("http", "echo:8", "22")
	value = median("faultwire stdio start")
	least = median("floor stdio start")
	goal("start-up to the first reply", "< 5 ms", sprintf("%.1f ms (the floor: %.1f)", value, least), value < 5, "")
	value = median("faultwire stdio idle")
	goal("idle memory", "< 4 MB", sprintf("%.1f MB", value / 1024), value < 4096, "")
	grown = rss_late["faultwire"] - rss_early["faultwire"]
	goal("memory from 40,000 to " thousands(calls["faultwire"]) " calls", "flat", "+" grown " KB", grown <= 64, "")
	goal("instructions, stdio, echo", "< 8,000", thousands(instructions["faultwire", "echo"]),
		instructions["faultwire", "echo"] < 8000, "")
	goal("instructions, stdio, fail", "< 8,000", thousands(instructions["faultwire", "fail"]),
		instructions["faultwire", "fail"] < 8000, "")
}
