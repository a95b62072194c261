#!/bin/sh
# After the files of the package are there: a user, and at an upgrade the new binary in the place of the running one, without losing a
# request (docs/operations.md#replacing-the-binary). Debian says "configure" and the old version, RPM how many versions there are.
set -e

if command -v systemd-sysusers >/dev/null 2>&1; then
    systemd-sysusers edge.conf
elif ! getent passwd edge >/dev/null; then
    useradd --system --home-dir /var/lib/edge --shell /usr/sbin/nologin edge
fi

is_debian=false
case ${1:-} in configure | abort-*) is_debian=true ;; esac
is_first=false
if [ -e /run/edge.install ]; then is_first=true; fi
rm -f /run/edge.install

# As packages of Debian do: enabled, unless the administrator has disabled it, which its helper remembers. Those of RPM wait for the
# administrator.
if [ "$is_debian" = true ] && command -v deb-systemd-helper >/dev/null 2>&1; then
    if deb-systemd-helper --quiet was-enabled edge.service; then
        deb-systemd-helper enable edge.service >/dev/null || true
    else
        deb-systemd-helper update-state edge.service >/dev/null || true
    fi
fi

[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
if systemctl is-active --quiet edge.service; then
    systemctl kill --kill-whom=main -s USR2 edge.service || true
elif [ "$is_debian" = true ] && [ "$is_first" = true ]; then
    # Not where policy-rc.d forbids it, or the service is disabled.
    deb-systemd-invoke start edge.service || true
fi
