// The entry of scripts/conformance-cache: runs the suite and prints what came of it, for the gateway or for other caches by name.
import { CACHE_PEERS, startPeer } from "./cache-peers.ts";
import { hasSuite, runSuite, type SuiteOutcome } from "./cache-suite.ts";
import { FORBIDDEN } from "./cache-suite-known.ts";

if (!(await hasSuite())) {
  process.stderr.write("http-cache-tests is not installed\n");
  process.exit(2);
}
const [peer = ""] = process.argv.slice(2);
if (peer === "") await reportEdge();
else if (CACHE_PEERS.includes(peer)) report(await runSuite((origin) => startPeer(peer, origin)));
else {
  process.stderr.write(`no cache ${JSON.stringify(peer)}; there are ${CACHE_PEERS.join(", ")}\n`);
  process.exit(2);
}

function report({ required, passed, cdn, cdnPassed, optimal, optimalPassed }: SuiteOutcome): void {
  const plain = `required: ${passed - cdnPassed} of ${required - cdn}; CDN-Cache-Control: ${cdnPassed} of ${cdn}`;
  process.stdout.write(`${plain}; optimal: ${optimalPassed} of ${optimal}\n`);
}

async function reportEdge(): Promise<void> {
  const outcome = await runSuite();
  report(outcome);
  for (const [id, message] of outcome.failed) {
    process.stdout.write(`${id}: ${message}\n    ${FORBIDDEN[id] ?? "UNEXPECTED"}\n`);
  }
  process.exit([...outcome.failed.keys()].every((id) => id in FORBIDDEN) ? 0 : 1);
}
