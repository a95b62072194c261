/** Ports of the three demo origins that the shipped routes.yaml leads to. */
export const DEMO_PORTS: readonly number[] = [9001, 9002, 9003];

/**
 * Starts small origins on loopback to play with: `GET /health`, `GET /canary` (with a sequence number), `POST /echo`
 * (the headers that arrived, as JSON), and a greeting for every other path.
 * @returns the ports that could be had; a taken port is left to its owner
 */
export function startDemoOrigins(): readonly number[] {
  return DEMO_PORTS.filter((port) => {
    try {
      startOrigin(port);
      return true;
    } catch {
      return false;
    }
  });
}

function startOrigin(port: number): void {
  let sequence = 0;
  Bun.serve({
    hostname: "127.0.0.1",
    port,
    async fetch(request): Promise<Response> {
      const { pathname } = new URL(request.url);
      if (pathname === "/health") return Response.json({ status: "ok" });
      if (pathname === "/canary") return Response.json({ status: "canary_ok", sequence: ++sequence });
      if (pathname === "/echo") return echo(request);
      return new Response(`Hello from the demo origin on port ${port}: ${request.method} ${pathname}\n`);
    },
  });
}

async function echo(request: Request): Promise<Response> {
  const body = await request.arrayBuffer();
  const headers = Object.fromEntries(request.headers);
  return Response.json({ method: request.method, url: request.url, headers, body_bytes: body.byteLength });
}
