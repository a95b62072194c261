import type { ControlOptions } from "../../control/control.ts";
import { type CommandIo, ExitCode } from "../command-io.ts";
import { startCommand, takeRepeated } from "../flags.ts";
import { quickAddress, quickTarget } from "./quick-address.ts";
import { QUICK_FLAGS, runQuick } from "./quick-gateway.ts";

/** The command as `edge help reverse-proxy` shows it. */
export const reverseProxyCommand = {
  name: "edge reverse-proxy",
  page: "one-line.md#edge-reverse-proxy",
  summary: "Forwards every request to an origin, or to several in turn.",
  flags: [
    {
      name: "from",
      alias: "f",
      type: "string",
      default: "127.0.0.1:8080",
      placeholder: "ADDRESS",
      help: "where to listen, such as :8080, or a host name such as example.com, whose requests alone it takes",
    },
    {
      name: "to",
      alias: "t",
      type: "string",
      default: "",
      placeholder: "URL",
      help: "an origin; :3000 is port 3000 of this machine; may be repeated",
    },
    {
      name: "change-host",
      type: "bool",
      default: false,
      help: "send the origin's own host name in place of the client's Host",
    },
    {
      name: "tls",
      type: "string",
      default: "off",
      placeholder: "off|internal|acme",
      choices: ["off", "internal", "acme"],
      help: "acme: a certificate of Let's Encrypt for the host name of --from, on port 443 by default; internal: one of a local authority, see edge trust",
    },
    { name: "email", type: "string", default: "", placeholder: "ADDRESS", help: "of the account with Let's Encrypt" },
    ...QUICK_FLAGS,
  ],
  notes: [
    "  edge reverse-proxy --from :8080 --to :3000",
    "  edge reverse-proxy --from example.com --to :3000 --tls acme",
    "  edge reverse-proxy --from localhost:8443 --to :3000 --tls internal",
    "Exit codes: as of edge serve.",
  ],
} as const;

/** `edge reverse-proxy`. docs/one-line.md#edge-reverse-proxy */
export async function runReverseProxy(
  args: readonly string[],
  io: CommandIo,
  control: Pick<ControlOptions, "signals" | "early">,
): Promise<number> {
  const { taken, others } = takeRepeated(args, "to", "t");
  const call = startCommand(reverseProxyCommand, others, io);
  if (typeof call === "number") return call;
  const { name } = reverseProxyCommand;
  const usage = (message: string): number => {
    io.err(`${name}: ${message}\nTry "${name} --help".\n`);
    return ExitCode.Usage;
  };
  const { from, tls, email, print } = call.values;
  const at = quickAddress(from, tls === "off" ? 80 : 443);
  if (at === null)
    return usage(`--from: expected an address such as :8080 or a host name, found ${JSON.stringify(from)}`);
  if (taken.length === 0) return usage("--to is missing: the origin, such as --to :3000");
  if (tls === "acme" && at.host === "")
    return usage("--tls acme needs a host name in --from, such as --from example.com");
  const acme = { enabled: true, domains: [at.host], ...(email === "" ? {} : { email }) };
  const secured = {
    off: {},
    acme: { port: 80, tls: { port: at.port, redirect_http: true }, acme },
    internal: { port: "off", tls: { port: at.port, internal: true } },
  }[tls as "off" | "acme" | "internal"];
  const targets = taken.map(quickTarget);
  const route = {
    type: "upstream",
    ...(targets.length === 1 ? { target: targets[0] } : { targets: targets.map((url) => ({ url })) }),
    ...(call.values["change-host"] ? { preserve_host: false } : {}),
  };
  const flags = {
    target: "--to",
    targets: "--to",
    host: "--from",
    domains: "--from",
    email: "--email",
    server: "--from",
  };
  return runQuick({ command: name, at, server: secured, route, flags }, print, io, control);
}
