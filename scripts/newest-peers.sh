# The newest nginx, HAProxy, Caddy and h2load of Debian unstable, in a folder of the project; sourced at the top of the repository.
# apt keeps its sources, lists and package state in that folder, `dpkg -x` unpacks, and each program runs with the C library of
# its own packages: nothing of the system is read or changed. POSIX sh.
# shellcheck shell=sh

NEWEST_FOLDER=$PWD/.bun/newest
NEWEST_PROGRAMS='usr/sbin/nginx usr/sbin/haproxy usr/bin/caddy usr/bin/h2load'
NEWEST_PACKAGES='nginx haproxy caddy nghttp2-client'
NEWEST_SOURCE='deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian unstable main'

newest_apt() {
  DEBIAN_FRONTEND=noninteractive timeout "${INSTALL_LIMIT_S:-200}" apt-get -qq \
    -o "Dir::Etc::sourcelist=$NEWEST_FOLDER/sources.list" -o Dir::Etc::sourceparts=- \
    -o "Dir::State=$NEWEST_FOLDER/state" -o "Dir::State::lists=$NEWEST_FOLDER/lists" \
    -o "Dir::State::status=$NEWEST_FOLDER/state/status" -o "Dir::Cache=$NEWEST_FOLDER/cache" \
    -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1 "$@" >"$NEWEST_FOLDER/apt.log" 2>&1 </dev/null
}

# Unpacks into a new folder, which takes the old one's place once it is whole.
newest_unpacked() {
  rm -rf "$NEWEST_FOLDER/unpacking"
  mkdir -p "$NEWEST_FOLDER/unpacking"
  for package in "$NEWEST_FOLDER"/cache/archives/*.deb; do
    dpkg -x "$package" "$NEWEST_FOLDER/unpacking" || return 1
  done
  rm -rf "$NEWEST_FOLDER/packages"
  mv "$NEWEST_FOLDER/unpacking" "$NEWEST_FOLDER/packages"
}

# A program NAME that runs the unpacked one with the loader and the libraries beside it.
newest_program() {
  program=$NEWEST_FOLDER/packages/$1
  loader=$(find "$NEWEST_FOLDER/packages/usr" -name 'ld-linux*.so.*' | head -n 1)
  libraries=$(dirname "$(find "$NEWEST_FOLDER/packages/usr/lib" -name libc.so.6 | head -n 1)")
  [ -x "$program" ] && [ -n "$loader" ] || return 1
  name=$(basename "$program")
  printf '#!/bin/sh\nexec "%s" --library-path "%s" --argv0 %s "%s" "$@"\n' \
    "$loader" "$libraries" "$name" "$program" >"$NEWEST_FOLDER/bin/$name"
  chmod +x "$NEWEST_FOLDER/bin/$name"
}

# Takes or renews them; says the versions, or in one line why there are none.
install_newest() {
  if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then
    echo 'install-peers: --newest needs apt-get and dpkg' >&2
    return 1
  fi
  mkdir -p "$NEWEST_FOLDER/bin" "$NEWEST_FOLDER/lists/partial" "$NEWEST_FOLDER/cache/archives/partial" "$NEWEST_FOLDER/state"
  : >"$NEWEST_FOLDER/state/status"
  printf '%s\n' "$NEWEST_SOURCE" >"$NEWEST_FOLDER/sources.list"
  rm -f "$NEWEST_FOLDER"/cache/archives/*.deb
  # shellcheck disable=SC2086 # one word a package
  if ! newest_apt update || ! newest_apt -y --no-install-recommends --download-only install $NEWEST_PACKAGES ||
    ! newest_unpacked; then
    echo "install-peers: the newest peers could not be had: $(grep -m 1 -E '^E: ' "$NEWEST_FOLDER/apt.log" || echo 'see .bun/newest/apt.log')" >&2
    return 1
  fi
  rm -rf "$NEWEST_FOLDER/cache" "$NEWEST_FOLDER/lists"
  for each in $NEWEST_PROGRAMS; do
    newest_program "$each" || echo "install-peers: $(basename "$each") is not in its package" >&2
  done
  "$NEWEST_FOLDER/bin/nginx" -v 2>&1
  "$NEWEST_FOLDER/bin/haproxy" -v | head -n 1
  echo "caddy $("$NEWEST_FOLDER/bin/caddy" version)"
  "$NEWEST_FOLDER/bin/h2load" --version
}
