/** Whether the system's code says that there are no descriptors left, here or in the whole system. errno(3). */
export function isDescriptorShortage(code: unknown): boolean {
  return code === "EMFILE" || code === "ENFILE";
}
