# Shared by the scripts of this folder; sourced, not run. POSIX sh.
# It moves to the top of the repository, and offers the pinned Bun, the locked dependencies and the question
# whether ./edge is fresh. Progress lines go to a terminal only, so that a pipe sees results and faults alone.
# shellcheck shell=sh
set -eu

ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$ROOT"

# The one place that names the Bun version is package.json, `engines.bun`.
PIN=$(tr -d '\n' <package.json | sed -n 's/.*"engines"[^}]*"bun" *: *"\([^"]*\)".*/\1/p')
STAMP=node_modules/.locked-install
BUN=

say() {
  if [ -t 2 ]; then printf '%s\n' "$*" >&2; fi
}

die() {
  printf '%s: %s\n' "$(basename -- "$0")" "$*" >&2
  exit 1
}

# Runs a command whose output matters only when it fails.
run_quietly() {
  quiet_log=$(mktemp)
  if "$@" >"$quiet_log" 2>&1; then
    rm -f "$quiet_log"
  else
    cat "$quiet_log" >&2
    rm -f "$quiet_log"
    return 1
  fi
}

# True for a Bun that runs on this machine and is exactly the pinned version; it becomes $BUN.
take_if_pinned() {
  case $1 in */*) [ -x "$1" ] || return 1 ;; esac
  [ "$("$1" --version 2>/dev/null)" = "$PIN" ] || return 1
  BUN=$1
}

take_from() {
  for candidate in "$1"/.bin/bun "$1"/@oven/bun-*/bin/bun; do
    if take_if_pinned "$candidate"; then return 0; fi
  done
  return 1
}

npm_into_bun_folder() {
  run_quietly npm install --prefix .bun --no-audit --no-fund --no-save --loglevel=error "$@"
}

# npm may leave out the postinstall step that links the binary, or choose a package whose binary cannot run here
# (another C library, a CPU without AVX2): then the platform packages are tried one after the other.
install_with_npm() {
  command -v npm >/dev/null 2>&1 || return 1
  say "installing Bun $PIN with npm (once)"
  mkdir -p .bun
  npm_into_bun_folder "bun@$PIN" || return 1
  if take_from .bun/node_modules; then return 0; fi
  case $(uname -m) in aarch64 | arm64) cpu=aarch64 ;; *) cpu=x64 ;; esac
  os=$(uname -s | tr '[:upper:]' '[:lower:]')
  for kind in "" -baseline -musl -musl-baseline; do
    npm_into_bun_folder --force "@oven/bun-$os-$cpu$kind@$PIN" 2>/dev/null || continue
    if take_from .bun/node_modules; then return 0; fi
  done
  return 1
}

install_with_other_bun() {
  command -v bun >/dev/null 2>&1 || return 1
  say "installing Bun $PIN with Bun $(bun --version) (once)"
  mkdir -p .bun
  printf '{"private":true,"trustedDependencies":["bun"]}\n' >.bun/package.json
  (cd .bun && run_quietly bun add --exact "bun@$PIN") || return 1
  take_from .bun/node_modules
}

# Sets $BUN to the pinned Bun, which is installed into .bun when the machine has none.
find_bun() {
  if [ -n "$BUN" ]; then return 0; fi
  [ -n "$PIN" ] || die "package.json names no engines.bun"
  take_if_pinned bun || take_from node_modules || take_from .bun/node_modules ||
    install_with_npm || install_with_other_bun ||
    die "needs Bun $PIN, or npm to install it"
  # An absolute path, first on PATH: what the tests start is then the same Bun.
  case $BUN in /*) ;; */*) BUN=$ROOT/$BUN ;; *) BUN=$(command -v bun) ;; esac
  PATH=$(dirname -- "$BUN"):$PATH
  export PATH
}

# Installs exactly what bun.lock names, when it has not been done since bun.lock last changed.
install_locked() {
  find_bun
  if [ -f "$STAMP" ] && [ -z "$(find bun.lock -newer "$STAMP")" ]; then return 0; fi
  say "installing locked dependencies"
  run_quietly "$BUN" install --frozen-lockfile || die "the locked dependencies could not be installed"
  touch "$STAMP"
}

# Whether a binary (./edge without an argument) is newer than all that goes into it.
# Folders count too: their time changes when a file is added or removed.
edge_is_fresh() {
  fresh=${1:-edge}
  [ -x "$fresh" ] && [ -z "$(find src bin docs scripts/build package.json bun.lock tsconfig.json -path src/demo/site -prune -o -newer "$fresh" -print | head -n 1)" ]
}

# Both tools are JavaScript with a `node` first line: run by $BUN they need no Node.js.
check_types() {
  say "types"
  "$BUN" node_modules/typescript/bin/tsc -p . --noEmit &&
    "$BUN" node_modules/typescript/bin/tsc -p src/features/dashboard/page --noEmit
}

check_lint() {
  say "format and lint"
  run_quietly "$BUN" node_modules/@biomejs/biome/bin/biome check --error-on-warnings --diagnostic-level=warn \
    bin src tests scripts package.json tsconfig.json biome.json
}
