import { expect, test } from "bun:test";
import { MtlsMethod } from "../../../../src/features/auth/mtls-method.ts";
import type { ClientIdentity } from "../../../../src/message/client-peer.ts";
import { Exchange } from "../../../../src/message/exchange.ts";
import { IDLE_PORTS } from "../../../../src/message/idle-ports.ts";

/** Who a certificate with these parts is. */
function identityOf(parts: Partial<ClientIdentity>) {
  const ex = new Exchange(IDLE_PORTS);
  const shown = { subject: "CN=reporting,O=Example", uris: [], dnsNames: [], sha256: "ab", ...parts } as ClientIdentity;
  ex.client = Object.assign(Object.create(ex.client), { identity: shown });
  const judgement = new MtlsMethod({ subjects: ["*"], uris: [], fingerprints: [] }).judge(ex);
  if (judgement.kind !== "in") throw new Error("refused");
  return judgement.identity;
}

test("names are joined with commas, without those that have commas themselves", () => {
  const { claims } = identityOf({
    uris: ["spiffe://a/b", "spiffe://a/x,spiffe://a/admin"],
    dnsNames: ["a.test", "b.test,c.test"],
  });
  expect(claims).toMatchObject({
    uri: "spiffe://a/b",
    dns: "a.test",
    cn: "reporting",
    subject: "CN=reporting,O=Example",
  });
});

test("a name that cannot be told exactly is no user", () => {
  expect(identityOf({ subject: "CN=a\u0007b", uris: ["spiffe://a/b"] })).toMatchObject({
    user: "spiffe://a/b",
    claims: { cn: "" },
  });
});
