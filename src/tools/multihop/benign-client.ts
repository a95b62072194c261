import type { Backend } from "./backend.ts";
import { authorityOf, type Endpoint } from "./byte-link.ts";
import { answerField, type H1Answer, jsonBody } from "./h1-answers.ts";
import { KeptConnection, type KeptExchange } from "./kept-connection.ts";
import { SWEEP_REQUESTS } from "./limits.ts";
import { quotedText } from "./quoted-text.ts";
import { TOKEN_FIELD } from "./vector.ts";

/** Stage 2: the canary and what came back. */
export interface CanaryResult {
  readonly token: string;
  /** 0 without a response. */
  readonly status: number;
  /** What the response says of itself; "" without. */
  readonly bodyStatus: string;
  /** Null without one. */
  readonly sequence: number | null;
  /** The origin's own number of this request, if it gives one; 0 otherwise. */
  readonly originRequest: number;
  /** The fault in it; "" when all is well. */
  readonly fault: string;
  /** Whether the response is to another request, as far as it says which. */
  readonly isMixedUp: boolean;
  readonly exchange: KeptExchange;
}

/** A benign request beside the canary: what was sent, and the fault in its response. */
export interface SweepResult {
  readonly token: string;
  readonly body: Buffer;
  /** 0 without a response. */
  readonly status: number;
  readonly fault: string;
  /** Whether the response is to another request. */
  readonly isMixedUp: boolean;
}

/** The users of a gateway that mean no harm, on connections that they keep. */
export class BenignClient {
  private readonly canaryConnection: KeptConnection;
  private readonly sweepConnections: readonly KeptConnection[];

  /**
   * @param backend whose prefix all requests go to
   * @param newToken gives a value that was never used before
   */
  constructor(
    private readonly backend: Backend,
    private readonly endpoint: Endpoint,
    responseMs: number,
    private readonly newToken: () => string,
  ) {
    this.canaryConnection = new KeptConnection(endpoint, responseMs);
    this.sweepConnections = Array.from({ length: SWEEP_REQUESTS }, () => new KeptConnection(endpoint, responseMs));
  }

  /** `GET /<prefix>/canary`: the response must be this origin's, and to this request. */
  async canary(): Promise<CanaryResult> {
    const token = this.newToken();
    const exchange = await this.canaryConnection.exchange(this.request("GET", "/canary", token, null));
    const { answer: response } = exchange;
    const json = response === null ? null : jsonBody(response.body);
    const bodyStatus = typeof json?.status === "string" ? json.status.slice(0, SHOWN_BYTES) : "";
    const sequence = typeof json?.sequence === "number" ? json.sequence : null;
    const isMixedUp = json !== null && answersOther(json, token);
    let fault = exchange.fault || (isMixedUp ? "the canary got the response to another request" : "");
    if (response !== null && (response.status !== 200 || bodyStatus !== "canary_ok" || sequence === null)) {
      fault ||= `the canary got ${response.status} ${bodyStart(response)}`;
    }
    const originRequest = response === null ? 0 : Number(answerField(response, "x-origin-request")) || 0;
    return { token, status: response?.status ?? 0, bodyStatus, sequence, originRequest, fault, isMixedUp, exchange };
  }

  /** Several `POST /<prefix>/echo` at once: each must get the echo of itself. */
  sweep(): Promise<SweepResult[]> {
    return Promise.all(this.sweepConnections.map((connection) => this.echo(connection)));
  }

  close(): void {
    for (const connection of [this.canaryConnection, ...this.sweepConnections]) connection.close();
  }

  private async echo(connection: KeptConnection): Promise<SweepResult> {
    const token = this.newToken();
    const body = Buffer.from(JSON.stringify({ sweep: token }));
    const { answer: response, fault: lost } = await connection.exchange(this.request("POST", "/echo", token, body));
    const json = response?.status === 200 ? jsonBody(response.body) : null;
    const isMixedUp = json !== null && headerOf(json, TOKEN_FIELD) !== token;
    let fault = lost || (isMixedUp ? "a benign request got the response to another one" : "");
    if (response !== null && json === null) {
      fault ||= `a benign request got ${response.status} ${bodyStart(response)}`;
    }
    return { token, body, status: response?.status ?? 0, fault, isMixedUp };
  }

  private request(method: string, path: string, token: string, body: Buffer | null): Buffer {
    const lines = [`${method} ${this.backend.prefix}${path} HTTP/1.1`, `Host: ${authorityOf(this.endpoint)}`];
    lines.push(`${TOKEN_FIELD}: ${token}`);
    if (body !== null) lines.push("Content-Type: application/json", `Content-Length: ${body.length}`);
    return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body ?? Buffer.alloc(0)]);
  }
}

function bodyStart({ body }: H1Answer): string {
  return quotedText(body.toString("latin1", 0, SHOWN_BYTES));
}

/** Whether a response that says what it is to names another request. */
function answersOther(json: Readonly<Record<string, unknown>>, token: string): boolean {
  const told = headerOf(json, TOKEN_FIELD);
  return told !== null && told !== token;
}

/** A header that an origin says it was given, whatever the case of its name; null when it does not say. */
export function headerOf(json: Readonly<Record<string, unknown>>, name: string): string | null {
  const { headers } = json;
  if (typeof headers !== "object" || headers === null) return null;
  const found = Object.entries(headers).find(([each]) => each.toLowerCase() === name.toLowerCase());
  if (found === undefined) return "";
  return Array.isArray(found[1]) ? found[1].join(", ") : String(found[1]);
}

const SHOWN_BYTES = 120;
