import { LOAD_REQUEST_LIMIT_MS } from "./limits.ts";
import { LoadSocket } from "./load-socket.ts";
import type { LoadTarget } from "./load-target.ts";

/**
 * Connects once. Gives the target with the address that its name has, so that it is not looked up again with every
 * connection, or a text that says why it cannot be reached.
 */
export function reachTarget(target: LoadTarget): Promise<LoadTarget | string> {
  return new Promise((resolve) => {
    const end = (outcome: LoadTarget | string) => {
      clearTimeout(timer);
      socket.terminate();
      resolve(outcome);
    };
    const seconds = LOAD_REQUEST_LIMIT_MS / 1000;
    const timer = setTimeout(() => end(`no connection within ${seconds} s`), LOAD_REQUEST_LIMIT_MS);
    const socket = new LoadSocket(target, {
      opened: () => end({ ...target, address: socket.remoteAddress || target.address }),
      received: () => {},
      ended: () => end("the connection was closed at once"),
      failed: end,
    });
  });
}
