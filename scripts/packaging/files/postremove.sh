#!/bin/sh
# After the package is gone. "purge" takes what the gateway has kept, its certificates among it.
set -e

if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "${1:-}" = purge ]; then
    rm -rf /var/lib/edge /var/log/edge
    if command -v deb-systemd-helper >/dev/null 2>&1; then deb-systemd-helper purge edge.service >/dev/null || true; fi
fi
