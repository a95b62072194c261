/** Whether the system's code says that there are no descriptors left, here or in the whole system. errno(3). */
export function isDescriptorShortage(code: unknown): boolean {
  return code === "EMFILE" || code === "ENFILE";
}

/** Whether it says that the system has no port or no memory left for another connection of this machine. connect(2). */
export function isSocketShortage(code: unknown): boolean {
  return code === "EADDRNOTAVAIL" || code === "ENOBUFS" || code === "ENOMEM";
}
