#!/bin/sh
# Before the package goes ("remove" of Debian, 0 of RPM), and not when another version of it comes.
set -e

[ -d /run/systemd/system ] || exit 0
case ${1:-} in
    remove) deb-systemd-invoke stop edge.service || true ;;
    0) systemctl disable --now edge.service || true ;;
esac
