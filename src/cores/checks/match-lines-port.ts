/**
 * Counts the lines that a regular expression of RE2 matches, no further than `most`; undefined: they took too long. Outside
 * of the event loop: RE2 is linear in the text, but an expression made for it takes a second for a line all the same.
 */
export type MatchLines = (
  orgId: string,
  asked: { readonly source: string; readonly lines: readonly string[]; readonly most: number },
) => Promise<number | undefined>

export type WithMatchLines = { readonly matchLines: MatchLines }

/** The same, with the places of those that match, in their order. */
export type FindLines = (...asked: Parameters<MatchLines>) => Promise<readonly number[] | undefined>
