import { expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, freePort, startGateway } from "../harness/gateway.ts";

const SIZE = { cols: 80, rows: 24 };

/** What `edge serve` writes to a terminal until it serves, and until it has ended. */
async function onTerminal(folder: string, port: number, args: readonly string[], env: Record<string, string>) {
  let text = "";
  const data = (_: unknown, bytes: Uint8Array) => {
    text += Buffer.from(bytes).toString();
  };
  const config = ["--config", "terminal.yaml", "--routes", "routes.yaml"];
  await Bun.write(`${folder}/terminal.yaml`, `server: {host: 127.0.0.1, port: ${port}, workers: 1}\n`);
  const child = Bun.spawn([EDGE_BINARY, "serve", ...config, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", TERM: "xterm", ...env },
    terminal: { ...SIZE, data },
  });
  try {
    await eventually(() => expect(text).toMatch(/Ctrl-C ends it|"listening"/));
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
  } finally {
    child.kill("SIGKILL");
  }
  return text.replaceAll("\r\n", "\n");
}

test("a start tells a terminal in words, and a pipe or --log-format json in lines of JSON", async () => {
  const piped = await startGateway({ env: { BUN_OPTIONS: "--smol" } });
  try {
    const events = piped.logs.json.map(({ event }) => event);
    expect(events.slice(0, 2)).toEqual(["start", "listening"]);
    expect(Object.keys(piped.logs.json[1]!)).toEqual([
      "timestamp",
      "event",
      "host",
      "port",
      "workers",
      "version",
      "pid",
      "time",
    ]);
    const port = freePort();
    const plain = await onTerminal(piped.folder, port, [], { NO_COLOR: "1", BUN_OPTIONS: "--smol" });
    expect(plain).toContain(`\n  http://127.0.0.1:${port}/  this machine only\n`);
    expect(plain).toContain("\nNote: BUN_OPTIONS is set");
    expect(plain).not.toContain('"listening"');
    expect(plain).not.toContain("\x1b");
    expect(plain).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}draining/m);
    expect(plain).toMatch(new RegExp(`^\\d\\d:\\d\\d:[\\d.]+ {2}200 .* GET 127\\.0\\.0\\.1:${port}/health .*$`, "m"));
    expect(plain).not.toContain('{"time"');
    expect(await onTerminal(piped.folder, port, [], {})).toContain("\x1b[1medge ");
    const lines = (await onTerminal(piped.folder, port, ["--log-format", "json"], {})).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).event)).toEqual(expect.arrayContaining(["listening", "draining"]));
    await piped.stop();
  } finally {
    piped.kill();
  }
});
