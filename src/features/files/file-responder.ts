import { closeSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import type { Exchange, ResponseSource } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { Framing, Method } from "../../message/request-head.ts";
import { ByteRange, RangeVerdict } from "../../proto/semantics/byte-range.ts";
import { judgePreconditions, Precondition, rangeApplies } from "../../proto/semantics/precondition.ts";
import { type ContainedRoot, FileLookup } from "./contained-root.ts";
import { CODING_SUFFIXES, chooseCoding } from "./content-coding.ts";
import type { FileEntry } from "./file-cache.ts";
import { FileIdentity } from "./file-identity.ts";
import { outsideFile, PRECONDITION_FAILED } from "./file-responses.ts";
import { type Defer, FileStream } from "./file-stream.ts";
import type { FileField, FileVariant } from "./file-variant.ts";
import { OpenFile, type OpenFiles } from "./open-file.ts";

/** Answers GET and HEAD out of an entry: coding, conditions, range, and then the bytes. */
export class FileResponder {
  private readonly root: ContainedRoot;
  private readonly open: OpenFiles;
  private readonly clock: Clock;
  private readonly defer: Defer;
  private readonly range: ByteRange = new ByteRange();

  private readonly isPlain: boolean;

  /** @param isPlain whether precompressed files are not used */
  constructor(root: ContainedRoot, open: OpenFiles, clock: Clock, defer: Defer, isPlain = false) {
    this.isPlain = isPlain;
    this.root = root;
    this.open = open;
    this.clock = clock;
    this.defer = defer;
  }

  /**
   * Answers a request.
   * @returns false if the file on the disk is no longer the one in `entry`; nothing has been written then
   */
  answer(ex: Exchange, entry: FileEntry): boolean {
    const headers = ex.request.headers;
    const variant = entry.variant(this.isPlain || entry.available === 1 ? 0 : chooseCoding(headers, entry.available));
    // Conditions are for a success; a page that stands in for a missing file is none (RFC 9110 §13.2.1).
    if (entry.resource.status !== 200 || !isSpecial(headers)) return this.sendWhole(ex, entry, variant);
    return this.answerSpecial(ex, entry, variant);
  }

  /** RFC 9110 §13.2.2: the conditions, then If-Range and the range. */
  private answerSpecial(ex: Exchange, entry: FileEntry, variant: FileVariant): boolean {
    const headers = ex.request.headers;
    const nowMs = this.clock.nowMs;
    const condition = judgePreconditions(headers, variant, nowMs);
    if (condition === Precondition.Failed) {
      ex.sink.fixed(ex, PRECONDITION_FAILED);
      return true;
    }
    if (condition === Precondition.NotModified) {
      sendNotModified(ex, variant);
      return true;
    }
    // RFC 9110 §14.2: Range means something for GET only.
    const range = headers.find(HeaderId.Range);
    if (ex.request.method !== Method.Get || range < 0 || headers.find(HeaderId.Range, range + 1) >= 0) {
      return this.sendWhole(ex, entry, variant);
    }
    if (!rangeApplies(headers, variant, nowMs)) return this.sendWhole(ex, entry, variant);
    const size = variant.identity.sizeBytes;
    const verdict = this.range.resolve(headers.valueText(range), size);
    if (verdict === RangeVerdict.Whole) return this.sendWhole(ex, entry, variant);
    if (verdict === RangeVerdict.Part) return this.sendPart(ex, entry, variant, this.range.from, this.range.to);
    ex.sink.fixed(ex, outsideFile(size));
    return true;
  }

  private sendWhole(ex: Exchange, entry: FileEntry, variant: FileVariant): boolean {
    if (variant.held !== null) {
      ex.sink.fixed(ex, variant.held);
      return true;
    }
    const size = variant.identity.sizeBytes;
    if (ex.request.method === Method.Head || size === 0) {
      makeHead(ex, entry.resource.status, variant.fields, size);
      if (ex.request.method === Method.Head) {
        withoutBody(ex, true);
        ex.source = new UnsentContent(variant.identity.key);
      }
      ex.sink.head(ex);
      ex.sink.end(ex);
      return true;
    }
    return this.stream(ex, entry, variant, 0, size, "");
  }

  private sendPart(ex: Exchange, entry: FileEntry, variant: FileVariant, from: number, to: number): boolean {
    const contentRange = `bytes ${from}-${to - 1}/${variant.identity.sizeBytes}`;
    if (variant.held === null) return this.stream(ex, entry, variant, from, to, contentRange);
    makePartHead(ex, variant, to - from, contentRange);
    ex.sink.head(ex);
    ex.sink.body(ex, variant.held.body, from, to);
    ex.sink.end(ex);
    return true;
  }

  /** Streams the file, if it is still as it was found. */
  private stream(
    ex: Exchange,
    entry: FileEntry,
    variant: FileVariant,
    from: number,
    to: number,
    contentRange: string,
  ): boolean {
    const file = this.kept(variant) ?? this.openAnew(entry, variant);
    if (file === null) return false;
    if (contentRange === "") makeHead(ex, entry.resource.status, variant.fields, to - from);
    else makePartHead(ex, variant, to - from, contentRange);
    const stream = new FileStream(file, from, to, this.defer);
    ex.source = stream;
    ex.sink.head(ex);
    stream.onWritable(ex);
    return true;
  }

  /** The file that an earlier response was sent from, held once more; null if it is closed, or has been changed, replaced or removed. */
  private kept(variant: FileVariant): OpenFile | null {
    const file = variant.lastOpen;
    if (file === null || !this.open.has(file)) return null;
    if (FileIdentity.ofOpen(file.fd).equals(file.identity)) {
      file.hold();
      return file;
    }
    this.open.drop(file);
    return null;
  }

  /** Opens the file and judges it anew; null if another is there by now. */
  private openAnew(entry: FileEntry, variant: FileVariant): OpenFile | null {
    const { root } = this;
    if (root.open(entry.target + CODING_SUFFIXES[variant.coding]) !== FileLookup.File) return null;
    const identity = root.identity!;
    if (!identity.equals(variant.identity)) {
      closeSync(root.fd);
      return null;
    }
    const file = new OpenFile(root.fd, identity);
    if (this.open.keep(file)) variant.lastOpen = file;
    return file;
  }
}

/** In the place of the body of a response to HEAD: what it would be. */
class UnsentContent implements ResponseSource {
  readonly contentKey: string;

  constructor(contentKey: string) {
    this.contentKey = contentKey;
  }

  onWritable(): void {}

  onCancelled(): void {}
}

/** Whether the request has a condition or a range: their ids stand in a row. One pass, since every request is asked. */
function isSpecial(headers: HeaderBlock): boolean {
  const ids = headers.ids;
  const count = headers.count;
  for (let i = 0; i < count; i++) {
    const id = ids[i]!;
    if (id >= HeaderId.IfMatch && id <= HeaderId.Range) return true;
  }
  return false;
}

function sendNotModified(ex: Exchange, variant: FileVariant): void {
  makeHead(ex, 304, variant.notModifiedFields, 0);
  withoutBody(ex, false);
  ex.sink.head(ex);
  ex.sink.end(ex);
}

/** No body follows the head that was made. RFC 9110 §9.3.2 (HEAD), §15.4.5 (304). */
function withoutBody(ex: Exchange, sayLength: boolean): void {
  ex.response.framing = Framing.None;
  ex.response.lengthWithoutBody = sayLength;
  ex.response.withoutBody = true;
}

function makePartHead(ex: Exchange, variant: FileVariant, length: number, contentRange: string): void {
  makeHead(ex, 206, variant.fields, length);
  ex.response.headers.add("Content-Range", contentRange);
}

function makeHead(ex: Exchange, status: number, fields: readonly FileField[], length: number): void {
  const response = ex.response;
  response.status = status;
  response.framing = Framing.Length;
  response.contentLength = length;
  response.headers.resetOwn();
  for (let i = 0; i < fields.length; i++) response.headers.add(fields[i]![0], fields[i]![1]);
}
