/** What a client calls itself, as a page can show it: nobody checked it, so it must not reach beyond its own place. */

/** Control, bidirectional, private-use and unassigned characters, lone surrogates, and all that is drawn as nothing. */
const INVISIBLE = /(?!\s)\p{C}|\p{Default_Ignorable_Code_Point}/gu

/** The blank Braille cell counts as a letter or symbol, and is drawn as a space. */
const SPACES = /[\s\u2800]+/g

/** Marks heaped on one letter are drawn over the lines around it. Burmese words go up to six; nothing needs more. */
const HEAPED_MARKS = /(\p{M}{6})\p{M}+/gu

/** At the beginning it would be drawn over what stands before the name: our words, or the quotation mark. */
const LEADING_MARKS = /^[\s\p{M}]+/u

/** Null when there is nothing to show. */
export function shownText(text: unknown, max = 100): string | null {
  if (typeof text !== 'string') return null
  const clean = text
    .replace(INVISIBLE, '')
    .normalize('NFC')
    .replace(SPACES, ' ')
    .replace(HEAPED_MARKS, '$1')
    .replace(LEADING_MARKS, '')
  return [...clean].slice(0, max).join('').trim() || null
}
