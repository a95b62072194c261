import { describe, expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { addressRules } from "../../../../src/features/client/address-rules.ts";
import { RouteAddressPhase, ServerAddressPhase } from "../../../../src/features/client/address-rules-phase.ts";
import { ClientAddressPhase } from "../../../../src/features/client/client-address-phase.ts";
import { RememberedNetworks } from "../../../../src/features/client/remembered-networks.ts";
import type { IpRules } from "../../../../src/features/client/settings.ts";
import { ClientPeer } from "../../../../src/message/client-peer.ts";
import { Verdict } from "../../../../src/message/exchange.ts";
import type { ClientPlaces } from "../../../../src/message/ports.ts";
import { fakeExchange, fakeRoute } from "../telemetry/exchange-fake.ts";
import { networkSet, networks } from "./networks.ts";

describe("the client's address", () => {
  const phase = new ClientAddressPhase(new RememberedNetworks(networkSet("10.0.0.0/8")));

  test("is what a trusted proxy tells", () => {
    const { ex } = fakeExchange({ client: "10.0.0.1", headers: [["X-Forwarded-For", "203.0.113.9"]] });
    expect(phase.run(ex)).toBe(Verdict.Next);
    expect([ex.clientIp, ex.fromTrustedProxy, ex.client.address]).toEqual(["203.0.113.9", true, "10.0.0.1"]);
  });

  test("is the proxy's own where that tells nothing", () => {
    const { ex } = fakeExchange({ client: "10.0.0.1" });
    phase.run(ex);
    expect([ex.clientIp, ex.fromTrustedProxy]).toEqual(["10.0.0.1", true]);
  });

  test("is the peer's whatever a stranger tells", () => {
    const { ex } = fakeExchange({ client: "192.0.2.1", headers: [["X-Forwarded-For", "203.0.113.9"]] });
    phase.run(ex);
    expect([ex.clientIp, ex.fromTrustedProxy]).toEqual(["192.0.2.1", false]);
  });

  test("comes from the PROXY header, which says who is trusted too", () => {
    const { ex } = fakeExchange({ headers: [["X-Forwarded-For", "203.0.113.9"]] });
    ex.client = new ClientPeer("10.0.0.1", false, 80, "192.0.2.1");
    phase.run(ex);
    expect([ex.clientIp, ex.client.socketAddress, ex.client.isDirect()]).toEqual(["192.0.2.1", "10.0.0.1", false]);
    ex.client = new ClientPeer("192.0.2.1", false, 80, "10.0.0.1");
    phase.run(ex);
    expect(ex.clientIp).toBe("203.0.113.9");
  });
});

describe("a peer's address", () => {
  test("is asked for once, and only when somebody wants to know", () => {
    let asked = 0;
    const socket = {
      get remoteAddress() {
        asked++;
        return "::ffff:192.0.2.1";
      },
    };
    const peer = new ClientPeer(socket, false, 80);
    expect(asked).toBe(0);
    expect([peer.address, peer.socketAddress, peer.isDirect(), asked]).toEqual(["192.0.2.1", "192.0.2.1", true, 1]);
  });

  test("is empty where it is gone", () => {
    expect(new ClientPeer({ remoteAddress: undefined }, false, 80).address).toBe("");
  });
});

type PlaceRules = Pick<IpRules, "allowCountries" | "denyCountries" | "denyAsns">;
const NO_PLACES: PlaceRules = { allowCountries: [], denyCountries: [], denyAsns: [] };
const COUNTRIES: Readonly<Record<string, string>> = { "192.0.2.1": "DE", "192.0.2.2": "FR", "10.0.0.1": "DE" };
const PLACES: ClientPlaces = {
  countryOf: (address) => COUNTRIES[address] ?? "",
  asnOf: (address) => (address === "192.0.2.2" ? 64500 : 0),
};

describe("address rules", () => {
  const admits = (rules: { allow?: string[]; deny?: string[] } & Partial<PlaceRules>, address: string) => {
    const { allow = [], deny = [], ...places } = rules;
    const built = addressRules({ ...NO_PLACES, ...places, allow: networks(...allow), deny: networks(...deny) }, PLACES);
    return built === null ? null : built.admit(address);
  };

  test("deny comes first, then allow, then nobody but those allowed", () => {
    const rules = { allow: ["10.0.0.0/8", "2001:db8::/32"], deny: ["10.1.0.0/16"] };
    expect(admits(rules, "10.2.0.1")).toBe(true);
    expect(admits(rules, "2001:db8::1")).toBe(true);
    expect(admits(rules, "10.1.0.1")).toBe(false);
    expect(admits(rules, "192.0.2.1")).toBe(false);
    expect(admits({ deny: ["10.1.0.0/16"] }, "192.0.2.1")).toBe(true);
    expect(admits({ deny: ["10.1.0.0/16"] }, "10.1.2.3")).toBe(false);
    expect(admits({ allow: ["10.0.0.0/8"] }, "")).toBe(false);
    expect(admits({ deny: ["10.1.0.0/16"] }, "")).toBe(false);
    expect(admits({}, "192.0.2.1")).toBeNull();
  });

  test("by country and network: what is denied is denied whatever allows it, and one list that allows is enough", () => {
    const only = { allowCountries: ["DE"] };
    expect(["192.0.2.1", "192.0.2.2", "198.51.100.1", "unknown", ""].map((one) => admits(only, one))).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(admits({ ...only, allow: ["198.51.100.0/24"] }, "198.51.100.1")).toBe(true);
    expect(admits({ ...only, allow: ["198.51.100.0/24"] }, "192.0.2.1")).toBe(true);
    expect(admits({ ...only, deny: ["192.0.2.0/24"] }, "192.0.2.1")).toBe(false);
    expect(admits({ denyCountries: ["FR"], allow: ["192.0.2.0/24"] }, "192.0.2.2")).toBe(false);
    expect(admits({ denyCountries: ["FR"] }, "198.51.100.1")).toBe(true);
    expect(admits({ denyCountries: ["FR"] }, "unknown")).toBe(true);
    expect(admits({ denyCountries: ["FR"] }, "")).toBe(false);
    expect(admits({ denyAsns: [64500] }, "192.0.2.2")).toBe(false);
    expect(admits({ denyAsns: [64500] }, "192.0.2.1")).toBe(true);
  });

  test("of the server refuse by the client's real address", () => {
    const phase = new ServerAddressPhase(
      addressRules({ ...NO_PLACES, allow: [], deny: networks("203.0.113.0/24") }, PLACES)!,
    );
    const { ex, sink } = fakeExchange({ client: "10.0.0.1" });
    expect(phase.run(ex)).toBe(Verdict.Next);
    ex.forwardedIp = "203.0.113.9";
    expect(phase.run(ex)).toBe(Verdict.Done);
    expect(sink.aborted).toBe(Fault.AccessDenied);
  });

  test("of a route hold for that route", () => {
    const rules = addressRules({ ...NO_PLACES, allow: networks("10.0.0.0/8"), deny: [] }, PLACES);
    const { ex, sink } = fakeExchange({ client: "192.0.2.1", route: fakeRoute("/a") });
    expect(new RouteAddressPhase([null]).run(ex)).toBe(Verdict.Next);
    expect(new RouteAddressPhase([rules]).run(ex)).toBe(Verdict.Done);
    expect(sink.aborted).toBe(Fault.AccessDenied);
  });
});

test("remembered networks give the verdicts of the networks, however many addresses come", () => {
  const remembered = new RememberedNetworks(networkSet("10.0.0.0/9"));
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 10_000; i++) {
      const address = `10.${(i * 7) & 255}.${i >> 8}.${i & 255}`;
      expect(remembered.has(address)).toBe(((i * 7) & 255) < 128);
    }
  }
});
