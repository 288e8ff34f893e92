/** The link with which the operator lets somebody choose a new password where no mail reaches them. */
import { eq } from '../../../db/drizzle.ts'
import { passwords } from '../../../db/schema.ts'
import { createMailedLink, type LinkDeps } from './mailed-links.ts'

/** Undefined when no account signs in with this address and a password. */
export async function createOperatorResetLink(
  deps: Pick<LinkDeps, 'db' | 'clock' | 'keyFor' | 'pagesUrl'>,
  email: string,
): Promise<string | undefined> {
  const [known] = await deps.db.select().from(passwords).where(eq(passwords.email, email))
  return known && createMailedLink(deps, 'operator-reset', known.userId, email)
}
