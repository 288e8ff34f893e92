import { eq } from '../../../db/drizzle.ts'
import { users } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireUserId } from '../principal.ts'
import type { Mail, Storage } from '../dependencies.ts'
import { showProfile } from './show-profile.ts'

export const updateProfile =
  (deps: Pick<Storage, 'db'> & Mail): Handler<'updateProfile'> =>
  async (principal, { name }) => {
    await deps.db
      .update(users)
      .set({ name })
      .where(eq(users.id, requireUserId(principal)))
    return showProfile(deps)(principal, {})
  }
