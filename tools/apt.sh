# shellcheck shell=bash
# Sourced: Debian packages for the guest's architecture, by APT as this machine has it set up (sources, mirror, keys, proxy),
# but with APT's state in a directory of ours: no root is needed and nothing is installed here.
#
# Whoever sources this sets APT to that directory, which holds APT's lists and the packages' files.

# apt_setup SUITE: settings stay those of this machine, the architecture and the state are ours; its hooks stay out. The
# sources are this machine's too where SUITE is empty, else SUITE of Debian's archive alone, on the mirror that these name.
apt_setup() {
	mkdir -p "$APT/lists/partial" "$APT/archives/partial"
	: >"$APT/status"
	cat >"$APT/apt.conf" <<-EOF
		Dir::State "$APT";
		Dir::State::Lists "$APT/lists";
		Dir::State::status "$APT/status";
		Dir::Cache "$APT";
		APT::Architecture "$DEBIAN_ARCH";
		APT::Architectures { "$DEBIAN_ARCH"; };
		APT::Sandbox::User "root";
		APT::Install-Recommends "false";
		Acquire::Languages "none";
		#clear APT::Update::Pre-Invoke;
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
	EOF
	[[ $1 ]] || return 0
	cat >>"$APT/apt.conf" <<-EOF
		Dir::Etc::sourcelist "$APT/sources.list";
		Dir::Etc::sourceparts "-";
	EOF
	echo "deb [signed-by=$DEBIAN_KEYRING] $(debian_mirror) $1 main" >"$APT/sources.list"
}

DEBIAN_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg # of the package debian-archive-keyring, which all of Debian has

# debian_mirror: where this machine has Debian's archive from. Without lists nobody knows whose archive is whose: then the one
# with this machine's release.
debian_mirror() {
	local targets release
	# shellcheck disable=SC2016 # fields of APT's
	targets=(apt-get indextargets --format '$(REPO_URI) $(RELEASE)/$(COMPONENT) $(ORIGIN)/$(LABEL)' 'Created-By: Packages')
	# shellcheck source=/dev/null
	release=$(source /etc/os-release && echo "${VERSION_CODENAME:-}")
	{ "${targets[@]}" && echo . && "${targets[@]}" --no-release-info; } 2>/dev/null | awk -v release="$release/main" '
		$1 == "." { guess = !listed; next }
		{ listed = 1 }
		mirror == "" && $1 !~ /^cdrom:/ && (guess ? $2 == release : $3 == "Debian/Debian") { mirror = $1 }
		END { if (mirror != "") print mirror }'
}

apt() { apt-get -c "$APT/apt.conf" -qq "$@" </dev/null; }

# host_lists: changes when this machine's APT sources do, or when apt-get update brought new lists.
host_lists() {
	local lists=/var/lib/apt/lists
	eval "$(apt-config shell lists Dir::State::lists/d)"
	# shellcheck disable=SC2016 # fields of APT's
	apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null | sort || true
	find "$lists" -maxdepth 1 -name '*Release' -printf '%f %T@\n' 2>/dev/null | sort || true
}

# apt_resolve PACKAGE...: what these need, all of it, one package a line: URI, file, size, hash.
apt_resolve() {
	apt install --print-uris "$@" 2>"$APT/resolve.log" | grep -E '^[^ ]+ [^ ]+_[^ ]+\.deb ' | sort
}

# apt_fetch FILE: the packages that apt_resolve listed in FILE, to $APT/archives.
apt_fetch() {
	local names
	names=$(cut -d ' ' -f 2 "$1" | cut -d _ -f 1)
	# shellcheck disable=SC2086
	(cd "$APT/archives" && apt download $names) >"$APT/download.log" 2>&1 ||
		die_of_log "apt-get could not download the packages" "$APT/download.log"
}

# apt_unpack DIR [OPTION-OF-TAR...]: the files of all packages that were fetched.
apt_unpack() {
	local package
	mkdir -p "$1"
	for package in "$APT"/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -x -C "$1" --keep-directory-symlink --no-same-owner "${@:2}"
	done
}
