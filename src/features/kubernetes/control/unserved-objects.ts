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
    for (const { type, status: word, reason, message } of conditionsIn(status, controller))
      if (word === (type === "Conflicted" ? "True" : "False")) note(object, reason, message);
  for (const { object, type, reason, message } of events) if (type === "Warning") note(object, reason, message);
  return [...found.values()];
}

interface Conditions {
  readonly controllerName?: string;
  readonly conditions?: readonly ObjectCondition[];
}

/** The conditions of an object, its listeners, its parents and its targets; not those that another controller has written. */
function conditionsIn(status: StatusPatch["status"], controller: string): readonly ObjectCondition[] {
  const lists = [[status], status.listeners, status.parents, status.ancestors] as (readonly Conditions[] | undefined)[];
  return lists.flatMap((list = []) =>
    list.flatMap(({ controllerName = controller, conditions = [] }) =>
      controllerName === controller ? conditions : [],
    ),
  );
}
