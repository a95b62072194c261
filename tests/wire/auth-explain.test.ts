// What `edge explain` says of `auth`. docs/explain.md
import { expect, test } from "bun:test";
import { runEdge } from "../harness/gateway.ts";

const hash = await Bun.password.hash("pw", { algorithm: "bcrypt", cost: 4 });
const auth = {
  any: [
    { basic: { users: { alice: hash } } },
    { forward: { url: "http://127.0.0.1:1/verify", response_headers: ["X-Who"] } },
  ],
};
const target = "http://127.0.0.1:2";
const options = {
  config: { server: { auth: { basic: { users: { alice: hash } } } } },
  routes: [
    { type: "upstream", prefix: "/any", target, auth },
    { type: "upstream", prefix: "/asks", target, auth: { forward: { url: "http://127.0.0.1:1/verify" } } },
    { type: "upstream", prefix: "/open", target, auth: false },
    { type: "upstream", prefix: "/", target },
  ],
};

async function explain(...args: readonly string[]): Promise<string> {
  const { stdout, code } = await runEdge(["explain", ...args], options);
  expect(code).toBe(0);
  return stdout;
}

test("names the methods and what they set, and refuses without credentials", async () => {
  const page = await explain("GET /x");
  expect(page).toMatch(/auth +basic \(the server's\)/);
  expect(page).toMatch(/response +401 Unauthorized +\(unauthenticated\)/);
  expect(page).toContain('WWW-Authenticate: Basic realm="Restricted"');
  expect(await explain("GET /any")).toMatch(/auth +any of basic, forward \(the route's\); sets x-who/);
});

test("asks no service, and takes off what clients may not say", async () => {
  expect(await explain("GET /asks")).toContain("from the authentication service http://127.0.0.1:1");
  const open = await explain("GET /open", "-H", "X-Who: root");
  expect(open).toContain("- X-Who: root");
  expect(open).not.toMatch(/^auth /m);
});

test("as JSON", async () => {
  const { auth: found } = JSON.parse(await explain("GET /any", "--json")) as { auth: object };
  expect(found).toEqual({ methods: ["basic", "forward"], of: "route", sets: ["x-who"], keep_authorization: false });
});
