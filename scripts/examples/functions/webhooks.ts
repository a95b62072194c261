import { createHmac, timingSafeEqual } from "node:crypto";
import type { Context, FunctionModule } from "edge";

/**
 * Takes webhooks of GitHub (/hooks/github) and Stripe (/hooks/stripe), and does nothing before the signature of the body is right.
 * The body is signed as it was sent: it is read as bytes, and parsed afterwards.
 */
const TOLERANCE_S = 300;

export default {
  async fetch(request, ctx) {
    const body = Buffer.from(await request.arrayBuffer());
    const { pathname } = new URL(request.url);
    if (pathname === "/hooks/github") {
      if (!isOfGitHub(request.headers, body, ctx.env.GITHUB_SECRET)) return refused(ctx);
      return taken(request.headers.get("X-GitHub-Event") ?? "", body, ctx);
    }
    if (pathname === "/hooks/stripe") {
      if (!isOfStripe(request.headers, body, ctx.env.STRIPE_SECRET)) return refused(ctx);
      return taken("stripe", body, ctx);
    }
    return new Response("Not found\n", { status: 404 });
  },
} satisfies FunctionModule;

/** https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries */
function isOfGitHub(headers: Headers, body: Uint8Array, secret = ""): boolean {
  const signature = /^sha256=([0-9a-f]{64})$/.exec(headers.get("X-Hub-Signature-256") ?? "")?.[1];
  return signature !== undefined && isSignature(signature, [body], secret);
}

/** https://docs.stripe.com/webhooks#verify-manually; there may be several signatures while a secret is replaced. */
function isOfStripe(headers: Headers, body: Uint8Array, secret = ""): boolean {
  const parts = (headers.get("Stripe-Signature") ?? "").split(",").map((part) => part.split("="));
  const time = parts.find(([name]) => name === "t")?.[1] ?? "";
  // A delivery that was recorded cannot be sent again later.
  if (!/^\d{1,12}$/.test(time) || Math.abs(Date.now() / 1000 - Number(time)) > TOLERANCE_S) return false;
  const signatures = parts.filter(([name, value]) => name === "v1" && /^[0-9a-f]{64}$/.test(value ?? ""));
  return signatures.slice(0, 4).some(([, value]) => isSignature(value!, [`${time}.`, body], secret));
}

/** In constant time. @param signature 64 hexadecimal digits */
function isSignature(signature: string, signed: readonly (string | Uint8Array)[], secret: string): boolean {
  if (secret === "") return false;
  const hmac = createHmac("sha256", secret);
  for (const part of signed) hmac.update(part);
  return timingSafeEqual(hmac.digest(), Buffer.from(signature, "hex"));
}

function refused(ctx: Context): Response {
  ctx.log.warn("a webhook without a valid signature", { client: ctx.clientIp });
  return Response.json({ error: "signature" }, { status: 401 });
}

function taken(event: string, body: Buffer, ctx: Context): Response {
  let payload: unknown;
  try {
    payload = JSON.parse(body.toString("utf8"));
  } catch {
    return Response.json({ error: "no JSON" }, { status: 400 });
  }
  // The sender waits for a few seconds only: the work goes on after the response.
  ctx.waitUntil(work(event, payload, ctx));
  return Response.json({ taken: true }, { status: 202 });
}

async function work(event: string, payload: unknown, ctx: Context): Promise<void> {
  const { id = null } = (payload ?? {}) as { readonly id?: unknown };
  ctx.log.info("webhook", { webhook: event, id });
}
