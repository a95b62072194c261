// docs/compression.md#cost: when the level drops, and when there is no more room.
import { expect, test } from "bun:test";
import {
  Codecs,
  MAX_COMPRESSION_BYTES,
  SYNC_COMPRESSION_BYTES,
  SYNC_COSTLY_BYTES,
  streamBytes,
  wholeBytes,
} from "../../../../src/features/compress/codecs.ts";
import { compressionPolicy } from "../../../../src/features/compress/compression-policy.ts";
import { CODING_NAMES, Coding } from "../../../../src/proto/semantics/accept-encoding.ts";
import { MediaTypes } from "../../../../src/proto/semantics/media-types.ts";
import { decoded, sampleJson } from "../../../harness/decoding.ts";

const CODINGS = [Coding.Brotli, Coding.Zstd, Coding.Gzip];
const COUNTER = { compressed(): void {}, compressionSkipped(): void {} };
const settings = (level: number) => ({
  enabled: true,
  encodings: ["zstd", "br", "gzip", "br"] as const,
  types: ["text/*"],
  minBytes: 0,
  level,
});

/** Codecs on a clock of the test's own. */
function codecs(): { codecs: Codecs; turn: { nowMs: number } } {
  const turn = { nowMs: 1000 };
  return { codecs: new Codecs(turn, COUNTER), turn };
}

test("each coding at each level gives back what went in, and a higher level no more bytes in all", () => {
  const body = sampleJson(100_000);
  for (const coding of CODINGS) {
    for (let level = 1; level <= 9; level++) {
      const packed = codecs().codecs.whole(coding, level, body);
      expect(decoded(CODING_NAMES[coding], packed).equals(body)).toBe(true);
    }
    const [first, last] = [1, 9].map((level) => codecs().codecs.whole(coding, level, body).length);
    expect(last!).toBeLessThan(first!);
  }
});

test("a policy names each coding once, with its own default level or the one that is set", () => {
  const policy = compressionPolicy(settings(0), 0);
  expect(policy.codings).toEqual([Coding.Zstd, Coding.Brotli, Coding.Gzip]);
  expect(CODINGS.map((coding) => policy.levels[coding])).toEqual([4, 3, 5]);
  const set = compressionPolicy(settings(9), 0);
  expect(CODINGS.map((coding) => set.levels[coding])).toEqual([9, 9, 9]);
  expect([wholeBytes(Coding.Gzip, policy), wholeBytes(Coding.Gzip, set)]).toEqual([
    SYNC_COMPRESSION_BYTES,
    SYNC_COSTLY_BYTES,
  ]);
});

test("the level drops while compression takes half of the time, and comes back", () => {
  const { codecs: own, turn } = codecs();
  const policy = compressionPolicy(settings(5), 0);
  const level = () => own.levelOf(Coding.Gzip, policy);
  expect(level()).toBe(5);
  // On this clock no time has passed for what took some milliseconds.
  const body = sampleJson(SYNC_COMPRESSION_BYTES);
  const startedMs = performance.now();
  while (performance.now() - startedMs < 80) own.whole(Coding.Brotli, 9, body);
  expect(level()).toBe(5);
  turn.nowMs += 100;
  expect(level()).toBe(1);
  turn.nowMs += 99;
  expect(level()).toBe(1);
  turn.nowMs += 1;
  expect(level()).toBe(5);
});

test("room is bounded, and from half of it on the level is the lowest", () => {
  const { codecs: own } = codecs();
  const policy = compressionPolicy(settings(5), 0);
  const one = streamBytes(Coding.Zstd);
  let taken = 0;
  while (own.reserve(one)) {
    taken++;
    expect(own.levelOf(Coding.Zstd, policy)).toBe(taken * one > MAX_COMPRESSION_BYTES / 2 ? 1 : 5);
  }
  expect(taken).toBe(Math.floor(MAX_COMPRESSION_BYTES / one));
  for (; taken > 0; taken--) own.release(one);
  expect([own.levelOf(Coding.Zstd, policy), own.reserve(MAX_COMPRESSION_BYTES)]).toEqual([5, true]);
});

test("media types: whole ones, those of a kind, those with a suffix; never gRPC", () => {
  const types = new MediaTypes(["text/*", "Application/JSON", "application/*+json", "application/*"]);
  const some = new MediaTypes(["text/*", "Application/JSON", "application/*+json"]);
  const of = (all: MediaTypes, ...values: string[]) => values.map((value) => all.has(value));
  expect(of(some, "text/html", "TEXT/CSS;charset=utf-8", "application/json", "application/ld+json ; x=y")).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(of(some, "", "text/", "text", "application/jsonp", "application/+json", "image/png", "xtext/html")).toEqual(
    new Array(7).fill(false),
  );
  expect(of(types, "application/grpc", "application/grpc+proto", "application/grpc-web", "application/zip")).toEqual([
    false,
    false,
    false,
    true,
  ]);
  expect(of(types, "application/grpc-web-text", "application/grpc-web-text+proto")).toEqual([true, true]);
  // More values than are remembered.
  for (let i = 0; i < 1000; i++) expect(types.has(`text/html; n=${i}`)).toBe(true);
});
