# What proves that a mode was the mode: the counters of the kernel and the device, per I/O, over all samples of one access
# pattern. tests/host/report.sh shows that each of these rules can fail.
#
#   irqs_per_io    interrupts of the disk's queues
#   polls_per_io   times a CPU entered the polling idle state
#   poll_share     part of the CPUs' time spent in it
#   hits_per_io    times the idle loop found and handled a completion (poll_source)

def rules: {
	halt: [
		{counter: "irqs_per_io", at_least: 0.9},
		{counter: "polls_per_io", at_most: 0.05},
		{counter: "poll_share", at_most: 0.02},
		{counter: "hits_per_io", at_most: 0}
	],
	haltpoll: [
		{counter: "irqs_per_io", at_least: 0.9},
		{counter: "polls_per_io", at_least: 0.5},
		{counter: "poll_share", at_least: 0.02},
		{counter: "hits_per_io", at_most: 0}
	],
	poll_source: [
		{counter: "irqs_per_io", at_most: 0.4},
		{counter: "hits_per_io", at_least: 0.5},
		{counter: "poll_share", at_least: 0.02}
	],
	io_poll: [
		{counter: "irqs_per_io", at_most: 0.05},
		{counter: "hits_per_io", at_most: 0}
	]
};

def hundredths: . * 1000 | round / 1000;

# broken VALUES: what RULE says of them, when they break it
def broken($values):
	.counter as $counter | $values[$counter] as $value |
	if $value == null then "\($counter) was not counted"
	elif .at_least != null and $value < .at_least then "\($counter) is \($value | hundredths), must be at least \(.at_least)"
	elif .at_most != null and $value > .at_most then "\($counter) is \($value | hundredths), must be at most \(.at_most)"
	else empty end;

# unproved: of one result, why its mode is not what it claims; nothing when it is.
def unproved:
	. as $result |
	(rules[.mode] // error("no rule for the mode \(.mode)"))[] | broken($result) |
	"mode \($result.mode) was not what it claims (\($result.rw)): \(.)";
