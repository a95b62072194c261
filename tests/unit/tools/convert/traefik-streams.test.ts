import { expect, test } from "bun:test";
import { planOf } from "../../../../src/tools/convert/convert.ts";

/** What the routers below `tcp` become, and what is noted. */
function converted(routers: string) {
  const services =
    "  services:\n    s: {loadBalancer: {servers: [{address: 10.0.0.1:443}, {address: 10.0.0.2:443}], proxyProtocol: {version: 2}}}\n";
  const plan = planOf("traefik", "dynamic.yml", `tcp:\n  routers:\n${routers}${services}`);
  return { streams: plan.streams.map(({ keys }) => keys), notes: plan.ledger.notes().map(({ why }) => why) };
}

test("TLS that is passed through by name", () => {
  const { streams, notes } = converted(
    "    r: {rule: 'HostSNI(`a.test`) || HostSNI(`b.test`)', service: s, tls: {passthrough: true}}\n",
  );
  expect(streams).toEqual([
    {
      type: "tls_passthrough",
      hosts: ["a.test", "b.test"],
      targets: [{ url: "10.0.0.1:443" }, { url: "10.0.0.2:443" }],
      send_proxy: "v2",
    },
  ]);
  expect(notes).toEqual([]);
});

test.each([
  ["a port of another file", "    r: {rule: 'HostSNI(`*`)', service: s}\n"],
  ["TLS that ends there", "    r: {rule: 'HostSNI(`a.test`)', service: s, tls: {}}\n"],
  [
    "rules about clients",
    "    r: {rule: 'HostSNI(`a.test`)', service: s, middlewares: [m], tls: {passthrough: true}}\n",
  ],
  [
    "addresses in the rule",
    "    r: {rule: 'HostSNI(`a.test`) && ClientIP(`10.0.0.0/8`)', service: s, tls: {passthrough: true}}\n",
  ],
])("%s: none, and a note", (_, routers) => {
  const { streams, notes } = converted(routers);
  expect(streams).toEqual([]);
  expect(notes.length).toBeGreaterThan(0);
});
