import { constants } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { join, sep } from "node:path";

/**
 * Opens a regular file of a chat's folder by its path there, "/uploads/report.pdf". Undefined where there is none: what links
 * lead to is not there, nor is a pipe, which would be waited for. What is open is the very file that was checked, also
 * when a command of the agent's swaps folders and links meanwhile. Who asks closes it.
 */
export async function openFile(folder: string, path: string): Promise<FileHandle | undefined> {
  const parts = path.split("/").filter((part) => part !== "");
  if (parts.length === 0 || parts.some((part) => part === "." || part === ".." || part.includes("\0")))
    return undefined;
  try {
    const root = await realpath(folder);
    const wanted = join(root, ...parts);
    if ((await realpath(wanted)) !== wanted || !(await lstat(wanted)).isFile()) return undefined;
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
    const handle = await open(wanted, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0) | (O_NOCTTY ?? 0));
    if ((await isWithin(handle, root)) && (await handle.stat()).isFile()) return handle;
    await handle.close();
    return undefined;
  } catch {
    return undefined; // not there, or not ours to read
  }
}

/** The path of what is open is asked of the handle, where a system tells it. */
async function isWithin(handle: FileHandle, root: string): Promise<boolean> {
  if (process.platform !== "linux") return true;
  return (await readlink(`/proc/self/fd/${handle.fd}`)).startsWith(`${root}${sep}`);
}
