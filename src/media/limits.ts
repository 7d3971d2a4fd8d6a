/** What is taken in, by the keys of perch.yaml's `media`. */
export type MediaLimits = {
  readonly imageBytes: number;
  readonly documentBytes: number;
  readonly audioBytes: number;
  readonly videoBytes: number;
  readonly fetchSeconds: number;
  readonly stallSeconds: number;
  /** For reading one file, once it is here. */
  readonly workSeconds: number;
  /** That a picture may declare before anything of it is decoded. */
  readonly imagePixels: number;
  /** Pages of a scanned PDF that become pictures. */
  readonly pdfPages: number;
  /** The longest sound that is listened to. */
  readonly audioSeconds: number;
};
