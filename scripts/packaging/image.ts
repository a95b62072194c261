// An image for containers, written as a layout of files: no daemon is needed. https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipOf, isoOf, type Release, ReleaseFault, run, sha256, tarOf } from "./run.ts";
import type { Target } from "./targets.ts";

/** A binary and the target that it is for. */
export interface Built {
  readonly target: Target;
  readonly program: string;
}

/**
 * Makes one image for all architectures, as a tar file of its layout.
 * @param shared the folder with the files that are the same for all
 * @returns its name, and the version of the C library that is in it
 * @throws ReleaseFault if the C library cannot be had from Debian's packages
 */
export function makeImage(
  release: Release,
  built: readonly Built[],
  shared: string,
): { readonly file: string; readonly libc: string } {
  const layout = new Layout(join(release.work, "image"));
  let libc = "";
  const manifests = built.map(({ target, program }) => {
    const { oci, debian } = target.packaged!;
    const root = join(release.work, `root-${oci}`);
    libc = addLibrary(root, debian, release.work);
    const system = layout.layer(root, release.epoch);
    const own = join(release.work, `own-${oci}`);
    addOwn(own, program, shared);
    const program_ = layout.layer(own, release.epoch);
    const config = layout.blob(JSON.stringify(configOf(release, oci, [system, program_])), CONFIG_TYPE);
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config,
      layers: [system, program_].map(({ descriptor }) => descriptor),
    };
    return { ...layout.blob(JSON.stringify(manifest), MANIFEST_TYPE), platform: { os: "linux", architecture: oci } };
  });
  const index = layout.blob(JSON.stringify({ schemaVersion: 2, mediaType: INDEX_TYPE, manifests }), INDEX_TYPE);
  layout.finish({ ...index, annotations: { "org.opencontainers.image.ref.name": release.version } });
  const file = `edge-${release.version}-oci.tar`;
  writeFileSync(join(release.out, file), tarOf(layout.folder, release.epoch, ["oci-layout", "index.json", "blobs"]));
  return { file, libc };
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

interface Layer {
  readonly descriptor: Descriptor;
  /** Of the bytes before they are packed. */
  readonly diffId: string;
}

