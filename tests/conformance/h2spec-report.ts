// Runs h2spec against ./edge in all its ways and prints what passes and what does not.
import { findH2spec, runH2spec, SHARED_PORT_CASE, type SpecWay, startSpecGateway, VECTOR_08_CASE } from "./h2spec.ts";

const REASONS: Readonly<Record<string, string>> = {
  [VECTOR_08_CASE]: "VECTOR-08 wants such requests forwarded without it",
  [SHARED_PORT_CASE]:
    "HTTP/1.1 is spoken on this port: such a line gets its 400 (RFC 9112 §3) and the connection ends; the tool reads that text " +
    "as a frame, and passes none but a connection that ends without a byte",
};

const tool = findH2spec();
if (tool === null) {
  console.error("h2spec is not there");
  process.exit(2);
}
let unknown = 0;
for (const pseudoHeaders of ["reject", "drop"] as const) {
  for (const way of ["tls", "cleartext"] as readonly SpecWay[]) {
    const gateway = await startSpecGateway(pseudoHeaders);
    const { passed, failed } = await runH2spec(tool, gateway, way);
    await gateway.stop();
    console.log(`${way}, unknown_pseudo_headers: ${pseudoHeaders}: ${passed} of ${passed + failed.length}`);
    for (const name of failed) {
      const reason = REASONS[name];
      if (reason === undefined) unknown++;
      console.log(`  ${name} (${reason ?? "NOT EXPECTED"})`);
    }
  }
}
process.exit(unknown === 0 ? 0 : 1);
