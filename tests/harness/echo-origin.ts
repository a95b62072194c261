import { createHash } from "node:crypto";
import { type OriginCall, type OriginOptions, ScriptedOrigin } from "./scripted-origin.ts";

/** What the echo origin answers, as JSON. */
export interface Echo {
  readonly method: string;
  readonly target: string;
  /** Lower-case names; a list where a name came several times. */
  readonly headers: Record<string, string | string[]>;
  /** As they came. */
  readonly fields: readonly (readonly [string, string])[];
  readonly trailers: Record<string, string | string[]>;
  readonly framing: string;
  readonly length: number;
  readonly sha256: string;
}

/**
 * A well-behaved origin: GET /canary with a growing sequence, GET /health, an echo of WebSocket-like upgrades on
 * /socket, and every other request echoed as JSON.
 */
export class EchoOrigin extends ScriptedOrigin {
  /** Sequence of the last canary that was answered. */
  sequence = 0;

  /** Starts an echo origin. */
  static override start(options: OriginOptions = {}): EchoOrigin {
    const origin = new EchoOrigin(options);
    origin.on("/canary", async (call) => {
      await call.body();
      origin.sequence++;
      replyJson(call, { status: "canary_ok", sequence: origin.sequence });
    });
    origin.on("/health", (call) => replyJson(call, { status: "ok" }));
    origin.on("/socket", echoUpgrade);
    origin.otherwise(echo);
    origin.listen(options.port ?? 0);
    return origin;
  }
}

/** Answers 101 and sends every byte back, until the peer ends. */
export async function echoUpgrade(call: OriginCall): Promise<void> {
  const connection = call.takeOver();
  const token = call.request.fields.get("upgrade") ?? "websocket";
  call.send(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${token}\r\n\r\n`);
  for (;;) {
    const bytes = await connection.takeSome(1e9);
    if (bytes === null) return connection.close();
    connection.send(bytes);
  }
}

/** Reads the whole request and answers with what came, as JSON. */
export async function echo(call: OriginCall): Promise<void> {
  const { method, target, fields } = call.request;
  const body = await call.body();
  const answer: Echo = {
    method,
    target,
    headers: fields.toObject(),
    fields: fields.list,
    trailers: body.trailers.toObject(),
    framing: body.framing,
    length: body.bytes.byteLength,
    sha256: sha256(body.bytes),
  };
  replyJson(call, answer);
}

/** Hex digest. */
export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function replyJson(call: OriginCall, value: unknown): void {
  const text = JSON.stringify(value);
  const lines = ["Content-Type: application/json"];
  if (call.request.method === "HEAD") {
    call.send(`HTTP/1.1 200 OK\r\n${lines[0]}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n`);
  } else {
    call.reply("200 OK", lines, text);
  }
}
