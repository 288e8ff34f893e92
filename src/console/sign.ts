/** Text that went through the browser and must come back unchanged: signed, not secret. */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** Each purpose signs under its own name, so that a signature made for one is worthless for another. */
export type Purpose = 'flash' | 'sign-in' | 'form'

export const signatureOf = (key: Uint8Array, purpose: Purpose, text: string): string =>
  createHmac('sha256', key).update(`svc-console/${purpose}\0${text}`).digest('base64url')

export function sameSignature(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

export function sign(key: Uint8Array, purpose: Purpose, text: string): string {
  const payload = Buffer.from(text).toString('base64url')
  return `${payload}.${signatureOf(key, purpose, payload)}`
}

/** The text, or nothing if it is not one we signed for this purpose. */
export function unsign(key: Uint8Array, purpose: Purpose, signed: string | undefined): string | undefined {
  const [payload, signature, ...more] = signed?.split('.') ?? []
  if (payload === undefined || signature === undefined || more.length > 0) return undefined
  if (!sameSignature(signature, signatureOf(key, purpose, payload))) return undefined
  return Buffer.from(payload, 'base64url').toString()
}
