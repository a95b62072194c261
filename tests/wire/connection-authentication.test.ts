// Origins that authenticate connections take all that comes over one for the same client's. docs/security.md#connections-to-origins
import { afterAll, expect, test } from "bun:test";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = ScriptedOrigin.start();
const users = new Map<number, string>();
// As IIS does: who has authenticated once is known for as long as the connection is there.
origin.otherwise((call) => {
  const { connection, fields } = call.request;
  const authorization = fields.get("authorization") ?? "";
  if (/^(ntlm|negotiate)(\s|$)/i.test(authorization)) users.set(connection, authorization);
  call.reply("200 OK", [], `hello ${users.get(connection) ?? "stranger"}`);
});
const gateway = await startGateway({ config: { server: { workers: 1 } }, routes: [upstream("/", origin)] });
afterAll(() => stopAll(gateway, origin));

const ask = async (...lines: readonly string[]) => (await gateway.once(request("GET /", lines))).text;

test.each(["NTLM TlRMTVNTUAADAAAA", "Negotiate YII", "negotiate", "NEGOTIATE\tYII", "nTLM x"])(
  "a connection that has seen %j is used for no other request",
  async (authorization) => {
    expect(await ask()).toBe("hello stranger");
    expect(await ask(`Authorization: ${authorization}`)).toStartWith(`hello ${authorization.split(/\s/)[0]}`);
    for (let i = 0; i < 3; i++) expect(await ask()).toBe("hello stranger");
  },
);

test.each(["Basic YTpi", "Bearer x", "NTLMv2 x", "Negotiated x", "Digest username=negotiate"])(
  "one that has seen %j is kept",
  async (authorization) => {
    await ask();
    const before = origin.connections.length;
    await ask(`Authorization: ${authorization}`);
    await ask();
    expect(origin.connections.length).toBe(before);
  },
);
