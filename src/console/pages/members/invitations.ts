/** The invitation cards of the members page. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { inviteMember, type Invitation as InvitationShape } from '../../../contracts/members.ts'
import { button, card, notice, problemNotice } from '../../../pages/parts.ts'
import {
  cancelButton,
  copyable,
  day,
  dialog,
  emptyState,
  roleBadge,
  roleOptions,
  table,
} from '../../components.ts'
import type { Organization, PageContext } from '../../context.ts'
import { formOf, type Refused } from '../../fields.ts'
import { confirmDialog, form } from '../../forms.ts'

type Invitation = z.output<typeof InvitationShape>

/** The result of the invite form: a problem with what was submitted, or a link to pass on. */
export type Invited = Refused | { email: string; url: string }

export const INVITE = formOf(inviteMember, ['email', 'role'], {
  role: { id: 'invite-role' },
})

/** Owners, and admins where the owners allow it. The gateway enforces it; this only hides. */
export const mayInvite = ({ role, admins_may_invite }: Organization): boolean =>
  role === 'owner' || (role === 'admin' && admins_may_invite)

const inviteForm = (c: PageContext, { role }: Organization, isOpen: boolean, refused?: Refused) => {
  const shown = INVITE.show({ refused, now: invitedAs(c), with: { role: { options: roleOptions(role) } } })
  return html`${problemNotice(shown.problem, shown.shown)}
    ${form(
      c,
      '/console/members/invitations',
      html`<p>They receive a personal link that expires in seven days.</p>
        ${shown.all()} <div class="actions">${button('Invite')}${!isOpen && cancelButton('invite')}</div>`,
    )}`
}

export const inviteButton = (c: PageContext, organization: Organization) =>
  dialog('invite', 'Invite', {
    title: 'Invite',
    content: inviteForm(c, organization, false),
    hasCancel: true,
    isMain: true,
  })

/** What was refused stands on the page, with what was typed; so does what a link to the form asks for. */
export const inviteCard = (c: PageContext, organization: Organization, refused: Refused | undefined) =>
  card('Invite', inviteForm(c, organization, true, refused))

export const isInviteOpen = (c: PageContext, refused: Refused | undefined): boolean =>
  refused !== undefined || invitedAs(c).role !== undefined

/** The role that a link to the form chooses; the form offers no other than it would without. */
const invitedAs = (c: PageContext): { role?: string } => {
  const role = c.req.method === 'GET' ? c.req.query('invite') : undefined
  return role === undefined ? {} : { role }
}

export const invitationLinkNotice = (email: string, url: string) =>
  notice(
    'info',
    html`<p><strong>Send this link to ${email}.</strong> No mail server is configured, so no email was sent. The link is shown only once.</p>
      ${copyable('invitation', url, 'Invitation link')}`,
  )

export const invitationTable = (
  c: PageContext,
  { role }: Organization,
  invitations: readonly Invitation[],
) =>
  invitations.length === 0
    ? emptyState('No pending invitations', 'Invitations that have not been accepted are listed here.')
    : table(
        'Pending invitations',
        ['Email', 'Role', 'Invited by', 'Expires', '(Actions)'],
        invitations.map((invitation) => [
          html`<span class="long">${invitation.email}</span>`,
          roleBadge(invitation.role),
          html`${invitation.invited_by ?? 'Operator'}`,
          day(invitation.expires_at),
          html`<div class="row-actions">${
            (role === 'owner' || !invitation.by_owner) &&
            confirmDialog(c, {
              label: 'Revoke',
              name: `Revoke the invitation for ${invitation.email}`,
              title: 'Revoke this invitation?',
              action: `/console/members/invitations/${invitation.id}/revoke`,
              text: `The link sent to ${invitation.email} stops working.`,
              submit: 'Revoke invitation',
            })
          }</div>`,
        ]),
      )
