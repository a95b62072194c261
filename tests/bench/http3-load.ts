// Loads a server over HTTP/3 with the runtime's own client: http3-load.ts PORT PATH SECONDS CONNECTIONS STREAMS
// Prints {"requests","failed","seconds"}. A process of its own, so that its CPU time is not the server's.
import { H3Client } from "../harness/h3-client.ts";

const [port = 0, , seconds = 1, connections = 1, streams = 1] = process.argv.slice(2).map(Number);
const path = process.argv[3] ?? "/";
const clients = await Promise.all(Array.from({ length: connections }, () => H3Client.connect(port)));
let requests = 0;
let failed = 0;
const start = performance.now();
const end = start + seconds * 1000;

async function ask(client: H3Client): Promise<void> {
  while (performance.now() < end) {
    const { status } = await client.ask("GET", path).catch(() => ({ status: 0 }));
    if (status === 200) requests++;
    else failed++;
    if (status === 0) return;
  }
}

await Promise.all(clients.flatMap((client) => Array.from({ length: streams }, () => ask(client))));
console.log(JSON.stringify({ requests, failed, seconds: (performance.now() - start) / 1000 }));
process.exit(0);
