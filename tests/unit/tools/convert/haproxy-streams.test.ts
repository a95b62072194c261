import { expect, test } from "bun:test";
import { planOf } from "../../../../src/tools/convert/convert.ts";

/** What the entries in mode tcp become, and what is noted. */
function converted(text: string) {
  const plan = planOf(
    "haproxy",
    "haproxy.cfg",
    `defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1m\n  timeout server 2m\n${text}\n`,
  );
  return { streams: plan.streams.map(({ keys }) => keys), notes: plan.ledger.notes().map(({ why }) => why) };
}

test("a frontend with a backend", () => {
  const { streams, notes } = converted(`frontend pg
  bind *:5432
  default_backend pg
backend pg
  balance leastconn
  server a 10.0.0.5:5432 check inter 3s fall 2 send-proxy-v2
  server b 10.0.0.6:5432 check backup weight 3 send-proxy-v2`);
  expect(streams).toEqual([
    {
      type: "tcp",
      listen: ["0.0.0.0:5432"],
      targets: [{ url: "10.0.0.5:5432" }, { url: "10.0.0.6:5432", weight: 3, backup: true }],
      load_balancing: { policy: "least_conn" },
      health_check: { interval: "3s", unhealthy_threshold: 2 },
      send_proxy: "v2",
      connect_timeout: "5s",
      idle_timeout: "2m",
    },
  ]);
  expect(notes).toEqual([]);
});

test("names of TLS", () => {
  const { streams } = converted(`frontend tls
  bind :443
  tcp-request inspect-delay 5s
  tcp-request content accept if { req_ssl_hello_type 1 }
  acl is_b req.ssl_sni -m end .b.test
  use_backend a if { req.ssl_sni -i a.test www.a.test }
  use_backend b if is_b
backend a
  server a 10.0.0.1:443
backend b
  server b 10.0.0.2:443`);
  expect(streams).toMatchObject([
    { type: "tls_passthrough", hosts: ["a.test", "www.a.test"], targets: [{ url: "10.0.0.1:443" }] },
    { type: "tls_passthrough", hosts: ["*.b.test"], targets: [{ url: "10.0.0.2:443" }] },
  ]);
});

test.each([
  ["TLS that ends there", "listen x\n  bind :1 ssl crt a.pem\n  server a 10.0.0.1:1"],
  ["TLS to the server", "listen x\n  bind :1\n  server a 10.0.0.1:1 ssl verify none"],
  [
    "rules about clients",
    "listen x\n  bind :1\n  tcp-request connection reject if { src 10.0.0.0/8 }\n  server a 10.0.0.1:1",
  ],
  ["ranges of ports", "listen x\n  bind :1-9\n  server a 10.0.0.1:1"],
])("%s: none, and a note", (_, text) => {
  const { streams, notes } = converted(text);
  expect(streams).toEqual([]);
  expect(notes.length).toBeGreaterThan(0);
});
