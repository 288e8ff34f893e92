/** Text that others wrote, as it is kept: without what could move a cursor, change a direction or stay unseen. */

const ORDINARY = /^[ -~\n\t]*$/
/**
 * What terminals take for a command, whole: colors, titles, links. ECMA-48, 5.4 and 8.3.89. Of one that has no end, or
 * none within a line, only its beginning goes: somebody else's text follows it.
 */
const ESCAPES =
  // oxlint-disable-next-line no-control-regex
  /\u001b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|[\]PX^_][^\u0007\u001b\n]{0,2000}(?:\u0007|\u001b\\)|[ -/]{0,8}[0-~])/g
/** Tabs and line breaks are kept. */
const UNSEEN = /[^\P{Cc}\n\t]|[\p{Cf}\p{Co}\u2028\u2029]/gu

export function plainText(text: string): string {
  if (ORDINARY.test(text)) return text
  return text.toWellFormed().replaceAll(ESCAPES, '').replaceAll(/\r\n?/g, '\n').replaceAll(UNSEEN, '')
}

/** Indentation and line breaks may change although the text has not. */
export const foldBlanks = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()
