import { clone } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type FieldDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";

/**
 * Files as a compiler would have written them, made from those that some servers tell by reflection: gRPC's own package
 * for Node names types without their packages, leaves imports and JSON names out, takes ordinary messages for map entries, and puts all
 * well-known types into one file.
 * @param wellKnown the files that the gateway has itself, which are used in the place of such
 */
export function repairedFiles(
  files: readonly FileDescriptorProto[],
  wellKnown: readonly FileDescriptorProto[],
): readonly FileDescriptorProto[] {
  const own = files
    .filter((file) => file.package !== "google.protobuf")
    .map((file) => clone(FileDescriptorProtoSchema, file));
  const homes = new Map<string, string>();
  for (const file of [...wellKnown, ...own]) {
    for (const name of namesIn(file)) if (!homes.has(name)) homes.set(name, file.name);
  }
  for (const file of own) new FileRepair(file, homes).run();
  return own;
}

/** Whether a file has what `repairedFiles` mends. */
export function needsRepair(files: readonly FileDescriptorProto[]): boolean {
  return files.some((file) => messagesIn(file).some(({ message }) => message.field.some(isIncomplete)));
}

function isIncomplete({ typeName, jsonName }: FieldDescriptorProto): boolean {
  return jsonName === "" || (typeName !== "" && !typeName.startsWith("."));
}

class FileRepair {
  private readonly file: FileDescriptorProto;
  /** The file of each type, by its full name with a dot before it. */
  private readonly homes: ReadonlyMap<string, string>;
  private readonly imports: Set<string>;

  constructor(file: FileDescriptorProto, homes: ReadonlyMap<string, string>) {
    const known = new Set(homes.values());
    this.file = file;
    this.homes = homes;
    this.imports = new Set(file.dependency.filter((name) => known.has(name)));
  }

  run(): void {
    const { file } = this;
    const root = file.package === "" ? "" : `.${file.package}`;
    for (const { message, name } of messagesIn(file)) {
      if (message.options?.mapEntry === true && !isMapEntry(message)) message.options.mapEntry = false;
      for (const field of [...message.field, ...message.extension]) this.mendField(field, name);
    }
    for (const field of file.extension) this.mendField(field, root);
    for (const method of file.service.flatMap((service) => service.method)) {
      method.inputType = this.resolve(method.inputType, root);
      method.outputType = this.resolve(method.outputType, root);
    }
    this.imports.delete(file.name);
    file.dependency = [...this.imports];
    file.publicDependency = [];
    file.weakDependency = [];
  }

  private mendField(field: FieldDescriptorProto, scope: string): void {
    if (field.jsonName === "")
      field.jsonName = field.name.replace(/_+(\w?)/g, (_, letter: string) => letter.toUpperCase());
    if (field.typeName !== "") field.typeName = this.resolve(field.typeName, scope);
    if (field.extendee !== "") field.extendee = this.resolve(field.extendee, scope);
  }

  /** The full name of a type, looked for from the innermost scope outwards, and its file among the imports. */
  private resolve(name: string, scope: string): string {
    let full = name;
    if (!name.startsWith(".")) {
      let around = scope;
      while (around !== "" && !this.homes.has(`${around}.${name}`)) around = around.slice(0, around.lastIndexOf("."));
      full = `${around}.${name}`;
    }
    const home = this.homes.get(full);
    if (home !== undefined) this.imports.add(home);
    return full;
  }
}

/** A generated message with exactly a key and a value. */
function isMapEntry({ name, field }: DescriptorProto): boolean {
  return name.endsWith("Entry") && field.length === 2 && field[0]!.name === "key" && field[1]!.name === "value";
}

function namesIn(file: FileDescriptorProto): string[] {
  const root = file.package === "" ? "" : `.${file.package}`;
  const enums = file.enumType.map((one) => `${root}.${one.name}`);
  const nested = messagesIn(file).flatMap(({ message, name }) => [
    name,
    ...message.enumType.map((one) => `${name}.${one.name}`),
  ]);
  return [...enums, ...nested];
}

/** All messages of a file with their full names, the outer ones first. */
function messagesIn(file: FileDescriptorProto): { readonly message: DescriptorProto; readonly name: string }[] {
  const root = file.package === "" ? "" : `.${file.package}`;
  const found = file.messageType.map((message) => ({ message, name: `${root}.${message.name}` }));
  for (const { message, name } of found) {
    for (const inner of message.nestedType) found.push({ message: inner, name: `${name}.${inner.name}` });
  }
  return found;
}
