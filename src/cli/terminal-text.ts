/** Makes text from the server safe to print: control characters are shown, not executed. */
import { INVISIBLE } from '../contracts/invisible-characters.ts'

/**
 * Control characters (an escape sequence can rewrite the screen, the title or the clipboard), marks that change the
 * writing direction, and separators that some terminals treat as line breaks.
 */
// oxlint-disable-next-line no-control-regex
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

export const sanitizeLine = (text: string): string =>
  text.replaceAll(/\r\n|[\n\t]/g, ' ').replaceAll(UNSAFE, shown)

/** Keeps the line breaks. */
export const sanitizeLines = (text: string): string => text.split(/\r?\n/).map(sanitizeLine).join('\n')

/** Of a text in which what nobody sees matters, as in source: it is shown too. Tabs stay. */
export const visibleLine = (text: string): string => text.replaceAll(INVISIBLE, shown)

function shown(character: string): string {
  const code = character.codePointAt(0)!.toString(16)
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
}

// oxlint-disable-next-line no-control-regex
const NARROW = /^[\u0000-\u02ff]*$/
/** Variation selectors are marks too. */
const NO_WIDTH = /\p{M}|[\u200b-\u200d]/gu
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/gu

/** Number of terminal columns. */
export function displayWidth(text: string): number {
  if (NARROW.test(text)) return text.length
  const seen = text.replaceAll(NO_WIDTH, '')
  return [...seen].length + (seen.match(WIDE)?.length ?? 0)
}
