import { resolved, type Spot } from "./piece.ts";
import { fileName } from "./scalars.ts";

/** A file of TypeScript or JavaScript that is there; resolved, its absolute path. */
export const moduleFile = () =>
  resolved(fileName(), (name, { path, files, log }: Spot) => {
    if (name === "") log.fault(path, "expected the file of a module, found an empty text");
    return files.file(path, name);
  });
