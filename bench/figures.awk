# figures.awk: what the tables of the benchmarks share; used with a second -f.

# Values are kept as lists of numbers, by a key; what is asked for is the median.
function keep(key, value) {
	lists[key] = lists[key] " " value
}

function median(key, values, n, i, j, value) {
	n = split(lists[key], values, " ")
	for (i = 2; i <= n; i++) {
		value = values[i] + 0
		for (j = i - 1; j >= 1 && values[j] + 0 > value; j--)
			values[j + 1] = values[j]
		values[j + 1] = value
	}
	if (n == 0)
		return ""
	return n % 2 ? values[(n + 1) / 2] + 0 : (values[n / 2] + values[n / 2 + 1]) / 2
}

function show(format, value) {
	return value == "" ? "-" : sprintf(format, value)
}

function thousands(value, text, out) {
	if (value == "")
		return "-"
	text = sprintf("%.0f", value)
	while (length(text) > 3) {
		out = "," substr(text, length(text) - 2) out
		text = substr(text, 1, length(text) - 3)
	}
	return text out
}
