#!/bin/sh
# Loads a gateway and judges it: scripts/loadgen.sh [--auto-start] [--dry-run] [edge loadgen flags]
# With --auto-start it builds ./edge, starts it with the shipped config.yaml and routes.yaml on the port of -url, with the
# collector's log switched on, runs the load, stops it, and leaves with the exit code of the verdict. Relative paths are seen
# from the top of the repository.
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"

# Like the load generator: 2 for what cannot work.
refuse() {
  printf 'loadgen.sh: %s\n' "$*" >&2
  exit 2
}

READY_LIMIT_S=15
STOP_LIMIT_S=40

auto_start=false
dry_run=false
help=false
url=http://127.0.0.1:8080/health
gc_trace=
count=$#
while [ "$count" -gt 0 ]; do
  flag=$1
  shift
  count=$((count - 1))
  case $flag in
    --auto-start | -auto-start | --auto-start=true | -auto-start=true) auto_start=true; continue ;;
    --auto-start=false | -auto-start=false) auto_start=false; continue ;;
    --dry-run | -dry-run) dry_run=true ;;
    --help | -help | -h) help=true ;;
    --url=* | -url=*) url=${flag#*=} ;;
    --gc-trace=* | -gc-trace=*) gc_trace=${flag#*=} ;;
    --url | -url) if [ "$count" -gt 0 ]; then url=$1; fi ;;
    --gc-trace | -gc-trace) if [ "$count" -gt 0 ]; then gc_trace=$1; fi ;;
  esac
  # What is kept goes to the end of the list, so that one turn of it leaves the order as it was.
  set -- "$@" "$flag"
done

edge_is_fresh || scripts/build
if [ "$help" = true ]; then
  ./edge loadgen "$@" || exit $?
  cat <<'END'

scripts/loadgen.sh takes all of these, and:
  --auto-start  build ./edge, start it with the shipped configuration on the port of --url, with the collector's log for
                --gc-trace switched on, and stop it afterwards
END
  exit 0
fi
if [ "$dry_run" = true ] || [ "$auto_start" = false ]; then exec ./edge loadgen "$@"; fi
[ -z "$gc_trace" ] || refuse "--auto-start makes the collector's log itself: leave --gc-trace out"
# Wrong flags are found before anything is started.
./edge loadgen --dry-run "$@" >/dev/null

authority=${url#http://}
authority=${authority%%/*}
host=${authority%:*}
port=${authority##*:}
case $url in http://*) ;; *) refuse "--auto-start starts a gateway for an http:// URL, not for $url" ;; esac
if [ "$host" = "$authority" ]; then port=80; fi
case $host in 127.0.0.1 | localhost) ;; *) refuse "--auto-start starts a gateway on this machine, not on $host" ;; esac

# A run without a single request: it ends with 2 when the connection is refused.
is_served() {
  probe=0
  ./edge loadgen -url "$url" -rate 1 -d 1ms >/dev/null 2>&1 || probe=$?
  [ "$probe" -ne 2 ]
}

if is_served; then refuse "another server serves on port $port already"; fi

work=$(mktemp -d)
gateway=
stop_gateway() {
  if [ -n "$gateway" ] && kill -TERM "$gateway" 2>/dev/null; then
    waited_s=0
    while kill -0 "$gateway" 2>/dev/null && [ "$waited_s" -lt "$STOP_LIMIT_S" ]; do
      sleep 1
      waited_s=$((waited_s + 1))
    done
    kill -KILL "$gateway" 2>/dev/null || true
  fi
  gateway=
  rm -rf "$work"
}
trap stop_gateway EXIT

# The shipped configuration, on the port of the URL; relative paths in routes.yaml count from its folder.
sed "s/^  port: .*/  port: $port/" config.yaml >"$work/config.yaml"
say "starting edge on port $port"
BUN_JSC_logGC=1 ./edge serve --config "$work/config.yaml" --routes "$ROOT/routes.yaml" \
  >"$work/edge.log" 2>"$work/gc.log" &
gateway=$!

tries=$((READY_LIMIT_S * 10))
until is_served; do
  tries=$((tries - 1))
  if [ "$tries" -le 0 ] || ! kill -0 "$gateway" 2>/dev/null; then
    cat "$work/edge.log" >&2
    grep -v 'GC' "$work/gc.log" >&2 || true
    refuse "the gateway did not start"
  fi
  sleep 0.1
done

# Ctrl-C reaches the load generator by itself, SIGTERM is handed on: it writes what it has and leaves. The gateway is
# stopped on the way out.
trap : INT
trap 'kill -TERM "$loader" 2>/dev/null || true' TERM
./edge loadgen "$@" --gc-trace "$work/gc.log" &
loader=$!
status=0
wait "$loader" || status=$?
# A signal ends a wait early.
while kill -0 "$loader" 2>/dev/null; do
  status=0
  wait "$loader" || status=$?
done
exit "$status"
