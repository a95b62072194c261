// Ten tests of the suite of the Gateway API, on a control plane of processes. scripts/conformance-gateway-api builds it, and runs them all.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { IS_LONG } from "../harness/long-lane.ts";
import { ControlPlane, HOME, isBuilt, isRunning } from "./kube/control-plane.ts";
import { runSuite } from "./kube/suite.ts";

const TESTS = [
  ...["GatewayListenerUnsupportedProtocol", "GatewayInvalidTLSConfiguration", "GRPCExactMethodMatching"],
  ...[
    "HTTPRouteMultipleGateways",
    "HTTPRouteNoBackendRefs",
    "HTTPRoutePathMatchOrder",
    "HTTPRouteRequestHeaderModifier",
  ],
  ...["HTTPRouteSimpleSameNamespace", "HTTPRouteInvalidCrossNamespaceParentRef", "TLSRouteSimpleSameNamespace"],
];

const missing = missingPart();
if (IS_LONG && missing !== "") console.log(`skipped: the suite of the Gateway API needs ${missing}`);

function missingPart(): string {
  if (process.getuid?.() !== 0) return "root: it makes network namespaces";
  if (!isBuilt(HOME)) return "a control plane (scripts/conformance-gateway-api builds it)";
  return isRunning() ? "the control plane for itself: it runs already" : "";
}

test.skipIf(!IS_LONG || missing !== "")(
  "ten tests of the suite of the Gateway API pass",
  async () => {
    const plane = new ControlPlane(HOME);
    try {
      const { code, log } = await runSuite(plane, TESTS);
      const lines = readFileSync(log, "utf8").split("\n");
      const passed = lines.flatMap((line) => /^ {4}--- PASS: TestConformance\/(\w+) /.exec(line)?.[1] ?? []);
      expect([code, passed.sort()]).toEqual([0, [...TESTS].sort()]);
    } finally {
      await plane.stop();
    }
  },
  300_000,
);
