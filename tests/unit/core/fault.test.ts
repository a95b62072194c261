import { describe, expect, test } from "bun:test";
import { Fault, FaultKind } from "../../../src/core/fault.ts";
import { FAULTS, faultRow } from "../../../src/core/fault-rows.ts";
import { reasonOf } from "../../../src/core/status.ts";

describe("the table of refusals", () => {
  test("has one row a fault", () => {
    expect(faultRow(Fault.None).label).toBe("none");
    expect(faultRow(Fault.Cancelled)).toBe(FAULTS.at(-1)!);
    expect(faultRow(Fault.BadChunkSize).label).toBe("bad_chunk_size");
    expect(new Set(FAULTS.map((row) => row.label)).size).toBe(FAULTS.length);
  });

  test("closes the connection behind every framing fault", () => {
    expect(FAULTS.filter((row) => row.kind === FaultKind.Framing && !row.close).map((row) => row.label)).toEqual([]);
  });

  test("knows a phrase for every status", () => {
    for (const { status } of FAULTS) if (status !== 0) expect(reasonOf(status)).not.toBe("Unknown");
  });

  test("says nothing that is true of HTTP/2 or HTTP/3 alone: they share this table", () => {
    expect(FAULTS.filter(({ message }) => /HTTP\/[23]/.test(message)).map((row) => row.label)).toEqual([]);
  });

  test("never tells of an upstream's fault more than that it is one", () => {
    expect(faultRow(Fault.UpstreamMalformed).message).toBe(faultRow(Fault.UpstreamUnavailable).message);
  });

  // docs/wire.md and docs/bodies.md
  test.each<[Fault, number, boolean]>([
    [Fault.BadRequestLine, 400, true],
    [Fault.UnsupportedVersion, 505, true],
    [Fault.RequestLineTooLong, 414, true],
    [Fault.HeaderLineTooLong, 431, true],
    [Fault.HeadTooLarge, 431, true],
    [Fault.TooManyFields, 431, true],
    [Fault.LengthAndEncoding, 400, true],
    [Fault.BadTransferEncoding, 400, true],
    [Fault.UnsupportedCoding, 501, true],
    [Fault.BadChunkSize, 400, true],
    [Fault.ChunkExtensionTooLong, 400, true],
    [Fault.ForbiddenTrailer, 400, true],
    [Fault.TrailersTooLarge, 431, true],
    [Fault.BodyTooLarge, 413, true],
    [Fault.ChunkedDisabled, 501, true],
    [Fault.WafBlocked, 403, true],
    [Fault.BodyNotInspected, 413, true],
    [Fault.PrefixEscape, 403, true],
    [Fault.SymlinkEscape, 403, true],
    [Fault.NotFound, 404, false],
    [Fault.MethodNotAllowed, 405, false],
    [Fault.LoopDetected, 508, false],
    [Fault.UpstreamUnavailable, 502, false],
    [Fault.UpstreamMalformed, 502, false],
    [Fault.UpstreamTimeout, 504, false],
    [Fault.NoHealthyTarget, 503, false],
    [Fault.OutOfDescriptors, 503, false],
    [Fault.OutOfSockets, 503, false],
    [Fault.OriginQueueFull, 503, false],
  ])("fault %d is answered %d, closing: %p", (fault, status, close) => {
    expect([faultRow(fault).status, faultRow(fault).close]).toEqual([status, close]);
  });
});
