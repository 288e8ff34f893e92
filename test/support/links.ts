/** The links that people get: by mail, or from whoever invites them. */
import { vi } from 'vitest'
import { inviteMember } from '../../src/contracts/members.ts'
import type { GrantableRole } from '../../src/contracts/roles.ts'
import { makeOrganization, unique, type Org } from './make.ts'
import type { TestSystem } from './system.ts'
import { newWalker } from './walker.ts'

/** Longer than any machine needs, and not waited for when it is there. */
export const PATIENCE = { timeout: 10_000, interval: 20 }

export const linkIn = (text: string): string => /https?:\S+/.exec(text)?.[0] ?? ''

/** The newest mail to an address, waited for: some leave behind an answer's back. `since` leaves earlier ones out. */
export const mailTo = (system: TestSystem, email: string, since = 0) =>
  vi.waitFor(() => {
    const mail = system.mails.slice(since).findLast(({ to }) => to === email)
    if (!mail) throw new Error(`No mail to ${email}`)
    return mail
  }, PATIENCE)

export async function requestPasswordReset(system: TestSystem, email: string) {
  const walker = newWalker(system)
  return walker.submit(await walker.open('/auth/forgot'), 'Send reset link', { email })
}

export async function resetLink(system: TestSystem, email: string): Promise<string> {
  const since = system.mails.length
  await requestPasswordReset(system, email)
  return linkIn((await mailTo(system, email, since)).text)
}

/** An invitation somebody got, by mail or by hand. */
export async function invitation(
  system: TestSystem,
  given: { org?: Org; email?: string; role?: (typeof GrantableRole)['_output'] } = {},
): Promise<{ link: string; email: string; org: Org }> {
  const org = given.org ?? (await makeOrganization(system))
  const email = given.email ?? `${unique('guest')}@people.test`
  const { role } = given
  const since = system.mails.length
  const { invitation_url } = await org.owner.call(inviteMember, { org_id: org.id, email, role })
  return { link: invitation_url ?? linkIn((await mailTo(system, email, since)).text), email, org }
}
