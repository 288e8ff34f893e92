/** The header or the claims of a JWT, unverified. */
import { readJsonObject } from '../contracts/read-json.ts'

/** Undefined if it is no object. */
export const readJwtPart = (part: string): Record<string, unknown> | undefined =>
  readJsonObject(Buffer.from(part, 'base64url').toString())
