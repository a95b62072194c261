import { jsonObject } from "../../../core/json-object.ts";
import { outboundLines, outboundRequest } from "../../../net/outbound-request.ts";
import type { ApiAccess } from "./api-access.ts";

/** One response of the API server. */
export interface ApiResponse {
  readonly status: number;
  /** Null if it is no JSON. */
  readonly body: Readonly<Record<string, unknown>> | null;
  /** What Retry-After asks for, in milliseconds; 0 for nothing. */
  readonly waitMs: number;
}

const TIMEOUT_MS = 30_000;
/** Of one page of a list; objects are at most 3 MiB each. */
const MAX_BYTES = 268_435_456;
const MAX_LINE_BYTES = 8_388_608;
/** Bookmarks come each minute: a connection without a byte for longer is dead. */
const SILENT_MS = 150_000;
const MAX_WAIT_MS = 60_000;

/** Talks to the API server. */
export class ApiClient {
  readonly access: ApiAccess;
  /** The name under which it writes statuses: it tells them from those of other controllers. */
  readonly manager: string;
  private readonly timeoutMs: number;

  constructor(access: ApiAccess, manager: string = "edge", timeoutMs: number = TIMEOUT_MS) {
    this.access = access;
    this.manager = manager;
    this.timeoutMs = timeoutMs;
  }

  /** @throws Error if there is no whole response */
  async call(method: string, path: string, body?: object, type = "application/json"): Promise<ApiResponse> {
    const response = await outboundRequest({
      ...this.base(path),
      method,
      headers: { ...this.headers(), ...(body === undefined ? {} : { "Content-Type": type }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      timeoutMs: this.timeoutMs,
      maxBytes: MAX_BYTES,
      wants: "all",
    });
    return {
      status: response.status,
      body: jsonObject(Buffer.from(response.body).toString()),
      waitMs: waitOf(response.headers),
    };
  }

  /**
   * Takes events as they come, until the API server or `signal` ends them.
   * @param onEvent gets each line of JSON @returns the status; the body, unless that is 200
   * @throws Error if the connection ends early
   */
  async watch(
    path: string,
    onEvent: (event: Readonly<Record<string, unknown>>) => void,
    signal: AbortSignal,
    silentMs: number = SILENT_MS,
  ): Promise<ApiResponse> {
    let last: string = "";
    let broken = false;
    const { status, headers } = await outboundLines(
      {
        ...this.base(path),
        headers: this.headers(),
        timeoutMs: this.timeoutMs,
        signal,
        ...{ maxLineBytes: MAX_LINE_BYTES, silentMs },
      },
      (line) => {
        last = line;
        const event = jsonObject(line);
        if (event !== null && !broken) onEvent(event);
        else if (line.trim() !== "") broken = true;
      },
    );
    // After a line that cannot be read nothing is known to be whole.
    if (status === 200 && broken) throw new Error("a line of a watch is no JSON");
    return { status, body: status === 200 ? null : jsonObject(last), waitMs: waitOf(headers) };
  }

  private base(path: string) {
    const { server, ca, pair } = this.access;
    return { url: `${server}${path}`, ca, ...(pair === null ? {} : { pair }), isDirect: true };
  }

  private headers(): Readonly<Record<string, string>> {
    const token = this.access.token();
    return {
      Accept: "application/json",
      "User-Agent": "edge",
      ...(token === "" ? {} : { Authorization: `Bearer ${token}` }),
    };
  }
}

function waitOf(headers: Headers): number {
  const seconds = Number(headers.get("retry-after") ?? "0");
  return Number.isFinite(seconds) ? Math.min(MAX_WAIT_MS, Math.max(0, seconds * 1000)) : 0;
}
