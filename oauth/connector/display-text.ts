/** Unverified text of a client, such as its name, made safe to show: it must not affect the text around it. */

/** Control, bidirectional, private-use and unassigned characters, lone surrogates, and everything invisible. */
const INVISIBLE = /(?!\s)\p{C}|\p{Default_Ignorable_Code_Point}/gu

/** The blank Braille cell counts as a letter or symbol, and is drawn as a space. */
const SPACES = /[\s\u2800]+/g

/** Many marks on one letter cover the lines around it. Burmese words use up to six; nothing needs more. */
const STACKED_MARKS = /(\p{M}{6})\p{M}+/gu

/** At the start they would combine with the text before the name: ours, or the quotation mark. */
const LEADING_MARKS = /^[\s\p{M}]+/u

/** Null when there is nothing to show. */
export function displayText(text: unknown, max = 100): string | null {
  if (typeof text !== 'string') return null
  const clean = text
    .replace(INVISIBLE, '')
    .normalize('NFC')
    .replace(SPACES, ' ')
    .replace(STACKED_MARKS, '$1')
    .replace(LEADING_MARKS, '')
  return [...clean].slice(0, max).join('').trim() || null
}
