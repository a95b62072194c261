import { messageOf } from "../../../../core/error-text.ts";
import { withinMs } from "../../../../core/time-limit.ts";
import { outboundRequest } from "../../../../net/outbound-request.ts";
import {
  DocumentConflict,
  type DocumentStore,
  MAX_DOCUMENT_BYTES,
  SAME,
  StoreAway,
  type StoredDocument,
} from "./document-store.ts";

/** A bucket, and with what it is opened. What is "" comes from the environment by the runtime. */
interface S3Place {
  readonly bucket: string;
  /** Begins the names of all objects; "" or with a slash at its end. */
  readonly prefix: string;
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/**
 * Documents as objects in S3, or what speaks as it does. A write names the version that it replaces (If-Match, If-None-Match: *), which the store must
 * honour: whether it does is tried out before the first write. The runtime signs; its client has no conditional fields, which need no signature.
 * docs/acme.md#s3
 */
export class S3Documents implements DocumentStore {
  private readonly prefix: string;
  private readonly client: Bun.S3Client;
  private checked: Promise<void> | null = null;

  constructor({ prefix, ...access }: S3Place) {
    this.prefix = prefix;
    // The runtime takes absent values from the environment.
    const given = Object.entries(access).filter(([, value]) => value !== "");
    this.client = new Bun.S3Client(Object.fromEntries(given));
  }

  async read(name: string, known: string): Promise<StoredDocument | null | typeof SAME> {
    const response = await this.request("GET", name, known === "" ? {} : { "If-None-Match": known });
    if (response.status === 304) return SAME;
    if (response.status === 404) return null;
    const version = response.headers.get("ETag") ?? "";
    if (response.status !== 200 || version === "") throw away("GET", response);
    const writtenMs = Date.parse(response.headers.get("Last-Modified") ?? "");
    const nowMs = Date.parse(response.headers.get("Date") ?? "") || Date.now();
    return { text: response.text, version, ageMs: Number.isNaN(writtenMs) ? 0 : Math.max(0, nowMs - writtenMs) };
  }

  async write(name: string, text: string, expected: string): Promise<string> {
    if (Buffer.byteLength(text) > MAX_DOCUMENT_BYTES) throw new Error(`${name} is too large for the store`);
    this.checked ??= this.checkConditions();
    try {
      await this.checked;
    } catch (error) {
      this.checked = null;
      throw error;
    }
    return await this.put(name, text, expected);
  }

  async list(prefix: string): Promise<readonly string[]> {
    const names: string[] = [];
    try {
      let continuationToken: string | undefined;
      do {
        const page: Bun.S3ListObjectsResponse = await withinMs(
          this.client.list({ prefix: this.prefix + prefix, ...(continuationToken && { continuationToken }) }),
          REQUEST_MS,
          "the store does not answer",
        );
        names.push(...(page.contents ?? []).map(({ key }) => key.slice(this.prefix.length)));
        continuationToken = page.isTruncated === true ? page.nextContinuationToken : undefined;
      } while (continuationToken !== undefined);
    } catch (error) {
      throw new StoreAway(`s3: ${reasonOf(error)}`);
    }
    return names.filter((name) => name !== CHECK);
  }

  close(): void {}

  private async put(name: string, text: string, expected: string): Promise<string> {
    const condition: Record<string, string> = expected === "" ? { "If-None-Match": "*" } : { "If-Match": expected };
    const response = await this.request("PUT", name, { ...condition, "Content-Type": "text/plain" }, text);
    // 404: the version that is expected has been deleted. 409: another write is under way.
    if ([404, 409, 412].includes(response.status) && !response.text.includes("NoSuchBucket"))
      throw new DocumentConflict(`${name} was written by another gateway`);
    const version = response.headers.get("ETag") ?? "";
    if (response.status !== 200 || version === "") throw away("PUT", response);
    return version;
  }

  /** A store that takes no notice of conditions would let two gateways hold one lock. */
  private async checkConditions(): Promise<void> {
    const write = () => this.put(CHECK, "whether writes are conditional", "");
    const isRefused = (error: unknown): boolean => {
      if (error instanceof DocumentConflict) return true;
      throw error;
    };
    if (await write().then(() => false, isRefused)) return;
    if (await write().then(() => false, isRefused)) return;
    throw new StoreAway("s3: the store takes no notice of If-None-Match: gateways cannot share certificates there");
  }

  private async request(
    method: "GET" | "PUT",
    name: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<S3Response> {
    try {
      const url = this.client.presign(this.prefix + name, { method, expiresIn: SIGNED_S });
      const response = await outboundRequest({
        url,
        method,
        headers,
        ca: "",
        timeoutMs: REQUEST_MS,
        maxBytes: MAX_DOCUMENT_BYTES,
        wants: "all",
        ...(body === undefined ? {} : { body }),
      });
      return {
        status: response.status,
        headers: response.headers,
        text: Buffer.from(response.body).toString("utf8"),
      };
    } catch (error) {
      throw new StoreAway(`s3: ${reasonOf(error)}`);
    }
  }
}

interface S3Response {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** What the store has against a request; of its document the code alone, since its text may repeat what was sent. */
function away(method: string, { status, text }: S3Response): StoreAway {
  const [, code = ""] = /<Code>([A-Za-z]{1,64})<\/Code>/.exec(text) ?? [];
  return new StoreAway(`s3: ${method} was answered with ${status} ${code}`.trimEnd());
}

/** Without the address, which has a signature in it. */
function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return messageOf(error).includes("http") && typeof code === "string" ? code : messageOf(error).slice(0, MAX_REASON);
}

/** The document that conditions are tried out with. */
const CHECK = "conditions";
const REQUEST_MS = 5000;
/** How long a signature is good for. */
const SIGNED_S = 60;
const MAX_REASON = 300;
