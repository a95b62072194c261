/**
 * Freezes a tree of plain objects and arrays, so that no part of the data plane can change a configuration in use.
 * Takes the tree and gives it back. Structured clone loses the freeze: a worker calls this on what it received.
 */
export function deepFreeze<T>(tree: T): T {
  if (typeof tree !== "object" || tree === null || Object.isFrozen(tree)) return tree;
  Object.freeze(tree);
  for (const part of Object.values(tree)) deepFreeze(part);
  return tree;
}
