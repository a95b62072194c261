/** Whether a path is below a folder. */
export function isBelow(folder: string, path: string): boolean {
  return path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
