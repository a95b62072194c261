import { type Handler, Verdict } from "../message/pipeline.ts";
import { ChunkedMode, type RouteInit, RouteKind } from "../message/route.ts";

/** Set in the environment to have the endpoints below; nothing else switches them on. */
export const TEST_HOOKS_VARIABLE = "EDGE_TEST_HOOKS";

/** Endpoints with which tests break a worker on purpose. */
export function testRoutes(): RouteInit[] {
  return [
    hook("/__test/throw", () => {
      throw new Error("thrown by /__test/throw");
    }),
    hook("/__test/crash", () => {
      setImmediate(() => process.exit(1));
    }),
  ];
}

function hook(path: string, act: () => void): RouteInit {
  const handler: Handler = {
    name: "testHook",
    handle() {
      act();
      return Verdict.Wait;
    },
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
    handler,
  };
}
