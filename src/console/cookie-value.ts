/**
 * JSON values in cookies, parsed on the way back as strictly as any input. They need no signature: with the `__Host-`
 * prefix nobody but this origin and its own user can write them, and neither gains anything by it.
 */
import type * as z from 'zod'

export const encodeCookieValue = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url')

export function decodeCookieValue<T>(schema: z.ZodType<T>, encoded: string | undefined): T | undefined {
  if (encoded === undefined) return undefined
  try {
    return schema.parse(JSON.parse(Buffer.from(encoded, 'base64url').toString()))
  } catch {
    return undefined
  }
}
