/** What every format becomes before it is divided: headings, and what stands below them. */
export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | { readonly kind: 'paragraph'; readonly text: string }
  /** Divided between lines only. Those of a table have its header before them, wherever it is divided. */
  | { readonly kind: 'list' | 'table' | 'code'; readonly lines: readonly string[]; readonly header?: string }

export type ReadText = {
  /** Left out: its first heading is its title, or its name. */
  readonly title?: string | undefined
  /** Left out: it says nothing of who sees it. */
  readonly access?: readonly string[] | undefined
  readonly blocks: readonly Block[]
}

/** Thrown with a sentence for people. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile'
}

/** Also what looks like one in text that was copied from elsewhere. */
export const inOneLine = (text: string): string => text.replaceAll(/[\s\u00A0]+/g, ' ').trim()
