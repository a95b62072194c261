import { expect, spyOn, test } from "bun:test";
import { ConfigPacket, collectSource, unpackConfig } from "../../../src/worker/packed-config.ts";
import { configOf } from "../loading/any-config.ts";

test("a packet is of the configuration that is asked for, whatever was asked for before", () => {
  const packet = new ConfigPacket();
  const [one, two] = [configOf("server: {port: 1}\n", "[]"), configOf("server: {port: 2}\n", "[]")];
  const same = (config: typeof one) => config;
  expect(unpackConfig(packet.of(one, same))).toEqual(one);
  expect(packet.of(one, same)).toBe(packet.of(one, same));
  expect(unpackConfig(packet.of(two, same))).toEqual(two);
  packet.forget(two);
  expect(unpackConfig(packet.of(two, same)).server.port).toBe(2);
});

test("changes of a large configuration, one after another, collect a few times", () => {
  const collect = spyOn(Bun, "gc").mockImplementation(() => {});
  const config = configOf("server: {}\n", "[]");
  const large = { ...config, routes: Array.from({ length: 1000 }, () => null) } as unknown as typeof config;
  for (let i = 0; i < 1000; i++) collectSource(large);
  const many = collect.mock.calls.length;
  collect.mockRestore();
  expect(many).toBeGreaterThan(0);
  expect(many).toBeLessThan(10);
});
