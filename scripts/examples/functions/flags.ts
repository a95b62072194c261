import type { Context, HooksModule } from "edge";

/**
 * Feature flags as a hook: the application behind reads X-Flags, such as "checkout, search". A flag is on for a share of the users, and
 * stays on for a user while the share grows. FLAGS_URL names a list that is fetched again every 30 s; the last one stays while it is away.
 */
const BUILT_IN: Flags = { checkout: 1, search: 0.25 };
const FRESH_MS = 30_000;
const FETCH_MS = 2000;
const MAX_BYTES = 64 * 1024;

/** The share of users by the name of the flag, from 0 to 1. */
type Flags = Readonly<Record<string, number>>;

let flags: Flags = BUILT_IN;
let fetchedMs = Number.NEGATIVE_INFINITY;

export default {
  async onRequest(request, ctx) {
    await refresh(ctx);
    const user = ctx.auth?.user ?? ctx.clientIp;
    const on = Object.keys(flags).filter((name) => shareOf(`${name} ${user}`) < flags[name]!);
    const asked = new Request(request);
    // Set, so that what a client sends in its place is gone.
    asked.headers.set("X-Flags", on.sort().join(", "));
    return asked;
  },
} satisfies HooksModule;

/** A request waits for the first list alone; later ones come while requests go on. */
async function refresh(ctx: Context): Promise<void> {
  const url = ctx.env.FLAGS_URL ?? "built-in";
  if (url === "built-in" || performance.now() - fetchedMs < FRESH_MS) return;
  const isFirst = fetchedMs < 0;
  fetchedMs = performance.now();
  const work = load(url).then(
    (next) => {
      flags = next;
    },
    (error) => ctx.log.warn("the flags cannot be fetched", { error: String(error) }),
  );
  if (isFirst) await work;
  else ctx.waitUntil(work);
}

async function load(url: string): Promise<Flags> {
  const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS), redirect: "error" });
  const text = response.ok ? await response.text() : "";
  if (text.length > MAX_BYTES) throw new Error("the list is too long");
  const list = Object.entries(JSON.parse(text) as object);
  // A name goes into a header: letters, digits, dots and dashes alone.
  return Object.fromEntries(list.filter(([name, share]) => /^[\w.-]{1,64}$/.test(name) && share >= 0 && share <= 1));
}

/** From 0 to 1, the same for the same text. */
function shareOf(text: string): number {
  return Bun.hash.xxHash32(text) / 2 ** 32;
}
