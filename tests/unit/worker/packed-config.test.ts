import { expect, test } from "bun:test";
import { ConfigPacket, unpackConfig } from "../../../src/worker/packed-config.ts";
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
