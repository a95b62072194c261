// docs/security.md#shared-resources-and-their-bounds: one client's streams take no codec from another's.
import { expect, test } from "bun:test";
import { CodecTurns, MAX_SLICES } from "../../../../src/features/compress/codec-turns.ts";
import { Codecs } from "../../../../src/features/compress/codecs.ts";
import { CompressedStream } from "../../../../src/features/compress/compressed-stream.ts";
import type { Exchange } from "../../../../src/message/exchange.ts";
import { Coding } from "../../../../src/proto/semantics/accept-encoding.ts";

const exchangeOf = (address: string): Exchange => ({ clientIp: address, forwardedIp: address }) as never;

test("networks take turns, and within each its clients", () => {
  const turns = new CodecTurns();
  const order: string[] = [];
  const take = (address: string) => {
    const owner = { onTurn: () => void order.push(address) };
    return turns.take(exchangeOf(address), owner);
  };
  for (let i = 0; i < MAX_SLICES; i++) expect(take("192.0.2.1")).toBeNull();
  const waiting = ["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2", "198.51.100.1"].map(take);
  expect(waiting).not.toContain(null);
  turns.drop(waiting[1]!);
  for (let i = 0; i < waiting.length - 1; i++) turns.leave();
  expect(order).toEqual(["192.0.2.1", "198.51.100.1", "192.0.2.2", "192.0.2.1"]);
  for (let i = 0; i < MAX_SLICES; i++) turns.leave();
  for (let i = 0; i < MAX_SLICES; i++) expect(take("192.0.2.9")).toBeNull();
  expect(take("192.0.2.9")).not.toBeNull();
});

test.each([Coding.Gzip, Coding.Brotli, Coding.Zstd])(
  "endless bodies of one client cost another's a turn each (coding %i), and streams that end give theirs back",
  async (coding) => {
    const services = {
      codecs: new Codecs({ nowMs: 0 }, { compressed(): void {}, compressionSkipped(): void {} }),
      inTurn: (work: () => void): void => work(),
    } as never;
    const bytes = Buffer.alloc(65_536, "a");
    let slices = 0;
    const hostile = exchangeOf("192.0.2.1");
    const endless: CompressedStream[] = [];
    for (let i = 0; i < 40; i++) {
      const more = (): void => {
        do slices++;
        while (endless[i]!.write(hostile, bytes, 0, bytes.length));
      };
      const taker = { give: () => true, wantMore: more, complete: () => {}, fail: () => {} };
      endless.push(new CompressedStream(taker, services, coding, 1, true));
      more();
    }
    const ex = exchangeOf("198.51.100.1");
    const done = Promise.withResolvers<number>();
    const fair = new CompressedStream(
      {
        give: () => true,
        wantMore: () => {},
        complete: (_ex, _pieces, bytesIn) => done.resolve(bytesIn),
        fail: done.reject,
      },
      services,
      coding,
      1,
      true,
    );
    const before = slices;
    for (let n = 0; n < 10; n++) fair.write(ex, bytes, 0, bytes.length);
    fair.finish(ex);
    expect(await done.promise).toBe(10 * bytes.length);
    // Eleven turns of this client, each behind those that are under way.
    expect(slices - before).toBeLessThan(11 * (MAX_SLICES + 2));
    for (const stream of [...endless, fair]) stream.close();
    const { turns } = (services as { codecs: Codecs }).codecs;
    for (let i = 0; i < MAX_SLICES; i++) expect(turns.take(ex, { onTurn: () => {} })).toBeNull();
  },
);
