import type { UnservedObject } from "../../../core/unserved-object.ts";
import type { ObjectCondition, ObjectEvent, ObjectRef, StatusPatch } from "../objects.ts";

/** So many are kept; a message is cut. */
const MAX_OBJECTS = 100;
const MAX_MESSAGE = 300;

/** What the statuses and events of a cluster say against its objects, each once. */
export function unservedObjects(
  statuses: Iterable<StatusPatch>,
  events: readonly ObjectEvent[],
  controller: string,
): readonly UnservedObject[] {
  const found = new Map<string, Map<string, UnservedObject>>();
  const note = (object: ObjectRef, reason: string, message: string): void => {
    const { kind, namespace } = object;
    const name = `${kind} ${namespace === "" ? "" : `${namespace}/`}${object.name}`;
    const known = found.get(namespace) ?? new Map<string, UnservedObject>();
    found.set(namespace, known);
    if (known.size < MAX_OBJECTS)
      known.set(`${name} ${reason} ${message}`, { object: name, reason, message: message.slice(0, MAX_MESSAGE) });
  };
  for (const { object, status } of statuses)
    for (const { part, conditions } of conditionsIn(status, controller)) {
      const bad = conditions.filter(({ type, status: word }) => word === (type === "Conflicted" ? "True" : "False"));
      const isTold = bad.some(({ message }) => message !== "");
      // What follows from another one has no message of its own.
      for (const { reason, message } of bad) if (message !== "" || !isTold) note(object, reason, `${part}${message}`);
    }
  for (const { object, type, reason, message } of events) if (type === "Warning") note(object, reason, message);
  return inTurn([...found.values()].map((known) => [...known.values()]));
}

/** The first of each namespace, then the second ones: one namespace with many hides no other one. */
function inTurn(all: readonly (readonly UnservedObject[])[]): readonly UnservedObject[] {
  const made: UnservedObject[] = [];
  const rounds = all.reduce((most, { length }) => Math.max(most, length), 0);
  for (let i = 0; i < rounds && made.length < MAX_OBJECTS; i++) made.push(...all.flatMap((some) => some[i] ?? []));
  const kept = new Set(made.slice(0, MAX_OBJECTS));
  return all.flatMap((some) => some.filter((one) => kept.has(one)));
}

interface Conditions {
  readonly name?: string;
  readonly controllerName?: string;
  readonly conditions?: readonly ObjectCondition[];
}

/** Conditions that belong together, and before their messages the listener they are about. */
interface PartConditions {
  readonly part: string;
  readonly conditions: readonly ObjectCondition[];
}

/** The conditions of an object, its listeners, its parents and its targets; not those that another controller has written. */
function conditionsIn(status: StatusPatch["status"], controller: string): readonly PartConditions[] {
  const { listeners = [], parents = [], ancestors = [] } = status as Readonly<Record<string, readonly Conditions[]>>;
  const named = listeners.map((one) => ({ ...one, part: `listener ${one.name}: ` }));
  return [
    { ...status, part: "" },
    ...named,
    ...[...parents, ...ancestors].map((one) => ({ ...one, part: "" })),
  ].flatMap(({ controllerName = controller, conditions = [], part }: Conditions & { readonly part: string }) =>
    controllerName === controller ? [{ part, conditions }] : [],
  );
}
