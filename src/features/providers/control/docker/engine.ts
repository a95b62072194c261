import { messageOf } from "../../../../core/error-text.ts";
import { outboundLines, outboundRequest } from "../../../../net/outbound-request.ts";

/** The HTTP API of an engine, as far as edge uses it: by GET alone. docs/providers.md#docker-and-podman */
export class Engine {
  private readonly base: string;
  private readonly socket: string;

  /** @param endpoint `unix:/run/docker.sock` or `tcp://127.0.0.1:2375` */
  constructor(endpoint: string) {
    const isSocket = endpoint.startsWith("unix:");
    this.socket = isSocket ? endpoint.slice("unix:".length) : "";
    this.base = isSocket ? "http://localhost" : endpoint.replace(/^tcp:/, "http:");
  }

  /** Whether a peer that is gone may leave the connection open. */
  get isFar(): boolean {
    return this.socket === "";
  }

  /**
   * A document; null if it is missing.
   * @throws why there is none
   */
  async read(path: string, signal: AbortSignal): Promise<unknown> {
    const { status, body } = await outboundRequest({
      url: this.base + path,
      socket: this.socket,
      headers: {},
      ca: "",
      timeoutMs: PATIENCE_MS,
      maxBytes: MAX_DOCUMENT_BYTES,
      isDirect: true,
      signal,
    });
    if (status === 404) return null;
    if (status !== 200) throw new Error(`${path.split("?", 1)[0]}: status ${status}`);
    try {
      return JSON.parse(Buffer.from(body).toString());
    } catch {
      throw new Error(`${path.split("?", 1)[0]}: the response is no JSON`);
    }
  }

  /** Whether it answers at all. */
  async answers(signal: AbortSignal): Promise<boolean> {
    const asked = {
      url: `${this.base}/_ping`,
      socket: this.socket,
      headers: {},
      ca: "",
      timeoutMs: PATIENCE_MS,
      maxBytes: 0,
    };
    return outboundRequest({ ...asked, isDirect: true, wants: "none", signal }).then(
      () => true,
      () => false,
    );
  }

  /**
   * Its events, from now on, each with all that has come together.
   * @param onOpen it has begun to speak
   * @throws why they have ended
   */
  async events(signal: AbortSignal, onOpen: () => void, onEvent: (event: EngineEvent) => void): Promise<never> {
    const filters = encodeURIComponent(JSON.stringify({ type: ["container", "network"] }));
    const { status } = await outboundLines(
      {
        url: `${this.base}/events?filters=${filters}`,
        socket: this.socket,
        headers: {},
        ca: "",
        isDirect: true,
        signal,
        timeoutMs: LONGEST_MS,
        silentMs: LONGEST_MS,
        maxLineBytes: MAX_LINE_BYTES,
        onHead: onOpen,
      },
      (line) => {
        const event = line.trim() === "" ? null : eventOf(line);
        if (event !== null) onEvent(event);
      },
    );
    if (status !== 200) throw new Error(`/events: status ${status}`);
    throw new Error("the engine has ended its events");
  }
}

/** An event of a container, or of a network that it joins or leaves. */
export interface EngineEvent {
  readonly kind: "container" | "network";
  /** Such as `start`, `health_status: healthy`. */
  readonly action: string;
  /** Of the container. */
  readonly id: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** @throws Error for any other text */
function eventOf(line: string): EngineEvent | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new Error(`an event is no JSON: ${messageOf(error)}`);
  }
  if (typeof value !== "object" || value === null) throw new Error("an event is no object");
  const { Type, Action, Actor, status, id } = value as Record<string, unknown>;
  const { ID, Attributes } = (typeof Actor === "object" && Actor !== null ? Actor : {}) as Record<string, unknown>;
  const attributes = textsIn(Attributes);
  const action = textOf(Action) || textOf(status);
  const kind = Type === "network" ? "network" : "container";
  const of = kind === "network" ? (attributes.container ?? "") : textOf(ID) || textOf(id);
  return of === "" || action === "" ? null : { kind, action, id: of, attributes };
}

/** A text; "" for anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The texts of a map. */
export function textsIn(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((one): one is [string, string] => typeof one[1] === "string"));
}

/** Why an engine is away, with the cure as far as it is known. */
export function engineFailure(error: unknown): string {
  const text = messageOf(error);
  const [code = ""] = /^E[A-Z]+/.exec(text) ?? [];
  return FAILURES[code] ?? text;
}

const FAILURES: Readonly<Record<string, string>> = {
  ENOENT: "no such socket: start the engine, or set providers.docker.endpoint",
  EACCES: "edge may not open the socket: add its user to the group of the socket",
  EPERM: "edge may not open the socket: add its user to the group of the socket",
  ECONNREFUSED: "nothing listens there: start the engine",
  ECONNRESET: "the engine has closed the connection",
};

const PATIENCE_MS = 10_000;
const MAX_DOCUMENT_BYTES = 67_108_864;
const MAX_LINE_BYTES = 1_048_576;
/** An engine may be silent for weeks, and sends no byte before its first event: so long is a timer at most. */
const LONGEST_MS = 2_147_483_647;
