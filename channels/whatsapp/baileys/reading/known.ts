import type { proto, WAMessageKey } from "@whiskeysockets/baileys";
import type { MessageEvent } from "../../../../src/core/events.ts";
import type { Me } from "../line.ts";
import type { OriginParts } from "./origin.ts";
import type { Vote } from "./polls.ts";
import type { Reference, ReferenceParts } from "./references.ts";

/** What reading a message takes besides itself; all of it was looked up before. */
export type Known = OriginParts &
  ReferenceParts & {
    readonly me: Me;
    readonly selfChat: boolean;
    /**
     * To whom the server says that the account's own message went; "" where it names nobody. What the owner asks an assistant
     * of Meta's has the owner's own address for its chat. Undefined where there is no more than the message.
     */
    readonly recipient?: string;
    /** What somebody said earlier in this chat. */
    readonly said: (of: Reference) => MessageEvent | undefined;
    /** What we have sent. */
    readonly sent: (id: string) => proto.IMessage | undefined;
    /** What this sender thinks of a message so far: an emoji. */
    readonly reacted: (of: Reference) => string | undefined;
    /** Whether somebody, by key, may take back what others said in a group. */
    readonly isAdmin: (group: string, who: string) => boolean;
    readonly vote?: Vote;
    readonly mediaRef: (content: proto.IMessage, key: WAMessageKey) => string;
  };
