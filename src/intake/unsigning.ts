import { signedRefs } from "../store/signs.ts";
import { type About, addressIn } from "./about.ts";

/** Signs of waiting go with what is about to wait no longer in the chat; that of one row alone where one is named. */
export async function unsign(about: About, row?: number): Promise<void> {
  const { trx, chat, after, effects } = about;
  const signed = await signedRefs(trx, chat, row);
  if (signed.length > 0) after.push(() => effects.unsign(addressIn(about), signed));
}