/** Blobs, each under its digest. */
class Layout {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(join(folder, "blobs/sha256"), { recursive: true });
  }

  blob(content: Uint8Array | string, mediaType: string): Descriptor {
    const bytes = Buffer.from(content as string);
    const digest = sha256(bytes);
    writeFileSync(join(this.folder, "blobs/sha256", digest), bytes);
    return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
  }

  layer(folder: string, epoch: number): Layer {
    const tar = tarOf(folder, epoch);
    return { descriptor: this.blob(gzipOf(tar), LAYER_TYPE), diffId: `sha256:${sha256(tar)}` };
  }

  finish(index: object): void {
    writeFileSync(join(this.folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
    const top = { schemaVersion: 2, mediaType: INDEX_TYPE, manifests: [index] };
    writeFileSync(join(this.folder, "index.json"), JSON.stringify(top));
  }
}

/** The C library, which is all that the binary needs, from Debian's package. @returns its version */
function addLibrary(root: string, arch: string, work: string): string {
  if (Bun.which("apt-get") === null)
    throw new ReleaseFault("the C library comes from Debian's packages: apt-get is needed and not there");
  const apt = join(work, `apt-${arch}`);
  for (const folder of ["lists/partial", "cache/archives/partial", "files"])
    mkdirSync(join(apt, folder), { recursive: true });
  const own = [
    `APT::Architecture=${arch}`,
    `APT::Architectures=${arch}`,
    `Dir::State::lists=${apt}/lists`,
    `Dir::Cache=${apt}/cache`,
  ];
  const options = [...own, "Dir::State::status=/dev/null", "APT::Sandbox::User=root"].flatMap((one) => ["-o", one]);
  const files = join(apt, "files");
  run(["apt-get", "-qq", ...options, "update"]);
  run(["apt-get", "-qq", ...options, "download", "libc6"], files);
  const [file = ""] = run(["ls", files]).toString().split("\n");
  const unpacked = join(apt, "unpacked");
  run(["dpkg-deb", "-x", join(files, file), unpacked]);
  const triplet = arch === "amd64" ? "x86_64-linux-gnu" : "aarch64-linux-gnu";
  const from = join(unpacked, "lib", triplet);
  const to = join(root, "usr/lib", triplet);
  mkdirSync(to, { recursive: true });
  const loader = arch === "amd64" ? "ld-linux-x86-64.so.2" : "ld-linux-aarch64.so.1";
  for (const name of [loader, ...LIBRARIES]) cpSync(join(from, name), join(to, name), { dereference: true });
  symlinkSync("usr/lib", join(root, "lib"));
  if (arch === "amd64") {
    mkdirSync(join(root, "usr/lib64"));
    symlinkSync("usr/lib64", join(root, "lib64"));
    symlinkSync(`../lib/${triplet}/${loader}`, join(root, "usr/lib64", loader));
  } else symlinkSync(`${triplet}/${loader}`, join(root, "usr/lib", loader));
  mkdirSync(join(root, "usr/share/doc/libc6"), { recursive: true });
  cpSync(join(unpacked, "usr/share/doc/libc6/copyright"), join(root, "usr/share/doc/libc6/copyright"));
  return run(["dpkg-deb", "-f", join(files, file), "Version"])
    .toString()
    .trim();
}

function addOwn(root: string, program: string, shared: string): void {
  for (const folder of ["usr/bin", "etc/edge", "usr/share/doc/edge"])
    mkdirSync(join(root, folder), { recursive: true });
  cpSync(program, join(root, "usr/bin/edge"));
  cpSync(join(shared, "config"), join(root, "etc/edge"), { recursive: true });
  const config = join(root, "etc/edge/config.yaml");
  const text = readFileSync(config, "utf8");
  // In a container an address of loopback reaches no one.
  const open = text.replace(/^( {2}host: )127\.0\.0\.1( .*)?$/m, "$10.0.0.0");
  if (open === text) throw new ReleaseFault("config.yaml of edge init has no host to change for the image");
  writeFileSync(config, open);
  cpSync(join(shared, "copyright"), join(root, "usr/share/doc/edge/copyright"));
  writeFileSync(join(root, "etc/passwd"), `root:x:0:0:root:/:/nologin\nedge:x:${USER}:${USER}:edge:/:/nologin\n`);
  writeFileSync(join(root, "etc/group"), `root:x:0:\nedge:x:${USER}:\n`);
  if (!existsSync(join(root, "tmp"))) mkdirSync(join(root, "tmp"));
  run(["chmod", "1777", join(root, "tmp")]);
  run(["chmod", "755", join(root, "usr/bin/edge")]);
}

function configOf({ epoch, version }: Release, architecture: string, layers: readonly Layer[]): object {
  return {
    created: isoOf(epoch),
    architecture,
    os: "linux",
    config: {
      User: `${USER}:${USER}`,
      ExposedPorts: { "8080/tcp": {} },
      Env: ["PATH=/usr/bin"],
      Entrypoint: ["/usr/bin/edge"],
      Cmd: ["serve", "--config", "/etc/edge/config.yaml"],
      StopSignal: "SIGTERM",
      Labels: {
        "org.opencontainers.image.title": "edge",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0",
      },
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map((_, i) => ({ created: isoOf(epoch), created_by: i === 0 ? "libc6 of Debian" : "edge" })),
  };
}

const LIBRARIES = [
  "libc.so.6",
  "libm.so.6",
  "libdl.so.2",
  "libpthread.so.0",
  "libresolv.so.2",
  "libnss_dns.so.2",
  "libnss_files.so.2",
];
/** No user of the host is likely to have this number. */
const USER = 65532;
const CONFIG_TYPE = "application/vnd.oci.image.config.v1+json";
const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";
const INDEX_TYPE = "application/vnd.oci.image.index.v1+json";
const LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip";
