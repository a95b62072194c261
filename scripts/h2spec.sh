# Where h2spec is, and how it is had; sourced at the top of the repository. POSIX sh.
# shellcheck shell=sh

H2SPEC_MODULE=github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible
H2SPEC_FOLDER=dist/tools

has_h2spec() {
  [ -n "${H2SPEC:-}" ] || [ -x "$H2SPEC_FOLDER/h2spec" ] || command -v h2spec >/dev/null 2>&1
}

# Builds it into the folder above; needs Go. Words before the build, such as `timeout 60`, are arguments.
build_h2spec() {
  mkdir -p "$H2SPEC_FOLDER"
  GOBIN=$PWD/$H2SPEC_FOLDER GOFLAGS=-modcacherw "$@" go install "$H2SPEC_MODULE"
}
