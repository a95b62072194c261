import { fstatSync } from "node:fs";

/** Whether a file descriptor is a terminal. Pipes, files and sockets are told without the runtime's module, which takes 5 ms to load. */
export function isTerminal(fd: number): boolean {
  try {
    if (!fstatSync(fd).isCharacterDevice()) return false;
  } catch {
    return false;
  }
  const { isatty } = require("node:tty") as typeof import("node:tty");
  return isatty(fd);
}
