import type { ChannelRules } from "../core/rules.ts";

/** How long ago (ms) something was said when it came; 0 where the platform gives no time, or one that is still to come. */
export function ageOf(sentAt: string, now: number): number {
  const at = Date.parse(sentAt);
  // 1970 stands where a platform tells of something without a time.
  return at > 0 && at < now ? now - at : 0;
}

/** "late" is answered together with all of its chat that is; "old" is not answered any more. */
export type Lateness = "in time" | "late" | "old";

/** How something that reaches us is dealt with because we were away. Pure. */
export function latenessOf(
  { sentAt }: { readonly sentAt: string },
  { away }: Pick<ChannelRules, "away">,
  now: number,
): Lateness {
  const age = ageOf(sentAt, now);
  if (age <= away.answerMs) return "in time";
  return age <= away.digestMs ? "late" : "old";
}
