// Runs the suite of the Gateway API against ./edge on a control plane of processes, and writes its report. scripts/conformance-gateway-api
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build, ControlPlane, HOME, SUITE_VERSION } from "./kube/control-plane.ts";
import { runSuite } from "./kube/suite.ts";

const RESULTS = join(import.meta.dir, "results", "gateway-api.yaml");

build(HOME);
const plane = new ControlPlane(HOME);
try {
  const { code, report } = await runSuite(plane, [], process.argv.slice(2));
  const hasFailed = code !== 0 || /failedTests/.test(readFileSync(report, "utf8"));
  const outcome = hasFailed ? "some tests failed" : "all tests passed";
  console.log(`Gateway API ${SUITE_VERSION}: ${outcome}; see ${report}`);
  if (process.argv.length === 2 && code === 0) copyFileSync(report, RESULTS);
  process.exitCode = code;
} finally {
  await plane.stop();
}
