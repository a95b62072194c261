#!/bin/sh
# Before the package goes, and not when another version of it comes.
set -e

case ${1:-} in
    upgrade | [1-9]) exit 0 ;;
esac
[ -d /run/systemd/system ] || exit 0
systemctl disable --now edge.service || true
