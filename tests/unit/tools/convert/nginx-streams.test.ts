import { describe, expect, test } from "bun:test";
import { planOf } from "../../../../src/tools/convert/convert.ts";

/** What the servers of a `stream` block become, and what is noted. */
function converted(block: string) {
  const plan = planOf("nginx", "nginx.conf", `stream {\n${block}\n}\n`);
  return { streams: plan.streams.map(({ keys }) => keys), notes: plan.ledger.notes().map(({ why }) => why) };
}

describe("streams of nginx", () => {
  test("a server with a group, times and networks", () => {
    const { streams, notes } = converted(`
      upstream pg { least_conn; server 10.0.0.5:5432 weight=2 max_fails=3; server 10.0.0.6:5432 backup max_fails=3; server 10.0.0.7:1 down; }
      server { listen 5432; proxy_pass pg; proxy_timeout 1h; proxy_connect_timeout 2s; proxy_protocol on; allow 10.0.0.0/8; deny all; }`);
    expect(streams).toEqual([
      {
        type: "tcp",
        listen: ["0.0.0.0:5432"],
        targets: [
          { url: "10.0.0.5:5432", weight: 2 },
          { url: "10.0.0.6:5432", backup: true },
        ],
        load_balancing: { policy: "least_conn" },
        circuit_breaker: { failure_threshold: 3 },
        connect_timeout: "2s",
        idle_timeout: "1h",
        send_proxy: "v1",
        ip_rules: { allow: ["10.0.0.0/8"] },
      },
    ]);
    expect(notes).toEqual(["no server takes requests of HTTP: the gateway does so for this machine alone"]);
  });

  test("datagrams", () => {
    const { streams } = converted("server { listen 127.0.0.1:53 udp; proxy_pass 10.0.0.7:53; proxy_responses 1; }");
    expect(streams).toEqual([{ type: "udp", listen: ["127.0.0.1:53"], target: "10.0.0.7:53", responses: 1 }]);
  });

  test("names of TLS, by the group that each leads to", () => {
    const { streams, notes } = converted(`
      map $ssl_preread_server_name $to { hostnames; a.test 10.0.0.1:443; b.test 10.0.0.1:443; *.c.test 10.0.0.2:443; default 10.0.0.3:443; ~x 10.0.0.4:1; }
      server { listen 443; ssl_preread on; proxy_pass $to; }`);
    expect(streams).toEqual([
      { type: "tls_passthrough", hosts: ["a.test", "b.test"], target: "10.0.0.1:443" },
      { type: "tls_passthrough", hosts: ["*.c.test"], target: "10.0.0.2:443" },
    ]);
    expect(notes).toHaveLength(4);
  });

  test.each([
    ["TLS that ends there", "server { listen 1 ssl; proxy_pass a:1; }"],
    ["TLS to the target", "server { listen 1; proxy_pass a:1; proxy_ssl on; }"],
    [
      "networks that no ip_rules say",
      "server { listen 1; proxy_pass a:1; allow 10.0.0.1; deny 10.0.0.0/8; allow all; }",
    ],
    ["a target that is known later", "server { listen 1; proxy_pass $to; }"],
  ])("%s: none, and a note", (_, block) => {
    const { streams, notes } = converted(block);
    expect(streams).toEqual([]);
    expect(notes.length).toBeGreaterThan(0);
  });
});
