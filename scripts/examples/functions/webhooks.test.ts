import { beforeAll, expect, test } from "bun:test";
import { type Gateway, startEdge } from "edge:test";
import { createHmac } from "node:crypto";

const SECRET = "the secret of this test";
const body = JSON.stringify({ id: "evt_1" });
const hmac = (text: string, secret = SECRET) => createHmac("sha256", secret).update(text).digest("hex");
let edge: Gateway;

beforeAll(async () => {
  edge = await startEdge({ env: { GITHUB_SECRET: SECRET, STRIPE_SECRET: SECRET } });
});

const post = (path: string, headers: Record<string, string>, text = body) =>
  edge.fetch(path, { method: "POST", headers, body: text });

test("GitHub: a signed delivery is taken, and worked on", async () => {
  const headers = { "X-Hub-Signature-256": `sha256=${hmac(body)}`, "X-GitHub-Event": "push" };
  expect((await post("/hooks/github", headers)).status).toBe(202);
  await edge.logged((line) => JSON.stringify(line).includes("evt_1"));
});

test("GitHub: another body, another secret, half a signature, none", async () => {
  const right = { "X-Hub-Signature-256": `sha256=${hmac(body)}` };
  expect((await post("/hooks/github", right, `${body} `)).status).toBe(401);
  expect((await post("/hooks/github", { "X-Hub-Signature-256": `sha256=${hmac(body, "x")}` })).status).toBe(401);
  expect((await post("/hooks/github", { "X-Hub-Signature-256": `sha256=${hmac(body).slice(0, 32)}` })).status).toBe(
    401,
  );
  expect((await post("/hooks/github", {})).status).toBe(401);
});

const stripe = (seconds: number, secret = SECRET) =>
  `t=${seconds},v0=ignored,v1=${hmac(`${seconds}.${body}`, secret)},v1=${"0".repeat(64)}`;
const now = (): number => Math.floor(Date.now() / 1000);

test("Stripe: a signed delivery is taken; an old one and one with another secret are not", async () => {
  expect((await post("/hooks/stripe", { "Stripe-Signature": stripe(now()) })).status).toBe(202);
  expect((await post("/hooks/stripe", { "Stripe-Signature": stripe(now() - 600) })).status).toBe(401);
  expect((await post("/hooks/stripe", { "Stripe-Signature": stripe(now(), "x") })).status).toBe(401);
});

test("a body beyond the limit of the route is not read", async () => {
  expect((await post("/hooks/github", {}, "x".repeat(300 * 1024))).status).toBe(413);
});
