/** A machine that a binary is made for. */
export interface Target {
  /** As it is in the names of files. */
  readonly name: string;
  /** As Bun's installer and compiler name it. */
  readonly os: "linux" | "darwin" | "win32" | "freebsd";
  readonly cpu: "x64" | "arm64";
  readonly libc: "glibc" | "musl";
  /** The package of npm that has the runtime for it. */
  readonly runtime: string;
  /** What Bun's compiler calls it. */
  readonly compiler: string;
  /** Architectures of the packages that are made of it; null if none are. */
  readonly packaged: { readonly debian: string; readonly rpm: string; readonly oci: string } | null;
}

const linux = { os: "linux", libc: "glibc" } as const;
const x64 = { cpu: "x64", packaged: { debian: "amd64", rpm: "x86_64", oci: "amd64" } } as const;
const arm64 = { cpu: "arm64", packaged: { debian: "arm64", rpm: "aarch64", oci: "arm64" } } as const;

/** One row for each runtime that npm has. */
export const TARGETS: readonly Target[] = [
  { name: "linux-x64", ...linux, ...x64, runtime: "bun-linux-x64", compiler: "bun-linux-x64" },
  { name: "linux-arm64", ...linux, ...arm64, runtime: "bun-linux-aarch64", compiler: "bun-linux-arm64" },
  ...plain("linux-x64-musl", "linux", "x64", "bun-linux-x64-musl", "musl"),
  ...plain("linux-arm64-musl", "linux", "arm64", "bun-linux-aarch64-musl", "musl"),
  ...plain("macos-arm64", "darwin", "arm64", "bun-darwin-aarch64"),
  ...plain("macos-x64", "darwin", "x64", "bun-darwin-x64"),
  ...plain("windows-x64", "win32", "x64", "bun-windows-x64"),
  ...plain("windows-arm64", "win32", "arm64", "bun-windows-aarch64"),
  ...plain("freebsd-x64", "freebsd", "x64", "bun-freebsd-x64"),
  ...plain("freebsd-arm64", "freebsd", "arm64", "bun-freebsd-aarch64"),
];

function plain(
  name: string,
  os: Target["os"],
  cpu: Target["cpu"],
  runtime: string,
  libc: Target["libc"] = "glibc",
): readonly Target[] {
  return [{ name, os, cpu, libc, runtime, compiler: runtime.replace("aarch64", "arm64"), packaged: null }];
}

/** The name of the program on a target. */
export function programOf({ os }: Pick<Target, "os">): string {
  return os === "win32" ? "edge.exe" : "edge";
}
