import { lookup } from "node:dns/promises";
import { pathToFileURL } from "node:url";
import { plainLine } from "../../../core/printable.ts";
import type { AcmeDnsConfig } from "../settings.ts";
import { DNS_STEP_MS, type DnsRecords } from "./dns-responder.ts";
import { DnsUpdates, parseTsigKey } from "./dns-update.ts";

/** The way into the zone that is configured. docs/acme.md#dns-01 */
export function makeDnsRecords(config: AcmeDnsConfig): DnsRecords {
  const { provider, exec, module, rfc2136 } = config;
  if (provider !== "") return lateRecords(config);
  if (exec !== "") return programRecords(exec);
  if (module !== "") return moduleRecords(module);
  const { server, key } = rfc2136!;
  const { host, port } = serverAt(server);
  const address = async () => (await lookup(host)).address;
  const updates = new DnsUpdates(address, port, key === "" ? null : parseTsigKey(key));
  return {
    present: (name, value) => updates.add(name, value),
    cleanup: (name, value) => updates.remove(name, value),
  };
}

/** The requests of a DNS provider, with their libraries, are loaded with the first record. */
function lateRecords(config: AcmeDnsConfig): DnsRecords {
  let made: Promise<DnsRecords> | null = null;
  const records = (): Promise<DnsRecords> => {
    made ??= import("./dns/provider-records.ts").then(({ providerRecords }) => providerRecords(config));
    return made;
  };
  return {
    present: async (name, value) => (await records()).present(name, value),
    cleanup: async (name, value) => (await records()).cleanup(name, value),
  };
}

/** A program that is run once a record. Its output says why it has failed. */
function programRecords(file: string): DnsRecords {
  const run = async (step: string, name: string, value: string): Promise<void> => {
    const child = Bun.spawn([file, step, `${name}.`, value], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
      timeout: DNS_STEP_MS,
      killSignal: "SIGKILL",
    });
    const said = await headOf(child.stderr);
    const code = await child.exited;
    if (child.signalCode !== null) throw new Error(`${file} ${step} was ended after ${DNS_STEP_MS / 1000} s`);
    if (code !== 0) throw new Error(`${file} ${step} ended with ${code}${said === "" ? "" : `: ${said}`}`);
  };
  return {
    present: (name, value) => run("present", name, value),
    cleanup: (name, value) => run("cleanup", name, value),
  };
}

/** The beginning of what a program says, fit for a log line; the rest is read and dropped. */
async function headOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    if (text.length < MAX_SAID) text += decoder.decode(chunk, { stream: true });
  }
  return plainLine(text).trim().slice(0, MAX_SAID);
}

/** A module in TypeScript or JavaScript beside the configuration. */
function moduleRecords(file: string): DnsRecords {
  const run = async (step: "present" | "cleanup", name: string, value: string): Promise<void> => {
    const module = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
    const work = module[step];
    if (typeof work !== "function") throw new Error(`${file} exports no function ${step}`);
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new Error(`${file}: ${step} took longer than ${DNS_STEP_MS / 1000} s`)),
      DNS_STEP_MS,
    );
    try {
      await Promise.race([work({ name, value }), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    present: (name, value) => run("present", name, value),
    cleanup: (name, value) => run("cleanup", name, value),
  };
}

/** `host`, `host:port`, `[v6]:port` or an IPv6 address. */
function serverAt(server: string): { readonly host: string; readonly port: number } {
  const parts = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(server);
  if (parts === null) return { host: server, port: DNS_PORT };
  return { host: (parts[1] ?? parts[2])!, port: parts[3] === undefined ? DNS_PORT : Number(parts[3]) };
}

const MAX_SAID = 300;
const DNS_PORT = 53;
