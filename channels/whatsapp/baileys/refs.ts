/** A message as WhatsApp names it in one chat: `participant` is the sender's address in a group, absent where it is ours. */
export type MessageName = { readonly id: string; readonly participant?: string };

/** What replies, reactions and deletions name: `<id>`, in groups with `/<sender's address>` behind it unless it is ours. */
export function refOf({ id, participant }: MessageName): string {
  return participant === undefined ? id : `${id}/${participant}`;
}

export function nameIn(ref: string): MessageName {
  const slash = ref.indexOf("/");
  return slash < 0 ? { id: ref } : { id: ref.slice(0, slash), participant: ref.slice(slash + 1) };
}
