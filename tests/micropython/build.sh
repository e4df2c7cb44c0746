#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# build.sh - builds MicroPython from Debian's source package, once, outside the tree; prints the path of what it built.
#
# usage: build.sh unix|qemu|mpy-cross
#   unix       the unix port
#   qemu       firmware for the emulated Cortex-M3 (mps2-an385), with usermod/ for what the port lacks
#   mpy-cross  the compiler to .mpy
#
# The package's address is that of the machine's own apt configuration; apt's lists and state are private to the cache,
# so that the machine's stay as they are. The sources are compiled as they come: a build adds a configuration header and
# a user C module, and freezes asyncio.
#
# Exit status: 0 built; 1 a build failed (its log's end on stderr); 2 usage; 3 not possible here, with the reason.
set -u -o pipefail
export LC_ALL=C
unset BUILD MAKEFLAGS # of our own make: they would move its output

SUITE=trixie
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/loopscope/micropython
src=$cache/src

cannot()
{
	echo "build.sh: $1" >&2
	exit 3
}

# run LOG COMMAND...: quiet unless it fails
run()
{
	local log=$cache/$1.log

	shift
	if ! "$@" >"$log" 2>&1 </dev/null; then
		echo "build.sh: $* failed; the end of $log:" >&2
		tail -n 20 "$log" >&2
		exit 1
	fi
}

need()
{
	command -v "$1" >/dev/null || cannot "$1 is missing: apt-get install $2"
}

# The first archive of Debian's main component that apt knows, whatever mirror it is.
archive()
{
	apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(COMPONENT) $(CODENAME)' 'Created-By: Packages' 2>/dev/null |
		awk '$2 == "Debian" && $3 == "main" && $4 !~ /-/ { print $1; exit }'
}

fetch()
{
	local uri apt=$cache/apt

	[ -e "$src/.complete" ] && return
	need apt-get apt
	need dpkg-source dpkg-dev
	uri=$(archive)
	[ -n "$uri" ] || cannot "apt knows no archive of Debian's (run apt-get update)"
	rm -rf "$src" "$apt"
	mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/source"
	cat >"$apt/debian.sources" <<-END
		Types: deb-src
		URIs: $uri
		Suites: $SUITE
		Components: main
		Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
	END
	local options=(-o Dir::State="$apt" -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt"
		-o Dir::Etc::sourcelist="$apt/debian.sources" -o Dir::Etc::sourceparts=/dev/null
		-o Acquire::Languages=none -o APT::Sandbox::User=root)
	apt-get "${options[@]}" -qq update >"$cache/fetch.log" 2>&1 </dev/null ||
		cannot "the archive of $SUITE can't be read: $(tail -n 1 "$cache/fetch.log")"
	(cd "$apt/source" && apt-get "${options[@]}" -qq --download-only source micropython) >>"$cache/fetch.log" 2>&1 \
		</dev/null || cannot "the source package micropython can't be had: $(tail -n 1 "$cache/fetch.log")"
	run unpack dpkg-source --no-check -x "$apt"/source/micropython_*.dsc "$src"
	# the package leaves out this submodule, and the build only looks whether it is there
	mkdir -p "$src/lib/micropython-lib"
	: >"$src/lib/micropython-lib/README.md"
	touch "$src/.complete"
	rm -rf "$apt"
}

build_mpy_cross()
{
	built=$src/mpy-cross/build/mpy-cross
	run mpy-cross nice make -C "$src/mpy-cross" -j"$(nproc)"
}

build_unix()
{
	built=$src/ports/unix/build-standard/micropython
	run unix nice make -C "$src/ports/unix" -j"$(nproc)" MICROPY_PY_BTREE=0 MICROPY_PY_FFI=0 MICROPY_PY_SSL=0 \
		MICROPY_SSL_MBEDTLS=0 MICROPY_SSL_AXTLS=0 FROZEN_MANIFEST="$here/manifest.py"
}

build_qemu()
{
	need arm-none-eabi-gcc "gcc-arm-none-eabi libnewlib-arm-none-eabi"
	need qemu-system-arm qemu-system-arm
	built=$cache/mps2-an385/firmware.elf
	run qemu nice make -C "$src/ports/qemu" -j"$(nproc)" BOARD=MPS2_AN385 BUILD="$cache/mps2-an385" \
		USER_C_MODULES="$here/usermod" FROZEN_MANIFEST="$here/manifest.py" \
		CFLAGS_EXTRA="-I$here/usermod -DMP_CONFIGFILE='<mpconfig_board.h>'"
}

[ $# -eq 1 ] || set -- usage
case $1 in
unix | qemu | mpy-cross) ;;
*)
	sed -n 's/^# usage: /usage: /p' "$0" >&2
	exit 2
	;;
esac
need make make
need gcc gcc
need python3 python3
mkdir -p "$cache" || cannot "no cache at $cache"
exec 9>"$cache/lock"
flock 9
fetch
build_mpy_cross
[ "$1" = mpy-cross ] || "build_$1"
echo "$built"
