#!/bin/sh
# After the package is gone. "purge" takes what the gateway has kept, its certificates among it.
set -e

if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "${1:-}" = purge ]; then rm -rf /var/lib/edge /var/log/edge; fi
