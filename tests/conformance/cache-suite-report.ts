// The entry of scripts/conformance-cache: runs the suite and prints what came of it.
import { hasSuite, runSuite } from "./cache-suite.ts";
import { FORBIDDEN } from "./cache-suite-known.ts";

if (!(await hasSuite())) {
  process.stderr.write("http-cache-tests is not installed\n");
  process.exit(2);
}
const { required, passed, failed, optimal, optimalPassed } = await runSuite();
process.stdout.write(`required: ${passed} of ${required}; optimal: ${optimalPassed} of ${optimal}\n`);
for (const [id, message] of failed) {
  process.stdout.write(`${id}: ${message}\n    ${FORBIDDEN[id] ?? "UNEXPECTED"}\n`);
}
process.exit([...failed.keys()].every((id) => id in FORBIDDEN) ? 0 : 1);
