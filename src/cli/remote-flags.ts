import type { RemoteFlags } from "../features/fleet/control/remote-source.ts";

/** The flags of a configuration from afar. docs/fleet.md#configuration-from-afar */
export const REMOTE_FLAGS = [
  {
    name: "poll",
    type: "duration",
    default: "30s",
    help: "with --config URL: poll interval, with 1/7 jitter; SIGHUP polls now",
  },
  {
    name: "signature-key",
    type: "string",
    default: "",
    placeholder: "FILE",
    help: "with --config URL: public keys of minisign; both texts need a signature (.minisig beside them)",
  },
  {
    name: "ca",
    type: "string",
    default: "",
    placeholder: "FILE",
    help: "with --config URL: whom to trust over TLS; the system's roots by default",
  },
] as const;

/** Whether any of them is used: what they need is loaded then alone. */
export function isRemoteCall({ config, routes, "signature-key": key, ca }: RemoteFlags): boolean {
  return [config, routes].some((name) => name.includes("://")) || key !== "" || ca !== "";
}
