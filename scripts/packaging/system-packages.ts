// Packages of Debian and RPM, made by nfpm: neither root nor the tools of either system are needed.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipOf, isoOf, projectFile, type Release, ReleaseFault, ROOT, run } from "./run.ts";
import type { Target } from "./targets.ts";

/** The release of nfpm that makes them; a later one may give other bytes. */
const NFPM = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0";

/** Where nfpm is, which is installed with Go where it is missing. @throws ReleaseFault where that fails */
export function findPackager(): string {
  const own = join(ROOT, ".bun/nfpm");
  if (Bun.which(own) !== null) return own;
  if (Bun.which("go") === null) throw new ReleaseFault("nfpm or Go is needed and not there");
  run(["go", "install", NFPM], ROOT, { GOBIN: join(ROOT, ".bun"), GOTOOLCHAIN: "local" });
  return own;
}

/**
 * Makes a .deb and an .rpm.
 * @param program the binary for the target
 * @param shared the folder with the files that are the same for all
 * @returns their names
 */
export function makePackages(
  release: Release,
  { name, packaged }: Target,
  program: string,
  shared: string,
  packager: string,
): readonly string[] {
  if (packaged === null) return [];
  const folder = join(release.work, `package-${name}`);
  mkdirSync(folder, { recursive: true });
  const unit = projectFile("scripts/systemd/edge.service").replaceAll("/usr/local/bin/edge", "/usr/bin/edge");
  writeFileSync(join(folder, "edge.service"), unit);
  writeFileSync(join(folder, "changelog.gz"), gzipOf(Buffer.from(projectFile("CHANGELOG.md"))));
  const contents = contentsOf(program, shared, folder);
  return (["deb", "rpm"] as const).map((kind) => {
    const arch = kind === "deb" ? packaged.debian : packaged.rpm;
    const file = kind === "deb" ? `edge_${release.version}_${arch}.deb` : `edge-${release.version}-1.${arch}.rpm`;
    const description = join(folder, `${kind}.json`);
    writeFileSync(description, JSON.stringify(descriptionOf(release, kind, arch, contents)));
    run([packager, "package", "--packager", kind, "--config", description, "--target", join(release.out, file)], ROOT, {
      SOURCE_DATE_EPOCH: String(release.epoch),
    });
    return file;
  });
}

function descriptionOf(release: Release, kind: "deb" | "rpm", arch: string, contents: readonly Entry[]): object {
  const script = (name: string) => join(ROOT, `scripts/packaging/files/${name}.sh`);
  return {
    name: "edge",
    arch,
    platform: "linux",
    version: release.version,
    release: kind === "rpm" ? "1" : "",
    section: "httpd",
    priority: "optional",
    maintainer: "the authors of edge <edge@localhost>",
    description:
      "HTTP edge gateway in one binary\nReverse proxy, static files, firewall, cache, certificates and metrics.",
    license: "Apache-2.0",
    mtime: isoOf(release.epoch),
    depends: kind === "deb" ? ["libc6 (>= 2.17)"] : ["glibc >= 2.17"],
    recommends: ["ca-certificates"],
    contents: contents.map(({ mode, ...one }) => ({ ...one, file_info: { mtime: isoOf(release.epoch), mode } })),
    scripts: {
      postinstall: script("postinstall"),
      preremove: script("preremove"),
      postremove: script("postremove"),
    },
    rpm: { buildhost: "localhost", group: "System Environment/Daemons", compression: "gzip" },
    deb: { compression: "gzip" },
  };
}

interface Entry {
  readonly src?: string;
  readonly dst: string;
  readonly type?: "config|noreplace" | "dir";
  readonly mode: number;
}

function contentsOf(program: string, shared: string, folder: string): readonly Entry[] {
  const own = (name: string) => join(ROOT, "scripts/packaging/files", name);
  const config = readdirSync(join(shared, "config"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(shared, "config/").length))
    .sort();
  return [
    { src: program, dst: "/usr/bin/edge", mode: 0o755 },
    { src: join(folder, "edge.service"), dst: "/usr/lib/systemd/system/edge.service", mode: 0o644 },
    { src: own("edge.sysusers"), dst: "/usr/lib/sysusers.d/edge.conf", mode: 0o644 },
    { src: own("edge.logrotate"), dst: "/etc/logrotate.d/edge", type: "config|noreplace", mode: 0o644 },
    ...config.map((path) => ({
      src: join(shared, "config", path),
      dst: `/etc/edge/${path}`,
      type: "config|noreplace" as const,
      mode: 0o644,
    })),
    { src: join(shared, "completions/edge.bash"), dst: "/usr/share/bash-completion/completions/edge", mode: 0o644 },
    { src: join(shared, "completions/_edge"), dst: "/usr/share/zsh/vendor-completions/_edge", mode: 0o644 },
    { src: join(shared, "completions/edge.fish"), dst: "/usr/share/fish/vendor_completions.d/edge.fish", mode: 0o644 },
    ...MANUALS.map(({ file }) => ({
      src: join(shared, `man/${file}.gz`),
      dst: `/usr/share/man/man${file.slice(-1)}/${file}.gz`,
      mode: 0o644,
    })),
    { src: join(shared, "copyright"), dst: "/usr/share/doc/edge/copyright", mode: 0o644 },
    { src: join(folder, "changelog.gz"), dst: "/usr/share/doc/edge/changelog.gz", mode: 0o644 },
  ];
}

/** The pages that `edge man` prints. */
export const MANUALS = [
  { file: "edge.1", page: "edge" },
  { file: "edge-config.5", page: "config" },
  { file: "edge-routes.5", page: "routes" },
] as const;
