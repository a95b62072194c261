import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { KeptBytes } from "../core/kept-bytes.ts";
import type { Exchange, UpstreamCaller } from "../message/exchange.ts";
import type { SocketWriter } from "../net/socket-buffers.ts";
import { CgiResponseParser } from "../proto/fastcgi/cgi-response-parser.ts";
import { RecordEvent, RecordReader } from "../proto/fastcgi/record-reader.ts";
import {
  ABORT_RECORD,
  END_OF_STDIN,
  HEADER_BYTES,
  MAX_CONTENT_BYTES,
  ProtocolStatus,
  RecordType,
  writeHeader,
} from "../proto/fastcgi/records.ts";
import { scriptRequestBound, writeScriptRequest } from "./fastcgi-request.ts";
import { OriginPool, PooledConnection } from "./h1-upstream.ts";

/** Of what a FastCGI script writes of errors for one request, so much is logged. */
const MAX_SCRIPT_ERROR_BYTES = 2048;

/** The connections of one worker to one FastCGI application, such as php-fpm. docs/php.md */
export class FastCgiPool extends OriginPool {
  protected override make(): PooledConnection {
    return new FastCgiConnection(this);
  }
}

/** Heads are written here first, one at a time. */
let scratch: Buffer = Buffer.allocUnsafeSlow(16_384);

/**
 * A connection to a FastCGI application: that of an HTTP/1.1 origin, whose bytes travel in records. What comes out of the records
 * of a script's output is its response; the record that ends the request ends it too.
 */
class FastCgiConnection extends PooledConnection {
  private readonly reader: RecordReader = new RecordReader();
  private readonly keeps: boolean;
  /** Where the output lies in the chunk that is read; both 0 if it has none. */
  private outputFrom = 0;
  private outputTo = 0;
  /** Whether the application has ended the request, and whether the connection has ended. */
  private isOver = false;
  private isLost = false;
  /** Whether a request is under way, so that giving it up is told. */
  private isAsked = false;
  private errors: ScriptErrors | null = null;

  constructor(pool: FastCgiPool) {
    super(pool, new CgiResponseParser(pool.settings.maxResponseFields));
    this.keeps = pool.settings.maxIdleConnections > 0;
  }

  protected override writeHead(ex: Exchange, caller: UpstreamCaller, writer: SocketWriter): void {
    const bound = caller.requestBound(ex);
    if (bound > scratch.length) scratch = Buffer.allocUnsafeSlow(bound);
    const headEnd = caller.encodeRequest(ex, scratch, 0);
    const out = writer.reserve(scriptRequestBound(ex, headEnd));
    writer.commit(writeScriptRequest(ex, this.keeps, scratch, headEnd, out, writer.offset));
    this.reader.begin();
    this.isOver = false;
    this.isAsked = true;
  }

  protected override writeBody(_: Exchange, writer: SocketWriter, bytes: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to; ) {
      const end = Math.min(to, at + MAX_CONTENT_BYTES);
      const out = writer.reserve(HEADER_BYTES);
      writer.commit(writeHeader(out, writer.offset, RecordType.Stdin, end - at));
      writer.write(bytes, at, end);
      at = end;
    }
  }

  protected override writeBodyEnd(_: Exchange, writer: SocketWriter): void {
    writer.copy(END_OF_STDIN, 0, END_OF_STDIN.length);
  }

  override onData(chunk: Uint8Array): void {
    const { ex } = this;
    if (ex === null) {
      // Unsolicited, or after a response that has gone on without it: the connection serves no other request.
      this.shut(true);
      return;
    }
    if (!this.readRecords(chunk, ex)) {
      this.fail(Fault.UpstreamMalformed, FaultDetail.NotHttp);
      return;
    }
    if (this.outputTo > this.outputFrom) this.receive(chunk, this.outputFrom, this.outputTo);
    if (this.isOver && this.ex === ex) this.endRun();
  }

  /**
   * Puts what is output in a chunk into one piece, over the headers of records in between: that costs less than what each piece
   * costs on its way to the client.
   * @returns whether its records are those of a response
   */
  private readRecords(chunk: Uint8Array, ex: Exchange): boolean {
    const { reader } = this;
    this.outputFrom = 0;
    this.outputTo = 0;
    for (let at = 0; at < chunk.length; at = reader.consumed) {
      const event = reader.next(chunk, at, chunk.length);
      if (event === RecordEvent.Output) this.takeOutput(chunk, reader.from, reader.to);
      else if (event === RecordEvent.ErrorText) this.noteErrors(ex, chunk, reader.from, reader.to);
      else if (event === RecordEvent.End) this.isOver = true;
      else if (event === RecordEvent.Failed) return false;
    }
    return true;
  }

  private takeOutput(chunk: Uint8Array, from: number, to: number): void {
    if (this.outputTo === 0) this.outputFrom = from;
    else chunk.copyWithin(this.outputTo, from, to);
    this.outputTo = this.outputTo === 0 ? to : this.outputTo + to - from;
  }

  /** The application has ended the request, and all that it has put out has been handed on, or is held for the client. */
  private endRun(): void {
    if (this.runsUntilEnd) return this.endResponse();
    const { protocolStatus } = this.reader;
    // It has not begun with the request: another may.
    if (this.awaitsHead && protocolStatus === ProtocolStatus.Overloaded)
      this.fail(Fault.OriginQueueFull, FaultDetail.None, false);
    else this.fail(this.awaitsHead ? Fault.UpstreamMalformed : Fault.UpstreamUnavailable, this.lossOf(undefined));
  }

  protected override isReusable(): boolean {
    if (this.isOver) this.tellErrors();
    return this.keeps && this.isOver && !this.isLost;
  }

  override onEnd(): void {
    this.onClose();
  }

  /** Only the record that ends a request ends a response: a connection that just closes has cut it. */
  override onClose(reason?: unknown): void {
    this.isLost = true;
    this.isAsked = false;
    // What is held for the client is all there.
    if (this.isOver && this.runsUntilEnd) return;
    super.onClose(reason);
  }

  /** The application learns that its request is given up; one that does not ask goes on, as behind every gateway. */
  protected override shut(abruptly: boolean): void {
    const { writer } = this.link;
    const isTold = abruptly && this.isAsked && !this.isOver && writer !== null && !writer.blocked;
    this.isAsked = false;
    this.tellErrors();
    if (isTold) writer.copy(ABORT_RECORD, 0, ABORT_RECORD.length);
    super.shut(abruptly && !isTold);
  }

  private noteErrors(ex: Exchange, chunk: Uint8Array, from: number, to: number): void {
    this.errors ??= {
      requestId: ex.response.requestId(),
      script: ex.script!.scriptName,
      kept: new KeptBytes(),
      bytes: 0,
    };
    const taken = Math.min(MAX_SCRIPT_ERROR_BYTES - this.errors.bytes, to - from);
    // Copies: what came with it is not kept.
    if (taken > 0) this.errors.kept.keep(chunk, from, from + taken);
    this.errors.bytes += taken;
  }

  private tellErrors(): void {
    const { errors } = this;
    if (errors === null) return;
    this.errors = null;
    const text = errors.kept.takeWhole().toString("utf8");
    this.pool.context.onScriptErrors?.(this.pool.label, errors.requestId, errors.script, text);
  }
}

/** What a script has written of errors, and the request that it was for, which may be over when the last of it comes. */
interface ScriptErrors {
  readonly requestId: string;
  readonly script: string;
  readonly kept: KeptBytes;
  bytes: number;
}
