/**
 * The output of a command as text that may be kept. It arrives in pieces, so a secret may lie across two of them: only what
 * is complete is taken from each, and the runner sends the rest again with what follows. Nothing is stored unmasked.
 */
import { SECRET_NAME } from '../../contracts/mask-secrets.ts'

/** ECMA-48: control sequences such as colors, and strings such as a window's title. */
const ESCAPES =
  // oxlint-disable-next-line no-control-regex -- these are the characters to remove
  /\u001b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\u0007\u001b]{0,400}(?:\u0007|\u001b\\)?|[ -/]{0,8}[0-~])?/g
/** Control characters but tab and line feed, and those that make text look like another one. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu

export const cleanOutput = (text: string): string =>
  text
    .replaceAll(ESCAPES, '')
    // A progress bar goes back to the start of its line.
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(INVISIBLE, (character) => (character === '\n' || character === '\t' ? character : ''))

/** Longer than any key. What is still open after so much is not one. */
const OPEN_MAX = 16 * 1024

/** Of lines in each of which something opens: more of them are no secrets, and each costs time. */
const STEPS_MAX = 20

/** What a secret begins with and what may follow in the next line. Each is looked for at the very end. */
const OPEN = [
  /-----BEGIN [A-Z ]{1,40}-----[^-]*$/,
  new RegExp(`(?:${SECRET_NAME})[\\w.-]{0,40}["']?\\s{0,4}(?:[:=]\\s{0,4}(?:"[^"]*|'[^']*)?)?$`, 'i'),
  /\b(?:bearer|basic|token)\s*$/i,
]

/** How much of a text can be masked without knowing what follows: whole lines, none of which a secret has begun in. */
export function completeLength(text: string): number {
  const end = text.lastIndexOf('\n') + 1
  let length = end
  for (let step = 0; length > 0; step++) {
    if (step === STEPS_MAX) return end
    const open = openingOf(text.slice(Math.max(0, length - OPEN_MAX), length))
    if (open === undefined) return length
    // The whole line in which it begins.
    length = text.lastIndexOf('\n', Math.max(0, length - OPEN_MAX) + open - 1) + 1
  }
  // One line, or a secret from its start: waits, but not for ever.
  return text.length < OPEN_MAX ? 0 : end || text.length
}

function openingOf(text: string): number | undefined {
  const found = OPEN.map((pattern) => pattern.exec(text)?.index).filter((index) => index !== undefined)
  return found.length === 0 ? undefined : Math.min(...found)
}

/** Without so many bytes at its start. */
export const withoutBytes = (text: string, bytes: number): string =>
  bytes === 0 ? text : Buffer.from(text).subarray(bytes).toString('utf8')
