import { type CommandIo, ExitCode } from "../command-io.ts";

/** The flag for the address of a one-line gateway. */
export const listenFlag = {
  name: "listen",
  alias: "l",
  type: "string",
  default: "127.0.0.1:8080",
  placeholder: "ADDRESS",
  help: "an address with its port; :8080 is port 8080 of all addresses of this machine",
} as const;

/** Says that an address is none. */
export function listenFault(command: string, text: string, io: CommandIo): number {
  io.err(`${command}: --listen: expected an address such as :8080 or 127.0.0.1:8080, found ${JSON.stringify(text)}\n`);
  io.err(`Try "${command} --help".\n`);
  return ExitCode.Usage;
}
