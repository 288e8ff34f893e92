/** What is kept of an answer for admins to read: its beginning, as plain text, without what looks like a secret. */
import { RESPONSE_EXCERPT } from '../../../contracts/limits.ts'
import { maskSecrets } from '../../../contracts/mask-secrets.ts'
import { plainText } from '../../../contracts/plain-text.ts'

/** `secrets` are what the receiver was reached with: some repeat the request. */
export function responseExcerpt(response: string | undefined, secrets: readonly string[]): string | null {
  if (response === undefined) return null
  const plain = plainText(response)
  // It may have been cut in the middle of a secret, which would not be recognized then.
  const whole =
    Buffer.byteLength(response) >= RESPONSE_EXCERPT.readBytes ? plain.replace(/\S{1,512}$/, '') : plain
  const text = cut(maskSecrets(whole, secrets), RESPONSE_EXCERPT.bytes).trim()
  return text === '' ? null : text
}

/** At the end of a character. */
const cut = (text: string, bytes: number): string =>
  Buffer.from(text)
    .subarray(0, bytes)
    .toString('utf8')
    .replace(/\uFFFD$/, '')
