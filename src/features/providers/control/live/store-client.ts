import { readFileSync } from "node:fs";
import { jsonObject } from "../../../../core/json-object.ts";
import { plainLine } from "../../../../core/printable.ts";
import { outboundLines, outboundRequest } from "../../../../net/outbound-request.ts";
import type { StoreTlsConfig } from "../../settings.ts";

/** One question to a store. */
interface Question {
  /** With its query. */
  readonly path: string;
  /** Sent as JSON by POST; without it the question is a GET. */
  readonly body?: object;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A response of a store with status 200. */
interface StoreResponse {
  readonly document: unknown;
  readonly headers: Headers;
}

/** A response that is a refusal. */
export class StoreRefusal extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** Talks to the HTTP API of a store: bounded, by verified TLS, without redirects. */
export class StoreClient {
  private readonly base: string;
  private readonly access: ReturnType<typeof accessOf>;

  /** @throws Error if a file of the certificates cannot be read */
  constructor(endpoint: string, tls: StoreTlsConfig) {
    this.base = endpoint.replace(/\/$/, "");
    this.access = accessOf(tls);
  }

  /** @throws why there is no document */
  async ask({ path, body, headers, timeoutMs, signal }: Question, maxBytes: number): Promise<StoreResponse> {
    const response = await outboundRequest({
      ...this.common(path, body, headers),
      timeoutMs,
      maxBytes,
      wants: "all",
      signal,
    });
    const text = Buffer.from(response.body).toString();
    if (response.status !== 200) throw refusalOf(path, response.status, text);
    return { document: parsed(path, text), headers: response.headers };
  }

  /**
   * Takes a response line by line as it comes.
   * @throws why it has ended
   */
  async follow(
    { path, body, headers, timeoutMs, signal }: Question,
    silentMs: number,
    onLine: (document: unknown) => void,
  ): Promise<void> {
    let last = "";
    let status = 200;
    ({ status } = await outboundLines(
      { ...this.common(path, body, headers), timeoutMs, silentMs, maxLineBytes: MAX_LINE_BYTES, signal },
      (line) => {
        last = line;
        if (line.trimStart().startsWith("{")) onLine(parsed(path, line));
        else if (line.trim() !== "") throw new RangeError(`${path}: a line is no JSON`);
      },
    ));
    if (status !== 200) throw refusalOf(path, status, last);
  }

  private common(path: string, body: object | undefined, headers: Readonly<Record<string, string>>) {
    return {
      ...this.access,
      url: this.base + path,
      headers: {
        "User-Agent": "edge",
        ...headers,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      isDirect: true,
    };
  }
}

function accessOf({ caFile, clientCertificate: { certFile, keyFile } }: StoreTlsConfig) {
  const text = (file: string): string => readFileSync(file, "utf8");
  return {
    ca: caFile === "" ? "" : text(caFile),
    ...(certFile === "" ? {} : { pair: { cert: text(certFile), key: text(keyFile) } }),
  };
}

function parsed(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RangeError(`${plainPath(path)}: the response is no JSON`);
  }
}

function refusalOf(path: string, status: number, text: string): StoreRefusal {
  const { message, error } = jsonObject(text) ?? {};
  const named = [message, error].find((one) => typeof one === "string" && one !== "");
  const said = plainLine(String(named ?? text).slice(0, MAX_SAID)).trim();
  const cure = status === 401 || status === 403 ? ": may edge's token or user read it?" : "";
  return new StoreRefusal(`${plainPath(path)}: status ${status}${said === "" ? "" : ` (${said})`}${cure}`, status);
}

function plainPath(path: string): string {
  return path.split("?", 1)[0]!;
}

/** Keys of etcd have 1.5 MiB by default, a third more in base64, and some of them may come together. */
const MAX_LINE_BYTES = 16_777_216;
const MAX_SAID = 200;
