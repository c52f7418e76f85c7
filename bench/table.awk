# table.awk: the figures of bench/run as Markdown.

$1 == "bytes"        { order[++contracts] = $2; bytes[$2] = $3 }
$1 == "case"         { ns[$2] = $3; allocations[$2] = $4; allocated[$2] = $5 }
$1 == "instructions" { instructions[$2] = $3 }
$1 == "node"         { stringify[$2] = $3; parse[$2] = $4 }

function ratio(a, b) {
	return b > 0 ? sprintf("%.2f", a / b) : "-"
}
function mark(holds) {
	missed += !holds
	return holds ? "PASS" : "MISS"
}
# A goal for instructions, which no other load changes; for the time if they were not counted.
function at_most(factor, key, floor) {
	if (key in instructions)
		return mark(instr(key) <= factor * instr(floor))
	return mark(ns[key] <= factor * ns[floor])
}
function or_dash(table, key) {
	return key in table ? sprintf("%.0f", table[key]) : "-"
}
# Instructions without those of the loop around.
function instr(key) {
	return key in instructions ? instructions[key] - instructions["empty/kaiza"] : 0
}
function instr_text(key) {
	return key in instructions ? sprintf("%.0f", instr(key)) : "-"
}

END {
	print "## Encode: into the caller's buffer, beside a straight-line writer"
	print ""
	print "| contract | bytes | ns | floor ns | ratio | instructions | floor | ratio | goal <= 1.5 | allocations | bytes allocated | goal <= 1 | Node stringify ns |"
	print "|---|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|---|--:|"
	for (i = 1; i <= contracts; i++) {
		c = order[i]; e = "encode/" c; f = "encode-floor/" c
		printf "| %s | %d | %.0f | %.0f | %s | %s | %s | %s | %s | %d | %d | %s | %s |\n", c, bytes[c],
			ns[e], ns[f], ratio(ns[e], ns[f]),
			instr_text(e), instr_text(f), ratio(instr(e), instr(f)), at_most(1.5, e, f),
			allocations[e], allocated[e], mark(allocations[e] <= 1), or_dash(stringify, c)
	}
	print ""
	print "## Decode: text to error and free, beside a bare yyjson parse of the same bytes and free"
	print ""
	print "The goal is for reading alone (`keep_secrets`); what the search for secrets costs on top, which is on by default, stands beside it."
	print ""
	print "| contract | bytes | ns | yyjson ns | ratio | with redaction ns | ratio | instructions | yyjson | ratio | goal <= 1.5 | with redaction | ratio | allocations | bytes allocated | yyjson's | Node parse ns |"
	print "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|"
	for (i = 1; i <= contracts; i++) {
		c = order[i]; k = "decode-kept/" c; d = "decode/" c; p = "parse/" c
		printf "| %s | %d | %.0f | %.0f | %s | %.0f | %s | %s | %s | %s | %s | %s | %s | %d | %d | %d / %d | %s |\n", c, bytes[c],
			ns[k], ns[p], ratio(ns[k], ns[p]), ns[d], ratio(ns[d], ns[p]),
			instr_text(k), instr_text(p), ratio(instr(k), instr(p)), at_most(1.5, k, p),
			instr_text(d), ratio(instr(d), instr(p)),
			allocations[d], allocated[d], allocations[p], allocated[p], or_dash(parse, c)
	}
	print ""
	print "## The rest"
	print ""
	# What each took when errors became one block.
	split("canonical 10200 kaiza 11000 context-v0 1100 codeintel 6100 toolerror 13900 owlclaw 4000 owlclaw-api 4800", pair, " ")
	for (i = 1; i in pair; i += 2)
		most[pair[i]] = pair[i + 1]
	print "| what | ns | goal | instructions | goal | allocations | bytes allocated |"
	print "|---|--:|---|--:|---|--:|--:|"
	for (i = 1; i <= contracts; i++) {
		c = order[i]; r = "raise-encode-free/" c
		printf "| raise, annotate, encode, free: %s | %.0f | < 1000 %s | %s | %s | %d | %d |\n", c, ns[r],
			mark(ns[r] < 1000), instr_text(r),
			r in instructions ? "<= " most[c] " " mark(instr(r) <= most[c]) : "", allocations[r], allocated[r]
	}
	n = split("bare-raise-encode-free:raise, encode, free: kaiza:goal;raise-free:raise, free;raise-wrap-free:raise, wrap, free", rest, ";")
	for (i = 1; i <= n; i++) {
		key = rest[i]; sub(/:.*/, "", key); text = rest[i]; sub(/^[^:]*:/, "", text)
		goal = sub(/:goal$/, "", text)
		r = key "/kaiza"
		printf "| %s | %.0f | %s | %s | | %d | %d |\n", text, ns[r],
			goal ? "< 1000 " mark(ns[r] < 1000) : "", instr_text(r), allocations[r], allocated[r]
	}
	for (i = 1; i <= contracts; i++) {
		c = order[i]; r = "to-text/" c
		printf "| encode into memory of its own, free: %s | %.0f | <= 1 allocation %s | %s | | %d | %d |\n", c, ns[r],
			mark(allocations[r] <= 1), instr_text(r), allocations[r], allocated[r]
	}
	for (i = 1; i <= contracts; i++) {
		c = order[i]; r = "sniff/" c
		printf "| find the contract out: %s | %.0f | | %s | | %d | %d |\n", c, ns[r], instr_text(r),
			allocations[r], allocated[r]
	}
	print ""
	if (!("encode/kaiza" in instructions))
		print "(no instructions: valgrind is not installed)"
	if (!("kaiza" in stringify))
		print "(no figures of Node: it is not installed)"
	print missed ? missed " goals missed" : "every goal met"
}
