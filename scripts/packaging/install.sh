#!/bin/sh
# Installs edge: sh install.sh URL KEY [FOLDER]
#   URL     the folder of a release, such as https://releases.example.com/edge
#   KEY     the public key of the release, the second line of its minisign.pub (56 characters that begin with RW)
#   FOLDER  takes the binary; /usr/local/bin by default
# The script verifies the signature of SHA256SUMS with openssl, then the checksum of the archive. Nothing is installed before.
set -eu

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

[ $# -ge 2 ] || fail "usage: sh install.sh URL KEY [FOLDER]"
url=${1%/}
key=$2
folder=${3:-/usr/local/bin}
for tool in curl openssl base64 tar; do command -v $tool >/dev/null || fail "$tool is needed"; done

case $(uname -s) in
Linux) system=linux ;;
Darwin) system=macos ;;
FreeBSD) system=freebsd ;;
*) fail "no release for $(uname -s)" ;;
esac
case $(uname -m) in
x86_64 | amd64) system=$system-x64 musl=x86_64 ;;
aarch64 | arm64) system=$system-arm64 musl=aarch64 ;;
*) fail "no release for $(uname -m)" ;;
esac
[ ! -e "/lib/ld-musl-$musl.so.1" ] || system=$system-musl

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
get() { curl -fsS --proto '=https,http' --max-time 600 -o "$work/$1" "$url/$1" || fail "$url/$1 cannot be had"; }
get SHA256SUMS
get SHA256SUMS.minisig

# A key is "Ed", eight bytes of its id, and 32 bytes of Ed25519. A signature is "ED", the same id, and 64 bytes over the BLAKE2b-512 of the file.
printf '%s' "$key" | base64 -d >"$work/key" 2>/dev/null || fail "KEY is not base64"
sed -n 2p "$work/SHA256SUMS.minisig" | base64 -d >"$work/sig" 2>/dev/null || fail "SHA256SUMS.minisig is not one of minisign"
[ "$(head -c 2 "$work/key")" = Ed ] || fail "KEY is not a public key of minisign"
[ "$(head -c 2 "$work/sig")" = ED ] || fail "SHA256SUMS.minisig is not a signature of minisign over a hash"
[ "$(head -c 10 "$work/key" | tail -c 8 | base64)" = "$(head -c 10 "$work/sig" | tail -c 8 | base64)" ] ||
  fail "SHA256SUMS was signed with another key"
{ printf '\060\052\060\005\006\003\053\145\160\003\041\000'; tail -c 32 "$work/key"; } >"$work/key.der"
tail -c 64 "$work/sig" >"$work/sig64"
openssl dgst -blake2b512 -binary "$work/SHA256SUMS" >"$work/hash"
openssl pkeyutl -verify -pubin -keyform DER -inkey "$work/key.der" -rawin -in "$work/hash" -sigfile "$work/sig64" >/dev/null 2>&1 ||
  fail "the signature of SHA256SUMS does not hold: nothing was installed"

line=$(grep "  edge-[0-9][0-9A-Za-z.+-]*-$system\.tar\.gz\$" "$work/SHA256SUMS" | head -n 1)
[ -n "$line" ] || fail "the release has nothing for $system"
file=${line#*  }
get "$file"
sum=$(openssl dgst -sha256 -r "$work/$file")
[ "${sum%% *}" = "${line%% *}" ] || fail "the checksum of $file is another: nothing was installed"
tar -xzf "$work/$file" -C "$work"
mkdir -p "$folder"
cp "$work/${file%.tar.gz}/edge" "$folder/.edge.new"
chmod 755 "$folder/.edge.new"
mv "$folder/.edge.new" "$folder/edge"
echo "$("$folder/edge" version) is in $folder. Next: edge init"
