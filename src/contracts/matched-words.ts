/** Where the words of a question stand in a passage, for whoever shows it. */

export type TextPart = { readonly text: string; readonly isMatch: boolean }

/** All of the text, in its order. Whole words only: "leave" does not mark a part of "leaves". */
export function markWords(text: string, words: readonly string[]): TextPart[] {
  const known = words.filter((word) => word !== '').toSorted((a, b) => b.length - a.length)
  if (known.length === 0) return [{ text, isMatch: false }]
  const any = known.map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)).join('|')
  const parts = text.split(new RegExp(`(?<![\\p{L}\\p{N}])(${any})(?![\\p{L}\\p{N}])`, 'u'))
  return parts.map((part, at) => ({ text: part, isMatch: at % 2 === 1 })).filter((part) => part.text !== '')
}

/** In the middle of a long text: from a little before the first of them on. */
export function extractAround(text: string, words: readonly string[], maxLength: number): string {
  if (text.length <= maxLength) return text
  const [before] = markWords(text, words)
  const first = before && !before.isMatch && before.text.length < text.length ? before.text.length : 0
  const wanted = Math.max(0, Math.min(first - Math.floor(maxLength / 4), text.length - maxLength))
  const blank = text.indexOf(' ', wanted)
  const from = wanted === 0 ? 0 : blank >= 0 && blank < first ? blank + 1 : wanted
  const end = from + maxLength
  const part = text.slice(from, end).replaceAll(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '')
  return `${from > 0 ? '…' : ''}${part}${end < text.length ? '…' : ''}`
}
