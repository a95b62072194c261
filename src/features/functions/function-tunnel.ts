import type { Exchange, ResponseSource } from "../../message/exchange.ts";
import type { TunnelEnd } from "../../message/ports.ts";
import { Framing } from "../../message/request-head.ts";
import { acceptOf, isKey } from "../../proto/websocket/handshake.ts";
import type { FunctionLink, LinkCall } from "./function-link.ts";
import { fieldsFault } from "./response-record.ts";
import { RecordFault, type Records, SendWindow, TakenBytes, WireWord } from "./wire.ts";

/** Why a request is no handshake of a WebSocket that can be accepted, or "". RFC 6455 §4.2.1 */
export function socketFault({ request }: Exchange, fields: UpgradeRecord["fields"]): string {
  if (!request.upgrade) return "ctx.upgrade() needs a request for a WebSocket";
  if (!isKey(fieldOf(request.headers, "sec-websocket-key"))) return "the request has no Sec-WebSocket-Key";
  if (fieldOf(request.headers, "upgrade").toLowerCase() !== "websocket") return "the request asks for another protocol";
  return fieldsFault(fields);
}

/** How a thread accepts a WebSocket. */
export interface UpgradeRecord {
  /** The subprotocol; "" for none. */
  readonly protocol: string;
  readonly fields: readonly (readonly [string, string])[];
}

/** Reads the fields of the record of an upgrade. */
export function readUpgrade(records: Records): UpgradeRecord {
  return { protocol: records.line(), fields: records.fields() };
}

/** A WebSocket of a client whose other end is in a thread: frames go through as they come, a window of them each way. */
export class FunctionTunnel implements TunnelEnd, ResponseSource, LinkCall {
  private readonly link: FunctionLink;
  private readonly id: number;
  private readonly onOver: () => void;
  private client: TunnelEnd | null = null;
  private readonly window: SendWindow = new SendWindow();
  private isFull = false;
  private readonly taken: TakenBytes = new TakenBytes();

  /** @param onOver the place in the thread is free again */
  constructor(link: FunctionLink, id: number, onOver: () => void) {
    this.link = link;
    this.id = id;
    this.onOver = onOver;
  }

  /** Accepts it. The caller has looked at the handshake. */
  start(ex: Exchange, { protocol, fields }: UpgradeRecord): void {
    const { response } = ex;
    ex.source = this;
    response.status = 101;
    response.headers.resetOwn();
    response.headers.add("Upgrade", "websocket");
    response.headers.add("Sec-WebSocket-Accept", acceptOf(fieldOf(ex.request.headers, "sec-websocket-key")));
    if (protocol !== "") response.headers.add("Sec-WebSocket-Protocol", protocol);
    for (const [name, value] of fields)
      if (!/^(sec-websocket-.*|upgrade|connection)$/i.test(name)) response.headers.add(name, value);
    response.framing = Framing.None;
    this.client = ex.sink.upgrade(ex, this);
    // What the client has sent since its handshake comes now.
    this.client?.tunnelStart();
  }

  // ── the thread ────────────────────────────────────────────────────────────────────────────────────────────────

  onRecord(word: WireWord, records: Records): void {
    if (word === WireWord.Body) this.onPiece(records.bytes());
    else if (word === WireWord.Taken) {
      if (this.window.taken(records.number())) this.client?.tunnelWritable();
    } else if (word === WireWord.End || word === WireWord.Fault) this.shut();
    else if (word === WireWord.Failed) records.line();
    else throw new RecordFault(`a thread said ${word} of a WebSocket`);
  }

  onPiece(bytes: Uint8Array): void {
    if (this.client === null) return;
    this.taken.add(bytes.length);
    this.isFull = !this.client.tunnelWrite(bytes, 0, bytes.length);
    this.credit();
  }

  onDeath(): void {
    this.shut();
  }

  private credit(): void {
    if (!this.isFull) this.taken.tell(this.link, this.id);
  }

  // ── the client ────────────────────────────────────────────────────────────────────────────────────────────────

  tunnelStart(): void {}

  tunnelWrite(bytes: Uint8Array, from: number, to: number): boolean {
    if (this.client === null && !this.window.isOpen) return true;
    this.link.body(this.id, bytes, from, to);
    return this.window.sent(to - from);
  }

  /** Without its direction a client cannot close in order: it has left. */
  tunnelEnd(): void {
    this.link.record(WireWord.Cancel, this.id);
    this.shut();
  }

  tunnelWritable(): void {
    this.isFull = false;
    this.credit();
  }

  tunnelClose(): void {
    if (this.client === null) return;
    this.client = null;
    this.link.record(WireWord.Cancel, this.id);
    this.leave();
  }

  onWritable(): void {}

  onCancelled(): void {
    this.tunnelClose();
  }

  private shut(): void {
    const { client } = this;
    if (client === null) return;
    this.client = null;
    client.tunnelClose();
    this.leave();
  }

  private leave(): void {
    this.link.close(this.id);
    this.onOver();
  }
}

function fieldOf(headers: Exchange["request"]["headers"], name: string): string {
  for (let i = 0; i < headers.count; i++) if (headers.nameText(i).toLowerCase() === name) return headers.valueText(i);
  return "";
}
