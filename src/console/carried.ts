/**
 * Values that go through the browser and come back: read again as strictly as any input. They need no signature: with
 * the `__Host-` prefix nobody but this origin and its own visitor can write them, and neither gains anything by it.
 */
import type * as z from 'zod'

export const pack = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

export function unpack<T>(schema: z.ZodType<T>, packed: string | undefined): T | undefined {
  if (packed === undefined) return undefined
  try {
    return schema.parse(JSON.parse(Buffer.from(packed, 'base64url').toString()))
  } catch {
    return undefined
  }
}
