import type { ChatMovedEvent } from "../../../src/core/events.ts";
import type { KeyOf } from "./contacts.ts";
import type { CloudSystem } from "./payload.ts";
import { type Forms, formsOf } from "./people.ts";

/** By what they were known until a system message told of a new number or a new id of the business. */
export function wasOf(forms: Forms, { user_id: now, previous_user_id: before }: CloudSystem): Forms {
  return [...new Set([...forms.filter((form) => form !== now), ...formsOf([], [before])])];
}

/** Who has another number is written to there; who only has another id of the business, and has a number, stays who they are. */
export function moveIn(
  id: string,
  was: Forms,
  system: CloudSystem,
  keyOf: KeyOf,
): ChatMovedEvent | undefined {
  const now = nowOf(was, system, keyOf);
  return now && now.from !== now.key
    ? { type: "chatMoved", id: `moved/${id}`, from: now.from, to: now.key }
    : undefined;
}

/** By which key they are known from now on, and by which forms. */
export function nowOf(
  was: Forms,
  { wa_id: phone, user_id: userId }: CloudSystem,
  keyOf: KeyOf,
): { readonly from: string; readonly key: string; readonly forms: Forms } | undefined {
  const from = keyOf(was);
  const forms = formsOf([phone], [userId]);
  const [first] = forms;
  if (from === undefined || first === undefined) return undefined;
  return { from, key: from.startsWith("+") && !first.startsWith("+") ? from : first, forms };
}
