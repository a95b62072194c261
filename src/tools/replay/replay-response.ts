import { createHash } from "node:crypto";
import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { ipVersion } from "../../core/ip-address.ts";
import type { RecordedRequest } from "./recorded-request.ts";

/** What came back for a request, or why nothing did. */
export interface Received {
  readonly status: number;
  /** Fields by their names in lower case; those that came several times joined by line breaks. */
  readonly fields: Readonly<Record<string, string>>;
  /** SHA-256 of the body, in hex. */
  readonly hash: string;
  readonly bytes: number;
  /** "" if there was a response. */
  readonly failure: string;
}

/** One of the two servers: it is asked over kept connections. */
export class ReplayTarget {
  readonly url: URL;
  private readonly agent: HttpAgent | HttpsAgent;
  private readonly timeoutMs: number;
  private readonly verifies: boolean;

  constructor(
    url: URL,
    options: { readonly concurrency: number; readonly timeoutMs: number; readonly verifies: boolean },
  ) {
    this.url = url;
    this.timeoutMs = options.timeoutMs;
    this.verifies = options.verifies;
    const kept = { keepAlive: true, maxSockets: options.concurrency };
    this.agent = url.protocol === "https:" ? new HttpsAgent(kept) : new HttpAgent(kept);
  }

  /** Sends a recorded request, and reads its response to the end. It never fails: see `failure`. */
  send({ method, uri, host }: RecordedRequest): Promise<Received> {
    const { promise, resolve } = Promise.withResolvers<Received>();
    const fail = (failure: string): void => resolve({ status: 0, fields: {}, hash: "", bytes: 0, failure });
    const isTls = this.url.protocol === "https:";
    const base = this.url.pathname.replace(/\/$/, "");
    const name = host === "" ? this.url.host : host;
    const options = {
      agent: this.agent as HttpAgent,
      hostname: this.url.hostname.replace(/^\[|\]$/g, ""),
      port: this.url.port || (isTls ? 443 : 80),
      method,
      path: uri === "*" ? "*" : `${base}${uri}`,
      headers: { Host: name, Accept: "*/*", "User-Agent": "edge-replay" },
      timeout: this.timeoutMs,
      ...(isTls ? { ...serverNameOf(name), rejectUnauthorized: this.verifies } : {}),
    };
    let sent: ClientRequest;
    try {
      sent = (isTls ? httpsRequest : httpRequest)(options, (response) => read(response, resolve, fail));
    } catch (error) {
      // What a log names as host is not always one that can be asked for.
      fail(error instanceof Error ? error.message : "failed");
      return promise;
    }
    const timer = setTimeout(() => sent.destroy(new Error("ETIMEDOUT")), this.timeoutMs);
    sent.on("error", (error: Error & { code?: string }) => fail(error.code ?? error.message));
    sent.end();
    return promise.finally(() => clearTimeout(timer));
  }

  close(): void {
    this.agent.destroy();
  }
}

/** RFC 6066 §3: an address is no server name. */
function serverNameOf(authority: string): { readonly servername?: string } {
  const name = authority.replace(/:\d+$/, "");
  return name.startsWith("[") || ipVersion(name) !== 0 ? {} : { servername: name };
}

function read(response: IncomingMessage, done: (received: Received) => void, fail: (failure: string) => void): void {
  const hash = createHash("sha256");
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    hash.update(chunk);
    bytes += chunk.length;
  });
  response.on("error", (error) => fail(error.message));
  response.on("aborted", () => fail("the response was cut off"));
  response.on("end", () => {
    const fields: Record<string, string> = {};
    for (let i = 0; i < response.rawHeaders.length; i += 2) {
      const name = response.rawHeaders[i]!.toLowerCase();
      const value = response.rawHeaders[i + 1]!;
      fields[name] = fields[name] === undefined ? value : `${fields[name]}\n${value}`;
    }
    done({ status: response.statusCode ?? 0, fields, hash: hash.digest("hex"), bytes, failure: "" });
  });
}
