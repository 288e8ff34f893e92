/** Who sees invitations: owners, and admins where the owners allow it. The gateway decides; this only hides. */
import type { Organization } from '../visit.ts'

export const mayInvite = ({ role, admins_may_invite }: Organization): boolean =>
  role === 'owner' || (role === 'admin' && admins_may_invite)
