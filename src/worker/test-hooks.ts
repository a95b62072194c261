import { type Handler, type RouteInit, Verdict } from "../message/exchange.ts";
import { ChunkedMode, RouteKind } from "../message/route.ts";

/** A constant of the build, by `scripts/build`; not there where the code runs from its sources. */
declare const EDGE_TEST_BUILD: boolean;

/**
 * Endpoints with which tests break a worker on purpose: only in what `scripts/build --tests` makes. The constant is examined
 * first, and all that it keeps out follows it in this function, so that the binary that ships holds none of it.
 * docs/security.md#environment
 */
export function testRoutes(): RouteInit[] {
  if (typeof EDGE_TEST_BUILD === "undefined" || !EDGE_TEST_BUILD) return [];
  const hook = (path: string, act: () => void): RouteInit => {
    const handle: Handler["handle"] = () => {
      act();
      return Verdict.Wait;
    };
    return {
      kind: RouteKind.BuiltIn,
      label: "test",
      path,
      exact: true,
      methods: ["GET"],
      hosts: [],
      stripPrefix: false,
      chunkedMode: ChunkedMode.Normalize,
      maxBodyBytes: 0,
      handler: { name: "testHook", handle },
    };
  };
  return [
    hook("/__test/throw", () => {
      throw new Error("thrown by /__test/throw");
    }),
    hook("/__test/stray", () => {
      setTimeout(() => {
        throw new Error("thrown in a timer");
      });
      void Promise.reject(new Error("rejected"));
      process.emitWarning("something is deprecated");
    }),
    hook("/__test/fail-reload", () => {
      reloadsFail = true;
    }),
    hook("/__test/freeze", () => {
      for (;;);
    }),
    hook("/__test/backtrack", () => {
      // Within the engine of regular expressions, which looks up less often than a loop.
      /0+$/.test(`${"0".repeat(400_000)}b`);
    }),
    hook("/__test/block", () => Bun.sleepSync(3_600_000)),
    hook("/__test/crash", () => {
      setImmediate(() => process.exit(1));
    }),
  ];
}

let reloadsFail = false;

/** Throws where a test has asked this worker to fail at its next reload. */
export function failReload(): void {
  if (typeof EDGE_TEST_BUILD === "undefined" || !EDGE_TEST_BUILD || !reloadsFail) return;
  reloadsFail = false;
  throw new Error("a test keeps this worker from building it");
}
