import { HttpSyntaxError } from "../harness/http-message.ts";
import { json, RawClient, type Reply, request } from "../harness/raw-client.ts";
import { PLACEHOLDER } from "./attack-group.ts";

/** What an origin says of the request that it was given. */
export interface OriginView {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly trailers: Readonly<Record<string, string | string[]>>;
  readonly length: number;
  readonly sha256: string;
}

/** One answer, and who gave it. */
export interface Answer {
  readonly status: number;
  /** `origin`: a request that it took; `refusal`: the origin's, of bytes that the gateway forwarded. */
  readonly from: "gateway" | "origin" | "refusal";
  /** The origin's number of the request; 0 when it is not from there. */
  readonly number: number;
  /** The origin's number of the canary; null for everything else. */
  readonly sequence: number | null;
  /** Null for the gateway's answers, for the origin's health page and for a very long HEAD. */
  readonly view: OriginView | null;
}

/** All that came back on one connection. */
export interface Outcome {
  readonly answers: readonly Answer[];
  /** Why the connection cannot be read as answers; null when all is well. */
  readonly fault: string | null;
}

/** One origin behind the gateway, with its own canary on a connection that must never be lost. */
export class Lane {
  private canaryClient: RawClient | null = null;
  private number = -1;
  private sequence = -1;

  constructor(
    readonly name: string,
    private readonly port: number,
  ) {}

  /** Sends the pieces on a fresh connection, ends it, and reads all answers. */
  async attack(pieces: readonly Buffer[]): Promise<Outcome> {
    const client = await RawClient.connect(this.port);
    const answers: Answer[] = [];
    try {
      if (pieces.length === 1) client.send(pieces[0]!);
      else await client.sendPieces(pieces);
      client.finish();
      const ending = await client.ended();
      while (client.unread > 0)
        answers.push(readAnswer(await client.reply(isBodiless(client.peek()) ? "HEAD" : "GET")));
      return { answers, fault: ending === "reset" ? "the gateway cut the connection" : null };
    } catch (error) {
      return { answers, fault: String(error) };
    } finally {
      client.close();
    }
  }

  /**
   * One canary behind an attack. The origin must have been given exactly the requests whose answers came back, each
   * once and in order, and then this one.
   * @returns what is wrong, or null
   */
  async canary(answers: readonly Answer[]): Promise<string | null> {
    try {
      this.canaryClient ??= await RawClient.connect(this.port);
      const reply = await this.canaryClient.exchange(request(`GET ${PLACEHOLDER}/canary`));
      if (reply.status !== 200) return `the canary got ${reply.status} ${reply.text}`;
      return this.judge([...answers, readAnswer(reply)], json(reply).status);
    } catch (error) {
      return `the canary's connection failed: ${String(error)}`;
    }
  }

  close(): void {
    this.canaryClient?.close();
    this.canaryClient = null;
  }

  private judge(answers: readonly Answer[], status: unknown): string | null {
    if (status !== "canary_ok") return `the canary says ${JSON.stringify(status)}`;
    const given = answers.filter((answer) => answer.number > 0);
    const pages = answers.filter((answer) => answer.sequence !== null);
    const [first, last] = [given[0]!, given.at(-1)!];
    const isFirstEver = this.number < 0;
    const [number, sequence] = [this.number, this.sequence];
    this.number = last.number;
    this.sequence = last.sequence!;
    if (last.number - first.number !== given.length - 1) return `${given.length} answers, ${spanOf(given)}`;
    if (isFirstEver) return null;
    if (first.number !== number + 1) return `the origin was given a request that nobody sent: ${spanOf(given)}`;
    const grown = last.sequence! - sequence;
    return grown === pages.length ? null : `the sequence grew by ${grown}, with ${pages.length} canaries answered`;
  }
}

function spanOf(answers: readonly Answer[]): string {
  return `the origin numbered them ${answers.map((answer) => answer.number).join(", ")}`;
}

function readAnswer(reply: Reply): Answer {
  const { status, fields } = reply;
  if (!fields.has("x-origin")) {
    const from = fields.get("server") === "edge" ? "gateway" : "refusal";
    return { status, from, number: 0, sequence: null, view: null };
  }
  const number = Number(fields.get("x-origin-request"));
  const content = readContent(reply);
  const view = content?.sha256 === undefined ? null : content;
  return { status, from: "origin", number, sequence: content?.sequence ?? null, view };
}

/** The JSON in the body, or in the head of the answer to a HEAD; null where that has been too long. */
function readContent(reply: Reply): (OriginView & { sequence?: number }) | null {
  if (reply.body.byteLength > 0) return json(reply);
  const encoded = reply.fields.get("x-origin-head");
  if (encoded !== null) return JSON.parse(Buffer.from(encoded, "base64").toString("utf8"));
  if (reply.fields.get("content-length") === "0") throw new HttpSyntaxError("an origin's answer without a body");
  return null;
}

/**
 * Whether the next answer is one to a HEAD: nobody can tell from mutated bytes what they ask for, but a body never
 * begins like the next answer, and is never missing at the end.
 */
function isBodiless(bytes: Buffer): boolean {
  for (let at = 0; ; ) {
    const end = bytes.indexOf("\r\n\r\n", at, "latin1");
    if (end < 0) return false;
    const isInterim = bytes.toString("latin1", at, at + 10) === "HTTP/1.1 1";
    at = end + 4;
    if (!isInterim) return at === bytes.byteLength || bytes.toString("latin1", at, at + 7) === "HTTP/1.";
  }
}
