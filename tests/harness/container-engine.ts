import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

type Labels = Readonly<Record<string, string>>;

/** A container of the engine, as a test says it. */
interface Plan {
  /** The name that it shows, if that is another. */
  readonly name?: string;
  readonly labels: Labels;
  readonly address?: string;
  readonly network?: string;
  readonly ports?: readonly number[];
  readonly health?: string;
}

/** A container engine as Docker's HTTP API shows it, on a UNIX socket. Its containers are words: their addresses are those of origins of the test. */
export class ContainerEngine {
  readonly folder: string = mkdtempSync(join(tmpdir(), "engine-"));
  readonly socket: string = join(this.folder, "engine.sock");
  /** Each request, such as `GET /containers/json`. */
  readonly seen: string[] = [];
  /** Does something else with a request. @returns whether it has */
  misdeed: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  private readonly running: Map<string, { readonly id: string; plan: Plan; since: number }> = new Map();
  private readonly streams: Set<ServerResponse> = new Set();
  private server: Server | null = null;
  private count = 0;

  /** Opens the socket. */
  async open(): Promise<this> {
    rmSync(this.socket, { force: true });
    const server = createServer((request, response) => this.answer(request, response));
    this.server = server;
    await new Promise<void>((resolve) => server.listen(this.socket, resolve));
    return this;
  }

  /** Goes away, as a killed engine does. */
  async close(): Promise<void> {
    const { server } = this;
    this.server = null;
    this.streams.clear();
    server?.closeAllConnections();
    await new Promise<void>((resolve) => (server === null ? resolve() : server.close(() => resolve())));
  }

  stop(): void {
    void this.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  get listeners(): number {
    return this.streams.size;
  }

  start(name: string, plan: Plan): void {
    const id = (++this.count).toString(16).padStart(64, "0");
    this.running.set(name, { id, plan, since: this.count });
    this.say(name, "start");
  }

  /** The engine's word on the health of a container. */
  health(name: string, health: string): void {
    const known = this.running.get(name)!;
    known.plan = { ...known.plan, health };
    this.say(name, `health_status: ${health}`);
  }

  /** It has been sent a signal. */
  kill(name: string, signal = "15"): void {
    this.say(name, "kill", { signal });
  }

  end(name: string): void {
    this.say(name, "die");
    this.running.delete(name);
  }

  /** Writes bytes to whoever listens to events. */
  write(text: string): void {
    for (const stream of this.streams) stream.write(text);
  }

  private say(name: string, action: string, more: Labels = {}): void {
    const { id, plan } = this.running.get(name)!;
    const attributes = { ...plan.labels, ...more, name: plan.name ?? name, image: "app" };
    this.write(`${JSON.stringify({ Type: "container", Action: action, Actor: { ID: id, Attributes: attributes } })}\n`);
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const { url = "" } = request;
    const path = url.split("?", 1)[0]!;
    this.seen.push(`${request.method} ${path}`);
    if (this.misdeed(request, response)) return;
    if (path === "/events") {
      response.flushHeaders();
      this.streams.add(response);
      response.on("close", () => this.streams.delete(response));
      return;
    }
    const all = [...this.running].map(([name, one]) => ({ name, ...one }));
    if (path === "/containers/json")
      return send(
        response,
        all.map(({ id, name, plan }) => ({
          Id: id,
          Names: [`/${plan.name ?? name}`],
          Labels: plan.labels,
          State: "running",
        })),
      );
    const found = all.find(({ id }) => path === `/containers/${id}/json`);
    if (found === undefined) return send(response, { message: "no such container" }, 404);
    send(response, inspected(found));
  }
}

function inspected({ id, name, plan, since }: { id: string; name: string; plan: Plan; since: number }): object {
  const { labels, address = "127.0.0.1", network = "bridge", ports = [], health } = plan;
  return {
    Id: id,
    Name: `/${plan.name ?? name}`,
    State: {
      Status: "running",
      Running: true,
      Paused: false,
      StartedAt: new Date(since * 1000).toISOString(),
      ...(health === undefined ? {} : { Health: { Status: health } }),
    },
    Config: {
      Labels: labels,
      ExposedPorts: Object.fromEntries(ports.map((port) => [`${port}/tcp`, {}])),
      StopTimeout: 0,
    },
    HostConfig: { NetworkMode: network },
    NetworkSettings: { Networks: { [network]: { IPAddress: address } } },
  };
}

function send(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(value));
}
