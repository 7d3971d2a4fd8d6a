import type { proto } from "@whiskeysockets/baileys";
import { oneLine } from "../../../../src/core/words.ts";
import { readCard } from "./vcard.ts";

export function locationWords(
  place: proto.Message.ILocationMessage & Pick<proto.Message.ILiveLocationMessage, "caption">,
  isLive: boolean,
): string {
  const { degreesLatitude, degreesLongitude, name, address, accuracyInMeters, comment, caption, url } = place;
  const words = [
    `${isLive || place.isLive ? "live location" : "location"} ${degreesLatitude ?? "?"}, ${degreesLongitude ?? "?"}`,
    ...(name ? [name] : []),
    ...(address ? [address] : []),
    ...(accuracyInMeters ? [`accurate to ${accuracyInMeters} m`] : []),
    ...(url ? [url] : []),
  ];
  const said = comment || caption;
  return [bracketed(words.join(", ")), ...(said ? [said] : [])].join("\n");
}

/** Each card in a line: the name, and how whoever it is of is reached. */
export function contactWords(cards: readonly proto.Message.IContactMessage[]): string {
  return cards
    .map(({ displayName, vcard }) => {
      const { name, reachedBy } = readCard(vcard ?? "");
      return bracketed(
        ["contact", [displayName || name || "without a name", ...reachedBy].join(", ")].join(" "),
      );
    })
    .join("\n");
}

export function pollWords({
  name,
  options,
  selectableOptionsCount,
}: proto.Message.IPollCreationMessage): string {
  const kind = selectableOptionsCount === 1 ? "poll" : "poll, several answers allowed";
  return listed(`${kind}: ${name ?? ""}`, options?.map((option) => option.optionName ?? "") ?? []);
}

export function eventWords(event: proto.Message.IEventMessage): string {
  const { isCanceled, name, description, location, joinLink, startTime, endTime } = event;
  const words = [
    `${isCanceled ? "cancelled event" : "event"} “${name ?? ""}”`,
    ...(startTime ? [`from ${isoOf(startTime)}`] : []),
    ...(endTime ? [`to ${isoOf(endTime)}`] : []),
    ...[location?.name, location?.address, joinLink].filter((part) => part),
  ];
  return [bracketed(words.join(", ")), ...(description ? [description] : [])].join("\n");
}

/** What somebody has picked of what a business offered. */
export function repliedWords(message: proto.IMessage): string | undefined {
  const {
    buttonsResponseMessage: button,
    templateButtonReplyMessage: template,
    listResponseMessage: list,
  } = message;
  if (button) return button.selectedDisplayText || button.selectedButtonId || "";
  if (template) return template.selectedDisplayText || template.selectedId || "";
  if (list) return list.title || list.singleSelectReply?.selectedRowId || "";
  const { body, nativeFlowResponseMessage: flow } = message.interactiveResponseMessage ?? {};
  if (body || flow) return body?.text || flow?.paramsJson || "";
  return undefined;
}

/** What a business offers to pick from. */
export function templateWords(message: proto.IMessage): string | undefined {
  const { buttonsMessage: buttons, listMessage: list, templateMessage: template } = message;
  if (buttons) {
    const offered = buttons.buttons?.map((button) => button.buttonText?.displayText ?? "") ?? [];
    return offer([buttons.text, buttons.contentText, buttons.footerText], offered);
  }
  if (list) {
    const rows = list.sections?.flatMap((section) => section.rows ?? []) ?? [];
    return offer(
      [list.title, list.description, list.footerText],
      rows.map((row) => row.title ?? ""),
    );
  }
  const hydrated = template?.hydratedTemplate ?? template?.hydratedFourRowTemplate;
  if (hydrated)
    return offer([hydrated.hydratedTitleText, hydrated.hydratedContentText, hydrated.hydratedFooterText]);
  const interactive = message.interactiveMessage ?? template?.interactiveMessageTemplate;
  if (!interactive) return undefined;
  return offer([interactive.header?.title, interactive.body?.text, interactive.footer?.text]);
}

function offer(
  parts: readonly (string | null | undefined)[],
  choices: readonly string[] = [],
): string | undefined {
  const said = parts.filter((part) => part).join("\n");
  const words = [said, ...choices.map((choice) => `- ${oneLine(choice)}`)]
    .filter((part) => part !== "")
    .join("\n");
  return words === "" ? undefined : words;
}

export function listed(title: string, lines: readonly string[]): string {
  return [bracketed(title), ...lines.map((line) => `- ${oneLine(line)}`)].join("\n");
}

/** Of seconds since 1970; a Long says its number as text. */
export function isoOf(seconds: unknown): string {
  const ms = Number(seconds) * 1_000;
  return new Date(Math.abs(ms) <= 8.64e15 ? ms : 0).toISOString(); // the span of a Date
}

export function bracketed(words: string): string {
  return `[${oneLine(words)}]`;
}
