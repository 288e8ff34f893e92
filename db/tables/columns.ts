/** Column shapes that every table shares. */
import { text, timestamp } from '../drizzle.ts'

export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' })
export const orgId = () => text('org_id').notNull()
/** HMAC or SHA-256 of a secret, as hex: what is stored cannot be used to get in. */
export const secretHash = (name: string) => text(name)
