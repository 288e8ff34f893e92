/** Port to the process that reads files of people: it may be slow, or broken by one of them, and nobody else notices. */

export type Passage = {
  /** Title and headings above it, from the outermost on. */
  readonly heading: string
  readonly text: string
}

export type ReadFile = {
  readonly title: string
  /** Who sees it, if it says so itself. */
  readonly access?: readonly string[] | undefined
  readonly passages: readonly Passage[]
}

/** What is wrong with a file, in our own words: those of a library may hold parts of it. */
export type FileProblem = { readonly problem: string }

export type ReadDocument = (
  orgId: string,
  file: { readonly path: string; readonly content: Uint8Array },
) => Promise<ReadFile | FileProblem>

/** A text of a row, which no file holds. */
export type TextToDivide = { readonly title: string; readonly text: string }

/** Each as its passages, in their order: of one that the model reads as a whole there is one, or none. */
export type DivideTexts = (
  orgId: string,
  texts: readonly TextToDivide[],
) => Promise<{ readonly divided: readonly (readonly Passage[])[] } | FileProblem>

/**
 * Grows when the same file is read in another way than before: then it is read again at the next sync, though nothing in it
 * has changed.
 */
export const READER_VERSION = 3
