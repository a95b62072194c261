import { quote } from "./config-fault.ts";
import { type Kind, resolved, type Spot, written } from "./piece.ts";
import { text, textLike } from "./scalars.ts";

/** The path of a UNIX socket; resolved, absolute. unix(7) */
export function socketName(): Kind<string, string> {
  return resolved(text("a path such as /run/edge/edge.sock"), socketPath);
}

/** The absolute path of a UNIX socket; "" stays "". One that is too long is noted as a fault. */
export function socketPath(name: string, { files, path, log }: Spot): string {
  if (name === "") return "";
  const absolute = files.absolute(name);
  if (Buffer.byteLength(absolute) > MAX_SOCKET_PATH)
    log.fault(path, `expected a path of at most ${MAX_SOCKET_PATH} bytes, found ${quote(absolute)}`);
  return absolute;
}

/** Permissions as chmod(1) takes them; resolved, their number. */
export function fileMode(): Kind<string, number> {
  return written(
    resolved(textLike(/^0?[0-7]{3}$/, '"0600", "0660" or other permissions, in quotes'), (mode) =>
      Number.parseInt(mode, 8),
    ),
    (mode) => `0${mode.toString(8).padStart(3, "0")}`,
  );
}

const MAX_SOCKET_PATH = 107;
