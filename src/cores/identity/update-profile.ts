import { eq } from '../../../db/drizzle.ts'
import { users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireUserId } from '../principal.ts'
import type { Mail, Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { recordProfileChange } from './record-profile-change.ts'
import { showProfile } from './show-profile.ts'

export const updateProfile =
  ({ db, clock, mail }: Storage & Mail): Handler<'updateProfile'> =>
  (principal, { name }) =>
    withTransaction(db, async (tx) => {
      const userId = requireUserId(principal)
      const [before] = await tx.select().from(users).where(eq(users.id, userId)).for('update')
      if (!before) throw new ServiceError('UNAUTHENTICATED')
      if (before.name !== name) {
        await tx.update(users).set({ name }).where(eq(users.id, userId))
        await recordProfileChange(tx, clock, { ...principal, userId }, `name: ${before.name} → ${name}`)
      }
      return showProfile({ db: tx, mail })(principal, {})
    })
