/** Some pages of a PDF, or some seconds of a sound or a video: `from` of them are passed over. All that follow without `count`. */
export type MediaPart = { readonly from: number; readonly count?: number };
