import type { Keys } from "../keys.ts";
import type { Ledger } from "../ledger.ts";
import type { Plan } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { child } from "./traefik-services.ts";

/**
 * Makes pass-throughs of the routers below `tcp` that pass TLS through by name. The ports of all others are those of entry points, which
 * another file has. docs/migrate-traefik.md#tcp-routers
 */
export function convertTraefikTcp(plan: Plan, tcp: Statement | null): void {
  for (const router of child(tcp, "routers")?.block ?? []) convertRouter(plan, tcp, router);
}

function convertRouter(plan: Plan, tcp: Statement | null, router: Statement): void {
  const { ledger } = plan;
  const [rule, service, tls] = ["rule", "service", "tls"].map((name) => child(router, name));
  const hosts = hostsOf(rule?.args[0] ?? "");
  const passthrough = child(tls, "passthrough");
  if (passthrough?.args[0] !== "true" || hosts === null) {
    ledger.noteWhole(
      router,
      "which port the entry point is, another file says",
      "write a stream of type: tcp with listen: docs/streams.md#tcp",
    );
    return;
  }
  // What decides about who may come in is never left out.
  if (child(router, "middlewares") !== null) {
    ledger.noteWhole(router, "its middlewares are not carried over", "write it with ip_rules: docs/streams.md#limits");
    return;
  }
  const named = (child(tcp, "services")?.block ?? []).find(({ name }) => name === service?.args[0]);
  const keys = targetKeys(named, ledger);
  if (keys === null) {
    ledger.noteWhole(router, "its service cannot be carried over", "write the stream: docs/streams.md");
    return;
  }
  plan.streams.push({ origin: router, keys: { type: "tls_passthrough", hosts, ...keys } });
  ledger.carry(tcp, router, rule!, service!, tls!, passthrough, child(router, "priority"));
  const points = child(router, "entryPoints");
  if (points !== null)
    ledger.note(points, "pass-through is on the port of server.tls, which must be on", "see server.tls");
}

/** The names of `HostSNI` alone; null if the rule asks for more, or for every name. */
function hostsOf(rule: string): string[] | null {
  if (!/^HostSNI\([^()]*\)(\s*\|\|\s*HostSNI\([^()]*\))*$/.test(rule.trim())) return null;
  const hosts = Array.from(rule.matchAll(/[`"']([^`"']*)[`"']/g), ([, host]) => host!);
  return hosts.length > 0 && hosts.every((host) => /^[\w-]+(\.[\w-]+)*$/.test(host)) ? hosts : null;
}

/** `targets` of the servers of a service; null if it is none of servers. */
function targetKeys(service: Statement | undefined, ledger: Ledger): Keys | null {
  const balancer = child(service, "loadBalancer");
  const servers = child(balancer, "servers");
  const entries = servers?.block ?? [];
  const addresses = entries.map((one) => child(one, "address"));
  if (addresses.length === 0 || addresses.some((one) => one === null)) return null;
  if (entries.some((one) => child(one, "tls")?.args[0] === "true")) return null;
  const header = child(balancer, "proxyProtocol");
  const version = child(header, "version")?.args[0] ?? "2";
  ledger.carry(service!, balancer, servers, ...entries, ...addresses, header, child(header, "version"));
  return {
    targets: addresses.map((one) => ({ url: one!.args[0] ?? "" })),
    ...(header === null ? {} : { send_proxy: version === "1" ? "v1" : "v2" }),
  };
}
