#!/bin/sh
# Before the files of the package are there. Debian says "install" for a package that was removed and whose configuration was kept, too; its
# "configure" afterwards looks like that of an upgrade.
set -e

if [ "${1:-}" = install ]; then : >/run/edge.install; fi
