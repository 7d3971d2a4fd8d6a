import { buildAckStanza, makeWASocket } from "@whiskeysockets/baileys";
import type { Channel } from "../../../src/core/channel.ts";
import type { ChannelHost } from "../../../src/core/host.ts";
import { FACE } from "../face.ts";
import type { WhatsAppSettings } from "../settings.ts";
import { addressOf } from "./life/address-guard.ts";
import { openAuthState } from "./keys/auth-state.ts";
import { Contacts } from "./people/contacts.ts";
import { download } from "./media/download.ts";
import { Faults } from "./life/faults.ts";
import { flushing } from "./life/flush.ts";
import { Groups } from "./people/groups.ts";
import { handOver } from "./keys/hand-over.ts";
import { libraryLog } from "./life/library-log.ts";
import { Life } from "./life/life.ts";
import { inOneContext } from "./keys/one-context.ts";
import { Outbox } from "./sending/outbox.ts";
import { idleProbe } from "./life/probe.ts";
import { Receiver } from "./reading/receive.ts";
import { Said } from "./reading/said.ts";
import { sealWith, STATE } from "./keys/seal.ts";
import { Sender } from "./sending/sender.ts";
import { newCaches, socketConfig } from "./life/socket-config.ts";
import { statusGuard } from "./life/status-guard.ts";
import { upload } from "./media/upload.ts";
import { watchdog } from "./life/watchdog.ts";
import { waysFor } from "./life/ways.ts";

/**
 * Opens a linked device of an account. Does not wait for WhatsApp, nor for the account to be linked.
 * @throws GatewayError "config.invalid"; "data.unusable" where what is stored was sealed with another key;
 * "store.unavailable".
 */
export async function openBaileys(settings: WhatsAppSettings, host: ChannelHost): Promise<Channel> {
  const { clock, log, state, blobs, studio } = host;
  const address = addressOf(settings);
  const [seal, ways] = await Promise.all([sealWith(settings.stateKey, STATE), waysFor(settings)]);
  const caches = newCaches(clock);
  const logger = libraryLog(log, clock);

  const faults = new Faults(host);

  const life = new Life({
    host: { ...host, ...faults.of("line") },
    random: Math.random,
    connects: (me) => handOver(me, { state, seal, forget }),
    openState: (lease, fatal) => openAuthState({ host, seal, lease, fatal }),
    makeSocket: (auth) => {
      const socket = makeWASocket(
        socketConfig(
          {
            settings,
            address,
            ways,
            caches,
            logger,
            clock,
            getMessage: (key) => sender.getMessage(key),
            cachedGroupMetadata: (jid) => groups.metadata(jid),
            makeSignalRepository: receiver.repository,
          },
          auth,
        ),
      );
      inOneContext(socket.authState.keys);
      return socket;
    },
  });
  const { account } = life;
  const contacts = new Contacts({ host, seal });
  const groups = new Groups({ host, seal, contacts, account });
  const said = new Said({ state, seal, clock });
  const uploads = { account, settings, blobs, studio, clock };
  const sender = await Sender.open({
    account,
    settings,
    host,
    seal,
    contacts,
    groups,
    said,
    upload: (item, signal) => upload(item, uploads, signal),
    random: Math.random,
  });
  await contacts.load();
  // Last, as it is to be closed again: from here on nothing fails.
  const journal = host.journal();
  const outbox = new Outbox({ state, seal, clock });
  const receiver = new Receiver({
    host: { ...host, ...faults.of("store") },
    settings,
    account,
    contacts,
    groups,
    said,
    outbox,
    journal,
    seal,
  });

  async function forget(): Promise<void> {
    await receiver.forget();
    await contacts.forget();
    groups.forget();
    sender.forget();
  }

  life.start([
    // What it answers itself, nobody else hears.
    statusGuard(buildAckStanza),
    // Who somebody is is known before what they said is read.
    contacts.hear,
    groups.hear,
    receiver.hear,
    sender.hear,
    watchdog(clock, log),
    flushing(clock),
    idleProbe(clock, log),
  ]);

  return {
    ...FACE,
    idempotent: true,
    fetch: (ref, signal) => download(ref, { account, settings, seal, clock }, signal),
    send: (piece, attempt, signal) => sender.send(piece, attempt, signal),
    readyAt: (to) => sender.readyAt(to),
    takeBack: (to, ids, signal) => sender.takeBack(to, ids, signal),
    progress: (to, progress) => sender.progress(to, progress),
    taken: (to, refs) => sender.taken(to, refs),
    react: (to, ref, sign, signal) => sender.react(to, ref, sign, signal),
    pair: (wish, signal) => life.pair(wish, signal),
    async close() {
      await sender.close();
      // What the library holds back would go with its buffers; while the connection stands it can still be acknowledged.
      account.line()?.socket.ev.flush();
      await receiver.settled();
      await life.close();
      await receiver.close();
      journal.close();
    },
  };
}
