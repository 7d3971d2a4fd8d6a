/** A message as WhatsApp names it in one chat: `participant` is the sender's address in a group, absent where it is ours. */
export type MessageName = { readonly id: string; readonly participant?: string };

/** What replies, reactions and deletions name: `<id>`, in groups with `/<sender's address>` behind it unless it is ours. */
export function refOf({ id, participant }: MessageName): string {
  // Ids are whatever their sender's program writes: none may say whose message it is.
  const name = id.replaceAll("%", "%25").replaceAll("/", "%2F");
  return participant === undefined ? name : `${name}/${participant}`;
}

export function nameIn(ref: string): MessageName {
  const slash = ref.indexOf("/");
  const name = slash < 0 ? ref : ref.slice(0, slash);
  const id = name.replaceAll("%2F", "/").replaceAll("%25", "%");
  return slash < 0 ? { id } : { id, participant: ref.slice(slash + 1) };
}
