# KTAP in a kernel's log -> TAP, a line for each test case and for each suite, with the variable "run" before its name. What a
# failed case said goes before it.

{ sub(/^\[ *[0-9]+\.[0-9]+\](\[ *[TC][0-9]+\])? /, "") }

/^KTAP version/ { inside = 1; next }
!inside { next }
/^1\.\.[0-9]+$/ { planned += substr($0, 4); next } # of suites: this line has no indent

/^ *# Subtest: / { depth = match($0, /#/) - 1; name[depth] = $3; said = ""; next }

/^ *(not )?ok [0-9]+/ {
	depth = match($0, /[no]/) - 1
	failed = substr($0, depth + 1, 3) == "not"
	line = $0
	sub(/^ *(not )?ok [0-9]+ (- )?/, "", line)
	if (failed)
		printf "%s", said
	said = ""
	if (depth == 0) {
		suites++
		printf "%s - %s: suite %s\n", failed ? "not ok" : "ok", run, line
	} else if (depth == 4) {
		printf "%s - %s: %s: %s\n", failed ? "not ok" : "ok", run, name[4], line
	}
	next
}

/^ +/ { said = said "# " $0 "\n" }

END {
	if (planned > suites)
		printf "not ok - %s: %d of %d suites ended\n", run, suites, planned
}
