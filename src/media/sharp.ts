// Loaders for untrusted pictures; everything else that libvips can be built with stays shut.
const OPEN = ["Jpeg", "Png", "Webp", "Nsgif", "Tiff", "Svg", "Heif"];

type SharpModule = typeof import("sharp").default;
let loaded: Promise<SharpModule> | undefined;

/** Sharp as untrusted pictures meet it: the loaders that are needed, one thread, nothing kept between two pictures. */
export function loadSharp(): Promise<SharpModule> {
  loaded ??= import("sharp").then(({ default: sharp }) => {
    sharp.block({ operation: ["VipsForeignLoad"] });
    sharp.unblock({ operation: OPEN.map((format) => `VipsForeignLoad${format}`) });
    sharp.concurrency(1);
    sharp.cache(false);
    return sharp;
  });
  return loaded;
}
