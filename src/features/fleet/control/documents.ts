import { readFileSync } from "node:fs";
import { MAX_CONFIG_FILE_BYTES } from "../../../config/config-file.ts";
import { messageOf } from "../../../core/error-text.ts";
import { plainLine } from "../../../core/printable.ts";
import { withinMs } from "../../../core/time-limit.ts";
import { outboundRequest } from "../../../net/outbound-request.ts";
import { readCertificates } from "../../../proto/pem/pem-text.ts";
import type { FleetStore } from "../fleet-store.ts";
import type { RemoteDocument, RemoteText } from "../remote/remote-pair.ts";
import type { SourceAddress } from "../remote/source-address.ts";

/** Milliseconds for the response with one of both files. */
const REMOTE_CONFIG_TIMEOUT_MS = 10_000;

/** What reading from afar goes by, beside the address. */
export interface SourceAccess {
  /** A file with the authorities to trust; "" for the system's. */
  readonly caFile: string;
  /** Sent to servers of HTTP as a bearer token; "" for none. */
  readonly token: string;
}

/** The document at an address. docs/fleet.md#configuration-from-afar */
export function documentAt(address: SourceAddress, access: SourceAccess): RemoteDocument {
  switch (address.kind) {
    case "http":
      return new HttpDocument(address.url, address.label, access);
    case "s3":
      return new S3Document(address.bucket, address.key, address.label);
    case "redis":
      return new RedisDocument(address.server, address.key, address.label, access.caFile);
  }
}

/** A document of a web server, by its ETag or its date. RFC 9110 §13.1 */
class HttpDocument implements RemoteDocument {
  readonly label: string;
  private readonly url: URL;
  private readonly access: SourceAccess;

  constructor(url: URL, label: string, access: SourceAccess) {
    this.url = url;
    this.label = label;
    this.access = access;
  }

  async read(tag: string): Promise<RemoteText | "same" | null> {
    let { url } = this;
    for (let hops = 0; ; hops++) {
      const { status, headers, body } = await this.get(url, tag);
      if (status === 200) return { bytes: body, tag: tagOf(headers) };
      if (status === 304 && tag !== "") return "same";
      if (status === 404 || status === 410) return null;
      if (!REDIRECTS.has(status)) throw new Error(`${this.label}: status ${status}`);
      const next = URL.parse(headers.get("location") ?? "", url.href);
      if (next?.origin !== url.origin)
        throw new Error(`${this.label}: status ${status}: leads to another server, which is not followed`);
      if (hops >= MAX_HOPS) throw new Error(`${this.label}: more than ${MAX_HOPS} redirects`);
      next.username = url.username;
      next.password = url.password;
      url = next;
    }
  }

  private get(url: URL, tag: string) {
    const { token, caFile } = this.access;
    const condition: Record<string, string> =
      tag === "" ? {} : { [tag.startsWith("@") ? "If-Modified-Since" : "If-None-Match"]: tag.replace(/^@/, "") };
    return outboundRequest({
      url: url.href,
      headers: {
        Accept: "application/yaml, text/yaml, text/plain, */*",
        ...(token === "" ? {} : { Authorization: `Bearer ${token}` }),
        ...condition,
      },
      ca: caFile === "" ? "" : readCertificates(readFileSync(caFile)).pem,
      timeoutMs: REMOTE_CONFIG_TIMEOUT_MS,
      maxBytes: MAX_CONFIG_FILE_BYTES,
    }).catch((error) => {
      throw new Error(`${this.label}: ${messageOf(error)}`);
    });
  }
}

/** An ETag, or a date with @ before it. */
function tagOf(headers: Headers): string {
  const date = headers.get("last-modified") ?? "";
  return headers.get("etag") ?? (date === "" ? "" : `@${date}`);
}

/** An object of a bucket. Who asks, and where the server is, the environment says: AWS_ACCESS_KEY_ID and so on. */
class S3Document implements RemoteDocument {
  readonly label: string;
  private readonly bucket: string;
  private readonly key: string;

  constructor(bucket: string, key: string, label: string) {
    this.bucket = bucket;
    this.key = key;
    this.label = label;
  }

  async read(tag: string): Promise<RemoteText | "same" | null> {
    const file = new Bun.S3Client({ bucket: this.bucket }).file(this.key);
    try {
      const { etag, size } = await limited(file.stat());
      if (tag !== "" && etag === tag) return "same";
      checkSize(size);
      const bytes = await limited(file.slice(0, MAX_CONFIG_FILE_BYTES + 1).bytes());
      checkSize(bytes.length);
      return { bytes, tag: etag };
    } catch (error) {
      const { code = "" } = error as { readonly code?: string };
      if (code === "NoSuchKey" || code === "ENOENT") return null;
      throw new Error(
        `${this.label}: ${plainLine(`${code === "" ? "" : `${code}: `}${messageOf(error)}`).slice(0, MAX_REASON_CHARS)}`,
      );
    }
  }
}

/** A value of Redis, which has no tags: the whole text is compared. */
class RedisDocument implements RemoteDocument {
  readonly label: string;
  private readonly server: string;
  private readonly key: string;
  private readonly caFile: string;

  constructor(server: string, key: string, label: string, caFile: string) {
    this.server = server;
    this.key = key;
    this.label = label;
    this.caFile = caFile;
  }

  async read(): Promise<RemoteText | null> {
    let store: FleetStore | null = null;
    try {
      const { openRedis } = await import("./redis-store.ts");
      const { server, caFile, key } = this;
      store = await openRedis({ store: [server], master: "", password: "", caFile }, () => {});
      checkSize(Number(await store.call(key, ["STRLEN", key])));
      const text = await store.call(key, ["GET", key]);
      return typeof text === "string" ? { bytes: Buffer.from(text, "utf8"), tag: "" } : null;
    } catch (error) {
      throw new Error(`${this.label}: ${plainLine(messageOf(error)).slice(0, MAX_REASON_CHARS)}`);
    } finally {
      store?.close();
    }
  }
}

function checkSize(bytes: number): void {
  if (bytes > MAX_CONFIG_FILE_BYTES) throw new Error(`larger than ${MAX_CONFIG_FILE_BYTES} bytes`);
}

/** @throws where it takes too long */
function limited<T>(work: Promise<T>): Promise<T> {
  return withinMs(work, REMOTE_CONFIG_TIMEOUT_MS, `no whole response within ${REMOTE_CONFIG_TIMEOUT_MS / 1000} s`);
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_HOPS = 3;
const MAX_REASON_CHARS = 300;
