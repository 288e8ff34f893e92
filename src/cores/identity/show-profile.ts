import { eq } from '../../../db/drizzle.ts'
import { identities, passwords, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { receivesMail } from '../../contracts/fields.ts'
import type { Mail } from '../dependencies.ts'
import { read, type Verb } from '../verb.ts'

export const showProfile: Verb<'showProfile', Mail> = read('person', async ({ db, userId, mail }) => {
  const [row] = await db
    .select({ user: users, passwordFor: passwords.userId })
    .from(users)
    .leftJoin(passwords, eq(passwords.userId, users.id))
    .where(eq(users.id, userId))
  if (!row) throw new ServiceError('UNAUTHENTICATED')
  const linked = await db
    .select({ provider: identities.provider, email: identities.email })
    .from(identities)
    .where(eq(identities.userId, userId))
    .orderBy(identities.createdAt)
  return {
    id: userId,
    name: row.user.name,
    email: row.user.email,
    email_verified: row.user.emailVerifiedAt !== null,
    receives_mail: receivesMail(row.user.email),
    can_verify_email: mail !== null,
    has_password: row.passwordFor !== null,
    identities: linked,
    created_at: row.user.createdAt.toISOString(),
  }
})
