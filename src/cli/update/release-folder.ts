import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { messageOf } from "../../core/error-text.ts";
import { readSigningKeys, type SigningKey, verifySignature } from "../../features/fleet/remote/minisign.ts";
import { outboundRequest } from "../../net/outbound-request.ts";

/** A release cannot be had, or is not to be trusted; the message is for people. */
export class ReleaseFault extends Error {}

/** The newest release for this machine, as the signed list of its folder names it. */
export interface NewestRelease {
  /** Semantic version, without a `v`. */
  readonly version: string;
  /** Its archive in the folder. */
  readonly file: string;
  /** In hex, of the archive. */
  readonly sha256: string;
  /** Who signed the list: the id of a minisign key. */
  readonly keyId: string;
}

/** The flags by which commands find releases. docs/upgrade.md#update */
export const RELEASE_FLAGS = [
  {
    name: "from",
    type: "string",
    default: "",
    placeholder: "URL",
    help: "the folder of releases; $EDGE_RELEASES by default",
  },
  {
    name: "signature-key",
    type: "string",
    default: "",
    placeholder: "FILE",
    help: "public keys of minisign; $EDGE_RELEASE_KEY or /etc/edge/release.pub by default",
  },
  { name: "ca", type: "string", default: "", placeholder: "FILE", help: "the authority of the server, in PEM" },
] as const;

/** What these flags say. */
interface ReleaseFlags {
  readonly from: string;
  readonly "signature-key": string;
  readonly ca: string;
}

/** A folder of releases, as `scripts/release --sign` makes it and any web server serves it. */
export class ReleaseFolder {
  private constructor(
    private readonly base: string,
    private readonly keys: readonly SigningKey[],
    private readonly ca: string,
  ) {}

  /**
   * The folder that flags and environment name.
   * @throws ReleaseFault if none is named, or its keys cannot be read
   */
  static of(flags: ReleaseFlags, env: Readonly<Record<string, string | undefined>>): ReleaseFolder {
    const from = flags.from || env.EDGE_RELEASES || "";
    if (from === "") throw new ReleaseFault("name the folder of releases with --from or EDGE_RELEASES");
    const url = URL.parse(from);
    const isLocal = url !== null && LOOPBACK.has(url.hostname);
    if (url === null || (url.protocol !== "https:" && !(url.protocol === "http:" && isLocal)))
      throw new ReleaseFault(`--from: expected a URL with https, found ${JSON.stringify(from)}`);
    const keyFile = flags["signature-key"] || env.EDGE_RELEASE_KEY || DEFAULT_KEY;
    const keys = readSigningKeys(readFileOf("--signature-key", keyFile));
    return new ReleaseFolder(
      from.endsWith("/") ? from : `${from}/`,
      keys,
      flags.ca === "" ? "" : readFileOf("--ca", flags.ca),
    );
  }

  /**
   * Reads and verifies the list of the folder.
   * @throws ReleaseFault if it cannot be had, its signature does not hold, or it has nothing for this machine
   */
  async newest(): Promise<NewestRelease> {
    const sums = await this.read(LIST, MAX_LIST_BYTES, LIST_MS);
    const signature = await this.read(`${LIST}.minisig`, MAX_LIST_BYTES, LIST_MS);
    let keyId: string;
    try {
      ({ keyId } = verifySignature(sums, Buffer.from(signature).toString("latin1"), this.keys));
    } catch (error) {
      throw new ReleaseFault(`${this.base}${LIST}: ${messageOf(error)}`);
    }
    const system = systemName();
    const found = Buffer.from(sums)
      .toString("latin1")
      .split("\n")
      .map((line) => ARCHIVE.exec(line))
      .filter((match) => match?.[3] === system)
      .sort((one, other) => Bun.semver.order(other![2]!, one![2]!))[0];
    if (found == null) throw new ReleaseFault(`${this.base}${LIST} has no archive for ${system}`);
    const [line, sha256 = "", version = ""] = found;
    return { version, file: line.slice(sha256.length + 2), sha256, keyId };
  }

  /**
   * Loads the archive of a release and takes the program out of it.
   * @throws ReleaseFault if it cannot be had, or its checksum is another
   */
  async program({ file, sha256 }: NewestRelease): Promise<Uint8Array> {
    const bytes = await this.read(file, MAX_ARCHIVE_BYTES, ARCHIVE_MS);
    const actual = createHash("sha256").update(bytes).digest("hex");
    if (actual !== sha256)
      throw new ReleaseFault(`${this.base}${file}: SHA-256 is ${actual}, and the signed list says ${sha256}`);
    const wanted = `${file.slice(0, -ENDING.length)}/edge`;
    const files = await new Bun.Archive(bytes).files(wanted);
    const program = files.get(wanted);
    if (program === undefined) throw new ReleaseFault(`${this.base}${file} has no ${wanted}`);
    return program.bytes();
  }

  private async read(file: string, maxBytes: number, timeoutMs: number): Promise<Uint8Array<ArrayBuffer>> {
    const url = this.base + file;
    try {
      const { status, body } = await outboundRequest({ url, headers: {}, ca: this.ca, timeoutMs, maxBytes });
      if (status === 200) return body;
      throw new Error(`status ${status}${status >= 300 && status < 400 ? "; redirects are not followed" : ""}`);
    } catch (error) {
      throw new ReleaseFault(`${url}: ${messageOf(error)}`);
    }
  }
}

function readFileOf(flag: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new ReleaseFault(`${flag}: ${path}: ${messageOf(error)}`);
  }
}

/** This machine as names of archives have it: linux-x64, linux-arm64-musl, macos-arm64. */
function systemName(): string {
  const os = process.platform === "darwin" ? "macos" : process.platform;
  const libc = os === "linux" && existsSync(`/lib/ld-musl-${MUSL[process.arch] ?? ""}.so.1`) ? "-musl" : "";
  return `${os}-${process.arch}${libc}`;
}

const MUSL: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64" };
const LIST = "SHA256SUMS";
const ENDING = ".tar.gz";
const ARCHIVE =
  /^([0-9a-f]{64}) {2}edge-(\d[0-9A-Za-z.+-]{0,63}?)-((?:linux|macos|freebsd)-(?:x64|arm64)(?:-musl)?)\.tar\.gz$/;
const DEFAULT_KEY = "/etc/edge/release.pub";
const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);
const MAX_LIST_BYTES = 64 * 1024;
const LIST_MS = 10_000;
const MAX_ARCHIVE_BYTES = 256 * 1024 * 1024;
const ARCHIVE_MS = 600_000;
