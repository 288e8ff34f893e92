import { eq } from '../../../db/drizzle.ts'
import { users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Mail } from '../dependencies.ts'
import { write, type Verb } from '../verb.ts'
import { recordProfileChange } from './record-profile-change.ts'
import { showProfile } from './show-profile.ts'

export const updateProfile: Verb<'updateProfile', Mail> = write(
  { by: 'person', audit: 'profile.changed' },
  async (context, { name }) => {
    const { tx, clock, userId, principal } = context
    const [before] = await tx.select().from(users).where(eq(users.id, userId)).for('update')
    if (!before) throw new ServiceError('UNAUTHENTICATED')
    if (before.name !== name) {
      await tx.update(users).set({ name }).where(eq(users.id, userId))
      await recordProfileChange(tx, clock, { ...principal, userId }, `name: ${before.name} → ${name}`)
    }
    return showProfile(context)(principal, {})
  },
)
