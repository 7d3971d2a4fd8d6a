// node --import ./test/support/whatsapp/trust-preload.mjs: makes a process under test trust the loopback WhatsApp.
import { WA_CERT_DETAILS } from "@whiskeysockets/baileys";

const root = process.env.WA_TEST_ROOT;
if (root) WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(root, "hex");
