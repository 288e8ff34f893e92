/**
 * The output of a command as text that may be kept. It arrives in pieces, so a secret may lie across two of them: only what
 * is complete is taken from each, and the runner sends the rest again with what follows. Nothing is stored unmasked.
 */
import { SECRET_NAME } from '../../contracts/mask-secrets.ts'

/** Longer than any key. What is still open after so much is not one. */
const OPEN_MAX = 16 * 1024

/** Of lines in each of which something opens: more of them are no secrets, and each costs time. */
const STEPS_MAX = 20

/** What a secret begins with and what may follow in the next line. Each is looked for at the very end. */
const OPEN = [
  new RegExp(
    `(?:${SECRET_NAME})[\\w.-]{0,40}["']?\\s{0,4}(?:[:=]\\s{0,4}(?:"(?:[^"\\\\]|\\\\[^])*|'(?:[^'\\\\]|\\\\[^])*)?)?$`,
    'i',
  ),
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
  const found = [openKey(text), ...OPEN.map((pattern) => pattern.exec(text)?.index ?? -1)].filter(
    (index) => index !== -1,
  )
  return found.length === 0 ? undefined : Math.min(...found)
}

/** A private key without its end; -1 if there is none. */
const openKey = (text: string): number =>
  text.indexOf('-----BEGIN ', Math.max(0, text.lastIndexOf('-----END ')))

/** Without so many bytes at its start. */
export const withoutBytes = (text: string, bytes: number): string =>
  bytes === 0 ? text : Buffer.from(text).subarray(bytes).toString('utf8')
