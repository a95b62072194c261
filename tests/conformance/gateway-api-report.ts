// Runs the suite of the Gateway API against ./edge on a control plane of processes, and writes its report. scripts/conformance-gateway-api
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { VERSION } from "../../src/core/version.ts";
import { SUPPORTED_FEATURES } from "../../src/features/kubernetes/gateway/features.ts";
import { build, ControlPlane, HOME, SUITE_VERSION } from "./kube/control-plane.ts";
import { rights, startGateway } from "./kube/gateway.ts";

const PROFILES = ["HTTP", "TLS", "GRPC", "TCP", "UDP"].map((name) => `GATEWAY-${name}`);
const RESULTS = join(import.meta.dir, "results", "gateway-api.yaml");

build(HOME);
const plane = new ControlPlane(HOME);
const report = join(HOME, "report.yaml");
try {
  await plane.start("experimental", rights());
  startGateway(plane);
  const child = plane.spawn(
    [
      join(HOME, "bin", "conformance.test"),
      ...["-test.run", "^TestConformance$", "-test.v", "-gateway-class=edge", "-disable-parallel-tests"],
      ...[`-conformance-profiles=${PROFILES}`, `-supported-features=${SUPPORTED_FEATURES}`, `-report-output=${report}`],
      ...["-organization=edge", "-project=edge", "-url=https://edge.dev", `-version=${VERSION}`, "-contact=none"],
      ...["-usable-address=10.91.0.200", "-unusable-address=10.92.0.1", ...process.argv.slice(2)],
    ],
    "",
    { KUBECONFIG: join(HOME, "pki", "admin.kubeconfig") },
  );
  const code = await child.exited;
  const text = readFileSync(report, "utf8");
  const failed = /failedTests/.test(text);
  console.log(
    `Gateway API ${SUITE_VERSION}: ${code === 0 && !failed ? "all tests passed" : "some tests failed"}; see ${report}`,
  );
  if (process.argv.length === 2 && code === 0) copyFileSync(report, RESULTS);
  process.exitCode = code ?? 1;
} finally {
  await plane.stop();
}
