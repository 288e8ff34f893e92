/** Text that others wrote, as it is kept: without what could move a cursor, change a direction or stay unseen. */

const ORDINARY = /^[ -~\n\t]*$/
/** What terminals take for a command, whole: colors, titles, links. ECMA-48, 5.4 and 8.3.89. */
// oxlint-disable-next-line no-control-regex
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g
/** Tabs and line breaks are kept. */
const UNSEEN = /[^\P{Cc}\n\t]|[\p{Cf}\u2028\u2029]/gu

export function plainText(text: string): string {
  if (ORDINARY.test(text)) return text
  return text.toWellFormed().replaceAll(ESCAPES, '').replaceAll(/\r\n?/g, '\n').replaceAll(UNSEEN, '')
}
