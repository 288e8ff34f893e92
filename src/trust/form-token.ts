/** A token in a form that proves the page came from us and for this browser: the second lock against forged posts. */
import { keyedHash, sameSecret } from './keyed-hash.ts'

export const formToken = (key: Uint8Array, browserSecret: string): string =>
  keyedHash(key, `form:${browserSecret}`)

export const isFormToken = (key: Uint8Array, browserSecret: string, given: unknown): boolean =>
  typeof given === 'string' && sameSecret(formToken(key, browserSecret), given)
