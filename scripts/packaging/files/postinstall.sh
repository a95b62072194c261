#!/bin/sh
# After the files of the package are there: a user, and at an upgrade the new binary in the place of the running one, without losing a
# request (docs/operations.md, "Replacing the binary"). Debian says "configure" and the old version, RPM how many versions there are.
set -e

if command -v systemd-sysusers >/dev/null 2>&1; then
    systemd-sysusers edge.conf
elif ! getent passwd edge >/dev/null; then
    useradd --system --home-dir /var/lib/edge --shell /usr/sbin/nologin edge
fi

is_upgrade=false
case ${1:-} in
    configure) [ -z "${2:-}" ] || is_upgrade=true ;;
    [2-9]) is_upgrade=true ;;
esac

[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
if [ "$is_upgrade" = true ]; then
    if systemctl is-active --quiet edge.service; then
        systemctl kill --kill-whom=main -s USR2 edge.service || true
    fi
elif [ "${1:-}" = configure ]; then
    # As packages of Debian do; those of RPM wait for the administrator.
    systemctl enable --now edge.service || true
fi
