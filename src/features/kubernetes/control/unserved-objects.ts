import type { UnservedObject } from "../../../core/unserved-object.ts";
import type { ObjectCondition, ObjectEvent, ObjectRef, StatusPatch } from "../objects.ts";

/** So many are kept; a message is cut. */
const MAX_OBJECTS = 100;
const MAX_MESSAGE = 300;

/** What the statuses and events of a cluster say against its objects, each once. */
export function unservedObjects(
  statuses: readonly StatusPatch[],
  events: readonly ObjectEvent[],
  controller: string,
): readonly UnservedObject[] {
  const found = new Map<string, UnservedObject>();
  const note = (object: ObjectRef, reason: string, message: string): void => {
    const name = `${object.kind} ${object.namespace === "" ? "" : `${object.namespace}/`}${object.name}`;
    if (found.size < MAX_OBJECTS)
      found.set(`${name} ${reason} ${message}`, { object: name, reason, message: message.slice(0, MAX_MESSAGE) });
  };
  for (const { object, status } of statuses)
    for (const { part, conditions } of conditionsIn(status, controller)) {
      const bad = conditions.filter(({ type, status: word }) => word === (type === "Conflicted" ? "True" : "False"));
      const isTold = bad.some(({ message }) => message !== "");
      // What follows from another one has no message of its own.
      for (const { reason, message } of bad) if (message !== "" || !isTold) note(object, reason, `${part}${message}`);
    }
  for (const { object, type, reason, message } of events) if (type === "Warning") note(object, reason, message);
  return [...found.values()];
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
