// Packages of Debian and RPM, made by nfpm: neither root nor the tools of either system are needed.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipOf, isoOf, projectFile, type Release, ReleaseFault, ROOT, run } from "./run.ts";
import type { Target } from "./targets.ts";

/** The release of nfpm that makes them; a later one may give other bytes. */
const NFPM = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0";

/** Where nfpm is, which is installed with Go if it is missing. @throws ReleaseFault if that fails */
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
  writeTexts(release, shared, folder);
  return (["deb", "rpm"] as const).map((kind: Kind) => {
    const arch = kind === "deb" ? packaged.debian : packaged.rpm;
    const file = kind === "deb" ? `edge_${release.version}_${arch}.deb` : `edge-${release.version}-1.${arch}.rpm`;
    const description = join(folder, `${kind}.json`);
    writeFileSync(
      description,
      JSON.stringify(descriptionOf(release, kind, arch, contentsOf(kind, program, shared, folder))),
    );
    run([packager, "package", "--packager", kind, "--config", description, "--target", join(release.out, file)], ROOT, {
      SOURCE_DATE_EPOCH: String(release.epoch),
    });
    return file;
  });
}

type Kind = "deb" | "rpm";

/** Who makes the packages, as Debian's own tools are told; an address that leads nowhere is for packages that stay at home. */
function maintainer(): string {
  const { DEBFULLNAME = "the authors of edge", DEBEMAIL = "edge@localhost" } = process.env;
  return `${DEBFULLNAME} <${DEBEMAIL}>`;
}

/** What the folder of documents of a package has. https://www.debian.org/doc/debian-policy/ch-docs.html */
function writeTexts({ version, epoch }: Release, shared: string, folder: string): void {
  const packed = (name: string, text: string) => writeFileSync(join(folder, name), gzipOf(Buffer.from(text)));
  packed("CHANGELOG.md.gz", projectFile("CHANGELOG.md"));
  packed("THIRD-PARTY-LICENSES.txt.gz", readFileSync(join(shared, "THIRD-PARTY-LICENSES.txt"), "utf8"));
  const date = new Date(epoch * 1000).toUTCString().replace("GMT", "+0000");
  const entry = "  * Changes: /usr/share/doc/edge/CHANGELOG.md.gz.";
  packed(
    "changelog.gz",
    `edge (${version.replace("-", "~")}) stable; urgency=medium\n\n${entry}\n\n -- ${maintainer()}  ${date}\n`,
  );
}

function descriptionOf(release: Release, kind: Kind, arch: string, contents: readonly Entry[]): object {
  const script = (name: string) => join(ROOT, `scripts/packaging/files/${name}.sh`);
  return {
    name: "edge",
    arch,
    platform: "linux",
    version: release.version,
    release: kind === "rpm" ? "1" : "",
    section: "httpd",
    priority: "optional",
    maintainer: maintainer(),
    description: DESCRIPTION,
    // Debian has no such field; it is in copyright.
    ...(kind === "rpm" ? { license: "Apache-2.0" } : {}),
    mtime: isoOf(release.epoch),
    depends: kind === "deb" ? ["libc6 (>= 2.17)"] : ["glibc >= 2.17"],
    recommends: ["ca-certificates", "logrotate"],
    contents: contents.map(({ mode, ...one }) => ({ ...one, file_info: { mtime: isoOf(release.epoch), mode } })),
    scripts: {
      preinstall: script("preinstall"),
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
  readonly type?: "config|noreplace" | "doc" | "license";
  readonly mode: number;
}

function contentsOf(kind: Kind, program: string, shared: string, folder: string): readonly Entry[] {
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
    ...documents(kind, shared, folder),
  ];
}

function documents(kind: Kind, shared: string, folder: string): readonly Entry[] {
  // Only RPM tells documents from other files.
  const doc = kind === "rpm" ? ({ type: "doc" } as const) : {};
  const manuals = MANUALS.map(({ file }) => ({
    src: join(shared, `man/${file}.gz`),
    dst: `/usr/share/man/man${file.slice(-1)}/${file}.gz`,
    mode: 0o644,
    ...doc,
  }));
  const texts = ["CHANGELOG.md.gz", "THIRD-PARTY-LICENSES.txt.gz", ...(kind === "deb" ? ["changelog.gz"] : [])];
  const own = join(ROOT, "scripts/packaging/files");
  const licences: readonly Entry[] =
    kind === "rpm"
      ? [{ src: join(shared, "LICENSE"), dst: "/usr/share/licenses/edge/LICENSE", type: "license", mode: 0o644 }]
      : [
          { src: join(own, "debian-copyright"), dst: "/usr/share/doc/edge/copyright", mode: 0o644 },
          { src: join(own, "edge.lintian"), dst: "/usr/share/lintian/overrides/edge", mode: 0o644 },
        ];
  const others = texts.map((name) => ({
    src: join(folder, name),
    dst: `/usr/share/doc/edge/${name}`,
    mode: 0o644,
    ...doc,
  }));
  return [...manuals, ...licences, ...others];
}

const DESCRIPTION = `HTTP edge gateway in one binary
Reverse proxy, static files, redirects, web application firewall, response
cache, compression, certificates by ACME, sign-in, functions in TypeScript,
metrics and a dashboard, over HTTP/1.1, HTTP/2 and HTTP/3.`;

/** The pages that `edge man` prints. */
export const MANUALS = [
  { file: "edge.1", page: "edge" },
  { file: "edge-config.5", page: "config" },
  { file: "edge-routes.5", page: "routes" },
] as const;
