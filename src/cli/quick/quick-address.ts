import { isIP } from "node:net";

/** Address of a one-line gateway, and the host of its route. */
export interface QuickAddress {
  /** An address of this machine; `0.0.0.0` for all of them. */
  readonly listen: string;
  readonly port: number;
  /** A name that the route takes; "" for all. */
  readonly host: string;
}

/**
 * Reads `:8080`, `127.0.0.1:8080`, `[::1]:8080`, `8080` or a name with or without a port. `localhost` and addresses are listened on;
 * another name says which requests it takes, on all addresses. docs/one-line.md#addresses
 * @param port of a name or an address without one
 * @returns null if the text is none of these
 */
export function quickAddress(text: string, port: number): QuickAddress | null {
  const parts = ADDRESS.exec(text);
  if (parts === null) return null;
  const [, bracketed, name = "", digits] = parts;
  const isBare = bracketed === undefined && digits === undefined && /^\d+$/.test(name);
  const number = isBare ? Number(name) : digits === undefined ? port : Number(digits);
  if (number > MAX_PORT) return null;
  const host = bracketed ?? (isBare ? "" : name);
  if (host === "") return isBare || digits !== undefined ? { listen: ALL, port: number, host: "" } : null;
  if (host === "localhost") return { listen: "127.0.0.1", port: number, host: "" };
  if (isIP(host) !== 0) return { listen: host, port: number, host: "" };
  return bracketed === undefined ? { listen: ALL, port: number, host } : null;
}

/** An origin: `:3000` and `3000` are ports of this machine, `host:3000` is http. Others go on as they are typed. */
export function quickTarget(text: string): string {
  if (/^:?\d+$/.test(text)) return `http://127.0.0.1:${text.replace(":", "")}`;
  return /^[a-z][a-z0-9+]*:/i.test(text) && !/^[\w.-]+:\d+$/.test(text) ? text : `http://${text}`;
}

const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.*-]*))(?::(\d{1,5}))?$/;
const ALL = "0.0.0.0";
const MAX_PORT = 65_535;
