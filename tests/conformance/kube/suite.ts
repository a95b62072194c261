import { join } from "node:path";
import { VERSION } from "../../../src/core/version.ts";
import { SUPPORTED_FEATURES } from "../../../src/features/kubernetes/gateway/features.ts";
import type { ControlPlane } from "./control-plane.ts";
import { rights, startGateway } from "./gateway.ts";

const PROFILES = ["HTTP", "TLS", "GRPC", "TCP", "UDP"].map((name) => `GATEWAY-${name}`);

/** What the suite of the Gateway API says of ./edge. */
export interface SuiteRun {
  readonly code: number;
  /** The file of the report. */
  readonly report: string;
  /** The file of the lines that the suite wrote. */
  readonly log: string;
}

/** Runs the suite of the Gateway API against ./edge, on a control plane that is started for it. @param tests names of its tests; none for all */
export async function runSuite(
  plane: ControlPlane,
  tests: readonly string[],
  more: readonly string[] = [],
): Promise<SuiteRun> {
  await plane.start("experimental", rights());
  startGateway(plane);
  const report = join(plane.home, "report.yaml");
  const pattern = tests.length === 0 ? "^TestConformance$" : `^TestConformance$/^(${tests.join("|")})$`;
  const child = plane.spawn(
    [
      join(plane.home, "bin", "conformance.test"),
      ...["-test.run", pattern, "-test.v", "-gateway-class=edge", "-disable-parallel-tests"],
      ...[`-conformance-profiles=${PROFILES}`, `-supported-features=${SUPPORTED_FEATURES}`, `-report-output=${report}`],
      ...["-organization=edge", "-project=edge", "-url=https://edge.dev", `-version=${VERSION}`, "-contact=none"],
      ...["-usable-address=10.91.0.200", "-unusable-address=10.92.0.1", ...more],
    ],
    "",
    { KUBECONFIG: join(plane.home, "pki", "admin.kubeconfig") },
  );
  const log = plane.lastLog;
  return { code: await child.exited, report, log };
}
