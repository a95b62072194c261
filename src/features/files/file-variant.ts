import { readSync } from "node:fs";
import { isKeptIn304, PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { CODING_NAMES, Coding } from "../../proto/semantics/accept-encoding.ts";
import { httpDateText } from "../../proto/semantics/http-date.ts";
import type { Validators } from "../../proto/semantics/precondition.ts";
import { FileIdentity } from "./file-identity.ts";
import type { OpenFile } from "./open-file.ts";

/** Files up to this size are held in memory; larger ones are read for each request. */
const HELD_FILE_BYTES = 65536;
/** Readings of a small file that changes under our hands, before it is treated like a large one. */
const READ_ATTEMPTS = 3;

export type FileField = readonly [name: string, value: string];

/** What the variants of one resource have in common. */
export interface Resource {
  /** 200, or 404 for a page that stands in for a missing file. */
  readonly status: number;
  readonly contentType: string;
  /** Value of Cache-Control, or "". */
  readonly cacheControl: string;
}

/** How a file is coded. */
interface FileCoding {
  /** Of this variant. */
  readonly coding: Coding;
  /** The coding that the file has without any; see ownCodingOf. */
  readonly ownCoding: string;
  /** Whether the resource is there in several codings. */
  readonly varies: boolean;
}

/** One representation of a resource: the file itself or a precompressed sibling, with all that is sent with it. */
export class FileVariant implements Validators {
  readonly coding: Coding;
  readonly identity: FileIdentity;
  readonly etag: string;
  readonly lastModifiedS: number;
  readonly lastModifiedText: string;
  /** Whether the resource is there in several codings, so that responses depend on Accept-Encoding. */
  readonly varies: boolean;
  /** Every field of a whole response but Content-Length. */
  readonly fields: readonly FileField[];
  /** The fields of a 304. RFC 9110 §15.4.5: what guides a cache, and nothing of the content. */
  readonly notModifiedFields: readonly FileField[];
  /** The whole response, if the file is small enough to be held. */
  readonly held: PrebuiltResponse | null;
  /** The file that the last response was sent from; it may have been closed since. */
  lastOpen: OpenFile | null = null;

  /**
   * Describes an open file, and reads it if it is small.
   * @param fd the open file; it stays open
   * @param nowMs milliseconds since the epoch
   */
  constructor(
    resource: Resource,
    { coding, ownCoding, varies }: FileCoding,
    fd: number,
    identity: FileIdentity,
    nowMs: number,
  ) {
    const content = identity.sizeBytes <= HELD_FILE_BYTES ? readStable(fd, identity) : null;
    this.coding = coding;
    this.varies = varies;
    this.identity = content === null ? identity : content.identity;
    this.etag = this.identity.entityTag(coding === Coding.Identity ? "" : `-${CODING_NAMES[coding]}`);
    this.lastModifiedS = this.identity.lastModifiedS(nowMs);
    this.lastModifiedText = httpDateText(this.lastModifiedS);
    this.fields = fieldsOf(resource, this, ownCoding);
    this.notModifiedFields = this.fields.filter(([name]) => isKeptIn304(name));
    this.held = content === null ? null : new PrebuiltResponse(resource.status, this.fields, content.bytes);
  }
}

function fieldsOf(resource: Resource, variant: FileVariant, ownCoding: string): FileField[] {
  const fields: FileField[] = [
    ["Content-Type", resource.contentType],
    ["X-Content-Type-Options", "nosniff"],
  ];
  // A page that stands in for a missing file is not that file: nothing may be asked of it by tag, date or range.
  if (resource.status === 200) {
    fields.push(["ETag", variant.etag], ["Last-Modified", variant.lastModifiedText], ["Accept-Ranges", "bytes"]);
  }
  // In the order in which they were applied. RFC 9110 §8.4.
  const codings = [ownCoding, variant.coding === Coding.Identity ? "" : CODING_NAMES[variant.coding]!];
  const encoding = codings.filter((name) => name !== "").join(", ");
  if (encoding !== "") fields.push(["Content-Encoding", encoding]);
  if (variant.varies) fields.push(["Vary", "Accept-Encoding"]);
  if (resource.cacheControl !== "") fields.push(["Cache-Control", resource.cacheControl]);
  return fields;
}

/**
 * Reads a small file whole, so that its bytes and its identity belong together.
 * @returns null if it does not hold still or has grown large
 */
function readStable(fd: number, identity: FileIdentity): { bytes: Buffer; identity: FileIdentity } | null {
  let before = identity;
  for (let attempt = 0; attempt < READ_ATTEMPTS && before.sizeBytes <= HELD_FILE_BYTES; attempt++) {
    const bytes = Buffer.allocUnsafeSlow(before.sizeBytes);
    const length = readFully(fd, bytes, 0);
    const after = FileIdentity.ofOpen(fd);
    if (length === bytes.length && after.hasContentOf(before)) return { bytes, identity: before };
    before = after;
  }
  return null;
}

/**
 * Fills `into` from an open file.
 * @param position where in the file to begin, in bytes
 * @returns bytes read: fewer than asked for only if the file ends
 */
export function readFully(fd: number, into: Buffer, position: number): number {
  let length = 0;
  while (length < into.length) {
    const n = readSync(fd, into, length, into.length - length, position + length);
    if (n === 0) break;
    length += n;
  }
  return length;
}
