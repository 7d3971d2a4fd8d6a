import { constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { sep } from "node:path";
import { GatewayError, systemCode } from "../../src/core/errors.ts";

/**
 * The bytes of a file that a Bot API server on this machine has put into its folder. No words name the path: a folder in
 * it is called by the token.
 * @throws GatewayError "media.unavailable" unless it is a regular file inside of `folder`; the signal's reason.
 */
export async function* serverFile(
  path: string,
  folder: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const handle = await openInside(path, folder);
  try {
    for await (const chunk of handle.createReadStream({ autoClose: false })) {
      signal.throwIfAborted();
      yield chunk as Uint8Array; // no encoding is set, so chunks are buffers
    }
  } finally {
    await handle.close();
  }
}

async function openInside(path: string, folder: string): Promise<FileHandle> {
  let handle: FileHandle | undefined;
  try {
    const [file, root] = await Promise.all([realpath(path), realpath(folder)]);
    if (!file.startsWith(root.endsWith(sep) ? root : root + sep))
      throw unavailable(
        "the Bot API server has put it outside of serverFolder; set serverFolder to what the server was given as --dir",
      );
    // Neither a link that takes its place meanwhile is followed, nor a pipe waited for.
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (!(await handle.stat()).isFile()) throw unavailable("what the Bot API server names is no file");
    return handle;
  } catch (thrown) {
    await handle?.close();
    if (thrown instanceof GatewayError) throw thrown;
    throw unavailable(`it cannot be read in serverFolder (${systemCode(thrown) ?? "unknown error"})`);
  }
}

function unavailable(why: string): GatewayError {
  return new GatewayError("media.unavailable", `the file could not be fetched from Telegram: ${why}`);
}
