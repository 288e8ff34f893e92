/** What Ctrl-K does besides finding: each act leads to its form, and is offered to whoever may. The gateway decides. */
import { hasRole, type ConsoleSession } from './context.ts'
import { mayInvite } from './pages/members/invitations.ts'

/** Sent as a form of the page; without one it is a link. */
type Sent = { readonly name: string; readonly value: string }
export type Act = {
  readonly label: string
  readonly href: string
  readonly note?: string
  readonly sent?: Sent
}

type Offered = Act & { readonly isFor: (session: ConsoleSession) => boolean }

/** Support staff change nothing here. */
const changes = (session: ConsoleSession): boolean => session.support === undefined
const invites = ({ organization }: ConsoleSession): boolean =>
  organization !== null && mayInvite(organization)

/** Behind a `#` is the dialog that the script opens. */
const ACTS: readonly Offered[] = [
  { label: 'Invite a member', href: '/console/members#invite', isFor: (s) => changes(s) && invites(s) },
  {
    label: 'Invite an admin',
    href: '/console/members?invite=admin#invite',
    isFor: (s) => changes(s) && invites(s),
  },
  { label: 'Connect an assistant', href: '/console/connect', isFor: (s) => hasRole(s, 'viewer') },
  {
    label: 'Create an API token',
    href: '/console/settings/tokens/new',
    isFor: (s) => changes(s) && hasRole(s, 'viewer'),
  },
  {
    label: 'Connect a webhook',
    href: '/console/integrations/new/webhook',
    isFor: (s) => changes(s) && hasRole(s, 'admin'),
  },
  {
    label: 'Narrow or revoke an agent',
    href: '/console/agents?all=true',
    isFor: (s) => changes(s) && hasRole(s, 'admin'),
  },
  {
    label: 'Retry or pause an integration',
    href: '/console/integrations',
    isFor: (s) => changes(s) && hasRole(s, 'admin'),
  },
  { label: 'Run maintenance', href: '/console/maintenance', isFor: (s) => changes(s) && hasRole(s, 'admin') },
  {
    label: 'Approve the next proposal',
    href: '/console/proposals/next',
    isFor: (s) => changes(s) && hasRole(s, 'admin'),
  },
]

export const actsFor = (session: ConsoleSession): Act[] =>
  ACTS.filter(({ isFor }) => isFor(session)).map(({ label, href }) => ({ label, href }))

/** Every word of what was typed begins a word of the label, or stands in it. */
export const isAskedFor = (label: string, query: string): boolean => {
  const words = label.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => words.includes(word))
}
