# samples.jsonl -> results.json. Input: the samples, slurped; $run: what ran (bench.sh's run.json).
include "proof";

def sum(f): map(f) | add // 0;
def median: sort | if length % 2 == 1 then .[(length - 1) / 2] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def ratio($of): if $of > 0 then . / $of else null end;

# fio's directions that did any I/O
def directions: .fio.jobs[] | (.read, .write) | select(.total_ios > 0);
def iops: [directions.iops] | add // 0;

# json+ counts latencies in bins; those of all samples and directions together: [[ns, count], ...]
def latencies:
	reduce (.[] | directions | .lat_ns.bins // {} | to_entries[]) as $bin ({}; .[$bin.key] += $bin.value) |
	to_entries | map([(.key | tonumber), .value]) | sort;

def percentile($share):
	(sum(.[1]) * $share) as $wanted |
	(label $found | foreach .[] as $bin ({seen: 0}; .seen += $bin[1] | .ns = $bin[0];
		if .seen >= $wanted then .ns, break $found else empty end)) // null;
def us: if . == null then null else . / 1000 end;

def polling: [.idle[] | select(.state == 0)];
def halted: [.idle[] | select(.state > 0)];

# kvm_counts: of one answer of the host, {NAME: COUNT}: over all vCPUs, as query-stats gives them, or of the machine, from debugfs
def kvm_counts:
	if has("return") then reduce (.return[].stats[] | select(.value | type == "number")) as $stat ({}; .[$stat.name] += $stat.value)
	else . end;

# moved: what KVM counted meanwhile, of one sample
def moved:
	(.host.before.kvm | kvm_counts) as $before |
	.host.after.kvm | kvm_counts | with_entries(.value -= ($before[.key] // 0));

# told_apart: the kinds of exits that KVM has counters for; of x86-64, insn_emulation is stores to devices, and on processors
# that do not tell the next instruction all that is skipped, such as writes of MSRs.
def told_apart: ["mmio_exit_user", "mmio_exit_kernel", "wfi_exit_stat", "wfe_exit_stat", "hvc_exit_stat",
	"halt_exits", "irq_exits", "irq_window_exits", "nmi_window_exits", "io_exits", "hypercalls", "insn_emulation"];

# host_counts: of the samples, what the host counted per I/O; what cannot be counted is null. KVM for arm64 does not count the
# interrupts that it injects; those that the guest takes from the disk are what there is then. Where it counts them it
# counts those of timers too.
def host_counts($irqs_per_io):
	sum(.host.ios) as $ios |
	(if all(.host.before.kvm and .host.after.kvm) then
		reduce (.[] | moved | to_entries[]) as $count ({}; .[$count.key] += $count.value) | map_values(ratio($ios))
	else null end) as $kvm |
	{
		exits_per_io: $kvm.exits,
		halt_exits_per_io: ($kvm.halt_exits // $kvm.wfi_exit_stat),
		irq_injections_per_io: (if $kvm == null then null else $kvm.irq_injections // $irqs_per_io end),
		irq_injections_source: (if $kvm == null then null elif $kvm.irq_injections != null then "KVM, all interrupts"
			else "guest, interrupts of the disk" end),
		host_cpu_us_per_io: (if all(.host) then sum(.host.after.cpu_us - .host.before.cpu_us) | ratio($ios) else null end),
		exit_reasons_per_io: (if $kvm == null then null else
			($kvm.exits - ([$kvm[told_apart[]] // 0] | add)) as $rest |
			($kvm | with_entries(select(.key != "exits" and .value > 0))) + {rest: ([$rest, 0] | max)} end)
	};

# result: of the samples of one mode and access pattern
def result:
	sum(.ios) as $ios | sum(.wall_ns * .cpus / 1000) as $cpu_us | latencies as $latencies |
	(sum(.irqs) | ratio($ios)) as $irqs_per_io |
	{
		rw: .[0].rw, mode: .[0].mode,
		iops_median: (map(iops) | median), iops_min: (map(iops) | min), iops_max: (map(iops) | max),
		samples: length,
		lat_p50_us: ($latencies | percentile(0.5) | us),
		lat_p99_us: ($latencies | percentile(0.99) | us),
		lat_p999_us: ($latencies | percentile(0.999) | us),
		irqs_per_io: $irqs_per_io,
		poll_share: (if all(.idle | length > 0) then sum(polling | sum(.time_us)) | ratio($cpu_us) else 0 end),
		polls_per_io: (if all(.idle | length > 0) then sum(polling | sum(.usage)) | ratio($ios) else 0 end),
		halts_per_io: (if all(.idle | length > 0) then sum(halted | sum(.usage)) | ratio($ios) else null end),
		hits_per_io: (sum(.source.hits) | ratio($ios)),
		windows_per_io: (sum(.source.windows) | ratio($ios)),
		raced_per_io: (sum(.source.raced) | ratio($ios)),
		iops: map(iops)
	} + host_counts($irqs_per_io);

# ratios: of the medians, of one access pattern
def ratios:
	(map({(.mode): .iops_median}) | add) as $of |
	{rw: .[0].rw} + ([
		["poll_source", "haltpoll"], ["poll_source", "halt"], ["haltpoll", "halt"],
		["io_poll", "haltpoll"], ["poll_source", "io_poll"]
	] | map(. as [$a, $b] | select($of[$a] and $of[$b]) | {"\($a)_to_\($b)": ($of[$a] | ratio($of[$b]))}) | add // {});

def missing($results):
	$run.modes[] as $mode | $run.rw[] as $rw |
	([$results[] | select(.mode == $mode and .rw == $rw) | .samples] | add // 0) as $got |
	select($got != $run.rounds) |
	"mode \($mode) has \($got) samples of \($run.rounds) (\($rw))";

def order($list; key): sort_by(key as $key | $list | index($key));

map(select(.type == "sample")) |
(.[0].fio["fio version"] // null) as $fio |
(group_by([.rw, .mode]) | map(result) | order($run.modes; .mode) | order($run.rw; .rw)) as $results |
($results | group_by(.rw) | map(ratios) | order($run.rw; .rw)) as $ratios |
($ratios | map({(.rw): .}) | add) as $by_rw |
$run + {
	fio: $fio,
	ratios: $ratios,
	results: ($results | map(. as $one | . + {ratio_to_haltpoll:
		([$results[] | select(.rw == $one.rw and .mode == "haltpoll") | .iops_median][0] as $base |
			if $base then ($one.iops_median | ratio($base)) else null end)})),
	unproved: [missing($results), ($results[] | unproved)]
}
