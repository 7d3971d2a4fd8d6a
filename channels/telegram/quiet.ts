import type { TelegramSettings } from "./settings.ts";

/** Whether it is between the two times of the day, by the wall clock of the zone; `to` itself is not. */
export function quietHours(quiet: TelegramSettings["quiet"]): (now: number) => boolean {
  if (!quiet) return () => false;
  const { from, to, zone } = quiet;
  const wallClock = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  return (now) => {
    const time = wallClock.format(now); // "07:05", which sorts as the times do
    return from <= to ? from <= time && time < to : from <= time || time < to;
  };
}
