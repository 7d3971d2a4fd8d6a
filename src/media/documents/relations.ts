import { readXml, valueOf } from "./xml.ts";
import { resolvePart, type Zip } from "./zip.ts";

/** What a part of an Office document points at: the last word of the type ("hyperlink", "slide"), and where. */
export type Relation = { readonly type: string; readonly target: string; readonly outside: boolean };

/** The relations of a part by their ids; of the whole package where `part` is "". */
export async function relationsOf(zip: Zip, part: string): Promise<ReadonlyMap<string, Relation>> {
  const slash = part.lastIndexOf("/") + 1;
  const [folder, name] = [part.slice(0, slash), part.slice(slash)];
  const found = new Map<string, Relation>();
  await readXml(zip.part(`${folder}_rels/${name}.rels`), {
    open: (element, attributes) => {
      if (element !== "Relationship") return;
      const [id, target] = [valueOf(attributes, "Id"), valueOf(attributes, "Target")];
      if (id === undefined || target === undefined) return;
      const outside = valueOf(attributes, "TargetMode") === "External";
      const type = valueOf(attributes, "Type")?.split("/").at(-1) ?? "";
      found.set(id, { type, target: outside ? target : resolvePart(folder, target), outside });
    },
  });
  return found;
}

/** The first part that a relation of this type points at. */
export function targetOf(relations: ReadonlyMap<string, Relation>, type: string): string | undefined {
  return [...relations.values()].find((relation) => relation.type === type && !relation.outside)?.target;
}
